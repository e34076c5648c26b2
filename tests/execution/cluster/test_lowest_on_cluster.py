"""Ops, optimizers and savers on a cluster on which everything is large: see `tests.thresholds`."""

import numpy as np
import pytest

import daskvars.v1 as tf
from tests import thresholds
from tests.clusters import running
from tests.ops import checks
from tests.ops.samples import SAMPLES
from tests.train.optimizers import test_golden_optimizers as golden

pytestmark = pytest.mark.cluster

# Every fifteenth; the file of all ops on a cluster has the others, on the paths of small arrays.
CHOSEN = [sample for sample in sorted(SAMPLES, key=lambda s: s.name) if not sample.any_sign][::15]


@pytest.fixture(scope="module")
def lowered():
    """A cluster on which everything is large, the client's process too."""
    with running(2) as client:
        client.run(thresholds.lower_on_worker)
        back = thresholds.lower()
        yield client
        back()


@pytest.mark.parametrize("sample", CHOSEN, ids=lambda s: s.name)
def test_ops(sample, lowered):
    feeds = checks.chunked_feeds(sample) or sample.inputs
    _, local = checks.graph_run(sample, feeds)
    with lowered.as_current():
        _, remote = checks.graph_run(sample, feeds)
    checks.assert_same(remote, local, rtol=0.0)


@pytest.mark.parametrize("kind", ["dense", "sparse"])
@pytest.mark.parametrize("chunks", [None, (2, 1)], ids=str)
@pytest.mark.parametrize("name", ["momentum", "adam", "ftrl_l1_l2", "adagrad_da_l1_l2"])
def test_optimizers(name, chunks, kind, lowered):
    with lowered.as_current():
        found, _ = golden.trained(golden.CASES[name], kind, chunks)
    golden.check(found, golden.CASES[name][kind])


@pytest.mark.parametrize("saved, restored", [(None, (3, 2)), ((3, 2), (2, 3)), ((2, 3), None)])
def test_savers(saved, restored, lowered, tmp_path):
    start = np.arange(35, dtype=np.float32).reshape(7, 5)
    with lowered.as_current():
        for chunks in (saved, restored):
            with tf.Graph().as_default(), tf.Session() as session:
                v = tf.get_variable("v", initializer=start, chunks=chunks)
                saver = tf.train.Saver()
                if chunks is saved:
                    session.run(v.initializer)
                    session.run(tf.scatter_add(v, [1, 6, 1], tf.ones([3, 5])).op)
                    saver.save(session, str(tmp_path / "model"))
                else:
                    saver.restore(session, str(tmp_path / "model"))
                found = session.run(v)
            np.add.at(wanted := start.copy(), [1, 6, 1], 1)
            np.testing.assert_array_equal(found, wanted)
