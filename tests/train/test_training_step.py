"""The global step."""

from __future__ import annotations

import pytest

import daskvars.v1 as tf

pytestmark = pytest.mark.usefixtures("graph")


def test_created_once(graph):
    assert tf.train.get_global_step() is None
    step = tf.train.create_global_step()
    assert step.name == "global_step:0" and step.dtype.base_dtype is tf.int64
    assert step.shape.as_list() == [] and step not in tf.trainable_variables()
    assert tf.get_collection(tf.GraphKeys.GLOBAL_STEP) == [step]
    assert step in tf.global_variables()
    assert tf.train.get_global_step(graph) is step
    assert tf.train.get_or_create_global_step() is step
    with pytest.raises(ValueError, match='"global_step" already exists'):
        tf.train.create_global_step()


def test_name_does_not_depend_on_the_name_scope():
    with tf.name_scope("somewhere"):
        assert tf.train.get_or_create_global_step().name == "global_step:0"


def test_found_by_name():
    step = tf.Variable(0, name="global_step", trainable=False)
    assert tf.train.get_global_step().op is step.op


def test_created_in_another_graph():
    other = tf.Graph()
    step = tf.train.create_global_step(other)
    assert step.graph is other and tf.train.get_global_step() is None


def test_several_are_no_answer():
    tf.train.create_global_step()
    tf.add_to_collection(tf.GraphKeys.GLOBAL_STEP, tf.Variable(0, name="other"))
    with pytest.warns(UserWarning, match="global_step:0.*other:0"):
        assert tf.train.get_global_step() is None


def test_wrong_kinds():
    with pytest.raises(TypeError, match="must be a Variable or Tensor"):
        tf.train.assert_global_step(3)
    with pytest.raises(TypeError, match="does not have integer type"):
        tf.train.assert_global_step(tf.Variable(1.0))
    with pytest.raises(TypeError, match="is not scalar"):
        tf.train.assert_global_step(tf.Variable([1, 2]))


def test_value():
    step = tf.Variable(10, name="global_step", trainable=False)
    with tf.Session() as sess:
        sess.run(step.initializer)
        assert tf.train.global_step(sess, step) == 10
