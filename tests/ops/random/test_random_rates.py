"""Gamma and Poisson numbers, and random numbers of a seed that is data."""

import math

import dask.array
import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf

STATELESS = {
    "uniform": lambda seed: tf.random.stateless_uniform([6, 4], seed),
    "integers": lambda seed: tf.random.stateless_uniform([6, 4], seed, 3, 900, tf.int64),
    "normal": lambda seed: tf.random.stateless_normal([6, 4], seed),
    "truncated": lambda seed: tf.random.stateless_truncated_normal([6, 4], seed),
    "classes": lambda seed: tf.random.stateless_multinomial(tf.zeros([6, 50]), 4, seed),
}


def value_of(build):
    with tf.Graph().as_default(), tf.Session() as session:
        return session.run(build())


# -- gamma and poisson -------------------------------------------------------------------------


@pytest.mark.parametrize("alpha", [0.3, 1.0, 2.5, 40.0])
def test_gamma_numbers_have_the_distribution(alpha):
    numbers = np.sort(value_of(lambda: tf.random_gamma([20000], alpha, 2.0, tf.float64, seed=3)))
    assert abs(numbers.mean() - alpha / 2) < 5 * math.sqrt(alpha / 4 / 20000)
    wanted = dv.igamma(np.full(20000, alpha), 2 * numbers).numpy()
    distance = np.abs(wanted - (np.arange(20000) + 0.5) / 20000).max()
    assert distance < 1.95 / math.sqrt(20000), "Kolmogorov-Smirnov, 0.1 %"


def test_poisson_numbers_take_no_rate_for_a_shape():
    with pytest.raises(TypeError, match=r"shape must be int32 or int64, got 5\.0"):
        dv.random.poisson([3], 5.0)  # TensorFlow 2's order


@pytest.mark.parametrize("rate", [0.0, 0.7, 9.0, 12.0, 300.0])
def test_poisson_numbers_have_the_distribution(rate):
    numbers = value_of(lambda: tf.random_poisson(rate, [20000], tf.float64, seed=5))
    spread = math.sqrt(rate / 20000)
    assert abs(numbers.mean() - rate) <= 5 * spread
    assert abs(numbers.var() - rate) <= 8 * rate / math.sqrt(20000) + 5 * spread
    if rate:
        middle = math.floor(rate)
        wanted = float(dv.igammac(dv.constant(middle + 1.0, dv.float64), rate))
        assert abs((numbers <= middle).mean() - wanted) < 2.5 / math.sqrt(20000)


@pytest.mark.parametrize(
    "draw",
    [lambda r: tf.random_gamma([3], r, seed=1), lambda r: tf.random_poisson(r, [3], seed=1)],
)
def test_numbers_do_not_depend_on_the_layout(draw):
    rates = np.linspace(0.2, 50.0, 24).reshape(6, 4).astype("float32")
    with tf.Graph().as_default():
        r = tf.placeholder(tf.float32, [6, 4])
        drawn = draw(r)
        assert drawn.shape.as_list() == [3, 6, 4]
        found = []
        for fed in (rates, dask.array.from_array(rates, chunks=(2, 3))):
            with tf.Session() as session:
                found.append(session.run(drawn, {r: fed}))
    np.testing.assert_array_equal(*found)


def test_the_gradient_of_gamma_numbers():
    """A number that is a fixed share of its distribution moves as the quantile does."""
    with tf.Graph().as_default(), tf.Session() as session:
        alpha = tf.placeholder(tf.float64, [3])
        drawn = tf.random_gamma([5], alpha, dtype=tf.float64, seed=2)
        slope = tf.gradients(drawn, alpha)[0]
        at = np.array([0.5, 2.0, 9.0])
        numbers, total = session.run([drawn, slope], {alpha: at})
    shares = dv.igamma(np.broadcast_to(at, (5, 3)).copy(), numbers).numpy()
    step = 1e-5

    def moved(a):  # one Newton step from the numbers found gives the quantile nearby
        a = np.broadcast_to(a, (5, 3)).copy()
        x = numbers.copy()
        for _ in range(3):
            density = np.exp((a - 1) * np.log(x) - x - dv.lgamma(a).numpy())
            x -= (dv.igamma(a, x).numpy() - shares) / density
        return x

    wanted = ((moved(at + step) - moved(at - step)) / (2 * step)).sum(axis=0)
    np.testing.assert_allclose(total, wanted, rtol=1e-5)


def test_rates_outside_of_the_domain_give_nan():
    assert np.isnan(value_of(lambda: tf.random_poisson([-1.0], [2]))).all()
    drawn = value_of(lambda: tf.random_gamma([2], [-1.0, 2.0]))
    assert np.isnan(drawn[:, 0]).all()
    assert np.isfinite(drawn[:, 1]).all()


# -- stateless ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", STATELESS)
def test_stateless_numbers_depend_on_the_seed_alone(name):
    draw = STATELESS[name]
    with tf.Graph().as_default(), tf.Session() as session:
        fed = tf.placeholder(tf.int64, [2])
        one, same, other = draw([1, 2]), draw(fed), draw([1, 3])
        first, second, third = session.run([one, same, other], {fed: [1, 2]})
        again = session.run(one)
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, third)


@pytest.mark.parametrize("name", ["uniform", "integers", "normal", "truncated"])
def test_stateless_numbers_do_not_depend_on_the_layout(name):
    draw, seed = STATELESS[name], [5, 6]
    whole = value_of(lambda: draw(seed))
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(whole.dtype, [6, 4])
        total = draw(seed) + x
        zeros = dask.array.zeros((6, 4), chunks=(2, 3), dtype=whole.dtype)
        np.testing.assert_array_equal(session.run(total, {x: zeros}), whole)


def test_stateless_bounds():
    uniform = dv.random.stateless_uniform
    numbers = uniform([1000], [1, 2], -1.0, dv.constant(3.0)).numpy()
    assert -1 <= numbers.min() < -0.9
    assert 2.9 < numbers.max() < 3
    every = uniform([1000], [1, 2], None, None, dv.int32).numpy()
    assert every.min() < -(2**30)
    assert every.max() > 2**30
    with pytest.raises(ValueError, match="maxval"):
        uniform([2], [1, 2], dtype=dv.int32)
    with pytest.raises(ValueError, match="two integers"):
        uniform([2], [1])
