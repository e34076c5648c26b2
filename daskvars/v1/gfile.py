"""Files and folders: `tf.gfile`.

Those of this machine are Python's own, so that paths come back as they were given; those elsewhere
(``s3://``, ``gs://``, ``memory://``) are fsspec's, with what it needs for them installed (s3fs,
gcsfs). What either raises is raised as one of `daskvars.errors`, as programs for TensorFlow expect.
"""

from __future__ import annotations

import glob
import io
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import fsspec

from daskvars.errors import (
    AlreadyExistsError,
    FailedPreconditionError,
    NotFoundError,
    PermissionDeniedError,
    UnimplementedError,
    invalid,
)
from daskvars.kernels.opened_files import PathName, as_errors
from daskvars.state.stores.addresses import without_file_scheme
from daskvars.surface.one_line import ShownByArguments

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


class FileStatistics(NamedTuple):
    """What `Stat` tells: size in bytes, time of the last change in ns, whether it is a folder."""

    length: int
    mtime_nsec: int
    is_directory: bool


def _elsewhere(path: PathName) -> tuple[fsspec.AbstractFileSystem, str] | None:
    """Return the file system of a URL and its path there, None for a path of this machine."""
    text = os.fsdecode(path)
    scheme = re.match(r"([a-z][a-z0-9+.-]+)://", text)
    if scheme is None or scheme[1] == "file":
        return None
    try:
        return fsspec.core.url_to_fs(text)
    except (ImportError, ValueError) as error:
        raise UnimplementedError.saying(
            f"{text} is not on this machine, and fsspec cannot reach it: {error}"
        ) from error


def _url(given: PathName, there: tuple[fsspec.AbstractFileSystem, str], path: str) -> str:
    """Return the URL of a path of a file system, spelled as the one that was given."""
    text, known = os.fsdecode(given), there[1].lstrip("/")
    if known not in text:
        return there[0].unstrip_protocol(path)
    return text[: text.rindex(known)] + path.lstrip("/")


def _local(path: PathName) -> str:
    """Return a path of this machine as a string."""
    return without_file_scheme(os.fsdecode(path))


def _opened(path: PathName, mode: str) -> Any:
    """Open a file, here or elsewhere, for bytes."""
    there = _elsewhere(path)
    return there[0].open(there[1], mode) if there else open(_local(path), mode)


@contextmanager
def _as_errors(path: PathName) -> Iterator[None]:
    try:
        with as_errors(os.fsdecode(path)):
            try:
                yield
            except io.UnsupportedOperation as error:
                why = f"{os.fsdecode(path)}; the mode that it was opened in does not {error}"
                raise PermissionDeniedError.saying(why) from error
    except NotImplementedError as error:
        raise UnimplementedError.saying(f"{os.fsdecode(path)}; {error}") from error


def _check_there(path: PathName) -> None:
    """Raise NotFoundError where there is no such file; file systems elsewhere may not say so."""
    if not Exists(path):
        raise NotFoundError.saying(f"{os.fsdecode(path)}; No such file or directory")


class GFile(ShownByArguments):
    """A file, opened for reading or writing as text (UTF-8) or, with "b" in the mode, bytes.

    Positions and sizes are in bytes. What is written may be text or bytes in any mode.

    Args:
      name: its path.
      mode: "r", "w" or "a", each with "+" or "b" or both.

    Raises:
      NotFoundError: there is no such file to read, or no folder to write it in.
      InvalidArgumentError: there is no such mode.
      PermissionDeniedError: (when used) it is read, or written, in a mode that is not for that.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "words.txt")
    >>> with GFile(path, "w") as file:
    ...     file.write("one\\ntwo\\n")
    >>> [line for line in GFile(path)]
    ['one\\n', 'two\\n']
    """

    def __init__(self, name: Any, mode: str = "r") -> None:
        if not re.fullmatch(r"[rwa](\+?b?|b\+)", mode):
            raise invalid(f"mode {mode!r} is none of 'r', 'w', 'a', with '+' and 'b' or without")
        self.name = name
        self.mode = mode
        self._is_binary = "b" in mode
        with _as_errors(name):
            self._file: Any = _opened(name, mode.replace("b", "") + "b")

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
        if self.mode[0] != "r" and _elsewhere(self.name):
            return self._file.tell()  # others may see it when it is closed
        self.flush()
        return Stat(self.name).length

    def flush(self) -> None:
        """Hand what is written to the operating system."""
        if not self._file.closed and self.mode[0] != "r":
            with _as_errors(self.name):
                self._file.flush()

    def close(self) -> None:
        """Close the file."""
        with _as_errors(self.name):
            self._file.close()

    def __enter__(self) -> GFile:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


