"""The one adapter to what Dask and distributed have and do not document.

Seen from here there are five things: tasks and the graph in which they are sent; the client that
is active; a worker's task and its figures; the scheduler's tasks, of which keys are held, failed,
or given another lineage; and the worker's tasks, which must forget the same. Each function says
what it is for; what it takes for granted of Dask is checked in its tests, on the oldest and the
newest Dask that are supported.
"""

from __future__ import annotations

import asyncio
import logging
import os
import struct
import sys
import threading
import time
from collections.abc import (
    Awaitable,
    Callable,
    Collection,
    Coroutine,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from functools import partial, wraps
from typing import Any, ClassVar, TypeVar

from dask._expr import Expr
from dask._task_spec import DataNode as DataNode, Task, TaskRef as TaskRef, convert_legacy_graph
from dask.sizeof import sizeof
from distributed import (
    Client,
    Future,
    Reschedule as Reschedule,
    Scheduler,
    Status,
    Worker,
    WorkerPlugin,
    get_worker,
    secede,
)
from distributed.client import _current_client, _get_global_client, _global_clients
from distributed.metrics import context_meter
from distributed.protocol import pickle, to_serialize
from distributed.scheduler import KilledWorker as KilledWorker, NoValidWorkerError
from distributed.spans import Span, SpansSchedulerExtension, SpansWorkerExtension
from distributed.threadpoolexecutor import thread_state as pool_thread
from distributed.worker import thread_state
from distributed.worker_state_machine import (
    GatherDepSuccessEvent,
    RemoveReplicasEvent,
    TaskState as WorkerTask,
)

from daskvars.errors import UnimplementedError

logger = logging.getLogger("daskvars")
T = TypeVar("T")

FORGET_LINEAGE = "daskvars-forget-lineage"
CONNECTION_POLL_S = 0.25  # how often who waits for a scheduler makes sure that it is there
SEND_INTERVAL_S = 0.0005  # that messages of a stream are gathered, after one was sent
# States in which a worker's task needs what it takes.
BUSY = {"waiting", "ready", "constrained", "executing", "long-running", "resumed", "cancelled"}


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
    """Return the client that collections would compute on, asynchronous ones too, if any.

    Where there is none it takes 0.3 us; Dask's own answer takes 5.
    """
    if not _global_clients and _current_client.get() is None:
        return None
    return _get_global_client()


def _leave_to_parent() -> None:
    """Take note, in a process that was forked, that nothing runs the loops of clients here."""
    for client in tuple(Client._instances):
        client.status = "left to the process that this one was forked from"


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_to_parent)


def check_may_wait(client: Client) -> None:
    """Raise UnimplementedError where to wait for a client's event loop would be to wait for ever.

    That is in the loop itself, where asynchronous clients are used, and where Dask sends what is
    scattered or put into a queue; and within `Client.submit` and its like, which pickle under a
    lock that the loop takes. A task of a worker gives its place there to others.
    """
    lock: Any = client._refcount_lock
    if client.asynchronous or lock._is_owned():
        raise UnimplementedError.saying(
            "runs wait for the cluster: they need a synchronous Dask client (asynchronous=False), "
            "and are not made while that sends a value. Look at the value before, with numpy(), or "
            "give Dask what to_dask() returns"
        )
    if current_key() is not None and getattr(pool_thread, "proceed", False):
        secede()  # as `Client.get` does: what this task waits for may need its worker's thread


class NamedPlugin(WorkerPlugin):
    """A plugin that is on a worker once, under a name."""

    name: ClassVar[str]
    idempotent = True


def register_on_workers(client: Client, plugin: NamedPlugin) -> None:
    """Have all workers, and those to come, have a plugin, also when one dies in this moment.

    Dask notes the plugin for workers to come, tells those there are, and stops at the first that
    is gone.
    """
    try:
        client.register_plugin(plugin)
    except OSError:
        if client.status != "running":
            raise
        client.run(_add_plugin, plugin, on_error="ignore")


async def _add_plugin(plugin: NamedPlugin, dask_worker: Worker) -> None:
    """Have a worker have a plugin, if it has not."""
    if plugin.name not in dask_worker.plugins:
        await dask_worker.plugin_add(plugin, plugin.name)


