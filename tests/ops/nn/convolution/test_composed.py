import numpy
import pytest
from numpy.testing import assert_allclose

import daskvars as dv
import daskvars.v1 as tf
from daskvars.ops.nn.convolution import composed as ops
from daskvars.ops.nn.convolution.functions import conv2d, depthwise_conv2d_native

rng = numpy.random.default_rng(0)


def test_separable_is_depthwise_then_pointwise():
    x, d, p = (rng.normal(size=s) for s in ((2, 6, 6, 3), (3, 3, 3, 2), (1, 1, 6, 4)))
    found = ops.separable_conv2d(x, d, p, [1, 2, 2, 1], "SAME").numpy()
    between = depthwise_conv2d_native(x, d, [1, 2, 2, 1], "SAME")
    assert_allclose(found, conv2d(between, p, 1, "VALID").numpy(), rtol=1e-12)


@pytest.mark.parametrize("padding", ["SAME", "VALID"])
def test_atrous_is_convolution_with_zeros_between_taps(padding):
    x, w = rng.normal(size=(1, 9, 9, 2)), rng.normal(size=(3, 3, 2, 3))
    wide = numpy.zeros((5, 5, 2, 3))
    wide[::2, ::2] = w
    found = ops.atrous_conv2d(x, w, 2, padding).numpy()
    assert_allclose(found, conv2d(x, wide, 1, padding).numpy(), rtol=1e-10)


def test_conv1d_is_correlation():
    x, w = rng.normal(size=9), rng.normal(size=4)
    found = ops.conv1d(x.reshape(1, 9, 1), w.reshape(4, 1, 1), 1, "VALID").numpy()
    assert_allclose(found.ravel(), numpy.correlate(x, w), rtol=1e-12)
    first = ops.conv1d(x.reshape(1, 1, 9), w.reshape(4, 1, 1), 1, "VALID", data_format="NCW")
    assert first.numpy().shape == (1, 1, 6)
    assert_allclose(first.numpy().ravel(), found.ravel(), rtol=1e-12)


def test_convolution_chooses_by_the_filter():
    x = rng.normal(size=(2, 9, 3))
    w = rng.normal(size=(2, 3, 4))
    found = ops.convolution(x, w, "SAME", strides=[2]).numpy()
    assert_allclose(found, ops.conv1d(x, w, 2, "SAME").numpy(), rtol=1e-12)
    with pytest.raises(ValueError, match="1 to 3 dimensions"):
        ops.convolution(rng.normal(size=(2, 1)), numpy.ones((1, 1)), "SAME")


def test_names_and_shapes():
    with dv.Graph().as_default():
        x = tf.placeholder(dv.float32, [None, 8, 8, 3])
        d, p = tf.zeros([3, 3, 3, 2]), tf.zeros([1, 1, 6, 4])
        y = ops.separable_conv2d(x, d, p, [1, 1, 1, 1], "SAME")
        assert y.op.name == "separable_conv2d"
        assert y.op.inputs[0].op.name == "separable_conv2d/depthwise"
        assert y.shape.as_list() == [None, 8, 8, 4]
        assert ops.depthwise_conv2d(x, d, [1, 1, 1, 1], "SAME").op.name == "depthwise"
        assert ops.atrous_conv2d(x, tf.zeros([3, 3, 3, 5]), 2, "SAME").op.name == "convolution"
        sequence = tf.placeholder(dv.float32, [None, 10, 3])
        y = ops.conv1d(sequence, tf.zeros([5, 3, 7]), 2, "SAME")
        assert y.op.name == "conv1d/Squeeze"
        assert y.shape.as_list() == [None, 5, 7]


def test_errors():
    with dv.Graph().as_default():
        x, d = tf.placeholder(dv.float32, [None, 8, 8, 3]), tf.zeros([3, 3, 3, 2])
        with pytest.raises(ValueError, match="strides > 1 not supported"):
            ops.depthwise_conv2d(x, d, [1, 2, 2, 1], "SAME", rate=[2, 2])
        with pytest.raises(ValueError, match="pointwise_filter"):
            ops.separable_conv2d(x, d, tf.zeros([3, 3, 6, 4]), 1, "SAME")
        with pytest.raises(ValueError, match="must be equal"):
            ops.separable_conv2d(x, d, tf.zeros([1, 1, 5, 4]), 1, "SAME")
        with pytest.raises(ValueError, match="length 1 or 3"):
            ops.conv1d(tf.zeros([1, 4, 2]), tf.zeros([2, 2, 2]), [1, 1], "SAME")
        with pytest.raises(ValueError, match="NWC"):
            ops.conv1d(tf.zeros([1, 4, 2]), tf.zeros([2, 2, 2]), 1, "SAME", data_format="CWN")