FastGFile = Open = GFile


def Exists(filename: PathName) -> bool:
    """Return whether there is a file or folder of that path.

    Args:
      filename: path or URL.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> Exists(folder), Exists(folder + "/nothing")
    (True, False)
    """
    there = _elsewhere(filename)
    return there[0].exists(there[1]) if there else os.path.exists(_local(filename))


def IsDirectory(dirname: PathName) -> bool:
    """Return whether there is a folder of that path.

    Args:
      dirname: path or URL.

    >>> import tempfile
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     IsDirectory(file.name), IsDirectory(tempfile.gettempdir())
    (False, True)
    """
    there = _elsewhere(dirname)
    return there[0].isdir(there[1]) if there else os.path.isdir(_local(dirname))


def MkDir(dirname: PathName) -> None:
    """Make a folder.

    Args:
      dirname: its path or URL.

    Raises:
      AlreadyExistsError: it exists.
      NotFoundError: the folder that it is to lie in does not exist.

    >>> import os, tempfile
    >>> folder = os.path.join(tempfile.mkdtemp(), "a")
    >>> MkDir(folder)
    >>> IsDirectory(folder)
    True
    """
    there = _elsewhere(dirname)
    with _as_errors(dirname):
        if there:
            there[0].mkdir(there[1], create_parents=False)
        else:
            os.mkdir(_local(dirname))


def MakeDirs(dirname: PathName) -> None:
    """Make a folder and those that it lies in, as far as they do not exist.

    Args:
      dirname: its path or URL.

    Raises:
      FailedPreconditionError: one of them is a file.

    >>> import os, tempfile
    >>> folder = os.path.join(tempfile.mkdtemp(), "a", "b")
    >>> MakeDirs(folder)
    >>> MakeDirs(folder)  # as it should be
    >>> IsDirectory(folder)
    True
    """
    there = _elsewhere(dirname)
    with _as_errors(dirname):
        if there:
            there[0].makedirs(there[1], exist_ok=True)
        else:
            try:
                os.makedirs(_local(dirname), exist_ok=True)
            except FileExistsError:
                raise FailedPreconditionError.saying(
                    f"{os.fsdecode(dirname)}; it is a file, no folder"
                ) from None


def Remove(filename: PathName) -> None:
    """Delete a file.

    Args:
      filename: its path or URL.

    Raises:
      NotFoundError: there is none.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "a.txt")
    >>> path.touch()
    >>> Remove(path)
    >>> Exists(path)
    False
    """
    there = _elsewhere(filename)
    with _as_errors(filename):
        if there:
            _check_there(filename)
            there[0].rm_file(there[1])
        else:
            os.remove(_local(filename))


def DeleteRecursively(dirname: PathName) -> None:
    """Delete a folder and all that is in it.

    Args:
      dirname: its path or URL.

    Raises:
      NotFoundError: there is none.

    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> MakeDirs(os.path.join(folder, "a", "b"))
    >>> DeleteRecursively(folder)
    >>> Exists(folder)
    False
    """
    there, path = _elsewhere(dirname), Path(_local(dirname))
    with _as_errors(dirname):
        if there:
            _check_there(dirname)
            there[0].rm(there[1], recursive=True)
        elif path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()


def Glob(filename: PathName) -> list[str]:
    """Return the sorted paths that match a pattern with ``*``, ``?`` and ``[...]``, or several.

    Args:
      filename: the pattern, a path or URL, or a list of patterns.

    >>> import os, pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> for name in ("b.txt", "a.txt", "c.csv"):
    ...     (folder / name).touch()
    >>> [os.path.basename(path) for path in Glob(str(folder / "*.txt"))]
    ['a.txt', 'b.txt']
    """
    patterns = filename if isinstance(filename, list | tuple) else [filename]
    return sorted(path for pattern in patterns for path in _matching(pattern))


def _matching(pattern: Any) -> list[str]:
    there = _elsewhere(pattern)
    if there is None:
        return glob.glob(_local(pattern))
    with _as_errors(pattern):
        return [_url(pattern, there, path) for path in there[0].glob(there[1])]


