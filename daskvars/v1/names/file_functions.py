"""Files and folders under TensorFlow 2's names, which 1.14 has too: `tf.io.gfile`.

They are the functions of `tf.gfile`, which has the older names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from daskvars.errors import OpError
from daskvars.kernels.opened_files import PathName
from daskvars.v1 import gfile
from daskvars.v1.gfile import GFile

__all__ = [
    "GFile",
    "copy",
    "exists",
    "glob",
    "isdir",
    "listdir",
    "makedirs",
    "mkdir",
    "remove",
    "rename",
    "rmtree",
    "stat",
    "walk",
]


def copy(src: PathName, dst: PathName, overwrite: bool = False) -> None:
    """Copy a file from `src` to `dst`: see `tf.gfile.Copy`.

    With `overwrite`, what is at `dst` is replaced.

    >>> import os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "a.txt")
    >>> with GFile(path, "w") as file:
    ...     file.write("words")
    >>> copy(path, path + ".old")
    >>> exists(path + ".old")
    True
    """
    gfile.Copy(src, dst, overwrite)


def exists(path: PathName) -> bool:
    """Return whether there is a file or folder at `path`: see `tf.gfile.Exists`.

    >>> exists("/nothing/of/that/name")
    False
    """
    return gfile.Exists(path)


def glob(pattern: Any) -> list[str]:
    """Return the sorted paths that match `pattern`: see `tf.gfile.Glob`.

    >>> glob("/nothing/of/that/*")
    []
    """
    return gfile.Glob(pattern)


def isdir(path: PathName) -> bool:
    """Return whether there is a folder at `path`: see `tf.gfile.IsDirectory`.

    >>> import tempfile
    >>> isdir(tempfile.mkdtemp())
    True
    """
    return gfile.IsDirectory(path)


def listdir(path: PathName) -> list[str]:
    """Return the sorted names in the folder `path`: see `tf.gfile.ListDirectory`.

    >>> import tempfile
    >>> listdir(tempfile.mkdtemp())
    []
    """
    return gfile.ListDirectory(path)


def makedirs(path: PathName) -> None:
    """Make the folder `path` and those that it lies in: see `tf.gfile.MakeDirs`.

    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> makedirs(os.path.join(folder, "a", "b"))
    >>> listdir(folder)
    ['a']
    """
    gfile.MakeDirs(path)


def mkdir(path: PathName) -> None:
    """Make the folder `path`: see `tf.gfile.MkDir`.

    >>> import os, tempfile
    >>> folder = os.path.join(tempfile.mkdtemp(), "a")
    >>> mkdir(folder)
    >>> isdir(folder)
    True
    """
    gfile.MkDir(path)


def remove(path: PathName) -> None:
    """Delete the file `path`: see `tf.gfile.Remove`.

    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "a.txt")
    >>> path.touch()
    >>> remove(path)
    >>> exists(path)
    False
    """
    gfile.Remove(path)


def rename(src: PathName, dst: PathName, overwrite: bool = False) -> None:
    """Give the file or folder `src` the path `dst`: see `tf.gfile.Rename`.

    With `overwrite`, what is at `dst` is replaced.

    >>> import pathlib, tempfile
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> (folder / "a.txt").touch()
    >>> rename(folder / "a.txt", folder / "b.txt")
    >>> listdir(folder)
    ['b.txt']
    """
    gfile.Rename(src, dst, overwrite)


def rmtree(path: PathName) -> None:
    """Delete the folder `path` and all that is in it: see `tf.gfile.DeleteRecursively`.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> rmtree(folder)
    >>> exists(folder)
    False
    """
    gfile.DeleteRecursively(path)


def stat(path: PathName) -> gfile.FileStatistics:
    """Return size, time of the last change and kind of the file `path`: see `tf.gfile.Stat`.

    >>> import tempfile
    >>> stat(tempfile.mkdtemp()).is_directory
    True
    """
    return gfile.Stat(path)


def walk(
    top: PathName, topdown: bool = True, onerror: Callable[[Any], Any] | None = None
) -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield (folder, folders in it, files in it) for all folders from `top` on.

    See `tf.gfile.Walk`, whose ``in_order`` is `topdown` here. Where `top` is no folder, there is
    nothing, and `onerror` is called with the error.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> list(walk(folder)) == [(folder, [], [])]
    True
    """
    if onerror is not None and not gfile.IsDirectory(top):
        try:
            gfile.ListDirectory(top)
        except OpError as error:
            onerror(error)
    yield from gfile.Walk(top, topdown)
