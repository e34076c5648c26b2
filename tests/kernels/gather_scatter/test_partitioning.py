import numpy as np

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
