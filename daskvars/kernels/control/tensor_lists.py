"""Values that hold arrays: lists, with kernels on them, and the history of a loop.

Lists are what a TensorArray is made of.

A `TensorList` is immutable: a write gives a new list. Items are copied on their way in and out,
because arrays may be overwritten in place once nothing that the engine knows of needs them.

Versions of one list share a log of writes and differ in how much of it they see, so writing item
after item costs the same each time, and all versions that a loop passed through can be kept for
its gradient.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from typing import Any

from daskvars.backend import Array, ArrayModule
from daskvars.device_array import each
from daskvars.dtypes import DType
from daskvars.errors import invalid
from daskvars.kernels.array import movement

_APPENDING = threading.Lock()


class TensorList:
    """An immutable list of arrays, any of which may be missing.

    Args:
      size: number of items; negative: as many as there are writes to.
      rows: an array whose rows are the items.
      origin: which list it is a version of, where that matters.
    """

    __slots__ = ("_count", "_log", "_places", "origin", "rows", "size")
    shape = ()

    def __init__(self, size: int, rows: Array | None = None, origin: bytes = b"") -> None:
        self.size = size
        self.rows = rows
        self.origin = origin
        self._log: list[tuple[int, Any]] = []
        self._places: dict[int, int] = {}  # of the log as a whole: index -> place
        self._count = 0  # how much of the log this version sees

    def get(self, index: int) -> Any:
        """Return an item, None where it is missing."""
        place = self._places.get(index, self._count)
        if place < self._count:
            return self._log[place][1]
        if self.rows is not None and 0 <= index < len(self.rows):
            return self.rows[index, ...]
        return None

    def all_rows(self) -> Any:
        """Return the array whose rows are all items, in order; None where they are of no one."""
        return None if self._count or self.rows is None else self.rows

    def items(self) -> Iterator[tuple[int, Any]]:
        """Yield (index, item) for all that are there, in no order."""
        if self.rows is not None:
            rows = enumerate(_each_row(self.rows))
            yield from ((i, row) for i, row in rows if i not in self._places)
        yield from self._log[: self._count]

    def appended(self, index: int, value: Array) -> TensorList:
        """Return the list with an item where none was."""
        new = TensorList(self.size, self.rows, self.origin)
        if self.size >= 0:
            new.size = max(self.size, index + 1)
        with _APPENDING:
            if self._count == len(self._log):
                new._log, new._places = self._log, self._places
            else:  # another version went on from here
                new._log = self._log[: self._count]
                new._places = {i: place for place, (i, _) in enumerate(new._log)}
            new._places[index] = self._count
            new._log.append((index, value))
            new._count = self._count + 1
        return new

    def added(self, index: int, value: Array) -> TensorList:
        """Return the list with `value` added to an item; a missing one counts as zero."""
        old = self.get(index)
        if old is None:
            return self.appended(index, value)
        items = dict(self.items())
        items[index] = old + value
        return _rebuilt(self.size, None, list(items.items()), self.origin)

    def in_order(self) -> list[Any]:
        """Return all items, None for missing ones."""
        size = self.size
        if size < 0:
            size = max((i for i, _ in self.items()), default=-1) + 1
        return [self.get(i) for i in range(size)]

    def __add__(self, other: TensorList) -> TensorList:
        large, small = (other, self) if self._count < other._count else (self, other)
        if self.rows is not None and other.rows is not None:
            large, small = TensorList(large.size, self.rows + other.rows), TensorList(0)
        elif small.rows is not None:
            large, small = small, large
        for index, value in small.items():
            large = large.added(index, value)
        return large

    def mapped(self, function: Callable[[Any], Any]) -> TensorList:
        """Return the list with `function` of each item."""
        log = [(index, function(value)) for index, value in self._log[: self._count]]
        rows = None if self.rows is None else function(self.rows)
        return _rebuilt(self.size, rows, log, self.origin)

    def put_together(self, xp: Any, shape: Any, parts: Sequence[Part]) -> TensorList:
        """Return the list of which this one, like others, has a part of each item."""
        log = [
            (index, joined(xp, shape, [(each.get(index), s, t) for each, s, t in parts]))
            for index, _ in self._log[: self._count]
        ]
        rows = None
        if self.rows is not None:
            every = slice(None)
            of_rows = [(each.rows, (every, *s), (every, *t)) for each, s, t in parts]
            rows = joined(xp, (len(self.rows), *shape), of_rows)
        return _rebuilt(self.size, rows, log, self.origin)

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuilt, (self.size, self.rows, self._log[: self._count], self.origin)

    def __sizeof__(self) -> int:
        return sum(getattr(value, "nbytes", 8) for _, value in self.items())


def _each_row(rows: Array) -> Iterator[Array]:
    """Yield the rows, of a vector of strings arrays too: by itself it yields bytes."""
    return (rows[i, ...] for i in range(len(rows)))


def _rebuilt(
    size: int, rows: Array | None, log: list[tuple[int, Any]], origin: bytes
) -> TensorList:
    new = TensorList(size, rows, origin)
    new._log = log
    new._places = {i: place for place, (i, _) in enumerate(log)}
    new._count = len(log)
    return new


class History:
    """What the turns of a loop took: for each the values that it began with.

    Args:
      turns: for each a tuple of values.
      ranks: how many dimensions each of these has.

    Attributes:
      together: (first, stop, columns) of turns that were made at once.
    """

    __slots__ = ("ranks", "together", "turns")
    shape = ()

    def __init__(self, turns: Sequence[tuple] = (), ranks: Sequence[int] = ()) -> None:
        self.turns = list(turns)
        self.ranks = ranks
        self.together: list[tuple[int, int, Any]] = []

    def mapped(self, function: Callable[[Any], Any]) -> History:
        """Return the history with `function` of each array."""
        return History(each(function, self.turns), self.ranks)

    def put_together(self, xp: Any, shape: Any, parts: Sequence[Part]) -> History:
        """Return the history of which this one, like others, has a part of each array."""
        ends = list(accumulate(self.ranks, initial=0))
        places = [slice(*ends[i : i + 2]) for i in range(len(self.ranks))]
        turns = [
            tuple(
                joined(xp, shape[p], [(h.turns[turn][i], s[p], t[p]) for h, s, t in parts])
                for i, p in enumerate(places)
            )
            for turn in range(len(self.turns))
        ]
        return History(turns, self.ranks)

    def __reduce__(self) -> tuple[Any, ...]:
        return History, (self.turns, self.ranks)

    def __sizeof__(self) -> int:
        return sum(getattr(value, "nbytes", 8) for turn in self.turns for value in turn)


Part = tuple[Any, tuple[slice, ...], tuple[slice, ...]]
"""A block of a value, which part of it is meant, and where that lies in the whole."""


def joined(xp: Any, shape: tuple[int, ...], parts: Sequence[Part]) -> Any:
    """Return a value put together from parts: an array, or what holds arrays.

    It is the first part where nothing was cut, and in C order: bits must not tell whether a part
    came from another worker, and sums over a view of columns round differently.
    """
    first, source, _ = parts[0]
    if isinstance(first, TensorList | History):
        return first.put_together(xp, shape, parts)
    if not shape:
        return first
    if len(parts) == 1:
        return xp.ascontiguousarray(first[source])
    result = xp.empty(shape, first.dtype)
    for array, source, target in parts:
        result[target] = array[source]
    return result


# -- kernels ---------------------------------------------------------------------------------------


def reserve(xp: ArrayModule, size: Any, *, array: str = "") -> TensorList:
    """Give a list without items. Errors call it by the name of its array, with a token's begin."""
    origin = f"{array}_{secrets.token_hex(16)}".encode() if size >= 0 else b""
    return TensorList(int(size), origin=origin)


