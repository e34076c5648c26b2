"""Making arrays."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import Any

import numpy

from daskvars.device_array import brought_here
from daskvars.dtypes import DTypeLike, as_dtype, float64
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.ops.array import constant as constants, repeating, reshaping
from daskvars.ops.math import comparison
from daskvars.ops.protocols.array_api.promotion import (
    astype,
    check_device,
    numpy_dtype,
    sizes,
    together,
)


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
    check_device(device)
    if isinstance(obj, Tensor) and copy is not True:
        return obj if dtype is None else astype(obj, dtype)
    if copy is False:
        raise ValueError(f"asarray(copy=False): a {type(obj).__name__} becomes a tensor by a copy")
    found = numpy.array(obj, None if dtype is None else numpy_dtype(as_dtype(dtype)))
    return constants.constant(found)


def from_dlpack(
    x: Any, /, *, device: str | None = None, copy: builtins.bool | None = None
) -> Tensor:
    """Return an array of another library as a tensor, by DLPack.

    A tensor never changes and who gave the array may write into it, so it is a copy; what is on a
    GPU is copied to this process's memory.

    Args:
      x: has ``__dlpack__`` and ``__dlpack_device__``.
      device: None or "cpu": the memory of this process.
      copy: None or True.

    Returns:
      A tensor of the shape and dtype of `x`.

    Raises:
      ValueError: ``copy=False``.
      ValueError: another `device`.

    >>> import numpy
    >>> from_dlpack(numpy.ones((2, 3))).shape.as_list()
    [2, 3]
    """
    check_device(device)
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
    check_device(device)
    value = numpy.asarray(fill_value, None if dtype is None else numpy_dtype(dtype))
    return constants.fill([shape] if isinstance(shape, int) else list(shape), value)


def zeros(
    shape: int | tuple[int, ...], *, dtype: DTypeLike | None = None, device: str | None = None
) -> Tensor:
    """Return a tensor of zeros, of float64 unless said otherwise."""
    check_device(device)
    return full(shape, 0, dtype=dtype or float64)


def ones(
    shape: int | tuple[int, ...], *, dtype: DTypeLike | None = None, device: str | None = None
) -> Tensor:
    """Return a tensor of ones, of float64 unless said otherwise."""
    check_device(device)
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
    check_device(device)
    return full(tuple(map(int, x.shape)), fill_value, dtype=dtype or x.dtype)


def zeros_like(
    x: Tensor, /, *, dtype: DTypeLike | None = None, device: str | None = None
) -> Tensor:
    """Return zeros of the shape of a tensor."""
    check_device(device)
    return full_like(x, 0, dtype=dtype)


def ones_like(x: Tensor, /, *, dtype: DTypeLike | None = None, device: str | None = None) -> Tensor:
    """Return ones of the shape of a tensor."""
    check_device(device)
    return full_like(x, 1, dtype=dtype)


empty_like = zeros_like


def _made(found: Any, device: str | None) -> Tensor:
    check_device(device)
    return constants.constant(found)


def _dtype_or(dtype: Any, otherwise: Any = None) -> Any:
    return otherwise if dtype is None else numpy_dtype(as_dtype(dtype))


def arange(
    start: Any,
    /,
    stop: Any = None,
    step: Any = 1,
    *,
    dtype: DTypeLike | None = None,
    device: str | None = None,
) -> Tensor:
    """Return numbers from `start` up to `stop`, or from 0 up to `start`."""
    first, end = (0, start) if stop is None else (start, stop)
    return _made(numpy.arange(first, end, step, dtype=_dtype_or(dtype)), device)


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: DTypeLike | None = None,
    device: str | None = None,
) -> Tensor:
    """Return a matrix of ones on a diagonal, of float64 unless said otherwise."""
    return _made(numpy.eye(n_rows, n_cols, k, dtype=_dtype_or(dtype, numpy.float64)), device)


def linspace(
    start: Any,
    stop: Any,
    /,
    num: int,
    *,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    endpoint: builtins.bool = True,
) -> Tensor:
    """Return numbers at equal distances from `start` to `stop`."""
    found = numpy.linspace(start, stop, num, endpoint=endpoint, dtype=_dtype_or(dtype))
    return _made(found, device)


def meshgrid(*arrays: Any, indexing: str = "xy") -> list[Tensor]:
    """Return the coordinates along each axis of a grid, for each of its places.

    Args:
      arrays: of rank 1, promoted.
      indexing: "xy" has the second array along the first axis, "ij" the first.

    Raises:
      ValueError: `indexing` is none of these.
    """
    if indexing not in ("xy", "ij"):
        raise ValueError(f'meshgrid(indexing={indexing!r}): "xy" or "ij"')
    order = list(range(len(arrays)))
    if indexing == "xy" and len(arrays) > 1:
        order[:2] = [1, 0]
    every = together(*arrays)
    shape = [sizes(every[i])[0] for i in order]
    placed = (
        reshaping.reshape(x, [-1 if order[i] == at else 1 for i in range(len(order))])
        for at, x in enumerate(every)
    )
    return [repeating.broadcast_to(x, shape) for x in placed]


def tril(x: Tensor, /, *, k: int = 0) -> Tensor:
    """Return the lower triangles of matrices, [..., m, n], up to the k-th diagonal."""
    return _of_triangle(x, lambda rows, columns: numpy.tri(rows, columns, k, dtype=bool))


def triu(x: Tensor, /, *, k: int = 0) -> Tensor:
    """Return the upper triangles of matrices, [..., m, n], from the k-th diagonal on."""
    return _of_triangle(x, lambda rows, columns: ~numpy.tri(rows, columns, k - 1, dtype=bool))


def _of_triangle(x: Tensor, keeps: Callable[[int, int], Any]) -> Tensor:
    kept = numpy.broadcast_to(keeps(*sizes(x)[-2:]), sizes(x))
    return comparison.where_v2(constants.constant(kept), x, zeros_like(x))
