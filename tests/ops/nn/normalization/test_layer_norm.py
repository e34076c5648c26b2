import numpy
import pytest
from numpy.testing import assert_allclose

import daskvars as dv
import daskvars.v1 as tf
from daskvars.ops.nn.normalization import layer_norm as ops

rng = numpy.random.default_rng(0)


def reference(x, gamma, beta, epsilon=1e-12):
    mean, variance = x.mean(-1, keepdims=True), x.var(-1, keepdims=True)
    return (x - mean) / numpy.sqrt(variance + epsilon) * gamma + beta


@pytest.mark.parametrize("shape", [(6,), (4, 6), (2, 3, 6)])
def test_rows_have_mean_0_and_variance_1(shape):
    x, gamma, beta = rng.normal(size=shape), rng.normal(size=6), rng.normal(size=6)
    y = ops.layer_norm(x, gamma, beta).numpy()
    assert_allclose(y, reference(x, gamma, beta), rtol=1e-9)
    assert_allclose(ops.layer_norm(x, gamma, beta, 0.5).numpy(), reference(x, gamma, beta, 0.5))


def test_gradient_is_that_of_the_plain_expression():
    x, gamma, beta, dy = (rng.normal(size=s) for s in ((4, 6), 6, 6, (4, 6)))
    with dv.Graph().as_default(), dv.Session() as session:
        inputs = [tf.constant(a) for a in (x, gamma, beta)]
        mean, variance = tf.nn.moments(inputs[0], [1], keep_dims=True)
        plain = (inputs[0] - mean) * tf.rsqrt(variance + 0.1) * inputs[1] + inputs[2]
        results = []
        for y in (ops.layer_norm(*inputs, epsilon=0.1), plain):
            first = dv.gradients(y, inputs, [tf.constant(dy)])
            second = dv.gradients(first[0] * first[0], inputs[:2])
            results.append(session.run([*first, *second]))
    for fused, composed in zip(*results, strict=True):
        assert_allclose(fused, composed, rtol=1e-8, atol=1e-10)


def test_arguments():
    with dv.Graph().as_default():
        x = tf.placeholder(dv.float32, [None, 7, 6])
        y = ops.layer_norm(x, tf.ones([6]), tf.zeros([6]))
        assert y.op.name == "LayerNorm"
        assert y.shape.as_list() == [None, 7, 6]
        with pytest.raises(ValueError, match="must be equal, but are 6 and 5"):
            ops.layer_norm(x, tf.ones([5]), tf.zeros([6]))
        with pytest.raises(ValueError, match="vector"):
            ops.layer_norm(x, tf.ones([7, 6]), tf.zeros([6]))
        with pytest.raises(ValueError, match="scalar"):
            ops.layer_norm(tf.constant(1.0), tf.ones([1]), tf.zeros([1]))
