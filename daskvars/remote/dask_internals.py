"""The one adapter to what Dask and distributed have and do not document.

Seen from here there are five things: tasks and the graph in which they are sent; the client that
is active; a worker's task and its figures; the scheduler's tasks, of which keys are held, failed,
or given another lineage; and the worker's tasks, which must forget the same. Each function says
what it is for; what it takes for granted of Dask is checked in its tests, on the oldest and the
newest Dask that are supported.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

from dask._expr import Expr
from dask._task_spec import DataNode, Task, TaskRef, convert_legacy_graph
from dask.sizeof import sizeof
from distributed import Client, Future, Scheduler, WorkerPlugin, get_worker
from distributed.client import _get_global_client
from distributed.metrics import context_meter
from distributed.protocol import pickle
from distributed.scheduler import KilledWorker, NoValidWorkerError
from distributed.worker import thread_state
from distributed.worker_state_machine import TaskState as WorkerTask

__all__ = [
    "DataNode",
    "KilledWorker",
    "LineagePlugin",
    "NoValidWorkerError",
    "RunGraph",
    "Task",
    "TaskRef",
    "add_handler",
    "before_close",
    "call_handler",
    "current_client",
    "current_key",
    "data_bytes",
    "fail_task",
    "forget_lineage",
    "futures_of",
    "groups_page",
    "hold_keys",
    "is_computed_again",
    "limit_of_process",
    "pickle",
    "release_keys",
    "remeasure",
    "replace_lineage",
    "run_unbound_tasks",
    "send_event",
    "show_seconds",
    "spill_one",
    "stranded_error",
    "stranded_tasks",
    "task_functions",
    "unrepeatable_inputs",
    "waiting_tasks",
]


FORGET_LINEAGE = "daskvars-forget-lineage"


# -- graphs and clients -------------------------------------------------------------------------


class RunGraph(Expr):
    """The tasks of one run as the scheduler takes them: ``client.get(RunGraph(...), keys)``.

    Unlike the expression that `Client.get` makes of a dict, it is not hashed to be named (2 ms a
    run), and it carries annotations by key. What `bind` makes of the tasks is made on the
    scheduler, when it takes them.

    Args:
      tasks: key -> `Task` or `DataNode`.
      annotations: annotation -> key -> value.
      token: a text that no other graph has.
      bind: None, or ``bind(tasks) -> tasks``, which is pickled.
    """

    _parameters: ClassVar[list[str]] = ["tasks", "annotations", "token", "bind"]  # type: ignore[misc]
    _defaults: ClassVar[dict[str, Any]] = {"bind": None}  # type: ignore[misc]

    def __dask_tokenize__(self) -> str:
        return self.operand("token")

    def __dask_keys__(self) -> list[Any]:
        """Return the keys of all tasks."""
        return list(self.operand("tasks"))

    def __dask_annotations__(self) -> dict[str, dict[Any, Any]]:
        """Return annotation -> key -> value."""
        return self.operand("annotations")

    def _layer(self) -> dict[Any, Any]:
        tasks, bind = self.operand("tasks"), self.operand("bind")
        return tasks if bind is None else bind(tasks)


def task_functions(graph: Mapping[Any, Any]) -> dict[Any, tuple[Callable[..., Any], tuple]]:
    """Return, for each key of a collection's graph, its task as a function of one dict, and the
    keys that this must have.

    What is kept on a cluster (persisted) is no task: it is among the keys that others take.
    """
    tasks = convert_legacy_graph(graph)
    return {key: (task, tuple(task.dependencies)) for key, task in tasks.items()}


def current_client() -> Client | None:
    """Return the client that collections would compute on, asynchronous ones too, if any."""
    return _get_global_client()


def call_handler(client: Client, operation: str, request: bytes) -> bytes:
    """Return what the handler of that name on the scheduler (`add_handler`) makes of a request."""
    return client.sync(getattr(client.scheduler, operation), request=request)


def futures_of(client: Client, keys: Collection[Any]) -> dict[Any, Future]:
    """Return futures of keys that the scheduler has, which the client hears of from now on.

    A `Future` that is made of a key alone asks for nothing, and would stay pending for ever if the
    key was in memory before.
    """
    found: dict[Any, Future] = {key: Future(key, client) for key in keys}
    client._send_to_scheduler(
        {"op": "client-desires-keys", "keys": list(found), "client": client.id}
    )
    return found


def before_close(client: Client, call: Callable[[], None]) -> None:
    """Have something called before a client is closed or shut down in order, while it still works.

    A client has no such hook: its own `close` and `shutdown` are replaced by ones that call first
    what was given here, in the caller's thread. Where the cluster is gone already nothing is.
    """
    calls = client.__dict__.setdefault("_daskvars_before_close", [])
    calls.append(call)
    if len(calls) > 1:
        return
    for name in ("close", "shutdown"):
        setattr(client, name, partial(_call_first, client, calls, getattr(type(client), name)))


def _call_first(client: Client, calls: list[Any], then: Any, *args: Any, **kwargs: Any) -> Any:
    while calls and client.status == "running":
        calls.pop()()
    return then(client, *args, **kwargs)


# -- in a worker --------------------------------------------------------------------------------


def current_key() -> Any:
    """Return the key of the task that this thread of a worker runs, None elsewhere."""
    return getattr(thread_state, "key", None)


def limit_of_process(worker: Any) -> int:
    """Return the memory limit of a worker that is all that its process does, 0 without one.

    That is what a nanny has started; without a nanny there may be others in the process.
    """
    return (worker.memory_manager.memory_limit or 0) if worker.nanny is not None else 0


def spill_one(worker: Any) -> bool:
    """Have a worker write the data that was used longest ago to disk; on its event loop.

    Returns:
      Whether there was some, and a place for it.
    """
    data = worker.data
    return bool(getattr(data, "fast", None)) and data.evict() != -1


def data_bytes(worker: Any) -> tuple[int, int]:
    """Return the bytes of a worker's data that are in memory, and those that are on disk."""
    data = worker.data
    if not hasattr(data, "spilled_total"):
        return 0, 0
    return int(data.fast.total_weight), int(data.spilled_total.disk)


