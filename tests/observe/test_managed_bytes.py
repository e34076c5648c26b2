"""Dask sees the bytes of variables: on its memory pages, and where it spills and pauses."""

import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf
from daskvars.observe import variable_bytes
from tests import clusters
from tests.waiting import wait_until

pytestmark = pytest.mark.cluster
ROWS, WIDTH = 60_000, 32


@pytest.fixture
def client():
    """A client of a cluster that holds nothing else."""
    with clusters.running() as client:
        yield client


def managed_bytes(dask_scheduler):
    """Return what the scheduler counts in memory, which its pages show."""
    return sum(worker.nbytes for worker in dask_scheduler.workers.values())


def reported_bytes(dask_scheduler):
    """Return what the workers count, by which they spill and pause."""
    return sum(w.metrics["managed_bytes"] for w in dask_scheduler.workers.values())


def assert_seen(client, session, within_s=20):
    """Wait until the scheduler and the workers count what the variables take, within 10 %."""
    wanted = sum(sum(places.values()) for places in variable_bytes(session).values())
    assert wanted > 2 * ROWS * WIDTH * 4
    found = []

    def is_seen():
        found[:] = [client.run_on_scheduler(of) for of in (managed_bytes, reported_bytes)]
        return all(abs(size - wanted) <= wanted / 10 for size in found)

    wait_until(is_seen, lambda: f"{found} of {wanted} bytes are seen", within_s)


@pytest.mark.parametrize("kind", ["private", "stored", "shared"])
def test_dask_sees_the_bytes_of_variables(client, kind, tmp_path):
    """A table whose rows are changed in place, its slots, and a dense layer; sealed and not.

    With 30 small variables beside, a bundle has more outputs than Dask looks at one by one.
    """
    store = {"private": None, "stored": str(tmp_path / "store.zarr"), "shared": "bytes"}[kind]
    rng = np.random.default_rng(0)
    with client.as_current(), dv.Graph().as_default():
        ids = dv.placeholder(dv.int32, [None])
        table = dv.get_variable("table", [ROWS, WIDTH], chunks=(ROWS // 2, WIDTH))
        kernel = dv.get_variable("kernel", [WIDTH, 20_000])
        gains = [dv.get_variable(f"gain{i}", [2]) for i in range(30)]
        h = dv.matmul(dv.nn.embedding_lookup(table, ids), kernel)
        loss = dv.reduce_mean(dv.square(h)) + sum(dv.reduce_sum(dv.square(g)) for g in gains)
        train = tf.train.AdagradOptimizer(0.1).minimize(loss)
        with dv.Session(store=store) as session:
            session.run(dv.global_variables_initializer())
            assert_seen(client, session)
            for _ in range(2):
                for _ in range(6):
                    session.run(train, {ids: rng.integers(0, ROWS, 40)})
                assert_seen(client, session)
                session.seal()
                assert_seen(client, session)
            session.run(train, {ids: rng.integers(0, ROWS, 40)})
            assert_seen(client, session)
