"""A chain run tile by tile gives what its calls give one after the other, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from daskvars import config
from daskvars.remote.regions.chains import tiling
from daskvars.remote.regions.region_program import Call

FLOAT = np.dtype(np.float32)
UFUNCS = {"add": 2, "subtract": 2, "multiply": 2, "maximum": 2, "negative": 1, "square": 1}


def halved(xp, x):
    return xp.multiply(x, x.dtype.type(0.5))


def doubled(xp, x, *, out=None):
    return xp.multiply(x, x.dtype.type(2), out=out)


def call(kernel, args, out, shape, dtype=FLOAT):
    return Call(kernel, tuple(args), (out,), {}, elementwise=True, shapes=(shape,), dtypes=(dtype,))


def one_by_one(calls, inputs):
    values = dict(inputs)
    for c in calls:
        arguments = [values[register] for register in c.args]
        if callable(c.kernel):
            values[c.outs[0]] = c.kernel(np, *arguments)
        else:
            values[c.outs[0]] = getattr(np, c.kernel)(*arguments)
    return values


def run(chain, inputs):
    given = {register: np.array(value) for register, value in inputs.items()}  # `into` changes them
    results = chain.function(*(given[register] for register in chain.inputs))
    return dict(zip(chain.outputs, results, strict=True)), given


@pytest.mark.slow
@settings(max_examples=150)
@given(st.data())
def test_any_chain(data):
    rng = np.random.default_rng(data.draw(st.integers(0, 100)))
    shape = data.draw(st.sampled_from([(23,), (7, 5), (4, 3, 2)]))
    shapes = [shape, shape, (), shape[-1:], (1, *shape[1:])]
    inputs = {i: rng.standard_normal(s).astype(FLOAT) for i, s in enumerate(shapes)}
    calls, registers = [], list(inputs)
    for i in range(data.draw(st.integers(1, 12))):
        kernel = data.draw(st.sampled_from([*UFUNCS, halved, doubled]))
        count = UFUNCS.get(kernel, 1)
        args = data.draw(st.lists(st.sampled_from(registers), min_size=count, max_size=count))
        args[0] = data.draw(st.sampled_from([0, 1, *registers[5:]]))  # of the full shape
        calls.append(call(kernel, args, 10 + i, shape))
        registers.append(10 + i)
    made = [c.outs[0] for c in calls]
    outputs = sorted({made[-1], *data.draw(st.lists(st.sampled_from(made), max_size=3))})
    into = {}
    if data.draw(st.booleans()):  # as `region_split` gives it: nothing reads the old value later
        target = outputs[-1]
        read_later = any(0 in c.args for c in calls if c.outs[0] > target)
        if not read_later:
            into = {target: 0}
    expected = one_by_one(calls, inputs)
    with config.set(tile_elements=data.draw(st.sampled_from([1, 6, 1000]))):
        results, arrays = run(tiling.Chain(calls, outputs, into), inputs)
    for register in outputs:
        np.testing.assert_array_equal(results[register], expected[register])
    for target, variable in into.items():
        assert results[target] is arrays[variable]
    for register in set(arrays) - set(into.values()):
        np.testing.assert_array_equal(arrays[register], inputs[register])


def test_threads_and_tiles_change_no_bit(threads):
    rng = np.random.default_rng(0)
    inputs = {i: rng.standard_normal((300, 7)).astype(FLOAT) for i in range(2)}
    calls = [call("multiply", (0, 1), 2, (300, 7)), call("add", (2, 0), 3, (300, 7))]
    expected = one_by_one(calls, inputs)[3]
    for tile_elements in (7, 50, 10_000):
        with config.set(tile_elements=tile_elements):
            results, _ = run(tiling.Chain(calls, [3], {}), inputs)
        np.testing.assert_array_equal(results[3], expected)


def test_the_last_block_may_be_smaller_than_the_static_shape():
    calls = [call("add", (0, 1), 2, (100,)), call("square", (2,), 3, (100,))]
    inputs = {0: np.arange(30, dtype=FLOAT), 1: np.float32(1)}
    results, _ = run(tiling.Chain(calls, [3], {}), inputs)
    np.testing.assert_array_equal(results[3], (np.arange(30) + 1) ** 2)


def test_values_of_other_dtypes_have_memory_of_their_own():
    shape = (40,)
    calls = [
        call("multiply", (0, 0), 2, shape),
        call("greater", (2, 1), 3, shape, np.dtype(bool)),
        call("multiply", (0, 3), 4, shape),
    ]
    inputs = {0: np.linspace(-2, 2, 40, dtype=FLOAT), 1: np.float32(1)}
    results, _ = run(tiling.Chain(calls, [4], {}), inputs)
    np.testing.assert_array_equal(results[4], one_by_one(calls, inputs)[4])


def test_a_kernel_with_out_writes_where_its_result_is_wanted():
    """As a ufunc: into the tiles of outputs, of inputs that are written over, and of what dies."""
    told = []

    def tripled(xp, x, *, out=None):
        told.append(out)
        return xp.multiply(x, x.dtype.type(3), out=out)

    calls = [call("square", (0,), 1, (64,)), call(tripled, (1,), 2, (64,))]
    calls += [call(tripled, (2,), 3, (64,))]
    inputs = {0: np.arange(64, dtype=FLOAT)}
    with config.set(tile_elements=16):
        chain = tiling.Chain(calls, [2, 3], {3: 0})
        results, given = run(chain, inputs)
    assert len(told) == 8
    assert all(out.shape == (16,) for out in told)
    wanted = one_by_one(calls, inputs)
    for register in (2, 3):
        np.testing.assert_array_equal(results[register], wanted[register])
    assert results[3] is given[0]


def test_numpy_warns_in_no_thread(threads, recwarn):
    calls = [call("divide", (0, 0), 1, (64,)), call("add", (1, 0), 2, (64,))]
    with np.errstate(all="ignore"), config.set(tile_elements=4):
        run(tiling.Chain(calls, [2], {}), {0: np.zeros(64, FLOAT)})
    assert not recwarn.list


def test_adam_needs_few_registers():
    shape = (1000,)
    w, m, v, g, keep, take, rate = range(7)
    steps = [
        ("multiply", (m, keep)),
        ("multiply", (g, take)),
        ("add", (10, 11)),
        ("multiply", (v, keep)),
        ("square", (g,)),
        ("multiply", (14, take)),
        ("add", (13, 15)),
        ("sqrt", (16,)),
        ("add", (17, take)),
        ("divide", (12, 18)),
        ("multiply", (19, rate)),
        ("subtract", (w, 20)),
    ]
    calls = [call(kernel, args, 10 + i, shape) for i, (kernel, args) in enumerate(steps)]
    chain = tiling.Chain(calls, [12, 16, 21], {12: m, 16: v, 21: w})
    assert len(chain.scratch) == 1
