import numpy
import pytest
from numpy.testing import assert_allclose

import daskvars as dv
import daskvars.v1 as tf
from daskvars.ops.nn import activation as ops

X = numpy.array([-3.0, -1.0, 0.0, 1.0, 3.0], numpy.float32)

# Values of tf.nn.gelu's documentation; the others from their formulas.
GOLDEN = {
    "relu": [0, 0, 0, 1, 3],
    "elu": [-0.95021296, -0.63212055, 0, 1, 3],
    "selu": [-1.6705687, -1.1113307, 0, 1.050701, 3.152103],
    "leaky_relu": [-0.6, -0.2, 0, 1, 3],
    "gelu": [-0.00404951, -0.15865529, 0, 0.8413447, 2.9959507],
    "swish": [-0.14227762, -0.26894143, 0, 0.73105858, 2.8577224],
}


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_values(name):
    assert_allclose(getattr(ops, name)(X).numpy(), GOLDEN[name], rtol=1e-5, atol=1e-7)


def test_gelu_tanh_formula():
    wanted = [-0.00363752, -0.15880796, 0, 0.841192, 2.9963627]
    assert_allclose(ops.gelu(X, approximate=True).numpy(), wanted, rtol=1e-4, atol=1e-7)


def test_relu6_is_cut_at_both_ends():
    assert ops.relu6([-1.0, 5.0, 7.0]).numpy().tolist() == [0, 5, 6]
    assert ops.relu6([-1, 5, 7]).numpy().tolist() == [0, 5, 6]


def test_leaky_relu_of_integers_is_float32():
    y = ops.leaky_relu([-5, 5])
    assert y.dtype == dv.float32
    assert y.numpy().tolist() == [-1, 5]


def test_crelu_joins_along_an_axis():
    assert ops.crelu([[-1.0, 2.0]], axis=0).numpy().tolist() == [[0, 2], [1, 0]]
    assert ops.crelu([[-1.0, 2.0]]).numpy().tolist() == [[0, 2, 1, 0]]


@pytest.mark.parametrize(
    "function", [ops.relu, ops.relu6, ops.elu, ops.selu, ops.leaky_relu, ops.gelu, ops.swish]
)
def test_dtypes_are_kept(function):
    for dtype in ("float16", "float32", "float64"):
        x = numpy.array([-1.5, 0.5, 2.0], dtype)
        assert function(x).numpy().dtype == x.dtype
    assert float(function(dv.constant(0.0))) == 0


@pytest.mark.parametrize("function", [ops.relu, ops.relu6])
def test_slope_at_zero_is_zero(function):
    with dv.Graph().as_default(), dv.Session() as session:
        x = tf.constant([0.0, 1.0])
        (dx,) = dv.gradients(function(x), [x])
        assert session.run(dx).tolist() == [0, 1]


def test_slopes_of_both_sides():
    with dv.Graph().as_default(), dv.Session() as session:
        x = tf.constant([-2.0, 2.0])
        (dx,) = dv.gradients(ops.leaky_relu(x, alpha=0.1), [x])
        assert_allclose(session.run(dx), [0.1, 1.0], rtol=1e-6)


def test_third_derivative_of_gelu():
    with dv.Graph().as_default(), dv.Session() as session:
        x = tf.constant(numpy.array([0.3, -1.2]))
        y = ops.gelu(x)
        for _ in range(3):
            (y,) = dv.gradients(y, [x])
        v = numpy.array([0.3, -1.2])
        wanted = numpy.exp(-v * v / 2) / numpy.sqrt(2 * numpy.pi) * (v**3 - 4 * v)
        assert_allclose(session.run(y), wanted, rtol=1e-9)


def test_names_are_tensorflows():
    with dv.Graph().as_default():
        x = tf.placeholder(dv.float32, [None, 3])
        names = [f(x).op.name for f in (ops.relu, ops.relu6, ops.elu, ops.selu, ops.leaky_relu)]
        assert names == ["Relu", "Relu6", "Elu", "Selu", "LeakyRelu"]
        assert ops.relu(x).op.name == "Relu_1"
        assert ops.crelu(x).op.name == "CRelu/Relu"
        assert ops.relu(x, name="hidden").shape.as_list() == [None, 3]
        assert len(ops.relu(x).op.inputs) == 1


def test_wrong_dtypes_are_refused():
    with pytest.raises(TypeError, match="features"):
        ops.relu([True])
    with pytest.raises(TypeError, match="int32"):
        ops.elu([1, 2])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_the_slope_of_selu_at_zero_is_that_from_above(dtype):
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant([0.0, -0.0, 1e-3, -1e-3], dtype)
        slope = session.run(tf.gradients(tf.nn.selu(x), x)[0])
    assert_allclose(slope, [1.0507010] * 3 + [1.7563421], rtol=1e-6)
