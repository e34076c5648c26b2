import numpy as np
import pytest

from daskvars.kernels.math import scans
from tests.kernels.numerical import frozen, normal


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("exclusive", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
def test_running_sums_and_products(axis, exclusive, reverse):
    numbers = frozen(np.arange(60, dtype="int32").reshape(3, 4, 5))
    for x in (normal(3, 4, 5, dtype="float32"), numbers):
        for kernel, function, neutral in (
            (scans.cumsum, np.cumsum, 0),
            (scans.cumprod, np.cumprod, 1),
        ):
            source = np.flip(x, axis) if reverse else x
            wanted = function(source, axis=axis, dtype=x.dtype)
            if exclusive:
                wanted = np.roll(wanted, 1, axis)
                wanted[(slice(None),) * (axis % 3) + (0,)] = neutral
            wanted = np.flip(wanted, axis) if reverse else wanted
            got = kernel(np, x, axis=axis, exclusive=exclusive, reverse=reverse)
            assert got.dtype == x.dtype
            np.testing.assert_array_equal(got, wanted)
