"""LMDB files, read: the pairs of a key and a value that Caffe's and other tools write.

A file consists of pages of one size. The first two say where the last two transactions left the
tree of pairs; the newer one counts. Leaves of the tree have the pairs in the order of the keys,
long values pages of their own. Nothing is locked: who reads a file must not write it meanwhile.

Reading trusts nothing: each place is compared with the file, and no page of a tree is read twice.
The package ``lmdb`` maps a file in memory and follows what it says: a damaged one ends the process.

Source: LMDB 0.9, version 1 of the format, as 64-bit little-endian machines write it.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from typing import Any

from daskvars.errors import DataLossError, UnimplementedError
from daskvars.kernels.opened_files import opened

MAGIC, VERSION = 0xBEEFC0DE, 1
_META = struct.Struct("<16xIIQQ")  # after the header: magic, version, address, size of the map
_TREE = struct.Struct("<IHHQQQQQ")  # size of pages, flags, depth, pages of 3 kinds, pairs, root
_LAST = struct.Struct("<QQ")  # last page, transaction
_HEADER = struct.Struct("<QHHHH")  # number, padding, kind, end of the places of nodes, their begin
_NODE = struct.Struct("<HHHH")  # size of the value (or child page) in two parts, flags, key's size
_META_BYTES = _META.size + 2 * _TREE.size + _LAST.size
_BRANCH, _LEAF, _LONG = 1, 2, 4  # kinds of pages
_ELSEWHERE, _TREE_OF_NAME, _MORE = 1, 2, 4  # flags of nodes
_NONE = (1 << 64) - 1
_MAX_DEPTH = 32


def pairs(path: bytes | str) -> Iterator[tuple[bytes, bytes]]:
    """Yield the pairs of a file, or of ``data.mdb`` in a folder.

    Raises:
      NotFoundError: there is no such file.
      DataLossError: it is damaged, or no LMDB file.
      UnimplementedError: it has databases by name, or several values of a key.
    """
    name = os.fsdecode(path)
    if os.path.isdir(name):
        name = os.path.join(name, "data.mdb")
    with opened(name) as file:
        yield from _Tree(name, file).pairs()


class _Tree:
    """The tree of pairs in an open file."""

    def __init__(self, name: str, file: Any) -> None:
        self._name, self._file = name, file
        self._num_bytes = file.seek(0, os.SEEK_END)
        self._page_bytes, *first = self._meta(0)
        if self._page_bytes not in (1 << power for power in range(8, 17)):
            raise self._damaged(f"has pages of {self._page_bytes} bytes")
        _, *second = self._meta(self._page_bytes)
        _, self._depth, self._root = max(first, second)
        self._seen: set[int] = set()

    def _meta(self, place: int) -> tuple[int, int, int, int]:
        """Return the size of pages, and transaction, depth and root, as one of two pages says."""
        data = self._bytes(place, _META_BYTES)
        magic, version, *_ = _META.unpack_from(data)
        if (magic, version) != (MAGIC, VERSION):
            raise self._damaged(f"begins with {data[16:24].hex()} where an LMDB file has its mark")
        page_bytes, *_ = _TREE.unpack_from(data, _META.size)
        tree = _TREE.unpack_from(data, _META.size + _TREE.size)
        _, transaction = _LAST.unpack_from(data, _META.size + 2 * _TREE.size)
        return page_bytes, transaction, tree[2], tree[-1]

    def pairs(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield the pairs in the order of their keys."""
        if self._root != _NONE:
            if not 1 <= self._depth <= _MAX_DEPTH:
                raise self._damaged(f"has a tree of depth {self._depth}")
            yield from self._below(self._root, self._depth)

    def _below(self, number: int, depth: int) -> Iterator[tuple[bytes, bytes]]:
        if number in self._seen:
            raise self._damaged(f"names page {number} twice")
        self._seen.add(number)
        page = self._bytes(number * self._page_bytes, self._page_bytes)
        own, _, kind, end, _ = _HEADER.unpack_from(page)
        wanted = _LEAF if depth == 1 else _BRANCH
        if own != number or not kind & wanted or not _HEADER.size <= end <= len(page) or end % 2:
            raise self._damaged(f"is not whole at page {number}")
        for place in struct.unpack_from(f"<{(end - _HEADER.size) // 2}H", page, _HEADER.size):
            if place + _NODE.size > len(page):
                raise self._damaged(f"is not whole at page {number}")
            low, high, flags, key_bytes = _NODE.unpack_from(page, place)
            if wanted == _BRANCH:
                yield from self._below(low | high << 16 | flags << 32, depth - 1)
            else:
                yield self._pair(page, place + _NODE.size, key_bytes, low | high << 16, flags)

    def _pair(
        self, page: bytes, place: int, key_bytes: int, value_bytes: int, flags: int
    ) -> tuple[bytes, bytes]:
        if flags & (_TREE_OF_NAME | _MORE):
            raise UnimplementedError.saying(
                f"{self._name} has databases by name, or several values of a key: copy what is "
                "wanted to a file of its own"
            )
        start = place + key_bytes
        stop = start + (8 if flags & _ELSEWHERE else value_bytes)
        if stop > len(page):
            raise self._damaged(f"has a pair that ends outside of its page: {value_bytes} bytes")
        key, value = page[place:start], page[start:stop]
        if flags & _ELSEWHERE:
            number = int.from_bytes(value, "little")
            data = self._bytes(number * self._page_bytes, _HEADER.size + value_bytes)
            own, _, kind, *_ = _HEADER.unpack_from(data)
            if own != number or not kind & _LONG:
                raise self._damaged(f"is not whole at page {number}")
            value = data[_HEADER.size :]
        return key, value

    def _bytes(self, place: int, count: int) -> bytes:
        if place + count > self._num_bytes:
            raise self._damaged(f"has {self._num_bytes} bytes, and refers to {place + count}")
        self._file.seek(place)
        data = self._file.read(count)
        if len(data) < count:
            raise self._damaged("became shorter while it was read")
        return data

    def _damaged(self, what: str) -> DataLossError:
        return DataLossError.saying(f"{self._name} is damaged, or no LMDB file: it {what}")
