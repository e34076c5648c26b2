"""What tracing costs: a step under `daskvars.profile` beside one without, here and on two workers.

    python benchmarks/tracing.py [--quick] [--rounds N]

Off, a step looks whether there is a tracer; on workers kernels are timed all the same, for Dask's
page of fine performance metrics. Both are measured by themselves, as many times as a step does
them, since a step's own time drifts by more. The network is that of `mlp_small`, and a wider one.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import measure
import mlp_small
import numpy as np
from distributed import Client

import daskvars as dv
import daskvars.v1 as tf
from daskvars.remote import tracing
from daskvars.remote.scope_seconds import ScopeSeconds
from daskvars.remote.tracing import Labels

SIZES = {"784-128-10": (mlp_small.UNITS, 64), "256-1024-1024-10": ((256, 1024, 1024, 10), 256)}
QUICK = {"8-8-4": ((8, 8, 4), 4)}
MAX_ON, MAX_OFF = 1.1, 0.01  # of a step
LOOKS = 8  # at whether there is a tracer, in a step of a few tasks
KERNELS = 64  # timed on a worker in a step of a small network


def turns(step: Callable[[], Any], rounds: int, steps: int, place: Path) -> dict[str, float]:
    """Return the median seconds of a step, traced and not, in turns."""
    times: dict[str, list[float]] = {"traced": [], "not traced": []}
    for _ in range(rounds):
        times["not traced"].append(measure.seconds(step, steps))
        with dv.profile(place / "trace.json"):
            times["traced"].append(measure.seconds(step, steps))
    return {name: statistics.median(found) for name, found in times.items()}


def program(units: Sequence[int], batch: int) -> Callable[[], Any]:
    """Return a step of training, on a cluster if there is one; its loss is fetched."""
    step = mlp_small.program(units, tf.train.GradientDescentOptimizer(0.1))
    return mlp_small.fed(step, mlp_small.batches(units, batch))


def look_s(steps: int) -> float:
    """Return the seconds of the looks of one step while nobody traces."""

    def looks() -> None:
        for _ in range(LOOKS):
            assert tracing.here is None

    return measure.seconds(looks, steps)


def timing_s(steps: int) -> float:
    """Return the seconds that it takes to time and note the kernels of one step on a worker."""
    names = tuple(f"layer{i % 4}/op{i}" for i in range(KERNELS))
    labels = Labels(tuple(f"kernel{i % 8}" for i in range(KERNELS)), names, names, ({},) * KERNELS)
    times, spent = np.linspace(0.0, 1e-4, KERNELS + 1).tolist(), ScopeSeconds()
    return measure.seconds(lambda: spent.add(labels, times), steps)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return the exit status."""
    options = measure.options(__doc__, arguments, rounds=15)
    report = measure.Report("tracing")
    sizes = QUICK if options.quick else SIZES
    steps = 5 if options.quick else 100
    with tempfile.TemporaryDirectory() as directory:
        place = Path(directory)
        for name, (units, batch) in sizes.items():
            found = turns(program(units, batch), options.rounds, steps, place)
            report.against_baseline(found, MAX_ON, f"step of {name}")
            limit = MAX_OFF * found["not traced"]
            report.against_limit(f"looks of {name} when it is off", look_s(100 * steps), limit)
        with Client(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
        ):
            for name, (units, batch) in sizes.items():
                found = turns(program(units, batch), options.rounds, max(5, steps // 5), place)
                report.against_baseline(found, MAX_ON, f"step of {name} on two workers")
                limit = MAX_OFF * found["not traced"]
                report.against_limit("kernels timed on a worker", timing_s(100 * steps), limit)
    return report.status


if __name__ == "__main__":
    sys.exit(main())
