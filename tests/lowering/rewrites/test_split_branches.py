"""What a branch gives in parts that share no work is made in as many operations."""

import numpy as np
import pytest

import daskvars.v1 as tf
from daskvars import config
from daskvars.lowering.emission.stages import described
from daskvars.lowering.rewrites import split_branches
from tests.sessions import initialized

WORKERS, UNITS = 8, 16


@pytest.fixture(autouse=True)
def small_are_apart(graph, monkeypatch):
    monkeypatch.setattr(split_branches, "MIN_APART_BYTES", 64)


def plan_of(session, fetches, fed):
    feeds, values = session._feeds(fed)
    return session._executable(fetches, feeds)[0].plan(values)


def branch_calls(plan):
    """Return the calls of branches in a plan's regions, one for each kernel call of a block."""
    calls = [call for region in plan.regions for call in region.program.calls]
    return [call for call in calls if {"branches", "variants"} & call.attrs.keys()]


def layers(count, chunks):
    """Return a batch, a loss of so many layers, and gradients with their variables."""
    x = tf.placeholder(tf.float32, [32, UNITS])
    h = x
    for i in range(count):
        h = tf.tanh(h @ tf.get_variable(f"w{i}", [UNITS, UNITS], chunks=chunks))
    loss = tf.reduce_mean(tf.square(h))
    return x, loss, tf.train.MomentumOptimizer(0.1, 0.9).compute_gradients(loss)


def step_where(is_fit, pairs):
    optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
    return tf.cond(is_fit, lambda: tf.group(optimizer.apply_gradients(pairs)), tf.no_op)


def test_variables_that_a_branch_updates_are_cut_each_as_it_is():
    is_fit = tf.placeholder(tf.bool, [])
    x, loss, pairs = layers(5, (UNITS // WORKERS, UNITS))
    fed = {x: np.ones((32, UNITS), "f4"), is_fit: True}
    with config.set(batch_parts=WORKERS), initialized() as session:
        plan = plan_of(session, [loss, step_where(is_fit, pairs)], fed)
    assert described(plan, WORKERS).num_tasks <= 2 * WORKERS + 2


def test_parts_of_a_branch_ask_the_same_predicate_and_take_only_their_own():
    is_fit = tf.placeholder(tf.bool, [])
    x, _, pairs = layers(3, None)
    step = step_where(is_fit, pairs)
    plain = tf.train.MomentumOptimizer(0.1, 0.9).apply_gradients(pairs)
    fed = {x: np.ones((32, UNITS), "f4")}
    variables = tf.trainable_variables()
    with initialized() as session:
        start = session.run(variables)
        calls = branch_calls(plan_of(session, step, {**fed, is_fit: True}))
        session.run(step, {**fed, is_fit: False})
        np.testing.assert_array_equal(session.run(variables), start)
        session.run(step, {**fed, is_fit: True})
        found = session.run(variables)
        session.run(tf.global_variables_initializer())
        for variable, value in zip(variables, start, strict=True):
            variable.load(value, session)
        session.run(plain, fed)
        np.testing.assert_array_equal(session.run(variables), found)
    # The predicate, a gradient, a variable and its slot; and what the branch itself gives.
    assert sorted(len(call.args) for call in calls) == [1, 4, 4, 4]


def test_results_that_share_work_stay_together():
    pred, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [64])

    def both():
        shared = tf.exp(x)
        return shared + 1.0, shared * 2.0, tf.sin(x)

    given = tf.cond(pred, both, lambda: (x, x, x))
    with tf.Session() as session:
        fed = {pred: True, x: np.ones(64, "f4")}
        assert len(branch_calls(plan_of(session, given, fed))) == 2
        found = session.run(given, fed)
    np.testing.assert_allclose(np.array(found)[:, 0], [np.e + 1, 2 * np.e, np.sin(1)], rtol=1e-6)


def test_what_is_small_is_made_by_each_that_takes_it_or_stays_together():
    pred, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [64])
    rate = tf.placeholder(tf.float32, [])

    def stepped():
        halved = rate / 2.0
        return x * halved, x + halved, halved, rate + 1.0

    given = tf.cond(pred, stepped, lambda: (x, x, rate, rate))
    with tf.Session() as session:
        fed = {pred: True, x: np.ones(64, "f4"), rate: 3.0}
        assert len(branch_calls(plan_of(session, given, fed))) == 3
        found = session.run(given, fed)
    assert [np.unique(each).tolist() for each in found] == [[1.5], [2.5], [1.5], [4.0]]


def test_a_branch_that_can_be_seen_runs_once(capfd):
    pred, x = tf.placeholder(tf.bool, []), tf.placeholder(tf.float32, [64])

    def shown():
        with tf.control_dependencies([tf.print("here")]):
            return tf.sin(x), tf.cos(x)

    given = tf.cond(pred, shown, lambda: (x, x))
    with tf.Session() as session:
        session.run(given, {pred: True, x: np.zeros(64, "f4")})
    assert capfd.readouterr().err.count("here") == 1


def test_a_loop_over_variables_of_their_own_is_cut_along_one():
    variables = [tf.get_variable(f"v{i}", [64], chunks=8) for i in range(5)]

    def turn(i):
        with tf.control_dependencies([v.assign_add(tf.ones([64])) for v in variables]):
            return i + 1

    last = tf.while_loop(lambda i: i < 3, turn, [0])
    with initialized() as session:
        before = session.run(variables)
        plan = plan_of(session, last, {})
        (loop,) = [r for r in plan.regions if any("branches" in c.attrs for c in r.program.calls)]
        assert len(list(loop.blocks())) == 8
        session.run(last)
        np.testing.assert_allclose(session.run(variables), np.add(before, 3.0), rtol=1e-6)
