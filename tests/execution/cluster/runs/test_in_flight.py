"""Runs in flight on a shared state, without a cluster."""

import math
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import ClassVar

import pytest

from daskvars import config
from daskvars.errors import InvalidArgumentError, UnavailableError
from daskvars.execution.cluster.runs import in_flight
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
    bound = SimpleNamespace(plan=SimpleNamespace(updates={}), new_bytes=nbytes, is_told=False)
    return SentRun(bound, [], {}, False, dispatch=SimpleNamespace(release=lambda: None))


def runs_and_one(monkeypatch):
    """Return runs in flight that gather the values of futures, and one that is sent."""
    executor = SimpleNamespace(values=Values(), check_connected=lambda: None)
    runs = InFlight(executor)
    monkeypatch.setattr(runs, "_gathered", lambda _, futures: [f.value for f in futures])
    return runs, sent_run(0)


def test_results_of_a_run_that_another_thread_sends_again_are_those_of_what_is_sent(monkeypatch):
    """It is known under its number before it has been sent: until then it has no results."""
    runs, run = runs_and_one(monkeypatch)
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


def test_what_is_told_with_the_end_of_a_run_is_not_fetched(monkeypatch):
    """A run that is sent again meanwhile has the results of what is sent."""
    runs, run = runs_and_one(monkeypatch)
    run.bound.is_told = True

    def dispatched(number):
        found = SimpleNamespace(told={}, release=lambda: None)
        fetched = SimpleNamespace(key=number, value="fetched")
        found.fetched_futures = lambda: [] if found.told else [fetched]
        found.assembled = lambda data: [found.told or data[number]]
        runs.runs[number], run.dispatch = run, found

    dispatched(1)
    with ThreadPoolExecutor(1) as threads:
        looking = threads.submit(runs.results, run)
        with pytest.raises(TimeoutError):
            looking.result(timeout=0.1)
        with runs.run_lock:
            del runs.runs[1]
            dispatched(2)
        runs.on_message((0.0, {"done": 2, "told": {"key": b"told"}}))
        assert looking.result(10) == [{"key": b"told"}]


def test_what_was_not_told_with_the_end_of_a_run_is_fetched(monkeypatch):
    runs, run = runs_and_one(monkeypatch)
    run.bound.is_told = True
    fetched = SimpleNamespace(key="key", value=3.0)
    run.dispatch.fetched_futures = lambda: [fetched]
    run.dispatch.assembled = lambda data: [data["key"]]
    runs.runs[1] = run
    runs.on_message((0.0, {"done": 1}))
    assert run.dispatch.told == {} and runs.results(run) == [3.0]


# -- what is broken off, by Ctrl-C, say -------------------------------------------------------


class Dispatched:
    """Stands for `Dispatch`: what is sent is written down, or cannot be sent."""

    sent: ClassVar = []
    refused: ClassVar = None

    def __init__(self, bound, feeds, random_keys, epoch):
        self.bound, self.epoch, self.number = bound, epoch, None
        self.first_phase, self.futures, self.plan = [], [], bound.plan

    def send_first_phase(self):
        pass

    def send(self):
        if self.bound is Dispatched.refused:
            raise UnavailableError(None, None, "no worker may run it")
        Dispatched.sent.append((self.bound, self.epoch))

    def release(self):
        pass


@pytest.fixture
def numbered(monkeypatch):
    """Runs in flight of an executor that numbers them, and what was sent: bound plans, epochs."""
    monkeypatch.setattr(in_flight, "Dispatch", Dispatched)
    monkeypatch.setattr(Dispatched, "sent", [])
    monkeypatch.setattr(Dispatched, "refused", None)
    numbers = iter(range(1, 100))
    executor = SimpleNamespace(
        values=Values(),
        check_connected=lambda: None,
        client=None,
        next_number=lambda: next(numbers),
        refresh=lambda: None,
        sealer=SimpleNamespace(version=None),
        description="a state",
    )
    return InFlight(executor), Dispatched.sent


def new_run(is_awaited=False):
    bound = SimpleNamespace(plan=SimpleNamespace(updates={"v": None}), new_bytes=0)
    return SentRun(bound, [], {}, is_awaited)


def send(runs, *sent):
    for run in sent:
        runs.send(run)
    return [run.dispatch.number for run in sent]


def test_a_run_that_cannot_be_sent_is_not_waited_for(numbered, monkeypatch):
    runs, _ = numbered
    run = new_run()
    monkeypatch.setattr(Dispatched, "refused", run.bound)
    with pytest.raises(UnavailableError, match="no worker"):
        runs.send(run)
    assert not runs.runs
    runs.finish()


def test_a_run_is_sent_or_not_whatever_signal_comes(numbered, monkeypatch):
    runs, sent = numbered
    written = Dispatched.send

    def interrupted(dispatch):
        signal.raise_signal(signal.SIGINT)
        written(dispatch)

    monkeypatch.setattr(Dispatched, "send", interrupted)
    # What a shell starts in the background ignores the signal.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            runs.send(new_run())
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(sent) == len(runs.runs) == 1


@pytest.mark.parametrize("is_awaited", [True, False])
def test_what_breaks_off_the_waiting_loses_no_failure(numbered, monkeypatch, is_awaited):
    runs, sent = numbered
    failing, following = new_run(is_awaited), new_run()
    number, _ = send(runs, failing, following)
    monkeypatch.setattr(runs, "_error", interrupt)
    runs.on_message((0.0, {"failed": number, "why": "erred", "epoch": 1}))
    with pytest.raises(KeyboardInterrupt):
        runs.finish()
    error = InvalidArgumentError(None, None, "it failed")
    monkeypatch.setattr(runs, "_error", lambda *_: error)
    if is_awaited:
        runs.process_messages()
        assert failing.error is error
        assert sent[2:] == [(following.bound, 1)]
        runs.on_message((0.0, {"done": following.dispatch.number}))
    else:
        with pytest.raises(InvalidArgumentError, match="it failed"):
            runs.finish()
        assert failing.error is following.error
        assert len(sent) == 2
    runs.finish()


def interrupt(*_):
    raise KeyboardInterrupt


def test_what_breaks_off_the_sending_again_sends_none_twice(numbered, monkeypatch):
    runs, sent = numbered
    first, second, third = (new_run() for _ in range(3))
    number, *_ = send(runs, first, second, third)
    written = Dispatched.send

    def interrupted(dispatch):
        if dispatch.bound is second.bound:
            raise KeyboardInterrupt
        written(dispatch)

    runs.on_message((0.0, {"undone": number, "epoch": 1}))
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Dispatched, "send", interrupted)
        runs.process_messages()
    runs.process_messages()
    assert sent[3:] == [(run.bound, 1) for run in (first, second, third)]
    assert sorted(runs.runs) == [run.dispatch.number for run in (first, second, third)]


def test_a_run_that_cannot_be_sent_again_fails_with_those_after_it(numbered, monkeypatch):
    runs, sent = numbered
    first, second, third = (new_run() for _ in range(3))
    number, *_ = send(runs, first, second, third)
    monkeypatch.setattr(Dispatched, "refused", second.bound)
    runs.on_message((0.0, {"undone": number, "epoch": 1}))
    with pytest.raises(UnavailableError, match="no worker"):
        runs.process_messages()
    assert sent[3:] == [(first.bound, 1)]
    assert first.error is None
    assert second.error is third.error
    assert list(runs.runs.values()) == [first]
