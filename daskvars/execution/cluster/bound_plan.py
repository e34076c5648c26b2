"""One plan on a cluster: what is sent once, and what is sent for each run.

A run is one small graph, sent without waiting for it. Its tasks name variables, not keys: the
scheduler puts in the keys of the newest version when the graph arrives
(`remote.versions.version_keeper`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from distributed import Future

from daskvars import chunk_grid
from daskvars.execution.cluster.output_groups import new_value_bytes
from daskvars.execution.cluster.remote_blocks import BAD, Reference, RemoteBlock, own, wait
from daskvars.execution.cluster.result_futures import ResultFuture, RunResults
from daskvars.execution.cluster.run_feeds import RunFeeds, cut, leaf_block_ids
from daskvars.execution.cluster.run_graphs import Template
from daskvars.execution.engine.blocks import owned, whole
from daskvars.execution.engine.lazy_feeds import LazyFeed
from daskvars.execution.engine.steps import full_layout, record_of
from daskvars.lowering.plan import BlockId, LeafInfo, Plan
from daskvars.lowering.program import CONSTANT, FEED, KEY, STATE
from daskvars.remote.dask_internals import RunGraph, Task, TaskRef
from daskvars.remote.tasks.region_tasks import identity, shape_of
from daskvars.remote.versions.shared_graphs import references, shared_run_graph
from daskvars.remote.versions.shared_versions import (
    BlockLocation,
    BlockRef,
    RunHeader,
    StaleViewError,
)
from daskvars.state.format.manifest import VariableRecord

Keys = Callable[[Any], tuple[int, int]]


class ResultLocation(NamedTuple):
    """A result of the run being made: its key, and as in `Reference`."""

    key: Any
    position: int | None
    extra_bytes: int


class BoundPlan:
    """A plan bound to a `ClusterExecutor`: ``bound(feeds, key_of) -> results``.

    A run without outputs is sent and not waited for. One with outputs returns when all of it,
    updates and effects included, has succeeded: it raises its own errors.
    """

    def __init__(self, executor: Any, plan: Plan) -> None:
        self.executor, self.plan = executor, plan
        self.values = executor.values
        self.token = f"{executor.token}.{executor.next_number()}"
        self.template = Template(plan, self.token)
        self.state_keys = [leaf.what for leaf in plan.leaves if leaf.kind == STATE]
        self.records = {
            key: VariableRecord(key, value.spec.dtype.name, value.spec.shape, layout)
            for key, value in plan.updates.items()
            if (layout := full_layout(value)) is not None
        }
        self.layouts: dict[str, VariableRecord] = {
            leaf.what: record
            for leaf in plan.leaves
            if leaf.kind == STATE and (record := _record(leaf)) is not None
        }
        self.unshaped = sorted(plan.updates.keys() - self.records.keys())
        self.new_bytes = new_value_bytes(plan, self.template.output_groups)
        self.programs: dict[str, Future] = {}
        self.constants: dict[str, Future] = {}
        self.constant_keys: dict[BlockId, str] = {}
        self._checked = -1

    def __call__(self, feeds: Sequence[Any], key_of: Keys) -> list[Any]:
        is_awaited = bool(self.plan.outputs or not self.plan.updates)
        run = self._sent(feeds, key_of, is_awaited)
        return self.executor.results(run) if is_awaited else []

    def submit(self, feeds: Sequence[Any], key_of: Keys) -> list[Any]:
        """Run without waiting for outputs that go with updates: they are `ResultFuture`.

        With other clients they are waited for: only then the run is known to be committed.
        """
        shapes = [value.spec.shape for value in self.plan.outputs]
        unknown = any(shape is None or None in shape for shape in shapes)
        if unknown or not self.plan.updates or not self.executor.is_private:
            return self(feeds, key_of)
        results = RunResults(self.executor, self._sent(feeds, key_of, False))
        self.executor.pending_results.add(results)
        return [ResultFuture(results, number, shape) for number, shape in enumerate(shapes)]

    def _sent(self, feeds: Sequence[Any], key_of: Keys, is_awaited: bool) -> Any:
        executor, plan, values = self.executor, self.plan, self.values
        random_keys = {
            number: key_of(leaf.what) for number, leaf in enumerate(plan.leaves) if leaf.kind == KEY
        }
        if plan.updates:  # the program may write into its arrays before the run happens
            feeds = [owned(value) for value in feeds]
        if plan.presence or values.uninitialized(self.state_keys):
            if not executor.is_private:
                executor.sync()  # a run of this client that has not arrived may initialize some
                executor.refresh()
            if any((key in values) != found for key, found in plan.presence.items()):
                raise StaleViewError(None, None, "variables were initialized by another client")
            values.read(self.state_keys)  # or an error that names those without a value
        return executor.submit(self, feeds, random_keys, is_awaited)

    def check(self) -> None:
        """Raise where no worker may run a task, or have a variable, before anything is sent."""
        placement = self.executor.placement
        if self._checked != placement.version:
            placement.check(self.plan)
            placement.check_variables(self.state_keys)
            self._checked = placement.version

    def explain(self) -> str:
        """Return the plan as text: what runs where, and why."""
        return self.plan.explain(self.executor.placement.where)

    def ensure_sent(self) -> None:
        """Send programs and large constants, once, or again where they were lost."""
        sent = [*self.programs.values(), *self.constants.values()]
        if sent and all(future.status not in BAD for future in sent):
            return
        packed = {region.key: region for region in self.template.packed}
        self.programs = self.executor.put_data(packed)
        constants, annotations_of = {}, {}
        by_block = self._constant_annotations()
        for block_id in leaf_block_ids(self.template):
            leaf = self.plan.leaves[block_id.origin.position]
            if leaf.kind == CONSTANT:
                key = f"constant-{self.token}-{self.executor.next_number()}"
                self.constant_keys[block_id] = key
                constants[key] = cut(leaf.what, leaf.layout, block_id.block)
                annotations_of[key] = by_block.get(block_id, {})
        self.constants = self.executor.put_data(constants, annotations_of) if constants else {}

    def _constant_annotations(self) -> dict[BlockId, dict[str, Any]]:
        """Return the annotations of blocks of constants that become a variable's."""
        return {
            value.block_id(index): self.executor.placement.variable_annotations(
                key, number, len(value.indices())
            )
            for key, value in self.plan.updates.items()
            if value.origin.region < 0
            for number, index in enumerate(value.indices())
        }

    def release(self) -> None:
        """Let the workers forget what was sent; a later run sends it again."""
        self.programs, self.constants = {}, {}


