"""`mlp_wide` data parallel on two workers, beside one process and beside NumPy over two processes.

    python benchmarks/data_parallel.py [--quick] [--rounds N]

First each layer's units are two variables, which daskvars spreads over the workers by their bytes:
a step is a reduce-scatter of the gradients, and a worker updates with Adam what lives there. That
is judged by one process of two threads. Then variables are whole, as people write them, and the
step is judged by hand-written processes that share nothing: each computes the gradients of its half
of the batch, they exchange halves of them over a socket, update and exchange what is new. Every
step's loss is fetched. The tasks and bytes that are told are what Dask counts, those of seals too.
"""

from __future__ import annotations

import socket
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, nullcontext
from typing import Any

import adam_big
import clusters
import measure
import mlp_small
import mlp_wide
import numpy as np
import threadpoolctl

import daskvars.v1 as tf
from daskvars import config, observe

LIMIT = 0.85  # of the one process's samples/s
NUMPY_LIMIT = 0.9  # of those of hand-written NumPy over two processes
WORKERS = 2
BATCH, QUICK_BATCH = 2048, 32
NUMPY_BATCHES = (512, 2048)


def network(units: Sequence[int], shards: int) -> tuple[Any, Any, Any, Any]:
    """Return inputs, labels, loss and training step of the perceptron in the graph being built.

    Args:
      units: of each layer.
      shards: variables that the weights of a hidden layer are, each of some of its units.
    """
    x = inputs = tf.placeholder(tf.float32, [None, units[0]])
    labels = tf.placeholder(tf.int32, [None])
    for i, start in enumerate(mlp_small.initial_weights(units)):
        with tf.variable_scope(f"layer{i + 1}"):
            parts = np.array_split(start, shards if i < len(units) - 2 else 1, axis=1)
            outputs = [dense(x, part, f"part{number}") for number, part in enumerate(parts)]
            x = tf.concat(outputs, 1) if len(outputs) > 1 else outputs[0]
            if i < len(units) - 2:
                x = tf.nn.relu(x)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=x))
    return inputs, labels, loss, tf.train.AdamOptimizer(mlp_wide.RATE).minimize(loss)


def dense(x: Any, start: np.ndarray, name: str) -> Any:
    """Return the outputs [batch, units] of some units of a layer."""
    with tf.variable_scope(name):
        w = tf.get_variable("weights", initializer=tf.constant(start))
        b = tf.get_variable("biases", [start.shape[1]], initializer=tf.zeros_initializer())
        return tf.matmul(x, w) + b


def program(units: Sequence[int], shards: int, client: Any = None) -> Callable[..., float]:
    """Return a step in a session of its own, on a cluster if there is a client."""
    with tf.Graph().as_default():
        inputs, labels, loss, train = network(units, shards)
        session = tf.Session()
        init = tf.global_variables_initializer()
        call = session.make_callable([loss, train], [inputs, labels])

    def within(function: Callable[..., Any], *arguments: Any) -> Any:
        with client.as_current() if client else nullcontext():
            return function(*arguments)

    within(session.run, init)
    return lambda *batch: float(within(call, *batch)[0])


def sides(units: Sequence[int], batch: int, client: Any) -> dict[str, Callable[[], float]]:
    """Return a step of each side; it gives the loss."""
    given = mlp_small.batches(units, batch, 4)
    return {
        "two workers": mlp_small.fed(program(units, WORKERS, client), given),
        "one process": mlp_small.fed(program(units, 1), given),
    }


def numpy_rank(
    units: Sequence[int], batch: int, rank: int, peer: socket.socket
) -> Callable[[], float]:
    """Return the step of one of two processes, each with half of the batch; it gives its loss.

    A process sums and updates half of the parameters: it takes the other's gradients of those and
    gives it the new values, straight between arrays.
    """
    threadpoolctl.threadpool_limits(1)
    mlp = mlp_small.HandwrittenMlp(mlp_small.initial_weights(units), batch // WORKERS)
    mlp.one_over_batch = mlp.flat.dtype.type(1 / batch)
    halves, gradients = (
        np.array_split(mlp.flat, WORKERS),
        np.array_split(mlp.flat_gradient, WORKERS),
    )
    received = np.empty_like(gradients[rank])
    adam = adam_big.TiledAdam(halves[rank], mlp_wide.RATE)
    given = [
        tuple(np.array_split(each, WORKERS)[rank] for each in pair)
        for pair in mlp_small.batches(units, batch, 4)
    ]
    sender = ThreadPoolExecutor(1)

    def exchange(out: np.ndarray, into: np.ndarray) -> None:
        sent = sender.submit(peer.sendall, out)
        rest = memoryview(into).cast("B")
        while rest:
            rest = rest[peer.recv_into(rest) :]
        sent.result()

    def step(x: np.ndarray, labels: np.ndarray) -> float:
        loss = mlp.loss_and_gradients(x, labels)
        exchange(gradients[1 - rank], received)
        gradients[rank] += received
        adam.apply(gradients[rank])
        exchange(halves[rank], halves[1 - rank])
        return loss

    return mlp_small.fed(step, given)


@contextmanager
def two_processes(units: Sequence[int], batch: int) -> Iterator[Callable[[], float]]:
    """Give the hand-written step over two processes, which share nothing but a socket."""
    with ExitStack() as stack:
        ranks = [
            stack.enter_context(measure.Apart(numpy_rank, units, batch, rank, end))
            for rank, end in enumerate(socket.socketpair())
        ]

        def step() -> float:
            for rank in ranks:
                rank.start()
            return sum(rank.result() for rank in ranks)

        yield step


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return the exit status."""
    options = measure.options(__doc__, arguments, rounds=3)
    units = mlp_wide.QUICK_UNITS if options.quick else mlp_wide.UNITS
    report = measure.Report("data_parallel")
    with (
        tempfile.TemporaryDirectory() as place,
        config.set(batch_parts=WORKERS, num_threads=WORKERS, scratch=place),
        clusters.Cluster(place, WORKERS, is_default=False) as cluster,
    ):
        cluster.count()

        def compare(what: str, steps: dict[str, Callable[[], float]], batch: int, least: float):
            sides = {name: measure.Side(step) for name, step in steps.items()}
            times = measure.interleaved(sides, options.rounds, 2)
            rates = {f"{what}, {name}": batch / took for name, took in times.items()}
            with observe.recorded() as record:
                told = clusters.load(cluster, next(iter(steps.values())), 2 * options.rounds)
            ran = record.metrics()
            report.against_rate(rates, "samples/s", least)
            report.note(
                f"{what}: {told}; by the plan {ran['tasks'] / ran['runs']:.4g} tasks, "
                f"{ran['transfer_bytes'] / ran['runs'] / 2**20:.4g} MiB"
            )

        batch = QUICK_BATCH if options.quick else BATCH
        compare("layers in two", sides(units, batch, cluster.client), batch, LIMIT)
        for batch in (QUICK_BATCH,) if options.quick else NUMPY_BATCHES:
            given = mlp_small.batches(units, batch, 4)
            with two_processes(units, batch) as by_hand:
                ours = mlp_small.fed(program(units, 1, cluster.client), given)
                steps = {"two workers": ours, "NumPy, two processes": by_hand}
                compare(f"whole variables, batch {batch}", steps, batch, NUMPY_LIMIT)
    return report.status


if __name__ == "__main__":
    sys.exit(main())
