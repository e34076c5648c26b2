"""Graphs: unique names, scopes, control dependencies, devices, look-ups."""

import threading

import pytest

import daskvars.v1 as tf
from daskvars.graph.show import to_dot, to_text


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


def test_names_are_unique_regardless_of_case(graph):
    names = [tf.constant(0, name=n).op.name for n in ("c", "c", "C", "c_1", "c")]
    assert len({n.lower() for n in names}) == 5
    assert names[:2] == ["c", "c_1"]


def test_scopes_prefix_and_are_made_unique(graph):
    with tf.name_scope("a") as outer:
        assert outer == "a/"
        with tf.name_scope("b") as inner:
            assert inner == "a/b/"
            assert tf.constant(0, name="x").op.name == "a/b/x"
    with tf.name_scope("a"):
        assert tf.constant(0, name="x").op.name == "a_1/x"
    with tf.name_scope("a/"):
        assert tf.constant(0, name="y").op.name == "a/y"
    with tf.name_scope(None):
        assert tf.constant(0, name="z").op.name == "z"


@pytest.mark.parametrize("name", ["a b", "_a", "a!", "-a", "ä"])
def test_illegal_names_are_refused(name):
    with pytest.raises(ValueError, match="not a valid"):
        tf.constant(0, name=name)


def test_control_inputs_are_added_once_and_only_where_needed(graph):
    first, second = tf.no_op("first"), tf.no_op("second")
    with tf.control_dependencies([first]):
        a = tf.constant(1, name="a")
        with tf.control_dependencies([second, first]):
            b = tf.identity(a, name="b")
            c = tf.constant(2, name="c")
        with tf.control_dependencies(None):
            d = tf.constant(3, name="d")
    assert a.op.control_inputs == (first,)
    assert b.op.control_inputs == (second, first) or b.op.control_inputs == (second,)
    assert set(c.op.control_inputs) == {first, second}
    assert d.op.control_inputs == ()


def test_devices_merge_and_functions_see_the_op(graph):
    with tf.device("/job:ps/task:1"):
        with tf.device("/gpu:0"):
            assert tf.constant(0).device == "/job:ps/task:1/device:GPU:0"
        with tf.device(lambda op: "/cpu:0" if op.type == "Const" else "/gpu:1"):
            assert tf.constant(0).device == "/job:ps/task:1/device:CPU:0"
            assert tf.no_op().device == "/job:ps/task:1/device:GPU:1"
        with tf.device(None):
            assert tf.constant(0).device == ""


def test_look_ups_say_what_is_wrong(graph):
    c = tf.constant(1, name="c")
    assert graph.get_operation_by_name("c") is c.op
    assert graph.get_tensor_by_name("c:0") is c
    with pytest.raises(KeyError, match="does not exist"):
        graph.get_tensor_by_name("nope:0")
    with pytest.raises(KeyError, match="only has 1 outputs"):
        graph.get_tensor_by_name("c:3")
    with pytest.raises(ValueError, match="Tensor names must be of the form"):
        graph.get_tensor_by_name("c")
    with pytest.raises(ValueError, match="not an element of this graph"):
        tf.Graph().as_graph_element(c)
    with pytest.raises(TypeError, match="Can not convert"):
        graph.as_graph_element(3)


def test_tensors_have_no_value_while_the_graph_is_built():
    c = tf.constant([1, 2])
    for use in (bool, len, iter):
        with pytest.raises(TypeError):
            use(c)
    assert c.consumers() == []
    d = c + 1
    assert c.consumers() == [d.op]


def test_each_thread_has_a_default_graph_of_its_own(graph):
    found = []
    thread = threading.Thread(target=lambda: found.append(tf.get_default_graph()))
    thread.start()
    thread.join()
    assert found[0] is not graph


def test_text_and_drawing_name_every_operation(graph):
    with tf.name_scope("scope"):
        x = tf.placeholder(tf.float32, [None, 2], name="x")
        with tf.control_dependencies([tf.no_op("gate")]):
            tf.reduce_sum(x, name="total")
    text, dot = to_text(graph), to_dot(graph)
    assert "scope/total = Sum(scope/x:0) ^scope/gate : float32 ()" in text
    assert dot.count("->") == 2
    assert 'label="scope"' in dot
