"""Rows moved by index: ids sorted with their places, rows of one id combined, whole rows written.

Ids are sorted together with their positions, in one array of (id, position) pairs packed into an
integer, which sorts fast and keeps equal ids in order. Rows are then combined in rounds: round k
takes the k-th row of every segment that has one, and segments longer than that are reduced on
their own. Rows of one id are always taken in the order given, so results repeat bitwise. What is
done to rows of a table begins with these: its bits are those of one update after the other.

Measured, one thread, 8192 rows of 64 float32 with Zipf ids: rounds 0.6 ms, ``ufunc.reduceat``
3.1, ``ufunc.at`` 7. With few elements a row, adding element by element is faster.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from daskvars.backend import Array, ArrayModule, device_kernel

# Segments of more rows than this are reduced one by one (m: 8 to 64 within 20 %, 32 the best).
ROUNDS = 32
# Rows narrower than this, or fewer elements than that, are added element by element (m, 512 rows of
# 16 float32 to a table: 34 us instead of 116; 640 of 128: 215 and 160).
NARROW_ROW, FEW_ELEMENTS = 8, 1 << 15
# So few ids are sorted by themselves (m, 40 ids: 1.2 us instead of 5.8; 256: 3.5 and 6.6).
FEW_IDS = 256
# Of a GPU, whose threads make an element of a sum each, of its terms in their order.
DEVICE_SUMS = """
long long row = i / width, column = i % width;
T total = 0;
for (long long j = starts[row]; j < starts[row + 1]; ++j)
    total += factors[j] * rows[places[j] * width + column];
