"""Chains of 10 to 10,000 ops: what an op costs to build, to lower and to run.

python benchmarks/graph_scale.py [--quick] [--rounds N]
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Sequence

import measure

import daskvars.v1 as tf

BUILD_LIMIT_S, RUN_LIMIT_S = 30e-6, 2e-6
# What an op may cost in the longest chain, over what it costs in one a tenth as long.
LINEAR_LIMIT = 1.5
LENGTHS, QUICK_LENGTHS = (10, 100, 1000, 10_000), (10, 100)
RUNS = 20


def chain(length: int) -> tuple[float, float, float]:
    """Return the seconds to build a chain of ops, to run it for the first time, and to run it."""
    with tf.Graph().as_default():
        start = x = tf.placeholder(tf.float32, [])
        one = tf.constant(1.0)
        began = time.perf_counter()
        for _ in range(length):
            x = tf.add(x, one)
        built = time.perf_counter() - began
        with tf.Session() as sess:
            call = sess.make_callable(x, [start])
            began = time.perf_counter()
            result = call(0.0)
            first = time.perf_counter() - began
            if result != length:
                raise AssertionError(f"a chain of {length} additions of 1 gave {result}")
            return built, first, measure.seconds(lambda: call(0.0), RUNS)


def per_op(lengths: Sequence[int], rounds: int) -> dict[int, tuple[float, float, float]]:
    """Return length -> seconds per op to build, to lower and to run, beyond a chain of one op."""
    found: dict[int, list[tuple[float, ...]]] = {length: [] for length in (1, *lengths)}
    for _ in range(rounds):
        for length, times in found.items():
            times.append(chain(length))
    medians = {
        length: [statistics.median(column) for column in zip(*times, strict=True)]
        for length, times in found.items()
    }
    # The run of one op is the cost of a run, which `counter` measures.
    fixed = medians.pop(1)
    return {
        length: tuple((t - f) / (length - 1) for t, f in zip(times, fixed, strict=True))
        for length, times in medians.items()
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return the exit status."""
    options = measure.options(__doc__, arguments, rounds=5)
    lengths = QUICK_LENGTHS if options.quick else LENGTHS
    report = measure.Report("graph_scale")
    costs = per_op(lengths, options.rounds)
    for length, (build, lower, run) in costs.items():
        report.against_limit(f"{length:,} ops: build per op", build, BUILD_LIMIT_S)
        report.note(f"{length:,} ops: first run, with lowering, per op {measure.spelled(lower)}")
        report.against_limit(f"{length:,} ops: run per op", run, RUN_LIMIT_S)
    for i, what in enumerate(("build", "first run", "run")):
        some = {length: costs[length][i] for length in lengths[-2:]}
        report.linear(f"{what} per op", some, LINEAR_LIMIT)
    return report.status


if __name__ == "__main__":
    sys.exit(main())
