"""From a plan to the graph of one run: a template made once, filled with keys run by run.

A run is a task for each stage of `lowering.emission.stages`. What a stage takes from its own worker
it depends on; what it takes from others, too, where these are few: Dask then hands it a reference,
and the worker pulls the slices (`remote.exchange`). Where an exchange has many pairs its stages
depend on one task that gathers the references, so the graph stays linear in the workers.

Keys. The first word is the stage's label, which is what the dashboard groups tasks by; a stamp
follows (executor and run), then the stage's number. No key is ever used twice. The stamp begins
with a digit, since Dask appends words of letters to the first one.
"""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from daskvars.execution.engine.plans.steps import updated_inputs
from daskvars.lowering.emission.stages import ANYWHERE, Stage, StageBlock, StagePlan, Taking
from daskvars.lowering.plan import BlockId, Index, Plan, PlanValue, RegionInput
from daskvars.lowering.planner.fuse import main_scope
from daskvars.lowering.program import STATE
from daskvars.remote.dask_internals import Task, TaskRef
from daskvars.remote.task_keys import outputs_key
from daskvars.remote.task_outputs import MAX_SHOWN_BYTES
from daskvars.remote.tasks.block_arguments import Cut, Take
from daskvars.remote.tasks.joins import Join
from daskvars.remote.tasks.region_tasks import PackedRegion, pack_region
from daskvars.remote.tasks.stage_tasks import (
    BY_ROWS,
    BlockCall,
    PackedStage,
    Source,
    StageProgram,
    gather_references,
    locate_blocks,
    pack_stage,
    run_stage,
)
from daskvars.remote.tasks.table_rows import Rows
from daskvars.remote.versions.commit_order import BlockRef, BlockRefs

GATHER = "gather"  # the label of tasks that gather references


class StageTask(NamedTuple):
    """The task of one stage.

    Attributes:
      label: what the dashboard groups it by.
      arguments: what it takes, as (kind, what): "stage" and its number, "gather" and the level of
        an exchange, "state" and the blocks of variables, "leaf" and a block.
    """

    label: str
    arguments: tuple[tuple[str, Any], ...]


class Output(NamedTuple):
    """Where a run has a block: the stage, and which of its outputs it is."""

    stage: int
    position: int


