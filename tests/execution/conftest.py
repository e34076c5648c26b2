"""Clusters of worker processes on this machine, one per module."""

import contextlib
import logging

import pytest
from distributed import Client, LocalCluster


@contextlib.contextmanager
def running(workers):
    """A client of a cluster of one-thread workers; not the default: enter `client.as_current()`."""
    with (
        LocalCluster(
            n_workers=workers, threads_per_worker=1, host="127.0.0.1",
            dashboard_address="127.0.0.1:0", silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):  # fmt: skip
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
