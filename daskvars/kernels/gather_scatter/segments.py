"""Rows by index: segment reductions, gather, scatter, and their forms with several columns.

Every index is checked before it is used, since NumPy would count a negative one from the end and a
GPU would clip it. Duplicates combine in the order given; in an update the last one wins. For a part
of a table, ``offset`` is its first row and ``size`` the rows of the whole: indices name rows of
the whole, and those outside the part are left to the other parts.
"""

from __future__ import annotations

import math
from typing import Any, Required, TypedDict, Unpack

import numpy as np
import scipy.sparse

from daskvars.backend import Array, ArrayModule
from daskvars.errors import invalid
from daskvars.kernels.gather_scatter.rows import (
    add_at,
    apply_rows,
    combine_rows,
    device_sums,
    last_rows,
    put_rows,
)
from daskvars.kernels.math.precision import extremes, float_work
from daskvars.kernels.math.without_ufunc import truncate_divide
from daskvars.shapes import in_brackets

# Fewer elements than this are added up without a matrix of SciPy's (m, 40 rows of 8 numbers: 11 us
# instead of 23; 1024: 49 and 58; 2048: 80 and 61).
FEW_SUMMED = 1 << 13

# What each mode does with a row and an update of it.
MODES = {
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "div": "divide",
    "min": "minimum",
    "max": "maximum",
}


class Part(TypedDict, total=False):
    """Which rows of a whole a part has.

    Attributes:
        offset: the first of them, by default 0.
        size: rows of the whole; None, the default, where the part is all of it.
        closed: whether an index that names a row of another part is an error.
    """

    offset: int
    size: int | None
    closed: bool


class Segments(Part):
    """Which segments a part has: ``num_segments``, of ``size`` in all."""

    num_segments: Required[int]


def check_ids(xp: ArrayModule, ids: Array, *, size: int, what: str = "indices") -> None:
    """Raise InvalidArgumentError unless every id is in [0, size).

    Args:
        ids: int, any shape.
        size: number of rows that may be named.
        what: how the message calls ``ids``.

    >>> check_ids(np, np.array([0, 2]), size=3)
    """
    if not ids.size:
        return
    # As unsigned numbers negative ids are larger than any size: one pass sees both ends.
    unsigned = ids.view(f"u{ids.dtype.itemsize}") if ids.dtype.kind == "i" else ids
    if unsigned.max() < size:
        return
    found = _found(ids, int(xp.flatnonzero(unsigned >= size)[0]))
    raise invalid(f"{what}{found} is not in [0, {size})")


def _found(ids: Array, number: int) -> str:
    """Return where one of the ids is, and which it is, in words."""
    position = ",".join(map(str, map(int, np.unravel_index(number, ids.shape))))
    return f"{f'[{position}]' if position else ''} = {int(ids.reshape(-1)[number])}"


def _check_closed(xp: ArrayModule, ids: Array, is_here: Array) -> None:
    """Raise InvalidArgumentError unless all ids are of this part."""
    if not is_here.all():
        found = _found(ids, int(xp.flatnonzero(~is_here)[0]))
        raise invalid(
            f"indices{found}, of a part of the batch, names a row of another part. Indices that "
            "count the rows of a batch (tf.range(n) * m + i) are cut as these are where i is in "
            "[0, m); with any other i the batch must be whole: daskvars.config.set(batch_parts=1)"
        )


def segment_sum(xp: ArrayModule, data: Array, ids: Array, **rows: Unpack[Segments]) -> Array:
    """Sum the rows of each segment (as ``tf.unsorted_segment_sum``).

    Args:
        data: [*ids.shape, ...] number.
        ids: int, the segment of each row, in any order; rows with a negative id are dropped.
        rows: the segments of this part of the result.

    Returns:
        [num_segments, ...], dtype of ``data``; zeros where a segment is empty.

    Raises:
        InvalidArgumentError: an id is beyond the last segment.

    >>> segment_sum(np, np.array([[1.0], [2.0], [4.0]]), np.array([1, 0, 1]), num_segments=2)
    array([[2.],
           [5.]])
    """
    work = data.astype(float_work(data.dtype), copy=False)
    sums = _sparse_sums if work.dtype.kind in "fiu" else _sums_of_all
    sums = sums if xp is np else _sums_on_device
    return sums(xp, work, ids, **rows).astype(data.dtype, copy=False)


