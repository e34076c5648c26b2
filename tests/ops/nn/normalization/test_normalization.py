import numpy
import pytest
from numpy.testing import assert_allclose

import daskvars as dv
import daskvars.v1 as tf
from daskvars.ops.nn.normalization import moments as ops

rng = numpy.random.default_rng(0)


def test_batch_normalization_formula():
    x = rng.normal(size=(4, 3))
    mean, offset, scale = rng.normal(size=(3, 3))
    variance = rng.uniform(0.5, 2, 3)
    wanted = (x - mean) / numpy.sqrt(variance + 0.01)
    found = ops.batch_normalization(x, mean, variance, offset, scale, 0.01).numpy()
    assert_allclose(found, wanted * scale + offset, rtol=1e-12)
    found = ops.batch_normalization(x, mean, variance, None, None, 0.01).numpy()
    assert_allclose(found, wanted, rtol=1e-10, atol=1e-12)


def test_names_of_batch_normalization():
    with dv.Graph().as_default() as graph:
        x = tf.placeholder(dv.float32, [None, 3])
        one = tf.ones([3])
        y = ops.batch_normalization(x, one, one, one, one, 0.001)
        assert y.op.name == "batchnorm/add_1"
        names = {op.name for op in graph.get_operations()}
        wanted = {"add", "Rsqrt", "mul", "mul_1", "mul_2", "sub", "add_1"}
        assert {f"batchnorm/{name}" for name in wanted} <= names


def test_l2_normalize():
    x = rng.normal(size=(3, 4))
    wanted = x / numpy.sqrt((x**2).sum(1, keepdims=True))
    assert_allclose(ops.l2_normalize(x, axis=1).numpy(), wanted, rtol=1e-12)
    assert_allclose(ops.l2_normalize(x, dim=[1]).numpy(), wanted, rtol=1e-12)
    assert_allclose((ops.l2_normalize(x).numpy() ** 2).sum(), 1, rtol=1e-12)
    assert ops.l2_normalize(numpy.zeros(3)).numpy().tolist() == [0, 0, 0]
    with pytest.raises(ValueError, match="Cannot specify both"):
        ops.l2_normalize(x, axis=1, dim=1)
    with dv.Graph().as_default():
        assert ops.l2_normalize(tf.zeros([3]), 0).op.name == "l2_normalize"


@pytest.mark.parametrize("radius", [0, 2, 9])
def test_local_response_normalization(radius):
    x = rng.normal(size=(2, 3, 2, 6))
    wanted = numpy.empty_like(x)
    for c in range(6):
        window = x[..., max(0, c - radius) : c + radius + 1]
        wanted[..., c] = x[..., c] / (1.5 + 0.3 * (window**2).sum(-1)) ** 0.75
    found = ops.lrn(x, radius, bias=1.5, alpha=0.3, beta=0.75)
    assert_allclose(found.numpy(), wanted, rtol=1e-12)


def test_local_response_normalization_takes_images():
    with dv.Graph().as_default():
        assert ops.lrn(tf.zeros([1, 2, 2, 3])).op.name == "LRN"
        assert ops.lrn(tf.placeholder(dv.float32)).shape.as_list() == [None] * 4
        with pytest.raises(ValueError, match="rank 4"):
            ops.lrn(tf.zeros([2, 3]))
