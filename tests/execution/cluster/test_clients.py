"""Several clients of one cluster on one state: its versions belong to the cluster."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import threading
import time
import weakref

import numpy as np
import pytest
from distributed import get_client

import daskvars.v1 as tf
from daskvars import config
from daskvars.errors import AbortedError, FailedPreconditionError, InvalidArgumentError
from daskvars.execution.cluster.executor import ClusterExecutor
from daskvars.remote import dask_internals
from tests.clusters import connected, running
from tests.execution.cluster.shared_counters import counters, started, state_of
from tests.sessions import run
from tests.waiting import wait_until

pytestmark = [pytest.mark.cluster, pytest.mark.usefixtures("graph")]

TOGETHER = threading.Barrier(3)  # more than there are threads


def test_a_client_that_is_closed_is_let_go_of(cluster):
    v = tf.Variable([1.0, 2.0])
    with connected(cluster.scheduler.address, True) as client:
        assert run(v).tolist() == [1.0, 2.0]
    closed = weakref.ref(client)
    del client
    gc.collect()
    assert closed() is None


def counted():
    with get_client().as_current(), tf.Graph().as_default(), tf.Session() as session:
        count = tf.get_variable("count", initializer=1.0)
        session.run(count.initializer)
        TOGETHER.wait(30)
        return [float(session.run(count.assign_add(1.0))) for _ in range(3)]


def test_tasks_that_run_programs_leave_their_places_to_what_they_wait_for():
    with running(1, processes=False, protocol="tcp://") as client:
        found = [client.submit(counted, key=f"counted-{n}") for n in range(TOGETHER.parties)]
        assert client.gather(found) == [[2.0, 3.0, 4.0]] * TOGETHER.parties


# -- a state of the cluster -------------------------------------------------------------------


def test_a_state_outlives_its_clients(cluster, name):
    count, table, step = counters()
    with connected(cluster.scheduler.address, True), tf.Session(store=name) as session:
        session.run(tf.global_variables_initializer())
        for _ in range(5):
            session.run(step)
        assert isinstance(session.engine.acquire(), ClusterExecutor)
    with tf.Session(store=name) as session:
        number, rows = session.run([count, table])
        assert number == 5 and (rows == 5).all()


@pytest.mark.parametrize("is_left_open", [False, True])
def test_a_state_goes_on_from_its_store_where_that_was_written_without_the_cluster(
    cluster, tmp_path, is_left_open
):
    count, table, step = counters()
    store, address = str(tmp_path / "store"), cluster.scheduler.address
    with contextlib.ExitStack() as stack:
        if is_left_open:
            client = stack.enter_context(connected(address))
            kept = stack.enter_context(tf.Session(store=store))
            with client.as_current():
                kept.run(tf.is_variable_initialized(count))
        with connected(address, True), tf.Session(store=store) as session:
            session.run(tf.global_variables_initializer())
            session.run(step)
        with cluster_ignored(), tf.Session(store=store) as session:
            for _ in range(3):
                session.run(step)
        with connected(address, True), tf.Session(store=store) as session:
            number, rows = session.run([count, table])
            assert number == 4 and (rows == 4).all()
            session.run(step)
            session.engine.seal()
            assert session.run(count) == 5
        if is_left_open:
            with client.as_current():
                assert kept.run(count) == 5
    tf.Session.reset(store)


def test_what_has_changed_on_both_sides_is_told(cluster, tmp_path):
    count, _, step = counters()
    store, address = str(tmp_path / "store"), cluster.scheduler.address
    with connected(address) as client, config.set(seal_every_s=3600.0):
        kept = tf.Session(store=store)
        with client.as_current():
            kept.run(tf.global_variables_initializer())
            kept.engine.seal()
            kept.run([count, step])
        with cluster_ignored(), tf.Session(store=store) as session:
            session.run(step)
        with (
            connected(address, True),
            pytest.warns(UserWarning, match="count.* changed here: a seal will raise"),
        ):
            session = tf.Session(store=store)
            assert session.run(count) == 1
            session.engine.recover()
            assert session.run(count) == 1
            session.run(step)
            session.close()
    tf.Session.reset(store)


@contextlib.contextmanager
def cluster_ignored():
    """As in a process that has no client: what is run is run here."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dask_internals, "current_client", lambda: None)
        yield


