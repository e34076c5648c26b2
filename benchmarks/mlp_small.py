"""A perceptron of 784-128-10 units, batches of 64, gradient descent: overhead decides.

    python benchmarks/mlp_small.py [--quick] [--rounds N]

So small a step is one task on one thread, so it is judged by the hand-written step on one BLAS
thread. What two would make of that is printed beside it: where both cores are idle it is faster,
where they are not it is slower (BLAS on two threads in our step gained 6 % where the hand-written
one gained 20 to 30, and its bits would depend on the machine).
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

import measure
import numpy as np

import daskvars.v1 as tf

LIMIT = 1.3
RATE = 0.1
UNITS, QUICK_UNITS = (784, 128, 10), (20, 8, 4)
BATCH = 64


class HandwrittenMlp:
    """Forward and backward through dense layers with relu between, in memory made once.

    Args:
      weights: [in, out] float per layer.
      batch: rows of a batch.
      xp: NumPy, or CuPy.

    Attributes:
      flat: [n], all weights and biases one after the other.
      flat_gradient: [n], their gradients.
    """

    def __init__(self, weights: Sequence[np.ndarray], batch: int, xp: Any = np) -> None:
        kind, self.xp = weights[0].dtype, xp
        shapes = [w.shape for w in weights] + [w.shape[1:] for w in weights]
        self.flat, parameters = flat_views(shapes, kind, xp)
        self.flat_gradient, self.gradients = flat_views(shapes, kind, xp)
        for parameter, start in zip(parameters, weights, strict=False):
            parameter[...] = xp.asarray(start)
        self.weights, self.biases = parameters[: len(weights)], parameters[len(weights) :]
        self.values = [xp.empty((batch, w.shape[1]), kind) for w in weights]
        self.slopes = [xp.empty_like(value) for value in self.values]
        self.masks = [xp.empty(value.shape, bool) for value in self.values]
        self.first = xp.arange(batch) * weights[-1].shape[1]
        self.ones = xp.ones(batch, kind)
        self.row = xp.empty((batch, 1), kind)
        self.one_over_batch = kind.type(1 / batch)

    def loss_and_gradients(self, x: Any, labels: Any) -> float:
        """Return the mean cross entropy and fill `gradients`."""
        xp = self.xp
        last = len(self.weights) - 1
        inputs = [x]
        for i, (w, b, value) in enumerate(zip(self.weights, self.biases, self.values, strict=True)):
            xp.matmul(inputs[i], w, out=value)
            value += b
            if i < last:
                xp.maximum(value, 0, out=value)
            inputs.append(value)
        loss = self._cross_entropy(labels)
        for i in range(last, -1, -1):
            slope = self.slopes[i]
            xp.matmul(inputs[i].T, slope, out=self.gradients[i])
            xp.matmul(self.ones, slope, out=self.gradients[last + 1 + i])
            if i:
                xp.matmul(slope, self.weights[i].T, out=self.slopes[i - 1])
                xp.greater(inputs[i], 0, out=self.masks[i - 1])
                self.slopes[i - 1] *= self.masks[i - 1]
        return loss

    def _cross_entropy(self, labels: Any) -> float:
        """Return the loss; the gradient with respect to the logits becomes the last slope."""
        logits, slope, row, xp = self.values[-1], self.slopes[-1], self.row, self.xp
        places = self.first + labels
        xp.max(logits, axis=1, keepdims=True, out=row)
        xp.subtract(logits, row, out=slope)
        flat = slope.reshape(-1)
        chosen = flat[places].sum()
        xp.exp(slope, out=slope)
        xp.sum(slope, axis=1, keepdims=True, out=row)
        slope /= row
        flat[places] -= 1
        slope *= self.one_over_batch
        xp.log(row, out=row)
        return float((row.sum() - chosen) * self.one_over_batch)


def flat_views(shapes: Sequence[tuple], kind: np.dtype, xp: Any = np) -> tuple[Any, list[Any]]:
    """Return zeros [n] and views of the shapes given, which share it out among them."""
    flat = xp.zeros(sum(map(math.prod, shapes)), kind)
    ends = np.cumsum([math.prod(shape) for shape in shapes])
    parts = xp.split(flat, ends[:-1].tolist())
    return flat, [part.reshape(shape) for part, shape in zip(parts, shapes, strict=True)]


def initial_weights(units: Sequence[int], kind: type = np.float32) -> list[np.ndarray]:
    """Return [in, out] weights drawn by He's rule."""
    rng = np.random.default_rng(0)
    return [
        (rng.standard_normal((n, m)) * np.sqrt(2 / n)).astype(kind)
        for n, m in itertools.pairwise(units)
    ]


