"""The same program gives the same bits in this process, on one worker and on two."""

from functools import cache

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

import daskvars.v1 as tf
from daskvars import config
from daskvars.execution.cluster.workers import placement
from daskvars.lowering.planner import fold_rows
from daskvars.remote.tasks.region_tasks import aligned
from tests.sessions import initialized

pytestmark = pytest.mark.cluster


def trained(steps, parts):
    """Variables after a few steps of a two-layer network on random data."""
    rng = np.random.default_rng(0)
    w1 = tf.get_variable("w1", [21, 16], initializer=tf.random_normal_initializer(seed=1))
    w2 = tf.get_variable("w2", [16, 3], initializer=tf.random_normal_initializer(seed=2))
    x = tf.placeholder(tf.float32, [None, 21])
    y = tf.placeholder(tf.float32, [None, 3])
    loss = tf.reduce_mean(tf.square(tf.matmul(tf.tanh(tf.matmul(x, w1)), w2) - y))
    loss += 0.1 * (tf.nn.l2_loss(w1) + tf.reduce_max(w2))
    optimizer = tf.train.AdamOptimizer(0.01)
    gradients, found = zip(*optimizer.compute_gradients(loss), strict=True)
    clipped, _ = tf.clip_by_global_norm(gradients, 0.5)
    step = optimizer.apply_gradients(zip(clipped, found, strict=True))
    with config.set(batch_parts=parts), initialized() as session:
        for _ in range(steps):
            feeds = {x: rng.normal(size=(10, 21)), y: rng.normal(size=(10, 3))}
            session.run(step, feeds)
        return session.run([w1, w2, loss], feeds)


AS_IT_IS = placement.MIN_CUT_BYTES, placement.ClusterPlacement.most_awaited_bytes


CUTTINGS = {
    "variables cut": (1, AS_IT_IS[1]),
    "in segments": (1, 1),
    "variables whole": AS_IT_IS,
}


@pytest.fixture(params=CUTTINGS)
def cutting(request, monkeypatch):
    """Variables that nobody has placed are cut over the workers, or whole."""
    least, most = CUTTINGS[request.param]
    monkeypatch.setattr(placement, "MIN_CUT_BYTES", least)
    monkeypatch.setattr(placement.ClusterPlacement, "most_awaited_bytes", most)


@cache
def local(program, *arguments):
    """What a program gives in this process, where nothing is placed or cut."""
    with tf.Graph().as_default():
        tf.set_random_seed(3)
        return program(*arguments)


