"""A region split in two gives the same values, the second half in the variables' memory."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from daskvars import config
from daskvars.errors import InvalidArgumentError
from daskvars.kernels.gather_scatter import segments as segment
from daskvars.remote.regions import region_split
from daskvars.remote.regions.compilation import compiled
from daskvars.remote.regions.region_program import Call, RegionProgram

SHAPE = (5000, 64)
FLOAT = np.dtype(np.float32)


def elementwise(kernel, args, out, shape):
    return Call(kernel, args, (out,), {}, elementwise=True, shapes=(shape,), dtypes=(FLOAT,))


def scatter(args, out):
    return Call(
        segment.scatter_rows,
        args,
        (out,),
        {"mode": "sub"},
        in_place=segment.scatter_rows_into,
        check=segment.check_rows,
        shapes=(SHAPE,),
        dtypes=(FLOAT,),
    )


def copies_all(*args, **kwargs):
    raise AssertionError("all of a table is copied to change rows of it")


@pytest.fixture
def program():
    """table -= rows ** 2 at ids, by an update that is itself computed elementwise."""
    calls = (elementwise("square", (2,), 3, (3, 64)), scatter((0, 1, 3), 4))
    return RegionProgram("region", 3, {}, calls, (4,), input_shapes=(SHAPE, (3,), (3, 64)))


def run_halves(tail, *arguments):
    passed = compiled(tail.main, np)(*arguments)[len(tail.kept) :]
    return compiled(tail.program, np)(
        *(arguments[register] for register in tail.variables), *passed
    )


def test_rows_are_changed_where_they_lie(program):
    rng = np.random.default_rng(0)
    table, rows = (rng.standard_normal(s).astype(FLOAT) for s in (SHAPE, (3, 64)))
    ids = np.array([7, 2, 7])
    (expected,) = compiled(program, np)(table.copy(), ids, rows)
    tail = region_split.split(program, {0: 0})
    (result,) = run_halves(tail, table, ids, rows)
    assert result is table
    np.testing.assert_array_equal(result, expected)


@pytest.mark.parametrize("is_shared", [False, True])
def test_rows_of_what_has_changed_as_a_whole_are_changed_there_too(is_shared, monkeypatch):
    """A moment of Adam's: the memory of the variable, or once that of the product, is enough."""
    monkeypatch.setattr(segment, "scatter_rows", copies_all)
    calls = (elementwise("multiply", (0, 3), 4, SHAPE), scatter((4, 1, 2), 5))
    shapes = SHAPE, (3,), (3, 64)
    program = RegionProgram("region", 3, {3: FLOAT.type(0.5)}, calls, (5,), input_shapes=shapes)
    tail = region_split.split(program, {0: 0})
    if is_shared:
        tail = tail._replace(program=replace(tail.program, into={}, cache={}))
    table, ids = np.ones(SHAPE, FLOAT), np.array([7, 2, 7])
    (result,) = run_halves(tail, table, ids, np.ones((3, 64), FLOAT))
    expected = np.full(SHAPE, 0.5, FLOAT)
    expected[7], expected[2] = -1.5, -0.5
    np.testing.assert_array_equal(result, expected)
    assert (result is table) != is_shared and (not is_shared or (table == 1).all())


def test_what_is_read_before_its_rows_change_is_not_written_over():
    calls = (
        elementwise("multiply", (0, 0), 3, SHAPE),
        elementwise("square", (3,), 4, SHAPE),
        scatter((3, 1, 2), 5),
    )
    shapes = SHAPE, (3,), (3, 64)
    program = RegionProgram("region", 3, {}, calls, (5, 4), input_shapes=shapes)
    assert region_split.split(program, {0: 0}) is None
    arguments = np.full(SHAPE, 2, FLOAT), np.array([7, 2, 7]), np.ones((3, 64), FLOAT)
    changed, squares = compiled(program, np)(*arguments)
    assert changed[7, 0] == 2 and changed[2, 0] == 3 and (squares == 16).all()


def test_what_is_written_over_is_kept_until_then():
    """Two updates of a run that are not made tile by tile: only the first reads the variable."""
    calls = (elementwise("add", (0, 1), 2, SHAPE), elementwise("add", (2, 1), 3, SHAPE))
    program = RegionProgram("region", 2, {}, calls, (3,), input_shapes=(SHAPE, SHAPE))
    with config.set(tile_min_elements=1 << 30):
        tail = region_split.split(program, {0: 0})
        table = np.ones(SHAPE, FLOAT)
        (result,) = run_halves(tail, table, np.full(SHAPE, 2, FLOAT))
    assert result is table and (table == 5).all()


def test_what_may_fail_does_so_in_the_first_half(program):
    tail = region_split.split(program, {0: 0})
    arguments = np.zeros(SHAPE, FLOAT), np.array([1, 5000, 2]), np.ones((3, 64), FLOAT)
    with pytest.raises(InvalidArgumentError, match="5000"):
        compiled(tail.main, np)(*arguments)


def test_small_variables_are_not_worth_it():
    calls = (elementwise("add", (0, 1), 2, (10,)),)
    program = RegionProgram("region", 2, {}, calls, (2,), input_shapes=((10,), (10,)))
    assert region_split.split(program, {0: 0}) is None
