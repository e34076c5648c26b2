"""Kernels that fold along axes, and that count.

16-bit floats accumulate in float32, and integers keep their dtype, as in TensorFlow.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy

from daskvars.backend import Array, ArrayModule
from daskvars.dtypes import DType
from daskvars.errors import invalid
from daskvars.kernels.gather_scatter.segments import segment_sum
from daskvars.kernels.math.precision import extremes, float_work
from daskvars.kernels.math.row_sums import LONG_ROW, column_sums, most_rows, ones_matrix, row_sums
from daskvars.kernels.math.without_ufunc import overwriting

Axes = int | tuple[int, ...] | None

# Elements from which on sums are products with ones: 2-8 times as fast (m; for rows of a few, 30).
PRODUCT_ELEMENTS = 1 << 15


@lru_cache(maxsize=1024)  # a program has few of them, and looks at them in each step
def each_once(axis: Axes, rank: int) -> Axes:
    """Return the axes of a fold without repeats, as there are in (1, -1) for a matrix.

    Raises:
        InvalidArgumentError: there is no such axis.

    >>> each_once((1, -1), 2), each_once((0, 1), 2), each_once(-1, 2), each_once(None, 2)
    ((1,), (0, 1), -1, None)
    """
    for a in () if axis is None else (axis,) if isinstance(axis, int) else axis:
        if not -rank <= a < rank:
            raise invalid(
                f"Invalid reduction dimension ({a} for input with {rank} dimension(s)): the axis "
                f"is out of range [{-rank}, {rank})"
            )
    if axis is None or isinstance(axis, int) or len(axis) < 2:
        return axis
    return tuple(dict.fromkeys(a % rank for a in axis))


def fold_sum(xp: ArrayModule, x: Array, axis: Axes, keepdims: bool = False) -> Array:
    """Sum along `axis`, in the dtype of `float_work`."""
    axis = each_once(axis, x.ndim)
    if xp is numpy and x.size >= PRODUCT_ELEMENTS and x.dtype.char in "fd" and axis is not None:
        rank = x.ndim
        axes = sorted(a % rank for a in ((axis,) if isinstance(axis, int) else axis))
        is_run = 0 < len(axes) < rank and axes[-1] - axes[0] == len(axes) - 1
        total = _products(xp, x, axes[0], axes[-1] + 1) if is_run else None
        if total is not None:
            sizes = enumerate(x.shape)
            return total.reshape(
                [1 if i in axes else n for i, n in sizes if keepdims or i not in axes]
            )
    return x.sum(axis=axis, dtype=float_work(x.dtype), keepdims=keepdims)


def _products(xp: ArrayModule, x: Array, first: int, stop: int) -> Array | None:
    """Return sums over the axes from `first` to below `stop` as products with ones, if they pay."""
    if not x.flags.c_contiguous:
        return None
    outer, inner = math.prod(x.shape[:first]), math.prod(x.shape[stop:])
    count = math.prod(x.shape[first:stop])
    if outer == 1:
        return column_sums(xp, x.reshape(count, inner)).astype(x.dtype, copy=False)
    if inner == 1:
        return row_sums(xp, x.reshape(outer, count)) if count <= LONG_ROW else None
    if count > most_rows(xp):
        return None
    ones = ones_matrix(xp, (1, most_rows(xp)), x.dtype)
    return xp.matmul(ones[:, :count], x.reshape(outer, count, inner))


def sum_to_shape(xp: ArrayModule, x: Array, *, shape: tuple[int, ...]) -> Array:
    """Sum `x` over the dimensions along which `shape` was broadcast to the shape of `x`."""
    if x.shape == shape:
        return x
    lead = x.ndim - len(shape)
    if lead > 0 and x.shape[lead:] == shape and x.dtype.char in "fd" and x.flags.c_contiguous:
        count = math.prod(x.shape[:lead])
        if x.size and count <= most_rows(xp):  # the gradient of a bias
            ones = ones_matrix(xp, (most_rows(xp),), x.dtype)
            sums = xp.dot(ones[:count], x.reshape(count, -1))  # half a matmul's time, if small
            return sums if lead == 1 and len(shape) == 1 else sums.reshape(shape)
    total = fold_sum(xp, x, _repeated_axes(shape, x.shape)).reshape(shape)
    return total.astype(x.dtype, copy=False)


@lru_cache(maxsize=1024)
def _repeated_axes(shape: tuple[int, ...], larger: tuple[int, ...]) -> tuple[int, ...]:
    """Return the dimensions of a shape along which one was broadcast to it."""
    lead = len(larger) - len(shape)
    if lead < 0 or any(n not in (1, m) for n, m in zip(shape, larger[lead:], strict=True)):
        raise invalid(f"a value of shape {larger} is not the broadcast of one of shape {shape}")
    ones = (lead + i for i, n in enumerate(shape) if n == 1 and larger[lead + i] != 1)
    return (*range(lead), *ones)


def reduce_sum(xp: ArrayModule, x: Array, *, axis: Axes = None, keepdims: bool = False) -> Array:
    """Sum along `axis`."""
    return fold_sum(xp, x, axis, keepdims).astype(x.dtype, copy=False)


def sum_rows(xp: ArrayModule, x: Array, *, axis: tuple[int, ...]) -> Array:
    """Sum along all axes but the first; a row's bits are the same whatever rows are beside it.

    Those of a product with ones are not: BLAS adds in another order in the rows of a remainder.
    """
    if xp is numpy and x.dtype.char in "fd" and math.prod(x.shape[1:]) <= LONG_ROW:
        matrix = x.reshape(len(x), math.prod(x.shape[1:]))
        return xp.vecdot(matrix, ones_matrix(xp, (matrix.shape[1],), x.dtype))
    return x.sum(axis=axis, dtype=float_work(x.dtype)).astype(x.dtype, copy=False)


def reduce_mean(
    xp: ArrayModule,
    x: Array,
    *,
    axis: Axes = None,
    keepdims: bool = False,
    count: int | None = None,
) -> Array:
    """Mean along `axis`; with `count`, this block's part of a mean over that many elements."""
    total = fold_sum(xp, x, axis, keepdims)
    if count is None:
        count = x.size // (total.size or 1)
    total /= total.dtype.type(count)
    return total if total.dtype == x.dtype else total.astype(x.dtype)


