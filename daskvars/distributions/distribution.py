"""What distributions are: parameters, shapes, and functions of them under names of their own."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, ClassVar, TypedDict

from daskvars.distributions.kullback_leibler import kl_divergence
from daskvars.dtypes import int32
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.ops.array.constant import constant, shape as shape_of, zeros_like
from daskvars.ops.array.joining import concat
from daskvars.ops.array.reshaping import reshape
from daskvars.ops.control.dependencies import Assert, with_dependencies
from daskvars.ops.math.arithmetic import floor
from daskvars.ops.math.comparison import equal, greater, greater_equal, where
from daskvars.ops.math.reduce import reduce_all, reduce_sum
from daskvars.ops.math.transcendental import exp, log, sqrt
from daskvars.ops.rules.static_shapes import broadcast_dynamic_shape, broadcast_static_shape
from daskvars.shapes import TensorShape
from daskvars.surface.signatures import Argument, Family


def is_not_negative(x: Tensor) -> Tensor:
    """Return where numbers are 0 or more."""
    return greater_equal(x, zeros_like(x))


def is_whole(x: Tensor) -> Tensor:
    """Return where numbers have no fraction."""
    return equal(x, floor(x))


class ReparameterizationType:
    """Whether gradients flow through samples into parameters.

    Args:
      rep_type: str, what it is called.

    >>> dv.distributions.Normal(0.0, 1.0).reparameterization_type
    <Reparameterization Type: FULLY_REPARAMETERIZED>
    """

    def __init__(self, rep_type: str) -> None:
        self._rep_type = rep_type

    def __repr__(self) -> str:
        return f"<Reparameterization Type: {self._rep_type}>"


FULLY_REPARAMETERIZED = ReparameterizationType("FULLY_REPARAMETERIZED")
NOT_REPARAMETERIZED = ReparameterizationType("NOT_REPARAMETERIZED")


class Settings(TypedDict, total=False):
    """What every distribution is told, beside its parameters."""

    validate_args: bool
    allow_nan_stats: bool
    name: str


SETTINGS = Family(
    {
        "validate_args": Argument(
            "whether parameters and values are checked when they are computed; otherwise wrong "
            "ones give wrong results.",
            False,
            "bool",
        ),
        "allow_nan_stats": Argument(
            "whether a statistic that is not defined is NaN; otherwise it raises "
            "InvalidArgumentError when it is computed.",
            True,
            "bool",
        ),
        "name": Argument("name scope of the operations.", "", "str"),
    }
)


@SETTINGS.documents()
class Distribution:
    """A distribution; a subclass has formulas, and lists names of its parameters.

    A constructor that takes ``**settings`` names the arguments of this one there.

    Args:
      name: name scope of the operations, by default that of the class.

    Attributes:
      dtype: of samples.
      reparameterization_type: `FULLY_REPARAMETERIZED` or `NOT_REPARAMETERIZED`.
      batch_shape, event_shape: TensorShape.

    >>> both = dv.distributions.Normal([0.0, 1.0], 2.0)
    >>> isinstance(both, dv.distributions.Distribution), both.sample(3, seed=1).shape.as_list()
    (True, [3, 2])
    >>> both.copy(scale=0.5).stddev().numpy().tolist()
    [0.5, 0.5]
    """

    reparameterization_type: ClassVar[ReparameterizationType] = FULLY_REPARAMETERIZED
    _event_rank: ClassVar[int] = 0

    def __init__(self, validate_args: bool, allow_nan_stats: bool, name: str) -> None:
        self.validate_args = validate_args
        self.allow_nan_stats = allow_nan_stats
        self.name = name
        self.dtype: Any = None
        self._given: dict[str, Any] = {}

    def __init_subclass__(cls) -> None:
        SETTINGS.completes(cls, name=cls.__name__)

    def _take(self, dtype: Any = None, **parameters: Any) -> list[Tensor]:
        """Return parameters as tensors of one dtype, and remember them."""
        self._given = parameters
        found = []
        with name_scope(self.name):
            for name, value in parameters.items():
                tensor = convert_to_tensor(value, dtype, name=name)
                dtype = tensor.dtype.base_dtype
                found.append(tensor)
        self.dtype = dtype
        return found

    def _checked(self, tensor: Tensor, holds: Callable[[Tensor], Any], message: str) -> Tensor:
        """Return a tensor that raises if a condition does not hold, where arguments are checked."""
        if not self.validate_args:
            return tensor
        return with_dependencies([Assert(reduce_all(holds(tensor)), [message, tensor])], tensor)

    def _positive(self, tensor: Tensor, what: str) -> Tensor:
        """Return a tensor that raises if a number of it is not positive, where that is checked."""
        message = f"{what} must be positive: Condition x > 0 did not hold element-wise"
        return self._checked(tensor, lambda x: greater(x, zeros_like(x)), message)

    def _whole(self, x: Tensor, what: str) -> Tensor:
        """Return numbers that raise if they are no counts, where arguments are checked."""
        x = self._checked(x, is_not_negative, f"{what} must be non-negative")
        return self._checked(x, is_whole, f"{what} cannot contain fractional components.")

    def _after(self, checked: Tensor, tensor: Tensor) -> Tensor:
        """Return a tensor that raises as `checked` does, of which a statistic may need nothing."""
        return with_dependencies([checked], tensor) if self.validate_args else tensor

    def _defined(self, value: Tensor, is_defined: Tensor, message: str) -> Tensor:
        """Return a statistic, NaN or an error where it is not defined."""
        if self.allow_nan_stats:
            return where(is_defined, value, zeros_like(value) + float("nan"))
        said = f"{message}: Condition x < y did not hold element-wise"
        return with_dependencies([Assert(reduce_all(is_defined), [said])], value)

    @property
    def parameters(self) -> dict[str, Any]:
        """The arguments of the constructor."""
        settings = {n: getattr(self, n) for n in ("validate_args", "allow_nan_stats", "name")}
        return {**self._given, **settings}

    def copy(self, **override_parameters_kwargs: Any) -> Any:
        """Return a distribution with other values for some arguments of the constructor."""
        return type(self)(**{**self.parameters, **override_parameters_kwargs})

    # -- shapes -------------------------------------------------------------------------------

    def _batch_tensors(self) -> list[Tensor]:
        """Return tensors of the batch shape, broadcast together."""
        raise NotImplementedError

    @property
    def batch_shape(self) -> TensorShape:
        """The shape of the parameters, broadcast together."""
        return functools.reduce(
            broadcast_static_shape, [t.get_shape() for t in self._batch_tensors()]
        )

    @property
    def event_shape(self) -> TensorShape:
        """The shape of one draw."""
        return TensorShape([])

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Tensor:
        """Return the batch shape, [rank] int32."""
        with name_scope(f"{self.name}/{name}"):
            known: Any = self.batch_shape
            if known.is_fully_defined():
                return constant(known.as_list(), int32, [known.ndims])
            shapes = [shape_of(tensor) for tensor in self._batch_tensors()]
            return functools.reduce(broadcast_dynamic_shape, shapes)

    def event_shape_tensor(self, name: str = "event_shape_tensor") -> Tensor:
        """Return the event shape, [rank] int32."""
        known: Any = self.event_shape
        if not known.is_fully_defined():  # only the run knows it: that of what is drawn on average
            with name_scope(f"{self.name}/{name}"):
                return shape_of(self.mean())[-self._event_rank :]
        return constant(known.as_list(), int32, [self._event_rank], f"{self.name}/{name}")

    def is_scalar_event(self) -> bool:
        """Return whether a draw is one number."""
        return self._event_rank == 0

    def is_scalar_batch(self) -> bool | None:
        """Return whether there is one distribution; None where that is not known."""
        return None if self.batch_shape.ndims is None else self.batch_shape.ndims == 0

    # -- functions ----------------------------------------------------------------------------

    def sample(
        self, sample_shape: TensorLike = (), seed: int | None = None, name: str = "sample"
    ) -> Tensor:
        """Return draws, [*sample_shape, *batch_shape, *event_shape].

        Args:
          sample_shape: how many, a number or a shape.
          seed: see `set_random_seed`.
          name: name scope.
        """
        with name_scope(f"{self.name}/{name}"):
            shape = reshape(convert_to_tensor(sample_shape, int32), [-1])
            full = concat([shape, self.batch_shape_tensor(), self.event_shape_tensor()], 0)
            return self._sample(shape, full, seed)

    def _sample(self, shape: Tensor, full: Tensor, seed: int | None) -> Tensor:
        raise NotImplementedError(f"sample is not implemented: {type(self).__name__}")

    def _value(self, value: TensorLike) -> Tensor:
        return convert_to_tensor(value, self.dtype, name="value")

    def _without(self, function: str) -> Any:
        raise NotImplementedError(f"{function} is not implemented: {type(self).__name__}")

    def log_prob(self, value: TensorLike, name: str = "log_prob") -> Tensor:
        """Return the logarithm of the density or probability of `value`."""
        with name_scope(f"{self.name}/{name}", values=[value]):
            return self._log_prob(self._value(value))

    def _log_prob(self, x: Tensor) -> Tensor:
        return self._without("log_prob")

    def prob(self, value: TensorLike, name: str = "prob") -> Tensor:
        """Return the density or probability of `value`."""
        with name_scope(f"{self.name}/{name}", values=[value]):
            return self._prob(self._value(value))

    def _prob(self, x: Tensor) -> Tensor:
        return exp(self._log_prob(x))

    def cdf(self, value: TensorLike, name: str = "cdf") -> Tensor:
        """Return the probability of at most `value`."""
        with name_scope(f"{self.name}/{name}", values=[value]):
            return self._cdf(self._value(value))

    def _cdf(self, x: Tensor) -> Tensor:
        return self._without("cdf")

    def log_cdf(self, value: TensorLike, name: str = "log_cdf") -> Tensor:
        """Return the logarithm of the probability of at most `value`."""
        with name_scope(f"{self.name}/{name}", values=[value]):
            return self._log_cdf(self._value(value))

    def _log_cdf(self, x: Tensor) -> Tensor:
        return log(self._cdf(x))

    def survival_function(self, value: TensorLike, name: str = "survival_function") -> Tensor:
        """Return the probability of more than `value`."""
        with name_scope(f"{self.name}/{name}", values=[value]):
            return self._survival(self._value(value))

    def _survival(self, x: Tensor) -> Tensor:
        return 1 - self._cdf(x)

    def log_survival_function(
        self, value: TensorLike, name: str = "log_survival_function"
    ) -> Tensor:
        """Return the logarithm of the probability of more than `value`."""
        with name_scope(f"{self.name}/{name}", values=[value]):
            return self._log_survival(self._value(value))

    def _log_survival(self, x: Tensor) -> Tensor:
        return log(self._survival(x))

    def quantile(self, value: TensorLike, name: str = "quantile") -> Tensor:
        """Return the number that a draw is at most with the probability `value`."""
        with name_scope(f"{self.name}/{name}", values=[value]):
            return self._quantile(self._value(value))

    def _quantile(self, p: Tensor) -> Tensor:
        return self._without("quantile")

    def entropy(self, name: str = "entropy") -> Tensor:
        """Return the entropy in nats."""
        with name_scope(f"{self.name}/{name}"):
            return self._entropy()

    def _entropy(self) -> Tensor:
        return self._without("entropy")

    def mean(self, name: str = "mean") -> Tensor:
        """Return the mean."""
        with name_scope(f"{self.name}/{name}"):
            return self._mean()

    def _mean(self) -> Tensor:
        return self._without("mean")

    def variance(self, name: str = "variance") -> Tensor:
        """Return the variance."""
        with name_scope(f"{self.name}/{name}"):
            return self._variance()

    def _variance(self) -> Tensor:
        return self._without("variance")

    def stddev(self, name: str = "stddev") -> Tensor:
        """Return the standard deviation."""
        with name_scope(f"{self.name}/{name}"):
            return sqrt(self._variance())

    def covariance(self, name: str = "covariance") -> Tensor:
        """Return the covariances of a vector's elements, [*batch_shape, size, size]."""
        with name_scope(f"{self.name}/{name}"):
            return self._covariance()

    def _covariance(self) -> Tensor:
        return self._without("covariance")

    def mode(self, name: str = "mode") -> Tensor:
        """Return the likeliest value."""
        with name_scope(f"{self.name}/{name}"):
            return self._mode()

    def _mode(self) -> Tensor:
        return self._without("mode")

    def kl_divergence(self, other: Any, name: str = "kl_divergence") -> Tensor:
        """Return the divergence of another distribution from this one. See `kl_divergence`."""
        with name_scope(f"{self.name}/{name}"):
            return kl_divergence(self, other, self.allow_nan_stats)

    def cross_entropy(self, other: Any, name: str = "cross_entropy") -> Tensor:
        """Return the mean, over draws of this one, of ``-other.log_prob(draw)``.

        Args:
          other: a distribution of which there is a divergence from this one.
          name: name scope.

        Raises:
          NotImplementedError: there is none.
        """
        with name_scope(f"{self.name}/{name}"):
            return self._entropy() + kl_divergence(self, other, self.allow_nan_stats)

    def __repr__(self) -> str:
        return (
            f"<tf.distributions.{type(self).__name__} {self.name!r} "
            f"batch_shape={self.batch_shape} event_shape={self.event_shape} "
            f"dtype={self.dtype.name}>"
        )


