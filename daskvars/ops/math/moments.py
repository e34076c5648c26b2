"""Means, variances and norms, composed of reductions."""

from __future__ import annotations

import math
from typing import Any

from daskvars import dtypes
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.ops.array import constant, reshaping
from daskvars.ops.gather_scatter.gather import gather
from daskvars.ops.math.arithmetic import add, multiply, square, squared_difference, subtract
from daskvars.ops.math.casting import cast, conj, real
from daskvars.ops.math.reduce import reduce_mean, reduce_prod, reduce_sum
from daskvars.ops.math.transcendental import reciprocal, sqrt
from daskvars.ops.rules.axes import either
from daskvars.surface.accepted import accepts
from daskvars.surface.signatures import with_arguments_of


def reduce_variance(
    input_tensor: TensorLike,
    axis: TensorLike | None = None,
    keepdims: bool | None = None,
    name: str | None = None,
) -> Tensor:
    """Return the mean of the squared distances from the mean, along axes.

    Args:
      input_tensor: [...] floating.
      axis: int or list of ints, the axes to fold; None for all.
      keepdims: keep folded axes, with size 1.
      name: name scope of the operations, by default "reduce_variance".

    Returns:
      A tensor without the folded axes, of the dtype of `input_tensor`.

    >>> float(reduce_variance([[1.0, 2.0], [3.0, 4.0]]))
    1.25
    """
    with name_scope(name, "reduce_variance", [input_tensor]):
        x = convert_to_tensor(input_tensor)
        difference = subtract(x, reduce_mean(x, axis, keepdims=True))
        return reduce_mean(real(multiply(difference, conj(difference))), axis, keepdims)


@with_arguments_of(reduce_variance)
def reduce_std(
    input_tensor: TensorLike, axis: Any, keepdims: bool | None, name: str | None
) -> Tensor:
    """Return the square root of the variance, along axes. See `reduce_variance`.

    Args:
      name: name scope of the operations, by default "reduce_std".

    >>> print(reduce_std([1.0, 3.0]))
    1.0
    """
    with name_scope(name, "reduce_std", [input_tensor]):
        return sqrt(reduce_variance(input_tensor, axis, keepdims))


@with_arguments_of(reduce_variance)
def reduce_euclidean_norm(
    input_tensor: TensorLike, axis: Any, keepdims: bool | None, name: str | None
) -> Tensor:
    """Return the square root of the sum of squares, along axes. See `reduce_variance`.

    Args:
      name: name of the operation, by default "EuclideanNorm".

    >>> print(reduce_euclidean_norm([3.0, 4.0]))
    5.0
    """
    with name_scope(name, "EuclideanNorm", [input_tensor]) as scope:
        return sqrt(reduce_sum(square(input_tensor), axis, keepdims), name=scope)


@accepts("shift")
def moments(
    x: TensorLike,
    axes: TensorLike,
    shift: TensorLike | None = None,
    name: str | None = None,
    keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor]:
    """Return mean and variance over axes.

    Args:
      x: [...] floating; float16 is computed in float32.
      axes: list of ints, the axes to fold; [0, 1, 2] of images gives one pair per channel.
      name: name scope of the operations, by default "moments".
      keep_dims: the old name of `keepdims`.
      keepdims: keep folded axes, with size 1.

    Returns:
      Two tensors of the dtype of `x`.

    >>> [float(value) for value in moments([1.0, 2.0, 3.0, 6.0], [0])]
    [3.0, 3.5]
    """
    keepdims = bool(either(keepdims, keep_dims, "keepdims", "keep_dims"))
    with name_scope(name, "moments", [x]):
        x = convert_to_tensor(x, name="x")
        wide = _wide(x)
        mean = reduce_mean(wide, axes, keepdims=True, name="mean")
        # The gradient by the mean is zero: the distances from it add up to nothing.
        distances = squared_difference(wide, reshaping.stop_gradient(mean))
        variance = reduce_mean(distances, axes, keepdims=True, name="variance")
        if not keepdims:
            mean = reshaping.squeeze(mean, axes, name="Squeeze")
            variance = reshaping.squeeze(variance, axes, name="Squeeze_1")
        return cast(mean, x.dtype), cast(variance, x.dtype)


def _wide(x: Tensor) -> Tensor:
    return cast(x, dtypes.float32) if x.dtype.base_dtype is dtypes.float16 else x


