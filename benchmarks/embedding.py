"""A table of 1M x 64, 8,192 zipf-distributed rows of it a step, sparse Adagrad.

python benchmarks/embedding.py [--quick] [--rounds N]
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

import measure
import mlp_small
import numpy as np

import daskvars.v1 as tf

LIMIT = 1.2
RATE, INITIAL = 0.05, 0.1
SIZES, QUICK_SIZES = (1_000_000, 64, 8192), (500, 8, 100)  # rows, columns, ids a step
ROUNDS = 32


class HandwrittenEmbedding:
    """Rows looked up, their squared distance from a target, Adagrad on the rows in place.

    Args:
      table: [rows, columns] float, updated in place.
      count: ids a step.
    """

    def __init__(self, table: np.ndarray, count: int) -> None:
        self.table = table
        self.squares = np.full_like(table, INITIAL)
        self.rows = np.empty((count, table.shape[1]), table.dtype)
        self.bits = (count - 1).bit_length()
        self.positions = np.arange(count)

    def loss_and_gradients(self, ids: np.ndarray, target: np.ndarray) -> float:
        """Return the loss; `rows` becomes its gradient with respect to the rows looked up."""
        rows = self.rows
        self.table.take(ids, 0, rows, "clip")
        rows -= target
        flat = rows.reshape(-1)
        loss = float(np.dot(flat, flat)) / (2 * len(ids))
        rows *= rows.dtype.type(1 / len(ids))
        return loss

    def summed(self, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the distinct ids, and the sum of the gradients of each.

        Ids are sorted with their positions, packed into one integer. Round k adds the k-th
        gradient of every id that has one; the few ids with more than that are summed at once.
        """
        packed = (ids.astype(np.int64) << self.bits) | self.positions
        packed.sort()
        order = packed & ((1 << self.bits) - 1)
        packed >>= self.bits
        starts = np.flatnonzero(np.concatenate(([True], packed[1:] != packed[:-1])))
        counts = np.diff(starts, append=len(ids))
        longest = np.argsort(-counts, kind="stable")
        counts, starts = counts[longest], starts[longest]
        sums = self.rows.take(order[starts], 0)
        many = int(np.searchsorted(-counts, -ROUNDS, "right"))
        for k in range(1, ROUNDS):
            stop = int(np.searchsorted(-counts, -k, "left"))
            if stop <= many:
                break
            sums[many:stop] += self.rows.take(order[starts[many:stop] + k], 0)
        for i in range(many):
            of_one = order[starts[i] : starts[i] + counts[i]]
            np.sum(self.rows.take(of_one, 0), 0, out=sums[i])
        return packed[starts], sums

    def update(self, ids: np.ndarray) -> None:
        """Apply Adagrad to the rows."""
        distinct, sums = self.summed(ids)
        squares = self.squares.take(distinct, 0)
        squares += sums * sums
        put_rows(self.squares, distinct, squares)
        np.sqrt(squares, squares)
        sums *= sums.dtype.type(RATE)
        sums /= squares
        rows = self.table.take(distinct, 0)
        rows -= sums
        put_rows(self.table, distinct, rows)


def put_rows(table: np.ndarray, ids: np.ndarray, rows: np.ndarray) -> None:
    """Write whole rows, each as a single item: half the time of ``table[ids] = rows``."""
    item = np.dtype((np.void, table.strides[0]))
    table.view(item)[ids, 0] = rows.view(item)[:, 0]


def initial_table(rows: int, columns: int, kind: type = np.float32) -> np.ndarray:
    """Return a random table."""
    return np.random.default_rng(0).standard_normal((rows, columns), dtype=kind)


def batches(rows: int, columns: int, count: int, number: int = 16) -> list[tuple]:
    """Return (ids, targets) of steps; the id of rank r is drawn in proportion to 1 / r."""
    rng = np.random.default_rng(1)
    chances = np.cumsum(1 / np.arange(1, rows + 1))
    places = rng.permutation(rows).astype(np.int32)
    found = []
    for _ in range(number):
        ranks = np.searchsorted(chances, rng.random(count) * chances[-1])
        found.append((places[ranks], rng.standard_normal(columns, dtype=np.float32)))
    return found


def baseline(rows: int, columns: int, count: int) -> Callable[..., float]:
    """Return the hand-written step."""
    embedding = HandwrittenEmbedding(initial_table(rows, columns), count)

    def step(ids: np.ndarray, target: np.ndarray) -> float:
        loss = embedding.loss_and_gradients(ids, target)
        embedding.update(ids)
        return loss

    return step


def program(rows: int, columns: int, count: int) -> Callable[..., float]:
    """Return the step as a graph in a session."""
    with tf.Graph().as_default():
        table = tf.get_variable("table", initializer=tf.constant(initial_table(rows, columns)))
        ids = tf.placeholder(tf.int32, [count])
        target = tf.placeholder(tf.float32, [columns])
        loss = tf.nn.l2_loss(tf.nn.embedding_lookup(table, ids) - target) / count
        train = tf.train.AdagradOptimizer(RATE, INITIAL).minimize(loss)
        sess = tf.Session()
        sess.run(tf.global_variables_initializer())
        call = sess.make_callable([loss, train], [ids, target])
    return lambda *batch: float(call(*batch)[0])


def sides(rows: int, columns: int, count: int) -> dict[str, Callable[[], float]]:
    """Return a step of each side; it gives the loss."""
    sizes = rows, columns, count
    steps = {"daskvars": program(*sizes), "NumPy": baseline(*sizes)}
    return {name: mlp_small.fed(step, batches(*sizes)) for name, step in steps.items()}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return the exit status."""
    return measure.compared(
        "embedding",
        __doc__,
        arguments,
        lambda quick: sides(*(QUICK_SIZES if quick else SIZES)),
        LIMIT,
        rounds=40,
        steps=20,
        threads=False,
    )


if __name__ == "__main__":
    sys.exit(main())
