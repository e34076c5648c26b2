"""One file as a store: a zip archive with the objects as entries, as Zarr's ``ZipStore`` has them.

`ArchiveWriter` writes one beside its target, which it then replaces, so that it is there whole or
not at all, and removes what writers that were killed have left there; `ArchiveStore` reads one.
Entries are never compressed in the archive (chunks have codecs of their own), so no entry is larger
than the file, and each is read straight to where its bytes are wanted, by as many threads as ask.

Python's ``zipfile`` opens what is written here, and what Zarr writes is read here. It is not used
itself because of what small objects cost (m: 2,000 of them written in 106 ms, and their directory
read in 24; here 12 and 5), and because its entries are written one after another. A checkpoint of
1,000 small variables is saved in 39 ms and restored in 36 (m: benchmarks/checkpoint.py, in memory).
"""

from __future__ import annotations

import contextlib
import os
import struct
import threading
import time
import weakref
import zlib
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
from zarr.abc.store import (
    ByteRequest,
    OffsetByteRequest,
    RangeByteRequest,
    Store,
    SuffixByteRequest,
)
from zarr.core.buffer import Buffer, BufferPrototype

from daskvars.errors import invalid
from daskvars.state.failures import not_found, store_failure
from daskvars.state.stores.disk import (
    STEP_BYTES,
    Memory,
    discard,
    fill,
    opened_beside,
    put_in,
    read_into,
    whole,
)
from daskvars.state.stores.local_files import MAX_BYTES, OWN_BYTES, checked_size

# The records of the format (PKWARE, APPNOTE.TXT 4.3), little endian.
LOCAL = struct.Struct("<4s5H3L2H")
CENTRAL = struct.Struct("<4s6H3L5H2L")
END = struct.Struct("<4s4H2LH")
END_64 = struct.Struct("<4sQ2H2L4Q")
LOCATOR_64 = struct.Struct("<4sLQL")
LOCAL_MARK, CENTRAL_MARK, END_MARK = b"PK\3\4", b"PK\1\2", b"PK\5\6"
END_64_MARK, LOCATOR_64_MARK = b"PK\6\6", b"PK\6\7"
FULL_2, FULL_4 = 0xFFFF, 0xFFFFFFFF  # "see the field of eight bytes"
SIZES_64, VERSION, VERSION_64, UTF_8, ENCRYPTED = 1, 20, 45, 1 << 11, 1

MAX_COMMENT_BYTES = 0xFFFF
MAX_DIRECTORY_BYTES = 1 << 30
PENDING_BYTES = 1 << 20
"""Small entries are gathered to so many bytes before they are written."""

SMALL_BYTES = 1 << 24
"""An archive of no more bytes is read at once: a call for each of many small entries would cost
more than all of their bytes."""


class Entry(NamedTuple):
    """One object of an archive.

    Attributes:
        offset: where its local header is in the file.
        size: bytes of its content.
        crc: their CRC-32.
        is_plain: whether it is stored as it is, neither compressed nor encrypted.
    """

    offset: int
    size: int
    crc: int
    is_plain: bool = True


