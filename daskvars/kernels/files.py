"""Kernels that read and write whole files, here or by their URLs (fsspec)."""

from __future__ import annotations

import os
from typing import Any

import numpy

from daskvars.backend import ArrayModule
from daskvars.device_array import host_kernel
from daskvars.kernels.opened_files import as_errors, names_like, opened


@host_kernel
def read(xp: ArrayModule, filename: Any) -> numpy.ndarray:
    """Give what is in a file. Raises NotFoundError if there is none."""
    path = os.fsdecode(filename.item())
    with as_errors(path), opened(path) as file:
        return numpy.array(file.read(), object)


@host_kernel
def write(xp: ArrayModule, filename: Any, contents: Any) -> tuple:
    """Write a file, and the folders that it is in."""
    path = os.fsdecode(filename.item())
    with as_errors(path):
        if "://" not in path:
            os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with opened(path, "wb") as file:
            file.write(contents.item())
    return ()


@host_kernel
def matching(xp: ArrayModule, pattern: Any) -> numpy.ndarray:
    """Give the names of the files that match a pattern, or one of several, in their order."""
    names: set[str] = set()
    for item in numpy.reshape(pattern, -1):
        names.update(names_like(os.fsdecode(item)))
    return numpy.array(list(map(os.fsencode, sorted(names))), object)
