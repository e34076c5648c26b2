"""Which broadcasts chains do by themselves."""

from __future__ import annotations

import pytest

from daskvars import config
from daskvars.remote.regions.chains import tiling
from daskvars.remote.regions.chains.broadcasts import without_broadcasts
from tests.remote.regions.programs import SHAPE, between, elementwise, region, repeated


def left(calls, outputs):
    """Return the registers that calls make which are left."""
    program = region(3, calls, outputs, input_shapes=(SHAPE, (6, 1), (6, 1)))
    with config.set(tile_min_elements=1):
        found = without_broadcasts(program, program.calls, tiling.chains(program.calls))
    return [call.outs[0] for call in found]


def test_what_a_ufunc_adds_to_a_full_array_is_not_repeated():
    calls = [repeated(1, 3), elementwise("add", (0, 3), 4), elementwise("multiply", (3, 4), 5)]
    assert left(calls, (5,)) == [4, 5]


@pytest.mark.parametrize(
    ("calls", "outputs"),
    [
        ([repeated(1, 3), elementwise("add", (0, 3), 4)], (3, 4)),  # a result
        ([repeated(1, 3), elementwise("add", (0, 3), 4), between(3, 5)], (4, 5)),  # of another
        ([repeated(1, 3), elementwise("add", (1, 3), 4)], (4,)),  # alone of the full shape
        ([repeated(1, 3), repeated(2, 4), elementwise("add", (3, 4), 5)], (5,)),
    ],
)
def test_what_stays(calls, outputs):
    assert left(calls, outputs) == [call.outs[0] for call in calls]
