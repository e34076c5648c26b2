"""Assertions: what they accept and refuse, at once and when run, in graphs and eagerly."""

import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf

COMPARISONS = {  # symbol: (name, x that holds against [1, 2], x that does not)
    "==": ("assert_equal", [1, 2], [1, 3]),
    "!=": ("assert_none_equal", [0, 3], [0, 2]),
    "<": ("assert_less", [0, 1], [1, 1]),
    "<=": ("assert_less_equal", [1, 1], [2, 2]),
    ">": ("assert_greater", [2, 3], [1, 3]),
    ">=": ("assert_greater_equal", [1, 3], [0, 3]),
}
SIGNS = {
    "assert_negative": ([-1.0], [0.0]),
    "assert_positive": ([1.0], [0.0]),
    "assert_non_negative": ([0.0], [-1.0]),
    "assert_non_positive": ([0.0], [1.0]),
}


@pytest.fixture(autouse=True)
def graph():
    tf.reset_default_graph()


@pytest.mark.parametrize("symbol", COMPARISONS)
def test_a_comparison_is_checked_when_run(symbol):
    name, good, bad = COMPARISONS[symbol]
    x = tf.placeholder(tf.int32, [2], name="x")
    check = getattr(tf, name)(x, [1, 2], message="no good")
    with tf.control_dependencies([check]):
        y = tf.identity(x)
    with tf.Session() as sess:
        assert sess.run(y, {x: good}).tolist() == good
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            sess.run(y, {x: bad})
    assert "no good" in str(caught.value)
    assert f"Condition x {symbol} y did not hold" in str(caught.value)
    assert "x (x:0) = " in str(caught.value)


@pytest.mark.parametrize("symbol", COMPARISONS)
@pytest.mark.parametrize("module", [tf, dv], ids=["graph", "eager"])
def test_a_comparison_of_known_values_is_checked_at_once(symbol, module):
    name, good, bad = COMPARISONS[symbol]
    function = getattr(module, name)
    function(good, [1, 2])
    with pytest.raises(tf.errors.InvalidArgumentError, match="did not hold"):
        function(module.constant(bad), [1, 2])


def test_an_eager_assertion_on_computed_values_raises_at_the_call():
    x = dv.constant([1.0, 2.0]) * 2.0
    dv.assert_less(x, 5.0)
    with pytest.raises(dv.errors.InvalidArgumentError, match="x < y did not hold"):
        dv.assert_less(x, 4.0)


def test_equal_to_itself_holds_even_of_nan():
    x = tf.constant([np.nan])
    assert tf.assert_equal(x, x).type == "NoOp"


@pytest.mark.parametrize("name", SIGNS)
def test_signs(name):
    good, bad = SIGNS[name]
    getattr(tf, name)(good)
    getattr(tf, name)([])
    with pytest.raises(tf.errors.InvalidArgumentError, match="0 did not hold"):
        getattr(tf, name)(bad)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64"])
def test_near_by_default_allows_ten_spacings(dtype):
    one = tf.constant(1.0, dtype)
    spacing = {"float16": 2**-10, "bfloat16": 2**-7, "float32": 2**-23, "float64": 2**-52}[dtype]
    tf.assert_near(one, tf.constant(1 + 15 * spacing, dtype))
    with pytest.raises(tf.errors.InvalidArgumentError, match="not equal to tolerance"):
        tf.assert_near(one, tf.constant(1 + 45 * spacing, dtype))


def test_own_data_replaces_the_default():
    with pytest.raises(tf.errors.InvalidArgumentError, match="only this"):
        tf.assert_equal(1, 2, data=["only this"])


@pytest.mark.parametrize(
    "values, non_decreasing, increasing",
    [
        ([], True, True),
        ([3], True, True),
        ([1, 2], True, True),
        ([1, 1], True, False),
        ([[1, 2], [3, 2]], False, False),
    ],
)
def test_order(values, non_decreasing, increasing):
    x = dv.constant(values, dv.int32)
    assert bool(dv.is_non_decreasing(x)) is non_decreasing
    assert bool(dv.is_strictly_increasing(x)) is increasing


