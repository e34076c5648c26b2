"""Workers that come and go: clients are told, and no task waits for one that is gone."""

from __future__ import annotations

import asyncio
from typing import Any

from distributed import Scheduler, SchedulerPlugin

from daskvars.remote.dask_internals import (
    fail_task,
    give_up_on,
    span_scopes,
    stranded_error,
    stranded_tasks,
)
from daskvars.remote.groups_page import patch_groups_page
from daskvars.remote.task_keys import is_ours

TOPIC = "daskvars-workers"

# When attempts to reach a worker are broken off, after it was removed: soon, for what was just
# about to begin; then for tasks that had been told where to fetch from, and waited for a thread.
GIVE_UP_AFTER_S = (0.1, 0.5, 2.0, 8.0)


class WorkerWatch(SchedulerPlugin):
    """Tells clients that workers come and go; lets no task wait for a worker that is gone.

    Dask keeps a task that may only run on certain workers until one of them is back, under the
    address that it had. Here it fails instead, and its executor places it anew. Nor does anybody go
    on trying to reach a worker that is gone.
    """

    name = "daskvars-workers"
    idempotent = True

    async def start(self, scheduler: Scheduler) -> None:
        """Take note of the scheduler; have Dask's pages show groups and spans of ours."""
        self.scheduler = scheduler
        patch_groups_page()
        span_scopes(scheduler, is_ours)

    def add_worker(self, scheduler: Scheduler, worker: str, **_: Any) -> None:
        """Tell of a new worker."""
        scheduler.log_event(TOPIC, {"action": "add", "worker": worker})

    def remove_worker(self, scheduler: Scheduler, worker: str, **_: Any) -> None:
        """Tell of one that is gone, and look for tasks that only it could run."""
        scheduler.log_event(TOPIC, {"action": "remove", "worker": worker})
        loop = asyncio.get_running_loop()
        loop.call_soon(self._fail_stranded)
        for seconds in GIVE_UP_AFTER_S:
            loop.call_later(seconds, give_up_on, scheduler, worker)

    def transition(self, key: Any, start: str, finish: str, *_: Any, **__: Any) -> None:
        """Look after a task that no worker can run."""
        if finish == "no-worker":
            asyncio.get_running_loop().call_soon(self._fail_stranded)

    def _fail_stranded(self) -> None:
        for key, wanted in list(stranded_tasks(self.scheduler)):
            if is_ours(key):
                fail_task(self.scheduler, key, stranded_error(key, wanted))
