"""The perceptron of `mlp_small`, four times as wide, fed by a dataset and fed with arrays at hand.

    python benchmarks/input_pipeline.py [--quick] [--rounds N]

Both sides are the same graph in a session. One takes its batches from 60,000 rows in memory,
shuffled, repeated, batched and prefetched; the other is fed with batches that were made before.
What the first takes more is what preparing elements costs a step, and what taking one costs. On a
machine that does other things too the first cannot be seen: the CPU time of the thread that trains
tells the second alone.

What functions of elements cost is seen of images that are cropped, flipped and brightened at
random, one after the other as a program says it, beside NumPy by hand on whole batches.
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

LIMIT, MAPPED_LIMIT = 1.1, 2.5
RATE = 0.1
UNITS, QUICK_UNITS = (784, 512, 10), (20, 8, 4)
ROWS, QUICK_ROWS = 60_000, 500
BATCH = 128
IMAGES, QUICK_IMAGES, SIZE, BORDER = 2_000, 100, 32, 2


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


def mapped(count: int) -> Callable[[], Any]:
    """Return what gives a batch of images of a dataset, each changed at random."""

    def changed(image: Any, label: Any) -> Any:
        x = tf.cast(image, tf.float32) / 255.0
        x = tf.image.resize_image_with_crop_or_pad(x, SIZE + 2 * BORDER, SIZE + 2 * BORDER)
        x = tf.image.random_flip_left_right(tf.random_crop(x, [SIZE, SIZE, 3]))
        return tf.image.random_brightness(x, 0.2), label

    with tf.Graph().as_default():
        dataset = tf.data.Dataset.from_tensor_slices(images(count))
        dataset = dataset.shuffle(count, seed=1).repeat().map(changed).batch(BATCH)
        return tf.Session().make_callable(list(dataset.make_one_shot_iterator().get_next()))


def mapped_by_hand(count: int) -> Callable[[], Any]:
    """Return what does the same in NumPy, for a whole batch where that can be."""
    pixels, labels = images(count)
    rng = np.random.default_rng(1)
    full = SIZE + 2 * BORDER

    def step() -> Any:
        rows = rng.integers(0, count, BATCH)
        padded = np.zeros((BATCH, full, full, 3), np.float32)
        padded[:, BORDER:-BORDER, BORDER:-BORDER] = pixels[rows].astype(np.float32) / 255
        found = np.empty((BATCH, SIZE, SIZE, 3), np.float32)
        for number, (y, x) in enumerate(rng.integers(0, 2 * BORDER + 1, (BATCH, 2)).tolist()):
            found[number] = padded[number, y : y + SIZE, x : x + SIZE]
        flipped = rng.random(BATCH) < 0.5
        found[flipped] = found[flipped][:, :, ::-1]
        found += rng.uniform(-0.2, 0.2, (BATCH, 1, 1, 1)).astype(np.float32)
        return found, labels[rows]

    return step


def images(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Return random images and labels."""
    rng = np.random.default_rng(1)
    pixels = rng.integers(0, 255, (count, SIZE, SIZE, 3), dtype=np.uint8)
    return pixels, rng.integers(0, 10, count, dtype=np.int32)


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
    number = QUICK_IMAGES if options.quick else IMAGES
    sides = {"mapped images": mapped(number), "by hand": mapped_by_hand(number)}
    times = measure.interleaved(
        {name: measure.Side(step, 1) for name, step in sides.items()}, options.rounds, count
    )
    report.against_baseline(times, MAPPED_LIMIT, "batch of images")
    return report.status


if __name__ == "__main__":
    sys.exit(main())
