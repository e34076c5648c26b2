"""Several clients of one cluster: what sharing costs one of them, and asynchronous training.

    python benchmarks/clients.py

First one client counts up on variables of its own and on a state that it shares by name: the ratio
of the times of a run is what sharing costs. Then several client processes train one network on
handwritten digits, each on its own share of them, with ``consistency="async"``: each step's
gradient is of the version that its client saw, and is applied to the newest. The network must
classify 95 % of the held-out digits, and no step may be lost.
"""

from __future__ import annotations

import logging
import multiprocessing
import time

import measure
import numpy as np
from distributed import Client, LocalCluster
from sklearn.datasets import load_digits

import daskvars.v1 as tf

WANTED_ACCURACY = 0.95
MAX_COST = 1.05  # of a run on a shared state, by one on variables of its own
ROUNDS = 7
BATCH = 64
UNITS = 64
RATE = 0.005


def digits():
    """Return (images, labels) for training and for testing."""
    data = load_digits()
    order = np.random.default_rng(0).permutation(len(data.target))
    images = (data.data / 16.0).astype(np.float32)[order]
    labels = data.target.astype(np.int32)[order]
    return (images[360:], labels[360:]), (images[:360], labels[:360])


def build(num_steps: int):
    """Build the network, to be trained in so many steps of all clients, and return its ends.

    The rate falls to 0. The gradient of a client that waits for a core is of a version 10 or 20
    steps old, and with a constant rate what such steps do to the network last is what counts
    (480 steps with such gradients, simulated: 83 to 98 % of the digits; with a falling rate 95).
    """
    images = tf.placeholder(tf.float32, [None, 64])
    labels = tf.placeholder(tf.int32, [None])
    tf.set_random_seed(0)
    hidden = tf.layers.dense(images, UNITS, tf.nn.relu)
    scores = tf.layers.dense(hidden, 10)
    loss = tf.reduce_mean(
        tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=scores)
    )
    step = tf.train.get_or_create_global_step()
    rate = tf.train.polynomial_decay(RATE, step, num_steps, 0.0)
    train = tf.train.AdamOptimizer(rate).minimize(loss, global_step=step)
    return images, labels, train, step, tf.argmax(scores, 1)


def train(address: str, name: str, number: int, num_clients: int, num_steps: int) -> None:
    """Train as one of several clients, on every so many-th digit."""
    (images, labels), _ = digits()
    images, labels = images[number::num_clients], labels[number::num_clients]
    chance = np.random.default_rng(number)
    with (
        tf.Graph().as_default(),
        Client(address),
        tf.Session(store=name, consistency="async") as session,
    ):
        x, y, step, _, _ = build(num_clients * num_steps)
        for _ in range(num_steps):
            rows = chance.choice(len(labels), BATCH, replace=False)
            session.run(step, {x: images[rows], y: labels[rows]})


def trained(address: str, name: str, num_clients: int, num_steps: int) -> tuple[float, int]:
    """Return the held-out accuracy after asynchronous training, and the number of steps made."""
    _, (images, labels) = digits()
    with tf.Graph().as_default(), Client(address), tf.Session(store=name) as session:
        x, _, _, step, digit = build(num_clients * num_steps)
        session.run(tf.global_variables_initializer())
        session.run(step)
        context = multiprocessing.get_context("forkserver")
        children = [
            context.Process(target=train, args=(address, name, number, num_clients, num_steps))
            for number in range(num_clients)
        ]
        for child in children:
            child.start()
        for child in children:
            child.join()
        found, count = session.run([digit, step], {x: images})
    return float(np.mean(found == labels)), int(count)


def compare(address: str, num_runs: int, rounds: int) -> dict[str, float]:
    """Return the seconds of a run on a state that is shared, and on variables of its own."""
    times: dict[str, list[float]] = {"shared": [], "own": []}
    with tf.Graph().as_default(), Client(address):
        variables = [tf.get_variable(f"v{i}", [1000], chunks=500) for i in range(4)]
        step = tf.group(*(v.assign_add(tf.ones([1000])) for v in variables))
        sessions = {name: tf.Session(store=name * (name == "shared")) for name in times}
        for session in sessions.values():
            session.run(tf.global_variables_initializer())
        for _ in range(rounds):
            for name, session in sessions.items():
                session.run([step, variables[0]])
                start = time.perf_counter()
                for _ in range(num_runs):
                    session.run(step)
                session.run([step, variables[0]])
                times[name].append((time.perf_counter() - start) / (num_runs + 1))
        for session in sessions.values():
            session.close()
    return {name: float(np.median(found)) for name, found in times.items()}


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; the exit status says whether the limits are kept."""
    given = measure.options(__doc__, arguments, ROUNDS)
    num_clients, num_steps, num_runs = (2, 5, 5) if given.quick else (4, 250, 200)
    report = measure.Report("clients")
    with LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        host="127.0.0.1",
        dashboard_address=":0",
        silence_logs=logging.CRITICAL,
    ) as cluster:
        address = cluster.scheduler_address
        report.against_baseline(compare(address, num_runs, given.rounds), MAX_COST, "run")
        start = time.perf_counter()
        accuracy, count = trained(address, "digits", num_clients, num_steps)
        took = time.perf_counter() - start
    wanted = num_clients * num_steps
    report.note(f"{num_clients} clients made {count} of {wanted} steps in {took:.1f} s")
    error = (1 - accuracy) / (1 - WANTED_ACCURACY)
    good = count == wanted and (given.quick or error <= 1)
    report.note(
        f"asynchronous training: accuracy {accuracy:.4f}, wanted {WANTED_ACCURACY}, "
        f"ratio {error:.2f} (limit 1.00) {'ok' if good else 'OVER'}"
    )
    return report.status or int(not good)


if __name__ == "__main__":
    raise SystemExit(main())
