"""Clusters for tests, and clients of them: on this machine alone, one thread per worker.

All that tests make is made here, so that nothing listens elsewhere and nothing is forgotten. The
dashboard's pages are there where a test asks for them: to import them takes a second.
"""

from __future__ import annotations

import logging
import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

import dask
from distributed import Client, LocalCluster, Scheduler, SpecCluster
from distributed.core import Status
from distributed.utils import get_mp_context

from tests.waiting import wait_until

HERE = "127.0.0.1"
# Dask's clusters on this machine give a worker up that is not back 15 s after it was lost, which it
# may not be where two suites run.
dask.config.set({"distributed.deploy.lost-worker-timeout": "120s"})


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


def kill_a_worker(client: Client) -> None:
    """End the worker that holds most with SIGKILL, as the system would; its nanny starts another.

    A nanny whose worker dies before the nanny knows that it runs gives up for good, while the
    scheduler knows of a worker 50 ms before its nanny does: so all are waited for, then killed.
    """
    processes = [nanny.process for nanny in client.cluster.workers.values()]

    def all_run() -> bool:
        known = len(client.has_what()) == len(processes)
        return known and all(process.status is Status.running for process in processes)

    wait_until(all_run, "all workers run, and their nannies know it", within_s=60)
    held = client.has_what()
    victim = max(processes, key=lambda process: len(held[process.worker_address]))
    pid = victim.pid
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: victim.pid != pid, "its nanny knows that it is gone")


class Doomed:
    """A cluster of one worker, all in a process of its own, which can be killed with all it has.

    The process is forked from one that has imported everything, as workers are.
    """

    def __init__(self) -> None:
        self.address = ""
        self._clients: list[Client] = []
        self.start()

    def start(self) -> None:
        """Start it; after it was killed, another at its address."""
        context = get_mp_context()
        ours, theirs = context.Pipe()
        port = int(self.address.rpartition(":")[2] or 0)
        self.process = context.Process(target=_serve, args=(theirs, port), daemon=True)
        self.process.start()
        theirs.close()
        self.address = ours.recv()
        self._pipe = ours  # when it is closed, the process ends

    def connected(self) -> Client:
        """Return a client of it that is the default one; whoever forgets it leaves that to `close`.

        A forgotten one would be the default of the tests that follow, which would wait for it.
        """
        client = connected(self.address, set_as_default=True)
        self._clients.append(client)
        return client

    def pause(self) -> None:
        """Have nothing of it move, as if its machine hung."""
        os.kill(self.process.pid, signal.SIGSTOP)

    def kill(self) -> None:
        """End it; that may be done again."""
        self.process.kill()
        self.process.join()
        self._pipe.close()

    def close(self) -> None:
        """End its clients and it."""
        for client in self._clients:
            client.close()
        self.kill()


def _serve(pipe: Connection, port: int) -> None:
    """Run a cluster in this process until nobody holds the pipe's other end."""
    options = {"processes": False, "protocol": "tcp://", "scheduler_port": port}
    with local(1, threads_per_worker=2, **options) as cluster:
        pipe.send(cluster.scheduler_address)
        pipe.poll(None)
