"""The graph of a run on a shared state, as it is sent, and as the scheduler takes it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from operator import getitem
from typing import Any, ClassVar

from dask._expr import Expr
from dask._task_spec import Task, TaskRef
from distributed import Scheduler

from daskvars.state.shared_versions import BlockRef, Held

OPERATION = "daskvars_versions"

keepers: dict[str, Any] = {}
"""The `VersionKeeper` of each scheduler of this process, by the scheduler's id."""


def topic(session: str) -> str:
    """Return the topic under which a session hears of its runs."""
    return f"daskvars-versions-{session}"


class SharedRunGraph(Expr):
    """The tasks of a run on a shared state; the scheduler binds them as it takes them."""

    _parameters: ClassVar[list[str]] = ["tasks", "annotations", "token", "scheduler", "claim"]  # type: ignore[misc]

    def __dask_tokenize__(self) -> str:
        return self.operand("token")

    def __dask_keys__(self) -> list[Any]:
        """Return the keys of all tasks."""
        return list(self.operand("tasks"))

    def __dask_annotations__(self) -> dict[str, dict[Any, Any]]:
        """Return annotation -> key -> value."""
        return self.operand("annotations")

    def _layer(self) -> dict[Any, Any]:
        keeper = keepers[self.operand("scheduler")]
        return keeper.bound(self.operand("claim"), self.operand("tasks"))


def references(task: Any) -> list[BlockRef]:
    """Return the blocks of variables that a task takes."""
    return [a for a in getattr(task, "args", ()) if isinstance(a, BlockRef)]


def bound_task(task: Task, found: Mapping[BlockRef, Held]) -> Task:
    """Return a task that takes what the blocks that it refers to were bound to."""
    if not references(task):
        return task
    arguments = [
        bound_argument(found[a]) if isinstance(a, BlockRef) else a for a in task.args
    ]
    return Task(task.key, task.func, *arguments)


def bound_argument(held: Held) -> Any:
    """Return what a task takes for a block: a key, or one output of the bundle under it."""
    if held.position is None:
        return TaskRef(held.key)
    return Task(None, getitem, TaskRef(held.key), held.position)


def ancestors(tasks: Any) -> Any:
    """Return the tasks that some tasks depend on, as far as those that have been computed."""
    found, stack = set(), list(tasks)
    while stack:
        for before in stack.pop().dependencies:
            if before not in found:
                found.add(before)
                if before.state != "memory":
                    stack.append(before)
    return found


def replace_recipes(scheduler: Scheduler, recipes: Mapping[Any, Task]) -> None:
    """Replace what computes keys, so that Dask forgets what they were computed from."""
    unneeded: dict[Any, Any] = {}
    for key, recipe in recipes.items():
        task = scheduler.tasks.get(key)
        if task is None or task.state not in ("memory", "released"):
            continue  # gone, or being computed again: the next seal's
        task.run_spec = recipe
        for before in list(task.dependencies):
            before.dependents.discard(task)
            if not before.dependents and not before.who_wants:
                unneeded[before.key] = "forgotten"
        task.dependencies.clear()
    scheduler.transitions(unneeded, f"daskvars-seal-{time.time()}")
