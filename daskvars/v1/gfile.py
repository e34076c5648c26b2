"""Files and folders on this machine: `tf.gfile`.

What Python's own functions raise as OSError is raised as one of `daskvars.errors`, as programs for
TensorFlow expect; files elsewhere (``gs://``, ``s3://``) are opened with fsspec.
"""

from __future__ import annotations

import glob
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from daskvars.errors import (
    AlreadyExistsError,
    FailedPreconditionError,
    InvalidArgumentError,
    NotFoundError,
    PermissionDeniedError,
    UnimplementedError,
    UnknownError,
)

__all__ = [
    "Copy",
    "DeleteRecursively",
    "Exists",
    "FastGFile",
    "GFile",
    "Glob",
    "IsDirectory",
    "ListDirectory",
    "MakeDirs",
    "MkDir",
    "Open",
    "Remove",
    "Rename",
    "Stat",
    "Walk",
]

_ERRORS: list[tuple[type[OSError], type[Exception]]] = [
    (FileNotFoundError, NotFoundError),
    (FileExistsError, AlreadyExistsError),
    (PermissionError, PermissionDeniedError),
    (IsADirectoryError, FailedPreconditionError),
    (NotADirectoryError, FailedPreconditionError),
]


class FileStatistics(NamedTuple):
    """What `Stat` tells: size in bytes, time of the last change in ns, whether it is a folder."""

    length: int
    mtime_nsec: int
    is_directory: bool


def _local(path: Any) -> str:
    """Return a path of this machine as a string. Raises UnimplementedError for a URL."""
    text = os.fsdecode(path)
    scheme = re.match(r"([a-z][a-z0-9+.-]+)://", text)
    if scheme and scheme[1] != "file":
        raise UnimplementedError(
            None, None, f"{text} is not on this machine: open it with fsspec.open(...), or copy it"
        )
    return text.removeprefix("file://") if scheme else text


@contextmanager
def _as_errors(path: Any) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        kind = next((ours for theirs, ours in _ERRORS if isinstance(error, theirs)), UnknownError)
        raise kind(None, None, f"{os.fsdecode(path)}; {error.strerror or error}") from error


class GFile:
    """A file, opened for reading or writing as text (UTF-8) or, with "b" in the mode, bytes.

    Positions and sizes are in bytes. What is written may be text or bytes in any mode.

    Args:
      name: its path.
      mode: "r", "w" or "a", each with "+" or "b" or both.

    Raises:
      NotFoundError: there is no such file to read, or no folder to write it in.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "words.txt")
    >>> with GFile(path, "w") as file:
    ...     file.write("one\\ntwo\\n")
    >>> [line for line in GFile(path)]
    ['one\\n', 'two\\n']
    """

    def __init__(self, name: Any, mode: str = "r") -> None:
        if not re.fullmatch(r"[rwa](\+?b?|b\+)", mode):
            raise InvalidArgumentError(
                None, None, f"mode {mode!r} is none of 'r', 'w', 'a', with '+' and 'b' or without"
            )
        self.name = name
        self.mode = mode
        self._is_binary = "b" in mode
        with _as_errors(name):
            self._file: Any = open(_local(name), mode.replace("b", "") + "b")  # noqa: SIM115

    def _given(self, data: bytes) -> Any:
        return data if self._is_binary else data.decode()

    def read(self, n: int = -1) -> Any:
        """Return the next `n` bytes, or all that are left, as text unless the mode has a "b"."""
        with _as_errors(self.name):
            return self._given(self._file.read(n))

    def readline(self) -> Any:
        """Return the next line with its end, or nothing at the end of the file."""
        with _as_errors(self.name):
            return self._given(self._file.readline())

    def readlines(self) -> list[Any]:
        """Return all lines that are left."""
        return list(self)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.readline, self._given(b""))

    def write(self, file_content: str | bytes) -> None:
        """Write text or bytes."""
        data = file_content.encode() if isinstance(file_content, str) else file_content
        with _as_errors(self.name):
            self._file.write(data)

    def seek(self, offset: int | None = None, whence: int = 0, position: int | None = None) -> None:
        """Go to a place in the file, in bytes; `position` is an older name of `offset`."""
        self._file.seek(position if offset is None else offset, whence)

    def tell(self) -> int:
        """Return the place in the file, in bytes."""
        return self._file.tell()

    def size(self) -> int:
        """Return the size of the file in bytes."""
        self.flush()
        return Stat(self.name).length

    def flush(self) -> None:
        """Hand what is written to the operating system."""
        if not self._file.closed and self.mode[0] != "r":
            self._file.flush()

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def __enter__(self) -> GFile:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


