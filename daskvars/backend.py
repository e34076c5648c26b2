"""NumPy or CuPy: the one file that imports CuPy, and the settings of the libraries below.

What is placed on a GPU is computed by CuPy in a process that has a GPU and CuPy; everything else,
and what is placed on a GPU where there is none, by NumPy. `namespace` is where that is decided.

BLAS runs on one thread inside a region: cores are used by chunks, a step never oversubscribes a
worker, and the bits of a matrix product do not depend on how many cores a machine has.
"""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from types import ModuleType
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy
from scipy import special

_here = sys.modules[__name__]

# NumPy or CuPy, the ``xp`` of kernels. Neither says the types of the other's functions.
ArrayModule: TypeAlias = ModuleType

DEVICE_BLOCK_ELEMENTS = 1 << 28  # that a kernel takes at once on a GPU, which has no cache to fit

_OPENBLAS_NAMES = [
    f"{prefix}openblas_{{}}_num_threads{suffix}"
    for prefix in ("", "scipy_")
    for suffix in ("", "64_", "_64")
]
_NANNYS_THRESHOLD = "65536"
_MMAP_MAX, _TRIM_THRESHOLD, _MMAP_THRESHOLD, _TOP_PAD, _ARENA_MAX = -4, -1, -3, -2, -8


