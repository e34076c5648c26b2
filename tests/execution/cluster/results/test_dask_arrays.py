"""Values on a cluster as dask arrays: their blocks stay on the workers, and are of one version."""

from __future__ import annotations

import dask
import dask.array as da
import distributed
import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf
from daskvars.errors import UnavailableError
from daskvars.execution.cluster.results.dask_arrays import ValueOnWorkers
from daskvars.execution.eager import EAGER_CONTEXT
from daskvars.execution.engine.engine import Engine
from tests.clusters import running

pytestmark = pytest.mark.cluster

SHAPE = (512, 600)  # in two blocks, each large enough to be updated in place


def owners(client, array):
    return [workers for _, workers in sorted(client.who_has(array).items())]


def test_blocks_stay_where_they_are_and_are_of_one_version(cluster):
    client = cluster
    variable = dv.Variable(np.ones(SHAPE), chunks=(256, 600), name="there")
    before = variable.to_dask()
    assert variable.to_dask().name == before.name and before.numblocks == (2, 1)
    distributed.wait(before)
    variable.assign_add(np.ones(SHAPE))
    after = variable.to_dask()
    variable.assign_add(np.ones(SHAPE))
    sums = [float(a.sum().compute()) for a in (before, after, variable.to_dask())]
    assert sums == [n * SHAPE[0] * SHAPE[1] for n in (1, 2, 3)]
    assert after.name != before.name
    there = owners(client, before)
    assert [len(workers) for workers in there] == [1, 1] and there[0] != there[1]
    assert float(dask.compute(variable)[0].sum()) == 3 * SHAPE[0] * SHAPE[1]
    assert float(dask.persist(variable)[0].sum().compute()) == 3 * SHAPE[0] * SHAPE[1]


def test_rows_changed_in_place_leave_an_array_as_it_was(cluster):
    table = dv.Variable(np.zeros((50_000, 8), "float32"), name="rows")
    found = [table.to_dask()]
    for _ in range(2):
        table.scatter_add(dv.IndexedSlices(np.ones((3, 8), "float32"), np.array([1, 5, 7])))
        found.append(table.to_dask())
    assert [float(a.sum().compute()) for a in found] == [0.0, 24.0, 48.0]


def test_an_array_goes_on_while_versions_are_sealed(cluster, tmp_path):
    with tf.Graph().as_default(), tf.Session(store=str(tmp_path / "state.zarr")) as session:
        v = tf.get_variable("v", [4, 2], initializer=tf.ones_initializer(), chunks=(2, 2))
        session.run(tf.global_variables_initializer())
        update = tf.assign_add(v, tf.ones([4, 2]))
        kept = session.run(v, as_dask=True)
        for _ in range(3):
            session.run(update.op)
            session.engine.seal()
        assert kept.sum().compute() == 8 and session.run(v, as_dask=True).sum().compute() == 32


def test_a_tensor_is_computed_there_and_feeds_what_follows_from_there(cluster):
    tensor = dv.constant(np.ones((4, 4))) * 2.0
    array = tensor.to_dask()
    assert type(tensor.kept_value) is ValueOnWorkers and array.sum().compute() == 32.0
    assert float(dv.reduce_sum(tensor + 1.0)) == 48.0
    assert type(tensor.kept_value) is ValueOnWorkers
    assert tensor.numpy().tolist() == [[2.0] * 4] * 4
    assert type(tensor.kept_value) is np.ndarray


def test_a_value_that_dask_asks_for_while_it_sends_it_is_refused_and_not_waited_for(cluster):
    variable = dv.Variable(np.ones(4), name="sent")
    tensor = variable.assign_add(np.ones(4)) * 2.0
    for send in (cluster.scatter, lambda value: cluster.map(sum, [value])):
        with pytest.raises(TypeError, match="Could not serialize"):  # the cause is in Dask's log
            send(tensor)
    with pytest.raises(dv.errors.UnimplementedError, match=r"Look at the value before, with num"):
        distributed.Queue("sent", cluster).put(tensor)
    assert variable.numpy().tolist() == [2.0] * 4 and tensor.numpy().tolist() == [4.0] * 4
    assert cluster.submit(sum, tensor).result() == 16.0


def test_results_stay_there(cluster):
    x = da.ones((4, 4), chunks=2)
    weights = dv.Variable(np.ones((4, 4)), name="weights")
    product, value = dv.function(lambda x: (x @ weights, weights.value()), as_dask=True)(x)
    for found, expected in ((product, 64.0), (value, 16.0)):
        assert all(isinstance(v, distributed.Future) for v in found.dask.values())
        assert found.sum().compute() == expected


def test_an_error_of_the_run_is_raised_at_the_call(cluster):
    failing = dv.function(lambda x: dv.check_numerics(x, "not finite"), as_dask=True)
    with pytest.raises(dv.errors.InvalidArgumentError, match="not finite"):
        failing(np.array([np.nan]))


def test_a_value_that_is_lost_with_its_cluster_says_so(monkeypatch):
    monkeypatch.setattr(EAGER_CONTEXT, "program_engine", Engine())  # which is on no cluster yet
    with running(1) as client, client.as_current():
        tensor = dv.constant([1.0]) * 3.0
        tensor.to_dask()
    with pytest.raises(UnavailableError, match=r"left on a Dask cluster by to_dask\(\)"):
        tensor.numpy()
