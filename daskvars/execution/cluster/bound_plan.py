"""One plan on a cluster: what is sent once, and its sendings.

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
from daskvars.execution.cluster.result_futures import Deferred, Outcome
from daskvars.execution.cluster.run_feeds import RunFeeds, cut, leaf_block_ids
from daskvars.execution.cluster.run_graphs import Template
from daskvars.execution.engine.blocks import owned, whole
from daskvars.execution.engine.lazy_feeds import LazyFeed
from daskvars.execution.engine.steps import full_layout, record_of
from daskvars.lowering.plan import BlockId, LeafInfo, Plan
from daskvars.lowering.program import CONSTANT, FEED, KEY, STATE
from daskvars.remote.dask_internals import RunGraph, Task, TaskRef
from daskvars.remote.tasks.region_tasks import given, shape_of
from daskvars.remote.versions.shared_graphs import references, shared_run_graph
from daskvars.remote.versions.shared_versions import BlockRef, Claim, Held, StaleViewError
from daskvars.state.format.manifest import VariableRecord

Keys = Callable[[Any], tuple[int, int]]


class Target(NamedTuple):
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
        self.new_bytes = new_value_bytes(plan, self.template.bundlings)
        self.programs: dict[str, Future] = {}
        self.constants: dict[str, Future] = {}
        self.constant_keys: dict[BlockId, str] = {}
        self._checked = -1

    def __call__(self, feeds: Sequence[Any], key_of: Keys) -> list[Any]:
        is_awaited = bool(self.plan.outputs or not self.plan.updates)
        run = self._sent(feeds, key_of, is_awaited)
        return self.executor.results(run) if is_awaited else []

    def later(self, feeds: Sequence[Any], key_of: Keys) -> list[Any]:
        """Run without waiting for outputs that go with updates: they are `Deferred`.

        With other clients they are waited for: only then the run is known to be committed.
        """
        shapes = [value.spec.shape for value in self.plan.outputs]
        unknown = any(shape is None or None in shape for shape in shapes)
        if unknown or not self.plan.updates or not self.executor.is_private:
            return self(feeds, key_of)
        outcome = Outcome(self.executor, self._sent(feeds, key_of, False))
        self.executor.outcomes.add(outcome)
        return [Deferred(outcome, number, shape) for number, shape in enumerate(shapes)]

    def _sent(self, feeds: Sequence[Any], key_of: Keys, is_awaited: bool) -> Any:
        executor, plan, values = self.executor, self.plan, self.values
        drawn = {
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
        return executor.submit(self, feeds, drawn, is_awaited)

    def check(self) -> None:
        """Raise where no worker may run a task, or have a variable, before anything is sent."""
        placing = self.executor.placing
        if self._checked != placing.version:
            placing.check(self.plan)
            placing.check_homes(self.state_keys)
            self._checked = placing.version

    def explain(self) -> str:
        """Return the plan as text: what runs where, and why."""
        return self.plan.explain(self.executor.placing.where)

    def ensure_sent(self) -> None:
        """Send programs and large constants, once, or again where they were lost."""
        held = [*self.programs.values(), *self.constants.values()]
        if held and all(future.status not in BAD for future in held):
            return
        packed = {region.key: region for region in self.template.packed}
        self.programs = self.executor.place_data(packed)
        constants, wishes = {}, {}
        homes = self._constant_homes()
        for block_id in leaf_block_ids(self.template):
            leaf = self.plan.leaves[block_id.origin.position]
            if leaf.kind == CONSTANT:
                key = f"constant-{self.token}-{self.executor.next_number()}"
                self.constant_keys[block_id] = key
                constants[key] = cut(leaf.what, leaf.layout, block_id.block)
                wishes[key] = homes.get(block_id, {})
        self.constants = self.executor.place_data(constants, wishes) if constants else {}

    def _constant_homes(self) -> dict[BlockId, dict[str, Any]]:
        """Return the wishes for blocks of constants that become a variable's."""
        return {
            value.block_id(index): self.executor.placing.wish_of(key, number, len(value.indices()))
            for key, value in self.plan.updates.items()
            if value.origin.region < 0
            for number, index in enumerate(value.indices())
        }

    def release(self) -> None:
        """Let the workers forget what was sent; a later run sends it again."""
        self.programs, self.constants = {}, {}


