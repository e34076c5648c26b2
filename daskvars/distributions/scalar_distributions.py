"""Distributions of one number: normal, uniform and the like."""

from __future__ import annotations

import math
from typing import Any, Unpack

from daskvars.distributions.distribution import NOT_REPARAMETERIZED, Distribution, Settings
from daskvars.dtypes import DType, DTypeLike, as_dtype, float64, int32
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.ops.array.constant import ones_like, zeros_like
from daskvars.ops.math.arithmetic import (
    abs as absolute,
    floor,
    maximum,
    minimum,
    multiply_no_nan,
    sign,
)
from daskvars.ops.math.casting import cast
from daskvars.ops.math.comparison import (
    greater,
    greater_equal,
    is_nan,
    less,
    less_equal,
    logical_and,
    where_v2,
)
from daskvars.ops.math.gamma_functions import betainc, igamma, igammac
from daskvars.ops.math.quantiles_and_bessel import ndtri
from daskvars.ops.math.transcendental import (
    digamma,
    erfc,
    exp,
    expm1,
    lgamma,
    log,
    log1p,
    sigmoid,
    softplus,
    sqrt,
)
from daskvars.ops.random.distributions import random_normal, random_uniform
from daskvars.ops.random.gamma_poisson import random_gamma, random_poisson


def _is_between(x: Tensor) -> Tensor:
    return logical_and(greater_equal(x, zeros_like(x)), less_equal(x, ones_like(x)))


def check_one_given(logits: Any, probs: Any) -> None:
    """Raise ValueError unless either log-odds or probabilities are given."""
    if (logits is None) == (probs is None):
        raise ValueError("Must pass probs or logits, but not both.")


def log_odds(p: Tensor) -> Tensor:
    """Return the logarithm of a probability over that of the contrary: what `sigmoid` undoes."""
    return log(p) - log1p(-p)


def second(seed: int | None) -> int | None:
    """Return the seed of the second of two draws that must not be the same."""
    return None if seed is None else seed + 0x5DEECE66


class OfTwo(Distribution):
    """A distribution of two parameters that broadcast together."""

    _first: Tensor
    _second: Tensor

    def _batch_tensors(self) -> list[Tensor]:
        return [self._first, self._second]

    def _spread(self, x: Any) -> Tensor:
        """Return a statistic in the batch shape."""
        return x + zeros_like(self._first) + zeros_like(self._second)


class Placed(OfTwo):
    """A distribution that is symmetric about a place, and as wide as a scale says."""

    loc: Tensor
    scale: Tensor

    def __init__(self, loc: TensorLike, scale: TensorLike, **settings: Unpack[Settings]) -> None:
        super().__init__(**settings)
        loc, scale = self._take(loc=loc, scale=scale)
        self._second = self.scale = self._positive(scale, "scale")
        self._first = self.loc = self._after(self.scale, loc)

    def _mean(self) -> Tensor:
        return self._spread(self.loc)

    def _mode(self) -> Tensor:
        return self._mean()


class Normal(Placed):
    """The normal distribution.

    Args:
      loc: [...] floating, the mean.
      scale: [...] floating, positive, the standard deviation.

    >>> normal = dv.distributions.Normal(0.0, 2.0)
    >>> round(float(normal.prob(0.0)), 4), round(float(normal.cdf(2.0)), 4)
    (0.1995, 0.8413)
    """

    def _sample(self, shape: Tensor, full: Tensor, seed: int | None) -> Tensor:
        return random_normal(full, dtype=self.dtype, seed=seed) * self.scale + self.loc

    def _log_prob(self, x: Tensor) -> Tensor:
        z = (x - self.loc) / self.scale
        return -0.5 * z * z - (0.5 * math.log(2 * math.pi) + log(self.scale))

    def _cdf(self, x: Tensor) -> Tensor:
        return _ndtr((x - self.loc) / self.scale)

    def _log_cdf(self, x: Tensor) -> Tensor:
        return _log_ndtr((x - self.loc) / self.scale)

    def _survival(self, x: Tensor) -> Tensor:
        return _ndtr(-(x - self.loc) / self.scale)

    def _log_survival(self, x: Tensor) -> Tensor:
        return _log_ndtr(-(x - self.loc) / self.scale)

    def _quantile(self, p: Tensor) -> Tensor:
        # At the ends it is infinite, and the gradient zero rather than infinite too.
        inside = logical_and(greater(p, zeros_like(p)), less(p, ones_like(p)))
        z = ndtri(where_v2(inside, p, ones_like(p) * 0.5))
        return where_v2(inside, z, sign(p - 0.5) * float("inf")) * self.scale + self.loc

    def _entropy(self) -> Tensor:
        return self._spread(0.5 * math.log(2 * math.pi) + 0.5 + log(self.scale))

    def _variance(self) -> Tensor:
        return self._spread(self.scale * self.scale)


