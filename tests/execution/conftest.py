"""Clusters of worker processes on this machine, one per module."""

import pytest

import daskvars.v1 as tf
from tests.clusters import connected, running


@pytest.fixture(scope="module")
def one_worker():
    with running(1) as client:
        yield client


@pytest.fixture(scope="module")
def two_workers():
    with running(2) as client:
        yield client


@pytest.fixture
def mortal_workers():
    """Two workers that a test may kill."""
    with running(2) as client:
        yield client


@pytest.fixture
def cluster(two_workers):
    """A cluster whose client is the active one."""
    with two_workers.as_current():
        yield two_workers


@pytest.fixture
def name(request, cluster):
    """A state of a name that no other test has, and that is dropped at the end."""
    yield request.node.name
    tf.Session.reset(request.node.name)


@pytest.fixture
def other(cluster):
    """A second client of the cluster, in this process."""
    with connected(cluster.scheduler.address) as client:
        yield client
