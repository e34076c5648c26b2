"""Devices are obeyed or refused, bytes are balanced, workers of a device may go and come back."""

import logging
import types
from collections import defaultdict

import numpy as np
import pytest
from dask.utils import key_split
from distributed import SchedulerPlugin, Worker

import daskvars as dv
import daskvars.v1 as tf
from daskvars.errors import InvalidArgumentError, ResourceExhaustedError, UnavailableError
from daskvars.execution.cluster.results.remote_blocks import remote_blocks
from daskvars.execution.cluster.workers import devices as device_workers
from daskvars.execution.cluster.workers.devices import matching
from daskvars.execution.cluster.workers.placement import ClusterPlacement
from daskvars.execution.cluster.workers.worker_info import WorkerInfo, task_of
from daskvars.graph.definitions.opdef import Spec
from tests import clusters
from tests.execution.cluster.shared_counters import blocks_of
from tests.sessions import initialized

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(120), pytest.mark.usefixtures("graph")]

CPU, GPU = {}, {"GPU": 1}
MIXED = {"ps-0": CPU, "ps-1": CPU, "worker-0": CPU, "worker-1": GPU, "worker-2": GPU}


def worker_spec(resources):
    options = {"nthreads": 1, "resources": resources, "dashboard_address": None}
    return {"cls": Worker, "options": options}


class cluster_of:
    """A client of a cluster of workers in this process, by name; not the default client."""

    def __init__(self, **resources):
        self.cluster = clusters.specified(
            {name.replace("_", "-"): worker_spec(found) for name, found in resources.items()}
        )
        self.client = clusters.connected(self.cluster)

    def __enter__(self):
        return self.client

    def __exit__(self, *_):
        self.client.close()
        self.cluster.close()


class Log(SchedulerPlugin):
    """Writes down on which worker every task ran."""

    name = "where-tasks-ran"

    def __init__(self):
        self.ran = []

    def transition(self, key, start, finish, *_, worker=None, **__):
        if (start, finish) == ("processing", "memory"):
            self.ran.append((key, worker))


@pytest.fixture(scope="module")
def mixed():
    with cluster_of(**{name.replace("-", "_"): found for name, found in MIXED.items()}) as client:
        client.register_plugin(Log())
        yield client


@pytest.fixture
def client(mixed):
    with mixed.as_current():
        yield mixed


def ran(client):
    """Where tasks ran: prefix of their keys -> names of workers."""
    log = client.run_on_scheduler(
        lambda dask_scheduler: list(dask_scheduler.plugins["where-tasks-ran"].ran)
    )
    names = {w: str(v["name"]) for w, v in client.scheduler_info(n_workers=-1)["workers"].items()}
    found = defaultdict(set)
    for key, worker in log:
        found[key_split(key)].add(names[worker])
    return found


def held_by(client, session, keys=None):
    """Bytes that each worker holds of some variables, by the worker's name."""
    names = {w: str(v["name"]) for w, v in client.scheduler_info(n_workers=-1)["workers"].items()}
    found = dict.fromkeys(names.values(), 0)
    for key, (record, blocks) in blocks_of(session).items():
        if keys is None or key in keys:
            futures = [b.reference.future for b in remote_blocks([blocks])]
            for future, workers in zip(
                futures, map(client.who_has, map(_one, futures)), strict=True
            ):
                for worker in workers[future.key]:
                    found[names[worker]] += record.nbytes // len(futures)
    return found


def _one(future):
    return [future]


def test_the_log_of_where_tasks_ran_shows_no_violation(client):
    x = tf.placeholder(tf.float32, [None, 8])
    with tf.device("/job:ps/task:1"), tf.variable_scope("pinned"):
        w = tf.get_variable("w", [8, 8])
    with tf.device("/gpu"), tf.name_scope("any_gpu"):
        h = tf.nn.relu(tf.matmul(x, w))
    with tf.device("/gpu:1"), tf.name_scope("second_gpu"):
        g = tf.exp(-h)
    with tf.device("/cpu:0"), tf.name_scope("on_cpu"):
        loss = tf.reduce_mean(tf.square(h) + g)
    optimizer = tf.train.AdamOptimizer(0.1)
    train = optimizer.minimize(loss, colocate_gradients_with_ops=True)
    with initialized() as sess:
        for parts in (1, 4):
            with dv.config.set(batch_parts=parts):
                for _ in range(8):
                    sess.run([loss, train], {x: np.ones((8, 8), "f4")})
        sess.engine.acquire().seal()
        sess.run([loss, train], {x: np.ones((8, 8), "f4")})
        held = held_by(client, sess, ["pinned/w", "pinned/w/Adam"])
    assert [name for name, nbytes in held.items() if nbytes] == ["ps-1"]
    found = ran(client)
    allowed = {
        "any_gpu": {"worker-1", "worker-2"},
        "second_gpu": {"worker-2"},
        "on_cpu": {"ps-0", "ps-1", "worker-0"},
        "pinned": {"ps-1"},
    }
    for scope, workers in allowed.items():
        mine = [ran_on for prefix, ran_on in found.items() if scope in prefix]
        assert mine, scope
        assert set().union(*mine) <= workers, scope


