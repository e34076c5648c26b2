"""What holds for all tests."""

import contextlib
import gc
import os
import sys

import dask
import distributed
import hypothesis
import pytest

import daskvars as dv
import daskvars.v1 as tf
from daskvars import config
from daskvars.execution.eager import EAGER_CONTEXT
from daskvars.execution.engine.engine import Engine
from tests import gpus, pitfalls, sources, thresholds
from tests.files_in_turn import FilesInTurn

pytest_plugins = ["pytester"]

# What is compiled is kept, though the environment may say not to: each file is needed by a hundred
# processes, and asserts of tests, which pytest rewrites, take longer than all else of collecting.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

CONNECT = "15s"

# By how many objects there are more when the garbage collector looks for some that are gone. Tests
# make graphs and drop them: with Python's 700 it goes in vain through those that are being made.
YOUNG = 10_000

# A kernel that contradicts its op is found whatever is run, and so is a pass that breaks a promise.
config.set(check_every_run=True, verify_programs=True)


# How long an example takes says how busy the machine is: it fails no test.
hypothesis.settings.register_profile("untimed", deadline=None)
hypothesis.settings.load_profile("untimed")


class NewNames:
    """Starts each example of a docstring as in a process of its own, wherever it stands."""

    @staticmethod
    def pytest_runtest_setup(item):
        if isinstance(item, pytest.DoctestItem):
            dv.reset()
            tf.reset_default_graph()


def pytest_configure(config):
    config.pluginmanager.register(NewNames())
    config.pluginmanager.register(pitfalls.Watch(), "pitfalls")


# Workers are forked from a process that has imported everything, which takes them seconds. It is
# started later and gets the environment: a worker that is gone is not called for long.
dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"})
dask.config.set({"distributed.comm.timeouts.connect": CONNECT})
os.environ["DASK_DISTRIBUTED__COMM__TIMEOUTS__CONNECT"] = CONNECT
PRELOADED = ["pytest", "daskvars.v1"]


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


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection():
    """Have the garbage collector leave alone what is there before the first test.

    The collected tests are millions of objects: to go through them again and again is a third of
    the time that it takes to collect them, and most of a second each time that a test or the
    interpreter collects all garbage.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()
        gc.collect()
        gc.freeze()
        gc.set_threshold(YOUNG)


def pytest_unconfigure():
    """Look through what is left once: pytest does it five times at its end, and Python again."""
    gc.collect()
    gc.freeze()


def pytest_collection_modifyitems(items):
    """Put files first that start workers or programs, which takes long.

    With ``-n`` a file goes to the process that is free, so what is left for the end is short.
    """
    long = {i.path for i in items for mark in ("cluster", "slow") if i.get_closest_marker(mark)}
    items.sort(key=lambda item: item.path not in long)


def pytest_xdist_make_scheduler(config, log):
    """Have files handed out without looking through all of them again and again."""
    return FilesInTurn(config, log) if config.getvalue("dist") == "loadfile" else None


@pytest.fixture(params=gpus.GPUS)
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
        monkeypatch.setattr(EAGER_CONTEXT, "engine", engine)
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
