"""Every registered op gives on a cluster what it gives in this process, cut or whole."""

import pytest
from distributed import Client, LocalCluster

from tests.ops import checks
from tests.ops.samples import SAMPLES


@pytest.fixture(scope="module")
def client():
    with (
        LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None
        ) as cluster,
        Client(cluster, set_as_default=False) as client,
    ):
        yield client


@pytest.mark.cluster
@pytest.mark.timeout(300)
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda s: s.name)
def test_local_is_cluster(sample, client):
    feeds = checks.chunked_feeds(sample) or sample.inputs
    _, local = checks.graph_run(sample, feeds)
    with client.as_current():
        _, remote = checks.graph_run(sample, feeds)
    checks.assert_same(remote, local, rtol=0.0)
