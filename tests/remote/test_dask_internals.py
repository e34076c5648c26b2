"""What `daskvars.remote.dask_internals` takes for granted of the Dask that is installed.

Each test says one thing that is relied on; where a new Dask breaks one, only the adapter changes.
"""

import asyncio
import gc
import inspect
import os
import pickle as standard_pickle
import weakref
from contextlib import contextmanager
from functools import partial
from operator import add, getitem
from types import SimpleNamespace

import dask
import dask.array
import numpy as np
import pytest
from dask.sizeof import sizeof
from distributed import Future, Scheduler, SchedulerPlugin, WorkerPlugin, get_client
from distributed.core import Status
from distributed.scheduler import TaskState
from distributed.spill import SpillBuffer
from distributed.worker_state_machine import TaskState as WorkerTask

from daskvars.remote import dask_internals as internals
from daskvars.remote.dask_internals import DataNode, RunGraph, Task, TaskRef
from daskvars.remote.task_outputs import TaskOutputs
from daskvars.versioned import Versioned, changed
from tests import clusters
from tests.waiting import wait_until

pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def client():
    with clusters.running(processes=False, protocol="tcp://") as client:
        yield client


def on_scheduler(client, function, *arguments):
    """Call ``function(scheduler, *arguments)`` in the scheduler's own thread."""
    scheduler = client.cluster.scheduler

    async def call():
        return function(scheduler, *arguments)

    return client.sync(call)


def until(client, condition):
    """Wait until ``condition(scheduler)`` holds, in the scheduler's thread; return its value."""
    return wait_until(lambda: on_scheduler(client, condition), "the scheduler comes to it", 20)


# -- tasks and graphs ---------------------------------------------------------------------------


def test_tasks_of_collections_are_functions_of_what_they_take(client):
    lazy = dask.array.arange(4, chunks=2)
    graph = dask.optimize((lazy + 1).sum())[0].__dask_graph__()
    found = internals.task_functions(dict(graph))
    values = {}
    while len(values) < len(found):
        for key, (function, takes) in found.items():
            if all(taken in values for taken in takes):
                values[key] = function({taken: values[taken] for taken in takes})
    assert 10 in values.values()
    kept = client.persist(lazy)
    (more,) = dask.optimize(kept + 1)
    found = internals.task_functions(dict(more.__dask_graph__()))
    assert {taken for _, takes in found.values() for taken in takes} == set(kept.__dask_keys__())
    assert internals.task_functions({"a": 1, "b": (add, "a", 1)})["b"][0]({"a": 1}) == 2


def test_a_task_tells_key_function_arguments_and_dependencies():
    task = Task("t", add, TaskRef("a"), 2)
    assert (task.key, task.func, task.args[1]) == ("t", add, 2)
    assert task.dependencies == {"a"}
    inner = Task("u", add, Task(None, getitem, TaskRef("b"), 0), 1)
    assert inner.dependencies == {"b"}, "a task as an argument is computed in its place"
    assert DataNode("d", 5).key == "d" and not DataNode("d", 5).dependencies
    assert TaskRef("a").key == "a"


def test_a_graph_is_named_by_its_token_and_not_hashed():
    class Unhashable:
        def __reduce__(self):
            raise AssertionError("the tasks were looked at")

    graph = RunGraph({"k": DataNode("k", Unhashable())}, {}, "a-token")
    assert graph._name.endswith("a-token")
    assert graph.__dask_keys__() == ["k"] and list(graph.__dask_graph__()) == ["k"]


def test_a_client_takes_an_expression_and_annotations_by_key(client):
    home = sorted(client.scheduler_info()["workers"])[1]
    tasks = {"x-1": DataNode("x-1", 1), "y-1": Task("y-1", add, TaskRef("x-1"), 2)}
    graph = RunGraph(tasks, {"workers": {"y-1": [home]}}, "take")
    (future,) = client.get(graph, ["y-1"], sync=False)
    assert isinstance(future, Future) and future.key == "y-1"
    assert future.result(timeout=20) == 3
    assert client.who_has([future])["y-1"] == (home,)


class AddTen:
    """Binds a graph: where it runs is where the scheduler is."""

    def __call__(self, tasks):
        return {key: Task(key, add, task.args[0], 10) for key, task in tasks.items()}


