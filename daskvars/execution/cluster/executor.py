"""The executor of a state on a cluster: plans run on workers, and values stay there.

The state belongs to the cluster: its keys are held on the scheduler
(`remote.versions.version_keeper`), not by this client. One with a name is there for the next client
when this one is gone, sealed or not; one without (a private session, eager code) has a random name
that nobody else knows, and goes with its session. What is here of it are the records of its
variables, as far as this client has heard of them.

Design: *runs are bound on the scheduler.* A compare-and-swap by the client would cost a round trip
for each run, and every race lost a run. But a run is a function of the version before it, and all
runs pass the scheduler in one order; so it binds each to the newest version when it arrives, and
nobody loses. What is compared is what a plan was made for: the dtypes and chunks of the variables
it reads. If another client has changed those the run is refused, the records are looked up, and it
is lowered and sent again, a bounded number of times.

Runs of one client are pipelined. Nothing is handed out of a run before it is known to be finished
and all that came before it, of any client: then it is committed, and nothing undoes it. Until then
its inputs are kept, since a run of another client that fails undoes what was bound after it; then
it is sent again, in its place among the runs of this client, with the same random numbers. An error
of a run that nobody waits for is raised at the next call. A run that fetches nothing has been sent
when the call returns, and may not have arrived: another client sees it a moment later.

With ``consistency="async"`` (`lowering.rewrites.split_update`) a run is sent in two parts. The
first computes gradients from the newest version that is finished or includes this client's own last
run; it is in no chain, and takes as long as it takes. When it is done the second, the updates, is
bound to what is newest then: a slow client delays nobody, and no update is lost.

State has an owner, and changes it visibly. When the client is closed in order, values are fetched
(`retrieve_values`): into their store, or into this process. When the cluster is lost, they are, and
whoever asks for them hears so (`lost_error`).
"""

from __future__ import annotations

import itertools
import logging
import os
import sys
import time
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import dask.array
import psutil
from distributed import Client, Future
from zarr.storage import StorePath

from daskvars import config
from daskvars.chunk_grid import Chunks
from daskvars.dtypes import as_dtype
from daskvars.errors import AbortedError, OpError, UnavailableError, enumerated, permanent
from daskvars.execution.cluster import reports
from daskvars.execution.cluster.errors import GONE, LostError, unavailable
from daskvars.execution.cluster.results.dask_arrays import Part, on_workers
from daskvars.execution.cluster.results.futures import RunResults
from daskvars.execution.cluster.results.remote_blocks import (
    Reference,
    RemoteBlock,
    remote_blocks,
    wait,
)
from daskvars.execution.cluster.runs.bound_plan import BoundPlan
from daskvars.execution.cluster.runs.in_flight import InFlight
from daskvars.execution.cluster.runs.sent_run import SentRun
from daskvars.execution.cluster.saving import checkpoints as cluster_checkpoints
from daskvars.execution.cluster.saving.seals import Sealer
from daskvars.execution.cluster.traces import traces_of
from daskvars.execution.cluster.transfers import Transfers
from daskvars.execution.cluster.workers.placement import ClusterPlacement
from daskvars.execution.cluster.workers.worker_info import NoWorkersError, workers_of
from daskvars.execution.engine import events
from daskvars.execution.engine.executors import Bound, before_close, forget_executor, registered
from daskvars.execution.engine.interrupts import shielded
from daskvars.execution.engine.saving.local_seals import MAX_ATTEMPTS, REMEDY, no_durable_version
from daskvars.execution.engine.values.dask_arrays import array_name
from daskvars.execution.local.executor import LocalExecutor
from daskvars.graph.definitions.opdef import Spec
from daskvars.lowering.plan import Plan
from daskvars.remote.dask_internals import (
    LineagePlugin,
    call_handler,
    check_may_wait,
    connection_of,
    futures_of,
    once_per_client,
    pickle,
    register_on_workers,
    send_promptly,
    tell_scheduler,
    unsubscribe,
)
from daskvars.remote.exchange import Exchanges
from daskvars.remote.task_keys import new_token
from daskvars.remote.told_results import ToldResults
from daskvars.remote.versions.commit_order import (
    BlockLocation,
    LostStateError,
    RunHeader,
    StaleViewError,
    Variables,
    keys_of,
)
from daskvars.remote.versions.shared_graphs import LEAVING, OPERATION, topic
from daskvars.remote.versions.version_keeper import VersionKeeper
from daskvars.remote.worker_memory import WorkerMemory
from daskvars.state import ConflictError, Values, ZarrStore
from daskvars.state.format.grids import Blocks
from daskvars.state.format.manifest import NO_VERSION, VariableRecord, VersionId
from daskvars.state.values import Lease

