"""Distributions of classes, counts and vectors."""

from __future__ import annotations

import math
from typing import Any, Unpack

from daskvars.distributions.distribution import NOT_REPARAMETERIZED, Distribution, Settings
from daskvars.distributions.scalar_distributions import ByLogits, DrawnAs, Normal, OfTotal, second
from daskvars.dtypes import int32
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.ops.array.constant import ones_like, shape as shape_of, size_along, zeros_like
from daskvars.ops.array.joining import concat
from daskvars.ops.array.one_hot import one_hot
from daskvars.ops.array.ranges import range, sequence_mask
from daskvars.ops.array.reshaping import expand_dims, reshape
from daskvars.ops.array.transposing import transpose
from daskvars.ops.linalg.matrix_parts import matrix_diag, matrix_set_diag
from daskvars.ops.math.arithmetic import abs as absolute, multiply_no_nan
from daskvars.ops.math.casting import cast
from daskvars.ops.math.comparison import equal, greater, less, logical_and, where_v2
from daskvars.ops.math.reduce import argmax, reduce_all, reduce_max, reduce_prod, reduce_sum
from daskvars.ops.math.transcendental import digamma, lgamma, log
from daskvars.ops.nn.softmax import log_softmax, softmax
from daskvars.ops.random.distributions import multinomial, random_normal
from daskvars.ops.random.gamma_poisson import random_gamma
from daskvars.shapes import TensorShape
from daskvars.surface.signatures import Argument, Family


def _sums_to_one(x: Tensor) -> Tensor:
    total = reduce_sum(x, -1)
    return less(absolute(total - 1), ones_like(total) * 1e-4)


CLASSES = Family(
    {
        "temperature": Argument("[...] floating, positive."),
        "logits": Argument("[..., classes] floating, unnormalized log-probabilities."),
        "probs": Argument("[..., classes] floating, probabilities, instead."),
    },
    raises="ValueError: both `logits` and `probs` are given, or neither.",
)


class _OfCounts(Distribution):
    """A distribution of how often each class is among ``total_count`` draws."""

    total_count: Tensor

    def _take_total(self, total_count: TensorLike) -> None:
        self._given["total_count"] = total_count
        total = convert_to_tensor(total_count, self.dtype, name="total_count")
        self.total_count = self._whole(total, "total_count")

    def _counts(self, x: Tensor) -> Tensor:
        """Return counts that raise if there are not as many as draws."""
        return self._checked(
            self._whole(x, "counts"),
            lambda x: equal(reduce_sum(x, -1), self.total_count),
            "counts must sum to `self.total_count`",
        )


def weighted(x: Tensor, y: Tensor) -> Tensor:
    """Return x * y, and 0 where y is 0, even if x is infinite; so are then both gradients."""
    is_zero = equal(y, zeros_like(y))
    finite = where_v2(is_zero, zeros_like(x), x)
    return finite * y


def _outer(x: Tensor, y: Tensor) -> Tensor:
    """Return products [..., n, n] of all pairs."""
    return expand_dims(x, -1) * expand_dims(y, -2)


class OfClasses(ByLogits):
    """A distribution over classes, by log-probabilities or probabilities."""

    def _probs_of(self, logits: Tensor) -> Tensor:
        return softmax(logits)

    def _probs_and_logits(self, probs: Tensor) -> tuple[Tensor, Tensor]:
        return probs, log(probs)

    def _known_classes(self) -> int | None:
        shape = self.logits.get_shape()
        return None if shape.ndims is None else shape.as_list()[-1]

    def _num_classes(self) -> int | Tensor:
        """Return how many classes there are; a scalar tensor where only the run knows."""
        return size_along(self.logits, -1)

    def _classes(self, shape: Tensor, logits: Tensor, each: Any, seed: int | None) -> Tensor:
        """Return [*shape, *batch, each] classes."""
        flat = reshape(logits, [-1, self._num_classes()])
        count = reduce_prod(shape)
        drawn = multinomial(flat, count * each, seed, output_dtype=int32)
        by_draw = transpose(reshape(drawn, [shape_of(flat)[0], count, each]), [1, 0, 2])
        return reshape(by_draw, concat([shape, shape_of(logits)[:-1], [each]], 0))


