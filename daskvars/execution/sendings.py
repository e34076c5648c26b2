"""The runs of one client on a shared state: sent, perhaps undone and sent again, finished.

What becomes of them the scheduler tells (`state.version_keeper`). It is noted in the client's own
thread (`hear`), and acted on by whoever sends the next run or waits for one (`settle`).
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from distributed import Future

from daskvars import config
from daskvars.errors import AbortedError, UnavailableError
from daskvars.execution.cluster_errors import deferred, error_of, is_gone, unavailable
from daskvars.execution.pipeline import BAD
from daskvars.execution.remote_blocks import wait
from daskvars.execution.shared_runs import SharedDispatch, SharedPlan
from daskvars.state.shared_versions import StaleViewError

MOST_ATTEMPTS = 10  # to send a run
GONE = "the Dask client closed before a run was known to be committed"


@dataclass(eq=False, slots=True)
class Sending:
    """A run that was sent and is not known to be finished.

    Attributes:
      bound, feeds, drawn: what it is run with.
      is_awaited: whether its caller waits for it, and gets its error.
      dispatch: as it was sent last.
      is_done: whether it is finished.
      error: why it never will be.
      attempts: how often it was sent.
    """

    bound: SharedPlan
    feeds: Sequence[Any]
    drawn: dict[int, Any]
    is_awaited: bool
    dispatch: Any = None
    is_done: bool = False
    error: Exception | None = None
    attempts: int = 0

    def is_settled(self, dispatch: Any) -> bool:
        """Whether it is known what became of it as it was sent by `dispatch`."""
        return self.is_done or self.error is not None or self.dispatch is not dispatch


class Sendings:
    """The runs in flight of a `SharedExecutor`.

    Attributes:
      sent: by the number under which they were sent last.
      told: what the scheduler has told and nobody has acted on.
      epoch: see `state.shared_versions`.
    """

    def __init__(self, executor: Any) -> None:
        self.executor = executor
        self.epoch = 0
        self.sent: dict[int, Sending] = {}
        self.told: deque[dict[str, Any]] = deque()
        self.changed = threading.Condition()

    def admit(self) -> None:
        """Raise what has failed; wait while too many runs are in flight, and seal when asked to.

        A seal is begun at once, not when there is room again: else what is durable would be older
        than it need be by the time of half the runs in flight.
        """
        self.settle()
        executor, limit = self.executor, config.get().max_in_flight
        executor.seal_if_asked()
        while len(self.sent) >= limit:
            self.wait(lambda: len(self.sent) <= limit // 2 or executor.sealer.is_asked)
            executor.seal_if_asked()

    def send(self, sending: Sending) -> None:
        """Send a run, or send it again."""
        sending.attempts += 1
        if sending.attempts > MOST_ATTEMPTS:
            sending.error = AbortedError(
                None, None, f"a run was given up after {MOST_ATTEMPTS} attempts, each undone by the"
                f" failure of another client's run on the state {self.executor.name!r}; it changed "
                "nothing. Run it again once those clients are in order"
            )  # fmt: skip
            return
        executor = self.executor
        while True:
            dispatch = SharedDispatch(sending.bound, sending.feeds, sending.drawn, None)
            dispatch.send_early()
            self._check_early(dispatch)
            with executor.values.run_lock:
                if dispatch.epoch == self.epoch:  # what it has seen was not undone meanwhile
                    self.sent[dispatch.run.number], sending.dispatch = sending, dispatch
                    dispatch.send()
                    return

    def _check_early(self, dispatch: SharedDispatch) -> None:
        """Wait for what must be computed before the rest of a run is sent; raise its error."""
        wait(self.executor.client, dispatch.early)
        failed = next((f for f in dispatch.early if f.status in BAD), None)
        if failed is not None:
            raise self._error_of(failed, dispatch)

    def results(self, sending: Sending) -> list[Any]:
        """Wait until a run is finished, and return its outputs.

        Raises:
          OpError: it failed, or one before it; the variables are as before that run.
        """
        while True:
            dispatch = sending.dispatch
            data = self._gathered(dispatch)
            self.wait(partial(sending.is_settled, dispatch))
            if sending.error is not None:
                raise sending.error
            if sending.is_done and data is not None and sending.dispatch is dispatch:
                keys = [future.key for future in dispatch.fetched_futures()]
                return dispatch.assembled(dict(zip(keys, data, strict=True)))

    def _gathered(self, dispatch: Any) -> list[Any] | None:
        """Return what is under the keys of the outputs; None if it cannot be had."""
        executor, futures = self.executor, dispatch.fetched_futures()
        if not futures:
            return []
        try:
            return executor.client.gather(futures)
        except Exception as error:
            if executor.is_closed:
                raise UnavailableError(None, None, GONE) from error
            if is_gone(error):  # Dask may not have taken the run: then nobody else says so
                executor.ask(
                    "withdraw", name=executor.name, session=executor.token,
                    number=dispatch.run.number,
                )  # fmt: skip
            return None

    def wait(self, condition: Callable[[], Any]) -> None:
        """Wait until something is so, and settle what the scheduler tells meanwhile."""
        while True:
            with self.changed:
                self.changed.wait_for(
                    lambda: condition() or self.told or self.executor.is_closed, timeout=5.0
                )
                if condition():
                    return
            if self.executor.is_closed:
                raise UnavailableError(None, None, GONE)
            with self.executor.values.run_lock:
                self.settle()
                self._drop_cancelled()

    def _drop_cancelled(self) -> None:
        """Fail runs that are cancelled and of which the scheduler knows nothing: nobody tells."""
        for number, sending in sorted(self.sent.items()):
            future = sending.dispatch.run.failed
            if future is None or future.status != "cancelled" or self.told:
                continue
            executor = self.executor
            asked = {"name": executor.name, "session": executor.token, "number": number}
            if not executor.ask("withdraw", **asked) and self.sent.pop(number, None) is not None:
                sending.error = self._error_of(future, sending.dispatch)

    def hear(self, event: tuple[float, dict[str, Any]]) -> None:
        """Take note of what the scheduler tells, in the client's thread."""
        told = event[1]
        with self.changed:
            if told.get("seal"):
                self.executor.sealer.is_asked = True
            if "done" not in told:
                self.told.append(told)
            elif (sending := self.sent.pop(told["done"], None)) is not None:
                sending.is_done = True
            self.changed.notify_all()

    def settle(self) -> None:
        """Act on what the scheduler has told: send again what was undone.

        Raises:
          OpError: a run failed that nobody waits for.
        """
        error: Exception | None = None
        while self.told:
            told = self.told.popleft()
            if told.get("epoch", self.epoch + 1) <= self.epoch:
                continue
            self.epoch = told.get("epoch", self.epoch)
            if "failed" in told:
                error = self._failed(told) or error
            else:
                self._again(told["undone"])
        if error is not None:
            raise error

    def _again(self, number: int) -> None:
        again = [sending for sent, sending in sorted(self.sent.items()) if sent >= number]
        for sent in [sent for sent in self.sent if sent >= number]:
            del self.sent[sent]
        for sending in again:
            self.send(sending)

    def _failed(self, told: dict[str, Any]) -> Exception | None:
        """Give a run its error, and those after it; return it if nobody waits for it."""
        number = told["failed"]
        failed = self.sent.pop(number, None)
        if failed is None:  # no run, but values that were put
            if "epoch" in told:
                self._again(number)
            return None
        error = self._error(failed, number)
        failed.error = error
        unwaited = None if failed.is_awaited else named(error, number)
        if "epoch" in told:
            for sent in sorted(sent for sent in self.sent if sent > number):
                self.sent.pop(sent).error = named(error, number)
            self.executor.refresh()
        return unwaited

    def _error(self, failed: Sending, number: int) -> Exception:
        """Return the error of a run of which the scheduler has told that it failed."""
        wait(self.executor.client, failed.dispatch.run.futures)
        future = failed.dispatch.run.failed
        if future is None:
            return AbortedError(None, None, f"run {number} was undone; run it again")
        return self._error_of(future, failed.dispatch)

    def _error_of(self, future: Future, dispatch: SharedDispatch) -> Exception:
        error = error_of(future)
        if not is_gone(error):
            return error
        names = list(dispatch.plan.updates) or dispatch.bound.state_keys
        version = self.executor.sealer.version
        return unavailable(error, f"run {dispatch.run.number}", names, version)

    def finish(self) -> None:
        """Wait for all runs in flight.

        Raises:
          OpError: one failed; the variables are as they were before it.
        """
        self.wait(lambda: not self.sent and not self.told)

    def drop(self, epoch: int) -> None:
        """Give up all runs: the state was set to other values."""
        self.epoch = epoch
        for sending in self.sent.values():
            sending.error = AbortedError(None, None, "the variables were set back meanwhile")
        self.sent.clear()


def named(error: Exception, number: int) -> Exception:
    """Return the error of a run as it surfaces later."""
    if isinstance(error, UnavailableError):
        return error
    if isinstance(error, StaleViewError):  # which means something else where it is raised
        return AbortedError(
            None, None, f"{error.message}: run {number}, dispatched before, and those after it "
            "changed nothing; run them again"
        )  # fmt: skip
    found = deferred(error, number)
    if found is not error:
        found.__cause__ = error
    return found
