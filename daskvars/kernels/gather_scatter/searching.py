"""Places of values: in sorted sequences, in other vectors, in shapes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy

from daskvars.backend import Array, ArrayModule
from daskvars.dtypes import DType
from daskvars.errors import invalid
from daskvars.kernels.gather_scatter.rows import is_ascending
from daskvars.kernels.math.row_sums import as_matrix

# So many comparisons take less time than the steps (m, 320 rows of 100: 47 us, 188 in steps).
MOST_COMPARED = 1 << 15


def searchsorted(
    xp: ArrayModule, sequence: Array, values: Array, *, right: bool, dtype: DType
) -> Array:
    """Give how many elements of each sorted row are below each value (`right`: or equal to it)."""
    side = "right" if right else "left"
    if sequence.ndim == 1:
        return xp.searchsorted(sequence, values, side=side).astype(dtype.np)
    rows, wanted = as_matrix(sequence), as_matrix(values)
    return places_in_rows(xp, rows, wanted, right=right).reshape(values.shape).astype(dtype.np)


def places_in_rows(xp: ArrayModule, rows: Array, wanted: Array, *, right: bool) -> Array:
    """Return `searchsorted` of matrices, int64: all rows at once, halving the steps.

    Where there are few numbers all are compared.
    """
    count = rows.shape[1]
    if wanted.size * count <= MOST_COMPARED:
        compare = xp.less_equal if right else xp.less
        return compare(rows[:, None], wanted[..., None]).sum(axis=-1, dtype=numpy.int64)
    below = xp.zeros(wanted.shape, numpy.int64)
    step = 1 << count.bit_length()
    while step and count:
        probe = below + step
        value = xp.take_along_axis(rows, xp.minimum(probe, count) - 1, axis=1)
        is_below = value <= wanted if right else value < wanted
        below = xp.where((probe <= count) & is_below, probe, below)
        step >>= 1
    return below


def set_difference(xp: ArrayModule, x: Array, y: Array, *, index_dtype: DType) -> tuple[Any, Any]:
    """Give the elements of one vector that the other lacks, and where they stand."""
    places = xp.flatnonzero(~xp.isin(x, y))
    return x[places], places.astype(index_dtype.np)


def unravel_index(xp: ArrayModule, indices: Array, dims: Any) -> Array:
    """Give the coordinates [rank, ...] of flat indices into a shape."""
    sizes = dims.tolist()
    total = math.prod(sizes)
    if bool(((indices < 0) | (indices >= total)).any()):
        raise invalid(f"index is out of bound as with dims {sizes}: all must be in [0, {total})")
    return xp.stack(xp.unravel_index(indices, tuple(sizes))).astype(indices.dtype)


def broadcast_sizes(xp: ArrayModule, x: Array, y: Array) -> Array:
    """Give the shape that two shapes broadcast to."""
    try:
        sizes = numpy.broadcast_shapes(tuple(x.tolist()), tuple(y.tolist()))
    except ValueError:
        raise invalid(f"Incompatible shapes: {x.tolist()} vs. {y.tolist()}") from None
    return xp.asarray(sizes, dtype=x.dtype)


def repeated_places(xp: ArrayModule, repeats: Any, *, size: int) -> Array:
    """Give each of `size` places as often as `repeats` (one number, or one each) says."""
    if repeats.shape not in ((), (1,), (size,)):
        raise invalid(
            f"repeats of shape {list(repeats.shape)} do not fit a dimension of size "
            f"{size}: give one number, or one for each slice"
        )
    return xp.repeat(xp.arange(size), repeats)


def in_order(xp: ArrayModule, coordinates: Array, *, sizes: Sequence[int], check: bool) -> Array:
    """Give coordinates [n, rank]; raise where they are not in a shape, or (`check`) not in order.

    Raises:
        InvalidArgumentError: a row is outside, or not after the one before it.
    """
    extents = [int(size) for size in sizes]
    if coordinates.shape[1] == len(extents):
        _check_inside(xp, coordinates, extents, check)
    if not check:
        return coordinates
    if coordinates.shape[1] and not is_ascending(xp, coordinates, strictly=True):
        steps = coordinates[1:] - coordinates[:-1]
        first = (steps != 0).argmax(axis=1)[:, None]
        leading = xp.take_along_axis(steps, first, axis=1)[:, 0]
        _check_order(coordinates, xp.flatnonzero(leading <= 0), leading)
    return coordinates


def _check_inside(xp: ArrayModule, coordinates: Array, sizes: list[int], check: bool) -> None:
    limits = xp.asarray(sizes, numpy.uint64)
    outside = coordinates.astype(numpy.uint64) >= limits  # as such, negative ones are large
    if not outside.any():
        return
    row = int(xp.flatnonzero(outside.any(axis=1))[0])
    found = coordinates[row].tolist()
    text = f"indices[{row}] = {found} is out of bounds: need 0 <= index < {sizes}"
    if not check:
        text = f"Indices are not valid (out of bounds).  Shape: {sizes}; invalid index: {text}"
    raise invalid(text)


def _check_order(coordinates: Array, wrong: Sequence[int], leading: Any) -> None:
    if len(wrong):
        row = int(wrong[0])
        problem = "repeated" if leading[row] == 0 else "out of order"
        raise invalid(
            f"indices[{row + 1}] = {coordinates[row + 1].tolist()} is {problem}: sort the indices "
            "and keep one of each, or pass validate_indices=False"
        )
