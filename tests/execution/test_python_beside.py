"""Python functions of one run that need nothing of each other run at the same time."""

from __future__ import annotations

import threading
from functools import partial

import numpy as np
import pytest

import daskvars.v1 as tf
from daskvars import errors

pytestmark = pytest.mark.usefixtures("graph")

LONG_S = 30.0


def meeting(barrier, call=tf.py_func):
    """Return a function of a tensor that is there when all others of the barrier are called."""

    def met(value):
        barrier.wait(LONG_S)
        return value

    return lambda tensor: call(met, [tensor], tf.float32)


@pytest.mark.parametrize("call", [tf.py_func, tf.py_function, partial(tf.py_func, stateful=False)])
def test_functions_that_wait_for_each_other_end(call):
    meet = meeting(threading.Barrier(3), call)
    x = tf.placeholder(tf.float32, [2])
    total = meet(x) + meet(x * 2.0) + tf.exp(meet(x * 3.0))
    with tf.Session() as sess:
        for _ in range(2):
            found = sess.run(total, {x: [1.0, 2.0]})
            np.testing.assert_allclose(found, [3 + np.exp(3), 6 + np.exp(6)], rtol=1e-6)


def test_one_that_is_called_later_is_waited_for():
    """A function waits for another that takes the result of a third, with work in between."""
    meet = meeting(threading.Barrier(2))
    first = meet(tf.constant(1.0))
    used = tf.exp(first) * 2.0  # made before the second, which must not wait for it
    second = meet(tf.py_func(lambda a: a + 1, [tf.constant(2.0)], tf.float32) * 2.0)
    with tf.Session() as sess:
        assert sess.run([used, second]) == [np.exp(np.float32(1)) * 2, 6.0]


def test_in_a_branch_and_in_a_loop():
    barrier = threading.Barrier(2)
    meet = meeting(barrier)
    take = tf.placeholder(tf.bool, [])
    x = tf.constant(2.0)
    both = tf.cond(take, lambda: meet(x) + meet(x * x), lambda: x)
    turns = tf.while_loop(lambda a: a < 8.0, lambda a: tf.reshape(meet(a) + meet(a), []), [x])
    with tf.Session() as sess:
        assert sess.run(both, {take: True}) == 6.0
        assert sess.run(turns) == 8.0


def test_control_dependencies_are_waited_for():
    called = []
    gate = threading.Event()

    def slow():
        gate.wait(LONG_S)
        called.append("slow")
        return np.float32(1)

    def note(name):
        called.append(name)
        return np.float32(2)

    def free():
        called.append("free")
        gate.set()
        return np.float32(3)

    one = tf.py_func(slow, [], tf.float32)
    with tf.control_dependencies([one]):
        group = tf.group(tf.constant(0.0) + 1.0)
    with tf.control_dependencies([group]):
        after = tf.py_func(partial(note, "after"), [], tf.float32)
    beside = tf.py_func(free, [], tf.float32)
    with tf.Session() as sess:
        for _ in range(3):
            assert sess.run([after, beside, one]) == [2.0, 3.0, 1.0]
            assert called == ["free", "slow", "after"]
            called.clear()
            gate.clear()


def test_an_assertion_comes_before_what_waits_for_it():
    called = []
    with tf.control_dependencies([tf.Assert(tf.placeholder_with_default(False, []), ["no"])]):
        two = [tf.py_func(lambda: called.append(1) or 1.0, [], tf.float64) for _ in range(2)]
    failed = pytest.raises(errors.InvalidArgumentError, match="assertion failed")
    with tf.Session() as sess, failed:
        sess.run(two)
    assert not called


def test_a_run_that_fails_has_ended():
    ended = []
    failing = threading.Event()

    def fail():
        failing.set()
        raise ValueError("on purpose")

    def go_on(value):
        failing.wait(LONG_S)
        ended.append(1)
        return value

    x = tf.constant(1.0)
    bad = tf.py_func(fail, [], tf.float32, name="bad")
    good = tf.py_func(go_on, [x], tf.float32)
    v = tf.Variable(0.0)
    with tf.Session() as sess:
        sess.run(v.initializer)
        with pytest.raises(errors.InvalidArgumentError, match=r"on purpose[\s\S]*\[op 'bad'\]"):
            sess.run(v.assign(bad + good))
        assert ended == [1]
        assert sess.run(v) == 0.0


def test_each_has_its_own_copy_of_what_it_takes():
    barrier = threading.Barrier(2)

    def spoil(value):
        barrier.wait(LONG_S)
        value += 1.0
        barrier.wait(LONG_S)
        return value

    x = tf.exp(tf.placeholder_with_default(np.zeros(4, "float32"), [4]))
    found = [tf.py_func(spoil, [x], tf.float32) for _ in range(2)]
    after = tf.square(x + 1.0)  # may be written over x
    with tf.Session() as sess:
        results = sess.run([*found, after])
    np.testing.assert_array_equal(results, [[2.0] * 4, [2.0] * 4, [4.0] * 4])


def test_a_single_chain_runs_in_the_thread_of_the_run():
    threads = []

    def note(value):
        threads.append(threading.current_thread())
        return value

    x = tf.py_func(note, [tf.constant(1.0)], tf.float32)
    with tf.Session() as sess:
        sess.run(tf.py_func(note, [x], tf.float32))
    assert threads == [threading.current_thread()] * 2
