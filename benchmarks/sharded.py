"""Models whose weights are cut in a chunk for each worker, each of which has a part of the batch.

    python benchmarks/sharded.py [--quick] [--rounds N] [--models dense,embedding,transformer]
                                 [--processes 1,2,4,8] [--threads 16,32,64] [--units 2048]

Three dense layers, a table that is cut by rows, and the transformer of `ordinary` with every
variable cut. Workers are processes, or threads of one process. What is judged is what Dask sees:
the tasks that the scheduler sees finished, the bytes that workers write, the scheduler's CPU
seconds, with what heartbeats take (what remains without that is said beside it), and how much the
process of a worker grows at most. The time of a step
has a limit for 32 workers that are threads of one process, with the scheduler and the client in it.
A case that makes no step in time is over its limits.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import clusters
import handwritten_transformer
import measure
import numpy as np
import ordinary
from distributed import Client

import daskvars.v1 as tf
from daskvars import config, observe

RATE = 0.001
ROWS, TABLE, COLUMNS, IDS = 1024, 262_144, 64, 8192
UNITS, THREAD_UNITS = 2048, 512
BYTES_LIMIT, MEMORY_LIMIT, SCHEDULER_LIMIT_S = 1.25, 1.25, 1.5e-3
STEP_WORKERS, STEP_LIMIT_S = 32, 2.5
TIMEOUT_S = 120.0
TEXTS = handwritten_transformer.Sizes(128, 256, 2, 4, 32, 64)
QUICK_TEXTS = handwritten_transformer.Sizes(16, 8, 1, 2, 8, 8)


@dataclass(frozen=True)
class Case:
    """A model for a number of workers.

    Attributes:
      model: "dense", "embedding" or "transformer".
      workers: how many, and so into how much weights and batches are cut.
      units, rows: of a dense layer, and of a batch for it.
      table, ids: rows of the table, and how many of them are looked up.
      texts: sizes of the transformer.
    """

    model: str
    workers: int
    units: int = UNITS
    rows: int = ROWS
    table: int = TABLE
    ids: int = IDS
    texts: handwritten_transformer.Sizes = TEXTS

    @property
    def least_bytes(self) -> float:
        """What has to move: weights there and gradients back, or only the rows looked up."""
        if self.model == "embedding":
            return 2 * (self.workers - 1) / self.workers * self.ids * (4 * COLUMNS + 8)
        starts = handwritten_transformer.initial_values(self.texts).values()
        found = sum(start.nbytes for start in starts)
        return 2 * (self.workers - 1) * (3 * 4 * self.units**2 if self.model == "dense" else found)

    @property
    def worker_bytes(self) -> float:
        """What a worker of dense layers has to hold: its shard of weights and slots, its part of
        the batch, and two layers."""
        layer = 4 * self.units**2
        return (3 * 3 * layer + 2 * 4 * self.rows * self.units) / self.workers + 2 * layer

    def network(self) -> tuple[list[tf.Tensor], tf.Tensor, tf.Operation]:
        """Return placeholders, the loss and the training step, in the default graph."""
        build = {"dense": self._dense, "embedding": self._embedding}
        *inputs, loss = build.get(self.model, self._transformer)()
        sparse = self.model == "embedding"
        optimizer = tf.train.AdagradOptimizer if sparse else tf.train.AdamOptimizer
        return inputs, loss, optimizer(RATE).minimize(loss)

    def batch(self, inputs: Sequence[tf.Tensor]) -> list[np.ndarray]:
        """Return random values for the placeholders."""
        chance = np.random.default_rng(0)
        rows, below = self.rows, self.texts.vocabulary
        if self.model == "embedding":
            rows, below = self.ids, self.table
        shapes = [[rows if n is None else n for n in each.shape.as_list()] for each in inputs]
        if self.model == "dense":
            return [chance.standard_normal(shape, "f4") for shape in shapes]
        return [chance.integers(0, below, shape, "i4") for shape in shapes]

    def _dense(self) -> tuple[tf.Tensor, ...]:
        x, wanted = (tf.placeholder(tf.float32, [None, self.units]) for _ in range(2))
        chunks = (self.units, self._pieces(self.units))
        found = x
        for i in range(3):
            w = tf.get_variable(f"w{i}", [self.units, self.units], chunks=chunks)
            found = tf.nn.relu(found @ w)
        return x, wanted, tf.reduce_mean(tf.square(found - wanted))

    def _embedding(self) -> tuple[tf.Tensor, ...]:
        ids = tf.placeholder(tf.int32, [None])
        chunks = (self._pieces(self.table), COLUMNS)
        table = tf.get_variable("table", [self.table, COLUMNS], chunks=chunks)
        return ids, tf.reduce_mean(tf.square(tf.nn.embedding_lookup(table, ids) - 1.0))

    def _transformer(self) -> tuple[tf.Tensor, ...]:
        def cut(getter: Callable, name: str, shape: Sequence[int], *args: Any, **more: Any) -> Any:
            longest = int(np.argmax(shape))
            chunks = tuple(self._pieces(n) if i == longest else n for i, n in enumerate(shape))
            return getter(name, shape, *args, chunks=chunks, **more)

        with tf.variable_scope("", custom_getter=cut):
            return ordinary.transformer(self.texts)

    def _pieces(self, size: int) -> tuple[int, ...]:
        """Return the chunks of an axis: one for each worker, if it is as long as that."""
        return tuple(map(len, np.array_split(range(size), min(size, self.workers))))


def step_of(case: Case, scheduler_file: str | None) -> Callable[[bool], dict]:
    """Return a training step on a cluster, or without one on workers that are threads of this
    process; it gives the facts of its plan if it is told to record them."""
    config.set(batch_parts=case.workers, seal_every_s=3600.0)
    if scheduler_file:
        client = Client(scheduler_file=scheduler_file)
    else:
        client = Client(
            n_workers=case.workers, threads_per_worker=1, processes=False, dashboard_address=None
        )
    before = most_memory_of_anything(client)
    inputs, *fetches = case.network()
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    fed = dict(zip(inputs, case.batch(inputs), strict=True))

    def step(is_recorded: bool) -> dict:
        if not is_recorded:
            session.run(fetches, fed)
            return {}
        with observe.recorded() as record:
            session.run(fetches, fed)
        return {**record.metrics(), "grown": most_memory(client) - before}

    return step


def most_memory_of_anything(client: Client) -> int:
    """Return the most bytes of a worker that has run something small: what all programs take."""
    with tf.Graph().as_default(), tf.Session() as session:
        numbers = tf.get_variable("numbers", [len(client.ncores())], chunks=1)
        step = tf.train.AdamOptimizer(RATE).minimize(tf.reduce_sum(numbers))
        session.run(tf.global_variables_initializer())
        session.run(step)
        session.run(numbers)
    return most_memory(client)


def most_memory(client: Client) -> int:
    """Return the most bytes that the process of a worker has had."""
    return max(client.run(clusters.most_memory).values())


class Turns:
    """Takes steps, and keeps their times and the facts of the plan.

    Args:
      step: in another process.
    """

    def __init__(self, step: measure.Apart) -> None:
        self.step = step
        self.times: list[float] = []
        self.facts: dict = {}

    def __call__(self, is_recorded: bool = False) -> dict:
        """Take a step; return the facts of its plan if they are recorded.

        Raises:
          TimeoutError: it takes too long.
        """
        start = time.perf_counter()
        self.step.start(is_recorded)
        found = self.step.result(TIMEOUT_S)
        self.times.append(time.perf_counter() - start)
        return found

    def warm(self) -> None:
        """Take two steps, and forget their times.

        The second is recorded. Others are not: workers, scheduler and client send one another as
        many messages for that as for the step.
        """
        self()
        self.facts = self(True)
        self.times.clear()


def judge(report: measure.Report, case: Case, as_threads: bool, rounds: int) -> None:
    """Report on a case, whose workers are in processes that are not this one."""
    what = f"{case.model}, {case.workers} {'threads' if as_threads else 'processes'}"
    with (
        tempfile.TemporaryDirectory() as place,
        clusters.Cluster(place, case.workers, as_threads=as_threads, is_default=False) as cluster,
        measure.Apart(step_of, case, cluster.file) as step,
    ):
        cluster.count()
        turns = Turns(step)
        try:
            turns.warm()
            idle_share = clusters.idle_share(cluster)
            load = clusters.load(cluster, turns, rounds)
        except TimeoutError:
            return report.fail(f"{what}: no step within {TIMEOUT_S:g} s")
    took, plan = measure.spelled(statistics.median(turns.times)), turns.facts
    report.note(f"{what}: {took} a step, {plan['tasks']:,} tasks by the plan")
    report.against_count(f"{what}: tasks a step", load.tasks, 2 * case.workers + 2)
    task_s = load.busy_s / load.tasks
    report.against_limit(f"{what}: scheduler's CPU a task", task_s, SCHEDULER_LIMIT_S)
    own_s = max(0.0, load.busy_s - idle_share * load.wall_s) / load.tasks
    report.note(f"{what}: {measure.spelled(own_s)} a task without what an idle scheduler takes")
    if case.workers > 1:
        for how, moved in (("moved", load.moved), ("by plan", plan["transfer_bytes"])):
            least = case.least_bytes
            report.against_bytes(f"{what}: {how}", moved, BYTES_LIMIT, least, "by hand")
        if case.model == "dense" and not as_threads:
            why = "its shard, slots, part and two layers"
            report.against_bytes(
                f"{what}: a worker", plan["grown"], MEMORY_LIMIT, case.worker_bytes, why
            )


def judge_step(report: measure.Report, case: Case, rounds: int) -> None:
    """Report on the time of a step with everything in one process."""
    what = f"{case.model}, {case.workers} threads of one process, {case.units} units: a step"
    with measure.Apart(step_of, case, None) as step:
        turns = Turns(step)
        try:
            turns.warm()
            for _ in range(rounds):
                turns()
        except TimeoutError:
            return report.fail(f"{what}: none within {TIMEOUT_S:g} s, limit {STEP_LIMIT_S} s")
    report.against_limit(what, statistics.median(turns.times), STEP_LIMIT_S)


def numbers(text: str) -> list[int]:
    """Return the numbers that a comma is between."""
    return [int(each) for each in text.split(",") if each]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return the exit status."""
    options = measure.options(
        __doc__,
        arguments,
        rounds=5,
        models={"default": "dense,embedding,transformer", "help": "models, with commas"},
        processes={"default": "1,2,4,8", "type": numbers, "help": "numbers of worker processes"},
        threads={"default": "16,32,64", "type": numbers, "help": "numbers of workers as threads"},
        units={"default": UNITS, "type": int, "help": "of a dense layer, on worker processes"},
    )
    report = measure.Report("sharded")
    if options.quick:
        case = Case("dense", 2, 16, 64, 64, 32, QUICK_TEXTS)
        judge(report, replace(case, model="embedding"), False, options.rounds)
        judge(report, replace(case, model="transformer"), True, options.rounds)
        judge_step(report, case, options.rounds)
        return report.status
    for model in options.models.split(","):
        for workers in options.processes:
            judge(report, Case(model, workers, options.units), False, options.rounds)
        for workers in options.threads:
            judge(report, Case(model, workers, THREAD_UNITS), True, options.rounds)
            if model == "dense" and workers == STEP_WORKERS:
                judge_step(report, Case(model, workers, THREAD_UNITS), options.rounds)
    return report.status


if __name__ == "__main__":
    sys.exit(main())