def reduced_count(shape: tuple[int, ...], axis: Axes) -> int:
    """Return how many elements of an array of `shape` are folded into one."""
    axis = each_once(axis, len(shape))
    if axis is None:
        return math.prod(shape)
    return math.prod(shape[a] for a in ((axis,) if isinstance(axis, int) else axis))


def reduce_prod(xp: ArrayModule, x: Array, *, axis: Axes = None, keepdims: bool = False) -> Array:
    """Product along `axis`."""
    product = x.prod(axis=each_once(axis, x.ndim), dtype=float_work(x.dtype), keepdims=keepdims)
    return product.astype(x.dtype, copy=False)


def reduce_all(xp: ArrayModule, x: Array, *, axis: Axes = None, keepdims: bool = False) -> Array:
    """Whether all elements along `axis` hold."""
    return x.all(axis=each_once(axis, x.ndim), keepdims=keepdims)


def reduce_any(xp: ArrayModule, x: Array, *, axis: Axes = None, keepdims: bool = False) -> Array:
    """Whether any element along `axis` holds."""
    return x.any(axis=each_once(axis, x.ndim), keepdims=keepdims)


def reduce_max(xp: ArrayModule, x: Array, *, axis: Axes = None, keepdims: bool = False) -> Array:
    """Maximum along `axis`; of no elements, the lowest value of the dtype."""
    if not reduced_count(x.shape, axis):
        return _empty_fold(xp, x, axis, keepdims, lowest=True)
    return x.max(axis=each_once(axis, x.ndim), keepdims=keepdims)


def reduce_min(xp: ArrayModule, x: Array, *, axis: Axes = None, keepdims: bool = False) -> Array:
    """Minimum along `axis`; of no elements, the highest value of the dtype."""
    if not reduced_count(x.shape, axis):
        return _empty_fold(xp, x, axis, keepdims, lowest=False)
    return x.min(axis=each_once(axis, x.ndim), keepdims=keepdims)


