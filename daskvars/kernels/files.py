"""Kernels that read and write whole files, here or by their URLs (fsspec)."""

from __future__ import annotations

import glob
import os
from typing import Any

import fsspec
import numpy

from daskvars.backend import ArrayModule
from daskvars.device_array import host_kernel
from daskvars.errors import NotFoundError, OpError, PermissionDeniedError, UnknownError

_ERRORS: list[tuple[type[OSError], type[OpError]]] = [
    (FileNotFoundError, NotFoundError),
    (PermissionError, PermissionDeniedError),
]


def _opened(path: str, mode: str) -> Any:
    return fsspec.open(path, mode) if "://" in path else open(path, mode)


def _failed(path: str, error: OSError) -> OpError:
    kind = next((ours for theirs, ours in _ERRORS if isinstance(error, theirs)), UnknownError)
    return kind(None, None, f"{path}; {error.strerror or error}")


@host_kernel
def read(xp: ArrayModule, filename: Any) -> numpy.ndarray:
    """Give what is in a file. Raises NotFoundError if there is none."""
    path = os.fsdecode(filename.item())
    found = numpy.empty((), object)
    try:
        with _opened(path, "rb") as file:
            found[()] = file.read()
    except OSError as error:
        raise _failed(path, error) from error
    return found


@host_kernel
def write(xp: ArrayModule, filename: Any, contents: Any) -> tuple:
    """Write a file, and the folders that it is in."""
    path = os.fsdecode(filename.item())
    try:
        if "://" not in path:
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with _opened(path, "wb") as file:
            file.write(contents.item())
    except OSError as error:
        raise _failed(path, error) from error
    return ()


@host_kernel
def matching(xp: ArrayModule, pattern: Any) -> numpy.ndarray:
    """Give the names of the files that match a pattern, or one of several, in their order."""
    names: set[str] = set()
    for item in numpy.reshape(pattern, -1):
        path = os.fsdecode(item)
        if "://" in path:
            files, there = fsspec.core.url_to_fs(path)
            names.update(map(files.unstrip_protocol, files.glob(there)))
        else:
            names.update(glob.glob(path))
    found = numpy.empty(len(names), object)
    found[:] = list(map(os.fsencode, sorted(names)))
    return found
