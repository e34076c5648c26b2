"""Schedules against their formulas in Python floats."""

from __future__ import annotations

import math

import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf

STEPS = [0, 1, 5, 9, 10, 11, 25, 40]


def cosine(x):
    return 0.5 * (1.0 + math.cos(math.pi * x))


def restarted(step, first=10, t_mul=2.0, m_mul=0.5, alpha=0.1):
    length, height = first, 1.0
    while step >= length:
        step, length, height = step - length, length * t_mul, height * m_mul
    return (1 - alpha) * height * cosine(step / length) + alpha


CASES = {
    "exponential": (
        lambda train, s: train.exponential_decay(0.5, s, 10, 0.9),
        lambda s: 0.5 * 0.9 ** (s / 10),
    ),
    "exponential_staircase": (
        lambda train, s: train.exponential_decay(0.5, s, 10, 0.9, staircase=True),
        lambda s: 0.5 * 0.9 ** (s // 10),
    ),
    "natural_exp": (
        lambda train, s: train.natural_exp_decay(0.5, s, 10, 0.9),
        lambda s: 0.5 * math.exp(-0.9 * s / 10),
    ),
    "natural_exp_staircase": (
        lambda train, s: train.natural_exp_decay(0.5, s, 10, 0.9, staircase=True),
        lambda s: 0.5 * math.exp(-0.9 * (s // 10)),
    ),
    "inverse_time": (
        lambda train, s: train.inverse_time_decay(0.5, s, 10, 0.9),
        lambda s: 0.5 / (1 + 0.9 * s / 10),
    ),
    "polynomial": (
        lambda train, s: train.polynomial_decay(0.5, s, 20, 0.1, power=2.0),
        lambda s: 0.4 * (1 - min(s, 20) / 20) ** 2 + 0.1,
    ),
    "polynomial_cycle": (
        lambda train, s: train.polynomial_decay(0.5, s, 20, 0.1, cycle=True),
        lambda s: 0.4 * (1 - s / (20 * max(1, math.ceil(s / 20)))) + 0.1,
    ),
    "cosine": (
        lambda train, s: train.cosine_decay(0.5, s, 20, alpha=0.1),
        lambda s: 0.5 * (0.9 * cosine(min(s, 20) / 20) + 0.1),
    ),
    "cosine_restarts": (
        lambda train, s: train.cosine_decay_restarts(0.5, s, 10, 2.0, 0.5, 0.1),
        lambda s: 0.5 * restarted(s),
    ),
    "cosine_restarts_equal": (
        lambda train, s: train.cosine_decay_restarts(0.5, s, 10, 1.0, 0.5, 0.1),
        lambda s: 0.5 * restarted(s, t_mul=1.0),
    ),
    "linear_cosine": (
        lambda train, s: train.linear_cosine_decay(0.5, s, 20, 2.0, 0.1, 0.01),
        lambda s: 0.5 * ((0.1 + 1 - min(s, 20) / 20) * cosine(4 * min(s, 20) / 20) + 0.01),
    ),
    "piecewise": (
        lambda train, s: train.piecewise_constant(s, [9, 25], [1.0, 0.5, 0.25]),
        lambda s: 1.0 if s <= 9 else 0.5 if s <= 25 else 0.25,
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_in_a_graph(name):
    build, formula = CASES[name]
    with tf.Graph().as_default(), tf.Session() as sess:
        step = tf.placeholder(tf.int64, [])
        rate = build(tf.train, step)
        assert rate.dtype is tf.float32 and rate.shape.as_list() == []
        found = [sess.run(rate, {step: s}) for s in STEPS]
    np.testing.assert_allclose(found, [formula(s) for s in STEPS], rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("name", CASES)
def test_eagerly_a_callable_that_follows_the_variable(name):
    build, formula = CASES[name]
    step = dv.Variable(np.int64(0), trainable=False)
    rate = build(dv.train, step)
    assert callable(rate)
    for s in (0, 11):
        step.assign(s)
        assert float(rate()) == pytest.approx(formula(s), rel=2e-5, abs=1e-6)


def test_an_optimizer_follows_its_schedule():
    v, step = dv.Variable(0.0), dv.Variable(np.int64(0), trainable=False)
    rate = dv.train.piecewise_constant(step, [0], [1.0, 0.25])
    optimizer = dv.train.GradientDescentOptimizer(rate)
    for wanted in (-1.0, -1.25, -1.5):
        optimizer.apply_gradients([(dv.constant(1.0), v)], global_step=step)
        assert float(v) == wanted


def test_dtype_and_tensor_arguments():
    with tf.Graph().as_default(), tf.Session() as sess:
        start = tf.constant(0.5, dtype=tf.float64)
        rate = tf.train.exponential_decay(start, tf.constant(5), tf.constant(10), tf.constant(0.9))
        assert rate.dtype is tf.float64
        assert sess.run(rate) == pytest.approx(0.5 * 0.9**0.5)


def test_noise_is_around_the_line():
    with tf.Graph().as_default(), tf.Session() as sess:
        step = tf.placeholder(tf.int64, [])
        rate = tf.train.noisy_linear_cosine_decay(0.5, step, 20, initial_variance=0.01)
        values = [sess.run(rate, {step: 0}) for _ in range(20)]
    assert len(set(values)) > 1 and all(0.2 < value < 0.8 for value in values)


def test_names():
    with tf.Graph().as_default() as graph:
        rate = tf.train.exponential_decay(0.5, tf.constant(1), 10, 0.9)
        assert rate.op.name == "ExponentialDecay"
        assert tf.train.cosine_decay(0.5, tf.constant(1), 10, name="mine").op.name == "mine"
        assert graph.get_operation_by_name("ExponentialDecay/learning_rate")


def test_errors():
    with tf.Graph().as_default():
        with pytest.raises(ValueError, match="global_step is required for ExponentialDecay"):
            tf.train.exponential_decay(0.5, None, 10, 0.9)
        with pytest.raises(ValueError, match="length of boundaries should be 1 less"):
            tf.train.piecewise_constant(tf.constant(1), [1, 2], [1.0, 2.0])
        with pytest.raises(ValueError, match="Boundaries must increase"):
            tf.train.piecewise_constant(tf.constant(1), [5, 3], [1.0, 2.0, 3.0])
        with pytest.raises(ValueError, match="must have the same dtype as x"):
            tf.train.piecewise_constant(tf.constant(1), [1.5], [1.0, 2.0])
        with pytest.raises(ValueError, match="elements all with the same dtype: float32 and int"):
            tf.train.piecewise_constant(tf.constant(1), [1], [1.0, 2])
