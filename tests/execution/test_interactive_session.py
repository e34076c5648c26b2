"""Interactive sessions: the default from when they are made, closed or not."""

import pytest

import daskvars.v1 as tf


def test_an_interactive_session_that_is_not_closed_leaves_the_default_graph_to_be_reset():
    tf.reset_default_graph()
    try:
        for _ in range(2):  # a cell of a notebook, run again
            tf.reset_default_graph()
            session = tf.InteractiveSession()
            assert session.graph is tf.get_default_graph()
            v = tf.get_variable("v", initializer=1.0)
            session.run(v.initializer)
            assert v.eval() == 1.0
            session.close()
        session = tf.InteractiveSession()
        del session
        tf.reset_default_graph()
        assert not tf.get_default_graph().get_operations()
    finally:
        tf.get_default_session().close()


def test_a_graph_that_an_interactive_session_was_given_is_entered_until_closed_or_reset():
    tf.reset_default_graph()
    graph = tf.Graph()
    session = tf.InteractiveSession(graph=graph)
    assert tf.get_default_graph() is graph and int(tf.constant(3).eval()) == 3
    with tf.Graph().as_default() as inner:
        session.close()
        assert tf.get_default_graph() is inner
    assert tf.get_default_graph() is not graph
    session = tf.InteractiveSession(graph=graph)
    tf.reset_default_graph()
    assert tf.get_default_graph() is not graph and tf.get_default_session() is session
    session.close()
    with graph.as_default(), pytest.raises(AssertionError, match="nested"):
        tf.reset_default_graph()


def test_interactive_sessions_made_in_a_block_do_not_disturb_its_end():
    with tf.Graph().as_default():
        session = tf.InteractiveSession()
        assert int(tf.constant(3).eval()) == 3
    session.close()


def test_a_second_interactive_session_is_warned_of():
    first = tf.InteractiveSession(graph=tf.Graph())
    with pytest.warns(UserWarning, match=r"already active.*close\(\)"):
        second = tf.InteractiveSession(graph=tf.Graph())
    first.close()
    second.close()
    assert tf.get_default_session() is None