def ListDirectory(dirname: PathName) -> list[str]:
    """Return the sorted names in a folder.

    Args:
      dirname: its path or URL.

    Raises:
      NotFoundError: there is no such folder.

    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> MkDir(os.path.join(folder, "b"))
    >>> MkDir(os.path.join(folder, "a"))
    >>> ListDirectory(folder)
    ['a', 'b']
    """
    there = _elsewhere(dirname)
    if not IsDirectory(dirname):
        raise NotFoundError.saying(f"Could not find directory {os.fsdecode(dirname)}")
    with _as_errors(dirname):
        if there is None:
            return sorted(os.listdir(_local(dirname)))
        paths = there[0].ls(there[1], detail=False)
        return sorted(path.rstrip("/").rpartition("/")[2] for path in paths)


def Walk(top: PathName, in_order: bool = True) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield (folder, names of folders in it, names of files in it) for all folders from `top` on.

    Args:
      top: the first folder; nothing is yielded where there is none.
      in_order: yield a folder before those in it, else after them.

    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp(), "top")
    >>> MakeDirs(folder / "inner")
    >>> (folder / "a.txt").touch()
    >>> [(pathlib.Path(place).name, folders, files) for place, folders, files in Walk(folder)]
    [('top', ['inner'], ['a.txt']), ('inner', [], [])]
    """
    there = _elsewhere(top)
    walked: Any = (
        there[0].walk(there[1], topdown=in_order)
        if there
        else os.walk(_local(top), topdown=in_order)
    )
    for folder, folders, files in walked:
        if isinstance(folders, list):
            folders.sort()  # which chooses the order of those to come
        place = _url(top, there, folder) if there else folder
        yield place, sorted(folders), sorted(files)


def Copy(oldpath: PathName, newpath: PathName, overwrite: bool = False) -> None:
    """Copy a file.

    Args:
      oldpath: path or URL of the file.
      newpath: path or URL of its copy.
      overwrite: replace what is there.

    Raises:
      NotFoundError: there is no such file.
      AlreadyExistsError: there is one at the new path, and `overwrite` is not set.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "a.txt")
    >>> with tf.gfile.GFile(path, "w") as file:
    ...     file.write("words")
    >>> Copy(path, path + ".old")
    >>> tf.gfile.GFile(path + ".old").read()
    'words'
    """
    _check_free(newpath, overwrite)
    with _as_errors(oldpath):
        if not (_elsewhere(oldpath) or _elsewhere(newpath)):
            shutil.copyfile(_local(oldpath), _local(newpath))
            return
        with _opened(oldpath, "rb") as source, _opened(newpath, "wb") as target:
            shutil.copyfileobj(source, target)


def Rename(oldname: PathName, newname: PathName, overwrite: bool = False) -> None:
    """Give a file or folder another path.

    Elsewhere than on this machine it may be a copy first, which others see meanwhile.

    Args:
      oldname: the path or URL that it has.
      newname: the one that it gets.
      overwrite: replace what is there.

    Raises:
      NotFoundError, AlreadyExistsError: as `Copy` does.
      UnimplementedError: the two are not in one file system.

    >>> import os, pathlib, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> pathlib.Path(folder, "a.txt").touch()
    >>> Rename(os.path.join(folder, "a.txt"), os.path.join(folder, "b.txt"))
    >>> ListDirectory(folder)
    ['b.txt']
    """
    _check_free(newname, overwrite)
    old, new = _elsewhere(oldname), _elsewhere(newname)
    with _as_errors(oldname):
        if not (old or new):
            os.replace(_local(oldname), _local(newname))
        elif not (old and new and old[0] is new[0]):
            raise UnimplementedError.saying(
                f"{os.fsdecode(oldname)}; {os.fsdecode(newname)} is elsewhere: copy it, and remove "
                "this"
            )
        else:
            _check_there(oldname)
            old[0].mv(old[1], new[1], recursive=IsDirectory(oldname))


def _check_free(path: Any, overwrite: bool) -> None:
    if not overwrite and Exists(path):
        raise AlreadyExistsError.saying(f"file already exists: {path}. Pass overwrite=True.")


def Stat(filename: PathName) -> FileStatistics:
    """Return size, time of the last change and kind of a file.

    Args:
      filename: its path or URL.

    Raises:
      NotFoundError: there is none.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "a.txt")
    >>> num_bytes = path.write_bytes(b"words")
    >>> Stat(path).length, Stat(path).is_directory
    (5, False)
    """
    there = _elsewhere(filename)
    with _as_errors(filename):
        if there is None:
            found = os.stat(_local(filename))
            return FileStatistics(found.st_size, found.st_mtime_ns, IsDirectory(filename))
        info = there[0].info(there[1])
        if info["type"] == "directory":
            return FileStatistics(0, 0, True)
        changed = there[0].modified(there[1])
        return FileStatistics(info["size"], int(changed.timestamp() * 1e9), False)
