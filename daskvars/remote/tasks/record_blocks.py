"""Files of lines and records, cut in blocks that workers read.

An *index* says where the records of a file are, some at a time: a `RecordBlock` is so many of them,
one after the other. Making it goes through the file as reading does, and finds what is damaged.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import NamedTuple

from daskvars.errors import DataLossError, OpError, invalid
from daskvars.kernels.opened_files import as_errors, opened
from daskvars.remote.tasks.tfrecord_reader import RecordReader

BLOCK_BYTES = 1 << 18  # about, of a block of records: what a worker reads and keeps as one


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
        raise invalid(
            f"Excluding the header ({header} bytes) and footer ({footer} bytes), input file "
            f'"{path}" has body length {found} bytes, which is not an exact multiple of the '
            f"record length ({size} bytes)."
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
        raise DataLossError.saying(
            f"{path}: {count} records were between its bytes {start} and {stop}, now there are "
            f"{len(found)}: a file must not change while it is read"
        )
    return found