def _ndtr(z: Tensor) -> Tensor:
    """Return the standard normal's probability of at most z."""
    return 0.5 * erfc(-z * math.sqrt(0.5))


def _log_ndtr(z: Tensor) -> Tensor:
    """Return its logarithm, by a series where it is tiny."""
    limit = -20.0 if z.dtype.base_dtype is float64 else -10.0
    far = minimum(z, ones_like(z) * limit)
    squares = far * far
    series = 1 - 1 / squares + 3 / squares**2 - 15 / squares**3
    tail = -0.5 * squares - log(-far) - 0.5 * math.log(2 * math.pi) + log(series)
    near = maximum(z, ones_like(z) * limit)
    return where_v2(less_equal(z, ones_like(z) * limit), tail, _log_near(near))


def _log_near(z: Tensor) -> Tensor:
    """Return the logarithm where it is not tiny; by log1p where the probability is almost 1."""
    is_large = greater(z, zeros_like(z))
    small, large = minimum(z, zeros_like(z)), maximum(z, zeros_like(z))
    return where_v2(is_large, log1p(-_ndtr(-large)), log(_ndtr(small)))


class Laplace(Placed):
    """The Laplace distribution, ``exp(-abs(x - loc) / scale) / (2 scale)``.

    Args:
      loc: [...] floating, the mean.
      scale: [...] floating, positive.

    >>> peak = dv.distributions.Laplace(1.0, 2.0)
    >>> float(peak.prob(1.0)), float(peak.cdf(1.0)), float(peak.variance())
    (0.25, 0.5, 8.0)
    """

    def _sample(self, shape: Tensor, full: Tensor, seed: int | None) -> Tensor:
        # Open at -1, where the logarithm would be infinite.
        lowest = -1 + (2**-53 if self.dtype is float64 else 2**-24)
        u = random_uniform(full, lowest, 1.0, self.dtype, seed)
        return self.loc - self.scale * sign(u) * log1p(-absolute(u))

    def _log_prob(self, x: Tensor) -> Tensor:
        return -absolute((x - self.loc) / self.scale) - math.log(2) - log(self.scale)

    def _cdf(self, x: Tensor) -> Tensor:
        z = (x - self.loc) / self.scale
        return 0.5 - 0.5 * sign(z) * expm1(-absolute(z))

    def _log_cdf(self, x: Tensor) -> Tensor:
        z = (x - self.loc) / self.scale
        below = minimum(z, zeros_like(z)) - math.log(2)
        above = log1p(-0.5 * exp(-maximum(z, zeros_like(z))))
        return where_v2(greater(z, zeros_like(z)), above, below)

    def _survival(self, x: Tensor) -> Tensor:
        z = (x - self.loc) / self.scale
        return 0.5 + 0.5 * sign(z) * expm1(-absolute(z))

    def _log_survival(self, x: Tensor) -> Tensor:
        return self._log_cdf(2 * self.loc - x)

    def _quantile(self, p: Tensor) -> Tensor:
        half = p - 0.5
        return self.loc - self.scale * sign(half) * log1p(-2 * absolute(half))

    def _entropy(self) -> Tensor:
        return self._spread(math.log(2) + 1 + log(self.scale))

    def _variance(self) -> Tensor:
        return self._spread(2 * self.scale * self.scale)


