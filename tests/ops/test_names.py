"""Values and errors of bits, gamma functions, searching, spreading, matrix forms, static shapes.

Numbers without a formula are TensorFlow's.
"""

import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf
from daskvars.errors import InvalidArgumentError

A = np.array([0.5, 1.0, 3.0, 20.0, 100.0, 1e4])
X = np.array([0.1, 2.0, 3.5, 10.0, 130.0, 1.01e4])


def as_list(value):
    return dv.convert_to_tensor(value).numpy().tolist()


# -- bits --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "function, inputs, wanted",
    [
        (dv.bitwise.left_shift, ([-1, -5, 3], [1, 2, 4]), [-2, -20, 48]),
        (dv.bitwise.right_shift, ([-1, -5, 48], [1, 1, 4]), [-1, -3, 3]),
        (dv.bitwise.invert, ([0, 5, -7],), [-1, -6, 6]),
        (dv.bitwise.invert, (np.uint8([0, 5]),), [255, 250]),
        (dv.bitwise.bitwise_xor, ([6], [3]), [5]),
    ],
)
def test_bits(function, inputs, wanted):
    assert as_list(function(*inputs)) == wanted


def test_bitcast_changes_the_shape_with_the_width():
    as_bytes = dv.bitcast(dv.constant([1.0, -2.0]), dv.uint8)
    assert as_list(as_bytes) == [[0, 0, 128, 63], [0, 0, 0, 192]]
    assert as_list(dv.bitcast(as_bytes, dv.float32)) == [1.0, -2.0]
    with pytest.raises(ValueError, match="must be 2"):
        dv.bitcast(dv.zeros([3], dv.int32), dv.int64)


# -- gamma and beta ----------------------------------------------------------------------------


def test_incomplete_gamma():
    lower = [
        0.345279153981423,
        0.8646647167633873,
        0.6791528011378658,
        0.0034543419758568334,
        0.9972495916326937,
        0.8413487504506938,
    ]
    upper = [
        0.6547208460185769,
        0.1353352832366127,
        0.32084719886213414,
        0.9965456580241432,
        0.0027504083673063613,
        0.15865124954930626,
    ]
    slope = [
        -0.8229360969795988,
        -0.22082542621185938,
        -0.2109843561898342,
        -0.002608218181246983,
        -0.0008101300285622401,
        -0.002415688003123832,
    ]
    np.testing.assert_allclose(dv.igamma(A, X).numpy(), lower, rtol=1e-10)
    np.testing.assert_allclose(dv.igammac(A, X).numpy(), upper, rtol=1e-10)
    with dv.GradientTape() as tape:
        a = dv.constant(A)
        found = dv.igamma(a, X)
    np.testing.assert_allclose(tape.gradient(found, a).numpy(), slope, rtol=1e-8)


def test_incomplete_functions_at_the_ends_of_their_domain():
    nan = np.nan
    ends = dv.igamma([1.0, 1.0, 0.0, -1.0, 1.0, 1.0], [0.0, np.inf, 1.0, 1.0, -1.0, nan])
    np.testing.assert_array_equal(ends.numpy(), [0, 1, nan, nan, nan, nan])
    ends = dv.betainc(
        [1.0, 1.0, 0.0, 1.0, 1.0], [1.0, 1.0, 1.0, -1.0, 1.0], [0.0, 1.0, 0.5, 0.5, 1.5]
    )
    np.testing.assert_array_equal(ends.numpy(), [0, 1, nan, nan, nan])


def test_incomplete_beta():
    a, b = np.array([0.5, 1, 3, 20, 100, 2]), np.array([0.5, 2, 5, 3, 120, 3])
    found = dv.betainc(a, b, np.array([0.3, 0.5, 0.2, 0.95, 0.4, 0.999])).numpy()
    wanted = [
        0.36901011956554536,
        0.75,
        0.14803199999999989,
        0.9051769540815686,
        0.051042319230409285,
        0.999999996003,
    ]
    np.testing.assert_allclose(found, wanted, rtol=1e-11)


def test_zeta():
    found = dv.zeta(np.array([1.5, 2, 3, 10]), np.array([1, 0.5, 4, 2.0])).numpy()
    wanted = [2.612375348685488, 4.93480220054468, 0.04001986612255725, 0.0009945751278180857]
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
    np.testing.assert_array_equal(
        dv.zeta([1.0, 0.5, 2.0], [1.0, 1.0, 0.0]).numpy(), [np.inf, np.nan, np.inf]
    )


