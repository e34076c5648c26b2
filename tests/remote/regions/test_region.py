"""Compiled regions: which memory results are written into."""

import numpy as np
import pytest

import daskvars as dv
from daskvars.errors import ResourceExhaustedError
from daskvars.remote.regions.compilation import compiled, fitting
from daskvars.remote.regions.region_program import Call, RegionProgram


@pytest.mark.parametrize(
    "shape, other, reused",
    [
        ((3, 2), (3, 2), True),
        ((3, 2), (), True),
        ((3, 2), (1, 1), True),
        ((3, 2), (2,), False),
        ((1, 2), (3, 2), False),
        ((2,), (1, 1), False),
    ],
)
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


@pytest.mark.parametrize("is_eager", [False, True])
def test_an_allocation_that_fails_names_op_shape_and_bytes(is_eager):
    shape = [2**22, 2**22]
    message = r"allocate 64\.0 TiB .*\(4194304, 4194304\).*op '.*much.*in chunks"
    if is_eager:
        with pytest.raises(ResourceExhaustedError, match=message):
            dv.fill(shape, dv.constant(1.0), name="much").numpy()
        return
    with dv.Graph().as_default(), dv.Session() as session:
        much = dv.fill(shape, dv.random_uniform([]), name="much")
        with pytest.raises(ResourceExhaustedError, match=message):
            session.run(dv.reduce_sum(much * 2.0))
