"""Parts of batches that are read, and made, by the workers that will use them."""

from __future__ import annotations

import itertools
import math
import threading
import uuid
from abc import ABC, abstractmethod
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple

import dask
import numpy as np
import zarr
from distributed import Client, Future, wait

from daskvars.execution.engine.values.rows_arrays import Addresses, RowsArray
from daskvars.remote.dask_internals import task_functions
from daskvars.remote.tasks.element_tasks import as_they_are, mapped_rows, read_records
from daskvars.remote.tasks.record_blocks import RecordBlock
from daskvars.remote.tasks.row_tasks import Pick, computed, picked_between, picked_rows, read_rows

FOLLOWING_KEPT = 2  # blocks that are kept where rows come as they are stored
Call = tuple[Callable[..., Any], list[Any]]  # a function, and its arguments
Make = Callable[[int, int, str | None], Call]
"""``make(start, stop, address)``: what makes some rows of a batch, for a worker."""


class Picked(NamedTuple):
    """Rows of blocks by their numbers, some of a block at a time."""

    picks: Sequence[Pick]

    def between(self, start: int, stop: int) -> tuple[Callable[..., Any], list[Any]]:
        """Return what puts rows `start` to `stop` together, and the blocks that it takes."""
        wanted = picked_between(self.picks, start, stop)
        return partial(picked_rows, wanted), [pick.block for pick in wanted]


class Scattered(NamedTuple):
    """Rows anywhere in blocks.

    Attributes:
      gathered: puts them together: `gathered_rows`, or its like.
      which: [rows] int, of which of these each is.
      places: [rows] int, which row of it.
    """

    gathered: Callable[..., Any]
    blocks: Sequence[Any]
    which: np.ndarray
    places: np.ndarray

    def between(self, start: int, stop: int) -> tuple[Callable[..., Any], list[Any]]:
        """Return what puts rows `start` to `stop` together, and the blocks that it takes."""
        used, which = np.unique(self.which[start:stop], return_inverse=True)
        gathered = partial(self.gathered, which.astype(np.int32), self.places[start:stop])
        return gathered, [self.blocks[number] for number in used]


class PartsOnWorkers:
    """What workers make of the parts of each batch: one array, or several.

    Which worker uses which part is known from the batch before: each then makes its own ahead.
    """

    def __init__(self, client: Client) -> None:
        self.client = client
        self._token, self._numbers = f"read_rows-{uuid.uuid4().hex}", itertools.count()
        self._last: tuple[tuple[int, ...], Addresses] = (), ()

    def arrays(
        self,
        count: int,
        specs: Sequence[tuple[Any, tuple[int, ...]]],
        call: Make,
        may_fail: bool = False,
    ) -> list[RowsArray]:
        """Return the arrays of a batch; where it is known who uses them, they are made now.

        Args:
          count: rows of the batch.
          specs: dtype and shape of a row of each array.
          call: ``call(start, stop, address)``: what makes the rows of a part, for a worker.
          may_fail: whether a run is to know that they could be made before it takes them.
        """
        batch = _Parts(self, f"{self._token}-{next(self._numbers)}", count, call, len(specs))
        found = [
            RowsArray(
                f"{batch.name}-{number}",
                (count, *shape),
                dtype,
                partial(batch.read, number, len(shape)),
                batch.wait if may_fail and not number else None,
            )
            for number, (dtype, shape) in enumerate(specs)
        ]
        if count and sum(self._last[0]) == count:
            for array in found:
                array.cut_for(*self._last)
        return found

    def used(self, sizes: Sequence[int], addresses: Addresses) -> None:
        """Note who uses parts of so many rows."""
        self._last = tuple(sizes), addresses

    def submitted(self, address: str | None, function: Any, *arguments: Any, key: Any) -> Future:
        """Have a worker call a function: the one at an address, if it is there."""
        where = {} if address is None else {"workers": [address], "allow_other_workers": True}
        return self.client.submit(function, *arguments, key=key, pure=False, **where)


class _Parts:
    """The parts of one batch."""

    def __init__(
        self, maker: PartsOnWorkers, name: str, count: int, call: Any, num_arrays: int
    ) -> None:
        self._maker, self.name, self._count, self._call = maker, name, count, call
        self._num_arrays = num_arrays
        self._made: dict[Any, list[Future]] = {}
        self._lock = threading.Lock()

    def _parts(self, sizes: Sequence[int], addresses: Addresses | None) -> list[Future]:
        cut = tuple(sizes), addresses
        with self._lock:
            if cut not in self._made:
                self._made[cut] = self._submitted(sizes, addresses)
            return self._made[cut]

    def _submitted(self, sizes: Sequence[int], addresses: Addresses | None) -> list[Future]:
        if addresses is not None:
            self._maker.used(sizes, addresses)
        found = []
        for number, end in enumerate(itertools.accumulate(sizes)):
            address = None if addresses is None else addresses[number]
            function, arguments = self._call(end - sizes[number], end, address)
            key = (f"{self.name}-{len(self._made)}", number)
            found.append(self._maker.submitted(address, function, *arguments, key=key))
        return found

    def read(
        self, which: int, rank: int, name: str, sizes: Sequence[int], addresses: Addresses | None
    ) -> dict[Any, Any]:
        """Return the graph of one of the arrays; see `rows_arrays.ReadRows`."""
        parts = self._parts(sizes, addresses)
        keys = [(name, number, *[0] * rank) for number in range(len(sizes))]
        if self._num_arrays == 1:
            return dict(zip(keys, parts, strict=True))
        return {key: (itemgetter(which), part) for key, part in zip(keys, parts, strict=True)}

    def wait(self) -> None:
        """Wait until they are made. Raises OpError where they cannot be."""
        with self._lock:
            made = list(self._made.values())
        parts = made[-1] if made else self._parts((self._count,), None)
        if any(part.status == "pending" for part in parts):
            wait(parts)
        for part in parts:
            if part.status == "error":
                raise part.exception()