logger = logging.getLogger("daskvars")

RECOVERIES = 5  # in a row: so many workers may die while a call is answered
SUBMIT_POLL_S = 0.002  # between questions whether what was sent has arrived
LEAVING_S = 30.0  # that whoever leaves waits for a worker: as long as Dask does to reach one
RETRIEVED_SHARE = 0.5  # of the free memory here: what is more stays there


class ClusterExecutor:
    """Runs plans on a state of a cluster.

    Args:
      client: the cluster.
      local: the variables of the same name, or of the same session, in this process: the state
        begins with them if it is new and has no store, and comes back to them.
      name: the state's name: any text, or the path or URL of its store; "" for a state of its own.
      store: where versions are made durable, if it has a store.

    Attributes:
      values: records of the variables; their blocks are on workers.
      token: a text that no other executor has, for keys.
      is_private: whether nobody else can know the state.
      placement: where tasks run and variables live.
      scheduler: the scheduler's id.
      session_index: how many sessions were on the cluster's states before this one.
      transfers: what moves blocks between this process and workers.
      in_flight: the runs in flight.
      lost_runs: what sends them again where data is lost.
      sealer: what makes them durable.
      pending_results: results that nobody has looked at.
      is_retrieved: whether the values have left the cluster, and nothing is lost.
    """

    def __init__(
        self, client: Client, local: Values, name: str = "", store: ZarrStore | None = None
    ) -> None:
        self.client, self.local, self.values = client, local, Values()
        self._connection = connection_of(client)
        self.token = new_token()
        self.is_private = not name
        self.name = name or f"session-{self.token}"
        self.placement = ClusterPlacement(workers_of(client), self.values.__contains__)
        self.transfers = Transfers(client, self.placement, self.new_stamp)
        self.sealer = Sealer(self, store)
        self.in_flight = InFlight(self)
        self.lost_runs = self.in_flight.lost_runs
        self.users = 0
        self.is_retrieved = self._was_cut_off = False
        self.pending_results: weakref.WeakSet[RunResults] = weakref.WeakSet()
        self._bound: weakref.WeakSet[BoundPlan] = weakref.WeakSet()
        self._numbers = itertools.count(1)
        reports.listen_to_losses(client, self.token)
        prepare(client)
        send_promptly(client)
        self.traces = traces_of(client)
        client.subscribe_topic(topic(self.token), self.in_flight.on_message)
        self.scheduler, self.session_index, looked = self.call_scheduler(
            "open", name=self.name, client=client.id, session=self.token, is_private=self.is_private
        )
        self._set_records(*looked)
        if len(self.values):
            self.sealer.catch_up(self._follow)
        else:
            self._begin(store, local)
        if self.is_private:
            local.clear()  # from now on they are there
        before_close(client, self)

    @property
    def is_shared(self) -> bool:
        """Whether other clients may have a part in the state."""
        return not self.is_private

    @property
    def description(self) -> str:
        """The state, in words."""
        return "this session's variables" if self.is_private else f"the state {self.name!r}"

    @property
    def num_workers(self) -> int:
        """How many blocks can run at once: the threads of all workers."""
        return max(1, sum(info.num_threads for info in self.placement.worker_infos))

    @property
    def preferred_worker(self) -> str:
        """The worker on which this client's own share of asynchronous training is done."""
        addresses = self.placement.addresses
        return addresses[self.session_index % len(addresses)]

    def next_number(self) -> int:
        """Return a number that this executor has not used for anything."""
        return next(self._numbers)

    def new_stamp(self) -> str:
        """Return a text for keys that no other graph has."""
        return f"{self.token}-{self.next_number()}"

    # -- the connection -------------------------------------------------------------------------

    @property
    def is_closed(self) -> bool:
        """Whether the cluster cannot be reached any more: not even if it comes back, since a
        client that lost its connection has lost what it knew."""
        now = connection_of(self.client)
        return self._was_cut_off or now is None or now is not self._connection

    def check_connected(self) -> None:
        """Raise UnavailableError where the cluster cannot be reached any more."""
        if self.is_closed:
            raise self.lost_error()
        self.placement.workers.check_awaited()

    def lost_error(self, why: str = "") -> UnavailableError:
        """Return the error of what was here and cannot be had, since the cluster is gone.

        Args:
          why: what became of it; "" if it cannot be reached.
        """
        names = sorted(self.values.capture()[1])
        num_runs, durable = self.in_flight.num_returned, self.sealer.version
        last = (
            "No version of them was durable: run the initializers again"
            if durable is None
            else f"The last durable version is {durable}, {num_runs} runs ago: "
            "recover() goes back to it"
        )
        if not why and connection_of(self.client) not in (None, self._connection):
            why = "is gone: another scheduler is at its address, or it has let go of this client"
        why = why or f"cannot be reached: its client is {self.client.status}"
        return UnavailableError.saying(
            f"the Dask cluster with {self.description} ({enumerated(names) or 'none yet'}) {why}. "
            f"{num_runs} runs are lost. {last}; or restore a checkpoint, or open a new session"
        )

    def call_scheduler(self, what: str, **arguments: Any) -> Any:
        """Ask the scheduler for something; see the requests of `VersionKeeper`.

        Raises:
          UnavailableError: it cannot be reached.
        """
        self.check_connected()
        try:
            return call_scheduler(self.client, what, **arguments)
        except (OSError, TimeoutError) as error:
            self._was_cut_off = True
            raise self.lost_error() from error

    # -- the records ----------------------------------------------------------------------------

    def refresh(self) -> None:
        """Look up which variables there are."""
        self._set_records(*self.call_scheduler("records", name=self.name))

    def note_dropped(self, key: str) -> None:
        """Tell that nobody has a variable any more, and have the next run that changes some do so:
        what is told may come to nothing.

        Nothing is told while results are to be fetched of runs that change nothing. Such a run is
        sent again if they are lost, and may take the variable.
        """
        if not self.is_private:
            return
        self.in_flight.dropped[key] = self.next_number()
        pending = [results.run for results in list(self.pending_results)]
        if all(run is None or run.bound.plan.updates for run in pending):
            tell_scheduler(
                self.client,
                LEAVING,
                name=self.name,
                session=self.token,
                epoch=self.in_flight.epoch,
                number=max(self.in_flight.runs, default=0),
                key=key,
            )

    def _set_records(self, records: Mapping[str, VariableRecord], durable: VersionId) -> None:
        values = self.values
        with values.run_lock:
            self.sealer.version = None if durable == NO_VERSION else durable
            for key in values.capture()[1].keys() - records.keys():
                values.delete(key)
            blocks: dict[str, Blocks] = {key: {(): RemoteBlock()} for key in records}
            values.put(blocks, dict(records))

    # -- runs -----------------------------------------------------------------------------------

    def automatic_chunks(self, spec: Spec, device: str, found: Chunks | None) -> Chunks | None:
        """Return how a variable is cut of which nobody has said that."""
        return self.placement.automatic_chunks(spec, device, found)

    @cached_property
    def _in_client(self) -> LocalExecutor:
        return LocalExecutor(Values())

    def bind(self, plan: Plan, names: Sequence[str] = (), has_lazy: bool = False) -> Bound:
        """Return a plan as it is run; see `Binder.bind`.

        What the client does itself is no run of the state: it waits for none, and hears of none.
        """
        if plan.is_client_work:
            return self._in_client.bind(plan, names)
        bound = BoundPlan(self, plan, names)
        self._bound.add(bound)
        return bound

    def transact(self, run: Callable[[], Any]) -> Any:
        """Call what runs a program; again if other clients have changed what it was made for.

        With ``config.seal_every_s = 0`` its updates are on disk when this returns.
        """
        if self.is_private:
            return run()
        found = self._attempted(run)
        if self.seals_every_run and self.in_flight.num_unsealed:
            self.seal()
        return found

    @property
    def seals_every_run(self) -> bool:
        """Whether a run is on disk when it returns."""
        return self.is_shared and self.sealer.is_durable and not config.get().seal_every_s

    def _attempted(self, run: Callable[[], Any]) -> Any:
        for _ in range(MAX_ATTEMPTS):
            try:
                return run()
            except StaleViewError as error:
                refused = error
                self.refresh()
        raise permanent(
            AbortedError.saying(
                f"a run was given up after {MAX_ATTEMPTS} attempts, and changed nothing. "
                f"At last: {refused.message}. Clients of one state must agree on their variables' "
                "dtypes and chunks: give all of them the same chunks="
            )
        )

    def submit(
        self, bound: BoundPlan, feeds: Sequence[Any], random_keys: dict[int, Any], is_awaited: bool
    ) -> SentRun:
        """Send a run; wait while too many are in flight."""

        def send() -> SentRun:
            self.check_connected()
            if events.level != self.traces.level:
                self.traces.begin(self, events.level)
            with self.values.run_lock:
                self.in_flight.admit(bound.new_bytes)
            run = SentRun(bound, feeds, random_keys, is_awaited)
            self.in_flight.send(run)
            return run

        return self.recovering(send)

    def results(self, run: SentRun) -> list[Any]:
        """Wait until a run is finished, and return its outputs; see `InFlight.results`."""
        found = self.in_flight.results(run)
        self._show_scalars(run, found)
        return found

    def _show_scalars(self, run: SentRun, values: Sequence[Any]) -> None:
        """Have the dashboard show what is one number of what a run with updates gave."""
        bound = run.bound
        if bound.names and bound.plan.updates:
            self.traces.note_scalars(self.name, bound.names, values, run.dispatch.version)

    def fetch(self, wanted: RunResults | None = None) -> None:
        """Bring results that were not waited for: those wanted, and all that are there.

        Raises:
          OpError: the run of those wanted failed, or one before it.
        """
        ready = [results for results in list(self.pending_results) if results.is_ready]
        first = wanted or next(iter(ready), None)
        if first is None:
            return
        check_may_wait(self.client)
        found = dict(self.in_flight.fetch(first.run, [results.run for results in ready]))
        for results in [first, *ready]:
            if results.run in found:
                self._show_scalars(results.run, found[results.run])
                results.values, results.run = found[results.run], None
                self.pending_results.discard(results)

    def sync(self) -> None:
        """Wait for all runs in flight.

        Raises:
          OpError: one failed; the variables are as they were before it.
        """
        self.in_flight.finish()

    def recovering(self, action: Callable[[], Any]) -> Any:
        """Call `action`; if it fails because data is lost, bring that back and call it again.

        More may be lost meanwhile, so this is tried a few times.

        Raises:
          UnavailableError: what was lost cannot be computed again.
        """
        for _ in range(RECOVERIES):
            try:
                return action()
            except (LostError, LostStateError) as error:
                if not self.lost_runs.can_repeat(error):
                    raise
                self.lost_runs.repeat()
        return action()

    # -- values ---------------------------------------------------------------------------------

    def pinned(self, variables: Variables) -> dict[str, Blocks]:
        """Return the blocks of variables, which this client keeps as long as it has them."""
        futures = futures_of(self.client, set(keys_of(variables)))
        return {
            key: {
                index: RemoteBlock(Reference(futures[location.key], location.position))
                for index, location in blocks.items()
            }
            for key, (_, blocks) in variables.items()
        }

    def lease(self, keys: Collection[str], in_flight: bool = False) -> Lease:
        """Return the blocks of variables to be read: nobody ever changes those on workers.

        Args:
          keys: the variables.
          in_flight: as the runs sent so far will leave them; else those runs are waited for.
        """
        read = self.read_in_flight if in_flight else self.read
        blocks = read(keys, "a checkpoint")
        return Lease(set(), self.values.version, blocks)

    def read(self, keys: Collection[str], purpose: str = "a look at variables") -> list[Blocks]:
        """Return the blocks of variables, this client's runs done.

        Args:
          purpose: what they are read for, in words.

        Raises:
          LostStateError: some are gone; see `recovering`.
        """
        self.sync()
        found, blocks = self._pinned_by("pin", wanted=list(keys), purpose=purpose)
        self._set_records({key: record for key, (record, _) in found.items()}, self._durable)
        self.in_flight.forget_dropped()
        return self._blocks_of(keys, blocks)

    def dask_array(self, key: str) -> dask.array.Array:
        """Return the present value of a variable, this client's runs done, as a dask array."""
        with self.values.run_lock:
            (blocks,) = self.read([key])
            record = self.values.record(key)
        references = {index: block.reference for index, block in blocks.items()}
        version = [(index, where.future.key, where.position) for index, where in references.items()]
        name = array_name(key, self.scheduler, version)
        part = Part(name, as_dtype(record.dtype).np, record.chunks, references)
        return on_workers(self.client, self.new_stamp(), [part])[0]

    def dask_results(self, run: SentRun, names: Sequence[str]) -> list[dask.array.Array]:
        """Wait until a run is finished, and return its outputs as dask arrays.

        Raises:
          OpError: it failed, or one before it; the variables are as before that run.
        """
        dispatch = self.in_flight.settled(run)
        stamp = self.new_stamp()
        parts = [
            Part(array_name(name, stamp, number), dtype, chunks, blocks)
            for number, (name, (dtype, chunks, blocks)) in enumerate(
                zip(names, dispatch.located_outputs(), strict=True)
            )
        ]
        return on_workers(self.client, stamp, parts)

    def read_in_flight(self, keys: Collection[str], purpose: str) -> list[Blocks]:
        """Return the blocks of variables as the runs sent so far will leave them; as `read`."""
        with self.values.run_lock:
            self.in_flight.process_messages()
            last = max(self.in_flight.runs, default=0)
            while True:
                asked = {"session": self.token, "number": last, "wanted": list(keys)}
                found, blocks = self._pinned_by("pin_newest", purpose=purpose, **asked)
                if found is not None:
                    return self._blocks_of(keys, blocks)
                time.sleep(SUBMIT_POLL_S)
                self.in_flight.process_messages()
                last = max(self.in_flight.runs, default=0)

    def _pinned_by(self, request: str, **arguments: Any) -> tuple[Any, dict[str, Blocks]]:
        """Return the variables that a request has the scheduler keep for this client, and their
        blocks: when these go, it keeps them no more."""

        def pin() -> tuple[Any, dict[str, Blocks]]:
            found = self.call_scheduler(request, name=self.name, client=self.client.id, **arguments)
            return found, self.pinned(found or {})

        return shielded(pin)

    def _blocks_of(self, keys: Collection[str], blocks: Mapping[str, Blocks]) -> list[Blocks]:
        self.values.read(keys)  # or an error that names those without a value
        return [blocks[key] for key in keys]

    @property
    def _durable(self) -> VersionId:
        return NO_VERSION if self.sealer.version is None else self.sealer.version

    def put(self, new: Mapping[str, Blocks], records: Mapping[str, VariableRecord]) -> None:
        """Set variables to blocks, which are moved to the workers if they are not there."""
        with self.values.run_lock:
            self.in_flight.process_messages()
            self._put(new, records)

    def _put(
        self,
        new: Mapping[str, Blocks],
        records: Mapping[str, VariableRecord],
        first: bool = False,
        durable: VersionId = NO_VERSION,
    ) -> None:
        blocks = {**new, **self.transfers.moved(new)}
        wait(self.client, [b.reference.future for b in remote_blocks(blocks.values())])
        variables = {key: (records[key], block_locations(found)) for key, found in blocks.items()}
        keys = {h.key for _, found in variables.values() for h in found.values()}
        number = self.next_number()
        for key in new:
            self.in_flight.dropped.pop(key, None)
        header = RunHeader(
            self.name, self.token, self.in_flight.epoch, number, tuple(keys), variables
        )

        def put() -> None:
            self.call_scheduler("put", header=header, is_first=first, durable=durable)
            if durable == NO_VERSION:
                self.lost_runs.discard_log(number)
            self.refresh()

        shielded(put)  # else the log of the runs before would be taken for all there was

    def _begin(self, store: ZarrStore | None, local: Values) -> None:
        """Give a new state its first values: those in its store, or of this process."""
        head = store.head() if store is not None else None
        if head is not None:
            self._put(self._loaded(store, head), dict(head.records), True, head.id)
        elif store is None and len(local):
            state = local.made_read_only()
            blocks = {key: found for key, (_, found) in state.items()}
            records = {key: record for key, (record, _) in state.items()}
            self._put(blocks, records, True)
        else:
            self.refresh()

    def _loaded(self, store: Any, head: Any) -> dict[str, Any]:
        wanted = {
            key: (record.dtype, record.shape, record.chunks) for key, record in head.records.items()
        }
        where = StorePath(store.storage, store.version_path(head.version))
        for key, (dtype, shape, chunks) in wanted.items():
            self.placement.of_variable(key, "", Spec(as_dtype(dtype), shape), chunks)
        return self._restored(where, wanted, {}, {})

    def _restored(self, where: Any, wanted: Any, names: Any, offsets: Any) -> dict[str, Any]:
        stamp = self.new_stamp()
        return cluster_checkpoints.restore(
            self.client, stamp, self.placement, where, wanted, names, offsets
        )

    # -- checkpoints ----------------------------------------------------------------------------

    def save(self, values: Mapping[str, Any], where: Any, global_step: int | None) -> None:
        """Write a checkpoint of key -> (record, blocks), each chunk by a worker that has it."""
        self._save(values, where, global_step)

    def save_in_background(
        self, values: Mapping[str, Any], where: Any, global_step: int | None
    ) -> Callable[[], None]:
        """Return what does so while runs go on, beside their tasks.

        The values may still be to come; if a run that is in flight now fails, so does the save.
        """
        with self.values.run_lock:
            in_flight = [f for run in self.in_flight.runs.values() for f in run.dispatch.futures]
        return lambda: self._save(values, where, global_step, in_flight)

    def _save(
        self,
        values: Mapping[str, Any],
        where: Any,
        global_step: int | None,
        in_flight: list[Future] | None = None,
    ) -> None:
        stamp = self.new_stamp()
        try:
            cluster_checkpoints.save(self.client, stamp, values, where, global_step, in_flight)
        except GONE as error:
            raise self._unavailable(error, "a checkpoint", values) from error

    def restore(
        self,
        where: Any,
        wanted: Any,
        names: Mapping[str, str],
        offsets: Mapping[str, Any],
        devices: Mapping[str, str],
    ) -> dict[str, Any]:
        """Read blocks from a checkpoint, in the layouts wanted, on the workers of the devices."""
        for key, (dtype, _, chunks) in wanted.items():
            spec = Spec(dtype, tuple(map(sum, chunks)))
            self.placement.of_variable(key, devices.get(key, ""), spec, chunks)
        return self._restored(where, wanted, names, offsets)

    # -- durability -----------------------------------------------------------------------------

    def seal(self) -> None:
        """Make the present version durable, with what other clients have finished.

        Raises:
          OpError: a run in flight failed; the variables are as they were before it.
          ConflictError: somebody who is not on this cluster has written to the store.
        """

        def seal() -> None:
            with self.values.run_lock:
                self.sync()
                self._sealing(self.sealer.seal)

        self.recovering(seal)

    def seal_changes(self) -> None:
        """Do so if the session has a store."""
        if self.sealer.is_durable:
            with self._leaving():
                self.seal()

    def seal_if_requested(self) -> None:
        """Make what is finished durable if the scheduler has asked for it."""
        self._sealing(self.sealer.seal_if_requested)

    def _sealing(self, seal: Callable[[], None]) -> None:
        try:
            seal()
        except ConflictError as error:
            raise ConflictError.saying(f"{error.message}. {REMEDY}") from None
        except GONE as error:
            self.check_connected()
            raise self._unavailable(error, "a seal", self.values.capture()[1]) from error

    def _unavailable(self, error: Any, what: str, keys: Iterable[str]) -> UnavailableError:
        why = reports.recent_memory_loss(self.client)
        return unavailable(error, what, sorted(keys), self.sealer.version, why)

    def recover(self) -> int:
        """Set the state back to its last durable version, for all clients; return its number.

        Raises:
          FailedPreconditionError: no version was durable yet. If that is because the store was
            deleted, the variables have no values then.
        """
        with self.values.run_lock:
            store = self.sealer.open_store()
            head = store.head() if store is not None else None
            if head is None:
                if self.sealer.is_durable and self._durable != NO_VERSION:
                    self._set({}, NO_VERSION, False)
                raise no_durable_version()
            self._follow(store, head)
            return head.version

    def rewind(self) -> int:
        """Set the state back to its last durable version, if this client can go on from there.

        Returns:
          The number of the session's last run in that version.

        Raises:
          LostStateError: other clients have run something since: only `recover` may do that.
        """
        self.placement.workers.refresh()
        if self.sealer.version is None:
            return self._set({}, NO_VERSION, True)
        store = self.sealer.open_store()
        assert store is not None
        head = store.manifest(self.sealer.version.number)
        self.placement.check_variables(head.records)
        return self._follow(store, head, is_own=True)

    def _follow(self, store: Any, head: Any, is_own: bool = False) -> int:
        """Set the state to a version of its store, for all clients; see `_set`."""
        found = self._loaded(store, head)
        wait(self.client, [b.reference.future for b in remote_blocks(found.values())])
        variables = {key: (head.records[key], block_locations(b)) for key, b in found.items()}
        return self._set(variables, head.id, is_own)

    def _set(self, variables: Any, durable: VersionId, is_own: bool) -> int:
        """Set the state for all clients, and take note of that here: nobody else tells this one.

        Args:
          variables, durable: the blocks, and the version on disk that they are.
          is_own: whether the client sends its runs since then again; else they are undone.

        Returns:
          The number of the session's last run in that version.
        """

        def set_state() -> int:
            epoch, last_run = self.call_scheduler(
                "reset",
                name=self.name,
                session=self.token,
                variables=variables,
                durable=durable,
                is_own=is_own,
            )
            if is_own:
                self.in_flight.epoch = epoch
            else:
                self.in_flight.abandon(epoch)
            self.refresh()
            return last_run

        return shielded(set_state)

    def workers_without_access(self, path: str) -> list[str]:
        """Return the workers that do not see a directory."""
        if "://" in path:
            return []
        seen = self.client.run(os.path.isdir, path, on_error="ignore")
        return sorted(worker for worker, found in seen.items() if not found)

    # -- leaving --------------------------------------------------------------------------------

    def retrieve_values(self, is_exit: bool = False) -> None:
        """Take the values from the cluster, whose client is about to be closed: into their store,
        or into this process.

        Args:
          is_exit: the process is about to end, so that only a store is of use.
        """
        is_needed = self.sealer.is_durable or not is_exit
        if self.users <= 0 or self.is_retrieved or self.is_closed or not is_needed:
            return
        if self.client.asynchronous:
            # It would wait for itself. So a worker closes the clients of its tasks as it ends.
            if self.sealer.is_durable and (num_unsealed := self.in_flight.num_unsealed):
                logger.error(
                    "%s was not sealed before its client closed, in its own event loop: %d runs "
                    "are lost. Close sessions that tasks open, in the task",
                    self.description,
                    num_unsealed,
                )
            return
        try:
            with self._leaving():
                self.sync()
                self.fetch()
                if self.sealer.is_durable:
                    self.seal()
                else:
                    self.recovering(self._bring_values)
                self.is_retrieved = True
        except Exception as error:  # noqa: BLE001 - the client closes all the same
            logger.error(
                "%s did not leave the Dask cluster before its client closed: %s",
                self.description,
                error,
            )
        self._leave()

    def seal_at_exit(self) -> None:
        """Seal what changed, as the program ends; say so in the log where that cannot be."""
        if self.users > 0 and self.sealer.is_durable and not (self.is_retrieved or self.is_closed):
            try:
                self.seal()
            except Exception as error:  # noqa: BLE001 - the program ends all the same
                logger.error(
                    "%s was not sealed when the program ended: %s", self.description, error
                )

    def _bring_values(self) -> None:
        keys = sorted(self.values.capture()[1])
        records = {key: self.values.record(key) for key in keys}
        nbytes, room = sum(r.nbytes for r in records.values()), psutil.virtual_memory().available
        if nbytes > RETRIEVED_SHARE * room:
            self.seal()
            raise UnavailableError.saying(
                f"{nbytes:,} bytes of variables do not fit into this process, which has"
                f" {room:,} free; version {self.sealer.version} of them is durable"
            )
        blocks = self.read(keys)
        try:
            blocks = self.transfers.brought(blocks)
        except GONE as error:
            raise self._unavailable(error, "the way to the client", keys) from error
        self.local.put(dict(zip(keys, blocks, strict=True)), records)

    def close(self) -> None:
        """Finish the runs in flight, and let go of the state; one with a name stays there.

        Raises:
          OpError: a run in flight failed.
        """
        self.users -= 1
        try:
            if not self.is_closed:
                with self._leaving():
                    self.sync()
                    self.fetch()
        finally:
            if self.users <= 0:
                self._leave()
                self.lost_runs.abandon()  # what they were fed with need not be kept any more
                self.sealer.close()

    @contextmanager
    def _leaving(self) -> Iterator[None]:
        """Wait no longer than `LEAVING_S` for a worker to come where there is none.

        Where the program is broken off, wait for none, and say in the log what is given up: the
        workers of a cluster on this machine get a Ctrl-C as well, and are not replaced.

        Raises:
          UnavailableError: there was no worker. It says what is lost.
        """
        is_broken_off = sys.exception() is not None
        try:
            with self.placement.workers.awaited_at_most(0.0 if is_broken_off else LEAVING_S):
                yield
        except UnavailableError as error:
            if is_broken_off:
                names = enumerated(sorted(self.values.capture()[1])) or "none yet"
                logger.error("%s. Given up: %s (%s)", error, self.description, names)
            elif isinstance(error, NoWorkersError):
                raise self.lost_error(f"has had no worker for {LEAVING_S:.0f} s") from None
            else:
                raise

    def _leave(self) -> None:
        """Let go of the state."""
        for bound in self._bound:
            bound.release()
        if not self.is_closed:
            self.call_scheduler("leave", session=self.token)
            unsubscribe(self.client, topic(self.token))
            reports.ignore_losses(self.client, self.token)
        forget_executor(self)


