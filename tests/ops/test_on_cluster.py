"""Every registered op gives on a cluster what it gives in this process, cut or whole."""

import pytest

import daskvars as dv
import daskvars.v1 as tf
from daskvars import config
from daskvars.graph import nest
from tests import clusters
from tests.ops import checks
from tests.ops.samples import SAMPLES


@pytest.fixture(scope="module")
def client():
    with clusters.running() as client, config.set(client_work_s=0):  # workers do what is small, too
        yield client


# Some at a time, as one graph and one run: what takes time on a cluster is the way there and back.
BATCH = 12
BATCHES = [SAMPLES[i : i + BATCH] for i in range(0, len(SAMPLES), BATCH)]


def run(batch):
    """Return the values of each sample of a batch, of inputs in chunks where they can be cut."""
    with tf.Graph().as_default() as graph:
        dv.set_random_seed(7)
        fed, fetched = {}, []
        for i, sample in enumerate(batch):
            with tf.variable_scope(f"sample_{i}"):
                inputs = checks.placeholders(sample)
                fetched.append(nest.flatten(sample.call(*inputs)))
            feeds = checks.chunked_feeds(sample) or sample.inputs
            fed.update(zip(inputs, feeds, strict=True))
        with tf.Session(graph=graph) as session:
            return session.run(fetched, fed)


@pytest.mark.cluster
@pytest.mark.timeout(300)
@pytest.mark.parametrize("batch", BATCHES, ids=lambda batch: f"{batch[0].name} to {batch[-1].name}")
def test_local_is_cluster(batch, client):
    local = run(batch)
    with client.as_current():
        remote = run(batch)
    for sample, found, wanted in zip(batch, remote, local, strict=True):
        try:
            checks.assert_same(found, wanted, rtol=0.0)
        except AssertionError as error:
            error.add_note(sample.name)
            raise
