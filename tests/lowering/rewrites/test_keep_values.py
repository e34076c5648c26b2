"""What a loop keeps of each turn for its gradient."""

import numpy as np
import pytest

import daskvars.v1 as tf

TURNS, BATCH, DEPTH = 5, 4, 3


def made(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype("f4")


def calls_in(plan, part):
    """Return the names of the kernels that a loop, or its gradient, calls in a turn."""
    found = []
    for region in plan.regions:
        for call in region.program.calls:
            if part in call.name and "branches" in call.attrs:
                body = call.attrs["branches"][0 if "Gradient" in call.name else 1]
                found += [getattr(c.kernel, "__name__", c.kernel) for c in body.calls]
    return found


def planned(sess, fetches, fed):
    fed, values = sess._feeds(fed)
    return sess._executable(fetches, fed)[0].plan(values)


def gated(x, w, u, loop):
    """Return the last state of a cell with a gate, by a loop or written out."""

    def turn(row, h):
        both = tf.concat([row, h], 1)
        gate = tf.sigmoid(tf.matmul(both, w))
        return gate * h + (1.0 - gate) * tf.tanh(tf.matmul(both, u))

    start = tf.zeros([BATCH, DEPTH])
    if not loop:
        for row in tf.unstack(x):
            start = turn(row, start)
        return start
    rows = tf.TensorArray(tf.float32, TURNS).unstack(x)
    return tf.while_loop(
        lambda i, h: i < TURNS, lambda i, h: (i + 1, turn(rows.read(i), h)), [0, start]
    )[1]


@pytest.fixture
def sess():
    with tf.Graph().as_default(), tf.Session() as sess:
        yield sess


def inputs():
    return [tf.constant(made(*s, seed=i)) for i, s in enumerate([(2 * DEPTH, DEPTH)] * 2)]


def test_a_gradient_takes_from_the_history_what_the_loop_has_computed(sess):
    x, (w, u) = tf.placeholder(tf.float32, [TURNS, BATCH, DEPTH]), inputs()
    fed = {x: made(TURNS, BATCH, DEPTH)}
    found, expected = (
        tf.gradients(tf.reduce_sum(tf.square(gated(x, w, u, loop))), [x, w, u])
        for loop in (True, False)
    )
    for a, b in zip(sess.run(found, fed), sess.run(expected, fed), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)
    kernels = calls_in(planned(sess, found, fed), "WhileGradient")
    assert not {"sigmoid", "tanh", "concat", "read"}.intersection(kernels)
    assert kernels.count("matmul") == 2  # of the rows; those of the matrices are outside of it


def test_gradients_of_one_loop_share_what_is_kept(sess):
    x, (w, u) = tf.placeholder(tf.float32, [TURNS, BATCH, DEPTH]), inputs()
    fed = {x: made(TURNS, BATCH, DEPTH)}
    y = gated(x, w, u, True)
    both = [tf.gradients(y, [w])[0], tf.gradients(tf.square(y), [w])[0]]
    alone = [sess.run(gradient, fed) for gradient in both]
    for a, b in zip(sess.run(both, fed), alone, strict=True):
        np.testing.assert_array_equal(a, b)
    kept = [
        call.attrs["saved"]
        for fetched in (both, both[:1])
        for region in planned(sess, fetched, fed).regions
        for call in region.program.calls
        if "saved" in call.attrs
    ]
    assert len(set(kept)) == 1


def test_what_is_as_quickly_made_as_read_is_made_again(sess):
    x = tf.placeholder(tf.float32, [BATCH])

    def turn(i, a):
        return i + 1, tf.exp(a + x) * 0.1

    y = tf.while_loop(lambda i, _: i < TURNS, turn, [0, x])[1]
    found = tf.gradients(y, [x])
    kernels = calls_in(planned(sess, found, {x: made(BATCH)}), "WhileGradient")
    assert "exp" not in kernels
    assert sum(name == "history_item" for name in kernels) == 1  # neither a nor a + x


def test_random_numbers_are_those_of_the_turn(sess):
    x = tf.ones([TURNS, 64])
    y = tf.map_fn(lambda row: tf.nn.dropout(row * 1.0, 0.5), x)
    (gradient,) = tf.gradients(y, [x])
    first, second = sess.run([y, gradient]), sess.run([y, gradient])
    for found in (first, second):
        np.testing.assert_array_equal(*found)
    assert (first[0] != second[0]).any()


def test_a_loop_in_a_loop_keeps_what_its_own_gradient_needs(sess):
    x, (w, _) = tf.placeholder(tf.float32, [TURNS, BATCH, 2 * DEPTH]), inputs()

    def inner(row):
        return tf.while_loop(
            lambda i, _: i < 3,
            lambda i, a: (i + 1, tf.tanh(tf.matmul(row, w) + a)),
            [0, tf.zeros([BATCH, DEPTH])],
        )[1]

    def written_out(row):
        a = tf.zeros([BATCH, DEPTH])
        for _ in range(3):
            a = tf.tanh(tf.matmul(row, w) + a)
        return a

    looped = tf.map_fn(inner, x)
    unrolled = tf.stack([written_out(row) for row in tf.unstack(x)])
    fed = {x: made(TURNS, BATCH, 2 * DEPTH)}
    for y in (looped, unrolled):
        found = sess.run(tf.gradients(tf.square(y), [x, w]), fed)
        if y is looped:
            expected = found
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_state_that_a_turn_changes_is_as_the_turn_saw_it(sess):
    scale = tf.get_variable("scale", initializer=1.0)
    sess.run(tf.global_variables_initializer())
    x = tf.placeholder(tf.float32, [BATCH])

    def turn(i, a):
        used = scale.read_value()
        with tf.control_dependencies([used]), tf.control_dependencies([scale.assign_add(1.0)]):
            return i + 1, tf.sin(a) * used

    y = tf.while_loop(lambda i, _: i < 3, turn, [0, x])[1]
    fed = {x: made(BATCH)}
    a, slope = fed[x].astype("f8"), 1.0
    for used in (1.0, 2.0, 3.0):
        slope, a = slope * np.cos(a) * used, np.sin(a) * used
    np.testing.assert_allclose(sess.run(tf.gradients(y, x)[0], fed), slope, rtol=1e-5)


def test_a_turn_may_keep_many_values(sess):
    """The work of a loop is a sum over what its history holds: a product was no number any more."""
    x = tf.placeholder(tf.float32, [10_000])

    def turn(i, a):
        for _ in range(80):
            a = tf.sin(a)
        return i + 1, a

    y = tf.while_loop(lambda i, _: i < 1, turn, [0, x])[1]
    expected = 1.0
    a = np.float64(0.5)
    for _ in range(80):
        expected, a = expected * np.cos(a), np.sin(a)
    found = sess.run(tf.gradients(y, x)[0], {x: np.full(10_000, 0.5)})
    np.testing.assert_allclose(found, expected, rtol=1e-4)
