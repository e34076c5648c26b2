"""Rows of a table that is cut: looked up where they are, so that nothing else moves.

A block that looks rows up in a cut table takes the table's blocks as `TableBlocks`, and asks each
for rows once it knows which. A block on another worker is a `RowsElsewhere`: the rows asked of it
are a pull like any other (`daskvars.remote.exchange`), of row numbers in place of slices.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy

from daskvars.backend import Array
from daskvars.device_array import DeviceArray, as_input

Pull = Callable[[Sequence[tuple[Any, numpy.ndarray]]], list[Any]]


class Rows(NamedTuple):
    """A table whose rows are looked up, in place of an argument: its blocks in order."""

    parts: tuple[Any, ...]


class RowsElsewhere(NamedTuple):
    """A block of a table on another worker.

    Attributes:
      pull: ``pull([(output, row numbers), ...])`` returns the rows of outputs that are elsewhere.
      output: the block there.
    """

    pull: Pull
    output: Any


class TableBlocks:
    """The blocks of a table, of which rows can be had.

    Args:
      xp: the module of the arrays that are given.
      blocks: arrays, versions of them, or `RowsElsewhere`.

    >>> table = TableBlocks(numpy, [numpy.eye(3)[:2], numpy.eye(3)[2:]])
    >>> [rows.tolist() for rows in table.rows([(0, numpy.array([1])), (1, numpy.array([0]))])]
    [[[0.0, 1.0, 0.0]], [[0.0, 0.0, 1.0]]]
    """

    def __init__(self, xp: Any, blocks: Sequence[Any]) -> None:
        self.xp, self.blocks = xp, blocks

    def rows(self, wanted: Sequence[tuple[int, numpy.ndarray]]) -> list[Array]:
        """Return rows of blocks: for each (block, row numbers in it) an array.

        All that is elsewhere is asked for at once.
        """
        found: list[Any] = [None] * len(wanted)
        elsewhere: list[int] = []
        for i, (number, ids) in enumerate(wanted):
            block = self.blocks[number]
            if isinstance(block, RowsElsewhere):
                elsewhere.append(i)
            else:
                found[i] = block[ids] if isinstance(block, DeviceArray) else block.take(ids, axis=0)
        if elsewhere:
            asked = [(self.blocks[wanted[i][0]], wanted[i][1]) for i in elsewhere]
            arrays = asked[0][0].pull([(block.output, ids) for block, ids in asked])
            for i, array in zip(elsewhere, arrays, strict=True):
                found[i] = array
        return [as_input(self.xp, array) for array in found]