class Template:
    """What the graphs of all runs of a plan have in common.

    Attributes:
      stages, annotations: its stages, and the Dask annotations of each.
      packed_stages: for each stage what it does, to be sent once to where it runs.
      tasks: for each stage its task.
      gathers: level of an exchange with a barrier -> what its task gathers: stages, or at level 0
        blocks of variables.
      uses: how many stages take each block of a leaf.
      takers: the first of them.
      outputs, state_outputs: region, number of the block, output -> where it is; and where it is
        as a variable's new value.
      sinks: the stages of which nothing is taken.
    """

    def __init__(
        self, stages: StagePlan, token: str, annotations: Sequence[dict[str, Any]]
    ) -> None:
        self.plan: Plan = stages.plan
        self.stages, self.annotations = stages, annotations
        self.token = token
        self.sizes = output_bytes(self.plan)
        packed = [self._packed(number) for number in range(len(self.plan.regions))]
        self.outputs: dict[tuple[int, int, int], Output] = {}
        self.state_outputs: dict[tuple[int, int, int], Output] = {}
        for number, found in enumerate(stages.exported):
            for position, where in enumerate(found):
                self.outputs.setdefault(where, Output(number, position))
                self.state_outputs[where] = Output(number, position)  # the last one gives it on
        self.gathers: dict[int, dict[Any, int]] = {
            level: {} for level, found in stages.exchanges.items() if found.has_barrier
        }
        self.uses: Counter[BlockId] = Counter()
        self.takers: dict[BlockId, int] = {}
        self.fetched = self._fetched()
        self._is_taken = self._taken_elsewhere()
        self.times_taken: Counter[Output] = Counter()
        self.kept = self._kept()
        self.tasks: list[StageTask] = []
        builders = [_StageBuilder(self, *found) for found in enumerate(stages.stages)]
        self.packed_stages: list[PackedStage] = []
        for number, builder in enumerate(builders):
            self.tasks.append(builder.task())
            key = f"stage-{token}-{number}"
            regions = [packed[region] for region in builder.regions]
            self.packed_stages.append(pack_stage(key, builder.program(), regions))
        self.tasks_by_scope = Counter(task.label for task in self.tasks)
        if self.gathers:
            self.tasks_by_scope[GATHER] += len(self.gathers)
        self.sinks = self._sinks()

    def _packed(self, number: int) -> PackedRegion:
        plan, region = self.plan, self.plan.regions[number]
        kept = [v.origin.position for v in plan.updates.values() if v.origin.region == number]
        changed = in_place(plan, number)
        sizes = self.sizes[number]
        nbytes = sum(size for position, size in sizes.items() if position not in changed)
        return pack_region(
            region.program,
            updated_inputs(plan, number),
            kept,
            region.device_type,
            nbytes + region.program.largest_between,
            [
                (key, sizes[value.origin.position])
                for key, value in plan.updates.items()
                if value.origin.region == number
            ],
        )

    def _fetched(self) -> dict[tuple[int, int, int], bool]:
        """Return the blocks that the client wants: whether a reference shows it."""
        found = {}
        for value in self.plan.outputs:
            shape = value.spec.shape
            is_small = shape is not None and None not in shape and value.spec.dtype is not None
            is_small = is_small and value.block_nbytes() <= MAX_SHOWN_BYTES
            for block_id in value.block_ids():
                if block_id.origin.region >= 0:
                    found[self.stages.where(block_id)] = is_small
        return found

    def _kept(self) -> set[tuple[int, int, int]]:
        """Return the blocks that are there as long as their key, whoever takes them."""
        return {
            self.stages.where(block_id)
            for value in self.plan.results
            for block_id in value.block_ids()
            if block_id.origin.region >= 0
        }

    def _taken_elsewhere(self) -> set[int]:
        """Return the stages of which something is a variable's, or taken by other stages."""
        found = {
            self.state_outputs[self.stages.where(block_id)].stage
            for value in self.plan.updates.values()
            for block_id in value.block_ids()
            if block_id.origin.region >= 0
        }
        for number, stage in enumerate(self.stages.stages):
            found.update(map(self.stages.stage_number, stage.passed))
            for taking in set(itertools.chain(*stage.takings)):
                found.update(taking.stages - {number})
        return found

    def _sinks(self) -> list[int]:
        taken = {what for task in self.tasks for kind, what in task.arguments if kind == "stage"}
        taken.update(s for level, found in self.gathers.items() if level for s in found)
        return [number for number in range(len(self.tasks)) if number not in taken]

    def output(self, block_id: BlockId) -> Output:
        """Return where a region's output is."""
        return self.outputs[self.stages.where(block_id)]

    def state_output(self, block_id: BlockId) -> Output:
        """Return where a region's output is as the new value of a variable."""
        return self.state_outputs[self.stages.where(block_id)]

    def is_plain(self, stage: int) -> bool:
        """Return whether only the client wants what a stage gives, so that it travels as it is."""
        return stage not in self._is_taken

    def is_shown(self, block_id: BlockId) -> bool:
        """Return whether whoever has a reference has this block."""
        return self.fetched.get(self.stages.where(block_id), False)

    def taker_address(self, block_id: BlockId) -> str | None:
        """Return the worker that takes a block of a leaf, if that is known."""
        stage = self.takers.get(block_id)
        found = None if stage is None else self.annotations[stage].get("workers")
        return found[0] if found and len(found) == 1 else None

    def key(self, stage: int, stamp: str) -> str:
        """Return the key of a stage in the run of a stamp."""
        return outputs_key(self.tasks[stage].label, stamp, stage)

    # -- one run --------------------------------------------------------------------------------

    def graph(
        self, stamp: str, leaf: Callable[[BlockId], Any], state: Callable[[BlockId], BlockRef]
    ) -> tuple[dict[Any, Any], dict[str, dict[Any, Any]]]:
        """Return the tasks of one run, and their annotations.

        Args:
          stamp: executor and run.
          leaf: ``leaf(block_id)``: what a task takes for a block from outside.
          state: ``state(block_id)``: which block of a variable that is.
        """
        tasks: dict[Any, Any] = {}
        annotations: dict[str, dict[Any, Any]] = {}
        for level, found in self.gathers.items():
            key = self.gather_key(level, stamp)
            if level:
                keys = [self.key(number, stamp) for number in found]
                pairs = [x for k in keys for x in (k, TaskRef(k))]
                tasks[key] = Task(key, gather_references, *pairs)
            else:
                blocks = BlockRefs(tuple(map(state, found)), True)
                tasks[key] = Task(key, locate_blocks, blocks)
        for number, task in enumerate(self.tasks):
            key = self.key(number, stamp)
            arguments = [self._argument(*found, stamp, leaf, state) for found in task.arguments]
            stage = TaskRef(self.packed_stages[number].key)
            tasks[key] = Task(key, run_stage, stage, *arguments)
            for name, value in self.annotations[number].items():
                annotations.setdefault(name, {})[key] = value
        return tasks, annotations

    def gather_key(self, level: int, stamp: str) -> str:
        """Return the key of the task that gathers the references of an exchange."""
        return f"{GATHER}-{stamp}-{level}"

    def _argument(self, kind: str, what: Any, stamp: str, leaf: Any, state: Any) -> Any:
        if kind == "stage":
            return TaskRef(self.key(what, stamp))
        if kind == "gather":
            return TaskRef(self.gather_key(what, stamp))
        if kind == "state":
            return BlockRefs(tuple(map(state, what)), False)
        return leaf(what)


