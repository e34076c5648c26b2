"""Pooling over windows of unequal sizes, and its gradients.

Windows are given by where they begin, along rows and along columns: [0, ..., size]; *overlapping*
ones have the first pixel of the next one as their last. A *tap* is a pixel's place in its window:
what is done tap by tap has no window twice, so that what overlaps can be added in place.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from daskvars.backend import Array, ArrayModule
from daskvars.kernels.math.precision import lowest
from daskvars.kernels.nn.windows.patches import working_dtype


def fractional_max_pool(
    xp: ArrayModule, x: Array, rows: Array, columns: Array, *, overlapping: bool
) -> Array:
    """Return the maximum of each window (as ``tf.nn.fractional_max_pool``).

    Args:
        x: [batch, height, width, channels] real.
        rows: [windows + 1] int64, where windows begin, and last the height.
        columns: [windows + 1] int64, likewise, and last the width.
        overlapping: whether the first pixel of the next window belongs to a window.

    Returns:
        [batch, len(rows) - 1, len(columns) - 1, channels], dtype of ``x``.

    >>> x = np.arange(9.0).reshape(1, 3, 3, 1)
    >>> fractional_max_pool(np, x, np.array([0, 1, 3]), np.array([0, 3]), overlapping=False
    ...                    ).ravel()
    array([2., 8.])
    """
    for axis, begins in ((1, rows), (2, columns)):
        x = _pooled(xp, xp.maximum, x, begins, axis, overlapping, lowest(x.dtype))
    return x


def fractional_max_pool_grad(
    xp: ArrayModule,
    x: Array,
    y: Array,
    dy: Array,
    rows: Array,
    columns: Array,
    *,
    overlapping: bool,
) -> Array:
    """Return the gradient of ``fractional_max_pool``: each window's goes to its first maximum.

    Args:
        x: [batch, height, width, channels] real, the images.
        y: [batch, rows, columns, channels], the maxima.
        dy: the gradient of ``y``, of its shape.
        rows, columns, overlapping: as for ``fractional_max_pool``.

    Returns:
        The shape and dtype of ``x``.
    """
    height, width = x.shape[1:3]
    dx = xp.zeros((x.shape[0], height + 1, width + 1, x.shape[3]), x.dtype)
    free = xp.ones(y.shape, bool)
    for is_down, down in _taps(xp, rows, height, overlapping):
        for is_along, along in _taps(xp, columns, width, overlapping):
            pixels = x[:, xp.minimum(down, height - 1)[:, None], xp.minimum(along, width - 1)]
            is_first = (pixels == y) & free & (is_down[:, None] & is_along)[..., None]
            free &= ~is_first
            dx[:, down[:, None], along] += xp.where(is_first, dy, 0).astype(dx.dtype)
    return dx[:, :height, :width]


def fractional_avg_pool(
    xp: ArrayModule, x: Array, rows: Array, columns: Array, *, overlapping: bool
) -> Array:
    """Return the mean of each window (as ``tf.nn.fractional_avg_pool``); integers are cut off.

    Args:
        x: [batch, height, width, channels] real.
        rows, columns, overlapping: as for ``fractional_max_pool``.

    Returns:
        [batch, len(rows) - 1, len(columns) - 1, channels], dtype of ``x``.
    """
    dtype, is_integer = x.dtype, x.dtype.kind in "iu"
    counts = _counts(xp, rows, columns, x.shape, overlapping)
    sums = x.astype(np.dtype("i8") if is_integer else working_dtype(xp, dtype))
    for axis, begins in ((1, rows), (2, columns)):
        sums = _pooled(xp, xp.add, sums, begins, axis, overlapping, 0)
    sizes = counts.astype(sums.dtype)
    if is_integer:
        return (xp.sign(sums) * (abs(sums) // sizes)).astype(dtype)
    return (sums / sizes).astype(dtype)


def fractional_avg_pool_grad(
    xp: ArrayModule,
    dy: Array,
    rows: Array,
    columns: Array,
    *,
    input_shape: tuple[int, ...],
    overlapping: bool,
) -> Array:
    """Return the gradient of ``fractional_avg_pool``: each window's in equal parts.

    Args:
        dy: [batch, rows, columns, channels] real.
        rows, columns, overlapping: as for ``fractional_max_pool``.
        input_shape: shape of the images.

    Returns:
        [batch, height, width, channels], dtype of ``dy``.
    """
    work = working_dtype(xp, dy.dtype) if dy.dtype.kind == "f" else np.dtype("f8")
    share = dy / _counts(xp, rows, columns, input_shape, overlapping).astype(work)
    for axis, begins in ((1, rows), (2, columns)):
        size, before = input_shape[axis], (slice(None),) * axis
        spread = xp.zeros((*share.shape[:axis], size + 1, *share.shape[axis + 1 :]), work)
        for is_there, pixels in _taps(xp, begins, size, overlapping):
            spread[(*before, pixels)] += xp.where(_along(is_there, axis), share, 0)
        share = spread[(*before, slice(size))]
    return share.astype(dy.dtype)


def _pooled(
    xp: ArrayModule,
    combine: np.ufunc,
    x: Array,
    begins: Array,
    axis: int,
    overlapping: bool,
    start: int | float,
) -> Array:
    """Combine what is in each window along one axis."""
    y = xp.full((*x.shape[:axis], len(begins) - 1, *x.shape[axis + 1 :]), start, x.dtype)
    size = x.shape[axis]
    for is_there, pixels in _taps(xp, begins, size, overlapping):
        found = xp.take(x, xp.minimum(pixels, size - 1), axis)
        y = combine(y, xp.where(_along(is_there, axis), found, y.dtype.type(start)))
    return y


def _taps(
    xp: ArrayModule, begins: Array, size: int, overlapping: bool
) -> Iterator[tuple[Array, Array]]:
    """Yield for one tap after another which windows have it, and its pixels: `size` if they do not.

    What is written there is no pixel's, and dropped.
    """
    first, stop = _bounds(xp, begins, size, overlapping)
    for tap in range(int((stop - first).max()) if len(first) else 0):
        is_there = first + tap < stop
        yield is_there, xp.where(is_there, first + tap, size)


def _along(is_there: Array, axis: int) -> Array:
    """Return what is said of each window with that axis the second or third of four."""
    return is_there[:, None, None] if axis == 1 else is_there[:, None]


def _bounds(xp: ArrayModule, begins: Array, size: int, overlapping: bool) -> tuple[Array, Array]:
    """Return where windows begin and end."""
    return begins[:-1], xp.minimum(begins[1:] + int(overlapping), size)


def _counts(
    xp: ArrayModule, rows: Array, columns: Array, shape: tuple[int, ...], overlapping: bool
) -> Array:
    """Return how many pixels each window has, [rows, columns, 1]; of an empty one, 1."""
    first, stop = _bounds(xp, rows, shape[1], overlapping)
    left, right = _bounds(xp, columns, shape[2], overlapping)
    return xp.maximum((stop - first)[:, None] * (right - left), 1)[..., None]