@pytest.mark.parametrize(
    ("device", "wanted"),
    [
        ("/gpu:2", "/device:GPU:2"),
        ("/job:ps/gpu:0", "/job:ps/device:GPU:0"),
        ("/job:moon", "/job:moon"),
        ("/job:ps/task:7/cpu:0", "/job:ps/task:7/device:CPU:*"),
        ("/device:TPU:0", "/device:TPU:0"),
        ("/replica:3", "/replica:3"),
    ],
)
def test_an_impossible_demand_is_refused_before_anything_is_sent(
    client, device, wanted, monkeypatch
):
    monkeypatch.setattr(client, "get", None)
    monkeypatch.setattr(client, "scatter", None)
    with tf.name_scope("tower"), tf.device(device):
        y = tf.exp(tf.placeholder(tf.float32, []), name="y")
    with tf.Session() as sess, pytest.raises(InvalidArgumentError) as error:
        sess.run(y, {"tower/Placeholder:0": 1.0})
    assert error.value.op is y.op
    text = str(error.value)
    assert f"operation 'tower/y' (scope 'tower'): it asks for {wanted}, which no worker" in text
    assert "worker-2 = /job:worker/task:2: GPU 1, threads 1" in text
    assert "ps-0 = /job:ps/task:0: no GPU" in text
    assert "allow_soft_placement=True" in text


def test_a_variable_nobody_may_have_is_refused(client):
    with tf.device("/job:moon"):
        v = tf.get_variable("v", [3], initializer=tf.zeros_initializer())
    with tf.Session() as sess, pytest.raises(InvalidArgumentError, match="/job:moon"):
        sess.run(v.initializer)


def test_soft_placement_falls_back_and_says_so(client, caplog):
    caplog.set_level(logging.WARNING)  # clusters in this process have silenced it
    with tf.device("/job:worker/gpu:7"):
        v = tf.Variable([1.0, 2.0], name="v")
        y = tf.exp(v * 2.0, name="y")
    with tf.Session(config=tf.ConfigProto(allow_soft_placement=True)) as sess:
        sess.run(v.initializer)
        np.testing.assert_allclose(sess.run(y), np.exp([2.0, 4.0]), rtol=1e-6)
        text = sess.explain(y)
    told = "asks for /job:worker/device:GPU:7, which no worker offers"
    assert caplog.text.count(told) == 1  # of the operations of one device together
    assert "y on /job:worker/device:GPU:7: soft-placed: no worker offers" in text
    with dv.config.set(soft_placement=True), tf.Session() as sess:
        sess.run(v.initializer)


def test_explain_says_why(client):
    with tf.device("/job:ps/task:0"):
        v = tf.get_variable("v", [4], initializer=tf.zeros_initializer())
    x = tf.placeholder(tf.float32, [4])
    with tf.device("/gpu"):
        y = tf.exp(x, name="y")
    add = v.assign_add(y, name="add")
    z = tf.sqrt(x, name="z")
    with tf.Session() as sess:
        text = sess.explain([add, z], {x: np.ones(4)})
    lines = {
        line.split(":")[0].split()[0]: line
        for line in text.splitlines()[1:]
        if not line.startswith("region")
    }
    assert lines["y"].endswith("on /device:GPU:*: pinned by tf.device")
    assert lines["add"].endswith("on /job:ps/task:0: colocated with variable v")
    assert lines["z"].endswith("z: by cost: next to what it takes")
    assert "on /job:ps/task:0 (workers ps-0)" in text
    assert "on /device:GPU:* (workers worker-1, worker-2)" in text
    assert "on anywhere (workers ps-0, ps-1, worker-0, worker-1, worker-2)" in text


def test_rows_of_a_table_on_another_device_travel_alone(client):
    with tf.device("/job:ps/task:0"):
        table = tf.get_variable("table", [1000, 8])
    ids = tf.placeholder(tf.int32, [None])
    with tf.device("/job:worker/task:0"):
        rows = tf.nn.embedding_lookup(table, ids)
        loss = tf.reduce_sum(tf.square(rows))
    train = tf.train.AdagradOptimizer(0.1).minimize(loss)
    fed = {ids: [5, 3, 5]}
    with initialized() as session:
        before = session.run(table)
        assert "exchange: table: rows routed, 96 bytes" in session.explain([rows, train], fed)
        np.testing.assert_array_equal(session.run([rows, train], fed)[0], before[[5, 3, 5]])
        changed = (session.run(table) != before).any(axis=1)
        assert np.flatnonzero(changed).tolist() == [3, 5]
        with pytest.raises(InvalidArgumentError, match="1000"):
            session.run(rows, {ids: [1000]})


