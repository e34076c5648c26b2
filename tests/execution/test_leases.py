"""Who may write into a block: it is leased by whoever reads it, and is nobody else's."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import daskvars.v1 as tf
from tests.sessions import initialized

pytestmark = pytest.mark.usefixtures("graph")

SIZES = pytest.mark.parametrize("n", [4, 400_000])  # the latter is updated in place


def ways_to_give_on(v):
    """Name and tensor of each way by which a fetch gives a variable's value as it is."""
    kept = []
    return {
        "fetch": v,
        "read": v.read_value(),
        "identity": tf.identity(v),
        "reshape": tf.reshape(v, [-1, 2]),
        "branch": tf.cond(tf.reduce_sum(v) > -1e9, lambda: v.read_value(), lambda: v * 2.0),
        "loop": tf.while_loop(lambda a: tf.reduce_sum(a) < -1e9, lambda a: a + 1.0, [v.value()]),
        "checked": tf.check_numerics(v, "not finite"),
        "printed": tf.Print(v, []),
        "python": tf.py_func(lambda a: a, [v], tf.float32),
        "kept": tf.py_func(lambda a: kept.append(a) or kept[0], [v], tf.float32),
        "given": v.assign_add(tf.zeros(v.shape)),
    }


@SIZES
@pytest.mark.parametrize(
    "way",
    [
        "fetch",
        "read",
        "identity",
        "reshape",
        "branch",
        "loop",
        "checked",
        "printed",
        "python",
        "kept",
        "given",
    ],
)
def test_what_was_fetched_is_the_users_alone(n, way):
    v = tf.Variable(np.zeros(n, "f4"))
    step = tf.group(v.assign_add(tf.ones([n])))
    fetch = ways_to_give_on(v)[way]
    session = initialized()
    session.run(step)
    session.run(step)  # the variable's memory is now its own
    found = session.run(fetch)
    session.run(step)
    assert (found == 2).all()
    found[:] = 99
    assert (session.run(v) == 3).all()


@SIZES
def test_variables_that_are_given_one_value_have_each_their_own(n):
    x = tf.placeholder(tf.float32, [n])
    a, b = tf.Variable(np.zeros(n, "f4")), tf.Variable(np.zeros(n, "f4"))
    doubled = x * 2.0
    both = tf.group(a.assign(doubled), b.assign(doubled))
    session = initialized()
    session.run(both, {x: np.ones(n)})
    session.run(tf.group(a.assign_add(tf.ones([n]))))
    first, second = session.run([a, b])
    assert (first == 3).all()
    assert (second == 2).all()


@SIZES
def test_what_a_python_function_returned_and_keeps_is_not_the_variables(n):
    table = np.zeros(n, "f4")
    v = tf.Variable(np.ones(n, "f4"))
    session = initialized()
    session.run(tf.group(v.assign(tf.reshape(tf.py_func(lambda: table, [], tf.float32), [n]))))
    session.run(tf.group(v.assign_add(tf.ones([n]))))
    assert not table.any()
    table[:] = 7
    assert (session.run(v) == 1).all()


def test_what_a_python_function_writes_into_is_not_the_variables_nor_a_feed():
    def spoil(array):
        array[:] = -1
        return np.float32(0)

    v = tf.Variable(np.zeros(400_000, "f4"))
    x = tf.placeholder(tf.float32, [3])
    session = initialized()
    fed = np.ones(3, "f4")
    session.run([tf.py_func(spoil, [v], tf.float32), tf.py_func(spoil, [x], tf.float32)], {x: fed})
    assert not session.run(v).any()
    assert fed.sum() == 3


def test_a_run_that_reads_is_not_disturbed_by_one_that_writes_in_place():
    n = 400_000
    reading, written = threading.Event(), threading.Event()

    def wait():
        reading.set()
        assert written.wait(60)
        return np.float32(0)

    v = tf.Variable(np.zeros(n, "f4"))
    step = tf.group(v.assign_add(tf.ones([n])))
    with tf.control_dependencies([tf.py_func(wait, [], tf.float32)]):
        total = tf.reduce_sum(v)
    session = initialized()
    session.run(step)
    found = []
    reader = threading.Thread(target=lambda: found.append(session.run(total)))
    reader.start()
    assert reading.wait(60)
    for _ in range(3):
        session.run(step)
    written.set()
    reader.join(60)
    assert found == [n]
    assert session.run(total) == 4 * n


def test_leases_end_with_their_reader():
    v = tf.Variable(np.zeros(400_000, "f4"))
    step = tf.group(v.assign_add(tf.ones([400_000])))
    fail = tf.py_func(lambda a: 1 / 0, [v], tf.float32)
    session = initialized()
    session.run(step)
    with pytest.raises(tf.errors.OpError):
        session.run(fail)
    values = session.engine.values
    assert not values.leased()
    with values.lease([v.key]) as lease, lease.of([dict(lease.blocks[0])]) as other:
        lease.release()
        assert len(values.leased()) == 1
        other.blocks[0].clear()
        assert not values.leased()
