"""TFRecord files, read here and on workers.

A TFRecord is its length (8 bytes, little endian), the masked crc32c of that, the bytes, and theirs.
So TensorFlow writes them; files may be compressed as a whole, by gzip or zlib. They are written by
`daskvars.data.records.tfrecords`.
"""

from __future__ import annotations

import gzip
import os
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager

import google_crc32c

from daskvars.errors import DataLossError
from daskvars.kernels.opened_files import PathName, as_errors, opened_plain
from daskvars.state.external.tensorflow import tables

RECORD_BYTES = 16  # of a record besides its own
LENGTH = struct.Struct("<Q")
SUM = struct.Struct("<I")
_LARGEST = 1 << 40  # bytes of a record: what says more is no length


def masked(data: bytes) -> int:
    """Return the checksum of some bytes as a record has it.

    >>> hex(masked(b"daskvars"))
    '0xef3db11b'
    """
    return tables.masked(google_crc32c.value(data))


class RecordReader:
    """Goes through the records of a file.

    Args:
      compression_type: "", "ZLIB" or "GZIP".
      start: the byte where it begins, of a file that is not compressed.

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
        return DataLossError.saying(
            f"corrupted record at {self._at}: {self._path}: record {self._at} {what}; the file is "
            "damaged, not a TFRecord file, or compressed (see compression_type)"
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
