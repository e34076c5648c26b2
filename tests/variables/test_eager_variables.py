"""Variables of the eager program: set when made, read anew each time."""

import itertools
import operator

import numpy
import pytest

from daskvars.dtypes import float32, int32
from daskvars.execution.function import function
from daskvars.execution.tape import GradientTape
from daskvars.graph.graph import Graph
from daskvars.ops.array.constant import constant, zeros
from daskvars.ops.math.arithmetic import add
from daskvars.variables.collections import global_variables_initializer
from daskvars.variables.initializers import Ones
from daskvars.variables.scopes.variable_scope import AUTO_REUSE, get_variable, variable_scope
from daskvars.variables.variable import Variable

_numbers = itertools.count()


@pytest.fixture
def name():
    """A name that no other test of the process has used."""
    return f"eager_test_{next(_numbers)}"


def test_the_initial_value_is_assigned_at_once(name):
    v = Variable([1.0, 2.0], name=name)
    assert v.numpy().tolist() == [1.0, 2.0]
    assert (v.graph, v.initializer, v.dtype, v.key) == (None, None, float32, name)
    v.assign_add([1.0, 1.0])
    assert v.numpy().tolist() == [2.0, 3.0] and v.eval().tolist() == [2.0, 3.0]
    before = v.value()
    v.assign([5.0, 6.0])
    assert before.numpy().tolist() == [2.0, 3.0]
    assert add(v, 1.0).numpy().tolist() == [6.0, 7.0]
    assert v.initialized_value().numpy().tolist() == [5.0, 6.0]
    with pytest.raises(RuntimeError, match="keeps no initial value"):
        _ = v.initial_value
    v.load([0.0, 1.0])
    assert [float(x) for x in v] == [0.0, 1.0] and len(v) == 2


def test_as_a_python_value(name):
    v = Variable(3, name=name)
    assert int(v) == 3 and float(v) == 3.0 and bool(v) and v.dtype is int32
    assert numpy.asarray(v) == 3
    assert repr(v) == f"<tf.Variable '{name}:0' shape=() dtype=int32, numpy=np.int32(3)>"


def test_keys_are_unique_and_legal(name):
    a, b = Variable(1.0, name=name), Variable(2.0, name=name)
    assert (a.key, b.key) == (name, f"{name}_1")
    assert a.numpy() == 1.0 and b.numpy() == 2.0
    with pytest.raises(ValueError, match="not a valid"):
        Variable(1.0, name="a b")


def test_parts_of_a_variable(name):
    v = Variable([1.0, 2.0, 3.0], name=name)
    with GradientTape() as tape:
        loss = v[0] * v[1:][1] * 2.0
    assert float(loss) == 6.0 and tape.gradient(loss, v).numpy().tolist() == [6.0, 0.0, 2.0]
    part = v[1:]
    assert part.numpy().tolist() == [2.0, 3.0]
    assert part.assign([5.0, 6.0]).numpy().tolist() == [1.0, 5.0, 6.0]
    assert part.numpy().tolist() == [2.0, 3.0] and v[-1].numpy() == 6.0


def test_get_variable(name):
    with variable_scope(name):
        v = get_variable("v", [2], initializer=Ones())
    assert v.key == f"{name}/v" and v.numpy().tolist() == [1.0, 1.0]
    with variable_scope(name, reuse=True):
        assert get_variable("v", [2]) is v
    with variable_scope(name, reuse=AUTO_REUSE):
        assert get_variable("v", [2]) is v
    with variable_scope(name), pytest.raises(ValueError) as error:
        get_variable("v", [2])
    assert "already exists" in str(error.value) and "reset_default_graph" not in str(error.value)
    global_variables_initializer()
    assert v.numpy().tolist() == [1.0, 1.0]


def test_initial_values_from_other_variables(name):
    v = Variable([1.0], name=name)
    w = Variable(add(v, 1.0), name=f"{name}_w")
    assert Variable(w, name=f"{name}_x").numpy().tolist() == [2.0]


def test_functions_make_variables_outside(name):
    made = []

    @function
    def step(x):
        if not made:
            made.append(Variable(lambda: zeros([2]), name=name))
        made[0].assign_add(x)
        return add(made[0], 0.0)

    assert step(constant([1.0, 2.0])).numpy().tolist() == [1.0, 2.0]
    assert step(constant([1.0, 2.0])).numpy().tolist() == [2.0, 4.0]
    assert made[0].graph is None and made[0].numpy().tolist() == [2.0, 4.0]


def test_not_in_a_graph(name):
    v = Variable(1.0, name=name)
    with Graph().as_default(), pytest.raises(ValueError, match="same graph"):
        v.read_value()
    with Graph().as_default():
        assert Variable(1.0, name=name).key == name


@pytest.mark.parametrize("operate", [operator.iadd, operator.isub, operator.imul, operator.imod])
def test_augmented_assignment_does_not_make_a_tensor_of_the_name_unseen(name, operate):
    with pytest.raises(RuntimeError, match=r"does not change the variable .*assign_add"):
        operate(Variable(3.0, name=name), 2.0)
    with Graph().as_default():
        v = Variable(3.0)
        with pytest.warns(UserWarning, match="does not change the variable 'Variable:0'"):
            assert not isinstance(operate(v, 2.0), Variable)
