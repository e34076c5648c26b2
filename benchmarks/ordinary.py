"""Programs as people write them for TensorFlow 1: do they run in parallel without being told?

    python benchmarks/ordinary.py [--quick] [--rounds N]

Batches have static sizes, shapes are numbers, layers are those of `tf.layers` and
`tf.nn.rnn_cell`, normalization and activation are written out; NumPy arrays are fed and the loss is
fetched in each step. The transformer is judged by hand-written NumPy on two threads, each with half
of the batch and BLAS on one thread; the recurrent network by itself on one thread, in a process of
its own. The convnet and the perceptron beside themselves on one thread have no limit.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import adam_big
import char_lm
import handwritten_transformer
import measure
import mlp_small
import numpy as np
from handwritten_transformer import EPSILON, GELU_CUBE, GELU_SCALE, HandwrittenTransformer

import daskvars.v1 as tf
from daskvars import config

THREADS = 2
SPEED_LIMIT = 0.95  # of hand-written NumPy's, of the transformer
GAIN_LIMIT = 1.6  # times its own speed on one thread, of the recurrent network
RATE = char_lm.RATE
QUICK = char_lm.QUICK


@dataclass(frozen=True)
class Sizes:
    """What the other networks are made of."""

    batch: int
    steps: int
    inputs: int
    lstm_units: int
    image: int
    filters: tuple[int, int]
    units: tuple[int, ...]
    classes: int = 10


SIZES = Sizes(128, 64, 256, 512, 28, (32, 64), (1024, 4096, 4096))
QUICK_SIZES = Sizes(8, 4, 6, 8, 8, (2, 3), (16, 24, 24))


def transformer(sizes: handwritten_transformer.Sizes) -> tuple[tf.Tensor, ...]:
    """Return the placeholders and the loss of the transformer of `char_lm`."""
    starts = handwritten_transformer.initial_values(sizes)
    batch, length, heads, width = sizes.batch, sizes.length, sizes.heads, sizes.width

    def variable(name: str) -> tf.Variable:
        start = starts[name]
        return tf.get_variable(name, start.shape, initializer=tf.constant_initializer(start))

    def dense(x: tf.Tensor, name: str) -> tf.Tensor:
        start = starts[f"{name}/w"]
        first = tf.constant_initializer(start)
        return tf.layers.dense(x, start.shape[1], kernel_initializer=first, name=name)

    def normalized(x: tf.Tensor, name: str) -> tf.Tensor:
        mean = tf.reduce_mean(x, axis=-1, keepdims=True)
        variance = tf.reduce_mean(tf.square(x - mean), axis=-1, keepdims=True)
        scaled = (x - mean) * tf.rsqrt(variance + EPSILON)
        return scaled * variable(f"{name}/gain") + variable(f"{name}/shift")

    def gelu(x: tf.Tensor) -> tf.Tensor:
        return 0.5 * x * (1.0 + tf.tanh(GELU_SCALE * (x + GELU_CUBE * tf.pow(x, 3))))

    def attention(x: tf.Tensor, layer: str) -> tf.Tensor:
        q, k, v = (
            tf.transpose(tf.reshape(each, [batch, length, heads, width // heads]), [0, 2, 1, 3])
            for each in tf.split(dense(x, f"{layer}/qkv"), 3, axis=1)
        )
        scores = tf.matmul(q, k, transpose_b=True) * (width // heads) ** -0.5
        taken = tf.matmul(tf.nn.softmax(scores + mask), v)
        taken = tf.reshape(tf.transpose(taken, [0, 2, 1, 3]), [batch * length, width])
        return dense(taken, f"{layer}/out")

    characters = tf.placeholder(tf.int32, [batch, length])
    following = tf.placeholder(tf.int32, [batch, length])
    mask = tf.constant(handwritten_transformer.mask(length))
    x = tf.nn.embedding_lookup(variable("characters"), characters) + variable("places")
    x = tf.reshape(x, [batch * length, width])
    for i in range(1, sizes.layers + 1):
        x += attention(normalized(x, f"layer{i}/norm1"), f"layer{i}")
        x += dense(gelu(dense(normalized(x, f"layer{i}/norm2"), f"layer{i}/up")), f"layer{i}/down")
    logits = dense(normalized(x, "norm"), "scores")
    labels = tf.reshape(following, [batch * length])
    return characters, following, mean_loss(labels, logits)


def mean_loss(labels: tf.Tensor, logits: tf.Tensor) -> tf.Tensor:
    """Return the mean cross entropy."""
    return tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
    )


def lstm(sizes: Sizes) -> tuple[tf.Tensor, ...]:
    """Return the placeholders and the loss of a recurrent network that labels sequences."""
    x = tf.placeholder(tf.float32, [sizes.batch, sizes.steps, sizes.inputs])
    labels = tf.placeholder(tf.int32, [sizes.batch])
    outputs, _ = tf.nn.dynamic_rnn(tf.nn.rnn_cell.LSTMCell(sizes.lstm_units), x, dtype=tf.float32)
    return x, labels, mean_loss(labels, tf.layers.dense(outputs[:, -1], sizes.classes))


def convnet(sizes: Sizes) -> tuple[tf.Tensor, ...]:
    """Return the placeholders and the loss of a network that labels flat images."""
    x = tf.placeholder(tf.float32, [sizes.batch, sizes.image**2])
    labels = tf.placeholder(tf.int32, [sizes.batch])
    found = tf.reshape(x, [sizes.batch, sizes.image, sizes.image, 1])
    for filters in sizes.filters:
        found = tf.layers.conv2d(found, filters, 5, padding="same", activation=tf.nn.relu)
        found = tf.layers.max_pooling2d(found, 2, 2)
    flat = tf.reshape(found, [sizes.batch, (sizes.image // 4) ** 2 * sizes.filters[-1]])
    hidden = tf.layers.dense(flat, 512, tf.nn.relu)
    return x, labels, mean_loss(labels, tf.layers.dense(hidden, sizes.classes))


def mlp(sizes: Sizes) -> tuple[tf.Tensor, ...]:
    """Return the placeholders and the loss of a perceptron."""
    x = found = tf.placeholder(tf.float32, [sizes.batch, sizes.units[0]])
    labels = tf.placeholder(tf.int32, [sizes.batch])
    for units in sizes.units[1:]:
        found = tf.layers.dense(found, units, tf.nn.relu)
    return x, labels, mean_loss(labels, tf.layers.dense(found, sizes.classes))


def step_of(build: Callable[[Any], tuple[tf.Tensor, ...]], sizes: Any) -> Callable[..., float]:
    """Return a training step of a network on a batch that is given."""
    with tf.Graph().as_default():
        tf.set_random_seed(0)
        *placeholders, loss = build(sizes)
        train = tf.train.AdamOptimizer(RATE).minimize(loss)
        init = tf.global_variables_initializer()
        sess = tf.Session()
    sess.run(init)

    def step(*batch: np.ndarray) -> float:
        fed = dict(zip(placeholders, batch, strict=True))
        return float(sess.run([train, loss], feed_dict=fed)[1])

    return step


def random_steps(sizes: Sizes, threads: int) -> Callable[[str], float]:
    """Return what makes a training step of the network of a name, on random batches."""
    config.set(num_threads=threads)
    shapes = {
        lstm: (sizes.batch, sizes.steps, sizes.inputs),
        convnet: (sizes.batch, sizes.image**2),
        mlp: (sizes.batch, sizes.units[0]),
    }
    rng = np.random.default_rng(1)
    steps = {}
    for build, shape in shapes.items():
        labels = rng.integers(0, sizes.classes, sizes.batch, "i4")
        given = [(rng.standard_normal(shape, "f4"), labels) for _ in range(4)]
        steps[build.__name__] = mlp_small.fed(step_of(build, sizes), given)
    return lambda name: steps[name]()


def baseline(sizes: handwritten_transformer.Sizes) -> Callable[..., float]:
    """Return the hand-written step of the transformer: a thread for each half of the batch."""
    half = replace(sizes, batch=sizes.batch // THREADS)
    first = HandwrittenTransformer(half)
    halves = [first, *(HandwrittenTransformer(half, shared=first.of) for _ in range(1, THREADS))]
    gradient, *others = (network.flat_gradient for network in halves)
    bounds = np.linspace(0, first.flat.size, THREADS + 1, dtype=int)
    ranges = [slice(*pair) for pair in itertools.pairwise(bounds)]
    adams = [adam_big.TiledAdam(first.flat[each], RATE) for each in ranges]
    pool = ThreadPoolExecutor(THREADS)

    def update(adam: adam_big.TiledAdam, part: slice) -> None:
        for other in others:
            gradient[part] += other[part]
        gradient[part] /= THREADS
        adam.apply(gradient[part])

    def step(*batch: np.ndarray) -> float:
        rows = [np.split(each, THREADS) for each in batch]
        losses = list(pool.map(HandwrittenTransformer.loss_and_gradients, halves, *rows))
        list(pool.map(update, adams, ranges))
        return sum(losses) / THREADS

    return step


def sides(sizes: handwritten_transformer.Sizes) -> dict[str, Callable[[], float]]:
    """Return a step of each side of the transformer; it gives the loss."""
    steps = {"daskvars": step_of(transformer, sizes), "NumPy": baseline(sizes)}
    return {name: mlp_small.fed(step, char_lm.batches(sizes)) for name, step in steps.items()}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return the exit status."""
    options = measure.options(__doc__, arguments, rounds=5)
    report = measure.Report("ordinary")
    with config.set(num_threads=THREADS):
        steps = sides(QUICK if options.quick else char_lm.SIZES)
        turns = {
            f"transformer, {side}": measure.Side(step, 1 if side == "NumPy" else None)
            for side, step in steps.items()
        }
        times = measure.interleaved(turns, options.rounds, 2)
    report.against_rate({name: 1 / took for name, took in times.items()}, "steps/s", SPEED_LIMIT)
    sizes = QUICK_SIZES if options.quick else SIZES
    with (
        measure.Apart(random_steps, sizes, THREADS) as several,
        measure.Apart(random_steps, sizes, 1) as one,
    ):
        for name, limit in (("lstm", GAIN_LIMIT), ("convnet", None), ("mlp", None)):
            turns = {
                f"{name}, {THREADS} threads": measure.Side(partial(several, name)),
                f"{name}, 1 thread": measure.Side(partial(one, name)),
            }
            times = measure.interleaved(turns, options.rounds, 2)
            rates = {side: 1 / took for side, took in times.items()}
            report.against_rate(rates, "steps/s", limit)
    return report.status


if __name__ == "__main__":
    sys.exit(main())
