"""What is fed and only taken apart is fed in pieces, which the batch of each is cut along."""

import dask.array as da
import numpy as np
import pytest

import daskvars.v1 as tf
from daskvars import config
from daskvars.lowering.emission.stages import described
from tests.sessions import initialized

pytestmark = pytest.mark.usefixtures("graph")

ROWS, UNITS = 32, 24


def plan_of(session, fetches, fed):
    feeds, values = session._feeds(fed)
    return session._executable(fetches, feeds)[0].plan(values)


def towers(count):
    """Return a batch, and the step of a network that has a copy for each piece of it."""
    x = tf.placeholder(tf.float32, [ROWS, UNITS])
    optimizer = tf.train.MomentumOptimizer(0.1, 0.9)
    losses, found = [], []
    for i, piece in enumerate(tf.split(x, count)):
        with tf.variable_scope("net", reuse=tf.AUTO_REUSE), tf.name_scope(f"tower{i}"):
            h = tf.layers.dense(piece, UNITS, tf.nn.tanh, name="a")
            losses.append(tf.reduce_mean(tf.square(tf.layers.dense(h, UNITS, name="b") - 1.0)))
            found.append(optimizer.compute_gradients(losses[-1]))
    averaged = []
    for pairs in zip(*found, strict=True):
        stacked = tf.concat([tf.expand_dims(gradient, 0) for gradient, _ in pairs], 0)
        averaged.append((tf.reduce_mean(stacked, 0), pairs[0][1]))
    return x, [tf.reduce_mean(losses), optimizer.apply_gradients(averaged)]


@pytest.mark.parametrize("count", [1, 4])
def test_copies_of_a_network_are_cut_as_one_is(count):
    x, step = towers(count)
    fed = {x: np.random.default_rng(0).standard_normal((ROWS, UNITS))}
    with initialized() as session:
        start = session.run(tf.trainable_variables())
        loss, _ = session.run(step, fed)
        trained = session.run(tf.trainable_variables())
    with config.set(batch_parts=4), initialized() as session:
        for variable, value in zip(tf.trainable_variables(), start, strict=True):
            variable.load(value, session)
        plan = plan_of(session, step, fed)
        found, _ = session.run(step, fed)
        for a, b in zip(trained, session.run(tf.trainable_variables()), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(found, loss, rtol=1e-5)
    names = [name for name, _ in plan.sharding.chosen.dims]
    assert names == [f"{x.name}[{i}:{i + ROWS // count}]" for i in range(0, ROWS, ROWS // count)]
    assert described(plan, 4).num_stages == 2  # no gradient is merged before they are averaged


@pytest.mark.parametrize(
    "apart",
    [
        lambda x: tf.split(x, [20, 12]),
        lambda x: [x[:16], x[16:]],
        lambda x: [x[16:], x[4:16]],
        lambda x: [x[:16], x[8:24]],
        lambda x: [x[::2], x[1::2]],
        lambda x: [x[:16, ::-1], x[16:]],
        lambda x: [x[:16], tf.tanh(x)],
        lambda x: [x[:16], tf.broadcast_to(x[3], [2, UNITS])],
        lambda x: tf.unstack(x),
    ],
)
def test_whatever_is_taken_of_a_feed_is_what_is_given(apart):
    x = tf.placeholder(tf.float32, [ROWS, UNITS])
    w = tf.get_variable("w", [UNITS, UNITS])
    results = [tf.matmul(tf.reshape(piece, [-1, UNITS]), w) for piece in apart(x)]
    fed = {x: np.random.default_rng(0).standard_normal((ROWS, UNITS))}
    with initialized() as session:
        whole = session.run(results, fed)
        with config.set(batch_parts=4):
            for a, b in zip(whole, session.run(results, fed), strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_a_dask_array_is_taken_apart_where_it_is():
    x = tf.placeholder(tf.float32, [ROWS, UNITS])
    w = tf.get_variable("w", [UNITS, UNITS])
    results = [tf.matmul(piece, w) for piece in tf.split(x, 2)]
    value = np.random.default_rng(0).standard_normal((ROWS, UNITS)).astype("f4")
    with initialized() as session, config.set(batch_parts=4):
        fed = {x: da.from_array(value, chunks=-1)}
        for a, b in zip(session.run(results, {x: value}), session.run(results, fed), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


def test_a_number_of_a_feed_is_no_piece_of_it():
    sizes, x = tf.placeholder(tf.int32, [2]), tf.placeholder(tf.float32, [ROWS, UNITS])
    w = tf.get_variable("w", [UNITS, UNITS], initializer=tf.ones_initializer())
    result = tf.matmul(x, w) * tf.cast(sizes[0] - sizes[1], tf.float32)
    fed = {x: np.ones((ROWS, UNITS)), sizes: [5, 3]}
    with initialized() as session, config.set(batch_parts=4):
        np.testing.assert_allclose(
            session.run(result, fed)[0], 2 * session.run(w).sum(0), rtol=1e-5
        )


def test_a_constant_in_one_chunk_stays_whole_beside_pieces():
    x = tf.placeholder(tf.float32, [ROWS, UNITS])
    table = tf.constant(np.ones((16, 1024), "f4"), chunks=-1)
    w = tf.get_variable("w", [UNITS, UNITS])
    results = [tf.matmul(piece, w) for piece in tf.split(x, 2)]
    results.append(tf.matmul(table, tf.get_variable("v", [1024, 4])))
    with initialized() as session, config.set(batch_parts=4):
        plan = plan_of(session, results, {x: np.ones((ROWS, UNITS))})
    assert [name for name, _ in plan.sharding.chosen.dims] == [
        f"{x.name}[0:16]",
        f"{x.name}[16:32]",
    ]
