"""Behaviours that documents on TensorFlow's variables show, in graph mode as written there.

What a file next to this one tests in detail is left out here.
"""

import numpy as np
import pytest

import daskvars.v1 as tf
from daskvars.errors import FailedPreconditionError
from tests.sessions import initialized, run


@pytest.fixture(autouse=True)
def fresh():
    tf.reset_default_graph()


def names(variables=None):
    return [v.name for v in (tf.global_variables() if variables is None else variables)]


# -- the constructor -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "rank", "dtype", "fetched"),
    [
        ("Orange", 0, tf.string, b"Orange"),
        ("\u00e9t\u00e9", 0, tf.string, "\u00e9t\u00e9".encode()),
        (b"\x00\xff", 0, tf.string, b"\x00\xff"),
        (["a", "bc"], 1, tf.string, [b"a", b"bc"]),
        ([[True, False], [False, True]], 2, tf.bool, [[True, False], [False, True]]),
        (3.5, 0, tf.float32, 3.5),
        (1 + 2j, 0, tf.complex128, 1 + 2j),
    ],
)
def test_values_of_any_kind_and_rank(value, rank, dtype, fetched):
    v = tf.Variable(value)
    assert v.dtype.base_dtype is dtype and v.get_shape().ndims == rank
    found, found_rank = run([v, tf.rank(v)])
    assert np.asarray(found).tolist() == fetched and found_rank == rank


@pytest.mark.parametrize("dtype", [tf.int16, tf.float32, tf.float64])
def test_a_dtype_in_the_second_place_or_by_keyword(dtype):
    made = [tf.Variable(2, dtype), tf.Variable(2, dtype=dtype)]
    assert all(v.trainable for v in made)
    assert {x.dtype for x in run(made)} == {np.dtype(dtype.as_numpy_dtype)}


def test_initial_values_are_tensors():
    biases = tf.Variable(tf.zeros([100]))
    weights = tf.Variable(tf.random_normal([784, 100], stddev=0.1))
    assert (biases.shape, weights.shape) == ([100], [784, 100])
    b, w = run([biases, weights])
    assert not b.any() and abs(w.std() - 0.1) < 0.005


def test_expressions_of_variables():
    v, i = tf.Variable(1.0), tf.Variable(1)
    expression = v + 1
    assert isinstance(expression, tf.Tensor) and not isinstance(v, tf.Tensor)
    assert expression.dtype is tf.float32 and (v[None] + v).shape == [1]
    with pytest.raises(TypeError):
        i + 1.0
    with initialized() as session:
        assert session.run(expression) == 2.0
        session.run(v.assign(5.0))
        assert session.run(expression) == 6.0


def test_only_variables_can_be_assigned():
    v = tf.Variable([1.0, 2.0])
    for value in (v + 1.0, v.value(), [1.0]):
        with pytest.raises(AttributeError, match="no variable"):
            tf.assign(value, value)
        with pytest.raises(AttributeError, match="no variable"):
            tf.scatter_update(value, [0], [1.0])


# -- get_variable --------------------------------------------------------------------------------


def test_default_initializers_draw_and_draw_again():
    a, b = tf.get_variable("a", [1, 2, 3]), tf.get_variable("b", [1, 2, 3])
    n = tf.get_variable("n", [2], tf.int32)
    with initialized() as session:
        first, other, zeros = session.run([a, b, n])
        assert not np.array_equal(first, other) and zeros.tolist() == [0, 0]
        assert np.array_equal(session.run(a), first)
        session.run(a.initializer)
        assert not np.array_equal(session.run(a), first)


