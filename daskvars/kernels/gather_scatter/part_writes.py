"""Parts of a variable set or changed by position: a strided slice, or slices at coordinates.

Each comes in three forms: one that makes a new array, one that changes the variable's own memory
(``_into``), and a check that raises what they would raise.
"""

from __future__ import annotations

import math
from typing import Any, Unpack

import numpy as np

from daskvars.backend import Array, ArrayModule
from daskvars.errors import invalid
from daskvars.kernels.array.slicing import checked_key, index_key
from daskvars.kernels.gather_scatter.gather import with_batch
from daskvars.kernels.gather_scatter.segments import Part, flat_index, scatter_rows_into


def assign_slice(xp: ArrayModule, x: Array, value: Array, **how: Any) -> Array:
    """Give a copy of `x` with `value` in the part that `index_key` describes.

    >>> assign_slice(np, np.zeros(4), np.array([1.0, 2.0]), begin=(1,), end=(4,), strides=(2,))
    array([0., 1., 0., 2.])
    """
    keys = _slice_keys(x, value, **how)
    if keys is None:
        return x
    out = x.copy()
    out[keys[0]] = xp.broadcast_to(value, keys[2])[keys[1]]
    return out


def assign_slice_into(xp: ArrayModule, out: Array, value: Array, **how: Any) -> None:
    """Set the part of `out` that `index_key` describes, for the owner of its memory only.

    Args:
      out: any dtype, overwritten.
      value: of its dtype.
      how: `begin`, `end`, `strides` and masks of the slice; where `out` is a block of a variable,
        its `offset` in that and the `size` of the whole.

    Raises:
      InvalidArgumentError: an index is out of bounds, or `value` does not broadcast to the part.
    """
    keys = _slice_keys(out, value, **how)
    if keys is not None:
        out[keys[0]] = xp.broadcast_to(value, keys[2])[keys[1]]


def check_slice(xp: ArrayModule, x: Array, value: Array, **how: Any) -> None:
    """Raise InvalidArgumentError where `assign_slice` of the same arguments would."""
    _slice_keys(x, value, **how)


def _slice_keys(
    x: Array,
    value: Array,
    *,
    offset: tuple[int, ...] | None = None,
    size: tuple[int, ...] | None = None,
    **bounds: Any,
) -> tuple[tuple[Any, ...], tuple[Any, ...], tuple[int, ...]] | None:
    """Return the keys of the slice in a block, and of the block in the slice; and its whole shape.

    None where nothing of the slice is in the block.
    """
    size = x.shape if size is None else size
    key = checked_key(index_key(**bounds), size)
    part = np.broadcast_to(np.empty(()), size)[key].shape
    sizes = zip(value.shape[::-1], part[::-1], strict=False)
    if value.ndim > len(part) or any(given not in (1, n) for given, n in sizes):
        raise invalid(
            f"a value of shape {list(value.shape)} does not broadcast to the sliced part of the "
            f"variable, which has shape {list(part)}"
        )
    if x.shape == tuple(size):
        return key, (...,), part
    in_block: list[Any] = []
    in_part: list[Any] = []
    axes = iter(zip(size, offset or (), x.shape, strict=True))
    for item in _per_axis(key, len(size)):
        if item is None:
            in_block.append(None)
            in_part.append(slice(None))
            continue
        n, start, extent = next(axes)
        places = np.atleast_1d(np.arange(n)[item]) - start
        inside = np.flatnonzero((places >= 0) & (places < extent))
        if not inside.size:
            return None
        if isinstance(item, slice):
            in_block.append(places[inside])
            in_part.append(slice(int(inside[0]), int(inside[-1]) + 1))
        else:
            in_block.append(int(places[0]))
    return _sliced(in_block), tuple(in_part), part


def _per_axis(key: tuple[Any, ...], rank: int) -> list[Any]:
    """Return a key with slices in place of its ellipsis."""
    at = next(i for i, item in enumerate(key) if item is Ellipsis)
    missing = rank - sum(item is not None for item in key) + 1
    return [*key[:at], *(slice(None),) * missing, *key[at + 1 :]]


def _sliced(key: list[Any]) -> tuple[Any, ...]:
    """Return a key with evenly spaced places as slices."""

    def as_slice(item: Array) -> Any:
        if not isinstance(item, np.ndarray):
            return item
        step = int(item[1] - item[0]) if len(item) > 1 else 1
        stop = int(item[-1]) + (1 if step > 0 else -1)
        return slice(int(item[0]), None if stop < 0 else stop, step)

    return (*map(as_slice, key), ...)


def scatter_nd(xp: ArrayModule, x: Array, indices: Array, updates: Array, **how: Any) -> Array:
    """Give a copy of `x` with the slices at some coordinates changed. See `scatter_nd_into`."""
    out = x.copy()
    scatter_nd_into(xp, out, indices, updates, **how)
    return out


def scatter_nd_into(
    xp: ArrayModule,
    out: Array,
    indices: Array,
    updates: Array,
    *,
    mode: str,
    batch_dims: int = 0,
    **part: Unpack[Part],
) -> None:
    """Change slices of `out` where it lies.

    Args:
      out: [n0, ..., nk, ...] number, overwritten.
      indices: [..., k + 1] int.
      updates: [*indices.shape[:-1], *out.shape[k + 1:]], of the dtype of `out`.
      mode: "update", "add" or "sub".
      batch_dims: how many leading dimensions of indices and variable go together.
      part: the rows of the variable that `out` has.

    Raises:
      InvalidArgumentError: a coordinate is out of range; `out` is then untouched.
    """
    shape, ids, depth = _rows(xp, out, indices, batch_dims, part.get("size"))
    inner = math.prod(shape[1:depth])
    rows = out.reshape(len(out) * inner, *shape[depth:])
    updates = updates.reshape(*ids.shape, *shape[depth:])
    place: Part = {"offset": part.get("offset", 0) * inner, "size": shape[0] * inner}
    scatter_rows_into(xp, rows, ids, updates, mode=mode, **place)
    if not out.flags.c_contiguous:  # the rows were a copy
        out[...] = rows.reshape(out.shape)


def check_coordinates(
    xp: ArrayModule,
    x: Array,
    indices: Array,
    *_: Array,
    batch_dims: int = 0,
    size: int | None = None,
    **others: Any,
) -> None:
    """Raise InvalidArgumentError where `scatter_nd` of the same arguments would."""
    _rows(xp, x, indices, batch_dims, size)


def _rows(
    xp: ArrayModule, x: Array, indices: Array, batch_dims: int, size: int | None
) -> tuple[tuple[int, ...], Any, int]:
    """Return the shape of the whole, the checked row numbers, and how many coordinates each has."""
    shape = (len(x) if size is None else size, *x.shape[1:])
    coordinates = with_batch(xp, indices, batch_dims)
    return shape, flat_index(xp, coordinates, shape), coordinates.shape[-1]
