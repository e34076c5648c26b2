"""Kernels that count: ranges, identity matrices, masks of lengths. Any block can be made alone."""

from __future__ import annotations

import math

import numpy

from daskvars.backend import Array, ArrayModule
from daskvars.dtypes import DType


def range_count(start: float, limit: float, delta: float) -> int:
    """Return how many values ``start, start + delta, ...`` come before `limit`.

    Raises:
      ValueError: `delta` is 0 or leads away from `limit`.

    >>> range_count(3, 18, 4)
    4
    """
    if delta == 0:
        raise ValueError("Requires delta != 0: 0")
    if (limit - start) * delta < 0:
        wanted, sign = ("<=", ">") if delta > 0 else (">=", "<")
        raise ValueError(f"Requires start {wanted} limit when delta {sign} 0: {start}/{limit}")
    if isinstance(start, int) and isinstance(limit, int) and isinstance(delta, int):
        return len(range(start, limit, delta))
    return math.ceil((limit - start) / delta)


def range_values(
    xp: ArrayModule,
    *,
    start: float,
    limit: float,
    delta: float,
    dtype: DType,
    offset: int = 0,
    count: int | None = None,
) -> Array:
    """Give `count` values of the range, from number `offset` on."""
    if count is None:
        count = range_count(start, limit, delta)
    kind = dtype.np.type
    values = xp.arange(offset, offset + count).astype(dtype.np, copy=False)
    if delta != 1:
        values = values * kind(delta)
    return values + kind(start) if start else values


def linspace_values(
    xp: ArrayModule,
    first: Array,
    last: Array,
    *,
    num: int,
    offset: int = 0,
    count: int | None = None,
) -> Array:
    """Give `count` of `num` values at equal distances, from number `offset` on."""
    if num <= 0:
        raise ValueError(f"Requires num > 0: {num}")
    start, stop = float(first), float(last)
    index = xp.arange(offset, offset + (num if count is None else count))
    step = (stop - start) / (num - 1) if num > 1 else 0.0
    values = xp.where(index == num - 1, stop if num > 1 else start, start + index * step)
    return values.astype(first.dtype)


def eye(
    xp: ArrayModule,
    *,
    num_rows: int,
    num_columns: int,
    batch_shape: tuple[int, ...],
    dtype: DType,
    diagonal: int = 0,
) -> Array:
    """Give ones where column - row is `diagonal`, zeros elsewhere."""
    out = xp.zeros((*batch_shape, num_rows, num_columns), dtype.np)
    out[...] = xp.eye(num_rows, num_columns, diagonal, dtype=bool)
    return out


def sequence_mask(
    xp: ArrayModule, lengths: Array, *, dtype: DType, maxlen: int | None = None
) -> Array:
    """Give whether ``j < lengths[i]`` for each j below `maxlen`, by default the greatest length."""
    if maxlen is None:
        maxlen = max(int(lengths.max()), 0) if lengths.size else 0
    places = xp.arange(maxlen, dtype=numpy.int64)
    return (places < xp.asarray(lengths)[..., None]).astype(dtype.np)
