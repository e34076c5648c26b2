"""Parts of a variable set or changed by position: a strided slice, or slices at coordinates.

Each comes in three forms: one that makes a new array, one that changes the variable's own memory
(``_into``), and a check that raises what they would raise.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from daskvars.errors import InvalidArgumentError
from daskvars.kernels.gather_kernels import with_batch
from daskvars.kernels.segment import flat_index, scatter_rows_into
from daskvars.kernels.slicing_kernels import checked_key, index_key


def assign_slice(xp: Any, x: Any, value: Any, **bounds: Any) -> Any:
    """Give a copy of `x` with `value` in the part that `index_key` describes.

    >>> assign_slice(np, np.zeros(4), np.array([1.0, 2.0]), begin=(1,), end=(4,), strides=(2,))
    array([0., 1., 0., 2.])
    """
    out = x.copy()
    assign_slice_into(xp, out, value, **bounds)
    return out


def assign_slice_into(xp: Any, out: Any, value: Any, **bounds: Any) -> None:
    """Set the part of `out` that `index_key` describes, for the owner of its memory only.

    Raises:
      InvalidArgumentError: an index is out of bounds, or `value` does not broadcast to the part.
    """
    check_slice(xp, out, value, **bounds)
    out[checked_key(index_key(**bounds), out.shape)] = value


def check_slice(xp: Any, x: Any, value: Any, **bounds: Any) -> None:
    """Raise InvalidArgumentError where `assign_slice` of the same arguments would."""
    part = np.broadcast_to(np.empty(()), x.shape)[checked_key(index_key(**bounds), x.shape)]
    sizes = zip(value.shape[::-1], part.shape[::-1], strict=False)
    if value.ndim > part.ndim or any(given not in (1, n) for given, n in sizes):
        raise InvalidArgumentError(
            None, None,
            f"a value of shape {list(value.shape)} does not broadcast to the sliced part of the "
            f"variable, which has shape {list(part.shape)}",
        )


def scatter_nd(xp: Any, x: Any, indices: Any, updates: Any, **how: Any) -> Any:
    """Give a copy of `x` with the slices at some coordinates changed. See `scatter_nd_into`."""
    out = x.copy()
    scatter_nd_into(xp, out, indices, updates, **how)
    return out


def scatter_nd_into(
    xp: Any, out: Any, indices: Any, updates: Any, *, mode: str, batch_dims: int = 0,
    offset: int = 0, size: int | None = None,
) -> None:  # fmt: skip
    """Change slices of `out` where it lies.

    Args:
      out: [n0, ..., nk, ...] number, overwritten.
      indices: [..., k + 1] int.
      updates: [*indices.shape[:-1], *out.shape[k + 1:]], of the dtype of `out`.
      mode: "update", "add" or "sub".
      batch_dims: how many leading dimensions of indices and variable go together.
      offset: first row of this part of the variable.
      size: rows of the whole variable; None where this is all of it.

    Raises:
      InvalidArgumentError: a coordinate is out of range; `out` is then untouched.
    """
    shape, ids, depth = _rows(xp, out, indices, batch_dims, size)
    inner = math.prod(shape[1:depth])
    rows = out.reshape(len(out) * inner, *shape[depth:])
    updates = updates.reshape(*ids.shape, *shape[depth:])
    scatter_rows_into(
        xp, rows, ids, updates, mode=mode, offset=offset * inner, size=shape[0] * inner
    )
    if not out.flags.c_contiguous:  # the rows were a copy
        out[...] = rows.reshape(out.shape)


def check_coordinates(
    xp: Any, x: Any, indices: Any, updates: Any = None, *, mode: str, batch_dims: int = 0,
    offset: Any = 0, size: int | None = None,
) -> None:  # fmt: skip
    """Raise InvalidArgumentError where `scatter_nd` of the same arguments would."""
    _rows(xp, x, indices, batch_dims, size)


def _rows(
    xp: Any, x: Any, indices: Any, batch_dims: int, size: int | None
) -> tuple[tuple[int, ...], Any, int]:
    """Return the shape of the whole, the checked row numbers, and how many coordinates each has."""
    shape = (len(x) if size is None else size, *x.shape[1:])
    coordinates = with_batch(xp, indices, batch_dims)
    return shape, flat_index(xp, coordinates, shape), coordinates.shape[-1]
