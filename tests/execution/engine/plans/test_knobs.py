"""What a plan is made by is part of what it is kept under: the next run hears of a change."""

import numpy as np

import daskvars as dv
import daskvars.v1 as tf
from daskvars import config


def tasks_of(run):
    """How many tasks a call is, and how many plans it has made."""
    with dv.observe.recorded() as record:
        run()
    found = record.metrics()
    return found["tasks"], found["lowerings"]["count"]


def test_parts_that_are_set_later_count_from_the_next_run_on():
    kernel = dv.Variable(np.ones((4, 2), "f4"))
    x = np.ones((8, 4), "f4")

    @dv.function
    def total(x):
        return dv.reduce_sum(dv.matmul(x, kernel))

    def run():
        assert float(total(x)) == 64.0

    run()
    whole, _ = tasks_of(run)
    with config.set(batch_parts=4):
        cut, lowered = tasks_of(run)
        assert cut == total.plan(x).num_tasks > whole == 1
        assert lowered == 1
        assert tasks_of(run) == (cut, 0)
    assert tasks_of(run) == (whole, 0)


def test_a_session_hears_of_it_too():
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [None, 4])
        total = tf.reduce_sum(tf.square(x))
        feed = {x: np.ones((8, 4), "f4")}

        def run():
            assert session.run(total, feed) == 32.0

        run()
        with config.set(batch_parts=2):
            assert tasks_of(run)[0] > 1
        with config.set(progress=False):  # which no plan depends on
            assert tasks_of(run) == (1, 0)
