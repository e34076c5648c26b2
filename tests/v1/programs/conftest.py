"""A fresh default graph for each test, and a session on it that has been initialized."""

import pytest

import daskvars.v1 as tf


@pytest.fixture(autouse=True)
def default_graph(graph):
    """The graph that a test begins with is its own (a mark in this file would mark no test)."""
    return graph


@pytest.fixture
def initialized():
    """A function that opens a session in which all variables made so far have their values."""
    sessions = []

    def start():
        sessions.append(tf.Session())
        sessions[-1].run([tf.global_variables_initializer(), tf.local_variables_initializer()])
        return sessions[-1]

    yield start
    for session in sessions:
        session.close()
