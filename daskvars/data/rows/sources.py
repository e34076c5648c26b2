"""Where rows come from: NumPy arrays, Zarr arrays, dask arrays, read window by window."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import dask.array
import numpy as np
import zarr
from distributed import Client

from daskvars.data.rows.order import RowOrder
from daskvars.errors import InvalidArgumentError


def named_arrays(arrays: Any) -> tuple[dict[Any, Any], Callable[[dict[Any, Any]], Any]]:
    """Return arrays by name, and what gives batches of them the form that was given.

    Raises:
      InvalidArgumentError: there are none, or their lengths differ.
    """
    give: Callable[[dict[Any, Any]], Any] = dict
    named: dict[Any, Any]
    if isinstance(arrays, zarr.Group):
        named = dict(arrays.arrays())
    elif isinstance(arrays, Mapping):
        named = dict(arrays)
    elif isinstance(arrays, tuple | list):
        kind, named = type(arrays), dict(enumerate(arrays))
        give = lambda found: kind(found.values())  # noqa: E731
    else:
        named, give = {0: arrays}, lambda found: found[0]
    known = (zarr.Array, dask.array.Array)
    named = {k: v if isinstance(v, known) else np.asarray(v) for k, v in named.items()}
    lengths = {str(k): v.shape[0] if v.ndim else None for k, v in named.items()}
    if len(set(lengths.values())) != 1 or None in lengths.values():
        raise InvalidArgumentError(
            None,
            None,
            "batches() takes arrays with the same number of rows, found "
            f"{lengths or 'none'}; give arrays that go together, row by row",
        )
    return named, give


def block_sizes(arrays: Mapping[Any, Any]) -> tuple[int, ...]:
    """Return the rows of the blocks in which arrays are read: those of the largest stored one."""
    stored = [a for a in arrays.values() if not isinstance(a, np.ndarray)]
    if not stored:
        return (len(next(iter(arrays.values()))),)
    largest = max(stored, key=lambda a: a.nbytes)
    if isinstance(largest, dask.array.Array):
        return tuple(int(n) for n in largest.chunks[0])
    count, size = largest.shape[0], largest.chunks[0]
    return tuple(min(size, count - first) for first in range(0, count, size))


def window_reader(array: Any, order: RowOrder) -> Callable[[int, int], np.ndarray]:
    """Return ``read(epoch, window)``: the rows of a window, in their order."""
    starts = np.concatenate([[0], np.cumsum(order.sizes)])

    def part(block: int) -> np.ndarray:
        found = array[starts[block] : starts[block + 1]]
        return found.compute() if isinstance(found, dask.array.Array) else np.asarray(found)

    def read(epoch: int, window: int) -> np.ndarray:
        blocks = order.blocks(epoch, window)
        return permuted(order.permutation(epoch, window), *map(part, blocks))

    return read


def window_on_cluster(
    client: Client, array: Any, order: RowOrder
) -> Callable[[int, int], dask.array.Array]:
    """Return ``read(epoch, window)`` that gives a dask array of one chunk, computed on workers.

    It is kept there while it is in use, with the tasks that make it: what is lost with a worker is
    read again.
    """
    rows = (tuple(order.sizes),)
    chunks = (*rows, *((n,) for n in array.shape[1:]))
    lazy = array if isinstance(array, dask.array.Array) else dask.array.from_zarr(array)
    lazy = lazy.rechunk(chunks)
    rest = (0,) * (array.ndim - 1)

    def read(epoch: int, window: int) -> dask.array.Array:
        blocks = order.blocks(epoch, window)
        permutation = order.permutation(epoch, window)
        count = sum(order.sizes[block] for block in blocks)
        parts = [lazy.blocks[(block, *rest)].to_delayed().ravel()[0] for block in blocks]
        made = dask.delayed(permuted, pure=True)(permutation, *parts)
        found = dask.array.from_delayed(made, (count, *array.shape[1:]), array.dtype)
        return client.persist(found)

    return read


def permuted(permutation: np.ndarray | None, *parts: np.ndarray) -> np.ndarray:
    """Return the rows of some blocks, one after the other, in another order."""
    rows = parts[0] if len(parts) == 1 else np.concatenate(parts)
    return rows if permutation is None else rows.take(permutation, axis=0)


def joined(pieces: Sequence[Any]) -> Any:
    """Return a batch from its pieces: a NumPy array, or a dask array of one chunk."""
    if isinstance(pieces[0], dask.array.Array):
        batch = pieces[0] if len(pieces) == 1 else dask.array.concatenate(pieces)
        return batch.rechunk(-1)
    return np.ascontiguousarray(pieces[0]) if len(pieces) == 1 else np.concatenate(pieces)
