"""variable_creator_scope: functions that take part in the making of variables."""

import pytest

import daskvars as dv
import daskvars.v1 as tf


@pytest.fixture
def asked():
    return []


@pytest.fixture
def note(asked):
    def creator(next_creator, **kwargs):
        asked.append(kwargs["name"])
        return next_creator(**kwargs)

    return creator


def renamed(next_creator, **kwargs):
    return next_creator(**{**kwargs, "name": "forced"})


def test_the_innermost_is_asked_first(asked, note):
    with tf.Graph().as_default():
        with tf.variable_creator_scope(note), tf.variable_creator_scope(renamed):
            v = tf.Variable(1.0, False, name="one")
        w = tf.Variable(1.0, name="two")
    assert asked == ["forced"]
    assert (v.name, v.trainable, w.name) == ("forced:0", False, "two:0")


def test_it_sees_what_get_variable_asks_for():
    seen = {}

    def creator(next_creator, **kwargs):
        seen.update(kwargs)
        return next_creator(**kwargs)

    with tf.Graph().as_default(), tf.variable_creator_scope(creator):
        tf.get_variable("v", [2], aggregation=tf.VariableAggregation.MEAN)
    assert seen["aggregation"] is tf.VariableAggregation.MEAN
    assert (seen["name"], seen["collections"]) == ("v", None)


def test_it_may_give_something_else():
    with tf.Graph().as_default(), tf.variable_creator_scope(lambda next_creator, **kwargs: 7):
        assert tf.Variable(1.0) == 7


def test_it_is_for_its_program_and_for_no_subclass(asked, note):
    class Mine(tf.Variable):
        pass

    with tf.Graph().as_default(), tf.variable_creator_scope(note):
        with tf.Graph().as_default():
            tf.Variable(1.0, name="elsewhere")
        assert Mine(1.0, name="mine").name == "mine:0"
    with dv.variable_creator_scope(note):
        assert float(dv.Variable(2.0, name="eager")) == 2.0
    assert asked == ["eager"]


def test_blocks_are_left_in_order(asked, note):
    with tf.Graph().as_default():
        outer = tf.variable_creator_scope(note)
        outer.__enter__()
        with tf.variable_creator_scope(note), pytest.raises(RuntimeError, match="proper nesting"):
            outer.__exit__(None, None, None)
        with pytest.raises(KeyError), tf.variable_creator_scope(note):
            raise KeyError
        tf.Variable(1.0)
    assert asked == []