class Array(Protocol):
    """What kernels take and give: what arrays of NumPy and of CuPy, and NumPy's scalars, share.

    It is no `numpy.typing.ArrayLike`: NumPy's own functions do not take an array of a GPU.
    """

    @property
    def shape(self) -> tuple[int, ...]: ...
    @property
    def dtype(self) -> numpy.dtype[Any]: ...
    @property
    def ndim(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def nbytes(self) -> int: ...
    @property
    def itemsize(self) -> int: ...
    @property
    def flags(self) -> Any: ...
    @property
    def strides(self) -> tuple[int, ...]: ...
    @property
    def real(self) -> Any: ...
    @property
    def imag(self) -> Any: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[Any]: ...
    def __getitem__(self, key: Any, /) -> Any: ...
    def __setitem__(self, key: Any, value: Any, /) -> None: ...
    def __bool__(self) -> bool: ...
    def __int__(self) -> int: ...
    def __float__(self) -> float: ...
    def __index__(self) -> int: ...
    def __neg__(self) -> Any: ...
    def __invert__(self) -> Any: ...
    def __add__(self, other: Any, /) -> Any: ...
    def __radd__(self, other: Any, /) -> Any: ...
    def __sub__(self, other: Any, /) -> Any: ...
    def __rsub__(self, other: Any, /) -> Any: ...
    def __mul__(self, other: Any, /) -> Any: ...
    def __rmul__(self, other: Any, /) -> Any: ...
    def __truediv__(self, other: Any, /) -> Any: ...
    def __rtruediv__(self, other: Any, /) -> Any: ...
    def __floordiv__(self, other: Any, /) -> Any: ...
    def __mod__(self, other: Any, /) -> Any: ...
    def __pow__(self, other: Any, /) -> Any: ...
    def __matmul__(self, other: Any, /) -> Any: ...
    def __and__(self, other: Any, /) -> Any: ...
    def __or__(self, other: Any, /) -> Any: ...
    def __xor__(self, other: Any, /) -> Any: ...
    def __lshift__(self, other: Any, /) -> Any: ...
    def __rshift__(self, other: Any, /) -> Any: ...
    def __eq__(self, other: object, /) -> Any: ...
    def __ne__(self, other: object, /) -> Any: ...
    def __lt__(self, other: Any, /) -> Any: ...
    def __le__(self, other: Any, /) -> Any: ...
    def __gt__(self, other: Any, /) -> Any: ...
    def __ge__(self, other: Any, /) -> Any: ...
    @property
    def all(self) -> Callable[..., Any]: ...
    @property
    def any(self) -> Callable[..., Any]: ...
    @property
    def argmax(self) -> Callable[..., Any]: ...
    @property
    def argmin(self) -> Callable[..., Any]: ...
    @property
    def astype(self) -> Callable[..., Any]: ...
    def conj(self) -> Any: ...
    def copy(self) -> Any: ...
    def fill(self, value: Any) -> None: ...
    def item(self) -> Any: ...
    @property
    def max(self) -> Callable[..., Any]: ...
    @property
    def mean(self) -> Callable[..., Any]: ...
    @property
    def min(self) -> Callable[..., Any]: ...
    @property
    def prod(self) -> Callable[..., Any]: ...
    @property
    def reshape(self) -> Callable[..., Any]: ...
    def sort(self, axis: int = -1) -> None: ...
    @property
    def sum(self) -> Callable[..., Any]: ...
    def swapaxes(self, axis1: int, axis2: int) -> Any: ...
    @property
    def take(self) -> Callable[..., Any]: ...
    def tolist(self) -> Any: ...
    @property
    def transpose(self) -> Callable[..., Any]: ...
    @property
    def view(self) -> Callable[..., Any]: ...


def __getattr__(name: str) -> Any:
    """Give `cupy`, `cupyx` (None without CuPy) and GPU_AVAILABLE, found out when first asked for.

    To import CuPy takes a second, and wakes the GPU: who computes nothing there does not do it.
    """
    if name not in ("cupy", "cupyx", "GPU_AVAILABLE"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        cupy, cupyx = import_module("cupy"), import_module("cupyx")
        import_module("cupyx.scipy.special")
        found = {"cupy": cupy, "cupyx": cupyx, "GPU_AVAILABLE": cupy.is_available()}
    except ImportError:
        found = {"cupy": None, "cupyx": None, "GPU_AVAILABLE": False}
    globals().update(found)
    return found[name]


def namespace(device_type: str) -> ArrayModule:
    """Return the array module that computes on a type of device in this process.

    >>> namespace("CPU").__name__
    'numpy'
    """
    return _here.cupy if device_type == "GPU" and _here.GPU_AVAILABLE else numpy


def special_functions(xp: ArrayModule) -> ModuleType:
    """Return the special functions for the arrays of a module: `scipy.special`, or CuPy's.

    dask.array imports `scipy.special` where there is one, so that it costs nobody any time.

    >>> special_functions(numpy).gammaln(3.0).round(3)
    np.float64(0.693)
    """
    return special if xp is numpy else _here.cupyx.scipy.special


@cache
def device_kernel(
    xp: ArrayModule, inputs: str, outputs: str, source: str, name: str
) -> Callable[..., Any]:
    """Return a function that a GPU computes from source, as ``cupy.ElementwiseKernel`` takes it."""
    return xp.ElementwiseKernel(inputs, outputs, source, name)


K = TypeVar("K", bound=Callable[..., Any])
FUSIBLE: set[Callable[..., Any]] = set()


def fusible(kernel: K) -> K:
    """Note of a kernel that it calls ufuncs alone: a GPU computes it, and its neighbours, at once.

    CuPy calls it with variables for arrays then. These have a dtype and a rank, operators, and the
    methods ``copy`` and ``astype``; no shape, no parts, and none of NumPy's numbers to their left.

    >>> fusible(lambda xp, x: xp.exp(x) + x) in FUSIBLE
    True
    """
    FUSIBLE.add(kernel)
    return kernel


def to_device(array: numpy.ndarray) -> Any:
    """Return a copy of an array in the memory of this process's GPU."""
    return _here.cupy.asarray(array)


def to_host(array: Any) -> numpy.ndarray:
    """Return a copy of a GPU's array in host memory, page-locked: a GPU copies into it directly."""
    return array.get(out=_here.cupyx.empty_pinned(array.shape, array.dtype))


class _OneBlasThread:
    """Sets BLAS to one thread while any block is inside, and back when the last one leaves."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._saved: list[tuple[Any, int]] = []  # how to set a library's threads, and how many

    def __enter__(self) -> None:
        with self._lock:
            self._inside += 1
            if self._inside == 1:
                self._saved = [
                    (put, count) for get, put in _blas_settings() if (count := get()) != 1
                ]
                for put, _ in self._saved:
                    put(1)

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                for put, count in self._saved:
                    put(count)


one_blas_thread = _OneBlasThread()


@cache
def _blas_settings() -> list[tuple[Callable[[], int], Callable[[int], None]]]:
    """Return how to get and to set the number of threads of each BLAS of this process.

    threadpoolctl finds the libraries; its own calls take 7 us where a small step takes 200, so
    OpenBLAS, which NumPy ships, is called directly.
    """
    import threadpoolctl  # noqa: PLC0415 - only what computes needs it; it takes 2 ms

    found = []
    for library in threadpoolctl.ThreadpoolController().lib_controllers:
        if library.user_api != "blas":
            continue
        get, put = library.get_num_threads, library.set_num_threads
        for name in _OPENBLAS_NAMES if library.internal_api == "openblas" else ():
            if hasattr(library.dynlib, name.format("set")):
                get = getattr(library.dynlib, name.format("get"))
                put = getattr(library.dynlib, name.format("set"))
                break
        found.append((get, put))
    return found


def keep_freed_memory(most_bytes: int = (1 << 31) - 1) -> None:
    """Tell glibc to keep the memory of freed arrays for the next ones.

    Args:
      most_bytes: free memory above this at the heap's end goes back to the system.

    A fresh 1 MiB result costs 237 us when its pages are new and 54 us when they are not: glibc
    gives large blocks back to the system at once unless told otherwise, and those that threads
    allocated in arenas of their own whatever it is told, so there is one arena. (Two threads read
    1 GiB from the page cache into fresh arrays in 400 ms without that, in 170 ms with it.) Does
    nothing elsewhere, and nothing where the user has chosen a threshold; that of Dask's nannies is
    there unasked.
    """
    if (glibc := _glibc()) is not None:
        glibc.mallopt(_MMAP_MAX, 0)
        glibc.mallopt(_TRIM_THRESHOLD, most_bytes)
        glibc.mallopt(_ARENA_MAX, 1)
        glibc.mallopt(_TOP_PAD, 64 << 20)


def give_back_freed_memory() -> None:
    """Return what `keep_freed_memory` has kept to the system, and keep no more.

    Arrays get mappings of their own from now on, which end with them. What was freed between
    others' memory goes back as well: glibc does that only when it is told.
    """
    if (glibc := _glibc()) is not None:
        glibc.mallopt(_MMAP_MAX, 1 << 16)
        glibc.mallopt(_MMAP_THRESHOLD, 1 << 17)
        glibc.mallopt(_TRIM_THRESHOLD, int(_NANNYS_THRESHOLD))
        glibc.mallopt(_TOP_PAD, 0)
        glibc.malloc_trim(0)


@cache
def _glibc() -> ctypes.CDLL | None:
    """Return the allocator whose settings may be changed, if it has such."""
    chosen = os.environ.get("MALLOC_TRIM_THRESHOLD_", _NANNYS_THRESHOLD)
    if not sys.platform.startswith("linux") or chosen != _NANNYS_THRESHOLD:
        return None
    library = ctypes.CDLL(None)
    return library if hasattr(library, "mallopt") and hasattr(library, "malloc_trim") else None
