"""Operators: TensorFlow's names, reflected forms, and what is refused."""

import os
import sys

import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf
from daskvars.ops.protocols.operators import override_operators
from tests.sessions import run


def test_names(graph):
    x, y = (tf.placeholder(tf.float32, [2, 2], name=name) for name in "xy")
    made = [
        x + y,
        x - y,
        x * y,
        x / y,
        x // y,
        x % y,
        x**y,
        x @ y,
        -x,
        abs(x),
        x < y,
        x <= y,
        x > y,
        x >= y,
        x[0],
    ]
    assert [t.op.name for t in made] == [
        "add",
        "sub",
        "mul",
        "truediv",
        "floordiv",
        "mod",
        "pow",
        "matmul",
        "Neg",
        "Abs",
        "Less",
        "LessEqual",
        "Greater",
        "GreaterEqual",
        "strided_slice",
    ]
    a = x < y
    assert [t.op.name for t in (a & a, a | a, a ^ a, ~a)] == ["and", "or", "xor", "LogicalNot"]


def test_names_of_operands(graph):
    x = tf.placeholder(tf.float32, name="x")
    assert all(isinstance(t, tf.Tensor) for t in (x + 1.0, 2.0 - x, x < 3.0))
    assert [op.name for op in graph.get_operations()] == [
        "x",
        "add/y",
        "add",
        "sub/x",
        "sub",
        "Less/y",
        "Less",
    ]


