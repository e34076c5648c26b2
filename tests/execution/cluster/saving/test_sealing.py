"""Sealing: a flat cost for ever, and exact values whatever workers die."""

import shutil

import numpy as np
import pytest

import daskvars.v1 as tf
from daskvars import config
from daskvars.errors import (
    AbortedError,
    CorruptChunkError,
    FailedPreconditionError,
    UnavailableError,
)
from daskvars.execution.cluster.results.remote_blocks import remote_blocks
from daskvars.execution.engine import events
from daskvars.state import ZarrStore
from tests.clusters import kill_a_worker
from tests.sessions import initialized
from tests.waiting import wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("graph")]


@pytest.fixture
def mortal(mortal_workers):
    with mortal_workers.as_current():
        yield mortal_workers


def keys_of(session):
    """Return the names of the functions that would compute the variables again."""
    executor = session.engine.acquire()
    blocks = remote_blocks(executor.read(sorted(executor.values.capture()[1])))
    tasks = executor.client.cluster.scheduler.tasks
    return {tasks[block.reference.future.key].run_spec.func.__name__ for block in blocks}


def settled(count):
    """What is counted once it stays the same: what nobody wants goes a moment later."""
    found = []

    def is_same():
        found.append(count())
        return len(found) > 1 and found[-1] == found[-2]

    wait_until(is_same, lambda: f"the counts {found} settle", pause_s=0.2)
    return found[-1]


def test_long_runs_leave_no_trace(cluster, tmp_path):
    v = tf.Variable(np.zeros(40), chunks=10)
    add = tf.group(v.assign_add(np.ones(40)))
    tasks = cluster.cluster.scheduler.tasks
    with config.set(seal_every_s=0.1, scratch=str(tmp_path)), initialized() as session:
        counts = []
        for _ in range(4):
            for _ in range(60):
                session.run(add)
            session.engine.acquire().seal()
            wait_until(lambda: len(tasks) <= 12, lambda: f"tasks are let go, of {[*tasks]}")
            counts.append(settled(lambda: (len(tasks), len(cluster.futures))))
        assert len(set(counts[1:])) == 1
        assert session.engine.acquire().sealer.num_seals > 8  # not only those asked for
        np.testing.assert_array_equal(session.run(v), np.full(40, 240.0))
        (place,) = tmp_path.iterdir()
        assert len([p for p in place.iterdir() if p.name[0] == "v"]) == 1
    assert not [p for p in tmp_path.rglob("*") if p.is_file()]
    wait_until(lambda: not tasks, lambda: f"tasks are let go, of {[*tasks]}")


def test_only_what_changed_is_written_and_told(cluster):
    v, w = tf.Variable(np.zeros(1000), name="v"), tf.Variable(np.zeros(10), name="w")
    add = tf.group(w.assign_add(np.ones(10)))
    found = []
    with initialized() as session, events.subscribed(found.append):
        executor = session.engine.acquire()
        executor.seal()
        session.run(add)
        executor.seal()
        executor.seal()
        sealed = [event for event in found if isinstance(event, events.Sealed)]
        assert [event.nbytes for event in sealed] == [8080, 80]
        assert sealed[0].version < sealed[1].version == executor.sealer.version.number
        assert keys_of(session) == {"load_outputs"}
        assert session.run([v, w])[1][0] == 1.0


def test_a_load_reads_nothing_back_from_where_it_was_written(cluster, tmp_path):
    v = tf.Variable(np.arange(40.0), chunks=10, name="v")
    with config.set(scratch=str(tmp_path)), initialized() as session:
        executor = session.engine.acquire()
        executor.seal()
        assert executor.sealer.store.is_scratch
        for chunk in tmp_path.rglob("c.*"):
            chunk.unlink()
        np.testing.assert_array_equal(session.run(v), np.arange(40.0))