class Logistic(Placed):
    """The logistic distribution, whose cdf is a sigmoid.

    Args:
      loc: [...] floating, the mean.
      scale: [...] floating, positive.

    Source: TensorFlow 1.15, ``tf.contrib.distributions.Logistic``.

    >>> logistic = dv.distributions.Logistic(1.0, 2.0)
    >>> float(logistic.cdf(1.0)), float(logistic.prob(1.0))
    (0.5, 0.125)
    """

    def _sample(self, shape: Tensor, full: Tensor, seed: int | None) -> Tensor:
        return draws_of_logistic(full, self.dtype, seed) * self.scale + self.loc

    def _log_prob(self, x: Tensor) -> Tensor:
        z = (x - self.loc) / self.scale
        return -z - 2 * softplus(-z) - log(self.scale)

    def _cdf(self, x: Tensor) -> Tensor:
        return sigmoid((x - self.loc) / self.scale)

    def _log_cdf(self, x: Tensor) -> Tensor:
        return -softplus(-(x - self.loc) / self.scale)

    def _survival(self, x: Tensor) -> Tensor:
        return sigmoid(-(x - self.loc) / self.scale)

    def _log_survival(self, x: Tensor) -> Tensor:
        return -softplus((x - self.loc) / self.scale)

    def _quantile(self, p: Tensor) -> Tensor:
        return self.loc + self.scale * log_odds(p)

    def _entropy(self) -> Tensor:
        return self._spread(2 + log(self.scale))

    def _variance(self) -> Tensor:
        return self._spread(self.scale * self.scale * (math.pi**2 / 3))


def least_normal(dtype: DType) -> float:
    """Return the least number of full precision: no draw is lower, and its logarithm is finite."""
    return 2.0**-1022 if dtype is float64 else 2.0**-126


def draws_of_logistic(shape: Tensor, dtype: DType, seed: int | None) -> Tensor:
    """Return draws of the logistic distribution about 0 with the scale 1."""
    return log_odds(random_uniform(shape, least_normal(dtype), 1.0, dtype, seed))


class Uniform(OfTwo):
    """The uniform distribution on [low, high).

    Args:
      low, high: [...] floating.

    >>> even = dv.distributions.Uniform(1.0, 3.0)
    >>> float(even.prob(2.0)), float(even.prob(4.0)), float(even.cdf(1.5))
    (0.5, 0.0, 0.25)
    """

    def __init__(
        self, low: TensorLike = 0.0, high: TensorLike = 1.0, **settings: Unpack[Settings]
    ) -> None:
        super().__init__(**settings)
        low, high = self._take(low=low, high=high)
        self._first = self.low = self._checked(
            low, lambda x: less(x, high), "low must be below high"
        )
        self._second = self.high = self._after(self.low, high)

    def range(self, name: str = "range") -> Tensor:
        """Return ``high - low``."""
        with name_scope(f"{self.name}/{name}"):
            return self.high - self.low

    def _sample(self, shape: Tensor, full: Tensor, seed: int | None) -> Tensor:
        return self.low + self.range() * random_uniform(full, dtype=self.dtype, seed=seed)

    def _prob(self, x: Tensor) -> Tensor:
        inside = logical_and(greater_equal(x, self.low), less(x, self.high))
        density = zeros_like(x) + 1 / self.range()
        return where_v2(is_nan(x), x, where_v2(inside, density, zeros_like(density)))

    def _log_prob(self, x: Tensor) -> Tensor:
        return log(self._prob(x))

    def _cdf(self, x: Tensor) -> Tensor:
        share = (x - self.low) / self.range()
        return minimum(maximum(share, zeros_like(share)), ones_like(share))

    def _quantile(self, p: Tensor) -> Tensor:
        return self.low + self.range() * p

    def _entropy(self) -> Tensor:
        return log(self.range())

    def _mean(self) -> Tensor:
        return (self.low + self.high) / 2

    def _variance(self) -> Tensor:
        return self.range() * self.range() / 12