class _StageBuilder:
    """Makes the program of one stage, and says what its task takes."""

    def __init__(self, template: Template, number: int, stage: Stage) -> None:
        self.template, self.number, self.stage = template, number, stage
        self.plan, self.staging = template.plan, template.stages
        self.slots: dict[Any, int] = {}
        self.sources: list[Source] = []
        self.arguments: dict[tuple[str, Any], int] = {}
        self.state: dict[BlockId, int] = {}
        self.state_argument = -1
        self.regions: dict[int, int] = {}
        self.calls: list[BlockCall] = []
        self.cuts: dict[tuple[Taking, Index], Cut] = {}
        self.joins: dict[tuple[Taking, Index, str], Join] = {}
        self.num_slots = 0
        wanted = self._wanted()
        for found, takings in zip(stage.blocks, stage.takings, strict=True):
            region = self.regions.setdefault(found.region, len(self.regions))
            inputs = self.plan.regions[found.region].inputs
            steps = tuple(map(self._step, itertools.repeat(found), inputs, takings))
            outputs = []
            for position in wanted[found.region, found.number]:
                slot = self.slots[found.region, found.number, position] = self._new_slot()
                outputs.append((position, slot))
            self.calls.append(BlockCall(region, found.block, steps, tuple(outputs)))
        for block_id in stage.passed:
            self.slots[self.staging.where(block_id)] = self._slot(block_id, None, 0)

    def _wanted(self) -> dict[tuple[int, int], dict[int, None]]:
        """Return which outputs of each block somebody takes."""
        wanted: dict[tuple[int, int], dict[int, None]] = defaultdict(dict)
        for region, number, position in self.staging.exported[self.number]:
            wanted[region, number][position] = None
        for taking in {t: None for takings in self.stage.takings for t in takings}:
            if self.number in taking.stages:
                for part in taking.parts:
                    region, number, position = self.staging.where(part.block_id)
                    wanted[region, number][position] = None
        return wanted

    def _new_slot(self) -> int:
        self.num_slots += 1
        return self.num_slots - 1

    def _step(self, found: StageBlock, region_input: RegionInput, taking: Taking) -> Any:
        if region_input.kind == "attrs":
            return region_input.take(found.block)
        if region_input.is_whole:
            part = taking.parts[0]
            return Take(self._slot(part.block_id, None, part.nbytes), None)
        if region_input.kind == "rows":
            slots = [self._slot(part.block_id, BY_ROWS, 0) for part in taking.parts]
            return Rows(tuple(Take(slot, None) for slot in slots))
        which = taking, region_input.index(found.block)
        if which not in self.cuts:
            value = region_input.take(found.block)
            parts = [
                (Take(self._slot(block_id, source, part.nbytes), None), source, target)
                for part, (block_id, source, target) in zip(taking.parts, value.parts, strict=True)
            ]
            self.cuts[which] = Cut(value.shape, tuple(parts))
        cut = self.cuts[which]
        if len(cut.parts) < 2:
            return cut
        where = *which, self.plan.regions[found.region].place
        if where not in self.joins:  # it is put together in the memory of the region's device
            self.joins[where] = Join(self._new_slot(), self.regions[found.region], cut)
        return Take(self.joins[where].slot, None)

    def _slot(self, block_id: BlockId, source: Any, nbytes: int) -> int:
        worker, own = self.stage.worker, None
        if block_id.origin.region >= 0:
            own = self.staging.stage_number(block_id)
            if own == self.number:
                return self.slots[self.staging.where(block_id)]
            is_here = self.staging.stages[own].worker == worker
        else:
            is_here = self.plan.leaves[block_id.origin.position].kind != STATE
        if is_here:
            source = None  # the whole is at hand
        identity: Any = block_id, source
        if isinstance(source, tuple):
            identity = block_id, tuple((s.start, s.stop) for s in source)
        if identity not in self.slots:
            slot = self.slots[identity] = self._new_slot()
            if source == BY_ROWS and own is not None:  # asked for as often as there are lookups
                self.template.kept.add(self.staging.where(block_id))
            argument, path = self._source(block_id, own, is_here)
            self.sources.append(Source(slot, argument, path, source, nbytes))
        return self.slots[identity]

    def _source(self, block_id: BlockId, own: int | None, is_here: bool) -> Any:
        gathers = self.template.gathers
        if own is not None:
            output = self.template.output(block_id)
            position = output.position
            self.template.times_taken[output] += 1
            if is_here or self.stage.level not in gathers:
                return self._argument("stage", own), (position,)
            found = gathers[self.stage.level]
            index = found.setdefault(own, len(found))
            return self._argument("gather", self.stage.level), (index, position)
        leaf = self.plan.leaves[block_id.origin.position]
        if leaf.kind != STATE:
            self.template.uses[block_id] += 1
            self.template.takers.setdefault(block_id, self.number)
            return self._argument("leaf", block_id), ()
        here = (self.stage.worker, ANYWHERE)
        if 0 in gathers and self.staging.state_workers[block_id] not in here:
            index = gathers[0].setdefault(block_id, len(gathers[0]))
            return self._argument("gather", 0), (index,)
        index = self.state.setdefault(block_id, len(self.state))
        if self.state_argument < 0:
            self.state_argument = self._argument("state", None)
        return self.state_argument, (index,)

    def _argument(self, kind: str, what: Any) -> int:
        return self.arguments.setdefault((kind, what), len(self.arguments))

    def task(self) -> StageTask:
        arguments = tuple(
            (kind, tuple(self.state) if kind == "state" else what) for kind, what in self.arguments
        )
        return StageTask(stage_label(self.plan, self.stage), arguments)

    def program(self) -> StageProgram:
        exported = self.staging.exported[self.number]
        outputs = tuple(self.slots[where] for where in exported)
        shown = [p for p, where in enumerate(exported) if self.template.fetched.get(where)]
        times = [
            0
            if where in self.template.kept
            else self.template.times_taken[Output(self.number, position)]
            for position, where in enumerate(exported)
        ]
        return StageProgram(
            self.num_slots,
            tuple(self.sources),
            tuple(self.joins.values()),
            tuple(self.calls),
            outputs,
            tuple(times),
            tuple(shown),
            self.template.is_plain(self.number),
        )


