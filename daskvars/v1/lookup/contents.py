"""What a table is while a program runs: keys and values in this process, found by its handle."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterable, Mapping
from typing import Any
from weakref import WeakValueDictionary

import numpy
from numpy.typing import NDArray

from daskvars.dtypes import DType
from daskvars.errors import FailedPreconditionError, invalid
from daskvars.shapes import Shape, in_brackets

_Array = NDArray[Any]
_tables: WeakValueDictionary[bytes, Table] = WeakValueDictionary()
_numbers = itertools.count()


class Table:
    """Keys and their values.

    Args:
      name: for its handle.
      grows: whether pairs are put in one by one; if not, all at once.

    Attributes:
      handle: by which the table is found in this process.
    """

    def __init__(
        self, name: str, dtypes: tuple[DType, DType], shape: Shape = (), grows: bool = False
    ) -> None:
        self.key_dtype, self.value_dtype = dtypes
        self.shape, self.grows = shape, grows
        self.handle = f"{name} {next(_numbers)}".encode()
        self._pairs: dict[Any, Any] = {}
        self._is_filled = grows
        self._lock = threading.Lock()
        _tables[self.handle] = self

    def fill(self, keys: Iterable[Any], values: Iterable[Any]) -> None:
        """Give the table all its pairs. A second time they must be the same.

        Raises:
          FailedPreconditionError: a key has two values, or the table has other pairs.
        """
        pairs: dict[Any, Any] = {}
        for key, value in zip(keys, values, strict=True):
            had = pairs.setdefault(key, value)
            if had != value:
                raise FailedPreconditionError.saying(
                    "HashTable has different value for same key. Key "
                    f"{_shown(key)} has {_shown(had)} and trying to add value {_shown(value)}"
                )
        with self._lock:
            if self._is_filled and pairs != self._pairs:
                raise FailedPreconditionError.saying("Table already initialized.")
            self._pairs, self._is_filled = pairs, True

    def put(self, keys: _Array, values: _Array) -> None:
        """Add pairs, or give keys other values."""
        pairs = self._pairs_of(keys, values)
        with self._lock:
            self._pairs = {**self._pairs, **pairs}  # who reads has the one or the other

    def take_out(self, keys: _Array) -> None:
        """Remove keys; those that are not there are no error."""
        gone = set(keys.reshape(-1).tolist())
        with self._lock:
            self._pairs = {key: value for key, value in self._pairs.items() if key not in gone}

    def replace(self, keys: _Array, values: _Array) -> None:
        """Give the table other pairs."""
        pairs = self._pairs_of(keys, values)
        with self._lock:
            self._pairs = pairs

    def _pairs_of(self, keys: _Array, values: _Array) -> dict[Any, Any]:
        return dict(zip(keys.reshape(-1).tolist(), self._rows(keys, values), strict=True))

    def _rows(self, keys: _Array, values: _Array) -> list[Any]:
        wanted = (*keys.shape, *(self.shape or ()))
        if values.shape != wanted:
            raise invalid(
                f"Expected shape {in_brackets(wanted)} for value, got {in_brackets(values.shape)}"
            )
        if not self.shape:
            return values.reshape(-1).tolist()
        return [row.copy() for row in values.reshape(-1, *self.shape)]

    def filled(self) -> Mapping[Any, Any]:
        """Return the pairs. Raises FailedPreconditionError before the table has them."""
        if not self._is_filled:
            raise FailedPreconditionError.saying(
                "Table not initialized. Run `session.run(tables_initializer())`, or its own "
                "initializer, first."
            )
        return self._pairs

    def size(self) -> int:
        """Return the number of pairs."""
        return len(self._pairs)

    def find(self, keys: _Array, default: _Array) -> _Array:
        """Return the values of keys, `default` where there is none."""
        get, other = self.filled().get, default.item() if not self.shape else default
        found = [get(key, other) for key in keys.reshape(-1).tolist()]
        return self._values(found, keys.shape)

    def exported(self) -> tuple[_Array, _Array]:
        """Return all keys, and their values."""
        pairs = self.filled()
        keys = numpy.array(list(pairs), self.key_dtype.np)
        return keys, self._values(list(pairs.values()), keys.shape)

    def _values(self, found: list[Any], shape: tuple[int, ...]) -> _Array:
        sizes: Any = (*shape, *(self.shape or ()))
        return numpy.array(found, self.value_dtype.np).reshape(sizes)


def table_of(handle: _Array) -> Table:
    """Return the table of a handle.

    Raises:
      FailedPreconditionError: there is none in this process.
    """
    found = _tables.get(handle.item())
    if found is None:
        name = handle.item().decode().partition(" ")[0]
        raise FailedPreconditionError.saying(
            f"the table {name!r} is not in this process: tables are in that of their session. On a "
            "cluster look keys up outside of branches, loops and datasets' functions."
        )
    return found


def _shown(value: Any) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)
