import numpy
import pytest
from numpy.testing import assert_allclose

import daskvars as dv
import daskvars.v1 as tf
from daskvars.ops.nn import bias as ops

rng = numpy.random.default_rng(0)


def test_channels_last_and_first():
    x, b = rng.normal(size=(2, 4, 5, 3)), rng.normal(size=3)
    assert_allclose(ops.bias_add(x, b).numpy(), x + b)
    first = x.transpose(0, 3, 1, 2)
    found = ops.bias_add(first, b, data_format="NCHW").numpy()
    assert_allclose(found, first + b[:, None, None])


@pytest.mark.parametrize("data_format", ["NHWC", "NCHW"])
def test_gradient_sums_all_but_channels(data_format):
    shape = (2, 4, 5, 3) if data_format == "NHWC" else (2, 3, 4, 5)
    with dv.Graph().as_default(), dv.Session() as session:
        x = tf.placeholder(dv.float32, [None, *shape[1:]])
        b = tf.constant(numpy.zeros(3, numpy.float32))
        dy = rng.normal(size=shape).astype(numpy.float32)
        grads = dv.gradients(ops.bias_add(x, b, data_format), [x, b], [tf.constant(dy)])
        dx, db = session.run(grads, {x: dy})
    assert_allclose(dx, dy)
    channel = 3 if data_format == "NHWC" else 1
    assert_allclose(db, dy.sum(tuple(a for a in range(4) if a != channel)), rtol=1e-5)
    assert grads[1].shape.as_list() == [3]


def test_integers():
    assert ops.bias_add([[1, 2]], [10, 20]).numpy().tolist() == [[11, 22]]


def test_xw_plus_b():
    assert ops.xw_plus_b([[1.0, 2.0]], [[3.0], [4.0]], [0.5]).numpy().tolist() == [[11.5]]


def test_arguments():
    with dv.Graph().as_default():
        x = tf.placeholder(dv.float32, [None, 3])
        y = ops.bias_add(x, numpy.zeros(3, numpy.float32))
        assert y.op.name == "BiasAdd"
        assert y.shape.as_list() == [None, 3]
        assert ops.xw_plus_b(x, tf.zeros([3, 2]), tf.zeros([2])).op.name == "xw_plus_b"
        with pytest.raises(ValueError, match="must be equal"):
            ops.bias_add(x, tf.zeros([4]))
        with pytest.raises(ValueError, match="rank 1"):
            ops.bias_add(x, tf.zeros([1, 3]))
        with pytest.raises(ValueError, match="rank 2"):
            ops.bias_add(tf.zeros([3]), tf.zeros([3]))
        with pytest.raises(ValueError, match="data_format"):
            ops.bias_add(x, tf.zeros([3]), data_format="HWC")
