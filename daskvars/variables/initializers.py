"""Initializers: objects that make a variable's first value from its shape and dtype.

Random ones draw by the position of an element in the whole array, so a value does not depend on
how the variable is cut into chunks. Names, arguments and formulas are TensorFlow 1.15's.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from daskvars.dtypes import DType, DTypeLike, as_dtype, float32
from daskvars.graph.tensor import Tensor, TensorLike, WithOperators
from daskvars.ops.array import constant as constants
from daskvars.ops.array.ranges import eye
from daskvars.ops.array.reshaping import reshape
from daskvars.ops.array.slicing import slice as part_of
from daskvars.ops.array.transposing import transpose
from daskvars.ops.linalg import decompositions
from daskvars.ops.math.arithmetic import multiply, sign
from daskvars.ops.math.reduce import reduce_sum
from daskvars.ops.random import distributions as random
from daskvars.surface.signatures import Argument, Family
from daskvars.variables.partitions.slices import PartitionInfo

# Standard deviation of a standard normal cut at two: scipy.stats.truncnorm.std(-2, 2).
TRUNCATED_STDDEV = 0.87962566103423978


# What makes a variable's first value: a function of shape and dtype (an `Initializer` or its class,
# above all), or the value.
InitializerLike: TypeAlias = Callable[..., TensorLike] | TensorLike

ARGUMENTS = Family(
    {
        "gain": Argument("a number."),
        "seed": Argument("seed of the operation, see `set_random_seed`."),
        "dtype": Argument("dtype where none is asked for, a floating one."),
    }
)


class Initializer:
    """What `get_variable` calls to make an initial value.

    Subclasses are dataclasses of the arguments of their constructors.

    >>> class Rising(Initializer):
    ...     def __call__(self, shape, dtype=None, partition_info=None):
    ...         return dv.range(float(shape[0]))
    >>> with dv.Graph().as_default(), dv.Session() as sess:
    ...     w = dv.get_variable("w", [3], initializer=Rising())
    ...     sess.run(w.initializer)
    ...     sess.run(w).tolist()
    [0.0, 1.0, 2.0]
    """

    dtype: DTypeLike = float32

    def __post_init__(self) -> None:
        self.dtype = as_dtype(self.dtype)

    def __call__(
        self,
        shape: Sequence[int],
        dtype: DTypeLike | None = None,
        partition_info: PartitionInfo | None = None,
    ) -> Tensor:
        """Return a tensor.

        Args:
          shape: its shape.
          dtype: its dtype, by default the initializer's own.
          partition_info: where a part of a partitioned variable lies in the whole.
        """
        return self._value(shape, self.dtype if dtype is None else dtype, partition_info)

    def _value(self, shape: Sequence[int], dtype: Any, part: PartitionInfo | None) -> Tensor:
        """Return a tensor of a dtype; `part` says of what it is a part."""
        raise NotImplementedError(f"{type(self).__name__} must implement __call__")

    def get_config(self) -> dict[str, Any]:
        """Return the constructor's arguments as plain data."""
        fields = getattr(self, "__dataclass_fields__", {}).values()
        config = {f.name: getattr(self, f.name) for f in fields if f.init}
        return {k: v.name if isinstance(v, DType) else v for k, v in config.items()}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Initializer:
        """Return the initializer that `get_config` described."""
        return cls(**config)

    def __repr__(self) -> str:
        arguments = ", ".join(f"{k}={v!r}" for k, v in self.get_config().items())
        return f"{type(self).__name__}({arguments})"


