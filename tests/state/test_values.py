"""Hot values: one version to every reader, commits that win or lose whole."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from daskvars.errors import AbortedError, FailedPreconditionError, NotFoundError
from daskvars.state import ConflictError, Values, VariableRecord, forget_values, named_values, save
from tests.at_once import at_once

STEP = VariableRecord("step", "int64", (), ())


def filled(*keys: str) -> Values:
    """Give values with some scalars of 0."""
    values = Values()
    records = {key: VariableRecord(key, "int64", (), ()) for key in keys}
    values.commit({key: {(): np.array(0)} for key in keys}, 0, records)
    return values


def test_a_commit_is_seen_whole() -> None:
    values = filled("a", "b")
    version, blocks = values.read(["b", "a"])
    assert (version, len(blocks), len(values)) == (1, 2, 2)
    assert values.commit({"a": {(): np.array(5)}}, 1) == 2
    assert values.get("a")[()] == 5
    assert values.get("b")[()] == 0
    assert values.record("a").shape == ()


def test_a_loser_changes_nothing() -> None:
    values = filled("a")
    values.commit({"a": {(): np.array(1)}}, 1)
    with pytest.raises(ConflictError, match=r"version 2 .* version 1") as caught:
        values.commit({"a": {(): np.array(9)}}, 1)
    assert isinstance(caught.value, AbortedError)
    assert values.get("a")[()] == 1


def test_uninitialized_variables_are_all_named() -> None:
    values = filled("a")
    assert "a" in values
    assert values.uninitialized(["x", "a", "y"]) == ["x", "y"]
    with pytest.raises(FailedPreconditionError, match="uninitialized value x, y"):
        values.read(["a", "x", "y"])
    for call in (values.get, values.record, values.delete):
        with pytest.raises(FailedPreconditionError, match="uninitialized value x"):
            call("x")


def test_a_new_variable_needs_its_record() -> None:
    values = filled("a")
    with pytest.raises(NotFoundError, match="record of variables x, y"):
        values.commit({key: {(): np.array(1)} for key in ("a", "x", "y")}, 1)
    assert values.version == 1
    assert values.get("a")[()] == 0


def test_what_changed_since_a_snapshot_is_known() -> None:
    values = filled("a", "b", "c")
    version, captured = values.capture()
    values.commit({"b": {(): np.array(1)}}, 1)
    assert captured["b"][1][()] == 0
    values.mark_saved(version)
    assert values.dirty == {"b"}
    values.delete("b")
    assert values.dirty == frozenset()
    assert values.version == 3
    assert "b" not in values


def test_a_capture_can_be_saved(tmp_path) -> None:
    values = filled("a", "b")
    version, captured = values.capture()
    assert save(captured, tmp_path, global_step=version).records.keys() == {"a", "b"}


def test_sessions_of_one_name_share_values() -> None:
    one = named_values("here")
    assert named_values("here") is one
    assert named_values("there") is not one
    forget_values("here")
    forget_values("here")
    assert named_values("here") is not one
    for name in ("here", "there"):
        forget_values(name)


def test_two_clients_of_a_hundred_increments_give_two_hundred() -> None:
    values = filled("a")

    def increment() -> None:
        for _ in range(100):
            while True:
                version, (blocks,) = values.read(["a"])
                try:
                    values.commit({"a": {(): blocks[()] + 1}}, version)
                    break
                except ConflictError:
                    continue

    at_once(increment, increment)
    assert values.get("a")[()] == 200
    assert values.version == 201


class ValuesMachine(RuleBasedStateMachine):
    """Compares `Values` with two dicts."""

    def __init__(self) -> None:
        super().__init__()
        self.values = Values()
        self.model: dict[str, int] = {}
        self.dirty: set[str] = set()
        self.version = 0

    @rule(keys=st.sets(st.sampled_from("abcd")), number=st.integers(), behind=st.integers(0, 2))
    def commit(self, keys: set[str], number: int, behind: int) -> None:
        records = {key: VariableRecord(key, "int64", (), ()) for key in keys}
        updates = {key: {(): number} for key in keys}
        if behind:
            with pytest.raises(ConflictError):
                self.values.commit(updates, self.version - behind, records)
            return
        self.version += 1
        assert self.values.commit(updates, self.version - 1, records) == self.version
        self.model.update(dict.fromkeys(keys, number))
        self.dirty |= keys

    @rule(key=st.sampled_from("abcd"), how=st.sampled_from(["delete", "discard"]))
    def delete(self, key: str, how: str) -> None:
        if key not in self.model:
            with pytest.raises(FailedPreconditionError):
                self.values.delete(key)
            assert not self.values.discard(key)
            return
        if how == "delete":
            assert self.values.delete(key) == self.version + 1
        else:
            assert self.values.discard(key)
        self.version += 1
        del self.model[key]
        self.dirty.discard(key)

    @rule()
    def save(self) -> None:
        self.values.mark_saved(self.values.capture()[0])
        self.dirty.clear()

    @invariant()
    def agrees(self) -> None:
        version, captured = self.values.capture()
        assert version == self.values.version == self.version
        assert {key: blocks[()] for key, (_, blocks) in captured.items()} == self.model
        assert self.values.dirty == self.dirty


TestValuesAgainstModel = ValuesMachine.TestCase
TestValuesAgainstModel.settings = settings(max_examples=30, stateful_step_count=20)
