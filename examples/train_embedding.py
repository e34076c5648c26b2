"""Click prediction on an embedding table that no worker holds alone, trained on a Dask cluster.

    python examples/train_embedding.py --rows 8000000 --workers 2 --memory-limit 4GiB --steps 50

Users and items are rows of one table, cut by rows over the workers; Adagrad's accumulators lie
beside their rows. A step moves the rows that it touches, and each worker updates its own in place.
Ids are drawn as words are, the n-th with a frequency of 1/n, and dealt out to the workers in turns.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
from dask.utils import format_bytes
from distributed import Client, LocalCluster

import daskvars as dv
import daskvars.v1 as tf


class Model:
    """The graph: how likely a user clicks on an item.

    Args:
      rows, dim: extents of the table.
      batch: ids in a step, two for each example.
      parts: chunks of the table.
    """

    def __init__(self, rows: int, dim: int, batch: int, parts: int) -> None:
        self.graph = tf.Graph()
        with self.graph.as_default():
            self.ids = tf.placeholder(tf.int64, [batch // 2, 2], name="ids")
            self.clicks = tf.placeholder(tf.float32, [batch // 2], name="clicks")
            table = dv.layers.Embedding(
                rows, dim, chunks=(-(-rows // parts), dim), partition_strategy="mod", name="table"
            )
            pairs = table(self.ids)
            score = tf.reduce_sum(pairs[:, 0] * pairs[:, 1], axis=1)
            self.loss = tf.reduce_mean(
                tf.nn.sigmoid_cross_entropy_with_logits(labels=self.clicks, logits=score)
            )
            self.step = tf.train.AdagradOptimizer(0.5).minimize(self.loss)
            self.init = tf.global_variables_initializer()
            self.saver = tf.train.Saver()


def batches(rows: int, batch: int, seed: int = 0):
    """Yield (ids, clicks) without end: users click on items of their own parity."""
    rng = np.random.default_rng(seed)
    while True:
        ranks = np.exp(rng.random((batch // 2, 2)) * np.log(rows)).astype(np.int64)
        ids = np.minimum(ranks, rows) - 1
        yield ids, (ids.sum(axis=1) % 2 == 0).astype(np.float32)


def memory(client: Client) -> dict[str, int]:
    """Return the most bytes that each worker has had so far."""

    def peak() -> int:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

    return client.run(peak)


def moved(client: Client) -> int:
    """Return the bytes that workers have sent to each other so far."""
    return sum(client.run(lambda dask_worker: dask_worker.transfer_outgoing_bytes_total).values())


def train(model: Model, client: Client, session: tf.Session, feeds, steps: int) -> dict:
    """Run some steps and return seconds and bytes of one."""
    times, losses = [], []
    before = moved(client)
    for _ in range(steps):
        ids, clicks = next(feeds)
        start = time.perf_counter()
        found, _ = session.run([model.loss, model.step], {model.ids: ids, model.clicks: clicks})
        times.append(time.perf_counter() - start)
        losses.append(float(found))
    return {
        "step_s": statistics.median(times),
        "moved": (moved(client) - before) / steps,
        "losses": losses,
    }


def trial(client: Client, options: argparse.Namespace, store: Path) -> dict:
    """Train, save, restore in a new session, and return what that took."""
    model = Model(options.rows, options.dim, options.batch, len(client.nthreads()))
    feeds = batches(options.rows, options.batch)
    with tf.Session(graph=model.graph) as session:
        start = time.perf_counter()
        session.run(model.init)
        session.run(model.loss, dict(zip((model.ids, model.clicks), next(feeds), strict=True)))
        found = {"init_s": time.perf_counter() - start}
        found |= train(model, client, session, feeds, options.steps)
        start = time.perf_counter()
        path = model.saver.save(session, str(store / "model"), write_meta_graph=False)
        found["save_s"] = time.perf_counter() - start
        feed = dict(zip((model.ids, model.clicks), next(feeds), strict=True))
        expected = session.run(model.loss, feed)
    with tf.Session(graph=model.graph) as session:
        start = time.perf_counter()
        model.saver.restore(session, path)
        assert session.run(model.loss, feed) == expected
        found["restore_s"] = time.perf_counter() - start
    found["share"] = 2 * 4 * options.rows * options.dim / len(client.nthreads())
    found["peak"] = max(memory(client).values())
    return found


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    found = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    found.add_argument("--rows", type=int, default=50_000)
    found.add_argument("--dim", type=int, default=16)
    found.add_argument("--batch", type=int, default=1024, help="ids in a step")
    found.add_argument("--steps", type=int, default=20)
    found.add_argument("--workers", type=int, default=2)
    found.add_argument("--memory-limit", default="4GiB", help="of each worker")
    found.add_argument("--store", metavar="PATH", help="where checkpoints and versions go")
    found.add_argument("--seal-every", type=float, default=60.0, metavar="SECONDS")
    return found


def run(options: argparse.Namespace) -> dict:
    """Start a cluster, and return what `trial` on it found."""
    store = Path(options.store or tempfile.mkdtemp(prefix="train-embedding-"))
    scratch = str(store / "versions")
    cluster = LocalCluster(
        n_workers=options.workers,
        threads_per_worker=1,
        memory_limit=options.memory_limit,
        host="127.0.0.1",
        dashboard_address=None,
    )
    try:
        with (
            dv.config.set(scratch=scratch, seal_every_s=options.seal_every),
            cluster,
            Client(cluster) as client,
        ):
            return trial(client, options, store)
    finally:
        if not options.store:
            shutil.rmtree(store)


def main(arguments: list[str] | None = None) -> dict:
    """Run the command line, and print and return what was found."""
    found = run(parser().parse_args(arguments))
    losses = found["losses"]
    print(f"loss {losses[0]:.4f} ... {losses[-1]:.4f}")
    print(f"a step: {1000 * found['step_s']:.0f} ms, {format_bytes(int(found['moved']))} moved")
    print(
        f"peak memory of a worker: {format_bytes(found['peak'])}, "
        f"its share of the variables {format_bytes(int(found['share']))}"
    )
    times = "initialized in {init_s:.1f} s, saved in {save_s:.1f} s, restored in {restore_s:.1f} s"
    print(times.format(**found))
    return found


if __name__ == "__main__":
    main()