def _empty_fold(xp: ArrayModule, x: Array, axis: Axes, keepdims: bool, lowest: bool) -> Array:
    shape = reduce_any(xp, xp.zeros(x.shape, bool), axis=axis, keepdims=keepdims).shape
    low, high = extremes(x.dtype) if x.dtype.kind in "iu" else (-numpy.inf, numpy.inf)
    return xp.full(shape, low if lowest else high, x.dtype)


def logsumexp(xp: ArrayModule, x: Array, *, axis: Axes = None, keepdims: bool = False) -> Array:
    """log of the sum of exp along `axis`, without overflow."""
    if not reduced_count(x.shape, axis):
        return _empty_fold(xp, x, axis, keepdims, lowest=True)
    axis = each_once(axis, x.ndim)
    top = x.real.max(axis=axis, keepdims=True)
    top = xp.where(xp.isfinite(top), top, top.dtype.type(0))
    y = xp.subtract(x, top)
    total = xp.exp(y, out=overwriting(y)).sum(
        axis=axis, dtype=float_work(x.dtype), keepdims=keepdims
    )
    return (xp.log(total) + top.reshape(total.shape)).astype(x.dtype, copy=False)


def logaddexp(xp: ArrayModule, x: Array, y: Array) -> Array:
    """log(exp(x) + exp(y)), without overflow: merges two results of `logsumexp`."""
    if x.dtype.kind != "c":
        return xp.logaddexp(x, y)
    return logsumexp(xp, xp.stack([x, y]), axis=0)


def argmax(xp: ArrayModule, x: Array, *, axis: int, dtype: DType) -> Array:
    """Index of the first largest element along `axis`; NaN is no number, as TensorFlow has it."""
    return _numbers(xp, x, -numpy.inf).argmax(axis=axis).astype(dtype.np)


def argmin(xp: ArrayModule, x: Array, *, axis: int, dtype: DType) -> Array:
    """Index of the first smallest element along `axis`; NaN is no number."""
    return _numbers(xp, x, numpy.inf).argmin(axis=axis).astype(dtype.np)


def _numbers(xp: ArrayModule, x: Array, instead: float) -> Array:
    """Return `x` with something instead of NaN."""
    if x.dtype.kind in "biu" or not x.size or not xp.isnan(x.max()):
        return x
    return xp.where(xp.isnan(x), x.dtype.type(instead), x)


# -- counting ----------------------------------------------------------------------------------


def bincount(xp: ArrayModule, values: Array, *weights: Array, size: int, dtype: DType) -> Array:
    """Count (or add up the weights of) each value in [0, size); larger values are not counted."""
    values = values.reshape(-1)
    if values.size and int(values.min()) < 0:
        raise invalid("Input arr must be non-negative!")
    inside = values < size
    given = weights[0].reshape(-1)[inside] if weights else None
    if given is not None and given.dtype.kind in "iu":  # as floats they would be rounded
        return segment_sum(xp, given, values[inside], num_segments=size).astype(dtype.np)
    counts = xp.bincount(values[inside], weights=given, minlength=size)
    return counts[:size].astype(dtype.np)


def confusion_matrix(
    xp: ArrayModule,
    labels: Array,
    predictions: Array,
    *weights: Array,
    num_classes: int,
    dtype: DType,
) -> Array:
    """Count pairs (label, prediction), [num_classes, num_classes]."""
    for name, values in (("labels", labels), ("predictions", predictions)):
        if values.size and int(values.min()) < 0:
            raise invalid(f"`{name}` contains negative values")
        if values.size and int(values.max()) >= num_classes:
            raise invalid(
                f"`{name}` out of bound: {int(values.max())} is not below the "
                f"{num_classes} classes (x < y did not hold); raise num_classes"
            )
    pairs = labels.reshape(-1).astype("int64") * num_classes + predictions.reshape(-1)
    counts = bincount(xp, pairs, *weights, size=num_classes * num_classes, dtype=dtype)
    return counts.reshape(num_classes, num_classes)
