"""What a training step asks of clusters of 2 to 1,000 workers, by its plan.

    python benchmarks/scaling.py [--quick]

No cluster is needed: the plan is lowered for that many workers, its tasks are placed as a run's
would be, and counted are tasks and the bytes that each worker takes from others. The models are
`mlp_wide`, data parallel as in `data_parallel.py`, each layer's weights in so many variables, and
those of `sharded.py`, cut in a chunk for each worker. Each worker has 1,024 rows of the batch (8
texts of the transformer). Plans that would have too many tasks, as they grew so far, are not made:
their tasks are estimated.

A step of a second needs a scheduler that serves its tasks, and links that carry its bytes, within a
second. That has to be so up to 400 workers; how many more can be said is printed.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from types import SimpleNamespace
from typing import Any

import data_parallel
import measure
import mlp_wide
import numpy as np
import sharded

import daskvars.v1 as tf
from daskvars import lowering
from daskvars.execution.cluster.workers.placement import ClusterPlacement
from daskvars.execution.cluster.workers.worker_info import WorkerInfo
from daskvars.execution.engine.values import checked_feeds
from daskvars.graph.definitions.opdef import Spec
from daskvars.lowering.planner.cut_feeds import Machine

WORKERS, QUICK_WORKERS = (2, 10, 100, 400, 1000), (2, 4)
LIMIT_WORKERS, LIMIT_S = 400, 1.0
SHARDS = (1, 10, 100)  # the most variables that a layer's weights are
ROWS = 1024  # of the batch, for each worker
SCHEDULER_S = {"1 ms": 1e-3, "2.2 ms": 2.2e-3}  # a task, as measured elsewhere and on two cores
MAX_TASKS = 100_000  # of plans that are made
FLOPS = 1e11  # a second, of a worker's core
NETWORK = 1e9  # bytes a second, into or out of a worker


@dataclass
class Demand:
    """What one step takes.

    Attributes:
      workers: how many.
      tasks: of the run, those that split results included.
      moved: bytes between workers.
      most: bytes that the busiest worker takes or gives.
      compute_s: seconds of the matrix products, shared out over the workers.
    """

    workers: int
    tasks: int
    moved: int
    most: int
    compute_s: float

    @property
    def network_s(self) -> float:
        """The seconds of the busiest worker's transfers."""
        return self.most / NETWORK

    @property
    def slowest_s(self) -> float:
        """The seconds of what takes longest, but for computing."""
        return max(self.network_s, self.scheduler_s())

    def scheduler_s(self, task_s: float = 1e-3) -> float:
        """Return how long the scheduler is busy."""
        return self.tasks * task_s

    @property
    def bound(self) -> str:
        """What takes longest."""
        slow = {
            "computation": self.compute_s,
            "network": self.network_s,
            "scheduler": self.scheduler_s(),
        }
        return max(slow, key=slow.__getitem__)


def placement(workers: int) -> ClusterPlacement:
    """Return what places tasks on that many workers, none of which needs to be there."""
    worker_infos = tuple(
        WorkerInfo(str(i), f"worker {i}", "worker", i, 0, 1, 0) for i in range(workers)
    )
    found: Any = SimpleNamespace(
        worker_infos=worker_infos, version=1, expected=set(), preferred=None
    )
    return ClusterPlacement(found, lambda key: True)


@dataclass(frozen=True)
class Model:
    """A model: its name, and what makes placeholders, loss and training step for many workers."""

    name: str
    network: Callable[[int], tuple[Sequence[Any], Any, Any]]