def test_a_factor_of_zero_decides():
    assert as_list(dv.math.xlogy([0.0, 0.0], [0.0, -1.0])) == [0, 0]
    assert as_list(dv.math.xdivy([0.0, 2.0], [0.0, 0.0])) == [0, np.inf]
    assert as_list(dv.math.multiply_no_nan([np.nan, np.inf, 2.0], [0.0, 0.0, 3.0])) == [0, 0, 6]
    assert as_list(dv.math.reciprocal_no_nan([0.0, 4.0])) == [0, 0.25]


# -- searching and spreading -------------------------------------------------------------------


def test_searchsorted_row_by_row():
    found = dv.searchsorted([[1, 3, 5], [2, 4, 6]], [[0, 3], [6, 7]], side="right")
    assert as_list(found) == [[0, 2], [3, 3]]
    with pytest.raises(ValueError, match="side"):
        dv.searchsorted([1], [1], side="middle")
    with pytest.raises(ValueError, match="Leading dim_size"):
        dv.searchsorted([[1]], [[1], [2]])


@pytest.mark.parametrize("count", [1, 2, 3, 7, 8, 9])
@pytest.mark.parametrize("side", ["left", "right"])
def test_searchsorted_in_rows_is_numpy_s(count, side):
    rng = np.random.default_rng(count)
    rows = np.sort(rng.integers(0, 6, (5, count)), axis=1)
    wanted = rng.integers(-1, 8, (5, 4))
    found = dv.searchsorted(rows, wanted, side).numpy()
    for row, values, places in zip(rows, wanted, found, strict=True):
        np.testing.assert_array_equal(places, np.searchsorted(row, values, side))


def test_setdiff1d_of_strings():
    out, places = dv.setdiff1d(["a", "b", "a", "c"], ["b"])
    assert (as_list(out), as_list(places)) == ([b"a", b"a", b"c"], [0, 2, 3])


def test_unravel_index_refuses_what_is_outside():
    with pytest.raises(InvalidArgumentError, match="out of bound"):
        dv.unravel_index([9], [3, 3]).numpy()


@pytest.mark.parametrize(
    "arguments, wanted",
    [
        (([[1, 2], [3, 4]], 2), [1, 1, 2, 2, 3, 3, 4, 4]),
        (([[1, 2], [3, 4]], [1, 2], 1), [[1, 2, 2], [3, 4, 4]]),
        ((3, 4), [3, 3, 3, 3]),
        (([1, 2], [3]), [1, 1, 1, 2, 2, 2]),
    ],
)
def test_repeat(arguments, wanted):
    assert as_list(dv.repeat(*arguments)) == wanted


def test_repeat_takes_whole_numbers():
    with pytest.raises(TypeError, match="repeats must be int32 or int64, got float32"):
        dv.repeat([1, 2], 2.0)


def test_repeat_knows_its_shape_where_the_graph_does():
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [None, 3])
        assert tf.repeat(x, 2, 1).shape.as_list() == [None, 6]
        assert tf.repeat(x, [1, 0, 2], 1).shape.as_list() == [None, 3]
        n = tf.placeholder(tf.int32, [])
        found = sess.run(tf.repeat(x, n, 0), {x: [[1, 2, 3], [4, 5, 6]], n: 2})
        assert found.tolist() == [[1, 2, 3]] * 2 + [[4, 5, 6]] * 2


@pytest.mark.parametrize(
    "arguments, wanted",
    [
        (([[0, 1], [1, 0]], [2, 3], [5, 6], -1), [[-1, 5, -1], [6, -1, -1]]),
        ((3, [5], 1.5), [0, 0, 0, 1.5, 0]),
        (([0, 2], [3], 7), [7, 0, 7]),
    ],
)
def test_sparse_to_dense(arguments, wanted):
    assert as_list(dv.sparse_to_dense(*arguments)) == wanted


