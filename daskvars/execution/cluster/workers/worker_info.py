"""What the workers of a cluster offer: jobs and tasks by their names, GPUs, threads, memory.

A worker's name says which task it is: "ps-0" or "/job:ps/task:0". A worker named by a number, as
Dask does by itself, is that task of the job "worker"; one named otherwise belongs to that job, but
is no task of it. How many GPUs it has is its Dask resource "GPU" (``dask worker --resources
GPU=1``).
"""

from __future__ import annotations

import re
import threading
import time
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from distributed import Client

from daskvars.errors import UnavailableError
from daskvars.graph.scopes.device import DeviceSpec
from daskvars.remote.dask_internals import once_per_client, sync_while_connected
from daskvars.remote.scheduler.worker_watch import TOPIC, WorkerWatch

POLL_S = 0.3  # between two looks
_NAMES = re.compile(r"(?:/job:(\w+)(?:/replica:\d+)?/task:|(?:([A-Za-z]\w*)-)?)(\d+)")


class NoWorkersError(UnavailableError):
    """The cluster has no workers, and none were waited for any longer."""


class WorkerInfo(NamedTuple):
    """What one worker offers.

    Attributes:
      address: where Dask reaches it.
      job, task: which task of a cluster it is; the task may be None.
      num_gpus: its resource "GPU".
      num_threads: how many tasks it runs at once.
      memory_limit_bytes: most memory that it may use, 0 without a limit.
    """

    name: str
    address: str
    job: str
    task: int | None
    num_gpus: int
    num_threads: int
    memory_limit_bytes: int

    @property
    def device(self) -> str:
        """The task's device string."""
        return DeviceSpec(job=self.job, task=self.task).to_string()

    def __str__(self) -> str:
        gpus = f"GPU {self.num_gpus}" if self.num_gpus else "no GPU"
        memory = f"{self.memory_limit_bytes / 2**30:.1f} GiB" if self.memory_limit_bytes else "any"
        return f"{self.name} = {self.device}: {gpus}, threads {self.num_threads}, memory {memory}"


def task_of(name: str) -> tuple[str, int | None]:
    """Return job and task of the worker of a name.

    >>> task_of("ps-1"), task_of("/job:ps/replica:0/task:2"), task_of("3"), task_of("tcp://x:1")
    (('ps', 1), ('ps', 2), ('worker', 3), ('worker', None))
    """
    found = _NAMES.fullmatch(name)
    if found is None:
        return "worker", None
    return found[1] or found[2] or "worker", int(found[3])


def read_worker_infos(client: Client) -> tuple[WorkerInfo, ...]:
    """Return what the live workers offer, in the order of jobs, tasks and names.

    Not by `Client.scheduler_info`: what it asks for is where the client's own question lands, every
    two seconds, which is about no worker.

    Raises:
      OSError: the scheduler cannot be reached.
    """
    found = []
    scheduler: Any = client.scheduler
    identity = sync_while_connected(client, scheduler.identity, n_workers=-1)
    for address, worker in identity["workers"].items():
        name = str(worker["name"])
        found.append(
            WorkerInfo(
                name,
                address,
                *task_of(name),
                int(worker.get("resources", {}).get("GPU", 0)),
                worker["nthreads"],
                worker["memory_limit"] or 0,
            )
        )
    return tuple(sorted(found, key=_order))


def _order(info: WorkerInfo) -> Any:
    return info.job, info.task is None, info.task or 0, info.name, info.address


def listed(worker_infos: Iterable[WorkerInfo]) -> str:
    """Return offers as text."""
    return "; ".join(map(str, worker_infos)) or "none"


class Workers:
    """The live workers of a client's cluster; those that come and go are noticed.

    Attributes:
      version: counts the changes seen.
      expected: tasks, (job, number), that are starting, so that it is worth waiting for them.
      preferred: the task of the program itself, if it is one: where its own operations run that
        ask for no other task of the job.
    """

    def __init__(self, client: Client) -> None:
        self._client = weakref.ref(client)
        self._infos: tuple[WorkerInfo, ...] = ()
        self._lock = threading.Lock()
        self._stale = True
        self._patiences_s: list[float] = []  # of those who wait for a worker no longer than that
        self._none_since: float | None = None
        self.version = 0
        self.expected: set[tuple[str, int]] = set()
        self.preferred: tuple[str, int] | None = None
        client.register_plugin(WorkerWatch())
        client.subscribe_topic(TOPIC, self._note_change)

    def _note_change(self, event: Any) -> None:
        self._stale, self._none_since = True, None

    @property
    def worker_infos(self) -> tuple[WorkerInfo, ...]:
        """What they offer now."""
        if self._stale:
            self.refresh()
        return self._infos

    @contextmanager
    def awaited_at_most(self, patience_s: float) -> Iterator[None]:
        """Have nobody wait in the block for longer than that for a worker, where there is none."""
        self._patiences_s.append(patience_s)
        try:
            yield
        finally:
            self._patiences_s.remove(patience_s)

    @property
    def look_s(self) -> float | None:
        """How often whoever waits is to call `check_awaited`; None while that raises nothing."""
        return POLL_S if self._patiences_s else None

    def check_awaited(self) -> None:
        """Raise NoWorkersError where there is no worker, and none is waited for any longer."""
        if not self._patiences_s or self.worker_infos:
            return
        now = time.monotonic()
        self._none_since = self._none_since or now
        if now - self._none_since >= min(self._patiences_s):
            raise NoWorkersError.saying("the Dask cluster has no worker any more")

    def wait_for_any(self) -> None:
        """Wait until there is a worker, or the cluster is lost; raises as `check_awaited`."""
        while not self.worker_infos and (client := self._client()) and client.status == "running":
            self.check_awaited()
            time.sleep(POLL_S)

    def refresh(self) -> None:
        """Ask the scheduler."""
        self._stale = False
        client = self._client()
        if client is None:
            return
        with self._lock:
            try:
                found = read_worker_infos(client)
            except OSError:  # as whoever goes on hears
                return
            if [o[:6] for o in found] != [o[:6] for o in self._infos]:
                self.version += 1
            self._infos = found


@once_per_client
def workers_of(client: Client) -> Workers:
    """Return the workers of a client's cluster, one object for all that asks."""
    return Workers(client)