def test_clients_see_each_others_commits_at_once(cluster, other, name):
    count, _, step = counters()
    with tf.Session(store=name) as one, other.as_current():
        with cluster.as_current():
            assert not one.run(tf.is_variable_initialized(count))
        with tf.Session(store=name) as two:
            with pytest.raises(FailedPreconditionError, match="count"):
                two.run(count)
            with cluster.as_current():
                one.run(tf.global_variables_initializer())
                one.run(count)  # waits until that is committed
            assert two.run(tf.is_variable_initialized(count))
            for turn in range(4):
                assert two.run([count, step])[0] == 2 * turn + 1
                with cluster.as_current():
                    assert one.run([count, step])[0] == 2 * turn + 2


@pytest.mark.parametrize("consistency", ["serializable", "async"])
def test_two_clients_adding_a_hundred_each_give_two_hundred(cluster, name, consistency):
    count, table, _ = counters()
    with tf.Session(store=name) as session:
        session.run(tf.global_variables_initializer())
        address = cluster.scheduler.address
        clients = [started(address, name, 100, consistency, turn) for turn in (False, True)]
        seen = [0]
        while any(process.is_alive() for process, _ in clients):
            number, rows = session.run([count, table])
            assert (rows == number).all() and number >= seen[-1]
            seen.append(int(number))
        for process, _ in clients:
            process.join()
            assert process.exitcode == 0
        assert session.run(count) == 200
        assert len(set(seen)) > 10
    wait_until(lambda: not state_of(cluster, name).versions.chain, "no run waits for another")


def test_a_killed_client_leaves_a_whole_version_and_nothing_else(cluster, name):
    count, table, step = counters()
    with tf.Session(store=name) as session:
        session.run(tf.global_variables_initializer())
        address = cluster.scheduler.address
        clients = [started(address, name, 10**6, None, False) for _ in range(2)]
        wait_until(
            lambda: all(done.value > 5 for _, done in clients), "every client has run a few times"
        )
        for process, _ in clients:
            os.kill(process.pid, signal.SIGKILL)
            process.join()
        session.run(step)
        number, rows = session.run([count, table])
        sent = sum(done.value for _, done in clients) + 1
        assert (rows == number).all()
        # What returned had been sent, if not yet read by the scheduler.
        assert sent - 40 <= number <= sent + 2
        scheduler = cluster.cluster.scheduler
        wait_until(
            lambda: sum(c.startswith("Client-") for c in scheduler.clients) == 1,
            "the others are gone",
        )
        wait_until(lambda: not state_of(cluster, name).versions.chain, "no run waits for another")
        assert len(state_of(cluster, name).versions.epochs) == 1
        session.seal()
        wait_until(
            lambda: len(scheduler.tasks) < 20, lambda: f"tasks are let go, of {[*scheduler.tasks]}"
        )


# -- failing ----------------------------------------------------------------------------------


def test_a_run_that_fails_undoes_nothing_of_others(cluster, other, name):
    count, table, step = counters()
    slow = tf.py_func(lambda n: (time.sleep(0.3), n)[1], [count.read_value()], tf.int64)
    failing = tf.group(count.assign_add(1000), tf.Assert(tf.less(slow, 0), ["too", slow]))
    with tf.Session(store=name) as one, other.as_current(), tf.Session(store=name) as two:
        two.run(tf.global_variables_initializer())
        two.run(count)  # waits until that is committed
        with cluster.as_current():
            one.run(step)
            one.run(failing)
            one.run(step)
        for _ in range(3):
            two.run(step)
        assert two.run(count) == 4
        with cluster.as_current():
            with pytest.raises(InvalidArgumentError, match="dispatched before"):
                one.run(count)
            number, rows = one.run([count, table])
            assert number == 4 and (rows == 4).all()
            with pytest.raises(InvalidArgumentError, match="too"):
                one.run([failing, count])
            assert one.run(count) == 4


