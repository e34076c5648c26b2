"""Products of views, and decompositions of batches."""

import tracemalloc

import numpy as np
import pytest

from daskvars.errors import InvalidArgumentError
from daskvars.kernels.linalg import products as kernels

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "i4", "c8"])
@pytest.mark.parametrize("transpose_a", [False, True])
@pytest.mark.parametrize("transpose_b", [False, True])
@pytest.mark.parametrize("batch_a, batch_b", [((), ()), ((2,), (2,)), ((2,), ()), ((), (2,))])
def test_matmul(dtype, transpose_a, transpose_b, batch_a, batch_b):
    a = (RNG.normal(size=(*batch_a, 4, 3)) * 4).astype(dtype)
    b = (RNG.normal(size=(*batch_b, 3, 5)) * 4).astype(dtype)
    left = a.swapaxes(-1, -2).copy() if transpose_a else a
    right = b.swapaxes(-1, -2).copy() if transpose_b else b
    found = kernels.matmul(np, left, right, transpose_a=transpose_a, transpose_b=transpose_b)
    assert found.dtype == dtype
    np.testing.assert_allclose(found, a @ b, rtol=1e-2 if dtype == "f2" else 1e-5, atol=1e-2)
    for out in (np.empty_like(found), np.empty((*found.shape[:-1], 9), dtype)[..., 2:7]):
        transposed = {"transpose_a": transpose_a, "transpose_b": transpose_b}
        again = kernels.matmul(np, left, right, **transposed, out=out)
        np.testing.assert_array_equal(again, found)


def test_a_product_is_written_where_it_belongs():
    for a, out in ((np.ones((4, 3)), np.empty((4, 9))[:, 2:7]), (np.ones((2, 4, 3)), None)):
        room = np.empty((*a.shape[:-1], 5)) if out is None else out
        assert kernels.matmul(np, a, np.ones((3, 5)), out=room) is room


def test_blas_reads_transposed_matrices_in_place():
    x = np.ones((4, 3), "f4")
    stack = np.ones((2, 5, 4, 3), "f4")
    for view in (x, x.T, x[:, :2], stack.transpose(0, 2, 1, 3), stack.swapaxes(-1, -2)):
        assert kernels.blas_ready(np, view) is view
    for view in (np.broadcast_to(np.float32(1), (4, 3)), x[::-1, ::2], stack.transpose(3, 0, 1, 2)):
        ready = kernels.blas_ready(np, view)
        assert ready.flags.c_contiguous and not np.shares_memory(ready, x)


def test_products_copy_no_rows_that_lie_apart():
    a, b = np.ones((8, 512), "f4"), np.ones((256, 512), "f4")
    for part in (slice(0, 128), slice(128, 512)):
        tracemalloc.start()
        kernels.matmul(np, a[:, part], b[:, part], transpose_b=True)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < a[:, part].nbytes + 8 * 256 * 4, part


def test_cross():
    a, b = RNG.normal(size=(2, 5, 3))
    np.testing.assert_allclose(kernels.cross(np, a, b), np.cross(a, b))


def test_triangles_only():
    matrix = RNG.normal(size=(3, 3)) + 4 * np.eye(3)
    rhs = RNG.normal(size=(3, 2))
    for lower, triangle in ((True, np.tril(matrix)), (False, np.triu(matrix))):
        for adjoint, left in ((False, triangle), (True, triangle.T)):
            found = kernels.triangular_solve(np, matrix, rhs, lower=lower, adjoint=adjoint)
            np.testing.assert_allclose(left @ found, rhs, atol=1e-12)


def test_complex_adjoints():
    x = RNG.normal(size=(3, 3)) + 1j * RNG.normal(size=(3, 3))
    np.testing.assert_allclose(kernels.inverse(np, x, adjoint=True), np.linalg.inv(x.conj().T))
    s, u, v = kernels.svd(np, x)
    np.testing.assert_allclose(u * s @ v.conj().T, x, atol=1e-12)


def test_failures_name_the_cause():
    with pytest.raises(InvalidArgumentError, match="not invertible"):
        kernels.inverse(np, np.zeros((2, 2)))
    with pytest.raises(InvalidArgumentError, match="not successful"):
        kernels.cholesky(np, -np.eye(2))


@pytest.mark.parametrize("dtype", ["f4", "f8", "c16"])
@pytest.mark.parametrize("batch", [(), (2, 3)])
@pytest.mark.parametrize("size, columns", [(0, 2), (3, 0), (3, 2), (20, 1), (20, 20)])
def test_triangles(dtype, batch, size, columns):
    x = RNG.normal(size=(*batch, size, size)).astype(dtype)
    x = x + 1j * RNG.normal(size=x.shape) if dtype[0] == "c" else x
    x += 5 * np.eye(size, dtype=dtype)
    rhs = RNG.normal(size=(*batch, size, columns)).astype(dtype)
    for lower, adjoint in np.ndindex(2, 2):
        triangle = np.tril(x) if lower else np.triu(x)
        matrix = kernels.adjoint_of(triangle) if adjoint else triangle
        found = kernels.triangular_solve(np, x, rhs, lower=bool(lower), adjoint=bool(adjoint))
        assert found.dtype == dtype and found.shape == rhs.shape
        np.testing.assert_allclose(matrix @ found, rhs, rtol=1e-3, atol=1e-4)
    square = x @ kernels.adjoint_of(x)
    factor = kernels.cholesky(np, square)
    assert factor.dtype == dtype and not np.triu(factor, 1).any()
    np.testing.assert_allclose(factor @ kernels.adjoint_of(factor), square, rtol=1e-3, atol=1e-3)


@pytest.mark.parametrize("size", [2, 20])
def test_matrices_without_an_inverse(size):
    broken = np.stack([np.eye(size), np.diag(np.arange(size) - 1.0)])
    with pytest.raises(InvalidArgumentError, match="not invertible"):
        kernels.triangular_solve(np, broken, np.ones((2, size, 1)))
    with pytest.raises(InvalidArgumentError, match="Cholesky"):
        kernels.cholesky(np, broken)
