"""Products of views, and decompositions of batches."""

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


def test_blas_reads_transposed_matrices_in_place():
    x = np.ones((4, 3), "f4")
    stack = np.ones((2, 5, 4, 3), "f4")
    for view in (x, x.T, x[:, :2], stack.transpose(0, 2, 1, 3), stack.swapaxes(-1, -2)):
        assert kernels.blas_ready(np, view) is view
    for view in (np.broadcast_to(np.float32(1), (4, 3)), x[::-1, ::2], stack.transpose(3, 0, 1, 2)):
        ready = kernels.blas_ready(np, view)
        assert ready.flags.c_contiguous and not np.shares_memory(ready, x)


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
