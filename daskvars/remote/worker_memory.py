"""A worker's memory: freed memory goes back in time, and a task with large results waits for room.

Dask goes by what the process has. Every 100 ms it looks: above 60-70 % of the worker's limit it
spills, above 80 % it starts no more tasks, above 95 % the worker is killed. Three things are needed
for that to work with large arrays:

- *What is freed is free.* Kept for the next array (`backend.keep_freed_memory`) it counts as used:
  Dask would spill all it has, free nothing by it and pause for ever. So above `GIVE_BACK_SHARE`
  nothing is kept, until the process is below `KEEP_SHARE` again.
- *A task starts when there is room* for its results. Else those of 100 ms, made unseen, would have
  the worker killed. It asks Dask's store of data to spill, and waits for tasks beside it.
- *What cannot fit says so*: with the worker, its limit, and what is in the way.

All this is for a process that is one worker and has a nanny. Without one (threads, a bare
`dask worker --no-nanny`) the limit is for Dask to keep, and the process is not the worker's own.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

import dask
import psutil
from tornado.ioloop import PeriodicCallback

from daskvars import backend, config
from daskvars.errors import ResourceExhaustedError, enumerated
from daskvars.remote.dask_internals import (
    NamedPlugin,
    data_bytes,
    limit_of_process,
    read_back_aligned,
    spill_one,
)

KEPT_BYTES = 1 << 30  # free memory kept: two layers of 4096 units free half of that in a step
GIVE_BACK_SHARE, KEEP_SHARE = 0.6, 0.45
POLL_MS = 200  # between looks at what is used
PATIENCE_S = 10.0  # that a task waits for room: to spill a gigabyte to a slow disk takes as long
PAUSE_S = 0.02
SPILL_S = 0.2  # at a time, on the worker's event loop
MIN_RESERVED_BYTES = 1 << 20  # of results: to look takes 10 us

ValueSizes = Sequence[tuple[str, int]]
"""Variables and their bytes."""


class WorkerMemory(NamedPlugin):
    """Looks after the memory of the worker that this process is."""

    name = "daskvars-memory"
    here: ClassVar[WorkerMemory | None] = None

    def setup(self, worker: Any) -> None:
        """Take note of the worker."""
        read_back_aligned(worker)
        keep_freed_memory()  # before there are threads, which have arenas of their own otherwise
        self.worker, self.limit = worker, limit_of_process(worker)
        if not self.limit:
            return
        self.spill_bytes = self.limit * (_share("spill") or _share("pause") or 1)
        self.pause_bytes = self.limit * (_share("pause") or 1)
        self.most = self.limit * (_share("terminate") or float("inf"))
        self.process = psutil.Process()
        self.lock = threading.Lock()
        self.promised = self.num_inside = 0
        self.gives_back = False
        self.timer = PeriodicCallback(self.adjust, POLL_MS)
        self.timer.start()
        WorkerMemory.here = self

    def teardown(self, worker: Any) -> None:
        """Look no more."""
        if self.limit:
            self.timer.stop()
            WorkerMemory.here = None

    @property
    def used(self) -> int:
        """The bytes that this process has."""
        return self.process.memory_info().rss

    def adjust(self, more: int = 0) -> None:
        """Give freed memory back, or keep it, by what is used and is about to be."""
        used = self.used + more
        if used > GIVE_BACK_SHARE * self.limit:
            self.gives_back = True
            backend.give_back_freed_memory()
        elif self.gives_back and used < KEEP_SHARE * self.limit:
            self.gives_back = False
            keep_freed_memory()

    # -- room for a task ------------------------------------------------------------------------

    @contextmanager
    def reserve(self, nbytes: int, label: str, values: ValueSizes) -> Iterator[None]:
        """Wait until there is room for a task's results, which is kept for it meanwhile.

        Raises:
            ResourceExhaustedError: there is none, and nothing left that could make some.
        """
        self._enter(nbytes, label, values)
        try:
            yield
        finally:
            with self.lock:
                self.promised -= nbytes
                self.num_inside -= 1

    def has_room(self, nbytes: int) -> bool:
        """Return whether there is room for so many bytes beside what is promised, unspilled."""
        with self.lock:
            return self.used + self.promised + nbytes <= self.pause_bytes

    def _enter(self, nbytes: int, label: str, values: ValueSizes) -> None:
        begun = time.monotonic()
        most: float = self.spill_bytes
        while not self._is_admitted(nbytes, most):
            if self._spill(nbytes):
                continue
            most = self.most  # whatever can be spilled is on disk
            if time.monotonic() > begun + PATIENCE_S and not self.num_inside:
                raise self._refusal(nbytes, label, values)
            time.sleep(PAUSE_S)

    def _is_admitted(self, nbytes: int, most: float) -> bool:
        with self.lock:
            wanted = nbytes + self.promised
            if self.used + wanted > GIVE_BACK_SHARE * self.limit:
                self.adjust(wanted)
            if self.used + wanted > most:
                return False
            self.promised += nbytes
            self.num_inside += 1
            return True

    def _spill(self, nbytes: int) -> bool:
        """Have Dask spill until there is room; return whether there was something to spill."""
        is_done, found = threading.Event(), []

        def spill() -> None:
            until = time.monotonic() + SPILL_S
            try:
                while self.used + nbytes > self.spill_bytes and time.monotonic() < until:
                    found.append(spill_one(self.worker))
                    if not found[-1]:
                        break
                backend.give_back_freed_memory()
            finally:
                is_done.set()

        self.worker.loop.add_callback(spill)
        is_done.wait(PATIENCE_S)
        return any(found)

    def _refusal(self, nbytes: int, label: str, values: ValueSizes) -> ResourceExhaustedError:
        held, spilled = data_bytes(self.worker)
        listed = enumerated([f"{name} ({size:,} bytes)" for name, size in values])
        return ResourceExhaustedError(
            None,
            label,
            f"worker {self.worker.name} at {self.worker.address} has no room for the "
            f"{nbytes:,} bytes that a task of {label!r} makes"
            f"{f': new values of {listed}' if listed else ''}. Its memory limit is "
            f"{self.limit:,} bytes; its process has {self.used:,}, of which Dask holds {held:,} in "
            f"memory, besides {spilled:,} on disk. It waited {PATIENCE_S:.0f} s. Cut what is large "
            "in more chunks (chunks=, a partitioner), or use more workers, or ones with more "
            "memory (memory_limit=)",
        )


def _share(name: str) -> Any:
    return dask.config.get(f"distributed.worker.memory.{name}")


@contextmanager
def reserve_memory(nbytes: int, label: str, values: ValueSizes) -> Iterator[None]:
    """Do so on the worker that this process is, if it is one; see `WorkerMemory.reserve`."""
    memory = WorkerMemory.here
    if memory is None or nbytes < MIN_RESERVED_BYTES:
        yield
        return
    with memory.reserve(nbytes, label, values):
        yield


def has_room(nbytes: int) -> bool:
    """Return whether the worker that this process is, if it is one, has room for so many bytes."""
    memory = WorkerMemory.here
    return memory is None or nbytes < MIN_RESERVED_BYTES or memory.has_room(nbytes)


def is_scarce() -> bool:
    """Return whether the worker that this process is, if it is one, gives freed memory back."""
    memory = WorkerMemory.here
    return memory is not None and memory.gives_back


def keep_freed_memory() -> None:
    """Keep freed memory for the next arrays, if it is to be and the worker has enough."""
    memory = WorkerMemory.here
    if config.get().keep_freed_memory and not (memory and memory.gives_back):
        backend.keep_freed_memory(KEPT_BYTES)