def call_handler(client: Client, operation: str, request: bytes) -> bytes:
    """Return what the handler of that name on the scheduler (`add_handler`) makes of a request.

    Raises:
      OSError: it cannot be reached, or was lost meanwhile.
    """
    found = sync_while_connected(client, getattr(client.scheduler, operation), request=request)
    if found is None:  # as Dask answers where there is no handler of that name
        raise OSError(f"{client} is connected to another scheduler")
    return found


def connection_of(client: Client) -> object | None:
    """Return a client's connection to its scheduler, None while there is none.

    Where it is another than before, all that was on the scheduler is gone: Dask connects a client
    that has lost its scheduler to whichever is at that address then, which knows nothing of it.
    """
    return client.scheduler_comm if client.status == "running" else None


def sync_while_connected(
    client: Client, call: Callable[..., Awaitable[Any]], *args: Any, **kwargs: Any
) -> Any:
    """Return what ``await call(...)`` gives on a client's event loop, while it has a scheduler.

    Dask tries for `distributed.comm.timeouts.connect` (30 s) to reach one whose connections are
    closed, also after the client has noticed that it is gone.

    Raises:
      OSError: the client has lost its scheduler.
    """
    return client.sync(_while_connected, client, call, *args, **kwargs)


async def _while_connected(
    client: Client, call: Callable[..., Awaitable[Any]], *args: Any, **kwargs: Any
) -> Any:
    task = asyncio.ensure_future(call(*args, **kwargs))
    while not (await asyncio.wait({task}, timeout=CONNECTION_POLL_S))[0]:
        if client.status != "running":
            task.cancel()
            raise OSError(f"the connection to {client} was lost: it is {client.status}")
    return task.result()


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


def call_soon(client: Client, delay_s: float, call: Callable[[], None]) -> None:
    """Have a client's event loop call something after some time, if it still runs then."""
    loop: Any = client.loop
    loop.add_callback(loop.call_later, delay_s, call)


def tell_scheduler(client: Client, operation: str, **message: Any) -> None:
    """Tell the scheduler something, on the stream that the client has anyway; on its event loop.

    It is dropped where that is closed. See `add_scheduler_stream_handler`.
    """
    if client.status == "running":
        client._send_to_scheduler({"op": operation, **message})


def send_promptly(client: Client) -> None:
    """Have a client tell the scheduler soon what it has to say; see `speak_promptly`."""
    _shorten(client.scheduler_comm)


def _shorten(stream: Any) -> None:
    """Have a stream gather what is sent for no more than `SEND_INTERVAL_S` after a message.

    Dask's gather for 10 ms from client to scheduler, 5 from there to workers, and 2 back. A step
    that follows the results of the one before comes right behind the word that these are let go of,
    on each stream: it waited for the rest of that time, for longer than it took.
    """
    stream.interval = min(stream.interval, SEND_INTERVAL_S)


async def give_to_worker(
    client: Client, address: str, operation: str, data: Mapping[str, Any], timeout_s: float
) -> Mapping[str, int] | None:
    """Give a worker values under keys, past the scheduler, which is to be told (`tell_given`).

    Args:
      client: who gives them.
      address: of the worker.
      operation: whose handler there is `take_data`.
      data: key -> value.
      timeout_s: how long to try to connect.

    Returns:
      The bytes of each; None if the worker takes nothing now.

    Raises:
      OSError: it cannot be reached, or was lost meanwhile.
    """
    pool: Any = client.rpc
    pool.reuse(address, await pool.connect(address, timeout=timeout_s))
    values = {key: to_serialize(value) for key, value in data.items()}
    return await getattr(pool(address), operation)(data=values)


async def tell_given(client: Client, given: Mapping[str, Mapping[str, int]]) -> set[str]:
    """Tell the scheduler what workers were given; the client wants it until its futures are gone.

    One message says it for all: as many as there are workers cost it as much as their tasks.

    Args:
      client: who gave it.
      given: address -> key -> bytes.

    Returns:
      The workers that the scheduler does not know any more.
    """
    scheduler: Any = client.scheduler
    who_has = {key: [address] for address, data in given.items() for key in data}
    nbytes = {key: size for data in given.values() for key, size in data.items()}
    try:
        await scheduler.update_data(who_has=who_has, nbytes=nbytes, client=client.id)
    except KeyError:
        if len(given) == 1:
            return set(given)
        found = [await tell_given(client, {address: data}) for address, data in given.items()]
        return set().union(*found)
    return set()