FastGFile = Open = GFile


def Exists(filename: Any) -> bool:
    """Return whether there is a file or folder of that path."""
    return os.path.exists(_local(filename))


def IsDirectory(dirname: Any) -> bool:
    """Return whether there is a folder of that path."""
    return os.path.isdir(_local(dirname))


def MkDir(dirname: Any) -> None:
    """Make a folder.

    Raises:
      AlreadyExistsError: it exists.
      NotFoundError: the folder that it is to lie in does not exist.
    """
    with _as_errors(dirname):
        os.mkdir(_local(dirname))


def MakeDirs(dirname: Any) -> None:
    """Make a folder and those that it lies in, as far as they do not exist."""
    with _as_errors(dirname):
        os.makedirs(_local(dirname), exist_ok=True)


def Remove(filename: Any) -> None:
    """Delete a file. Raises NotFoundError where there is none."""
    with _as_errors(filename):
        os.remove(_local(filename))


def DeleteRecursively(dirname: Any) -> None:
    """Delete a folder and all that is in it. Raises NotFoundError where there is none."""
    path = Path(_local(dirname))
    with _as_errors(dirname):
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def Glob(filename: Any) -> list[str]:
    """Return the sorted paths that match a pattern with ``*``, ``?`` and ``[...]``, or several."""
    patterns = filename if isinstance(filename, list | tuple) else [filename]
    return sorted(path for pattern in patterns for path in glob.glob(_local(pattern)))


def ListDirectory(dirname: Any) -> list[str]:
    """Return the sorted names in a folder. Raises NotFoundError where there is no folder."""
    path = _local(dirname)
    if not os.path.isdir(path):
        raise NotFoundError(None, None, f"Could not find directory {path}")
    with _as_errors(dirname):
        return sorted(os.listdir(path))


def Walk(top: Any, in_order: bool = True) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield (folder, names of folders in it, names of files in it) for all folders from `top` on.

    Args:
      top: the first folder; nothing is yielded where there is none.
      in_order: yield a folder before those in it, else after them.
    """
    for folder, folders, files in os.walk(_local(top), topdown=in_order):
        folders.sort()
        yield folder, folders, sorted(files)


def Copy(oldpath: Any, newpath: Any, overwrite: bool = False) -> None:
    """Copy a file.

    Raises:
      NotFoundError: there is no such file.
      AlreadyExistsError: there is one at the new path, and `overwrite` is not set.
    """
    _check_free(newpath, overwrite)
    with _as_errors(oldpath):
        shutil.copyfile(_local(oldpath), _local(newpath))


def Rename(oldname: Any, newname: Any, overwrite: bool = False) -> None:
    """Give a file or folder another path. Raises as `Copy` does."""
    _check_free(newname, overwrite)
    with _as_errors(oldname):
        os.replace(_local(oldname), _local(newname))


def _check_free(path: Any, overwrite: bool) -> None:
    if not overwrite and Exists(path):
        raise AlreadyExistsError(None, None, f"file already exists: {path}. Pass overwrite=True.")


def Stat(filename: Any) -> FileStatistics:
    """Return size, time of the last change and kind of a file. Raises NotFoundError."""
    with _as_errors(filename):
        found = os.stat(_local(filename))
    return FileStatistics(found.st_size, found.st_mtime_ns, IsDirectory(filename))
