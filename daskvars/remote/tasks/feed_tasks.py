"""What becomes of a value that is fed, here and in the tasks of a dask array.

A dask array stays lazy. Its tasks run with those of the run that it is fed to; each says, if it
fails, which feed it was of, and each block is looked at as an array would be that is fed as it is.
"""

from __future__ import annotations

import contextlib
import textwrap
from typing import Any

import numpy

from daskvars.device_array import brought_here
from daskvars.dtypes import DType, check_unmasked, int64, to_numpy
from daskvars.errors import invalid, kind_of

_NO_NUMBERS = "OSTUmM"  # kinds of dtypes: objects, texts, times


def fed_array(value: Any, dtype: DType, name: str) -> numpy.ndarray:
    """Return a value as an array of `dtype`, in C order and aligned.

    It may share memory with `value`.

    Raises:
      TypeError, ValueError: it has no value of that dtype.
      OpError: it is an object that stands for an array, and fails to give it.
    """
    array = value
    if type(value) is not numpy.ndarray or value.dtype != dtype.np or value.dtype.kind == "O":
        check_unmasked(value, name)
        array = _converted(value, dtype, name)
    if not (array.flags.c_contiguous and array.flags.aligned):
        # Sums over other arrays round differently.
        array = numpy.array(array, order="C")
    return array


def read_array(value: Any, name: str) -> numpy.ndarray:
    """Return what NumPy makes of an object that stands for an array, wherever that is.

    Raises:
      TypeError, ValueError: the object says so.
      OpError: it cannot be read.
    """
    check_unmasked(value, name)
    try:
        return numpy.asarray(brought_here(value))
    except (TypeError, ValueError):
        raise
    except Exception as error:
        raise failure(name, error) from error


def _converted(value: Any, dtype: DType, name: str) -> numpy.ndarray:
    try:
        return to_numpy(read_array(value, name) if hasattr(value, "__array__") else value, dtype)
    except (TypeError, ValueError) as error:
        return _cast(value, dtype, name, error)


def _cast(value: Any, dtype: DType, name: str, error: Exception) -> numpy.ndarray:
    """Cast an array as TensorFlow casts those fed; 0 and 1 may stand for bool.

    One of Python objects is taken as the list of them is: buffers of experience are such arrays.
    Floats in a list stand for integers or bools that are equal to them; the rest would be cut off.
    """
    if isinstance(value, numpy.ndarray | numpy.generic):
        is_number = value.dtype.kind not in _NO_NUMBERS and len(value.dtype.names or ()) < 2
        if is_number and dtype.np.kind != "O":
            return numpy.asarray(value).astype(dtype.np)
        if value.dtype.kind == "O" and dtype.np.kind != "O":
            with contextlib.suppress(TypeError, ValueError):
                return to_numpy(value.tolist(), dtype)
            error = TypeError(
                "its elements are Python objects; if they are numbers, make them so with "
                f"astype({dtype.name!r})"
            )
    elif dtype.is_bool or dtype.is_integer:
        with contextlib.suppress(TypeError, ValueError), numpy.errstate(invalid="ignore"):
            floats = numpy.asarray(value)
            if floats.dtype.kind == "f" and ((whole := floats.astype(dtype.np)) == floats).all():
                return whole
            if dtype.is_bool:
                return to_numpy(value, int64).astype(bool)
    kind = ValueError if isinstance(error, ValueError) else TypeError
    raise kind(
        f"Type of feed value {textwrap.shorten(repr(value), 200)} with type {type(value)} is not "
        f"compatible with Tensor type {dtype.name} of {name!r}: {error}"
    ) from None


def failure(name: str, error: Exception, what: str = "") -> Exception:
    """Return the error of a feed whose values cannot be had."""
    return kind_of(error).saying(
        f"the value fed for {name!r}{what} cannot be had: {type(error).__name__}: {error}"
    )


class FeedTask:
    """A task of a dask array that is fed.

    Args:
      function: the task: a function of a dict of the values that it takes.
      takes: their keys, in the order in which they are given.
      block: dtype, shape and index of the block of the array that it gives; None if it gives what
        only other tasks of the array take.
    """

    __slots__ = ("block", "function", "name", "takes")

    def __init__(self, name: str, function: Any, takes: tuple, block: Any) -> None:
        self.name, self.function, self.takes, self.block = name, function, takes, block

    def __call__(self, *values: Any) -> Any:
        """Run it.

        Raises:
          OpError: it fails; the feed is named.
          InvalidArgumentError: the block does not have the shape that the array has promised.
        """
        try:
            found = self.function(dict(zip(self.takes, values, strict=True)))
        except Exception as error:
            what = "" if self.block is None else f", block {self.block[2]}"
            raise failure(self.name, error, what) from error
        return found if self.block is None else self._block(found)

    def _block(self, found: Any) -> numpy.ndarray:
        dtype, shape, index = self.block
        try:
            array = fed_array(found, dtype, self.name)
        except (TypeError, ValueError) as error:
            raise invalid(str(error)) from None
        if array.shape != shape:
            raise invalid(
                f"block {index} of the dask array fed for {self.name!r} has shape "
                f"{array.shape}, but its chunks say {shape}; state the shape that its tasks give"
            )
        return array
