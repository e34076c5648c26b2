"""Elements that are picked by the number of their own row are picked where the row is."""

import numpy as np
import pytest

import daskvars.v1 as tf
from daskvars import config
from daskvars.errors import InvalidArgumentError
from daskvars.lowering.emission.stages import described
from tests.sessions import initialized

B, T, K, WORKERS, UNITS = 16, 6, 4, 4, 16


def plan_of(session, fetches, fed):
    feeds, values = session._feeds(fed)
    return session._executable(fetches, feeds)[0].plan(values)


def weights():
    start = np.random.default_rng(1).standard_normal((UNITS, K), "f4") / 4
    return tf.get_variable("w", initializer=start, chunks=(UNITS // WORKERS, K))


def by_stack(x, y):
    return tf.gather_nd(x, tf.stack([tf.range(B), y], axis=1))


def by_concat(x, y):
    rows = tf.expand_dims(tf.range(tf.shape(y)[0]), 1)
    return tf.gather_nd(x, tf.concat([rows, tf.reshape(y, [-1, 1])], -1))


def flat(x, y):
    return tf.gather(tf.reshape(x, [-1]), tf.range(0, tf.shape(x)[0]) * K + y)


def placed(x, y):
    """Put numbers where the labels say, and pick those that are there with others."""
    picked = tf.cast(y, tf.float32) * x[:, 1]
    return tf.reduce_sum(x * tf.scatter_nd(tf.stack([tf.range(B), y], 1), picked, [B, K]), 1)


@pytest.mark.parametrize("pick", [by_stack, by_concat, flat, placed])
def test_one_element_of_each_row(graph, pick):
    x, y = tf.placeholder(tf.float32, [B, UNITS]), tf.placeholder(tf.int32, [B])
    w = weights()
    chosen = pick(tf.matmul(x, w), y)
    loss = tf.reduce_mean(tf.square(chosen))
    check(x, y, w, loss, np.arange(B) % K)


def by_two_coordinates(h, y):
    rows = tf.tile(tf.range(B)[:, None], [1, T])
    times = tf.tile(tf.range(T)[None], [B, 1])
    return tf.gather_nd(h, tf.stack([rows, times, y], 2))


def by_two_in_one(h, y):
    rows, times = np.meshgrid(np.arange(B), np.arange(T), indexing="ij")
    return tf.gather_nd(h, tf.concat([np.stack([rows, times], 2), y[:, :, None]], 2))


def by_offsets(h, y):
    offsets = tf.expand_dims(tf.range(B) * T * K, 1) + tf.expand_dims(tf.range(T) * K, 0)
    return tf.gather(tf.reshape(h, [-1]), tf.reshape(offsets + y, [-1]))


def masked_positions(h, y):
    places = tf.reshape(y + tf.range(0, B)[:, None] * T, [-1])
    return tf.gather(tf.reshape(h, [B * T, K]), places)


@pytest.mark.parametrize("pick", [by_two_coordinates, by_two_in_one, by_offsets, masked_positions])
def test_elements_of_sequences(graph, pick):
    x, y = tf.placeholder(tf.float32, [B, T, UNITS]), tf.placeholder(tf.int32, [B, T])
    w = weights()
    loss = tf.reduce_mean(tf.square(pick(tf.tensordot(x, w, 1), y)))
    check(x, y, w, loss, np.arange(B * T).reshape(B, T) % K)


def check(x, y, w, loss, labels):
    """See to it that a step takes two stages, and its numbers are those of one block."""
    fed = {x: np.random.default_rng(0).standard_normal(x.shape.as_list(), "f4"), y: labels}
    step, found = tf.train.GradientDescentOptimizer(0.1).minimize(loss), []
    for parts in (1, WORKERS):
        with config.set(batch_parts=parts), initialized() as session:
            plan = plan_of(session, [loss, step], fed)
            losses = [session.run([loss, step], fed)[0] for _ in range(3)]
            found.append((losses, session.run(w)))
    assert described(plan, WORKERS).num_stages == 2
    np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-5)
    np.testing.assert_allclose(found[0][1], found[1][1], rtol=1e-5, atol=1e-7)


def test_what_names_a_row_of_another_part_says_so(graph):
    x, y = tf.placeholder(tf.float32, [B, K]), tf.placeholder(tf.int32, [B])
    fed = {x: np.arange(B * K).reshape(B, K), y: [0] * 4 + [-1] + [0] * 11}
    chosen = flat(x * 2, y)
    (gradient,) = tf.gradients(chosen, x)
    with config.set(batch_parts=1), tf.Session() as session:
        assert session.run(chosen, fed)[4] == 2 * (4 * K - 1)
    for fetched in (chosen, gradient):
        with config.set(batch_parts=WORKERS), tf.Session() as session:
            with pytest.raises(InvalidArgumentError, match="names a row of another part") as error:
                session.run([fetched, tf.matmul(x, x, transpose_a=True)], fed)
            assert "batch_parts=1" in str(error.value)


def test_indices_that_end_what_grows_in_a_loop(graph):
    def longer(i, found):
        last = tf.gather(tf.constant([[1], [2], [0]]), found[:, -1])
        return i + 1, tf.concat([found, last], 1)

    start = tf.constant([[0], [2]])
    _, found = tf.while_loop(
        lambda i, _: i < 3,
        longer,
        [0, start],
        [tf.TensorShape([]), tf.TensorShape([2, None])],
    )
    with tf.Session() as session:
        assert session.run(found).tolist() == [[0, 1, 2, 0], [2, 0, 1, 2]]


def test_coordinates_that_only_seem_to_count_stay(graph):
    y = np.arange(B) % K
    x = np.arange(B * K, dtype="f4").reshape(B, K)
    for rows in (np.arange(B)[::-1], np.minimum(np.arange(B), 5)):
        with tf.Session() as session:
            found = session.run(tf.gather_nd(tf.constant(x), tf.stack([rows, tf.identity(y)], 1)))
        np.testing.assert_array_equal(found, x[rows, y])
    with tf.Session() as session:  # of more rows than are counted
        fed = tf.placeholder(tf.int64, [B - 2])
        found = session.run(
            tf.gather_nd(tf.constant(x), tf.stack([tf.range(B - 2, dtype=tf.int64), fed], 1)),
            {fed: y[:-2]},
        )
    np.testing.assert_array_equal(found, x[np.arange(B - 2), y[:-2]])