class OfRate(OfTwo):
    """A distribution of a concentration and a rate."""

    concentration: Tensor
    rate: Tensor

    def __init__(
        self, concentration: TensorLike, rate: TensorLike, **settings: Unpack[Settings]
    ) -> None:
        super().__init__(**settings)
        found = self._take(concentration=concentration, rate=rate)
        self.concentration, self.rate = (self._positive(v, "concentration and rate") for v in found)
        self._first, self._second = self.concentration, self.rate


class Gamma(OfRate):
    """The gamma distribution.

    Args:
      concentration: [...] floating, positive, often called alpha.
      rate: [...] floating, positive, often called beta.

    >>> waiting = dv.distributions.Gamma(3.0, 2.0)
    >>> float(waiting.mean()), float(waiting.variance()), float(waiting.mode())
    (1.5, 0.75, 1.0)
    """

    def _sample(self, shape: Tensor, full: Tensor, seed: int | None) -> Tensor:
        alpha, beta = self._spread(self.concentration), self._spread(self.rate)
        return random_gamma(shape, alpha, beta, self.dtype, seed)

    def _log_prob(self, x: Tensor) -> Tensor:
        alpha, beta = self.concentration, self.rate
        power = multiply_no_nan(log(x), alpha - 1)  # also of 0, where it is the power 0
        return power - beta * x - lgamma(alpha) + alpha * log(beta)

    def _cdf(self, x: Tensor) -> Tensor:
        return igamma(self.concentration, self.rate * x)

    def _entropy(self) -> Tensor:
        alpha = self.concentration
        return alpha - log(self.rate) + lgamma(alpha) + (1 - alpha) * digamma(alpha)

    def _mean(self) -> Tensor:
        return self.concentration / self.rate

    def _variance(self) -> Tensor:
        return self.concentration / (self.rate * self.rate)

    def _mode(self) -> Tensor:
        mode = (self.concentration - 1) / self.rate
        is_defined = self._spread(self.concentration) > 1
        return self._defined(mode, is_defined, "mode not defined when any concentration <= 1")


class Exponential(Gamma):
    """The exponential distribution.

    Args:
      rate: [...] floating, positive.

    >>> waiting = dv.distributions.Exponential(2.0)
    >>> float(waiting.mean()), round(float(waiting.cdf(1.0)), 4)
    (0.5, 0.8647)
    """

    def __init__(self, rate: TensorLike, **settings: Unpack[Settings]) -> None:
        Distribution.__init__(self, **settings)
        (found,) = self._take(rate=rate)
        self.rate = self._positive(found, "rate")
        self.concentration = ones_like(found)
        self._first, self._second = self.concentration, self.rate

    def _sample(self, shape: Tensor, full: Tensor, seed: int | None) -> Tensor:
        lowest = least_normal(self.dtype)
        return -log(random_uniform(full, lowest, 1.0, self.dtype, seed)) / self.rate

    def _cdf(self, x: Tensor) -> Tensor:
        return -expm1(-self.rate * x)

    def _survival(self, x: Tensor) -> Tensor:
        return exp(-self.rate * x)

    def _log_survival(self, x: Tensor) -> Tensor:
        return -self.rate * x

    def _quantile(self, p: Tensor) -> Tensor:
        return -log1p(-p) / self.rate

    def _mode(self) -> Tensor:
        return zeros_like(self.rate)


