"""Random tensors that are functions of a seed given with each call, which may be a tensor.

The same seed and shape give the same numbers, in every run and however a tensor is cut.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from daskvars import dtypes, shapes
from daskvars.dtypes import DTypeLike, as_dtype
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import OpDef
from daskvars.graph.interpreter import apply
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.kernels.random import gamma_poisson as kernels
from daskvars.ops.math.arithmetic import add, multiply, subtract
from daskvars.ops.random.distributions import are_numbers, draws_of_classes, source
from daskvars.ops.rules import axes
from daskvars.surface.signatures import named, with_example


def _source(type: str, kernel: Any, *bounds: str) -> OpDef:
    return source(type, kernel, "seed", *bounds, seeded=False)


UNIFORM = _source("StatelessRandomUniform", kernels.stateless_uniform)
UNIFORM_INT = _source("StatelessRandomUniformInt", kernels.stateless_uniform, "minval", "maxval")
NORMAL = _source("StatelessRandomNormal", kernels.stateless_normal)
TRUNCATED_NORMAL = _source("StatelessTruncatedNormal", kernels.stateless_truncated_normal)


def _seed(seed: Any) -> Any:
    """Return a seed as an attribute. Raises ValueError unless it is two integers."""
    value = axes.as_operand(seed)
    if (isinstance(value, tuple) and len(value) != 2) or isinstance(value, int):
        raise ValueError(f"seed must be a vector of two integers, got {seed!r}")
    if axes.is_symbolic(value):
        value = convert_to_tensor(value)
        if not shapes.compatible(value.spec.shape, (2,)):
            raise ValueError(f"seed must be a vector of two integers, got shape {value.shape}")
    return value


def _scaled(
    definition: OpDef,
    shape: Any,
    seed: Any,
    dtype: dtypes.DType,
    scope: str,
    low: Any,
    width: Any,
    bounds: tuple[str, str],
) -> Tensor:
    """Draw numbers; what scales and shifts them goes to the kernel where it is a number."""
    options = {"shape": axes.as_sizes(shape), "seed": _seed(seed), "dtype": dtype.name}
    if are_numbers(low, width):
        values = zip(bounds, (float(low), float(width)), strict=True)
        return apply(definition, name=scope, **options, **dict(values))
    low = convert_to_tensor(low, dtype, name=bounds[0])
    width = convert_to_tensor(width, dtype, name=bounds[1])
    if bounds[1] == "maxval":
        width = subtract(width, low)
    return add(multiply(apply(definition, **options), width), low, name=scope)


def stateless_uniform(
    shape: TensorLike,
    seed: TensorLike,
    minval: TensorLike = 0,
    maxval: TensorLike | None = None,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
) -> Tensor:
    """Return numbers uniform in [minval, maxval) that depend on `seed` and `shape` alone.

    Args:
      shape: [rank] int32 or int64, the shape.
      seed: [2] int32 or int64.
      minval: scalar, or a tensor that broadcasts to `shape` (floats), included. None, with
        `maxval` None, for all numbers of an integer dtype.
      maxval: as `minval`, excluded; 1 by default for floats.
      dtype: a float dtype, int32 or int64.
      name: name of the operation, by default "stateless_random_uniform".

    Returns:
      [*shape] `dtype`.

    Raises:
      ValueError: integers are asked for without `maxval`, or `seed` is not two numbers.

    Source: TensorFlow 1.15, ``tf.random.stateless_uniform``.

    >>> one, two = (stateless_uniform([3], seed=[1, 2]).numpy() for _ in range(2))
    >>> bool((one == two).all())
    True
    """
    dtype = as_dtype(dtype).base_dtype
    with name_scope(name, "stateless_random_uniform", [shape, seed, minval, maxval]) as scope:
        if not dtype.is_integer:
            high = 1 if maxval is None else maxval
            return _scaled(UNIFORM, shape, seed, dtype, scope, minval, high, ("minval", "maxval"))
        if (minval is None) != (maxval is None) or (maxval is None and minval is not None):
            raise ValueError(
                f"Must specify maxval for integer dtype {dtype.name}, or minval=None and "
                "maxval=None for all its numbers"
            )
        low, high = (dtype.min, dtype.max + 1) if maxval is None else (minval, maxval)
        return apply(
            UNIFORM_INT,
            name=scope,
            shape=axes.as_sizes(shape),
            seed=_seed(seed),
            dtype=dtype.name,
            **axes.as_integers(minval=low, maxval=high),
        )


def _normal(name: str, definition: OpDef, scope: str, summary: str) -> Callable[..., Tensor]:
    """Return a function that draws normal numbers."""

    def normal(
        shape: TensorLike,
        seed: TensorLike,
        mean: TensorLike = 0.0,
        stddev: TensorLike = 1.0,
        dtype: DTypeLike = dtypes.float32,
        name: str | None = None,
    ) -> Tensor:
        dtype = as_dtype(dtype).base_dtype
        with name_scope(name, scope, [shape, seed, mean, stddev]) as full:
            return _scaled(definition, shape, seed, dtype, full, mean, stddev, ("mean", "stddev"))

    doc = f"""{summary} that depend on `seed` and `shape` alone.

    Args:
      shape: [rank] int32 or int64, the shape.
      seed: [2] int32 or int64.
      mean: scalar, or a tensor that broadcasts to `shape`.
      stddev: as `mean`, the standard deviation.
      dtype: a float dtype.
      name: name of the operation, by default "{scope}".

    Returns:
      [*shape] `dtype`.

    Source: TensorFlow 1.15, ``tf.random.{name}``.
    """
    draw = f"one, two = ({name}([3], seed=[1, 2]).numpy() for _ in range(2))"
    return named(normal, name, with_example(doc, f"{draw}\nbool((one == two).all()) -> True"))


stateless_normal = _normal(
    "stateless_normal", NORMAL, "stateless_random_normal", "Return normal numbers"
)
stateless_truncated_normal = _normal(
    "stateless_truncated_normal",
    TRUNCATED_NORMAL,
    "stateless_truncated_normal",
    "Return normal numbers within two standard deviations",
)


MULTINOMIAL = draws_of_classes(
    "StatelessMultinomial", kernels.stateless_multinomial, "seed", seeded=False
)


def stateless_multinomial(
    logits: TensorLike,
    num_samples: TensorLike,
    seed: TensorLike,
    output_dtype: DTypeLike = dtypes.int64,
    name: str | None = None,
) -> Tensor:
    """Draw classes with the probabilities softmax(logits), as `seed` alone says.

    Args:
      logits: [batch, classes] floating, unnormalised log-probabilities.
      num_samples: scalar integer, draws per row.
      seed: [2] int32 or int64.
      output_dtype: int32 or int64.
      name: name of the operation, by default "stateless_multinomial".

    Returns:
      [batch, num_samples] `output_dtype`.

    Source: TensorFlow 1.15, ``tf.random.stateless_multinomial``.

    >>> stateless_multinomial([[0.0, 99.0], [99.0, 0.0]], 3, seed=[1, 2]).numpy().tolist()
    [[1, 1, 1], [0, 0, 0]]
    """
    return apply(
        MULTINOMIAL,
        logits,
        name=name or "stateless_multinomial",
        seed=_seed(seed),
        num_samples=axes.as_operand(num_samples),
        dtype=as_dtype(output_dtype).base_dtype.name,
    )


def stateless_categorical(
    logits: TensorLike,
    num_samples: TensorLike,
    seed: TensorLike,
    dtype: DTypeLike = dtypes.int64,
    name: str | None = None,
) -> Tensor:
    """Draw classes with the probabilities softmax(logits), as `seed` alone says.

    Args:
      logits, num_samples, seed: as of `stateless_multinomial`.
      dtype: int32 or int64.
      name: name of the operation, by default "stateless_categorical".

    Returns:
      [batch, num_samples] `dtype`.

    >>> stateless_categorical([[0.0, 99.0, 0.0]], 4, seed=[1, 2]).numpy().tolist()
    [[1, 1, 1, 1]]
    """
    name = name or "stateless_categorical"
    return stateless_multinomial(logits, num_samples, seed, dtype, name)
