"""A stand-in for CuPy where there is no GPU: NumPy behind a type that is not NumPy's.

It refuses what CuPy refuses, and more: arrays of the two libraries in one call, conversion of a
device array to a NumPy array unasked, names and arguments that CuPy lacks, dtypes that a GPU does
not have. What CuPy would do silently by a copy (an index that is a NumPy array, a NumPy function
called on a device array) is refused too. Copies between host and device are counted.

`cupy_surface.json` lists what CuPy 14.2 has, taken from the library itself: methods, functions
with their arguments, ufuncs with the dtypes of their loops.
"""

from __future__ import annotations

import sys
from functools import partial

import numpy as np
from scipy import special

from daskvars.kernels.gather_scatter.rows import DEVICE_TERMS
from tests.fake_cupy_arrays import (
    NAMES,
    SURFACE,
    device,
    fusing,
    host,
    hosts,
    kernels,
    ndarray,
    transfers,
    ufunc,
    variable,
)

__version__ = SURFACE["version"]
__all__ = ["kernels", "ndarray", "transfers", "ufunc"]

_FUSED = {"where", "clip", "copy"}  # what may be fused besides ufuncs
# NumPy takes sequences of arrays here, and so does CuPy.
_OF_SEQUENCES = {"concatenate", "stack", "vstack", "hstack", "broadcast_arrays"}


def __getattr__(name):
    if name not in NAMES:
        raise AttributeError(f"module 'cupy' has no attribute {name!r}")
    return NAMES[name]


def install(backend, put=setattr):
    """Give this process a GPU."""
    put(backend, "cupy", sys.modules[__name__])
    put(backend, "cupyx", sys.modules[__name__])
    put(backend, "GPU_AVAILABLE", True)


def is_available():
    """There is a GPU, so to speak."""
    return True


for _name, _loops in SURFACE["ufuncs"].items():
    if isinstance(getattr(np, _name, None), np.ufunc):
        NAMES[_name] = ufunc(_name, _loops)


def _function(module, name, parameters, where=""):
    function = getattr(module, name)

    def call(*args, **kwargs):
        if fusing and name not in _FUSED:
            raise TypeError(f"cupy.{where}{name} in a function that is fused")
        if parameters is not None and set(kwargs) - set(parameters):
            raise TypeError(f"cupy.{where}{name} has no {sorted(set(kwargs) - set(parameters))}")
        if name not in _OF_SEQUENCES and any(_holds_arrays(a) for a in args):
            raise TypeError(f"cupy.{where}{name} of a sequence of arrays")
        out = kwargs.get("out")
        with np.errstate(all="ignore"):
            result = function(*map(host, args), **hosts(kwargs))
        return out if out is not None else device(result)

    call.__name__ = call.__qualname__ = name
    return call


def _holds_arrays(value):
    return isinstance(value, tuple | list) and any(isinstance(item, ndarray) for item in value)


class _Functions:
    """`cupy.linalg` or `cupy.fft`. That a matrix is singular is not told: it gives NaN."""

    def __init__(self, where):
        self._where = where

    def __getattr__(self, name):
        if name not in SURFACE[self._where]:
            raise AttributeError(f"module 'cupy.{self._where}' has no attribute {name!r}")
        parameters = SURFACE[self._where][name]
        return _function(getattr(np, self._where), name, parameters, f"{self._where}.")


linalg, fft = _Functions("linalg"), _Functions("fft")
linalg.LinAlgError = np.linalg.LinAlgError


class _Special:
    """`cupyx.scipy.special`: ufuncs, with the loops that they have, and functions."""

    def __getattr__(self, name):
        if name not in SURFACE["special"]:
            raise AttributeError(f"module 'cupyx.scipy.special' has no attribute {name!r}")
        loops = SURFACE["special"][name]
        if loops is None:
            return _function(special, name, None, "special.")
        return ufunc(name, loops, getattr(special, name))


class scipy:
    """`cupyx.scipy`."""

    special = _Special()


class lib:
    class stride_tricks:
        @staticmethod
        def as_strided(x, shape=None, strides=None):
            return device(np.lib.stride_tricks.as_strided(x._host, shape, strides))

        @staticmethod
        def sliding_window_view(x, window_shape, axis=None):
            return device(np.lib.stride_tricks.sliding_window_view(x._host, window_shape, axis))


