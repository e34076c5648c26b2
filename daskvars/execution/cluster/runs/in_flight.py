"""The runs in flight on a cluster's state: sent, perhaps undone and sent again, finished.

What becomes of them the scheduler tells (`remote.versions.version_keeper`). It is noted in the
client's own thread (`on_message`), and acted on by whoever sends the next run or waits for one
(`process_messages`).

Where data is lost, ``lost`` sends them again.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Protocol

from distributed import Future

from daskvars import config
from daskvars.errors import AbortedError, UnavailableError
from daskvars.execution.cluster.errors import (
    LostError,
    error_of,
    is_gone,
    unavailable,
    with_run_note,
)
from daskvars.execution.cluster.reports import recent_memory_loss
from daskvars.execution.cluster.results.remote_blocks import BAD, wait
from daskvars.execution.cluster.runs.bound_plan import Dispatch
from daskvars.execution.cluster.runs.lost import LostRuns, num_updates
from daskvars.execution.cluster.runs.sent_run import SentRun
from daskvars.execution.cluster.saving.seals import Sealer
from daskvars.execution.cluster.state_client import StateClient
from daskvars.execution.engine.interrupts import shielded
from daskvars.execution.engine.saving.local_seals import MAX_ATTEMPTS
from daskvars.remote.dask_internals import sync_while_connected
from daskvars.remote.versions.commit_order import LostStateError, StaleViewError
from daskvars.state.format.manifest import VersionId

POLL_S = 1.0  # how often whoever waits makes sure that the cluster is there
HEAR_S = 10.0  # that what the scheduler has told is waited for, which is on its way


class SealedState(StateClient, Protocol):
    """A state that is sealed while runs are in flight: `executor.ClusterExecutor`.

    Attributes:
      sealer: what makes versions durable.
    """

    sealer: Sealer

    def seal_if_requested(self) -> None:
        """Make what is finished durable if the scheduler has asked for it."""

    def rewind(self) -> int:
        """Set the state back to its last durable version, if this client can go on from there."""


class InFlight:
    """The runs in flight of a `ClusterExecutor`.

    Attributes:
      runs: by the number under which they were sent last.
      messages: what the scheduler has told and nobody has acted on.
      epoch: see `remote.versions.commit_order`.
      changed: held while the runs or their log change.
      run_lock: held while runs are sent, one after the other.
      lost_runs: sends runs again where data is lost.
      dropped: variables that nobody has any more, each with a number: the runs that change
        variables tell the scheduler, until one of them is finished.
    """

    def __init__(self, executor: SealedState) -> None:
        self.executor = executor
        self.epoch = 0
        self.runs: dict[int, SentRun] = {}
        self.messages: deque[dict[str, Any]] = deque()
        self.changed = threading.Condition()
        self.run_lock = executor.values.run_lock
        self.lost_runs = LostRuns(self)
        self.dropped: dict[str, int] = {}
        self._begun: dict[str, Any] | None = None  # the last message that was acted on
        self._unraised: Exception | None = None  # of a run that nobody waits for

    @property
    def num_unsealed(self) -> int:
        """How many runs that change variables were sent since the last seal."""
        with self.changed:
            return len(self.lost_runs.log) + num_updates(self.runs.values())

    @property
    def num_returned(self) -> int:
        """How many of those have returned to their callers: the others get their own errors."""
        with self.changed:
            returned = (run for run in self.runs.values() if not run.is_awaited)
            return len(self.lost_runs.log) + num_updates(returned)

    # -- sending --------------------------------------------------------------------------------

    def admit(self, nbytes: int) -> None:
        """Raise what has failed; wait while too many runs are in flight, and seal when asked to.

        Too many are also those whose new values take more memory than workers can spare: each is
        there beside what it follows until all of its run is finished.

        A seal is begun at once, not when there is room again: else what is durable would be older
        than it need be by the time of half the runs in flight.

        Args:
          nbytes: of new values that the next run will make.
        """
        self.process_messages()
        executor, limit = self.executor, config.get().max_in_flight
        executor.seal_if_requested()
        self._wait_while(lambda: len(self.runs) >= limit, lambda: len(self.runs) <= limit // 2)
        most = max(executor.placement.most_in_flight_bytes - nbytes, 0)
        self._wait_while(lambda: self._new_bytes() > most, lambda: self._new_bytes() <= most)

    def _wait_while(self, is_full: Callable[[], bool], has_room: Callable[[], bool]) -> None:
        """Wait for room, and seal when asked to."""
        while is_full():
            self.wait(lambda: has_room() or self.executor.sealer.is_requested)
            self.executor.seal_if_requested()

    def _new_bytes(self) -> int:
        """Return the bytes of new values that runs in flight make."""
        with self.changed:
            return sum(run.bound.new_bytes for run in self.runs.values())

    def send(self, run: SentRun) -> None:
        """Send a run, or send it again."""
        run.attempts += 1
        run.is_done = False
        executor = self.executor
        if run.attempts > MAX_ATTEMPTS:
            run.error = AbortedError.saying(
                f"a run was given up after {MAX_ATTEMPTS} attempts, each undone by a loss of data "
                f"or the failure of another client's run on {executor.description}; it changed "
                "nothing. Run it again once the cluster is in order"
            )
            return
        while True:
            executor.check_connected()
            dispatch = Dispatch(run.bound, run.feeds, run.random_keys, self.epoch)
            dispatch.send_first_phase()
            self._check_first_phase(dispatch)
            with self.run_lock:
                if dispatch.epoch == self.epoch:  # what it has seen was not undone meanwhile
                    dispatch.number = executor.next_number()  # in the order of sending
                    shielded(partial(self._send, run, dispatch))
                    return

    def _send(self, run: SentRun, dispatch: Dispatch) -> None:
        """Send a run whose number is known; one that could not be sent is not in flight."""
        before = run.dispatch
        if run.drops is None and run.bound.plan.updates:
            for key in run.bound.plan.updates:  # another has the name
                self.dropped.pop(key, None)
            run.drops = dict(self.dropped)
        dispatch.drops = frozenset(run.drops or ())
        self.runs[dispatch.number], run.dispatch = run, dispatch
        try:
            dispatch.send()
        except BaseException:
            self.runs.pop(dispatch.number, None)
            run.dispatch = before
            raise

    def _check_first_phase(self, dispatch: Dispatch) -> None:
        """Wait for what must be computed before the rest of a run is sent; raise its error."""
        wait(self.executor.client, dispatch.first_phase)
        failed = next((f for f in dispatch.first_phase if f.status in BAD), None)
        if failed is not None:
            raise self._error_of(failed, dispatch)

    def rewind(self) -> int:
        """Set the state back to what is sealed; see `executor.ClusterExecutor.rewind`."""
        return self.executor.rewind()

    def forget_dropped(self) -> None:
        """Forget what nobody has any more, where the scheduler or a run sent again had it yet."""
        for key in list(self.dropped):
            self.executor.values.discard(key)

    # -- waiting --------------------------------------------------------------------------------

    def results(self, run: SentRun) -> list[Any]:
        """Wait until a run is finished, and return its outputs.

        Raises:
          OpError: it failed, or one before it; the variables are as before that run.
        """
        while True:
            dispatch = self._told(run)
            if run.error is not None:
                raise run.error
            with self.run_lock:  # another thread may send it again just now
                futures = dispatch.fetched_futures()
            data = self._gathered(dispatch, futures)
            self.wait(partial(run.is_settled, dispatch))
            if run.error is not None:
                raise run.error
            if run.dispatch is not dispatch:
                continue
            if data is not None:
                keys = [future.key for future in futures]
                return dispatch.assembled(dict(zip(keys, data, strict=True)))
            self.lost_runs.resend(run)

    def settled(self, run: SentRun) -> Dispatch:
        """Wait until a run is finished, and return what was sent of it, whose outputs stay there.

        Raises:
          OpError: it failed, or one before it; the variables are as before that run.
        """
        while True:
            dispatch = run.dispatch
            if run.error is None:
                self.wait(partial(run.is_settled, dispatch))
            if run.error is not None:
                raise run.error
            if run.dispatch is dispatch:
                return dispatch

    def fetch(self, wanted: SentRun, others: Sequence[SentRun]) -> list[tuple[SentRun, list[Any]]]:
        """Bring the results of a run, and with them those of others that are finished.

        Returns:
          Runs and their outputs: `wanted` is among them.

        Raises:
          OpError: `wanted` failed, or a run before it.
        """
        if others:
            self._told(wanted)
        if wanted.error is None and others:
            with self.run_lock:
                found = [(run, run.dispatch) for run in {wanted: None, **dict.fromkeys(others)}]
                futures = {f.key: f for _, dispatch in found for f in dispatch.fetched_futures()}
            data = self._gathered(wanted.dispatch, list(futures.values()))
            if data is not None and all(run.is_done for run, _ in found):
                by_key = dict(zip(futures, data, strict=True))
                return [(run, dispatch.assembled(by_key)) for run, dispatch in found]
        return [(wanted, self.results(wanted))]

    def _told(self, run: SentRun) -> Dispatch:
        """Return what was sent of a run, once it is finished if its outputs come along with that
        word: to ask for them would be a second round trip."""
        while True:
            with self.run_lock:
                dispatch = run.dispatch
            if run.error is not None or not run.bound.is_told:
                return dispatch
            self.wait(partial(run.is_settled, dispatch))
            if run.is_done and run.dispatch is dispatch:
                return dispatch

    def _gathered(self, dispatch: Dispatch, futures: list[Future]) -> list[Any] | None:
        """Return what is under the keys of outputs; None if it cannot be had."""
        executor = self.executor
        if not futures:
            return []
        try:
            gather = partial(executor.client.gather, asynchronous=True)
            return sync_while_connected(executor.client, gather, futures)
        except Exception as error:  # noqa: BLE001 - what it means is told with the run
            error.__traceback__ = None  # Dask keeps the error: see `errors.error_of`
            executor.check_connected()
            if is_gone(error):  # Dask may not have taken the run: then nobody else says so
                executor.call_scheduler(
                    "withdraw", name=executor.name, session=executor.token, number=dispatch.number
                )
            return None

    def wait(self, condition: Callable[[], Any]) -> None:
        """Wait until something is so, and settle what the scheduler tells meanwhile."""
        while True:
            with self.changed:
                self.changed.wait_for(lambda: condition() or self.messages, timeout=POLL_S)
                if condition():
                    return
            self.executor.check_connected()
            with self.run_lock:
                self.process_messages()
                self._drop_cancelled()

    def finish(self) -> None:
        """Wait for all runs in flight.

        Raises:
          OpError: one failed; the variables are as they were before it.
        """
        self.wait(lambda: not (self.runs or self.messages or self.lost_runs.is_pending))

    def _drop_cancelled(self) -> None:
        """Fail runs that are cancelled and of which the scheduler knows nothing: nobody tells."""
        for number, run in sorted(self.runs.items()):
            future = run.dispatch.failed
            if future is None or future.status != "cancelled" or self.messages:
                continue
            executor = self.executor
            asked = {"name": executor.name, "session": executor.token, "number": number}
            if not executor.call_scheduler("withdraw", **asked):
                self.messages.append({"failed": number, "why": "lost"})

    # -- what the scheduler tells ---------------------------------------------------------------

    def on_message(self, event: tuple[float, dict[str, Any]]) -> None:
        """Take note of what the scheduler tells, in the client's thread."""
        message = event[1]
        with self.changed:
            if message.get("seal"):
                self.executor.sealer.is_requested = True
            if "sealed" in message:
                self.lost_runs.note_seal(message["sealed"])
                self.executor.sealer.version = VersionId(*message["durable"])
            elif "done" not in message:
                self.messages.append(message)
            elif (run := self.runs.pop(message["done"], None)) is not None:
                run.dispatch.told = message.get("told", {})
                for key, dropped in (run.drops or {}).items():
                    if self.dropped.get(key) == dropped:
                        del self.dropped[key]
                self.lost_runs.add(message["done"], run)
            self.changed.notify_all()

    def process_messages(self) -> None:
        """Act on what the scheduler has told: send again what was undone.

        Raises:
          OpError: a run failed that nobody waits for.
        """
        if self.lost_runs.is_pending:
            self._hear_all()
            if not any("reset" in message for message in self.messages):
                self.lost_runs.repeat_pending()
        while self.messages:
            message = self.messages[0]
            if self._is_news(message):
                self._begun = message
                self._act_on(message)
            self.messages.popleft()  # once that is done: else nobody would hear of it any more
        error, self._unraised = self._unraised, None
        if error is not None:
            raise error

    def _is_news(self, message: dict[str, Any]) -> bool:
        """Whether a message is to be acted on: perhaps once more, if that was broken off."""
        epoch = message.get("epoch")
        return (
            epoch is None or epoch > self.epoch or (epoch == self.epoch and message is self._begun)
        )

    def _act_on(self, message: dict[str, Any]) -> None:
        """Act on a message; what was done before, if that was broken off, stays done."""
        self.epoch = message.get("epoch", self.epoch)
        if "reset" in message:
            self.abandon(self.epoch)
            self.executor.refresh()
        elif "failed" in message:
            self._failed(message)
        else:
            self._resend_from(message["undone"])

    def _hear_all(self) -> None:
        """Wait for what the scheduler has told and has not arrived: another client may have set the
        state back, and what is still to be repeated with it."""
        executor = self.executor
        said = executor.call_scheduler("epoch", name=executor.name, session=executor.token)

        def has_arrived() -> bool:
            return said <= max([self.epoch, *(m.get("epoch", 0) for m in self.messages)])

        until = time.monotonic() + HEAR_S
        while not has_arrived() and time.monotonic() < until:
            executor.check_connected()
            with self.changed:
                self.changed.wait_for(has_arrived, timeout=POLL_S)

    def _resend_from(self, number: int) -> None:
        """Send the runs from a number on again that were sent in an epoch before this one."""
        found = self._runs_from(number)
        waiting = [(sent, run) for sent, run in found if run.dispatch.epoch != self.epoch]
        while waiting:
            sent, run = waiting[0]
            try:
                self.send(run)
            except (LostError, LostStateError):
                raise  # it is sent again with all that came before it
            except Exception as error:  # noqa: BLE001 - raised to whom it concerns
                waiting = self._give_up(waiting, error)
            else:
                del self.runs[sent], waiting[0]

    def _runs_from(self, number: int) -> list[tuple[int, SentRun]]:
        """Return the runs in flight from a number on, in their order, with their numbers."""
        with self.changed:
            return sorted((sent, run) for sent, run in self.runs.items() if sent >= number)

    def _failed(self, message: dict[str, Any]) -> None:
        """Give a run its error, which the next call raises if nobody waits for the run.

        Then what the program has sent since has no ground: those runs get the error as well. Where
        a thread waits for the run, it is other threads that have sent some since, which go on as if
        it had not been: they are sent again.
        """
        number = message["failed"]
        failed = self.runs.get(number)
        if failed is not None:  # else there was no run, but values that were put
            error = self._error(failed, number)
            if self.lost_runs.can_repeat(error):
                self._repeat(error)
                return
            found = self._runs_from(number)
            self._give_up(found if "epoch" in message else found[:1], error)
        if "epoch" in message:
            self.executor.refresh()
            self._resend_from(number)
            self.forget_dropped()

    def _repeat(self, error: Exception) -> None:
        """Send the runs since the last seal again, as data is lost, unless that goes on and on."""
        with self.changed:
            attempts = max(run.attempts for run in self.runs.values())
        if attempts >= MAX_ATTEMPTS:
            self._unraised = self.lost_runs.postpone(error) or self._unraised
        else:
            self.lost_runs.repeat()

    def _give_up(
        self, found: list[tuple[int, SentRun]], error: Exception
    ) -> list[tuple[int, SentRun]]:
        """Give the first of some runs its error, and the others too where nobody waits for it.

        Returns:
          Those that go on.
        """
        (number, failed), *following = found
        if failed.is_awaited:
            found = found[:1]
        else:
            following = []
            error = self._unraised = reported_error(error, number)
        with self.changed:
            for _, run in found:
                run.error = error
            for sent, _ in found:
                del self.runs[sent]
        return following

    def _error(self, failed: SentRun, number: int) -> Exception:
        """Return the error of a run of which the scheduler has told that it failed."""
        wait(self.executor.client, failed.dispatch.futures)
        future = failed.dispatch.failed
        if future is None:
            return AbortedError.saying(f"run {number} was undone; run it again")
        return self._error_of(future, failed.dispatch)

    def _error_of(self, future: Future, dispatch: Dispatch) -> Exception:
        error = error_of(future)
        if not is_gone(error):
            return error
        names = list(dispatch.plan.updates) or dispatch.bound.state_keys
        version = self.executor.sealer.version
        why = recent_memory_loss(self.executor.client)
        found: Exception = unavailable(error, f"run {dispatch.number}", names, version, why)
        found.__cause__ = error
        return found

    def abandon(self, epoch: int) -> None:
        """Give up all runs: the state was set to what is sealed."""
        with self.changed:
            self.epoch = epoch
            for run in self.runs.values():
                run.error = AbortedError.saying("the variables were set back meanwhile")
            self.runs = {}
            self.lost_runs.abandon()


def reported_error(error: Exception, number: int) -> Exception:
    """Return the error of a run as it surfaces later."""
    if isinstance(error, UnavailableError):
        return error
    if isinstance(error, StaleViewError):  # which means something else where it is raised
        return AbortedError.saying(
            f"{error.message}: run {number}, dispatched before, and those after it "
            "changed nothing; run them again"
        )
    found = with_run_note(error, number)
    if found is not error:
        found.__cause__ = error
    return found