class Beta(OfTwo):
    """The beta distribution, on the numbers from 0 to 1.

    Args:
      concentration1: [...] floating, positive, often called alpha.
      concentration0: [...] floating, positive, often called beta.

    >>> share = dv.distributions.Beta(2.0, 3.0)
    >>> round(float(share.mean()), 4), round(float(share.prob(0.5)), 4)
    (0.4, 1.5)
    """

    def __init__(
        self, concentration1: TensorLike, concentration0: TensorLike, **settings: Unpack[Settings]
    ) -> None:
        super().__init__(**settings)
        found = self._take(concentration1=concentration1, concentration0=concentration0)
        self.concentration1, self.concentration0 = (
            self._positive(v, "concentrations") for v in found
        )
        self._first, self._second = self.concentration1, self.concentration0
        self.total_concentration = self.concentration1 + self.concentration0

    def log_normalization(self) -> Tensor:
        """Return the logarithm of the beta function of the parameters."""
        total = lgamma(self.total_concentration)
        return lgamma(self.concentration1) + lgamma(self.concentration0) - total

    def _sample(self, shape: Tensor, full: Tensor, seed: int | None) -> Tensor:
        a, b = self._spread(self.concentration1), self._spread(self.concentration0)
        first = random_gamma(shape, a, dtype=self.dtype, seed=seed)
        return first / (first + random_gamma(shape, b, dtype=self.dtype, seed=second(seed)))

    def _log_prob(self, x: Tensor) -> Tensor:
        x = self._positive(x, "sample")
        x = self._checked(x, lambda x: less(x, ones_like(x)), "sample must be less than `1`")
        below = multiply_no_nan(log(x), self.concentration1 - 1)
        above = multiply_no_nan(log1p(-x), self.concentration0 - 1)
        return below + above - self.log_normalization()

    def _cdf(self, x: Tensor) -> Tensor:
        a, b = self._spread(self.concentration1), self._spread(self.concentration0)
        x = x + zeros_like(a)
        return betainc(a + zeros_like(x), b + zeros_like(x), x)

    def _entropy(self) -> Tensor:
        a, b, total = self.concentration1, self.concentration0, self.total_concentration
        parts = (a - 1) * digamma(a) + (b - 1) * digamma(b)
        return self.log_normalization() - parts + (total - 2) * digamma(total)

    def _mean(self) -> Tensor:
        return self.concentration1 / self.total_concentration

    def _variance(self) -> Tensor:
        mean = self._mean()
        return mean * (1 - mean) / (1 + self.total_concentration)

    def _mode(self) -> Tensor:
        mode = (self.concentration1 - 1) / (self.total_concentration - 2)
        is_defined = logical_and(
            self._spread(self.concentration1) > 1, self._spread(self.concentration0) > 1
        )
        return self._defined(mode, is_defined, "mode undefined for concentrations <= 1")


