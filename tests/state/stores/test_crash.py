"""A process killed at any moment of a save leaves the old checkpoint or the new one."""

from __future__ import annotations

import multiprocessing
import random
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from zarr.storage import MemoryStore as ZarrMemoryStore

from daskvars.errors import NotFoundError, StoreError
from daskvars.state import ZarrStore, list_variables, restore, save
from daskvars.state.format.snapshot import OWN_OBJECT
from tests.state.samples import variable
from tests.waiting import wait_until

NUM_VARIABLES = 12
NUM_TRIALS = 20

# Children are forked from a server that has imported everything (tests/fixtures.py).
processes = multiprocessing.get_context("forkserver")


def save_checkpoints(path: Path, saved) -> None:
    """Save one checkpoint after the other until killed, noting the last step saved."""
    step = saved.value
    while True:
        step += 1
        save(state(step), path, global_step=step)
        saved.value = step


def commit_versions(path: Path, saved) -> None:
    """Commit one version after the other until killed, noting the last step committed."""
    store, step = ZarrStore(path), saved.value
    while True:
        step += 1
        values = state(step)
        writer = store.begin([record for record, _ in values.values()], step)
        writer.write_values({key: blocks for key, (_, blocks) in values.items()})
        writer.commit(global_step=step)
        saved.value = step


def state(step: int) -> dict:
    """Give variables whose every element is the step; their names change with it a little."""
    keys = [f"scope{i % 3}/w{i}" for i in range(NUM_VARIABLES)] + [f"only{step % 2}/x"]
    return {key: variable(key, np.full((64, 64), step), ((32, 32), (64,))) for key in keys}


def last_step_of_killed_writer(
    write: Callable, path: Path, step: int, delay_s: float, num_saves: int
) -> int:
    """Run a writer, kill it a while after so many saves, and give the last step that it noted."""
    saved = processes.Value("q", step, lock=False)
    process = processes.Process(target=write, args=(path, saved))
    process.start()
    wait_until(lambda: saved.value >= step + num_saves, "the writer saves", 100, 0.001)
    time.sleep(delay_s)
    process.kill()
    process.join()
    return saved.value


def restored_step(path: Path) -> int:
    """Restore a checkpoint and give its step, having checked that all of it is of one step."""
    wanted = {key: ("int64", shape, ((64,), (64,))) for key, shape in list_variables(path)}
    found = restore(path, wanted)
    steps = {int(step) for blocks in found.values() for step in np.unique(blocks[0, 0])}
    assert len(steps) == 1, steps
    step = steps.pop()
    assert set(found) == set(state(step))
    return step


def delays(seed: int, num_trials: int, longest_s: float) -> list[float]:
    """Draw the moments at which writers are killed."""
    chance = random.Random(seed)
    return [chance.uniform(0, longest_s) for _ in range(num_trials)]


@pytest.mark.slow
def test_a_killed_save_leaves_the_old_checkpoint_or_the_new(tmp_path) -> None:
    path, step = tmp_path / "model", 1
    save(state(step), path)
    for trial, delay_s in enumerate(delays(3, NUM_TRIALS, 0.2)):
        said = last_step_of_killed_writer(save_checkpoints, path, step, delay_s, trial % 2)
        step = restored_step(path)
        assert step in (said, said + 1)
    assert step > 1
    save(state(1000), path)
    assert restored_step(path) == 1000
    files = [file for file in path.rglob("*") if file.is_file()]
    assert all(OWN_OBJECT.fullmatch(file.name) for file in files)
    num_variables, num_scopes = NUM_VARIABLES + 1, 4
    assert len(files) == 1 + num_scopes + 3 * num_variables


