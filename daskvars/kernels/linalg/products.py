"""Products, inverses and decompositions of matrices.

Half-precision products accumulate in float32. Transposed operands stay views: BLAS reads them in
place as long as one of the last two dimensions has unit stride.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy
import scipy  # its linalg takes 30 ms to import: it is imported where it is used

from daskvars.backend import Array, ArrayModule
from daskvars.errors import invalid
from daskvars.kernels.math.precision import float_work
from daskvars.kernels.math.row_sums import as_matrix

# Rows below which a call for each matrix costs more than it saves (m, a triangle of 8 rows: 0.5 us
# by NumPy's function of all, 1.6 by a call; of 16, 1.8 and 1.7; of 64, 27 and 3).
SMALL_MATRIX = 16


def widened(x: Array) -> Array:
    """Return 16-bit floats as float32, anything else as it is."""
    return x.astype(float_work(x.dtype), copy=False)


def blas_ready(xp: ArrayModule, x: Array) -> Array:
    """Return `x` such that BLAS can read its matrices in place.

    Views that stand for one element many times, as the gradient of a sum does, need a copy.
    """
    flags = x.flags
    if xp is not numpy or flags.c_contiguous or x.dtype.char not in "fdFD":
        return x
    if flags.f_contiguous and x.ndim == 2:
        return x
    rows, columns = x.shape[-2:]
    row_step, column_step = (stride // x.itemsize for stride in x.strides[-2:])
    if column_step == 1 and (row_step >= columns or rows == 1):
        return x
    if row_step == 1 and (column_step >= rows or columns == 1):
        return x
    return xp.ascontiguousarray(x)


def matmul(
    xp: ArrayModule,
    a: Array,
    b: Array,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    out: Any = None,
) -> Array:
    """Multiply (batches of) matrices, either of them transposed first; 16-bit ones not in `out`."""
    dtype = a.dtype
    if dtype.char not in "fd":
        a, b = widened(a), widened(b)
        out = out if a.dtype == dtype else None
    are_ready = a.flags.c_contiguous and b.flags.c_contiguous  # transposed as well
    if transpose_a:
        a = a.swapaxes(-1, -2)
    if transpose_b:
        b = b.swapaxes(-1, -2)
    if not are_ready:
        a, b = blas_ready(xp, a), blas_ready(xp, b)
    if a.ndim > 2 and b.ndim == 2 and a.flags.c_contiguous:  # one large product, not many small
        product = out
        if out is None or not out.flags.c_contiguous:
            product = xp.empty((*a.shape[:-1], b.shape[-1]), a.dtype)
        xp.matmul(as_matrix(a), b, out=as_matrix(product))
    elif a.shape[-1] == 1:  # one term a sum (m, 1024 x 1 x 1024: 0.28 ms instead of 1.2)
        product = xp.multiply(a, b, out=out)
    elif a.ndim == b.ndim == 2 and are_ready and out is None:
        # The same by a shorter way (m, 4 x 4 x 4: 0.9 us instead of 1.3), which copies what is in
        # rows apart (m, half the columns of 768 x 2048, transposed: 7 ms instead of 1.9).
        product = xp.dot(a, b)
    else:
        product = xp.matmul(a, b, out=out)
    return product if product.dtype == dtype else product.astype(dtype)


def cross(xp: ArrayModule, a: Array, b: Array) -> Array:
    """Cross product of vectors along the last dimension, of size 3."""
    out = xp.empty(numpy.broadcast_shapes(a.shape, b.shape), a.dtype)
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        out[..., i] = a[..., j] * b[..., k] - a[..., k] * b[..., j]
    return out


# -- inverses and decompositions ---------------------------------------------------------------


def adjoint_of(x: Array) -> Array:
    """Return the conjugate transpose of (batches of) matrices, as a view where they are real."""
    return x.swapaxes(-1, -2).conj() if x.dtype.kind == "c" else x.swapaxes(-1, -2)


def _decomposed(
    function: Callable[..., Any], message: str, *arrays: Array, **options: Any
) -> Array:
    try:
        return function(*arrays, **options)
    except numpy.linalg.LinAlgError as error:
        raise invalid(f"{message} ({error})") from None


def inverse(xp: ArrayModule, x: Array, *, adjoint: bool = False) -> Array:
    """Inverse of square matrices, or of their adjoints."""
    result = _decomposed(xp.linalg.inv, "Input is not invertible.", widened(x))
    result = xp.ascontiguousarray(adjoint_of(result)) if adjoint else result
    return result.astype(x.dtype, copy=False)


def determinant(xp: ArrayModule, x: Array) -> Array:
    """Determinant of square matrices."""
    return xp.linalg.det(widened(x)).astype(x.dtype, copy=False)


def log_determinant(xp: ArrayModule, x: Array) -> tuple[Any, Any]:
    """Sign, and logarithm of the absolute value, of determinants."""
    sign, logarithm = xp.linalg.slogdet(widened(x))
    return sign.astype(x.dtype, copy=False), logarithm.astype(x.dtype, copy=False)


def solve(xp: ArrayModule, matrix: Array, rhs: Any, *, adjoint: bool = False) -> Array:
    """Solve matrix @ x = rhs, or with the adjoint of the matrix."""
    left = adjoint_of(matrix) if adjoint else matrix
    message = "Input matrix is not invertible."
    return _decomposed(xp.linalg.solve, message, widened(left), widened(rhs)).astype(
        rhs.dtype, copy=False
    )


def triangular_solve(
    xp: ArrayModule, matrix: Array, rhs: Any, *, lower: bool = True, adjoint: bool = False
) -> Array:
    """Solve with the lower (or upper) triangle of a matrix; the rest of it is not looked at."""
    if _is_for_all(xp, matrix):
        triangle = xp.tril(matrix) if lower else xp.triu(matrix)
        return solve(xp, triangle, rhs, adjoint=adjoint)
    left, right = widened(matrix), widened(rhs)
    if not xp.linalg.diagonal(left).all():
        raise invalid("Input matrix is not invertible. (Singular matrix)")
    solved = numpy.empty(right.shape, rhs.dtype)
    (trsm,) = scipy.linalg.get_blas_funcs(("trsm",), (left,))
    # To BLAS a matrix in C order is its transpose, so that x^T is solved for, from the right.
    triples = zip(*map(_matrices, (left, right, solved)), strict=True) if solved.size else ()
    for a, b, x in triples:
        x[...] = trsm(1, a.T, b.T, side=1, lower=not lower, trans_a=2 if adjoint else 0).T
    return solved


def cholesky(xp: ArrayModule, x: Array) -> Array:
    """Lower Cholesky factor of positive definite matrices."""
    message = "Cholesky decomposition was not successful. The input might not be valid."
    if _is_for_all(xp, x):
        return _decomposed(xp.linalg.cholesky, message, widened(x)).astype(x.dtype, copy=False)
    work = widened(x)
    factors = numpy.empty(x.shape, x.dtype)
    (potrf,) = scipy.linalg.get_lapack_funcs(("potrf",), (work,))
    for matrix, factor in zip(_matrices(work), _matrices(factors), strict=True):
        found, failed = potrf(matrix.T, lower=False)  # of the transpose it is the upper one
        if failed:
            raise invalid(f"{message} (Matrix is not positive definite)")
        factor[...] = found.T
    return factors


def _is_for_all(xp: ArrayModule, x: Array) -> bool:
    """Return whether a function of all matrices is faster than LAPACK's for one after the other."""
    return xp is not numpy or (x.ndim > 2 and x.shape[-1] < SMALL_MATRIX)


