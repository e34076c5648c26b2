"""NumPy or CuPy: the one file that imports CuPy, and the settings of the libraries below.

BLAS runs on one thread inside a region: cores are used by chunks, a step never oversubscribes a
worker, and the bits of a matrix product do not depend on how many cores a machine has.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from functools import cache
from types import TracebackType
from typing import Any

import numpy
import threadpoolctl

try:
    import cupy
except ImportError:
    cupy = None

GPU_AVAILABLE = cupy is not None

_MMAP_MAX, _TRIM_THRESHOLD, _MMAP_THRESHOLD, _TOP_PAD = -4, -1, -3, -2


def namespace(*arrays: Any) -> Any:
    """Return the array module of `arrays`: CuPy if any of them is a CuPy array, else NumPy.

    >>> namespace(numpy.ones(3)).__name__
    'numpy'
    """
    if cupy is not None and any(isinstance(a, cupy.ndarray) for a in arrays):
        return cupy
    return numpy


class _OneBlasThread:
    """Sets BLAS to one thread while any block is inside, and back when the last one leaves."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._saved: list[tuple[Any, int]] = []

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                self._saved = [(lib, lib.num_threads) for lib in _blas_libraries()]
                for lib, count in self._saved:
                    if count != 1:
                        lib.set_num_threads(1)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                for lib, count in self._saved:
                    if count != 1:
                        lib.set_num_threads(count)


one_blas_thread = _OneBlasThread()


@cache
def _blas_libraries() -> list[Any]:
    found = threadpoolctl.ThreadpoolController().lib_controllers
    return [lib for lib in found if lib.user_api == "blas"]


@cache
def keep_freed_memory() -> None:
    """Tell glibc to keep the memory of freed arrays for the next ones.

    A fresh 1 MiB result costs 237 us when its pages are new and 54 us when they are not: glibc
    gives large blocks back to the system at once unless told otherwise. Does nothing elsewhere.
    """
    if not sys.platform.startswith("linux") or "MALLOC_TRIM_THRESHOLD_" in os.environ:
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_MMAP_MAX, 0)
        mallopt(_TRIM_THRESHOLD, 1 << 30)
        mallopt(_TOP_PAD, 64 << 20)