class ArchiveWriter:
    """Writes an archive beside its target; `finish` lets it take the target's place.

    Args:
        target: the path that it will have; missing directories are made.

    Raises:
        StoreError: the disk refuses, with its reason.

    >>> import tempfile, zipfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     writer = ArchiveWriter(f"{place}/a.zip")
    ...     writer.add("x", [b"one ", b"two"])
    ...     before = os.path.exists(f"{place}/a.zip")
    ...     writer.finish()
    ...     print(before, zipfile.ZipFile(f"{place}/a.zip").read("x"))
    False b'one two'
    """

    def __init__(self, target: str) -> None:
        self.target = target
        self.lock = threading.Lock()
        self.entries: dict[str, Entry] = {}
        self.pending = bytearray()
        self.written = 0  # bytes before those pending
        with self.errors():
            self.file, self.beside = opened_beside(target)
        # Whoever forgets a writer leaves nothing open, and nothing beside the target.
        self.close = weakref.finalize(self, discard, self.file, self.beside)
        now = time.localtime()
        self.stamp = (
            now.tm_hour << 11 | now.tm_min << 5 | now.tm_sec // 2,
            max(0, now.tm_year - 1980) << 9 | now.tm_mon << 5 | now.tm_mday,
        )

    def add(self, name: str, parts: Iterable[Any], size: int | None = None) -> None:
        """Write one entry; several threads may do so at once.

        Args:
            name: its name; one that is there already is replaced.
            parts: its consecutive pieces: bytes, or contiguous one-dimensional uint8 arrays.
            size: how many bytes they are, if that is known: a large entry is then written piece by
                piece, beside those of other threads.

        Raises:
            StoreError: the disk refuses, with its reason.
            InvalidArgumentError: the parts have another size.
        """
        if size is None or size <= STEP_BYTES:
            data = b"".join(parts)
            crc = zlib.crc32(data)
            with self.lock:
                offset = self.written + len(self.pending)
                self.entries[name] = Entry(offset, len(data), crc)
                self.pending += self.local_header(name, crc, len(data))
                self.pending += data
                if len(self.pending) > PENDING_BYTES:
                    self.flush()
            return
        room = len(self.local_header(name, 0, size)) + size
        with self.lock:
            self.flush()
            offset = self.written
            self.written += room
        at, crc = offset + room - size, 0
        for part in parts:
            crc = zlib.crc32(part, crc)
            self.write_at(part, at)
            at += len(part)
        if at != offset + room:
            raise invalid(f"entry {name!r} has {at - offset - room + size} bytes, not {size}")
        self.write_at(self.local_header(name, crc, size), offset)
        with self.lock:
            self.entries[name] = Entry(offset, size, crc)

    def local_header(self, name: str, crc: int, size: int) -> bytes:
        """Give what stands before an entry's content."""
        text, extra, version = name.encode(), b"", VERSION
        if size >= FULL_4:
            extra = struct.pack("<2H2Q", SIZES_64, 16, size, size)
            version, size = VERSION_64, FULL_4
        fields = (version, UTF_8, 0, *self.stamp, crc, size, size, len(text), len(extra))
        return LOCAL.pack(LOCAL_MARK, *fields) + text + extra

    def flush(self) -> None:
        """Write what is pending; the lock is held."""
        self.write_at(self.pending, self.written)
        self.written += len(self.pending)
        self.pending = bytearray()

    def write_at(self, data: Any, offset: int) -> None:
        """Write all of some bytes at a place in the file."""
        rest = memoryview(data).cast("B")
        with self.errors():
            while rest:
                count = write_into(self.file, rest, offset)
                rest, offset = rest[count:], offset + count

    def finish(self) -> None:
        """Write the directory, and let the archive take its target's place.

        Raises:
            StoreError: the disk refuses, with its reason; nothing stays.
        """
        try:
            with self.lock:
                start = self.written + len(self.pending)
                for name, entry in self.entries.items():
                    self.pending += self.central_header(name, entry)
                size = self.written + len(self.pending) - start
                self.pending += end_records(len(self.entries), size, start)
                self.flush()
            with self.errors():
                self.close.detach()
                put_in(self.file, self.beside, self.target)
        except BaseException:
            self.abort()
            raise

    def central_header(self, name: str, entry: Entry) -> bytes:
        """Give an entry's line in the directory."""
        text, extra, version, size, offset = name.encode(), b"", VERSION, entry.size, entry.offset
        if max(size, offset) >= FULL_4:
            long = [n for n in (size, size, offset) if n >= FULL_4]
            extra = struct.pack(f"<2H{len(long)}Q", SIZES_64, 8 * len(long), *long)
            version, size, offset = VERSION_64, min(size, FULL_4), min(offset, FULL_4)
        fields = (version, version, UTF_8, 0, *self.stamp, entry.crc, size, size)
        place = (len(text), len(extra), 0, 0, 0, 0o644 << 16, offset)
        return CENTRAL.pack(CENTRAL_MARK, *fields, *place) + text + extra

    def abort(self) -> None:
        """Give the archive up; nothing of it stays, and the target is as it was."""
        self.close()

    @contextlib.contextmanager
    def errors(self) -> Iterator[None]:
        """Return a context in which the disk's refusals become errors of the store."""
        try:
            yield
        except OSError as error:
            raise store_failure(
                f"cannot write {self.target!r}: {error.strerror or error}"
            ) from error