@pytest.mark.parametrize(
    ("value", "chunks"),
    [
        (np.arange(10.0), (7, 3)),  # Zarr's grid
        (np.arange(10.0), ((3, 7),)),  # not Zarr's grid: chunks straddle blocks
        (np.arange(10.0), ((1, 4, 5),)),
        (np.int32(5), None),
        (np.zeros((0, 3), np.float32), None),
        (np.array([True, False]), None),
        (np.arange(200_000.0).reshape(2, -1), (1, -1)),  # over a megabyte: alone
    ],
)
def test_any_layout_is_sealed_and_read_again(cluster, value, chunks):
    v = tf.Variable(value, chunks=chunks, name="v")
    with initialized() as session:
        executor = session.engine.acquire()
        with pytest.raises(FailedPreconditionError, match="durable"):
            executor.recover()
        executor.seal()
        np.testing.assert_array_equal(session.run(v), value)
        session.run(v.assign(v).op)
        assert executor.recover() == executor.sealer.version.number
        found = session.run(v)
        assert found.dtype == value.dtype and type(found) is type(value)
        np.testing.assert_array_equal(found, value)


def test_a_killed_worker_does_not_change_the_numbers(mortal):
    v = tf.Variable(np.arange(400.0), chunks=100)
    total = tf.Variable(0.0, dtype=tf.float64)
    add = tf.group(v.assign_add(np.ones(400)), total.assign_add(tf.reduce_sum(v)))
    with config.set(seal_every_s=0.3), initialized() as session:
        for step in range(80):
            session.run(add)
            if step == 40:
                kill_a_worker(mortal)
        found, sums = session.run([v, total])
        assert session.engine.acquire().sealer.version is not None
    np.testing.assert_array_equal(found, np.arange(400.0) + 80)
    assert sums == sum(np.arange(400.0).sum() + 400 * i for i in range(80))


def test_lost_feeds_are_sent_again(mortal):
    x = tf.placeholder(tf.float64, [None])
    v = tf.Variable(0.0, dtype=tf.float64)
    noise = tf.random_uniform([], seed=3, dtype=tf.float64)
    drawn = tf.Variable(0.0, dtype=tf.float64)
    add = tf.group(v.assign_add(tf.reduce_sum(x)), drawn.assign_add(noise))
    results = []
    for kills in (False, True):
        with config.set(feed_scatter_bytes=8), initialized() as session:
            executor = session.engine.acquire()
            for step in range(9):
                session.run(add, {x: np.full(10, float(step))})
                if kills and step in (4, 7):
                    executor.sync()
                    kill_a_worker(mortal)
            results.append(session.run([v, drawn]))
    assert results[0] == results[1]
    assert results[0][0] == 360.0


def test_what_cannot_be_rebuilt_is_an_error_until_recovery(cluster, tmp_path):
    v = tf.Variable(np.zeros(4), name="v")
    add = tf.group(v.assign_add(np.ones(4)))
    with config.set(scratch=str(tmp_path)), initialized() as session:
        executor = session.engine.acquire()
        executor.seal()
        session.run(add)
        executor.in_flight.lost_runs.discard_log()
        futures = [b.reference.future for b in remote_blocks(executor.read(["v"]))]
        cluster.cancel(futures, force=True)
        with pytest.raises(UnavailableError, match=r"v cannot be rebuilt.*durable version is \d+"):
            session.run(v)
        session.recover()
        np.testing.assert_array_equal(session.run(v), np.zeros(4))
        for chunk in tmp_path.rglob("c.*"):
            chunk.write_bytes(b"damaged")
        with pytest.raises(CorruptChunkError, match="v"):
            executor.recover()


def test_without_a_common_place_history_is_kept(cluster, monkeypatch):
    v = tf.Variable(np.zeros(4), name="v")
    add = tf.group(v.assign_add(np.ones(4)))
    with initialized() as session:
        monkeypatch.setattr(cluster, "run", lambda *args, **options: {"tcp://elsewhere": False})
        with pytest.warns(UserWarning, match=r"elsewhere.*config\.scratch"):
            for _ in range(25):
                session.run(add)
        monkeypatch.undo()
        assert session.run(v)[0] == 25.0


