"""Diagonals and bands of (batches of) matrices."""

from __future__ import annotations

import math

from daskvars.backend import Array, ArrayModule
from daskvars.kernels.array.movement import zeros


def diag(xp: ArrayModule, x: Array) -> Array:
    """Return zeros with ``x`` on the diagonal: shape [*x.shape, *x.shape] (as ``tf.diag``).

    >>> diag(np, np.array([1, 2]))
    array([[1, 0],
           [0, 2]])
    """
    size = math.prod(x.shape)
    out = zeros(xp, (size, size), x.dtype)
    out.reshape(-1)[:: size + 1] = x.reshape(-1)
    return out.reshape(*x.shape, *x.shape)


def diag_part(xp: ArrayModule, x: Array) -> Array:
    """Return the diagonal of ``x`` [*shape, *shape], shape [*shape] (as ``tf.diag_part``)."""
    shape = x.shape[: x.ndim // 2]
    size = math.prod(shape)
    return x.reshape(size * size)[:: size + 1].copy().reshape(shape)


def matrix_diag(xp: ArrayModule, diagonal: Array) -> Array:
    """Return square matrices with ``diagonal`` [..., n] on their diagonals, [..., n, n]."""
    out = zeros(xp, (*diagonal.shape, diagonal.shape[-1]), diagonal.dtype)
    return place_diagonal(xp, out, diagonal)


def matrix_diag_part(xp: ArrayModule, x: Array) -> Array:
    """Return the diagonals of ``x`` [..., m, n], [..., min(m, n)]."""
    return xp.diagonal(x, axis1=-2, axis2=-1).copy()


def matrix_set_diag(xp: ArrayModule, x: Array, diagonal: Array) -> Array:
    """Return ``x`` [..., m, n] with ``diagonal`` [..., min(m, n)] on its diagonals."""
    return place_diagonal(xp, x.copy(), diagonal)


def place_diagonal(xp: ArrayModule, out: Array, diagonal: Array) -> Array:
    """Write ``diagonal`` into the fresh array ``out`` and return it."""
    places = xp.arange(diagonal.shape[-1])
    out[..., places, places] = diagonal
    return out


def matrix_band_part(xp: ArrayModule, x: Array, *, num_lower: int, num_upper: int) -> Array:
    """Return ``x`` with zeros outside a band about the diagonal.

    Args:
        x: [..., m, n] number.
        num_lower: diagonals kept below the main one; negative for all.
        num_upper: diagonals kept above it; negative for all.

    Returns:
        Like ``x``.

    >>> matrix_band_part(np, np.ones((2, 2), int), num_lower=-1, num_upper=0)
    array([[1, 0],
           [1, 1]])
    """
    rows = xp.arange(x.shape[-2])[:, None]
    columns = xp.arange(x.shape[-1])
    kept = xp.ones(x.shape[-2:], bool)
    if num_lower >= 0:
        kept &= rows <= columns + num_lower
    if num_upper >= 0:
        kept &= columns <= rows + num_upper
    return xp.where(kept, x, x.dtype.type(0))


def trace(xp: ArrayModule, x: Array) -> Array:
    """Return the sums of the diagonals of ``x`` [..., m, n], [...], dtype of ``x``."""
    return xp.asarray(xp.trace(x, axis1=-2, axis2=-1, dtype=x.dtype))
