"""The array API standard's functions for eager values: ``xp = x.__array_namespace__()``.

Names, arguments and promotion of dtypes are the standard's (https://data-apis.org/array-api/); what
they do is done by our ops, so it is recorded, chunked and differentiated as all else. A name of the
standard for which there is no op is not here, so an `AttributeError` says so.

Functions promote dtypes; operators (``x + y``) do not: they are TensorFlow's, for which two dtypes
are a mistake.

>>> import daskvars as dv
>>> x = dv.constant([1.0, 4.0])
>>> xp = x.__array_namespace__()
>>> xp.sqrt(xp.add(x, xp.asarray([0, 0]))).numpy().tolist()
[1.0, 2.0]
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy
from numpy import e as e
from numpy import inf as inf
from numpy import nan as nan
from numpy import newaxis as newaxis
from numpy import pi as pi

from daskvars.device_array import brought_here
from daskvars.dtypes import DType, DTypeLike, as_dtype
from daskvars.dtypes import bool as bool
from daskvars.dtypes import complex64 as complex64
from daskvars.dtypes import complex128 as complex128
from daskvars.dtypes import float32 as float32
from daskvars.dtypes import float64 as float64
from daskvars.dtypes import int8 as int8
from daskvars.dtypes import int16 as int16
from daskvars.dtypes import int32 as int32
from daskvars.dtypes import int64 as int64
from daskvars.dtypes import uint8 as uint8
from daskvars.dtypes import uint16 as uint16
from daskvars.dtypes import uint32 as uint32
from daskvars.dtypes import uint64 as uint64
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.ops.array import constant as constants
from daskvars.ops.array import joining, repeating, reshaping
from daskvars.ops.linalg import products
from daskvars.ops.math import casting

__array_api_version__ = "2024.12"

Axis = int | tuple[int, ...] | None
DEVICE = "cpu"
# NumPy's functions of tensors are handed over to our ops, which type checkers cannot know.
handed_over: Any = numpy


# -- dtypes ----------------------------------------------------------------------------------------


def _check_device(device: str | None) -> None:
    """Raise ValueError where arrays are asked for elsewhere: eager values have one place."""
    if device not in (None, DEVICE):
        raise ValueError(
            f"device={device!r}: the array API's functions make arrays on {DEVICE!r}; "
            "with dv.device(...) operations choose where they run"
        )


def _numpy_dtype(value: Any) -> Any:
    """Return what NumPy promotes: a dtype, or a number of Python, which is weak."""
    if isinstance(value, DType):
        return value.base_dtype.np
    return value.dtype.base_dtype.np if hasattr(value, "dtype") else value


def result_type(*arrays_and_dtypes: Any) -> DType:
    """Return the dtype that values of these have together."""
    return as_dtype(numpy.result_type(*map(_numpy_dtype, arrays_and_dtypes)))


def can_cast(from_: Any, to: DType, /) -> builtins.bool:
    """Return whether values of a dtype, or of a tensor's, can be of another by promotion."""
    return result_type(from_, to) == to


def isdtype(dtype: DType, kind: Any) -> builtins.bool:
    """Return whether a dtype is of a kind: "bool", "real floating", a dtype, a tuple of such."""
    kinds = kind if isinstance(kind, tuple) else (kind,)
    found = [k.base_dtype.np if isinstance(k, DType) else k for k in kinds]
    return numpy.isdtype(dtype.base_dtype.np, tuple(found))


def finfo(type: Any, /) -> numpy.finfo[Any]:
    """Return the limits of a floating dtype."""
    return numpy.finfo(_numpy_dtype(type))


def iinfo(type: Any, /) -> numpy.iinfo[Any]:
    """Return the limits of an integer dtype."""
    return numpy.iinfo(_numpy_dtype(type))


def astype(
    x: Tensor, dtype: DTypeLike, /, *, copy: builtins.bool = True, device: str | None = None
) -> Tensor:
    """Return a tensor of another dtype; a tensor never changes, so `copy` makes no difference."""
    _check_device(device)
    return casting.cast(x, dtype)