class OfFloats(Initializer):
    """An initializer of floating dtypes only."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not as_dtype(self.dtype).is_floating:
            raise ValueError(f"Expected floating point type, got {as_dtype(self.dtype).name}.")


@dataclass(eq=False, repr=False)
class Zeros(Initializer):
    """Zeros; False for bool, "" for string.

    Args:
      dtype: dtype where none is asked for.

    >>> Zeros(dtype="int32").get_config()
    {'dtype': 'int32'}
    """

    dtype: DTypeLike = float32

    def _value(self, shape: Sequence[int], dtype: Any, part: PartitionInfo | None) -> Tensor:
        return constants.zeros(shape, dtype)


@dataclass(eq=False, repr=False)
class Ones(Initializer):
    """Ones; True for bool.

    Args:
      dtype: dtype where none is asked for.

    >>> Ones()([2]).numpy().tolist(), Ones("bool")([2]).numpy().tolist()
    ([1.0, 1.0], [True, True])
    """

    dtype: DTypeLike = float32

    def _value(self, shape: Sequence[int], dtype: Any, part: PartitionInfo | None) -> Tensor:
        return constants.ones(shape, dtype)


@dataclass(eq=False, repr=False)
class Constant(Initializer):
    """Given values in row-major order; where there are fewer than elements the last one repeats.

    Args:
      value: a number, a nested list or an array.
      dtype: dtype where none is asked for.
      verify_shape: demand that the shape of `value` is the variable's.

    Raises:
      TypeError: `value` is no such thing.
      ValueError: (when called) there are more values than elements, or the shape differs.

    >>> Constant([1, 2]).get_config()
    {'value': [1, 2], 'dtype': 'float32', 'verify_shape': False}
    """

    value: TensorLike = 0
    dtype: DTypeLike = float32
    verify_shape: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.value, WithOperators) or callable(self.value):
            raise TypeError(
                f"Invalid type for initial value: {type(self.value).__name__}. Give a number, a "
                "list or an array; a tensor can be the initializer itself."
            )

    def __call__(
        self,
        shape: Sequence[int],
        dtype: DTypeLike | None = None,
        partition_info: PartitionInfo | None = None,
        verify_shape: Any = None,
    ) -> Tensor:
        verify = self.verify_shape if verify_shape is None else verify_shape
        dtype = self.dtype if dtype is None else dtype
        if constants.is_uniform(self.value, shape, as_dtype(dtype)) and not verify:
            return constants.uniform(self.value, shape, dtype, None, "Const")
        return constants.constant(self.value, dtype, shape, verify_shape=verify)


@ARGUMENTS.documents()
@dataclass(eq=False, repr=False)
class RandomUniform(Initializer):
    """Uniform draws from [minval, maxval).

    Args:
      minval: lower bound.
      maxval: upper bound; None means 1 for floats.
      dtype: dtype where none is asked for.

    >>> draws = RandomUniform(-1, 1, seed=1)([1000]).numpy()
    >>> bool(draws.min() >= -1), bool(draws.max() < 1), draws.dtype.name
    (True, True, 'float32')
    """

    minval: float = 0
    maxval: float | None = None
    seed: int | None = None
    dtype: DTypeLike = float32

    def _value(self, shape: Sequence[int], dtype: Any, part: PartitionInfo | None) -> Tensor:
        return random.random_uniform(shape, self.minval, self.maxval, dtype, self.seed)


@ARGUMENTS.documents()
@dataclass(eq=False, repr=False)
class RandomNormal(OfFloats):
    """Normal draws.

    Args:
      mean: their mean.
      stddev: their standard deviation.

    Raises:
      ValueError: the dtype is not floating.

    >>> draws = RandomNormal(mean=5.0, stddev=2.0, seed=1)([10000]).numpy()
    >>> round(float(draws.mean()), 1), round(float(draws.std()), 1)
    (5.0, 2.0)
    """

    mean: float = 0.0
    stddev: float = 1.0
    seed: int | None = None
    dtype: DTypeLike = float32

    def _value(self, shape: Sequence[int], dtype: Any, part: PartitionInfo | None) -> Tensor:
        return random.random_normal(shape, self.mean, self.stddev, dtype, self.seed)


class TruncatedNormal(RandomNormal):
    """Normal draws, repeated while further than two standard deviations from the mean.

    Args:
      mean, stddev, seed, dtype: see `RandomNormal`.

    >>> draws = TruncatedNormal(stddev=0.5, seed=1)([1000]).numpy()
    >>> bool(0.9 < abs(draws).max() <= 1.0)
    True
    """

    def _value(self, shape: Sequence[int], dtype: Any, part: PartitionInfo | None) -> Tensor:
        return random.truncated_normal(shape, self.mean, self.stddev, dtype, self.seed)


@ARGUMENTS.documents()
@dataclass(eq=False, repr=False)
class UniformUnitScaling(OfFloats):
    """Uniform draws that keep the scale of a linear layer's input.

    The bound is ``factor * sqrt(3 / n)``, n the product of all dimensions but the last.

    Args:
      factor: a number.

    Raises:
      ValueError: the dtype is not floating.

    >>> draws = UniformUnitScaling(seed=1)([300, 10]).numpy()
    >>> bool(0.09 < abs(draws).max() <= 0.1)
    True
    """

    factor: float = 1.0
    seed: int | None = None
    dtype: DTypeLike = float32

    def _value(self, shape: Sequence[int], dtype: Any, part: PartitionInfo | None) -> Tensor:
        inputs = max(1.0, float(math.prod(_whole(shape, part)[:-1])))
        bound = math.sqrt(3 / inputs) * self.factor
        return random.random_uniform(shape, -bound, bound, dtype, self.seed)


@ARGUMENTS.documents()
@dataclass(eq=False, repr=False)
class VarianceScaling(OfFloats):
    """Draws whose variance is ``scale / n``, n made of the numbers of inputs and outputs.

    Args:
      scale: positive factor.
      mode: n is the "fan_in", the "fan_out", or their mean, "fan_avg".
      distribution: "truncated_normal" (or "normal"), "untruncated_normal" or "uniform".

    Raises:
      ValueError: one of them is not as described.

    >>> VarianceScaling(2.0, "fan_in", "uniform").get_config()["mode"]
    'fan_in'
    """

    scale: float = 1.0
    mode: str = "fan_in"
    distribution: str = "truncated_normal"
    seed: int | None = None
    dtype: DTypeLike = float32

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.scale <= 0.0:
            raise ValueError(f"`scale` must be positive float, got {self.scale!r}")
        if self.mode not in ("fan_in", "fan_out", "fan_avg"):
            raise ValueError(
                f"Invalid `mode` argument: {self.mode!r}; use fan_in, fan_out or fan_avg"
            )
        self.distribution = self.distribution.lower()
        kinds = ("normal", "truncated_normal", "untruncated_normal", "uniform")
        if self.distribution not in kinds:
            raise ValueError(
                f"Invalid `distribution` argument: {self.distribution!r}; use truncated_normal, "
                "untruncated_normal or uniform"
            )

    def _value(self, shape: Sequence[int], dtype: Any, part: PartitionInfo | None) -> Tensor:
        fan_in, fan_out = compute_fans(_whole(shape, part))
        fan = {"fan_in": fan_in, "fan_out": fan_out, "fan_avg": (fan_in + fan_out) / 2}[self.mode]
        variance = self.scale / max(1.0, fan)
        if self.distribution == "uniform":
            bound = math.sqrt(3.0 * variance)
            return random.random_uniform(shape, -bound, bound, dtype, self.seed)
        stddev = math.sqrt(variance)
        if self.distribution == "untruncated_normal":
            return random.random_normal(shape, 0.0, stddev, dtype, self.seed)
        return random.truncated_normal(shape, 0.0, stddev / TRUNCATED_STDDEV, dtype, self.seed)


@ARGUMENTS.documents()
@dataclass(eq=False, repr=False)
class GlorotUniform(VarianceScaling):
    """Uniform draws within ``sqrt(6 / (fan_in + fan_out))``: the default for floats.

    Source: Glorot and Bengio, "Understanding the difficulty of training deep feedforward neural
    networks", 2010.

    >>> draws = dv.glorot_uniform_initializer(seed=1)([100, 50]).numpy()
    >>> round(float(abs(draws).max()), 2)
    0.2
    """

    scale: float = field(default=1.0, init=False)
    mode: str = field(default="fan_avg", init=False)
    distribution: str = field(default="uniform", init=False)


@ARGUMENTS.documents()
@dataclass(eq=False, repr=False)
class GlorotNormal(VarianceScaling):
    """Truncated normal draws of deviation ``sqrt(2 / (fan_in + fan_out))``: see `GlorotUniform`.

    >>> round(float(dv.glorot_normal_initializer(seed=1)([100, 100]).numpy().std()), 2)
    0.1
    """

    scale: float = field(default=1.0, init=False)
    mode: str = field(default="fan_avg", init=False)
    distribution: str = field(default="truncated_normal", init=False)


@ARGUMENTS.documents()
@dataclass(eq=False, repr=False)
class Orthogonal(OfFloats):
    """A matrix with orthonormal columns (or rows, if it has more columns), times `gain`.

    All dimensions but the last are taken together as rows.

    Raises:
      ValueError: (when called) the rank is below 2; at once, the dtype is not floating.

    Source: Saxe et al., "Exact solutions to the nonlinear dynamics of learning in deep linear
    neural networks", 2014.

    >>> q = Orthogonal(seed=1)([4, 2]).numpy()
    >>> abs(q.T @ q).round(4).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    gain: float = 1.0
    seed: int | None = None
    dtype: DTypeLike = float32

    def _value(self, shape: Sequence[int], dtype: Any, part: PartitionInfo | None) -> Tensor:
        if len(shape) < 2:
            raise ValueError(
                f"The tensor to initialize must be at least two-dimensional, got shape {shape}"
            )
        q = random_orthonormal(math.prod(shape[:-1]), shape[-1], dtype, self.seed)
        return multiply(reshape(q, shape), self.gain)


