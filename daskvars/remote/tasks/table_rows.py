"""Rows of a table that is cut: looked up where they are, so that nothing else moves.

A block that looks rows up in a cut table takes the table's blocks as `TableBlocks`, and asks each
for rows once it knows which. A block on another worker is a `RowsElsewhere`: the rows asked of it
are a pull like any other (`daskvars.remote.exchange`), of row numbers in place of slices. What is
asked for, of however many tables, is pulled when the first of it is needed (`RowRequests`): a
model of fifty tables has one message to each worker, not fifty.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy

from daskvars.backend import Array
from daskvars.device_array import DeviceArray, as_input

Pull = Callable[[Sequence[tuple[Any, numpy.ndarray]]], list[Any]]
MAX_SHORT = numpy.iinfo(numpy.int32).max


class Rows(NamedTuple):
    """A table whose rows are looked up, in place of an argument: its blocks in order."""

    parts: tuple[Any, ...]


class RowsElsewhere(NamedTuple):
    """A block of a table on another worker.

    Attributes:
      pull: ``pull([(output, row numbers), ...])`` returns the rows of outputs that are elsewhere.
    """

    pull: Pull
    output: Any


class RowRequests:
    """Rows elsewhere that a block of a region asks for, pulled together."""

    def __init__(self) -> None:
        self._waiting: list[tuple[RowsElsewhere, numpy.ndarray]] = []
        self._found: list[Any] = []

    def add(self, block: RowsElsewhere, ids: numpy.ndarray) -> int:
        """Ask for rows; return the number under which they will be."""
        if len(ids) and ids[-1] <= MAX_SHORT:  # they are ascending; their bytes travel too
            ids = ids.astype(numpy.int32)
        self._waiting.append((block, ids))
        return len(self._found) + len(self._waiting) - 1

    def take(self, number: int) -> Any:
        """Wait for the rows of a number, and forget them."""
        if number >= len(self._found):
            waiting, self._waiting = self._waiting, []
            pull = waiting[0][0].pull
            self._found += pull([(block.output, ids) for block, ids in waiting])
        found, self._found[number] = self._found[number], None
        return found


class TableBlocks:
    """The blocks of a table, of which rows can be had.

    Args:
      xp: the module of the arrays that are given.
      blocks: arrays, versions of them, or `RowsElsewhere`.
      requests: where it asks for what is elsewhere, with other tables.

    >>> table = TableBlocks(numpy, [numpy.eye(3)[:2], numpy.eye(3)[2:]])
    >>> [rows.tolist() for rows in table.ask([(0, numpy.array([1])), (1, numpy.array([0]))])()]
    [[[0.0, 1.0, 0.0]], [[0.0, 0.0, 1.0]]]
    """

    def __init__(self, xp: Any, blocks: Sequence[Any], requests: RowRequests | None = None) -> None:
        self.xp, self.blocks = xp, blocks
        self.requests = requests or RowRequests()

    def ask(self, wanted: Sequence[tuple[int, numpy.ndarray]]) -> Callable[[], list[Array]]:
        """Ask for rows of blocks; what is returned waits for them.

        Args:
          wanted: (block, row numbers in it, ascending) for each array of rows.
        """
        found: list[Any] = []
        elsewhere: dict[int, int] = {}
        for i, (number, ids) in enumerate(wanted):
            block = self.blocks[number]
            if isinstance(block, RowsElsewhere):
                elsewhere[i] = self.requests.add(block, ids)
                found.append(None)
            else:
                on_device = isinstance(block, DeviceArray)
                found.append(block.part(ids) if on_device else block.take(ids, axis=0))

        def rows_found() -> list[Array]:
            for i, number in elsewhere.items():
                found[i] = self.requests.take(number)
            return [as_input(self.xp, array) for array in found]

        return rows_found