def _together(*values: Any) -> list[Tensor]:
    dtype = result_type(*values)
    return [
        casting.cast(value, dtype) if hasattr(value, "dtype") else convert_to_tensor(value, dtype)
        for value in values
    ]


# -- making arrays ---------------------------------------------------------------------------------


def asarray(
    obj: Any,
    /,
    *,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    copy: builtins.bool | None = None,
) -> Tensor:
    """Return a number, nested sequences of numbers, or an array as a tensor.

    Raises:
      ValueError: ``copy=False`` of what is no tensor.
    """
    _check_device(device)
    if isinstance(obj, Tensor) and copy is not True:
        return obj if dtype is None else astype(obj, dtype)
    if copy is False:
        raise ValueError(f"asarray(copy=False): a {type(obj).__name__} becomes a tensor by a copy")
    found = numpy.array(obj, None if dtype is None else _numpy_dtype(as_dtype(dtype)))
    return constants.constant(found)


def from_dlpack(
    x: Any, /, *, device: str | None = None, copy: builtins.bool | None = None
) -> Tensor:
    """Return an array of another library as a tensor, by DLPack.

    A tensor never changes and who gave the array may write into it, so it is a copy; what is on a
    GPU is copied to this process's memory.

    Args:
      x: has ``__dlpack__`` and ``__dlpack_device__``.

    Raises:
      ValueError: ``copy=False``.

    >>> import numpy
    >>> from_dlpack(numpy.ones((2, 3))).shape.as_list()
    [2, 3]
    """
    _check_device(device)
    if copy is False:
        raise ValueError("from_dlpack(copy=False): a tensor never changes, so it takes a copy")
    found = brought_here(x) if x.__dlpack_device__()[0] != 1 else numpy.from_dlpack(x)
    return constants.constant(numpy.array(found))


def full(
    shape: int | tuple[int, ...],
    fill_value: TensorLike,
    *,
    dtype: DTypeLike | None = None,
    device: str | None = None,
) -> Tensor:
    """Return a tensor of one value."""
    _check_device(device)
    value = numpy.asarray(fill_value, None if dtype is None else _numpy_dtype(dtype))
    return constants.fill([shape] if isinstance(shape, int) else list(shape), value)


def zeros(
    shape: int | tuple[int, ...], *, dtype: DTypeLike | None = None, device: str | None = None
) -> Tensor:
    """Return a tensor of zeros, of float64 unless said otherwise."""
    _check_device(device)
    return full(shape, 0, dtype=dtype or float64)


def ones(
    shape: int | tuple[int, ...], *, dtype: DTypeLike | None = None, device: str | None = None
) -> Tensor:
    """Return a tensor of ones, of float64 unless said otherwise."""
    _check_device(device)
    return full(shape, 1, dtype=dtype or float64)


empty = zeros


def full_like(
    x: Tensor,
    /,
    fill_value: TensorLike,
    *,
    dtype: DTypeLike | None = None,
    device: str | None = None,
) -> Tensor:
    """Return a tensor of one value, of the shape of another."""
    _check_device(device)
    return full(tuple(map(int, x.shape)), fill_value, dtype=dtype or x.dtype)


def zeros_like(
    x: Tensor, /, *, dtype: DTypeLike | None = None, device: str | None = None
) -> Tensor:
    """Return zeros of the shape of a tensor."""
    _check_device(device)
    return full_like(x, 0, dtype=dtype)


def ones_like(x: Tensor, /, *, dtype: DTypeLike | None = None, device: str | None = None) -> Tensor:
    """Return ones of the shape of a tensor."""
    _check_device(device)
    return full_like(x, 1, dtype=dtype)


empty_like = zeros_like


def _made(function: Callable[..., Any]) -> Callable[..., Tensor]:
    def make(
        *args: Any, dtype: DTypeLike | None = None, device: str | None = None, **options: Any
    ) -> Tensor:
        _check_device(device)
        given = {} if dtype is None else {"dtype": _numpy_dtype(dtype)}
        return constants.constant(function(*args, **given, **options))

    make.__name__ = make.__qualname__ = function.__name__
    make.__doc__ = f"Return a tensor as numpy.{function.__name__} makes an array."
    return make


