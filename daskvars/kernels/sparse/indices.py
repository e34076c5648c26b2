"""Indices of elements [n, rank]: their order, those that are equal, and in another shape."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from daskvars.backend import Array, ArrayModule
from daskvars.errors import invalid
from daskvars.kernels.gather_scatter.rows import is_ascending, sorted_order
from daskvars.kernels.gather_scatter.segments import check_ids


def of_rows(rows: Sequence[Sequence[Any]], kind: Any) -> tuple[Any, Any, Any]:
    """Return (places, values, shape) of rows of elements, whose dtype is `kind`.

    >>> [found.tolist() for found in of_rows([[5], [], [6, 7]], "int64")]
    [[[0, 0], [2, 0], [2, 1]], [5, 6, 7], [3, 2]]
    """
    places = [(row, n) for row, items in enumerate(rows) for n in range(len(items))]
    values = np.empty(len(places), kind)
    values[...] = [item for items in rows for item in items]
    most = max(map(len, rows), default=0)
    table = np.array(places, np.int64).reshape(-1, 2)
    return table, values, np.array([len(rows), most], np.int64)


def order(xp: ArrayModule, places: Array) -> Array:
    """Give the rows of `places` in the order of their coordinates, the first the slowest.

    >>> order(np, np.array([[1, 0], [0, 2], [0, 1]]))
    array([2, 1, 0])
    """
    count, rank = places.shape
    if not rank or is_ascending(xp, places):  # as most often
        return xp.arange(count)
    columns = xp.ascontiguousarray(places.swapaxes(0, 1))
    least = [int(column.min()) for column in columns]
    sizes = [int(column.max()) - low + 1 for column, low in zip(columns, least, strict=True)]
    if math.prod(sizes) > np.iinfo(np.int64).max:
        return xp.lexsort(columns[::-1])
    # One number for each row is sorted faster than several.
    flat = xp.zeros(count, np.int64)
    for column, low, size in zip(columns, least, sizes, strict=True):
        flat *= size
        flat += column
        flat -= low
    return sorted_order(xp, flat)[0]


def filled_rows(xp: ArrayModule, places: Array, *, num_rows: int) -> tuple[Array, Array, Array]:
    """Give places with one more at the start of each row of a matrix that has none, in order.

    Args:
        places: [n, rank] int.
        num_rows: scalar.

    Returns:
        (places [m, rank], which of the n each was: n where it is new, [num_rows] bool: whether it
        had none).

    Raises:
        InvalidArgumentError: a place is in no row, or has no coordinate.

    >>> [f.tolist() for f in filled_rows(np, np.array([[1, 1]]), num_rows=2)]
    [[[0, 0], [1, 1]], [1, 0], [True, False]]
    """
    count, rank = places.shape
    if not rank:
        raise invalid("rows are filled of sparse tensors of rank 1 at least, not of rank 0")
    check_ids(xp, places[:, 0], size=num_rows)
    is_empty = xp.ones(num_rows, bool)
    is_empty[places[:, 0]] = False
    (empty,) = is_empty.nonzero()
    if len(empty):
        added = xp.zeros((len(empty), rank), places.dtype)
        added[:, 0] = empty
        places = xp.concatenate([places, added])
    rows = order(xp, places)
    return places.take(rows, axis=0), xp.minimum(rows, count), is_empty


def distinct(xp: ArrayModule, places: Array) -> tuple[Array, Array]:
    """Give the distinct rows of `places`, in order, and for each row which of them it is.

    >>> [found.tolist() for found in distinct(np, np.array([[1, 0], [0, 2], [1, 0]]))]
    [[[0, 2], [1, 0]], [1, 0, 1]]
    """
    count = len(places)
    if not count:
        return places, xp.zeros(0, xp.int64)
    rows = order(xp, places)
    ordered = places[rows]
    is_new = xp.ones(count, bool)
    is_new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    which = xp.empty(count, xp.int64)
    which[rows] = xp.cumsum(is_new) - 1
    return ordered[is_new], which


def reshaped(xp: ArrayModule, places: Array, shape: Array, new_shape: Array) -> tuple[Array, Array]:
    """Give the places that elements have in another shape, and that shape, with -1 found.

    Raises:
        InvalidArgumentError: it is no shape, or not of as many elements.

    >>> [f.tolist() for f in reshaped(np, np.array([[1, 2]]), np.array([2, 3]), np.array([-1]))]
    [[[5]], [6]]
    """
    sizes, wanted = shape.tolist(), new_shape.tolist()
    if sizes == wanted:
        return places.copy(), new_shape.copy()
    total = math.prod(sizes)
    free = [i for i, size in enumerate(wanted) if size == -1]
    if len(free) > 1:
        raise invalid(f"only one output dimension may be -1, not both {free[0]} and {free[1]}")
    if any(size < -1 for size in wanted):
        raise invalid(f"new_shape {wanted} should have sizes >= 0")
    if free:
        others = math.prod(size for size in wanted if size != -1)
        wanted[free[0]] = total // others if others else 0
    if math.prod(wanted) != total:
        kind, needs = (
            ("SparseTensor", f"requires a multiple of {others}")
            if free
            else ("tensor", f"has {math.prod(wanted)}")
        )
        raise invalid(
            f"Input to reshape is a {kind} with {total} dense values, but the requested shape "
            f"{needs}. input_shape={sizes} output_shape={new_shape.tolist()}"
        )
    flat = xp.zeros(len(places), places.dtype)
    for axis, step in enumerate(_steps(sizes)):
        flat += places[:, axis] * step
    found = xp.empty((len(places), len(wanted)), places.dtype)
    for axis, (step, size) in enumerate(zip(_steps(wanted), wanted, strict=True)):
        found[:, axis] = flat // step % max(size, 1)
    return found, xp.asarray(wanted, dtype=shape.dtype) if free else new_shape.copy()


def _steps(sizes: list[int]) -> list[int]:
    """Return how many elements lie between neighbours along each dimension."""
    return [math.prod(max(size, 1) for size in sizes[i + 1 :]) for i in range(len(sizes))]
