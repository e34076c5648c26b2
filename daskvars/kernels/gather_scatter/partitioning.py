"""The distinct values of a vector."""

from __future__ import annotations

from typing import Any

from daskvars.backend import Array, ArrayModule
from daskvars.dtypes import DTypeLike, as_dtype


def unique(xp: ArrayModule, x: Array, *, index_dtype: DTypeLike = "int32") -> tuple[Any, Any, Any]:
    """Return the distinct values of a vector in order of first occurrence.

    Args:
        x: [n] any ordered dtype.
        index_dtype: integer dtype of the places and counts.

    Returns:
        (values [m], place of each entry's value [n], count of each value [m]).

    Example:
        >>> import numpy as np
        >>> unique(np, np.array([7, 3, 7]))[1]
        array([0, 1, 0], dtype=int32)
    """
    values, first, place, count = xp.unique(
        x, return_index=True, return_inverse=True, return_counts=True
    )
    order = xp.argsort(first)
    rank = xp.empty_like(order)
    rank[order] = xp.arange(len(order))
    integer = as_dtype(index_dtype).np
    return (
        values[order],
        rank[place.reshape(-1)].astype(integer),
        count[order].astype(integer),
    )