def test_a_seal_over_another_clients_version_is_refused(cluster, tmp_path):
    v = tf.Variable(np.zeros(4), name="v")
    with tf.Session(str(tmp_path)) as session:
        session.run(v.initializer)
        session.seal()
        store = ZarrStore(tmp_path)
        other = store.begin([]).commit().version
        session.run(v.assign_add(np.ones(4)))
        with pytest.raises(AbortedError, match=f"version {other}, committed by process"):
            session.seal()
        assert store.head().version == other
        store.drop(other)
        assert session.run(v).sum() == 4.0


def test_a_durable_store_gets_whole_versions(cluster, tmp_path):
    v, w = tf.Variable(np.zeros(4), name="v"), tf.Variable(np.ones(3), name="w")
    add = tf.group(v.assign_add(np.ones(4)))
    place = str(tmp_path / "store")
    with tf.Session(place) as session:
        store = ZarrStore(place)
        session.run(tf.global_variables_initializer())
        for _ in range(5):
            session.run(add)
            session.engine.seal()
            head = store.head()
            assert set(head.records) == {"v", "w"}
            found = store.read_values(head.version)
            np.testing.assert_array_equal(found["v"][0,], session.run(v))
            np.testing.assert_array_equal(found["w"][0,], np.ones(3))
        assert session.run(w).sum() == 3.0
        assert len(store.snapshots()) <= 3


def test_a_seal_that_was_broken_off_after_its_commit_counts(cluster, monkeypatch):
    """Ctrl-C comes when the version is there: blocks are loaded from it, and the next follows."""

    def interrupted(*_):
        raise KeyboardInterrupt

    v, w = tf.Variable(np.zeros(4)), tf.Variable(np.ones(4))
    add = tf.group(v.assign_add(np.ones(4)))
    with config.set(seal_every_s=1e9), initialized() as session:
        executor = session.engine.acquire()
        for number in range(1, 3):
            session.run(add)
            with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
                patch.setattr(ZarrStore, "publish", interrupted)
                executor.seal()
            assert executor.sealer.version == executor.sealer.store.head().id
            assert keys_of(session) == {"load_outputs"}
            assert executor.recover() == executor.sealer.version.number
            np.testing.assert_array_equal(session.run(v), np.full(4, float(number)))
            executor.seal()
        np.testing.assert_array_equal(session.run(w), np.ones(4))


def test_a_turn_that_was_broken_off_is_taken_again(cluster, monkeypatch):
    """Ctrl-C comes before the client knows that it may seal: the scheduler asks nobody else."""
    v = tf.Variable(0.0)
    add = tf.group(v.assign_add(1.0))
    with config.set(seal_every_s=1e-3), initialized() as session:
        executor = session.engine.acquire()
        asked = executor.call_scheduler

        def interrupted(what, /, **arguments):
            asked(what, **arguments)
            if what == "begin_seal":
                raise KeyboardInterrupt

        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(executor, "call_scheduler", interrupted)
            executor.seal()
        before = executor.sealer.num_seals
        session.run(add)
        session.run(add)
        assert executor.sealer.num_seals > before


def test_private_snapshots_that_somebody_removed_are_written_anew(mortal, tmp_path):
    v, w = tf.Variable(np.zeros(4)), tf.Variable(np.ones(4))
    add = tf.group(v.assign_add(np.ones(4)))
    with config.set(seal_every_s=1e9, scratch=str(tmp_path)), initialized() as session:
        executor = session.engine.acquire()
        for _ in range(2):
            session.run(add)
            executor.seal()
            for place in tmp_path.iterdir():
                shutil.rmtree(place)
        session.run(add)
        executor.seal()
        kill_a_worker(mortal)
        np.testing.assert_array_equal(session.run(v), np.full(4, 3.0))
        np.testing.assert_array_equal(session.run(w), np.ones(4))
