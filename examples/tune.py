"""Tuning: many clients of one Dask cluster try settings, and keep what they find in one store.

    python examples/tune.py --trials 8 --clients 2

Each client is a process of its own. Which trial comes next and which was the best are variables in
a store that all share: taking a number, and comparing with the best so far, are transactions, so no
trial is made twice and no better one is overwritten. The store is there when the clients are gone.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile

import digits
import numpy as np
from distributed import Client, LocalCluster

import daskvars.v1 as tf


class Board:
    """What the clients share: the number of the next trial, the best accuracy, and its rate."""

    def __init__(self) -> None:
        self.graph = tf.Graph()
        with self.graph.as_default():
            zeros = tf.zeros_initializer()
            self.next = tf.get_variable("next", [], tf.int64, initializer=zeros)
            self.best = tf.get_variable("best", [2], tf.float64, initializer=zeros)
            self.take = self.next.assign_add(1)
            self.found = tf.placeholder(tf.float64, [2], name="found")
            is_better = self.found[0] > self.best[0]
            self.report = self.best.assign(tf.where(is_better, self.found, self.best))
            self.init = tf.global_variables_initializer()


def trial(rate: float, steps: int) -> float:
    """Train softmax regression with a learning rate, and return its held-out accuracy."""
    (images, labels), (test_images, test_labels) = digits.load()
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 64])
        y = tf.placeholder(tf.int32, [None])
        logits = tf.layers.dense(x, 10)
        loss = tf.losses.sparse_softmax_cross_entropy(y, logits)
        train = tf.train.GradientDescentOptimizer(rate).minimize(loss)
        with tf.Session() as sess:  # without a store: its variables are this trial's alone
            sess.run(tf.global_variables_initializer())
            for _ in range(steps):
                sess.run(train, {x: images.reshape(-1, 64), y: labels})
            scores = sess.run(logits, {x: test_images.reshape(-1, 64)})
    return float((scores.argmax(axis=1) == test_labels).mean())


def work(address: str, store: str, trials: int, steps: int) -> None:
    """Try settings until there are none left."""
    board = Board()
    with Client(address), tf.Session(graph=board.graph, store=store) as shared:
        while (number := int(shared.run(board.take))) <= trials:
            rate = float(10 ** np.random.default_rng(number).uniform(-3, 1))
            accuracy = trial(rate, steps)
            shared.run(board.report, {board.found: [accuracy, rate]})
            print(f"trial {number}: rate {rate:.4f}, accuracy {accuracy:.3f}", flush=True)


def main(arguments: list[str] | None = None) -> None:
    """Run the command line: all of it, or one client."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=8)
    parser.add_argument("--clients", type=int, default=2)
    parser.add_argument("--steps", type=int, default=50, help="of each trial")
    parser.add_argument("--store", metavar="PATH", help="where the findings go")
    parser.add_argument("--scheduler", metavar="ADDRESS", help="be a client of this cluster")
    options = parser.parse_args(arguments)
    if options.scheduler:
        work(options.scheduler, options.store, options.trials, options.steps)
        return
    with tempfile.TemporaryDirectory() as folder:
        store, board = options.store or f"{folder}/findings.zarr", Board()
        cluster = LocalCluster(
            n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address="127.0.0.1:0"
        )
        with cluster, Client(cluster):
            with tf.Session(graph=board.graph, store=store) as shared:
                shared.run(board.init)
            command = [sys.executable, __file__, "--scheduler", cluster.scheduler_address]
            command += ["--store", store, "--trials", options.trials, "--steps", options.steps]
            clients = [subprocess.Popen(list(map(str, command))) for _ in range(options.clients)]
            assert [client.wait() for client in clients] == [0] * options.clients
            with tf.Session(graph=board.graph, store=store) as shared:
                accuracy, rate = shared.run(board.best)
        print(f"best: rate {rate:.4f}, accuracy {accuracy:.3f}")


if __name__ == "__main__":
    main()
