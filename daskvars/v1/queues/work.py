"""What a reader is while a program runs: the file it is in, and what comes next of it."""

from __future__ import annotations

import gzip
import json
import threading
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import islice

from daskvars.errors import invalid
from daskvars.kernels.opened_files import opened
from daskvars.remote.tasks.tfrecord_reader import RecordReader

Record = tuple[bytes, bytes]  # key and value


class Reader:
    """Reads records out of work, such as names of files, that a queue gives.

    Args:
      ends_at_once: whether the last record ends the work; else it is the next read that notices.
    """

    def __init__(self, records: Callable[[bytes], Iterator[Record]], ends_at_once: bool) -> None:
        self._records_of, self._ends_at_once = records, ends_at_once
        self._lock = threading.Lock()
        self.reset()

    def reset(self) -> None:
        """Be as in the beginning."""
        with self._lock:
            self._records: Iterator[Record] | None = None
            self._work, self._num_of_work = b"", 0
            self.num_records = self.num_done = 0

    def state(self) -> bytes:
        """Return how far it has come: the work in hand, how much of it was read, and the counts."""
        with self._lock:
            work = None if self._records is None else self._work.decode("latin-1")
            counts = [self._num_of_work, self.num_records, self.num_done]
        return json.dumps([work, *counts]).encode()

    def restore(self, state: bytes) -> None:
        """Go on from where a reader was when it gave a state; the work is read again up to there.

        Raises:
          ValueError: it is none.
        """
        found = json.loads(state)
        if not isinstance(found, list) or len(found) != 4:
            raise ValueError(f"wanted work and three counts, found {found!r}")
        work, *counts = found
        if not isinstance(work, str | None) or not all(type(n) is int and n >= 0 for n in counts):
            raise ValueError(f"wanted work and three counts, found {found!r}")
        with self._lock:
            self._num_of_work, self.num_records, self.num_done = counts
            self._work = b"" if work is None else work.encode("latin-1")
            self._records = None
            if work is not None:
                self._records = islice(self._records_of(self._work), self._num_of_work, None)

    def read(self, count: int, next_work: Callable[[], bytes]) -> list[Record]:
        """Return at most so many records of one piece of work, at least one.

        Args:
          count: how many.
          next_work: waits for work and gives it.
        """
        found: list[Record] = []
        with self._lock:
            while len(found) < count:
                if self._records is None:
                    self._work, self._num_of_work = next_work(), 0
                    self._records = self._records_of(self._work)
                record = next(self._records, None)
                if record is not None:
                    found.append(record)
                    self._num_of_work += 1
                    self.num_records += 1
                if record is None or self._ends_at_once:
                    self._records = None
                    self.num_done += 1
                    if found:
                        break
        return found


def lines(work: bytes, skip_header_lines: int) -> Iterator[Record]:
    """Yield the lines of a file, by "file:number"."""
    with opened(work) as file:
        for number, line in enumerate(file, 1):
            if number > skip_header_lines:
                yield b"%s:%d" % (work, number), line.removesuffix(b"\n").replace(b"\r", b"")


def whole(work: bytes) -> Iterator[Record]:
    """Yield a file, by its name."""
    with opened(work) as file:
        yield work, file.read()


def itself(work: bytes) -> Iterator[Record]:
    """Yield the work."""
    yield work, work


def of_equal_length(
    work: bytes,
    record_bytes: int,
    header_bytes: int,
    footer_bytes: int,
    hop_bytes: int,
    encoding: str,
) -> Iterator[Record]:
    """Yield the records of a file, by "file:number"."""
    with opened(work) as file:
        data = file.read()
    if encoding == "ZLIB":
        data = zlib.decompress(data)
    elif encoding == "GZIP":
        data = gzip.decompress(data)
    elif encoding:
        raise invalid(f"encoding {encoding!r} is neither '' nor 'ZLIB' nor 'GZIP'")
    end = len(data) - footer_bytes
    starts = range(header_bytes, end - record_bytes + 1, hop_bytes or record_bytes)
    for number, start in enumerate(starts):
        yield b"%s:%d" % (work, number), data[start : start + record_bytes]


def tf_records(work: bytes, compression: str) -> Iterator[Record]:
    """Yield the records of a TFRecord file, by "file:offset"."""
    start = 0
    with closing(RecordReader(work, compression)) as reader:
        for record in reader:
            yield b"%s:%d" % (work, start), record
            start += 16 + len(record)
