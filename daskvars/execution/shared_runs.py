"""A plan on a state that several clients of a cluster share, and its runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from distributed import Future

from daskvars import chunk_grid
from daskvars.errors import UnimplementedError
from daskvars.execution.cluster_runs import BoundPlan, Dispatch, Keys, Target
from daskvars.execution.outcomes import Outcome
from daskvars.execution.remote_blocks import RemoteBlock
from daskvars.kernels.worker_tasks import given
from daskvars.lowering.plan import LeafInfo, Piece, Plan
from daskvars.lowering.program import STATE
from daskvars.remote.dask_internals import RunGraph, Task
from daskvars.state.grids import Blocks
from daskvars.state.manifest import VariableRecord
from daskvars.state.shared_graphs import references, shared_run_graph
from daskvars.state.shared_versions import BlockRef, Claim, Held, StaleViewError


class SharedPlan(BoundPlan):
    """A plan bound to a `SharedExecutor`."""

    def __init__(self, executor: Any, plan: Plan) -> None:
        super().__init__(executor, plan)
        unshaped = sorted(plan.updates.keys() - self.records.keys())
        if unshaped:
            raise UnimplementedError(
                None, None, f"variables {', '.join(unshaped)} would get shapes that only the run "
                f"tells, which cannot be on the state {executor.name!r} that clients of a cluster "
                "share; give the values assigned a static shape, or use a session without a store"
            )  # fmt: skip
        self.layouts: dict[str, VariableRecord] = {
            leaf.what: record for leaf in plan.leaves
            if leaf.kind == STATE and (record := _record(leaf)) is not None
        }  # fmt: skip

    def later(self, feeds: Sequence[Any], key_of: Keys) -> list[Any]:
        """Run; results are waited for, since only then the run is known to be committed."""
        return self(feeds, key_of)

    def _run(
        self, feeds: Sequence[Any], drawn: dict[int, Any], outcome: Outcome | None
    ) -> list[Any]:
        executor, plan, values = self.executor, self.plan, self.values
        if plan.presence or values.uninitialized(self.state_keys):
            executor.sync()  # a run of this client that has not arrived may initialize some
            executor.refresh()
            if any((key in values) != found for key, found in plan.presence.items()):
                raise StaleViewError(None, None, "variables were initialized by another client")
            values.read(self.state_keys)  # or an error that names those without a value
        run = executor.submit(self, feeds, drawn, bool(plan.outputs or not plan.updates))
        return executor.results(run) if run.is_awaited else []

    def state(self) -> tuple[int, list[Blocks]]:
        """Return nothing of the variables: the scheduler knows which version a run is on."""
        return self.values.version, []


class SharedDispatch(Dispatch):
    """One sending of a run on a shared state.

    Attributes:
      epoch: that in which it is sent.
      early: what must be computed before the rest is sent.
    """

    def send_early(self) -> None:
        """Make the graph; send what is computed from versions seen, if updates depend on it.

        Only when that is done the rest is sent, and bound to what is newest then: so a slow client
        delays no other.
        """
        self.epoch = self.executor.sendings.epoch
        self.early: list[Future] = []
        self.tasks, self.annotations, self.updates = self._made()
        if not self.wanted:  # nothing is computed, but variables get values that are there
            key = f"commit-{self.stamp}"
            self.tasks[key] = Task(key, tuple)
            self.wanted[key] = None
        early = early_tasks(self.tasks) if self.plan.updates else {}
        if not early:
            return
        self._stay_at_home(early)
        self.tasks = {key: task for key, task in self.tasks.items() if key not in early}
        needed = {key for task in self.tasks.values() for key in task.dependencies}
        keys = [key for key in early if key in needed or key in self.wanted]
        graph = self._graph(early, f"{self.stamp}-early", self._claim(keys, {}, True))
        self.early = self.executor.client.get(graph, keys, sync=False)

    def send(self) -> None:
        """Send the rest."""
        values = self.bound.values
        writes = {}
        for key, blocks in self.updates.items():
            record = self.bound.records[key]
            known = key in values and values.record(key) == record
            writes[key] = None if known else record, {i: _held(b) for i, b in blocks.items()}
        claim = self._claim(self.wanted, writes, False)
        self._get(self._graph(self.tasks, self.stamp, claim))
        if writes:
            new = {k: dict.fromkeys(blocks, RemoteBlock()) for k, blocks in self.updates.items()}
            values.commit(new, values.version, self.bound.records)
        self._settle()
        self.tasks, self.annotations, self.updates = {}, {}, {}

    def _claim(self, keys: Any, writes: Any, is_early: bool) -> Claim:
        executor: Any = self.executor
        bound: Any = self.bound
        return Claim(
            executor.name, executor.token, self.epoch, self.run.number, tuple(keys), writes,
            bound.layouts, is_early,
        )  # fmt: skip

    def _graph(self, tasks: Any, stamp: str, claim: Claim) -> RunGraph:
        annotations = {
            name: {key: value for key, value in found.items() if key in tasks}
            for name, found in self.annotations.items()
        }
        return shared_run_graph(tasks, annotations, stamp, self.executor.scheduler, claim)

    def _stay_at_home(self, early: Mapping[Any, Any]) -> None:
        """Spread what clients compute from versions seen: else all ran where variables are."""
        if sum(1 for task in early.values() if references(task)) == 1:
            workers = self.annotations.setdefault("workers", {})
            others = self.annotations.setdefault("allow_other_workers", {})
            for key in early.keys() - workers.keys():
                workers[key], others[key] = [self.executor.home], True

    def _leaf(self, piece: Piece) -> tuple[Any, int | None]:
        if self.plan.leaves[piece.origin.position].kind == STATE:
            return self._block(piece), None
        return super()._leaf(piece)

    def _block(self, piece: Piece) -> Any:
        leaf = self.plan.leaves[piece.origin.position]
        rank = len(self.bound.values.record(leaf.what).shape)
        block = (0,) * rank if leaf.layout is None else piece.block
        return BlockRef(leaf.what, block, leaf.is_seen)

    def _located(self, piece: Piece, fetched: bool = False) -> Any:
        leaf = self.plan.leaves[piece.origin.position] if piece.origin.region < 0 else None
        if leaf is None or leaf.kind != STATE:
            return super()._located(piece, fetched)
        if not fetched:
            return self._block(piece)
        key = f"read-{self.stamp}-{len(self.picks)}"
        self.picks[key] = Task(key, given, self._block(piece))
        self.wanted[key] = None
        return Target(key, None, 0)


def early_tasks(tasks: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return the tasks that depend on nothing newest, if some take blocks of versions seen."""
    late: set[Any] = set()
    early: dict[Any, Any] = {}

    def is_late(key: Any) -> bool:
        if key in early or key not in tasks:
            return False
        if key not in late:
            task = tasks[key]
            newest = any(not ref.seen for ref in references(task))
            if newest or any(map(is_late, task.dependencies)):
                late.add(key)
            else:
                early[key] = task
        return key in late

    for key in tasks:
        is_late(key)
    seen = any(references(task) for task in early.values())
    return early if seen and late else {}


def _record(leaf: LeafInfo) -> VariableRecord | None:
    """Return what a plan expects a variable to be; None where it takes any shape."""
    shape = leaf.spec.shape
    if shape is None or None in shape:
        return None
    layout = leaf.layout or chunk_grid.whole(shape)
    return VariableRecord(leaf.what, leaf.spec.dtype.name, shape, layout)


def _held(where: Any) -> Held | BlockRef:
    """Return where a new block is, as plain data."""
    if isinstance(where, RemoteBlock):
        reference = where.reference
        return Held(reference.future.key, reference.position, reference.extra_bytes)
    return Held(*where) if isinstance(where, Target) else where
