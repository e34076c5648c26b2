"""Files of records: opened, gone through, and cut in blocks that workers read.

A TFRecord is its length (8 bytes, little endian), the masked crc32c of that, the bytes, and theirs.
So TensorFlow writes them; files may be compressed as a whole, by gzip or zlib.

An *index* says where the records of a file are, some at a time: a `RecordBlock` is so many of them,
one after the other. Making it goes through the file as reading does, and finds what is damaged.
"""

from __future__ import annotations

import gzip
import io
import os
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from typing import Any, NamedTuple, TypeAlias

import fsspec
import google_crc32c

from daskvars.errors import (
    AlreadyExistsError,
    DataLossError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    OpError,
    PermissionDeniedError,
    UnknownError,
)
from daskvars.state.external.tensorflow import tables

PathName: TypeAlias = str | bytes | PathLike[str]
BLOCK_BYTES = 1 << 18  # about, of a block of records: what a worker reads and keeps as one
RECORD_BYTES = 16  # of a record besides its own
LENGTH = struct.Struct("<Q")
SUM = struct.Struct("<I")
_ERRORS: list[tuple[type[OSError], type[Exception]]] = [
    (FileExistsError, AlreadyExistsError),
    (FileNotFoundError, NotFoundError),
    (PermissionError, PermissionDeniedError),
    (IsADirectoryError, FailedPreconditionError),
    (NotADirectoryError, FailedPreconditionError),
]
_LARGEST = 1 << 40  # bytes of a record: what says more is no length


@contextmanager
def as_errors(path: str) -> Iterator[None]:
    """Raise what a file system says of a path as one of `daskvars.errors`."""
    try:
        yield
    except OSError as error:
        kind = next((ours for theirs, ours in _ERRORS if isinstance(error, theirs)), UnknownError)
        raise kind(None, None, f"{path}; {error.strerror or error}") from error


def opened(path: PathName, mode: str = "rb") -> Any:
    """Open a file for bytes: one of this machine, or by its URL one elsewhere (fsspec).

    Raises:
      NotFoundError: there is none.
    """
    text = os.fsdecode(path)
    with as_errors(text):
        if "://" not in text:
            return open(text, mode)
        return fsspec.open(text, mode).open()


def opened_plain(path: PathName, compression_type: str = "") -> Any:
    """Open a file to read what is in it, decompressed."""
    file = opened(path)
    if not compression_type:
        return file
    if compression_type == "GZIP":
        return _Both(gzip.GzipFile(fileobj=file), file)
    return _Both(io.BufferedReader(_Inflated(file)), file)


class _Both:
    """A file that is read through another, closed together with it."""

    def __init__(self, reader: Any, file: Any) -> None:
        self._reader, self._file = reader, file
        self.read, self.readline = reader.read, reader.readline

    def close(self) -> None:
        self._reader.close()
        self._file.close()


class _Inflated(io.RawIOBase):
    """What a zlib stream holds."""

    def __init__(self, file: Any) -> None:
        self._file, self._stream = file, zlib.decompressobj()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        found = b""
        while not found:
            given = self._stream.unconsumed_tail or self._file.read(1 << 16)
            if not given:
                return 0
            found = self._stream.decompress(given, len(buffer))
        buffer[: len(found)] = found
        return len(found)


def masked(data: bytes) -> int:
    """Return the checksum of some bytes as a record has it.

    >>> hex(masked(b"daskvars"))
    '0xef3db11b'
    """
    return tables.masked(google_crc32c.value(data))


class RecordReader:
    """Goes through the records of a file.

    Args:
      path: of the file.
      compression_type: "", "ZLIB" or "GZIP".
      start: the byte where it begins, of a file that is not compressed.
      number: which record is there.

    Attributes:
      place: the byte where the next record begins, of what is decompressed.
    """

    def __init__(
        self, path: PathName, compression_type: str = "", start: int = 0, number: int = 0
    ) -> None:
        self._path = os.fsdecode(path)
        self._file = opened_plain(path, compression_type)
        if start:
            self._file.seek(start)
        self._at, self.place = number, start

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        length = self._length()
        data = self._read(length)
        if masked(data) != SUM.unpack(self._read(4))[0]:
            raise self._damaged("does not fit its checksum")
        self._at += 1
        self.place += len(data) + RECORD_BYTES
        return data

    def _length(self) -> int:
        with as_errors(self._path), self._as_data():
            head = self._file.read(12)
        if not head:
            raise StopIteration
        if len(head) < 12:
            raise self._damaged("is cut off")
        length = LENGTH.unpack_from(head)[0]
        if masked(head[:8]) != SUM.unpack_from(head, 8)[0] or length > _LARGEST:
            raise self._damaged("has a length that does not fit its checksum")
        return length

    def _read(self, length: int) -> bytes:
        with as_errors(self._path), self._as_data():
            found = self._file.read(length)
        if len(found) < length:
            raise self._damaged("is cut off")
        return found

    @contextmanager
    def _as_data(self) -> Iterator[None]:
        try:
            yield
        except (zlib.error, gzip.BadGzipFile, EOFError) as error:
            raise self._damaged(f"cannot be decompressed ({error})") from error

    def _damaged(self, what: str) -> DataLossError:
        return DataLossError(
            None,
            None,
            f"corrupted record at {self._at}: {self._path}: record {self._at} {what}; the file is "
            "damaged, not a TFRecord file, or compressed (see compression_type)",
        )

    def pass_by(self) -> None:
        """Go past a record without looking at it; raise StopIteration at the end."""
        length = self._length()
        self._read(length + 4)
        self._at += 1
        self.place += length + RECORD_BYTES

    def close(self) -> None:
        """Close the file."""
        self._file.close()


