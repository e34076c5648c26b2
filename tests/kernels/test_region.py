"""Compiled regions: which memory results are written into."""

import numpy as np
import pytest

from daskvars.kernels.region import Call, RegionProgram, compiled, fitting


@pytest.mark.parametrize("shape, other, reused", [
    ((3, 2), (3, 2), True), ((3, 2), (), True), ((3, 2), (1, 1), True),
    ((3, 2), (2,), False), ((1, 2), (3, 2), False), ((2,), (1, 1), False),
])  # fmt: skip
def test_a_result_of_unknown_shape_is_written_over_what_dies_if_it_fits(shape, other, reused):
    kind = np.dtype("f8")
    calls = (
        Call("negative", (0,), (2,), {}, elementwise=True, shapes=(None,), dtypes=(kind,)),
        Call("add", (2, 1), (3,), {}, elementwise=True, shapes=(None,), dtypes=(kind,)),
    )
    x, y = np.ones(shape), np.ones(other)
    (found,) = compiled(RegionProgram("r", 2, {}, calls, (3,)), np)(x, y)
    np.testing.assert_array_equal(found, y - x)
    assert (fitting(np, x, y) is x) == reused
    assert (x == 1).all()
