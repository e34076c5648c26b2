"""Elementwise ops: TensorFlow's dtypes, names, errors and values that the samples do not show."""

import pickle

import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf
from daskvars.errors import InvalidArgumentError
from daskvars.graph.definitions.opdef import REGISTRY
from daskvars.graph.definitions.patterns import Elementwise
from daskvars.graph.definitions.static_values import partial_value
from daskvars.ops.array import broadcasting
from tests.sessions import run


def ops_of(graph, type):
    return [op for op in graph.get_operations() if op.type == type]


def test_string_kernels_of_elementwise_ops_are_ufuncs():
    # Fusion writes through their `out`, which nothing but a ufunc has.
    for definition in REGISTRY.values():
        if isinstance(definition.pattern, Elementwise) and isinstance(definition.kernel, str):
            assert isinstance(getattr(np, definition.kernel), np.ufunc), definition.type


@pytest.mark.parametrize("function", [dv.add, dv.tanh, dv.equal, dv.logical_and, dv.reduce_sum])
def test_functions_of_families_pickle(function):
    assert pickle.loads(pickle.dumps(function)) is function
    assert function.__doc__.splitlines()[0].endswith(".")


# -- dtypes ------------------------------------------------------------------------------------


@pytest.mark.parametrize("function", [tf.add, tf.multiply, tf.truediv, tf.maximum, tf.equal])
def test_dtypes_are_never_promoted(graph, function):
    with pytest.raises((TypeError, ValueError)):
        function(tf.constant(1.0), tf.constant(1))


def test_numbers_take_the_dtype_of_the_tensor(graph):
    x = tf.placeholder(tf.float64, [2])
    assert (x * 2).dtype == tf.float64
    assert tf.add(2, x).dtype == tf.float64
    with pytest.raises(TypeError, match=r"1\.5"):
        tf.add(tf.constant(1), 1.5)


@pytest.mark.parametrize(
    "dtype, quotient",
    [
        ("int8", "float32"),
        ("uint8", "float32"),
        ("int16", "float32"),
        ("int32", "float64"),
        ("int64", "float64"),
        ("float16", "float16"),
        ("float32", "float32"),
    ],
)
def test_true_division_of_integers_is_floating(graph, dtype, quotient):
    x, y = tf.constant(7, dtype), tf.constant(2, dtype)
    assert tf.truediv(x, y).dtype.name == quotient
    assert run(tf.truediv(x, y)) == 3.5
    assert run(tf.div(x, y)) == (3.5 if dtype.startswith("float") else 3)


def test_division_rounds_as_tensorflow_rounds(graph):
    x, y = tf.constant([7, -7, 7, -7]), tf.constant([2, 2, -2, -2])
    assert run(tf.floordiv(x, y)).tolist() == [3, -4, -4, 3]
    assert run(tf.truncatediv(x, y)).tolist() == [3, -3, -3, 3]
    assert run(tf.floormod(x, y)).tolist() == [1, 1, -1, -1]
    assert run(tf.truncatemod(x, y)).tolist() == [1, -1, 1, -1]
    assert run(tf.floordiv(tf.constant(1.0, tf.float64), 0.1)) == 10.0  # Python says 9.0


@pytest.mark.parametrize("function", [tf.floordiv, tf.floormod, tf.truncatediv, tf.truncatemod])
def test_integer_division_by_zero_fails_the_run(graph, function):
    x = tf.placeholder(tf.int32, [2])
    with pytest.raises(InvalidArgumentError, match="Integer division by zero"):
        run(function(tf.constant([1, 2]), x), {x: [1, 0]})
    nothing = function(tf.zeros([0, 2], tf.int32), x)  # none of it is divided
    assert run(nothing, {x: [1, 0]}).shape == (0, 2)


def test_div_no_nan(graph):
    assert run(tf.div_no_nan(tf.constant([1.0, 0.0]), 0.0)).tolist() == [0.0, 0.0]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision(graph, dtype):
    x = tf.constant([0.5, 1.0, 2.0], dtype)
    for function in (tf.exp, tf.sigmoid, tf.erf, tf.rsqrt, tf.square, tf.tanh, tf.softplus):
        y = function(x)
        assert y.dtype.name == dtype
        wide = run(function(tf.cast(x, tf.float32)))
        np.testing.assert_allclose(run(y).astype("f4"), wide, rtol=2e-2)


