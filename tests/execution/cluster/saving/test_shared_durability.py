"""A state that clients share outlives workers, clients and the cluster, as far as it is sealed."""

from __future__ import annotations

import os
import shutil
import signal

import numpy as np
import pytest
from distributed import Future

import daskvars.v1 as tf
from daskvars import config
from daskvars.errors import FailedPreconditionError, UnavailableError
from daskvars.state import ConflictError, ZarrStore
from tests.clusters import connected, running
from tests.execution.cluster.shared_counters import counters, processes, started, state_of
from tests.waiting import wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("graph")]


def test_clients_take_turns_at_sealing(cluster, tmp_path):
    place = str(tmp_path / "store")
    count, table, _ = counters()
    with config.set(seal_every_s=0.1), tf.Session(store=place) as session:
        session.run(tf.global_variables_initializer())
        address = cluster.scheduler.address
        clients = [started(address, place, 60, None, turn) for turn in (False, True)]
        for process, _ in clients:
            process.join()
            assert process.exitcode == 0
        session.seal()
        assert session.run(count) == 120
        store = ZarrStore(place)
        assert store.read_values(store.head().version)["count"][()] == 120
        wait_until(lambda: len(cluster.cluster.scheduler.tasks) < 20, "tasks are let go")
        for chunk in tmp_path.rglob("c.*"):
            chunk.unlink()
        assert (session.run(table) == 120).all()  # nothing is read that is on a worker
    tf.Session.reset(place)


def dies_when_it_has_committed(address, place):
    """Seal as a client of its own, and be gone when the version is there, before it is told."""
    ZarrStore.publish = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
    with (
        tf.Graph().as_default(),
        connected(address, set_as_default=True),
        tf.Session(store=place) as session,
    ):
        _, _, step = counters()
        session.run(step)
        session.seal()


def test_a_client_may_be_killed_when_it_has_committed(cluster, tmp_path):
    place = str(tmp_path / "store")
    count, table, step = counters()
    with config.set(seal_every_s=1e9), tf.Session(store=place) as session:
        session.run(tf.global_variables_initializer())
        session.seal()
        process = processes.Process(
            target=dies_when_it_has_committed, args=(cluster.scheduler.address, place)
        )
        process.start()
        process.join()
        assert process.exitcode == -signal.SIGKILL
        session.run(step)
        session.seal()
        store = ZarrStore(place)
        assert store.read_values(store.head().version)["count"][()] == session.run(count) == 2
        assert (session.run(table) == 2).all()
    tf.Session.reset(place)


def test_a_store_that_was_deleted_is_begun_anew(cluster, other, tmp_path):
    place = str(tmp_path / "store")
    count, _, step = counters()
    with config.set(seal_every_s=1e9), tf.Session(store=place) as session:
        session.run(tf.global_variables_initializer())
        session.seal()
        session.run(step)
        shutil.rmtree(place)
        with pytest.raises(ConflictError, match="the store was deleted"):
            session.seal()
        assert session.run(count) == 1
        with pytest.raises(FailedPreconditionError, match="no version"):
            session.recover()
        with pytest.raises(FailedPreconditionError, match="uninitialized"):
            session.run(count)
        session.run(tf.global_variables_initializer())
        session.run(step)
        session.seal()
        store = ZarrStore(place)
        assert store.read_values(store.head().version)["count"][()] == 1
        with other.as_current(), tf.Session(store=place) as second:
            assert second.run(count) == 1
    tf.Session.reset(place)


def two_layers():
    """What benchmarks/flat.py trains, smaller: several regions, so that a value has ancestors."""
    x = tf.placeholder(tf.float32, [8, 16])
    first = tf.get_variable("first", [16, 8], chunks=(16, 4))
    second = tf.get_variable("second", [8, 2], chunks=(4, 2))
    loss = tf.reduce_mean(tf.square(tf.matmul(tf.nn.relu(tf.matmul(x, first)), second) - 1.0))
    return x, tf.train.AdamOptimizer(0.001).minimize(loss)


def tasks_of_worker(dask_worker):
    return len(dask_worker.state.tasks)


@pytest.mark.parametrize("is_on_disk", [False, True])
def test_long_runs_leave_no_trace(cluster, name, is_on_disk, tmp_path):
    """Counts after each of many seals: benchmarks/flat.py looks at time and memory, for longer."""
    place = str(tmp_path / "store") if is_on_disk else name
    x, step = two_layers()
    batch = {x: np.ones((8, 16), np.float32)}
    scheduler = cluster.cluster.scheduler

    def counts():
        return {
            "scheduler": len(scheduler.tasks),
            "client": len(cluster.futures),
            "files": len([p for p in tmp_path.rglob("*") if p.is_file()]),
            "workers": sum(cluster.run(tasks_of_worker).values()),
        }

    with config.set(scratch=str(tmp_path)), tf.Session(store=place) as session:
        session.run(tf.global_variables_initializer())
        num_tasks = int(session.explain(step, batch).split()[0])
        assert num_tasks >= 4
        found = []
        for number in range(8):
            for _ in range(5):
                session.run(step, batch)
            session.seal()
            if number in (2, 7):
                wait_until(
                    lambda: len(scheduler.tasks) < 20,
                    lambda: f"tasks are let go, of {[*scheduler.tasks]}",
                )
                found.append(counts())
    # One task that is kept per seal makes 5; workers may get copies of constants from each other.
    more = {what: found[1][what] - count for what, count in found[0].items()}
    assert more.pop("workers") < 20 and max(more.values()) < 4, found
    tf.Session.reset(place)