def assert_same_on(clients, program, *arguments):
    for client in clients:
        with tf.Graph().as_default(), client.as_current():
            tf.set_random_seed(3)
            found = program(*arguments)
        for a, b in zip(local(program, *arguments), found, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("parts", [1, 2])
def test_training_gives_the_same_bits_anywhere(one_worker, two_workers, parts, cutting):
    assert_same_on([one_worker, two_workers], trained, 6, parts)


@pytest.mark.parametrize("parts", [1, 2])
def test_sums_of_rows_are_those_of_whoever_owns_them(
    one_worker, two_workers, parts, cutting, monkeypatch
):
    monkeypatch.setattr(fold_rows, "MIN_CUT_BYTES", 1)
    local.cache_clear()
    assert_same_on([one_worker, two_workers], trained, 6, parts)
    local.cache_clear()


def folded(parts):
    """Weights whose rows have the length 1, and which are taken transposed as well."""
    rng = np.random.default_rng(0)
    w = tf.get_variable("w", [35, 64], initializer=tf.random_normal_initializer(seed=1))
    x = tf.placeholder(tf.float32, [None, 35])
    rows = w * tf.rsqrt(tf.reduce_sum(tf.square(w), 1, keepdims=True))
    again = tf.matmul(tf.nn.relu(tf.matmul(x, rows)), tf.transpose(w))
    loss = tf.reduce_mean(tf.square(again - x))
    (gradient,) = tf.gradients(loss, [w])
    step = w.assign_sub(tf.clip_by_norm(gradient, 0.01, axes=[1]))
    with config.set(batch_parts=parts), initialized() as session:
        for _ in range(4):
            session.run(step, {x: rng.normal(size=(10, 35))})
        return session.run([w, rows])


def test_rows_are_folded_and_transposed_as_those_of_the_whole(one_worker, two_workers, cutting):
    assert_same_on([one_worker, two_workers], folded, 2)


def scaled(parts):
    """Weights that the user has cut, and a slot that nobody has, updated by the same sum."""
    rng = np.random.default_rng(0)
    w = tf.get_variable("w", [35, 16], initializer=tf.random_normal_initializer(seed=1), chunks=12)
    x = tf.placeholder(tf.float32, [None, 35])
    (gradient,) = tf.gradients(tf.reduce_mean(tf.square(tf.matmul(x, w))), [w])
    slot = tf.Variable(tf.zeros([35, 16]), trainable=False)
    moved = 0.9 * slot + gradient * tf.norm(w) / tf.norm(gradient)
    step = tf.group(slot.assign(moved), w.assign_sub(0.1 * moved))
    with config.set(batch_parts=parts), initialized() as session:
        for _ in range(3):
            session.run(step, {x: rng.normal(size=(10, 35))})
        return session.run([w, slot])


def test_what_the_user_has_cut_says_how_a_sum_is_cut(one_worker, two_workers, cutting):
    assert_same_on([one_worker, two_workers], scaled, 2)


def normalized(parts):
    """The mean over what is cut as the batch is in one dimension, and as a variable in another."""
    x = tf.placeholder(tf.float32, [None, 6])
    training = tf.placeholder_with_default(False, [])
    h = tf.layers.batch_normalization(tf.layers.dense(x, 8), training=training)
    mean = tf.reduce_mean(tf.square(tf.nn.relu(h) - 1.0))
    rng = np.random.default_rng(0)
    with config.set(batch_parts=parts), initialized() as session:
        return [session.run(mean, {x: rng.normal(size=(rows, 6))}) for rows in (11, 9, 1, 4, 7)]


@pytest.mark.parametrize("parts", [2, 3])
def test_sums_of_what_is_cut_twice(one_worker, two_workers, parts, cutting):
    found = []
    for client in (None, one_worker, two_workers):
        with tf.Graph().as_default(), client.as_current() if client else tf.name_scope(""):
            tf.set_random_seed(2)
            found.append(normalized(parts))
    assert found[0] == found[1] == found[2]


OPTIMIZERS = {
    "descent": lambda: tf.train.GradientDescentOptimizer(1.0),
    "momentum": lambda: tf.train.MomentumOptimizer(0.1, 0.9),
    "adagrad": lambda: tf.train.AdagradOptimizer(0.1),
    "adam": lambda: tf.train.AdamOptimizer(0.01),
    "rmsprop": lambda: tf.train.RMSPropOptimizer(0.01),
}


def embedded(optimizer, parts, again=False):
    """A table of which most parts of a batch look the same rows up, after a few steps."""
    rng = np.random.default_rng(0)
    x = tf.placeholder(tf.int32, [32, 6])
    table = tf.get_variable("table", [200, 8], initializer=tf.random_normal_initializer(seed=1))
    looked_up = tf.reshape(tf.nn.embedding_lookup(table, x), [32, 48])
    h = tf.layers.dense(looked_up, 4, tf.tanh, name="dense")
    if again:
        h += tf.nn.embedding_lookup(table, x[:, 1])[:, :4]
    step = OPTIMIZERS[optimizer]().minimize(tf.reduce_mean(tf.square(h - 1.0)))
    with config.set(batch_parts=parts), initialized() as session:
        for _ in range(4):
            session.run(step, {x: np.minimum(rng.zipf(1.3, (32, 6)), 199)})
        return session.run(tf.global_variables())


# Each two of an optimizer, a number of parts and a way of cutting meet once.
SQUARE = [
    (optimizer, parts, [*CUTTINGS][(i + parts) % 3])
    for i, optimizer in enumerate(OPTIMIZERS)
    for parts in (1, 2, 3)
]


@pytest.mark.parametrize(("optimizer", "parts", "cutting"), SQUARE, indirect=["cutting"])
def test_rows_looked_up_again_and_again(one_worker, two_workers, optimizer, parts, cutting):
    assert_same_on([one_worker, two_workers], embedded, optimizer, parts)


@pytest.mark.parametrize("optimizer", ["descent", "adam"])
def test_rows_of_several_lookups(one_worker, two_workers, optimizer, cutting):
    assert_same_on([one_worker, two_workers], embedded, optimizer, 2, True)


OPERATIONS = {
    "add": lambda a, b: a.assign_add(b * 0.5),
    "swap": lambda a, b: a.assign(tf.reverse(b, [0]) + a),
    "sum": lambda a, b: a.assign(a / (1.0 + tf.reduce_sum(tf.abs(b)))),
    "matmul": lambda a, b: a.assign(tf.matmul(a, tf.matmul(b, a, transpose_a=True)) * 0.01),
    "transpose": lambda a, b: a.assign(tf.transpose(tf.reshape(b, [6, 8]))),
    "exp": lambda a, b: a.assign(tf.exp(-tf.square(a)) - b),
}


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.tuples(st.sampled_from(sorted(OPERATIONS)), st.booleans()), max_size=6),
    st.sampled_from([None, (3, 6), (8, 2)]),
)
def test_any_program_gives_the_local_bits(two_workers, cutting, program, chunks):
    results = []
    for remote in (False, True):
        with tf.Graph().as_default(), two_workers.as_current() if remote else tf.name_scope(""):
            rng = np.random.default_rng(3)
            a = tf.Variable(rng.normal(size=(8, 6)), chunks=chunks)
            b = tf.Variable(rng.normal(size=(8, 6)))
            with initialized() as session:
                for name, swapped in program:
                    operation = OPERATIONS[name](*((b, a) if swapped else (a, b)))
                    session.run(operation.op)
                results.append(session.run([a, b, tf.reduce_sum(a, 0)]))
    for local, remote in zip(*results, strict=True):
        np.testing.assert_array_equal(local, remote)


def test_arrays_at_odd_addresses_are_moved():
    raw = np.zeros(33, np.uint8)
    odd = raw[1:].view(np.float64)
    even = np.arange(3.0)
    assert not odd.flags.aligned
    found = aligned((odd, even, 7))
    assert found[0].flags.aligned and found[1] is even and found[2] == 7
