"""More distributions of one number, those of ``tf.contrib``: counts, one-sided ones, wide ones."""

from __future__ import annotations

import math
from typing import Unpack

from daskvars.distributions.distribution import (
    NOT_REPARAMETERIZED,
    Distribution,
    Settings,
    is_not_negative,
    is_whole,
)
from daskvars.distributions.scalar_distributions import (
    Gamma,
    OfChance,
    OfRate,
    OfTotal,
    Placed,
    least_normal,
    second,
)
from daskvars.distributions.vector_distributions import weighted
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.ops.array.constant import ones_like, zeros_like
from daskvars.ops.array.repeating import broadcast_to
from daskvars.ops.math.arithmetic import abs as absolute, floor, maximum, square
from daskvars.ops.math.casting import cast
from daskvars.ops.math.comparison import greater, greater_equal, less, less_equal, where_v2
from daskvars.ops.math.gamma_functions import betainc, igammac
from daskvars.ops.math.quantiles_and_bessel import erfinv
from daskvars.ops.math.transcendental import (
    atan,
    digamma,
    erf,
    exp,
    expm1,
    lgamma,
    log,
    log1p,
    log_sigmoid,
    sigmoid,
    softplus,
    tan,
)
from daskvars.ops.random.distributions import random_normal, random_uniform
from daskvars.ops.random.gamma_poisson import random_gamma, random_poisson

# -- counts ----------------------------------------------------------------------------------------


class _Trials(OfTotal, OfChance):
    """A distribution of trials and a number of them."""

    def _take_total(self, total_count: TensorLike) -> None:
        self._given["total_count"] = total_count
        self.total_count = self._total(convert_to_tensor(total_count, self.dtype))

    def _total(self, total: Tensor) -> Tensor:
        raise NotImplementedError

    def _batch_tensors(self) -> list[Tensor]:
        return [self.total_count, self.probs]


class Binomial(_Trials):
    """How many of ``total_count`` trials succeed.

    Args:
      total_count: [...] floating, how many trials.
      logits: [...] floating, the log-odds of a success.
      probs: [...] floating, the probability of a success, instead.

    Raises:
      ValueError: both `logits` and `probs` are given, or neither.

    Source: TensorFlow 1.15, ``tf.contrib.distributions.Binomial``, which draws no samples.

    >>> heads = dv.distributions.Binomial(4.0, probs=0.5)
    >>> float(heads.mean()), float(heads.variance()), round(float(heads.prob(1.0)), 4)
    (2.0, 1.0, 0.25)
    """

    def _total(self, total: Tensor) -> Tensor:
        total = self._checked(total, is_not_negative, "total_count must be non-negative.")
        return self._checked(total, is_whole, "total_count cannot contain fractional components.")

    def _counts(self, x: Tensor) -> Tensor:
        is_possible = "counts are not less than or equal to n."
        return self._checked(
            self._whole(x, "counts"), lambda x: less_equal(x, self.total_count), is_possible
        )

    def _log_prob(self, x: Tensor) -> Tensor:
        x, n = self._counts(x), self.total_count
        ways = lgamma(n + 1) - lgamma(x + 1) - lgamma(n - x + 1)
        return x * log(self.probs) + (n - x) * log1p(-self.probs) + ways

    def _cdf(self, x: Tensor) -> Tensor:
        x = self._counts(x) + zeros_like(self.probs)
        n, p = self.total_count + zeros_like(x), self.probs + zeros_like(x)
        is_all = greater_equal(x, n)  # of which the formula is not defined
        k = where_v2(is_all, n - 1, x)
        return where_v2(is_all, ones_like(x), betainc(n - k, k + 1, 1 - p))

    def _mean(self) -> Tensor:
        return self.total_count * self.probs

    def _variance(self) -> Tensor:
        return self._mean() * (1 - self.probs)

    def _mode(self) -> Tensor:
        return floor((1 + self.total_count) * self.probs)


