"""Dask arrays that are fed: computed in the run, once in each, block by block.

Their tasks are part of the run's graph, under keys of the run's own: two runs never share a draw,
nor does a run take what another array of the same name has given.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from operator import itemgetter
from typing import Any

import dask
import dask.array
import numpy
from dask.utils import key_split

from daskvars import chunk_grid
from daskvars.dtypes import DType
from daskvars.execution.engine.values.rows_arrays import RowsArray
from daskvars.lowering.plan import LeafInfo
from daskvars.lowering.program import FEED
from daskvars.remote.dask_internals import Task, TaskRef, task_functions
from daskvars.remote.tasks.feed_tasks import FeedTask, fed_array

AddressOf = Callable[[tuple[int, ...]], str | None]


def nowhere(block: tuple[int, ...]) -> None:
    """Return that nobody knows which worker uses a block."""


class LazyFeed:
    """A dask array fed for a tensor.

    Raises:
      TypeError: the array has no values of that dtype.
      ValueError: the sizes of its chunks are not known.
    """

    def __init__(self, name: str, array: dask.array.Array, dtype: DType) -> None:
        if any(numpy.isnan(size) for sizes in array.chunks for size in sizes):
            raise ValueError(
                f"Cannot feed a dask array for {name!r} of which the sizes of chunks are not "
                f"known, shape {array.shape}: call its compute_chunk_sizes() before"
            )
        fed_array(numpy.empty((0,) * array.ndim, array.dtype), dtype, name)
        self.name, self.array, self.dtype = name, array, dtype
        self.shape: tuple[int, ...] = array.shape
        self.chunks: chunk_grid.Chunks = array.chunks

    @property
    def layout(self) -> chunk_grid.Chunks | None:
        """How it was cut by whoever feeds it; None for one chunk, which the planner may cut."""
        return self.chunks if any(len(sizes) > 1 for sizes in self.chunks) else None

    def __getitem__(self, rows: slice) -> LazyFeed:
        """Return some rows, which are taken where the array is."""
        return LazyFeed(self.name, self.array[rows], self.dtype)

    def fitted(self, layout: chunk_grid.Chunks | None, address_of: AddressOf = nowhere) -> LazyFeed:
        """Return it cut as a plan wants it, each block read where it is used if it can be.

        Args:
          layout: of the plan's leaf.
          address_of: the worker that uses a block.
        """
        wanted = layout or self.chunks
        if isinstance(self.array, RowsArray) and all(len(sizes) == 1 for sizes in wanted[1:]):
            rest = (0,) * (len(wanted) - 1) if layout else ()
            blocks = [(i, *rest) for i in range(len(wanted[0]))] if layout else [()]
            found = self.array.cut_for(tuple(wanted[0]), tuple(map(address_of, blocks)))
            return LazyFeed(self.name, found, self.dtype)
        if layout is None or layout == self.chunks:
            return self
        return LazyFeed(self.name, self.array.rechunk(layout), self.dtype)


def fitted(
    feeds: Sequence[Any],
    leaves: Sequence[LeafInfo],
    address_of: Callable[[int, tuple[int, ...]], str | None] = lambda leaf, block: None,
) -> list[Any]:
    """Return what is fed, lazy feeds cut as a plan with these leaves wants them.

    Args:
      address_of: ``address_of(leaf, block)``: the worker that uses a block of the leaf of that
        number.
    """
    found = list(feeds)
    for number, leaf in enumerate(leaves):
        if leaf.kind == FEED and isinstance(found[leaf.what], LazyFeed):
            found[leaf.what] = found[leaf.what].fitted(leaf.layout, partial(address_of, number))
    return found


class LazyTasks:
    """The tasks that give the blocks of all lazy feeds of one run.

    A block that is kept on a cluster (persisted) has none: whoever takes it looks at it. So it
    moves once, to the worker that takes it; what a task of a run gives moves in each.

    Args:
      feeds: what is fed; only the lazy ones count.
      stamp: a text that no other run has, which begins with a digit.

    Attributes:
      tasks: by key; those of blocks that are kept only once somebody asks for their keys.
    """

    def __init__(self, feeds: Sequence[Any], stamp: str) -> None:
        self.tasks: dict[str, Task] = {}
        self._stamp = stamp
        self._given: dict[Any, str] = {}
        self._inner: dict[Any, str] = {}
        self._kept: dict[tuple[int, tuple[int, ...]], tuple[str, Any, tuple, Any]] = {}
        self._lazy = {n: feed for n, feed in enumerate(feeds) if isinstance(feed, LazyFeed)}
        if self._lazy:
            self._add(self._lazy)

    def key(self, number: int, block: tuple[int, ...]) -> str:
        """Return the key of a block, () where there is but one, of the feed of that number."""
        which = self._which(number, block)
        key = self._given[which]
        if which in self._kept and key not in self.tasks:
            self.tasks[key] = self._task(key, *self._kept[which])
        return key

    def argument(self, number: int, block: tuple[int, ...], uses: int) -> Task | TaskRef:
        """Return what a task on a cluster takes for a block that so many tasks take."""
        kept, feed = self._kept.get(self._which(number, block)), self._lazy[number]
        is_converted = feed.array.dtype != feed.dtype.np
        if kept is None or (is_converted and uses > 1):  # once for all of them
            return TaskRef(self.key(number, block))
        return self._task(None, *kept)

    def _which(self, number: int, block: tuple[int, ...]) -> tuple[int, tuple[int, ...]]:
        return number, block or (0,) * len(self._lazy[number].shape)

    def _add(self, lazy: dict[int, LazyFeed]) -> None:
        arrays = [feed.array for feed in lazy.values()]
        if any(len(array.dask.layers) > 1 for array in arrays):
            arrays = dask.optimize(*arrays)  # of one layer all is used, and nothing can be fused
        functions: dict[Any, Any] = {}
        names: dict[Any, str] = {}
        for feed, array in zip(lazy.values(), arrays, strict=True):
            found = task_functions(dict(array.__dask_graph__()))
            names.update(dict.fromkeys(found.keys() - names.keys(), feed.name))
            functions.update(found)
        blocks = [
            (number, index, (array.name, *index))
            for number, array in zip(lazy, arrays, strict=True)
            for index in numpy.ndindex(*array.numblocks)
        ]
        uses = Counter([key for _, takes in functions.values() for key in takes])
        uses.update(source for _, _, source in blocks)
        last = [
            # What nobody else takes needs no task of its own.
            functions.pop(key) if uses[key] == 1 and key in functions else (itemgetter(key), (key,))
            for _, _, key in blocks
        ]
        self._inner = {key: self._key(key, "part", i) for i, key in enumerate(functions)}
        for key, (function, takes) in functions.items():
            name = self._inner[key]
            self.tasks[name] = self._task(name, names[key], function, takes, None)
        for i, ((number, index, source), (function, takes)) in enumerate(
            zip(blocks, last, strict=True)
        ):
            feed = lazy[number]
            self._given[number, index] = key = self._key(source, "block", i)
            block = feed.dtype, chunk_grid.block_shape(feed.chunks, index), index
            what = feed.name, function, takes, block
            if source in takes and source not in self._inner:
                self._kept[number, index] = what
            else:
                self.tasks[key] = self._task(key, *what)

    def _key(self, key: Any, what: str, number: int) -> str:
        return f"{key_split(key)}-{self._stamp}-{what}-{number}"

    def _task(self, key: str | None, name: str, function: Any, takes: tuple, block: Any) -> Task:
        given = [TaskRef(self._inner.get(k, k)) for k in takes]
        return Task(key, FeedTask(name, function, takes, block), *given)
