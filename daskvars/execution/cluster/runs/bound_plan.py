"""One plan on a cluster: what is sent once, and what is sent for each run.

A run is one small graph, sent without waiting for it. Its tasks name variables, not keys: the
scheduler puts in the keys of the newest version when the graph arrives
(`remote.versions.version_keeper`).
"""

from __future__ import annotations

import math
import weakref
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from operator import getitem
from typing import Any, NamedTuple, Protocol

import dask.array
import numpy
from distributed import Future

from daskvars import chunk_grid, config
from daskvars.execution.cluster.results.futures import ResultFuture, RunResults
from daskvars.execution.cluster.results.remote_blocks import (
    BAD,
    Reference,
    RemoteBlock,
    own,
    wait,
    wait_for_chunks,
)
from daskvars.execution.cluster.runs.sent_feeds import RunFeeds, leaf_block_ids
from daskvars.execution.cluster.runs.task_graphs import Template, in_place
from daskvars.execution.cluster.state_client import StateClient
from daskvars.execution.engine.executors import Form
from daskvars.execution.engine.plans.steps import doing, new_records, record_of
from daskvars.execution.engine.values.blocks import cut, owned, whole
from daskvars.execution.engine.values.dask_arrays import chunks_of
from daskvars.execution.engine.values.lazy_feeds import LazyFeed
from daskvars.lowering.explain import explain
from daskvars.lowering.plan import BlockId, LeafInfo, Plan
from daskvars.lowering.program import CONSTANT, FEED, KEY, STATE
from daskvars.remote.dask_internals import RunGraph, Task, TaskRef
from daskvars.remote.task_keys import outputs_key, read_key
from daskvars.remote.tasks.stage_tasks import as_outputs, fetched, identity, shape_of
from daskvars.remote.told_results import MAX_TOLD_BYTES, as_fetched
from daskvars.remote.versions.commit_order import BlockLocation, BlockRef, RunHeader, StaleViewError
from daskvars.remote.versions.shared_graphs import references, shared_run_graph
from daskvars.shape_arithmetic import is_known
from daskvars.state.format.manifest import VariableRecord
from daskvars.surface.loading import paused_collector
from daskvars.surface.progress_bars import is_shown

Keys = Callable[[Any], tuple[int, int]]


class RunSender(StateClient, Protocol):
    """What plans are bound to, and sends their runs: `executor.ClusterExecutor`.

    Attributes:
      pending_results: results that nobody has looked at.
    """

    pending_results: weakref.WeakSet[RunResults]

    @property
    def num_workers(self) -> int:
        """How many blocks can run at once."""

    @property
    def seals_every_run(self) -> bool:
        """Whether a run is on disk when it returns."""

    @property
    def preferred_worker(self) -> str:
        """The worker on which this client's own share of asynchronous training is done."""

    def submit(
        self, bound: BoundPlan, feeds: Sequence[Any], random_keys: dict[int, Any], is_awaited: bool
    ) -> Any:
        """Send a run."""

    def results(self, run: Any) -> list[Any]:
        """Wait until a run is finished, and return its outputs."""

    def dask_results(self, run: Any, names: Sequence[str]) -> list[dask.array.Array]:
        """Wait until a run is finished, and return its outputs as dask arrays."""

    def fetch(self, wanted: RunResults | None = None) -> None:
        """Bring results that were not waited for."""


class ResultLocation(NamedTuple):
    """A result of the run being made: its key, and which of the outputs there, None for all."""

    key: Any
    position: int | None


