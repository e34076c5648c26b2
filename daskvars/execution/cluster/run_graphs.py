"""From a plan to the graph of one run: a template made once, filled with keys run by run.

Keys. The first word is the region's label, which is what the dashboard groups tasks by; a stamp
follows (executor and run), then region and block. No key is ever used twice. The stamp begins with
a digit, since Dask appends words of letters to the first one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from daskvars.execution.cluster.output_groups import OutputGroups, output_groups
from daskvars.execution.engine.blocks import block_steps
from daskvars.execution.engine.steps import updated_inputs
from daskvars.lowering.plan import BlockId, Index, Origin, Plan, Region
from daskvars.remote.dask_internals import Task, TaskRef
from daskvars.remote.tasks.block_arguments import Cut, Take
from daskvars.remote.tasks.region_tasks import PackedRegion, pack_region, pick, run_region

Leaf = Callable[[BlockId], tuple[Any, int | None]]
AnnotationsAt = Callable[[str, int, int], dict[str, Any]]


class OutputKey(NamedTuple):
    """Where a run has a block: the two ends of a key, and which of the task's outputs it is."""

    prefix: str
    suffix: str
    position: int

    def key(self, stamp: str) -> str:
        """Return the key in the run of that stamp."""
        return f"{self.prefix}-{stamp}-{self.suffix}"


class BlockTask(NamedTuple):
    """The task of one block: its place, and where its dependencies come from."""

    block: Index
    output_key: OutputKey
    dependencies: tuple[OutputKey | BlockId, ...]
    number: int  # of the region's tasks, for spreading them


class Template:
    """What the graphs of all runs of a plan have in common.

    Attributes:
      plan: the plan.
      packed: for each region its program, to be sent once.
      tasks: for each region the tasks of its blocks.
      uses: how many tasks take each block of a leaf.
      sinks: places of the tasks that run for an effect alone.
    """

    def __init__(self, plan: Plan, token: str) -> None:
        self.plan = plan
        self.output_groups: list[OutputGroups] = output_groups(plan)
        self.packed: list[PackedRegion] = []
        self.tasks: list[list[BlockTask]] = []
        for number, region in enumerate(plan.regions):
            steps, tasks = self._region(number, region)
            kept = [v.origin.position for v in plan.updates.values() if v.origin.region == number]
            pairs = updated_inputs(plan, number)
            name = f"program-{token}-{number}"
            self.packed.append(
                pack_region(
                    name,
                    region.program,
                    steps,
                    pairs,
                    kept,
                    region.device_type,
                    self.output_groups[number].new_bytes + region.program.largest_between,
                    self._values(number),
                )
            )
            self.tasks.append(tasks)
        taken = [d for tasks in self.tasks for task in tasks for d in task.dependencies]
        self.uses = Counter(d for d in taken if isinstance(d, BlockId))
        results = [*plan.outputs, *plan.updates.values()]
        used = {s.value.origin.region for r in plan.regions for s in r.inputs if s.value}
        used.update(value.origin.region for value in results)
        self.sinks = [
            task.output_key
            for number, tasks in enumerate(self.tasks)
            if number not in used
            for task in tasks
        ]

    def _values(self, number: int) -> list[tuple[str, int]]:
        """Return the variables that a region writes, with the bytes of a block."""
        sizes = self.output_groups[number].sizes
        return [
            (key, sizes[value.origin.position])
            for key, value in self.plan.updates.items()
            if value.origin.region == number
        ]

    def output_key(self, block_id: BlockId) -> OutputKey:
        """Return where a region's output is."""
        (number, position), block = block_id
        grouping = self.output_groups[number]
        group, position = grouping.where[position]
        if grouping.is_split:
            return OutputKey("pick", joined(number, group, *block), position)
        return self._task_key(number, block)._replace(position=position)

    def _task_key(self, number: int, block: Index) -> OutputKey:
        return OutputKey(self.plan.regions[number].label, joined(number, *block), 0)

    def _region(self, number: int, region: Region) -> tuple[dict[Index, Any], list[BlockTask]]:
        steps: dict[Index, Any] = {}
        tasks = []
        for count, block in enumerate(region.blocks()):
            inputs = _Inputs(self, region, block)
            steps[block] = inputs.steps
            output_key = self._task_key(number, block)
            tasks.append(BlockTask(block, output_key, tuple(inputs.dependencies), count))
        return steps, tasks

    def graph(
        self, stamp: str, programs: Sequence[str], leaf: Leaf, annotations_at: AnnotationsAt
    ) -> tuple[dict[Any, Any], dict[str, dict[Any, Any]]]:
        """Return the tasks of one run, and their annotations.

        Args:
          stamp: executor and run.
          programs: the key of each region's program.
          leaf: ``leaf(block_id) -> (TaskRef or plain data, position)`` for blocks from outside.
          annotations_at: ``annotations_at(place, number, count)``: annotations of a region's task.
        """
        tasks: dict[Any, Any] = {}
        annotations: dict[str, dict[Any, Any]] = {}
        for number, region in enumerate(self.plan.regions):
            program = TaskRef(programs[number])
            for task in self.tasks[number]:
                arguments, positions = _arguments(task, stamp, leaf)
                key = task.output_key.key(stamp)
                tasks[key] = Task(key, run_region, program, task.block, positions, *arguments)
                keys = [key, *self._pick(number, task, stamp, tasks)]
                for name, value in annotations_at(
                    region.place, task.number, region.num_tasks
                ).items():
                    annotations.setdefault(name, {}).update(dict.fromkeys(keys, value))
        return tasks, annotations

    def _pick(self, number: int, task: BlockTask, stamp: str, tasks: dict[Any, Any]) -> list[str]:
        """Add the tasks that split a task's outputs into groups, if any, and return their keys."""
        keys: list[str] = []
        if self.output_groups[number].is_split:
            task_outputs = TaskRef(task.output_key.key(stamp))
            for group, positions in enumerate(self.output_groups[number].groups):
                keys.append(OutputKey("pick", joined(number, group, *task.block), 0).key(stamp))
                tasks[keys[-1]] = Task(keys[-1], pick, task_outputs, positions)
        return keys


