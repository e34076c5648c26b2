"""Where rows come from: NumPy arrays, Zarr arrays, dask arrays, read block by block."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import dask.array
import numpy as np
import zarr

from daskvars.errors import invalid
from daskvars.remote.tasks.row_tasks import Pick, picked_rows


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
    if None in lengths.values():
        raise invalid(
            "batches() takes an array [rows, ...], or several as a tuple, list or dict; found "
            f"numbers without rows: {repr(arrays)[:200]}"
        )
    if len(set(lengths.values())) != 1:
        raise invalid(
            "batches() takes arrays with the same number of rows, found "
            f"{lengths or 'none'}; give arrays that go together, row by row"
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
