"""A cluster that speaks TLS: it trains, strangers are refused, and everything is on loopback."""

import numpy as np
import psutil
import pytest
from distributed import Security

import daskvars.v1 as tf
from tests import clusters

pytest.importorskip("cryptography", reason="makes temporary certificates")
pytestmark = pytest.mark.cluster


@pytest.fixture(scope="module")
def cluster():
    with clusters.local(security=Security.temporary()) as found:
        yield found


@pytest.fixture(scope="module")
def client(cluster):
    with clusters.connected(cluster) as found:
        yield found


def trained(store=None):
    with tf.Graph().as_default(), tf.Session(store=store) as session:
        w = tf.get_variable("w", [8, 4], initializer=tf.ones_initializer(), chunks=(4, 4))
        step = tf.train.AdamOptimizer(0.1).minimize(tf.reduce_sum(tf.square(w)))
        session.run(tf.global_variables_initializer())
        for _ in range(15):
            session.run(step)
        return session.run(w)


def test_a_cluster_with_tls_trains_and_seals(client, tmp_path):
    wanted = trained()
    assert client.scheduler.address.startswith("tls://")
    with client.as_current():
        found = trained(str(tmp_path / "store.zarr"))
    np.testing.assert_array_equal(found, wanted)
    assert dict(tf.train.list_variables(str(tmp_path / "store.zarr")))["w"] == [8, 4]


@pytest.mark.parametrize("scheme", ["tls", "tcp"])
def test_a_client_without_the_certificate_is_refused(cluster, client, scheme):
    address = cluster.scheduler_address.replace("tls", scheme, 1)
    security = Security.temporary() if scheme == "tls" else None  # of another authority
    with pytest.raises((OSError, RuntimeError, TypeError)):
        clusters.connected(address, security=security, timeout=2)


def test_what_is_started_listens_on_loopback(client):
    def listening():
        return [
            connection.laddr.ip
            for connection in psutil.Process().net_connections("inet")
            if connection.status == psutil.CONN_LISTEN
        ]

    found = [*client.run(listening).values(), listening()]
    assert all(found)
    assert {ip for ips in found for ip in ips} <= {"127.0.0.1", "::1"}