def _sums_on_device(xp: ArrayModule, data: Array, ids: Array, **rows: Unpack[Segments]) -> Array:
    count, tail = rows["num_segments"], data.shape[ids.ndim :]
    flat, own = segment_rows(xp, ids, data.reshape(ids.size, math.prod(tail)), **rows)
    each, ones = xp.arange(flat.size), xp.ones(flat.size, data.dtype)
    return device_sums(xp, flat, each, ones, own, count).reshape(count, *tail)


def _sums_of_all(xp: ArrayModule, data: Array, ids: Array, **rows: Unpack[Segments]) -> Array:
    return segment_reduce(xp, "add", data, ids, 0, **rows)


def _sparse_sums(xp: ArrayModule, data: Array, ids: Array, **rows: Unpack[Segments]) -> Array:
    """Return the sums as the product with a sparse matrix: rows one after the other (NumPy)."""
    count, tail = rows["num_segments"], data.shape[ids.ndim :]
    flat, own = segment_rows(xp, ids, data.reshape(ids.size, *tail), **rows)
    width = math.prod(tail)
    if not flat.size or not width:
        return np.zeros((count, *tail), data.dtype)
    if width == 1 and data.dtype.kind == "f":
        return xp.bincount(flat, own.reshape(-1), count).astype(data.dtype).reshape(count, *tail)
    if width == 1:  # (m, 128 numbers: 2 us instead of 18)
        sums = np.zeros(count, data.dtype)
        xp.add.at(sums, flat, own.reshape(-1))
        return sums.reshape(count, *tail)
    if own.size < FEW_SUMMED:
        sums = np.zeros((count, width), data.dtype)
        add_at(sums, flat, own.reshape(flat.size, width))
        return sums.reshape(count, *tail)
    ones, starts = np.ones(flat.size, data.dtype), np.arange(flat.size + 1)
    matrix = scipy.sparse.csc_array((ones, flat, starts), (count, flat.size))
    return (matrix @ own.reshape(flat.size, width)).reshape(count, *tail)


def segment_prod(xp: ArrayModule, data: Array, ids: Array, **rows: Unpack[Segments]) -> Array:
    """Multiply the rows of each segment; ones where a segment is empty."""
    return segment_reduce(xp, "multiply", data, ids, 1, **rows)


def segment_max(
    xp: ArrayModule, data: Array, ids: Array, *, empty: Any = None, **rows: Unpack[Segments]
) -> Array:
    """Return the largest of each segment's rows, element by element.

    Args:
        data, ids: as for ``segment_sum``.
        empty: value of empty segments; None for the lowest of the dtype, as TensorFlow's.
        rows: as for ``segment_sum``.
    """
    empty = extremes(data.dtype)[0] if empty is None else empty
    return segment_reduce(xp, "maximum", data, ids, empty, **rows)


def segment_min(
    xp: ArrayModule, data: Array, ids: Array, *, empty: Any = None, **rows: Unpack[Segments]
) -> Array:
    """Return the smallest of each segment's rows. See ``segment_max``."""
    empty = extremes(data.dtype)[1] if empty is None else empty
    return segment_reduce(xp, "minimum", data, ids, empty, **rows)


