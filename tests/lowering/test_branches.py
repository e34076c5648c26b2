"""Variables that are changed in branches and loops."""

from __future__ import annotations

import numpy as np
import pytest

import daskvars.v1 as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default():
        yield


def variables(chunks):
    return [tf.Variable(np.zeros(6, "float32"), name=n, chunks=chunks) for n in "vw"]


@pytest.mark.parametrize("chunks", [None, 2, (4, 2)])
def test_a_branch_keeps_the_chunks_of_what_it_assigns(chunks):
    v, w = variables(chunks)
    taken = tf.placeholder(tf.bool, [])
    total = w.assign_add(np.arange(6.0))
    step = tf.cond(taken, lambda: tf.group(v.assign_sub(total), w.assign(v * 0.0)), tf.no_op)
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for value in (False, True, False, True):
            sess.run(step, {taken: value})
        found = sess.run([v, w])
    np.testing.assert_array_equal(found, [-4.0 * np.arange(6.0), np.zeros(6)])


@pytest.mark.parametrize("chunks", [None, 2])
def test_a_loop_keeps_the_chunks_of_what_it_assigns(chunks):
    v, _ = variables(chunks)

    def body(i):
        with tf.control_dependencies([v.assign_add(np.ones(6))]):
            return i + 1

    last = tf.while_loop(lambda i: i < 3, body, [tf.constant(0)])
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        for _ in range(2):
            assert sess.run(last) == 3
        assert sess.run(v).tolist() == [6.0] * 6