class ByClass(OfClasses):
    """Vectors with a number for each class."""

    _event_rank = 1

    @property
    def event_shape(self) -> TensorShape:
        """[classes]."""
        return TensorShape([self._known_classes()])

    def event_shape_tensor(self, name: str = "event_shape_tensor") -> Tensor:
        """Return the event shape, [rank] int32."""
        if self._known_classes() is not None:
            return super().event_shape_tensor(name)
        with name_scope(f"{self.name}/{name}"):
            return shape_of(self.logits)[-1:]


class _OneClass(DrawnAs, OfClasses):
    """One class of several, drawn as some dtype."""

    @property
    def event_size(self) -> int | Tensor:
        """The number of classes; a scalar tensor where only the run knows."""
        return self._num_classes()

    def _batch_tensors(self) -> list[Tensor]:
        return [self.logits[..., 0]]

    def _entropy(self) -> Tensor:
        return -reduce_sum(weighted(log_softmax(self.logits), self.probs), -1)


@CLASSES.documents()
class Categorical(_OneClass):
    """One class of several. Its `cdf` is the probability of a lower class, as in TensorFlow 1.

    Args:
      dtype: dtype of the draws.

    >>> weather = dv.distributions.Categorical(probs=[0.25, 0.75])
    >>> round(float(weather.prob(1)), 4), weather.sample(3, seed=1).shape.as_list()
    (0.75, [3])
    """

    def _value(self, value: TensorLike) -> Tensor:
        return cast(value, self.dtype)  # the number of a class, of whatever dtype

    def _sample(self, shape: Tensor, full: Tensor, seed: int | None) -> Tensor:
        return cast(reshape(self._classes(shape, self.logits, 1, seed), full), self.dtype)

    def _log_prob(self, x: Tensor) -> Tensor:
        number, classes = cast(x, int32), self._num_classes()
        chosen = one_hot(number, classes, dtype=self.logits.dtype.base_dtype)
        found = log_softmax(self.logits) + zeros_like(chosen)
        # What is not chosen may be minus infinity: it is left out, not multiplied with zero.
        total = reduce_sum(where_v2(chosen > 0.5, found, zeros_like(found)), -1)
        return where_v2(logical_and(number >= 0, number < classes), total, -math.inf)

    def _cdf(self, x: Tensor) -> Tensor:
        # As TensorFlow 1 has it: the probability of a class before this one.
        before = sequence_mask(cast(x, int32), self._num_classes())
        probs = softmax(self.logits)
        return reduce_sum(where_v2(before, probs, zeros_like(probs)), -1)

    def _mode(self) -> Tensor:
        return cast(argmax(self.logits, -1), self.dtype)


@CLASSES.documents()
class OneHotCategorical(_OneClass, ByClass):
    """One class of several, as a vector with a 1 in its place.

    Args:
      dtype: dtype of the draws.

    Source: TensorFlow 1.15, ``tf.contrib.distributions.OneHotCategorical``.

    >>> weather = dv.distributions.OneHotCategorical(probs=[0.25, 0.75])
    >>> round(float(weather.prob([0, 1])), 4), weather.mode().numpy().tolist()
    (0.75, [0, 1])
    """

    def _value(self, value: TensorLike) -> Tensor:
        return cast(value, self.logits.dtype.base_dtype)

    def _sample(self, shape: Tensor, full: Tensor, seed: int | None) -> Tensor:
        drawn = self._classes(shape, self.logits, 1, seed)
        return reshape(one_hot(drawn, self._num_classes(), dtype=self.dtype), full)

    def _log_prob(self, x: Tensor) -> Tensor:
        return reduce_sum(weighted(log_softmax(self.logits), x), -1)

    def _mean(self) -> Tensor:
        return softmax(self.logits)

    def _variance(self) -> Tensor:
        return self._mean() * (1 - self._mean())

    def _covariance(self) -> Tensor:
        return matrix_set_diag(-_outer(self._mean(), self._mean()), self._variance())

    def _mode(self) -> Tensor:
        return one_hot(argmax(self.logits, -1), self._num_classes(), dtype=self.dtype)


