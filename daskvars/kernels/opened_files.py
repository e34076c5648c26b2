"""Files opened for bytes, decompressed as they are read, errors of file systems as ours."""

from __future__ import annotations

import glob
import gzip
import io
import os
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from typing import Any, TypeAlias

import fsspec

from daskvars.errors import (
    AlreadyExistsError,
    FailedPreconditionError,
    NotFoundError,
    OpError,
    PermissionDeniedError,
    UnknownError,
)

PathName: TypeAlias = str | bytes | PathLike[str]
_ERRORS: list[tuple[type[OSError], type[OpError]]] = [
    (FileExistsError, AlreadyExistsError),
    (FileNotFoundError, NotFoundError),
    (PermissionError, PermissionDeniedError),
    (IsADirectoryError, FailedPreconditionError),
    (NotADirectoryError, FailedPreconditionError),
]


@contextmanager
def as_errors(path: str) -> Iterator[None]:
    """Raise what a file system says of a path as one of `daskvars.errors`."""
    try:
        yield
    except OSError as error:
        kind = next((ours for theirs, ours in _ERRORS if isinstance(error, theirs)), UnknownError)
        raise kind.saying(f"{path}; {error.strerror or error}") from error


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


def names_like(pattern: str) -> list[str]:
    """Return the paths, or URLs, of the files that a pattern matches."""
    if "://" not in pattern:
        return glob.glob(pattern)
    files, path = fsspec.core.url_to_fs(pattern)
    return [files.unstrip_protocol(name) for name in files.glob(path)]


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
        self._file, self._stream, self._is_begun = file, zlib.decompressobj(), False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        found = b""
        while not found:
            given = self._stream.unconsumed_tail or self._file.read(1 << 16)
            if not given:
                if self._is_begun and not self._stream.eof:
                    raise EOFError("Compressed file ended before the end-of-stream marker")
                return 0
            self._is_begun = True
            found = self._stream.decompress(given, len(buffer))
        buffer[: len(found)] = found
        return len(found)
