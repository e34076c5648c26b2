import numpy as np
import pytest

from daskvars.kernels.linalg import matrix_parts as matrices
from tests.kernels.numerical import normal


def test_diag_and_its_part():
    x = normal(2, 3)
    square = matrices.diag(np, x)
    assert square.shape == (2, 3, 2, 3)
    for index in np.ndindex(2, 3):
        assert square[(*index, *index)] == x[index]
    assert np.count_nonzero(square) == 6
    np.testing.assert_array_equal(matrices.diag_part(np, square), x)


@pytest.mark.parametrize("shape", [(3, 3), (2, 3, 5), (2, 5, 3)])
def test_matrix_diagonals(shape):
    x = normal(*shape)
    diagonal = matrices.matrix_diag_part(np, x)
    np.testing.assert_array_equal(diagonal, np.diagonal(x, axis1=-2, axis2=-1))
    assert diagonal.flags.owndata
    new = normal(*diagonal.shape, seed=1)
    got = matrices.matrix_set_diag(np, x, new)
    np.testing.assert_array_equal(matrices.matrix_diag_part(np, got), new)
    off = ~np.eye(*shape[-2:], dtype=bool)
    np.testing.assert_array_equal(got[..., off], x[..., off])
    square = matrices.matrix_diag(np, new)
    np.testing.assert_array_equal(square, new[..., None] * np.eye(new.shape[-1]))
    trace = matrices.trace(np, x.astype("float32"))
    assert trace.dtype == np.float32
    np.testing.assert_allclose(trace, diagonal.sum(axis=-1), rtol=1e-5)


@pytest.mark.parametrize("lower, upper", [(-1, 0), (0, -1), (1, 2), (-1, -1), (0, 0)])
def test_bands(lower, upper):
    x = normal(2, 4, 5)
    wanted = x
    if lower >= 0:
        wanted = np.triu(wanted, -lower)
    if upper >= 0:
        wanted = np.tril(wanted, upper)
    got = matrices.matrix_band_part(np, x, num_lower=lower, num_upper=upper)
    np.testing.assert_array_equal(got, wanted)
    assert got.dtype == x.dtype
