"""Batches of data: shuffled by a seed, larger than memory, the same again whenever asked for.

The rows of the data come in blocks: the chunks of a Zarr or dask array, or the whole of a NumPy
array. Rows come as they are stored; with ``shuffle=True`` an epoch goes through the blocks in a
shuffled order, some at a time (a *window*), and through the rows of a window in a shuffled order.
So every row occurs exactly once in an epoch, each block is read once, memory holds two windows at
most, and which rows are in batch k of epoch e depends on the seed, the blocks and the window alone:
not on threads, workers or what was read before.
"""

from daskvars.data.batching import Batches, batches

__all__ = ["Batches", "batches"]
