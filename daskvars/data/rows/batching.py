"""Batches, one after the other, read ahead of their use."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from functools import partial
from numbers import Integral
from typing import Any

import dask.array
import zarr

from daskvars.data.rows.on_workers import FOLLOWING_KEPT, PartsOnWorkers, Picked, RowsOnWorkers
from daskvars.data.rows.order import RowOrder
from daskvars.data.rows.sources import RowsHere, block_sizes, named_arrays
from daskvars.errors import invalid
from daskvars.execution.engine.executors import active_client

WINDOW_BLOCKS = 4  # shuffled together: memory holds twice as many
WINDOWS_KEPT = 2  # that which a batch ends, and that which it begins


class Batches:
    """An iterator of batches; `daskvars.data.batches` makes it.

    Args:
      arrays, batch_size, shuffle, seed, epochs, prefetch, drop_remainder, window: as of `batches`.

    Attributes:
      num_batches: batches of an epoch.

    Raises:
      InvalidArgumentError: see `batches`.
      StopIteration: (next) all epochs are over.

    >>> found = batches(np.arange(6), 2)
    >>> first, place = next(found).tolist(), found.state
    >>> found.num_batches, first, place
    (3, [0, 1], {'epoch': 0, 'position': 1})
    """

    def __init__(
        self,
        arrays: Any,
        batch_size: int,
        shuffle: bool,
        seed: int | None,
        epochs: int | None,
        prefetch: int,
        drop_remainder: bool,
        window: int,
    ) -> None:
        for name, value, least in (
            ("batch_size", batch_size, 1),
            ("prefetch", prefetch, 0),
            ("window", window, 1),
            ("epochs", 0 if epochs is None else epochs, 0),
            ("seed", 0 if seed is None else seed, 0),
        ):
            if not isinstance(value, Integral) or value < least:
                raise invalid(
                    f"batches(): {name} must be a whole number of at least {least}, found {value!r}"
                )
        if seed is not None and not shuffle:
            raise invalid(
                f"batches(): seed={seed} is that of a shuffle, and rows come in their "
                "order; say shuffle=True, or leave the seed out"
            )
        self._arrays, self._give = named_arrays(arrays)
        self._order = RowOrder(block_sizes(self._arrays), (seed or 0) if shuffle else None, window)
        self._size, self._epochs, self._prefetch = batch_size, epochs, prefetch
        rows = self._order.num_rows
        self.num_batches = rows // batch_size if drop_remainder else -(-rows // batch_size)
        self._place = (0, 0)
        self._ahead: deque[tuple[tuple[int, int], Future]] = deque()
        self._readers: dict[Any, Any] = {}
        self._pool: ThreadPoolExecutor | None = None

    def __repr__(self) -> str:
        return f"<Batches of {self._size} rows, {self.num_batches} an epoch, next {self.state}>"

    # -- where it is ----------------------------------------------------------------------------

    @property
    def state(self) -> dict[str, int]:
        """Where it is: epoch and position of the batch that comes next. It can be stored."""
        return {"epoch": self._place[0], "position": self._place[1]}

    @state.setter
    def state(self, state: dict[str, int]) -> None:
        epoch, position = int(state["epoch"]), int(state["position"])
        if epoch < 0 or not 0 <= position <= self.num_batches:
            raise invalid(
                f"batches(): no state {dict(state)}: an epoch has {self.num_batches} "
                "batches; was it of other data?"
            )
        self._place = (epoch, position)
        self._ahead.clear()

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        place = self._next(self._place)
        if place is None:
            self.close()
            raise StopIteration
        self._read_ahead(place)
        _, batch = self._ahead.popleft()
        found = batch.result()
        self._place = (place[0], place[1] + 1)
        return self._give(found)

    def _next(self, place: tuple[int, int]) -> tuple[int, int] | None:
        """Return the place itself, or of the next epoch's first batch; None at the end."""
        epoch, position = place
        if position >= self.num_batches:
            epoch, position = epoch + 1, 0
        done = self._epochs is not None and epoch >= self._epochs
        return None if done or not self.num_batches else (epoch, position)

    def _read_ahead(self, place: tuple[int, int]) -> None:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(1, thread_name_prefix="daskvars-batches")
        wanted: tuple[int, int] | None = place
        for number in range(1 + self._prefetch):
            if wanted is None:
                return
            if number >= len(self._ahead):
                # In the context of who asks: its client is the one that reads.
                read = partial(copy_context().run, self._read, *wanted)
                batch = self._pool.submit(read)
                self._ahead.append((wanted, batch))
            wanted = self._next((wanted[0], wanted[1] + 1))

    # -- reading --------------------------------------------------------------------------------

    def _read(self, epoch: int, position: int) -> dict[Any, Any]:
        start = position * self._size
        stop = min(start + self._size, self._order.num_rows)
        picks = self._order.picks(epoch, start, stop)
        readers = {name: self._reader(name) for name in self._arrays}
        return {
            name: reader.batch(Picked(picks), stop - start)
            if isinstance(reader, RowsOnWorkers)
            else reader.batch(picks)
            for name, reader in readers.items()
        }

    def _reader(self, name: Any) -> Any:
        if name not in self._readers:
            array, client, order = self._arrays[name], active_client(), self._order
            # Those read ahead may ask for their blocks before the ones that come first.
            most_kept = FOLLOWING_KEPT + self._prefetch
            if order.seed is not None:
                most_kept = WINDOWS_KEPT * order.window
            if client is not None and isinstance(array, zarr.Array | dask.array.Array):
                parts = PartsOnWorkers(client)
                self._readers[name] = RowsOnWorkers(parts, array, order.sizes, most_kept)
            else:
                self._readers[name] = RowsHere(array, order.sizes, most_kept)
        return self._readers[name]

    def close(self) -> None:
        """End the thread that reads ahead, and let go of what was read."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
            self._pool = None
        self._ahead.clear()
        self._readers.clear()


def batches(
    arrays: Any,
    batch_size: int,
    shuffle: bool = False,
    seed: int | None = None,
    epochs: int | None = 1,
    prefetch: int = 2,
    drop_remainder: bool = False,
    window: int = WINDOW_BLOCKS,
) -> Batches:
    """Return batches of rows of arrays that may be larger than memory.

    Args:
      arrays: a NumPy, Zarr or dask array [rows, ...], or several with as many rows: a tuple, a
        list, a Zarr group, or a dict, whose keys may be placeholders: its batches are feeds.
      batch_size: rows of a batch.
      shuffle: whether rows come in another order in each epoch; by default they come as they are
        stored. Stored arrays are shuffled by blocks, and by rows within `window` blocks, of each of
        which a batch has its share; NumPy arrays as a whole.
      seed: int, of the shuffle, by default 0: the same seed gives the same batches, anywhere.
      epochs: how often all rows are given, None for without end.
      prefetch: batches that are read ahead, in a thread.
      drop_remainder: leave out the last batch of an epoch if it is smaller.
      window: blocks of stored arrays that are in memory at once, and shuffled together.

    Returns:
      An iterator of what has the form of `arrays`. With a Dask client, batches of stored arrays
      are dask arrays: each worker reads the blocks in which rows of its part are, and after the
      loss of one others read them again. Its `state` can be stored, and set to go on from there.

    Raises:
      InvalidArgumentError: the arrays differ in length, a number is out of range, or there is a
        seed without a shuffle.

    >>> found = batches((np.arange(5), np.arange(5) * 10), 2, shuffle=True, seed=1)
    >>> [(x.tolist(), y.tolist()) for x, y in found]
    [([2, 4], [20, 40]), ([0, 1], [0, 10]), ([3], [30])]
    """
    return Batches(arrays, batch_size, shuffle, seed, epochs, prefetch, drop_remainder, window)
