"""The gradient of a bias."""

from __future__ import annotations

from daskvars.backend import Array, ArrayModule
from daskvars.kernels.math.precision import float_work
from daskvars.kernels.math.row_sums import as_matrix, column_sums


def bias_add_grad(xp: ArrayModule, dy: Array, *, data_format: str) -> Array:
    """Sum over everything but the channels."""
    if data_format == "NCHW":
        axes = (0, *range(2, dy.ndim))
        return dy.sum(axis=axes, dtype=float_work(dy.dtype)).astype(dy.dtype, copy=False)
    rows = as_matrix(dy)
    if dy.dtype.kind in "iuc":
        return rows.sum(axis=0, dtype=dy.dtype)
    return column_sums(xp, rows.astype(float_work(dy.dtype), copy=False)).astype(dy.dtype)
