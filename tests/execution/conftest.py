"""Clusters of worker processes on this machine, one per module."""

import contextlib
import logging

import pytest
from distributed import Client, LocalCluster

import daskvars.v1 as tf


@contextlib.contextmanager
def running(workers):
    """A client of a cluster of one-thread workers; not the default: enter `client.as_current()`."""
    with (
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


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
def shared_cluster(two_workers):
    """A cluster whose client is the active one."""
    with two_workers.as_current():
        yield two_workers


@pytest.fixture
def name(request, shared_cluster):
    """A state of a name that no other test has, and that is dropped at the end."""
    yield request.node.name
    tf.Session.reset(request.node.name)


@pytest.fixture
def other(shared_cluster):
    """A second client of the cluster, in this process."""
    with Client(shared_cluster.scheduler.address, set_as_default=False) as client:
        yield client