@pytest.mark.parametrize("values, wanted_slope", [(7.0, 2.0), ([7.0, 7.0], [1.0, 1.0])])
def test_sparse_to_dense_of_values_of_unknown_rank(values, wanted_slope):
    with tf.Graph().as_default(), tf.Session() as session:
        fed = tf.placeholder(tf.float32)
        dense = tf.sparse_to_dense([0, 2], [3], fed)
        (slope,) = tf.gradients(dense, fed)
        found, by_value = session.run((dense, slope), {fed: values})
        assert (found.tolist(), by_value.tolist()) == ([7, 0, 7], wanted_slope)
        for wrong in ([7.0], [1.0, 2.0, 3.0]):
            with pytest.raises(InvalidArgumentError, match="sparse_values has incorrect shape"):
                session.run(dense, {fed: wrong})


@pytest.mark.parametrize("places, problem", [([2, 1], "out of order"), ([1, 1], "repeated")])
def test_sparse_to_dense_wants_places_in_order(places, problem):
    with pytest.raises(InvalidArgumentError, match=rf"indices\[1\] = \[1\] is {problem}"):
        dv.sparse_to_dense(places, [3], 7).numpy()
    assert as_list(dv.sparse_to_dense(places, [3], 7, validate_indices=False))[1] == 7


def test_scatter_nd_into_a_variable():
    with tf.Graph().as_default(), tf.Session() as sess:
        v = tf.Variable([[1, 2], [3, 4]])
        sess.run(v.initializer)
        assert sess.run(tf.scatter_nd_update(v, [[0, 1]], [9])).tolist() == [[1, 9], [3, 4]]
        assert sess.run(tf.scatter_nd_add(v, [[1]], [[1, 1]])).tolist() == [[1, 9], [4, 5]]
        assert sess.run(tf.scatter_nd_sub(v, [[1, 0]], [4])).tolist() == [[1, 9], [0, 5]]
        assert sess.run(v).tolist() == [[1, 9], [0, 5]]


# -- matrices ----------------------------------------------------------------------------------


def test_matrix_forms():
    sign, logarithm = dv.linalg.slogdet([[1.0, 2.0], [3.0, 4.0]])
    np.testing.assert_allclose([sign.numpy(), logarithm.numpy()], [-1, np.log(2)], rtol=1e-6)
    found = dv.linalg.logdet([[2.0, 0.5], [0.5, 1.0]]).numpy()
    np.testing.assert_allclose(found, 0.5596157879354228, rtol=1e-6)


@pytest.mark.parametrize(
    "matrix, rhs, options, wanted",
    [
        (
            [[1, 2], [3, 4], [5, 6]],
            [1, 0, 2],
            {"l2_regularizer": 0.5},
            [0.07885304659498117, 0.1863799283154129],
        ),
        (
            [[1, 2, 3], [4, 5, 6]],
            [1, 2],
            {},
            [-0.055555555555556024, 0.11111111111111105, 0.2777777777777781],
        ),
        ([[1, 2], [3, 4], [5, 6]], [1, 0, 2], {"fast": False}, [0, 0.25]),
        ([[1, 1], [1, 1]], [1, 3], {"fast": False}, [1, 1]),
    ],
)
def test_least_squares(matrix, rhs, options, wanted):
    rhs = np.array(rhs, float)[:, None]
    found = dv.linalg.lstsq(np.array(matrix, float), rhs, **options)
    np.testing.assert_allclose(found.numpy()[:, 0], wanted, atol=1e-9)


# -- what is known without a run ---------------------------------------------------------------


def test_static_values_and_shapes():
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [None, 3])
        assert tf.get_static_value(tf.shape(x)) is None
        assert tf.get_static_value(tf.shape(x), partial=True).tolist() == [None, 3]
        assert tf.get_static_value(tf.constant([1, 2])).tolist() == [1, 2]
        assert tf.is_tensor(x)
        assert tf.is_tensor(tf.Variable(1.0))
        assert not tf.is_tensor(np.ones(3))
        joint = tf.broadcast_dynamic_shape(tf.shape(x), [4, 1, 3])
        assert joint.shape.as_list() == [3]
        assert sess.run(joint, {x: np.zeros((2, 3))}).tolist() == [4, 2, 3]
    assert tf.broadcast_static_shape(tf.TensorShape([None, 1]), tf.TensorShape([3]))[1] == 3
    assert dv.dimension_at_index(tf.TensorShape(None), 2).value is None
    with pytest.raises(ValueError, match=r"[Ii]ncompatible shapes"):
        tf.broadcast_static_shape(tf.TensorShape([2]), tf.TensorShape([3]))


