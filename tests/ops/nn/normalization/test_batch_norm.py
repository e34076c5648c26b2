import numpy
import pytest
from numpy.testing import assert_allclose

import daskvars as dv
import daskvars.v1 as tf
from daskvars.ops.nn.normalization import batch_norm as ops
from tests.ops.checks import numerical_gradient

rng = numpy.random.default_rng(0)
X = rng.normal(size=(4, 3, 2, 5)) * 2 + 1
SCALE, OFFSET = rng.normal(size=(2, 5))


def reference(x, scale, offset, epsilon):
    mean, variance = x.mean((0, 1, 2)), x.var((0, 1, 2))
    return (x - mean) / numpy.sqrt(variance + epsilon) * scale + offset


@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
def test_training_uses_the_moments_of_the_batch(data_format):
    turned = X if data_format == "NHWC" else X.transpose(0, 3, 1, 2)
    y, mean, variance = ops.fused_batch_norm(turned, SCALE, OFFSET, data_format=data_format)
    wanted = reference(X, SCALE, OFFSET, 0.001)
    y = y.numpy() if data_format == "NHWC" else y.numpy().transpose(0, 2, 3, 1)
    assert_allclose(y, wanted, rtol=1e-10, atol=1e-12)
    assert_allclose(mean.numpy(), X.mean((0, 1, 2)), rtol=1e-12)
    assert_allclose(variance.numpy(), X.var((0, 1, 2), ddof=1), rtol=1e-12)


def test_inference_uses_given_moments():
    mean, variance = rng.normal(size=5), rng.uniform(0.5, 2, 5)
    y, same_mean, same_variance = ops.fused_batch_norm(
        X, SCALE, OFFSET, mean, variance, epsilon=0.1, is_training=False
    )
    wanted = (X - mean) / numpy.sqrt(variance + 0.1) * SCALE + OFFSET
    assert_allclose(y.numpy(), wanted, rtol=1e-10)
    assert same_mean.numpy().tolist() == mean.tolist()
    assert same_variance.numpy().tolist() == variance.tolist()


def test_a_mean_far_from_zero_costs_no_precision():
    x = (rng.normal(size=(64, 8, 8, 2)) + 1000).astype(numpy.float32)
    _, mean, variance = ops.fused_batch_norm(x, numpy.ones(2, "f4"), numpy.zeros(2, "f4"))
    assert_allclose(mean.numpy(), x.mean((0, 1, 2), dtype="f8"), rtol=1e-6)
    assert_allclose(variance.numpy(), x.var((0, 1, 2), dtype="f8", ddof=1), rtol=1e-5)


def test_epsilon_has_tensorflows_least_value():
    y, *_ = ops.fused_batch_norm(X, SCALE, OFFSET, epsilon=0.0)
    assert_allclose(y.numpy(), reference(X, SCALE, OFFSET, 1.001e-5), rtol=1e-9, atol=1e-11)


def test_half_precision_images_with_float32_parameters():
    y, mean, _ = ops.fused_batch_norm(X.astype("f2"), SCALE.astype("f4"), OFFSET.astype("f4"))
    assert (y.dtype, mean.dtype) == (dv.float16, dv.float32)
    assert_allclose(y.numpy(), reference(X, SCALE, OFFSET, 0.001), rtol=0.02, atol=0.02)


@pytest.mark.parametrize("shape", [(0, 3, 2, 5), (None, 3, 2, 5)])
def test_an_empty_batch_has_no_moments(graph, shape):
    empty = numpy.zeros((0, 3, 2, 5), "f4")
    x = tf.placeholder(tf.float32, shape)
    scale, offset = (tf.constant(vector, tf.float32) for vector in (SCALE, OFFSET))
    results = ops.fused_batch_norm(x, scale, offset)
    gradients = tf.gradients(results[0], [x, scale, offset])
    with tf.Session() as session:
        y, mean, variance = session.run(results, {x: empty})
        dx, dscale, doffset = session.run(gradients, {x: empty})
    assert y.shape == dx.shape == (0, 3, 2, 5)
    assert numpy.isnan(mean).all() and numpy.isnan(variance).all()
    assert dscale.tolist() == doffset.tolist() == [0] * 5


def test_second_derivative():
    dy = rng.normal(size=X.shape)
    with dv.Graph().as_default(), dv.Session() as session:
        x = tf.placeholder(dv.float64, X.shape)
        y, mean, variance = ops.fused_batch_norm(x, SCALE, OFFSET)
        loss = tf.reduce_sum(y * y * dy) + tf.reduce_sum(mean * variance)
        (first,) = dv.gradients(loss, [x])
        (second,) = dv.gradients(first, [x], [tf.constant(dy)])
        found = session.run(second, {x: X})
        wanted = numerical_gradient(
            lambda arrays: [session.run(first, {x: arrays[0]})], [X], 0, [dy]
        )
    assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_a_batch_in_chunks_stays_in_chunks():
    import dask.array

    with dv.Graph().as_default(), dv.Session() as session:
        x = tf.placeholder(dv.float64, [None, 3, 2, 5])
        y, mean, variance = ops.fused_batch_norm(x, SCALE, OFFSET)
        outputs = [y, mean, variance, *dv.gradients(y * y * y, [x])]
        cut = session.run(outputs, {x: dask.array.from_array(X, chunks=(1, 3, 2, 5))})
        whole = session.run(outputs, {x: X})
    for a, b in zip(cut, whole, strict=True):
        assert_allclose(a, b, rtol=1e-9, atol=1e-10)
    pattern = ops.FUSED_BATCH_NORM.pattern
    access = pattern.access([X.shape] + [(5,)] * 4, [X.shape], {"data_format": "NHWC"})
    assert all(dim is not None for dim in access.outputs[0])


def test_arguments():
    with dv.Graph().as_default():
        x = tf.placeholder(dv.float32, [None, 8, 8, 5])
        scale, offset = tf.ones([5]), tf.zeros([5])
        y, mean, variance = ops.fused_batch_norm(x, scale, offset)
        assert y.op.name == "FusedBatchNorm"
        assert y.shape.as_list() == [None, 8, 8, 5]
        assert mean.shape.as_list() == variance.shape.as_list() == [5]
        with pytest.raises(ValueError, match="must be None"):
            ops.fused_batch_norm(x, scale, offset, mean=scale)
        with pytest.raises(ValueError, match="must be given"):
            ops.fused_batch_norm(x, scale, offset, is_training=False)
        with pytest.raises(ValueError, match="must be equal"):
            ops.fused_batch_norm(x, tf.ones([4]), offset)
        with pytest.raises(ValueError, match="rank 4"):
            ops.fused_batch_norm(tf.zeros([3, 5]), scale, offset)
        with pytest.raises(ValueError, match="rank 1"):
            ops.fused_batch_norm(x, tf.ones([1, 5]), offset)
