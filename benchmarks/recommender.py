"""The recommender of `examples/recommend.py`, with tables of 10M rows in all on two workers.

    python benchmarks/recommender.py [--quick] [--rounds N]

Its 52 tables are cut over the workers, its rows come from Zarr and are read by them. In turns with
it run the same model with tables of 100K rows, whose steps should take as long, and the same by
hand in dask.array. The bytes that workers write are judged by those of the rows that a step
touches: for each half of the batch the distinct ones that the other worker has, there and, as
gradients, back, each with its id; and by what parameter servers would move, which hold all weights
in processes of their own. In the end a worker is killed, and then everything: training goes on, in
the second case from a checkpoint, and must have the bits of an undisturbed one.
"""

from __future__ import annotations

import hashlib
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import clusters
import dask
import dask.array as da
import measure
import numpy as np
import zarr
from distributed import Client

import daskvars as dv

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "examples"))
import recommend

WORKERS, DIM, UNITS = 2, 16, (64, 32)
LARGE, SMALL, EXAMPLES, BATCH = 10_000_000, 100_000, 65_536, 4096
QUICK_LARGE, QUICK_SMALL, QUICK_FEATURES, QUICK_EXAMPLES, QUICK_BATCH = 20_000, 2_000, 4, 512, 64
STEP_LIMIT, BYTES_LIMIT, HAND_LIMIT, SERVERS_LIMIT = 1.5, 1.25, 1.0, 1.0
COUNTED = 8  # steps whose bytes are counted
STEPS, KILLED_AFTER = 12, 5  # of a training that is disturbed
ID_BYTES, ROW_BYTES = 8, 4
RATE, FIRST_SUM = 0.05, 0.1  # of Adagrad


def batches(place: str, batch: int) -> Any:
    """Return the batches of a group of clicks, in the order that all sides have."""
    return dv.data.batches(zarr.open_group(place), batch, shuffle=True, epochs=None)


# -- the two programs ------------------------------------------------------------------------------


def ours(place: str, sizes: list[int], batch: int, scheduler_file: str) -> Callable[[], dict]:
    """Return a step of the example on a cluster; it gives the facts of its run."""
    dv.config.set(scratch=f"{place}.scratch", seal_every_s=3600.0)
    Client(scheduler_file=scheduler_file)
    model, given = recommend.WideAndDeep(sizes, DIM, WORKERS, UNITS), batches(place, batch)

    def step() -> dict:
        found = next(given)
        with dv.observe.recorded() as record:
            float(model.step(found["values"], found["clicked"])[0])
        return record.metrics()

    return step