def zeros(xp: ArrayModule, items: TensorList, empty: TensorList) -> TensorList:
    """Give a version of an empty list: zeros of the shapes of the items that are in another."""
    new = items.mapped(xp.zeros_like)
    new.origin = empty.origin
    return new


def write(
    xp: ArrayModule,
    items: TensorList,
    index: Any,
    value: Array,
    *,
    dynamic: bool,
    adds: bool = False,
) -> TensorList:
    """Give the list with one more item; `adds`: a value for an item that is there is added."""
    return _written(items, int(index), xp.array(value), dynamic, adds)


def _written(items: TensorList, index: int, value: Array, dynamic: bool, adds: bool) -> TensorList:
    if index < 0 or (not dynamic and index >= items.size):
        _refuse(
            items,
            f"Tried to write to index {index} but array is not resizeable and size is: "
            f"{items.size}. Give the TensorArray that size, or dynamic_size=True.",
        )
    old = items.get(index)
    if old is None:
        return items.appended(index, value)
    if not adds:
        _refuse(
            items,
            f"Could not write to TensorArray index {index} because it has already been written to.",
        )
    return _added(items, index, value)


def _added(items: TensorList, index: int, value: Array) -> TensorList:
    old = items.get(index)
    if old is not None and old.shape != value.shape:
        _refuse(
            items,
            f"Could not aggregate to TensorArray index {index} because the existing shape is "
            f"{list(old.shape)} but the new input shape is {list(value.shape)}.",
        )
    return items.added(index, value)


