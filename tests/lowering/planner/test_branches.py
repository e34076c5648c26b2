"""Variables that are changed in branches and loops."""

from __future__ import annotations

import numpy as np
import pytest

import daskvars.v1 as tf
from daskvars import errors
from tests.sessions import initialized

pytestmark = pytest.mark.usefixtures("graph")


def variables(chunks):
    return [tf.Variable(np.zeros(6, "float32"), name=n, chunks=chunks) for n in "vw"]


@pytest.mark.parametrize("chunks", [None, 2, (4, 2)])
def test_a_branch_keeps_the_chunks_of_what_it_assigns(chunks):
    v, w = variables(chunks)
    taken = tf.placeholder(tf.bool, [])
    total = w.assign_add(np.arange(6.0))
    step = tf.cond(taken, lambda: tf.group(v.assign_sub(total), w.assign(v * 0.0)), tf.no_op)
    with initialized() as sess:
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
    with initialized() as sess:
        for _ in range(2):
            assert sess.run(last) == 3
        assert sess.run(v).tolist() == [6.0] * 6


def three_variables(pred):
    """Return three variables of 7, and what a branch gives: each result after an assignment."""
    v = [tf.Variable(7, name=f"v{i}") for i in range(3)]
    return v, tf.cond(
        pred,
        lambda: [v[0].assign(1).op, v[1].assign(2).op],
        lambda: [v[2].assign(3).op, tf.constant(10).op],
    )


@pytest.mark.parametrize("known", [False, True], ids=["predicate fed", "predicate known"])
def test_a_branch_does_only_what_the_results_fetched_need(known):
    pred = tf.constant(True) if known else tf.placeholder(tf.bool, [])
    v, results = three_variables(pred)
    feeds = {} if known else {pred: True}
    with initialized() as sess:
        assert sess.run(results[1], feeds)
        assert sess.run(v) == [7, 2, 7]
        assert sess.run(results, feeds) == [True, True]
        assert sess.run(v) == [1, 2, 7]


@pytest.mark.parametrize("how", ["operation", "control dependency", "group"])
def test_a_branch_that_is_run_as_an_operation_does_everything(how):
    pred = tf.placeholder(tf.bool, [])
    v, results = three_variables(pred)
    with tf.control_dependencies([results[1]]):
        after = tf.identity(5)
    wanted = {
        "operation": results[1].op,
        "control dependency": after,
        "group": tf.group(results[1]),
    }[how]
    with initialized() as sess:
        sess.run(wanted, {pred: True})
        assert sess.run(v) == [1, 2, 7]
        sess.run(wanted, {pred: False})
        assert sess.run(v) == [1, 2, 3]


def test_a_branch_in_a_branch_does_only_what_is_needed():
    calls = []

    def noted(name, value):
        return tf.py_func(lambda x: calls.append(name) or x, [value], tf.float32)

    outer, inner = tf.placeholder(tf.bool, []), tf.placeholder(tf.bool, [])
    x = tf.constant(2.0)

    def both():
        first, second = tf.cond(
            inner, lambda: (noted("a", x), noted("b", x * x)), lambda: (x, x + 1.0)
        )
        return first * 10.0, second * 100.0, noted("c", x)

    results = tf.cond(outer, both, lambda: (x, x, x))
    with tf.Session() as sess:
        assert sess.run(results[1], {outer: True, inner: True}) == 400.0
        assert calls == ["b"]
        assert sess.run([results[2], results[0]], {outer: True, inner: True}) == [2.0, 20.0]
        assert sorted(calls) == ["a", "b", "c"]


def test_a_gradient_needs_only_the_results_that_it_is_of():
    calls = []
    pred, x = tf.placeholder(tf.bool, []), tf.constant(3.0)

    def noted(value):
        calls.append("called")
        return value

    results = tf.cond(pred, lambda: (x * x, tf.py_func(noted, [x], tf.float32)), lambda: (x, x))
    (dx,) = tf.gradients(results[0], x)
    with tf.Session() as sess:
        assert sess.run([results[0], dx], {pred: True}) == [9.0, 6.0]
        assert not calls
        assert sess.run(results[1], {pred: True}) == 3.0
        assert calls


@pytest.mark.parametrize("kind", ["branch", "loop"])
def test_updates_in_two_branches_or_loops_that_wait_for_nothing_both_count(kind):
    v = tf.Variable(0)
    taken = tf.placeholder(tf.bool, [])

    def update(i):
        with tf.control_dependencies([tf.assign_add(v, 1)]):
            return i + 1

    def made():
        if kind == "loop":
            return tf.while_loop(lambda i: i < 2, update, [tf.constant(0)])
        return tf.cond(taken, lambda: update(tf.constant(1)), lambda: tf.constant(0))

    results = [made(), made(), tf.assign_add(v, 10).op, made()]
    with tf.Session() as sess:
        sess.run(v.initializer)
        sess.run(results, {taken: True})
        assert sess.run(v) == 10 + 3 * (2 if kind == "loop" else 1)


@pytest.mark.parametrize("known", [False, True], ids=["predicate fed", "predicate known"])
def test_what_waits_for_a_branch_sees_what_it_assigned(known):
    v = tf.Variable(0)
    pred = tf.constant(True) if known else tf.placeholder(tf.bool, [])
    with tf.control_dependencies([tf.assign_add(v, 5)]):
        inside = tf.cond(pred, lambda: tf.assign_add(v, v.read_value()), lambda: tf.constant(0))
    with tf.control_dependencies([inside]):
        after = v.read_value()
    with tf.Session() as sess:
        sess.run(v.initializer)
        assert sess.run([inside, after], {} if known else {pred: True}) == [10, 10]


@pytest.mark.parametrize("depth", [1, 2])
def test_an_error_in_a_body_is_not_its_own_cause(depth):
    # Dask's workers go through all causes of what a task raised: of such a one, for ever.
    def failing(x, depth):
        if not depth:
            return tf.check_numerics(x / 0.0, "of the body")
        return tf.while_loop(lambda x: x < 2.0, lambda x: failing(x, depth - 1), [x])

    found = failing(tf.placeholder_with_default(1.0, []), depth)
    with tf.Session() as sess, pytest.raises(errors.InvalidArgumentError, match="body") as caught:
        sess.run(found)
    causes, error = [], caught.value
    while error is not None:
        assert all(error is not other for other in causes)
        causes.append(error)
        error = error.__cause__
