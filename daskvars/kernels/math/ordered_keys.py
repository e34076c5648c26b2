"""Numbers in order of value, and then of place: both packed into one integer, so no two are equal.

Whatever way such keys are sorted the result is the same, on every machine; so the fastest is taken.
"""

from __future__ import annotations

import numpy as np

from daskvars.backend import Array, ArrayModule

PLACE = 0xFFFFFFFF  # the bits of a key that are the place


def has_keys(x: Array) -> bool:
    """Return whether a number and its place go into one key: it has at most 32 bits."""
    return x.dtype.itemsize <= 4 and x.dtype.kind not in "OSU"


def keys_of(
    xp: ArrayModule, x: Array, *, places: Array | None = None, descending: bool = False
) -> Array:
    """Return a key for each number, which sort in the order of the numbers along the last axis.

    Args:
        x: [..., n] numbers of at most 32 bits, n below 2^32. Both zeros are equal, and so are all
            NaNs, which are greater than any number.
        places: [..., n] int, what each is told by; by default which it is along the last axis.
        descending: whether the greatest come first; equal ones keep their order all the same.

    Returns:
        [..., n] int64, of which the bits of ``PLACE`` are the place.

    >>> keys = keys_of(np, np.array([2.0, -1.0, 2.0], np.float32), descending=True)
    >>> (np.sort(keys) & PLACE).tolist()
    [0, 2, 1]
    """
    keys = x.astype(np.int64) if x.dtype.kind in "iub" else _ordered_bits(xp, x)
    if x.dtype == np.uint32:
        keys -= 1 << 31  # 32 bits with a sign
    if descending:
        xp.invert(keys, out=keys)
    keys <<= 32
    keys |= xp.arange(x.shape[-1]) if places is None else places
    return keys


def _ordered_bits(xp: ArrayModule, x: Array) -> Array:
    """Return int64 numbers of 32 bits in the order of floats."""
    bits = (x.astype(np.float32) + np.float32(0)).view(np.int32)  # of zeros only the positive
    bits ^= (bits >> 31) & np.int32(0x7FFFFFFF)
    bits[xp.isnan(x)] = 0x7FFFFFFF
    return bits.astype(np.int64)
