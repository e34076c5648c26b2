"""TFRecord files, written, and gone through: they are read by `remote.tasks.tfrecord_reader`."""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterator
from contextlib import closing
from typing import Any, ClassVar, Self

from daskvars.errors import FailedPreconditionError
from daskvars.kernels.opened_files import PathName, as_errors, opened
from daskvars.remote.tasks.tfrecord_reader import LENGTH, SUM, RecordReader, masked
from daskvars.surface.one_line import ShownByArguments


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
    """Return "", "ZLIB" or "GZIP". Raises ValueError where it is none of these."""
    if isinstance(given, TFRecordOptions):
        return given.compression_type
    if isinstance(given, int):
        given = TFRecordOptions.compression_type_map.get(given, given)
    given = given.decode() if isinstance(given, bytes) else given or ""
    if given not in ("", "ZLIB", "GZIP"):
        raise ValueError(f'Not a valid compression_type: "{given}"; there are "", "ZLIB", "GZIP"')
    return given


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
    with closing(RecordReader(path, compression_of(options))) as reader:
        yield from reader


class TFRecordWriter:
    """Writes a file of records.

    Args:
      path: of the file, or its URL. A file that is there is replaced.
      options: a `TFRecordOptions`, or one of `TFRecordCompressionType`.

    Raises:
      NotFoundError: there is no folder to write it in.
      OpError: (from any method) the disk refuses, with its reason.

    Source: TensorFlow 1.15, ``tf.python_io.TFRecordWriter``.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "few.tfrecord")
    >>> with TFRecordWriter(path) as writer:
    ...     writer.write(b"one")
    ...     writer.write(b"two")
    >>> list(tf_record_iterator(path))
    [b'one', b'two']
    """

    _is_closed = True  # until there is a file

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
            raise FailedPreconditionError.saying("Writer is closed.")
        record = bytes(record)
        length = LENGTH.pack(len(record))
        data = length + SUM.pack(masked(length)) + record + SUM.pack(masked(record))
        with as_errors(self._path):
            self._file.write(data if self._stream is None else self._stream.compress(data))

    def flush(self) -> None:
        """Hand over to the file system what was written."""
        with as_errors(self._path):
            if self._stream is not None:
                self._file.write(self._stream.flush(zlib.Z_SYNC_FLUSH))
            self._file.flush()

    def close(self) -> None:
        """Close the file."""
        if self._is_closed:
            return
        self._is_closed = True
        with as_errors(self._path):
            if self._stream is not None:
                self._file.write(self._stream.flush())
            self._file.close()

    def __del__(self) -> None:
        self.close()  # a compressed file without its end cannot be read

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