def end_records(count: int, size: int, start: int) -> bytes:
    """Give what stands after a directory of so many entries and bytes that begins at `start`."""
    end = END.pack(
        END_MARK, 0, 0, *[min(count, FULL_2)] * 2, min(size, FULL_4), min(start, FULL_4), 0
    )
    if count < FULL_2 and max(size, start) < FULL_4:
        return end
    wide = END_64.pack(END_64_MARK, 44, VERSION_64, VERSION_64, 0, 0, count, count, size, start)
    return wide + LOCATOR_64.pack(LOCATOR_64_MARK, 0, start + size, 1) + end


SEEKING = threading.Lock()
"""Held where a system has no call that moves bytes at a place: it has to be gone to first."""


def seek_and_write(file: int, data: Any, offset: int) -> int:
    """Write as ``os.pwrite`` does."""
    with SEEKING:
        os.lseek(file, offset, os.SEEK_SET)
        return os.write(file, data)


def seek_and_read(file: int, parts: Sequence[Any], offset: int) -> int:
    """Read as ``os.preadv`` does."""
    with SEEKING:
        os.lseek(file, offset, os.SEEK_SET)
        return read_into(file, parts)


write_into = getattr(os, "pwrite", seek_and_write)
read_from = getattr(os, "preadv", seek_and_read)


