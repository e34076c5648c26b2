"""The scheduler's part in states that several clients share: it binds runs, and holds their keys.

A scheduler plugin keeps a `SharedVersions` for each state by name. Dask frees a key when no client
wants it; those of a state are wanted by a client of the state's own name, as Dask's published
datasets are, so that they outlive whoever computed them. A run reaches the scheduler as any graph
does (`SharedRunGraph`): it is bound where Dask asks it for its tasks, which costs no message. What
clients are told (`topic`) travels with Dask's own messages to them.

A seal ends the lineage of a state's keys, here: Dask keeps what a key is
computed from as long as the key. Once a version is on disk, the keys keep their names and their
blocks; only what computes them if they are lost is replaced, by tasks that load them. So a seal
disturbs no run in flight, and nothing is loaded that is still on a worker.
"""

from __future__ import annotations

import asyncio
import threading
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache, partial
from itertools import filterfalse
from typing import Any

from distributed import Scheduler, SchedulerPlugin

from daskvars.errors import OpError
from daskvars.remote.dask_internals import (
    Task,
    add_handler,
    add_scheduler_stream_handler,
    found_in_report,
    hold_keys,
    locations,
    pickle,
    refer_to_inputs,
    release_keys,
    replace_lineage,
    send_event,
    speak_promptly,
    unrepeatable_inputs,
)
from daskvars.remote.task_keys import has_outputs
from daskvars.remote.told_results import TOLD
from daskvars.remote.versions.commit_order import (
    LostKeysError,
    PendingRun,
    RunHeader,
    SharedVersions,
    StaleEpochError,
    Variables,
    keys_of,
    lost_state,
)
from daskvars.remote.versions.seal_schedule import SealSchedule
from daskvars.remote.versions.shared_graphs import (
    LEAVING,
    OPERATION,
    bound_task,
    keepers,
    located_references,
    references,
    topic,
)
from daskvars.state.format.manifest import NO_VERSION, VersionId
from daskvars.state.stores.scratch import scratch_directory

MAX_KEYS = 4096  # of which it is remembered whether what is under them stays: those of some steps


class State:
    """A shared state on the scheduler.

    Attributes:
        versions: its versions.
        holder: the client that wants its keys.
        owner: the session that it goes with, None if it stays.
        retained: what lost blocks could not be computed without -> the last version that needs it.
        schedule: when it is sealed, and by whom.
        sealing, sealed: the variables as whoever seals, or did so before, found them.
        sealing_runs: the number of the last run of each session in `sealing`.
        begun: the version on disk that somebody began to commit, until it is known whether that
            was done: who seals next looks whether it is there.
    """

    def __init__(self, name: str, versions: SharedVersions, owner: str | None) -> None:
        self.versions, self.holder = versions, f"daskvars-state-{name}"
        self.owner = owner
        self.retained: dict[Any, int] = {}
        self.schedule = SealSchedule()
        self.sealing: Variables = {}
        self.sealing_runs: dict[str, int] = {}
        self.sealed: Variables = {}
        self.begun: VersionId | None = None
        self.scratch: str | None = None
        self.remove_scratch: Callable[[], None] | None = None

    def release_retained(self, until: int | None = None) -> None:
        """Keep no more what computes the versions up to one again; None: any."""
        old = [key for key, last in self.retained.items() if until is None or last <= until]
        for key in old:
            del self.retained[key]
        self.versions.drop(old)
        if not self.retained:
            self.schedule.retained_bytes = 0


