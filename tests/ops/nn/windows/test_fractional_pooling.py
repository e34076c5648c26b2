"""Pooling by ratios: windows drawn as the paper says, and what is pooled in them."""

import numpy
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import daskvars as dv
import daskvars.v1 as tf

rng = numpy.random.default_rng(0)
X = rng.normal(size=(2, 23, 31, 3))
RATIO = [1.0, 2.3, 1.4, 1.0]


def naive(x, rows, columns, overlapping, fold):
    stop = [[min(b + overlapping, size) for b in begins[1:]] for begins, size in
            ((rows, x.shape[1]), (columns, x.shape[2]))]  # fmt: skip
    windows = [
        [
            fold(x[:, top:bottom, left:right], axis=(1, 2))
            for left, right in zip(columns, stop[1], strict=False)
        ]
        for top, bottom in zip(rows, stop[0], strict=False)
    ]
    return numpy.array(windows).transpose(2, 0, 1, 3)


@pytest.mark.parametrize("pseudo_random", [False, True])
@pytest.mark.parametrize("overlapping", [False, True])
@pytest.mark.parametrize(
    ("pool", "fold"),
    [(dv.nn.fractional_max_pool, numpy.max), (dv.nn.fractional_avg_pool, numpy.mean)],
)
def test_each_window_is_pooled(pool, fold, overlapping, pseudo_random):
    y, *begins = (found.numpy() for found in pool(X, RATIO, pseudo_random, overlapping, seed=2))
    assert_allclose(y, naive(X, *begins, overlapping, fold), rtol=1e-12)
    for places, size, ratio in zip(begins, (23, 31), (2.3, 1.4), strict=True):
        count = int(size / ratio)
        assert (places[0], places[-1], len(places)) == (0, size, count + 1)
        assert set(numpy.diff(places)) <= {size // count, size // count + 1}


def test_windows_are_drawn_in_each_run_unless_they_are_deterministic():
    with tf.Graph().as_default(), tf.Session() as session:
        drawn, fixed = (
            tf.nn.fractional_max_pool(X, RATIO, deterministic=deterministic, seed=5, seed2=3)[1]
            for deterministic in (False, True)
        )
        runs = [session.run([drawn, fixed]) for _ in range(4)]
        assert len({tuple(found) for found, _ in runs}) > 1
        for _, found in runs:
            assert_array_equal(found, runs[0][1])


def test_sizes_that_only_the_run_tells():
    with tf.Graph().as_default(), tf.Session() as session:
        images = tf.placeholder(tf.float64, [None, None, None, 3])
        for pseudo_random in (False, True):
            found = tf.nn.fractional_max_pool(images, RATIO, pseudo_random, seed=1)
            assert found[0].shape.as_list() == [None, None, None, 3]
            y, rows, columns = session.run(found, {images: X})
            assert_allclose(y, naive(X, rows, columns, False, numpy.max))


def test_the_first_maximum_of_a_window_has_its_gradient():
    x = dv.convert_to_tensor(numpy.ones((1, 4, 4, 1)))
    with dv.GradientTape() as tape:
        tape.watch(x)
        y, _, _ = dv.nn.fractional_max_pool(x, [1, 2, 2, 1])
    found = tape.gradient(y, x).numpy()[0, :, :, 0]
    assert_array_equal(numpy.argwhere(found), [[0, 0], [0, 2], [2, 0], [2, 2]])


@pytest.mark.parametrize(
    ("ratio", "words"),
    [
        ([1, 0.5, 2, 1], "at least 1"),
        ([2, 2, 2, 1], "at least 1"),
        ([1, 30, 2, 1], "pooling_ratio 30.0 is larger than the height 23"),
    ],
)
def test_ratios_that_cannot_be(ratio, words):
    with pytest.raises(ValueError, match=words):
        dv.nn.fractional_avg_pool(X, ratio)