def test_constants_as_initializers():
    given = [
        (tf.get_variable("a", initializer=tf.constant([23, 42])), [23, 42]),
        (tf.get_variable("b", initializer=tf.constant(0.5, shape=[3, 2])), [[0.5, 0.5]] * 3),
        (
            tf.get_variable("c", [3, 2], initializer=tf.constant_initializer([1, 2, 3, 4, 5, 6])),
            [[1, 2], [3, 4], [5, 6]],
        ),
        (
            tf.get_variable("d", [3, 2], initializer=tf.constant_initializer([1, 2])),
            [[1, 2], [2, 2], [2, 2]],
        ),
        (tf.get_variable("e", [2], tf.int32, tf.ones_initializer), [1, 1]),
    ]
    with initialized() as session:
        for variable, values in given:
            assert session.run(variable).tolist() == values


@pytest.mark.parametrize("dtype", [tf.qint8, tf.quint8, tf.qint32])
def test_quantized_variables(dtype):
    q = tf.get_variable("q", [2], dtype, initializer=tf.zeros_initializer())
    assert q.dtype.base_dtype is dtype
    with initialized() as session:
        assert session.run(q).dtype.kind in "iu"
        assert session.run(tf.cast(q, tf.float32)).tolist() == [0.0, 0.0]


# -- names ---------------------------------------------------------------------------------------


def test_a_function_called_again_makes_new_names():
    def build():
        x, y = tf.Variable(1, name="x_scalar"), tf.Variable(2, name="y_scalar")
        return x.name, y.name, tf.add(x, y, name="add_function").name

    assert build() == ("x_scalar:0", "y_scalar:0", "add_function:0")
    assert build() == ("x_scalar_1:0", "y_scalar_1:0", "add_function_1:0")


def test_names_of_ops():
    a, b = tf.split(tf.zeros([4]), 2, name="sp")
    assert (a.name, b.name, a.op is b.op) == ("sp:0", "sp:1", True)
    v = tf.Variable(1.0)
    made = [v + 1, v + 1, v - 1, v * 2, tf.constant(1), tf.constant(1)]
    assert [t.op.name for t in made] == ["add", "add_1", "sub", "mul", "Const", "Const_1"]
    made = [v.assign(1.0), v.assign_add(1.0), v.assign_sub(1.0), tf.assign(v, 1.0, name="mine")]
    assert [t.name for t in made] == ["Assign:0", "AssignAdd:0", "AssignSub:0", "mine:0"]


# -- sharing -------------------------------------------------------------------------------------


def affine(x, make):
    w, b = make("W", [2, 3]), make("b", [3])
    return tf.nn.relu(tf.matmul(x, w) + b), w, b


def test_a_scope_of_constructors_is_not_shared():
    x = tf.ones([1, 2])
    made = []
    for _ in range(2):
        with tf.variable_scope("n1"):
            made.append(affine(x, lambda name, shape: tf.Variable(tf.random_normal(shape)))[0])
    assert [t.op.name for t in made] == ["n1/Relu", "n1_1/Relu"]
    assert names() == ["n1/Variable:0", "n1/Variable_1:0", "n1_1/Variable:0", "n1_1/Variable_1:0"]


def test_a_scope_of_get_variable_is_shared_under_reuse():
    x = tf.placeholder(tf.float32, [None, 2])
    with tf.variable_scope("n2"):
        first, w, b = affine(x, tf.get_variable)
    with tf.variable_scope("n2", reuse=True):
        second, *again = affine(x, tf.get_variable)
    assert again == [w, b] and names() == ["n2/W:0", "n2/b:0"]
    assert (first.op.name, second.op.name) == ("n2/Relu", "n2_1/Relu")
    assert np.array_equal(*run([first, second], {x: [[1.0, 2.0]]}))
    with tf.variable_scope("nl1", reuse=True), pytest.raises(ValueError, match="does not exist"):
        affine(x, tf.get_variable)


@pytest.mark.parametrize("how", ["reuse argument", "captured scope", "reuse_variables"])
def test_a_model_of_nested_scopes_is_shared(how):
    def model(x):
        for layer in ("conv1", "conv2"):
            with tf.variable_scope(layer):
                x = x * tf.get_variable("weights", []) + tf.get_variable("biases", [])
        return x

    with tf.variable_scope("model") as scope:
        model(tf.ones([2]))
        with pytest.raises(ValueError, match="already exists"):
            model(tf.ones([3]))
        if how == "reuse_variables":
            scope.reuse_variables()
            assert model(tf.ones([3])).shape == [3]
    if how != "reuse_variables":
        with tf.variable_scope("model" if how == "reuse argument" else scope, reuse=True):
            assert model(tf.ones([3])).shape == [3]
    layers = [f"model/conv{i}/{part}:0" for i in (1, 2) for part in ("weights", "biases")]
    assert names() == layers


