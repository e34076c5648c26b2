"""Which chains are put side by side."""

from __future__ import annotations

import numpy as np
import pytest

from daskvars import config, idle_threads
from daskvars.remote.regions.aliasing import AliasAnalysis
from daskvars.remote.regions.chains import chain_groups, tiling
from daskvars.remote.regions.compilation import compiled
from tests.remote.regions.programs import FLOAT, SHAPE, between, elementwise, one_by_one, region

OTHER = (3, 9)


@pytest.fixture(autouse=True)
def two_threads(monkeypatch):
    monkeypatch.setattr(tiling, "THREAD_ELEMENTS", 1)
    idle_threads.share_among(2)
    with config.set(tile_elements=1000, tile_min_elements=1):
        yield
    idle_threads.share_among(1)


def grouped(program):
    """Return the registers that the parts of each group make."""
    calls = chain_groups.together(program, program.calls, tiling.chains(program.calls))
    found = chain_groups.groups(program, calls, tiling.chains(calls), AliasAnalysis(calls).root)
    return [[[call.outs[0] for call in part] for part in g.parts] for g in found.values()]


def test_updates_of_several_variables_are_one_group():
    calls = [
        elementwise("multiply", (0, 6), 10),
        elementwise("subtract", (1, 10), 11),
        elementwise("multiply", (2, 6), 12),  # another variable, of that shape
        elementwise("subtract", (3, 12), 13),
        between(4, 14, OTHER),
        elementwise("multiply", (14, 6), 15, OTHER),  # of what is made here
        elementwise("subtract", (5, 6), 16, OTHER),
        elementwise("add", (16, 16), 17, OTHER),
    ]
    shapes = (*(SHAPE,) * 4, OTHER, OTHER, ())
    program = region(7, calls, (11, 13, 15, 17), input_shapes=shapes)
    assert grouped(program) == [[[15], [16, 17], [10, 11], [12, 13]]]
    rng = np.random.default_rng(0)
    inputs = [rng.standard_normal(shape).astype(FLOAT) for shape in shapes]
    for a, b in zip(compiled(program, np)(*inputs), one_by_one(program, inputs), strict=True):
        np.testing.assert_array_equal(a, b)


def test_small_ones_stay_by_themselves(monkeypatch):
    monkeypatch.setattr(tiling, "THREAD_ELEMENTS", 1000)
    calls = [elementwise("square", (0,), 2), elementwise("square", (1,), 3, OTHER)]
    program = region(2, calls, (2, 3), input_shapes=(SHAPE, OTHER))
    assert grouped(program) == [[[2]], [[3]]]


def test_what_a_chain_writes_over_no_other_reads():
    calls = [
        elementwise("add", (0, 2), 3),
        elementwise("add", (1, 1), 4, OTHER),  # written into 1
        elementwise("multiply", (0, 0), 5),  # written into 0, which the first reads
    ]
    program = region(3, calls, (3, 4, 5), input_shapes=(SHAPE, OTHER, ()), into={4: 1, 5: 0})
    assert grouped(program) == [[[3], [4]], [[5]]]
    x, y = np.full(SHAPE, 3, FLOAT), np.full(OTHER, 4, FLOAT)
    found = compiled(program, np)(x, y, FLOAT.type(1))
    assert [value.flat[0] for value in found] == [4, 8, 9]
    assert found[1] is y and found[2] is x


def test_what_one_makes_the_next_waits_for():
    calls = [
        elementwise("add", (0, 0), 2),
        between(2, 3),
        elementwise("square", (1,), 4, OTHER),
        elementwise("square", (3,), 5),
    ]
    program = region(2, calls, (4, 5), input_shapes=(SHAPE, OTHER))
    assert grouped(program) == [[[2]], [[5], [4]]]


def test_what_may_fail_has_a_line_of_its_own():
    def halved(xp, x):
        return x / 2

    calls = [elementwise("square", (0,), 2), elementwise(halved, (1,), 3, OTHER)]
    program = region(2, calls, (2, 3), input_shapes=(SHAPE, OTHER))
    assert grouped(program) == [[[2]], [[3]]]