class _Inputs:
    """The steps of one block, taking from the groups that outputs are split into."""

    def __init__(self, template: Template, region: Region, block: Index) -> None:
        self.template = template
        self.block_ids: list[BlockId] = []
        self.dependencies: list[OutputKey | BlockId] = []
        self.numbers: dict[Any, int] = {}
        by_task = block_steps(region, block, _itself, self.block_ids)
        self.steps = [_mapped(step, self._moved) for step in by_task]

    def _moved(self, take: Take) -> Take:
        found: Any = self.block_ids[take.dependency]
        position = None
        if found.origin.region >= 0:
            origin = Origin(found.origin.region, take.position)
            found = self.template.output_key(BlockId(origin, found.block))
            position = found.position
        identity = found[:2]
        if identity not in self.numbers:
            self.numbers[identity] = len(self.dependencies)
            self.dependencies.append(found)
        return Take(self.numbers[identity], position)


def _itself(block_id: BlockId) -> tuple[BlockId, int | None]:
    return block_id, block_id.origin.position if block_id.origin.region >= 0 else None


def joined(*numbers: int) -> str:
    """Return the end of a key."""
    return "-".join(map(str, numbers))


def _arguments(task: BlockTask, stamp: str, leaf: Leaf) -> tuple[list[Any], Any]:
    arguments: list[Any] = []
    positions: list[int | None] = []
    for dependency in task.dependencies:
        if isinstance(dependency, OutputKey):
            argument, position = TaskRef(dependency.key(stamp)), None
        else:
            argument, position = leaf(dependency)
        arguments.append(argument)
        positions.append(position)
    return arguments, tuple(positions) if any(p is not None for p in positions) else None


def _mapped(step: Any, change: Callable[[Take], Take]) -> Any:
    if isinstance(step, Take):
        return change(step)
    if isinstance(step, Cut):
        return Cut(step.shape, tuple((change(take), s, t) for take, s, t in step.parts))
    return step
