"""Runs in flight on a shared state, without a cluster."""

import math
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from daskvars import config
from daskvars.execution.cluster.runs.in_flight import InFlight
from daskvars.execution.cluster.runs.sent_run import SentRun
from daskvars.state import Values


def test_a_seal_does_not_wait_for_room():
    found = []

    def seal_if_requested():
        if executor.sealer.is_requested:
            executor.sealer.is_requested = False
            found.append(len(runs.runs))

    executor = SimpleNamespace(
        sealer=SimpleNamespace(is_requested=False),
        check_connected=lambda: None,
        values=Values(),
        seal_if_requested=seal_if_requested,
        placement=SimpleNamespace(most_in_flight_bytes=math.inf),
    )
    runs = InFlight(executor)
    runs.runs = {number: sent_run(0) for number in range(6)}
    done = [(0.0, {"done": number}) for number in range(1, 6)]
    timers = [
        threading.Timer(0.05, runs.on_message, [(0.0, {"done": 0, "seal": True})]),
        threading.Timer(0.5, lambda: [runs.on_message(event) for event in done]),
    ]
    with config.set(max_in_flight=4):
        for timer in timers:
            timer.start()
        runs.admit(0)
    for timer in timers:
        timer.join()
    assert found == [5]


def test_runs_in_flight_are_bounded_by_the_bytes_of_their_new_values():
    """With room for 100 bytes, 60 in flight leave some for 40 more and none for 41."""
    executor = SimpleNamespace(
        sealer=SimpleNamespace(is_requested=False),
        check_connected=lambda: None,
        values=Values(),
        seal_if_requested=lambda: None,
        placement=SimpleNamespace(most_in_flight_bytes=100),
    )
    runs = InFlight(executor)
    runs.runs = {number: sent_run(20) for number in range(3)}
    runs.admit(40)
    assert len(runs.runs) == 3
    for nbytes, left in (41, 2), (100, 0), (1_000, 0):
        done = [(0.0, {"done": number}) for number in sorted(runs.runs)[: len(runs.runs) - left]]
        timer = threading.Timer(0.05, lambda done=done: [runs.on_message(event) for event in done])
        timer.start()
        runs.admit(nbytes)
        assert len(runs.runs) == left
        timer.join()


def sent_run(nbytes):
    bound = SimpleNamespace(plan=SimpleNamespace(updates={}), new_bytes=nbytes)
    return SentRun(bound, [], {}, False, dispatch=SimpleNamespace(release=lambda: None))


def test_results_of_a_run_that_another_thread_sends_again_are_those_of_what_is_sent(monkeypatch):
    """It is known under its number before it has been sent: until then it has no results."""
    executor = SimpleNamespace(values=Values(), check_connected=lambda: None)
    runs, run = InFlight(executor), sent_run(0)
    monkeypatch.setattr(runs, "_gathered", lambda _, futures: [f.value for f in futures])
    fetched = []
    run.dispatch = SimpleNamespace(
        fetched_futures=lambda: list(fetched), assembled=lambda data: [data["key"]]
    )
    run.is_done = True
    looked = threading.Event()

    def look():
        looked.set()
        return runs.results(run)

    with ThreadPoolExecutor(1) as threads:
        with runs.run_lock:
            looking = threads.submit(look)
            assert looked.wait(10)
            with pytest.raises(TimeoutError):
                looking.result(timeout=0.1)
            fetched.append(SimpleNamespace(key="key", value=3.0))
        assert looking.result(10) == [3.0]