def test_reflected(graph):
    x = tf.constant([2.0, 4.0])
    values = [1 + x, 1 - x, 3 * x, 8 / x, 9 // x, 7 % x, 2**x]
    assert [run(t).tolist() for t in values] == [
        [3, 5],
        [-1, -3],
        [6, 12],
        [4, 2],
        [4, 2],
        [1, 3],
        [4, 16],
    ]
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


def test_equality_in_eager_code_is_of_values():
    predicted, labels = dv.constant([1, 2, 3]), dv.constant([1, 0, 3])
    assert (predicted == labels).numpy().tolist() == [True, False, True]
    assert (predicted != labels).numpy().tolist() == [False, True, False]
    accuracy = dv.reduce_mean(dv.cast(predicted == labels, dv.float32))
    assert float(accuracy) == pytest.approx(2 / 3)
    assert (predicted == [[1], [0]]).numpy().tolist() == [[True, False, False], [False] * 3]
    for other in (2, np.int32(2), np.array([2, 2, 2], "i4")):
        assert (predicted == other).numpy().tolist() == [False, True, False]
        assert (other == predicted).numpy().tolist() == [False, True, False]
        assert (other != predicted).numpy().tolist() == [True, False, True]
    assert (predicted == None) is False and (predicted != None) is True  # noqa: E711
    for wrong in ("a", 1.5, dv.constant(1.0), object()):
        with pytest.raises(TypeError):
            _ = predicted == wrong
    with pytest.raises(ValueError, match="equal"):
        _ = predicted == [1, 2]
    assert bool(dv.constant(2) == dv.Variable(2)) and dv.constant(2) in [dv.Variable(1), 2]


def test_equality_of_eager_variables_is_of_values():
    v, w = dv.Variable([1, 2]), dv.Variable([1, 3])
    assert (v == w).numpy().tolist() == [True, False] == (v != [0, 2]).numpy().tolist()
    before = v == [1, 2]
    v.assign([5, 2])
    assert before.numpy().tolist() == [True, True]
    assert (v == [1, 2]).numpy().tolist() == [False, True]
    with dv.variable_scope("equality"):
        parts = dv.get_variable(
            "parts", initializer=[1, 2, 3], partitioner=dv.fixed_size_partitioner(2)
        )
    assert (parts == [1, 0, 3]).numpy().tolist() == [True, False, True]


def test_what_is_of_eager_code_has_no_hash():
    x, v = dv.constant(1), dv.Variable(1)
    with pytest.raises(TypeError, match=r"Tensor is unhashable. Instead, use tensor.ref\(\) as"):
        hash(x)
    with pytest.raises(TypeError, match=r"Variable is unhashable. Instead, use variable.ref\(\)"):
        dict.fromkeys([v])
    y = dv.constant(1)
    assert {x.ref(): "x", y.ref(): "y", v.ref(): "v"}[y.ref()] == "y"
    assert x.ref() == x.ref() != y.ref() and x.ref().deref() is x
    assert x.experimental_ref() == x.ref()


def test_an_eager_value_that_is_fetched_or_fed_for_is_told_so():
    x, v = dv.constant(1.0), dv.Variable(1.0)
    with dv.Graph().as_default(), dv.Session() as session:
        for fetch in (x, v, [x], {"a": v}, (x, "b:0")):
            with pytest.raises(ValueError, match=r"eager value: use its numpy\(\)"):
                session.run(fetch)


def test_equality_inside_a_function_is_of_values():
    v = dv.Variable([1, 2])
    captured = dv.constant([0, 2])

    @dv.function
    def equal(x):
        assert (x == None) is False  # noqa: E711
        again = dv.cond(dv.reduce_any(x == v), lambda: x == captured, lambda: x != captured)
        return x == v, v != x, captured == x, again

    found = [t.numpy().tolist() for t in equal(np.array([1, 3], "i4"))]
    assert found == [[True, False], [False, True], [False, False], [False, False]]

    @dv.function
    def decides(x):
        return 1 if x == 1 else 2

    with pytest.raises(TypeError, match="cannot decide an `if`"):
        decides(np.int32(1))


def test_equality_in_a_graph_stays_identity_wherever_it_is_asked():
    v = dv.Variable(1)
    with dv.Graph().as_default():
        x, y, u = dv.constant(1), dv.constant(1), dv.Variable(1)
        assert (x == y) is (x == u) is (u == y) is False and x == x and u == u
        assert len({x, y, u}) == 3 and (x != y) is True

        def same(inner):
            assert (inner == x) is False and inner == inner and {inner: 1}[inner] == 1
            return inner

        dv.while_loop(lambda i: i < 1, same, [x])
    assert bool(v == 1)


def test_the_package_never_compares_tensors_of_eager_code_itself(monkeypatch, tmp_path):
    """Its own lists, sets and dictionaries of tensors and variables go by identity."""
    package = os.path.dirname(dv.__file__)

    def refuse(cls, name):
        compare = getattr(cls, name)

        def compared(x, y):
            caller = sys._getframe(1).f_code.co_filename
            assert not caller.startswith(package) or caller.endswith("numpy_protocols.py")
            return compare(x, y)

        monkeypatch.setattr(cls, name, compared)

    for cls in (dv.Tensor, dv.Variable, dv.PartitionedVariable):
        refuse(cls, "__eq__")
        refuse(cls, "__ne__")
    layer = dv.layers.Dense(2, kernel_regularizer=dv.l2_regularizer(0.1))
    average = dv.train.ExponentialMovingAverage(0.5)
    optimizer = dv.train.MomentumOptimizer(0.1, 0.9)

    def step(x):
        with dv.GradientTape() as tape:
            taken = dv.cond(dv.reduce_sum(x) > 0.0, lambda: layer(x), lambda: layer(-x))
            powers = dv.while_loop(lambda i, y: i < 2, lambda i, y: (i + 1, y * y), (0, taken))
            loss = dv.reduce_mean(powers[1]) + dv.add_n(layer.losses)
        gradients = tape.gradient(loss, layer.trainable_weights)
        optimizer.apply_gradients(zip(gradients, layer.trainable_weights, strict=True))
        average.apply(layer.trainable_weights)
        return loss

    x = dv.constant([[1.0, 2.0]])
    eager = [step(x) for _ in range(2)]
    compiled = dv.function(step)
    assert len(eager) == 2 and compiled(x) is not compiled(x)
    saver = dv.train.Saver([*layer.weights, *optimizer.variables()])
    saver.restore(None, saver.save(None, str(tmp_path / "model")))
    assert average.average(layer.kernel) is not None
    with dv.variable_scope("equality_of_own") as scope:
        dv.get_variable("v", [1])
    assert dv.make_template("equality_of_t", lambda: dv.get_variable("v", [1]))() is not scope
    gradients = dv.function(
        lambda x: dv.gradients(dv.square(x), x, stop_gradients=[dv.constant(1.0)])
    )
    gradients(x)


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


def test_arrays_that_would_lose_their_values_are_refused_but_by_graphs_of_tensorflow_1():
    n = dv.constant([1, 2])
    fractions = np.array([1.5, 2.0])
    for call in (
        lambda: n + fractions,
        lambda: fractions[0] * n,
        lambda: dv.Variable(n).assign(fractions),
        dv.function(lambda: n - fractions),
    ):
        with pytest.raises(TypeError, match=r"Expected int32 for '.*', got an array of float64"):
            call()
    with pytest.raises(TypeError, match="1099511627776 does not fit int32 for 'add/y'"):
        n + np.array([2**40, 0])
    assert (n + np.array([1, 2])).numpy().tolist() == [2, 4]
    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run(tf.constant([1, 2]) + fractions).tolist() == [2, 4]


def test_what_converts_to_no_tensor_may_have_the_operator(graph):
    class Reflecting:
        def __radd__(self, other):
            return "added"

    x = tf.constant([[1.0, 2.0]])
    assert x + Reflecting() == "added"
    with pytest.raises(TypeError, match="Reflecting"):
        x - Reflecting()
    with pytest.raises(TypeError, match=r"Expected int32 for 'add\w*/y', got 1.5"):
        tf.constant(1) + 1.5  # a number of Python has the operator too, and no use for a tensor


def test_variables_have_the_same_operators(graph):
    v = tf.Variable([1.0, 2.0], name="v")
    values = [v + 1, 1 - v, v * v, v / 2, -v, v**2, v[1]]
    with tf.Session() as session:
        session.run(tf.global_variables_initializer())
        assert [np.ravel(a).tolist() for a in session.run(values)] == [
            [2, 3],
            [0, -1],
            [1, 4],
            [0.5, 1],
            [-1, -2],
            [1, 4],
            [2],
        ]


def test_a_class_keeps_its_own_methods():
    class Mine:
        graph, name = None, "mine"

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


def test_a_class_for_tensors_finds_the_operators_to_overload(graph):
    class Stands:
        def __init__(self, tensor):
            self.tensor = tensor

    for name in tf.Tensor.OVERLOADABLE_OPERATORS:
        method = getattr(tf.Tensor, name)
        setattr(Stands, name, lambda self, *args, method=method: method(self.tensor, *args))
    stands = Stands(tf.constant([1.0, 2.0]))
    assert run(1.0 - stands * 2.0).tolist() == [-1.0, -3.0]
    assert run(stands[1]) == 2.0 and run(-stands).tolist() == [-1.0, -2.0]
    assert "__hash__" not in tf.Tensor.OVERLOADABLE_OPERATORS