class Dispatch:
    """One sending of a run: its graph, the keys wanted of it, and what becomes of them.

    Where updates depend on what is computed from versions seen (``consistency="async"``), or on
    shapes that only the run knows, it is sent in two parts, and the second when the first is done.

    Attributes:
      epoch: that in which it is sent.
      number: under which it is sent; the scheduler tells by it what became of it.
      early: what must be computed before the rest is sent.
      futures: everything that it must compute.
    """

    def __init__(
        self, bound: BoundPlan, feeds: Sequence[Any], drawn: dict[int, Any], epoch: int
    ) -> None:
        self.bound, self.plan, self.feeds, self.drawn = bound, bound.plan, feeds, drawn
        self.executor, self.epoch = bound.executor, epoch
        bound.check()
        bound.ensure_sent()
        self.number = self._early_number = self.executor.next_number()
        self.stamp = f"{self.executor.token}-{self.number}"
        self.run_feeds: Any = RunFeeds(
            self.executor.client, bound.template, self.stamp, feeds, self.executor.placing.addresses
        )
        self.early: list[Future] = []
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

    def send_early(self) -> None:
        """Make the graph, and send what the rest must wait for, if there is something."""
        self.tasks, self.annotations, self.updates = self._made()
        self.records = self.bound.records
        if self.bound.unshaped:
            self._send_for_shapes()
            return
        early = early_tasks(self.tasks) if self.plan.updates else {}
        if early:
            self._stay_at_home(early)
            self.tasks = {key: task for key, task in self.tasks.items() if key not in early}
            needed = {key for task in self.tasks.values() for key in task.dependencies}
            keys = [key for key in early if key in needed or key in self.wanted]
            self.early = self._get_early(early, keys)

    def _get_early(self, tasks: Mapping[Any, Any], keys: list[Any]) -> list[Future]:
        claim = self._claim(keys, {}, is_early=True)
        graph = self._graph(tasks, f"{self.stamp}-early", claim)
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
        self.early = self._get_early(self.tasks, keys)
        self.tasks = {}
        futures = dict(zip(keys, self.early, strict=True))
        wait(self.executor.client, self.early)
        if any(future.status in BAD for future in self.early):
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
            writes[key] = None if known else record, {i: _held(b) for i, b in blocks.items()}
        keys = list(self.wanted)
        if not self.tasks or not keys:  # nothing is computed, but variables may get values
            key = f"commit-{self.stamp}"
            self.tasks[key] = Task(key, tuple)
            keys.append(key)
        claim = self._claim(keys, writes)
        found = executor.client.get(self._graph(self.tasks, self.stamp, claim), keys, sync=False)
        self._by_key = dict(zip(keys, found, strict=True))
        self.futures = list(found)
        if writes:
            new = {k: dict.fromkeys(blocks, RemoteBlock()) for k, blocks in self.updates.items()}
            values.commit(new, values.version, self.records)
        for block_id, where in self.fetched.items():
            if isinstance(where, Target):
                future = self._by_key[where.key]
                self.fetched[block_id] = Reference(future, where.position, where.extra_bytes)
        # Whoever looks at the results later must not keep variables of old alive.
        self._by_key, self.run_feeds, self.early = {}, None, []
        self.tasks, self.annotations, self.updates = {}, {}, {}

    def _claim(self, keys: Any, writes: Any, is_early: bool = False) -> Claim:
        executor, bound = self.executor, self.bound
        exact = self._early_number if bound.unshaped and not is_early else None
        return Claim(
            executor.name,
            executor.token,
            self.epoch,
            self.number,
            tuple(keys),
            writes,
            bound.layouts,
            is_early,
            exact,
        )

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

    # -- the graph ------------------------------------------------------------------------------

    def _made(self) -> tuple[dict[Any, Any], dict[str, dict[Any, Any]], dict[str, Any]]:
        """Return tasks, annotations, and where the variables' new blocks will be."""
        template, plan = self.bound.template, self.plan
        tasks, annotations = template.graph(
            self.stamp,
            [packed.key for packed in template.packed],
            self._leaf,
            self.executor.placing.wish,
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
        for place in template.sinks:
            self.wanted[place.key(self.stamp)] = None
        tasks.update(self.run_feeds.tasks)
        tasks.update(self.picks)
        return tasks, annotations, updates

    def _leaf(self, block_id: BlockId) -> tuple[Any, int | None]:
        """Return what a task takes for a block from outside, and which output of a bundle it is."""
        leaf = self.plan.leaves[block_id.origin.position]
        if leaf.kind == STATE:
            return self._block(block_id), None
        if leaf.kind == FEED:
            return self.run_feeds.argument(block_id), None
        if leaf.kind == KEY:
            return self.drawn[block_id.origin.position], None
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
            place = template.place(block_id)
            key = place.key(self.stamp)
            self.wanted[key] = None
            return Target(key, place.position, template.bundlings[number].extra_bytes(position))
        leaf = self.plan.leaves[position]
        if leaf.kind == STATE:
            return self._read(block_id) if fetched else self._block(block_id)
        if leaf.kind == FEED:
            lazy = isinstance(self.feeds[leaf.what], LazyFeed)
            if fetched and not lazy:
                return owned(cut(self.feeds[leaf.what], leaf.layout, block_id.block))
            fed: Any = self.run_feeds.reference(block_id).key
            self.wanted[fed] = None
            return Target(fed, None, 0)
        if fetched:
            return owned(cut(leaf.what, leaf.layout, block_id.block))
        return RemoteBlock(
            Reference(self.bound.constants[self.bound.constant_keys[block_id]], None)
        )

    def _read(self, block_id: BlockId) -> Target:
        """Return where to fetch a variable's block: a result of its own, without its bundle."""
        key = f"read-{self.stamp}-{len(self.picks)}"
        self.picks[key] = Task(key, given, self._block(block_id))
        self.wanted[key] = None
        return Target(key, None, 0)

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


def early_tasks(tasks: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return the tasks that depend on nothing newest, if some take blocks of versions seen."""
    late: set[Any] = set()
    early: dict[Any, Any] = {}

    def needs_newest(key: Any) -> bool:
        if key in early or key not in tasks:
            return False
        if key not in late:
            task = tasks[key]
            newest = any(not ref.seen for ref in references(task))
            if newest or any(map(needs_newest, task.dependencies)):
                late.add(key)
            else:
                early[key] = task
        return key in late

    for key in tasks:
        needs_newest(key)
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


def _located_argument(where: Any) -> tuple[Any, int | None]:
    """Return what a task takes for a new block: its key or variable, and the output meant."""
    held = _held(where)
    return (held, None) if isinstance(held, BlockRef) else (TaskRef(held.key), held.position)
