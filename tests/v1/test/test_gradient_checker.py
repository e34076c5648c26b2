"""Gradients beside differences; the facts are TensorFlow's."""

import numpy as np
import pytest

import daskvars.v1 as tf


def test_both_jacobians_of_a_product():
    with tf.Graph().as_default(), tf.Session():
        x = tf.constant([[1.0, 2.0]])
        y = tf.matmul(x, [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
        exact, numeric = tf.test.compute_gradient(x, [1, 2], y, [1, 3], [[0.5, 0.25]])
        np.testing.assert_array_equal(exact, [[1, 2, 3], [4, 5, 6]])
        np.testing.assert_allclose(numeric, exact, atol=1e-2)
        assert tf.test.compute_gradient_error(x, [1, 2], y, [1, 3]) < 1e-2


def test_a_wrong_gradient_is_seen():
    @tf.custom_gradient
    def wrong(x):
        return x * x, lambda dy: dy * x  # half of it

    with tf.Graph().as_default(), tf.Session():
        x = tf.constant([3.0], tf.float64)
        assert tf.test.compute_gradient_error(x, [1], wrong(x), [1], [3.0]) == pytest.approx(3.0)


def test_rows_that_were_looked_up():
    with tf.Graph().as_default(), tf.Session():
        params = tf.constant(np.arange(6.0).reshape(3, 2))
        y = tf.gather(params, [2, 0, 2])
        exact, numeric = tf.test.compute_gradient(params, [3, 2], y, [3, 2], np.ones((3, 2)))
        np.testing.assert_allclose(exact, numeric, atol=1e-9)
        assert exact[4].tolist() == [1, 0, 0, 0, 1, 0]


def test_each_part_of_a_complex_number_counts():
    with tf.Graph().as_default(), tf.Session():
        x = tf.constant([1 + 2j], tf.complex128)
        exact, numeric = tf.test.compute_gradient(x, [1], tf.conj(x), [1], [1 + 2j])
        np.testing.assert_array_equal(exact, [[1, 0], [0, -1]])
        np.testing.assert_allclose(numeric, exact, atol=1e-6)


def test_several_inputs_and_what_is_run_first():
    with tf.Graph().as_default(), tf.Session():
        v = tf.Variable(2.0, dtype=tf.float64)
        x, z = tf.constant([1.0], tf.float64), tf.constant([5.0], tf.float64)
        p = tf.placeholder(tf.float64, [])
        (first, second) = tf.test.compute_gradient(
            [x, z],
            [[1], [1]],
            x * z * v * p,
            [1],
            [np.array([3.0]), np.array([4.0])],
            init_targets=[v.initializer],
            extra_feed_dict={p: 10.0},
        )
        assert [pair[0].item() for pair in (first, second)] == [80.0, 60.0]


def test_what_has_no_gradient():
    with tf.Graph().as_default():
        x, y = tf.constant([1.0]), tf.constant([2.0])
        with tf.Session():
            with pytest.raises(ValueError, match="no gradient"):
                tf.test.compute_gradient(x, [1], y, [1])
            with pytest.raises(ValueError, match="x_init_value has shape"):
                tf.test.compute_gradient(x, [1], x * 2.0, [1], [1.0, 2.0])
            empty = tf.zeros([0])
            assert tf.test.compute_gradient_error(empty, [0], empty * 2.0, [0]) == 0.0
            x = tf.placeholder(tf.float32)
            turned = tf.custom_gradient(lambda x: (tf.identity(x), tf.transpose))(x)
            with pytest.raises(ValueError, match=r"expected \(0, 3\), got \(3, 0\)"):
                tf.test.compute_gradient(x, [0, 3], turned, [0, 3])
        with pytest.raises(ValueError, match="default session"):
            tf.test.compute_gradient(x, [1], x * 2.0, [1])
