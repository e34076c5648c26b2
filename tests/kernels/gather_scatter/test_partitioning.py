import numpy as np
import pytest

from daskvars.kernels.gather_scatter import partitioning
from tests.kernels.numerical import frozen


def test_unique_keeps_the_order_of_first_occurrence():
    x = frozen([4, 9, 4, 1, 9, 4])
    values, places, counts = partitioning.unique(np, x, index_dtype="int64")
    assert values.tolist() == [4, 9, 1]
    assert places.tolist() == [0, 1, 0, 2, 1, 0]
    assert counts.tolist() == [3, 2, 1]
    assert places.dtype == np.int64
    assert [len(part) for part in partitioning.unique(np, frozen(np.zeros(0, "int32")))] == [
        0,
        0,
        0,
    ]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "int64", "uint64"])
@pytest.mark.parametrize("size", [1, 5, 1000])
def test_integers_near_one_another_are_told_apart_as_others_are(dtype, size):
    info = np.iinfo(dtype)
    rng = np.random.default_rng(size)
    for low, high in ((0, 5), (max(-100, info.min), 100), (info.max - 20, info.max)):
        x = rng.integers(low, high, size, dtype)
        found = partitioning.unique(np, x)
        _, first, place, count = np.unique(x, True, True, True)
        order = np.argsort(first)
        np.testing.assert_array_equal(found[0], x[first[order]], strict=True)
        np.testing.assert_array_equal(found[1], np.argsort(order)[place].astype(np.int32))
        np.testing.assert_array_equal(found[2], count[order].astype(np.int32))


def test_no_two_nans_are_equal():
    x = frozen(np.array([np.nan, 1, np.nan, 0.0, -0.0], "float32"))
    values, places, counts = partitioning.unique(np, x)
    np.testing.assert_array_equal(values, [np.nan, 1, np.nan, 0])
    assert places.tolist() == [0, 1, 2, 3, 3] and counts.tolist() == [1, 1, 1, 2]
