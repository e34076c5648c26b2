"""Workers paused for their memory, or none at all: told of, and never waited for in silence.

A worker above 80 % of its memory starts no more tasks until it is below. Mostly it spills what it
has, which takes a moment, and goes on. If it has nothing more to spill (a leak, memory of another
library, data that is in use) it stays so, and tasks would wait for it for ever: after
`STALLED_S` without any progress they fail, with what is in the way. Whoever has made room can
run the program again.

Only the scheduler sees that. It looks once a second, at its workers; at tasks only where a worker
has stalled.
"""

from __future__ import annotations

import time
from typing import Any

from distributed import Scheduler, SchedulerPlugin
from tornado.ioloop import PeriodicCallback

from daskvars.errors import ResourceExhaustedError, enumerated
from daskvars.remote.dask_internals import fail_task, run_unbound_tasks, waiting_tasks
from daskvars.remote.task_keys import is_ours
from daskvars.remote.versions.shared_graphs import keepers

TOPIC = "daskvars-paused"
POLL_MS = 1_000
NONE_S = 5.0  # without any worker, before that is told: a cluster that is closed has none for less
STALLED_S = 15.0  # of pause without progress, before what waits fails
MORE_ROOM = (
    "cut variables in more chunks (chunks=, a partitioner), or use more workers, or ones with more "
    "memory (memory_limit=)"
)
SCARCE_SHARE = 0.7  # of a worker's memory, from which that may be why it is gone


class PausedWorkers(SchedulerPlugin):
    """Tells clients of workers that are paused, and fails what waits for one that stays so."""

    name = "daskvars-paused"
    idempotent = True

    async def start(self, scheduler: Scheduler) -> None:
        """Begin to look."""
        self.scheduler = scheduler
        self.since: dict[Any, tuple[Any, float]] = {}  # worker -> what it had done, and when
        self.known: dict[str, Any] = {}  # address -> worker, as of the last look
        self.last_s: float | None = time.monotonic()  # when there was one; None once that is told
        self.timer = PeriodicCallback(self.poll, POLL_MS)
        self.timer.start()

    async def close(self) -> None:
        """Look no more."""
        self.timer.stop()

    def poll(self) -> None:
        """Look at all workers once."""
        now = time.monotonic()
        self.known = dict(self.scheduler.workers)
        self._note_workers(now)
        paused = [w for w in self.known.values() if w.status.name == "paused"]
        for worker in self.since.keys() - set(paused):
            del self.since[worker]
            self._notify(worker, "goes on")
        for worker in paused:
            done = progress(worker)
            if worker not in self.since:
                self._notify(
                    worker,
                    f"is paused: {self.memory_of(worker)}. Dask starts no task on "
                    "it until that is less",
                )
            if worker not in self.since or self.since[worker][0] != done:
                self.since[worker] = done, now
        run_unbound_tasks(self.scheduler)
        stalled = {w for w, (_, since) in self.since.items() if now > since + STALLED_S}
        if stalled:
            self._fail_waiting(stalled)

    def _note_workers(self, now: float) -> None:
        """Tell of it where there has been no worker for a while, once."""
        if self.known:
            self.last_s = now
        elif self.last_s is not None and now > self.last_s + NONE_S:
            self.last_s = None
            text = (
                f"the cluster has had no worker for {NONE_S:.0f} s: what is to run waits until "
                "there is one"
            )
            self.scheduler.log_event(TOPIC, {"text": text, "is_gone": False})

    def remove_worker(self, scheduler: Scheduler, worker: str, **_: Any) -> None:
        """Tell of a worker that is gone, if it had little memory left when it was last seen."""
        found = self.known.pop(worker, None)
        if found is None:
            return
        was_paused = self.since.pop(found, None) is not None
        if was_paused or found.metrics.get("memory", 0) > SCARCE_SHARE * found.memory_limit > 0:
            self._notify(
                found,
                f"is gone, and had little memory left: {self.memory_of(found)}. A nanny ends a "
                f"worker that takes nearly all of its memory: {MORE_ROOM}",
                is_gone=True,
            )

    def _notify(self, worker: Any, what: str, is_gone: bool = False) -> None:
        text = f"worker {worker.name} at {worker.address} {what}"
        self.scheduler.log_event(TOPIC, {"text": text, "is_gone": is_gone})

    def memory_of(self, worker: Any) -> str:
        """Return what is known of a worker's memory, in words."""
        metrics = worker.metrics
        spilled = metrics.get("spilled_bytes", {})
        held = metrics.get("managed_bytes", 0) - spilled.get("memory", 0)
        return (
            f"its memory limit is {worker.memory_limit:,} bytes and its process has "
            f"{metrics.get('memory', 0):,}, of which Dask holds {held:,} in memory, besides "
            f"{spilled.get('disk', 0):,} on disk"
        )

    def _fail_waiting(self, stalled: set[Any]) -> None:
        for key, worker in list(waiting_tasks(self.scheduler, stalled)):
            if is_ours(key):
                fail_task(self.scheduler, key, self._error(worker))

    def _error(self, worker: Any) -> ResourceExhaustedError:
        found = sorted(self._variables(worker).items(), key=lambda item: (-item[1], item[0]))
        listed = enumerated([f"{name} ({size:,} bytes)" for name, size in found])
        return ResourceExhaustedError.saying(
            f"worker {worker.name} at {worker.address} is paused, and nothing has moved"
            f" for {STALLED_S:.0f} s: {self.memory_of(worker)}. Variables there: "
            f"{listed or 'none'}. The run was given up and changed nothing. Free what else "
            f"the worker's process holds, {MORE_ROOM}"
        )

    def _variables(self, worker: Any) -> dict[str, int]:
        """Return the bytes of each variable that a worker has."""
        found: dict[str, int] = {}
        keeper = keepers.get(self.scheduler.id)
        for state in list(keeper.states.values()) if keeper else ():
            for name, (record, blocks) in state.versions.finished.items():
                there = [h for h in blocks.values() if self._is_at(h.key, worker)]
                if there:
                    share = record.nbytes * len(there) // len(blocks)
                    found[name] = found.get(name, 0) + share
        return found

    def _is_at(self, key: Any, worker: Any) -> bool:
        task = self.scheduler.tasks.get(key)
        return task is not None and worker in (task.who_has or ())


def progress(worker: Any) -> Any:
    """Return what changes while a paused worker gets on: tasks that it had begun, and spilling."""
    metrics = worker.metrics
    executing = metrics.get("task_counts", {}).get("executing", 0)
    moving = time.monotonic() if executing else 0
    return moving, len(worker.has_what), metrics.get("spilled_bytes")