def test_a_graph_is_bound_by_the_scheduler_when_it_takes_it(client):
    graph = RunGraph({"b-1": Task("b-1", add, 1, 1)}, {}, "bind", AddTen())
    assert client.get(graph, ["b-1"]) == [11]


class Recorder(SchedulerPlugin):
    """Notes the keys that are passed to `update_graph`, and how transitions are told."""

    name = "recorder"

    def __init__(self):
        self.graphs, self.transitions = [], []

    def update_graph(self, scheduler, *, client, keys, **_):
        self.graphs.append((client, set(keys), all(key in scheduler.tasks for key in keys)))

    def transition(self, key, start, finish, *args, **kwargs):
        self.transitions.append((key, finish))


def test_plugins_hear_of_graphs_once_their_tasks_are_known_and_of_transitions(client):
    recorder = Recorder()
    on_scheduler(client, lambda scheduler: scheduler.add_plugin(recorder))
    client.get(RunGraph({"p-1": Task("p-1", add, 1, 1)}, {}, "plugin"), ["p-1"])
    on_scheduler(client, lambda scheduler: scheduler.remove_plugin("recorder"))
    assert recorder.graphs == [(client.id, {"p-1"}, True)]
    assert ("p-1", "memory") in recorder.transitions


# -- clients ------------------------------------------------------------------------------------


def test_the_current_client_is_the_default_or_the_one_entered(client):
    assert internals.current_client() is None
    with client.as_current():
        assert internals.current_client() is client is get_client()
    assert internals.current_client() is None


class DiesOnce(WorkerPlugin):
    """Ends the first worker that it is told to, as a kill would, and no other."""

    name = "dies-once"
    idempotent = True

    def __init__(self, marker):
        self.marker = marker

    def setup(self, worker):
        try:
            self.marker.touch(exist_ok=False)
        except FileExistsError:
            return
        os._exit(1)


def test_a_plugin_reaches_all_workers_though_one_dies(tmp_path):
    with clusters.running(2) as client:
        plugin = DiesOnce(tmp_path / "dead")
        internals.register_on_workers(client, plugin)
        assert plugin.marker.exists()
        client.wait_for_workers(2, timeout=60)
        assert set(client.run(lambda dask_worker: "dies-once" in dask_worker.plugins).values()) == {
            True
        }


def test_a_handler_answers_what_a_client_asks(client):
    async def answer(request):
        return request[::-1]

    on_scheduler(client, internals.add_handler, "daskvars_test", answer)
    assert internals.call_handler(client, "daskvars_test", b"abc") == b"cba"
    with pytest.raises(OSError, match="another scheduler"):
        internals.call_handler(client, "daskvars_of_none", b"abc")


def test_an_event_reaches_the_client_it_is_sent_to(client):
    heard = []
    client.subscribe_topic("daskvars-test", heard.append)
    on_scheduler(client, internals.send_event, client.id, "daskvars-test", {"n": 1})
    until(client, lambda scheduler: heard)
    ((stamp, told),) = heard
    assert told == {"n": 1} and stamp > 1e9
    internals.unsubscribe(client, "daskvars-test")


def test_an_event_that_nobody_wants_any_more_is_passed_over(client, caplog):
    class Hearer(list):
        """A list that can be referred to weakly."""

    given_up, later = Hearer(), []
    client.subscribe_topic("daskvars-test", given_up.append)
    client.subscribe_topic("daskvars-later", later.append)
    internals.unsubscribe(client, "daskvars-test")
    gone = weakref.ref(given_up)
    del given_up
    gc.collect()
    assert gone() is None
    for topic in "daskvars-test", "daskvars-later":
        on_scheduler(client, internals.send_event, client.id, topic, topic)
    until(client, lambda scheduler: later)
    assert [told for _, told in later] == ["daskvars-later"] and not caplog.records
    internals.unsubscribe(client, "daskvars-later")