sum = total;
"""
# As that, and as `apply_in_rounds`: what ``{}`` gives is the total so far, and one term more.
DEVICE_FOLD = """
long long row = i / width, column = i % width;
long long stop = row + 1 < segments ? starts[row + 1] : count;
T total = changed;
for (long long j = starts[row] + 1; j < stop; ++j) {{
    T term = rows[places[j] * width + column];
    total = {};
}}
changed = total;
"""
DEVICE_TERMS = {
    "add": "total + term",
    "subtract": "total - term",
    "multiply": "total * term",
    "divide": "total / term",
    "maximum": "total != total || total >= term ? total : term",
    "minimum": "total != total || total <= term ? total : term",
}
# The method that reduces an array as each function combines two.
REDUCTIONS = {"add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min"}


def combine_rows(xp: ArrayModule, combine: str, rows: Array, ids: Array) -> tuple[Any, Any]:
    """Combine the rows that share an id; return (combined rows, ascending ids)."""
    if not ids.size:
        return rows, ids
    order, ordered, edge = _segments(xp, ids)
    (starts,) = edge.nonzero()
    width = math.prod(rows.shape[1:])
    matrix = rows.reshape(ids.size, width)
    few = xp is np and (width < NARROW_ROW or matrix.size < FEW_ELEMENTS)
    if len(starts) == ids.size:
        combined = matrix.take(order, axis=0)
    elif few and combine == "add" and matrix.dtype.kind in "fiu":
        combined = add_elements(matrix, order, edge, starts)
    else:
        combined = matrix.take(order[starts], axis=0)
        apply_in_rounds(xp, combine, combined, matrix, order, starts)
    unique = ordered[starts].astype(ids.dtype, copy=False)
    return combined.reshape(len(starts), *rows.shape[1:]), unique


def apply_rows(xp: ArrayModule, apply: str, out: Array, ids: Array, rows: Array) -> None:
    """Do ``out[id] = apply(out[id], row)`` for one row after the other, in the order given."""
    width = math.prod(rows.shape[1:])
    few = xp is np and (width < NARROW_ROW or rows.size < FEW_ELEMENTS)
    if few and out.dtype.kind in ("f" if apply == "divide" else "fiu"):
        _apply_elements(apply, out, ids, rows)
        return
    order, ordered, edge = _segments(xp, ids)
    (starts,) = edge.nonzero()
    unique, matrix = ordered[starts], rows.reshape(ids.size, width)
    # Checked already, so NumPy need not prepare for failing half way.
    changed = out.take(unique, axis=0, **({"mode": "clip"} if xp is np else {}))
    flat = changed.reshape(len(starts), width)
    getattr(xp, apply)(flat, matrix.take(order[starts], axis=0), out=flat, casting="unsafe")
    if len(starts) < ids.size:
        apply_in_rounds(xp, apply, flat, matrix, order, starts)
    put_rows(xp, out, unique, changed)


def _apply_elements(apply: str, out: Array, ids: Array, rows: Array) -> None:
    """Apply rows to those of a table one element after the other (NumPy)."""
    width = math.prod(rows.shape[1:])
    places = (ids[:, None].astype(np.int64) * width + np.arange(width)).reshape(-1)
    flat = out.reshape(-1)
    getattr(np, apply).at(flat, places, rows.reshape(-1))
    if not out.flags.c_contiguous:  # the elements were a copy
        out[...] = flat.reshape(out.shape)


def _segments(xp: ArrayModule, ids: Array) -> tuple[Any, Any, Any]:
    """Return (stable order of ids, sorted ids, which of these are another than the one before)."""
    order, ordered = sorted_order(xp, ids)
    edge = xp.empty(ids.shape, bool)
    edge[:1] = True
    xp.not_equal(ordered[1:], ordered[:-1], out=edge[1:])
    return order, ordered, edge


def sorted_order(xp: ArrayModule, ids: Array) -> tuple[Any, Any]:
    """Return (stable order of ``ids``, sorted ids), both int64."""
    if xp is np and len(ids) <= FEW_IDS:
        few: Any = ids.astype(np.int64)
        order = few.argsort(kind="stable")
        return order, few[order]
    ids = ids.astype(np.int64)
    bits = max(len(ids) - 1, 1).bit_length()
    limit = 1 << (63 - bits)
    if int(ids.min()) < -limit or int(ids.max()) >= limit:
        order = xp.argsort(ids, kind="stable")
        return order, ids[order]
    ids <<= bits
    ids |= xp.arange(len(ids))
    ids.sort()
    order = ids & ((1 << bits) - 1)
    ids >>= bits
    return order, ids


def is_ascending(xp: ArrayModule, places: Array, *, strictly: bool = False) -> bool:
    """Return whether each row of coordinates [n, rank] comes after the one before it.

    The first coordinate is the slowest. Equal rows are fine unless it must be `strictly` so.
    """
    before, after = places[:-1], places[1:]
    fine: Any = xp.full(len(after), not strictly)
    for axis in reversed(range(places.shape[1])):
        low, high = before[:, axis], after[:, axis]
        fine &= high == low
        fine |= high > low
    return bool(fine.all())


def distinct(ids: Any) -> tuple[Any, Any]:
    """Return the distinct ids, ascending, and for each id which of them it is (NumPy).

    That is ``numpy.unique`` with its inverse in half of the time.
    """
    if not ids.size:
        return ids, np.zeros(0, np.int64)
    order, ordered, edge = _segments(np, ids)
    places = np.empty(len(order), np.int64)
    places[order] = np.cumsum(edge) - 1
    return ordered[edge].astype(ids.dtype, copy=False), places


def add_elements(matrix: Array, order: Array, edge: Any, starts: Any) -> Array:
    """Return the sums of rows by adding one element after the other (NumPy).

    A sum begins with its first row, as in `combine_rows`: from zero, -0.0 would become 0.0,
    and the bits would depend on what other ids there are.
    """
    sums, others = matrix.take(order[starts], axis=0), ~edge
    segment = (edge.cumsum() - 1)[others]
    add_at(sums, segment, matrix.take(order[others], axis=0))
    return sums


def add_at(sums: Array, ids: Array, rows: Array) -> None:
    """Add rows [n, width] to those that ``ids`` name, element after element, in order (NumPy).

    Args:
        sums: [m, width], contiguous, overwritten.
        ids: [n] int, in [0, m).
        rows: [n, width], dtype of ``sums``.
    """
    width = sums.shape[1]
    places: Any = ids if width == 1 else (ids[:, None] * width + np.arange(width)).reshape(-1)
    np.add.at(sums.reshape(-1), places, rows.reshape(-1))


def apply_in_rounds(
    xp: ArrayModule, apply: str, changed: Array, matrix: Array, order: Array, starts: Any
) -> None:
    """Apply all rows but the first of each segment of the sorted ``order`` to rows of ``changed``.

    Args:
        apply: name of the function.
        changed: [segments, width], overwritten.
        matrix: [ids, width].
        order: [ids] int64.
        starts: [segments] int64, the places in ``order`` where segments begin.
    """
    kinds = "f" if apply == "divide" else "fiu"
    if xp is not np and changed.dtype == matrix.dtype and changed.dtype.kind in kinds:
        _fold_on_device(xp, apply, changed, matrix, order, starts)
        return
    function = getattr(xp, apply)
    lengths = xp.diff(starts, append=len(order))
    repeated = xp.flatnonzero(lengths > 1)
    repeated = repeated[xp.argsort(-lengths[repeated], kind="stable")]
    lengths, firsts = lengths[repeated], starts[repeated]
    found = changed.take(repeated, axis=0)
    # Segments are now longest first, so those with a k-th row are always the leading ones.
    live = xp.searchsorted(-lengths, -xp.arange(1, ROUNDS + 1), side="left").tolist()
    long = live[-1]
    for number, stop in enumerate(live[:-1], 1):
        if stop <= long:
            break
        part = found[long:stop]
        rows = matrix.take(order[firsts[long:stop] + number], axis=0)
        function(part, rows, out=part, casting="unsafe")
    for place, (first, length) in enumerate(
        zip(firsts[:long].tolist(), lengths[:long].tolist(), strict=True)
    ):
        rows = matrix.take(order[first : first + length], axis=0)
        _apply_all(xp, apply, found[place], rows)
    put_rows(xp, changed, repeated, found)


def _fold_on_device(
    xp: ArrayModule, apply: str, changed: Array, matrix: Array, order: Array, starts: Any
) -> None:
    """Do what `apply_in_rounds` does by one launch, one row after the other (CuPy)."""
    sizes = "int64 width, int64 segments, int64 count"
    inputs = f"raw int64 starts, raw int64 places, raw T rows, {sizes}"
    source = DEVICE_FOLD.format(DEVICE_TERMS[apply])
    fold = device_kernel(xp, inputs, "T changed", source, f"daskvars_fold_{apply}")
    rows = xp.ascontiguousarray(matrix)
    fold(starts, order, rows, changed.shape[1], len(starts), len(order), changed)


def _apply_all(xp: ArrayModule, apply: str, changed: Array, rows: Array) -> None:
    """Apply all rows but the first to one row, which is overwritten, as the first is."""
    if apply == "divide":
        for row in rows[1:]:
            xp.divide(changed, row, out=changed, casting="unsafe")
        return
    if apply == "subtract":
        apply, rows = "add", -rows  # which gives the same bits
    rows[0] = changed
    getattr(rows, REDUCTIONS[apply])(axis=0, out=changed)


def device_sums(
    xp: ArrayModule, ids: Array, places: Array, factors: Array, rows: Array, count: int
) -> Array:
    """Return sums of multiples of rows, added one after the other in the order given (CuPy).

    Args:
        ids: [n] int, in [0, count): the sum that each is added to.
        places: [n] int, in [0, len(rows)): which row that is.
        factors: [n], dtype of ``rows``: what it is multiplied by.
        rows: [m, width] number.

    Returns:
        [count, width], dtype of ``rows``.

    On an H100 (m) 420,000 multiples of rows of 128 float32 are added up in 0.4 ms, and in 2.7 where
    most go to a few sums: `combine_rows` takes 14 and 114, as it calls kernels for each round.
    cuSPARSE, by CuPy, takes 2.4, has no integers, and its results do not repeat.
    """
    sums = xp.empty((count, rows.shape[1]), rows.dtype)
    if not (ids.size and sums.size):
        sums.fill(0)
        return sums
    order, ordered = sorted_order(xp, ids)
    starts = xp.searchsorted(ordered, xp.arange(count + 1))
    ranks = places[order].astype(np.int64, copy=False)
    inputs = "raw int64 starts, raw int64 places, raw T factors, raw T rows, int64 width"
    add_up = device_kernel(xp, inputs, "T sum", DEVICE_SUMS, "daskvars_sums")
    add_up(starts, ranks, factors[order], xp.ascontiguousarray(rows), sums.shape[1], sums)
    return sums


def last_rows(xp: ArrayModule, ids: Array, rows: Array) -> tuple[Any, Any]:
    """Return the last row given for each id, and the ids ascending."""
    order, ordered = sorted_order(xp, ids)
    last = xp.flatnonzero(xp.concatenate([ordered[1:] != ordered[:-1], xp.ones(1, bool)]))
    return ordered[last], rows.take(order[last], axis=0)


def put_rows(xp: ArrayModule, out: Array, ids: Array, rows: Array) -> None:
    """Write ``rows`` at ``ids`` of ``out``; rows that lie in one piece move as single items."""
    row_bytes = math.prod(out.shape[1:]) * out.dtype.itemsize
    plain = xp is np and out.flags.c_contiguous and rows.flags.c_contiguous and row_bytes
    if plain and out.ndim > 1 and out.dtype == rows.dtype and out.dtype.kind in "biufc":
        if out.itemsize == row_bytes:
            out.reshape(-1)[ids] = rows.reshape(-1)
            return
        item = np.dtype((np.void, row_bytes))
        out.reshape(len(out), -1).view(item)[ids, 0] = rows.reshape(len(rows), -1).view(item)[:, 0]
    else:
        out[ids] = rows