@CLASSES.documents()
class Multinomial(_OfCounts, OfTotal, ByClass):
    """Counts of each class among independent draws.

    Args:
      total_count: [...] floating, how many draws.
      logits, probs: see `Categorical`.

    >>> votes = dv.distributions.Multinomial(4.0, probs=[0.25, 0.75])
    >>> votes.mean().numpy().round(4).tolist(), round(float(votes.prob([2.0, 2.0])), 4)
    ([1.0, 3.0], 0.2109)
    """

    def _batch_tensors(self) -> list[Tensor]:
        return [self.total_count, self.logits[..., 0]]

    def _sample(self, shape: Tensor, full: Tensor, seed: int | None) -> Tensor:
        total = expand_dims(self.total_count, -1)
        most = cast(reduce_max(total), int32)  # drawn for all; each keeps its own number of them
        logits = self.logits + zeros_like(total)
        drawn = one_hot(
            self._classes(shape, logits, most, seed), self._num_classes(), dtype=self.dtype
        )
        is_kept = less(cast(range(most), self.dtype), total)
        return reduce_sum(drawn * cast(expand_dims(is_kept, -1), self.dtype), -2)

    def _log_prob(self, x: Tensor) -> Tensor:
        x = self._counts(x)
        ways = lgamma(self.total_count + 1) - reduce_sum(lgamma(x + 1), -1)
        return reduce_sum(weighted(log_softmax(self.logits), x), -1) + ways

    def _mean(self) -> Tensor:
        return expand_dims(self.total_count, -1) * softmax(self.logits)

    def _variance(self) -> Tensor:
        return self._mean() * (1 - softmax(self.logits))

    def _covariance(self) -> Tensor:
        return matrix_set_diag(-_outer(self._mean(), softmax(self.logits)), self._variance())


class Dirichlet(Distribution):
    """Vectors of positive numbers whose sum is 1.

    Args:
      concentration: [..., size] floating, positive.

    >>> shares = dv.distributions.Dirichlet([1.0, 3.0])
    >>> shares.mean().numpy().tolist(), round(float(shares.prob([0.5, 0.5])), 4)
    ([0.25, 0.75], 0.75)
    """

    _event_rank = 1

    def __init__(self, concentration: TensorLike, **settings: Unpack[Settings]) -> None:
        super().__init__(**settings)
        (found,) = self._take(concentration=concentration)
        self.concentration = self._positive(found, "concentration")
        self.total_concentration = reduce_sum(self.concentration, -1)

    @property
    def event_shape(self) -> TensorShape:
        """[size]."""
        return self.concentration.get_shape()[-1:]

    def _batch_tensors(self) -> list[Tensor]:
        return [self.total_concentration]

    def _sample(self, shape: Tensor, full: Tensor, seed: int | None) -> Tensor:
        drawn = random_gamma(shape, self.concentration, dtype=self.dtype, seed=seed)
        return drawn / reduce_sum(drawn, -1, keepdims=True)

    def _size(self) -> Tensor:
        """Return how many numbers a vector has, a scalar of its dtype."""
        return cast(size_along(self.concentration, -1), self.dtype)

    def log_normalization(self) -> Tensor:
        """Return the logarithm of the multivariate beta function of the parameters."""
        return reduce_sum(lgamma(self.concentration), -1) - lgamma(self.total_concentration)

    def _log_prob(self, x: Tensor) -> Tensor:
        x = self._positive(x, "samples")
        x = self._checked(x, _sums_to_one, "sample last-dimension must sum to `1`")
        unnormalized = reduce_sum(multiply_no_nan(log(x), self.concentration - 1), -1)
        return unnormalized - self.log_normalization()

    def _entropy(self) -> Tensor:
        total = (self.total_concentration - self._size()) * digamma(self.total_concentration)
        rest = reduce_sum((self.concentration - 1) * digamma(self.concentration), -1)
        return self.log_normalization() + total - rest

    def _mean(self) -> Tensor:
        return self.concentration / expand_dims(self.total_concentration, -1)

    def _variance(self) -> Tensor:
        mean = self._mean()
        return mean * (1 - mean) / (1 + expand_dims(self.total_concentration, -1))

    def _covariance(self) -> Tensor:
        mean, total = self._mean(), expand_dims(self.total_concentration, -1)
        return matrix_set_diag(-_outer(mean / (1 + total), mean), self._variance())

    def _mode(self) -> Tensor:
        mode = (self.concentration - 1) / (expand_dims(self.total_concentration, -1) - self._size())
        is_defined = reduce_all(self.concentration > 1, -1, keepdims=True)
        everywhere = logical_and(is_defined, greater(ones_like(mode), zeros_like(mode)))
        return self._defined(mode, everywhere, "mode undefined for concentration <= 1")