class StudentT(Distribution):
    """Student's t-distribution.

    Args:
      df: [...] floating, positive, the degrees of freedom.
      loc: [...] floating, the mean where there is one.
      scale: [...] floating; its sign does not matter.

    >>> wide = dv.distributions.StudentT(df=3.0, loc=1.0, scale=2.0)
    >>> float(wide.mean()), round(float(wide.variance()), 4), round(float(wide.prob(1.0)), 4)
    (1.0, 12.0, 0.1838)
    """

    def __init__(
        self, df: TensorLike, loc: TensorLike, scale: TensorLike, **settings: Unpack[Settings]
    ) -> None:
        super().__init__(**settings)
        df, self.loc, self.scale = self._take(df=df, loc=loc, scale=scale)
        self.df = self._positive(df, "df")

    def _batch_tensors(self) -> list[Tensor]:
        return [self.df, self.loc, self.scale]

    def _spread(self, x: Any) -> Tensor:
        return x + zeros_like(self.df) + zeros_like(self.loc) + zeros_like(self.scale)

    def _sample(self, shape: Tensor, full: Tensor, seed: int | None) -> Tensor:
        df = self._spread(self.df)
        normal = random_normal(full, dtype=self.dtype, seed=seed)
        half = ones_like(df) * 0.5
        chi_square = random_gamma(shape, df * 0.5, half, self.dtype, second(seed))
        return normal / sqrt(chi_square / df) * self.scale + self.loc

    def _log_prob(self, x: Tensor) -> Tensor:
        y = (x - self.loc) / self.scale
        unnormalized = -0.5 * (self.df + 1) * log1p(y * y / self.df)
        of_gammas = lgamma(0.5 * self.df) - lgamma(0.5 * (self.df + 1))
        spread = log(absolute(self.scale)) + 0.5 * log(self.df) + 0.5 * math.log(math.pi)
        return unnormalized - (spread + of_gammas)

    def _cdf(self, x: Tensor) -> Tensor:
        y = (x - self.loc) / absolute(self.scale)
        df = self.df + zeros_like(y)
        tail = 0.5 * betainc(0.5 * df, 0.5 * ones_like(df), df / (y * y + df))
        return where_v2(less(y, zeros_like(y)), tail, 1 - tail)

    def _entropy(self) -> Tensor:
        half, more = 0.5 * self.df, 0.5 * (self.df + 1)
        beta = lgamma(half) + math.lgamma(0.5) - lgamma(more)
        spread = log(absolute(self.scale)) + 0.5 * log(self.df) + beta
        return self._spread(spread + more * (digamma(more) - digamma(half)))

    def _mean(self) -> Tensor:
        mean = self._spread(self.loc)
        return self._defined(mean, self._spread(self.df) > 1, "mean not defined for df <= 1")

    def _variance(self) -> Tensor:
        df = self._spread(self.df)
        safe = where_v2(df > 2, df - 2, ones_like(df))
        finite = self._spread(self.scale * self.scale) * df / safe
        found = where_v2(df > 2, finite, ones_like(df) * float("inf"))
        return self._defined(found, df > 1, "variance not defined for df <= 1")

    def _mode(self) -> Tensor:
        return self._spread(self.loc)


