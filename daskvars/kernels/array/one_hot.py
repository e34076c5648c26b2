"""One-hot rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from daskvars.backend import Array, ArrayModule
from daskvars.dtypes import DTypeLike, as_dtype


def one_hot(
    xp: ArrayModule,
    indices: Array,
    *,
    depth: int,
    on_value: Any = 1,
    off_value: Any = 0,
    axis: int = -1,
    dtype: DTypeLike = "float32",
) -> Array:
    """Return ``on_value`` where a new dimension's position is the index, ``off_value`` elsewhere.

    Args:
        indices: int, any shape; one outside [0, depth) gives ``off_value`` throughout.
        depth: extent of the new dimension.
        on_value, off_value: scalars.
        axis: where the new dimension goes.
        dtype: dtype of the result.

    Returns:
        ``indices.shape`` with ``depth`` inserted at ``axis``.

    >>> one_hot(np, np.array([2, -1]), depth=3, dtype="int32")
    array([[0, 0, 1],
           [0, 0, 0]], dtype=int32)
    """
    flat = indices.reshape(-1).astype(np.int64, copy=False)
    out = xp.full(flat.size * depth, off_value, as_dtype(dtype).np)
    places = xp.arange(flat.size) * depth + flat
    out[places[(flat >= 0) & (flat < depth)]] = on_value
    out = out.reshape(*indices.shape, depth)
    if axis in (-1, indices.ndim):
        return out
    return xp.ascontiguousarray(xp.moveaxis(out, -1, axis))
