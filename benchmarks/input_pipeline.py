"""The perceptron of `mlp_small`, four times as wide, fed by a dataset and fed with arrays at hand.

    python benchmarks/input_pipeline.py [--quick] [--rounds N]

Both sides are the same graph in a session. One takes its batches from 60,000 rows in memory,
shuffled, repeated, batched and prefetched; the other is fed with batches that were made before.
What the first takes more is what preparing elements costs a step, and what taking one costs. On a
machine that does other things too the first cannot be seen: the CPU time of the thread that trains
tells the second alone.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import measure
import mlp_small
import numpy as np
import threadpoolctl

import daskvars.v1 as tf

LIMIT = 1.1
RATE = 0.1
UNITS, QUICK_UNITS = (784, 512, 10), (20, 8, 4)
ROWS, QUICK_ROWS = 60_000, 500
BATCH = 128


def rows(units: Sequence[int], count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return random inputs and labels."""
    rng = np.random.default_rng(1)
    inputs = rng.standard_normal((count, units[0]), dtype=np.float32)
    return inputs, rng.integers(0, units[-1], count, dtype=np.int32)


def trained(units: Sequence[int], inputs: Any, labels: Any) -> Any:
    """Return the loss of a perceptron, and the operation that trains it."""
    x = inputs
    for i, start in enumerate(mlp_small.initial_weights(units)):
        w = tf.get_variable(f"weights{i}", initializer=tf.constant(start))
        b = tf.get_variable(f"biases{i}", [start.shape[1]], initializer=tf.zeros_initializer())
        x = tf.matmul(x, w) + b
        if i < len(units) - 2:
            x = tf.nn.relu(x)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=x))
    return loss, tf.train.GradientDescentOptimizer(RATE).minimize(loss)


def from_dataset(units: Sequence[int], count: int) -> Callable[[], float]:
    """Return the step that takes its batch from a dataset."""
    with tf.Graph().as_default():
        dataset = tf.data.Dataset.from_tensor_slices(rows(units, count))
        dataset = dataset.shuffle(count, seed=1).repeat().batch(BATCH, drop_remainder=True)
        element = dataset.prefetch(2).make_one_shot_iterator().get_next()
        fetches = trained(units, *element)
        sess = tf.Session()
        sess.run(tf.global_variables_initializer())
        call = sess.make_callable(list(fetches))
    return lambda: float(call()[0])


def from_arrays(units: Sequence[int], count: int) -> Callable[[], float]:
    """Return the step that is fed with arrays."""
    with tf.Graph().as_default():
        inputs = tf.placeholder(tf.float32, [BATCH, units[0]])
        labels = tf.placeholder(tf.int32, [BATCH])
        fetches = trained(units, inputs, labels)
        sess = tf.Session()
        sess.run(tf.global_variables_initializer())
        call = sess.make_callable(list(fetches), [inputs, labels])
    given = mlp_small.batches(units, BATCH)
    return mlp_small.fed(lambda *batch: float(call(*batch)[0]), given)


def cpu_s(sides: dict[str, Callable[[], float]], rounds: int, steps: int) -> dict[str, float]:
    """Return the median CPU seconds that a step of each side takes of the thread that trains."""
    taken: dict[str, list[float]] = {name: [] for name in sides}
    with threadpoolctl.threadpool_limits(1):
        for _ in range(rounds):
            for name, step in sides.items():
                start = time.thread_time()
                for _ in range(steps):
                    step()
                taken[name].append((time.thread_time() - start) / steps)
    return {name: statistics.median(found) for name, found in taken.items()}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return the exit status."""
    options = measure.options(__doc__, arguments, rounds=30)
    sizes = (QUICK_UNITS, QUICK_ROWS) if options.quick else (UNITS, ROWS)
    count = 5 if options.quick else 50
    steps = {"dataset": from_dataset(*sizes), "arrays": from_arrays(*sizes)}
    times = measure.interleaved(
        {name: measure.Side(step, 1) for name, step in steps.items()},
        options.rounds,
        count,
    )
    report = measure.Report("input_pipeline")
    report.against_baseline(times, LIMIT)
    report.against_baseline(cpu_s(steps, options.rounds, count), LIMIT, "step, CPU of its thread")
    return report.status


if __name__ == "__main__":
    sys.exit(main())