class NegativeBinomial(_Trials):
    """How many trials succeed before ``total_count`` have failed.

    Args:
      total_count: [...] floating, positive, how many failures.
      logits: [...] floating, the log-odds of a success.
      probs: [...] floating, the probability of a success, instead.

    Raises:
      ValueError: both `logits` and `probs` are given, or neither.

    Source: TensorFlow 1.15, ``tf.contrib.distributions.NegativeBinomial``.

    >>> hits = dv.distributions.NegativeBinomial(2.0, probs=0.5)
    >>> round(float(hits.mean()), 4), round(float(hits.prob(1.0)), 4)
    (2.0, 0.25)
    """

    def _total(self, total: Tensor) -> Tensor:
        return self._positive(total, "total_count")

    def _sample(self, shape: Tensor, full: Tensor, seed: int | None) -> Tensor:
        failures, rate = self.total_count + zeros_like(self.probs), exp(-self.logits)
        rates = random_gamma(shape, failures, rate + zeros_like(failures), self.dtype, second(seed))
        return random_poisson(rates, [], self.dtype, seed)

    def _log_prob(self, x: Tensor) -> Tensor:
        x, n = self._whole(x, "counts"), self.total_count
        ways = lgamma(n + x) - lgamma(x + 1) - lgamma(n)
        return n * log_sigmoid(-self.logits) + x * log_sigmoid(self.logits) + ways

    def _cdf(self, x: Tensor) -> Tensor:
        x = self._whole(x, "counts") + zeros_like(self.logits) + zeros_like(self.total_count)
        return betainc(self.total_count + zeros_like(x), x + 1, sigmoid(-self.logits - 0 * x))

    def _mean(self) -> Tensor:
        return self.total_count * exp(self.logits)

    def _variance(self) -> Tensor:
        return self._mean() / sigmoid(-self.logits)

    def _mode(self) -> Tensor:
        above_one = maximum(self.total_count - 1, zeros_like(self.total_count))
        return floor(above_one * exp(self.logits))


class Geometric(OfChance):
    """How many trials fail before the first that succeeds.

    Args:
      logits: [...] floating, the log-odds of a success.
      probs: [...] floating, the probability of a success, instead.

    Raises:
      ValueError: both `logits` and `probs` are given, or neither.

    Source: TensorFlow 1.15, ``tf.contrib.distributions.Geometric``.

    >>> misses = dv.distributions.Geometric(probs=0.5)
    >>> float(misses.mean()), round(float(misses.prob(1.0)), 4), round(float(misses.cdf(1.0)), 4)
    (1.0, 0.25, 0.75)
    """

    def _batch_tensors(self) -> list[Tensor]:
        return [self.probs]

    def _counts(self, x: Tensor) -> Tensor:
        """Return counts in the shape of results: rounded down, unless they are checked."""
        x = self._whole(x, "counts") if self.validate_args else floor(x)
        return x + zeros_like(self.probs)

    def _sample(self, shape: Tensor, full: Tensor, seed: int | None) -> Tensor:
        drawn = random_uniform(full, least_normal(self.dtype), 1.0, self.dtype, seed)
        return floor(log(drawn) / log1p(-self.probs))

    def _log_prob(self, x: Tensor) -> Tensor:
        return weighted(log1p(-self.probs), self._counts(x)) + log(self.probs)

    def _cdf(self, x: Tensor) -> Tensor:
        x = self._counts(x)
        found = -expm1((1 + x) * log1p(-self.probs))
        return where_v2(less(x, zeros_like(x)), zeros_like(x), found)

    def _entropy(self) -> Tensor:
        return softplus(self.logits) / self.probs - self.logits

    def _mean(self) -> Tensor:
        return exp(-self.logits)

    def _variance(self) -> Tensor:
        return self._mean() / self.probs

    def _mode(self) -> Tensor:
        return zeros_like(self.probs)


# -- of any number, or of those on one side --------------------------------------------------------


