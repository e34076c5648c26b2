"""Workers are killed in the middle of exchanges: before, while and after they send or receive.

The worker kills itself at the point, so that it is always there.
"""

import importlib
from pathlib import Path

import numpy as np
import pytest

import daskvars.v1 as tf
from daskvars import config
from daskvars.execution.cluster.results.remote_blocks import remote_blocks
from tests.waiting import wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(120)]

BENCHMARKS = Path(__file__).parents[4] / "benchmarks"
UNITS, ROWS, STEPS, STRIKE = 24, 48, 12, 5
WORDS, COLUMNS = 3_000, 8
with pytest.MonkeyPatch.context() as patch:
    patch.syspath_prepend(str(BENCHMARKS))
    worker_loss = importlib.import_module("worker_loss")


@pytest.fixture(scope="module")
def workers():
    with pytest.MonkeyPatch.context() as patch:  # for the processes, too
        patch.syspath_prepend(str(BENCHMARKS))
        found = worker_loss.Workers(nannies=False)
        yield found
        found.close()


def model():
    """A dense model, and a table beside it, whose weights are in three chunks."""
    x = tf.placeholder(tf.float32, [None, UNITS])
    words = tf.placeholder(tf.int32, [None])
    h, rng = x, np.random.default_rng(0)
    start = rng.normal(size=(WORDS, COLUMNS)).astype("f4")
    table = tf.get_variable("table", initializer=start, chunks=(WORDS // 3, COLUMNS))
    found = tf.nn.embedding_lookup(table, words)
    for i in range(2):
        first = rng.normal(size=(UNITS, UNITS)).astype("f4")
        w = tf.get_variable(f"w{i}", initializer=first, chunks=(UNITS, UNITS // 3))
        h = tf.tanh(tf.matmul(h, w))
    loss = tf.reduce_mean(tf.square(h)) + tf.reduce_mean(tf.square(found - 1.0))
    return x, words, loss, tf.train.AdamOptimizer(0.01).minimize(loss)


def trained(strike=lambda session: None, store=None):
    """Train; return all losses and the variables at the end."""
    rng = np.random.default_rng(1)
    batches = rng.normal(size=(STEPS, ROWS, UNITS)).astype("f4")
    ids = rng.integers(0, WORDS, size=(STEPS, ROWS))
    with tf.Graph().as_default(), config.set(batch_parts=3):
        x, words, loss, step = model()
        with tf.Session(store=store) as session:
            session.run(tf.global_variables_initializer())
            losses = []
            for number, batch in enumerate(batches):
                if number == 3:
                    session.engine.seal()
                if number == STRIKE:
                    strike(session)
                losses.append(session.run([loss, step], {x: batch, words: ids[number]})[0])
            return np.array(losses), session.run(tf.global_variables())


def same(found, wanted):
    return all(
        np.array_equal(one, other)
        for one, other in zip((found[0], *found[1]), (wanted[0], *wanted[1]), strict=True)
    )


@pytest.fixture(scope="module")
def undisturbed():
    return trained()


@pytest.mark.parametrize("point", worker_loss.POINTS)
def test_the_bits_are_those_of_an_undisturbed_run(workers, undisturbed, point):
    processes = workers.fill()
    victim = sorted(processes)[1]

    def strike(session):
        workers.client.run(worker_loss.arm, *worker_loss.POINTS[point], workers=[victim])

    with workers.client.as_current():
        found = trained(strike)
    assert same(found, undisturbed)
    wait_until(
        lambda: victim not in workers.client.scheduler_info()["workers"],
        "the worker was killed at the point",
    )


@pytest.mark.parametrize("point", ["before it sends", "after it has received"])
def test_a_state_with_a_name_loses_nothing_either(workers, undisturbed, point, tmp_path):
    victim = sorted(workers.fill())[0]

    def strike(session):
        workers.client.run(worker_loss.arm, *worker_loss.POINTS[point], workers=[victim])

    with workers.client.as_current():
        found = trained(strike, str(tmp_path / "state"))
    assert same(found, undisturbed)


def test_a_worker_that_is_retired_takes_nothing_along(workers, undisturbed):
    workers.fill()

    def strike(session):
        victim = sorted(workers.client.scheduler_info()["workers"])[1]
        workers.client.retire_workers([victim])

    with workers.client.as_current():
        found = trained(strike)
    assert same(found, undisturbed)


def test_what_was_received_is_freed(workers):
    workers.fill()

    def strike(session):
        executor = session.engine.acquire()
        held = {b.reference.future.key for b in remote_blocks(executor.read(["w0", "w1"]))}
        wait_until(lambda: not any(references(workers.client)), "no worker keeps a reference")
        assert held

    with workers.client.as_current():
        trained(strike)


def references(client):
    return client.run(lambda dask_worker: len(dask_worker.daskvars_references)).values()


def test_the_checker_notices(undisturbed):
    losses, variables = undisturbed
    assert same(undisturbed, undisturbed)
    assert not same((losses, [variables[0] + 1, *variables[1:]]), undisturbed)
