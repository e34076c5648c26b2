"""What a data-parallel step of `mlp_wide` asks of clusters of 2 to 1,000 workers, by its plan.

    python benchmarks/scaling.py [--quick]

No cluster is needed: the plan is lowered for that many workers, its tasks are placed as a run's
would be, and counted are tasks and the bytes that each worker takes from others. Each worker has
1,024 rows of the batch, as in `data_parallel.py`. The weights are in as many variables as there are
workers, up to a limit: every part of the batch has a gradient for every place, so that picks and
transfers grow with the product of both.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import data_parallel
import measure
import mlp_wide
import numpy as np

import daskvars.v1 as tf
from daskvars import lowering
from daskvars.execution.cluster.placement import ClusterPlacement
from daskvars.execution.cluster.run_graphs import BlockTask, OutputKey, Template, joined
from daskvars.execution.cluster.worker_info import WorkerInfo
from daskvars.execution.engine import feeds
from daskvars.graph.definitions.opdef import Spec
from daskvars.lowering.plan import BlockId
from daskvars.lowering.program import STATE

WORKERS, QUICK_WORKERS = (2, 10, 100, 1000), (2, 4)
SHARDS = (1, 10, 100)  # the most variables that a layer's weights are: the best is told
ROWS = 1024  # of the batch, for each worker
SCHEDULER_S = {"1 ms": 1e-3, "2.2 ms": 2.2e-3}  # a task, as measured elsewhere and on two cores
MAX_PAIRS = 10_000  # of workers and variables, in plans that are made at all
FLOPS = 1e11  # a second, of a worker's core
NETWORK = 1e9  # bytes a second, into or out of a worker


@dataclass
class Demand:
    """What one step takes.

    Attributes:
      workers, shards: how many workers, and variables of each layer's weights.
      tasks: of the run, those that split results included.
      moved: bytes between workers.
      most: bytes that the busiest worker takes or gives.
      compute_s: seconds of the matrix products, shared out over the workers.
    """

    workers: int
    shards: int
    tasks: int
    moved: int
    most: int
    compute_s: float

    @property
    def network_s(self) -> float:
        """The seconds of the busiest worker's transfers."""
        return self.most / NETWORK

    def scheduler_s(self, task_s: float) -> float:
        """Return how long the scheduler is busy."""
        return self.tasks * task_s

    @property
    def bound(self) -> str:
        """What takes longest."""
        slow = {
            "computation": self.compute_s,
            "network": self.network_s,
            "scheduler": self.scheduler_s(1e-3),
        }
        return max(slow, key=slow.__getitem__)


def placement(workers: int) -> ClusterPlacement:
    """Return what places tasks on that many workers, none of which needs to be there."""
    worker_infos = tuple(
        WorkerInfo(str(i), f"worker {i}", "worker", i, 0, 1, 0, 0) for i in range(workers)
    )
    found: Any = SimpleNamespace(
        worker_infos=worker_infos, version=1, expected=set(), preferred=None
    )
    return ClusterPlacement(found, lambda key: True)


def step_plan(units: Sequence[int], workers: int, shards: int) -> tuple[Any, ClusterPlacement]:
    """Return the plan of a training step, and what knows where its tasks run."""
    places = placement(workers)

    def state_of(handle: Any) -> Any:
        spec = Spec(handle.spec.dtype.base_dtype, handle.spec.shape)
        return spec, handle.op.attrs["chunks"], True

    with tf.Graph().as_default():
        inputs, labels, loss, train = data_parallel.network(units, shards)
        init = tf.global_variables_initializer()  # this is what gives the variables their homes
        lowering.lower([], [init], {}, state_of, places=places)
        given = [
            np.empty((workers * ROWS, units[0]), np.float32),
            np.empty(workers * ROWS, np.int32),
        ]
        fed = feeds.feed_specs([inputs, labels], given, workers)
        return lowering.lower([loss], [train], fed, state_of, places=places), places