@ARGUMENTS.documents()
@dataclass(eq=False, repr=False)
class Identity(OfFloats):
    """The identity matrix times `gain`, for matrices only.

    Raises:
      ValueError: (when called) the shape is not of rank 2; at once, the dtype is not floating.

    >>> Identity(gain=2.0)([2, 3]).numpy().tolist()
    [[2.0, 0.0, 0.0], [0.0, 2.0, 0.0]]
    """

    gain: float = 1.0
    dtype: DTypeLike = float32

    def _value(self, shape: Sequence[int], dtype: Any, part: PartitionInfo | None) -> Tensor:
        whole = _whole(shape, part)
        if len(whole) != 2:
            raise ValueError(
                f"Identity matrix initializer can only be used for 2D matrices, got shape {whole}."
            )
        value = eye(whole[0], whole[1], dtype=dtype)
        if part is not None:
            value = part_of(value, part.var_offset, shape)
        return multiply(value, self.gain)


@ARGUMENTS.documents()
def he_normal(seed: int | None = None) -> VarianceScaling:
    """Truncated normal draws of standard deviation ``sqrt(2 / fan_in)``.

    Source: He et al., "Delving deep into rectifiers", 2015.

    >>> round(float(he_normal(seed=1)([50, 200]).numpy().std()), 2)
    0.2
    """
    return VarianceScaling(2.0, "fan_in", "truncated_normal", seed)