def remeasure(key: Any) -> None:
    """Have the worker that runs the task of a key measure once more what it depends on.

    That is done before the worker has the task's result: the two may share memory, and counted
    twice it would have the worker spill.
    """
    worker = get_worker()
    worker.loop.add_callback(_remeasure, worker, key)


def _remeasure(worker: Any, key: Any) -> None:
    state, data = worker.state, worker.data
    fast = getattr(data, "fast", data)  # what is in memory, where some may be on disk
    task = state.tasks.get(key)
    for before in task.dependencies if task is not None else ():
        if before.key in fast and (size := sizeof(fast[before.key])) != before.nbytes:
            data[before.key] = fast[before.key]
            state.nbytes += size - before.nbytes
            before.nbytes = size


def show_seconds(label: str, seconds: float) -> None:
    """Add to what the current task is said to spend its time with."""
    context_meter.digest_metric(label, seconds, "seconds")


class LineagePlugin(WorkerPlugin):
    """Has a worker follow `replace_lineage`, on the scheduler's own stream: no call is made."""

    name = FORGET_LINEAGE
    idempotent = True

    def setup(self, worker: Any) -> None:
        """Take note of the worker."""
        worker.stream_handlers[FORGET_LINEAGE] = partial(forget_lineage, worker)


def forget_lineage(worker: Any, keys: Sequence[Any]) -> None:
    """Have a worker forget what keys were computed from, as `replace_lineage` the scheduler.

    Else it would keep those tasks for ever, and wait for them if it has to compute a key again.
    """
    state = worker.state
    unneeded = []
    for key in keys:
        task = state.tasks.get(key)
        if task is not None and task.state in ("memory", "released"):
            unneeded += _without_dependents(task)
            task.dependencies.clear()
    # A worker forgets a task when it releases the last one that depends on it. These were released
    # before, so no event of the worker's would do it.
    forgotten = {}
    while unneeded:
        task = unneeded.pop()
        if state.tasks.pop(task.key, None) is not None:
            unneeded += _without_dependents(task)
            forgotten[task] = task.state
            task.state = "forgotten"
    state.task_counter.transitions(forgotten)


def _without_dependents(task: WorkerTask) -> list[WorkerTask]:
    """Take a worker's task from its dependencies; give those released that none depends on now."""
    for before in task.dependencies:
        before.dependents.discard(task)
        before.waiters.discard(task)
    return [t for t in task.dependencies if t.state == "released" and not t.dependents]


# -- in the scheduler ---------------------------------------------------------------------------


def add_handler(scheduler: Scheduler, operation: str, answer: Callable[..., Any]) -> None:
    """Have ``await answer(request=bytes) -> bytes`` answer what clients ask (`call_handler`)."""
    scheduler.handlers[operation] = answer


def send_event(scheduler: Scheduler, client: str, topic: str, content: Any) -> None:
    """Tell one client something, as an event of a topic that it subscribes to.

    `Scheduler.log_event` tells all clients, and keeps what it told.
    """
    message = {"op": "event", "topic": topic, "event": (time.time(), content)}
    scheduler.client_send(client, message)


def hold_keys(scheduler: Scheduler, keys: Iterable[Any], holder: str) -> None:
    """Keep keys until that client, which may be a name alone, has released them."""
    scheduler.client_desires_keys(list(keys), client=holder)