def test_scheduler_and_workers_and_clients_tell_each_other_things(client):
    def listen(dask_scheduler):
        heard = dask_scheduler.daskvars_heard = []

        def hear(worker=None, client=None, **message):
            heard.append((worker or client, message))

        internals.add_scheduler_stream_handler(dask_scheduler, "daskvars-test", hear)

    def answer(dask_worker):
        def told(number):
            internals.send_to_scheduler(dask_worker, "daskvars-test", [number], "")

        internals.add_stream_handler(dask_worker, "daskvars-test", told)

    client.run_on_scheduler(listen)
    client.run(answer)
    asked = client.run_on_scheduler(
        lambda dask_scheduler: internals.send_to_workers(dask_scheduler, "daskvars-test", number=7)
    )
    assert sorted(asked) == sorted(client.scheduler_info()["workers"])
    internals.call_soon(
        client, 0.01, lambda: internals.tell_scheduler(client, "daskvars-test", found=8)
    )
    until(client, lambda dask_scheduler: len(dask_scheduler.daskvars_heard) == len(asked) + 1)
    heard = dict(client.run_on_scheduler(lambda dask_scheduler: dask_scheduler.daskvars_heard))
    assert heard.pop(client.id) == {"found": 8}
    assert heard == {key: {"slices": (7,), "fence": ""} for key in asked}


def test_figures_go_with_heartbeats(client):
    client.run(
        lambda dask_worker: internals.add_figures(dask_worker, "daskvars-test", lambda w: {"n": 3})
    )
    until(
        client,
        lambda dask_scheduler: all(
            w.metrics.get("daskvars-test") == {"n": 3} for w in dask_scheduler.workers.values()
        ),
    )
    client.run(lambda dask_worker: internals.remove_figures(dask_worker, "daskvars-test"))


def test_pickle_takes_functions_by_value():
    assert internals.pickle.loads(internals.pickle.dumps(lambda: 7))() == 7


# -- in a worker --------------------------------------------------------------------------------


def noted():
    internals.show_seconds("our label", 0.5)
    return internals.current_key()


def test_a_task_knows_its_key_and_adds_to_its_figures(client):
    assert internals.current_key() is None
    assert client.get(RunGraph({"n-1": Task("n-1", noted)}, {}, "note"), ["n-1"]) == ["n-1"]

    def seconds(scheduler):
        metrics = scheduler.cumulative_worker_metrics
        return {v for k, v in metrics.items() if "our label" in k and k[-1] == "seconds"}

    assert until(client, seconds) == {0.5}


def test_what_was_spilled_comes_back_in_place_and_where_numpy_wants_it(tmp_path):
    """Wherever in its file an array begins, which what stands before it says."""
    data = SpillBuffer(str(tmp_path), target=1 << 30)
    internals.read_back_aligned(SimpleNamespace(data=data))
    for length in range(16):
        array = np.arange(100_000.0)
        data["key"] = TaskOutputs(["x" * length, Versioned(array)])
        assert data.evict() > array.nbytes
        del array
        text, found = data["key"]
        assert found.flags.aligned
        assert found.flags.writeable
        assert len(text) == length
        assert found[[0, 1, -1]].tolist() == [0, 1, 99_999]
        del data["key"], found


# -- the scheduler's tasks ----------------------------------------------------------------------


def chain(client, stamp):
    """Scatter data, and compute a chain of two keys from it; return the last key's future."""
    (source,) = client.scatter([5], hash=False)
    first, last = f"first-{stamp}", f"last-{stamp}"
    tasks = {
        first: Task(first, add, TaskRef(source.key), 1),
        last: Task(last, add, TaskRef(first), 1),
    }
    (future,) = client.get(RunGraph(tasks, {}, stamp), [last], sync=False)
    future.result(timeout=20)
    return source, future


def test_scheduler_tasks_have_what_is_read_and_set():
    names = set(dir(TaskState)) | set(getattr(TaskState, "__slots__", ()))
    needed = {
        "dependencies",
        "dependents",
        "key",
        "loose_restrictions",
        "nbytes",
        "run_spec",
        "state",
        "who_wants",
        "worker_restrictions",
    }
    assert needed <= names
    assert {"dependencies", "dependents", "key", "state", "waiters"} <= {
        *dir(WorkerTask),
        *getattr(WorkerTask, "__slots__", ()),
        *WorkerTask.__annotations__,
    }
    wanted = inspect.signature(Scheduler.client_desires_keys).parameters
    assert list(wanted)[1:] == ["keys", "client"]
    assert {"key", "finish", "stimulus_id"} <= {
        *inspect.signature(Scheduler.transition).parameters
    } or inspect.signature(Scheduler.transition).parameters["kwargs"]


