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
from daskvars.kernels.nn.patches import working_dtype


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

    Example:
        >>> import numpy as np
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
    dx = xp.zeros_like(x)
    free = xp.ones(y.shape, bool)
    for windows_down, down in _taps(rows, x.shape[1], overlapping):
        for windows_along, along in _taps(columns, x.shape[2], overlapping):
            windows = (slice(None), windows_down[:, None], windows_along)
            pixels = (slice(None), down[:, None], along)
            is_first = (x[pixels] == y[windows]) & free[windows]
            free[windows] &= ~is_first
            dx[pixels] += xp.where(is_first, dy[windows], 0).astype(dx.dtype)
    return dx


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
    counts = _counts(rows, columns, x.shape, overlapping)
    sums = x.astype(np.dtype("i8") if is_integer else working_dtype(xp, dtype))
    for axis, begins in ((1, rows), (2, columns)):
        sums = _pooled(xp, xp.add, sums, begins, axis, overlapping, 0)
    sizes = xp.asarray(counts.astype(sums.dtype))
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
    share = dy / xp.asarray(_counts(rows, columns, input_shape, overlapping).astype(work))
    for axis, begins in ((1, rows), (2, columns)):
        shape = (*share.shape[:axis], input_shape[axis], *share.shape[axis + 1 :])
        spread = xp.zeros(shape, work)
        before = (slice(None),) * axis
        for windows, pixels in _taps(begins, input_shape[axis], overlapping):
            spread[(*before, pixels)] += share[(*before, windows)]
        share = spread
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
    before = (slice(None),) * axis
    for windows, pixels in _taps(begins, x.shape[axis], overlapping):
        found = (*before, windows)
        y[found] = combine(y[found], x[(*before, pixels)])
    return y


def _taps(begins: Array, size: int, overlapping: bool) -> Iterator[tuple[Array, Array]]:
    """Yield (windows that have a tap, their pixels there), for one tap after another."""
    first, stop = _bounds(begins, size, overlapping)
    for tap in range(int((stop - first).max(initial=0))):
        windows = np.flatnonzero(first + tap < stop)
        yield windows, first[windows] + tap


def _bounds(begins: Array, size: int, overlapping: bool) -> tuple[Array, Array]:
    """Return where windows begin and end, on the host: they are indices."""
    places = np.array(begins.tolist(), np.int64)
    return places[:-1], np.minimum(places[1:] + overlapping, size)


def _counts(rows: Array, columns: Array, shape: tuple[int, ...], overlapping: bool) -> Array:
    """Return how many pixels each window has, [rows, columns, 1]; of an empty one, 1."""
    first, stop = _bounds(rows, shape[1], overlapping)
    left, right = _bounds(columns, shape[2], overlapping)
    down, along = stop - first, right - left
    return np.maximum(down[:, None] * along, 1)[..., None]
