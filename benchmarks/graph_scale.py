"""Chains of 10 to 10,000 ops: what an op costs to build, to lower and to run.

Beside them training steps of 100 and 2,000 ops: what it takes to lower one whose batch is cut, once
for each signature.

python benchmarks/graph_scale.py [--quick] [--rounds N]
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Sequence

import measure
import numpy as np

import daskvars.v1 as tf
from daskvars import config
from daskvars.execution.engine import events

BUILD_LIMIT_S, RUN_LIMIT_S = 30e-6, 2e-6
# What an op may cost in the longest chain, over what it costs in one a tenth as long.
LINEAR_LIMIT = 1.5
LENGTHS, QUICK_LENGTHS = (10, 100, 1000, 10_000), (10, 100)
RUNS = 20
LOWERING_LIMITS_S, QUICK_LOWERING = {100: 0.05, 2_000: 0.5}, (100,)
UNITS, ROWS, PARTS = 32, 64, 4


def lowering(num_ops: int) -> float:
    """Return the seconds to lower a training step of about so many ops, whose batch is cut.

    Raises:
      AssertionError: it was lowered more than once.
    """
    with tf.Graph().as_default() as graph:
        inputs = hidden = tf.placeholder(tf.float32, [None, UNITS])
        for _ in range(max(1, num_ops // 20)):  # 20 ops a layer, with its gradient and update
            hidden = tf.layers.dense(hidden, UNITS, tf.nn.relu)
        loss = tf.reduce_mean(tf.square(hidden))
        step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
        used = sum("nitializer" not in op.name for op in graph.get_operations())
        assert used >= 0.8 * num_ops, f"{used} ops instead of {num_ops}"
        fed, heard = {inputs: np.ones((ROWS, UNITS), np.float32)}, []
        with config.set(batch_parts=PARTS), tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            with events.subscribed(heard.append):
                for _ in range(2):
                    sess.run([loss, step], fed)
    (found,) = [event.duration_s for event in heard if isinstance(event, events.PlanLowered)]
    return found


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
    for num_ops in QUICK_LOWERING if options.quick else LOWERING_LIMITS_S:
        found = statistics.median(lowering(num_ops) for _ in range(options.rounds))
        what = f"a training step of {num_ops:,} ops: lowering"
        report.against_limit(what, found, LOWERING_LIMITS_S[num_ops])
    return report.status


if __name__ == "__main__":
    sys.exit(main())