def test_keys_live_as_long_as_a_holder_that_is_a_name_alone(client):
    _, future = chain(client, "held-0")
    key = future.key
    on_scheduler(client, internals.hold_keys, {key}, "daskvars-holder")
    del future, _
    on_scheduler(client, lambda scheduler: None)
    until(client, lambda scheduler: scheduler.tasks[key].who_wants != set())
    until(client, lambda s: {c.client_key for c in s.tasks[key].who_wants} == {"daskvars-holder"})
    on_scheduler(client, internals.release_keys, {key}, "nobody knows this holder")
    assert on_scheduler(client, lambda scheduler: key in scheduler.tasks)
    on_scheduler(client, internals.release_keys, {key}, "daskvars-holder")
    until(client, lambda s: key not in s.tasks and "daskvars-holder" not in s.clients)


def test_only_scattered_data_cannot_be_made_again(client):
    source, future = chain(client, "inputs-0")
    found = on_scheduler(client, internals.unrepeatable_inputs, [future.key])
    assert found == {source.key}


def test_a_key_with_another_recipe_forgets_what_it_was_computed_from(client):
    client.register_plugin(internals.LineagePlugin())
    source, future = chain(client, "recipe-0")
    key, source_key = future.key, source.key
    recipes = {key: Task(key, int, "70")}
    until(client, lambda scheduler: scheduler.tasks["first-recipe-0"].state == "released")
    on_scheduler(client, internals.replace_lineage, recipes)
    assert on_scheduler(client, lambda scheduler: "first-recipe-0" not in scheduler.tasks)
    workers = client.cluster.workers.values()
    wait_until(
        lambda: not any("first-recipe-0" in worker.state.tasks for worker in workers),
        "workers with the plugin are told",
    )
    for worker in workers:
        assert all(not t.dependencies for k, t in worker.state.tasks.items() if k == key)
        worker.state.validate_state()
    del source
    until(client, lambda scheduler: source_key not in scheduler.tasks)
    assert future.result() == 7, "what is in memory is not disturbed"


def test_a_lost_key_is_made_by_its_new_recipe(client):
    _, future = chain(client, "lost-0")
    key = future.key
    until(client, lambda scheduler: scheduler.tasks["first-lost-0"].state == "released")
    on_scheduler(client, internals.replace_lineage, {key: Task(key, int, "70")})
    on_scheduler(client, lambda scheduler: scheduler.transitions({key: "released"}, "test-lost"))
    assert future.result(timeout=20) == 70


def test_a_task_that_waits_for_a_worker_that_is_gone_can_be_failed(client):
    graph = RunGraph(
        {"s-1": Task("s-1", add, 1, 1)}, {"workers": {"s-1": ["tcp://127.0.0.1:9"]}}, "stranded"
    )
    (future,) = client.get(graph, ["s-1"], sync=False)
    until(client, lambda s: "s-1" in s.tasks and s.tasks["s-1"].state == "no-worker")
    found = on_scheduler(client, lambda s: list(internals.stranded_tasks(s)))
    assert found == [("s-1", {"tcp://127.0.0.1:9"})]
    on_scheduler(client, internals.fail_task, "s-1", internals.stranded_error(*found[0]))
    with pytest.raises(internals.NoValidWorkerError):
        future.result(timeout=20)
    error = future.exception()
    assert type(standard_pickle.loads(standard_pickle.dumps(error))) is type(error)


def test_attempts_to_reach_a_worker_that_is_gone_are_broken_off(client):
    begin_to_reach(client, "tcp://127.0.0.1:9")
    on_scheduler(client, internals.give_up_on, "tcp://127.0.0.1:9")
    wait_until(lambda: set(ends(client).values()) == {"CommClosedError"}, "they end", 20)


