"""Convolution of volumes: its definition, gradients as adjoints, shapes and errors."""

import itertools

import numpy
import pytest
from numpy.testing import assert_allclose

import daskvars as dv
import daskvars.v1 as tf
from daskvars.ops.nn.convolution import functions as ops

rng = numpy.random.default_rng(0)
X, W = rng.normal(size=(2, 5, 4, 6, 2)), rng.normal(size=(3, 2, 2, 2, 3))


def naive(x, w, stride, rate, padding):
    """Convolution by its definition."""
    amounts, counts = [(0, 0)], []
    for size, window in zip(x.shape[1:4], w.shape[:3], strict=True):
        extent = (window - 1) * rate + 1
        count = -(-size // stride) if padding == "SAME" else (size - extent) // stride + 1
        total = max((count - 1) * stride + extent - size, 0) if padding == "SAME" else 0
        amounts.append((total // 2, total - total // 2))
        counts.append(count)
    x = numpy.pad(x, [*amounts, (0, 0)])
    y = numpy.zeros((len(x), *counts, w.shape[4]))
    for place in itertools.product(*map(range, counts)):
        for tap in itertools.product(*map(range, w.shape[:3])):
            seen = tuple(p * stride + t * rate for p, t in zip(place, tap, strict=True))
            y[(slice(None), *place)] += x[(slice(None), *seen)] @ w[tap]
    return y


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
@pytest.mark.parametrize(("stride", "rate"), [(1, 1), (2, 1), (3, 1), (1, 2)])
def test_definition(stride, rate, padding):
    wanted = naive(X, W[:, :1] if rate == 2 else W, stride, rate, padding)
    w = W[:, :1] if rate == 2 else W
    found = ops.conv3d(X, w, [1, stride, stride, stride, 1], padding, dilations=rate)
    assert_allclose(found.numpy(), wanted, rtol=1e-10)
    first = X.transpose(0, 4, 1, 2, 3)
    found = ops.conv3d(first, w, stride, padding, data_format="NCDHW", dilations=rate)
    assert_allclose(found.numpy(), wanted.transpose(0, 4, 1, 2, 3), rtol=1e-10)


def test_gradients_and_transpose_are_adjoints():
    options = {"strides": 2, "padding": "SAME"}
    y = ops.conv3d(X, W, **options)
    dy = rng.normal(size=y.shape.as_list())
    dw = ops.conv3d_backprop_filter(X, W.shape, dy, **options).numpy()
    dx = ops.conv3d_transpose(dy, W, X.shape, **options).numpy()
    inner = float((y.numpy() * dy).sum())
    assert_allclose([(dx * X).sum(), (dw * W).sum()], [inner, inner], rtol=1e-10)


def test_shapes_and_names_in_a_graph():
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 8, 9, 10, 3])
        y = tf.nn.conv3d(x, tf.zeros([3, 3, 3, 3, 4]), [1, 2, 2, 2, 1], "SAME")
        assert (y.op.type, y.shape.as_list()) == ("Conv3D", [None, 4, 5, 5, 4])
        size = tf.stack([tf.shape(y)[0], 8, 9, 10, 3])
        back = tf.nn.conv3d_transpose(y, tf.zeros([3, 3, 3, 3, 4]), size, [1, 2, 2, 2, 1])
        assert back.op.name == "conv3d_transpose"
        with tf.Session() as sess:
            assert sess.run(back, {x: numpy.ones([2, 8, 9, 10, 3])}).shape == (2, 8, 9, 10, 3)


def test_other_ways_to_it():
    assert dv.nn.convolution(X, W, "VALID").shape.as_list() == [2, 3, 3, 5, 3]
    pooled = dv.nn.pool(X, [2, 2, 2], "MAX", "VALID", strides=[2, 2, 2])
    assert_allclose(pooled.numpy(), dv.nn.max_pool3d(X, 2, 2, "VALID").numpy())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"padding": "FULL"}, "'SAME' or 'VALID'"),
        ({"data_format": "NHWC"}, "'NDHWC' or 'NCDHW'"),
        ({"strides": [1, 2]}, "length 1, 3 or 5"),
        ({"strides": [1, 1, 1, 1, 2]}, "batch and depth"),
        ({"filter": numpy.ones([2, 2, 2, 3, 1])}, "Dimensions must be equal"),
        ({"filter": numpy.ones([2, 2, 3, 1])}, "rank 5"),
    ],
)
def test_errors(options, message):
    with pytest.raises(ValueError, match=message):
        ops.conv3d(X, **{"filter": W, "strides": 1, "padding": "SAME", **options})
