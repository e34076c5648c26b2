"""The chain of versions of a shared state: binding, finishing, undoing, epochs, held keys."""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest

from daskvars.remote.dask_internals import Task, TaskRef
from daskvars.remote.versions.commit_order import (
    BlockLocation,
    BlockRef,
    LostStateError,
    RunHeader,
    SharedVersions,
    StaleEpochError,
    StaleViewError,
)
from daskvars.remote.versions.version_keeper import VersionKeeper
from daskvars.state import VariableRecord

RECORD = VariableRecord("v", "float64", (), ())


@pytest.fixture
def message():
    return []


@pytest.fixture
def versions(message):
    versions = SharedVersions(lambda session, notice: message.append((session, notice)))
    versions.epochs.update(a=0, b=0)
    return versions


def send(versions, session, number, stale=False, writes=True, early=False, epoch=0, lost=()):
    """Bind a run that adds to `v`; give it, and the key of `v` that it takes."""
    new = {"v": (RECORD, {(): BlockLocation(f"{session}{number}", None)})} if writes else {}
    header = RunHeader("s", session, epoch, number, (f"{session}{number}",), new, {}, early)
    refs = [BlockRef("v", (), stale)] if versions.newest else []
    pending, found = versions.bind(header, refs, lambda key: key not in lost)
    return pending, *(location.key for location in found.values())


def finish(versions, *runs):
    for pending in runs:
        versions.graph_registered(pending, set())


def test_runs_are_bound_to_the_one_before_and_finished_in_order(versions, message):
    (first,) = send(versions, "a", 1)
    second, taken = send(versions, "b", 1)
    third, again = send(versions, "a", 2)
    assert (taken, again) == ("a1", "b1")
    finish(versions, second, third)
    assert not message
    finish(versions, first)
    assert message == [("a", {"done": 1}), ("b", {"done": 1}), ("a", {"done": 2})]
    assert versions.finished["v"][1][()].key == "a2"
    assert set(versions.holds) == {"a2"}
    assert sorted(set(versions.dropped)) == ["a1", "b1"]


def test_a_failure_undoes_what_came_after_and_begins_epochs(versions, message):
    finish(versions, *send(versions, "a", 1))
    failing, _ = send(versions, "a", 2)
    send(versions, "b", 1)
    send(versions, "a", 3)
    message.clear()
    versions.fail(failing, "erred")
    assert message == [
        ("b", {"undone": 1, "epoch": 1}),
        ("a", {"failed": 2, "why": "erred", "epoch": 1}),
    ]
    assert set(versions.holds) == {"a1"}
    for session in "ab":
        with pytest.raises(StaleEpochError):
            send(versions, session, 9)
    assert send(versions, "b", 2, epoch=1)[1] == "a1"


def drop(versions, number, *written, epoch=0):
    """Bind a run that writes some variables, and after which `v` is dropped."""
    new = {key: (RECORD, {(): BlockLocation(f"a{number}", None)}) for key in written}
    header = RunHeader(
        "s", "a", epoch, number, (f"a{number}",), new, {}, drops=frozenset("v") - new.keys()
    )
    return versions.bind(header, [], lambda key: True)[0]


def test_what_is_dropped_is_there_until_the_run_that_drops_it_is_finished(versions):
    finish(versions, *send(versions, "a", 1))
    reading, taken = send(versions, "b", 1, writes=False)
    dropping = drop(versions, 2, "w")
    with pytest.raises(StaleViewError, match="'v' has no block"):
        send(versions, "a", 3)
    finish(versions, dropping)
    assert taken == "a1" and "a1" in versions.holds
    finish(versions, reading)
    assert versions.finished.keys() == versions.changed.keys() == {"w"}
    assert set(versions.holds) == {"a2"} and "a1" in versions.dropped


