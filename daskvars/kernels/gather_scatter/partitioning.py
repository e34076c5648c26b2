"""The distinct values of a vector, and slices of an array."""

from __future__ import annotations

from typing import Any

import numpy as np

from daskvars.backend import Array, ArrayModule
from daskvars.dtypes import DTypeLike, as_dtype

MAX_SPREAD = 16  # of integers that `unique` finds in a table: places of it for each of them


def unique(
    xp: ArrayModule, x: Array, *, index_dtype: DTypeLike = "int32", axis: int | None = None
) -> tuple[Any, Any, Any]:
    """Return the distinct values of a vector in order of first occurrence; no two NaNs are equal.

    Args:
        x: [n] any ordered dtype; any shape, n along `axis`, where that is given.
        index_dtype: integer dtype of the places and counts.
        axis: the dimension whose slices are compared.

    Returns:
        (values [m], place of each entry's value [n], count of each value [m]).

    >>> unique(np, np.array([7, 3, 7]))[1]
    array([0, 1, 0], dtype=int32)
    """
    found = _numbered(x, as_dtype(index_dtype).np) if axis is None and xp is np else None
    if found is not None:
        return found
    compared, along = (x, None) if axis is None else (_rows(xp, x, axis), 0)
    _, first, place, count = xp.unique(
        compared,
        return_index=True,
        return_inverse=True,
        return_counts=True,
        axis=along,
        equal_nan=False,
    )
    order = xp.argsort(first)
    rank = xp.empty_like(order)
    rank[order] = xp.arange(len(order))
    integer = as_dtype(index_dtype).np
    return (
        xp.take(x, first[order], axis or 0),
        rank[place.reshape(-1)].astype(integer),
        count[order].astype(integer),
    )


def _numbered(x: Array, integer: np.dtype[Any]) -> tuple[Any, Any, Any] | None:
    """Return what `unique` does of integers that lie near one another, without sorting them.

    (m, 256K numbers of 800: 1.4 ms instead of 14.)
    """
    if x.dtype.kind not in "iu" or not x.size:
        return None
    low, high = int(x.min()), int(x.max())
    if high - low >= MAX_SPREAD * x.size or high > np.iinfo(np.intp).max:
        return None
    places = x.astype(np.intp) - low
    first = np.full(high - low + 1, -1, np.intp)
    first[places[::-1]] = np.arange(x.size - 1, -1, -1)  # what is written last stays
    order = np.sort(first[first >= 0])
    values = x[order]
    rank = first  # each number's place in the order of first occurrence
    rank[places[order]] = np.arange(len(order))
    counts = np.bincount(rank[places], minlength=len(order))
    return values, rank[places].astype(integer), counts.astype(integer)


def _rows(xp: ArrayModule, x: Array, axis: int) -> Array:
    """Return the slices along a dimension as rows of numbers, which can be compared."""
    count = x.shape[axis]
    rows = xp.moveaxis(x, axis, 0).reshape(count, x.size // max(count, 1))
    if rows.dtype.kind != "O":
        return rows
    return xp.unique(rows, return_inverse=True)[1].reshape(rows.shape)  # strings, numbered
