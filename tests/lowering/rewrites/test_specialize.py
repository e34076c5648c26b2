"""Concrete shapes, and what they tell before a run."""

import numpy as np
import pytest

import daskvars.v1 as tf

pytestmark = pytest.mark.usefixtures("graph")


@pytest.fixture
def rows():
    """Return the two first of some rows, which are looked at before."""
    x = tf.placeholder(tf.float32, [None], name="x")
    limit = tf.placeholder(tf.int32, [], name="limit")
    assertion = tf.Assert(tf.shape(x)[0] >= 2, ["too few rows:", tf.shape(x)], name="look")
    with tf.control_dependencies([assertion, tf.Assert(limit > 0, ["no limit"])]):
        return x, limit, tf.slice(tf.identity(x), [0], [2])


def test_an_assertion_that_shapes_fail_says_why_an_op_does_not_fit(rows):
    x, limit, found = rows
    with tf.Session() as session:
        assert session.run(found, {x: np.ones(3), limit: 1}).tolist() == [1, 1]
        with pytest.raises(tf.errors.InvalidArgumentError) as caught:
            session.run(found, {x: np.ones(1), limit: 1})
    assert caught.value.op.name == "look"
    assert "assertion failed: [too few rows:] [1] [op 'look']" in caught.value.message


def test_an_assertion_that_shapes_pass_leaves_the_word_to_the_op():
    x = tf.placeholder(tf.float32, [None])
    with tf.control_dependencies([tf.Assert(tf.shape(x)[0] >= 1, ["empty"])]):
        found = tf.slice(tf.identity(x), [0], [2])
    with tf.Session() as session, pytest.raises(tf.errors.InvalidArgumentError, match=r"size\[0\]"):
        session.run(found, {x: np.ones(1)})