class Dispatch:
    """A run as it is sent: its graph, the keys wanted of it, and what becomes of them.

    Where updates depend on what is computed from stale versions (``consistency="async"``), or on
    shapes that only the run knows, it is sent in two parts, and the second when the first is done.

    Attributes:
      epoch: that in which it is sent.
      number: under which it is sent; the scheduler tells by it what became of it.
      first_phase: what must be computed before the rest is sent.
      futures: everything that it must compute.
    """

    def __init__(
        self, bound: BoundPlan, feeds: Sequence[Any], random_keys: dict[int, Any], epoch: int
    ) -> None:
        self.bound, self.plan, self.feeds, self.random_keys = bound, bound.plan, feeds, random_keys
        self.executor, self.epoch = bound.executor, epoch
        bound.check()
        bound.ensure_sent()
        self.number = self._first_phase_number = self.executor.next_number()
        self.stamp = f"{self.executor.token}-{self.number}"
        self.run_feeds: Any = RunFeeds(
            self.executor.client,
            bound.template,
            self.stamp,
            feeds,
            self.executor.placement.addresses,
        )
        self.first_phase: list[Future] = []
        self.futures: list[Future] = []
        self.picks: dict[str, Task] = {}
        self.wanted: dict[Any, None] = {}
        self._by_key: dict[Any, Future] = {}

    @property
    def failed(self) -> Future | None:
        """The first of its futures that cannot be had, if any."""
        return next((future for future in self.futures if future.status in BAD), None)

    def release(self) -> None:
        """Want nothing but the outputs any more: a version would live as long as its results."""
        self.futures = []

    # -- sending --------------------------------------------------------------------------------

    def send_first_phase(self) -> None:
        """Make the graph, and send what the rest must wait for, if there is something."""
        self.tasks, self.annotations, self.updates = self._made()
        self.records = self.bound.records
        if self.bound.unshaped:
            self._send_for_shapes()
            return
        first_phase = first_phase_tasks(self.tasks) if self.plan.updates else {}
        if first_phase:
            self._spread_first_phase(first_phase)
            self.tasks = {key: task for key, task in self.tasks.items() if key not in first_phase}
            needed = {key for task in self.tasks.values() for key in task.dependencies}
            keys = [key for key in first_phase if key in needed or key in self.wanted]
            self.first_phase = self._submit_first_phase(first_phase, keys)

    def _submit_first_phase(self, tasks: Mapping[Any, Any], keys: list[Any]) -> list[Future]:
        header = self._header(keys, {}, is_first_phase=True)
        graph = self._graph(tasks, f"{self.stamp}-early", header)
        return self.executor.client.get(graph, keys, sync=False)

    def _send_for_shapes(self) -> None:
        """Compute all but the commit, since its records need shapes that only the run knows."""
        shapes: dict[str, str] = {}
        for key in self.bound.unshaped:
            (located,) = self.updates[key].values()
            shapes[key] = f"shape-{self.stamp}-{len(shapes)}"
            self.tasks[shapes[key]] = Task(shapes[key], shape_of, *_located_argument(located))
            self.wanted[shapes[key]] = None
        keys = list(self.wanted)
        self.first_phase = self._submit_first_phase(self.tasks, keys)
        self.tasks = {}
        futures = dict(zip(keys, self.first_phase, strict=True))
        wait(self.executor.client, self.first_phase)
        if any(future.status in BAD for future in self.first_phase):
            return  # whoever sends this finds it out
        found = self.executor.client.gather([futures[name] for name in shapes.values()])
        self.records = dict(self.bound.records)
        for key, shape in zip(shapes, found, strict=True):
            self.records[key] = record_of(key, shape, self.plan.updates[key].spec)
            (located,) = self.updates[key].values()
            self.updates[key] = {(0,) * len(shape): located}

    def send(self) -> None:
        """Send the rest; called in the order in which runs are to be."""
        values, executor = self.bound.values, self.executor
        writes = {}
        for key, blocks in self.updates.items():
            record = self.records[key]
            known = key in values and values.record(key) == record
            writes[key] = (
                None if known else record,
                {i: _block_location(b) for i, b in blocks.items()},
            )
        keys = list(self.wanted)
        if not self.tasks or not keys:  # nothing is computed, but variables may get values
            key = f"commit-{self.stamp}"
            self.tasks[key] = Task(key, tuple)
            keys.append(key)
        header = self._header(keys, writes)
        found = executor.client.get(self._graph(self.tasks, self.stamp, header), keys, sync=False)
        self._by_key = dict(zip(keys, found, strict=True))
        self.futures = list(found)
        if writes:
            new = {k: dict.fromkeys(blocks, RemoteBlock()) for k, blocks in self.updates.items()}
            values.commit(new, values.version, self.records)
        for block_id, where in self.fetched.items():
            if isinstance(where, ResultLocation):
                future = self._by_key[where.key]
                self.fetched[block_id] = Reference(future, where.position, where.extra_bytes)
        # Whoever looks at the results later must not keep variables of old alive.
        self._by_key, self.run_feeds, self.first_phase = {}, None, []
        self.tasks, self.annotations, self.updates = {}, {}, {}

    def _header(self, keys: Any, writes: Any, is_first_phase: bool = False) -> RunHeader:
        executor, bound = self.executor, self.bound
        exact = self._first_phase_number if bound.unshaped and not is_first_phase else None
        return RunHeader(
            executor.name,
            executor.token,
            self.epoch,
            self.number,
            tuple(keys),
            writes,
            bound.layouts,
            is_first_phase,
            exact,
        )

    def _graph(self, tasks: Any, stamp: str, header: RunHeader) -> RunGraph:
        annotations = {
            name: {key: value for key, value in found.items() if key in tasks}
            for name, found in self.annotations.items()
        }
        return shared_run_graph(tasks, annotations, stamp, self.executor.scheduler, header)

    def _spread_first_phase(self, first_phase: Mapping[Any, Any]) -> None:
        """Spread what clients compute from stale versions: else all ran where variables are."""
        if sum(1 for task in first_phase.values() if references(task)) == 1:
            workers = self.annotations.setdefault("workers", {})
            others = self.annotations.setdefault("allow_other_workers", {})
            for key in first_phase.keys() - workers.keys():
                workers[key], others[key] = [self.executor.preferred_worker], True

    # -- the graph ------------------------------------------------------------------------------

    def _made(self) -> tuple[dict[Any, Any], dict[str, dict[Any, Any]], dict[str, Any]]:
        """Return tasks, annotations, and where the variables' new blocks will be."""
        template, plan = self.bound.template, self.plan
        tasks, annotations = template.graph(
            self.stamp,
            [packed.key for packed in template.packed],
            self._leaf,
            self.executor.placement.annotations_at,
        )
        updates = {
            key: {index: self._located(value.block_id(index)) for index in value.indices()}
            for key, value in plan.updates.items()
        }
        self.fetched = {
            block_id: self._located(block_id, fetched=True)
            for value in plan.outputs
            for block_id in map(value.block_id, value.indices())
        }
        for output_key in template.sinks:
            self.wanted[output_key.key(self.stamp)] = None
        tasks.update(self.run_feeds.tasks)
        tasks.update(self.picks)
        return tasks, annotations, updates

    def _leaf(self, block_id: BlockId) -> tuple[Any, int | None]:
        """Return what a task takes for a block from outside, and which of the outputs there."""
        leaf = self.plan.leaves[block_id.origin.position]
        if leaf.kind == STATE:
            return self._block(block_id), None
        if leaf.kind == FEED:
            return self.run_feeds.argument(block_id), None
        if leaf.kind == KEY:
            return self.random_keys[block_id.origin.position], None
        return TaskRef(self.bound.constant_keys[block_id]), None

    def _block(self, block_id: BlockId) -> BlockRef:
        leaf = self.plan.leaves[block_id.origin.position]
        rank = len(self.bound.values.record(leaf.what).shape)
        block = (0,) * rank if leaf.layout is None else block_id.block
        return BlockRef(leaf.what, block, leaf.is_stale)

    def _located(self, block_id: BlockId, fetched: bool = False) -> Any:
        """Return where a result is: a Target, a block that is there, or (fetched) a value."""
        number, position = block_id.origin
        if number >= 0:
            template = self.bound.template
            output_key = template.output_key(block_id)
            key = output_key.key(self.stamp)
            self.wanted[key] = None
            return ResultLocation(
                key, output_key.position, template.output_groups[number].extra_bytes(position)
            )
        leaf = self.plan.leaves[position]
        if leaf.kind == STATE:
            return self._read(block_id) if fetched else self._block(block_id)
        if leaf.kind == FEED:
            lazy = isinstance(self.feeds[leaf.what], LazyFeed)
            if fetched and not lazy:
                return owned(cut(self.feeds[leaf.what], leaf.layout, block_id.block))
            fed: Any = self.run_feeds.reference(block_id).key
            self.wanted[fed] = None
            return ResultLocation(fed, None, 0)
        if fetched:
            return owned(cut(leaf.what, leaf.layout, block_id.block))
        return RemoteBlock(
            Reference(self.bound.constants[self.bound.constant_keys[block_id]], None)
        )

    def _read(self, block_id: BlockId) -> ResultLocation:
        """Return where to fetch a variable's block: a result of its own, alone under its key."""
        key = f"read-{self.stamp}-{len(self.picks)}"
        self.picks[key] = Task(key, identity, self._block(block_id))
        self.wanted[key] = None
        return ResultLocation(key, None, 0)

    # -- fetching -------------------------------------------------------------------------------

    def fetched_futures(self) -> list[Future]:
        """Return the keys that the outputs are under."""
        found = [where.future for where in self.fetched.values() if isinstance(where, Reference)]
        return list({future.key: future for future in found}.values())

    def assembled(self, data: dict[Any, Any]) -> list[Any]:
        """Return the outputs, from what is under their keys."""

        def fetch(block_id: BlockId) -> Any:
            reference = self.fetched[block_id]
            if not isinstance(reference, Reference):
                return reference
            found = data[reference.future.key]
            return own(found if reference.position is None else found[reference.position])

        return [whole(value, fetch) for value in self.plan.outputs]


