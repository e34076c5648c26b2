"""Functions of whole matrices: exponentials, logarithms, roots, factors, inverses of any matrix.

SciPy's, on the host, one matrix after the other where it takes but one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy  # its linalg is imported where it is used, as in `products`

from daskvars.backend import Array, ArrayModule
from daskvars.device_array import host_kernel
from daskvars.errors import invalid
from daskvars.kernels.linalg.products import adjoint_of, widened


def _each(function: Callable[[Any], Any], x: Any) -> np.ndarray:
    """Return a function of one matrix for each of a batch, in the dtype of the batch."""
    out = np.empty(x.shape, x.dtype)
    flat = (math.prod(x.shape[:-2]), *x.shape[-2:])
    given, made = x.reshape(flat), out.reshape(flat)
    for number, matrix in enumerate(given if x.size else ()):
        found = function(matrix)
        made[number] = found.real if out.dtype.kind == "f" else found
    return out


@host_kernel
def expm(xp: ArrayModule, x: Array) -> Array:
    """Give the exponentials of square matrices."""
    if not x.size:
        return x.copy()
    return scipy.linalg.expm(widened(x)).astype(x.dtype, copy=False)


@host_kernel
def logm(xp: ArrayModule, x: Array) -> Array:
    """Give the principal logarithms of square matrices of complex numbers."""
    return _each(lambda matrix: scipy.linalg.logm(matrix.astype(np.complex128)), x)


@host_kernel
def sqrtm(xp: ArrayModule, x: Array) -> Array:
    """Give the principal square roots of square matrices."""
    wide = np.result_type(x.dtype, np.float64)
    return _each(lambda matrix: scipy.linalg.sqrtm(matrix.astype(wide)), x)


@host_kernel
def lu(xp: ArrayModule, x: Array, *, dtype: Any) -> tuple[Any, Any]:
    """Give both factors in one matrix, and of which row of the input each row is."""
    factors = np.empty(x.shape, x.dtype)
    rows = np.empty(x.shape[:-1], dtype.np)
    count, size = math.prod(x.shape[:-2]), x.shape[-1]
    flat = factors.reshape(count, size, size), rows.reshape(count, size)
    for number, matrix in enumerate(x.reshape(count, size, size) if x.size else ()):
        (factored,) = scipy.linalg.get_lapack_funcs(("getrf",), (matrix,))
        packed, pivots, singular = factored(matrix)
        if singular:
            raise invalid("Input is not invertible.")
        order = np.arange(len(matrix))
        for row, other in enumerate(pivots):
            order[[row, other]] = order[[other, row]]
        flat[0][number], flat[1][number] = packed, order
    return factors, rows


def pinv(xp: ArrayModule, x: Array, rcond: Array) -> Array:
    """Give the pseudo-inverses of matrices; singular values of `rcond` of the largest are 0."""
    if not x.size:
        return xp.zeros((*x.shape[:-2], x.shape[-1], x.shape[-2]), x.dtype)
    u, s, vh = xp.linalg.svd(x, full_matrices=False)
    cutoff = rcond[..., None] * s.max(axis=-1, keepdims=True)
    kept = s > cutoff
    inverses = xp.where(kept, 1 / xp.where(kept, s, 1), 0).astype(x.dtype)
    return xp.matmul(adjoint_of(vh) * inverses[..., None, :], adjoint_of(u)).astype(
        x.dtype, copy=False
    )


@host_kernel
def tridiagonal_solve(
    xp: ArrayModule, diagonals: Any, rhs: Any, *, partial_pivoting: bool
) -> Array:
    """Solve with matrices given as [..., 3, n]: above, on and below the diagonal."""
    batch = np.broadcast_shapes(diagonals.shape[:-2], rhs.shape[:-2])
    n, columns = rhs.shape[-2:]
    count = math.prod(batch)
    bands = np.broadcast_to(diagonals, (*batch, 3, n)).reshape(count, 3, n)
    sides = np.broadcast_to(rhs, (*batch, n, columns)).reshape(count, n, columns)
    solved = np.empty(sides.shape, rhs.dtype)
    if not solved.size:
        return solved.reshape(*batch, n, columns)
    for number, (band, side) in enumerate(zip(bands, sides, strict=True)):
        above, middle, below = band
        # SciPy has an element above the diagonal in the column where it stands.
        rows = np.stack([np.roll(above, 1), middle, np.roll(below, -1)])
        rows[0, :1] = rows[2, -1:] = 0
        try:
            solved[number] = scipy.linalg.solve_banded((1, 1), rows, side, check_finite=False)
        except np.linalg.LinAlgError as error:
            raise invalid(
                f"The first element of diagonals is zero, or it is singular: {error}"
            ) from None
    return solved.reshape(*batch, n, columns)