def call_scheduler(client: Client, what: str, /, **arguments: Any) -> Any:
    """Ask a scheduler for something; see the requests of `VersionKeeper`."""
    found = pickle.loads(call_handler(client, OPERATION, pickle.dumps((what, arguments))))
    if isinstance(found, OpError):
        raise found
    return found


@once_per_client
def prepare(client: Client) -> None:
    """Have a cluster keep states, once for each client."""
    client.register_plugin(VersionKeeper())
    register_on_workers(client, LineagePlugin())
    register_on_workers(client, WorkerMemory())
    register_on_workers(client, Exchanges())
    register_on_workers(client, ToldResults())
    reports.listen_to_pauses(client)


def drop_state(client: Client, name: str) -> None:
    """Have a cluster forget a state."""
    prepare(client)
    call_scheduler(client, "drop", name=name)


def block_locations(blocks: Blocks) -> dict[Any, BlockLocation]:
    """Return where blocks are, as plain data."""
    return {index: block.location for index, block in blocks.items()}


def cluster_executor(
    client: Client, local: Values, name: str, store: ZarrStore | None
) -> ClusterExecutor:
    """Return the executor of a state on a cluster, one for all sessions of this client."""
    key = (name or id(local), client.id)
    return registered(key, lambda: ClusterExecutor(client, local, name, store))