def test_cast(graph):
    x = tf.constant([1.8, -2.2])
    assert tf.cast(x, tf.float32) is x
    assert tf.cast(x, "int32").name == "Cast:0"
    assert tf.to_int64(x).name == "ToInt64:0"
    assert run(tf.cast(x, tf.bool)).tolist() == [True, True]
    ends = run(tf.saturate_cast(tf.constant([-3.0, 7e9, np.inf, -np.inf]), tf.int32)).tolist()
    assert ends == [-3, 2147483520, 2147483520, -(2**31)]  # the last float32 below 2^31
    with pytest.raises(TypeError, match="string"):
        tf.cast(tf.constant("a"), tf.float32)


def test_shapes_are_known_through_cast(graph):
    x = tf.placeholder(tf.float32, [None, 3])
    assert partial_value(tf.cast(tf.shape(x), tf.int64)) == (None, 3)
    assert tf.zeros(tf.cast(tf.shape(x), tf.int64)).shape.as_list() == [None, 3]


# -- names -------------------------------------------------------------------------------------


def test_names_of_operations(graph):
    x, y = tf.placeholder(tf.float32, name="x"), tf.placeholder(tf.float32, name="y")
    names = {
        "Add": tf.add(x, y),
        "Sub": tf.subtract(x, y),
        "Mul": tf.multiply(x, y),
        "truediv": tf.divide(x, y),
        "RealDiv": tf.realdiv(x, y),
        "div": tf.div(x, y),
        "floordiv": tf.floordiv(x, y),
        "FloorMod": tf.mod(x, y),
        "Pow": tf.pow(x, y),
        "Neg": tf.negative(x),
        "Maximum": tf.maximum(x, y),
        "LogSigmoid": tf.log_sigmoid(x),
        "clip_by_value": tf.clip_by_value(x, 0.0, 1.0),
        "AddN": tf.add_n([x, y, x]),
        "SquaredDifference": tf.squared_difference(x, y),
        "Less": tf.less(x, y),
    }
    for name, tensor in names.items():
        assert tensor.op.name == name
    assert [op.name for op in graph.get_operations() if op.name.startswith("LogSigmoid/")] == [
        "LogSigmoid/Neg",
        "LogSigmoid/Softplus",
    ]


def test_division_of_integers_casts_inside_its_scope(graph):
    x = tf.constant(3, name="x")
    tf.truediv(x, 2)
    assert [op.name for op in graph.get_operations()] == [
        "x",
        "truediv/y",
        "truediv/Cast",
        "truediv/Cast_1",
        "truediv",
    ]


# -- choosing ----------------------------------------------------------------------------------


def test_where_with_a_vector_chooses_rows_of_unknown_rank(graph):
    c, x, y = tf.placeholder(tf.bool), tf.placeholder(tf.int32), tf.placeholder(tf.int32)
    chosen = tf.where(c, x, y)
    feed = {x: np.arange(6).reshape(3, 2), y: -np.arange(6).reshape(3, 2)}
    assert run(chosen, {**feed, c: [True, False, True]}).tolist() == [[0, 1], [-2, -3], [4, 5]]
    assert run(chosen, {**feed, c: False}).tolist() == [[0, -1], [-2, -3], [-4, -5]]


def test_where_does_not_broadcast(graph):
    x = tf.zeros([2, 3])
    with pytest.raises(ValueError, match="Shapes must be equal"):
        tf.where(tf.constant([True, False, True]), x, x)
    with pytest.raises(ValueError, match=r"y of shape .*3.*where_v2 broadcasts"):
        tf.where(tf.constant(True), x, tf.zeros([3]))
    with pytest.raises(ValueError, match="both"):
        tf.where(tf.constant(True), x)
    assert tf.where(tf.constant([True])).shape.as_list() == [None, 1]


# -- gradients ---------------------------------------------------------------------------------


def test_gradients_of_equal_shapes_are_not_summed(graph):
    x, y = tf.placeholder(tf.float32, [4, 3]), tf.placeholder(tf.float32, [4, 3])
    tf.gradients(tf.tanh(x * y + x) / y, [x, y])
    assert not ops_of(graph, "SumToShape")