def aggregate(xp: ArrayModule, items: TensorList, more: TensorList, now: TensorList) -> TensorList:
    """Give the present list with the items of another added up."""
    for index, value in more.items():
        now = _added(now, index, value)
    return now


def present(xp: ArrayModule, items: TensorList, now: TensorList) -> TensorList:
    """Give the present list."""
    return now


def read_once(xp: ArrayModule, items: TensorList, *rest: Any) -> tuple[TensorList, TensorList]:
    """Give the list, and what was read of it with some indices (or all) among that.

    Of each index that was read it is noted whether there was an item: one that was written since
    has not been read.
    """
    *indices, noted = rest
    for index in _indices(items, indices):
        item = items.get(index)
        was_there = _noted(items, noted, index)
        if was_there or (was_there is False and item is None):
            _refuse(
                items,
                f"Could not read index {index} twice because it was cleared after a previous read "
                "(perhaps try setting clear_after_read = false?)",
            )
        noted = noted.appended(index, item is not None)
    return items, noted


def not_read(xp: ArrayModule, items: TensorList, *rest: Any) -> TensorList:
    """Give the list, of which some indices (or all) must not have been read."""
    *indices, noted = rest
    for index in _indices(items, indices):
        if _noted(items, noted, index) is not None:
            _refuse(
                items,
                f"Could not write to TensorArray index {index} because it has already been read.",
            )
    return items


def _indices(items: TensorList, indices: list[Any]) -> list[int]:
    if not indices:
        return list(range(items.size))
    (index,) = indices
    return index.ravel().tolist() if getattr(index, "ndim", 0) else [int(index)]


def _noted(items: TensorList, noted: TensorList, index: int) -> bool | None:
    """Return what was noted of an item, None if nothing was or it was of another list.

    (A loop whose turns exchange two arrays has another list where one was read when it was built.)
    """
    return noted.get(index) if noted.origin == items.origin else None


def read(
    xp: ArrayModule, items: TensorList, index: Any, *, dtype: DType, shape: Sequence[int]
) -> Array:
    """Give an item; zeros for a missing one of known shape."""
    return xp.array(_item(xp, items, int(index), dtype, shape))


def _item(
    xp: ArrayModule, items: TensorList, index: int, dtype: DType, shape: Sequence[int]
) -> Array:
    if not 0 <= index < items.size:
        _refuse(items, f"Tried to read from index {index} but array size is: {items.size}")
    value = items.get(index)
    if value is None:
        if shape is None or None in shape:
            _refuse(
                items,
                f"Could not read from TensorArray index {index}: it has not been written to, and "
                "the element shape is not fully defined; with element_shape it reads as zeros.",
            )
        return movement.zeros(xp, tuple(shape), dtype.np)
    return value