def batches(
    units: Sequence[int], batch: int, count: int = 8
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return (inputs, labels) of random batches."""
    rng = np.random.default_rng(1)
    return [
        (
            rng.standard_normal((batch, units[0]), dtype=np.float32),
            rng.integers(0, units[-1], batch, dtype=np.int32),
        )
        for _ in range(count)
    ]


def sides(units: Sequence[int], batch: int = BATCH) -> dict[str, Callable[[], float]]:
    """Return a step of each side; it gives the loss."""
    steps = {
        "daskvars": program(units, tf.train.GradientDescentOptimizer(RATE)),
        "NumPy": baseline(units, batch),
    }
    return {name: fed(step, batches(units, batch)) for name, step in steps.items()}


def fed(step: Callable[..., float], given: Sequence[tuple]) -> Callable[[], float]:
    """Return `step` on one batch after the other, again and again."""
    rest = itertools.cycle(given)
    return lambda: step(*next(rest))


def baseline(units: Sequence[int], batch: int) -> Callable[..., float]:
    """Return the hand-written step."""
    mlp = HandwrittenMlp(initial_weights(units), batch)
    flat, gradient, rate = mlp.flat, mlp.flat_gradient, np.float32(RATE)

    def step(x: np.ndarray, labels: np.ndarray) -> float:
        loss = mlp.loss_and_gradients(x, labels)
        np.multiply(gradient, rate, gradient)
        np.subtract(flat, gradient, flat)
        return loss

    return step


def program(
    units: Sequence[int], optimizer: tf.train.Optimizer, device: str | None = None
) -> Callable[..., float]:
    """Return the step as a graph in a session."""
    with tf.Graph().as_default(), tf.device(device):
        x = inputs = tf.placeholder(tf.float32, [None, units[0]])
        labels = tf.placeholder(tf.int32, [None])
        weights = initial_weights(units)
        for i, start in enumerate(weights):
            with tf.variable_scope(f"layer{i + 1}"):
                w = tf.get_variable("weights", initializer=tf.constant(start))
                b = tf.get_variable("biases", [start.shape[1]], initializer=tf.zeros_initializer())
                x = tf.matmul(x, w) + b
                if i < len(weights) - 1:
                    x = tf.nn.relu(x)
        loss = tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=x)
        )
        train = optimizer.minimize(loss)
        sess = tf.Session()
        sess.run(tf.global_variables_initializer())
        call = sess.make_callable([loss, train], [inputs, labels])
    return lambda *batch: float(call(*batch)[0])


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return the exit status."""
    options = measure.options(__doc__, arguments, rounds=40)
    found = sides(QUICK_UNITS if options.quick else UNITS)
    report = measure.Report("mlp_small")
    times = measure.interleaved(
        {"daskvars": measure.Side(found["daskvars"]), **measure.numpy_sides(found["NumPy"])},
        options.rounds,
        5 if options.quick else 200,
    )
    *judged, both_cores = times
    report.note(f"{both_cores} {measure.spelled(times[both_cores])}/step")
    report.against_baseline({side: times[side] for side in judged}, LIMIT)
    return report.status


if __name__ == "__main__":
    sys.exit(main())