def test_what_is_dropped_is_there_again_when_that_is_undone(versions):
    finish(versions, *send(versions, "a", 1))
    versions.fail(drop(versions, 2, "w"), "erred")
    assert versions.newest.keys() == {"v"} and set(versions.holds) == {"a1"}
    finish(versions, drop(versions, 3, "w", epoch=1))
    assert versions.finished.keys() == {"w"} and set(versions.holds) == {"a3"}


def test_a_variable_of_the_same_name_takes_the_place_of_what_is_dropped(versions):
    finish(versions, *send(versions, "a", 1))
    dropping, again = drop(versions, 2, "w"), drop(versions, 3, "v")
    finish(versions, dropping, again)
    assert {key: found[1][()].key for key, found in versions.finished.items()} == {
        "w": "a2",
        "v": "a3",
    }
    assert set(versions.holds) == {"a2", "a3"} and "a1" in versions.dropped


def test_a_read_that_fails_undoes_nothing(versions, message):
    finish(versions, *send(versions, "a", 1))
    reading, _ = send(versions, "b", 1, writes=False)
    after, _ = send(versions, "a", 2)
    versions.fail(reading, "erred")
    finish(versions, after)
    assert message[1:] == [("b", {"failed": 1, "why": "erred"}), ("a", {"done": 2})]
    assert versions.epochs == {"a": 0, "b": 0}


def test_what_is_seen_is_finished_or_ones_own(versions):
    finish(versions, *send(versions, "a", 1))
    send(versions, "a", 2)
    assert send(versions, "b", 1, stale=True, writes=False)[1] == "a1"
    assert send(versions, "a", 3, stale=True, early=True)[1] == "a2"
    assert [pending.header.number for pending in versions.chain] == [2, 1]


def test_what_a_run_takes_is_held_until_it_is_known(versions):
    finish(versions, *send(versions, "a", 1))
    early, taken = send(versions, "b", 1, stale=True, early=True)
    finish(versions, send(versions, "a", 2)[0])
    assert taken == "a1" and versions.holds["a1"] == 1
    finish(versions, early)
    assert set(versions.holds) == {"a2"}


def test_a_run_that_expects_otherwise_is_refused(versions):
    other = VariableRecord("v", "float32", (), ())
    header = RunHeader("s", "a", 0, 1, ("a1",), {}, {"v": other})
    with pytest.raises(StaleViewError, match="without a value"):
        versions.bind(header, (), bool)
    finish(versions, *send(versions, "a", 1))
    with pytest.raises(StaleViewError, match="float64 in chunks"):
        versions.bind(header, (), bool)
    assert versions.refuse(header) == {"failed": 1, "why": "refused", "epoch": 1}


def test_lost_blocks_are_named_with_the_last_durable_version(versions):
    finish(versions, *send(versions, "a", 1))
    with pytest.raises(LostStateError, match=r"run 2 .* v cannot be rebuilt; no version was"):
        send(versions, "a", 2, lost=("a1",))
    send(versions, "b", 1)
    versions.reset({"v": (RECORD, {(): BlockLocation("load", None)})}, 7)
    assert set(versions.holds) == {"load"} and not versions.chain
    with pytest.raises(LostStateError, match="durable version is 7"):
        send(versions, "a", 3, lost=("load",))


def test_a_run_of_an_epoch_that_is_over_is_not_refused_for_what_it_lacks(versions):
    """A refusal begins the epoch after the run's: one that the session has left already."""
    keeper = VersionKeeper()
    keeper.lock, keeper.expected = threading.RLock(), set()
    keeper.scheduler = SimpleNamespace(tasks={})
    keeper.states = {"s": SimpleNamespace(versions=versions)}
    versions.epochs["a"] = 2
    late = RunHeader("s", "a", 0, 3, ("a3",))
    with pytest.raises(StaleEpochError):
        keeper.bound(late, {"a3": Task("a3", list, TaskRef("a feed that is gone"))})
    assert versions.epochs["a"] == 2