def models(quick: bool) -> list[Model]:
    """Return all models."""
    units = mlp_wide.QUICK_UNITS if quick else mlp_wide.UNITS
    texts = sharded.QUICK_TEXTS if quick else sharded.TEXTS
    sizes = {"units": 16, "table": 64} if quick else {}

    def wide(most: int, workers: int) -> tuple[Sequence[Any], Any, Any]:
        *inputs, loss, train = data_parallel.network(units, min(most, workers))
        return inputs, loss, train

    def cut(model: str, workers: int) -> tuple[Sequence[Any], Any, Any]:
        many = replace(texts, batch=workers * max(1, ROWS // texts.length))
        return sharded.Case(model, workers, texts=many, **sizes).network()

    shards = SHARDS[:1] if quick else SHARDS
    return [
        *(Model(f"mlp_wide in {most}", partial(wide, most)) for most in shards),
        *(Model(name, partial(cut, name)) for name in ("dense", "embedding", "transformer")),
    ]


def step_plan(model: Model, workers: int) -> tuple[Any, ClusterPlacement]:
    """Return the plan of a training step, and what knows where its tasks run."""
    places = placement(workers)

    def state_of(handle: Any) -> Any:
        spec = Spec(handle.spec.dtype.base_dtype, handle.spec.shape)
        chunks = handle.op.attrs["chunks"]
        return spec, chunks or places.automatic_chunks(spec, handle.op.device, None), True

    with tf.Graph().as_default():
        inputs, loss, train = model.network(workers)
        init = tf.global_variables_initializer()  # this is what gives the variables their homes
        lowering.lower([], [init], {}, state_of, places=places)
        shapes = [[workers * ROWS if n is None else n for n in x.shape.as_list()] for x in inputs]
        given = [
            np.empty(shape, x.dtype.as_numpy_dtype) for shape, x in zip(shapes, inputs, strict=True)
        ]
        fed = checked_feeds.feed_specs(inputs, given)
        machine = Machine(workers, True, has_workers=True)
        return lowering.lower(
            [loss], [train], fed, state_of, places=places, machine=machine
        ), places


def demand(model: Model, workers: int) -> Demand:
    """Return what a step takes, by its plan."""
    plan, places = step_plan(model, workers)
    found, _ = places.staged(plan)
    received, sent = found.traffic()
    most = max([0, *received.values(), *sent.values()])
    return Demand(workers, found.num_tasks, received.total(), most, plan.flops / FLOPS / workers)


def told(found: Demand) -> str:
    """Return a line about one number of workers."""
    scheduler = ", ".join(
        f"{measure.spelled(found.scheduler_s(each))} at {name} a task"
        for name, each in SCHEDULER_S.items()
    )
    return (
        f"{found.workers:,} workers: {found.tasks:,} tasks, "
        f"{found.moved / 2**20:,.0f} MiB moved, {found.moved / found.workers / 2**20:,.0f} a "
        f"worker, {found.most / 2**20:,.0f} through the busiest; computation "
        f"{measure.spelled(found.compute_s)}, network {measure.spelled(found.network_s)}, "
        f"scheduler {scheduler}; at most {1 / max(found.slowest_s, found.compute_s):.2g} steps/s, "
        f"by the {found.bound}"
    )


def expected_tasks(made: Sequence[Demand], workers: int) -> float:
    """Return how many tasks a step will have if they grow as they did."""
    if len(made) < 2:
        return 0.0
    before, last = made[-2:]
    growth = math.log(last.tasks / before.tasks) / math.log(last.workers / before.workers)
    return last.tasks * (workers / last.workers) ** growth


def judge(report: measure.Report, model: Model, numbers: Sequence[int], wanted: int) -> None:
    """Report on a model for growing numbers of workers."""
    made: list[Demand] = []
    for workers in numbers:
        expected = expected_tasks(made, workers)
        if expected > MAX_TASKS:
            report.note(
                f"{model.name}, {workers:,} workers: some {expected:,.2g} tasks, not planned"
            )
        else:
            made.append(demand(model, workers))
            report.note(f"{model.name}, {told(made[-1])}")
        if workers == wanted:
            slowest_s = made[-1].slowest_s if made[-1].workers == wanted else expected * 1e-3
            what = f"{model.name}, {workers} workers: scheduler and network"
            report.against_limit(what, slowest_s, LIMIT_S)
    good = [found.workers for found in made if found.slowest_s <= LIMIT_S]
    ceiling = f"{max(good):,} workers or more" if good else f"less than {numbers[0]} workers"
    report.note(f"{model.name}: the ceiling of a step of a second is at {ceiling}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what is found; the exit status is 1 if a step of a second ends below the limit."""
    options = measure.options(__doc__, arguments, rounds=1)
    numbers = QUICK_WORKERS if options.quick else WORKERS
    report = measure.Report("scaling")
    for model in models(options.quick):
        judge(report, model, numbers, numbers[-1] if options.quick else LIMIT_WORKERS)
    return report.status


if __name__ == "__main__":
    sys.exit(main())
