"""A fresh default graph for each test, and a session on it that has been initialized."""

import pytest

import daskvars.v1 as tf

pytestmark = pytest.mark.usefixtures("graph")


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
