"""Values leave a cluster visibly: they come home with their client, or are said to be lost."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
import time
import warnings

import numpy as np
import pytest
from distributed import Status, get_client

import daskvars as dv
import daskvars.v1 as tf
from daskvars import config
from daskvars.errors import FailedPreconditionError, UnavailableError
from daskvars.execution.cluster import executor
from daskvars.execution.cluster.runs import in_flight, sent_feeds
from daskvars.execution.cluster.workers import worker_info
from daskvars.execution.eager import EAGER_CONTEXT
from daskvars.remote.dask_internals import connection_of, sync_while_connected
from daskvars.state import ZarrStore
from tests import clusters, fresh
from tests.waiting import wait_until

pytestmark = pytest.mark.cluster

MAX_S = 10.0  # until the loss of a cluster is told


@pytest.fixture
def cluster():
    with contextlib.closing(clusters.Doomed()) as found:
        yield found


@pytest.fixture
def counting():
    """Two variables of a graph, and what adds one to each."""
    zeros = tf.zeros_initializer()
    with tf.Graph().as_default():
        count = tf.get_variable("count", [], tf.int64, initializer=zeros)
        table = tf.get_variable("table", [8], tf.int64, initializer=zeros, chunks=4)
        step = tf.group(count.assign_add(1), table.assign_add(tf.ones([8], tf.int64)))
        yield count, table, step


@pytest.fixture(params=["private", "named", "on a store"])
def store(request, tmp_path):
    """What a session is opened on."""
    found = {"private": None, "named": request.node.name, "on a store": str(tmp_path / "store")}
    yield found[request.param]
    if request.param == "named":
        tf.Session.reset(found["named"])


def trained(session, client, step, runs=5):
    session.run(tf.global_variables_initializer())
    for _ in range(runs):
        session.run(step)


@contextlib.contextmanager
def soon():
    """What is within takes no longer than the loss of a cluster may take to be told."""
    start = time.monotonic()
    yield
    assert time.monotonic() - start < MAX_S


def test_a_process_that_is_forked_leaves_the_client_to_its_parent(cluster, counting):
    count, _, step = counting
    with cluster.connected() as client, tf.Session() as session:
        trained(session, client, step)
        ours, theirs = multiprocessing.Pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of threads: that is what is tried
            child = os.fork()
        if not child:
            signal.alarm(int(MAX_S))
            with contextlib.suppress(BaseException):
                with pytest.raises(UnavailableError) as error:
                    session.run(step)
                with tf.Session() as own:
                    own.run(tf.global_variables_initializer())
                    theirs.send((error.value.message, own.run(count)))
            os._exit(0)
        os.waitpid(child, 0)
        assert ours.poll()
        message, number = ours.recv()
        assert "left to the process that this one was forked from" in message and number == 0
        session.run(step)
        assert session.run(count) == 6


# -- closed in order --------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["block", "close", "shutdown"])
def test_values_come_home_when_the_client_is_closed(cluster, counting, store, how):
    count, table, step = counting
    session = tf.Session(store=store)
    client = cluster.connected()
    if how == "block":
        with client:
            trained(session, client, step)
    else:
        trained(session, client, step)
        client.close() if how == "close" else client.shutdown()
    number, rows = session.run([count, table])
    assert number == 5 and (rows == 5).all()
    session.run(step)
    assert session.run(count) == 6
    session.close()
    if store and "/" in store:
        assert ZarrStore(store).read_values(ZarrStore(store).head().version)["count"][()] == 6


def test_that_the_current_client_is_closed_is_said_once(cluster, counting, caplog):
    count, _, step = counting
    client = clusters.connected(cluster.address)
    with client.as_current(), tf.Session() as session:
        trained(session, client, step)
        client.close()
        assert [session.run(count), session.run(count)] == [5, 5]
    said = [r.getMessage() for r in caplog.records if "programs run in this process" in r.message]
    assert len(said) == 1 and "Dask client is closed" in said[0]


def test_a_new_client_takes_the_values_along(cluster, counting, store):
    count, table, step = counting
    with tf.Session(store=store) as session:
        with cluster.connected() as client:
            trained(session, client, step)
        with cluster.connected():
            session.run(step)
            number, rows = session.run([count, table])
            assert number == 6 and (rows == 6).all()
            assert session.engine.acquire().placement is not None
        assert session.run(count) == 6


def test_a_closed_session_does_not_come_home(cluster, counting):
    _, _, step = counting
    with cluster.connected() as client, tf.Session() as session:
        trained(session, client, step)
        executor = session.engine.acquire()
    assert not executor.is_retrieved and not len(executor.local)


def test_eager_values_come_home_and_go_to_the_next_client(cluster, eager):
    before = dv.Variable([5.0], name="before")
    assert before.numpy() == [5.0]
    with cluster.connected():
        w = dv.Variable([1.0, 2.0], name="w")
        w.assign_add([1.0, 1.0])
        before.assign_add([1.0])
        np.testing.assert_array_equal(w.numpy(), [2.0, 3.0])
        assert EAGER_CONTEXT.engine.acquire().placement is not None
        pending = w.assign_add([1.0, 1.0])
    np.testing.assert_array_equal(w.numpy(), [3.0, 4.0])
    np.testing.assert_array_equal(pending.numpy(), [3.0, 4.0])
    assert before.numpy() == [6.0]
    with cluster.connected():
        w.assign_add([1.0, 1.0])
        np.testing.assert_array_equal(w.numpy(), [4.0, 5.0])
        assert EAGER_CONTEXT.engine.acquire().placement is not None


def _train(place):
    with get_client().as_current(), tf.Graph().as_default():
        v = tf.get_variable("v", [], initializer=tf.ones_initializer())
        for session in (tf.Session(), tf.Session(store=place)):
            session.run(v.initializer)
            assert session.run(v) == 1.0


def test_a_worker_closes_clients_with_sessions_that_its_tasks_left_open(tmp_path, caplog):
    """On its own event loop, where they cannot wait for anything."""
    with clusters.running(1, processes=False, protocol="tcp://", silence_logs=False) as client:
        client.submit(_train, str(tmp_path / "store")).result()
        (worker,) = client.cluster.workers.values()
    assert worker.status is Status.closed and "Traceback" not in caplog.text
    assert "was not sealed before its client closed, in its own event loop: 1 runs" in caplog.text


# -- durable ----------------------------------------------------------------------------------


def test_a_run_that_has_returned_is_on_disk(cluster, counting, tmp_path):
    count, _, step = counting
    place = str(tmp_path / "store")
    store = ZarrStore(place)
    with config.set(seal_every_s=0), cluster.connected(), tf.Session(store=place) as session:
        session.run(tf.global_variables_initializer())
        for number in range(1, 6):
            session.run(step)
            assert store.read_values(store.head().version)["count"][()] == number
        head = store.head().id
        assert session.run(count) == 5
        assert store.head().id == head, "what changes nothing writes nothing"
        cluster.kill()
        assert store.read_values(store.head().version)["count"][()] == 5
        with pytest.raises(UnavailableError, match="0 runs are lost"):
            session.run(step)
        assert session.recover() == head.number
        session.run(step)
        assert store.read_values(store.head().version)["count"][()] == 6


# -- lost -------------------------------------------------------------------------------------


def test_a_session_that_is_open_when_the_program_ends_is_sealed(cluster, tmp_path):
    found = fresh.python(
        "-c",
        f"""
