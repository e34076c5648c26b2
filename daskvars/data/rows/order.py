"""The order of rows in an epoch, as a function of the seed: nothing of it is ever stored."""

from __future__ import annotations

import bisect
import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from daskvars.remote.tasks.row_tasks import Pick


@dataclass(frozen=True)
class RowOrder:
    """In which order an epoch goes through rows that come in blocks.

    Shuffled, a window gives the same share of each of its blocks to each batch, and a batch has
    the rows of one block side by side. So whoever has a part of the batch needs few of the blocks.

    Attributes:
      seed: of the shuffles; None for none.
      window: how many blocks are shuffled together.
    """

    sizes: tuple[int, ...]
    seed: int | None
    window: int

    @property
    def num_rows(self) -> int:
        """The rows of an epoch."""
        return sum(self.sizes)

    @property
    def num_windows(self) -> int:
        """The windows of an epoch."""
        return -(-len(self.sizes) // self.window)

    def blocks(self, epoch: int, window: int) -> tuple[int, ...]:
        """Return the blocks of a window, in their order."""
        order = _block_order(len(self.sizes), self.seed, epoch)
        return tuple(int(block) for block in order[window * self.window :][: self.window])

    def picks(self, epoch: int, start: int, stop: int) -> list[Pick]:
        """Return where the rows of a batch are: `start` to `stop` of an epoch."""
        ends = _window_ends(self, epoch)
        found: list[tuple[int, Pick]] = []
        for window in range(bisect.bisect_right(ends, start), self.num_windows):
            first = ends[window - 1] if window else 0
            if first >= stop:
                break
            low, high = max(start - first, 0), min(stop, ends[window]) - first
            found += enumerate(self._of_window(epoch, window, low, high))
        if self.seed is not None:  # of the first blocks of all windows first
            found.sort(key=lambda pair: pair[0])
        return [pick for _, pick in found if pick.low < pick.high]

    def _of_window(self, epoch: int, window: int, low: int, high: int) -> list[Pick]:
        blocks = self.blocks(epoch, window)
        sizes = [self.sizes[block] for block in blocks]
        taken = given_before if self.seed is not None else passed_before
        found = zip(blocks, taken(sizes, low), taken(sizes, high), strict=True)
        return [Pick(block, first, end, self._seeds(epoch, block)) for block, first, end in found]

    def _seeds(self, epoch: int, block: int) -> tuple[int, ...] | None:
        return None if self.seed is None else (self.seed, epoch, 1 + block)


def passed_before(sizes: Sequence[int], count: int) -> list[int]:
    """Return how many of the first rows are of each block, one block after the other.

    >>> passed_before([4, 4, 2], 5)
    [4, 1, 0]
    """
    ends = itertools.accumulate(sizes)
    return [min(max(count - (end - n), 0), n) for end, n in zip(ends, sizes, strict=True)]


def given_before(sizes: Sequence[int], count: int) -> list[int]:
    """Return how many of the first rows are of each block, all in turn, by their shares.

    One row more is a row more of one block.

    >>> [given_before([4, 4, 2], count) for count in (0, 4, 5, 6, 10)]
    [[0, 0, 0], [2, 2, 0], [2, 2, 1], [3, 2, 1], [4, 4, 2]]
    """
    found, rest = [], sum(sizes)
    for size in reversed(sizes):
        found.append(count * size // rest if rest else 0)
        count, rest = count - found[-1], rest - size
    return found[::-1]


@functools.lru_cache(maxsize=4)
def _block_order(count: int, seed: int | None, epoch: int) -> np.ndarray | range:
    if seed is None:
        return range(count)
    return np.random.default_rng([seed, epoch, 0]).permutation(count)


@functools.lru_cache(maxsize=4)
def _window_ends(order: RowOrder, epoch: int) -> list[int]:
    counts = (
        sum(order.sizes[block] for block in order.blocks(epoch, window))
        for window in range(order.num_windows)
    )
    return list(itertools.accumulate(counts))