def test_gradients_of_an_open_batch_are_not_summed_over_it(graph):
    x, b = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.float32, [3])
    dx, db = tf.gradients(x + b, [x, b])
    assert [op.outputs[0].shape.as_list() for op in ops_of(graph, "SumToShape")] == [[3]]
    assert dx.shape.as_list() == [None, 3]
    assert run(db, {x: np.zeros((5, 3)), b: np.zeros(3)}).tolist() == [5.0] * 3


def test_gradients_of_unknown_shapes_are_summed_when_run(graph):
    x, y = tf.placeholder(tf.float32, [None, 3]), tf.placeholder(tf.float32, [None, 3])
    dx, dy = tf.gradients(x * y, [x, y])
    feed = {x: np.ones((1, 3)), y: np.full((4, 3), 2.0)}
    assert run(dx, feed).tolist() == [[8.0] * 3]
    assert run(dy, feed).tolist() == [[1.0] * 3] * 4


@pytest.mark.parametrize(
    "function, value, slope",
    [(tf.maximum, 2.0, (1.0, 0.0)), (tf.minimum, 2.0, (1.0, 0.0))],
)
def test_gradient_of_equal_extremes_goes_to_the_first(graph, function, value, slope):
    x, y = tf.constant(value), tf.constant(value)
    dx, dy = tf.gradients(function(x, y), [x, y])
    assert (run(dx), run(dy)) == slope


def test_gradient_of_power_at_zero(graph):
    x, y = tf.constant([0.0, 2.0]), tf.constant([2.0, 3.0])
    dx, dy = tf.gradients(x**y, [x, y])
    np.testing.assert_allclose(run(dx), [0.0, 12.0])
    np.testing.assert_allclose(run(dy), [0.0, 8 * np.log(2)], rtol=1e-6)


@pytest.mark.parametrize("function", [tf.sqrt, tf.rsqrt, tf.reciprocal])
def test_an_infinite_slope_does_no_harm_where_no_gradient_comes(graph, function):
    x, weights = tf.constant([4.0, 0.0, -np.inf, np.nan]), tf.constant([0.0, 1.0, 1.0, 1.0])
    y = function(x)
    (dx,) = tf.gradients(tf.where(x > 0, y, x), x)
    slope = run(dx)[0]
    assert run(dx)[1:].tolist() == [1.0, 1.0, 1.0]
    assert run(tf.gradients(tf.gradients(y * weights, x)[0][0], weights)[0])[0] == slope


def test_rounding_stops_gradients(graph):
    x = tf.constant([1.2])
    assert tf.gradients(tf.floor(x), x) == [None]
    assert run(tf.gradients(tf.sign(x), x)[0]).tolist() == [0.0]


@pytest.mark.parametrize("function", [tf.tanh, tf.sigmoid, tf.exp, tf.sqrt, tf.softplus, tf.erf])
def test_second_derivatives(graph, function):
    x = tf.constant(0.7, tf.float64)
    (first,) = tf.gradients(function(x), x)
    (second,) = tf.gradients(first, x)
    step = 1e-5
    sides = [run(first, {x: 0.7 + s * step}) for s in (1, -1)]
    np.testing.assert_allclose(run(second), (sides[0] - sides[1]) / (2 * step), rtol=1e-6)


# -- complex and special -----------------------------------------------------------------------


def test_complex_parts(graph):
    z = tf.complex(tf.constant([3.0, 0.0]), tf.constant([4.0, -1.0]))
    assert z.dtype == tf.complex64
    assert run(tf.abs(z)).tolist() == [5.0, 1.0]
    assert tf.abs(z).dtype == tf.float32
    np.testing.assert_allclose(run(tf.angle(z)), [np.arctan2(4, 3), -np.pi / 2], rtol=1e-6)
    x = tf.constant([1.0, -1.0])
    assert tf.real(x) is x and tf.conj(x) is x
    assert run(tf.imag(x)).tolist() == [0.0, 0.0]
    np.testing.assert_allclose(run(tf.angle(x)), [0.0, np.pi], rtol=1e-6)
    with pytest.raises(TypeError, match="incorrect types"):
        tf.complex(x, tf.constant([1, 2]))


def test_size_of_complex_numbers_is_differentiated_twice(graph):
    x, y = tf.constant([3.0, 0.0], tf.float64), tf.constant([4.0, 0.0], tf.float64)
    (slope,) = tf.gradients(tf.abs(tf.complex(x, y)), x)
    assert run(slope).tolist() == [0.6, 0.0]
    np.testing.assert_allclose(run(tf.gradients(slope, [x, y])), [[0.128, 0.0], [-0.096, 0.0]])