class OfAnother(Distribution):
    """A distribution of what another one draws: what is undefined of that is so of this."""

    distribution: Any
    _moved: int  # dimensions of its batch that are a draw's here
    _kept: int | None  # those that are left, None where their number is not known

    def __init__(self, distribution: Any, validate_args: bool, name: str) -> None:
        super().__init__(validate_args, distribution.allow_nan_stats, name)
        self.distribution, self.dtype = distribution, distribution.dtype
        self.reparameterization_type = distribution.reparameterization_type  # type: ignore[misc]

    @property
    def parameters(self) -> dict[str, Any]:
        """The arguments of the constructor."""
        return {**self._given, "validate_args": self.validate_args, "name": self.name}

    @property
    def batch_shape(self) -> TensorShape:
        """The batch of the other distribution, without what is a draw's here."""
        return self.distribution.batch_shape[: self._kept]

    def batch_shape_tensor(self, name: str = "batch_shape_tensor") -> Tensor:
        """Return the batch shape, [rank] int32."""
        return self.distribution.batch_shape_tensor(name)[: self._kept]

    def _summed(self, value: Tensor) -> Tensor:
        """Return sums over the dimensions of its batch that are a draw's here."""
        return reduce_sum(value, list(range(-self._moved, 0))) if self._moved else value
