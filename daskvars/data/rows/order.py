"""The order of rows in an epoch, as a function of the seed: nothing of it is ever stored."""

from __future__ import annotations

import bisect
import functools
import itertools
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class RowOrder:
    """In which order an epoch goes through rows that come in blocks.

    Attributes:
      sizes: rows of each block.
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
        """Return the blocks of a window, in the order in which they are put together."""
        order = _block_order(len(self.sizes), self.seed, epoch)
        return tuple(int(block) for block in order[window * self.window :][: self.window])

    def permutation(self, epoch: int, window: int) -> np.ndarray | None:
        """Return the order of the rows of a window's blocks, None for the one they are in."""
        if self.seed is None:
            return None
        count = sum(self.sizes[block] for block in self.blocks(epoch, window))
        return np.random.default_rng([self.seed, epoch, 1 + window]).permutation(count)

    def pieces(self, epoch: int, start: int, stop: int) -> list[tuple[int, int, int]]:
        """Return where rows `start` to `stop` of an epoch are: (window, first, last) each."""
        ends = _window_ends(self, epoch)
        found = []
        for window in range(bisect.bisect_right(ends, start), self.num_windows):
            first = ends[window - 1] if window else 0
            if first >= stop:
                break
            found.append((window, max(start - first, 0), min(stop, ends[window]) - first))
        return found


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