def begin_to_reach(client, address):
    """Have workers begin to connect to an address where nobody is."""

    async def begin(dask_worker):
        dask_worker.daskvars_attempt = asyncio.ensure_future(dask_worker.rpc.connect(address))

    client.run(begin)


def ends(client):
    """Return by which error the attempts of `begin_to_reach` ended, None of those that go on."""

    def end(dask_worker):
        attempt = dask_worker.daskvars_attempt
        return type(attempt.exception()).__name__ if attempt.done() else None

    return client.run(end)


def test_a_task_that_only_wished_for_a_worker_runs_when_another_goes_on(client):
    set_status(client, Status.paused)
    wishes = {"workers": {"u-1": ["tcp://127.0.0.1:9"]}, "allow_other_workers": {"u-1": True}}
    graph = RunGraph({"u-1": Task("u-1", add, 1, 1)}, wishes, "unbound")
    (future,) = client.get(graph, ["u-1"], sync=False)
    until(client, lambda s: "u-1" in s.tasks and s.tasks["u-1"].state == "no-worker")
    set_status(client, Status.running)
    until(client, lambda s: len(s.running) == len(s.workers))
    on_scheduler(client, internals.run_unbound_tasks)
    assert future.result(timeout=20) == 2


def set_status(client, status):
    def change(dask_worker):
        if "memory_monitor" in dask_worker.periodic_callbacks:
            dask_worker.periodic_callbacks["memory_monitor"].stop()  # it would set it back
        dask_worker.status = status

    client.run(change)


def test_a_task_that_had_a_result_and_is_to_run_is_computed_again(client):
    _, future = chain(client, "again-0")
    task = on_scheduler(client, lambda s: s.tasks[future.key])
    assert not internals.is_computed_again(task)

    def forget_result(scheduler):
        scheduler.transitions({future.key: "released"}, "test-again")
        return internals.is_computed_again(scheduler.tasks[future.key])

    assert on_scheduler(client, forget_result)
    assert future.result(timeout=20) == 7


def made(rows):
    return TaskOutputs([Versioned(np.zeros((rows, 8))), 1.0])


def with_a_row_changed(bundle):
    def write(arrays, record):
        record(arrays[0], np.array([1]))
        arrays[0][1] = 7.0

    key = internals.current_key()
    found = TaskOutputs([*changed([bundle[0]], key, write), 2.0])
    internals.remeasure(key)
    return found


def weights(keys, dask_worker):
    """What a worker counts for keys, and what its store of data does; both sums are right."""
    state, fast = dask_worker.state, dask_worker.data.fast
    assert state.nbytes == sum(t.nbytes for t in state.tasks.values() if t.key in dask_worker.data)
    assert fast.total_weight == sum(fast.weights.values())
    return [state.tasks[key].nbytes for key in keys], [fast.weights[key] for key in keys]


def test_memory_that_versions_share_is_counted_once(client):
    worker = next(iter(client.scheduler_info()["workers"]))
    first = client.submit(made, 100_000, workers=[worker])
    second = client.submit(with_a_row_changed, first, workers=[worker])
    third = client.submit(with_a_row_changed, second, workers=[worker])
    keys = [future.key for future in (first, second, third)]
    third.result()
    for sizes in client.run(weights, keys, workers=[worker])[worker]:
        assert sizes[0] < 1000 and sizes[1] < 1000 and 6_400_000 < sizes[2] < 6_500_000
    del first, second, third
    until(client, lambda scheduler: not {*keys} & scheduler.tasks.keys())
    client.run(weights, [], workers=[worker])


def test_streams_wait_for_less_after_a_message_than_dask_has_them_wait(client):
    """To the scheduler, from there to a worker and to a client, and from a worker to it."""
    scheduler, worker = client.cluster.scheduler, client.cluster.workers[0]
    streams = [
        client.scheduler_comm,
        scheduler.stream_comms[worker.address],
        scheduler.client_comms[client.id],
        worker.batched_stream,
    ]
    before = [stream.interval for stream in streams]
    assert min(before) > internals.SEND_INTERVAL_S
    internals.send_promptly(client)
    on_scheduler(client, internals.speak_promptly, worker.address)
    assert streams[2].interval == before[2], "only to the worker"
    on_scheduler(client, lambda s: internals.speak_promptly(s, client=client.id))
    on_scheduler(client, lambda s: internals.speak_promptly(s, "tcp://127.0.0.1:1", "nobody"))
    on_scheduler(client, lambda s: internals.report_promptly(worker))
    assert {stream.interval for stream in streams} == {internals.SEND_INTERVAL_S}