class Cauchy(Placed):
    """The Cauchy distribution, which has no mean.

    Args:
      loc: [...] floating, the median.
      scale: [...] floating, positive, from the median to the quartiles.

    Source: TensorFlow 1.15, ``tf.contrib.distributions.Cauchy``.

    >>> wide = dv.distributions.Cauchy(0.0, 2.0)
    >>> round(float(wide.cdf(2.0)), 4), round(float(wide.prob(0.0)), 4), float(wide.mean())
    (0.75, 0.1592, nan)
    """

    def _sample(self, shape: Tensor, full: Tensor, seed: int | None) -> Tensor:
        return self._quantile(random_uniform(full, dtype=self.dtype, seed=seed))

    def _standard(self, x: Tensor) -> Tensor:
        return (x - self.loc) / self.scale

    def _log_prob(self, x: Tensor) -> Tensor:
        return -log1p(square(self._standard(x))) - (math.log(math.pi) + log(self.scale))

    def _cdf(self, x: Tensor) -> Tensor:
        return atan(self._standard(x)) / math.pi + 0.5

    def _log_cdf(self, x: Tensor) -> Tensor:
        return log1p(2 / math.pi * atan(self._standard(x))) - math.log(2)

    def _quantile(self, p: Tensor) -> Tensor:
        return self.loc + self.scale * tan(math.pi * (p - 0.5))

    def _entropy(self) -> Tensor:
        return self._spread(math.log(4 * math.pi) + log(self.scale))

    def _mode(self) -> Tensor:
        return self._spread(self.loc)

    def _mean(self) -> Tensor:
        return self._nothing("mean")

    def _variance(self) -> Tensor:
        return self._nothing("stddev")

    def _nothing(self, statistic: str) -> Tensor:
        if not self.allow_nan_stats:
            raise ValueError(f"`{statistic}` is undefined for Cauchy distribution.")
        return self._spread(self.loc) * float("nan")


class HalfNormal(Distribution):
    """The absolute value of what a normal distribution about 0 draws.

    Args:
      scale: [...] floating, positive, the standard deviation of that distribution.

    Source: TensorFlow 1.15, ``tf.contrib.distributions.HalfNormal``.

    >>> size = dv.distributions.HalfNormal(2.0)
    >>> round(float(size.prob(0.0)), 4), round(float(size.cdf(2.0)), 4), float(size.prob(-1.0))
    (0.3989, 0.6827, 0.0)
    """

    def __init__(self, scale: TensorLike, **settings: Unpack[Settings]) -> None:
        super().__init__(**settings)
        (given,) = self._take(scale=scale)
        self.scale = self._positive(given, "scale")

    def _batch_tensors(self) -> list[Tensor]:
        return [self.scale]

    def _sample(self, shape: Tensor, full: Tensor, seed: int | None) -> Tensor:
        return absolute(random_normal(full, dtype=self.dtype, seed=seed) * self.scale)

    def _prob(self, x: Tensor) -> Tensor:
        density = math.sqrt(2 / math.pi) / self.scale * exp(-0.5 * square(x / self.scale))
        return density * cast(greater_equal(x, zeros_like(x)), self.dtype)

    def _log_prob(self, x: Tensor) -> Tensor:
        found = 0.5 * math.log(2 / math.pi) - log(self.scale) - 0.5 * square(x / self.scale)
        return where_v2(greater_equal(x, zeros_like(x)), found, zeros_like(found) - float("inf"))

    def _cdf(self, x: Tensor) -> Tensor:
        return erf(maximum(x, zeros_like(x)) / self.scale / math.sqrt(2))

    def _quantile(self, p: Tensor) -> Tensor:
        return math.sqrt(2) * self.scale * erfinv(p)

    def _entropy(self) -> Tensor:
        return 0.5 * log(math.pi * square(self.scale) / 2) + 0.5

    def _mean(self) -> Tensor:
        return self.scale * math.sqrt(2 / math.pi)

    def _variance(self) -> Tensor:
        return square(self.scale) * (1 - 2 / math.pi)

    def _mode(self) -> Tensor:
        return zeros_like(self.scale)


