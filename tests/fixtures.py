"""What tests are run with, in each process that runs some: settings, and fixtures."""

import contextlib
import linecache
import os
import sys

import dask
import distributed
import hypothesis
import pytest
from _pytest.logging import LogCaptureHandler, caplog_handler_key, caplog_records_key, catching_logs

import daskvars as dv
import daskvars.v1 as tf
from daskvars import config
from daskvars.execution.eager import EAGER_CONTEXT
from daskvars.execution.engine.engine import Engine
from tests import gpus, sources, thresholds
from tests.fresh import fork_the_server_of_workers

# Workers are forked from a process that has imported everything, which takes them seconds.
dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"})
# It is started later and gets the environment, as do the programs that tests start.
OF_ALL_PROCESSES = {
    "distributed.comm.timeouts.connect": "15s",  # a worker that is gone is not called for long
    # Else each worker looks a hundred times a second what it is at, for pages that one test opens,
    # and each process fifty times whether it still answers: with two workers that do nothing that
    # is a tenth of a core.
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    # And each ten times whether its memory is full, and twice what else it uses: a fortieth.
    "distributed.worker.memory.monitor-interval": "1s",  # not in `execution/cluster/test_memory.py`
    "distributed.admin.system-monitor.interval": "2s",
}
dask.config.set(OF_ALL_PROCESSES)
os.environ.update(
    {
        f"DASK_{name.upper().replace('.', '__')}": str(OF_ALL_PROCESSES[name])
        for name in OF_ALL_PROCESSES
    }
)
fork_the_server_of_workers()
PRELOADED = ["tests.frozen"]

# A kernel that contradicts its op is found whatever is run, and so is a pass that breaks a promise.
config.set(check_every_run=True, verify_programs=True)


# How long an example takes says how busy the machine is: it fails no test.
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")


def pytest_runtest_setup(item):
    """Start each example of a docstring as in a process of its own, wherever it stands."""
    if isinstance(item, pytest.DoctestItem):
        linecache.clearcache()  # doctest asks of each file in it whether it has changed
        dv.reset()
        tf.reset_default_graph()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown():
    """Close the writers that hooks share before the folders that they write into are gone."""
    tf.summary.FileWriterCache.clear()


@pytest.fixture(autouse=True, scope="session")
def workers_are_forked():
    distributed.utils.get_mp_context().set_forkserver_preload(PRELOADED)


@pytest.fixture(autouse=True, scope="module")
def no_client_is_left():
    """What a module leaves as the default client, later tests would compute on, or wait for."""
    yield
    try:
        left = distributed.default_client()
    except ValueError:
        return
    left.close()
    pytest.fail(f"{left} is left as the default client")


@pytest.fixture(scope="module")
def trees():
    """The syntax trees of files, for a module of tests that looks at many."""
    with sources.kept():
        yield


@pytest.fixture
def switching_often():
    """Threads take turns as often as they can."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


@pytest.fixture
def caplog(request):
    """What is logged while a test runs: pytest's own, which it makes for those alone that ask."""
    handler, stash = LogCaptureHandler(), request.node.stash
    stash[caplog_handler_key], stash[caplog_records_key] = handler, {"call": handler.records}
    with catching_logs(handler):
        logged = pytest.LogCaptureFixture(request.node, _ispytest=True)
        yield logged
        logged._finalize()


@pytest.fixture(params=gpus.kinds())
def gpu(request, monkeypatch):
    """What computes on the GPU of this process."""
    gpus.install(request.param, monkeypatch.setattr)
    return request.param


@pytest.fixture
def lowest_thresholds():
    """Small programs take the paths of large ones, in this process."""
    back = thresholds.lower()
    yield
    back()


@pytest.fixture(params=["small", "as large ones"])
def both_thresholds(request):
    """Small programs take the paths of small ones, and those of large ones."""
    back = thresholds.lower() if request.param != "small" else None
    yield
    if back is not None:
        back()


@pytest.fixture
def eager(monkeypatch):
    """Eager code has an engine of its own: no values, and no plans of what ran before."""
    EAGER_CONTEXT.sync()
    with contextlib.closing(Engine()) as engine:
        monkeypatch.setattr(EAGER_CONTEXT, "program_engine", engine)
        yield


@pytest.fixture
def graph():
    """A graph of its own that the test builds into."""
    with tf.Graph().as_default() as graph:
        yield graph


@pytest.fixture
def sess(graph):
    """A session of the graph that the test builds into."""
    with tf.Session() as sess:
        yield sess


@pytest.fixture
def graph_unless_eager(request):
    """A graph of its own that the test builds into, none for one that is of eager code by name."""
    if "eager" not in request.node.name:
        request.getfixturevalue("graph")