def stack(xp: ArrayModule, items: TensorList, *, dtype: DType, shape: Sequence[int]) -> Array:
    """Give all items in one array, along a new first axis; a missing one is zeros as others are."""
    rows = items.all_rows()
    if rows is not None:
        return xp.array(rows)
    if shape is None or None in shape:
        shape = next((item.shape for _, item in items.items()), shape)
    found = [_item(xp, items, i, dtype, shape) for i in range(items.size)]
    return _stacked(xp, items, found, dtype, shape)


def _stacked(
    xp: ArrayModule, items: TensorList, found: list[Any], dtype: DType, shape: Sequence[int]
) -> Array:
    if not found:
        if shape is None or None in shape:
            _refuse(
                items,
                f"TensorArray has size zero, but element shape {_shown(shape)} is not fully "
                "defined. Currently only static shapes are supported when packing zero-size "
                "TensorArrays.",
            )
        return xp.zeros((0, *shape), dtype.np)
    _check_same(items, found)
    return xp.stack(found)


def _check_same(items: TensorList, found: list[Any]) -> None:
    first = found[0].shape
    for i, item in enumerate(found):
        if item.shape != first:
            _refuse(
                items,
                f"TensorArray has inconsistent shapes. Index 0 has shape: {list(first)} but index "
                f"{i} has shape: {list(item.shape)}",
            )


def gather(
    xp: ArrayModule, items: TensorList, indices: Array, *, dtype: DType, shape: Sequence[int]
) -> Array:
    """Give some items in one array, along a new first axis."""
    wanted = indices.tolist()
    found = [_item(xp, items, i, dtype, shape) for i in wanted]
    return _stacked(xp, items, found, dtype, shape)


def concat(xp: ArrayModule, items: TensorList, *, dtype: DType, shape: Sequence[int]) -> Array:
    """Give all items in one array, along their first axis."""
    found = [_item(xp, items, i, dtype, shape) for i in range(items.size)]
    if any(not item.shape for item in found):
        _refuse(items, "Concat saw a scalar shape at index 0 but requires at least vectors.")
    if not found:
        return xp.zeros((0, *(shape or (0,))[1:]), dtype.np)
    for i, item in enumerate(found):
        if item.shape[1:] != found[0].shape[1:]:
            _refuse(
                items,
                "TensorArray has inconsistent shapes.  Index 0 has (excepting dimension 0) shape: "
                f"{list(found[0].shape[1:])} but index {i} has (excepting dimension 0) shape: "
                f"{list(item.shape[1:])}",
            )
    return xp.concatenate(found)


def unstack(
    xp: ArrayModule, items: TensorList, value: Array, *, dynamic: bool, adds: bool = False
) -> TensorList:
    """Give the list of the rows of an array."""
    value = xp.array(value)
    count = len(value)
    if count > items.size and not dynamic:
        _refuse_size(items, count)
    if items._count or items.rows is not None or count < items.size:
        for i, row in enumerate(_each_row(value)):
            items = _written(items, i, row, dynamic, adds)
        return items
    return TensorList(count, value, items.origin)


def scatter(
    xp: ArrayModule,
    items: TensorList,
    indices: Array,
    value: Array,
    *,
    dynamic: bool,
    adds: bool = False,
) -> TensorList:
    """Give the list with the rows of an array written to some indices."""
    wanted = indices.tolist()
    if len(wanted) != len(value):
        _refuse(
            items,
            f"Expected len(indices) == values.shape[0], but saw: {len(wanted)} vs. {len(value)}",
        )
    for index, row in zip(wanted, _each_row(xp.array(value)), strict=True):
        items = _written(items, index, row, dynamic, adds)
    return items