class InverseGamma(OfRate):
    """The distribution of 1 over what a gamma distribution draws.

    Args:
      concentration: [...] floating, positive, often called alpha.
      rate: [...] floating, positive, often called beta.

    Source: TensorFlow 1.15, ``tf.contrib.distributions.InverseGamma``.

    >>> variance = dv.distributions.InverseGamma(3.0, 2.0)
    >>> float(variance.mean()), float(variance.variance()), float(variance.mode())
    (1.0, 1.0, 0.5)
    """

    def _sample(self, shape: Tensor, full: Tensor, seed: int | None) -> Tensor:
        alpha, beta = self._spread(self.concentration), self._spread(self.rate)
        return 1 / random_gamma(shape, alpha, beta, self.dtype, seed)

    def _log_prob(self, x: Tensor) -> Tensor:
        alpha, beta = self.concentration, self.rate
        return -(1 + alpha) * log(x) - beta / x - lgamma(alpha) + alpha * log(beta)

    def _cdf(self, x: Tensor) -> Tensor:
        return igammac(self.concentration, self.rate / x)

    def _entropy(self) -> Tensor:
        alpha = self.concentration
        return alpha + log(self.rate) + lgamma(alpha) - (1 + alpha) * digamma(alpha)

    def _mean(self) -> Tensor:
        is_defined = greater(self._spread(self.concentration), 1)
        what = "mean undefined when any concentration <= 1"
        return self._defined(self.rate / (self.concentration - 1), is_defined, what)

    def _variance(self) -> Tensor:
        alpha = self.concentration
        variance = square(self.rate) / square(alpha - 1) / (alpha - 2)
        what = "variance undefined when any concentration <= 2"
        return self._defined(variance, greater(self._spread(alpha), 2), what)

    def _mode(self) -> Tensor:
        return self.rate / (1 + self.concentration)


class Chi2(Gamma):
    """The sum of the squares of ``df`` standard normal numbers.

    Args:
      df: [...] floating, positive.

    Source: TensorFlow 1.15, ``tf.contrib.distributions.Chi2``.

    >>> squares = dv.distributions.Chi2(3.0)
    >>> float(squares.mean()), float(squares.variance()), round(float(squares.cdf(3.0)), 4)
    (3.0, 6.0, 0.6084)
    """

    def __init__(self, df: TensorLike, **settings: Unpack[Settings]) -> None:
        Distribution.__init__(self, **settings)
        (given,) = self._take(df=df)
        self.df = self._positive(given, "df")
        self._first = self.concentration = 0.5 * self.df
        self._second = self.rate = 0.5 * ones_like(self.df)


class Deterministic(Distribution):
    """The distribution that draws one number only.

    Args:
      loc: [...] that number.
      atol: how far from it a value may be that counts as it, by default 0.
      rtol: how far it may be in relation to it, by default 0.

    Source: TensorFlow 1.15, ``tf.contrib.distributions.Deterministic``.

    >>> fixed = dv.distributions.Deterministic([0.0, 2.0])
    >>> fixed.prob(2.0).numpy().tolist(), fixed.cdf(1.0).numpy().tolist()
    ([0.0, 1.0], [1.0, 0.0])
    """

    reparameterization_type = NOT_REPARAMETERIZED

    def __init__(
        self,
        loc: TensorLike,
        atol: TensorLike | None = None,
        rtol: TensorLike | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        super().__init__(**settings)
        (self.loc,) = self._take(loc=loc)
        self._given.update(atol=atol, rtol=rtol)
        self.atol, self.rtol = (self._tolerance(value) for value in (atol, rtol))
        self._slack = self.atol + self.rtol * absolute(self.loc)

    def _tolerance(self, value: TensorLike | None) -> Tensor:
        tolerance = convert_to_tensor(0 if value is None else value, self.dtype)
        message = "Argument 'tol' must be non-negative"
        return self._checked(tolerance, is_not_negative, message)

    def _batch_tensors(self) -> list[Tensor]:
        return [self.loc]

    def _sample(self, shape: Tensor, full: Tensor, seed: int | None) -> Tensor:
        return broadcast_to(self.loc, full)

    def _prob(self, x: Tensor) -> Tensor:
        return cast(less_equal(absolute(x - self.loc), self._slack), self.dtype)

    def _log_prob(self, x: Tensor) -> Tensor:
        return log(self._prob(x))

    def _cdf(self, x: Tensor) -> Tensor:
        return cast(greater_equal(x, self.loc - self._slack), self.dtype)

    def _entropy(self) -> Tensor:
        return zeros_like(self.loc)

    def _mean(self) -> Tensor:
        return self.loc + zeros_like(self.loc)

    def _variance(self) -> Tensor:
        return zeros_like(self.loc)

    def _mode(self) -> Tensor:
        return self._mean()
