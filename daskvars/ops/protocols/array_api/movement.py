"""Arrays in other shapes, joined, moved, and picked from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from daskvars.dtypes import int64
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.tensor import Tensor
from daskvars.ops.array import joining, repeating, reshaping
from daskvars.ops.gather_scatter import gather as gathering
from daskvars.ops.math import casting, comparison
from daskvars.ops.protocols.array_api.promotion import Axis, sizes, together

# NumPy's functions of tensors are handed over to our ops, which type checkers cannot know.
handed_over: Any = numpy


def reshape(x: Tensor, /, shape: tuple[int, ...], *, copy: bool | None = None) -> Tensor:
    """Return the elements in another shape."""
    return reshaping.reshape(x, list(shape))


def concat(arrays: Sequence[Any], /, *, axis: int | None = 0) -> Tensor:
    """Return tensors joined along an axis, promoted; flat ones with None."""
    return handed_over.concatenate(together(*arrays), axis=axis)


def stack(arrays: Sequence[Any], /, *, axis: int = 0) -> Tensor:
    """Return tensors joined along a new axis, promoted."""
    return joining.stack(together(*arrays), axis)


def unstack(x: Tensor, /, *, axis: int = 0) -> tuple[Tensor, ...]:
    """Return the tensors along an axis."""
    return tuple(joining.unstack(x, axis=axis))


def permute_dims(x: Tensor, /, axes: tuple[int, ...]) -> Tensor:
    """Return a tensor with its axes in another order."""
    return handed_over.transpose(x, [axis % len(axes) for axis in axes])


def matrix_transpose(x: Tensor, /) -> Tensor:
    """Return a tensor with its last two axes swapped."""
    return handed_over.swapaxes(x, -1, -2)


def moveaxis(
    x: Tensor, source: int | tuple[int, ...], destination: int | tuple[int, ...], /
) -> Tensor:
    """Return a tensor with axes elsewhere."""
    rank = len(x.shape)
    left, right = (
        [a % rank for a in (one if isinstance(one, tuple) else (one,))]
        for one in (source, destination)
    )
    order = [axis for axis in range(rank) if axis not in left]
    for at, axis in sorted(zip(right, left, strict=True)):
        order.insert(at, axis)
    return handed_over.transpose(x, order)


def expand_dims(x: Tensor, /, axis: int = 0) -> Tensor:
    """Return a tensor with a new axis of size 1. Raises IndexError for one that cannot be."""
    if not -len(x.shape) - 1 <= axis <= len(x.shape):
        raise IndexError(f"no axis {axis} of {len(x.shape) + 1}")
    return reshaping.expand_dims(x, axis)


def squeeze(x: Tensor, /, axis: int | tuple[int, ...]) -> Tensor:
    """Return a tensor without axes of size 1."""
    return reshaping.squeeze(x, [axis] if isinstance(axis, int) else list(axis))


def broadcast_to(x: Tensor, /, shape: tuple[int, ...]) -> Tensor:
    """Return a tensor repeated to a shape."""
    return repeating.broadcast_to(x, list(shape))


def broadcast_arrays(*arrays: Any) -> list[Tensor]:
    """Return tensors repeated to the shape that they have together."""
    shape = numpy.broadcast_shapes(*(tuple(map(int, array.shape)) for array in arrays))
    return [broadcast_to(array, shape) for array in arrays]


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
    return repeating.tile(x, [1] * -missing + [int(times) for times in repetitions])


def repeat(x: Tensor, repeats: Any, /, *, axis: int | None = None) -> Tensor:
    """Return a tensor with each element along an axis repeated; all elements with None."""
    along = axis if axis is None else axis % len(x.shape)
    if isinstance(repeats, Tensor):
        repeats = casting.cast(repeats, int64)
    found = handed_over.repeat(x, repeats, along)
    numpy.asarray(found)  # its shape depends on values
    return found


def take(x: Tensor, indices: Tensor, /, *, axis: int | None = None) -> Tensor:
    """Return elements along an axis by number; those below zero count from the end."""
    if axis is None and len(x.shape) != 1:
        raise ValueError(f"axis= must say along which of the {len(x.shape)} axes is taken")
    along = 0 if axis is None else axis
    return handed_over.take(x, _from_front(indices, sizes(x)[along]), along)


def take_along_axis(x: Tensor, indices: Tensor, /, *, axis: int = -1) -> Tensor:
    """Return elements along an axis by number, other ones for each place of the other axes."""
    along = axis % len(x.shape)
    shape = list(numpy.broadcast_shapes(_without(x, along), _without(indices, along)))
    shape[along] = sizes(indices)[along]
    numbers = repeating.broadcast_to(_from_front(indices, sizes(x)[along]), shape)
    shape[along] = sizes(x)[along]
    last = len(shape) - 1
    values = moveaxis(repeating.broadcast_to(x, shape), along, last)
    found = gathering.gather(values, moveaxis(numbers, along, last), batch_dims=last)
    return moveaxis(found, last, along)


def _without(x: Tensor, axis: int) -> tuple[int, ...]:
    return tuple(1 if a == axis else size for a, size in enumerate(sizes(x)))


def _from_front(indices: Tensor, size: int) -> Tensor:
    numbers = casting.cast(indices, int64)
    zero, whole = (convert_to_tensor(value, int64) for value in (0, size))
    return comparison.where_v2(numbers < zero, numbers + whole, numbers)
