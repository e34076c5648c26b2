"""Programs that are fed another shape with each batch: one plan for all, and the same bits."""

from __future__ import annotations

import numpy as np
import pytest

import daskvars.v1 as tf
from daskvars import config, lowering
from daskvars.errors import InvalidArgumentError
from daskvars.execution.engine.plans import sizes_met


def network():
    """Return the fetches of a training step, and what makes a batch of a number of rows."""
    x = tf.placeholder(tf.float32, [None, 6])
    labels = tf.placeholder(tf.int32, [None])
    h = tf.layers.batch_normalization(tf.layers.dense(x, 8, tf.nn.tanh), training=True)
    logits = tf.layers.dense(tf.reshape(h, [tf.shape(x)[0], 8]) - tf.reduce_mean(h, 0), 3)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    loss = tf.reduce_mean(losses)
    train = tf.train.AdamOptimizer(0.1).minimize(loss)

    def batch(rows):
        rng = np.random.default_rng(rows)
        return {x: rng.standard_normal((rows, 6), "f4"), labels: rng.integers(0, 3, rows, "i4")}

    return [loss, losses, train], batch


def recurrent_over_batches():
    x = tf.placeholder(tf.float32, [None, None, 3])
    outputs, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.LSTMCell(4), x, dtype=tf.float32)
    loss = tf.reduce_mean(tf.square(outputs - 1.0))
    train = tf.train.AdamOptimizer(0.1).minimize(loss)
    rng = np.random.default_rng(0)
    return [loss, outputs, train], lambda n: {x: rng.standard_normal((n, n % 3 + 2, 3), "f4")}


def recurrent():
    x = tf.placeholder(tf.float32, [2, None, 3])
    outputs, state = tf.nn.dynamic_rnn(tf.nn.rnn_cell.GRUCell(4), x, dtype=tf.float32)
    scores = tf.nn.softmax(tf.matmul(outputs, outputs, transpose_b=True))
    loss = tf.reduce_sum(tf.matmul(scores, outputs) ** 2) + tf.reduce_sum(state)
    train = tf.train.AdagradOptimizer(0.1).minimize(loss)
    rng = np.random.default_rng(0)
    return [loss, outputs, train], lambda steps: {x: rng.standard_normal((2, steps, 3), "f4")}


def sparse():
    ids = tf.sparse_placeholder(tf.int64)
    table = tf.get_variable("table", [9, 4])
    rows = tf.nn.embedding_lookup_sparse(table, ids, None, combiner="mean")
    loss = tf.reduce_sum(tf.square(rows))
    train = tf.train.AdamOptimizer(0.1).minimize(loss)

    def batch(count):
        places = np.stack([np.arange(count) // 3, np.arange(count) % 3], 1)
        return {ids: tf.SparseTensorValue(places, np.arange(count) % 9, [count // 3 + 1, 3])}

    return [loss, rows, train], batch


def trained(build, sizes):
    """Return what is fetched, all variables, and how many plans were made after the first step."""
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.set_random_seed(1)
        fetches, batch = build()
        sess.run(tf.global_variables_initializer())
        found = [sess.run(fetches, batch(sizes[0]))[:2]]
        before = lowering.num_lowerings
        found += [sess.run(fetches, batch(size))[:2] for size in sizes[1:]]
        num_plans = lowering.num_lowerings - before
        return found, sess.run(tf.global_variables()), num_plans


@pytest.mark.parametrize("build", [network, recurrent, recurrent_over_batches, sparse])
def test_many_sizes_are_few_plans_and_the_same_bits(build, monkeypatch):
    sizes = [5, 8, 6, 7, 9, 3, 1, 12, 2, 5, 10, 4]
    found, variables, num_plans = trained(build, sizes)
    assert num_plans == sizes_met.LEAST_MET
    monkeypatch.setattr(sizes_met, "LEAST_MET", 1000)
    expected, expected_variables, num_plans = trained(build, sizes)
    assert num_plans == len(set(sizes)) - 1
    for step, expected_step in zip(found, expected, strict=True):
        for a, b in zip(step, expected_step, strict=True):
            np.testing.assert_array_equal(a, b)
    for a, b in zip(variables, expected_variables, strict=True):
        np.testing.assert_array_equal(a, b)


def scaled(sess):
    x = tf.placeholder(tf.float32, [None, 4])
    total = tf.reduce_sum(tf.nn.relu(x * 2 + 1), 0)

    def num_plans(rows):
        before = lowering.num_lowerings
        np.testing.assert_array_equal(sess.run(total, {x: np.ones((rows, 4))}), [3 * rows] * 4)
        return lowering.num_lowerings - before

    return num_plans


def test_what_is_much_larger_has_a_plan_of_its_own(sess):
    num_plans = scaled(sess)
    assert [num_plans(rows) for rows in (2, 3, 4, 5, 6, 2)] == [1, 1, 1, 0, 0, 0]
    assert [num_plans(rows) for rows in (100, 150, 101)] == [1, 0, 0]


def test_what_is_tiled_keeps_plans_of_its_own(sess):
    with config.set(tile_min_elements=8):
        num_plans = scaled(sess)
        assert [num_plans(rows) for rows in (4, 5, 6, 7, 8)] == [1, 1, 2, 1, 1]


def test_what_is_cut_keeps_plans_of_its_own(sess):
    with config.set(batch_parts=2):
        num_plans = scaled(sess)
        assert [num_plans(rows) for rows in (4, 6, 8, 10, 12)] == [1, 1, 1, 1, 1]


def test_other_ranks_are_other_plans(sess):
    x = tf.placeholder(tf.float32)
    total = tf.reduce_sum(x)
    for number, shape in enumerate([(2,), (3,), (4,), (2, 2), (3, 2), (1, 2), (), (5,)]):
        assert sess.run(total, {x: np.full(shape, number)}) == number * np.prod(shape)


def test_shapes_that_do_not_fit_say_so_as_ever(sess):
    x, y = (tf.placeholder(tf.float32, [None, 4]) for _ in range(2))
    v = tf.get_variable("v", [], initializer=tf.zeros_initializer())
    fetches = [tf.matmul(x, y, transpose_b=True) @ tf.ones([3, 1]), v.assign_add(1.0)]
    sess.run(v.initializer)

    def fed(rows, others=3):
        return {x: np.ones((rows, 4)), y: np.ones((others, 4))}

    with pytest.raises(InvalidArgumentError) as first:
        sess.run(fetches, fed(2, 5))
    for rows in range(2, 7):
        sess.run(fetches, fed(rows))
    with pytest.raises(InvalidArgumentError) as later:
        sess.run(fetches, fed(2, 5))
    assert later.value.message == first.value.message
    assert sess.run(v) == 5, "a run that failed changed nothing"