def segment_mean(xp: ArrayModule, data: Array, ids: Array, **rows: Unpack[Segments]) -> Array:
    """Return the mean of each segment's rows, of integers cut off; zeros where one is empty."""
    sums = segment_sum(xp, data.astype(float_work(data.dtype), copy=False), ids, **rows)
    counts = xp.maximum(segment_counts(xp, ids, **rows), 1).reshape(-1, *(1,) * (sums.ndim - 1))
    if data.dtype.kind in "iu":  # which may have too few bits for a count
        wide = np.dtype(f"{data.dtype.kind}8")
        return truncate_divide(xp, sums.astype(wide), counts.astype(wide)).astype(data.dtype)
    sums /= counts.astype(sums.dtype)
    return sums.astype(data.dtype, copy=False)


def segment_counts(xp: ArrayModule, ids: Array, **rows: Unpack[Segments]) -> Array:
    """Return the number of rows of each segment, [num_segments] int64."""
    flat, _ = segment_rows(xp, ids, None, **rows)
    return xp.bincount(flat, minlength=rows["num_segments"]).astype(np.int64, copy=False)


def deduplicate(xp: ArrayModule, values: Array, ids: Array) -> tuple[Any, Any]:
    """Sum the rows that share an id: the plain form of a sparse gradient.

    Args:
        values: [n, ...] number.
        ids: [n] int.

    Returns:
        (sums [m, ...], ids [m] ascending), dtypes as given.

    >>> deduplicate(np, np.array([1.0, 2.0, 4.0]), np.array([7, 3, 7]))
    (array([2., 5.]), array([3, 7]))
    """
    sums, unique = combine_rows(xp, "add", values.astype(float_work(values.dtype), copy=False), ids)
    return sums.astype(values.dtype, copy=False), unique


def segment_reduce(
    xp: ArrayModule, combine: str, data: Array, ids: Array, empty: Any, **rows: Unpack[Segments]
) -> Array:
    """Combine the rows of each segment; ``empty`` where a segment has none."""
    tail = data.shape[ids.ndim :]
    flat, own = segment_rows(xp, ids, data.reshape(ids.size, *tail), **rows)
    out = xp.full((rows["num_segments"], *tail), empty, data.dtype)
    if flat.size:
        combined, unique = combine_rows(xp, combine, own, flat)
        put_rows(xp, out, unique, combined)
    return out


def segment_rows(
    xp: ArrayModule,
    ids: Array,
    rows: Array | None,
    *,
    num_segments: int,
    offset: int = 0,
    size: int | None = None,
    closed: bool = False,
) -> tuple[Array, Any]:
    """Return the ids [n], counted from ``offset``, and the rows [n, ...] that are of one part."""
    given, ids = ids, ids.reshape(-1)
    if not ids.size:
        return ids, rows
    whole = num_segments if size is None else size
    low, high = int(ids.min()), int(ids.max())
    if high >= whole:
        found = _found(given, int(xp.flatnonzero(ids >= whole)[0]))
        raise invalid(
            f"segment_ids{found} is out of range [0, {whole}): "
            "raise num_segments or drop the row with a negative id"
        )
    if low >= offset and high < offset + num_segments:
        return (ids - offset if offset else ids), rows
    is_here = (ids >= offset) & (ids < offset + num_segments)
    if closed:
        _check_closed(xp, given, is_here | (ids < 0))
    kept = xp.flatnonzero(is_here)
    return ids[kept] - offset, None if rows is None else rows.take(kept, axis=0)


def as_array(xp: ArrayModule, taken: Any) -> Array:
    """Return what was taken of an array: one of its strings comes as bytes, which are none."""
    return xp.asarray(taken, object) if type(taken) is bytes else taken


