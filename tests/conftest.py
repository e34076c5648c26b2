"""What holds for all runs of tests. What tests themselves are run with is in `fixtures.py`."""

import gc
import importlib
import os
import shutil
import signal
import sys

import pytest

from tests import pitfalls
from tests.files_in_turn import FilesInTurn

pytest_plugins = ["pytester"]

# What is compiled is kept, though the environment may say not to: each file is needed by a hundred
# processes, and asserts of tests, which pytest rewrites, take longer than all else of collecting.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Folders of tests are in memory, where it has room: on a disk what tests stores waits for it, which
# says nothing of them. `PYTEST_DEBUG_TEMPROOT`, pytest's own, puts them elsewhere.
MEMORY, ROOM_BYTES = "/dev/shm", 4 << 30
if os.path.isdir(MEMORY) and shutil.disk_usage(MEMORY).free > ROOM_BYTES:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", MEMORY)

# Threads of OpenBLAS wait asleep. Of themselves they ask over and over for 50 ms after each product
# that two of them made, in each process: cores that other tests have work for.
os.environ["OPENBLAS_THREAD_TIMEOUT"] = "4"  # 2**4 cycles, the least there is

# What a shell runs in its background does not hear Ctrl-C: tests that send it would test nothing.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# By how many objects there are more when the garbage collector looks for some that are gone. Tests
# make graphs and drop them: with Python's 700 it goes in vain through those that are being made.
YOUNG = 10_000


def hands_out(config):
    """Return whether this process only hands out tests, as with ``-n``."""
    option = config.option
    return bool(getattr(option, "numprocesses", None)) and not option.collectonly


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config):
    config.pluginmanager.register(pitfalls.Watch(), "pitfalls")
    option = config.option
    if not hands_out(config):  # else it need not wait until all is imported
        config.pluginmanager.import_plugin("tests.fixtures")
    if hasattr(config, "workerinput") and option.durations is None and not option.xmlpath:
        config.pluginmanager.import_plugin("tests.few_messages")


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection(session):
    """Have the garbage collector leave alone what is there before the first test.

    The collected tests are millions of objects: to go through them again and again is a third of
    the time that it takes to collect them, and most of a second each time that a test or the
    interpreter collects all garbage.

    Dask's arrays are imported before: what pauses the collector there leaves it, ever after, as it
    was then.
    """
    if hands_out(session.config):
        return (yield)
    importlib.import_module("dask.array")
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
