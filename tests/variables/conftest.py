"""A fresh graph for each test that asks for one."""

import pytest

from daskvars.graph.graph import Graph


@pytest.fixture
def graph():
    with Graph().as_default() as fresh:
        yield fresh
