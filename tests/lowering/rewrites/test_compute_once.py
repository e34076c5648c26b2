"""What is computed of the same in the same way is computed once, unless somebody could tell."""

from collections import Counter

import numpy as np

import daskvars.v1 as tf


def run_with_calls(fetches, fed):
    """Return what a run gives, and how often its plan calls each kernel, in bodies too."""

    def calls(program):
        for call in program.calls:
            yield getattr(call.kernel, "__name__", call.kernel)
            for body in call.attrs.get("branches", ()):
                yield from calls(body)

    with tf.Session() as session:
        found = session.run(fetches, fed)
        feeds, values = session._feeds(fed)
        plan = session._executable(fetches, feeds)[0].plan(values)
    return found, Counter(name for region in plan.regions for name in calls(region.program))


def test_a_column_of_two_layers_is_looked_up_once():
    with tf.Graph().as_default():
        words = tf.placeholder(tf.string, [None])

        def hashed(size):
            told = tf.boolean_mask(words, tf.not_equal(words, ""))
            return tf.string_to_hash_bucket_fast(told, size)

        fetches = [tf.reduce_sum(hashed(100)), tf.reduce_max(hashed(100)), tf.argmax(hashed(99))]
        (total, largest, _), calls = run_with_calls(fetches, {words: [b"a", b"", b"b"]})
    assert calls["not_equal"] == calls["boolean_mask"] == 1
    assert calls["fast_buckets"] == 2
    assert total > largest


def test_calls_are_told_apart_by_what_they_are_given():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [3, 2])
        padded = [tf.pad(x, [[0, n], [0, 0]], constant_values=7.0) for n in (1, 2, 1)]
        fetches = [tf.reduce_sum(each) for each in padded]
        found, calls = run_with_calls(fetches, {x: np.zeros((3, 2), "f4")})
    assert found == [14.0, 28.0, 14.0]
    assert calls["pad"] == 2


def test_what_is_drawn_shown_fetched_or_large_is_made_each_time():
    called = []

    def noted(x):
        called.append(x)
        return x

    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [400, 400])
        drawn = [tf.reduce_sum(tf.random_uniform([3])) for _ in range(2)]
        asked = [tf.reduce_sum(tf.py_func(noted, [x[0]], tf.float32)) for _ in range(2)]
        large = [tf.reduce_sum(tf.tanh(x), axis) for axis in (0, 1)]
        fetched = [tf.reduce_max(x) for _ in range(2)]
        fetches = [drawn, asked, large, fetched]
        (drawn, _, _, fetched), calls = run_with_calls(fetches, {x: np.ones((400, 400), "f4")})
    assert len(called) == 2
    assert calls["tanh"] == 2
    assert calls["random_uniform"] == 2
    assert drawn[0] != drawn[1]
    assert fetched[0] is not fetched[1]


def test_in_the_turns_of_a_loop():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [3, 3])

        def turn(h):
            return tf.matmul(h, x) / tf.norm(tf.matmul(h, x))

        last = tf.while_loop(lambda h: tf.reduce_sum(h) < 100.0, turn, [x], maximum_iterations=4)
        found, calls = run_with_calls(last, {x: np.eye(3, dtype="f4") + 1})
    assert calls["matmul"] == 1
    np.testing.assert_allclose(np.linalg.norm(found), 1.0, rtol=1e-6)


def test_what_a_gradient_is_to_compute_again_is_computed_again():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [3, 3])
        y = tf.recompute_grad(lambda h: tf.tanh(tf.matmul(tf.tanh(tf.matmul(h, h)), h)))(x)
        _, calls = run_with_calls([y, tf.gradients(y, x)], {x: np.eye(3, dtype="f4")})
    assert calls["tanh"] == 4
