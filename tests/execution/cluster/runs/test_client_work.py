"""Runs that need no worker are done by the client: nothing is sent, and all is as it was."""

import os
import signal

import dask.array as da
import numpy as np
import pytest
from distributed import Future

import daskvars as dv
import daskvars.v1 as tf
from daskvars import config
from daskvars.errors import InvalidArgumentError
from tests.waiting import wait_until

pytestmark = pytest.mark.cluster


@pytest.fixture
def sent(cluster, monkeypatch):
    """The keys of the graphs that were sent."""
    graphs = []
    get = cluster.get

    def spy(expression, keys, **options):
        graphs.append(list(keys))
        return get(expression, keys, **options)

    monkeypatch.setattr(cluster, "get", spy)
    return graphs


def factorized(epochs=2):
    """A matrix factorization on elements of queues: what batches it took, and its variables."""
    rng = np.random.default_rng(0)
    users, items = rng.integers(0, 6, 40), rng.integers(0, 5, 40)
    rates = rng.normal(size=40).astype("f4")
    slices = tf.train.slice_input_producer(
        [tf.constant(users), tf.constant(items), tf.constant(rates)], num_epochs=epochs, seed=1
    )
    user, item, rate = tf.train.batch(slices, batch_size=8, num_threads=1)
    p = tf.get_variable("p", [6, 3], initializer=tf.random_normal_initializer(seed=2))
    q = tf.get_variable("q", [5, 3], initializer=tf.random_normal_initializer(seed=3))
    found = tf.reduce_sum(tf.gather(p, user) * tf.gather(q, item), 1)
    step = tf.train.AdamOptimizer(0.1).minimize(tf.nn.l2_loss(found - rate))
    batches = []
    with tf.Session() as sess:
        sess.run(tf.group(tf.global_variables_initializer(), tf.local_variables_initializer()))
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        try:
            while True:
                batches.append(sess.run([user, item, rate, step])[:3])
        except tf.errors.OutOfRangeError:
            coord.request_stop()
        coord.join(threads)
        return batches, sess.run([p, q])


def test_a_program_on_queues_gives_the_same_here_and_on_two_workers(two_workers):
    found = []
    for client in (None, two_workers):
        with tf.Graph().as_default():
            if client is None:
                found.append(factorized())
            else:
                with client.as_current():
                    found.append(factorized())
    assert len(found[0][0]) == 10
    for here, there in zip(*found, strict=True):
        for a, b in zip(here, there, strict=True):
            np.testing.assert_array_equal(np.asarray(a), np.asarray(b))


@pytest.mark.usefixtures("graph")
def test_elements_of_queues_and_what_is_looked_at_send_nothing(sent):
    (row,) = tf.train.slice_input_producer([tf.constant(np.arange(12.0))], shuffle=False)
    queue = tf.FIFOQueue(100, [tf.float64], shapes=[()])
    enqueue, size = queue.enqueue(row * 2.0), queue.size()
    following = tf.data.Dataset.range(9).make_one_shot_iterator().get_next()
    v = tf.Variable(1.0)
    with tf.Session() as sess:
        sess.run([v.initializer, tf.local_variables_initializer()])
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        sess.run(enqueue)
        sess.engine.sync()
        sent.clear()
        for _ in range(5):
            sess.run(enqueue)
        assert sess.run(size) == 6
        assert sess.run(queue.dequeue_many(6)).tolist() == [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]
        assert [sess.run(following), sess.run(following + 1)] == [0, 2]
        assert sess.run(tf.constant(3.0) * 2.0) == 6.0
        assert not sent
        assert sess.run(v + 1.0) == 2.0
        assert len(sent) == 2, "what its stages do, and a run"
        coord.request_stop()
        sess.run(queue.close(cancel_pending_enqueues=True))
        coord.join(threads, stop_grace_period_secs=5, ignore_live_threads=True)


def test_draws_and_results_are_those_of_workers(two_workers):
    def drawn(client_work_s):
        with tf.Graph().as_default(), config.set(client_work_s=client_work_s), tf.Session() as sess:
            x = tf.random_normal([50], seed=3)
            y = tf.reduce_sum(tf.exp(x) / tf.tanh(x))
            v = tf.get_variable("v", [3], initializer=tf.zeros_initializer())
            sess.run(v.initializer)
            moved = v.assign_add(tf.random_uniform([3], seed=4) + x[:3])
            return [*(sess.run([x, y]) for _ in range(3)), *(sess.run([moved, x]), sess.run([x]))]

    with two_workers.as_current():
        found = [drawn(0.0), drawn(1e-3)]
    for a, b in zip(*found, strict=True):
        for left, right in zip(a, b, strict=True):
            np.testing.assert_array_equal(left, right)