def test_devices_and_placement_are_told(client, capfd):
    with tf.device("/job:ps/task:1"):
        y = tf.exp(tf.placeholder_with_default(1.0, []), name="y")
    with tf.Session(config=tf.ConfigProto(log_device_placement=True)) as sess:
        sess.run(y)
        names = [d.name for d in sess.list_devices() if d.device_type == "GPU"]
    assert "y: (Exp): /job:ps/task:1 (workers ps-1)" in capfd.readouterr().err
    assert names == [f"/job:worker/replica:0/task:{n}/device:GPU:0" for n in (1, 2)]


def test_in_this_process_every_device_is_here(graph):
    with tf.device("/job:ps/task:3/cpu:0"):
        y = tf.exp(tf.zeros([2]), name="y")
    z = y + tf.placeholder(tf.float32, [], name="x")
    with tf.Session() as sess:
        assert sess.run(z, {"x:0": 1.0}).tolist() == [2.0, 2.0]
        text = sess.explain(z, {"x:0": 1.0})
    assert "1 task on this process" in text


# -- bytes ------------------------------------------------------------------------------------

FOUR = {f"w_{n}": CPU for n in range(4)}


def ratio(held):
    return max(held.values()) / (sum(held.values()) / len(held))


def test_bytes_are_balanced_not_counts(tmp_path):
    rng = np.random.default_rng(0)
    table = tf.get_variable("table", [80_000, 64], chunks=(10_000, 64))
    ids = tf.placeholder(tf.int32, [None])
    loss = tf.reduce_sum(tf.nn.embedding_lookup(table, ids))
    for i in range(50):
        v = tf.get_variable(f"small{i}", [int(rng.integers(10_000, 60_000))])
        loss += tf.reduce_sum(v * v)
    train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(loss)
    saver = tf.train.Saver()
    with cluster_of(**FOUR) as client, client.as_current(), initialized() as sess:
        sess.engine.sync()
        found = [ratio(held_by(client, sess))]
        for _ in range(3):
            sess.run(train, {ids: [1, 70_000]})
        sess.engine.sync()
        found.append(ratio(held_by(client, sess)))
        sess.engine.acquire().seal()
        found.append(ratio(held_by(client, sess)))
        path = saver.save(sess, str(tmp_path / "model"))
        saver.restore(sess, path)
        found.append(ratio(held_by(client, sess)))
    assert max(found) <= 1.3, found


def test_what_is_small_stays_together(client):
    x = tf.placeholder(tf.float32, [None, 64])
    h = tf.layers.dense(tf.layers.dense(x, 128), 10)
    train = tf.train.MomentumOptimizer(0.1, 0.9).minimize(tf.reduce_mean(h))
    with initialized() as sess:
        assert "1 task, 1 region," in sess.explain(train, {x: np.ones((4, 64), "f4")})


# -- workers that go and come -----------------------------------------------------------------


def stop(cluster, name):
    """End a worker at once, with all that it has."""
    (worker,) = [w for w in cluster.workers.values() if w.name == name]
    cluster.sync(worker.close, nanny=False, executor_wait=False)


def start(cluster, name, resources):
    async def new():
        options = {"nthreads": 1, "name": name, "resources": resources, "dashboard": False}
        return await Worker(cluster.scheduler_address, **options)

    return cluster.sync(new)


def test_a_worker_of_a_device_dies_and_comes_back():
    assert device_workers.PATIENCE_S < 5  # so long a run waits for it before it raises
    with tf.device("/job:ps"):
        v = tf.get_variable("v", [4], initializer=tf.zeros_initializer())
    add = v.assign_add(tf.ones([4]))
    free = tf.exp(tf.placeholder(tf.float32, [2], name="x"))
    with cluster_of(ps_0=CPU, worker_0=CPU) as client, client.as_current():
        sess, cluster = tf.Session(), client.cluster
        sess.run(v.initializer)
        assert sess.run(add).tolist() == [1.0] * 4
        sess.engine.acquire().seal()
        assert sess.run(add).tolist() == [2.0] * 4
        stop(cluster, "ps-0")
        for _ in range(2):
            with pytest.raises(UnavailableError, match="/job:ps, whose workers are gone") as error:
                sess.run(add)
            assert "worker-0 = /job:worker/task:0" in str(error.value)
        assert sess.run(free, {"x:0": [0.0, 0.0]}).tolist() == [1.0, 1.0]
        back = start(cluster, "ps-0", CPU)
        assert sess.run(add).tolist() == [3.0] * 4
        assert held_by(client, sess)["worker-0"] == 0
        sess.close()
        cluster.sync(back.close)


