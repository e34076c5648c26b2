"""Initializing and checking many variables at once."""

import pytest

from daskvars.errors import FailedPreconditionError
from daskvars.execution.session import Session
from daskvars.graph.scopes.collections import GraphKeys
from daskvars.graph.tensor import Operation
from daskvars.ops.math.arithmetic import add_n
from daskvars.train.optimizers.slots import create_zeros_slot
from daskvars.v1.names.old_names import all_variables, initialize_all_variables
from daskvars.variables.collections import (
    assert_variables_initialized,
    global_variables,
    global_variables_initializer,
    local_variables_initializer,
    model_variables,
    moving_average_variables,
    report_uninitialized_variables,
    variables_initializer,
)
from daskvars.variables.initializers import Ones
from daskvars.variables.scopes.variable_scope import (
    get_local_variable,
    get_variable,
    variable_scope,
)
from daskvars.variables.variable import Variable


def test_names_of_initializers(graph):
    Variable(1.0)
    op = global_variables_initializer()
    assert isinstance(op, Operation) and op.name == "init"
    assert global_variables_initializer().name == "init_1"
    assert variables_initializer([], name="nothing").name == "nothing"
    assert initialize_all_variables is global_variables_initializer


def test_other_collections(graph):
    v = Variable(1.0, collections=[GraphKeys.MODEL_VARIABLES])
    w = Variable(1.0, collections=[GraphKeys.MOVING_AVERAGE_VARIABLES])
    assert model_variables() == [v] and moving_average_variables() == [w]
    assert model_variables("x") == [] and all_variables is global_variables


def test_the_global_initializer_is_a_snapshot_without_locals(graph):
    v = get_variable("v", [1], initializer=Ones(), trainable=False)
    local = get_local_variable("local", [], initializer=Ones())
    init = global_variables_initializer()
    late = Variable(2.0)
    with Session(graph=graph) as session:
        assert session.run(init) is None
        assert session.run(v).tolist() == [1.0]
        for missing in (local, late):
            with pytest.raises(FailedPreconditionError):
                session.run(missing)
        session.run(local_variables_initializer())
        assert session.run(local) == 1.0


def test_only_the_variables_given(graph):
    a, b, c = (Variable(float(i), name=name) for i, name in enumerate("abc"))
    with Session(graph=graph) as session:
        session.run(variables_initializer([a, c]))
        assert session.run(report_uninitialized_variables()).tolist() == [b"b"]
        session.run(b.initializer)
        assert session.run([a, b, c]) == [0.0, 1.0, 2.0]


def test_reports(graph):
    assert_nothing = report_uninitialized_variables()
    v = get_variable("v", [3])
    with variable_scope("s"):
        u = Variable(1, name="u", trainable=False)
    local = get_local_variable("my_local", [])
    report = report_uninitialized_variables()
    only = report_uninitialized_variables([u])
    with Session(graph=graph) as session:
        assert session.run(assert_nothing).shape == (0,)
        assert sorted(session.run(report)) == [b"my_local", b"s/u", b"v"]
        assert session.run(only).tolist() == [b"s/u"]
        session.run([v.initializer, u.initializer])
        assert session.run(report).tolist() == [b"my_local"]
        assert session.run(only).shape == (0,)
        session.run(local.initializer)
        assert session.run(report).shape == (0,)


def test_asserting(graph):
    assert assert_variables_initialized() is None
    v, w = Variable(1.0, name="v"), Variable(1.0, name="w")
    check = assert_variables_initialized()
    with Session(graph=graph) as session:
        with pytest.raises(FailedPreconditionError) as error:
            session.run(check)
        assert "v" in str(error.value) and "w" in str(error.value)
        session.run(v.initializer)
        with pytest.raises(FailedPreconditionError, match="uninitialized value w:"):
            check.op.run()
        session.run(w.initializer)
        session.run(check)
        check.op.run()


def test_an_uninitialized_read_names_variables_and_slots(graph):
    variables = [Variable([1.0, float(i)], name=f"layer{i}/w") for i in range(5)]
    slot = create_zeros_slot(variables[0], "Momentum")
    total = add_n([v.value() for v in [*variables, slot]])
    with Session(graph=graph) as session:
        with pytest.raises(FailedPreconditionError) as error:
            session.run(total)
        text = str(error.value)
        assert all(f"layer{i}/w" in text for i in range(5)) and "layer0/w/Momentum" in text
        assert "6 of the variables" in text and "run(global_variables_initializer())" in text