def gather_rows(
    xp: ArrayModule, params: Array, ids: Array, *, axis: int = 0, **part: Unpack[Part]
) -> Array:
    """Return the slices of ``params`` along ``axis`` that ``ids`` name (as ``tf.gather``).

    Args:
        params: [..., n, ...] any dtype.
        ids: int, any shape, in [0, size).
        axis: the dimension that ``ids`` index.
        part: the slices of a table that ``params`` has.

    Returns:
        [*params.shape[:axis], *ids.shape, *params.shape[axis + 1:]], dtype of ``params``; zeros
        for ids that lie in another part, so that the results of all parts add up to the whole's.

    Raises:
        InvalidArgumentError: an id is out of range.
    """
    offset, size = part.get("offset", 0), part.get("size")
    extent = params.shape[axis]
    check_ids(xp, ids, size=extent if size is None else size)
    # Checked already, so NumPy need not prepare for failing half way.
    options = {"mode": "clip"} if xp is np else {}
    if size is None or (offset == 0 and size == extent):
        return as_array(xp, params.take(ids, axis=axis, **options))
    local = ids - offset
    elsewhere = (local < 0) | (local >= extent)
    if part.get("closed"):
        _check_closed(xp, ids, ~elsewhere)
    if not extent:
        shape = (*params.shape[:axis], *ids.shape, *params.shape[axis % params.ndim + 1 :])
        return xp.zeros(shape, params.dtype)
    # One element of a vector comes as a number, which nothing can be assigned to.
    out = xp.asarray(params.take(xp.where(elsewhere, 0, local), axis=axis, **options))
    out[(slice(None),) * (axis % params.ndim) + (elsewhere,)] = 0
    return out


def check_rows(
    xp: ArrayModule, x: Array, ids: Array, *_: Array, size: int | None = None, **others: Any
) -> None:
    """Raise InvalidArgumentError where ``scatter_rows`` of the same arguments would."""
    check_ids(xp, ids, size=len(x) if size is None else size)


def scatter_rows(
    xp: ArrayModule, x: Array, ids: Array, updates: Array, *, mode: str, **part: Unpack[Part]
) -> Array:
    """Return ``x`` with the rows that ``ids`` name updated.

    Args:
        x: [n, ...] number.
        ids: int, any shape, in [0, size).
        updates: [*ids.shape, ...] or a scalar, dtype of ``x``.
        mode: "update", "add", "sub", "mul", "div", "min" or "max".
        part: the rows of a table that ``x`` has.

    Returns:
        A new array like ``x``.

    Raises:
        InvalidArgumentError: an id is out of range.

    >>> scatter_rows(np, np.zeros(3), np.array([1, 1]), np.array([2.0, 3.0]), mode="add")
    array([0., 5., 0.])
    """
    out = x.copy()
    scatter_rows_into(xp, out, ids, updates, mode=mode, **part)
    return out


def scatter_rows_into(
    xp: ArrayModule, out: Array, ids: Array, updates: Array, *, mode: str, **part: Unpack[Part]
) -> None:
    """Update rows of ``out`` where it lies: for the owner of a buffer only.

    Args:
        out: [n, ...] number, overwritten.
        ids, updates, mode, part: as for ``scatter_rows``.

    Raises:
        InvalidArgumentError: an id is out of range; ``out`` is then untouched.
    """
    offset, size = part.get("offset", 0), part.get("size")
    check_rows(xp, out, ids, size=size)
    flat = ids.reshape(-1)
    shape = (*ids.shape, *out.shape[1:])
    rows = updates if updates.shape == shape else xp.broadcast_to(updates, shape)
    rows = rows.reshape(flat.size, *out.shape[1:])
    if size is not None and size != len(out):
        here = xp.flatnonzero((flat >= offset) & (flat < offset + len(out)))
        flat, rows = flat[here] - offset, rows.take(here, axis=0)
    if not flat.size:
        return
    if mode == "update":
        if xp is not np:
            flat, rows = last_rows(xp, flat, rows)
        put_rows(xp, out, flat, rows)
        return
    apply = MODES[mode]
    if not (flat[1:] > flat[:-1]).all():
        apply_rows(xp, apply, out, flat, rows)
        return
    # Each names a row of its own. Checked already, so NumPy need not prepare for failing half way.
    old = out.take(flat, axis=0, **({"mode": "clip"} if xp is np else {}))
    getattr(xp, apply)(old, rows, out=old, casting="unsafe")
    put_rows(xp, out, flat, old)