def test_polygamma_values(graph):
    # psi1(1) = pi^2 / 6; psi2(1) = -2 zeta(3).
    order = tf.constant([0.0, 1.0, 2.0], tf.float64)
    wanted = [-np.euler_gamma, np.pi**2 / 6, -2.4041138063191885]
    np.testing.assert_allclose(run(dv.polygamma(order, 1.0)), wanted, rtol=1e-13)
    # psi1(x) + psi1(1 - x) = (pi / sin(pi x))^2, and psi1 is the gradient of digamma.
    x = tf.constant([-1.3, -0.5, 0.3, -1.0], tf.float64)
    slope = run(tf.gradients(tf.digamma(x), x)[0])
    reflected = (np.pi / np.sin(np.pi * run(x[:3]))) ** 2 - run(dv.polygamma(1.0, 1.0 - x[:3]))
    np.testing.assert_allclose(slope[:3], reflected, rtol=1e-12)
    assert slope[3] == np.inf


# -- sums --------------------------------------------------------------------------------------


def test_add_n_refuses_what_does_not_add_up(graph):
    with pytest.raises(ValueError, match="at least one"):
        tf.add_n([])
    with pytest.raises(ValueError, match="both shapes must be equal, but are 2 and 1"):
        tf.add_n([tf.zeros([2]), tf.zeros([1])])
    x = tf.zeros([2])
    assert tf.add_n([x]) is x
    with pytest.raises(TypeError, match="tensor_dtype"):
        tf.accumulate_n([x, x], tensor_dtype=tf.int32)


def test_the_gradient_of_what_is_broadcast_is_a_sum_and_its_reshape(graph):
    """As in TensorFlow, whose programs look there for what a gradient is a product of (K-FAC)."""
    x, bias = tf.placeholder(tf.float32, [None, 3]), tf.get_variable("bias", [3])
    (slope,) = tf.gradients(tf.reduce_sum(tf.tanh(x + bias)), bias, name="grads")
    summed = slope.op.inputs[0].op
    assert (slope.op.name, slope.op.type) == ("grads/add_grad/Reshape", "Reshape")
    assert (summed.name, summed.type) == ("grads/add_grad/SumToShape", "SumToShape")
    assert [t.shape.as_list() for t in summed.inputs] == [[None, 3]]


def test_sum_to_shape_refuses_other_shapes(graph):
    with pytest.raises(ValueError, match="not the broadcast"):
        broadcasting.sum_to_shape(tf.zeros([2, 3]), [2])


def test_scalar_mul(graph):
    slices = tf.IndexedSlices(tf.ones([2, 3]), tf.constant([0, 4]))
    scaled = tf.scalar_mul(3.0, slices)
    assert scaled.indices is slices.indices
    assert run(scaled.values).tolist() == [[3.0] * 3] * 2
    with pytest.raises(ValueError, match="Only scalar"):
        tf.scalar_mul(tf.constant([1.0]), tf.ones([2]))


def test_strings_compare(graph):
    x = tf.constant(["a", "bc"])
    assert run(tf.equal(x, "a")).tolist() == [True, False]
    assert run(tf.not_equal(x, ["a", "b"])).tolist() == [False, True]
    with pytest.raises(TypeError):
        tf.less(x, x)


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_sigmoid_of_complex_numbers_does_not_overflow(graph, dtype):
    z = np.array([1 + 2j, -3 - 0.5j, 1000 + 1j, -1000 + 1j], dtype)
    found = run(tf.sigmoid(tf.constant(z)))
    assert found.dtype == dtype
    np.testing.assert_allclose(found[:2], 1 / (1 + np.exp(-z[:2])), rtol=1e-5)
    np.testing.assert_allclose(found[2:], [1, 0], atol=1e-30)


@pytest.mark.parametrize("function", [tf.nn.softplus, tf.erf, tf.ceil, tf.nn.softmax, tf.nn.elu])
def test_functions_of_real_numbers_refuse_complex_ones(graph, function):
    with pytest.raises(TypeError, match="complex64 not in list of allowed values"):
        function(tf.constant([1 + 2j], tf.complex64))