# -- functions that are more than NumPy's ------------------------------------------------------


def asarray(a, dtype=None, order=None, *, copy=None, blocking=False):
    return array(a, dtype, bool(copy), order or "K")


def array(obj, dtype=None, copy=True, order="K", subok=False, ndmin=0, *, blocking=False):
    assert not fusing
    if isinstance(obj, np.ndarray) and obj.ndim:
        transfers.append(("to device", obj.nbytes))
    elif _holds_arrays(obj):
        raise TypeError("an array of a sequence of arrays: stack them")
    given = obj._host if isinstance(obj, ndarray) else obj
    copies = None if isinstance(obj, ndarray) and not copy else True
    found = np.array(given, dtype, copy=copies, order=order, ndmin=ndmin)
    return obj if isinstance(obj, ndarray) and found is given else device(found)


def asnumpy(a, stream=None, order="C", out=None, *, blocking=True):
    return a.get(stream, order, out) if isinstance(a, ndarray) else np.asarray(a, order=order)


def ascontiguousarray(a, dtype=None):
    return array(a, dtype, copy=False, order="C")


def copyto(dst, src, casting="same_kind", where=None):
    options = {} if where is None else {"where": where._host}
    np.copyto(dst._host, host(src), casting=casting, **options)


def empty_pinned(shape, dtype=float, order="C"):
    """Return page-locked host memory (`cupyx`)."""
    return np.empty(shape, dtype, order)


def shares_memory(a, b):
    return np.shares_memory(a._host, b._host)


def result_type(*args):
    return np.result_type(*(a.dtype if isinstance(a, ndarray) else a for a in args))


def fuse(*args, **kwargs):
    """Make one kernel of a function that calls ufuncs only, or others made of such."""
    name = kwargs.get("kernel_name", "fused")
    assert name.isidentifier()

    def decorated(function):
        def call(*inputs):
            if fusing:  # it is a part of the function that is fused
                return function(*inputs)
            assert all(isinstance(value, ndarray | np.generic) for value in inputs)
            fusing.append(name)
            try:
                found = function(*map(variable, inputs))
            finally:
                fusing.pop()
                kernels.append(name)
            return (
                tuple(device(result._host) for result in found)
                if isinstance(found, tuple)
                else device(found._host)
            )

        return call

    return decorated


class ElementwiseKernel:
    """The kernels that are written for CuPy, by name, as NumPy computes them."""

    def __init__(self, in_params, out_params, operation, name="kernel", **options):
        folds = {f"daskvars_fold_{apply}": partial(_fold, apply) for apply in DEVICE_TERMS}
        self.compute = {"daskvars_philox": _philox, "daskvars_sums": _sums, **folds}[name]

    def __call__(self, *args, **options):
        self.compute(*args, **options)


def _sums(starts, places, factors, rows, width, sums):
    of_terms = np.repeat(np.arange(len(sums)), np.diff(starts._host))
    sums._host[...] = 0
    terms = factors._host[:, None] * rows._host[places._host]
    assert terms.shape[1] == width
    np.add.at(sums._host, of_terms, terms)


def _fold(apply, starts, places, rows, width, segments, count, changed):
    assert (segments, width) == changed.shape
    for segment, part in enumerate(np.split(places._host[:count], starts._host[1:])):
        for row in rows._host[part[1:]]:
            getattr(np, apply)(changed._host[segment], row, out=changed._host[segment])


def _philox(key0, key1, first, words, size):
    generator = np.random.Philox(key=0)
    state = generator.state
    state["state"] = {
        "counter": np.array([first, 0, 0, 0], np.uint64),
        "key": np.array([key0, key1], np.uint64),
    }
    generator.state = {**state, "buffer_pos": 4}
    words._host[: 4 * size] = generator.random_raw(4 * size)


for _name in (  # noqa: SIM905 - names
    "bool_ int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 "
    "complex64 complex128 pi e inf nan newaxis finfo iinfo dtype ndindex broadcast_shapes "
    "promote_types can_cast issubdtype integer floating inexact number generic"
).split():
    NAMES[_name] = getattr(np, _name)
for _name, _parameters in SURFACE["functions"].items():
    if _name not in NAMES and hasattr(np, _name):  # NumPy drops names before CuPy does
        NAMES[_name] = _function(np, _name, _parameters)
