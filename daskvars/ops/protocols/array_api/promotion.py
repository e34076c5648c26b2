"""Dtypes of the array API standard: what values have together, and what a dtype can hold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy

from daskvars.dtypes import DType, DTypeLike, as_dtype, float64, int64, uint64
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.tensor import Tensor
from daskvars.ops.math import casting

Axis = int | tuple[int, ...] | None
DEVICE = "cpu"


def check_device(device: str | None) -> None:
    """Raise ValueError where arrays are asked for elsewhere: eager values have one place."""
    if device not in (None, "", DEVICE):
        raise ValueError(
            f"device={device!r}: the array API's functions make arrays on {DEVICE!r}; "
            "with dv.device(...) operations choose where they run"
        )


def numpy_dtype(value: Any) -> Any:
    """Return what NumPy promotes: a dtype, or a number of Python, which is weak."""
    if isinstance(value, DType):
        return value.base_dtype.np
    return as_dtype(value.dtype).base_dtype.np if hasattr(value, "dtype") else value


def result_type(*arrays_and_dtypes: Any) -> DType:
    """Return the dtype that values of these have together."""
    return as_dtype(numpy.result_type(*map(numpy_dtype, arrays_and_dtypes)))


def can_cast(from_: Any, to: DType, /) -> bool:
    """Return whether values of a dtype, or of a tensor's, can be of another by promotion."""
    return result_type(from_, to) == to


def isdtype(dtype: DType, kind: Any) -> bool:
    """Return whether a dtype is of a kind: "bool", "real floating", a dtype, a tuple of such."""
    kinds = kind if isinstance(kind, tuple) else (kind,)
    found = [k.base_dtype.np if isinstance(k, DType) else k for k in kinds]
    return numpy.isdtype(dtype.base_dtype.np, tuple(found))


@dataclass(frozen=True)
class FloatingLimits:
    """The limits of a floating dtype; of a complex one, those of its parts.

    Attributes:
      bits: how many a number has.
      eps: the difference of 1 and the next number.
      max, min: the largest and the least finite number.
      smallest_normal: the least positive number of full precision.
      dtype: of real numbers.
    """

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


def finfo(type: Any, /) -> FloatingLimits:
    """Return the limits of a floating or complex dtype, or of that of a tensor."""
    found = numpy.finfo(numpy_dtype(type))
    return FloatingLimits(
        bits=int(found.bits),
        eps=float(found.eps),
        max=float(found.max),
        min=float(found.min),
        smallest_normal=float(found.smallest_normal),
        dtype=as_dtype(found.dtype),
    )


@dataclass(frozen=True)
class IntegerLimits:
    """The limits of an integer dtype: its `bits`, its largest and least number."""

    bits: int
    max: int
    min: int
    dtype: DType


def iinfo(type: Any, /) -> IntegerLimits:
    """Return the limits of an integer dtype, or of that of a tensor."""
    found = numpy.iinfo(numpy_dtype(type))
    return IntegerLimits(int(found.bits), int(found.max), int(found.min), as_dtype(found.dtype))


def astype(
    x: Tensor, dtype: DTypeLike, /, *, copy: bool = True, device: str | None = None
) -> Tensor:
    """Return a tensor of another dtype; a tensor never changes, so `copy` makes no difference."""
    check_device(device)
    return casting.cast(x, dtype)


def together(*values: Any) -> list[Tensor]:
    """Return values as tensors of the dtype that they have together."""
    dtype = result_type(*values)
    return [
        casting.cast(value, dtype) if hasattr(value, "dtype") else convert_to_tensor(value, dtype)
        for value in values
    ]


def summed(x: Tensor, dtype: Any) -> Tensor:
    """Return what is added up: small integers as 64-bit ones."""
    if dtype is None and isdtype(x.dtype, ("signed integer", "unsigned integer")):
        dtype = int64 if isdtype(x.dtype, "signed integer") else uint64
    return x if dtype is None else astype(x, dtype)


def sizes(x: Tensor) -> tuple[int, ...]:
    """Return the shape of a value as numbers; in eager code there is always one."""
    return tuple(int(size) for size in x.shape)


def floating(x: Tensor) -> Tensor:
    """Return a tensor of numbers with fractions: integers as float64."""
    return casting.cast(x, result_type(x, float64)) if isdtype(x.dtype, "integral") else x
