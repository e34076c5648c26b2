"""Reductions along rows and down columns that are fast for the shapes of layers.

Sums of a matrix's rows and columns are products with ones: BLAS keeps several partial sums in
registers, which is faster than a reduction call (m: rows of 10, 5x; of 256, 3x; columns, 2-8x).
"""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from daskvars.backend import Array, ArrayModule

# A reduction call costs about 40 ns a row, a pass over a column less than 1 ns an element; but a
# pass is a call, so there must be many rows.
SHORT_ROW, MANY_ROWS = 16, 512
# Longer rows are added pairwise by the reduction call, for precision.
LONG_ROW = 4096
# BLAS goes through so many rows at once, or some of them; where fewer are left it adds in another
# order. What cuts a matrix between groups changes no bit of the sums of its rows.
ROWS_TOGETHER = 16
# Rows of a partial column sum; partial sums are added in float64. A device adds in parallel, so
# its sums are as precise with more rows; its own reduction takes ten times as long.
COLUMN_BLOCK, DEVICE_COLUMN_BLOCK = 8192, 1 << 18


def largest(xp: ArrayModule, x: Array, axis: int) -> Array:
    """Return the maximum along ``axis``, which is kept with extent 1.

    NaN is passed over, so far as there is something else: numpy.fmax takes half the time of what
    looks for it (m: rows of 128 float32, 35 and 58 ns a row), and what this is subtracted from
    stays NaN.
    """
    columns = x.shape[axis]
    last = axis in (-1, x.ndim - 1)
    if xp is not np or not last:  # a device has no cost per row
        return x.max(axis=axis, keepdims=True)
    if not 0 < columns <= SHORT_ROW or x.size < MANY_ROWS * columns:
        return xp.fmax.reduce(x, axis=axis, keepdims=True)
    out = x[..., :1].copy()
    for column in range(1, columns):
        xp.maximum(out, x[..., column : column + 1], out=out)
    return out


def total(xp: ArrayModule, x: Array, axis: int) -> Array:
    """Return the sum along ``axis``, which is kept with extent 1."""
    last = axis in (-1, x.ndim - 1)
    if last and x.ndim > 1 and 0 < x.shape[axis] <= LONG_ROW and x.dtype.kind == "f":
        return row_sums(xp, x)
    return x.sum(axis=axis, keepdims=True, dtype=x.dtype)


def as_matrix(x: Array) -> Array:
    """Return ``x`` [..., n] as a matrix [rows, n], whatever sizes are 0."""
    return x if x.ndim == 2 else x.reshape(math.prod(x.shape[:-1]), x.shape[-1])


def row_sums(xp: ArrayModule, x: Array) -> Array:
    """Return the sums of rows of floats, [..., 1]."""
    if xp is not np:  # a product takes Python longer to launch than a reduction
        return x.sum(axis=-1, keepdims=True, dtype=x.dtype)
    matrix = as_matrix(x)
    sums = xp.matmul(matrix, ones_matrix(xp, (x.shape[-1], 1), x.dtype))
    return sums if x.ndim == 2 else sums.reshape(*x.shape[:-1], 1)


def column_sums(xp: ArrayModule, x: Array) -> Array:
    """Return the sums of a float matrix's columns, [columns] float64."""
    most = most_rows(xp)
    ones = ones_matrix(xp, (1, most), x.dtype)
    if len(x) <= most:
        return xp.matmul(ones[:, : len(x)], x)[0].astype(np.float64)
    sums = xp.zeros(x.shape[1], np.float64)
    for start in range(0, len(x), most):
        block = x[start : start + most]
        sums += xp.matmul(ones[:, : len(block)], block)[0]
    return sums


def most_rows(xp: ArrayModule) -> int:
    """Return the most rows of a partial column sum."""
    return COLUMN_BLOCK if xp is np else DEVICE_COLUMN_BLOCK


@functools.lru_cache(maxsize=64)
def ones_matrix(xp: ArrayModule, shape: tuple, dtype: np.dtype[Any]) -> Array:
    """Return kept ones, not to be written to: making them costs as much as a small product."""
    ones = xp.ones(shape, dtype)
    if xp is np:
        ones.flags.writeable = False
    return ones