def test_its_errors_are_those_of_workers_and_of_one_process(two_workers):
    messages = []
    for client_work_s in (None, 0.0, 1e-3):
        with tf.Graph().as_default():
            i = tf.placeholder(tf.int32, [])
            row = tf.gather(tf.constant([1.0, 2.0]), i, name="row")
            check = tf.check_numerics(1.0 / (row - 2.0), "a rate", name="check")
            with (
                two_workers.as_current() if client_work_s is not None else tf.name_scope(""),
                config.set(client_work_s=client_work_s or 0.0),
                tf.Session() as sess,
            ):
                for value in (5, 1):
                    with pytest.raises(InvalidArgumentError) as caught:
                        sess.run(check, {i: value})
                    messages.append((value, caught.value.op.name, caught.value.message))
    assert len(set(messages)) == 2


@pytest.mark.usefixtures("graph")
def test_it_is_said_in_explain_and_in_the_record_of_a_run(cluster):
    x = tf.random_normal([3], seed=1) * 2.0
    metadata = tf.RunMetadata()
    options = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE, output_partition_graphs=True)
    with tf.Session() as sess:
        assert "done by the client" in sess.explain(x)
        assert sess.run(x, options=options, run_metadata=metadata).shape == (3,)
        assert metadata.num_tasks <= 1
        assert "done by the client" in metadata.partition_graphs[0]
        assert metadata.step_stats.dev_stats[0].device.endswith("CPU:0")
        assert "done by the client" not in sess.explain(tf.Variable(1.0) * 2.0)
        with config.set(client_work_s=0):
            assert "done by the client" not in sess.explain(tf.constant(4.0) * 2.0)


@pytest.mark.usefixtures("graph")
def test_what_is_on_workers_stays_there(cluster, sent):
    x = tf.placeholder(tf.float64, [None])
    y = tf.reduce_sum(x)
    with tf.Session() as sess:
        lazy = cluster.persist(da.arange(4, chunks=4, dtype="f8"))
        sent.clear()
        assert sess.run(y, {x: np.arange(4.0)}) == 6.0
        assert not sent
        assert sess.run(y, {x: lazy}) == 6.0
        assert len(sent) == 2, "what its stage does, and a run"
        given = sess.run(y, {x: np.arange(4.0)}, as_dask=True)
        assert isinstance(next(iter(given.dask.values())), Future) and given.compute() == 6.0
        sent.clear()
        assert sess.run(y, {x: np.arange(4.0)}) == 6.0
        assert not sent


def test_eager_code_that_needs_no_variable_sends_nothing(sent):
    v = dv.Variable([1.0, 2.0])
    assert float(dv.reduce_sum(v)) == 3.0
    sent.clear()
    x = dv.constant([1.0, 2.0]) * 3.0
    assert float(dv.reduce_sum(x)) == 9.0
    assert not sent
    assert float(dv.reduce_sum(v * x)) == 15.0


@pytest.mark.usefixtures("graph")
def test_the_loss_of_all_workers_does_not_matter(mortal_workers):
    queue = tf.FIFOQueue(100, [tf.float32], shapes=[()])
    enqueue = queue.enqueue(tf.constant(3.0) + 1.0)
    with mortal_workers.as_current(), tf.Session() as sess:
        sess.run(enqueue)
        for process in mortal_workers.run(os.getpid).values():
            os.kill(process, signal.SIGKILL)
        sess.run(enqueue)
        assert sess.run(queue.dequeue_many(2)).tolist() == [4.0, 4.0]


@pytest.mark.usefixtures("graph")
def test_it_is_no_run_of_the_state_and_hears_of_none(cluster):
    v = tf.Variable(1.0)
    wrong = tf.group(v.assign(tf.check_numerics(v / 0.0, "wrong")))
    with tf.Session() as sess:
        sess.run(v.initializer)
        sess.run(wrong)
        in_flight = sess.engine.acquire().in_flight
        wait_until(lambda: in_flight.messages, "the run has failed")
        assert sess.run(tf.constant(2.0) + 1.0) == 3.0
        with pytest.raises(InvalidArgumentError, match="wrong"):
            sess.run(v)
        assert sess.run(v) == 1.0