arange, eye, linspace = _made(numpy.arange), _made(numpy.eye), _made(numpy.linspace)


# -- elementwise -----------------------------------------------------------------------------------


def _of_one(name: str, function: Callable[..., Any]) -> Callable[[Any], Tensor]:
    def applied(x: Tensor, /) -> Tensor:
        return function(x)

    applied.__name__ = applied.__qualname__ = name
    applied.__doc__ = f"Return `{name}` of each element."
    return applied


def _of_two(name: str, function: Callable[..., Any]) -> Callable[[Any, Any], Tensor]:
    def applied(x1: TensorLike, x2: TensorLike, /) -> Tensor:
        return function(*_together(x1, x2))

    applied.__name__ = applied.__qualname__ = name
    applied.__doc__ = f"Return `{name}` of each two elements, broadcast and promoted."
    return applied


_ONE = {
    **{
        name: name
        for name in (
            *("abs", "negative", "positive", "sign", "sqrt", "square", "reciprocal"),
            *("exp", "expm1", "log", "log1p", "log2", "log10", "sin", "cos", "tan"),
            *("sinh", "cosh", "tanh", "ceil", "floor", "isnan", "isinf", "isfinite"),
            *("logical_not", "real", "imag", "round"),
        )
    },
    **{f"a{name}": f"arc{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
    "bitwise_invert": "invert",
    "conj": "conjugate",
}
_TWO = {
    **{
        name: name
        for name in (
            *("add", "subtract", "multiply", "divide", "floor_divide", "remainder"),
            *("maximum", "minimum", "equal", "not_equal", "less", "less_equal", "greater"),
            *("greater_equal", "logical_and", "logical_or", "logical_xor"),
            *("bitwise_and", "bitwise_or", "bitwise_xor", "matmul"),
        )
    },
    "pow": "power",
    "atan2": "arctan2",
    "bitwise_left_shift": "left_shift",
    "bitwise_right_shift": "right_shift",
}
# NumPy hands its functions over to our ops, which have them under its names.
globals().update({name: _of_one(name, getattr(numpy, theirs)) for name, theirs in _ONE.items()})
globals().update({name: _of_two(name, getattr(numpy, theirs)) for name, theirs in _TWO.items()})


def clip(x: Tensor, /, min: TensorLike | None = None, max: TensorLike | None = None) -> Tensor:
    """Return elements no less than `min` and no more than `max`, in the dtype of `x`."""
    low, high = (None if b is None else convert_to_tensor(b, x.dtype) for b in (min, max))
    return handed_over.clip(x, low, high)


def where(condition: Tensor, x1: TensorLike, x2: TensorLike, /) -> Tensor:
    """Return elements of `x1` where `condition` is, else of `x2`; all are broadcast."""
    return handed_over.where(condition, *_together(x1, x2))


# -- reductions ------------------------------------------------------------------------------------


def _summed(x: Tensor, dtype: Any) -> Tensor:
    """Return what is added up: small integers as 64-bit ones."""
    if dtype is None and isdtype(x.dtype, ("signed integer", "unsigned integer")):
        dtype = int64 if isdtype(x.dtype, "signed integer") else uint64
    return x if dtype is None else astype(x, dtype)


def sum(
    x: Tensor,
    /,
    *,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    keepdims: builtins.bool = False,
) -> Tensor:
    """Return sums along axes."""
    return handed_over.sum(_summed(x, dtype), axis, keepdims=keepdims)


def prod(
    x: Tensor,
    /,
    *,
    axis: Axis = None,
    dtype: DTypeLike | None = None,
    keepdims: builtins.bool = False,
) -> Tensor:
    """Return products along axes."""
    return handed_over.prod(_summed(x, dtype), axis, keepdims=keepdims)


def _reduction(name: str) -> Callable[..., Tensor]:
    function = getattr(numpy, name)

    def reduced(x: Tensor, /, *, axis: Axis = None, keepdims: builtins.bool = False) -> Tensor:
        return function(x, axis, keepdims=keepdims)

    reduced.__name__ = reduced.__qualname__ = name
    reduced.__doc__ = f"Return `{name}` along axes."
    return reduced


mean, max, min, count_nonzero = map(_reduction, ("mean", "max", "min", "count_nonzero"))


def all(x: Tensor, /, *, axis: Axis = None, keepdims: builtins.bool = False) -> Tensor:
    """Return whether all elements along axes are true."""
    return handed_over.all(astype(x, bool), axis, keepdims=keepdims)


def any(x: Tensor, /, *, axis: Axis = None, keepdims: builtins.bool = False) -> Tensor:
    """Return whether an element along axes is true."""
    return handed_over.any(astype(x, bool), axis, keepdims=keepdims)


def var(
    x: Tensor, /, *, axis: Axis = None, correction: float = 0.0, keepdims: builtins.bool = False
) -> Tensor:
    """Return variances along axes, of N - `correction` degrees of freedom."""
    found = handed_over.var(x, axis, keepdims=keepdims)
    if not correction:
        return found
    axes = range(len(x.shape)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    size = math.prod(int(x.shape[a]) for a in axes)
    return found * (size / (size - correction))


def std(
    x: Tensor, /, *, axis: Axis = None, correction: float = 0.0, keepdims: builtins.bool = False
) -> Tensor:
    """Return standard deviations along axes, of N - `correction` degrees of freedom."""
    return handed_over.sqrt(var(x, axis=axis, correction=correction, keepdims=keepdims))


def cumulative_sum(
    x: Tensor, /, *, axis: int | None = None, dtype: DTypeLike | None = None
) -> Tensor:
    """Return sums of all elements up to each."""
    return handed_over.cumsum(_summed(x, dtype), axis)


def _position(name: str) -> Callable[..., Tensor]:
    function = getattr(numpy, name)

    def found(x: Tensor, /, *, axis: int | None = None, keepdims: builtins.bool = False) -> Tensor:
        position = function(x, axis)
        if not keepdims:
            return position
        if axis is None:
            return reshaping.reshape(position, [1] * len(x.shape))
        return expand_dims(position, axis=axis)

    found.__name__ = found.__qualname__ = name
    found.__doc__ = f"Return `{name}` along an axis, or of all elements."
    return found


argmax, argmin = map(_position, ("argmax", "argmin"))


def sort(
    x: Tensor,
    /,
    *,
    axis: int = -1,
    descending: builtins.bool = False,
    stable: builtins.bool = True,
) -> Tensor:
    """Return elements in order along an axis."""
    found = handed_over.sort(x, axis)
    return flip(found, axis=axis) if descending else found


def searchsorted(x1: TensorLike, x2: TensorLike, /, *, side: str = "left") -> Tensor:
    """Return where values would be put among sorted ones."""
    return handed_over.searchsorted(x1, x2, side)


# -- movement --------------------------------------------------------------------------------------


def reshape(x: Tensor, /, shape: tuple[int, ...], *, copy: builtins.bool | None = None) -> Tensor:
    """Return the elements in another shape."""
    return reshaping.reshape(x, list(shape))


def concat(arrays: Sequence[Any], /, *, axis: int | None = 0) -> Tensor:
    """Return tensors joined along an axis, promoted; flat ones with None."""
    return handed_over.concatenate(_together(*arrays), axis=axis)


def stack(arrays: Sequence[Any], /, *, axis: int = 0) -> Tensor:
    """Return tensors joined along a new axis, promoted."""
    return joining.stack(_together(*arrays), axis)


def unstack(x: Tensor, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """Return the tensors along an axis."""
    return tuple(joining.unstack(x, axis=axis))


def permute_dims(x: Tensor, /, axes: tuple[int, ...]) -> Tensor:
    """Return a tensor with its axes in another order."""
    return handed_over.transpose(x, axes)


def matrix_transpose(x: Tensor, /) -> Tensor:
    """Return a tensor with its last two axes swapped."""
    return handed_over.swapaxes(x, -1, -2)


def moveaxis(x: Tensor, source: int, destination: int, /) -> Tensor:
    """Return a tensor with an axis elsewhere."""
    return handed_over.moveaxis(x, source, destination)


def expand_dims(x: Tensor, /, *, axis: int = 0) -> Tensor:
    """Return a tensor with a new axis of size 1."""
    return reshaping.expand_dims(x, axis)


def squeeze(x: Tensor, /, axis: int | tuple[int, ...]) -> Tensor:
    """Return a tensor without axes of size 1."""
    return reshaping.squeeze(x, [axis] if isinstance(axis, int) else list(axis))


def broadcast_to(x: Tensor, /, shape: tuple[int, ...]) -> Tensor:
    """Return a tensor repeated to a shape."""
    return repeating.broadcast_to(x, list(shape))


def broadcast_arrays(*arrays: Any) -> tuple[Tensor, ...]:
    """Return tensors repeated to the shape that they have together."""
    shape = numpy.broadcast_shapes(*(tuple(map(int, array.shape)) for array in arrays))
    return tuple(broadcast_to(array, shape) for array in arrays)


def flip(x: Tensor, /, *, axis: Axis = None) -> Tensor:
    """Return a tensor with elements the other way round along axes."""
    return handed_over.flip(x, axis)


def roll(x: Tensor, /, shift: int | tuple[int, ...], *, axis: Axis = None) -> Tensor:
    """Return a tensor with elements moved along axes, and round its end."""
    if axis is None:
        flat = handed_over.roll(handed_over.ravel(x), shift, 0)
        return reshaping.reshape(flat, [int(size) for size in x.shape])
    return handed_over.roll(x, shift, axis)


def tile(x: Tensor, repetitions: tuple[int, ...], /) -> Tensor:
    """Return a tensor repeated along each axis."""
    missing = len(repetitions) - len(x.shape)
    if missing > 0:
        x = reshaping.reshape(x, [1] * missing + [int(size) for size in x.shape])
    return repeating.tile(x, [1] * -missing + list(repetitions))


def take(x: Tensor, indices: Tensor, /, *, axis: int | None = None) -> Tensor:
    """Return elements along an axis by number."""
    return handed_over.take(x, indices, axis)


# -- products --------------------------------------------------------------------------------------


def tensordot(x1: TensorLike, x2: TensorLike, /, *, axes: Any = 2) -> Tensor:
    """Return sums of products along some axes of each."""
    first, second = _together(x1, x2)
    return products.tensordot(first, second, axes)


def vecdot(x1: TensorLike, x2: TensorLike, /, *, axis: int = -1) -> Tensor:
    """Return sums of products along an axis."""
    first, second = _together(x1, x2)
    return handed_over.sum(handed_over.conjugate(first) * second, axis)


# -- what there is ---------------------------------------------------------------------------------


class NamespaceInfo:
    """What the standard lets programs ask of a namespace."""

    def capabilities(self) -> dict[str, Any]:
        """Return what may depend on the library."""
        return {"boolean indexing": True, "data-dependent shapes": True, "max dimensions": None}

    def default_device(self) -> str:
        """Return where arrays are made."""
        return DEVICE

    def devices(self) -> list[str]:
        """Return where arrays may be made by name."""
        return [DEVICE]

    def default_dtypes(self, *, device: str | None = None) -> dict[str, DType]:
        """Return what Python's numbers become."""
        _check_device(device)
        return {
            "real floating": float64,
            "complex floating": complex128,
            "integral": int64,
            "indexing": int64,
        }

    def dtypes(self, *, device: str | None = None, kind: Any = None) -> dict[str, DType]:
        """Return the dtypes of a kind by name, all of the standard's with None."""
        _check_device(device)
        listed = (bool, int8, int16, int32, int64, uint8, uint16, uint32, uint64)
        found = (*listed, float32, float64, complex64, complex128)
        return {d.name: d for d in found if kind is None or isdtype(d, kind)}


def __array_namespace_info__() -> NamespaceInfo:
    """Return what there is in this namespace."""
    return NamespaceInfo()
