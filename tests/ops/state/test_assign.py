"""A variable that an assignment gives on, as TensorFlow 1.15 takes one (asked of TensorFlow)."""

from __future__ import annotations

import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf


def test_the_second_of_two_assignments_is_made_after_the_first(graph):
    v = tf.Variable(3.0)
    one = tf.constant(1.0)
    doubled = tf.assign(v, v * 2.0)
    both = tf.assign_add(doubled, one)
    assert both.op.control_inputs == [doubled.op]
    with tf.Session() as session:
        session.run(v.initializer)
        assert session.run(both) == session.run(v) == 7.0
        assert session.run(tf.assign_sub(tf.assign_add(both, 1.0), 10.0)) == 6.0


def test_rows_of_what_was_assigned_are_changed(graph):
    table = tf.Variable([[1.0, 2.0], [3.0, 4.0]])
    changed = tf.scatter_sub(tf.assign_add(table, tf.ones([2, 2])), [1], [[1.0, 2.0]])
    again = tf.scatter_update(changed, [0], [[9.0, 9.0]])
    with tf.Session() as session:
        session.run(table.initializer)
        assert session.run(changed).tolist() == [[2.0, 3.0], [3.0, 3.0]]
        assert session.run(again).tolist() == [[9.0, 9.0], [3.0, 2.0]]
        np.testing.assert_array_equal(session.run(table), [[9.0, 9.0], [3.0, 2.0]])


def test_they_are_a_branch(graph):
    v, p = tf.Variable(7.0), tf.placeholder(tf.bool, [])
    moved = tf.cond(
        p,
        lambda: tf.assign_sub(tf.assign(v, v * 10.0), 1.0),
        lambda: tf.assign_add(v, 100.0),
    )
    with tf.Session() as session:
        session.run(v.initializer)
        assert [session.run([moved, v.read_value()], {p: p_})[0] for p_ in (True, False)] == [
            69.0,
            169.0,
        ]


def test_other_values_are_no_variables(graph):
    v = tf.Variable(3)
    for value in (v + 1, v.read_value(), tf.count_up_to(v, 5)):
        with pytest.raises(AttributeError, match="no variable"):
            tf.assign_add(value, 1)


def test_what_an_eager_assignment_gives_is_a_value():
    with pytest.raises(AttributeError, match="no variable"):
        dv.assign_add(dv.assign(dv.Variable(3.0), 4.0), 1.0)
