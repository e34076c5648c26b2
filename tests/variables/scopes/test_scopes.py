"""Variable scopes beyond the table: defaults, getters, threads, errors."""

import threading

import pytest

from daskvars import layers
from daskvars.dtypes import float16, float32, float64
from daskvars.graph.graph import Graph
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.ops.array.constant import ones
from daskvars.ops.control.dependencies import no_op
from daskvars.v1.names.old_names import variable_op_scope
from daskvars.variables.collections import global_variables, local_variables, trainable_variables
from daskvars.variables.initializers import Constant, Ones, Zeros
from daskvars.variables.scopes.variable_scope import (
    AUTO_REUSE,
    VariableScope,
    get_local_variable,
    get_variable,
    get_variable_scope,
    no_regularizer,
    variable_scope,
)
from daskvars.variables.synchronization import VariableAggregation, VariableSynchronization


def test_current_scope_and_captured_names(graph):
    assert get_variable_scope().name == ""
    with variable_scope("root1"), variable_scope("foo1"), variable_scope("bar1") as bar:
        assert get_variable_scope().name == "root1/foo1/bar1"
    assert bar.name == "root1/foo1/bar1"
    assert bar.original_name_scope == "root1/foo1/bar1/"
    assert get_variable_scope() not in (False, True)  # the flag is an attribute
    with pytest.raises(AttributeError):
        bar.resue_variables()


def test_a_scope_opened_twice_has_two_name_scopes(graph):
    names = []
    for _ in range(2):
        with variable_scope("n") as scope:
            names.append(no_op(name="op").name)
            names.append(scope.original_name_scope)
    assert names == ["n/op", "n/", "n_1/op", "n_1/"]


def test_a_captured_scope_jumps_out_and_back(graph):
    with variable_scope("foo") as foo:
        pass
    with variable_scope("bar"), variable_scope("baz"):
        with variable_scope(foo) as again:
            assert again.name == "foo" and again is not foo
            assert get_variable("v", [1]).name == "foo/v:0"
            assert no_op(name="op").name == "bar/baz/foo/op"
            with variable_scope("sub"):
                assert get_variable("w", [1]).name == "foo/sub/w:0"
        assert get_variable_scope().name == "bar/baz"


def test_the_original_name_scope_can_be_opened_again(graph):
    with variable_scope("foo") as foo:
        pass
    with variable_scope(foo, auxiliary_name_scope=False), name_scope(foo.original_name_scope):
        assert no_op(name="op").name == "foo/op"


def test_reuse_variables_lasts_until_the_block_ends(graph):
    with variable_scope("a") as scope:
        v = get_variable("v", [1])
        scope.reuse_variables()
        assert get_variable("v", [1]) is v
    assert not get_variable_scope().reuse
    with variable_scope("a"):
        assert not get_variable_scope().reuse
    with variable_scope(scope):
        assert get_variable("v") is v


def test_an_exception_restores_the_scope(graph):
    with pytest.raises(KeyError), variable_scope("a", reuse=True):
        raise KeyError("x")
    assert get_variable_scope().name == "" and get_variable_scope().reuse is False
    assert get_variable("v", [1]).name == "v:0"
    assert no_op(name="op").name == "op"


def test_what_names_a_scope(graph):
    with pytest.raises(TypeError, match="string or VariableScope"):
        variable_scope(3)
    with pytest.raises(TypeError, match="name_or_scope is required"):
        variable_scope(None)
    with pytest.raises(ValueError, match="without a name_or_scope"):
        variable_scope(None, "d", reuse=True)
    with pytest.raises(ValueError, match="reuse parameter"):
        variable_scope("a", reuse="yes")
    with pytest.raises(TypeError, match="auxiliary_name_scope"):
        variable_scope("a", auxiliary_name_scope=1)
    with pytest.raises(ValueError, match="not a valid scope name"), variable_scope("a b"):
        pass
    assert get_variable_scope().name == "" and graph.get_name_scope() == ""


def test_default_names_are_unique_within_the_parent(graph):
    found = []
    for _ in range(2):
        with variable_scope("outer"):
            for _ in range(2):
                with variable_scope(None, "dense") as scope:
                    found.append(scope.name)
                    get_variable("k", [1], initializer=Zeros()) if len(found) < 3 else None
    assert found == ["outer/dense", "outer/dense_1", "outer/dense", "outer/dense_1"]
    with variable_scope(None, "dense") as scope:
        assert scope.name == "dense"
    with variable_scope(None, "dense", reuse=False) as scope:
        assert scope.name == "dense_1"


def test_one_scope_object_entered_again(graph):
    opened = variable_scope(None, "d")
    with opened as first:
        pass
    with opened as second:
        pass
    assert first.name == second.name == "d"


DEFAULTS = {
    "initializer": Constant(0.4),
    "regularizer": no_regularizer,
    "caching_device": "/cpu:0",
    "partitioner": lambda shape, dtype: [1] * len(shape),
    "custom_getter": lambda getter, *args, **kwargs: getter(*args, **kwargs),
    "dtype": float16,
    "use_resource": False,
    "constraint": abs,
}


@pytest.mark.parametrize("what", DEFAULTS)
def test_defaults_are_inherited_kept_and_overridden(graph, what):
    value, other = DEFAULTS[what], float64 if what == "dtype" else (lambda *a, **k: None)
    with variable_scope("s", **{what: value}) as captured:
        assert getattr(get_variable_scope(), what) is value
        with variable_scope("inherits"):
            assert getattr(get_variable_scope(), what) is value
        if what != "custom_getter":  # getters are chained
            with variable_scope("own", **{what: other}):
                assert getattr(get_variable_scope(), what) is other
    assert getattr(get_variable_scope(), what) is (float32 if what == "dtype" else None)
    with variable_scope(captured):
        assert getattr(get_variable_scope(), what) is value
    if what != "custom_getter":
        with variable_scope(captured, **{what: other}):
            assert getattr(get_variable_scope(), what) is other
    assert getattr(captured, what) is value