def take_data(worker: Any, data: dict[str, Any]) -> dict[str, int] | None:
    """Keep values that a client gives; return their bytes, None if the worker takes nothing now."""
    if worker.status != Status.running:
        return None
    return worker.update_data(data)["nbytes"]


def unsubscribe(client: Client, topic: str) -> None:
    """Hear no more of a topic.

    Dask keeps the handler in spite of its word, and so all that the handler belongs to. Events may
    be on their way still, so that there must be one.
    """
    client.unsubscribe_topic(topic)
    client._event_handlers[topic] = _pass_over


def _pass_over(event: Any) -> None:
    """Handle an event that nobody wants any more."""


def once_per_client(make: Callable[[Client], T]) -> Callable[[Client], T]:
    """Return a function that makes something for each client once, and keeps it with the client;
    anew where that is connected anew (`connection_of`).

    What is made mostly refers to the client: in a dictionary, even a weak one, neither would go.
    """
    making = threading.Lock()

    @wraps(make)
    def made(client: Client) -> T:
        with making:
            kept = client.__dict__.setdefault("_daskvars_made", {})
            connection = connection_of(client)
            if make not in kept or connection not in (None, kept[make][0]):
                kept[make] = connection, make(client)
            return kept[make][1]

    return made


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


def read_back_aligned(worker: Any) -> None:
    """Have a worker read arrays that it has spilled to where NumPy's kernels want them.

    It reads a file as a whole, in which an array begins anywhere. A task would copy it, and have
    twice what it takes in memory.
    """
    spilled = getattr(worker.data, "_slow_uncached", None)
    if spilled is not None:
        spilled.load = partial(_load_aligned, spilled.load)


def _load_aligned(load: Callable[[Any], Any], data: Any) -> Any:
    """Return ``load(data)`` of the frames of a value, the largest moved to a multiple of 16."""
    if isinstance(data, bytearray):
        (count,) = struct.unpack_from("Q", data)
        sizes = struct.unpack_from(f"{count}Q", data, 8)
        largest = sizes.index(max(sizes))
        shift = -(8 * (1 + count) + sum(sizes[:largest])) % 16
        data[:0] = bytes(shift)  # in its own memory
        data = memoryview(data)[shift:]
    return load(data)


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


def finished_result(worker: Any, key: Any) -> tuple[Any, int] | None:
    """Return what a task of a worker gave, and its bytes; None where it is not in memory."""
    fast = getattr(worker.data, "fast", worker.data)
    return (fast[key], worker.state.tasks[key].nbytes) if key in fast else None


def add_to_report(worker: Any, key: Any, name: str, value: Any) -> None:
    """Add to what a worker tells the scheduler of a task that is done; see `found_in_report`.

    It is called amid the transition (`WorkerPlugin.transition`): the word is sent after that.

    Args:
      worker, key: whose task.
      name: what it is called.
      value: what msgpack can hold.
    """
    worker.state.tasks[key].metadata[name] = value


def show_seconds(label: str, seconds: float) -> None:
    """Add to what the current task is said to spend its time with."""
    context_meter.digest_metric(label, seconds, "seconds")


class LineagePlugin(NamedPlugin):
    """Has a worker follow `replace_lineage`, on the scheduler's own stream: no call is made."""

    name = FORGET_LINEAGE

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


# -- between workers ----------------------------------------------------------------------------


def add_worker_handler(worker: Any, operation: str, answer: Callable[..., Any]) -> None:
    """Have ``await answer(**message)`` answer what other workers ask (`ask_worker`)."""
    worker.handlers[operation] = answer


def remove_worker_handler(worker: Any, operation: str) -> None:
    """Have a worker answer that no more."""
    worker.handlers.pop(operation, None)


def add_stream_handler(worker: Any, operation: str, call: Callable[..., Any]) -> None:
    """Have a worker do ``call(**message)`` when the scheduler says so (`send_to_workers`)."""
    worker.stream_handlers[operation] = call


def send_to_scheduler(worker: Any, operation: str, slices: Any, fence: str) -> None:
    """Tell the scheduler what a worker did, on the stream that it has anyway; on its event loop.

    What is sent first arrives first, before and after what tells that tasks are done.
    """
    worker.batched_send({"op": operation, "slices": slices, "fence": fence})


def add_figures(worker: Any, name: str, figures: Callable[[Any], Mapping[str, float]]) -> None:
    """Have ``figures(worker)`` go to the scheduler with a worker's heartbeats."""
    worker.metrics[name] = figures