class ArchiveStore(Store):
    """A zip archive as a Zarr store, to be read.

    It holds the file open: one that takes its place is not seen. It travels as its path.

    Raises:
        NotFoundError: it is not there.
        StoreError: it is no whole zip archive.

    >>> import tempfile, zipfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     with zipfile.ZipFile(f"{place}/a.zip", "w") as archive:
    ...         archive.writestr("x/y", b"one")
    ...     store = ArchiveStore(f"{place}/a.zip")
    ...     print(list(store.entries), store.content("x/y").tobytes())
    ['x/y'] b'one'
    """

    supports_writes = False
    supports_deletes = False
    supports_listing = True

    def __init__(self, path: str) -> None:
        super().__init__(read_only=True)
        self.path = path
        try:
            self.file = os.open(path, os.O_RDONLY | OWN_BYTES | getattr(os, "O_NONBLOCK", 0))
        except FileNotFoundError:
            raise not_found(f"no file {path!r}; check the path, or save there first") from None
        except OSError as error:
            raise store_failure(f"cannot read {path!r}: {error.strerror or error}") from error
        weakref.finalize(self, os.close, self.file)
        try:
            self.size = checked_size(path, os.fstat(self.file))
        except IsADirectoryError:
            raise store_failure(f"{path!r} is a directory, not a zip archive") from None
        self.whole: bytes | None = None
        try:
            if self.size <= SMALL_BYTES:
                self.whole = self.bytes_at(0, self.size)
            self.entries = self.directory()
        except (ValueError, struct.error) as error:
            raise store_failure(
                f"{path!r} is no whole zip archive: {error}; it was cut off, or is something else"
            ) from None

    def __str__(self) -> str:
        return self.path

    def __repr__(self) -> str:
        return f"ArchiveStore({self.path!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ArchiveStore) and self.path == other.path

    def __reduce__(self) -> tuple[type[ArchiveStore], tuple[str]]:
        return ArchiveStore, (self.path,)

    # -- objects, as `objects` moves them ------------------------------------------------------

    def get_into(self, name: str, memory: Memory) -> bool:
        """Read an object into memory; see `objects.get_into`.

        Raises:
            StoreError: it is compressed, cut off, or its CRC-32 is another; that is looked at where
                nobody looks at the bytes themselves.
            ValueError: it is of a size that `memory` refuses.
        """
        entry = self.entries.get(name)
        if entry is None:
            return False
        if not entry.is_plain:
            raise store_failure(
                f"{self.path!r}: {name!r} is compressed or encrypted by the archive; write it with"
                " zarr.storage.ZipStore, which stores entries as they are"
            )
        parts = memory(entry.size)
        width = LOCAL.size + len(name.encode())
        try:
            if entry.size <= STEP_BYTES:
                self.fill_small(entry, parts, width)
            else:
                self.fill_large(entry, parts, width)
        except ValueError as error:
            raise store_failure(f"{self.path!r}: {name!r} is damaged: {error}") from None
        if all(look is None for _, look in parts):
            crc = 0
            for part, _ in parts:
                crc = zlib.crc32(part.data, crc)
            if crc != entry.crc:
                raise store_failure(f"{self.path!r}: {name!r} is damaged: its CRC-32 is another")
        return True

    def fill_large(self, entry: Entry, parts: Sequence[Any], width: int) -> None:
        """Fill vectors with a large entry, each straight from the file."""
        header = self.bytes_at(entry.offset, entry.offset + width)
        start = entry.offset + header_size(header)
        for part, look in parts:
            fill(part, look, self.read_at, start)
            start += len(part)

    def fill_small(self, entry: Entry, parts: Sequence[Any], width: int) -> None:
        """Fill vectors with a small entry; one read, where its header has the width expected."""
        data = self.bytes_at(entry.offset, entry.offset + width + entry.size)
        start = header_size(data)
        if start != width:
            first = entry.offset + start
            data, start = self.bytes_at(first, first + entry.size), 0
        for part, look in parts:
            part[:] = np.frombuffer(data, np.uint8, len(part), start)
            start += len(part)
            if look:
                look(part)

    def read_at(self, parts: Sequence[Any], offset: int) -> int:
        """Read into some memory; fewer bytes at the end of the file."""
        try:
            return read_from(self.file, parts, offset)
        except OSError as error:
            raise store_failure(f"cannot read {self.path!r}: {error.strerror or error}") from error

    def content(self, name: str, most_bytes: int = MAX_BYTES) -> np.ndarray | None:
        """Give an object's bytes, None where there is no such object."""
        return whole(partial(self.get_into, name), f"{self.path!r}: {name!r}", most_bytes)

    # -- its directory ----------------------------------------------------------------------------

    def directory(self) -> Mapping[str, Entry]:
        """Read the directory."""
        tail = self.bytes_at(max(0, self.size - END.size - MAX_COMMENT_BYTES), self.size)
        found = tail.rfind(END_MARK)
        if found < 0:
            raise ValueError("it does not end as one")
        _, _, _, _, count, size, start, comment = END.unpack_from(tail, found)
        end = self.size - len(tail) + found
        if end + END.size + comment != self.size:
            raise ValueError("it goes on after its end")
        if count == FULL_2 or FULL_4 in (size, start):
            mark, _, place, _ = LOCATOR_64.unpack_from(tail, found - LOCATOR_64.size)
            wide = self.bytes_at(place, place + END_64.size)
            if mark != LOCATOR_64_MARK or wide[:4] != END_64_MARK:
                raise ValueError("its second end record is not there")
            size, start = END_64.unpack(wide)[-2:]
        if size > MAX_DIRECTORY_BYTES or start + size > end:
            raise ValueError(f"its directory has {size} bytes at {start}")
        return entries_in(self.bytes_at(start, start + size), start)

    def bytes_at(self, start: int, stop: int) -> bytes:
        """Give the bytes of a part of the file, which has so many."""
        if not 0 <= start <= stop <= self.size:
            raise ValueError(f"it has {self.size} bytes, and refers to {stop}")
        if self.whole is not None:
            return self.whole[start:stop]
        found = bytearray(stop - start)
        if self.read_at([found], start) != len(found):
            raise ValueError("it became shorter while it was read")
        return bytes(found)

    # -- Zarr's contract --------------------------------------------------------------------------

    async def get(
        self, key: str, prototype: BufferPrototype, byte_range: ByteRequest | None = None
    ) -> Buffer | None:
        """Read an object, or a range of it."""
        found = self.content(key)
        if found is None:
            return None
        return prototype.buffer.from_bytes(found[range_of(byte_range)].data)

    async def get_partial_values(
        self, prototype: BufferPrototype, key_ranges: Iterable[tuple[str, ByteRequest | None]]
    ) -> list[Buffer | None]:
        """Read ranges of objects."""
        return [await self.get(key, prototype, part) for key, part in key_ranges]

    async def exists(self, key: str) -> bool:
        """Tell whether there is an object."""
        return key in self.entries

    async def set(self, key: str, value: Buffer) -> None:
        """Refuse to write."""
        self._check_writable()

    async def delete(self, key: str) -> None:
        """Refuse to delete."""
        self._check_writable()

    async def list(self) -> AsyncIterator[str]:
        """List all objects."""
        for name in self.entries:
            yield name

    async def list_prefix(self, prefix: str) -> AsyncIterator[str]:
        """List the objects whose names begin so."""
        for name in self.entries:
            if name.startswith(prefix):
                yield name

    async def list_dir(self, prefix: str) -> AsyncIterator[str]:
        """List what is directly under a path, by its last name."""
        above = f"{prefix.rstrip('/')}/" if prefix else ""
        names = {n[len(above) :].partition("/")[0] for n in self.entries if n.startswith(above)}
        for name in sorted(names):
            yield name