class VersionKeeper(SchedulerPlugin):
    """Keeps the states that clients of this scheduler share."""

    name = "daskvars-versions"
    idempotent = True

    async def start(self, scheduler: Scheduler) -> None:
        """Take up the work on a scheduler."""
        self.scheduler, self.loop = scheduler, asyncio.get_running_loop()
        self.lock = threading.RLock()
        self.states: dict[str, State] = {}
        self.clients: dict[str, str] = {}  # session -> client
        self.awaiting_graph: dict[
            Any, tuple[State, PendingRun]
        ] = {}  # one key of a run not known yet
        self.expected: set[Any] = set()  # all keys of such runs
        self.waiting: dict[Any, list[tuple[State, PendingRun]]] = {}
        add_handler(scheduler, OPERATION, self.answer)
        add_scheduler_stream_handler(scheduler, LEAVING, self.let_leave)
        refer_to_inputs(scheduler, lru_cache(MAX_KEYS)(has_outputs))
        keepers[scheduler.id] = self
        for worker in scheduler.workers:
            speak_promptly(scheduler, worker=worker)

    def add_worker(self, scheduler: Scheduler, worker: str) -> None:
        """Take note of a worker: what it is to do it hears soon."""
        speak_promptly(scheduler, worker=worker)

    async def close(self) -> None:
        """Forget all."""
        keepers.pop(self.scheduler.id, None)
        for state in self.states.values():
            if state.remove_scratch is not None:
                state.remove_scratch()

    # -- runs -----------------------------------------------------------------------------------

    def bound(self, header: RunHeader, tasks: Mapping[Any, Task]) -> dict[Any, Task]:
        """Bind a run, and return its tasks with keys in place of variables' blocks."""
        refs = {ref for task in tasks.values() for ref in references(task)}
        kept = {ref for task in tasks.values() for ref in located_references(task)}
        outside = {key for task in tasks.values() for key in task.dependencies} - tasks.keys()
        with self.lock:
            state = self.states[header.name]
            try:
                state.versions.check_epoch(header)
                gone = sorted(map(str, filterfalse(self._is_there, outside)))
                if gone:
                    raise LostKeysError(f"{', '.join(gone)} are lost")
                pending, found = state.versions.bind(header, refs, self._is_there, kept)
            except StaleEpochError:
                raise  # told when the epoch began
            except Exception:
                if header.is_first_phase:
                    raise
                message = state.versions.refuse(header)
                self.loop.call_soon_threadsafe(self._notify, header.name, header.session, message)
                raise
            self.awaiting_graph[header.keys[0]] = state, pending
            self.expected.update(header.keys)
        return {key: bound_task(task, found) for key, task in tasks.items()}

    def _is_there(self, key: Any) -> bool:
        task = self.scheduler.tasks.get(key)
        if task is None:
            return key in self.expected
        return task.state not in ("erred", "forgotten")

    def update_graph(
        self, scheduler: Scheduler, *, client: str, keys: Collection[Any], **_: Any
    ) -> None:
        """Take note that the scheduler knows the tasks of a run."""
        for key in keys:
            if key in self.awaiting_graph:
                with self.lock:
                    self._on_graph(*self.awaiting_graph.pop(key))
                return

    def _on_graph(self, state: State, pending: PendingRun) -> None:
        tasks, versions = self.scheduler.tasks, state.versions
        self.expected.difference_update(pending.header.keys)
        if pending not in versions.chain:
            versions.graph_registered(pending, set())
            self._flush(state)
            return
        writes = pending.header.writes
        needed = {*pending.header.keys, *keys_of(pending.after, writes)}
        # Of a run that writes nothing its client keeps them, as long as it is under way.
        inputs = unrepeatable_inputs(self.scheduler, needed) if writes else set()
        retained = inputs - state.retained.keys()
        versions.holds.update(retained)
        state.retained.update(dict.fromkeys(retained, pending.version))
        retained_bytes = sum(max(0, tasks[key].nbytes) for key in retained)
        hold_keys(self.scheduler, [*needed, *retained], state.holder)
        missing = {key for key in needed if tasks[key].state != "memory"}
        for key in missing:
            self.waiting.setdefault(key, []).append((state, pending))
        state.schedule.add(bool(writes), len(needed), retained_bytes)
        versions.graph_registered(pending, missing)
        self._flush(state)

    def transition(self, key: Any, start: Any, finish: Any, *_: Any, **report: Any) -> None:
        """Take note of what is computed, and of what cannot be."""
        if key not in self.waiting or finish not in ("memory", "erred", "forgotten"):
            return
        told = found_in_report(report, TOLD)
        with self.lock:
            for state, pending in self.waiting.pop(key):
                if finish == "memory":
                    pending.computed(key, told)
                    state.versions.advance()
                else:
                    state.versions.fail(pending, "erred" if finish == "erred" else "lost")
                self._flush(state)

    def remove_client(self, scheduler: Scheduler, client: str) -> None:
        """Let go of a client that is gone: what has arrived of it is run all the same."""
        with self.lock:
            gone = {session for session, owner in self.clients.items() if owner == client}
            for key, (state, pending) in list(self.awaiting_graph.items()):
                if pending.header.session in gone:
                    del self.awaiting_graph[key]
                    self.expected.difference_update(pending.header.keys)
                    state.versions.fail(pending, "lost")
                    self._flush(state)
            for session in gone:
                self._forget(session)

    def restart(self, scheduler: Scheduler) -> None:
        """Take note that all blocks are lost."""
        with self.lock:
            self.awaiting_graph.clear()
            self.expected.clear()
            self.waiting.clear()
            for state in self.states.values():
                versions = state.versions
                versions.reset(versions.finished, versions.durable)
                state.release_retained()

    def _forget(self, session: str) -> None:
        self.clients.pop(session, None)
        for name, state in list(self.states.items()):
            state.versions.epochs.pop(session, None)
            state.schedule.leave(session)
            if state.owner == session:
                self.drop(name)
                del self.states[name]

    # -- keys and messages ----------------------------------------------------------------------

    def _notify(self, name: str, session: str, message: dict[str, Any]) -> None:
        client = self.clients.get(session)
        if client is None:
            return
        if "done" in message and (schedule := self.states[name].schedule).is_due():
            schedule.ask(session)
            message = {**message, "seal": True}
        send_event(self.scheduler, client, topic(session), message)

    def _flush(self, state: State) -> None:
        """Release what is in use no more: later, since Dask may be amid transitions."""
        if state.versions.dropped:
            self.loop.call_soon(self._release, state)

    def _release(self, state: State) -> None:
        with self.lock:
            versions = state.versions
            keys = {key for key in versions.dropped if key not in versions.holds}
            versions.dropped.clear()
        release_keys(self.scheduler, keys, state.holder)

    # -- what clients ask for -------------------------------------------------------------------

    async def answer(self, request: bytes) -> bytes:
        """Do what a client asks for: the name of a method below, and its arguments.

        What it is to be told as an error is returned: Dask logs what is raised here, as a failure
        of the scheduler's, though the client goes on.
        """
        name, arguments = pickle.loads(request)
        with self.lock:
            try:
                return pickle.dumps(REQUESTS[name](self, **arguments))
            except OpError as error:
                return pickle.dumps(error.with_traceback(None))

    def open(self, name: str, client: str, session: str, is_private: bool) -> tuple[str, int, Any]:
        """Let a session take part in a state, made if need be.

        Args:
            name: the state's.
            client, session: who.
            is_private: whether the state goes when the session does.

        Returns:
            The scheduler's id, how many sessions there are besides, and what `records` returns.
        """
        if name not in self.states:
            versions = SharedVersions(partial(self._notify, name))
            self.states[name] = State(name, versions, session if is_private else None)
        speak_promptly(self.scheduler, client=client)
        number = len(self.clients)
        self.clients[session] = client
        self.states[name].versions.epochs[session] = 0
        return self.scheduler.id, number, self.records(name)

    def leave(self, session: str) -> None:
        """Let a session go."""
        self._forget(session)

    def records(self, name: str) -> tuple[dict[str, Any], VersionId]:
        """Return the records of the variables, and the last durable version."""
        versions = self.states[name].versions
        return {key: record for key, (record, _) in versions.newest.items()}, versions.durable

    def put(self, header: RunHeader, is_first: bool, durable: VersionId) -> bool:
        """Set variables to blocks that are on workers.

        Args:
            header: as of a run.
            is_first: only where the state has no variables yet.
            durable: the version of the store that they come from.
        """
        state = self.states[header.name]
        if is_first and (state.versions.newest or state.versions.chain):
            return False
        pending, _ = state.versions.bind(header, (), self._is_there)
        if durable == NO_VERSION:
            state.schedule.hasten()
        else:
            state.versions.durable, state.sealed = durable, state.versions.newest
        self._on_graph(state, pending)
        return True

    def epoch(self, name: str, session: str) -> int:
        """Return how often runs of a session were undone."""
        return self.states[name].versions.epochs[session]

    def locate(self, keys: Sequence[Any]) -> dict[Any, list[str] | None]:
        """Return the workers that have each key; None for one that is lost."""
        return locations(self.scheduler, keys)

    def pin(
        self, name: str, client: str, wanted: Collection[str] = (), purpose: str = ""
    ) -> Variables:
        """Return the variables at the finished version, and have their keys kept for a client.

        Args:
            wanted: variables that must be there.
            purpose: what they are wanted for, in words.

        Raises:
            LostStateError: one of those wanted is lost.
        """
        return self._pinned(name, self.states[name].versions.finished, client, wanted, purpose)

    def pin_newest(
        self,
        name: str,
        client: str,
        session: str,
        number: int,
        wanted: Collection[str] = (),
        purpose: str = "",
    ) -> Variables | None:
        """Do so for the newest version, once that session's run of a number is in it; else None.

        None too while the scheduler does not know its keys yet: it could not keep them.
        """
        versions = self.states[name].versions
        with self.lock:
            found = versions.newest
            is_bound = versions.bound_by.get(session, 0) >= number
            if not is_bound or not self.expected.isdisjoint(keys_of(found)):
                return None
        return self._pinned(name, found, client, wanted, purpose)

    def _pinned(
        self, name: str, found: Variables, client: str, wanted: Collection[str], purpose: str
    ) -> Variables:
        there = found.keys() & wanted
        lost = [key for key in there if not all(map(self._is_there, keys_of(found, [key])))]
        if lost:
            raise lost_state(sorted(lost), purpose, self.states[name].versions.durable)
        hold_keys(self.scheduler, keys_of(found), client)
        return found

    def withdraw(self, name: str, session: str, number: int) -> bool:
        """Fail a run whose graph the scheduler did not take; return whether there was one."""
        state = self.states[name]
        for pending in list(state.versions.chain):
            if (pending.header.session, pending.header.number) == (session, number):
                state.versions.fail(pending, "lost")
                self._flush(state)
                return True
        return False

    def reset(
        self, name: str, session: str, variables: Variables, durable: VersionId, is_own: bool
    ) -> tuple[int, int]:
        """Set the whole state to blocks that are on workers.

        Args:
            name, session: the state, and who sets it.
            variables: the blocks.
            durable: the version on disk that they are.
            is_own: only if that is the last durable version, and all runs since are the session's.

        Returns:
            The session's new epoch, and the number of the last run of the session in the version.

        Raises:
            LostStateError: it is not, or they are not.
        """
        state = self.states[name]
        versions = state.versions
        others = versions.written_by.keys() - {session}
        if is_own and (others or versions.durable != durable):
            raise lost_state(
                sorted(versions.newest), "a replay of this client's runs alone", versions.durable
            )
        versions.written_by.clear()
        versions.epochs[session] += 1
        versions.reset(variables, durable)
        for other in versions.epochs.keys() - {session} if not is_own else ():
            versions.epochs[other] += 1
            versions.notify(other, {"reset": True, "epoch": versions.epochs[other]})
        state.release_retained()
        state.sealed, state.begun = state.versions.finished, None
        hold_keys(self.scheduler, keys_of(variables), state.holder)
        self._flush(state)
        return versions.epochs[session], versions.sealed_by.get(session, 0)

    def scratch_location(self, name: str, scratch: str | None) -> str:
        """Return where to seal a state without a store: in `scratch`, or in a new directory."""
        state = self.states[name]
        if state.scratch is None:
            if scratch is not None and "://" in scratch:
                state.scratch = f"{scratch}/state-{uuid.uuid4().hex}"
            else:  # made here: workers are asked whether they see it
                state.scratch, state.remove_scratch = scratch_directory(scratch)
        return state.scratch

    def drop(self, name: str) -> None:
        """Take the values of all variables of a state away."""
        state = self.states.get(name)
        if state is not None:
            state.versions.reset({}, state.versions.durable)  # what comes then follows it
            state.release_retained()
            state.sealed = {}
            self._flush(state)

    def let_leave(
        self, client: str, name: str, session: str, epoch: int, number: int, key: str
    ) -> None:
        """Let go of a variable that its client does not have any more, once no run may take it.

        Args:
            client, name, session, epoch: whose, and in which state.
            number: of the last run that was sent before.
        """
        state = self.states.get(name)
        if state is not None:
            with self.lock:
                state.versions.leaving[key] = session, epoch, number
                state.versions.advance()
                self._flush(state)

    # -- sealing --------------------------------------------------------------------------------

    def begin_seal(
        self, name: str, client: str, session: str
    ) -> tuple[Variables, set[str], VersionId, VersionId | None] | None:
        """Give a session the duty to seal, unless another has it.

        Returns:
            The variables, kept for the client, those that have changed since the last seal, the
            version on disk that they follow, and the one that they follow if that is there.
        """
        state = self.states[name]
        if state.schedule.is_taken(session):
            return None
        versions = state.versions
        state.schedule.begin(session, versions.finished_version or versions.version)
        state.sealing = found = self.pin(name, client)
        state.sealing_runs = dict(versions.finished_by)
        sealed = state.sealed
        dirty = {key for key in found if key not in sealed or sealed[key] is not found[key]}
        return found, dirty, versions.durable, state.begun

    def begin_commit(self, name: str, begun: VersionId) -> None:
        """Take note of the version that is about to be committed by whoever seals."""
        self.states[name].begun = begun

    def end_seal(
        self,
        name: str,
        session: str,
        durable: VersionId | None,
        reload_tasks: Mapping[Any, Task],
        pause_s: float,
    ) -> None:
        """Take note of a seal.

        Args:
            durable: the version on disk that it made, None if it failed.
            reload_tasks: key -> the task that loads what is under it.
            pause_s: how long nobody is to seal again.
        """
        state = self.states[name]
        version = state.schedule.end(session, pause_s, durable is not None)
        if durable is None or version is None:
            return
        state.versions.sealed(version, durable, state.sealing_runs)
        state.sealed, state.begun = state.sealing, None
        replace_lineage(self.scheduler, reload_tasks)
        state.release_retained(version)
        self._flush(state)


REQUESTS = {
    method.__name__: method
    for method in (
        VersionKeeper.open,
        VersionKeeper.leave,
        VersionKeeper.records,
        VersionKeeper.put,
        VersionKeeper.epoch,
        VersionKeeper.locate,
        VersionKeeper.pin,
        VersionKeeper.pin_newest,
        VersionKeeper.withdraw,
        VersionKeeper.reset,
        VersionKeeper.scratch_location,
        VersionKeeper.drop,
        VersionKeeper.begin_seal,
        VersionKeeper.begin_commit,
        VersionKeeper.end_seal,
    )
}
