"""Tables cut by rows over workers: rows change in place at their owners, and only rows travel."""

import os

import numpy as np
import pytest

import daskvars.v1 as tf
from daskvars.execution.cluster.results.remote_blocks import RemoteBlock
from tests.execution.cluster.shared_counters import blocks_of

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("graph")]
ROWS, DIM, BATCH = 20_000, 64, 400


def program():
    table = tf.get_variable(
        "t",
        [ROWS, DIM],
        chunks=(ROWS // 2, DIM),
        initializer=tf.random_uniform_initializer(-1, 1, seed=3),
    )
    ids = tf.placeholder(tf.int64, [None])
    loss = tf.reduce_sum(tf.square(tf.nn.embedding_lookup(table, ids)))
    return table, ids, loss, tf.train.AdagradOptimizer(0.1).minimize(loss)


def feeds(steps):
    rng = np.random.default_rng(0)
    return [np.minimum(rng.zipf(1.3, BATCH), ROWS) * 7919 % ROWS for _ in range(steps)]


def trained(steps=4, between=lambda step, session: None):
    with tf.Graph().as_default():
        _, ids, loss, step = program()
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            for number, batch in enumerate(feeds(steps)):
                session.run([loss, step], {ids: batch})
                between(number, session)
            return session.run(tf.global_variables())


def addresses(session):
    """Where the memory of each block is, by variable."""
    state = blocks_of(session)
    client = session._engine.acquire().client

    def place(dask_worker, key, position):
        found = dask_worker.data[key][position]
        with found.lend() as array:
            return array.__array_interface__["data"][0]

    found = {}
    for key, (_, blocks) in state.items():
        for index, block in blocks.items():
            assert isinstance(block, RemoteBlock)
            future, position = block.reference[:2]
            (worker,) = client.who_has([future])[future.key]
            found[key, index] = (
                worker,
                client.run(place, key=future.key, position=position, workers=[worker])[worker],
            )
    return found


def sent(client):
    return sum(client.run(lambda dask_worker: dask_worker.transfer_outgoing_bytes_total).values())


def test_rows_change_in_place_at_their_owners_and_only_rows_travel(two_workers):
    expected = trained()
    with two_workers.as_current():
        seen = {}

        def between(number, session):
            seen[number] = addresses(session), sent(two_workers)

        found = trained(between=between)
        for one, other in zip(expected, found, strict=True):
            np.testing.assert_array_equal(one, other)
    (first, _), (last, _) = seen[0], seen[3]
    assert first == last and len({worker for worker, _ in first.values()}) == 2
    steps = (seen[3][1] - seen[0][1]) / 3
    assert 0 < steps < 2 * BATCH * DIM * 4


def test_values_stay_those_of_a_seal_and_of_a_failed_run(two_workers):
    table, ids, loss, step = program()
    with two_workers.as_current(), tf.Session() as session:
        session.run(tf.global_variables_initializer())
        before = session.run(table)
        session.run(step, {ids: [1, 2, 2]})
        session._engine.acquire().seal()
        sealed = session.run(table)
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run([loss, step], {ids: [5, ROWS]})
        np.testing.assert_array_equal(session.run(table), sealed)
        session.run(step, {ids: [3]})
        after = session.run(table)
        session.recover()
        np.testing.assert_array_equal(session.run(table), sealed)
    changed = np.flatnonzero((before != sealed).any(axis=1)).tolist()
    assert changed == [1, 2] and np.flatnonzero((sealed != after).any(axis=1)).tolist() == [3]


def test_a_lost_owner_is_recomputed_to_the_bit(mortal_workers):
    expected = trained(8)

    def between(number, session):
        if number == 2:
            session._engine.acquire().seal()
        if number == 5:
            client = session._engine.acquire().client
            victim = sorted(client.nthreads())[0]
            client.run(os._exit, 1, workers=[victim], wait=False, on_error="ignore")

    with mortal_workers.as_current():
        for one, other in zip(expected, trained(8, between), strict=True):
            np.testing.assert_array_equal(one, other)
