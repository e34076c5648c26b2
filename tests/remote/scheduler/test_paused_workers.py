"""Workers without memory are told of, and why one was lost is said with the error."""

import time
from types import SimpleNamespace

import pytest

from daskvars.execution.cluster import reports
from daskvars.execution.cluster.errors import unavailable
from daskvars.remote.scheduler import paused_workers
from daskvars.remote.scheduler.paused_workers import TOPIC, PausedWorkers

LIMIT, ADDRESS = 1_000, "tcp://127.0.0.1:1"


class Worker:
    """What is looked at of a worker."""

    name, address, memory_limit, has_what = "a", ADDRESS, LIMIT, ()

    def __init__(self, memory, status):
        self.metrics, self.status = {"memory": memory}, SimpleNamespace(name=status)


@pytest.fixture
def plugin(monkeypatch):
    monkeypatch.setattr(
        "daskvars.remote.scheduler.paused_workers.run_unbound_tasks", lambda s: None
    )
    found = PausedWorkers()
    found.since, found.known, found.last_s, events = {}, {}, time.monotonic(), []
    found.scheduler = SimpleNamespace(
        workers={}, log_event=lambda topic, message: events.append((topic, message))
    )
    return found, events


@pytest.mark.parametrize(
    ("memory", "status", "is_told"),
    [(900, "paused", True), (750, "running", True), (600, "running", False)],
)
def test_a_worker_that_is_gone_is_told_of_if_it_had_little_memory(plugin, memory, status, is_told):
    watcher, events = plugin
    watcher.scheduler.workers[ADDRESS] = Worker(memory, status)
    watcher.poll()
    del watcher.scheduler.workers[ADDRESS]
    events.clear()
    watcher.remove_worker(watcher.scheduler, ADDRESS)
    watcher.poll()
    if not is_told:
        assert events == []
        return
    ((topic, message),) = events
    assert topic == TOPIC and message["is_gone"]
    assert f"limit is 1,000 bytes and its process has {memory:,}" in message["text"]


def test_a_worker_that_goes_on_is_not_gone(plugin):
    watcher, events = plugin
    watcher.scheduler.workers[ADDRESS] = worker = Worker(900, "paused")
    watcher.poll()
    worker.status.name = "running"
    watcher.poll()
    assert [message["is_gone"] for _, message in events] == [False, False]
    assert "goes on" in events[-1][1]["text"]


class FakeClient:
    """What can be referred to."""


def test_the_error_of_what_is_lost_says_that_a_worker_had_no_memory(monkeypatch):
    client, clock = FakeClient(), SimpleNamespace(now=0.0)
    monkeypatch.setattr(reports.time, "monotonic", lambda: clock.now)
    assert reports.recent_memory_loss(client) == ""
    text = "worker a is gone, and had little memory left"
    reports._warn(
        reports.weakref.ref(client), (0.0, {"text": "worker a is paused", "is_gone": False})
    )
    assert reports.recent_memory_loss(client) == ""
    reports._warn(reports.weakref.ref(client), (0.0, {"text": text, "is_gone": True}))
    error = unavailable(KeyError("k"), "run 7", ["w"], None, reports.recent_memory_loss(client))
    assert error.message.endswith(f". {text}")
    clock.now += reports.RECENT_S
    assert reports.recent_memory_loss(client) == "", "what is long ago is no reason"


def test_that_there_is_no_worker_is_told_once_each_time(plugin, monkeypatch):
    watcher, events = plugin
    now = time.monotonic()
    monkeypatch.setattr(paused_workers, "time", SimpleNamespace(monotonic=lambda: now))
    for _ in range(2):
        watcher.scheduler.workers[ADDRESS] = Worker(100, "running")
        watcher.poll()
        del watcher.scheduler.workers[ADDRESS]
        for after, told in ((4, 0), (2, 1), (60, 1)):
            now += after
            watcher.poll()
            assert len(events) == told
        assert "has had no worker for 5 s" in events.pop()[1]["text"]