@pytest.mark.parametrize(
    "name, rank, wrong, words",
    [
        ("assert_rank", 2, 1, "must have rank 1"),
        ("assert_rank_at_least", 1, 3, "must have rank at least 3"),
        ("assert_rank_in", (0, 2), (1, 3), r"must have rank in \(1, 3\)"),
    ],
)
def test_ranks(name, rank, wrong, words):
    function = getattr(tf, name)
    known, unknown = tf.zeros([2, 3]), tf.placeholder(tf.float32, name="u")
    assert function(known, rank).type == "NoOp"
    with pytest.raises(ValueError, match=words):
        function(known, wrong)
    check, failing = function(unknown, rank), function(unknown, wrong)
    with tf.Session() as sess:
        sess.run(check, {unknown: np.ones((2, 3))})
        with pytest.raises(tf.errors.InvalidArgumentError, match="Tensor u:0 must have rank"):
            sess.run(failing, {unknown: np.ones((2, 3))})


def test_a_wanted_rank_is_a_scalar_int32():
    with pytest.raises(ValueError, match="Rank must be a scalar"):
        tf.assert_rank([1.0], [1])
    with pytest.raises(TypeError, match="must be of type <dtype: 'int32'>"):
        tf.assert_rank([1.0], 0.5)
    rank = tf.placeholder(tf.int32)
    check = tf.assert_rank(tf.zeros([2]), rank)
    with tf.Session() as sess:
        sess.run(check, {rank: 1})
        with pytest.raises(tf.errors.InvalidArgumentError, match="Rank must be a scalar"):
            sess.run(check, {rank: [1, 1]})


def test_types():
    tf.assert_type(1.0, tf.float32)
    tf.assert_integer(1)
    assert tf.assert_same_float_dtype([tf.constant(1.0, tf.float64), None]) is tf.float64
    assert tf.assert_same_float_dtype() is tf.float32
    with pytest.raises(TypeError, match=r"must be of type.*int32.*Use cast"):
        tf.assert_type(1.0, tf.int32)
    with pytest.raises(TypeError, match="to be integer type"):
        tf.assert_integer(1.0)
    with pytest.raises(ValueError, match="must be of the same type"):
        tf.assert_same_float_dtype([tf.constant(1.0), tf.constant(1.0, tf.float64)])
    with pytest.raises(ValueError, match="Expected floating point type"):
        tf.assert_same_float_dtype([tf.constant(1)])
    with pytest.raises(ValueError, match="Expected scalar shape"):
        tf.assert_scalar([1.0])


@pytest.mark.parametrize("values", [np.ones(2), "text", b"bytes", 3])
def test_improper_iterables(values):
    tf.assert_proper_iterable(v for v in [1])
    with pytest.raises(TypeError, match="iterable"):
        tf.assert_proper_iterable(values)


def test_shapes_by_symbols():
    x, y = tf.zeros([3, 2]), tf.placeholder(tf.float32, [None, 2], name="y")
    tf.debugging.assert_shapes({x: ("n", 2), tf.zeros([]): (), tf.zeros([7, 3]): ("*", "n")})
    with pytest.raises(ValueError, match=r"dimension 1 must have size 4.  Received size 2"):
        tf.debugging.assert_shapes([(x, ("n", 4))])
    with pytest.raises(ValueError, match="only allowed as the first entry"):
        tf.debugging.assert_shapes([(x, ("n", ...))])
    check = tf.debugging.assert_shapes([(x, ("n", None)), (y, ("n", "."))])
    with tf.Session() as sess:
        sess.run(check, {y: np.ones((3, 2))})
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"\[must have size\] \[3\]"):
            sess.run(check, {y: np.ones((4, 2))})
