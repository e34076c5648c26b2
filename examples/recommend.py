"""A recommender: what somebody has seen so far, any number of things, says what they click on.

    python examples/recommend.py --items 1000000 --workers 2

The rows lie in a Zarr group and are read by the workers, batch by batch; this process never has
them. What was seen is a feature of several values: the mean of their rows in a table, which is cut
over the workers. A step moves the rows that it touches, forward and as gradients.
"""

from __future__ import annotations

import argparse
import tempfile
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import zarr
from distributed import Client, LocalCluster

import daskvars as dv

GENRES, MOST = 16, 8  # of items; seen by a person


def write_clicks(path: Path, rows: int, items: int) -> zarr.Group:
    """Write made-up clicks: people watch, and click on, items of few genres.

    Items are numbered from 1; their genre is their number modulo `GENRES`, which no model is told.

    Returns:
      A group of `seen` [rows, MOST] int64, filled up with 0, `item` [rows] and `clicked` [rows].
    """
    rng = np.random.default_rng(0)

    def of_genre(genre: np.ndarray) -> np.ndarray:
        return genre + GENRES * rng.integers(1, items // GENRES, genre.shape)

    taste = rng.integers(0, GENRES, rows)
    seen = of_genre(np.repeat(taste[:, np.newaxis], MOST, axis=1))
    seen[np.arange(MOST) >= rng.integers(1, MOST + 1, (rows, 1))] = 0
    clicked = rng.random(rows) < 0.5
    item = of_genre(np.where(clicked, taste, rng.integers(0, GENRES, rows)))
    group = zarr.open_group(path, mode="w")
    for name, values in (("seen", seen), ("item", item), ("clicked", clicked.astype("f4"))):
        chunks = (-(-rows // 8), *values.shape[1:])
        group.create_array(name, data=values, chunks=chunks)
    return group


class Recommender:
    """How likely a person clicks on an item.

    Args:
      items: the largest number of an item.
      dim: size of a row of a table.
      shards: into how many chunks a table is cut, row by row in turns.
    """

    def __init__(self, items: int, dim: int, shards: int) -> None:
        rows = items + 1
        options = {
            "chunks": (-(-rows // shards), dim),
            "partition_strategy": "mod",
            "embeddings_initializer": dv.random_normal_initializer(stddev=0.3),
        }
        self.seen = dv.layers.EmbeddingBag(rows, dim, "mean", name="seen", **options)
        self.offered = dv.layers.Embedding(rows, dim, name="offered", **options)
        self.optimizer = dv.train.AdagradOptimizer(0.2, initial_accumulator_value=1e-8)
        self.step = dv.function(self._step)

    def score(self, seen, item):
        """Return [batch] logits of clicks: how near what was seen is to what is offered."""
        person = self.seen(dv.sparse.from_dense(seen))
        return dv.reduce_sum(person * self.offered(item), axis=1)

    def _step(self, seen, item, clicked):
        """Learn from a batch; return its loss, and the share that was foretold before that."""
        with dv.GradientTape() as tape:
            logits = self.score(seen, item)
            loss = dv.reduce_mean(
                dv.nn.sigmoid_cross_entropy_with_logits(labels=clicked, logits=logits)
            )
        variables = [self.seen.embeddings, self.offered.embeddings]
        self.optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
        return loss, dv.reduce_mean(dv.cast(dv.equal(logits > 0.0, clicked > 0.5), dv.float32))


def main(arguments: list[str] | None = None) -> list[float]:
    """Run the command line, and return how well each epoch's clicks were foretold on the way."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=16_384)
    parser.add_argument("--items", type=int, default=800)
    parser.add_argument("--dim", type=int, default=16)
    parser.add_argument("--batch", type=int, default=1024)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--workers", type=int, default=2, help="0 is in this process")
    options = parser.parse_args(arguments)
    dv.set_random_seed(0)
    found = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        clicks = write_clicks(folder / "clicks.zarr", options.rows, options.items)
        if options.workers:
            cluster = LocalCluster(
                n_workers=options.workers,
                threads_per_worker=1,
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",
            )
            stack.enter_context(cluster)
            stack.enter_context(Client(cluster))
        model = Recommender(options.items, options.dim, max(1, options.workers))
        for epoch in range(options.epochs):
            told = [
                model.step(batch["seen"], batch["item"], batch["clicked"])
                for batch in dv.data.batches(clicks, options.batch, shuffle=True, seed=epoch)
            ]
            loss, share = np.mean([[float(one), float(other)] for one, other in told], axis=0)
            print(f"epoch {epoch + 1}  loss {loss:.4f}  foretold {share:.3f}", flush=True)
            found.append(float(share))
    return found


if __name__ == "__main__":
    main()