def release_keys(scheduler: Scheduler, keys: Collection[Any], holder: str) -> None:
    """Let go of keys on behalf of a holder, if the scheduler knows it."""
    if keys and holder in scheduler.clients:
        scheduler.client_releases_keys(list(keys), client=holder)


def unrepeatable_inputs(scheduler: Scheduler, keys: Iterable[Any]) -> set[Any]:
    """Return the scattered data that would be needed to compute keys again.

    What lies behind a key that is in memory counts only through that key itself.
    """
    found, stack = set(), [scheduler.tasks[key] for key in keys]
    while stack:
        for before in stack.pop().dependencies:
            if before not in found:
                found.add(before)
                if before.state != "memory":
                    stack.append(before)
    return {task.key for task in found if task.run_spec is None}


def replace_lineage(scheduler: Scheduler, tasks: Mapping[Any, Task]) -> None:
    """Replace what computes keys, so that Dask forgets what they were computed from.

    Workers that have `LineagePlugin` are told.

    Keys that are gone, or being computed again, stay as they are.
    """
    unneeded: dict[Any, Any] = {}
    for key, run_spec in tasks.items():
        task = scheduler.tasks.get(key)
        if task is None or task.state not in ("memory", "released"):
            continue
        task.run_spec = run_spec
        for before in list(task.dependencies):
            before.dependents.discard(task)
            if not before.dependents and not before.who_wants:
                unneeded[before.key] = "forgotten"
        task.dependencies.clear()
    scheduler.transitions(unneeded, f"daskvars-seal-{time.time()}")
    for address in scheduler.workers if FORGET_LINEAGE in scheduler.worker_plugins else ():
        scheduler.worker_send(address, {"op": FORGET_LINEAGE, "keys": list(tasks)})


def stranded_tasks(scheduler: Scheduler) -> Iterator[tuple[Any, set[str]]]:
    """Yield the key of each task that waits for workers by address, none of which is there, and
    these addresses."""
    for task in list(scheduler.unrunnable):
        wanted = task.worker_restrictions
        if task.state != "no-worker" or not wanted or task.loose_restrictions:
            continue
        if not any(address in scheduler.workers for address in wanted):
            yield task.key, set(wanted)


def stranded_error(key: Any, wanted: set[str]) -> Exception:
    """Return Dask's own error of a task that waits for workers by address which are not there."""
    return NoValidWorkerError(key, set(), wanted, {}, 0)


def waiting_tasks(scheduler: Scheduler, stalled: set[Any]) -> Iterator[tuple[Any, Any]]:
    """Yield the key of each task that only workers which do nothing may run, and one of these."""
    for worker in stalled:
        for task in list(worker.processing):
            yield task.key, worker
    for task in [*scheduler.unrunnable, *scheduler.queued]:
        wanted = None if task.loose_restrictions else task.worker_restrictions
        may_run = {w for a, w in scheduler.workers.items() if not wanted or a in wanted}
        if may_run and may_run <= stalled:
            yield task.key, next(iter(may_run))


def run_unbound_tasks(scheduler: Scheduler) -> None:
    """Have tasks run anywhere that only wished for workers which are not there.

    A task that comes while all workers are paused waits. When one goes on, Dask gives it those
    tasks that wished for it, and forgets that the others may run there as well.
    """
    if scheduler.running:
        found = [task.key for task in scheduler.unrunnable if task.loose_restrictions]
        scheduler.transitions(dict.fromkeys(found, "processing"), f"daskvars-run-{time.time()}")


def fail_task(scheduler: Scheduler, key: Any, error: Exception) -> None:
    """Let a task that waits to be run fail."""
    task = scheduler.tasks.get(key)
    if task is None or task.state not in ("no-worker", "processing", "queued"):
        return
    stimulus, worker = f"daskvars-fail-{time.time()}", task.processing_on
    recommendations = scheduler.transition(
        key, "erred", exception=pickle.dumps(error), cause=key, stimulus_id=stimulus
    )
    scheduler.transitions(recommendations, stimulus)
    if worker is not None:
        scheduler.worker_send(
            worker.address, {"op": "free-keys", "keys": [key], "stimulus_id": stimulus}
        )


def is_computed_again(task: Any) -> bool:
    """Whether a scheduler's task is to run, and has had a result before."""
    return task.state in ("waiting", "processing", "queued", "no-worker") and task.nbytes >= 0


def groups_page() -> Any | None:
    """Return the class behind the dashboard's page of task groups, None without a dashboard.

    Its ``update_layout()`` gives positions by group, and for each group both ends of its arrows.
    """
    components = sys.modules.get("distributed.dashboard.components.scheduler")
    return getattr(components, "TaskGroupGraph", None)
