"""The public name_scope."""

import pytest

import daskvars.v1 as tf
from daskvars.graph.func_graph import FuncGraph
from daskvars.graph.graph import Graph
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.ops.control.dependencies import no_op
from daskvars.ops.control.subgraphs import parameter


def test_prefixes_and_suffixes(graph):
    with name_scope("a") as first, name_scope("b") as inner:
        assert (first, inner) == ("a/", "a/b/")
        assert no_op(name="c").name == "a/b/c"
    with name_scope("a") as second:
        assert second == "a_1/"
    with name_scope(first) as again:
        assert again == "a/" and no_op(name="c").name == "a/c"
    for root in (None, ""):
        with name_scope("a"), name_scope(root) as scope:
            assert scope == "" and graph.get_name_scope() == ""
    assert graph.get_name_scope() == ""


def test_default_names(graph):
    with name_scope(None, "d") as scope:
        assert scope == "d/"
    with name_scope("n", "d") as scope:
        assert scope == "n/"
    assert name_scope("n", "d").name == "n" and name_scope(None, "d").name == "d"
    with pytest.raises(ValueError, match="At least one of name"):
        name_scope(None, None, [])


def test_illegal_names_leave_everything_as_it_was(graph):
    for name in ("a b", "a\n"):
        with pytest.raises(ValueError, match="not a valid scope name"), name_scope(name):
            pass
    assert graph.get_name_scope() == ""


def test_an_exception_restores_the_scope(graph):
    with pytest.raises(KeyError), name_scope("a"):
        raise KeyError
    assert graph.get_name_scope() == ""


def test_one_object_entered_twice(graph):
    scope = name_scope("a")
    with scope as first, scope as second:
        assert (first, second) == ("a/", "a/a/")
    with scope as third:
        assert third == "a_1/"


def test_the_graph_of_the_values_is_entered():
    graph = Graph()
    with graph.as_default():
        op = no_op()
    with name_scope("a", values=[op, 1.0]):
        assert no_op(name="c").name == "a/c" and no_op().graph is graph


def test_a_body_being_traced_is_not_left(graph):
    scope = name_scope("a")
    body = FuncGraph("body", graph, parameter)
    with body.as_default(), scope:
        assert no_op(name="c").graph is body and body.get_name_scope() == "a"


def test_values_of_another_graph_are_worked_on_in_that_graph():
    other = tf.Graph()
    with other.as_default():
        a, op = tf.constant(1.0), tf.no_op()
    with tf.Graph().as_default():
        b = tf.constant(2.0)
        for values in ([a], [op], [3.0, a, op]):
            with tf.name_scope("scope", values=values):
                assert tf.get_default_graph() is other
        with pytest.raises(ValueError, match="must be from the same graph"):
            tf.name_scope("scope", values=[a, b]).__enter__()
        with tf.name_scope("/") as root:
            assert root == "/"
            assert tf.constant(1.0, name="c").name == "c:0"


def test_values_of_a_programs_own_class_may_have_a_graph_of_its_own_kind():
    class Planned:
        graph = object()

    class Named(Planned):
        name = "a"

    with tf.Graph().as_default():
        with tf.name_scope(None, "outer", [Planned(), tf.constant(1.0)]) as scope:
            assert scope == "outer/"
        with tf.variable_scope(None, "layer", values=[Named()]) as variables:
            assert variables.name == "layer" and tf.constant(1.0).name == "layer/Const:0"
