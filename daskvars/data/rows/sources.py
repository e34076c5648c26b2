"""Where rows come from: NumPy arrays, Zarr arrays, dask arrays, read block by block."""

from __future__ import annotations

import itertools
import threading
import uuid
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import dask
import dask.array
import numpy as np
import zarr
from distributed import Client, Future

from daskvars.errors import InvalidArgumentError
from daskvars.execution.engine.values.rows_arrays import Addresses, RowsArray
from daskvars.remote.dask_internals import task_functions
from daskvars.remote.tasks.row_tasks import (
    Pick,
    computed,
    picked_between,
    picked_rows,
    read_rows,
)

FOLLOWING_KEPT = 2  # blocks that are kept where rows come as they are stored


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
    return row_blocks(largest)


def row_blocks(array: Any) -> tuple[int, ...]:
    """Return the rows of the chunks of a Zarr or dask array."""
    if isinstance(array, dask.array.Array):
        return tuple(int(n) for n in array.chunks[0])
    count, size = array.shape[0], array.chunks[0]
    return tuple(min(size, count - first) for first in range(0, count, size))


class RowsHere:
    """Reads rows of an array into this process.

    Args:
      array: NumPy, Zarr or dask array [rows, ...].
      sizes: rows of each block in which it is read.
      most_kept: how many blocks are kept, those that were used last.
    """

    def __init__(self, array: Any, sizes: Sequence[int], most_kept: int) -> None:
        self._array, self._most_kept = array, most_kept
        self._starts = np.concatenate([[0], np.cumsum(sizes)])
        self._kept: OrderedDict[int, Any] = OrderedDict()

    def batch(self, picks: Sequence[Pick]) -> np.ndarray:
        """Return rows as an array."""
        return picked_rows(picks, *[self._block(pick.block) for pick in picks])

    def _block(self, number: int) -> Any:
        start, stop = (int(n) for n in self._starts[number : number + 2])
        if isinstance(self._array, np.ndarray):
            return self._array[start:stop]
        if number not in self._kept:
            found = self._array[start:stop]
            is_dask = isinstance(found, dask.array.Array)
            self._kept[number] = found.compute() if is_dask else np.asarray(found)
        self._kept.move_to_end(number)
        while len(self._kept) > self._most_kept:
            self._kept.popitem(last=False)
        return self._kept[number]


class RowsOnWorkers:
    """Has rows of a stored array read by the workers that will use them.

    Which those are is known from the batch before: each worker then reads ahead the blocks that
    have rows of its part, and keeps them while they are in use. A block of a dask array that takes
    more than reading is computed once, by the first who needs it. What is lost with a worker is
    read again, by whoever is there.

    Args:
      client: of the cluster.
      array: Zarr or dask array [rows, ...].
      sizes: rows of each block in which it is read.
      most_kept: how many blocks are kept on a worker, those that were used last.
    """

    def __init__(self, client: Client, array: Any, sizes: Sequence[int], most_kept: int) -> None:
        self._client, self._array, self._most_kept = client, array, most_kept
        self._starts = np.concatenate([[0], np.cumsum(sizes)])
        self._token, self._numbers = f"read_rows-{uuid.uuid4().hex}", itertools.count()
        self._kept: OrderedDict[tuple[int, str | None], Future] = OrderedDict()
        self._lock = threading.RLock()
        self._last: tuple[tuple[int, ...], Addresses] = (), ()

    def batch(self, picks: Sequence[Pick]) -> RowsArray:
        """Return rows as a dask array; where it is known who needs them, they are read now."""
        count = sum(pick.high - pick.low for pick in picks)
        name = f"{self._token}-{next(self._numbers)}"
        shape = (count, *self._array.shape[1:])
        found = RowsArray(name, shape, self._array.dtype, partial(self._read_parts, picks))
        if count and sum(self._last[0]) == count:
            found.cut_for(*self._last)
        return found

    def _read_parts(
        self,
        picks: Sequence[Pick],
        name: str,
        sizes: Sequence[int],
        addresses: Addresses | None,
    ) -> dict[Any, Any]:
        """Have workers read the parts of a batch, each its own, and note whose they are."""
        if addresses is not None:
            self._last = tuple(sizes), addresses
        found = {}
        for number, end in enumerate(itertools.accumulate(sizes)):
            address = None if addresses is None else addresses[number]
            key = (name, number, *[0] * (self._array.ndim - 1))
            wanted = picked_between(picks, end - sizes[number], end)
            with self._lock:
                blocks = [self._block(pick.block, address) for pick in wanted]
            found[key] = self._submitted(key, address, picked_rows, wanted, *blocks)
        return found

    def _submitted(self, key: Any, address: str | None, function: Any, *arguments: Any) -> Future:
        where = {} if address is None else {"workers": [address], "allow_other_workers": True}
        return self._client.submit(function, *arguments, key=key, pure=False, **where)

    def _block(self, number: int, address: str | None) -> Future:
        if (number, address) not in self._kept:
            self._kept[number, address] = self._read(number, address)
        self._kept.move_to_end((number, address))
        most = self._most_kept * len({where for _, where in self._kept})
        while len(self._kept) > most:
            self._kept.popitem(last=False)
        return self._kept[number, address]

    def _read(self, number: int, address: str | None) -> Future:
        start, stop = (int(n) for n in self._starts[number : number + 2])
        key = f"{self._token}-block-{next(self._numbers)}"
        if isinstance(self._array, zarr.Array):
            return self._submitted(key, address, read_rows, self._array, start, stop)
        (block,) = dask.optimize(self._array[start:stop].rechunk(-1))
        functions = task_functions(dict(block.__dask_graph__()))
        (task, takes) = next(iter(functions.values()))
        if len(functions) == 1 and not takes:
            return self._submitted(key, address, computed, task)
        for (other, _), future in self._kept.items():
            if other == number:
                return future
        where = {} if address is None else {"workers": [address], "allow_other_workers": True}
        delayed = block.to_delayed(optimize_graph=False).ravel()[0]
        return self._client.compute(delayed, **where)
