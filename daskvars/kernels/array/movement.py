"""Kernels that give elements on in another arrangement, without changing them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy

from daskvars.backend import Array, ArrayModule
from daskvars.dtypes import DType
from daskvars.errors import invalid
from daskvars.kernels.math.precision import is_half
from daskvars.shape_arithmetic import missing_size

Sizes = tuple[int, ...]

# -- one value, and shapes ---------------------------------------------------------------------


def as_it_is(xp: ArrayModule, value: Array, *, dim: int, parts: int | None) -> Array:
    """Give an array itself, which the planner has cut."""
    return value


def zeros(xp: ArrayModule, shape: Sizes, dtype: numpy.dtype) -> Array:
    """Return zeros; of texts, empty ones."""
    return xp.full(shape, b"", dtype) if dtype.kind == "O" else xp.zeros(shape, dtype)


def fill(xp: ArrayModule, value: Array, *, dims: Sizes) -> Array:
    """Give an array of which every element is the scalar `value`."""
    if min(dims, default=0) < 0:
        raise invalid(f"fill() got dims {dims}: sizes must be >= 0")
    return xp.full(dims, value, dtype=getattr(value, "dtype", object))


def fill_like(xp: ArrayModule, x: Array, *, number: Any, dtype: DType) -> Array:
    """Give an array shaped as `x` of which every element is `number`."""
    return xp.full(x.shape, number, dtype=dtype.np)


def shape_of(xp: ArrayModule, x: Array, *, out_type: DType) -> Array:
    """Give the shape of `x`."""
    return xp.asarray(x.shape, dtype=out_type.np)


def size_of(xp: ArrayModule, x: Array, *, out_type: DType) -> Array:
    """Give the number of elements of `x`."""
    return xp.asarray(x.size, dtype=out_type.np)


def rank_of(xp: ArrayModule, x: Array) -> Array:
    """Give the number of dimensions of `x`."""
    return xp.asarray(x.ndim, dtype=numpy.int32)


def given(xp: ArrayModule, x: Array) -> Array:
    """Give `x` on."""
    return x


def ensure_shape(xp: ArrayModule, x: Array, *, shape: Sizes | None) -> Array:
    """Give `x` on. Raises InvalidArgumentError when it has another shape."""
    if shape is None:
        return x
    if len(shape) != x.ndim or any(n not in (None, m) for n, m in zip(shape, x.shape, strict=True)):
        wanted = ",".join("?" if n is None else str(n) for n in shape)
        raise invalid(
            f"Shape of tensor {list(x.shape)} is not compatible with expected shape [{wanted}]."
        )
    return x


# -- reshaping ---------------------------------------------------------------------------------


def reshape(xp: ArrayModule, x: Array, *, shape: Sizes) -> Array:
    """Give the elements of `x` in `shape`, of which one size may be -1."""
    shape = (shape,) if isinstance(shape, int) else shape
    try:
        return x.reshape(shape)
    except ValueError:
        if not x.size and 0 in shape and list(shape).count(-1) == 1:
            return x.reshape([missing_size(x.shape, shape) if n == -1 else n for n in shape])
        known = math.prod(n for n in shape if n >= 0)
        wanted = f"requires a multiple of {known}" if -1 in shape else f"has {known}"
        raise invalid(
            f"Input to reshape is a tensor with {x.size} values, but the requested shape {wanted}"
        ) from None


def expand_dims(xp: ArrayModule, x: Array, *, axis: int | Sizes) -> Array:
    """Give `x` with a new dimension of size 1 at `axis`, one number."""
    (axis,) = (axis,) if isinstance(axis, int) else axis
    place = _new_axis(axis, x.ndim)
    # As NumPy's function does, which takes 2 us to come to it. (``x[None]`` has a step of 0 there,
    # with which BLAS does not take it.)
    return x.reshape((*x.shape[:place], 1, *x.shape[place:]))


def _new_axis(axis: int, rank: int) -> int:
    """Return where the new dimension `axis` is, counted from the front."""
    if not -rank <= axis + 1 <= rank + 1:
        raise invalid(f"a new dimension is in the range [{-rank - 1}, {rank}], but got {axis}")
    return axis % (rank + 1)


def transpose(
    xp: ArrayModule, x: Array, *, perm: Sizes | None = None, conjugate: bool = False
) -> Array:
    """Give `x` with its dimensions in the order `perm`, by default reversed."""
    turned = xp.transpose(x, perm)
    return turned.conj() if conjugate and x.dtype.kind == "c" else turned


def matrix_transpose(xp: ArrayModule, x: Array, *, conjugate: bool = False) -> Array:
    """Give `x` with its last two dimensions exchanged."""
    turned = xp.swapaxes(x, -1, -2)
    return turned.conj() if conjugate and x.dtype.kind == "c" else turned


def broadcast_to(xp: ArrayModule, x: Array, *, shape: Sizes) -> Array:
    """Give `x` repeated to `shape`, in memory of its own: BLAS is slow on repeated memory."""
    out = xp.empty(shape, x.dtype)
    out[...] = x
    return out


def tile(xp: ArrayModule, x: Array, *, multiples: Sizes) -> Array:
    """Give `x` repeated `multiples` times along each dimension."""
    if x.ndim != len(multiples):
        raise invalid(
            f"Expected multiples argument to be a vector of length {x.ndim} but got length "
            f"{len(multiples)}"
        )
    return xp.tile(x, tuple(multiples))


def tile_grad(
    xp: ArrayModule, dy: Array, *, multiples: Sizes, sizes: Sequence[int | None] | None = None
) -> Array:
    """Give the sum of the tiles of `dy`: the adjoint of `tile`.

    Of no tile nothing tells the size of one but `sizes`, where it is known.
    """
    known = sizes or [None] * len(multiples)
    trios = zip(multiples, dy.shape, known, strict=True)
    parts = [(m, n // m if m else size or 0) for m, n, size in trios]
    split = dy.reshape(tuple(itertools.chain.from_iterable(parts)))
    accumulator = numpy.float32 if is_half(dy.dtype) else dy.dtype
    total = split.sum(axis=tuple(range(0, split.ndim, 2)), dtype=accumulator)
    return total.astype(dy.dtype, copy=False)


def invert_permutation(xp: ArrayModule, x: Array) -> Array:
    """Give y with ``y[x[i]] = i``. Raises InvalidArgumentError when `x` is no permutation."""
    if x.size and not (xp.sort(x) == xp.arange(x.size)).all():
        raise invalid(f"{x.tolist()} is not a permutation of the numbers from 0 to {x.size - 1}")
    out = xp.empty_like(x)
    out[x] = xp.arange(x.size, dtype=x.dtype)
    return out


# -- joining and splitting ---------------------------------------------------------------------


def concat(xp: ArrayModule, *values: Array, axis: int) -> Array:
    """Give the arrays put one after the other along `axis`."""
    rank = values[0].ndim
    if not -rank <= axis < rank:
        raise invalid(
            f"Expected concatenating dimensions in the range [{-rank}, {rank}), but got {axis}"
        )
    return xp.concatenate(values, axis=axis)


def stack(xp: ArrayModule, *values: Array, axis: int) -> Array:
    """Give the arrays as slices of one, along a new dimension `axis`."""
    arrays = [xp.asarray(value) for value in values]
    place = _new_axis(axis, arrays[0].ndim)
    key = (*(slice(None),) * place, None)
    return xp.concatenate([array[key] for array in arrays], axis=place)


def unstack(xp: ArrayModule, x: Array, *, num: int, axis: int) -> tuple[Any, ...]:
    """Give the slices of `x` along `axis`."""
    if x.shape[axis] != num:
        raise invalid(f"Input shape axis {axis} must equal {num}, got shape {list(x.shape)}")
    before = (slice(None),) * (axis % x.ndim)
    return tuple([x[(*before, i, ...)] for i in range(num)])


def split(xp: ArrayModule, x: Array, *, num_split: int, axis: int) -> tuple[Any, ...]:
    """Give `num_split` parts of equal size along `axis`."""
    if x.shape[axis] % num_split:
        raise invalid(
            f"Number of ways to split should evenly divide the split dimension, but got split_dim "
            f"{axis} (size = {x.shape[axis]}) and num_split {num_split}"
        )
    size = x.shape[axis] // num_split
    front = (slice(None),) * (axis % x.ndim)
    # Slices: `split` of NumPy costs some 10 us a part.
    return tuple([x[(*front, slice(i * size, (i + 1) * size))] for i in range(num_split)])


def split_sizes(xp: ArrayModule, x: Array, *, size_splits: Sizes, axis: int) -> tuple[Any, ...]:
    """Give parts of the given sizes along `axis`; one size may be -1 for what is left."""
    before = (slice(None),) * (axis % x.ndim)
    return tuple([x[(*before, part)] for part in _parts(size_splits, x.shape[axis])])


@lru_cache(maxsize=1024)  # a program has few of them, and splits in each step
def _parts(sizes: Sizes, total: int) -> list[slice]:
    """Return where the parts of `resolved_sizes` are."""
    found = resolved_sizes(sizes, total)
    return [slice(end - n, end) for n, end in zip(found, itertools.accumulate(found), strict=True)]


def resolved_sizes(sizes: Sequence[int], total: int) -> list[int]:
    """Return sizes of parts with -1 replaced by what is left of `total`.

    Raises:
      InvalidArgumentError: the sizes do not add up.

    >>> resolved_sizes([2, -1], 5)
    [2, 3]
    """
    fixed = sum(n for n in sizes if n >= 0)
    rest = total - fixed
    missing = [n for n in sizes if n < 0]
    if len(missing) > 1 or any(n < -1 for n in missing) or rest < 0 or (rest and not missing):
        raise invalid(
            f"Determined shape must either match input shape along split_dim exactly if fully "
            f"specified, or be less than the size of the input along split_dim if not fully "
            f"specified. Got: {list(sizes)} for size {total}"
        )
    return [rest if n < 0 else n for n in sizes]
