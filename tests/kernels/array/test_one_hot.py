import numpy as np
import pytest

from daskvars.kernels.array import one_hot
from tests.kernels.numerical import frozen


@pytest.mark.parametrize("axis", [-1, 0, 1, 2])
def test_one_hot(axis):
    indices = frozen([[0, 2, -1], [3, 1, 7]])
    wanted = np.where(indices[..., None] == np.arange(4), 5, -2)
    got = one_hot.one_hot(np, indices, depth=4, on_value=5, off_value=-2, axis=axis, dtype="int32")
    assert got.dtype == np.int32
    np.testing.assert_array_equal(got, np.moveaxis(wanted, -1, axis))
    assert one_hot.one_hot(np, frozen(1), depth=3).tolist() == [0, 1, 0]
