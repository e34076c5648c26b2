"""Servers in several processes are one Dask cluster: real processes, on loopback."""

import re
import socket
import threading
from pathlib import Path

import numpy as np
import pytest
from distributed.utils import get_mp_context

import daskvars.v1 as tf
from daskvars.execution.engine.saving import targets
from daskvars.v1.servers.cluster_member import first_task, numeric
from tests import fresh

pytestmark = [pytest.mark.cluster, pytest.mark.timeout(110)]

EXAMPLE = Path(__file__).parents[3] / "examples" / "distributed_ps.py"


def free_addresses(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    found = [f"localhost:{each.getsockname()[1]}" for each in sockets]
    for each in sockets:
        each.close()
    return found


@pytest.fixture
def cluster():
    """A cluster whose parameter server is another process."""
    ps, worker = free_addresses(2)
    process = get_mp_context().Process(target=serve_variables, args=(ps, worker), daemon=True)
    process.start()
    yield tf.train.ClusterSpec({"ps": [ps], "worker": [worker]})
    process.kill()
    process.join()


def serve_variables(ps, worker):
    """Be a parameter server until the process ends."""
    tf.train.Server({"ps": [ps], "worker": [worker]}, "ps", 0).join()


def test_variables_live_on_the_parameter_server(cluster):
    server = tf.train.Server(cluster, "worker", 0)
    with tf.Graph().as_default():
        with tf.device(tf.train.replica_device_setter(cluster=cluster)):
            v = tf.get_variable("v", [4], initializer=tf.ones_initializer())
            w = v.assign_add(v * 2.0)
        with tf.device("/job:moon"):
            lost = tf.exp(v.value())
        with tf.Session(server.target) as sess:
            sess.run(v.initializer)
            np.testing.assert_array_equal(sess.run(w), np.full(4, 3.0))
            names = [device.name for device in sess.list_devices()]
            text = sess.explain(w)
            with pytest.raises(tf.errors.InvalidArgumentError, match="ps-0 = /job:ps/task:0"):
                sess.run(lost)
    server._member.close()
    assert names == [f"/job:{job}/replica:0/task:0/device:CPU:0" for job in ("ps", "worker")]
    assert "on /job:ps/task:0 (workers ps-0)" in text
    assert "on /job:worker (workers worker-0)" in text


def test_a_tensorflow_program_trains_in_processes():
    workers = 2
    arguments = [f"--num_workers={workers}", "--steps=20"]
    printed = fresh.printed(EXAMPLE, *arguments, after=fresh.PACKAGE)
    found = re.findall(r"worker \d: (\d+) runs, loss (.*), ", printed)
    assert len(found) == workers
    assert 20 <= sum(int(runs) for runs, _ in found) < 20 + workers
    assert max(float(loss) for _, loss in found) < 0.05


def test_servers_of_this_process_need_no_cluster():
    addresses = free_addresses(2)
    cluster = {"ps": addresses[:1], "worker": addresses[1:]}
    servers = [tf.train.Server(cluster, job, 0) for job in cluster]
    before = threading.active_count()
    assert [targets.client_of(server.target) for server in servers] == [None, None]
    assert threading.active_count() == before


@pytest.mark.parametrize(
    ("jobs", "first"),
    [
        ({"worker": ["a:1"], "ps": ["b:1", "c:1"]}, ("ps", 0)),
        ({"worker": ["a:1"], "chief": ["b:1"]}, ("chief", 0)),
        ({"worker": {3: "a:1", 5: "b:1"}}, ("worker", 3)),
    ],
)
def test_the_first_task_is_known_to_all(jobs, first):
    assert first_task(tf.train.ClusterSpec(jobs)) == first


def test_this_machine_is_loopback():
    assert [numeric(f"{host}:5") for host in ("localhost", "127.0.0.1", "ps0.example.org")] == [
        "127.0.0.1:5",
        "127.0.0.1:5",
        "ps0.example.org:5",
    ]