class Step:
    """The tasks of one run, each on the worker that it is wished to be on."""

    def __init__(self, plan: Any, places: ClusterPlacement) -> None:
        self.plan, self.places = plan, places
        self.template = Template(plan, "scaling")
        self.num_tasks = 0
        self.received: Counter[str] = Counter()
        self.sent: Counter[str] = Counter()
        self._held: dict[Any, tuple[str, int]] = {}
        self._moved: set[tuple[Any, str]] = set()
        for number, tasks in enumerate(self.template.tasks):
            for task in tasks:
                self._add(number, task)

    def _add(self, number: int, task: BlockTask) -> None:
        """Count one task, what it takes from other workers, and those that split its results."""
        region = self.plan.regions[number]
        needs = {need: self._source(need) for need in map(_identity, task.dependencies)}
        wish = self.places.annotations_at(region.place, task.number, region.num_tasks)
        worker = wish["workers"][0] if wish else self._heaviest(needs)
        for need, (home, nbytes) in needs.items():
            if home not in (worker, "") and (need, worker) not in self._moved:
                self._moved.add((need, worker))
                self.received[worker] += nbytes
                self.sent[home] += nbytes
        grouping = self.template.output_groups[number]
        self._held[_identity(task.output_key)] = worker, sum(grouping.sizes)
        self.num_tasks += 1
        if grouping.is_split:
            self.num_tasks += len(grouping.groups)
            for group, positions in enumerate(grouping.groups):
                nbytes = sum(grouping.sizes[position] for position in positions)
                self._held["pick", joined(number, group, *task.block)] = worker, nbytes

    def _source(self, need: Any) -> tuple[str, int]:
        """Return which worker has what a task takes, "" if it comes with the task; its bytes."""
        if not isinstance(need, BlockId):
            return self._held[need]
        leaf = self.plan.leaves[need.origin.position]
        if leaf.kind != STATE:
            return "", 0
        home = self.places.variable_annotations(leaf.what, 0, 1)["workers"][0]
        return home, self.places.variable_places[leaf.what].nbytes

    def _heaviest(self, needs: dict[Any, tuple[str, int]]) -> str:
        held: Counter[str] = Counter({"worker 0": 0})
        for home, nbytes in needs.values():
            if home:
                held[home] += nbytes
        return held.most_common(1)[0][0]


def _identity(where: Any) -> Any:
    return (where.prefix, where.suffix) if isinstance(where, OutputKey) else where


def demand(units: Sequence[int], workers: int, shards: int) -> Demand:
    """Return what a step takes, by its plan."""
    plan, places = step_plan(units, workers, shards)
    step = Step(plan, places)
    most = max([0, *step.received.values(), *step.sent.values()])
    moved = sum(step.received.values())
    return Demand(workers, shards, step.num_tasks, moved, most, plan.flops / FLOPS / workers)


def told(found: Demand) -> str:
    """Return a line about one number of workers."""
    scheduler = ", ".join(
        f"{measure.spelled(found.scheduler_s(each))} at {name} a task"
        for name, each in SCHEDULER_S.items()
    )
    slowest = max(found.compute_s, found.network_s, found.scheduler_s(1e-3))
    return (
        f"{found.workers:,} workers, weights in {found.shards}: {found.tasks:,} tasks, "
        f"{found.moved / 2**20:,.0f} MiB moved, {found.moved / found.workers / 2**20:,.0f} a "
        f"worker, {found.most / 2**20:,.0f} through the busiest; computation "
        f"{measure.spelled(found.compute_s)}, network {measure.spelled(found.network_s)}, "
        f"scheduler {scheduler}; at most {1 / slowest:.2g} steps/s, by the {found.bound}"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Print what is found; there is no limit."""
    options = measure.options(__doc__, arguments, rounds=1)
    units = mlp_wide.QUICK_UNITS if options.quick else mlp_wide.UNITS
    report = measure.Report("scaling")
    ceiling = None
    for workers in QUICK_WORKERS if options.quick else WORKERS:
        choices = sorted({min(workers, shards) for shards in SHARDS})
        found = [
            demand(units, workers, shards) for shards in choices if workers * shards <= MAX_PAIRS
        ]
        for each in found:
            report.note(told(each))
        best = min(found, key=lambda d: max(d.compute_s, d.network_s, d.scheduler_s(1e-3)))
        if best.bound != "computation" and ceiling is None:
            ceiling = best
    where = (
        f"at {ceiling.workers:,} workers, where the {ceiling.bound} takes longer than computing"
        if ceiling
        else "beyond these"
    )
    report.note(f"the ceiling of a step of {ROWS:,} rows a worker is {where}")
    return report.status


if __name__ == "__main__":
    sys.exit(main())