@pytest.mark.slow
def test_a_killed_first_save_leaves_nothing_or_the_whole(tmp_path) -> None:
    outcomes = set()
    for trial, delay_s in enumerate(delays(5, NUM_TRIALS // 2, 0.1)):
        path = tmp_path / str(trial)
        said = last_step_of_killed_writer(save_checkpoints, path, 0, delay_s, trial % 2)
        try:
            found = restored_step(path)
        except (NotFoundError, StoreError):
            found = 0
        assert found in (said, said + 1)
        outcomes.add(found)
    assert len(outcomes) > 1


@pytest.mark.slow
def test_a_killed_store_opens_at_its_last_commit(tmp_path) -> None:
    step = 0
    for trial, delay_s in enumerate(delays(4, NUM_TRIALS // 2, 0.2)):
        said = last_step_of_killed_writer(commit_versions, tmp_path, step, delay_s, trial % 2)
        head = ZarrStore(tmp_path).head()
        found = head.global_step if head else 0
        assert found in (said, said + 1)
        if head:
            values = ZarrStore(tmp_path).read_values(head.version)
            assert {int(b.min()) for v in values.values() for b in v.values()} == {found}
        step = found
    assert step > 0


class Killed(BaseException):
    """Stands for the end of the process."""


class MortalStore(ZarrMemoryStore):
    """A Zarr store whose process dies at a given write or deletion, and stays dead."""

    def __init__(self, objects: dict, num_writes: int) -> None:
        super().__init__(objects)
        self.num_writes = num_writes

    def spend(self) -> None:
        """Count a change, or die."""
        if self.num_writes == 0:
            raise Killed
        self.num_writes -= 1

    async def set(self, key, value, byte_range=None) -> None:
        self.spend()
        await super().set(key, value, byte_range)

    async def delete(self, key) -> None:
        self.spend()
        await super().delete(key)


def small_state(step: int) -> dict:
    """Give a few variables of one step; one of them has another name at each step."""
    keys = ["a", "b/c", f"only{step}/x"]
    return {key: variable(key, np.full(4, step), ((2, 2),)) for key in keys}


def stored_step(store) -> int:
    """Restore a small state and give its step, having checked that all of it is of one step."""
    wanted = {key: ("int64", (4,), ((4,),)) for key, _ in list_variables(store)}
    found = restore(store, wanted)
    steps = {int(step) for blocks in found.values() for step in blocks[0,]}
    assert len(steps) == 1
    assert found.keys() == small_state(*steps).keys()
    return steps.pop()


def changes_of_a_save(objects: dict, step: int, num_writes: int) -> bool:
    """Save a small state with a process that lives for a number of changes; tell if it lived."""
    store = MortalStore(objects, num_writes)
    try:
        save(small_state(step), store)
    except Killed:
        return False
    return True


@pytest.mark.slow
def test_each_change_of_the_store_may_be_the_last() -> None:
    start: dict = {}
    assert changes_of_a_save(start, 1, 1000)
    outcomes, num_writes, lived = [], 0, False
    while not lived:
        objects = dict(start)
        lived = changes_of_a_save(objects, 2, num_writes)
        outcomes.append(stored_step(ZarrMemoryStore(objects)))
        for again in (0, 5, num_writes):  # and so may be one of the next process
            later = dict(objects)
            changes_of_a_save(later, 3, again)
            assert stored_step(ZarrMemoryStore(later)) in (outcomes[-1], 3)
        assert changes_of_a_save(objects, 5, 1000)
        assert stored_step(ZarrMemoryStore(objects)) == 5
        assert len(objects) == len(start)
        num_writes += 1
    assert outcomes == sorted(outcomes)
    assert set(outcomes) == {1, 2}


def test_a_first_save_is_there_when_its_last_write_is() -> None:
    num_writes, lived, outcomes = 0, False, []
    while not lived:
        objects: dict = {}
        lived = changes_of_a_save(objects, 1, num_writes)
        try:
            outcomes.append(stored_step(ZarrMemoryStore(objects)))
        except (NotFoundError, StoreError):
            outcomes.append(0)
        num_writes += 1
    assert outcomes == [0] * (len(outcomes) - 1) + [1]