def weighted_moments(
    x: TensorLike,
    axes: TensorLike,
    frequency_weights: TensorLike,
    name: str | None = None,
    keep_dims: bool | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor]:
    """Return mean and variance over axes where each element counts by its weight.

    Args:
      x: [...] floating; float16 is computed in float32.
      axes: list of ints, the axes to fold.
      frequency_weights: a tensor that broadcasts to `x`, positive.
      name: name scope of the operations, by default "weighted_moments".
      keep_dims: the old name of `keepdims`.
      keepdims: keep folded axes, with size 1.

    Returns:
      Two tensors of the dtype of `x`.

    >>> mean, variance = weighted_moments([1.0, 3.0], [0], [1.0, 1.0])
    >>> float(mean), float(variance)
    (2.0, 1.0)
    """
    keepdims = bool(either(keepdims, keep_dims, "keepdims", "keep_dims"))
    with name_scope(name, "weighted_moments", [x, frequency_weights]):
        x = convert_to_tensor(x, name="x")
        wide = _wide(x)
        weights = convert_to_tensor(frequency_weights, name="frequency_weights")
        # The weights count once for each element that they are broadcast to.
        weights = add(cast(weights, wide.dtype), constant.zeros_like(wide))
        total = reciprocal(reduce_sum(weights, axes, keepdims=True))
        mean = multiply(reduce_sum(multiply(weights, wide), axes, keepdims=True), total)
        distances = multiply(weights, squared_difference(wide, mean))
        variance = multiply(reduce_sum(distances, axes, keepdims=True), total)
        if not keepdims:
            mean, variance = reshaping.squeeze(mean, axes), reshaping.squeeze(variance, axes)
        return cast(mean, x.dtype), cast(variance, x.dtype)


def sufficient_statistics(
    x: Any,
    axes: Any,
    shift: TensorLike | None = None,
    keep_dims: bool | None = None,
    name: str | None = None,
    keepdims: bool | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """Return what mean and variance over axes can be computed from.

    Args:
      x: [...] floating.
      axes: list of ints, the axes to fold.
      shift: a tensor that broadcasts to `x`, subtracted from it; numbers near the mean lose least.
      keep_dims: the old name of `keepdims`.
      name: name scope of the operations, by default "sufficient_statistics".
      keepdims: keep folded axes, with size 1.

    Returns:
      (number of elements per sum [], sums, sums of squares, `shift` as a tensor or None), of the
      dtype of `x`.

    >>> [float(t) for t in sufficient_statistics([1.0, 2.0, 6.0], [0])[:3]]
    [3.0, 9.0, 41.0]
    """
    keepdims = bool(either(keepdims, keep_dims, "keepdims", "keep_dims"))
    with name_scope(name, "sufficient_statistics", [x, shift]):
        x = convert_to_tensor(x, name="x")
        shape, axes = x.spec.shape, sorted(set(axes))
        if shape is not None and all(shape[a] is not None for a in axes):
            counts = constant.constant(math.prod(shape[a] for a in axes), x.dtype)
        else:
            sizes = gather(constant.shape(x), [*axes])
            counts = cast(reduce_prod(sizes), x.dtype, name="count")
        if shift is not None:
            shift = convert_to_tensor(shift, x.dtype.base_dtype, name="shift")
        distances = x if shift is None else subtract(x, shift)
        sums = reduce_sum(distances, axes, keepdims=keepdims, name="mean_ss")
        squares = reduce_sum(square(distances), axes, keepdims=keepdims, name="var_ss")
        return counts, sums, squares, shift


def normalize_moments(
    counts: TensorLike,
    mean_ss: TensorLike,
    variance_ss: TensorLike,
    shift: TensorLike,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Return mean and variance from `sufficient_statistics`.

    Args:
      counts: [] floating, number of elements per sum.
      mean_ss: [...] sums.
      variance_ss: [...] sums of squares.
      shift: what was subtracted from the elements, or None.
      name: name scope of the operations, by default "normalize".

    Returns:
      Two tensors [...].

    >>> [float(t) for t in normalize_moments(4.0, 12.0, 50.0, None)]
    [3.0, 3.5]
    """
    with name_scope(name, "normalize", [counts, mean_ss, variance_ss, shift]):
        divisor = reciprocal(counts, name="divisor")
        shifted = multiply(mean_ss, divisor, name="mean" if shift is None else "shifted_mean")
        mean = shifted if shift is None else add(shifted, shift, name="mean")
        variance = subtract(multiply(variance_ss, divisor), square(shifted), name="variance")
        return mean, variance