@pytest.mark.parametrize("what", DEFAULTS)
def test_setters(graph, what):
    with variable_scope("s") as scope:
        getattr(scope, f"set_{what}")(DEFAULTS[what])
        with variable_scope("inner") as inner:
            assert getattr(inner, what) is DEFAULTS[what]


def test_defaults_reach_the_variables(graph):
    with variable_scope("s", dtype=float64, constraint=abs, caching_device="/gpu:1"):
        v = get_variable("v", [1])
        w = get_variable("w", [1], float16, constraint=round)
    assert v.dtype.base_dtype is float64 and w.dtype.base_dtype is float16
    assert v.constraint is abs and w.constraint is round
    assert v.value().device == "/device:GPU:1" and v.device == ""


def test_custom_getters_see_the_full_name_and_chain(graph):
    calls = []

    def outer(getter, name, *args, **kwargs):
        calls.append(("outer", name, kwargs["reuse"]))
        return getter(name, *args, **kwargs)

    def inner(getter, name, *args, **kwargs):
        calls.append(("inner", name, kwargs["dtype"]))
        return getter(f"{name}_renamed", *args, **kwargs)

    with variable_scope("a", custom_getter=outer), variable_scope("b", custom_getter=inner):
        assert get_variable("v", [1]).name == "a/b/v_renamed:0"
        own = get_variable("w", [1], custom_getter=lambda getter, *a, **k: getter(*a, **k))
    assert own.name == "a/b/w:0"
    assert calls == [("inner", "a/b/v", float32), ("outer", "a/b/v_renamed", False)]
    with pytest.raises(ValueError, match="not callable"):
        get_variable("x", [1], custom_getter=3)


def test_a_custom_getter_is_given_what_is_meant_and_no_none(graph):
    names = ["trainable", "synchronization", "aggregation"]
    calls = []

    def getter(getter, name, *args, **kwargs):
        calls.append([kwargs[key] for key in names])
        return getter(name, *args, **kwargs)

    on_read = VariableSynchronization.ON_READ
    with variable_scope("a", custom_getter=getter), variable_scope("b", custom_getter=getter):
        get_variable("v", [1])
        get_variable("w", [1], trainable=False)
        get_variable("x", [1], synchronization=on_read)
        layers.dense(ones([1, 2]), 3, use_bias=False)
    auto, none = VariableSynchronization.AUTO, VariableAggregation.NONE
    plain = [[trained, auto, none] for trained in (True, False)]
    assert calls[::2] == [*plain, [False, on_read, none], plain[0]]
    assert calls[1::2] == calls[::2]


def test_an_old_custom_getter_does_not_get_the_constraint(graph):
    def getter(
        getter,
        name,
        shape,
        dtype,
        initializer,
        regularizer,
        reuse,
        trainable,
        collections,
        caching_device,
        partitioner,
        validate_shape,
        use_resource,
        synchronization,
        aggregation,
    ):
        return getter(name, shape, dtype)

    assert get_variable("v", [1], custom_getter=getter, constraint=abs).constraint is None


def test_each_thread_has_its_own_current_scope(graph):
    found = []

    def other():
        with graph.as_default():
            found.append(get_variable_scope().name)
            with variable_scope("t"):
                found.append(get_variable("v", [1]).name)

    with variable_scope("main"):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert found == ["", "t/v:0"]


def test_graphs_have_scopes_and_stores_of_their_own(graph):
    get_variable_scope().reuse_variables()
    with Graph().as_default():
        assert get_variable_scope().reuse is False
        v = get_variable("v", [1])
    assert global_variables() == []
    with pytest.raises(ValueError, match="does not exist"):
        get_variable("v", [1])
    assert v.graph is not graph


def test_a_scope_enters_the_graph_of_its_values():
    graph = Graph()
    with graph.as_default():
        v = get_variable("v", [1])
    with variable_scope("s", values=[v]), name_scope("n", values=[v]):
        assert no_op(name="op").graph is graph
        assert get_variable("w", [1]).graph is graph
    with variable_op_scope([v], None, "d"):
        assert get_variable("w", [1]).name == "d/w:0"


def test_scope_lists_its_variables(graph):
    with variable_scope("a") as scope:
        v = get_variable("v", [1])
        w = get_variable("w", [1], trainable=False)
        local = get_local_variable("l", [1], initializer=Ones())
    get_variable("other", [1])
    with variable_scope("ab"):
        get_variable("v", [1])
    assert scope.global_variables() == [v, w]
    assert scope.trainable_variables() == [v]
    assert scope.local_variables() == [local] == local_variables()
    assert local not in trainable_variables()


def test_root_scope_reopened(graph):
    root = get_variable_scope()
    with variable_scope("a"), variable_scope(root, reuse=AUTO_REUSE):
        assert get_variable("v", [1]).name == "v:0"
        assert no_op(name="op").name == "a/op"
        assert get_variable("v") is get_variable("v")
    assert isinstance(root, VariableScope) and root.reuse is False


def test_nesting_must_be_proper(graph):
    a, b = variable_scope("a"), variable_scope("b")
    a.__enter__()
    b.__enter__()
    with pytest.raises(RuntimeError, match="Improper nesting"):
        a.__exit__(None, None, None)
    assert get_variable_scope().name == "a/b"
    b.__exit__(None, None, None)
    a.__exit__(None, None, None)
    assert get_variable_scope().name == ""