def remove_figures(worker: Any, name: str) -> None:
    """Have them go no more."""
    worker.metrics.pop(name, None)


async def ask_worker(worker: Any, address: str, operation: str, **message: Any) -> Any:
    """Return what another worker answers, over the pool of connections that Dask has anyway.

    Raises:
      OSError: it cannot be reached, or was lost meanwhile.
    """
    return await getattr(worker.rpc(address), operation)(**message)


async def ask_scheduler(worker: Any, operation: str, request: bytes) -> bytes:
    """Return what the handler of that name on the scheduler (`add_handler`) makes of a request."""
    return await getattr(worker.scheduler, operation)(request=request)


def run_on_loop(worker: Any, coroutine: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine on a worker's event loop; return its `concurrent.futures.Future`."""
    return asyncio.run_coroutine_threadsafe(coroutine, worker.loop.asyncio_loop)


def on_loop(worker: Any, call: Callable[..., Any], *args: Any) -> None:
    """Have a worker's event loop call something soon."""
    worker.loop.asyncio_loop.call_soon_threadsafe(call, *args)


def refer_inputs(
    worker: Any,
    refer: Callable[[str, Collection[Any]], Awaitable[dict[Any, Any]]],
    is_reference: Callable[[Any], bool],
) -> None:
    """Have a worker fetch references in place of what its tasks take from other workers.

    The scheduler is not told that the worker has such a key: what it has is no replica, and must
    not be taken for one when the worker that has the data is lost, or Dask reduces replicas.

    Args:
      refer: ``await refer(address, keys)``: a reference for each key that there is one for.
      is_reference: tells a reference from data.
    """
    gather, send, held = worker.gather_dep, worker.batched_send, set[Any]()

    async def gather_dep(
        address: str, to_gather: Collection[Any], total_nbytes: int, *, stimulus_id: str
    ) -> Any:
        # What no task here waits for is wanted as it is: its owner is retired, say.
        tasks = worker.state.tasks
        taken = [key for key in to_gather if key in tasks and _is_waited_for(tasks[key])]
        try:
            found = await refer(address, taken) if taken else {}
        except OSError:
            found = {}  # Dask finds out by itself, and tells the scheduler
        except Exception:  # raised from here, it would leave the keys in flight for ever
            logger.exception("%s gave no references; its data is fetched instead", address)
            found = {}
        held.update(found)
        rest = [key for key in to_gather if key not in found]
        if not rest:
            done = f"daskvars-refer-{time.time()}"
            return GatherDepSuccessEvent(
                worker=address, total_nbytes=total_nbytes, data=found, stimulus_id=done
            )
        event = await gather(address, rest, total_nbytes, stimulus_id=stimulus_id)
        if found and isinstance(event, GatherDepSuccessEvent):
            event.data = {**event.data, **found}
        return event

    def has_reference(key: Any) -> bool:
        """Return whether the worker has a reference of a key now, not what it stands for."""
        if key in held and not is_reference(worker.data.get(key)):
            held.discard(key)
        return key in held

    def batched_send(message: dict[str, Any]) -> None:
        operation = message.get("op") if held else None
        if operation == "add-keys":
            keys = [key for key in message["keys"] if not has_reference(key)]
            if not keys:
                return
            message = {**message, "keys": keys}
        elif operation == "release-worker-data" and message["key"] in held:
            held.discard(message["key"])
            return
        elif operation == "task-finished" and has_reference(message["key"]):
            # It was to compute what it has a reference of, and takes that for the result.
            stimulus = f"daskvars-refer-{time.time()}"
            message = {"op": "reschedule", "key": message["key"], "worker": worker.address}
            message["stimulus_id"] = stimulus
        send(message)

    worker.gather_dep, worker.batched_send = gather_dep, batched_send
    worker.daskvars_references = held


def _is_waited_for(task: Any) -> bool:
    """Whether a worker's task is needed by one that is not done there."""
    return any(after.state in BUSY for after in task.dependents)


def delay_releases(worker: Any, delay_s: float) -> None:
    """Have a worker say with its next message what data it has let go, at the latest after a while.

    Such a message of its own costs the scheduler about as much as a finished task, and each key of
    an old version makes one, on every worker. What is said stays in its order.
    """
    send, waiting = worker.batched_send, list[dict[str, Any]]()

    def flush() -> None:
        messages, waiting[:] = waiting[:], []
        for message in messages:
            # What has come again under that key meanwhile is there, as the scheduler knows.
            task = worker.state.tasks.get(message["key"])
            if task is None or task.state != "memory":
                send(message)

    def batched_send(message: dict[str, Any]) -> None:
        if message.get("op") == "release-worker-data":
            if not waiting:
                worker.loop.call_later(delay_s, flush)
            waiting.append(message)
            return
        flush()
        send(message)

    worker.batched_send = batched_send


def drop_references(worker: Any) -> None:
    """Have a worker forget the references that no task of it waits for; on its event loop."""
    tasks, unneeded = worker.state.tasks, []
    for key in list(worker.daskvars_references):
        task = tasks.get(key)
        if task is None:
            worker.daskvars_references.discard(key)
        elif task.state == "memory" and not _is_waited_for(task):
            unneeded.append(key)
    if unneeded:
        stimulus = f"daskvars-drop-{time.time()}"
        worker.handle_stimulus(RemoveReplicasEvent(keys=unneeded, stimulus_id=stimulus))


def show_data(worker: Any, show: Callable[[Any, Any], Any]) -> None:
    """Have a worker give ``show(key, value)`` to clients and the scheduler in place of a value.

    Workers say who they are when they ask, others do not.
    """
    get = worker.get_data

    async def get_data(
        comm: Any, keys: Collection[Any], who: str | None = None, serializers: Any = None
    ) -> Any:
        if who is not None:
            return await get(comm, keys=keys, who=who, serializers=serializers)
        data = {
            key: to_serialize(show(key, worker.data[key])) for key in keys if key in worker.data
        }
        await comm.write({"status": "OK", "data": data}, serializers=serializers)
        await comm.read(deserializers=serializers)
        return Status.dont_reply

    worker.handlers["get_data"] = get_data


def locations(scheduler: Scheduler, keys: Iterable[Any]) -> dict[Any, list[str] | None]:
    """Return the workers that have each key, None for one that will not be there any more."""
    found: dict[Any, list[str] | None] = {}
    for key in keys:
        task = scheduler.tasks.get(key)
        if task is None or task.state in ("erred", "forgotten", "released"):
            found[key] = None
        else:
            found[key] = [worker.address for worker in task.who_has or ()]
    return found


# -- in the scheduler ---------------------------------------------------------------------------


def add_handler(scheduler: Scheduler, operation: str, answer: Callable[..., Any]) -> None:
    """Have ``await answer(request=bytes) -> bytes`` answer what clients ask (`call_handler`)."""
    scheduler.handlers[operation] = answer


def add_scheduler_stream_handler(
    scheduler: Scheduler, operation: str, call: Callable[..., Any]
) -> None:
    """Have a scheduler hear what workers and clients tell it on their streams.

    That is ``call(worker=address, **message)`` of `send_to_scheduler`, and
    ``call(client=id, **message)`` of `tell_scheduler`.
    """
    scheduler.stream_handlers[operation] = call


def send_to_workers(scheduler: Scheduler, operation: str, **message: Any) -> list[str]:
    """Tell all workers something, before any task that is sent after it; return who they are."""
    addresses = list(scheduler.workers)
    for address in addresses:
        scheduler.worker_send(address, {"op": operation, **message})
    return addresses


def give_up_on(scheduler: Scheduler, address: str) -> None:
    """Have nobody try any longer to reach a worker that is gone.

    When a worker is removed, Dask breaks off the attempts to reach it that have begun. One that was
    decided on before and begins after goes on for `distributed.comm.timeouts.connect` (30 s), and
    so long waits what it was to fetch.
    """
    if address not in scheduler.workers:
        scheduler.rpc.remove(address)
        stimulus = f"daskvars-gone-{time.time()}"
        send_to_workers(scheduler, "remove-worker", worker=address, stimulus_id=stimulus)


def found_in_report(report: Mapping[str, Any], name: str) -> Any:
    """Return what a worker has added (`add_to_report`), None if nothing.

    Args:
      report: the keywords that `SchedulerPlugin.transition` is called with.
      name: what it is called.
    """
    return (report.get("metadata") or {}).get(name)


def speak_promptly(scheduler: Scheduler, worker: str = "", client: str = "") -> None:
    """Have a scheduler tell a worker, or a client, soon what it has to say."""
    for name, streams in ((worker, scheduler.stream_comms), (client, scheduler.client_comms)):
        if name in streams:
            _shorten(streams[name])


def report_promptly(worker: Any) -> None:
    """Have a worker tell the scheduler soon what it has to say."""
    _shorten(worker.batched_stream)


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
    """Let go of keys on behalf of a holder, if the scheduler knows it. It goes with its last."""
    if keys and holder in scheduler.clients:
        scheduler.client_releases_keys(list(keys), client=holder)
        if not scheduler.clients[holder].wants_what:
            del scheduler.clients[holder]


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


def has_dashboard(scheduler: Scheduler) -> bool:
    """Return whether a scheduler shows a dashboard."""
    return _dashboard_of(scheduler) is not None


def _dashboard_of(scheduler: Scheduler) -> Any | None:
    """Return the Bokeh application among those that a scheduler's HTTP server asks in turn."""
    pages = sys.modules.get("distributed.dashboard.core")
    application = getattr(scheduler, "http_application", None)
    if pages is None or application is None:
        return None
    kind = pages.DaskBokehTornado
    return next((app for app in application.applications if isinstance(app, kind)), None)


def add_to_dashboard(scheduler: Scheduler, path: str, draw: Callable[[Any], None]) -> None:
    """Add a page, which ``draw(document)`` fills, to a scheduler's dashboard, if it has one, and to
    the menu of all pages."""
    first = _dashboard_of(scheduler)
    if first is None:
        return
    pages = sys.modules["distributed.dashboard.core"]
    variables = sys.modules["distributed.dashboard.scheduler"].template_variables(scheduler)
    if path.strip("/") not in variables["pages"]:  # one list, which all pages make their menu of
        variables["pages"].append(path.strip("/"))

    def drawn(scheduler: Any, extra: Mapping[str, Any], document: Any) -> None:
        draw(document)
        components = sys.modules["distributed.dashboard.components.scheduler"]
        document.template = components.env.get_template("simple.html")
        document.theme = components.BOKEH_THEME
        document.template_variables.update(extra)

    application = scheduler.http_application
    app = pages.BokehApplication(
        {path: drawn}, scheduler, prefix=first.prefix, template_variables=variables
    )
    application.add_application(app)
    app.initialize(scheduler.loop)
    app.start()


def add_routes(scheduler: Scheduler, routes: Sequence[tuple[Any, ...]]) -> None:
    """Add routes, as tornado has them, to a scheduler's HTTP server, below its pages' prefix."""
    first = _dashboard_of(scheduler)
    prefix = "" if first is None else first.prefix.rstrip("/")
    scheduler.http_application.add_handlers(r".*", [(prefix + at, *rest) for at, *rest in routes])


# -- spans, which the page of fine performance metrics is filtered by ---------------------------

SPANS = "spans"  # the extension of both sides
SCOPE_SPAN = "daskvars:"  # begins the ids of ours, so that a scope has one for good
SCOPES_SECONDS = "daskvars kernels"  # in a task: seconds that `show_scopes` tells by scope

Spent = Mapping[tuple[str, str], float]
"""Seconds by scope and kernel."""


class Kernels:
    """Stands in a span for the group of tasks that a scope's kernels are not.

    Attributes:
      stop: when workers told of them last, in seconds since the epoch.
    """

    name, done, start, duration, nbytes_total = "", True, 0.0, 0.0, 0
    states: ClassVar[dict[str, int]] = {}
    all_durations: ClassVar[dict[str, float]] = {}

    def __init__(self) -> None:
        self.stop = time.time()


class ScopeSpans(SpansSchedulerExtension):
    """Spans on the scheduler, those of our tasks and kernels by the user's scopes.

    A task of ours is in the span of the scope that it is called after: nobody has to send that.
    Dask opens a new default span whenever all tasks are done, and keeps each for ever with all that
    were in it, which for steps of a training has no end.
    """

    is_ours: Callable[[Any], bool]
    kernels: dict[str, Kernels]

    def observe_tasks(self, tss: Iterable[Any], *args: Any, **kwargs: Any) -> dict[Any, Any]:
        """Put tasks into their spans."""
        tasks = list(tss)
        for task in tasks:
            group = task.group
            if group.span_id is None and self.is_ours(task.key):
                span = self.scope_span(group.prefix.name)
                known = self.scheduler.task_groups
                gone = {g for g in span.groups if g.name and known.get(g.name) is not g}
                span.groups.difference_update(gone)
                span.groups.add(group)
                group.span_id = span.id
        return super().observe_tasks(tasks, *args, **kwargs)

    def scope_span(self, scope: str) -> Span:
        """Return the span of a scope, and make it and those around it if they are new."""
        names = tuple(scope.split("/"))
        ids = tuple(SCOPE_SPAN + "/".join(names[: i + 1]) for i in range(len(names)))
        span = self._ensure_span(names, ids)
        if span.id not in self.kernels:
            found: Any = Kernels()
            self.kernels[span.id] = found
            span.groups.add(found)
        return span

    def heartbeat(self, ws: Any, data: dict[tuple[Any, ...], float]) -> None:
        """Take note of what workers did."""
        for span_id in {found[1] for found in data}:
            if span_id.startswith(SCOPE_SPAN):
                span = self.scope_span(span_id.removeprefix(SCOPE_SPAN))
                self.kernels[span.id].stop = time.time()
        super().heartbeat(ws, data)


class WorkerScopeSpans(SpansWorkerExtension):
    """What a worker tells of spans: kernels' seconds by scope, once a heartbeat."""

    take: Callable[[], Spent]

    def collect_digests(self, digests_total_since_heartbeat: Mapping[Any, float]) -> None:
        """Take what was told since the last heartbeat, and put scopes into it."""
        digests: dict[Any, float] = digests_total_since_heartbeat  # type: ignore[assignment]
        for key in [k for k in digests if isinstance(k, tuple) and SCOPES_SECONDS in k]:
            del digests[key]
        for (scope, kernel), seconds in self.take().items():
            bar = "/".join(scope.split("/")[:2])  # what the page has a bar for
            digests["execute", SCOPE_SPAN + scope, bar, kernel, "seconds"] = seconds
        super().collect_digests(digests)


def refer_to_inputs(scheduler: Scheduler, stays: Callable[[Any], bool]) -> None:
    """Have tasks whose inputs stay where they are not be refused, or kept waiting, for their size.

    Dask's scheduler fails a task whose inputs are larger than its worker's memory, and its workers
    fetch so many bytes at a time. Of inputs that stay, references are fetched, of no size to speak
    of: all of a sharded model is an input of every stage, and it need not fit one worker.

    Args:
      scheduler: that tasks are sent by.
      stays: whether the result under a key stays where it is.
    """
    add = scheduler._add_to_processing

    def added(task: Any, worker: Any, *args: Any, **kwargs: Any) -> Any:
        limit = worker.memory_limit
        if not limit or not any(stays(found.key) for found in task.dependencies):
            return add(task, worker, *args, **kwargs)
        worker.memory_limit = 0
        try:
            return add(task, worker, *args, **kwargs)
        finally:
            worker.memory_limit = limit

    def message(task: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:
        found = make(task, *args, **kwargs)
        sizes = found["nbytes"]
        found["nbytes"] = {key: 1 if stays(key) else size for key, size in sizes.items()}
        return found

    make = scheduler._task_to_msg
    vars(scheduler).update(_add_to_processing=added, _task_to_msg=message)


def span_scopes(scheduler: Scheduler, is_ours: Callable[[Any], bool]) -> None:
    """Have spans be of scopes on a scheduler, if it has spans; tasks of ours are in theirs."""
    found = scheduler.extensions.get(SPANS)
    if isinstance(found, SpansSchedulerExtension) and not isinstance(found, ScopeSpans):
        spans = scheduler.extensions[SPANS] = ScopeSpans(scheduler)
        vars(spans).update(vars(found), is_ours=is_ours, kernels={})


def show_scopes(worker: Worker, take: Callable[[], Spent]) -> None:
    """Have a worker tell ``take()`` with its heartbeats: what was spent since the last one.

    It stands for what its tasks have shown as seconds under `SCOPES_SECONDS`.
    """
    found = worker.extensions.get(SPANS)
    if isinstance(found, SpansWorkerExtension):
        spans = worker.extensions[SPANS] = WorkerScopeSpans(worker)
        vars(spans).update(vars(found), take=take)


def groups_page() -> Any | None:
    """Return the class behind the dashboard's page of task groups, None without a dashboard.

    Its ``update_layout()`` gives positions by group, and for each group both ends of its arrows.
    """
    components = sys.modules.get("distributed.dashboard.components.scheduler")
    return getattr(components, "TaskGroupGraph", None)
