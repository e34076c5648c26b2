"""Batches of rows of arrays that may be larger than memory.

- ``batching``: `Batches`, read ahead of their use, by threads or by workers.
- ``sources``: NumPy, Zarr and dask arrays, read block by block in this process.
- ``on_workers``: arrays and files of records, read, and functions of them called, by the workers
  that will use the rows, which are those that used the same part of the batch before.
- ``order``: which rows are in which batch, as a function of seed, epoch and blocks.

Vocabulary: a *block* is a chunk of the array, or all of a NumPy array; a *window* is the blocks
among which rows are shuffled. The rule: the order is computed, never stored, and depends on nothing
that was read before; so any batch of any epoch can be had by itself.
"""
