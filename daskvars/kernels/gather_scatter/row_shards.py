"""Rows on their way between the parts of a table and those who use them: only rows travel.

Who uses rows asks each part for its own, each row once however often it is used
(`rows_of_table`); where several tables are asked, the questions come first (`ask_for_rows`), and
the answers are waited for once (`rows_given`). Where parts cannot be asked, each gives the rows
that it has, and says where they go; whoever asked puts them together. An update goes the other way:
each part takes the rows that are its own, those of one id added up before they travel (`own_sums`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, NamedTuple, Protocol

import numpy as np

from daskvars.backend import Array, ArrayModule, to_host
from daskvars.kernels.gather_scatter.rows import distinct
from daskvars.kernels.gather_scatter.segments import check_ids, deduplicate

# Duplicates are taken out where that leaves at most this share: finding them costs a sort.
SPARED = 0.9


class Table(Protocol):
    """A table in parts, which are asked for rows."""

    def ask(self, wanted: Sequence[tuple[int, np.ndarray]]) -> Callable[[], list[Array]]:
        """Ask for rows; what is returned waits for them, [m, ...].

        Args:
            wanted: (part, numbers of rows in it) for each array of rows.
        """


class AskedRows(NamedTuple):
    """Rows that a table was asked for.

    Attributes:
        places: for each id which of the rows.
        rows: waits for them, part by part.
    """

    shape: tuple[int, ...]
    places: np.ndarray
    rows: Callable[[], list[Array]]


def rows_of_table(xp: ArrayModule, table: Table, ids: Array, *, starts: Sequence[int]) -> Array:
    """Return rows of a table, [*ids.shape, ...].

    Args:
        table: asked for each row once.
        ids: int, any shape, in [0, starts[-1]).
        starts: the first row of each part, and the number of all rows.

    Raises:
        InvalidArgumentError: an id is out of range.
    """
    return rows_given(xp, ask_for_rows(xp, table, ids, starts=starts))


def ask_for_rows(xp: ArrayModule, table: Table, ids: Array, *, starts: Sequence[int]) -> AskedRows:
    """Ask for the rows that `rows_of_table` gives."""
    check_ids(xp, ids, size=starts[-1])
    flat = ids.reshape(-1)
    unique, places = distinct(flat if xp is np else to_host(flat))
    bounds = np.searchsorted(unique, starts).tolist()
    wanted = [
        (part, unique[low:high] - starts[part])
        for part, (low, high) in enumerate(pairwise(bounds))
        if high > low
    ]
    return AskedRows(ids.shape, places, table.ask(wanted or [(0, unique)]))


def rows_given(xp: ArrayModule, asked: AskedRows) -> Array:
    """Wait for rows that were asked for, and return them, [*ids.shape, ...]."""
    found = asked.rows()
    rows = found[0] if len(found) == 1 else xp.concatenate(found)
    return rows.take(xp.asarray(asked.places), axis=0).reshape(*asked.shape, *rows.shape[1:])


class ShardRows:
    """The rows that one part of a table gives.

    Attributes:
        shape: of what all parts together give, [*ids.shape, ...].
        positions: where the rows go, as numbers into the ids; None for all of them in order.
        rows: the rows, [m, ...].
        repeats: for each place which of the rows, where some go to several places; else None.
    """

    __slots__ = ("positions", "repeats", "rows", "shape")

    def __init__(self, shape: tuple[int, ...], positions: Any, rows: Array, repeats: Any) -> None:
        self.shape, self.positions, self.rows, self.repeats = shape, positions, rows, repeats

    def __reduce__(self) -> tuple[Any, ...]:
        return ShardRows, (self.shape, self.positions, self.rows, self.repeats)

    def __sizeof__(self) -> int:
        return 200 + sum(getattr(a, "nbytes", 0) for a in (self.positions, self.rows, self.repeats))


def shard_rows(xp: ArrayModule, params: Array, ids: Array, *, offset: int, size: int) -> ShardRows:
    """Return the rows of one part of a table that ids name.

    Args:
        params: [n, ...] any dtype, rows ``offset`` to ``offset + n`` of the table.
        ids: int, any shape, in [0, size).
        offset, size: see `segments.gather_rows`.

    Raises:
        InvalidArgumentError: an id is out of range.
    """
    check_ids(xp, ids, size=size)
    flat = ids.reshape(-1)
    count = len(params)
    here = xp.flatnonzero((flat >= offset) & (flat < offset + count))
    local = flat.take(here) - offset
    repeats = None
    if local.size:
        unique, inverse = xp.unique(local, return_inverse=True)
        if len(unique) <= SPARED * len(local):
            local, repeats = unique, inverse.astype(np.int32)
    rows = params.take(local, axis=0)
    positions = None if len(here) == len(flat) else here.astype(np.int32)
    return ShardRows((*ids.shape, *params.shape[1:]), positions, rows, repeats)


def assemble_rows(xp: ArrayModule, *parts: ShardRows) -> Array:
    """Return what all parts of a table together give."""
    first = parts[0]
    tail = first.rows.shape[1:]
    lead = first.shape[: len(first.shape) - len(tail)]
    out = xp.empty((int(np.prod(lead)), *tail), first.rows.dtype)
    for part in parts:
        rows = part.rows if part.repeats is None else part.rows.take(part.repeats, axis=0)
        out[slice(None) if part.positions is None else part.positions] = rows
    return out.reshape(first.shape)


def concatenate_rows(xp: ArrayModule, *parts: Array) -> Array:
    """Return what all parts have for one block of a table, [n, ...], in their order."""
    found = [part for part in parts if len(part)] or parts[:1]
    return found[0] if len(found) == 1 else xp.concatenate(found)


def own_rows(
    xp: ArrayModule, ids: Array, *rows: Array, offset: int, count: int, size: int
) -> tuple[Any, ...]:
    """Return those of some ids, and of the rows that go with them, that one part of a table has.

    Args:
        ids: [n] int, in [0, size).
        rows: [n, ...] each.

    Raises:
        InvalidArgumentError: an id is out of range.
    """
    check_ids(xp, ids, size=size)
    if (ids[1:] >= ids[:-1]).all():
        low, high = (int(i) for i in xp.searchsorted(ids, xp.asarray([offset, offset + count])))
        return (ids[low:high], *(row[low:high] for row in rows))
    here = xp.flatnonzero((ids >= offset) & (ids < offset + count))
    return (ids.take(here), *(row.take(here, axis=0) for row in rows))


def own_sums(
    xp: ArrayModule, ids: Array, rows: Array, *, offset: int, count: int, size: int
) -> tuple[Any, Any]:
    """Return what `own_rows` gives with the rows of one id added up, each id once.

    Raises:
        InvalidArgumentError: an id is out of range.
    """
    own, found = own_rows(xp, ids, rows, offset=offset, count=count, size=size)
    sums, unique = deduplicate(xp, found, own)
    return unique, sums