def stage_label(plan: Plan, stage: Stage) -> str:
    """Return the scope that most of a stage's work belongs to: its name on the dashboard."""
    counts = Counter(found.region for found in stage.blocks)
    counts.update(block_id.origin.region for block_id in (() if counts else stage.passed))
    if len(counts) == 1:
        (number,) = counts
        return plan.regions[number].label
    work: dict[str, float] = defaultdict(float)
    total = 0.0
    for number, count in counts.items():
        region = plan.regions[number]
        amount = count * region.work / region.num_tasks
        total += amount
        parts = region.label.split("/")
        for depth in range(1, len(parts) + 1):
            work["/".join(parts[:depth])] += amount
    return main_scope(work, total)


def output_bytes(plan: Plan) -> list[dict[int, int]]:
    """Return for each region the bytes of each of its outputs, of one block, about."""
    found: list[dict[int, int]] = [
        dict.fromkeys(range(len(region.program.outputs)), 0) for region in plan.regions
    ]

    def note(value: PlanValue) -> None:
        if value.origin.region >= 0:
            size = value.block_nbytes()
            found[value.origin.region][value.origin.position] = size

    for region in plan.regions:
        for region_input in region.inputs:
            if region_input.value is not None:
                note(region_input.value)
    for value in plan.results:
        note(value)
    return found


def in_place(plan: Plan, number: int) -> frozenset[int]:
    """Return the outputs of a region that are variables of which rows change, where they are."""
    program = plan.regions[number].program
    made = {slot: call for call in program.calls for slot in call.outs}
    return frozenset(
        position
        for position, variable in updated_inputs(plan, number).items()
        if (call := made.get(program.outputs[position])) is not None
        and call.in_place is not None
        and call.args[0] == variable
    )


def joined(*numbers: int) -> str:
    """Return the end of a key."""
    return "-".join(map(str, numbers))
