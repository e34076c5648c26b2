"""What the loss of a worker costs: which runs Dask computes again, as the scheduler sees it.

Only the scheduler knows what it repeats. A plugin looks through its tasks when a worker is gone,
and not otherwise: a task that is to run and has had a result before is run again.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from distributed import Scheduler, SchedulerPlugin

from daskvars.remote.dask_internals import is_computed_again
from daskvars.remote.task_keys import run_of


class LossReporter(SchedulerPlugin):
    """Tells each executor which of its runs are computed again because a worker is gone."""

    name = "daskvars-losses"
    idempotent = True

    def remove_worker(self, scheduler: Scheduler, worker: str, **_: Any) -> None:
        """Look for what has to be computed again, and tell the executors concerned."""
        repeated: dict[str, set[str]] = defaultdict(set)
        for task in scheduler.tasks.values():
            if is_computed_again(task):
                found = run_of(task.key)
                if found is not None:
                    repeated[found[0]].add(found[1])
        for token, runs in repeated.items():
            scheduler.log_event(topic(token), {"worker": worker, "num_runs": len(runs)})


def topic(token: str) -> str:
    """Return the topic under which an executor hears of its losses."""
    return f"daskvars-losses-{token}"