def header_size(header: bytes) -> int:
    """Give the size of an entry's local header."""
    mark, *_, text, extra = LOCAL.unpack_from(header)
    if mark != LOCAL_MARK:
        raise ValueError("it is not where the directory has it")
    return LOCAL.size + text + extra


def range_of(request: ByteRequest | None) -> slice:
    """Give a request of Zarr's as a slice."""
    if isinstance(request, RangeByteRequest):
        return slice(request.start, request.end)
    if isinstance(request, OffsetByteRequest):
        return slice(request.offset, None)
    if isinstance(request, SuffixByteRequest):
        return slice(-request.suffix, None) if request.suffix else slice(0)
    return slice(None)


@lru_cache(maxsize=1)  # each of a thousand initializers opens the same checkpoint
def entries_in(directory: bytes, most: int) -> Mapping[str, Entry]:
    """Give the objects that a directory names, by name; of entries of one name the last counts."""
    return dict(entries_of(directory, most))


def entries_of(directory: bytes, most: int) -> Iterator[tuple[str, Entry]]:
    """Yield the objects that a directory names, all before the byte `most`."""
    at = 0
    while at < len(directory):
        fields = CENTRAL.unpack_from(directory, at)
        mark, _, _, flags, method, _, _, crc, packed, size, text, extra, comment = fields[:13]
        offset = fields[-1]
        at += CENTRAL.size
        name = directory[at : at + text]
        if mark != CENTRAL_MARK or len(name) != text:
            raise ValueError("its directory is damaged")
        if FULL_4 in (size, packed, offset):
            size, packed, offset = long_sizes(
                directory[at + text : at + text + extra], size, packed, offset
            )
        at += text + extra + comment
        if offset + LOCAL.size + text + packed > most:
            raise ValueError(f"it has no room for {size} bytes at {offset}")
        is_plain = not method and not flags & ENCRYPTED and size == packed
        if not name.endswith(b"/"):  # a directory of its own has no content
            yield (
                name.decode("utf-8" if flags & UTF_8 else "cp437"),
                Entry(offset, size, crc, is_plain),
            )
    if at != len(directory):
        raise ValueError("its directory is damaged")


def long_sizes(extra: bytes, size: int, packed: int, offset: int) -> Iterable[int]:
    """Give sizes and place with those of eight bytes that the extra field has."""
    at = 0
    while at + 4 <= len(extra):
        kind, length = struct.unpack_from("<2H", extra, at)
        if kind == SIZES_64:
            long = iter(struct.unpack_from(f"<{length // 8}Q", extra, at + 4))
            return [next(long, FULL_4) if n == FULL_4 else n for n in (size, packed, offset)]
        at += 4 + length
    raise ValueError("its directory lacks a size")