def rows_named(xp: ArrayModule, ids: Array, count: int, offset: int, size: int | None) -> Array:
    """Return the rows of a part of ``count`` rows that ``ids`` name, ascending, each once."""
    flat = ids.reshape(-1)
    if size is not None and size != count:
        flat = flat[(flat >= offset) & (flat < offset + count)] - offset
    return flat if (flat[1:] > flat[:-1]).all() else xp.unique(flat)


def gather_nd(xp: ArrayModule, params: Array, indices: Array) -> Array:
    """Return the slices of ``params`` that rows of ``indices`` name (as ``tf.gather_nd``).

    Args:
        params: [n0, ..., nk, ...] any dtype.
        indices: [..., k + 1] int.

    Returns:
        [*indices.shape[:-1], *params.shape[k + 1:]], dtype of ``params``.

    Raises:
        InvalidArgumentError: an index is out of range.
    """
    depth = indices.shape[-1]
    rows = params.reshape(math.prod(params.shape[:depth]), *params.shape[depth:])
    return as_array(xp, rows.take(flat_index(xp, indices, params.shape, gathers=True), axis=0))


def scatter_nd(xp: ArrayModule, indices: Array, updates: Array, *, shape: tuple) -> Array:
    """Return zeros with ``updates`` added at ``indices`` (as ``tf.scatter_nd``).

    Args:
        indices: [..., k] int.
        updates: [*indices.shape[:-1], *shape[k:]] number.
        shape: extents of the result.

    Returns:
        [*shape], dtype of ``updates``; duplicates are summed.

    Raises:
        InvalidArgumentError: an index is out of range.
    """
    return scatter_nd_rows(xp, xp.zeros(shape, updates.dtype), indices, updates, mode="add")


def scatter_nd_rows(
    xp: ArrayModule, x: Array, indices: Array, updates: Array, *, mode: str
) -> Array:
    """Return ``x`` with the slices that rows of ``indices`` name updated.

    Args:
        x: [n0, ..., nk, ...] number.
        indices: [..., k + 1] int.
        updates: [*indices.shape[:-1], *x.shape[k + 1:]], dtype of ``x``.
        mode: as for ``scatter_rows``.

    Returns:
        A new array like ``x``.
    """
    depth = indices.shape[-1]
    rows = x.reshape(math.prod(x.shape[:depth]), *x.shape[depth:])
    updated = scatter_rows(xp, rows, flat_index(xp, indices, x.shape), updates, mode=mode)
    return updated.reshape(x.shape)


def flat_index(xp: ArrayModule, indices: Array, shape: tuple, *, gathers: bool = False) -> Array:
    """Return the row numbers that rows of ``indices`` name, checked, int64.

    Errors are worded for what is gathered from ``shape`` or for what is scattered into it.
    """
    depth = indices.shape[-1]
    extents = xp.asarray(shape[:depth], np.uint64)
    outside = indices.astype(np.uint64) >= extents  # negative ones are large
    if outside.any():
        wrong = outside.any(axis=-1)
        number = int(xp.flatnonzero(wrong)[0])
        place = np.unravel_index(number, wrong.shape)
        found = f"{indices[place].tolist()} does not index into"
        position = ",".join(map(str, (*map(int, place), 0)))
        target = in_brackets(shape)
        if gathers:
            said = f"flat indices[{number}, :] = {found} param (shape: {target})"
            empty = "Requested more than 0 entries, but params is empty."
        else:
            said = f"Invalid indices: [{position}] = {found} {target}"
            empty = "Indices and updates specified for empty output."
        said += "" if math.prod(shape) else f". {empty} Its shape is {target}"
        raise invalid(said)
    if not depth:
        return xp.zeros(indices.shape[:-1], np.int64)
    wide = indices.astype(np.int64, copy=False)
    flat = wide[..., -1]
    for axis in range(depth - 1):
        flat = flat + wide[..., axis] * math.prod(shape[axis + 1 : depth])
    return flat