def split(
    xp: ArrayModule,
    items: TensorList,
    value: Array,
    lengths: Array,
    *,
    dynamic: bool,
    adds: bool = False,
) -> TensorList:
    """Give the list with consecutive runs of rows of an array as its items."""
    if getattr(lengths, "ndim", 1) != 1:
        _refuse(items, f"Expected lengths to be a vector, received shape: {list(lengths.shape)}")
    sizes = lengths.tolist()
    if not value.shape:
        _refuse(items, "Expected value to be at least a vector, but received shape: []")
    if sum(sizes) != len(value):
        _refuse(
            items,
            f"Expected sum of lengths to be equal to values.shape[0], but sum of lengths is "
            f"{sum(sizes)} and value's shape is: {list(value.shape)}",
        )
    if len(sizes) != items.size and not dynamic:
        _refuse_size(items, len(sizes))
    value, start = xp.array(value), 0
    for i, size in enumerate(sizes):
        items = _written(items, i, value[start : start + size], dynamic, adds)
        start += size
    return items


def size(xp: ArrayModule, items: TensorList) -> Array:
    """Give the number of items."""
    return xp.asarray(items.size, "int32")


# -- kernels of gradients: lists of any size, in which a missing item counts as zero ---------------


def total(xp: ArrayModule, *lists: TensorList) -> TensorList:
    """Give the sum of lists, item by item."""
    result = lists[0]
    for items in lists[1:]:
        result = result + items
    return result


def item_like(xp: ArrayModule, items: TensorList, index: Any, like: Array) -> Array:
    """Give an item; zeros as `like` for a missing one."""
    found = items.get(int(index))
    return xp.zeros_like(like) if found is None else xp.array(found)


def only_item(xp: ArrayModule, index: Any, value: Array) -> TensorList:
    """Give a list with one item."""
    return TensorList(-1).appended(int(index), xp.array(value))


def rows_like(xp: ArrayModule, items: TensorList, like: Array) -> Array:
    """Give all items in one array; zeros as the rows of `like` for missing ones."""
    if items.rows is not None and not items._count and len(items.rows) == len(like):
        return xp.array(items.rows)
    result = xp.zeros_like(like)
    for index, value in items.items():
        if index < len(result):  # others were written later
            result[index] = value
    return result


def picked_like(xp: ArrayModule, items: TensorList, indices: Array, like: Array) -> Array:
    """Give some items in one array; zeros as the rows of `like` for missing ones."""
    result = xp.zeros_like(like)
    for place, index in enumerate(indices.tolist()):
        value = items.get(index)
        if value is not None:
            result[place] = value
    return result


def only_items(xp: ArrayModule, indices: Array, value: Array) -> TensorList:
    """Give a list of the rows of an array, added up where they have one index."""
    items = TensorList(-1)
    for index, row in zip(indices.tolist(), xp.array(value), strict=True):
        items = items.added(index, row)
    return items


def rows(xp: ArrayModule, value: Array) -> TensorList:
    """Give the list of the rows of an array."""
    return TensorList(-1, xp.array(value))


def joined_like(xp: ArrayModule, items: TensorList, like: Array, lengths: Array) -> Array:
    """Give items joined along their first axis; zeros as the rows of `like` for missing ones."""
    result = xp.zeros_like(like)
    start = 0
    for index, length in enumerate(lengths.tolist()):
        value = items.get(index)
        if value is not None:
            result[start : start + length] = value
        start += length
    return result


def cut_like(xp: ArrayModule, value: Array, items: TensorList) -> TensorList:
    """Give a list of consecutive runs of rows, each as long as the item of `items`."""
    result, value, start = TensorList(-1), xp.array(value), 0
    for index, item in enumerate(items.in_order()):
        if item is not None:
            result = result.appended(index, value[start : start + len(item)])
            start += len(item)
    return result


def _shown(shape: Sequence[int]) -> str:
    if shape is None:
        return "<unknown>"
    return "[" + ",".join("?" if n is None else str(n) for n in shape) + "]"


def _refuse_size(items: TensorList, wanted: int) -> None:
    _refuse(
        items,
        f"TensorArray's size is not equal to the size of lengths ({items.size} vs. {wanted}), and "
        "the TensorArray is not marked as dynamically resizeable",
    )


def _refuse(items: TensorList, message: str) -> None:
    array, _, token = items.origin.decode().rpartition("_")
    whose = f"TensorArray {array}_{token[:8]}: " if array else ""
    raise invalid(whose + message)
