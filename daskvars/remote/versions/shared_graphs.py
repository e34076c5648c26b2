"""The graph of a run on a shared state, as it is sent, and as the scheduler takes it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import getitem
from typing import Any, NamedTuple

from daskvars.remote.dask_internals import RunGraph, Task, TaskRef
from daskvars.remote.versions.commit_order import BlockLocation, BlockRef, BlockRefs, RunHeader

OPERATION = "daskvars_versions"
LEAVING = "daskvars-leaving"  # the word that nobody has a variable any more

keepers: dict[str, Any] = {}
"""The `VersionKeeper` of each scheduler of this process, by the scheduler's id."""


def topic(session: str) -> str:
    """Return the topic under which a session hears of its runs."""
    return f"daskvars-versions-{session}"


class Binding(NamedTuple):
    """Binds the tasks of a run on a shared state, on the scheduler of that id."""

    scheduler: str
    header: RunHeader

    def __call__(self, tasks: Mapping[Any, Task]) -> dict[Any, Task]:
        return keepers[self.scheduler].bound(self.header, tasks)


def shared_run_graph(
    tasks: Any, annotations: Any, token: str, scheduler: str, header: RunHeader
) -> RunGraph:
    """Return the tasks of a run on a shared state; the scheduler binds them as it takes them."""
    return RunGraph(tasks, annotations, token, Binding(scheduler, header))


def references(task: Any) -> list[BlockRef]:
    """Return the blocks of variables that a task takes."""
    found: list[BlockRef] = []
    for argument in getattr(task, "args", ()):
        if isinstance(argument, BlockRef):
            found.append(argument)
        elif isinstance(argument, BlockRefs):
            found += argument.refs
    return found


def located_references(task: Any) -> list[BlockRef]:
    """Return the blocks of which a task only tells others where they are."""
    arguments = getattr(task, "args", ())
    tables = [a for a in arguments if isinstance(a, BlockRefs) and a.with_keys]
    return [ref for table in tables for ref in table.refs]


def bound_task(task: Task, found: Mapping[BlockRef, BlockLocation]) -> Task:
    """Return a task that takes what the blocks that it refers to were bound to."""
    arguments: list[Any] = []
    for argument in task.args if hasattr(task, "args") else ():
        if isinstance(argument, BlockRef):
            location = found[argument]
            arguments.append(Task(None, getitem, TaskRef(location.key), location.position))
        elif isinstance(argument, BlockRefs):
            arguments += bound_arguments(argument, found)
        else:
            arguments.append(argument)
    return Task(task.key, task.func, *arguments) if references(task) else task


def bound_arguments(blocks: BlockRefs, found: Mapping[BlockRef, BlockLocation]) -> list[Any]:
    """Return what a task takes for blocks: their values as a list, or what leads to them."""
    keys: dict[Any, int] = {}
    places = tuple(
        (keys.setdefault(location.key, len(keys)), location.position)
        for location in map(found.__getitem__, blocks.refs)
    )
    outputs = map(TaskRef, keys)
    if blocks.with_keys:
        return [tuple(keys), places, *outputs]
    return [Task(None, items, places, *outputs)]


def items(places: Sequence[tuple[int, int]], *outputs: Any) -> list[Any]:
    """Return for each (number, position) that item of the outputs of that number."""
    return [outputs[number][position] for number, position in places]