# -- blocks ----------------------------------------------------------------------------------------


class Format(NamedTuple):
    """How records are in a file.

    Attributes:
      kind: "lines", "fixed" or "records" (TFRecords).
      size, header, footer: bytes of a record, and before and after them all, where they are fixed.
    """

    kind: str
    size: int = 0
    header: int = 0
    footer: int = 0


class RecordBlock(NamedTuple):
    """Some records of a file, one after the other.

    Attributes:
      path: of the file, or its URL.
      format: how records are in it.
      start, stop: the bytes that they are in.
      first: which record of the file is the first of them.
      num_records: how many they are.
    """

    path: str
    format: Format
    start: int
    stop: int
    first: int
    num_records: int


class Index(NamedTuple):
    """Where some records of a file are.

    Attributes:
      blocks: they.
      next: byte and number of the record that follows, None at the end of the file.
      error: what is wrong with the record that follows.
    """

    blocks: list[RecordBlock]
    next: tuple[int, int] | None
    error: OpError | None = None


def index(path: str, format: Format, start: int, number: int, limit: int) -> Index:
    """Return where the records of a part of a file are.

    Args:
      path: of the file.
      format: how records are in it.
      start: the byte where the part begins, 0 for the first.
      number: which record is there.
      limit: about how many bytes it has.

    Raises:
      NotFoundError, InvalidArgumentError: as where the file is opened to be read.
    """
    if format.kind == "fixed":
        return _fixed_index(path, format)
    found = (_line_blocks if format.kind == "lines" else _record_blocks)(path, start, number)
    blocks: list[RecordBlock] = []
    at = start
    try:
        for stop, count in found:
            blocks.append(RecordBlock(path, format, at, stop, number, count))
            at, number = stop, number + count
            if at - start >= limit:
                return Index(blocks, (at, number))
    except DataLossError as error:
        return Index(blocks, None, error)
    return Index(blocks, None)


def _line_blocks(path: str, start: int, number: int) -> Iterator[tuple[int, int]]:
    """Yield where blocks of lines end, and how many lines they have."""
    with as_errors(path), opened(path) as file:
        file.seek(start)
        while data := file.read(BLOCK_BYTES):
            rest = b"" if data.endswith(b"\n") else file.readline()
            start += len(data) + len(rest)
            has_end = (not rest and data.endswith(b"\n")) or rest.endswith(b"\n")
            yield start, data.count(b"\n") + rest.count(b"\n") + (not has_end)


def _record_blocks(path: str, start: int, number: int) -> Iterator[tuple[int, int]]:
    """Yield where blocks of TFRecords end, and how many they have; then raise what is wrong."""
    reader = RecordReader(path, "", start, number)
    count, error = 0, None
    try:
        while error is None:
            try:
                next(reader)
            except StopIteration:
                break
            except DataLossError as problem:
                error = problem
            else:
                count += 1
                if reader.place - start >= BLOCK_BYTES:
                    start = reader.place
                    yield start, count
                    count = 0
        if count:
            yield reader.place, count
        if error is not None:
            raise error
    finally:
        reader.close()


def _fixed_index(path: str, format: Format) -> Index:
    _, size, header, _ = format
    start, total = header, fixed_count(path, format)
    each = max(BLOCK_BYTES // size, 1)
    return Index(
        [
            RecordBlock(path, format, start + n * size, start + (n + c) * size, n, c)
            for n in range(0, total, each)
            for c in [min(each, total - n)]
        ],
        None,
    )


def fixed_count(path: str, format: Format) -> int:
    """Return how many records of equal length a file has.

    Raises:
      InvalidArgumentError: it has no whole number of them.
    """
    _, size, header, footer = format
    with opened(path) as file:
        found: int = file.seek(0, os.SEEK_END) - header - footer
    if found < 0 or found % size:
        raise InvalidArgumentError(
            None,
            None,
            f"Excluding the header ({header} bytes) and footer ({footer} bytes), input file "
            f'"{path}" has body length {found} bytes, which is not an exact multiple of the '
            f"record length ({size} bytes).",
        )
    return found // size


def records_of(block: RecordBlock) -> list[bytes]:
    """Return the records of a block.

    Raises:
      DataLossError: the file is not as it was when it was indexed.
    """
    path, format, start, stop, first, count = block
    if format.kind == "records":
        reader = RecordReader(path, "", start, first)
        try:
            found = [next(reader) for _ in range(count)]
        finally:
            reader.close()
    else:
        with as_errors(path), opened(path) as file:
            file.seek(start)
            data = file.read(stop - start)
        if format.kind == "fixed":
            found = [data[at : at + format.size] for at in range(0, len(data), format.size)]
        else:
            lines = data.removesuffix(b"\n").split(b"\n")
            found = [line.removesuffix(b"\r") for line in lines] if b"\r" in data else lines
    if len(found) != count:
        raise DataLossError(
            None,
            None,
            f"{path}: {count} records were between its bytes {start} and {stop}, now there are "
            f"{len(found)}: a file must not change while it is read",
        )
    return found
