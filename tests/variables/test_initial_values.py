"""Values of variables in sessions: initial ones, and those computed from other variables'."""

import numpy
import pytest

from daskvars.errors import FailedPreconditionError, OutOfRangeError
from daskvars.execution.session import Session
from daskvars.graph.indexed_slices import IndexedSlices
from daskvars.ops.array.constant import constant
from daskvars.ops.math.arithmetic import add, multiply
from daskvars.ops.random.distributions import random_normal
from daskvars.variables.collections import (
    global_variables_initializer,
    report_uninitialized_variables,
)
from daskvars.variables.initializers import Ones, Zeros
from daskvars.variables.scopes.variable_scope import get_variable
from daskvars.variables.variable import Variable


@pytest.fixture
def session(graph):
    with Session(graph=graph) as session:
        yield session


def test_initialized_value_in_any_order(graph, session):
    v = get_variable("v", [], initializer=Zeros())
    w = get_variable("w", initializer=add(v.initialized_value(), 1.0))
    x = Variable(multiply(w.initialized_value(), 10.0), name="x")
    assert w.name == "w:0" and w.shape == []
    for _ in range(2):
        session.run(global_variables_initializer())
        assert session.run([v, w, x]) == [0.0, 1.0, 10.0]


def test_initializing_one_leaves_the_other_alone(graph, session):
    v = get_variable("v", [], initializer=Zeros())
    w = get_variable("w", initializer=add(v.initialized_value(), 1.0))
    session.run(w.initializer)
    assert session.run(w) == 1.0
    assert session.run(report_uninitialized_variables()).tolist() == [b"v"]


def test_initialized_value_is_the_current_one(graph, session):
    v = Variable(1.0, name="v")
    w = Variable(multiply(v.initialized_value(), 2.0), name="w")
    session.run(v.initializer)
    session.run(v.assign(5.0))
    session.run(w.initializer)
    assert session.run([v, w]) == [5.0, 10.0]


def test_one_draw_for_all(graph):
    weights = Variable(random_normal([78, 10], stddev=0.35), name="weights")
    w2 = Variable(weights.initialized_value(), name="w2")
    twice = Variable(multiply(weights.initialized_value(), 2.0), name="w_twice")
    for _ in range(2):
        with Session(graph=graph) as session:
            session.run(global_variables_initializer())
            a, b, c = session.run([weights, w2, twice])
        assert numpy.array_equal(a, b) and numpy.array_equal(2 * a, c)


def test_initial_values_that_read_variables_are_made_safe(graph, session):
    v = get_variable("v", [], initializer=Zeros())
    w = get_variable("w", initializer=add(v, 1.0))
    x = Variable(add(multiply(w, 10.0), 2.0), name="x")
    y = Variable(x, name="y")
    assert {v.value(), w.value(), x.value()}.isdisjoint(x.initial_value.op.inputs)
    for _ in range(2):
        session.run(global_variables_initializer())
        assert session.run([v, w, x, y]) == [0.0, 1.0, 12.0, 12.0]


def test_a_read_that_waits_is_left_as_it_is(graph, session):
    v = Variable(1.0, name="v")
    added = v.assign_add(1.0)
    with graph.control_dependencies([added]):
        fresh = v.read_value()
    w = Variable(fresh, name="w")
    assert w.initial_value is fresh
    session.run(v.initializer)
    session.run(w.initializer)
    assert session.run([v, w]) == [2.0, 2.0]


def test_values_persist_and_initializing_again_resets(graph, session):
    v = Variable([1.0, 2.0])
    up = v.assign([3.0, 4.0])
    with pytest.raises(FailedPreconditionError, match="uninitialized value Variable"):
        session.run(v)
    session.run(v.initializer)
    assert v.eval().tolist() == [1.0, 2.0] and v.eval(session).tolist() == [1.0, 2.0]
    session.run(up)
    assert session.run(v).tolist() == [3.0, 4.0]
    session.run(v.initializer)
    assert session.run(v).tolist() == [1.0, 2.0]


def test_updates(graph, session):
    v = Variable([[1.0], [2.0], [3.0]])
    rows = IndexedSlices(constant([[10.0], [20.0]]), constant([0, 2]))
    session.run(v.initializer)
    assert session.run(v.assign_add([[1.0]] * 3)).tolist() == [[2.0], [3.0], [4.0]]
    assert session.run(v.assign_sub([[1.0]] * 3)).tolist() == [[1.0], [2.0], [3.0]]
    assert session.run(v.scatter_add(rows)).tolist() == [[11.0], [2.0], [23.0]]
    assert session.run(v.scatter_sub(rows)).tolist() == [[1.0], [2.0], [3.0]]
    assert session.run(v.scatter_mul(rows)).tolist() == [[10.0], [2.0], [60.0]]
    assert session.run(v.scatter_div(rows)).tolist() == [[1.0], [2.0], [3.0]]
    assert session.run(v.scatter_max(rows)).tolist() == [[10.0], [2.0], [20.0]]
    assert session.run(v.scatter_update(rows)).tolist() == [[10.0], [2.0], [20.0]]
    v.load([[0.0], [0.0], [1.0]], session)
    assert session.run(v).tolist() == [[0.0], [0.0], [1.0]]


def test_loading_makes_no_ops(graph, session):
    v = get_variable("v", [2], initializer=Ones())
    before = graph.version
    v.load([5.0, 6.0])
    assert session.run(v).tolist() == [5.0, 6.0] and graph.version == before
    with pytest.raises(ValueError):
        v.load([1.0, 2.0, 3.0])


def test_counting(graph, session):
    v = Variable(0)
    count = v.count_up_to(2)
    session.run(v.initializer)
    assert [session.run(count) for _ in range(2)] == [0, 1]
    with pytest.raises(OutOfRangeError):
        session.run(count)


def test_a_variable_without_a_static_shape(graph, session):
    v = Variable([1.0, 2.0], validate_shape=False)
    session.run(v.initializer)
    assert session.run(v.assign([1.0, 2.0, 3.0])).tolist() == [1.0, 2.0, 3.0]
    assert session.run(v).shape == (3,)


def test_chunked_variables(graph, session):
    whole = Variable(numpy.arange(12.0).reshape(6, 2), name="whole")
    cut = Variable(numpy.arange(12.0).reshape(6, 2), name="cut", chunks=(2, -1))
    session.run(global_variables_initializer())
    assert numpy.array_equal(*session.run([whole, cut]))
    assert numpy.array_equal(session.run(cut.assign_add(cut)), 2 * session.run(whole))


def test_partitioned_values(graph, session):
    initial = numpy.arange(8.0).reshape(4, 2)
    w = get_variable("w", initializer=constant(initial), partitioner=lambda shape, dtype: [3, 1])
    session.run(global_variables_initializer())
    assert numpy.array_equal(session.run(w), initial)
    assert numpy.array_equal(session.run(add(w, w)), 2 * initial)
    session.run(w.assign_add(constant(initial)))
    assert numpy.array_equal(session.run(w), 2 * initial)
    assert [p.tolist() for p in session.run(list(w))] == [
        [[0.0, 2.0], [4.0, 6.0]],
        [[8.0, 10.0]],
        [[12.0, 14.0]],
    ]