# -- checks and Python -------------------------------------------------------------------------


def test_checks_of_a_whole_graph_name_the_tensor():
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.placeholder(tf.float32, [], name="x")
        tf.log(x, name="logarithm")
        checks = tf.add_check_numerics_ops()
        sess.run(checks, {x: 1.0})
        with pytest.raises(InvalidArgumentError, match="logarithm:0"):
            sess.run(checks, {x: 0.0})
    with pytest.raises(RuntimeError, match="eager"):
        dv.add_check_numerics_ops()
    for body in (
        lambda x: tf.cond(x > 0, lambda: tf.log(x), lambda: x),
        lambda x: tf.while_loop(lambda y: y > 1.0, tf.sqrt, [x]),
    ):
        with tf.Graph().as_default():
            body(tf.placeholder(tf.float32, []))
            with pytest.raises(ValueError, match="not compatible with TensorFlow control flow"):
                tf.add_check_numerics_ops()
    for numbers, kind in (([np.inf], "Inf"), ([np.nan], "NaN"), ([np.nan, -np.inf], "Inf and NaN")):
        with pytest.raises(InvalidArgumentError, match=f"the sum : Tensor had {kind} values"):
            dv.check_numerics(numbers, "the sum").numpy()


def test_a_python_function_of_tensors():
    seen = []

    def halved(a, n):
        seen.append(hasattr(a, "numpy"))
        return tf.square(a) * 0.5, n + 1

    with tf.Graph().as_default(), tf.Session() as sess:
        x, n = tf.constant([2.0, 3.0]), tf.constant(4)
        half, more = tf.py_function(halved, [x, n], [tf.float32, tf.int32])
        slope = tf.gradients(half, x)[0]
        results = sess.run([half, more, slope, tf.gradients(slope, x)[0]])
    assert [np.asarray(r).tolist() for r in results] == [[2.0, 4.5], 5, [2.0, 3.0], [1.0, 1.0]]
    assert all(seen)
    assert float(dv.py_function(lambda a: a * 2.0, [3.0], dv.float32)) == 6.0


def test_py_function_has_a_gradient_where_only_rows_are_used():
    with tf.Graph().as_default(), tf.Session() as sess:
        x = tf.constant([[1.0], [2.0], [3.0]])
        rows = tf.py_function(lambda x: dv.gather(x, [0, 0, 2]), [x], tf.float32)
        slope = sess.run(tf.gradients(rows * rows, x)[0])
    assert slope.tolist() == [[4.0], [0.0], [6.0]]


@pytest.mark.parametrize("index, wanted", [(0, 10), (1, 30), (7, 30), (-1, 30)])
def test_switch_case_takes_the_last_for_other_numbers(index, wanted):
    functions = {1: lambda: dv.constant(30), 0: lambda: dv.constant(10)}
    assert int(dv.switch_case(dv.constant(index), functions)) == wanted


@pytest.mark.parametrize(
    ("numbers", "error", "words"),
    [
        ([0, 2], ValueError, "must form contiguous .0 to 2."),
        ([0, 1, 0], ValueError, "each once, but found .0, 0, 1."),
        (["a"], TypeError, "must be a Python `int`"),
    ],
)
def test_switch_case_refuses_numbers_with_gaps(numbers, error, words):
    with pytest.raises(error, match=words):
        dv.switch_case(dv.constant(0), [(n, lambda: dv.constant(1.0)) for n in numbers])


@pytest.mark.parametrize("name", ["bitwise", "linalg", "math", "random", "strings"])
def test_a_namespace_is_there_in_both_modes(name):
    namespace = getattr(dv, name)
    assert namespace.__all__ == sorted(namespace.__all__)
    assert set(namespace.__all__) <= set(vars(getattr(tf, name)))
    with tf.Graph().as_default():
        for member in namespace.__all__:
            assert callable(getattr(getattr(tf, name), member))


def test_a_namespace_of_v1_builds_graphs():
    tf.reset_default_graph()
    assert tf.math.xlogy(1.0, 2.0).graph is tf.get_default_graph()
    assert tf.random.normal([2]).graph is tf.get_default_graph()
    tf.reset_default_graph()