from distributed import Client
import daskvars.v1 as tf
client = Client({cluster.address!r})
v = tf.get_variable("v", [], initializer=tf.zeros_initializer())
session = tf.Session(store={str(tmp_path / "store")!r})
session.run(v.assign(7.0))
""",
    )
    assert found == (0, "", "")
    store = ZarrStore(tmp_path / "store")
    assert store.read_chunk("v", store.head().version, ()) == 7.0


def test_a_lost_cluster_is_told_until_recovery(cluster, counting, store):
    count, table, step = counting
    session = tf.Session(store=store)
    client = cluster.connected()
    trained(session, client, step)
    session.engine.acquire().seal()
    for _ in range(3):
        session.run(step)
    assert session.run(count) == 8
    cluster.kill()
    for fetch in (count, [step, table], count):
        with soon(), pytest.raises(UnavailableError, match=r"count.*3 runs are lost.*recover\(\)"):
            session.run(fetch)
    if store is None or "/" in store:  # a name's place is the scheduler's
        session.recover()
        if store is None:  # the version that it was set back to went with the cluster
            with pytest.raises(FailedPreconditionError, match="no version of the variables"):
                session.recover()
        number, rows = session.run([count, table])
        assert number == 5 and (rows == 5).all()
    else:
        session.run(tf.global_variables_initializer())
        assert session.run(count) == 0
    session.run(step)
    session.close()
    client.close()


def test_another_scheduler_at_the_address_of_one_that_is_gone_is_another_cluster(cluster, counting):
    """A supervisor starts one, to which Dask connects the client again."""
    count, _, step = counting
    session = tf.Session()
    client = cluster.connected()
    trained(session, cluster, step)
    assert session.run(count) == 5
    before = connection_of(client)
    cluster.kill()
    cluster.start()
    wait_until(lambda: connection_of(client) not in (None, before), "it is connected", within_s=15)
    with soon(), pytest.raises(UnavailableError, match=r"another scheduler.*6 runs are lost"):
        session.run(step)
    for again in (session, tf.Session()):
        again.run(tf.global_variables_initializer())
        again.run(step)
        assert again.run(count) == 1
        assert again.engine.acquire().placement is not None, "it is there that it runs"


def test_who_asks_the_scheduler_does_not_wait_for_one_that_is_gone(cluster):
    client = cluster.connected()
    cluster.kill()
    with soon(), pytest.raises(OSError):
        while True:  # also before the client has noticed it
            sync_while_connected(client, client.scheduler.identity)


def test_a_run_that_failed_is_not_among_those_lost(cluster, counting, store):
    count, _, step = counting
    session = tf.Session(store=store)
    cluster.connected()
    trained(session, cluster, step)
    cluster.pause()
    killer = threading.Timer(0.5, cluster.kill)
    killer.start()
    with soon(), pytest.raises(UnavailableError, match=r"6 runs are lost"):
        session.run([step, count])  # five steps and the initializers have returned
    killer.join()


def test_what_was_never_durable_says_so(cluster, counting):
    count, _, step = counting
    session = tf.Session()
    client = cluster.connected()
    trained(session, client, step)
    assert session.run(count) == 5
    cluster.kill()
    with soon(), pytest.raises(UnavailableError, match="No version of them was durable"):
        session.run(tf.report_uninitialized_variables())
    with pytest.raises(FailedPreconditionError, match="durable"):
        session.recover()
    session.run(tf.global_variables_initializer())
    assert session.run(count) == 0
    session.close()
    client.close()


def test_a_checkpoint_ends_a_loss(cluster, counting, store, tmp_path):
    count, table, step = counting
    saver = tf.train.Saver()
    session = tf.Session(store=store)
    client = cluster.connected()
    trained(session, client, step)
    path = saver.save(session, str(tmp_path / "model"))
    session.run(step)
    session.engine.sync()
    cluster.kill()
    with soon(), pytest.raises(UnavailableError):
        session.run(count)
    saver.restore(session, path)
    number, rows = session.run([count, table])
    assert number == 5 and (rows == 5).all()
    session.run(step)
    session.close()
    client.close()


def test_lost_eager_variables_are_named_and_others_go_on(cluster, eager):
    client = cluster.connected()
    w = dv.Variable([1.0, 2.0], name="lost_one")
    w.assign_add([1.0, 1.0])
    assert w.numpy()[0] == 2.0
    cluster.kill()
    for _ in range(2):
        with soon(), pytest.raises(UnavailableError, match="lost_one"):
            w.numpy()
    other = dv.Variable([7.0], name="new_one")
    assert other.numpy() == [7.0]
    w.assign([5.0, 6.0])
    np.testing.assert_array_equal(w.numpy(), [5.0, 6.0])
    client.close()


@pytest.mark.parametrize("is_closed_first", [True, False])
def test_a_program_that_is_broken_off_with_its_workers_waits_for_no_others(is_closed_first, caplog):
    """As by Ctrl-C, which workers on this machine get as well; Dask starts no others then."""
    with (
        pytest.raises(KeyboardInterrupt),
        clusters.running(1, processes=False, protocol="tcp://", silence_logs=False) as client,
        client.as_current(),
        tf.Graph().as_default(),
    ):
        v = tf.Variable([1.0, 2.0], name="v")
        step = v.assign_add([1.0, 1.0]).op
        session = tf.Session()
        session.run([v.initializer])
        session.run(v)
        client.cluster.scale(0)
        wait_until(lambda: not client.nthreads(), "the worker is gone")
        session.run(step)
        with session if is_closed_first else contextlib.nullcontext():
            raise KeyboardInterrupt
    wanted = "has no worker any more. Given up: this session's variables (v)"
    assert wanted in caplog.text


def test_without_workers_feeds_wait_for_one_and_who_leaves_does_not(monkeypatch):
    monkeypatch.setattr(sent_feeds, "SCATTER_ATTEMPTS", 1)
    monkeypatch.setattr(sent_feeds, "SCATTER_TIMEOUT_S", 0.05)
    monkeypatch.setattr(executor, "LEAVING_S", 0.05)
    monkeypatch.setattr(in_flight, "POLL_S", 0.05)
    monkeypatch.setattr(worker_info, "POLL_S", 0.05)
    with (
        clusters.running(1, processes=False, protocol="tcp://") as client,
        client.as_current(),
        tf.Graph().as_default(),
    ):
        v = tf.get_variable("v", [8], initializer=tf.zeros_initializer())
        x = tf.placeholder(tf.float32, [8])
        step = v.assign_add(x).op
        session = tf.Session()
        session.run(v.initializer)
        session.run(v)
        client.cluster.scale(0)
        wait_until(lambda: not client.nthreads(), "the worker is gone")
        threading.Timer(0.05, client.cluster.scale, [1]).start()
        with config.set(feed_scatter_bytes=16):
            session.run(step, {x: np.ones(8)})
        assert session.run(v)[0] == 1.0
        client.cluster.scale(0)
        wait_until(lambda: not client.nthreads(), "the worker is gone")
        session.run(v.initializer)
        with soon(), pytest.raises(UnavailableError, match=r"\(v\) has had no worker.* lost"):
            session.close()
