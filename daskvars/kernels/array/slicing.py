"""Slices, what TensorFlow's masks say about them, and padding, the adjoint of slicing.

`index_key` turns the arguments of ``strided_slice`` into a key that NumPy understands; shape
rules use it too, with None for bounds that are not known yet.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from daskvars.backend import Array, ArrayModule
from daskvars.errors import invalid

Bounds = Sequence[Any]
Sizes = tuple[int, ...]


def slice_bounds(
    shape: Sequence[int], begin: Sequence[int], size: Sequence[int]
) -> tuple[slice, ...]:
    """Return the key of a slice; a size of -1 means up to the end.

    Raises:
      InvalidArgumentError: the slice does not lie within `shape`.

    >>> slice_bounds((3, 4), (1, 0), (2, -1))
    (slice(1, 3, None), slice(0, 4, None))
    """
    if not len(shape) == len(begin) == len(size):
        raise invalid(
            f"Expected begin and size arguments to be 1-D tensors of size {len(shape)}, but got "
            f"sizes {len(begin)} and {len(size)} instead."
        )
    key = []
    for i, (n, first, count) in enumerate(zip(shape, begin, size, strict=True)):
        if not 0 <= first <= n:
            raise invalid(f"Expected begin[{i}] in [0, {n}], but got {first}")
        count = n - first if count == -1 else count
        if not 0 <= count <= n - first:
            raise invalid(f"Expected size[{i}] in [0, {n - first}], but got {count}")
        key.append(slice(first, first + count))
    return tuple(key)


def slice_array(xp: ArrayModule, x: Array, *, begin: Sequence[int], size: Sequence[int]) -> Array:
    """Give `size` elements of `x` along each dimension, from `begin` on."""
    return x[(*slice_bounds(x.shape, begin, size), ...)]


def slice_grad(xp: ArrayModule, dy: Array, *, shape: Sequence[int], begin: Sequence[int]) -> Array:
    """Give zeros of `shape` with `dy` at `begin`: the adjoint of `slice_array`."""
    out = xp.zeros(tuple(shape), dy.dtype)
    out[slice_bounds(out.shape, begin, dy.shape)] = dy
    return out


def index_key(
    begin: Bounds,
    end: Bounds,
    strides: Bounds,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
) -> tuple[Any, ...]:
    """Return the NumPy key of a strided slice.

    Bit i of each mask is about item i: its begin or end is open, it is an ellipsis, a new
    dimension, or an index that drops its dimension.

    Raises:
      InvalidArgumentError: a stride is 0, or there are two ellipses.

    >>> index_key((1, 0), (4, 0), (2, 1), end_mask=2)
    (slice(1, 4, 2), slice(0, None, 1))
    """
    if bin(ellipsis_mask).count("1") > 1:
        raise invalid("Multiple ellipses in slice spec not allowed")
    key: list[Any] = []
    for i, (first, last, step) in enumerate(zip(begin, end, strides, strict=True)):
        bit = 1 << i
        if ellipsis_mask & bit:
            key.append(Ellipsis)
        elif new_axis_mask & bit:
            key.append(None)
        elif step == 0:
            raise invalid(f"strides[{i}] must be non-zero")
        elif shrink_axis_mask & bit:
            if step is not None and step < 0:
                raise invalid("only stride 1 allowed on non-range indexing.")
            key.append(first)
        else:
            key.append(
                slice(None if begin_mask & bit else first, None if end_mask & bit else last, step)
            )
    return tuple(key)


def checked_key(key: tuple[Any, ...], shape: Sequence[int]) -> tuple[Any, ...]:
    """Return `key` with an ellipsis, so that NumPy gives an array even of a single element.

    Raises:
      InvalidArgumentError: an index is out of bounds, or there are too many.
    """
    count = sum(item is not None and item is not Ellipsis for item in key)
    if count > len(shape):
        raise invalid(
            f"Index out of range using input dim {len(shape)}; input has only {len(shape)} dims"
        )
    if Ellipsis not in key:
        key = (*key, Ellipsis)
    place = key.index(Ellipsis)
    after = sum(item is not None for item in key[place + 1 :])
    axis = 0
    for number, item in enumerate(key):
        if number == place:
            axis = len(shape) - after
            continue
        if isinstance(item, int) and not -shape[axis] <= item < shape[axis]:
            raise invalid(f"slice index {item} of dimension {axis} out of bounds.")
        axis += item is not None
    return key


def strided_slice(
    xp: ArrayModule,
    x: Array,
    *,
    begin: Sequence[int],
    end: Sequence[int],
    strides: Sequence[int],
    **masks: int,
) -> Array:
    """Give the part of `x` that `index_key` describes."""
    return x[_key_in(x.shape, tuple(begin), tuple(end), tuple(strides), **masks)]


def strided_slice_grad(
    xp: ArrayModule,
    dy: Array,
    *,
    shape: Sequence[int],
    begin: Sequence[int],
    end: Sequence[int],
    strides: Sequence[int],
    **masks: int,
) -> Array:
    """Give zeros of `shape` with `dy` in the part that `index_key` describes."""
    out = xp.zeros(tuple(shape), dy.dtype)
    out[_key_in(out.shape, tuple(begin), tuple(end), tuple(strides), **masks)] = dy
    return out


@lru_cache(maxsize=1024)  # a program has few of them, and makes them in each step
def _key_in(
    shape: Sizes, begin: Sizes, end: Sizes, strides: Sizes, **masks: int
) -> tuple[Any, ...]:
    return checked_key(index_key(begin, end, strides, **masks), shape)


# -- padding -----------------------------------------------------------------------------------


def pad(
    xp: ArrayModule, x: Array, *, paddings: Sequence[Sequence[int]], constant_values: Any = 0
) -> Array:
    """Give `x` with `constant_values` before and after it along each dimension."""
    shape = tuple(n + a + b for n, (a, b) in zip(x.shape, _checked(x, paddings), strict=True))
    out = xp.full(shape, constant_values, x.dtype)
    inner = tuple(slice(a, a + n) for n, (a, _) in zip(x.shape, paddings, strict=True))
    out[inner] = x
    return out


def _checked(x: Array, paddings: Sequence[Sequence[int]]) -> Sequence[Sequence[int]]:
    if len(paddings) != x.ndim or any(n < 0 for pair in paddings for n in pair):
        raise invalid(
            f"paddings {list(map(list, paddings))} must hold two numbers >= 0 for each of the "
            f"{x.ndim} dimensions"
        )
    return paddings


def mirror_pad(xp: ArrayModule, x: Array, *, paddings: Sequence[Sequence[int]], mode: str) -> Array:
    """Give `x` mirrored at its borders, which "REFLECT" does not repeat and "SYMMETRIC" does."""
    border = int(mode == "REFLECT")
    for n, (a, b) in zip(x.shape, _checked(x, paddings), strict=True):
        if max(a, b) > n - border and max(a, b):
            bound = "less than" if border else "no greater than"
            raise invalid(f"paddings must be {bound} the dimension size: {a}, {b} for size {n}")
    return xp.pad(x, tuple(map(tuple, paddings)), mode=mode.lower())


def mirror_pad_grad(
    xp: ArrayModule, dy: Array, *, paddings: Sequence[Sequence[int]], mode: str
) -> Array:
    """Give the adjoint of `mirror_pad`: what lies in the mirrors added to what they show."""
    border = int(mode == "REFLECT")
    out = dy
    for axis, (a, b) in enumerate(paddings):
        if not a and not b:
            continue
        out = xp.moveaxis(out, axis, 0)
        n = len(out) - a - b
        inner = out[a : a + n].copy()
        if a:
            inner[border : border + a] += out[:a][::-1]
        if b:
            inner[n - border - b : n - border] += out[a + n :][::-1]
        out = xp.moveaxis(inner, 0, axis)
    return xp.array(out, order="C")
