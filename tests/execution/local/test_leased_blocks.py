"""Variables of this process as dask arrays: of their own memory, which then stays what it is."""

from __future__ import annotations

import gc

import dask
import numpy as np
import pytest

import daskvars as dv
from daskvars.execution.eager import EAGER_CONTEXT

SHAPE = (1024, 512)  # in two blocks that are large enough to be updated in place


@pytest.fixture
def variable():
    made = dv.Variable(np.ones(SHAPE), chunks=(512, 512), name="leased")
    dv.sync()
    return made


def memory_of(variable):
    blocks = EAGER_CONTEXT.engine.values.get(variable.key)
    return [block.ctypes.data for block in blocks.values()]


def add_one(variable):
    variable.assign_add(np.ones(SHAPE))
    dv.sync()


def held(array):
    return [value for _, value in sorted((k, v.value) for k, v in array.dask.items())]


def test_blocks_are_the_variables_memory(variable):
    blocks = held(variable.to_dask())
    assert [block.ctypes.data for block in blocks] == memory_of(variable)
    assert not any(block.flags.writeable for block in blocks)


def test_an_array_is_of_its_version(variable):
    before = variable.to_dask()
    add_one(variable)
    after = variable.to_dask()
    add_one(variable)
    sums = [float(a.sum().compute()) for a in (before, after, variable.to_dask())]
    assert sums == [n * SHAPE[0] * SHAPE[1] for n in (1, 2, 3)]


def test_one_update_copies_and_the_next_does_not(variable):
    first = memory_of(variable)
    kept = variable.to_dask()
    add_one(variable)
    second = memory_of(variable)
    add_one(variable)
    assert not set(first) & set(second) and memory_of(variable) == second
    assert float(kept.sum().compute()) == SHAPE[0] * SHAPE[1]


def test_the_lease_ends_with_the_last_view(variable):
    first = memory_of(variable)
    row = held(variable.to_dask())[0][3][::2]  # a view of a view; the array is gone
    gc.collect()
    add_one(variable)
    assert memory_of(variable)[0] != first[0] and memory_of(variable)[1] == first[1]
    assert row.tolist() == [1.0] * 256
    second = memory_of(variable)
    del row
    gc.collect()
    add_one(variable)
    assert memory_of(variable) == second


def test_what_dask_keeps_is_leased_too(variable):
    (kept,) = dask.persist(variable)
    add_one(variable)
    assert float(kept.sum().compute()) == SHAPE[0] * SHAPE[1]


@pytest.mark.parametrize("dtype", ["bfloat16", "complex64", "bool", "int8", "float64"])
def test_every_dtype_keeps_its_values(dtype):
    values = np.arange(6).reshape(2, 3)
    variable = dv.Variable(dv.cast(values, dtype), chunks=(1, 3))
    found = variable.to_dask()
    assert found.dtype == variable.dtype.np and found.numblocks == (2, 1)
    np.testing.assert_array_equal(found.compute(), variable.numpy())


def test_texts_scalars_and_nothing():
    assert dv.Variable(["a", "b"]).to_dask().compute().tolist() == [b"a", b"b"]
    assert dv.Variable(7).to_dask().compute() == 7
    assert dv.Variable(np.zeros((0, 3))).to_dask().compute().shape == (0, 3)
