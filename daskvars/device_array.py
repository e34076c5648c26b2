"""Arrays in the memory of a GPU, and the one place from which arrays move there and back.

A region that runs on a GPU takes its inputs to the device and leaves its results there, each as a
`DeviceArray`. So values stay on the device from region to region and from run to run, variables
too. Whatever takes one elsewhere gets a NumPy array, made by the process that has the GPU: pickled,
to be sent or spilled, a `DeviceArray` is one, and so it is for a region on a CPU, for a snapshot
and for a fetch. Nobody else needs CuPy.

What is no number, texts and lists of arrays, say, stays on the host.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy

from daskvars import backend
from daskvars.surface.forwarding import forwards


class DeviceArray:
    """An array in the memory of a GPU of this process; it never changes.

    Attributes:
      array: CuPy's array.
      are_here: whether this process has ever had one; else nobody need look for them.
    """

    __slots__ = ("array",)
    are_here = False

    def __init__(self, array: Any) -> None:
        self.array = array
        DeviceArray.are_here = True

    shape: tuple[int, ...] = forwards("array.shape", "The extents.")
    dtype: numpy.dtype = forwards("array.dtype", "The dtype of the elements.")
    ndim: int = forwards("array.ndim", "The number of dimensions.")
    size: int = forwards("array.size", "The number of elements.")
    nbytes: int = forwards("array.nbytes", "The bytes of the elements.")

    def __len__(self) -> int:
        return len(self.array)

    def __sizeof__(self) -> int:
        """The bytes that Dask counts when it weighs where to run what takes this."""
        return self.nbytes

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> numpy.ndarray:
        found = backend.to_host(self.array)
        return found if dtype is None else found.astype(dtype, copy=False)

    def __getitem__(self, region: Any) -> numpy.ndarray:
        """Give a copy of a part, in host memory."""
        return backend.to_host(backend.cupy.ascontiguousarray(self.array[region]))

    def part(self, source: tuple[slice, ...] | numpy.ndarray) -> DeviceArray:
        """Give a part, by slices or by the numbers of rows, that stays in the GPU's memory."""
        at = backend.to_device(source) if isinstance(source, numpy.ndarray) else source
        return DeviceArray(self.array[at])

    def copy_into(self, array: numpy.ndarray) -> None:
        """Copy it into an array of its shape and dtype, in host memory."""
        self.array.get(out=array)

    def __reduce__(self) -> Any:
        """Become a NumPy array: whoever gets it may have no GPU."""
        return as_given, (numpy.asarray(self),)


def on_host(value: Any) -> Any:
    """Return a value as it is on the host: a GPU's array as NumPy's, else what was given.

    >>> on_host(1.5)
    1.5
    """
    return as_given(numpy.asarray(value)) if isinstance(value, DeviceArray) else value


def brought_here(value: Any) -> Any:
    """Return an array in a GPU's memory, of CuPy say, as a NumPy array, else what was given."""
    if hasattr(value, "__cuda_array_interface__"):
        return backend.to_host(backend.cupy.asarray(value))
    return value


def as_given(array: Any) -> Any:
    """Return an array as NumPy's functions give it: of rank 0 it is a scalar."""
    return array if array.ndim else array[()]


def on_device(value: Any) -> Any:
    """Return an array of numbers as a `DeviceArray`, in memory of the GPU that this process has."""
    if not isinstance(value, numpy.ndarray | numpy.generic):
        return value
    if value.dtype.kind in "OSUV" and value.dtype.name != "bfloat16":
        return value
    return DeviceArray(backend.to_device(numpy.asarray(value)))


def as_input(xp: Any, value: Any) -> Any:
    """Return what a region that `xp` computes takes for a value: with arrays of `xp`."""
    if xp is numpy:
        return each(on_host, value) if DeviceArray.are_here else value
    return each(lambda array: getattr(on_device(array), "array", array), value)


def as_result(xp: Any, value: Any) -> Any:
    """Return what a region that `xp` computes gives for a value."""
    if xp is numpy:
        return value
    return each(lambda array: DeviceArray(array) if isinstance(array, xp.ndarray) else array, value)


def each(function: Callable[[Any], Any], value: Any) -> Any:
    """Return a value with `function` of each array in it: it may be a list of arrays."""
    if isinstance(value, list | tuple):
        return type(value)([each(function, item) for item in value])
    mapped = getattr(value, "mapped", None)  # a list as a value of the program
    return function(value) if mapped is None else mapped(function)


def moving(xp: Any, function: Callable[..., tuple]) -> Callable[..., tuple]:
    """Return a region's function, compiled for `xp`, that takes and gives what regions share."""
    if not backend.GPU_AVAILABLE:
        return function

    def region(*inputs: Any) -> tuple:
        return as_result(xp, function(*[as_input(xp, value) for value in inputs]))

    return region


# -- kernels that only NumPy computes -----------------------------------------------------------


def host_kernel(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Make a kernel that only NumPy can compute take and give arrays of the device."""

    @wraps(kernel)
    def run(xp: Any, *args: Any, **attrs: Any) -> Any:
        if xp is numpy:
            return kernel(xp, *args, **attrs)
        here = [on_host(value) for value in as_result(xp, args)]
        return as_input(xp, kernel(numpy, *here, **attrs))

    return run


_ONLY_NUMPYS = (numpy.ndarray, bytes)


def choosing(xp: Any, on_xp: Callable[..., Any], on_numpy: Callable[..., Any]) -> Any:
    """Return what calls `on_numpy` where an argument is no array of a device, as texts are not."""

    def call(*args: Any, **kwargs: Any) -> Any:
        for value in args:
            if isinstance(value, _ONLY_NUMPYS):
                break
        else:
            return on_xp(*args, **kwargs)
        kwargs.pop("out", None)
        here = [each(on_host, value) for value in as_result(xp, args)]
        return as_input(xp, on_numpy(*here, **kwargs))

    return call
