"""Thousands of runs on a cluster: nothing may grow.

    python benchmarks/flat.py

A small network trains on two single-threaded worker processes, with the scheduler in a process of
its own and a store on disk. Time per run, memory of client, scheduler and workers, tasks that the
scheduler keeps and files on disk are looked at in windows; the last ones must be as the first ones
after the start were.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from clusters import Cluster
from measure import Report

import daskvars.v1 as tf
from daskvars import config

NUM_WORKERS = 2
RUNS, QUICK_RUNS = 5_000, 300
WINDOWS = 20
SKIPPED = 4  # windows at the start, in which caches and allocators fill
LIMIT = 1.10


def resident_bytes(pid: int) -> int:
    """Return the resident memory of a process."""
    pages = Path(f"/proc/{pid}/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def num_tasks(dask_scheduler: Any = None) -> int:
    """Return how many tasks a scheduler keeps."""
    return len(dask_scheduler.tasks)


def network() -> tuple[Any, ...]:
    """Two layers with Adam, in two chunks each."""
    x = tf.placeholder(tf.float32, [32, 64])
    first = tf.get_variable("first", [64, 256], chunks=(64, 128))
    second = tf.get_variable("second", [256, 8], chunks=(128, 8))
    loss = tf.reduce_mean(tf.square(tf.matmul(tf.nn.relu(tf.matmul(x, first)), second) - 1.0))
    return x, loss, tf.train.AdamOptimizer(0.001).minimize(loss)


def measured(cluster: Cluster, store: str, runs: int) -> dict[str, list[float]]:
    """Run, and return what is looked at, by name, per window."""
    found: dict[str, list[float]] = {}
    client, *workers = (os.getpid(), *(process.pid for process in cluster.processes))
    x, loss, step = network()
    with config.set(seal_every_s=1.0), tf.Session(store=store) as session:
        session.run(tf.global_variables_initializer())
        batch = {x: np.random.default_rng(0).normal(size=(32, 64)).astype("f4")}
        for _ in range(WINDOWS):
            start = time.perf_counter()
            for number in range(runs // WINDOWS):
                session.run([loss, step] if number % 50 == 0 else step, batch)
            session.run(loss, batch)
            now = {"time per run": (time.perf_counter() - start) / (runs // WINDOWS)}
            session.seal()  # between seals the scheduler's tasks rise and fall
            now["client memory"] = resident_bytes(client)
            names = ["scheduler memory", *(f"worker {n} memory" for n in range(NUM_WORKERS))]
            now |= dict(zip(names, map(resident_bytes, workers), strict=True))
            now["scheduler tasks"] = cluster.client.run_on_scheduler(num_tasks)
            now["files"] = sum(len(files) for _, _, files in os.walk(store))
            for name, value in now.items():
                found.setdefault(name, []).append(value)
    return found


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; the result is 1 if something grew."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few runs: does it run?")
    parser.add_argument("--runs", type=int, default=None)
    options = parser.parse_args(arguments)
    runs = options.runs or (QUICK_RUNS if options.quick else RUNS)
    report = Report("flat")
    with tempfile.TemporaryDirectory() as place, tf.Graph().as_default():
        cluster = Cluster(place, NUM_WORKERS)
        try:
            found = measured(cluster, os.path.join(place, "store.zarr"), runs)
        finally:
            cluster.close()
    for name, values in found.items():
        later = values[SKIPPED:]
        quarter = len(later) // 4
        combine = statistics.median if name == "time per run" else max
        first, last = combine(later[:quarter]), combine(later[-quarter:])
        report.against_first(f"{name} over {runs:,} runs", first, last, LIMIT)
    return 0 if options.quick else report.status


if __name__ == "__main__":
    sys.exit(main())
