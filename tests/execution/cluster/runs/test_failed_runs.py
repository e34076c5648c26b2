"""A run that fails while runs of other threads follow it: they are done on what was before it."""

import threading
from pathlib import Path

import pytest

import daskvars.v1 as tf
from tests import clusters
from tests.waiting import wait_until

pytestmark = pytest.mark.cluster


def test_runs_of_other_threads_outlive_one_that_fails(tmp_path):
    file, error = tmp_path / "sent", []

    def once_sent(value):
        wait_until(Path(file).exists, "the runs of the other thread are sent")
        return value

    with (
        clusters.running() as client,
        client.as_current(),
        tf.Graph().as_default(),
        tf.Session() as sess,
    ):
        v, count = tf.Variable(0.0), tf.Variable(0)
        add = tf.group(tf.assign_add(v, 1.0))
        with tf.control_dependencies([tf.py_func(once_sent, [tf.constant(1.0)], tf.float32)]):
            last = tf.count_up_to(count, 1)
        sess.run(tf.global_variables_initializer())
        sess.run([add, tf.count_up_to(count, 1)])
        before = len(sess.engine.acquire().in_flight.runs)

        def fail():
            try:
                sess.run(last)
            except tf.errors.OutOfRangeError as found:
                error.append(found)

        thread = threading.Thread(target=fail)
        thread.start()
        in_flight = sess.engine.acquire().in_flight
        wait_until(lambda: len(in_flight.runs) > before, "the run that fails is sent")
        for _ in range(3):
            sess.run(add)
        file.touch()
        thread.join()
        assert len(error) == 1
        assert sess.run(v) == 4.0