def test_the_root_scope_once_reusing_stays_so():
    def build():
        x = tf.get_variable("x", initializer=tf.constant(1))
        return x, tf.add(x, x, name="add_function1")

    x, first = build()
    tf.get_variable_scope().reuse_variables()
    again, second = build()
    assert again is x and second.op.name == "add_function1_1"
    with tf.variable_scope("root1"):
        assert tf.get_variable_scope().reuse is True
        with pytest.raises(ValueError, match="does not exist"):
            tf.get_variable("new", [1])
    assert run([first, second]) == [2, 2]


# -- scopes --------------------------------------------------------------------------------------


def test_default_initializers_of_scopes():
    def value_of(name, **arguments):
        v = tf.get_variable(name, [], **arguments)
        session.run(v.initializer)
        return session.run(v)

    constant = tf.constant_initializer
    with tf.Session() as session, tf.variable_scope("foo", initializer=constant(0.5)) as foo:
        assert value_of("v") == 0.5
        assert value_of("w", initializer=constant(0.25)) == 0.25
        with tf.variable_scope("bar"):
            assert value_of("v") == 0.5
        with tf.variable_scope("baz", initializer=constant(2.0)):
            assert value_of("v") == 2.0
        with tf.variable_scope(foo):
            assert value_of("x") == 0.5
        with tf.variable_scope(foo, initializer=constant(4.0)):
            assert value_of("y") == 4.0
        assert value_of("z") == 0.5


def test_ops_in_scopes():
    with tf.variable_scope("foo"):
        v = tf.get_variable("v", [1])
        x = 1.0 + v
        with tf.name_scope("bar"):
            y = 1.0 + v
    with tf.variable_scope("foo"):
        assert tf.constant(1, name="c").name == "foo_1/c:0"
    assert (v.name, x.op.name, y.op.name) == ("foo/v:0", "foo/add", "foo/bar/add")


# -- collections ---------------------------------------------------------------------------------


def test_collections_of_anything():
    assert tf.get_collection("mine") == []
    v = tf.get_variable("discriminator/v", [1])
    for item in (v, "text", 3):
        tf.add_to_collection("mine", item)
    found = tf.get_collection("mine")
    assert found == [v, "text", 3]
    found.clear()
    assert len(tf.get_collection("mine")) == 3
    assert tf.get_collection("mine", "disc") == [v] and tf.get_collection("mine", "gen") == []
    with tf.Graph().as_default():
        tf.get_variable("other", [1])
        assert tf.get_collection("mine") == [] and names() == ["other:0"]
    assert names() == ["discriminator/v:0"]


# -- initialization ------------------------------------------------------------------------------


def test_use_before_initialization():
    v = tf.Variable(0.0, name="v")
    read, added, assigned = v + 1, v.assign_add(1.0), v.assign(3.0)
    with tf.Session() as session:
        for use in (v, read, added):
            with pytest.raises(FailedPreconditionError, match="uninitialized value v"):
                session.run(use)
        assert session.run(assigned) == 3.0 and session.run(read) == 4.0
    with tf.Session() as other, pytest.raises(FailedPreconditionError):
        other.run(v)


def test_initializers_run_in_the_default_session():
    v, w = tf.Variable(1.0), tf.Variable(2.0)
    with pytest.raises(ValueError, match="No default session"):
        v.initializer.run()
    with tf.Session():
        v.initializer.run()
        assert v.eval() == 1.0
        assert tf.is_variable_initialized(v).eval() and not tf.is_variable_initialized(w).eval()