class Handwritten:
    """The model in dask.array: one table of all rows, a column of it the wide part's weights.

    Args:
      table: [all rows, dim + 1], whose row 0 stands for no value.
      dense: weights and biases of the layers.
      parts: into how many chunks the table and batches are cut.
    """

    def __init__(self, table: da.Array, dense: Sequence[np.ndarray], parts: int) -> None:
        rows, width = table.shape
        self.parts, self.width = parts, width
        self.chunk = -(-rows // parts)
        table = table.rechunk((self.chunk, width))
        self.state = da.concatenate([table, da.full_like(table, FIRST_SUM)], axis=1)
        self.state = self.state.rechunk((self.chunk, 2 * width)).persist()
        self.firsts = da.arange(0, rows, self.chunk, chunks=1)
        self.dense = [np.array(each) for each in dense]
        self.sums = [np.full_like(each, FIRST_SUM) for each in self.dense]

    def step(self, values: Any, clicked: Any, first_rows: np.ndarray) -> float:
        """Learn from a batch; return its loss.

        Args:
          values: [batch, features, most]; 0 for none.
          clicked: [batch].
          first_rows: [features]: where a feature's rows begin.
        """
        count, features, most = values.shape
        cut = -(-count // self.parts)
        values = da.asarray(values).rechunk((cut, features, most))
        clicked = da.asarray(clicked).rechunk(cut)
        w1, b1, w2, b2, w3, b3 = self.dense
        mask = (values > 0).astype("f4")
        ids = da.where(values > 0, values + first_rows[:, None], 0).reshape(-1)
        found = self.state[:, : self.width][ids].reshape(count, features, most, self.width)
        shares = mask / da.maximum(mask.sum(axis=2, keepdims=True), 1)
        deep = (found[..., :-1] * shares[..., None]).sum(axis=2).reshape(count, -1)
        wide = (found[..., -1] * mask).sum(axis=(1, 2))
        z1 = deep @ w1 + b1
        h1 = da.maximum(z1, 0)
        z2 = h1 @ w2 + b2
        h2 = da.maximum(z2, 0)
        logits = (h2 @ w3 + b3)[:, 0] + wide
        losses = da.maximum(logits, 0) - logits * clicked + da.log1p(da.exp(-abs(logits)))
        d3 = ((1 / (1 + da.exp(-logits)) - clicked) / count)[:, None]
        d2 = (d3 @ w3.T) * (z2 > 0)
        d1 = (d2 @ w2.T) * (z1 > 0)
        by_feature = (d1 @ w1.T).reshape(count, features, 1, self.width - 1)
        of_rows = da.concatenate(
            [by_feature * shares[..., None], (d3[:, :, None] * mask)[..., None]], axis=3
        )
        of_rows = of_rows.rechunk({3: -1}).reshape(-1, self.width)
        self.state = da.blockwise(
            updated,
            "rk",
            *(self.state, "rk", self.firsts, "r", ids, "n", of_rows, "nw"),
            width=self.width,
            concatenate=True,
            align_arrays=False,
            dtype="f4",
        )
        gradients = [deep.T @ d1, d1.sum(0), h1.T @ d2, d2.sum(0), h2.T @ d3, d3.sum(0)]
        self.state, loss, *gradients = dask.persist(self.state, losses.mean(), *gradients)
        for weights, sums, gradient in zip(self.dense, self.sums, gradients, strict=True):
            adagrad(weights, sums, gradient.compute())
        return float(loss.compute())


def adagrad(weights: np.ndarray, sums: np.ndarray, gradient: np.ndarray) -> None:
    """Update weights where they are."""
    sums += gradient**2
    weights -= RATE * gradient / np.sqrt(sums)


def updated(
    state: np.ndarray, first: np.ndarray, ids: np.ndarray, rows: np.ndarray, width: int
) -> np.ndarray:
    """Return a chunk of the table and its sums with the rows of a batch applied."""
    here = (ids >= first[0]) & (ids < first[0] + len(state))
    own, places = np.unique(ids[here] - first[0], return_inverse=True)
    gradient = np.zeros((len(own), width), "f4")
    np.add.at(gradient, places, rows[here])
    new = state.copy()
    sums = new[own, width:] + gradient**2
    new[own, width:] = sums
    new[own, :width] -= RATE * gradient / np.sqrt(sums)
    return new


def by_hand(place: str, sizes: list[int], batch: int, scheduler_file: str) -> Callable[[], float]:
    """Return a step in dask.array on a cluster; it gives the loss."""
    Client(scheduler_file=scheduler_file)
    rng = np.random.default_rng(0)
    total, width = sum(sizes), DIM + 1
    table = da.random.default_rng(0).uniform(
        -0.05, 0.05, (total, width), chunks=(-(-total // WORKERS), width)
    )
    units = [DIM * len(sizes), *UNITS, 1]
    dense: list[np.ndarray] = []
    for size, count in pairwise(units):
        dense += [rng.normal(0, size**-0.5, (size, count)).astype("f4"), np.zeros(count, "f4")]
    model = Handwritten(table.astype("f4"), dense, WORKERS)
    first_rows = np.cumsum([0, *sizes[:-1]])
    given = batches(place, batch)

    def step() -> float:
        found = next(given)
        return model.step(found["values"], found["clicked"], first_rows)

    return step


# -- bytes by arithmetic ---------------------------------------------------------------------------


def touched(values: np.ndarray) -> tuple[int, int]:
    """Return how many rows of each kind of table the parts of a batch touch.

    Returns:
      The distinct rows of each part, in all, and those of them that another worker has.
    """
    total = elsewhere = 0
    for feature in range(values.shape[1]):
        for number, part in enumerate(np.array_split(values[:, feature], WORKERS)):
            ids = np.unique(part)
            total += len(ids)
            elsewhere += int((ids % WORKERS != number).sum())
    return total, elsewhere


def row_bytes() -> int:
    """Return the bytes of a row of a deep table and of a wide one, there and back, with its ids."""
    return 2 * (ROW_BYTES * (DIM + 1) + 2 * ID_BYTES)


def servers_bytes(total: int, features: int) -> int:
    """Return what a step moves between workers and parameter servers, by arithmetic."""
    units = [DIM * features, *UNITS, 1]
    dense = sum((size + 1) * count for size, count in pairwise(units))
    return total * row_bytes() + 2 * WORKERS * ROW_BYTES * dense


# -- killed ----------------------------------------------------------------------------------------


def training(
    place: str, sizes: list[int], batch: int, scheduler_file: str
) -> Callable[[int, bool], tuple[int, str]]:
    """Return a function that makes steps, from the checkpoint on if there is one.

    It takes the number of the last step, and whether to save then, and gives the number of steps
    that were made before and a digest of all variables.
    """
    dv.set_random_seed(1)
    dv.config.set(scratch=f"{place}.scratch", seal_every_s=0.5)
    Client(scheduler_file=scheduler_file)
    model = recommend.WideAndDeep(sizes, DIM, WORKERS, UNITS)
    saver, saved = dv.train.Saver(), f"{place}.saved"
    if dv.train.checkpoint_exists(saved):
        saver.restore(None, saved)
    given, begun = batches(place, batch), int(model.number)
    epoch, position = divmod(begun, given.num_batches)
    given.state = {"epoch": epoch, "position": position}

    def run(last: int, saves: bool) -> tuple[int, str]:
        for _ in range(int(model.number), last):
            found = next(given)
            float(model.step(found["values"], found["clicked"])[0])
        if saves:
            saver.save(None, saved)
        digest = hashlib.sha256()
        for variable in dv.global_variables():
            digest.update(variable.numpy().tobytes())
        return begun, digest.hexdigest()

    return run


@contextmanager
def disturbed(
    place: str, sizes: list[int], batch: int
) -> Iterator[tuple[clusters.Cluster, measure.Apart]]:
    """Give a cluster and a training on it."""
    with (
        tempfile.TemporaryDirectory() as folder,
        clusters.Cluster(folder, WORKERS, is_default=False) as cluster,
        measure.Apart(training, place, sizes, batch, cluster.file) as apart,
    ):
        yield cluster, apart


def judge_kills(report: measure.Report, place: str, sizes: list[int], batch: int) -> None:
    """Kill a worker, and everything; compare with an undisturbed training."""
    with disturbed(place, sizes, batch) as (_, run):
        _, wanted = run(STEPS, False)
    with disturbed(place, sizes, batch) as (cluster, run):
        run(KILLED_AFTER, False)
        run.start(STEPS, False)
        cluster.processes.pop().kill()
        cluster.add_worker()
        _, after_worker = run.result()
    with disturbed(place, sizes, batch) as (cluster, run):
        run(KILLED_AFTER, True)
        run.start(STEPS, False)
        cluster.client.close()
        for process in (run.process, *cluster.processes):
            process.kill()
    with disturbed(place, sizes, batch) as (_, run):
        begun, resumed = run(STEPS, False)
    for what, found in (("a worker killed", after_worker), ("everything killed", resumed)):
        if found != wanted:
            report.fail(f"{what}: other bits after {STEPS} steps")
        else:
            report.note(f"{what}: the same bits after {STEPS} steps")
    if begun != KILLED_AFTER:
        report.fail(f"training went on from step {begun}, not {KILLED_AFTER}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark and return the exit status."""
    options = measure.options(__doc__, arguments, rounds=10)
    report = measure.Report("recommender")
    rows, few, features, examples, batch = (
        (QUICK_LARGE, QUICK_SMALL, QUICK_FEATURES, QUICK_EXAMPLES, QUICK_BATCH)
        if options.quick
        else (LARGE, SMALL, recommend.FEATURES, EXAMPLES, BATCH)
    )
    with tempfile.TemporaryDirectory() as folder:
        places = {count: f"{folder}/{count}.zarr" for count in (rows, few)}
        sizes = {count: recommend.table_sizes(count, features) for count in places}
        for count, place in places.items():
            recommend.write_clicks(Path(place), examples, sizes[count])
        with (
            clusters.Cluster(folder, WORKERS, is_default=False) as cluster,
            measure.Apart(ours, places[rows], sizes[rows], batch, cluster.file) as large,
            measure.Apart(ours, places[few], sizes[few], batch, cluster.file) as small,
            measure.Apart(by_hand, places[rows], sizes[rows], batch, cluster.file) as hand,
        ):
            cluster.count()
            given = batches(places[rows], batch)  # no client here: read in this process
            load = clusters.load(cluster, large, 1)  # makes the plan
            next(given)
            counts = np.mean([touched(next(given)["values"]) for _ in range(COUNTED)], axis=0)
            load = clusters.load(cluster, large, COUNTED)
            sides = {f"{rows:,} rows": large, f"{few:,} rows": small, "dask.array": hand}
            times = measure.interleaved(
                {name: measure.Side(step) for name, step in sides.items()}, options.rounds, 2
            )
            plan = large()
        total, elsewhere = counts
        report.note(f"{load}; {plan['tasks']} tasks and {plan['runs']} run by the plan")
        names = list(times)
        report.against_baseline({name: times[name] for name in names[:2]}, STEP_LIMIT)
        report.against_baseline({name: times[name] for name in names[::2]}, HAND_LIMIT)
        least = elsewhere * row_bytes()
        report.against_bytes("moved a step", load.moved, BYTES_LIMIT, least, "rows touched")
        every = batch * features * recommend.MOST * (WORKERS - 1) / WORKERS * row_bytes()
        moved = plan["transfer_bytes"]
        report.against_bytes("by plan", moved, BYTES_LIMIT, every, "were all values distinct")
        servers = servers_bytes(total, features)
        report.against_bytes("moved", load.moved, SERVERS_LIMIT, servers, "parameter servers")
        few_place = f"{folder}/killed.zarr"
        killed = recommend.table_sizes(QUICK_LARGE, features)
        recommend.write_clicks(Path(few_place), QUICK_EXAMPLES, killed)
        judge_kills(report, few_place, killed, QUICK_BATCH)
    return report.status


if __name__ == "__main__":
    sys.exit(main())
