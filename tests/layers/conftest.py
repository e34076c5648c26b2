"""A graph of its own for each test that builds one."""

import pytest

import daskvars.v1 as tf


@pytest.fixture
def graph():
    with tf.Graph().as_default() as graph:
        yield graph