class Reports(WorkerPlugin):
    """Adds what a task gave to the word that it is done, once for each key."""

    name = "test-reports"

    def setup(self, worker):
        self.worker = worker

    def transition(self, key, start, finish, **_):
        if str(key).startswith("reported") and (start, finish) == ("executing", "memory"):
            (value, nbytes) = internals.finished_result(self.worker, key)
            internals.add_to_report(self.worker, key, "test", (value, nbytes))


class HearsReports(SchedulerPlugin):
    """Takes note of what was added, and of what was not."""

    name = "test-hears-reports"

    def __init__(self):
        self.found = {}

    def transition(self, key, start, finish, *_, **report):
        if finish == "memory":
            self.found[key] = internals.found_in_report(report, "test")


def test_what_a_worker_adds_comes_with_the_word_that_a_task_is_done(client):
    hears = HearsReports()
    on_scheduler(client, lambda scheduler: scheduler.add_plugin(hears))
    client.register_plugin(Reports())
    for number in range(2):
        client.submit(add, number, 40, key=f"reported-{number}").result()
    client.submit(add, 1, 40, key="silent").result()
    assert hears.found == {
        "reported-0": (40, sizeof(40)),
        "reported-1": (41, sizeof(41)),
        "silent": None,
    }
    assert internals.found_in_report({}, "test") is None
    client.unregister_worker_plugin(Reports.name)
    on_scheduler(client, lambda scheduler: scheduler.remove_plugin(hears.name))


def test_a_result_that_is_not_in_memory_is_none(client):
    worker = client.cluster.workers[0]
    assert internals.finished_result(worker, "nobody computed this") is None


@contextmanager
def hearing(client):
    """Give a worker, what it says to the scheduler, and a function that delays releases there."""
    worker = client.cluster.workers[0]
    said, send = [], worker.batched_send

    def heard(message):
        said.append((message["op"], message.get("key")))
        send(message)

    async def delay(seconds):
        worker.batched_send = heard
        internals.delay_releases(worker, seconds)

    async def restore():
        worker.batched_send = send

    try:
        yield worker, said, partial(client.sync, delay)
    finally:
        client.sync(restore)


def test_what_was_let_go_is_said_with_the_next_message_or_after_a_while(client):
    scheduler = client.cluster.scheduler

    def computed_and_let_go(number):
        future = client.submit(add, number, 1, key=f"let-go-{number}", workers=[worker.address])
        assert future.result() == number + 1
        del future
        wait_until(lambda: f"let-go-{number}" not in worker.data, "it is let go", 20)

    with hearing(client) as (worker, said, delay):
        delay(3600.0)
        computed_and_let_go(1)
        assert ("release-worker-data", "let-go-1") not in said
        computed_and_let_go(2)
        assert said.index(("release-worker-data", "let-go-1")) < said.index(
            ("task-finished", "let-go-2")
        )
        delay(0.05)
        computed_and_let_go(3)
        wait_until(lambda: ("release-worker-data", "let-go-3") in said, "it is said", 20)
        assert until(client, lambda _: "let-go-3" not in scheduler.tasks)


def test_what_came_again_under_its_key_is_not_said_to_be_let_go(client):
    scheduler = client.cluster.scheduler

    def sent(number):
        return client.scatter({"again": number}, hash=False, workers=[worker.address])["again"]

    with hearing(client) as (worker, said, delay):
        delay(3600.0)
        first = sent(1)
        del first
        wait_until(lambda: "again" not in worker.data, "it is let go", 20)
        second = sent(2)
        assert client.submit(add, 1, 1, workers=[worker.address]).result() == 2  # says all before
        assert ("release-worker-data", "again") not in said
        assert second.result() == 2 and scheduler.tasks["again"].state == "memory"