class DirichletMultinomial(Dirichlet, _OfCounts):
    """Counts of each class among draws whose probabilities are themselves drawn (`Dirichlet`).

    Args:
      total_count: [...] floating, how many draws.
      concentration: [..., classes] floating, positive.

    >>> counts = dv.distributions.DirichletMultinomial(2.0, [1.0, 1.0])
    >>> counts.mean().numpy().tolist(), round(float(counts.prob([1.0, 1.0])), 4)
    ([1.0, 1.0], 0.3333)
    """

    reparameterization_type = NOT_REPARAMETERIZED

    def __init__(
        self, total_count: TensorLike, concentration: TensorLike, **settings: Unpack[Settings]
    ) -> None:
        super().__init__(concentration, **settings)
        self._take_total(total_count)

    def _batch_tensors(self) -> list[Tensor]:
        return [self.total_count, self.total_concentration]

    def _sample(self, shape: Tensor, full: Tensor, seed: int | None) -> Tensor:
        alpha = self.concentration + zeros_like(expand_dims(self.total_count, -1))
        shares = log(random_gamma(shape, alpha, dtype=self.dtype, seed=seed))
        counts = Multinomial(self.total_count, shares, name="counts")
        drawn = counts._sample(ones_like(shape[:0]), shape_of(shares), second(seed))
        return reshape(drawn, full)

    def _log_prob(self, x: Tensor) -> Tensor:
        x, alpha = self._counts(x), self.concentration
        ways = lgamma(self.total_count + 1) - reduce_sum(lgamma(x + 1), -1)
        sums = lgamma(reduce_sum(alpha + x, -1)) - lgamma(self.total_concentration)
        return ways + reduce_sum(lgamma(alpha + x) - lgamma(alpha), -1) - sums

    def _entropy(self) -> Tensor:
        return self._without("entropy")

    def _mean(self) -> Tensor:
        return expand_dims(self.total_count, -1) * super()._mean()

    def _spread(self) -> Tensor:
        """Return how much wider the counts are than those of a multinomial distribution."""
        return (self.total_count + self.total_concentration) / (1 + self.total_concentration)

    def _variance(self) -> Tensor:
        return self._mean() * (1 - super()._mean()) * expand_dims(self._spread(), -1)

    def _covariance(self) -> Tensor:
        wider = expand_dims(self._spread(), -1) * self._mean()
        return matrix_set_diag(-_outer(wider, super()._mean()), self._variance())

    def _mode(self) -> Tensor:
        return self._without("mode")


class MultivariateNormalDiag(Distribution):
    """Vectors of independent normal numbers.

    Args:
      loc: [..., size] floating, the means, by default 0.
      scale_diag: [..., size] floating, positive, the standard deviations, by default 1.

    Raises:
      ValueError: neither is given.

    >>> cloud = dv.distributions.MultivariateNormalDiag([0.0, 1.0], [1.0, 2.0])
    >>> cloud.covariance().numpy().tolist(), round(float(cloud.log_prob([0.0, 1.0])), 4)
    ([[1.0, 0.0], [0.0, 4.0]], -2.531)
    """

    _event_rank = 1

    def __init__(
        self,
        loc: TensorLike | None = None,
        scale_diag: TensorLike | None = None,
        **settings: Unpack[Settings],
    ) -> None:
        super().__init__(**settings)
        given = loc if scale_diag is None else scale_diag
        if given is None:
            raise ValueError("Must pass loc or scale_diag.")
        loc = zeros_like(given) if loc is None else loc
        scale_diag = ones_like(given) if scale_diag is None else scale_diag
        self.loc, self.scale_diag = self._take(loc=loc, scale_diag=scale_diag)
        self.each = Normal(
            self.loc, self.scale_diag, validate_args=self.validate_args, name=self.name
        )

    @property
    def event_shape(self) -> TensorShape:
        """[size]."""
        return self.each.batch_shape[-1:]

    def _batch_tensors(self) -> list[Tensor]:
        return [self.each._mean()[..., 0]]

    def _sample(self, shape: Tensor, full: Tensor, seed: int | None) -> Tensor:
        return random_normal(full, dtype=self.dtype, seed=seed) * self.scale_diag + self.loc

    def _log_prob(self, x: Tensor) -> Tensor:
        return reduce_sum(self.each._log_prob(x), -1)

    def _entropy(self) -> Tensor:
        return reduce_sum(self.each._entropy(), -1)

    def _mean(self) -> Tensor:
        return self.each._mean()

    def _variance(self) -> Tensor:
        return self.each._variance()

    def _covariance(self) -> Tensor:
        return matrix_diag(self._variance())

    def _mode(self) -> Tensor:
        return self._mean()
