"""The graph of a run on a shared state, as it is sent, and as the scheduler takes it."""

from __future__ import annotations

from collections.abc import Mapping
from operator import getitem
from typing import Any, NamedTuple

from daskvars.remote.dask_internals import RunGraph, Task, TaskRef
from daskvars.remote.versions.shared_versions import BlockLocation, BlockRef, RunHeader

OPERATION = "daskvars_versions"

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
    return [a for a in getattr(task, "args", ()) if isinstance(a, BlockRef)]


def bound_task(task: Task, found: Mapping[BlockRef, BlockLocation]) -> Task:
    """Return a task that takes what the blocks that it refers to were bound to."""
    if not references(task):
        return task
    arguments = [bound_argument(found[a]) if isinstance(a, BlockRef) else a for a in task.args]
    return Task(task.key, task.func, *arguments)


def bound_argument(location: BlockLocation) -> Any:
    """Return what a task takes for a block: a key, or one of the outputs under it."""
    if location.position is None:
        return TaskRef(location.key)
    return Task(None, getitem, TaskRef(location.key), location.position)
