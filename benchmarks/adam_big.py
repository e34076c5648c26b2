"""Adam on 64M parameters: the optimizer alone, which is bound by memory.

python benchmarks/adam_big.py [--quick] [--rounds N]
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import measure
import numpy as np

import daskvars.v1 as tf

LIMIT = 1.2
SIZE, QUICK_SIZE = 64_000_000, 300_000
TILE = 256 * 1024
RATE, BETA1, BETA2, EPSILON = 0.001, 0.9, 0.999, 1e-8


class TiledAdam:
    """Adam in place on one flat array, tile by tile: the hand-written optimizer.

    Args:
      w: [n] float, the parameters, updated in place.
      rate: learning rate.
      tile: elements that are brought from memory once for all the passes over them.
    """

    def __init__(self, w: np.ndarray, rate: float = RATE, tile: int = TILE) -> None:
        self.w, self.m, self.v = w, np.zeros_like(w), np.zeros_like(w)
        self.rate, self.tile, self.steps = rate, tile, 0
        self.scratch = np.empty(min(tile, w.size), w.dtype)

    def apply(self, gradient: np.ndarray) -> None:
        """Do one step with the gradient [n], which is left as it is."""
        self.steps += 1
        kind = self.w.dtype.type
        rate = self.rate * np.sqrt(1 - BETA2**self.steps) / (1 - BETA1**self.steps)
        rate, epsilon = kind(rate), kind(EPSILON)
        keep_m, take_m, keep_v, take_v = map(kind, (BETA1, 1 - BETA1, BETA2, 1 - BETA2))
        for start in range(0, self.w.size, self.tile):
            tile = slice(start, start + self.tile)
            w, m, v, g = self.w[tile], self.m[tile], self.v[tile], gradient[tile]
            t = self.scratch[: w.size]
            np.multiply(g, take_m, t)
            m *= keep_m
            m += t
            np.multiply(g, g, t)
            t *= take_v
            v *= keep_v
            v += t
            np.sqrt(v, t)
            t += epsilon
            np.divide(m, t, t)
            t *= rate
            w -= t


def trained(network: Any, rate: float) -> Callable[..., float]:
    """Return a step of a hand-written network: its loss on a batch, before Adam's update."""
    adam = TiledAdam(network.flat, rate)

    def step(*batch: np.ndarray) -> float:
        loss: float = network.loss_and_gradients(*batch)
        adam.apply(network.flat_gradient)
        return loss

    return step


def sides(size: int) -> dict[str, Callable[[], float]]:
    """Return a step of each side; it gives the mean of some of the parameters."""
    rng = np.random.default_rng(0)
    start = rng.standard_normal(size, dtype=np.float32)
    gradient = rng.standard_normal(size, dtype=np.float32)
    return {"daskvars": program(start, gradient), "NumPy": baseline(start.copy(), gradient)}


def baseline(w: np.ndarray, gradient: np.ndarray) -> Callable[[], float]:
    """Return the hand-written step."""
    adam = TiledAdam(w)

    def step() -> float:
        adam.apply(gradient)
        return float(w[:1000].mean())

    return step


def program(start: np.ndarray, gradient: np.ndarray) -> Callable[[], float]:
    """Return the step as a graph: the gradient is fed, the optimizer applies it."""
    with tf.Graph().as_default():
        w = tf.get_variable("w", initializer=tf.constant(start))
        g = tf.placeholder(tf.float32, [start.size])
        train = tf.train.AdamOptimizer(RATE, BETA1, BETA2, EPSILON).apply_gradients([(g, w)])
        sess = tf.Session()
        sess.run(tf.global_variables_initializer())
        apply = sess.make_callable(train, [g])
        some = sess.make_callable(tf.reduce_mean(w[:1000]))

    def step() -> float:
        apply(gradient)
        return float(some())

    return step


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return the exit status."""
    return measure.compared(
        "adam_big",
        __doc__,
        arguments,
        lambda quick: sides(QUICK_SIZE if quick else SIZE),
        LIMIT,
        rounds=7,
        steps=1,
        threads=False,
    )


if __name__ == "__main__":
    sys.exit(main())
