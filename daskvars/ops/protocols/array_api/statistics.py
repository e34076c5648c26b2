"""Reductions, running sums, orders, and what is distinct."""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy

from daskvars.dtypes import DTypeLike, bool as bool_dtype, int64
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.ops.array import constant as constants, joining, reshaping
from daskvars.ops.math import casting
from daskvars.ops.protocols.array_api import creation
from daskvars.ops.protocols.array_api.promotion import Axis, astype, sizes, summed, together
from daskvars.surface.signatures import named

# NumPy's functions of tensors are handed over to our ops, which type checkers cannot know.
handed_over: Any = numpy


def _totals(name: str, what: str) -> Callable[..., Tensor]:
    function = getattr(numpy, name)

    def total(
        x: Tensor,
        /,
        *,
        axis: Axis = None,
        dtype: DTypeLike | None = None,
        keepdims: builtins.bool = False,
    ) -> Tensor:
        return function(summed(x, dtype), axis, keepdims=keepdims)

    return named(total, name, f"Return {what} along axes.")


sum, prod = _totals("sum", "sums"), _totals("prod", "products")


def _reduction(name: str) -> Callable[..., Tensor]:
    function = getattr(numpy, name)

    def reduced(x: Tensor, /, *, axis: Axis = None, keepdims: builtins.bool = False) -> Tensor:
        return function(x, axis, keepdims=keepdims)

    return named(reduced, name, f"Return `{name}` along axes.")


mean, max, min, count_nonzero = map(_reduction, ("mean", "max", "min", "count_nonzero"))


def all(x: Tensor, /, *, axis: Axis = None, keepdims: builtins.bool = False) -> Tensor:
    """Return whether all elements along axes are true."""
    return handed_over.all(astype(x, bool_dtype), axis, keepdims=keepdims)


def any(x: Tensor, /, *, axis: Axis = None, keepdims: builtins.bool = False) -> Tensor:
    """Return whether an element along axes is true."""
    return handed_over.any(astype(x, bool_dtype), axis, keepdims=keepdims)


