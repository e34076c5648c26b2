"""Several processes on one store: no update is lost, none is seen in part."""

from __future__ import annotations

import multiprocessing
import os
import random
import shutil
import time
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import daskvars.v1 as tf
from daskvars import config
from daskvars.errors import AbortedError, InvalidArgumentError, StoreError
from daskvars.state import NO_VERSION, ConflictError, VariableRecord, ZarrStore, forget_values
from tests.state.samples import contents
from tests.waiting import wait_until

# Children are forked from a server that has imported everything (tests/fixtures.py).
processes = multiprocessing.get_context("forkserver")

SIZE = 20_000


@pytest.fixture(autouse=True)
def quick():
    with config.set(fsync_seals=False), tf.Graph().as_default():
        yield


@pytest.fixture
def each_run():
    """Make each run a transaction on the store."""
    with config.set(seal_every_s=0):
        yield


def counters() -> tuple:
    """Make a counter, and a table whose every element is to be equal to it."""
    count = tf.get_variable("count", [], tf.int64, initializer=tf.zeros_initializer())
    table = tf.get_variable(
        "table", [SIZE], tf.int64, initializer=tf.zeros_initializer(), chunks=(SIZE // 2,)
    )
    return count, table, tf.group(count.assign_add(1), table.assign_add(tf.ones([SIZE], tf.int64)))


def initialize(path: Path) -> None:
    """Write the first version."""
    with tf.Graph().as_default(), tf.Session(store=path) as session:
        counters()
        session.run(tf.global_variables_initializer())


def add(path: Path, num_runs: int, done) -> None:
    """Count up, each run a transaction, noting how many runs have returned."""
    with (
        config.set(seal_every_s=0, fsync_seals=False),
        tf.Graph().as_default(),
        tf.Session(store=path) as session,
    ):
        step = counters()[2]
        for number in range(num_runs):
            session.run(step)
            done.value = number + 1


def started(path: Path, num_runs: int) -> tuple:
    """Start a process that counts up; give it and the number of its runs that have returned."""
    done = processes.Value("q", 0, lock=False)
    process = processes.Process(target=add, args=(path, num_runs, done))
    process.start()
    return process, done


def stored(path: Path) -> int:
    """Give the count in the store, having checked that all of the head is of one version."""
    store = ZarrStore(path)
    while True:
        head = store.head()
        try:
            values = store.read_values(head.version)
        except StoreError:
            assert store.head().version > head.version  # dropped while it was read
            continue
        blocks = [block for found in values.values() for block in found.values()]
        (number,) = {int(number) for block in blocks for number in np.unique(block)}
        return number


def foreign_commit(path: Path) -> None:
    """Commit a version as another process would: every variable 100."""
    store = ZarrStore(path)
    head = store.head()
    records = [VariableRecord(r.key, r.dtype, r.shape, r.chunks) for r in head.records.values()]
    writer = store.begin(records)
    values = store.read_values(head.version)
    for blocks in values.values():
        for index in blocks:
            blocks[index] = np.full_like(blocks[index], 100)
    writer.write_values(values)
    writer.commit()


@pytest.mark.slow
def test_two_processes_adding_a_hundred_each_give_two_hundred(tmp_path, each_run):
    initialize(tmp_path)
    writers = [started(tmp_path, 100) for _ in range(2)]
    count, table, _ = counters()
    seen = [0]
    with tf.Session(store=tmp_path) as session:  # and a reader sees each version whole, in order
        while any(process.is_alive() for process, _ in writers):
            number, rows = session.run([count, table])
            assert (rows == number).all()
            assert number >= seen[-1]
            seen.append(int(number))
            time.sleep(0.005)
    for process, _ in writers:
        process.join()
        assert process.exitcode == 0
    assert stored(tmp_path) == 200
    assert len(set(seen)) > 10
    assert len(ZarrStore(tmp_path).snapshots()) == 2
    assert len(os.listdir(tmp_path)) == 4


def has_committed(writers):
    return any(done.value for _, done in writers)


@pytest.mark.slow
def test_killed_writers_leave_a_complete_head_and_no_lost_update(tmp_path, each_run):
    chance = random.Random(7)
    initialize(tmp_path)
    before = 0
    for _ in range(12):
        writers = [started(tmp_path, 10**6) for _ in range(2)]
        wait_until(partial(has_committed, writers), "a writer commits", 60, 0.001)
        time.sleep(chance.uniform(0, 0.1))
        for process, _ in writers:
            process.kill()
        for process, _ in writers:
            process.join()
        now = stored(tmp_path)
        # What returned is there; each writer may have been killed between commit and return.
        assert 0 <= now - before - sum(done.value for _, done in writers) <= 2
        before = now
    assert before >= 12
    step = counters()[2]
    with tf.Session(store=tmp_path) as session:
        session.run(step)
    assert stored(tmp_path) == before + 1
    assert len(ZarrStore(tmp_path).snapshots()) == len(list(tmp_path.glob("v*"))) == 2


def test_with_a_period_the_slower_seal_says_who_was_faster_and_loses_nothing(tmp_path):
    initialize(tmp_path)
    count, _, step = counters()
    session = tf.Session(store=tmp_path)
    session.run(step)
    foreign_commit(tmp_path)
    pattern = (
        rf"{tmp_path.name}: values computed from version \d+ cannot be committed, for version \d+, "
        rf"committed by process {os.getpid()} on .* UTC, is the head .*Nothing of this session's "
        r"was written.*recover\(\).*seal_every_s=0"
    )
    for call in (session.seal, session.close, session.close):
        with pytest.raises(AbortedError, match=pattern):
            call()
    assert stored(tmp_path) == 100
    assert session.run(count) == 1  # still open, and with its own values
    session.recover()
    assert session.run(count) == 100
    session.run(step)
    session.close()
    assert stored(tmp_path) == 101


@pytest.mark.parametrize("how", ["deleted", "written anew", "restored from a copy"])
def test_a_seal_on_a_store_that_is_another_now_is_refused_and_writes_nothing(tmp_path, how):
    place, other = tmp_path / "store.zarr", tmp_path / "other.zarr"
    for path in (place, other):
        initialize(path)
    count, table, step = counters()
    session = tf.Session(store=place)
    session.run(table.initializer)
    session.seal()
    foreign_commit(other)
    if how == "restored from a copy":
        shutil.rmtree(other)
        shutil.copytree(place, other)
        session.run(step)
        session.seal()
    base = session.engine.values.base
    shutil.rmtree(place)
    if how != "deleted":
        shutil.copytree(other, place)
        assert ZarrStore(place).head().version <= base.number
    before = contents(place)
    was_there = place.exists()
    session.run(step)
    with pytest.raises(ConflictError) as caught:
        session.seal()
    assert "the store was deleted" in str(caught.value)
    assert "Nothing of this session's was written" in str(caught.value)
    assert contents(place) == before
    assert place.exists() == was_there
    assert session.run(count) >= 1  # still here


def test_what_others_wrote_is_taken_over_at_seals_and_openings(tmp_path):
    initialize(tmp_path)
    count, _, step = counters()
    with tf.Session(store=tmp_path) as session:
        foreign_commit(tmp_path)
        assert session.run(count) == 0
        session.seal()
        assert session.run(count) == 100
        with config.set(seal_every_s=1e-9):
            session.run(step)
            assert stored(tmp_path) == 100
            session.engine.durable._next_s = 0
            assert session.run(count) == 101
            assert stored(tmp_path) == 101
    foreign_commit(tmp_path)
    with tf.Session(store=tmp_path) as session:
        assert session.run(count) == 100


def test_a_run_that_lost_is_done_again_with_the_same_random_numbers(tmp_path, each_run):
    initialize(tmp_path)
    count, _, step = counters()
    calls = []

    def meddle(number):
        calls.append(int(number))
        if len(calls) < 2:
            foreign_commit(tmp_path)
        return number

    noise = tf.random_uniform([4], seed=3)
    seen = tf.py_func(meddle, [count.read_value()], tf.int64)
    with tf.Session(store=tmp_path) as session:
        numbers, _, _ = session.run([noise, seen, step])
        again = session.run(noise)
    assert calls == [0, 100]
    assert stored(tmp_path) == 101
    with tf.Session() as session:
        np.testing.assert_array_equal(session.run(noise), numbers)
        np.testing.assert_array_equal(session.run(noise), again)


def test_a_run_that_always_loses_gives_up(tmp_path, each_run, monkeypatch):
    initialize(tmp_path)
    count, _, step = counters()
    with tf.Session(store=tmp_path) as session:
        store, begin = session.engine.store, session.engine.store.begin

        def begin_late(*args):
            foreign_commit(tmp_path)
            return begin(*args)

        monkeypatch.setattr(store, "begin", begin_late)
        with pytest.raises(AbortedError, match=r"given up after 10 attempts.*by process"):
            session.run(step)
        monkeypatch.undo()
        assert session.run(count) == 100


@pytest.mark.parametrize("present", [False, True])
def test_a_run_that_cannot_be_written_changes_nothing(tmp_path, each_run, monkeypatch, present):
    if present:
        initialize(tmp_path)
    count, _, step = counters()
    with tf.Session(store=tmp_path) as session:

        def refuse(*args):
            raise StoreError(None, None, "no space left")

        monkeypatch.setattr(session.engine.store, "begin", refuse)
        with pytest.raises(StoreError, match="no space"):
            session.run(step if present else tf.global_variables_initializer())
        monkeypatch.undo()
        assert session.run(tf.is_variable_initialized(count)) == present
        if present:
            assert session.run(count) == 0
            with pytest.raises(InvalidArgumentError):
                session.run([step, tf.Assert(False, [count])])
            assert session.run(count) == 0


def test_a_store_that_vanished_from_this_process_is_read_again(tmp_path, each_run):
    initialize(tmp_path)
    forget_values(str(tmp_path))
    count = counters()[0]
    with tf.Session(store=tmp_path) as session:
        session.run(count.assign(7))
        with pytest.raises(ConflictError):
            session.engine.store.begin([], base=NO_VERSION)
    forget_values(str(tmp_path))
    with tf.Session(store=tmp_path) as session:
        assert session.run(count) == 7


def test_a_restored_checkpoint_is_a_transaction_too(tmp_path, each_run):
    path = tmp_path / "store"
    initialize(path)
    count, _, step = counters()
    saver = tf.train.Saver()
    with tf.Session(store=path) as session:
        session.run(step)
        saver.save(session, str(tmp_path / "model"))
        foreign_commit(path)
        assert session.run(count) == 100
        saver.restore(session, str(tmp_path / "model"))
        assert stored(path) == 1
        foreign_commit(path)
        session.run(step)
    assert stored(path) == 101


def test_what_was_not_sealed_before_is_sealed_by_the_first_transaction(tmp_path):
    initialize(tmp_path)
    step = counters()[2]
    with tf.Session(store=tmp_path) as session:
        session.run(step)
        assert stored(tmp_path) == 0
        with config.set(seal_every_s=0):
            session.run(step)
            assert stored(tmp_path) == 2
        session.run(step)
        foreign_commit(tmp_path)
        with config.set(seal_every_s=0), pytest.raises(AbortedError, match="Nothing of this"):
            session.run(step)
        session.recover()
    assert stored(tmp_path) == 100
