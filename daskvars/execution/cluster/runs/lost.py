"""What happens when a worker dies with data: the runs since the last seal are sent again.

Data that is lost Dask computes again. What Dask cannot, since its inputs are gone as well, a client
that knows itself alone on its state can: it keeps a log of the runs since the last seal, and sends
them again on what was sealed, with the same inputs and random numbers (`LostRuns.repeat`). On a
state with several clients no one of them has all the runs, so there it is an error until
`recover()`.
"""

from __future__ import annotations

import math
import threading
import weakref
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

from daskvars.execution.cluster.errors import LostError
from daskvars.execution.cluster.runs.bound_plan import BoundPlan
from daskvars.execution.cluster.runs.sent_run import SentRun
from daskvars.execution.engine import events
from daskvars.remote.versions.commit_order import LostStateError

MAX_LOSSES = 5  # while runs are sent again


class Resender(Protocol):
    """What has the runs in flight, and sends others: `in_flight.InFlight`.

    Attributes:
      runs: by the number under which they were sent last.
      epoch: see `remote.versions.commit_order`.
      changed: held while the runs or their log change.
    """

    runs: dict[int, SentRun]
    epoch: int
    changed: threading.Condition

    @property
    def run_lock(self) -> AbstractContextManager[Any]:
        """Held while runs are sent, one after the other."""

    def send(self, run: SentRun) -> None:
        """Send a run, or send it again."""

    def rewind(self) -> int:
        """Set the state back to what is sealed; see `executor.ClusterExecutor.rewind`."""

    def forget_dropped(self) -> None:
        """Forget what nobody has any more, where a run that was sent again had it yet."""


class LoggedRun(NamedTuple):
    """A finished run, as far as it takes to send it again.

    Attributes:
      run: the run itself, if somebody still wants its results.
    """

    bound: BoundPlan
    feeds: Sequence[Any]
    random_keys: dict[int, Any]
    drops: Mapping[str, int] | None
    run: weakref.ref[SentRun]

    def to_resend(self) -> SentRun:
        """Return the run, to be sent again."""
        found = self.run() or SentRun(self.bound, self.feeds, self.random_keys, False)
        found.drops = self.drops
        return found


class LostRuns:
    """Sends the runs since the last seal again, where data is lost that Dask cannot compute again.

    Attributes:
      log: the runs since the last seal that are finished and changed variables, by number.
    """

    def __init__(self, in_flight: Resender) -> None:
        self.in_flight = in_flight
        self.log: dict[int, LoggedRun] = {}
        self._sealed = 0  # the number of the last run that is
        self._unlogged: float = 0  # of what was last put without a run
        self._to_repeat: dict[int, SentRun] = {}

    @property
    def is_complete(self) -> bool:
        """Whether the log, on what was sealed, gives the present values."""
        return self._unlogged <= self._sealed

    @property
    def is_pending(self) -> bool:
        """Whether some runs are still to be sent again."""
        return bool(self._to_repeat)

    # -- the log --------------------------------------------------------------------------------

    def add(self, number: int, run: SentRun) -> None:
        """Take note that a run is finished."""
        run.finish()
        if number > self._sealed and run.bound.plan.updates:
            self.log[number] = LoggedRun(
                run.bound, run.feeds, run.random_keys, run.drops, weakref.ref(run)
            )

    def note_seal(self, number: int) -> None:
        """Take note that all runs up to one are sealed."""
        self._sealed = max(self._sealed, number)
        self.log = {sent: logged for sent, logged in self.log.items() if sent > self._sealed}

    def discard_log(self, number: float = math.inf) -> None:
        """Keep no log until a seal that has what was put under that number."""
        with self.in_flight.changed:
            self.log.clear()
            self._unlogged = number

    def abandon(self) -> None:
        """Give up all runs: the state was set to what is sealed."""
        self.log, self._to_repeat, self._unlogged = {}, {}, 0

    # -- sending again --------------------------------------------------------------------------

    def can_repeat(self, error: BaseException) -> bool:
        """Return whether an error says that data is lost, and sending the runs again helps."""
        return self.is_complete and isinstance(error, LostError | LostStateError)

    def repeat(self) -> None:
        """Send all runs since the last seal again, on what was sealed, in their order.

        Raises:
          OpError: they could not be sent; whoever needs the variables next tries again.
        """
        with self.in_flight.run_lock:
            with self.in_flight.changed:
                self._collect()
            self.repeat_pending()

    def repeat_pending(self) -> None:
        """Send those again that are still to be; raises as `repeat`.

        Variables that were dropped since the last seal are there again then, and are dropped anew:
        another may have the name of one by now.
        """
        for attempt in range(MAX_LOSSES + 1):
            try:
                self._attempt()
                self.in_flight.forget_dropped()
                return
            except LostError:
                if attempt == MAX_LOSSES:
                    raise

    def postpone(self, error: Exception) -> Exception | None:
        """Give the runs that somebody waits for an error; the next call repeats the others.

        Returns:
          The error, if nobody waits for any of them.
        """
        with self.in_flight.changed:
            self._collect()
            awaited = [number for number, run in self._to_repeat.items() if run.is_awaited]
            for number in awaited:
                self._to_repeat.pop(number).error = error
            for run in self._to_repeat.values():
                run.attempts = 0
        return None if awaited else error

    def resend(self, run: SentRun) -> None:
        """Send a finished run again whose results are lost."""
        number = run.dispatch.number
        if not run.bound.plan.updates:
            self.in_flight.send(run)
        elif self.is_complete and number > self._sealed:
            with self.in_flight.changed:
                self.add(number, run)
            self.repeat()
        else:
            raise LostError.saying(
                f"run {number} was committed, but what it returned is lost with a "
                "worker; read the variables"
            )

    def _collect(self) -> None:
        """Take all runs since the last seal, to be sent again."""
        self._to_repeat.update({n: logged.to_resend() for n, logged in self.log.items()})
        self._to_repeat.update(self.in_flight.runs)
        self.log, self.in_flight.runs = {}, {}

    def _attempt(self) -> None:
        in_flight = self.in_flight
        sealed = in_flight.rewind()
        with in_flight.changed:
            self.note_seal(sealed)
            for number in [number for number in self._to_repeat if number <= sealed]:
                self.add(number, self._to_repeat.pop(number))
        runs = [run for _, run in sorted(self._to_repeat.items())]
        events.publish(events.RunsRepeated(num_updates(runs)))
        try:
            for run in runs:
                in_flight.send(run)
        except BaseException:
            with in_flight.changed:
                in_flight.runs, self.log = {}, {}
            raise
        self._to_repeat = {}


def num_updates(runs: Iterable[SentRun]) -> int:
    """Return how many of some runs change variables."""
    return sum(bool(run.bound.plan.updates) for run in runs)
