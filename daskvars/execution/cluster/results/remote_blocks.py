"""Blocks that live on workers."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import distributed
import numpy
from distributed import CancelledError, Client, Future

from daskvars.device_array import DeviceArray, as_given
from daskvars.execution.cluster.workers.worker_info import workers_of
from daskvars.remote.versions.commit_order import BlockLocation
from daskvars.state.format.grids import Blocks
from daskvars.surface.progress_bars import long_work
from daskvars.versioned import Versioned

BAD = ("error", "cancelled")  # the status of a future that cannot be had
UNFINISHED = ("pending", "lost")


class Reference(NamedTuple):
    """Where a block is to be had.

    Attributes:
      future: the key that holds it.
      position: which of the outputs under that key, None if it is all of it.
    """

    future: Future
    position: int | None


class RemoteBlock:
    """A block of a variable on a cluster.

    Attributes:
      found: where it is to be had, None if nobody has looked that up.
    """

    __slots__ = ("found",)

    def __init__(self, found: Reference | None = None) -> None:
        self.found = found

    @property
    def reference(self) -> Reference:
        """Where it is to be had."""
        assert self.found is not None
        return self.found

    @property
    def location(self) -> BlockLocation:
        """That, as plain data."""
        future, position = self.reference
        assert position is not None
        return BlockLocation(future.key, position)


def remote_blocks(states: Iterable[Blocks]) -> Iterator[RemoteBlock]:
    """Yield the blocks of some variables that are on workers."""
    for blocks in states:
        for block in blocks.values():
            if isinstance(block, RemoteBlock):
                yield block


def wait(client: Client, futures: Iterable[Future]) -> None:
    """Wait until each of some futures is finished, failed or lost for good.

    Raises:
      NoWorkersError: there is no worker, and none is to be waited for any longer.
    """
    unfinished = [future for future in futures if future.status in UNFINISHED]
    if not unfinished:
        return
    workers = workers_of(client)
    with client.as_current(), contextlib.suppress(CancelledError):
        while True:
            with contextlib.suppress(TimeoutError):
                distributed.wait(unfinished, timeout=workers.look_s)
                return
            workers.check_awaited()


def wait_for_chunks(client: Client, num_chunks: Mapping[Future, int], doing: str) -> None:
    """Wait as `wait` does, and show how many chunks are done where that takes long.

    Args:
      num_chunks: future -> how many chunks its task makes, writes or reads.
      doing: what the bar says; "" shows none.
    """
    left = {future for future in num_chunks if future.status in UNFINISHED}
    with long_work(doing, sum(num_chunks.values())) as advance:
        for future in num_chunks.keys() - left:
            advance(num_chunks[future])
        with client.as_current(), contextlib.suppress(CancelledError):
            for future in distributed.as_completed(left):
                advance(num_chunks[future])


def own(value: Any) -> Any:
    """Return what came from a worker as the caller's own: an array that may be written into.

    Without a network between, client and worker hold one and the same array.
    """
    if isinstance(value, numpy.ndarray | Versioned | DeviceArray):
        return as_given(numpy.array(value, order="C"))
    return value