def test_a_store_outlives_the_cluster(tmp_path):
    place = str(tmp_path / "store")
    count, table, step = counters()
    for turn in range(2):
        with running(1) as client, client.as_current(), tf.Session(store=place) as session:
            if not turn:
                session.run(tf.global_variables_initializer())
            session.run(step)
            session.seal()
            session.run(step)
            number, rows = session.run([count, table])
            assert number == 2 * turn + 2 and (rows == number).all()
    with tf.Session(store=place) as session:
        assert session.run(count) == 4


@pytest.mark.parametrize("is_on_disk", [False, True])
def test_what_is_lost_is_an_error_until_recovery(cluster, other, name, is_on_disk, tmp_path):
    place = str(tmp_path / "store") if is_on_disk else name
    count, table, step = counters()
    # No other seal comes between, however slow the machine is.
    with (
        config.set(seal_every_s=1e9),
        tf.Session(store=place) as one,
        other.as_current(),
        tf.Session(store=place) as two,
    ):
        two.run(tf.global_variables_initializer())
        with pytest.raises(FailedPreconditionError, match="durable"):
            two.recover()
        two.run(step)
        two.seal()
        assert two.run([step, count])[1] == 2  # what is only sent may not have arrived
        with cluster.as_current():
            assert one.run([step, count])[1] == 3
        held = state_of(cluster, place).versions.finished["count"][1][()].key
        cluster.cancel([Future(held, cluster)], force=True)
        # Each has made a run since the seal, and none of them has them all.
        for session, client in ((one, cluster), (two, other)):
            with (
                client.as_current(),
                pytest.raises(UnavailableError, match=r"count.* cannot be rebuilt.*version is \d+"),
            ):
                session.run(count)
        version = one.recover()
        for session in (two, one):
            number, rows = session.run([count, table])
            assert number == 1 and (rows == 1).all()
        if is_on_disk:
            assert ZarrStore(place).head().version == version
        assert two.run([step, count])[1] == 2
        assert one.run([step, count])[1] == 3
    tf.Session.reset(place)


@pytest.mark.parametrize("is_on_disk", [False, True])
def test_what_one_client_alone_has_run_it_runs_again(cluster, name, is_on_disk, tmp_path):
    place = str(tmp_path / "store") if is_on_disk else name
    count, table, step = counters()
    with tf.Session(store=place) as session:
        session.run(tf.global_variables_initializer())
        session.run(step)
        session.seal()
        for turn in range(3):
            session.run(step)
            session.engine.sync()
            held = state_of(cluster, place).versions.finished["count"][1][()].key
            cluster.cancel([Future(held, cluster)], force=True)
            number, rows = session.run([count, table])
            assert number == turn + 2 and (rows == number).all()
    tf.Session.reset(place)


@pytest.mark.parametrize("in_flight", [0, 12])
def test_a_session_on_a_store_survives_a_restart_of_the_cluster(tmp_path, in_flight):
    place = str(tmp_path / "store")
    count, _, step = counters()
    with running(1) as client, client.as_current(), tf.Session(store=place) as session:
        session.run(tf.global_variables_initializer())
        session.run(step)
        session.seal()
        assert session.run([step, count])[1] == 2
        for _ in range(in_flight):
            session.run(step)
        client.restart()
        assert session.run([step, count])[1] == 3 + in_flight
        assert session.run(count) == 3 + in_flight


def test_a_lost_worker_changes_nothing(mortal_workers):
    name = "mortal"
    count, table, step = counters()
    with mortal_workers.as_current(), tf.Session(store=name) as session:
        session.run(tf.global_variables_initializer())
        pids = mortal_workers.run(os.getpid)
        for turn in range(60):
            session.run(step)
            if turn == 20:
                session.seal()
            if turn == 40:
                os.kill(next(iter(pids.values())), signal.SIGKILL)
        number, rows = session.run([count, table])
        assert number == 60 and (rows == 60).all()


def test_a_checkpoint_is_saved_and_restored_for_all(cluster, other, name, tmp_path):
    count, table, step = counters()
    saver = tf.train.Saver()
    with tf.Session(store=name) as one, other.as_current(), tf.Session(store=name) as two:
        two.run(tf.global_variables_initializer())
        two.run(step)
        path = saver.save(two, str(tmp_path / "model"))
        two.run([step, count])
        with cluster.as_current():
            assert one.run(count) == 2
            saver.restore(one, path)
        assert (two.run(table) == 1).all()


def test_a_state_begins_with_the_variables_of_this_process(two_workers):
    name = "begun here"
    count, _, step = counters()
    with tf.Session(store=name) as session:
        session.run(tf.global_variables_initializer())
        session.run(step)
    with two_workers.as_current(), tf.Session(store=name) as session:
        assert session.run([count, step])[0] == 2
        tf.Session.reset(name)


def test_shapes_that_only_a_run_tells(cluster, name):
    v = tf.Variable(np.zeros(2), validate_shape=False, name="v")
    grown = tf.assign(v, tf.boolean_mask(v, [True, False]), validate_shape=False)
    with tf.Session(store=name) as session:
        session.run(tf.global_variables_initializer())
        session.run(grown)
        assert session.run(v).shape == (1,)
