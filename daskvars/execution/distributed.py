"""The cluster's executor: plans run on the workers of a Dask client, and values stay there.

A run is one small graph, sent without waiting for it: the variables' next version is the keys
that the graph computes. What is fetched is gathered; everything else stays where it was computed.
"""

from __future__ import annotations

import itertools
import uuid
import weakref
from collections.abc import Callable, Collection, Mapping
from typing import Any

from distributed import Client, Future

from daskvars import config
from daskvars.errors import UnavailableError
from daskvars.execution import cluster_checkpoints, events, loss_reports
from daskvars.execution.cluster_errors import GONE, LostError, unavailable
from daskvars.execution.cluster_runs import BoundPlan
from daskvars.execution.durable import no_durable_version
from daskvars.execution.executors import forget_executor, registered
from daskvars.execution.offers import workers_of
from daskvars.execution.outcomes import Outcome, fetched
from daskvars.execution.pipeline import Before, Pipeline, restore
from daskvars.execution.placing import Placing, by_annotation
from daskvars.execution.remote_blocks import Reference, RemoteBlock, remote_blocks
from daskvars.execution.run_feeds import MOST_GRAPH_BYTES, scattered
from daskvars.execution.sealing import Sealer
from daskvars.graph.opdef import Spec
from daskvars.kernels.worker_tasks import PackedRegion
from daskvars.lowering.plan import Plan
from daskvars.remote.dask_internals import DataNode, RunGraph
from daskvars.state.grids import Blocks
from daskvars.state.manifest import VariableRecord
from daskvars.state.values import Lease, Values, registry

RECOVERIES = 5  # in a row: so many workers may die while a call is answered


