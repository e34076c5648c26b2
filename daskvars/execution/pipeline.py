"""Runs in flight: dispatched, committed, not yet known to have succeeded.

A run commits the keys of its results when it is dispatched, and later runs build on those keys. If
it turns out to have failed, it and everything after it is taken back, so that the variables are
as they were before it, and the error is raised by whatever call notices. `Values.run_lock` guards
all of this.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from distributed import Client, Future

from daskvars import config
from daskvars.execution.cluster_errors import deferred, error_of, is_gone, unavailable
from daskvars.execution.remote_blocks import wait
from daskvars.state.grids import Blocks
from daskvars.state.manifest import VariableRecord
from daskvars.state.values import Values

Before = dict[str, tuple[VariableRecord, Blocks] | None]
BAD = ("error", "cancelled")


@dataclass(eq=False, slots=True)
class Run:
    """One run of a plan.

    Attributes:
      number: counts the runs of an executor.
      reads, writes: the variables it depends on and those it changes.
      futures: everything it must compute: updates, outputs, effects.
      before: what the variables it writes were; None where they had no value.
      undone: the error for which it was taken back.
    """

    number: int
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    futures: list[Future] = field(default_factory=list)
    before: Before = field(default_factory=dict)
    undone: Exception | None = None

    @property
    def is_finished(self) -> bool:
        """Whether all went well."""
        return all(future.status == "finished" for future in self.futures)

    @property
    def failed(self) -> Future | None:
        """The first future that cannot be had, if any."""
        return next((future for future in self.futures if future.status in BAD), None)


class Pipeline:
    """The runs in flight on the variables of one `Values`."""

    def __init__(
        self, client: Client, values: Values, durable_version: Callable[[], int | None]
    ) -> None:
        self.client = client
        self.values = values
        self.durable_version = durable_version
        self.pending: deque[Run] = deque()
        self.log: dict[int, Any] = {}
        self.is_complete = not len(values)
        self._version = values.version

    def note_start(self, version: int) -> None:
        """Take note of the version that a run starts from.

        If somebody else has committed, the runs alone do not lead to it: until the next seal,
        they cannot be run again.
        """
        if version != self._version:
            self.is_complete = False

    def add(self, run: Run, inputs: Any) -> None:
        """Take note of a run that was committed."""
        self.pending.append(run)
        self._version = self.values.version
        if self.is_complete:
            self.log[run.number] = inputs
        else:
            self.log.clear()

    def give_up(self) -> None:
        """Keep no runs until the next seal, if there ever is one."""
        self.log.clear()
        self.is_complete = False

    def note_seal(self) -> None:
        """Take note that the present version is sealed."""
        self.log.clear()
        self.is_complete = True
        self._version = self.values.version

    def admit(self) -> None:
        """Raise what has failed; wait while too many runs are in flight."""
        self.settle()
        limit = config.get().max_in_flight
        if len(self.pending) >= limit:
            # A wait costs a round trip: make room for several runs at once.
            wait(self.client, self.pending[len(self.pending) - 1 - limit // 2].futures)
            self.settle()

    def settle(self, everything: bool = False, own: Run | None = None) -> None:
        """Let go of finished runs, and take back failed ones.

        Args:
          everything: wait for all runs in flight.
          own: the run whose caller is waiting: its error is not called an earlier one's.

        Raises:
          OpError: a run failed; it and those after it have left no trace.
        """
        if everything:
            for run in self.pending:
                wait(self.client, run.futures)
        while self.pending and self.pending[0].is_finished:
            self.pending.popleft().futures = []  # or its version would live as long as its results
        if any(run.failed for run in self.pending):
            self._take_back(own)

    def _take_back(self, own: Run | None) -> None:
        runs = list(self.pending)
        first = next(i for i, run in enumerate(runs) if run.failed)
        for run in runs[: first + 1]:  # one before it may be about to fail too
            wait(self.client, run.futures)
        first = next(i for i, run in enumerate(runs) if run.failed)
        self.pending = deque(runs[:first])
        before: Before = {}
        error = error_of(runs[first].failed)
        for run in reversed(runs[first:]):
            before.update(run.before)
            if run is own or not is_gone(error):
                self.log.pop(run.number, None)
        restore(self.values, before)
        self._version = self.values.version
        found = self.error(runs[first], error, own)
        for run in runs[first:]:
            run.undone = found
        raise found

    def error(self, run: Run, error: Exception, own: Run | None) -> Exception:
        """Return the error that the caller of `own` sees when `run` has failed."""
        if is_gone(error):
            found: Exception = unavailable(
                error, f"run {run.number}", run.writes or run.reads, self.durable_version()
            )
            found.__cause__ = error
            return found
        if run is own:
            return error
        found = deferred(error, run.number)
        if found is not error:
            found.__cause__ = error
        return found


def restore(values: Values, before: Before) -> None:
    """Give variables the values they had, or none, in one commit."""
    old = {key: entry for key, entry in before.items() if entry is not None}
    values.commit(
        {key: blocks for key, (_, blocks) in old.items()}, values.version,
        {key: record for key, (record, _) in old.items()},
    )  # fmt: skip
    for key, entry in before.items():
        if entry is None and key in values:
            values.delete(key)