def test_a_task_is_not_refused_for_the_size_of_inputs_that_stay_where_they_are(client):
    """Dask fails a task whose inputs are larger than its worker's memory."""
    scheduler = client.cluster.scheduler
    saved = {name: vars(scheduler).get(name) for name in ("_add_to_processing", "_task_to_msg")}
    limits = {state: state.memory_limit for state in scheduler.workers.values()}

    async def install():
        internals.refer_to_inputs(scheduler, lambda key: str(key).startswith("stays"))
        for state in limits:
            state.memory_limit = 4_000

    async def restore():
        for name in saved:
            del vars(scheduler)[name]
        for state, limit in limits.items():
            state.memory_limit = limit

    client.sync(install)
    try:
        large = [client.submit(bytes, 10_000, key=key, pure=False) for key in ("stays-1", "goes-1")]
        wait_until(lambda: all(each.done() for each in large), "both are made")
        sizes = [client.submit(len, each, key=f"len-{each.key}") for each in large]
        assert sizes[0].result() == 10_000
        with pytest.raises(MemoryError, match="input dependencies"):
            sizes[1].result()
        assert all(state.memory_limit == 4_000 for state in limits)
    finally:
        client.sync(restore)
    assert not any(saved.values())


# -- spans --------------------------------------------------------------------------------------


def test_tasks_of_ours_are_in_the_spans_of_their_scopes_and_others_in_dask_s(client):
    on_scheduler(client, internals.span_scopes, lambda key: key.startswith("layer/dense"))

    def span_of(scheduler, key):
        return scheduler.extensions["spans"].spans[scheduler.tasks[key].group.span_id]

    futures = [client.submit(add, 1, 2, key=key) for key in ("layer/dense-1", "other-1")]
    assert [future.result() for future in futures] == [3, 3]
    found = on_scheduler(client, span_of, "layer/dense-1")
    assert (found.name, found.parent.name) == (("layer", "dense"), ("layer",))
    assert found.stop >= found.start > 0 and found.active_cpu_seconds > 0
    assert on_scheduler(client, span_of, "other-1").name == ("default",)


def test_what_a_worker_spent_by_scope_comes_with_its_heartbeat(client):
    spent = [{("scope/inner", "matmul"): 0.5}]
    worker = client.cluster.workers[0]
    internals.show_scopes(worker, lambda: spent.pop() if spent else {})
    key = "execute", "scope/inner", "matmul", "seconds"

    def told(scheduler):
        return scheduler.extensions["spans"].spans.get("daskvars:scope/inner")

    on_scheduler(client, internals.span_scopes, lambda key: False)
    span = until(client, told)
    assert span.cumulative_worker_metrics[key] == 0.5
    assert span.stop >= span.enqueued
    assert until(client, lambda scheduler: scheduler.cumulative_worker_metrics.get(key)) == 0.5


def test_what_no_task_waits_for_is_copied_not_referred_to(client):
    """A worker that is retired has others take what only it has, also where they used it before."""
    scheduler = client.cluster.scheduler
    owner, taker = client.cluster.workers[0], client.cluster.workers[1]
    gather, send, referred = taker.gather_dep, taker.batched_send, []

    async def refer(address, keys):
        referred.extend(keys)
        return dict.fromkeys(keys, "a reference")

    async def install():
        internals.refer_inputs(taker, refer, lambda value: value == "a reference")

    async def restore():
        taker.gather_dep, taker.batched_send = gather, send
        del taker.daskvars_references

    client.sync(install)
    try:
        made = client.submit(add, "ab", "cd", key="made", workers=[owner.address])
        used = client.submit(len, made, key="used", workers=[taker.address])
        assert used.result() == len("a reference") and referred == ["made"]
        on_taker = partial(internals.drop_references, taker)
        client.sync(called_on_loop, on_taker)
        wait_until(lambda: "made" not in taker.data, "the reference is dropped", 20)

        def acquire(scheduler):
            scheduler.request_acquire_replicas(taker.address, ["made"], stimulus_id="test-acquire")

        on_scheduler(client, acquire)
        until(client, lambda _: len(scheduler.tasks["made"].who_has) == 2)
        assert referred == ["made"] and taker.data["made"] == "abcd"
        del made, used
    finally:
        client.sync(restore)


async def called_on_loop(call):
    return call()
