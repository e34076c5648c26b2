"""A graph of their own for all tests here, and a session of it."""

import pytest

import daskvars.v1 as tf


@pytest.fixture(autouse=True)
def graph():
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.fixture
def sess(graph):
    with tf.Session() as sess:
        yield sess