class BlocksOnWorkers(ABC):
    """Has blocks of rows read by the workers that will use them, which keep them while in use.

    What is lost with a worker is read again, by whoever is there.

    Args:
      parts: what has workers make parts of batches.
      most_kept: how many blocks are kept on a worker, those that were used last.
    """

    def __init__(self, parts: PartsOnWorkers, most_kept: int) -> None:
        self.parts, self.most_kept = parts, most_kept
        self._token, self._numbers = f"read_block-{uuid.uuid4().hex}", itertools.count()
        self._kept: OrderedDict[tuple[Any, str | None], Future] = OrderedDict()
        self._num_kept: Counter[str | None] = Counter()  # by worker
        self._lock = threading.RLock()

    def call(self, selection: Picked | Scattered, start: int, stop: int, address: Any) -> Call:
        """Return what makes rows `start` to `stop` of what is selected, for a worker."""
        function, blocks = selection.between(start, stop)
        with self._lock:
            return function, [self._block(block, address) for block in blocks]

    def _block(self, block: Hashable, address: str | None) -> Future:
        if (block, address) not in self._kept:
            self._kept[block, address] = self._read(block, address)
            self._num_kept[address] += 1
        self._kept.move_to_end((block, address))
        while len(self._kept) > self.most_kept * len(self._num_kept):
            (_, where), _ = self._kept.popitem(last=False)
            self._num_kept[where] -= 1
            if not self._num_kept[where]:
                del self._num_kept[where]
        return self._kept[block, address]

    def _key(self) -> str:
        return f"{self._token}-{next(self._numbers)}"

    @abstractmethod
    def _read(self, block: Any, address: str | None) -> Future:
        """Have a worker read a block."""


def kept_of(mixed: int, size: float) -> int:
    """Return how many blocks of so many rows are in use where a buffer of rows is drawn from.

    Drawn from a buffer of n rows, the last of a block's B rows has come after about n ln B draws.
    """
    return math.ceil(mixed * (math.log(max(size, 1)) + 2) / max(size, 1)) + FOLLOWING_KEPT


class RowsOnWorkers(BlocksOnWorkers):
    """Has rows of a stored array read.

    A block of a dask array that takes more than reading is computed once, by the first who needs
    it.

    Args:
      parts: what has workers make parts of batches.
      array: Zarr or dask array [rows, ...].
      sizes: rows of each block in which it is read.
      most_kept: how many blocks are kept on a worker, those that were used last.
    """

    def __init__(
        self, parts: PartsOnWorkers, array: Any, sizes: Sequence[int], most_kept: int
    ) -> None:
        super().__init__(parts, most_kept)
        self._array = array
        self._starts = np.concatenate([[0], np.cumsum(sizes)])

    def batch(self, selection: Picked | Scattered, count: int) -> RowsArray:
        """Return rows as a dask array."""
        spec = self._array.dtype, self._array.shape[1:]
        return self.parts.arrays(count, [spec], partial(self.call, selection))[0]

    def _read(self, block: int, address: str | None) -> Future:
        start, stop = (int(n) for n in self._starts[block : block + 2])
        if isinstance(self._array, zarr.Array):
            call: Call = read_rows, [self._array, start, stop]
            return self.parts.submitted(address, call[0], *call[1], key=self._key())
        (rows,) = dask.optimize(self._array[start:stop].rechunk(-1))
        functions = task_functions(dict(rows.__dask_graph__()))
        (task, takes) = next(iter(functions.values()))
        if len(functions) == 1 and not takes:
            return self.parts.submitted(address, computed, task, key=self._key())
        for (other, _), future in self._kept.items():
            if other == block:
                return future
        where = {} if address is None else {"workers": [address], "allow_other_workers": True}
        delayed = rows.to_delayed(optimize_graph=False).ravel()[0]
        return self.parts.client.compute(delayed, **where)


class RecordsOnWorkers(BlocksOnWorkers):
    """Has records of files read, each block of them a `RecordBlock`."""

    def _read(self, block: RecordBlock, address: str | None) -> Future:
        return self.parts.submitted(address, read_records, block, key=self._key())


class MappedOnWorkers:
    """Has functions of elements called by the workers that will use what they give.

    Args:
      programs: the functions, one after the other.
    """

    def __init__(self, client: Client, programs: Sequence[Any]) -> None:
        self.parts, self._programs = PartsOnWorkers(client), programs
        token = uuid.uuid4().hex
        self._sent = [
            client.submit(as_they_are, program, key=f"element_function-{token}-{n}", pure=False)
            for n, program in enumerate(programs)
        ]

    def batch(self, sources: Sequence[Make | np.ndarray], count: int) -> list[RowsArray]:
        """Return what the functions give for the rows of sources, as dask arrays."""
        specs = [(dtype.np, shape) for dtype, shape in self._programs[-1].promised]
        return self.parts.arrays(count, specs, partial(self._call, sources), may_fail=True)

    def _call(
        self, sources: Sequence[Make | np.ndarray], start: int, stop: int, address: Any
    ) -> Call:
        makers: list[Any] = []
        arguments: list[Any] = list(self._sent)
        for source in sources:
            make: Any = None
            given: list[Any] = [source[start:stop]] if isinstance(source, np.ndarray) else []
            if not isinstance(source, np.ndarray):
                make, given = source(start, stop, address)
            makers.append((make, len(given)))
            arguments += given
        return partial(mapped_rows, len(self._sent), makers), arguments