@ARGUMENTS.documents()
def he_uniform(seed: int | None = None) -> VarianceScaling:
    """Uniform draws within ``sqrt(6 / fan_in)``; see `he_normal`.

    >>> round(float(abs(he_uniform(seed=1)([24, 500]).numpy()).max()), 2)
    0.5
    """
    return VarianceScaling(2.0, "fan_in", "uniform", seed)


@ARGUMENTS.documents()
def lecun_normal(seed: int | None = None) -> VarianceScaling:
    """Truncated normal draws of standard deviation ``sqrt(1 / fan_in)``.

    Source: LeCun et al., "Efficient backprop", 1998.

    >>> round(float(lecun_normal(seed=1)([25, 400]).numpy().std()), 2)
    0.2
    """
    return VarianceScaling(1.0, "fan_in", "truncated_normal", seed)


@ARGUMENTS.documents()
def lecun_uniform(seed: int | None = None) -> VarianceScaling:
    """Uniform draws within ``sqrt(3 / fan_in)``; see `lecun_normal`.

    >>> round(float(abs(lecun_uniform(seed=1)([12, 1000]).numpy()).max()), 2)
    0.5
    """
    return VarianceScaling(1.0, "fan_in", "uniform", seed)


def compute_fans(shape: Sequence[int]) -> tuple[float, float]:
    """Return the numbers of inputs and outputs of a unit with weights of `shape`.

    >>> compute_fans((5, 5, 3, 4))
    (75.0, 100.0)
    """
    if len(shape) < 1:
        return 1.0, 1.0
    if len(shape) == 1:
        return float(shape[0]), float(shape[0])
    field = float(math.prod(shape[:-2]))
    return shape[-2] * field, shape[-1] * field


def random_orthonormal(rows: int, columns: int, dtype: Any, seed: int | None) -> Tensor:
    """Return a random matrix whose columns are orthonormal, or its rows if they are fewer.

    >>> q = random_orthonormal(2, 3, float32, 1).numpy()
    >>> abs(q @ q.T).round(4).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    tall = (max(rows, columns), min(rows, columns))
    q, r = decompositions.qr(random.random_normal(tall, dtype=dtype, seed=seed))
    # The signs of r's diagonal make the result uniform over all orthogonal matrices.
    diagonal = reduce_sum(multiply(r, eye(tall[1], dtype=dtype)), 0)
    q = multiply(q, sign(diagonal))
    return transpose(q) if rows < columns else q


def _whole(shape: Sequence[int], part: PartitionInfo | None) -> Sequence[int]:
    return shape if part is None else part.full_shape


zeros_initializer = Zeros
ones_initializer = Ones
constant_initializer = Constant
random_uniform_initializer = RandomUniform
random_normal_initializer = RandomNormal
truncated_normal_initializer = TruncatedNormal
uniform_unit_scaling_initializer = UniformUnitScaling
variance_scaling_initializer = VarianceScaling
orthogonal_initializer = Orthogonal
identity_initializer = Identity
glorot_uniform_initializer = GlorotUniform
glorot_normal_initializer = GlorotNormal
