"""Rows of stored arrays, read block by block, and put together in another order.

The order of a block's rows follows from a seed, so a task carries numbers, not the order.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy

from daskvars.errors import kind_of


class Pick(NamedTuple):
    """Some rows of a block, one after the other in the block's order.

    Attributes:
      low, high: the first, and where they end.
      seeds: of the block's order; None for the one that its rows are in.
    """

    block: int
    low: int
    high: int
    seeds: tuple[int, ...] | None = None


def picked_between(picks: Sequence[Pick], start: int, stop: int) -> list[Pick]:
    """Return what picks of rows `start` to `stop` of all that they pick.

    >>> picked_between([Pick(4, 0, 3), Pick(2, 5, 9)], 2, 5)
    [Pick(block=4, low=2, high=3, seeds=None), Pick(block=2, low=5, high=7, seeds=None)]
    """
    found = []
    at = 0
    for pick in picks:
        low, high = pick.low + max(start - at, 0), min(pick.high, pick.low + stop - at)
        if low < high:
            found.append(pick._replace(low=low, high=high))
        at += pick.high - pick.low
    return found


def picked_rows(picks: Sequence[Pick], *blocks: Any) -> numpy.ndarray:
    """Return rows put together, in C order and in memory of their own."""
    found = [_rows(pick, numpy.asarray(block)) for pick, block in zip(picks, blocks, strict=True)]
    if len(found) > 1:
        return numpy.concatenate(found)
    return numpy.array(found[0], order="C", copy=None if found[0].base is None else True)


def _rows(pick: Pick, block: numpy.ndarray) -> numpy.ndarray:
    if pick.seeds is None:
        return block[pick.low : pick.high]
    return block.take(_permutation(pick.seeds, len(block))[pick.low : pick.high], axis=0)


@functools.lru_cache(maxsize=16)
def _permutation(seeds: tuple[int, ...], count: int) -> numpy.ndarray:
    return numpy.random.default_rng(seeds).permutation(count)


def read_rows(array: Any, start: int, stop: int) -> numpy.ndarray:
    """Return rows of a stored array.

    Raises:
      OpError: they cannot be read; of the kind of what went wrong.
    """
    try:
        return numpy.asarray(array[start:stop])
    except Exception as error:
        raise kind_of(error).saying(
            f"rows {start} to {stop} of {array!r} cannot be read: {type(error).__name__}: {error}"
        ) from error


def computed(task: Callable[[dict[Any, Any]], Any]) -> Any:
    """Return what a task of a dask array gives that takes nothing of others."""
    return task({})
