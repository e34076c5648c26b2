"""A variable's repr says what it is and where; it fetches and computes nothing large for that."""

import numpy as np
import pytest

import daskvars as dv
from daskvars.execution.eager import EAGER_CONTEXT
from daskvars.state.values import Values
from tests import fresh


def test_a_small_value_that_is_here_is_shown():
    v = dv.Variable([1.0, 2.0], name="repr_small")
    assert repr(v) == (
        "<tf.Variable 'repr_small:0' shape=(2,) dtype=float32, "
        "numpy=array([1., 2.], dtype=float32)>"
    )
    v.assign([3.0, 4.0])
    assert "numpy=array([3., 4.]" in repr(v)

    @dv.function
    def shown(x):
        return repr(v) and x

    with dv.Graph().as_default():
        assert "numpy=array([3., 4.]" in repr(v)
    assert shown(np.float32(1)).numpy() == 1.0


def test_a_large_value_is_not_looked_at(monkeypatch):
    v = dv.Variable(np.zeros((3000, 4), "f4"), chunks=(1000, 2), name="repr_large")
    dv.sync()
    for name in ("get", "read"):
        monkeypatch.setattr(Values, name, None)
    monkeypatch.setattr(EAGER_CONTEXT, "compute", None)
    assert repr(v) == (
        "<tf.Variable 'repr_large:0' shape=(3000, 4) dtype=float32 chunks=6 of (1000, 2), "
        "in this process>"
    )
    assert str(v) == repr(v) and "in this process" in repr(v.handle)


_LAZY = """
import os, resource
import daskvars as dv
resource.setrlimit(resource.RLIMIT_AS, (16 << 30, 16 << 30))
v = dv.Variable(lambda: dv.random.uniform([10**9, 64]), name="lazy")
print(v, flush=True)
os._exit(0)  # in order it would compute what was recorded
"""


@pytest.mark.slow
def test_a_lazy_value_of_256_gigabytes_prints_at_once():
    shown = fresh.run(_LAZY)
    assert shown.startswith("<tf.Variable 'lazy:0' shape=(1000000000, 64) dtype=float32 chunks=")
    assert shown.endswith("not computed yet>\n")


_ON_WORKERS = """
import os
from distributed import Client, LocalCluster
import daskvars as dv
with (
    LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, host="127.0.0.1", protocol="tcp",
        dashboard_address=None,
    ) as cluster,
    Client(cluster) as client,
):
    v = dv.Variable([1.0, 2.0], name="remote")
    dv.sync()
    client.gather = client.get = client.compute = None
    print(v, flush=True)
    os._exit(0)  # closing the client brings values home
"""


@pytest.mark.slow
def test_a_value_on_workers_stays_there():
    wanted = "<tf.Variable 'remote:0' shape=(2,) dtype=float32, on Dask workers>\n"
    assert fresh.run(_ON_WORKERS) == wanted