def _matrices(x: Array) -> Any:
    """Return a batch of matrices as one after the other; there is none without elements."""
    return x.reshape(math.prod(x.shape[:-2]), *x.shape[-2:]) if x.size else ()


def qr(xp: ArrayModule, x: Array, *, full_matrices: bool = False) -> tuple[Any, Any]:
    """Factors q and r of matrices."""
    q, r = xp.linalg.qr(x, mode="complete" if full_matrices else "reduced")
    return q, r


def svd(
    xp: ArrayModule, x: Array, *, full_matrices: bool = False, compute_uv: bool = True
) -> tuple:
    """Singular values s, and u and v with x = u diag(s) adjoint(v)."""
    message = "SVD did not converge."
    if not compute_uv:
        return (_decomposed(xp.linalg.svd, message, x, compute_uv=False),)
    u, s, vh = _decomposed(xp.linalg.svd, message, x, full_matrices=full_matrices)
    return s, u, xp.ascontiguousarray(adjoint_of(vh))


def self_adjoint_eig(xp: ArrayModule, x: Array) -> tuple[Any, Any]:
    """Ascending eigenvalues, and eigenvectors, of self-adjoint matrices (their lower triangles)."""
    values, vectors = _decomposed(xp.linalg.eigh, "Self-adjoint eigen decomposition failed.", x)
    return values, vectors
