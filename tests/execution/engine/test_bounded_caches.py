"""Nothing grows with the number of graphs or batch shapes once the caches are full.

The objects and the entries of caches are counted after a few hundred; with
``DASKVARS_ALL_CASES=1`` in the environment 5,000 are tried, and the memory of the process is too.
"""

import functools
import gc
import linecache
import math
import os
import sys
import types
import warnings
from collections import Counter
from pathlib import Path
from types import CellType

import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf
from daskvars import config
from daskvars.execution.engine.plans import sizes_met

ALL = bool(os.environ.get("DASKVARS_ALL_CASES"))
COUNT, SIZE = (5000, 256) if ALL else (60, 8)
MAX_BYTES = 10 << 20
# Of what there are few: libraries, dtypes, kernels that are written for a GPU, what is said once.
FEW = {
    "_blas_settings",
    "_glibc",
    "_note_idle_gpu",
    "_pool",
    "bucket_limits",
    "device_kernel",
    "integer_bounds",
    "item_bytes",
    "memory_dtype",
    "message_class",
    "_tell_once",
    "uniform_words",
}


def resident_bytes():
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def one_graph(i):
    """Build and run a graph of another structure and other names."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.float32, [3], name=f"x{i}")
        w = tf.get_variable(f"w{i}", [3], initializer=tf.ones_initializer())
        y = tf.nn.relu(x * float(i) + w)
        for _ in range(i % 3):
            y = tf.sin(y)
        slope = tf.gradients(tf.cond(y[0] > 0, lambda: y, lambda: -y), w)
        session.run(w.initializer)
        session.run(slope, {x: [1, 2, 3]})


def one_shape():
    """Return what runs one graph on batches of all sizes."""
    graph = tf.Graph()
    with graph.as_default():
        x = tf.placeholder(tf.float32, [None, 2])
        y = tf.reduce_sum(tf.nn.relu(x) * 2, axis=1)
    session = tf.Session(graph=graph)
    return lambda i: session.run(y, {x: np.ones((i + 1, 2), "f4")})


def one_size():
    """Return the same; one plan is for all of them, for the largest was met."""
    run = one_shape()
    run(COUNT)
    return run


def one_trace():
    """Return what calls one function with batches of all sizes."""
    function = dv.function(lambda x: dv.reduce_sum(dv.nn.relu(x) * 2, axis=1))
    return lambda i: function(np.ones((i + 1, 2), "f4"))


def one_eager(i):
    """Compute eagerly on one more size."""
    (dv.ones([i + 1, 2]) * 2).numpy()


def failing_graph(i):
    """Run a graph that fails, and drop the error."""
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(tf.int32, [None], name=f"x{i}")
        y = tf.gather(tf.constant([1.0] * (i + 1)), x)
        with pytest.raises(tf.errors.InvalidArgumentError):
            session.run(y, {x: [i + 9]})


def caches():
    """Return the package's functions that remember results."""
    modules = [m for name, m in sys.modules.items() if name.startswith("daskvars.")]
    named = [item for module in modules for item in vars(module).values()]
    inside = [
        cell.cell_contents
        for item in named
        for cell in getattr(item, "__closure__", None) or ()
        if cell != CellType()
    ]
    found = [o for o in (*named, *inside) if isinstance(o, functools._lru_cache_wrapper)]
    return {id(o): o for o in found if (o.__module__ or "").startswith("daskvars.")}.values()


def counted():
    """Return how many objects there are of each type, with no results remembered."""
    for cache in caches():
        cache.cache_clear()
    gc.collect()
    return Counter(map(type, gc.get_objects()))


def run_all(run, numbers):
    """Run for each number; hold nothing of it."""
    for i in numbers:
        run(i)


MAKERS = {
    "graphs": lambda: one_graph,
    "shapes": one_shape,
    "sizes": one_size,
    "traces": one_trace,
    "eager": lambda: one_eager,
    "failures": lambda: failing_graph,
}


@pytest.mark.slow
@pytest.mark.timeout(1800 if ALL else 120)
@pytest.mark.parametrize("what", MAKERS)
def test_nothing_grows_once_the_caches_are_full(what, monkeypatch):
    if what == "shapes":
        monkeypatch.setattr(sizes_met, "LEAST_MET", math.inf)
    with config.set(plan_cache_size=SIZE), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of traces
        run = MAKERS[what]()
        third = COUNT // 3
        run_all(run, range(third))
        lines = len(linecache.cache)
        first = counted()
        run_all(run, range(third, 2 * third))
        second, size = counted(), resident_bytes()
        run_all(run, range(2 * third, COUNT))
        if ALL:
            assert resident_bytes() - size < MAX_BYTES
        grown = [second - first, counted() - second]
    assert len(linecache.cache) - lines < 10
    kept = {kind.__name__ for kind in grown[0] if min(g[kind] for g in grown) > third / 2}
    assert not kept, "one for each run, or nearly, is still there"


def test_every_cache_has_a_bound():
    endless = {c.__name__ for c in caches() if c.cache_parameters()["maxsize"] is None}
    assert endless <= FEW
    assert len(caches()) > 10


def test_a_region_is_freed_without_the_garbage_collector(monkeypatch):
    monkeypatch.setattr(sizes_met, "LEAST_MET", math.inf)
    gc.collect()
    gc.disable()
    try:
        before = sum(map(is_region, gc.get_objects()))
        session = one_shape()
        for i in range(3):
            session(i)
        assert sum(map(is_region, gc.get_objects())) > before
        with config.set(plan_cache_size=1):
            session(3)
            assert sum(map(is_region, gc.get_objects())) <= before + 2
    finally:
        gc.enable()


def is_region(item):
    """Return whether an object is a function that was generated."""
    is_function = isinstance(item, types.FunctionType)
    return is_function and item.__code__.co_filename.startswith("<region")
