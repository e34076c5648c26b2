"""Running sums and products along an axis."""

from __future__ import annotations

from typing import Any

from daskvars.backend import Array, ArrayModule


def cumsum(
    xp: ArrayModule, x: Array, *, axis: int, exclusive: bool = False, reverse: bool = False
) -> Array:
    """Return running sums along ``axis``.

    Args:
        x: [...] number.
        axis: the dimension that is run along.
        exclusive: leave each entry out of its own sum.
        reverse: run from the end.

    Returns:
        Like ``x``.

    Example:
        >>> import numpy as np
        >>> cumsum(np, np.array([1, 2, 4]), axis=0, exclusive=True, reverse=True)
        array([6, 4, 0])
    """
    return cumulate(xp.cumsum, 0, xp, x, axis, exclusive, reverse)


def cumprod(
    xp: ArrayModule, x: Array, *, axis: int, exclusive: bool = False, reverse: bool = False
) -> Array:
    """Return running products along ``axis``; arguments as for ``cumsum``."""
    return cumulate(xp.cumprod, 1, xp, x, axis, exclusive, reverse)


def cumulate(
    function: Any,
    neutral: Any,
    xp: ArrayModule,
    x: Array,
    axis: int,
    exclusive: bool,
    reverse: bool,
) -> Array:
    """Return ``function``'s running results along ``axis``."""
    out = xp.empty_like(x)
    ends = (slice(None), slice(None, None, -1))[reverse]
    along = (slice(None),) * (axis % x.ndim)
    source, target = x[(*along, ends)], out[(*along, ends)]
    if exclusive:
        target[(*along, slice(0, 1))] = neutral
        source, target = source[(*along, slice(0, -1))], target[(*along, slice(1, None))]
    if source.size:
        target[...] = function(source, axis=axis, dtype=x.dtype)
    return out
