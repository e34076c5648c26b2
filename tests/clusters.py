"""Clusters for tests, and clients of them: on this machine alone, one thread per worker.

All that tests make is made here, so that nothing listens elsewhere and nothing is forgotten. The
dashboard's pages are there where a test asks for them: to import them takes a second.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from distributed import Client, LocalCluster, Scheduler, SpecCluster

HERE = "127.0.0.1"


def local(num_workers: int = 2, dashboard: bool = False, **options: Any) -> LocalCluster:
    """Return a cluster of workers that are processes, unless options of Dask's say otherwise."""
    return LocalCluster(
        n_workers=num_workers,
        host=HERE,
        dashboard_address=f"{HERE}:0",
        scheduler_kwargs={"dashboard": dashboard},
        **{"threads_per_worker": 1, "silence_logs": logging.CRITICAL, **options},
    )


def specified(workers: Mapping[str, Any]) -> SpecCluster:
    """Return a cluster of workers that are each said how to be made."""
    options = {"host": HERE, "dashboard_address": f"{HERE}:0", "dashboard": False}
    return SpecCluster(
        dict(workers),
        scheduler={"cls": Scheduler, "options": options},
        silence_logs=logging.CRITICAL,
    )


def connected(to: Any, set_as_default: bool = False, **options: Any) -> Client:
    """Return a client of a cluster, or of the one at an address on this machine.

    It is not the default, unless that is asked for: enter `client.as_current()`.
    """
    assert not isinstance(to, str) or f"//{HERE}:" in to, f"{to} is not here"
    return Client(to, set_as_default=set_as_default, **options)


@contextmanager
def running(num_workers: int = 2, set_as_default: bool = False, **options: Any) -> Iterator[Client]:
    """Give a client of a cluster, of options as for `local`; both end with the block."""
    with local(num_workers, **options) as cluster, connected(cluster, set_as_default) as client:
        yield client
