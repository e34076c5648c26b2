"""A graph of their own for all tests here."""

import pytest


@pytest.fixture(autouse=True)
def default_graph(graph):
    """The graph that a test begins with is its own (a mark in this file would mark no test)."""
    return graph
