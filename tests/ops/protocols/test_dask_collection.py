"""Eager tensors and variables are collections of Dask."""

from __future__ import annotations

import dask
import dask.array as da
import numpy as np
import pytest
import xarray

import daskvars as dv
import daskvars.v1 as tf
from daskvars.errors import InvalidArgumentError


@pytest.fixture(params=["tensor", "variable"])
def value(request):
    values = np.arange(12.0).reshape(4, 3)
    if request.param == "tensor":
        return dv.constant(values) * 1.0
    return dv.Variable(values, chunks=(2, 3), name="collected")


EXPECTED = np.arange(12.0).reshape(4, 3)


def test_dask_takes_them_as_they_are(value):
    assert dask.is_dask_collection(value)
    found, nested = dask.compute(value, {"in": [value]})
    np.testing.assert_array_equal(found, EXPECTED)
    np.testing.assert_array_equal(nested["in"][0], EXPECTED)
    (kept,) = dask.persist(value)
    (optimized,) = dask.optimize(value)
    for array in (kept, optimized, da.asarray(value), value.to_dask()):
        assert isinstance(array, da.Array) and isinstance(array._meta, np.ndarray)
        np.testing.assert_array_equal(array.compute(), EXPECTED)
    assert dask.delayed(np.sum)(value).compute() == EXPECTED.sum()


def test_dask_functions_take_them(value):
    np.testing.assert_array_equal(da.add(da.ones((4, 3)), value).compute(), EXPECTED + 1)
    np.testing.assert_array_equal(
        da.concatenate([value.to_dask(), da.ones((1, 3))]).compute()[:4], EXPECTED
    )


def test_dask_functions_of_arrays_are_those_of_the_value(value):
    assert da.sum(value).compute() == EXPECTED.sum()
    joined = da.blockwise(np.add, "ij", value, "ij", da.ones((4, 3)), "ij", dtype="f4")
    np.testing.assert_array_equal(joined.compute(), EXPECTED + 1)


# from_array says of every collection that there are better ways; its blocks are arrays anyway.
@pytest.mark.filterwarnings("ignore:Passing an object to dask.array.from_array")
@pytest.mark.parametrize("options", [{}, {"chunks": 2}, {"chunks": (2, 3), "inline_array": True}])
def test_from_array_takes_them_as_any_array(value, options):
    found = da.from_array(value, **options)
    assert found.dtype == EXPECTED.dtype and type(found._meta) is np.ndarray
    assert type(found.compute()) is np.ndarray
    assert found.sum().compute() == EXPECTED.sum()
    np.testing.assert_array_equal(found.mean(axis=0).compute(), EXPECTED.mean(axis=0))
    np.testing.assert_array_equal((found.T @ found).compute(), EXPECTED.T @ EXPECTED)
    xarrays = xarray.DataArray(found, dims=("row", "column"))
    np.testing.assert_array_equal(xarrays.max("row").compute(), EXPECTED.max(0))


def test_from_array_warns_as_of_any_collection():
    with pytest.warns(UserWarning, match="already a Dask collection"):
        da.from_array(dv.constant(EXPECTED))


def test_xarray_takes_the_array(value):
    found = xarray.DataArray(value.to_dask(), dims=("row", "column")).sum("row")
    np.testing.assert_array_equal(found.compute(), EXPECTED.sum(0))


def test_one_version_has_one_name_and_the_next_another(value):
    names = {value.to_dask().name, value.to_dask().name}
    assert len(names) == 1
    if isinstance(value, dv.Variable):
        value.assign_add(np.ones((4, 3)))
        names.add(value.to_dask().name)
        assert len(names) == 2


def test_tensors_of_one_operation_name_do_not_share_a_name():
    found = [dv.add(float(n), [1.0], name="same") for n in range(20)]
    assert len({tensor.to_dask().name for tensor in found}) == 20
    function = dv.function(lambda x: x + 1.0)
    assert len({function(np.ones(2) * n).to_dask().name for n in range(20)}) == 20


def test_what_is_of_a_graph_is_none():
    with tf.Graph().as_default():
        variable = tf.get_variable("v", [2])
        assert not dask.is_dask_collection(variable)
        assert not dask.is_dask_collection(variable + 1.0)
        with pytest.raises(NotImplementedError, match=r"session.run\(variable, as_dask=True\)"):
            variable.to_dask()


def test_a_variable_may_still_be_fed_and_be_a_constant(value):
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float64, [4, 3])
        np.testing.assert_array_equal(session.run(x * 2.0, {x: value}), EXPECTED * 2)
    np.testing.assert_array_equal(dv.constant(value).numpy(), EXPECTED)


def test_a_partitioned_variable_is_one_array():
    whole = dv.get_variable(
        "cut",
        [6, 2],
        initializer=dv.ones_initializer(),
        partitioner=dv.fixed_size_partitioner(3),
    )
    found = whole.to_dask()
    assert found.shape == (6, 2) and found.numblocks == (3, 1) and found.sum().compute() == 12


@pytest.mark.parametrize("num_threads", [1, 2])
def test_functions_and_sessions_return_arrays(num_threads):
    x = da.ones((4, 4), chunks=2)
    with dv.config.set(num_threads=num_threads):
        one, two = dv.function(lambda x: (x + 1.0, [x * 2.0]), as_dask=True)(x)
        np.testing.assert_array_equal(one.compute(), np.full((4, 4), 2.0))
        np.testing.assert_array_equal(two[0].compute(), np.full((4, 4), 2.0))
        assert one.numblocks == (2, 2)
        with tf.Graph().as_default(), tf.Session() as session:
            v = tf.get_variable("v", [4, 2], initializer=tf.ones_initializer(), chunks=(2, 2))
            session.run(tf.global_variables_initializer())
            update = tf.assign_add(v, v)
            found = session.run({"new": update, "at the end": v, "op": update.op}, as_dask=True)
            assert found["op"] is None
            for name in ("new", "at the end"):
                assert found[name].numblocks == (2, 1) and found[name].sum().compute() == 16
            assert session.run(v, as_dask=True).sum().compute() == 16


def test_what_cannot_be_an_array_is_refused_and_nothing_has_run():
    count = dv.Variable(0)

    @dv.function(as_dask=True)
    def positive(x):
        count.assign_add(1)
        return dv.boolean_mask(x, x > 0)

    with pytest.raises(InvalidArgumentError, match=r"boolean_mask.* shape known only when run"):
        positive(np.array([1.0, -1.0]))
    assert int(count) == 0
    with dv.GradientTape(), pytest.raises(TypeError, match="as_dask=True"):
        positive(np.array([1.0]))
