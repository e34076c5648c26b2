"""Small results travel with the word that their task is done, so that no client has to fetch them.

To fetch a loss takes a second round trip: from the client to the scheduler, from there to the
worker, and back. But the worker tells the scheduler of each task that it is done anyway, and the
scheduler the client of each run. What these messages have room for goes along: the worker's part is
here, the scheduler's is `versions.version_keeper`, and the client's `execution.cluster.runs`. What
did not come along is fetched as before.
"""

from __future__ import annotations

from typing import Any

from daskvars.remote.dask_internals import (
    NamedPlugin,
    add_to_report,
    finished_result,
    pickle,
    report_promptly,
)
from daskvars.remote.task_keys import has_outputs, is_read
from daskvars.remote.task_outputs import TaskOutputs

MAX_TOLD_BYTES = 4_096  # of what goes along with one word
TOLD = "daskvars-told"  # what it is called in the word that a task is done


class ToldResults(NamedPlugin):
    """Has a worker tell what its tasks give, where that is small and for clients."""

    name = TOLD

    def setup(self, worker: Any) -> None:
        """Take note of the worker."""
        self.worker = worker
        report_promptly(worker)

    def transition(self, key: Any, start: Any, finish: Any, **_: Any) -> None:
        """Put what a task has given into the word that it is done, which is about to be sent."""
        if finish != "memory" or start != "executing" or not (has_outputs(key) or is_read(key)):
            return
        result = finished_result(self.worker, key)
        found = None if result is None else as_told(key, self.worker.address, *result)
        if found is not None:
            add_to_report(self.worker, key, TOLD, found)


def as_told(key: Any, address: str, value: Any, nbytes: int) -> bytes | None:
    """Return what a client gets in place of what is under a key; None where that is fetched."""
    if isinstance(value, TaskOutputs):
        if not value.shown:
            return None
        value = value.referred_to(key, address)
    elif nbytes > MAX_TOLD_BYTES:
        return None
    found = pickle.dumps(value)
    return found if len(found) <= MAX_TOLD_BYTES else None


def as_fetched(told: bytes) -> Any:
    """Return what `as_told` was given, as a client would have fetched it.

    >>> as_fetched(as_told("sum-0123456789abcdef-7-o0", "tcp://a:1", (0.5,), 64))
    (0.5,)
    """
    return pickle.loads(told)
