import numpy
import pytest
from numpy.testing import assert_allclose

import daskvars as dv
import daskvars.v1 as tf
from daskvars.ops.nn import softmax as ops

rng = numpy.random.default_rng(0)
X = rng.normal(size=(2, 3, 4))


def reference(x, axis):
    e = numpy.exp(x - x.max(axis, keepdims=True))
    return e / e.sum(axis, keepdims=True)


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_any_axis(axis):
    x = rng.normal(size=(2, 3, 4))
    assert_allclose(ops.softmax(x, axis=axis).numpy(), reference(x, axis), rtol=1e-12)
    wanted = numpy.log(reference(x, axis))
    assert_allclose(ops.log_softmax(x, axis=axis).numpy(), wanted, rtol=1e-12)


@pytest.mark.parametrize("function", [ops.softmax, ops.log_softmax])
def test_of_a_transposed_tensor(function):
    x = rng.normal(size=(2, 3, 4))
    turned = dv.transpose(dv.constant(x), [0, 2, 1])
    wanted = function(x, axis=1).numpy().transpose(0, 2, 1)
    assert_allclose(function(turned).numpy(), wanted, rtol=1e-12)


def test_large_logits_do_not_overflow():
    assert ops.softmax([1000.0, 0.0]).numpy().tolist() == [1, 0]
    assert ops.log_softmax([1000.0, 0.0]).numpy().tolist() == [0, -1000]


def test_second_derivative():
    x = rng.normal(size=3)
    with dv.Graph().as_default(), dv.Session() as session:
        logits = tf.constant(x)
        (first,) = dv.gradients(ops.softmax(logits)[0], [logits])
        (second,) = dv.gradients(first[0], [logits])
        p = reference(x, 0)
        # d2 p0 / dx0 dxj = p0 (1 - 2 p0) (d0j - pj)
        wanted = p[0] * (1 - 2 * p[0]) * (numpy.eye(3)[0] - p)
        assert_allclose(session.run(second), wanted, rtol=1e-10)


def test_arguments():
    with dv.Graph().as_default():
        x = tf.placeholder(dv.float32, [None, 10])
        assert ops.softmax(x).op.name == "Softmax"
        assert ops.log_softmax(x, name="scores").op.name == "scores"
        assert ops.softmax(x, dim=0).shape.as_list() == [None, 10]
        assert ops.softmax(tf.placeholder(dv.float32)).shape.ndims is None
        with pytest.raises(ValueError, match="Cannot specify both"):
            ops.softmax(x, axis=1, dim=1)
        with pytest.raises(ValueError):
            ops.softmax(x, axis=2)
        with pytest.raises(TypeError):
            ops.softmax(tf.placeholder(dv.int32, [3]))


@pytest.mark.parametrize("axis", [-3, -1, 0, 1, 2])
def test_an_axis_that_the_run_tells(axis):
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float64, [2, None, 4])
        given = tf.placeholder(tf.int32, [])
        for function in (tf.nn.softmax, tf.nn.log_softmax):
            y, wanted = function(x, given), function(x, axis)
            assert y.shape.as_list() == [2, None, 4]
            slopes = tuple(tf.gradients(result * result, x)[0] for result in (y, wanted))
            for pair in ((y, wanted), slopes):
                found = session.run(pair, {x: X, given: axis})
                assert_allclose(*found, rtol=1e-12)
            with pytest.raises(tf.errors.InvalidArgumentError, match="is out of range"):
                session.run(y, {x: X, given: 3})


def test_an_axis_of_a_tensor_of_any_rank():
    with tf.Graph().as_default(), tf.Session() as session:
        x, last = tf.placeholder(tf.float64), tf.placeholder(tf.int32, [])
        y = tf.nn.softmax(x, last, name="shares")
        assert (y.name, y.shape.ndims) == ("shares:0", None)
        for shape in ((4,), (3, 4), (2, 3, 4)):
            found = session.run(y, {x: numpy.zeros(shape), last: len(shape) - 1})
            assert found.tolist() == numpy.full(shape, 0.25).tolist()
