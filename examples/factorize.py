"""Nonnegative matrix factorization of a large dask array, on the cluster that has its blocks.

    python examples/factorize.py --rows 20000 --columns 2000 --workers 2

The matrix is a dask array in blocks of rows, as `dask.array.from_zarr` gives it. It is never in one
place: each block meets its rows of the one factor, which are cut alike, and the sums for the other,
small factor are added up over the workers. A step is one plan of a few tasks, whatever the size.
(Multiplicative updates: Lee and Seung, 2001.)
"""

from __future__ import annotations

import argparse
from contextlib import ExitStack

import dask.array as da
from distributed import Client, LocalCluster

import daskvars as dv


def low_rank(rows: int, columns: int, rank: int, blocks: int) -> da.Array:
    """Return a nonnegative matrix [rows, columns] of a low rank, in blocks of rows, with noise."""
    rng = da.random.default_rng(0)
    left = rng.random((rows, rank), chunks=(-(-rows // blocks), rank), dtype="f4")
    right = rng.random((rank, columns), chunks=(rank, columns), dtype="f4")
    noise = rng.random((rows, columns), chunks=(left.chunks[0], columns), dtype="f4")
    return left @ right + 0.01 * noise


class Factors:
    """Two factors whose product is near a matrix.

    Attributes:
      left: a variable [rows, rank], cut by rows as the matrix is.
      right: a variable [rank, columns].
    """

    def __init__(self, matrix: da.Array, rank: int) -> None:
        start = dv.random_uniform_initializer(0.1, 1.0)
        with dv.variable_scope("factors"):
            self.left = dv.get_variable(
                "left", [matrix.shape[0], rank], initializer=start, chunks=(matrix.chunks[0], rank)
            )
            self.right = dv.get_variable("right", [rank, matrix.shape[1]], initializer=start)
        self.step = dv.function(self._step)

    def _step(self, matrix):
        """Update both factors, and return the error relative to the matrix, before that."""
        left, right = self.left.read_value(), self.right.read_value()
        error = dv.norm(matrix - dv.matmul(left, right)) / dv.norm(matrix)
        small = dv.matmul(right, right, transpose_b=True)  # [rank, rank]
        left *= dv.matmul(matrix, right, transpose_b=True) / (dv.matmul(left, small) + 1e-9)
        sums = dv.matmul(left, matrix, transpose_a=True)  # [rank, columns], over all rows
        small = dv.matmul(left, left, transpose_a=True)
        self.left.assign(left)
        self.right.assign(right * sums / (dv.matmul(small, right) + 1e-9))
        return error


def main(arguments: list[str] | None = None) -> list[float]:
    """Run the command line, and return the errors."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--columns", type=int, default=500)
    parser.add_argument("--rank", type=int, default=8)
    parser.add_argument("--blocks", type=int, default=4)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--workers", type=int, default=2, help="0 is in this process")
    options = parser.parse_args(arguments)
    dv.set_random_seed(0)
    errors = []
    with ExitStack() as stack:
        if options.workers:
            cluster = LocalCluster(
                n_workers=options.workers,
                threads_per_worker=1,
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",
            )
            stack.enter_context(cluster)
            stack.enter_context(Client(cluster))
        matrix = low_rank(options.rows, options.columns, options.rank, options.blocks).persist()
        factors = Factors(matrix, options.rank)
        print(factors.step.explain(matrix).splitlines()[0])
        for number in range(options.steps):
            errors.append(factors.step(matrix))
            if (number + 1) % max(1, options.steps // 5) == 0:
                print(f"step {number + 1:3}  error {float(errors[-1]):.4f}", flush=True)
        return [float(error) for error in errors]


if __name__ == "__main__":
    main()
