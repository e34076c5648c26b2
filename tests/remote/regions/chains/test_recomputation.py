"""What chains make again has the same bits, and is less to keep."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from daskvars import config
from daskvars.kernels.math.without_ufunc import add_n, power, squared_difference
from daskvars.remote.regions.chains import tiling
from daskvars.remote.regions.chains.recomputation import recomputed
from daskvars.remote.regions.compilation import compiled
from tests.remote.regions.programs import (
    FLOAT,
    SHAPE,
    between,
    elementwise,
    one_by_one,
    region,
    repeated,
)

OTHER = (4, 7)
UFUNCS = {"add": 2, "subtract": 2, "multiply": 2, "maximum": 2, "square": 1, "tanh": 1}


@pytest.fixture(autouse=True)
def small_tiles(threads):
    with config.set(tile_elements=7, tile_min_elements=1):
        yield


def kept(program):
    """Return how many arrays the chains of a region write, and what calls there are in all."""
    calls = recomputed(program, tiling.chains)
    chains = tiling.chains(calls)
    written = 0
    for start, end in chains.items():
        outside = {a for n, c in enumerate(calls) if not start <= n < end for a in c.args}
        outside.update(program.outputs)
        written += sum(c.outs[0] in outside for c in calls[start:end])
    return written, calls


@pytest.mark.slow
@settings(max_examples=300)
@given(st.data())
def test_any_region_has_the_same_bits(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 100)))
    shapes = [SHAPE, SHAPE, (5,), (6, 1), (), OTHER, OTHER]
    inputs = [rng.standard_normal(shape).astype(FLOAT) for shape in shapes]
    constants = {7: np.float32(2), 8: np.float32(3)}
    registers, others, calls = [0, 1, 2, 3, 4, 7], [5, 6], []

    def some(registers, count):
        return [data.draw(st.sampled_from(registers)) for _ in range(count)]

    for out in range(9, 9 + data.draw(st.integers(2, 24))):
        full = [r for r in registers if r < 2 or r > 8]
        kinds = [*UFUNCS, "power", "barrier", "sum", "difference", "repeated", "other", "other"]
        kind = data.draw(st.sampled_from(kinds))
        if kind == "other":
            calls.append(elementwise("multiply", some(others, 2), out, OTHER))
            others.append(out)
            continue
        first = data.draw(st.sampled_from(full))
        if kind == "barrier":
            calls.append(between(first, out))
        elif kind == "repeated":
            calls.append(repeated(data.draw(st.sampled_from([2, 3])), out))
        elif kind == "power":
            calls.append(elementwise(power, (first, *some([7, 8], 1)), out))
        elif kind == "sum":
            calls.append(elementwise(add_n, (first, *some(full, 3)), out))
        elif kind == "difference":
            calls.append(elementwise(squared_difference, (first, *some(registers, 1)), out))
        else:
            args = [first, *some(registers, UFUNCS[kind] - 1)]
            calls.append(elementwise(kind, args, out))
        registers.append(out)
    taken = {register for call in calls for register in call.args}
    made = [call.outs[0] for call in calls]
    outputs = [r for r in made if r not in taken or data.draw(st.integers(0, 5)) == 0]
    program = region(7, calls, outputs, constants, tuple(shapes))
    with np.errstate(all="ignore"):
        wanted = one_by_one(program, inputs)
        found = compiled(program, np)(*(value.copy() for value in inputs))
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(a, b)


def gelu():
    """Return a gelu that is written out, and its gradient, as a graph has them."""
    half, one, two = 3, 4, 5
    calls = [
        elementwise("add", (0, 1), 10),  # x
        elementwise("multiply", (half, 10), 11),
        elementwise("tanh", (10,), 12),
        elementwise("add", (one, 12), 13),
        elementwise("multiply", (11, 13), 14),  # the result
        elementwise("square", (12,), 15),
        elementwise("subtract", (one, 15), 16),
        elementwise(power, (10, two), 17),
        between(14, 20),
        elementwise("multiply", (2, 13), 21),
        elementwise("multiply", (2, 11), 22),
        elementwise("multiply", (22, 16), 23),
        elementwise("multiply", (23, 17), 24),
        elementwise("add", (21, 24), 25),
    ]
    constants = {half: np.float32(0.5), one: np.float32(1), two: np.float32(2)}
    return region(3, calls, (20, 25), constants, (SHAPE, SHAPE[1:], SHAPE))


def test_a_written_out_gelu_keeps_one_array_for_its_gradient():
    written, calls = kept(gelu())
    assert written == 3  # the result, its tanh, the gradient; x follows from what was given
    later = [call for call in calls[calls.index(gelu().calls[8]) :] if call.kernel == "tanh"]
    assert not later  # what takes long is not done again


def test_what_is_said_twice_is_computed_once():
    calls = [
        elementwise("subtract", (0, 1), 2),
        elementwise("square", (2,), 3),
        elementwise("subtract", (0, 1), 4),
        elementwise("add", (3, 4), 5),
    ]
    found = recomputed(region(2, calls, (5,)), tiling.chains)
    assert [call.kernel for call in found] == ["subtract", "square", "add"]
    assert len(recomputed(region(2, calls, (4, 5)), tiling.chains)) == 4  # one leaves the region


def test_what_would_take_more_to_keep_stays():
    """A sum of two arrays that nobody else needs is one array to keep, not two."""
    calls = [elementwise("add", (0, 1), 2), between(2, 3), elementwise("add", (3, 2), 4)]
    program = region(2, calls, (4,))
    assert list(recomputed(program, tiling.chains)) == calls
    calls[0] = elementwise("add", (0, 5), 2)
    program = region(2, calls, (4,), {5: np.float32(1)})
    assert len(recomputed(program, tiling.chains)) == 3  # a call is dropped where it is made again


def test_what_is_written_over_is_not_read_again():
    """A variable that is updated in place is not what its old value follows from."""
    calls = [
        elementwise("multiply", (0, 4), 5),
        elementwise("subtract", (0, 1), 6),  # into 0
        between(5, 7),
        elementwise("add", (7, 5), 8),
    ]
    program = region(2, calls, (6, 8), {4: np.float32(3)}, into={6: 0})
    x, y = np.full(SHAPE, 2, FLOAT), np.ones(SHAPE, FLOAT)
    wanted = one_by_one(program, (x.copy(), y))
    for a, b in zip(compiled(program, np)(x, y), wanted, strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_array_equal(x, wanted[0])