def var(
    x: Tensor, /, *, axis: Axis = None, correction: float = 0.0, keepdims: builtins.bool = False
) -> Tensor:
    """Return variances along axes, of N - `correction` degrees of freedom; NaN if none is left."""
    found = handed_over.var(x, axis, keepdims=keepdims)
    if not correction:
        return found
    axes = range(len(x.shape)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    size = math.prod(int(x.shape[a]) for a in axes)
    return found * (size / (size - correction) if size > correction else math.nan)


def std(
    x: Tensor, /, *, axis: Axis = None, correction: float = 0.0, keepdims: builtins.bool = False
) -> Tensor:
    """Return standard deviations along axes, of N - `correction` degrees of freedom."""
    return handed_over.sqrt(var(x, axis=axis, correction=correction, keepdims=keepdims))


def _cumulative(function: Any, name: str, what: str, start: int) -> Callable[..., Tensor]:
    def cumulative(
        x: Tensor,
        /,
        *,
        axis: int | None = None,
        dtype: DTypeLike | None = None,
        include_initial: builtins.bool = False,
    ) -> Tensor:
        if axis is None and len(x.shape) != 1:
            raise ValueError(f"axis= must say along which of the {len(x.shape)} axes is summed up")
        along = 0 if axis is None else axis
        found = function(summed(x, dtype), along)
        if not include_initial:
            return found
        shape = list(sizes(x))
        shape[along] = 1
        return joining.concat([creation.full(tuple(shape), start, dtype=found.dtype), found], along)

    doc = f"Return {what} of all elements up to each; {start} before them with `include_initial`."
    return named(cumulative, name, doc)


cumulative_sum = _cumulative(numpy.cumsum, "cumulative_sum", "sums", 0)
cumulative_prod = _cumulative(numpy.cumprod, "cumulative_prod", "products", 1)


def diff(
    x: Tensor,
    /,
    *,
    axis: int = -1,
    n: int = 1,
    prepend: TensorLike | None = None,
    append: TensorLike | None = None,
) -> Tensor:
    """Return differences of neighbours along an axis, `n` times over.

    Args:
      x: [...] numbers.
      axis: along which they are.
      n: how often.
      prepend, append: tensors that are put before and after `x` first, along the axis.
    """
    parts = [part for part in (prepend, x, append) if part is not None]
    found = joining.concat(together(*parts), axis) if len(parts) > 1 else x
    along = axis % len(sizes(found))
    for _ in range(n):
        before: list[Any] = [slice(None)] * along
        found = found[(*before, slice(1, None))] - found[(*before, slice(None, -1))]
    return found


def _position(name: str) -> Callable[..., Tensor]:
    function = getattr(numpy, name)

    def found(x: Tensor, /, *, axis: int | None = None, keepdims: builtins.bool = False) -> Tensor:
        position = function(x, axis)
        if not keepdims:
            return position
        if axis is None:
            return reshaping.reshape(position, [1] * len(x.shape))
        return reshaping.expand_dims(position, axis)

    return named(found, name, f"Return `{name}` along an axis, or of all elements.")


argmax, argmin = map(_position, ("argmax", "argmin"))


def sort(
    x: Tensor, /, *, axis: int = -1, descending: builtins.bool = False, stable: builtins.bool = True
) -> Tensor:
    """Return elements in order along an axis."""
    found = handed_over.sort(x, axis)
    return handed_over.flip(found, axis) if descending else found


def argsort(
    x: Tensor, /, *, axis: int = -1, descending: builtins.bool = False, stable: builtins.bool = True
) -> Tensor:
    """Return where the elements in order along an axis come from, int64; equal ones in theirs."""
    if not descending:
        return casting.cast(handed_over.argsort(x, axis), int64)
    last = sizes(x)[axis] - 1
    found = handed_over.flip(handed_over.argsort(handed_over.flip(x, axis), axis), axis)
    return convert_to_tensor(last, int64) - casting.cast(found, int64)


def searchsorted(
    x1: TensorLike, x2: TensorLike, /, *, side: str = "left", sorter: Any = None
) -> Tensor:
    """Return where values would be put among sorted ones; `sorter` sorts those, see `argsort`."""
    values, wanted = together(x1, x2)
    ordered = values if sorter is None else handed_over.take(values, sorter, 0)
    return handed_over.searchsorted(ordered, wanted, side)


# -- of as many elements as there are -------------------------------------------------------------
# Their shape depends on the values, so that they look at those: eager code can, a graph cannot.


def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    """Return the places of elements that are not zero: a tensor of int64 for each axis.

    Raises:
      ValueError: the tensor is a scalar.
      NotImplementedError: it is of a graph.
    """
    if not len(x.shape):
        raise ValueError("nonzero() of a scalar: it has no axis")
    return tuple(constants.constant(at) for at in numpy.nonzero(numpy.asarray(x)))


class UniqueAll(NamedTuple):
    """What `unique_all` gives."""

    values: Tensor
    indices: Tensor
    inverse_indices: Tensor
    counts: Tensor


class UniqueCounts(NamedTuple):
    """What `unique_counts` gives."""

    values: Tensor
    counts: Tensor


class UniqueInverse(NamedTuple):
    """What `unique_inverse` gives."""

    values: Tensor
    inverse_indices: Tensor


def unique_all(x: Tensor, /) -> UniqueAll:
    """Return the distinct elements, where each is first, which one each element is, and how often.

    Each NaN is distinct. Raises NotImplementedError for a tensor of a graph, as the others
    of its name do.
    """
    return UniqueAll(*map(constants.constant, numpy.unique_all(numpy.asarray(x))))


def unique_counts(x: Tensor, /) -> UniqueCounts:
    """Return the distinct elements, and how often each is there."""
    return UniqueCounts(*map(constants.constant, numpy.unique_counts(numpy.asarray(x))))


def unique_inverse(x: Tensor, /) -> UniqueInverse:
    """Return the distinct elements, and for each element which of them it is."""
    return UniqueInverse(*map(constants.constant, numpy.unique_inverse(numpy.asarray(x))))


def unique_values(x: Tensor, /) -> Tensor:
    """Return the distinct elements, in order."""
    return constants.constant(numpy.unique(numpy.asarray(x), equal_nan=False))
