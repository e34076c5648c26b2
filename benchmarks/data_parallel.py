"""`mlp_wide` with batches of 2048, data parallel on two workers beside one process of two threads.

    python benchmarks/data_parallel.py [--quick] [--rounds N]

Each worker has half of the batch and half of the parameters: a layer's units are two variables, and
daskvars spreads variables over the workers by their bytes. So a step is a reduce-scatter of the
gradients, and a worker updates with Adam what lives there. Every step's loss is fetched.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import flat
import measure
import mlp_small
import mlp_wide
import numpy as np
import psutil

import daskvars.v1 as tf
from daskvars import config
from daskvars.execution.engine import events

LIMIT = 0.85  # of the one process's samples/s
WORKERS = 2
BATCH, QUICK_BATCH = 2048, 32


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


@dataclass
class Load:
    """What the cluster had to do in a step.

    Attributes:
      plan: of the step.
      moved: bytes that workers sent to each other.
      busy_s, wall_s: CPU seconds of the scheduler's process, and how long the step took.
    """

    plan: Any
    moved: float
    busy_s: float
    wall_s: float


def load(cluster: flat.Cluster, step: Callable[[], Any], steps: int) -> Load:
    """Return what a step costs the cluster, on average."""
    scheduler = psutil.Process(cluster.processes[0].pid)
    plans: list[Any] = []

    def note(event: Any) -> None:
        if isinstance(event, events.RunFinished):
            plans.append(event.plan)

    def look() -> np.ndarray:
        sent = cluster.client.run(lambda dask_worker: dask_worker.transfer_outgoing_bytes_total)
        busy = scheduler.cpu_times()
        return np.array([sum(sent.values()), busy.user + busy.system, time.perf_counter()])

    before = look()
    with events.subscribed(note):
        for _ in range(steps):
            step()
    return Load(plans[-1], *(look() - before) / steps)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return the exit status."""
    options = measure.options(__doc__, arguments, rounds=3)
    units, batch = (mlp_wide.QUICK_UNITS, QUICK_BATCH) if options.quick else (mlp_wide.UNITS, BATCH)
    report = measure.Report("data_parallel")
    with (
        tempfile.TemporaryDirectory() as place,
        config.set(batch_parts=WORKERS, num_threads=WORKERS, scratch=place),
    ):
        cluster = flat.Cluster(place, is_default=False)
        try:
            found = sides(units, batch, cluster.client)
            times = measure.interleaved(
                {name: measure.Side(step) for name, step in found.items()}, options.rounds, 2
            )
            told = load(cluster, found["two workers"], 2 * options.rounds)
        finally:
            cluster.close()
    report.against_rate({name: batch / took for name, took in times.items()}, "samples/s", LIMIT)
    report.note(
        f"{told.plan.num_tasks} tasks a step; {told.plan.transfer_bytes / 2**20:.4g} MiB between "
        f"tasks by the plan, {told.moved / 2**20:.4g} MiB sent between workers"
    )
    report.note(
        f"the scheduler is busy for {measure.spelled(told.busy_s)} of a step of "
        f"{measure.spelled(told.wall_s)}: {told.busy_s / told.wall_s:.1%}"
    )
    return report.status


if __name__ == "__main__":
    sys.exit(main())