def first_phase_tasks(tasks: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return the tasks that do not need the newest version, if some take stale blocks."""
    second_phase: set[Any] = set()
    first_phase: dict[Any, Any] = {}

    def needs_newest(key: Any) -> bool:
        if key in first_phase or key not in tasks:
            return False
        if key not in second_phase:
            task = tasks[key]
            newest = any(not ref.stale for ref in references(task))
            if newest or any(map(needs_newest, task.dependencies)):
                second_phase.add(key)
            else:
                first_phase[key] = task
        return key in second_phase

    for key in tasks:
        needs_newest(key)
    stale = any(references(task) for task in first_phase.values())
    return first_phase if stale and second_phase else {}


def _record(leaf: LeafInfo) -> VariableRecord | None:
    """Return what a plan expects a variable to be; None where it takes any shape."""
    shape = leaf.spec.shape
    if shape is None or None in shape:
        return None
    layout = leaf.layout or chunk_grid.whole(shape)
    return VariableRecord(leaf.what, leaf.spec.dtype.name, shape, layout)


def _block_location(where: Any) -> BlockLocation | BlockRef:
    """Return where a new block is, as plain data."""
    if isinstance(where, RemoteBlock):
        reference = where.reference
        return BlockLocation(reference.future.key, reference.position, reference.extra_bytes)
    return BlockLocation(*where) if isinstance(where, ResultLocation) else where


def _located_argument(where: Any) -> tuple[Any, int | None]:
    """Return what a task takes for a new block: its key or variable, and the output meant."""
    location = _block_location(where)
    return (
        (location, None)
        if isinstance(location, BlockRef)
        else (TaskRef(location.key), location.position)
    )