class BoundPlan:
    """A plan bound to a `ClusterExecutor`.

    A run is sent, and the scheduler commits it when all of it, updates and effects included, has
    succeeded. One without outputs is not waited for. One with outputs is: it raises its own errors.

    Args:
      names: of its outputs, in order, for people.
    """

    def __init__(self, executor: RunSender, plan: Plan, names: Sequence[str] = ()) -> None:
        self.executor, self.plan, self.names = executor, plan, tuple(names)
        self.values = executor.values
        self._num_workers = executor.num_workers  # when it was planned
        self.token = f"{executor.token}.{executor.next_number()}"
        self._templates = 0
        self.state_keys = [leaf.what for leaf in plan.leaves if leaf.kind == STATE]
        self.records = new_records(plan)
        self.layouts: dict[str, VariableRecord] = {
            leaf.what: record
            for leaf in plan.leaves
            if leaf.kind == STATE and (record := _record(leaf)) is not None
        }
        self.unshaped = sorted(plan.updates.keys() - self.records.keys())
        self.new_bytes = new_value_bytes(plan)
        self.programs: dict[str, Future] = {}
        self.constants: dict[str, Future] = {}
        self.constant_keys: dict[BlockId, str] = {}
        self.doing = doing(plan)
        self.lock = nullcontext()  # the scheduler binds runs to versions one after the other
        shapes = [value.spec.shape for value in plan.outputs]
        self.known_shapes = [shape for shape in shapes if is_known(shape)]
        self.gives_futures = (
            executor.is_private  # else only what is committed is known to be
            and bool(plan.updates and plan.outputs)
            and len(self.known_shapes) == len(shapes)
        )
        self.is_told = told_bytes(plan) <= MAX_TOLD_BYTES
        self._checked = -1
        self._template: Template | None = None

    @property
    def tasks_by_scope(self) -> Counter[str]:
        """How many Dask tasks a run has besides those of its feeds and fetches, by scope."""
        return self.template.tasks_by_scope

    @property
    def transfer_bytes(self) -> int:
        """Bytes that move between workers in a run."""
        return self.template.stages.exchanged_bytes

    @property
    def template(self) -> Template:
        """What its runs have in common on the workers that there are now."""
        if self._template is None:
            self._templates += 1
            with paused_collector():
                stages, annotations = self.executor.placement.staged(self.plan)
                token = f"{self.token}.{self._templates}"
                self._template = Template(stages, token, annotations)
        return self._template

    def run(self, feeds: Sequence[Any], key_of: Keys, form: Form) -> Any:
        """Send a run, which the scheduler binds to the newest version when it arrives."""
        executor, plan, values = self.executor, self.plan, self.values
        gives_later = form.as_futures and self.gives_futures
        gives_nothing = plan.updates and not plan.outputs and not executor.seals_every_run
        is_awaited = form.names is not None or not (gives_later or gives_nothing)
        random_keys = {
            number: key_of(leaf.what) for number, leaf in enumerate(plan.leaves) if leaf.kind == KEY
        }
        if plan.updates:  # the program may write into its arrays before the run happens
            feeds = [owned(value) for value in feeds]
        feeds = plan.with_pieces(feeds)
        if plan.presence or values.uninitialized(self.state_keys):
            if not executor.is_private:
                executor.sync()  # a run of this client that has not arrived may initialize some
                executor.refresh()
            if any((key in values) != found for key, found in plan.presence.items()):
                raise StaleViewError.saying("variables were initialized by another client")
            values.read(self.state_keys)  # or an error that names those without a value
        run = executor.submit(self, feeds, random_keys, is_awaited)
        if self.doing and is_shown():  # who looks at a bar waits for its end
            wait_for_chunks(executor.client, run.dispatch.num_chunks, self.doing)
        return run

    def commit(self, ran: Any, form: Form) -> list[Any]:
        """Return the results of a run once the scheduler has committed it, if they are waited for.

        With other clients results are waited for: only then the run is known to be committed.
        """
        executor = self.executor
        if form.names is not None:
            return executor.dask_results(ran, form.names)
        if ran.is_awaited:
            return executor.results(ran)
        if not self.plan.outputs:
            return []
        results = RunResults(executor, ran)
        executor.pending_results.add(results)
        return [ResultFuture(results, n, shape) for n, shape in enumerate(self.known_shapes)]

    def check(self) -> None:
        """Raise where no worker may run a task, or have a variable, before anything is sent."""
        placement = self.executor.placement
        if self._checked != placement.version:
            self._template = None
            self.programs, self.constants = {}, {}
            placement.check(self.plan)
            placement.check_variables(self.state_keys)
            self._checked = placement.version

    def explain(self) -> str:
        """Return the plan as text: what runs where, and why."""
        placement, now = self.executor.placement, self.executor.num_workers
        summary = placement.staged(self.plan)[0].summary()
        if now != self._num_workers and config.get().batch_parts is None:
            summary.append(
                f"planned for {self._num_workers} threads of workers, of which there are {now} "
                "now: how work is cut stays, and bits with it, unless config.batch_parts is set"
            )
        return "\n".join([*summary, explain(self.plan, placement.where)])

    def ensure_sent(self) -> None:
        """Send programs and large constants, once, or again where they were lost."""
        sent = [*self.programs.values(), *self.constants.values()]
        if sent and all(future.status not in BAD for future in sent):
            return
        packed, where = {}, {}
        for stage, found in zip(
            self.template.packed_stages, self.template.annotations, strict=True
        ):
            packed[stage.key] = stage
            if "workers" in found:  # elsewhere, Dask would copy it there in every run
                where[stage.key] = {"workers": found["workers"], "allow_other_workers": True}
        programs = self.executor.transfers.put(packed, where)
        constants, annotations_of = {}, {}
        by_block = self._constant_annotations()
        for block_id in leaf_block_ids(self.template):
            leaf = self.plan.leaves[block_id.origin.position]
            if leaf.kind == CONSTANT:
                key = f"constant-{self.token}-{self.executor.next_number()}"
                self.constant_keys[block_id] = key
                constants[key] = cut(leaf.what, leaf.layout, block_id.block)
                annotations_of[key] = by_block.get(block_id, {})
        blocks = self.executor.transfers.put(constants, annotations_of)
        self.programs, self.constants = programs, blocks  # where Ctrl-C came, all is sent again

    def _constant_annotations(self) -> dict[BlockId, dict[str, Any]]:
        """Return the annotations of blocks of constants that become a variable's."""
        return {
            block_id: self.executor.placement.variable_annotations(key, number, len(block_ids))
            for key, value in self.plan.updates.items()
            if value.origin.region < 0
            for block_ids in (value.block_ids(),)
            for number, block_id in enumerate(block_ids)
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
      drops: variables that are gone when it is finished.
      futures: everything that it must compute.
      version: of the variables as it leaves them, as this client counts.
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
        addresses = self.executor.placement.addresses
        self.run_feeds: Any = RunFeeds(
            self.executor.client, bound.template, self.stamp, feeds, addresses
        )
        self.first_phase: list[Future] = []
        self.drops: frozenset[str] = frozenset()
        self.futures: list[Future] = []
        self.picks: dict[str, Task] = {}
        self.wanted: dict[Any, None] = {}
        self.num_chunks: dict[Future, int] = {}
        self.told: Mapping[Any, bytes] = {}
        self._by_key: dict[Any, Future] = {}

    @property
    def failed(self) -> Future | None:
        """The first of its futures that cannot be had, if any."""
        return next((future for future in self.futures if future.status in BAD), None)

    def release(self) -> None:
        """Want nothing but the outputs any more: a version would live as long as its results."""
        self.futures, self.num_chunks = [], {}

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
            self.tasks[shapes[key]] = Task(shapes[key], shape_of, _located_argument(located))
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
        if self.bound.doing:
            every = (block for _, blocks in writes.values() for block in blocks.values())
            made = Counter(block.key for block in every if isinstance(block, BlockLocation))
            self.num_chunks = {f: made[key] for key, f in self._by_key.items() if made[key]}
        if writes:
            new = {k: dict.fromkeys(blocks, RemoteBlock()) for k, blocks in self.updates.items()}
            values.commit(new, values.version, self.records)
            for key in self.drops:  # a run before it that is sent again as well has brought it back
                values.discard(key)
            if self.bound.unshaped:  # plans that read them are for the shapes that they had
                values.note_external_update()
        self.version = values.version
        for block_id, where in self.fetched.items():
            if isinstance(where, ResultLocation):
                future = self._by_key[where.key]
                self.fetched[block_id] = Reference(future, where.position)
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
            self.drops,
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
        tasks, annotations = template.graph(self.stamp, self._leaf, self._block)
        updates = {
            key: {index: self._located(value.block_id(index)) for index in value.indices()}
            for key, value in plan.updates.items()
        }
        self.fetched = {
            block_id: self._fetched(block_id)
            for value in plan.outputs
            for block_id in value.block_ids()
        }
        # What is taken through a table must be there until all have it.
        through = [n for level, found in template.gathers.items() if level for n in found]
        self.wanted.update((template.key(n, self.stamp), None) for n in [*template.sinks, *through])
        tasks.update(self.run_feeds.tasks)
        tasks.update(self.picks)
        return tasks, annotations, updates

    def _leaf(self, block_id: BlockId) -> Any:
        """Return what a task takes for a block from outside."""
        leaf = self.plan.leaves[block_id.origin.position]
        if leaf.kind == FEED:
            return self.run_feeds.argument(block_id)
        if leaf.kind == KEY:
            return self.random_keys[block_id.origin.position]
        return TaskRef(self.bound.constant_keys[block_id])

    def _block(self, block_id: BlockId) -> BlockRef:
        leaf = self.plan.leaves[block_id.origin.position]
        rank = len(self.bound.values.record(leaf.what).shape)
        block = (0,) * rank if leaf.layout is None else block_id.block
        return BlockRef(leaf.what, block, leaf.is_stale)

    def _located(self, block_id: BlockId) -> Any:
        """Return where a variable's new block is: a ResultLocation, or a block that is there."""
        number, position = block_id.origin
        if number >= 0:
            output = self.bound.template.state_output(block_id)
            key = self.bound.template.key(output.stage, self.stamp)
            self.wanted[key] = None
            return ResultLocation(key, output.position)
        leaf = self.plan.leaves[position]
        if leaf.kind == STATE:
            return self._block(block_id)
        key = outputs_key("value", self.stamp, len(self.picks))
        self.picks[key] = Task(key, as_outputs, self._leaf(block_id))
        self.wanted[key] = None
        return ResultLocation(key, 0)

    def _fetched(self, block_id: BlockId) -> Any:
        """Return where a result is: a ResultLocation, or the value itself."""
        number, position = block_id.origin
        if number >= 0:
            return self._fetched_output(block_id)
        leaf = self.plan.leaves[position]
        if leaf.kind == STATE:
            return self._picked(identity, self._block(block_id))
        if leaf.kind == FEED and isinstance(self.feeds[leaf.what], LazyFeed):
            key: Any = self.run_feeds.reference(block_id).key
            self.wanted[key] = None
            return ResultLocation(key, None)
        value = self.feeds[leaf.what] if leaf.kind == FEED else leaf.what
        return owned(cut(value, leaf.layout, block_id.block))

    def _fetched_output(self, block_id: BlockId) -> ResultLocation:
        template = self.bound.template
        output = template.output(block_id)
        key = template.key(output.stage, self.stamp)
        if template.is_plain(output.stage) or template.is_shown(block_id):
            self.wanted[key] = None
            return ResultLocation(key, output.position)
        return self._picked(fetched, (output.position,), TaskRef(key))._replace(position=0)

    def _picked(self, function: Callable[..., Any], *arguments: Any) -> ResultLocation:
        """Return where to fetch what stays on a worker: a result of its own, which travels."""
        key = read_key(self.stamp, len(self.picks))
        self.picks[key] = Task(key, function, *arguments)
        self.wanted[key] = None
        return ResultLocation(key, None)

    # -- fetching -------------------------------------------------------------------------------

    def fetched_futures(self) -> list[Future]:
        """Return the keys that the outputs are under which were not told."""
        found = [where.future for where in self.fetched.values() if isinstance(where, Reference)]
        return list({f.key: f for f in found if f.key not in self.told}.values())

    def located_outputs(self) -> list[tuple[numpy.dtype[Any], chunk_grid.Chunks, dict[Any, Any]]]:
        """Return dtype, chunks and blocks of the outputs: where each is, or the block itself."""
        return [
            (
                value.spec.dtype.np,
                chunks_of(value),
                {index: self.fetched[value.block_id(index)] for index in value.indices()},
            )
            for value in self.plan.outputs
        ]

    def assembled(self, data: dict[Any, Any]) -> list[Any]:
        """Return the outputs, from what is under the keys of `fetched_futures`."""
        data = {**{key: as_fetched(told) for key, told in self.told.items()}, **data}

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
    if not is_known(shape):
        return None
    layout = leaf.layout or chunk_grid.whole(shape)
    return VariableRecord(leaf.what, leaf.spec.dtype.name, shape, layout)


def _block_location(where: Any) -> BlockLocation | BlockRef:
    """Return where a new block is, as plain data."""
    if isinstance(where, RemoteBlock):
        return where.location
    if isinstance(where, ResultLocation):
        assert where.position is not None
        return BlockLocation(where.key, where.position)
    return where


def _located_argument(where: Any) -> Any:
    """Return what a task takes for a new block."""
    location = _block_location(where)
    if isinstance(location, BlockRef):
        return location
    return Task(None, getitem, TaskRef(location.key), location.position)


def told_bytes(plan: Plan) -> float:
    """Return the bytes of a plan's outputs, of which it is known what they may be."""
    shapes = [value.spec.shape for value in plan.outputs]
    if not all(map(is_known, shapes)):
        return math.inf
    return sum(value.nbytes() for value in plan.outputs)


def new_value_bytes(plan: Plan) -> int:
    """Return the bytes of new values of variables, but for those of which only rows change."""
    return sum(
        value.nbytes()
        for value in plan.updates.values()
        if value.origin.region < 0
        or value.origin.position not in in_place(plan, value.origin.region)
    )
