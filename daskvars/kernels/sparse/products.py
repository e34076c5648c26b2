"""Products of a sparse matrix and a dense one, and of two dense ones at places alone.

Each is the gradient of the other. NumPy's are SciPy's, which adds to a row of the result for one
element after the other: neither the rows that these name nor their products are ever an array of
their own. Nor are they on a GPU, where sums have the same order (`gather_scatter.rows`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse

from daskvars.backend import DEVICE_BLOCK_ELEMENTS, Array, ArrayModule
from daskvars.errors import invalid
from daskvars.kernels.gather_scatter.rows import FEW_ELEMENTS, apply_rows, device_sums
from daskvars.kernels.math.precision import float_work
from daskvars.kernels.math.row_sums import total
from daskvars.shapes import in_brackets

# Elements of the rows that are multiplied at once: they stay in a core's own cache (m, 420,000
# places of rows of 128: 28 ms, of all at once 88).
BLOCK_ELEMENTS = 1 << 16


def sparse_matmul(
    xp: ArrayModule,
    indices: Array,
    values: Array,
    b: Array,
    *,
    shape: Any,
    transpose_a: bool = False,
    offset: int = 0,
    size: int | None = None,
) -> Array:
    """Multiply a sparse matrix, or its transpose, by a dense one.

    Args:
        indices: [e, 2] int, the row and the column of each element, in any order.
        values: [e] number; elements of one place add up.
        b: [k, n], dtype of ``values``.
        shape: the sizes of the sparse matrix, [m, k], or [k, m] where it is transposed.
        transpose_a: whether it is.
        offset: the first row that ``b`` has of a whole, to whose product the results of all parts
            add up.
        size: rows of the whole; None, the default, where ``b`` is all of it.

    Returns:
        [m, n], dtype of ``values``; 16-bit floats add up in float32.

    Raises:
        InvalidArgumentError: the sizes do not fit, or an index is out of range.

    >>> places, b = np.array([[0, 1], [1, 0]]), np.array([[1.0], [10.0]])
    >>> sparse_matmul(np, places, np.array([2.0, 3.0]), b, shape=(2, 2))
    array([[20.],
           [ 3.]])
    """
    sizes = tuple([int(n) for n in shape])
    first, second = (1, 0) if transpose_a else (0, 1)
    whole = len(b) if size is None else size
    if sizes[second] != whole:
        raise invalid(
            f"Cannot multiply A and B because inner dimension does not match: {sizes[second]} vs. "
            f"{whole}. Did you forget a transpose? Dimensions of A: {in_brackets(sizes)}, of B: "
            f"{in_brackets((whole, b.shape[1]))}"
        )
    into = _checked(xp, indices, second, whole, "k")
    out = _checked(xp, indices, first, sizes[first], "m")
    if whole != len(b):
        kept = xp.flatnonzero((into >= offset) & (into < offset + len(b)))
        out, into, values = out[kept], into[kept] - offset, values[kept]
    dtype, work = values.dtype, float_work(values.dtype)
    values, b = values.astype(work, copy=False), b.astype(work, copy=False)
    return _added_up(xp, out, into, values, b, sizes[first]).astype(dtype, copy=False)


def _added_up(
    xp: ArrayModule, out: Array, into: Array, values: Array, b: Array, count: int
) -> Array:
    """Return rows to which multiples of rows of ``b`` are added, one after the other."""
    if not (values.size and b.size):
        return xp.zeros((count, b.shape[1]), b.dtype)
    if xp is not np:
        return device_sums(xp, out, into, values, b, count)
    if len(values) * b.shape[1] < FEW_ELEMENTS and b.dtype.kind != "c":
        # Making a matrix of SciPy's takes longer (m: 60 us; 480 elements 8, 3200 24).
        sums = xp.zeros((count, b.shape[1]), b.dtype)
        apply_rows(xp, "add", sums, out, b.take(into, axis=0) * values[:, None])
        return sums
    return scipy.sparse.coo_array((values, (out, into)), (count, len(b))) @ b


def _checked(xp: ArrayModule, indices: Array, column: int, size: int, letter: str) -> Array:
    """Return a column of indices, of which each is in [0, size)."""
    ids = indices[:, column]
    # As unsigned numbers negative ones are larger than any size: one pass sees both ends.
    unsigned = ids.view(f"u{ids.dtype.itemsize}")
    if ids.size and unsigned.max() >= size:
        number = int(xp.flatnonzero(unsigned >= size)[0])
        raise invalid(
            f"{letter} ({int(ids[number])}) from index[{number},{column}] out of bounds (>={size})"
        )
    return ids


def sampled_matmul(xp: ArrayModule, indices: Array, x: Array, y: Array) -> Array:
    """Multiply a matrix by the transpose of another, at some places of the result alone.

    Args:
        indices: [e, 2] int, the row and the column of each place, in [0, m) and [0, k).
        x: [m, n] number.
        y: [k, n], dtype of ``x``.

    Returns:
        [e], dtype of ``x``; 16-bit floats add up in float32.

    >>> x, y = np.array([[1.0, 2.0]]), np.array([[3.0, 4.0], [5.0, 6.0]])
    >>> sampled_matmul(np, np.array([[0, 1]]), x, y)
    array([17.])
    """
    rows = _checked(xp, indices, 0, len(x), "m")
    columns = _checked(xp, indices, 1, len(y), "k")
    work, width = float_work(x.dtype), x.shape[1]
    found = xp.zeros(len(indices), work)
    step = max(1, (BLOCK_ELEMENTS if xp is np else DEVICE_BLOCK_ELEMENTS) // max(1, width))
    for start in range(0, len(found) if width else 0, step):
        part = slice(start, start + step)
        products = x.take(rows[part], axis=0).astype(work, copy=False)
        products *= y.take(columns[part], axis=0).astype(work, copy=False)
        found[part] = total(xp, products, -1)[:, 0]
    return found.astype(x.dtype, copy=False)
