"""A wide and deep recommender: 26 features of several values each, read by workers, say who clicks.

    python examples/recommend.py --rows 10_000_000 --workers 2
    python examples/recommend.py --store clicks --epochs 2   # twice: the second time it goes on

The examples lie in a Zarr group and are read by the workers, batch by batch; this process never has
them. A feature is a bag of ids, as many as there are: the mean of their rows in a table is what the
deep part sees, a network; the sum of their weights in another is the wide part. All tables are cut
over the workers. A step moves the rows that it touches, each once, forward and as gradients.
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

FEATURES, MOST = 26, 4  # and the values of one


def table_sizes(rows: int, features: int = FEATURES) -> list[int]:
    """Return the rows of each feature's tables, of so many in all: few are large, most are not."""
    shares = 1 / np.arange(1, features + 1)
    return [max(16, int(rows * share / shares.sum())) for share in shares]


def write_clicks(path: Path, examples: int, sizes: list[int]) -> zarr.Group:
    """Write made-up clicks: who likes what is odd clicks, and it is odd things that they look at.

    Returns:
      A group of `values` [examples, features, MOST] int32, filled up with 0 where there are fewer,
      and `clicked` [examples]. The n-th value of a feature occurs with a frequency of 1/n.
    """
    rng = np.random.default_rng(0)
    likes_odd = rng.random(examples) < 0.5
    values = np.empty((examples, len(sizes), MOST), np.int32)
    for feature, size in enumerate(sizes):
        ranks = np.exp(rng.random((examples, MOST)) * np.log(size // 2 - 1)).astype(np.int32)
        is_odd = (rng.random((examples, MOST)) < 0.7) == likes_odd[:, np.newaxis]
        values[:, feature] = 2 * ranks + is_odd
    values[np.arange(MOST) >= rng.integers(1, MOST + 1, (examples, len(sizes), 1))] = 0
    group = zarr.open_group(path, mode="w")
    for name, array in (("values", values), ("clicked", likes_odd.astype("f4"))):
        group.create_array(name, data=array, chunks=(-(-examples // 8), *array.shape[1:]))
    return group


class WideAndDeep:
    """How likely somebody clicks.

    Args:
      sizes: rows of the table of each feature, in the deep part and in the wide one.
      dim: size of a row of the deep part.
      shards: into how many chunks a table is cut, row by row in turns.
      units: of the hidden layers.
    """

    def __init__(
        self, sizes: list[int], dim: int, shards: int, units: tuple[int, ...] = (64, 32)
    ) -> None:
        self.deep, self.wide = [], []
        for feature, size in enumerate(sizes):
            for bags, width, combiner in ((self.deep, dim, "mean"), (self.wide, 1, "sum")):
                bag = dv.layers.EmbeddingBag(
                    size,
                    width,
                    combiner,
                    padding_idx=0,
                    chunks=(-(-size // shards), width),
                    partition_strategy="mod",
                    name=f"{'deep' if bags is self.deep else 'wide'}_{feature}",
                )
                bags.append(bag)
        self.hidden = [
            dv.layers.Dense(size, activation=dv.nn.relu, name=f"hidden_{number}")
            for number, size in enumerate(units)
        ]
        self.output = dv.layers.Dense(1, name="output")
        self.number = dv.train.get_or_create_global_step()
        self.optimizer = dv.train.AdagradOptimizer(0.05)
        self.step = dv.function(self._step)
        self.score(np.zeros((1, len(sizes), MOST), np.int32))  # makes the variables
        self.optimizer.build(self.variables)

    @property
    def variables(self) -> list[dv.Variable]:
        """All that is trained."""
        layers = [*self.deep, *self.wide, *self.hidden, self.output]
        return [variable for layer in layers for variable in layer.variables]

    def score(self, values):
        """Return [batch] logits of clicks."""
        bags = [values[:, feature] for feature in range(len(self.deep))]
        found = dv.concat([table(ids) for table, ids in zip(self.deep, bags)], axis=1)
        for layer in self.hidden:
            found = layer(found)
        wide = dv.add_n([table(ids) for table, ids in zip(self.wide, bags)])
        return (self.output(found) + wide)[:, 0]

    def _step(self, values, clicked):
        """Learn from a batch; return its loss, and the share that was foretold before that."""
        with dv.GradientTape() as tape:
            logits = self.score(values)
            loss = dv.reduce_mean(
                dv.nn.sigmoid_cross_entropy_with_logits(labels=clicked, logits=logits)
            )
        gradients = tape.gradient(loss, self.variables)
        self.optimizer.apply_gradients(zip(gradients, self.variables), global_step=self.number)
        return loss, dv.reduce_mean(dv.cast(dv.equal(logits > 0.0, clicked > 0.5), dv.float32))


def parser() -> argparse.ArgumentParser:
    """Return the command line."""
    found = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    found.add_argument("--examples", type=int, default=16_384)
    found.add_argument("--rows", type=int, default=100_000, help="of all tables")
    found.add_argument("--features", type=int, default=FEATURES)
    found.add_argument("--dim", type=int, default=16)
    found.add_argument("--batch", type=int, default=1024)
    found.add_argument("--epochs", type=int, default=3, help="how many more")
    found.add_argument("--workers", type=int, default=2, help="0 is in this process")
    found.add_argument("--store", metavar="PATH", help="a folder to save in, and to go on from")
    return found


def train(options: argparse.Namespace, folder: Path) -> list[float]:
    """Train, and return how well each epoch's clicks were foretold on the way."""
    dv.set_random_seed(0)
    sizes = table_sizes(options.rows, options.features)
    clicks = write_clicks(folder / "clicks.zarr", options.examples, sizes)
    model = WideAndDeep(sizes, options.dim, max(1, options.workers))
    saver, saved = dv.train.Saver(), str(folder / "model")
    if dv.train.checkpoint_exists(saved):
        saver.restore(None, saved)
    found = []
    for _ in range(options.epochs):
        batches = dv.data.batches(clicks, options.batch, shuffle=True, epochs=None)
        epoch = int(model.number) // batches.num_batches
        batches.state = {"epoch": epoch, "position": 0}
        told = [
            model.step(batch["values"], batch["clicked"])
            for batch, _ in zip(batches, range(batches.num_batches))
        ]
        batches.close()
        loss, share = np.mean([[float(one), float(other)] for one, other in told], axis=0)
        print(f"epoch {epoch + 1}  loss {loss:.4f}  foretold {share:.3f}", flush=True)
        found.append(float(share))
        if options.store:
            saver.save(None, saved)
    return found


def main(arguments: list[str] | None = None) -> list[float]:
    """Run the command line, and return what `train` does."""
    options = parser().parse_args(arguments)
    with ExitStack() as stack:
        folder = options.store or stack.enter_context(tempfile.TemporaryDirectory())
        if options.workers:
            cluster = LocalCluster(
                n_workers=options.workers,
                threads_per_worker=1,
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",
            )
            stack.enter_context(cluster)
            stack.enter_context(Client(cluster))
        return train(options, Path(folder))


if __name__ == "__main__":
    main()
