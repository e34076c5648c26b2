"""Gradients registered by name, and the blocks that give them to operations."""

import numpy
import pytest

import daskvars.v1 as tf


@tf.RegisterGradient("TimesTen")
def times_ten(op, dy):
    return [10.0 * dy] + [None] * (len(op.inputs) - 1)


@tf.RegisterGradient("TimesHundred")
def times_hundred(op, dy):
    return 100.0 * dy


tf.NotDifferentiable("NoneAtAll")


def gradient(y, x):
    with tf.Session() as sess:
        return float(sess.run(tf.gradients(y, x)[0]))


def test_operations_of_a_block_have_the_gradient_given(graph):
    x = tf.constant(1.0)
    before = tf.identity(x)
    with graph.gradient_override_map({"Identity": "TimesTen"}):
        inside = tf.identity(x)
        assert gradient(inside, x) == 10.0
    assert gradient(inside, x) == 10.0
    assert gradient(before, x) == gradient(tf.identity(x), x) == 1.0
    assert inside.op.get_attr("_gradient_op_type") == b"TimesTen"


def test_the_inner_block_wins(graph):
    x = tf.constant(1.0)
    with graph.gradient_override_map({"Identity": "TimesTen", "Square": "TimesTen"}):
        with graph.gradient_override_map({"Identity": "TimesHundred"}):
            y = tf.identity(x)
            z = tf.square(x)
        w = tf.identity(x)
    assert [gradient(t, x) for t in (y, z, w)] == [100.0, 10.0, 10.0]


def test_a_python_function_gets_a_gradient(graph):
    x = tf.constant([1.0, 2.0])
    with graph.gradient_override_map({"PyFunc": "TimesTen"}):
        y = tf.py_func(lambda a: numpy.square(a), [x], tf.float32)
    with tf.Session() as sess:
        assert sess.run([y, *tf.gradients(y, x)])[1].tolist() == [10.0, 10.0]


def test_what_lacks_one_gets_a_gradient(graph):
    tf.RegisterGradient("ParseSingleSequenceExample")(lambda op, *dys: [None] * len(op.inputs))
    x = tf.ones([2])
    feature = {"a": tf.FixedLenFeature([2], tf.float32, default_value=x)}
    found, _ = tf.parse_single_sequence_example(b"", feature)
    assert tf.gradients(found["a"], x) == [None]


def test_a_gradient_may_be_another_op_s_or_none_at_all(graph):
    x = tf.constant(3.0)
    with graph.gradient_override_map({"Identity": "NoneAtAll", "Square": "Exp"}):
        assert tf.gradients(tf.identity(x), x) == [None]
        assert gradient(tf.square(x), x) == 9.0  # exp's rule: the output times dy


def test_an_unknown_gradient_is_an_error_when_it_is_wanted(graph):
    x = tf.constant(3.0)
    with graph.gradient_override_map({"Identity": "NeverRegistered"}):
        y = tf.identity(x)
    with pytest.raises(LookupError, match="NeverRegistered"):
        tf.gradients(y, x)


@pytest.mark.parametrize("name", ["TimesTen", "Square"])
def test_a_name_is_registered_once(name):
    with pytest.raises(KeyError, match=name):
        tf.RegisterGradient(name)(times_ten)


@pytest.mark.parametrize("wrong", [7, {"Identity": 7}, {7: "TimesTen"}])
def test_the_map_is_of_strings(graph, wrong):
    with pytest.raises(TypeError, match="mapping strings"), graph.gradient_override_map(wrong):
        pass
    with pytest.raises(TypeError, match="string"):
        tf.RegisterGradient(7)