def test_another_worker_of_the_job_takes_over():
    with tf.device("/job:ps"):
        v = tf.get_variable("v", [8], initializer=tf.zeros_initializer(), chunks=2)
    add = tf.group(v.assign_add(tf.ones([8])))
    spec = {"ps_0": CPU, "ps_1": CPU, "worker_0": GPU}
    with cluster_of(**spec) as client, client.as_current(), tf.Session() as sess:
        sess.run(v.initializer)
        for step in range(6):
            if step == 3:
                stop(client.cluster, "ps-0")
            sess.run(add)
        assert sess.run(v).tolist() == [6.0] * 8
        held = held_by(client, sess)
    assert held == {"ps-1": 32, "worker-0": 0}


def test_workers_may_come_after_the_first_run():
    v = tf.get_variable("v", [8], initializer=tf.ones_initializer(), chunks=2)
    with cluster_of() as client, client.as_current(), tf.Session() as sess:
        sess.run(v.initializer)
        worker = start(client.cluster, "0", CPU)
        assert sess.run(v).tolist() == [1.0] * 8
        sess.close()
        client.cluster.sync(worker.close)


# -- what fits what ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "task"),
    [
        ("ps-0", ("ps", 0)),
        ("/job:ps/task:12", ("ps", 12)),
        ("3", ("worker", 3)),
        ("/job:a/replica:0/task:1", ("a", 1)),
        ("tcp://127.0.0.1:1", ("worker", None)),
        ("alpha", ("worker", None)),
        ("SLURMCluster-2", ("SLURMCluster", 2)),
    ],
)
def test_a_name_says_which_task_it_is(name, task):
    assert task_of(name) == task


@pytest.mark.parametrize(
    ("device", "names"),
    [
        ("", "abcd"),
        ("/job:ps", "a"),
        ("/job:worker", "bcd"),
        ("/job:worker/task:1", "c"),
        ("/gpu", "cd"),
        ("/gpu:0", "c"),
        ("/gpu:2", "d"),
        ("/gpu:3", ""),
        ("/cpu:0", "ab"),
        ("/job:worker/cpu:0", "b"),
        ("/job:worker/task:2/cpu:5", "d"),
        ("/task:0", "ab"),
        ("/job:worker/task:2/gpu:1", "d"),
        ("/job:worker/task:1/gpu:1", ""),
        ("/job:moon", ""),
    ],
)
def test_a_device_is_a_set_of_workers(device, names):
    offers = [
        WorkerInfo("a", "1", "ps", 0, 0, 1, 0),
        WorkerInfo("b", "2", "worker", 0, 0, 1, 0),
        WorkerInfo("c", "3", "worker", 1, 1, 1, 0),
        WorkerInfo("d", "4", "worker", 2, 2, 1, 0),
    ]
    assert "".join(offer.name for offer in matching(offers, device)) == names


# -- memory -----------------------------------------------------------------------------------


def test_a_variable_larger_than_its_worker_is_refused_before_anything_is_sent():
    with cluster_of(**FOUR) as client, client.as_current(), tf.Session() as sess:
        limit = min(w["memory_limit"] for w in client.scheduler_info()["workers"].values())
        rows = limit // (4 * 64) + 1
        zeros = tf.zeros_initializer()
        v = tf.get_variable("much", [rows, 64], initializer=zeros, chunks=(rows, 64))
        with pytest.raises(ResourceExhaustedError, match=rf"'much'.*{rows * 256:,} bytes.*memory"):
            sess.run(v.initializer)
        assert not client.run_on_scheduler(lambda dask_scheduler: len(dask_scheduler.tasks))


def test_a_variable_lives_where_there_is_memory_for_it():
    limits = enumerate([100, 900, 400])
    infos = tuple(WorkerInfo(str(i), str(i), "worker", i, 0, 1, most) for i, most in limits)
    workers = types.SimpleNamespace(worker_infos=infos, version=1, preferred=None)
    placement = ClusterPlacement(workers, lambda key: True)
    for key, num_bytes, wanted in (("a", 80, "0"), ("b", 600, "1"), ("c", 200, "2")):
        spec = Spec(dv.int8, (num_bytes,))
        place = placement.of_variable(key, "", spec, ((num_bytes,),))
        assert placement.annotations_at(place)["workers"] == [wanted]
    with pytest.raises(ResourceExhaustedError, match=r"'d'.*its memory is"):
        placement.of_variable("d", "", Spec(dv.int8, (901,)), ((901,),))