def test_a_read_that_fails_undoes_nothing(cluster, name):
    count, _, step = counters()
    check = tf.Assert(tf.less(count.read_value(), 0), ["never"])
    with tf.Session(store=name) as session:
        session.run(tf.global_variables_initializer())
        for _ in range(3):
            session.run(step)
            with pytest.raises(InvalidArgumentError, match="never"):
                session.run(check)
            session.run(step)
        assert session.run(count) == 6


def test_a_run_that_is_undone_each_time_gives_up(cluster, name, monkeypatch):
    count, _, step = counters()
    with tf.Session(store=name) as session:
        session.run(tf.global_variables_initializer())
        session.run(count)  # waits until that is committed
        versions = state_of(cluster, name).versions
        advance = versions.advance

        def undo():
            if versions.chain and versions.chain[0].is_complete:
                versions._undo(0)

        versions.advance = undo
        with pytest.raises(AbortedError, match="given up after 10 attempts"):
            session.run([step, count])
        versions.advance = advance
        assert session.run(count) == 0


def test_each_client_has_its_own_chunks(cluster, other, name):
    counters()
    with tf.Session(store=name) as session:
        session.run(tf.global_variables_initializer())
    with tf.Graph().as_default(), other.as_current(), tf.Session(store=name) as session:
        table = tf.get_variable("table", [8], tf.int64, chunks=2)
        assert (session.run(table) == 0).all()
        assert session.engine.values.record("table").chunks == ((2, 2, 2, 2),)


# -- asynchronous training --------------------------------------------------------------------


@pytest.mark.parametrize(
    "optimizer", ["GradientDescent", "Momentum", "Adagrad", "Adam", "RMSProp", "Ftrl"]
)
def test_updates_are_made_to_the_newest_with_gradients_of_what_was_seen(
    cluster, other, name, optimizer, tmp_path
):
    start, go = tmp_path / "start", tmp_path / "go"

    def hold(value):
        start.touch()
        wait_until(go.exists, "it may go on", 100)
        return value

    w = tf.get_variable("w", [4], tf.float64, initializer=tf.ones_initializer(), chunks=2)
    seen = tf.py_func(hold, [w.read_value()], tf.float64)
    seen.set_shape([4])
    gradient = tf.placeholder_with_default(seen, [4])
    momentum = {"momentum": 0.5} if optimizer == "Momentum" else {}
    optimizer = getattr(tf.train, f"{optimizer}Optimizer")(0.5, **momentum)
    step = optimizer.apply_gradients([(gradient, w)])
    variables = [w, *optimizer.variables()]
    with tf.Session() as session:  # one after the other
        session.run(tf.global_variables_initializer())
        for value in (3.0, 1.0):
            session.run(step, {gradient: np.full(4, value)})
        expected = session.run(variables)
    with tf.Session(store=name, consistency="async") as one:
        one.run(tf.global_variables_initializer())
        one.run(w)

        def run_slowly():
            with cluster.as_current():
                one.run([step, w])

        slow = threading.Thread(target=run_slowly)  # sees ones, and computes until it may go on
        slow.start()
        with other.as_current(), tf.Session(store=name, consistency="async") as two:
            wait_until(start.exists, "the function has begun")
            versions = state_of(cluster, name).versions
            seen = versions.newest["w"]
            two.run(step, {gradient: np.full(4, 3.0)})
            wait_until(lambda: versions.newest["w"] != seen, "the update arrives")  # it has arrived
            go.touch()
            slow.join()
            found = two.run(variables)
    for value, wanted in zip(found, expected, strict=True):
        np.testing.assert_allclose(value, wanted, rtol=1e-12)


def test_what_is_assigned_depends_on_what_was_seen(cluster, name):
    count, table, step = counters()
    with tf.Session(store=name, consistency="async") as session:
        session.run(tf.global_variables_initializer())
        for _ in range(5):
            session.run(step)
            session.run(count.assign(count + 1))  # its own runs are always seen
        assert session.run(count) == 10
        assert (session.run(table) == 5).all()


def test_a_client_sees_its_own_runs_before_they_have_arrived(cluster, name):
    initialize, report = tf.global_variables_initializer, tf.report_uninitialized_variables
    with tf.Session(store=name) as session:
        for number in range(10):
            tf.get_variable(f"v{number}", [1000], initializer=tf.random_normal_initializer())
            session.run(initialize())
            assert not session.run(report()).size
