"""Clusters of processes, and what a step costs them, counted by Dask and not by daskvars.

Tasks are counted by the scheduler as they finish. Bytes are those that workers write to whatever is
not the scheduler: to other workers, but for small replies; what goes through memory that two have,
or is handed over within a process, counts as if it went from machine to machine. CPU seconds are
those of the scheduler's process. All of it goes through Dask's own plugins and connections, the one
place that fills such memory, and the one that hands over, so it does not depend on what the engine
believes to have done.
"""

from __future__ import annotations

import json
import os
import resource
import runpy
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import numpy as np
from distributed import Client
from distributed.comm.tcp import TCP
from distributed.diagnostics.plugin import SchedulerPlugin
from distributed.utils import get_mp_context

from daskvars.remote.exchange import Exchanges
from daskvars.remote.shared_buffers import LentBuffers

LOCAL = ("--host", "127.0.0.1", "--no-dashboard")
IDLE_S = 2.0


def started(role: str, *arguments: str) -> BaseProcess:
    """Start what ``dask ROLE ARGUMENTS`` runs; the process is killed if it outlives this one.

    Dask's configuration says how processes are made (`distributed.worker.multiprocessing-method`).
    """
    name = f"distributed.cli.dask_{role}"
    process = get_mp_context().Process(target=_run, args=(name, arguments), daemon=True)
    process.start()
    return process


def _run(name: str, arguments: Sequence[str]) -> None:
    """Be the program of a module, in the other process, in silence."""
    with open(os.devnull, "w") as nowhere:
        for output in (1, 2):
            os.dup2(nowhere.fileno(), output)
    sys.argv = [name, *arguments]
    runpy.run_module(name, run_name="__main__")


class TaskCounter(SchedulerPlugin):
    """Counts the tasks that workers have finished."""

    name = "task_counter"

    def __init__(self) -> None:
        self.finished = 0

    def transition(self, key: Any, start: str, finish: str, *args: Any, **kwargs: Any) -> None:
        """Note that a task goes from one state to another."""
        self.finished += start == "processing" and finish == "memory"


def finished(dask_scheduler: Any = None) -> int:
    """Return how many tasks a scheduler has seen finished."""
    return dask_scheduler.plugins[TaskCounter.name].finished


def busy_s() -> float:
    """Return the CPU seconds of this process."""
    return time.process_time()


def count_written(scheduler: str) -> None:
    """Count what this process writes to its connections, but for those to the scheduler, to memory
    that it has with another, and what its workers hand over to one another."""
    if hasattr(TCP, "written"):
        return
    TCP.written, write = 0, TCP.write

    async def counted(comm: TCP, *args: Any, **kwargs: Any) -> int:
        nbytes = await write(comm, *args, **kwargs)
        if comm.peer_address != scheduler:
            TCP.written += nbytes
        return nbytes

    TCP.write = counted
    fill = LentBuffers.placed

    def filled(self: LentBuffers, ticket: Any, arrays: Sequence[np.ndarray]) -> Any:
        found = fill(self, ticket, arrays)
        if found is not None:
            TCP.written += sum(array.nbytes for array in arrays)
        return found

    LentBuffers.placed = filled
    take = Exchanges.slices

    def taken(self: Exchanges, wanted: Any) -> list[Any]:
        found = take(self, wanted)
        TCP.written += sum(getattr(part[0], "nbytes", 0) for part in found if part)
        return found

    Exchanges.slices = taken


def written() -> tuple[int, int]:
    """Return this process's number and the bytes that it has written."""
    return os.getpid(), TCP.written


def most_memory() -> int:
    """Return the most bytes that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10


class Cluster:
    """A scheduler and workers of one thread each.

    Args:
      place: a directory for the scheduler's file.
      workers: how many.
      as_threads: whether all workers are in one process, rather than each in its own.
      is_default: whether sessions find its client.
    """

    def __init__(
        self, place: str, workers: int = 2, *, as_threads: bool = False, is_default: bool = True
    ) -> None:
        self.file = os.path.join(place, "scheduler.json")
        self.processes = [self._started("scheduler", "--port", "0")]
        while not (os.path.exists(self.file) and os.path.getsize(self.file)):
            time.sleep(0.02)
        address = json.loads(Path(self.file).read_text())["address"]
        if as_threads:
            how = {
                "cls": "distributed.Worker",
                "opts": {"nthreads": 1, "host": "127.0.0.1", "dashboard": False},
            }
            spec = json.dumps({str(number): how for number in range(workers)})
            self.processes.append(started("spec", address, "--spec", spec))
        else:
            for _ in range(workers):
                self.add_worker()
        self.client = Client(scheduler_file=self.file, set_as_default=is_default)
        self.client.wait_for_workers(workers)

    def _started(self, role: str, *arguments: str) -> BaseProcess:
        return started(role, *arguments, *LOCAL, "--scheduler-file", self.file)

    def add_worker(self) -> None:
        """Start a worker process; do not wait for it."""
        self.processes.append(self._started("worker", "--no-nanny", "--nthreads", "1"))

    def count(self) -> None:
        """Have tasks and bytes counted from now on."""
        self.client.register_plugin(TaskCounter())
        self.client.run(count_written, self.client.scheduler.address)

    def counts(self) -> np.ndarray:
        """Return the tasks that were finished and the bytes that were written."""
        found = dict(self.client.run(written).values())
        return np.array([self.client.run_on_scheduler(finished), sum(found.values())])

    def clocks(self) -> np.ndarray:
        """Return the CPU seconds of the scheduler, and the time."""
        return np.array([self.client.run_on_scheduler(busy_s), time.perf_counter()])

    def close(self) -> None:
        """End all processes."""
        self.client.close()
        for process in self.processes:
            process.kill()
            process.join()

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


@dataclass
class Load:
    """What a step costs a cluster, on average.

    Attributes:
      tasks: that workers finish.
      moved: bytes that workers write.
      busy_s, wall_s: CPU seconds of the scheduler's process, and how long the step takes.
    """

    tasks: float
    moved: float
    busy_s: float
    wall_s: float

    def __str__(self) -> str:
        return (
            f"{self.tasks:,.4g} tasks a step, {self.moved / 2**20:,.4g} MiB written by workers; "
            f"the scheduler is busy for {self.busy_s * 1e3:.3g} ms of {self.wall_s * 1e3:.4g}"
        )


def idle_share(cluster: Cluster, seconds: float = IDLE_S) -> float:
    """Return the CPU seconds a second that the scheduler takes while nothing is to be done."""
    clocks = cluster.clocks()
    time.sleep(seconds)
    busy_s, wall_s = cluster.clocks() - clocks
    return busy_s / wall_s


def load(cluster: Cluster, step: Callable[[], Any], steps: int) -> Load:
    """Return what a step costs the cluster, which counts."""
    counts, clocks = cluster.counts(), cluster.clocks()
    for _ in range(steps):
        step()
    clocks = cluster.clocks() - clocks
    return Load(*(cluster.counts() - counts) / steps, *clocks / steps)
