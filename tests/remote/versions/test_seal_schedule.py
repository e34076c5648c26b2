"""When a state is sealed, and whose duty it is: without a scheduler, and by a clock of the test."""

from types import SimpleNamespace

import pytest

from daskvars.remote.versions import seal_schedule
from daskvars.remote.versions.seal_schedule import FIRST_RUNS, MAX_TASKS, PATIENCE_S, SealSchedule


@pytest.fixture
def clock(monkeypatch):
    now = [1_000.0]
    monkeypatch.setattr(seal_schedule, "time", SimpleNamespace(monotonic=lambda: now[0]))
    return now


def sealed_schedule(pause_s):
    """Return the schedule of a state that was just sealed."""
    schedule = SealSchedule()
    schedule.hasten()
    schedule.begin("a", 1)
    assert schedule.end("a", pause_s, is_durable=True) == 1
    return schedule


def test_short_programs_are_not_sealed(clock):
    schedule = SealSchedule()
    for _ in range(FIRST_RUNS - 1):
        schedule.add(True, 1, 0)
    for _ in range(FIRST_RUNS):
        schedule.add(False, 1, 0)  # changes nothing
    assert not schedule.is_due()
    schedule.add(True, 1, 0)
    assert schedule.is_due()


def test_a_seal_is_due_after_the_pause_or_when_much_is_kept(clock):
    schedule = sealed_schedule(pause_s=10)
    schedule.add(True, MAX_TASKS - 1, 0)
    assert not schedule.is_due()
    clock[0] += 10
    assert schedule.is_due()
    for kept in {"num_tasks": MAX_TASKS}, {"retained_bytes": seal_schedule.MAX_RETAINED_BYTES}:
        schedule = sealed_schedule(pause_s=10)
        schedule.add(True, **{"num_tasks": 1, "retained_bytes": 0, **kept})
        assert schedule.is_due()


def test_much_that_is_kept_is_let_go_of_by_a_seal_in_short_programs_too(clock):
    schedule = SealSchedule()
    schedule.add(True, 1, seal_schedule.MAX_RETAINED_BYTES - 1)
    assert not schedule.is_due()
    schedule.add(True, 1, 1)
    assert schedule.is_due()


def test_who_was_asked_and_does_not_begin_loses_the_duty(clock):
    schedule = sealed_schedule(pause_s=0)
    schedule.ask("a")
    assert not schedule.is_due()
    clock[0] += PATIENCE_S
    assert schedule.is_due()
    schedule.begin("b", 2)
    clock[0] += PATIENCE_S
    assert not schedule.is_due()  # it may take as long as it takes
    assert schedule.is_taken("a") and not schedule.is_taken("b")
    assert schedule.end("a", 0, is_durable=True) is None
    assert schedule.is_taken("a")
    schedule.leave("b")
    assert schedule.is_due()


def test_a_seal_that_failed_is_tried_again_after_the_pause(clock):
    schedule = sealed_schedule(pause_s=0)
    schedule.begin("a", 2)
    assert schedule.end("a", 5, is_durable=False) is None
    assert not schedule.is_due()
    clock[0] += 5
    assert schedule.is_due()