class ByLogits(Distribution):
    """A distribution by logits, or by probabilities instead."""

    reparameterization_type = NOT_REPARAMETERIZED
    logits: Tensor
    probs: Tensor

    def __init__(
        self,
        logits: TensorLike | None = None,
        probs: TensorLike | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        super().__init__(**settings)
        check_one_given(logits, probs)
        if probs is None:
            (self.logits,) = self._take(logits=logits)
            self.probs = self._probs_of(self.logits)
        else:
            (given,) = self._take(probs=probs)
            self.probs, self.logits = self._probs_and_logits(given)

    def _probs_of(self, logits: Tensor) -> Tensor:
        raise NotImplementedError

    def _probs_and_logits(self, probs: Tensor) -> tuple[Tensor, Tensor]:
        raise NotImplementedError


class DrawnAs(ByLogits):
    """A distribution by logits whose draws are of some dtype."""

    def __init__(
        self,
        logits: TensorLike | None = None,
        probs: TensorLike | None = None,
        dtype: DTypeLike = int32,
        **settings: Unpack[Settings],
    ) -> None:
        super().__init__(logits, probs, **settings)
        self.dtype = as_dtype(dtype)
        self._given["dtype"] = self.dtype


class OfTotal(ByLogits):
    """A distribution by logits of what happens in a number of trials."""

    total_count: Tensor

    def __init__(
        self,
        total_count: TensorLike,
        logits: TensorLike | None = None,
        probs: TensorLike | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        super().__init__(logits, probs, **settings)
        self._take_total(total_count)

    def _take_total(self, total_count: TensorLike) -> None:
        raise NotImplementedError


class OfChance(ByLogits):
    """A distribution of what happens with a probability, or does not."""

    def _probs_of(self, logits: Tensor) -> Tensor:
        return sigmoid(logits)

    def _probs_and_logits(self, probs: Tensor) -> tuple[Tensor, Tensor]:
        probs = self._checked(probs, _is_between, "probs must be between 0 and 1")
        return probs, log_odds(probs)


class Bernoulli(DrawnAs, OfChance):
    """Draws of 0 and 1.

    Args:
      logits: [...] floating, the log-odds of 1.
      probs: [...] floating, the probability of 1, instead.
      dtype: dtype of the draws.

    Raises:
      ValueError: both `logits` and `probs` are given, or neither.

    >>> coin = dv.distributions.Bernoulli(probs=0.25)
    >>> round(float(coin.prob(0)), 4), float(coin.mean()), float(coin.variance())
    (0.75, 0.25, 0.1875)
    """

    def _batch_tensors(self) -> list[Tensor]:
        return [self.logits]

    def _value(self, value: TensorLike) -> Tensor:
        return cast(value, self.logits.dtype.base_dtype)

    def _sample(self, shape: Tensor, full: Tensor, seed: int | None) -> Tensor:
        drawn = random_uniform(full, dtype=self.probs.dtype.base_dtype, seed=seed)
        return cast(less(drawn, self.probs), self.dtype)

    def _log_prob(self, x: Tensor) -> Tensor:
        return -(softplus(self.logits) - self.logits * x)

    def _entropy(self) -> Tensor:
        return softplus(self.logits) - self.logits * self.probs

    def _mean(self) -> Tensor:
        return self.probs + zeros_like(self.probs)

    def _variance(self) -> Tensor:
        return self.probs * (1 - self.probs)

    def _mode(self) -> Tensor:
        return cast(greater(self.probs, ones_like(self.probs) * 0.5), self.dtype)


class Poisson(Distribution):
    """How many events there are in a time of length 1.

    Args:
      rate: [...] floating, positive, how many there are in the mean.
      log_rate: [...] floating, its logarithm, instead.
      interpolate_nondiscrete: whether between whole numbers the formula goes on; otherwise their
        probability is 0.

    Raises:
      ValueError: both `rate` and `log_rate` are given, or neither.

    Source: TensorFlow 1.15, ``tf.contrib.distributions.Poisson``.

    >>> calls = dv.distributions.Poisson(2.0)
    >>> round(float(calls.prob(1.0)), 4), round(float(calls.cdf(1.0)), 4), float(calls.variance())
    (0.2707, 0.406, 2.0)
    """

    reparameterization_type = NOT_REPARAMETERIZED

    def __init__(
        self,
        rate: TensorLike | None = None,
        log_rate: TensorLike | None = None,
        interpolate_nondiscrete: bool = True,
        **settings: Unpack[Settings],
    ) -> None:
        super().__init__(**settings)
        if (rate is None) == (log_rate is None):
            raise ValueError("Must specify exactly one of `rate` and `log_rate`.")
        if log_rate is None:
            (given,) = self._take(rate=rate)
            self.rate = self._positive(given, "rate")
            self.log_rate = log(self.rate)
        else:
            (self.log_rate,) = self._take(log_rate=log_rate)
            self.rate = exp(self.log_rate)
        self.interpolate_nondiscrete = interpolate_nondiscrete
        self._given["interpolate_nondiscrete"] = interpolate_nondiscrete

    def _batch_tensors(self) -> list[Tensor]:
        return [self.rate]

    def _sample(self, shape: Tensor, full: Tensor, seed: int | None) -> Tensor:
        return random_poisson(self.rate, shape, self.dtype, seed)

    def _log_prob(self, x: Tensor) -> Tensor:
        found = x * self.log_rate - lgamma(x + 1) - self.rate
        if self.interpolate_nondiscrete:
            return found
        is_whole = logical_and(greater_equal(x, zeros_like(x)), less_equal(x, floor(x)))
        return where_v2(is_whole, found, zeros_like(found) - float("inf"))

    def _cdf(self, x: Tensor) -> Tensor:
        if not self.interpolate_nondiscrete:
            x = floor(x)
        inside = maximum(x, zeros_like(x)) + zeros_like(self.rate)
        found = igammac(inside + 1, self.rate + zeros_like(inside))
        return where_v2(less(x + zeros_like(found), zeros_like(found)), zeros_like(found), found)

    def _mean(self) -> Tensor:
        return self.rate + zeros_like(self.rate)

    def _variance(self) -> Tensor:
        return self._mean()

    def _mode(self) -> Tensor:
        return floor(self.rate)
