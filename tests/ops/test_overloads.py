"""Operators: TensorFlow's names, reflected forms, and what is refused."""

import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf
from daskvars.ops.overloads import override_operators


@pytest.fixture
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def run(tensor, feed=None):
    with tf.Session(graph=tensor.graph) as session:
        return session.run(tensor, feed)


def test_names(graph):
    x, y = (tf.placeholder(tf.float32, [2, 2], name=name) for name in "xy")
    made = [x + y, x - y, x * y, x / y, x // y, x % y, x**y, x @ y, -x, abs(x), x < y, x <= y,
            x > y, x >= y, x[0]]  # fmt: skip
    assert [t.op.name for t in made] == [
        "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "Neg", "Abs", "Less",
        "LessEqual", "Greater", "GreaterEqual", "strided_slice",
    ]  # fmt: skip
    a = x < y
    assert [t.op.name for t in (a & a, a | a, a ^ a, ~a)] == ["and", "or", "xor", "LogicalNot"]


def test_names_of_operands(graph):
    x = tf.placeholder(tf.float32, name="x")
    assert all(isinstance(t, tf.Tensor) for t in (x + 1.0, 2.0 - x, x < 3.0))
    assert [op.name for op in graph.get_operations()] == [
        "x", "add/y", "add", "sub/x", "sub", "Less/y", "Less",
    ]  # fmt: skip


def test_reflected(graph):
    x = tf.constant([2.0, 4.0])
    values = [1 + x, 1 - x, 3 * x, 8 / x, 9 // x, 7 % x, 2**x]
    assert [run(t).tolist() for t in values] == [
        [3, 5], [-1, -3], [6, 12], [4, 2], [4, 2], [1, 3], [4, 16],
    ]  # fmt: skip
    product = np.eye(2, dtype="f4") @ tf.constant([[1.0, 2.0], [3.0, 4.0]])
    assert run(product).tolist() == [[1, 2], [3, 4]]
    b = tf.constant([True, False])
    assert run(True ^ b).tolist() == [False, True]


def test_arrays_leave_it_to_the_tensor(graph):
    total = np.array([1.0, 2.0]) + tf.constant([1.0, 1.0])
    assert isinstance(total, tf.Tensor)
    assert run(total).tolist() == [2.0, 3.0]


def test_equality_is_identity(graph):
    x, y = tf.constant(1), tf.constant(1)
    assert (x == y) is False and (x != y) is True and x == x
    assert len({x, y}) == 2


def test_integers_divide_as_python_3_divides(graph):
    x = tf.constant([7, -7])
    assert run(x / 2).tolist() == [3.5, -3.5]
    assert (x / 2).dtype == tf.float64
    assert run(x // 2).tolist() == [3, -4]
    assert run(x % 4).tolist() == [3, 1]


def test_refusals(graph):
    x = tf.constant(1.0)
    with pytest.raises(TypeError):
        x + "a"
    with pytest.raises(TypeError):
        x & x
    with pytest.raises(TypeError):
        x + tf.constant(1)


def test_variables_have_the_same_operators(graph):
    v = tf.Variable([1.0, 2.0], name="v")
    values = [v + 1, 1 - v, v * v, v / 2, -v, v**2, v[1]]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert [np.ravel(a).tolist() for a in session.run(values)] == [
            [2, 3], [0, -1], [1, 4], [0.5, 1], [-1, -2], [1, 4], [2],
        ]  # fmt: skip


def test_a_class_keeps_its_own_methods():
    class Mine:
        def __add__(self, other):
            return "mine"

    override_operators(Mine)
    assert Mine() + 1 == "mine"
    assert Mine.__sub__ is tf.Tensor.__sub__


def test_eager_operators():
    x = dv.constant([1.0, 2.0])
    assert (2 * x + 1).numpy().tolist() == [3.0, 5.0]
    assert bool((x > 0).numpy().all())
    assert float(x[1]) == 2.0