class DistributedExecutor:
    """Runs plans on the variables of one `Values`, on a cluster.

    Args:
      client: the cluster.
      values: the variables; those that are arrays of this process move to the cluster when they
        are first used.

    Attributes:
      token: a text that no other executor has, for keys.
      placing: where tasks run and variables live.
    """

    def __init__(self, client: Client, values: Values) -> None:
        self.client, self.values = client, values
        self.token = f"0{uuid.uuid4().hex[:15]}"
        self.placing = Placing(workers_of(client), values.__contains__)
        self.sealer = Sealer(
            client, values, self.token, self.placing.wish_of, self.placing.type_of
        )
        self.pipeline = Pipeline(client, values, lambda: self.sealer.version)
        self.users = 0
        self._is_behind = False
        self.outcomes: weakref.WeakSet[Outcome] = weakref.WeakSet()
        self._bound: weakref.WeakSet[BoundPlan] = weakref.WeakSet()
        self._numbers = itertools.count(1)
        loss_reports.listen(client, self.token)

    @property
    def num_workers(self) -> int:
        """How many blocks can run at once: the threads of all workers."""
        return max(1, sum(offer.num_threads for offer in self.placing.offers))

    @property
    def is_closed(self) -> bool:
        """Whether the cluster cannot be reached any more."""
        return self.client.status in ("closed", "closing")

    def next_number(self) -> int:
        """Return a number that this executor has not used for anything."""
        return next(self._numbers)

    def bind(self, plan: Plan) -> BoundPlan:
        """Return ``run(feeds, key_of) -> results`` for `plan`; see `LocalExecutor.bind`."""
        bound = BoundPlan(self, plan)
        self._bound.add(bound)
        return bound

    def sync(self) -> None:
        """Wait for all runs in flight.

        Raises:
          OpError: one failed; the variables are as they were before it.
        """
        with self.values.run_lock:
            self.recovering(lambda: self.pipeline.settle(everything=True))

    def seal(self) -> None:
        """Make the present version durable and cut it loose from its history.

        Raises:
          OpError: a run in flight failed; the variables are as they were before it.
        """
        with self.values.run_lock:
            self.recovering(self._seal)

    def _seal(self) -> None:
        self.pipeline.settle(everything=True)
        self.fetch()
        state = self.values.capture()[1]
        self.adopt(state)
        try:
            done = self.sealer.seal()
        except GONE as error:
            raise unavailable(error, "a seal", sorted(state), self.sealer.version) from error
        if done:
            self.pipeline.note_seal()
        else:
            self.pipeline.give_up()

    def fetch(self, wanted: Outcome | None = None) -> None:
        """Bring results that were not waited for: those wanted, and all that are there.

        Raises:
          UnavailableError: the connection to the cluster is closed.
        """
        if self.is_closed:
            raise UnavailableError(
                None, None, "the result of a run was not looked at before the Dask client closed"
            )

        def fetch() -> None:
            there = [outcome for outcome in list(self.outcomes) if outcome.is_there]
            first = wanted or next(iter(there), None)
            if first is not None:
                fetched(first, there)
                self.outcomes.difference_update([first, *there])

        self.recovering(fetch)

    def recovering(self, action: Callable[[], Any], reads: bool = True) -> Any:
        """Call `action`; if it fails because data is lost, bring that back and call it again.

        More may be lost meanwhile, so this is tried a few times.

        Args:
          action: what to do.
          reads: whether it takes variables, which must be what all runs so far lead to.

        Raises:
          UnavailableError: what was lost cannot be computed again.
        """
        for _ in range(RECOVERIES):
            try:
                return self._up_to_date(action, reads)
            except LostError:
                with self.values.run_lock:
                    if not self.pipeline.is_complete:
                        raise
                    self._is_behind = True
        return self._up_to_date(action, reads)

    def _up_to_date(self, action: Callable[[], Any], reads: bool) -> Any:
        if self._is_behind and reads:
            with self.values.run_lock:
                self._replay()
        return action()

    def _replay(self) -> None:
        """Send the runs since the last seal again, on what was sealed: all of them or none.

        Raises:
          OpError: they could not be sent; it will be tried again before the next run.
        """
        runs, state = dict(self.pipeline.log), self.values.capture()[1]
        events.publish(events.RunsRepeated(len(runs)))
        try:
            self._rewind()
            for bound, feeds, drawn, seen_by in runs.values():
                bound.dispatch(feeds, drawn, seen_by())
        except BaseException:
            # Whoever needs the variables next will come here again.
            self._set({**dict.fromkeys(self.values.capture()[1]), **state})
            self.pipeline.log, self._is_behind = runs, True
            raise

    def recover(self) -> int:
        """Set the variables back to the last durable version, and return its number.

        Variables that had no value in it have none again.

        Raises:
          FailedPreconditionError: no version was durable yet.
        """
        if self.sealer.version is None:
            raise no_durable_version()
        self._rewind()
        return self.sealer.version

    def _rewind(self) -> None:
        with self.values.run_lock:
            self.placing.workers.refresh()
            self.placing.check_homes(self.sealer.sealed)
            self._set({**dict.fromkeys(self.values.capture()[1]), **self.sealer.reload()})

    def _set(self, state: Before) -> None:
        """Set variables without a run, or take their values away."""
        restore(self.values, state)
        self.pipeline.pending.clear()
        self.pipeline.note_seal()
        self._is_behind = False

    def read(self, keys: Collection[str]) -> list[Blocks]:
        """Return the blocks of variables."""
        return self.values.read(keys)[1]

    def lease(self, keys: Collection[str]) -> Lease:
        """Return the blocks of variables to be read: nobody ever changes those on workers."""
        return Lease(set(), self.values.version, self.read(keys))

    def put(self, new: Mapping[str, Blocks], records: Mapping[str, VariableRecord]) -> None:
        """Set variables to blocks."""
        self.values.put(new, records)

    def place(
        self, data: Mapping[str, Any], wishes: Mapping[str, dict[str, Any]] | None = None
    ) -> dict[str, Future]:
        """Put plain data under keys: small data as tasks, which Dask can repeat, else scattered.

        Args:
          data: key -> array or packed region.
          wishes: key -> Dask annotations, where it matters on which worker it is.
        """
        wishes = wishes or {}
        limit = min(config.get().feed_scatter_bytes, MOST_GRAPH_BYTES)
        small, large, room = {}, {}, MOST_GRAPH_BYTES
        for key, value in data.items():
            size = len(value.data) if isinstance(value, PackedRegion) else value.nbytes
            if size <= min(limit, room):
                small[key] = value
                room -= size
            else:
                large[key] = value
        found = scattered(self.client, large, self.placing.addresses, wishes) if large else {}
        if small:
            graph = {key: DataNode(key, value) for key, value in small.items()}
            stamp = f"{self.token}-{self.next_number()}"
            annotations = by_annotation({key: wishes.get(key, {}) for key in graph})
            futures = self.client.get(RunGraph(graph, annotations, stamp), list(graph), sync=False)
            found.update(zip(graph, futures, strict=True))
        return found

    def adopt(self, keys: Collection[str]) -> None:
        """Move those of some variables that are arrays of this process to the cluster."""
        version, state = self.values.read(list(keys))
        moved = self.moved(dict(zip(keys, state, strict=True)))
        if moved:
            self.values.commit(moved, version)
            self.sealer.hasten()

    def moved(self, state: Mapping[str, Blocks]) -> dict[str, Blocks]:
        """Return those variables that are not all on this cluster, once they are.

        Raises:
          UnavailableError: one is on another cluster.
        """
        local: dict[str, Any] = {}
        wishes: dict[str, dict[str, Any]] = {}
        where: dict[str, tuple[str, Any]] = {}
        for key, blocks in state.items():
            for number, (index, block) in enumerate(blocks.items()):
                if not isinstance(block, RemoteBlock):
                    name = f"value-{self.token}-{self.next_number()}"
                    local[name], where[name] = block, (key, index)
                    wishes[name] = self.placing.wish_of(key, number, len(blocks))
                elif block.reference.future.client is not self.client:
                    raise UnavailableError(
                        None, None, f"variable {key!r} is on the cluster of another Dask client; "
                        "save it there and restore it here"
                    )  # fmt: skip
        if not local:
            return {}
        futures = self.place(local, wishes)
        new: dict[str, Any] = {key: dict(state[key]) for key, _ in where.values()}
        for name, (key, index) in where.items():
            new[key][index] = RemoteBlock(Reference(futures[name], None))
        return new

    def save(self, values: Mapping[str, Any], where: Any, global_step: int | None) -> None:
        """Write a checkpoint of key -> (record, blocks), each chunk by a worker that has it."""
        with self.values.run_lock:
            self.pipeline.settle(everything=True)
        self._save(values, where, global_step)

    def save_later(
        self, values: Mapping[str, Any], where: Any, global_step: int | None
    ) -> Callable[[], None]:
        """Return what does so while runs go on, beside their tasks.

        The values may still be to come; if a run that is in flight now fails, so does the save.
        """
        with self.values.run_lock:
            in_flight = [future for run in self.pipeline.pending for future in run.futures]
        return lambda: self._save(values, where, global_step, in_flight)

    def _save(
        self, values: Mapping[str, Any], where: Any, global_step: int | None,
        in_flight: list[Future] | None = None,
    ) -> None:  # fmt: skip
        moved = self.moved({name: blocks for name, (_, blocks) in values.items()})
        values = {n: (record, moved.get(n, blocks)) for n, (record, blocks) in values.items()}
        stamp = f"{self.token}.{self.next_number()}"
        try:
            cluster_checkpoints.save(self.client, stamp, values, where, global_step, in_flight)
        except GONE as error:
            durable = self.sealer.version
            raise unavailable(error, "a checkpoint", sorted(values), durable) from error

    def restore(
        self, where: Any, wanted: Any, names: Mapping[str, str], offsets: Mapping[str, Any],
        devices: Mapping[str, str],
    ) -> dict[str, Any]:  # fmt: skip
        """Read blocks from a checkpoint, in the layouts wanted, on the workers of the devices."""
        for key, (dtype, _, chunks) in wanted.items():
            spec = Spec(dtype, tuple(map(sum, chunks)))
            self.placing.of_variable(key, devices.get(key, ""), spec, chunks)
        stamp = f"{self.token}.{self.next_number()}"
        found = cluster_checkpoints.restore(
            self.client, stamp, self.placing, where, wanted, names, offsets
        )
        self.sealer.hasten()
        return found

    def close(self) -> None:
        """Finish the runs in flight; free what is on the cluster, unless its variables have a name.

        Raises:
          OpError: a run in flight failed.
        """
        self.users -= 1
        try:
            if not self.is_closed:
                self.sync()
                self.fetch()
        finally:
            named = any(found is self.values for found in registry.values())
            if self.users <= 0 and not named:
                self.abandon()

    def abandon(self) -> None:
        """Forget everything that is on the cluster: those variables have no value any more."""
        with self.values.run_lock:
            self.pipeline.pending.clear()
            self.pipeline.give_up()
            for key, (_, blocks) in self.values.capture()[1].items():
                if any(True for _ in remote_blocks([blocks])):
                    self.values.delete(key)
            for bound in self._bound:
                bound.release()
            self.sealer.close()
            loss_reports.ignore(self.client, self.token)
        forget_executor(self)


def private_executor(client: Client, values: Values) -> DistributedExecutor:
    """Return the executor of these variables on this cluster, one for all sessions."""
    return registered((id(values), client.id), lambda: DistributedExecutor(client, values))
