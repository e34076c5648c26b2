"""Clusters that grow and shrink while a model trains: the numbers are those of a fixed one."""

from __future__ import annotations

import time

import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf
from daskvars import config
from tests.clusters import running
from tests.waiting import wait_until

pytestmark = pytest.mark.cluster

PARTS = 4
BATCHES = [np.random.default_rng(n).normal(size=(8, 6)) for n in range(12)]


def trained(between):
    """Return the losses and the weights of some steps; `between` is called before each."""
    with tf.Graph().as_default(), tf.Session() as session, config.set(batch_parts=PARTS):
        x = tf.placeholder(tf.float64, [None, 6])
        weights = tf.get_variable("weights", initializer=np.full((6, 4), 0.1), chunks=(3, 4))
        loss = tf.reduce_mean(tf.square(tf.matmul(x, weights) - 1.0))
        step = tf.train.AdamOptimizer(0.1).minimize(loss)
        session.run(tf.global_variables_initializer())
        losses = []
        for number, batch in enumerate(BATCHES):
            between(number)
            losses.append(session.run([loss, step], {x: batch})[0])
        return losses, session.run(weights)


@pytest.fixture(scope="module")
def undisturbed():
    with running(1, processes=False, protocol="tcp://") as client, client.as_current():
        return trained(lambda number: None)


def same(found, expected):
    return found[0] == expected[0] and np.array_equal(found[1], expected[1])


def test_scaled_up_and_down(undisturbed):
    with running(1, processes=False, protocol="tcp://") as client, client.as_current():
        seen = []

        def between(number):
            wanted = {3: 3, 6: 1, 9: 2}.get(number)
            if wanted:
                client.cluster.scale(wanted)
                client.wait_for_workers(wanted) if wanted > 1 else shrunk(client, wanted)
            seen.append(len(client.scheduler_info(n_workers=-1)["workers"]))

        assert same(trained(between), undisturbed)
        assert {1, 2, 3} <= set(seen)


def shrunk(client, num_workers):
    def is_shrunk():
        return len(client.scheduler_info(n_workers=-1)["workers"]) <= num_workers

    wait_until(is_shrunk, "the workers leave")


def test_adapted(undisturbed):
    with running(1, processes=False, protocol="tcp://") as client, client.as_current():
        client.cluster.adapt(
            minimum=1, maximum=3, interval="50ms", wait_count=1, target_duration="1ms"
        )

        def between(number):
            if number % 4 == 0:  # it grows under load, and shrinks where there is none
                client.gather([client.submit(time.sleep, 0.02, pure=False) for _ in range(20)])
            time.sleep(0.05)

        assert same(trained(between), undisturbed)


def test_what_is_explained_is_what_runs():
    """How work is cut stays when workers come, and bits with it: no other plan is shown."""
    with (
        running(1, processes=False, protocol="tcp://") as client,
        client.as_current(),
        tf.Graph().as_default(),
        tf.Session() as session,
        config.set(batch_parts_min_flops=1.0),
    ):
        x = tf.placeholder(tf.float32, [None, 512])
        total = tf.reduce_sum(tf.tanh(tf.matmul(x, tf.ones([512, 512]))))
        feed = {x: np.ones((4096, 512), "f4")}
        session.run(total, feed)
        before = session.explain(total, feed)
        client.cluster.scale(2)
        client.wait_for_workers(2)
        wait_until(lambda: session.engine.acquire().num_workers == 2, "the client knows of both")
        after = session.explain(total, feed)
        with dv.observe.recorded() as record:
            session.run(total, feed)
        assert record.metrics()["lowerings"]["count"] == 0
        assert "planned for 1 threads of workers, of which there are 2" in after
        assert set(before.splitlines()[-3:]) <= set(after.splitlines())
        with config.set(batch_parts=2):
            assert "planned for" not in session.explain(total, feed)
