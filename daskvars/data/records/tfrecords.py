"""TFRecord files: records of bytes, each with its length and checksums.

A record is its length (8 bytes, little endian), the masked crc32c of that, the bytes, and theirs.
So TensorFlow writes them; files may be compressed as a whole, by gzip or zlib.
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
from typing import Any, ClassVar, Self, TypeAlias

import fsspec
import google_crc32c

from daskvars.errors import (
    AlreadyExistsError,
    DataLossError,
    FailedPreconditionError,
    NotFoundError,
    PermissionDeniedError,
    UnknownError,
)
from daskvars.surface.one_line import ShownByArguments

PathName: TypeAlias = str | bytes | PathLike[str]
_LENGTH = struct.Struct("<Q")
_SUM = struct.Struct("<I")
_ERRORS: list[tuple[type[OSError], type[Exception]]] = [
    (FileExistsError, AlreadyExistsError),
    (FileNotFoundError, NotFoundError),
    (PermissionError, PermissionDeniedError),
    (IsADirectoryError, FailedPreconditionError),
    (NotADirectoryError, FailedPreconditionError),
]
_LARGEST = 1 << 40  # bytes of a record: what says more is no length


class TFRecordCompressionType:
    """How a file of records is compressed, for `TFRecordOptions`.

    >>> TFRecordOptions(TFRecordCompressionType.ZLIB).compression_type
    'ZLIB'
    """

    NONE = 0
    ZLIB = 1
    GZIP = 2


class TFRecordOptions(ShownByArguments):
    """How a file of records is compressed, and how hard.

    Args:
      compression_type: "", "ZLIB" or "GZIP", or one of `TFRecordCompressionType`.
      compression_level: from 0 to 9; None for zlib's choice.

    Raises:
      ValueError: there is no such compression.

    >>> TFRecordOptions("GZIP").compression_type
    'GZIP'
    """

    compression_type_map: ClassVar = {
        TFRecordCompressionType.NONE: "",
        TFRecordCompressionType.ZLIB: "ZLIB",
        TFRecordCompressionType.GZIP: "GZIP",
    }

    def __init__(self, compression_type: Any = None, compression_level: int | None = None) -> None:
        self.compression_type = compression_of(compression_type)
        self.compression_level = compression_level

    @classmethod
    def get_compression_type_string(cls, options: Any) -> str:
        """Return "", "ZLIB" or "GZIP" for options, a name, a number or None."""
        return compression_of(options)


def compression_of(given: Any) -> str:
    """Return "", "ZLIB" or "GZIP".

    Raises:
      ValueError: it is none of these.
    """
    if isinstance(given, TFRecordOptions):
        return given.compression_type
    if isinstance(given, int):
        given = TFRecordOptions.compression_type_map.get(given, given)
    given = given.decode() if isinstance(given, bytes) else given or ""
    if given not in ("", "ZLIB", "GZIP"):
        raise ValueError(f'Not a valid compression_type: "{given}"; there are "", "ZLIB", "GZIP"')
    return given


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
    found = google_crc32c.value(data)
    return (((found >> 15) | (found << 17)) + 0xA282EAD8) & 0xFFFFFFFF


class RecordReader:
    """Goes through the records of a file.

    Args:
      path: of the file.
      compression_type: "", "ZLIB" or "GZIP".
    """

    def __init__(self, path: PathName, compression_type: str = "") -> None:
        self._path = os.fsdecode(path)
        self._file = opened_plain(path, compression_type)
        self._at = 0

    def __iter__(self) -> Iterator[bytes]:
        return self

    def __next__(self) -> bytes:
        length = self._length()
        data = self._read(length)
        if masked(data) != _SUM.unpack(self._read(4))[0]:
            raise self._damaged("does not fit its checksum")
        self._at += 1
        return data

    def _length(self) -> int:
        with as_errors(self._path), self._as_data():
            head = self._file.read(12)
        if not head:
            raise StopIteration
        if len(head) < 12:
            raise self._damaged("is cut off")
        length = _LENGTH.unpack_from(head)[0]
        if masked(head[:8]) != _SUM.unpack_from(head, 8)[0] or length > _LARGEST:
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
        self._read(self._length() + 4)
        self._at += 1

    def close(self) -> None:
        """Close the file."""
        self._file.close()


def tf_record_iterator(path: PathName, options: Any = None) -> Iterator[bytes]:
    """Yield the records of a file.

    Args:
      path: of the file, or its URL.
      options: a `TFRecordOptions`, or None.

    Raises:
      NotFoundError: there is no such file.
      DataLossError: a record is damaged; those before it were given.

    Source: TensorFlow 1.15, ``tf.python_io.tf_record_iterator``.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "few.tfrecord")
    >>> with TFRecordWriter(path, TFRecordOptions("GZIP")) as writer:
    ...     writer.write(b"one")
    >>> list(tf_record_iterator(path, TFRecordOptions("GZIP")))
    [b'one']
    """
    reader = RecordReader(path, compression_of(options))
    try:
        yield from reader
    finally:
        reader.close()


class TFRecordWriter:
    """Writes a file of records.

    Args:
      path: of the file, or its URL. A file that is there is replaced.
      options: a `TFRecordOptions`, or one of `TFRecordCompressionType`.

    Raises:
      NotFoundError: there is no folder to write it in.

    Source: TensorFlow 1.15, ``tf.python_io.TFRecordWriter``.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "few.tfrecord")
    >>> with TFRecordWriter(path) as writer:
    ...     writer.write(b"one")
    ...     writer.write(b"two")
    >>> list(tf_record_iterator(path))
    [b'one', b'two']
    """

    def __init__(self, path: PathName, options: Any = None) -> None:
        compression = compression_of(options)
        level = getattr(options, "compression_level", None)
        level = zlib.Z_DEFAULT_COMPRESSION if level is None else level
        self._path, self._file = os.fsdecode(path), opened(path, "wb")
        self._stream: Any = None
        if compression:
            window = 31 if compression == "GZIP" else zlib.MAX_WBITS
            self._stream = zlib.compressobj(level, zlib.DEFLATED, window)
        self._is_closed = False

    def __repr__(self) -> str:
        return f"<TFRecordWriter {self._path!r}{', closed' if self._is_closed else ''}>"

    def write(self, record: bytes) -> None:
        """Write a record.

        Raises:
          TypeError: it is no bytes.
          FailedPreconditionError: the file is closed.
        """
        if isinstance(record, str):
            record = record.encode()
        if not isinstance(record, bytes | bytearray | memoryview):
            raise TypeError(f"a record is bytes, not {type(record).__name__}")
        if self._is_closed:
            raise FailedPreconditionError(None, None, "Writer is closed.")
        record = bytes(record)
        length = _LENGTH.pack(len(record))
        data = length + _SUM.pack(masked(length)) + record + _SUM.pack(masked(record))
        self._file.write(data if self._stream is None else self._stream.compress(data))

    def flush(self) -> None:
        """Hand over to the file system what was written."""
        if self._stream is not None:
            self._file.write(self._stream.flush(zlib.Z_SYNC_FLUSH))
        self._file.flush()

    def close(self) -> None:
        """Close the file."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._stream is not None:
            self._file.write(self._stream.flush())
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
