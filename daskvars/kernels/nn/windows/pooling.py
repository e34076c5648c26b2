"""Max and average pooling over image windows, and their gradients.

A window's maximum (or sum) is taken along rows first, whose runs are long, and then along columns:
a k x k window costs 2 (k - 1) passes rather than k * k - 1. Edges have no padding: there, a pass
covers the windows that see the image. Where a maximum occurs several times in a window its first
place in row-major order takes the gradient, as in TensorFlow.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Unpack

import numpy as np
import scipy.sparse

from daskvars.backend import Array, ArrayModule
from daskvars.dtypes import DType
from daskvars.kernels.math.precision import lowest
from daskvars.kernels.nn.windows.patches import (
    block_bytes,
    channels_last,
    image_blocks,
    in_data_format,
    working_dtype,
)
from daskvars.kernels.nn.windows.sliding import PoolOptions, Tap, Windows, place_windows, spatial


def max_pool(xp: ArrayModule, x: Array, **options: Unpack[PoolOptions]) -> Array:
    """Return the maximum of each window (as ``tf.nn.max_pool``).

    Args:
        x: [batch, height, width, channels] number, in ``data_format`` order.
        options: where the windows are; padding never wins.

    Returns:
        [batch, rows, columns, channels], dtype of ``x``.

    >>> x = np.arange(16.0).reshape(1, 4, 4, 1)
    >>> max_pool(np, x, ksize=(1, 2, 2, 1), strides=(1, 2, 2, 1), padding="VALID").ravel()
    array([ 5.,  7., 13., 15.])
    """
    data_format = options.get("data_format", "NHWC")
    x = channels_last(x, data_format)
    windows = pool_windows(x.shape[1:3], **options)
    y = xp.empty((len(x), *windows.count, x.shape[3]), x.dtype)
    for images in image_blocks(len(x), x[:1].nbytes, 2 * block_bytes(xp)):
        slide(xp, xp.maximum, x[images], windows, lowest(x.dtype), y[images])
    return in_data_format(xp, y, data_format)


def max_pool_grad(
    xp: ArrayModule, x: Array, y: Array, dy: Array, **options: Unpack[PoolOptions]
) -> Array:
    """Return the gradient of ``max_pool`` with respect to its images.

    Args:
        x: [batch, height, width, channels] float, the images.
        y: [batch, rows, columns, channels] float, ``max_pool``'s result.
        dy: like ``y``, its gradient.

    Returns:
        Like ``x``: each window's gradient at its first maximum.
    """
    data_format = options.get("data_format", "NHWC")
    x, y, dy = (channels_last(array, data_format) for array in (x, y, dy))
    windows = pool_windows(x.shape[1:3], **options)
    if xp is np and not windows.apart:
        return in_data_format(xp, scatter_to_first(x, y, dy, windows), data_format)
    dx = (xp.empty if windows.tile else xp.zeros)(x.shape, dy.dtype)
    # Bits are multiplied as integers by 0 or 1: four times faster than a masked copy, and an
    # infinite or NaN gradient stays in its own place.
    bits = np.dtype(f"i{dy.dtype.itemsize}")
    for images in image_blocks(len(x), x[:1].nbytes, 2 * block_bytes(xp)):
        gradient_bits, found = dy[images].view(bits), dx[images]
        found_bits = found.view(bits)
        for tap, first in first_maxima(xp, x[images], y[images], windows):
            if windows.apart:
                xp.multiply(gradient_bits[tap.windows], first, out=found_bits[tap.pixels])
            else:
                found[tap.pixels] += (gradient_bits[tap.windows] * first).view(dy.dtype)
    return in_data_format(xp, dx, data_format)


def max_pool_grad_grad(
    xp: ArrayModule, x: Array, y: Array, ddx: Array, **options: Unpack[PoolOptions]
) -> Array:
    """Return the gradient of ``max_pool_grad`` with respect to ``dy``.

    Args:
        x, y, options: as of ``max_pool_grad``.
        ddx: like ``x``, the gradient of ``max_pool_grad``'s result.

    Returns:
        Like ``y``: ``ddx`` at each window's first maximum.
    """
    data_format = options.get("data_format", "NHWC")
    x, y, ddx = (channels_last(array, data_format) for array in (x, y, ddx))
    windows = pool_windows(x.shape[1:3], **options)
    ddy = xp.empty(y.shape, ddx.dtype)
    for images in image_blocks(len(x), x[:1].nbytes, block_bytes(xp)):
        places, found = first_places(xp, x[images], y[images], windows)
        ddy[images] = xp.where(found, ddx[images].reshape(-1)[places], 0)
    return in_data_format(xp, ddy, data_format)


def avg_pool(xp: ArrayModule, x: Array, **options: Unpack[PoolOptions]) -> Array:
    """Return the mean of each window; padding is not counted (as ``tf.nn.avg_pool``).

    Args:
        x: [batch, height, width, channels] float, in ``data_format`` order.

    Returns:
        [batch, rows, columns, channels], dtype of ``x``.
    """
    data_format = options.get("data_format", "NHWC")
    x = channels_last(x, data_format)
    windows = pool_windows(x.shape[1:3], **options)
    work = working_dtype(xp, x.dtype)
    weights = window_weights(xp, windows, work)
    y = xp.empty((len(x), *windows.count, x.shape[3]), x.dtype)
    for images in image_blocks(len(x), x[:1].nbytes, 2 * block_bytes(xp)):
        pixels = x[images].astype(work, copy=False)
        total = y[images] if work == y.dtype else xp.empty(y[images].shape, work)
        slide(xp, xp.add, pixels, windows, 0, total)
        xp.multiply(total, weights, out=y[images], casting="same_kind")
    return in_data_format(xp, y, data_format)


def avg_pool_grad(
    xp: ArrayModule, dy: Array, *, input_shape: tuple, **options: Unpack[PoolOptions]
) -> Array:
    """Return the gradient of ``avg_pool`` with respect to its images.

    Args:
        dy: [batch, rows, columns, channels] float, in ``data_format`` order.
        input_shape: shape of the images; its batch is ignored, ``dy``'s is taken.

    Returns:
        [batch, height, width, channels], dtype of ``dy``.
    """
    data_format = options.get("data_format", "NHWC")
    dy = channels_last(dy, data_format)
    windows = pool_windows(spatial(tuple(input_shape), data_format), **options)
    work = working_dtype(xp, dy.dtype)
    share = dy * window_weights(xp, windows, work)
    dx = (xp.empty if windows.tile else xp.zeros)((len(dy), *windows.image, dy.shape[3]), work)
    for tap in windows.taps_inside():
        if windows.apart:
            dx[tap.pixels] = share[tap.windows]
        else:
            dx[tap.pixels] += share[tap.windows]
    return in_data_format(xp, dx.astype(dy.dtype, copy=False), data_format)


def pool_windows(image: tuple, *, ksize: tuple, **options: Any) -> Windows:
    """Return the placing of pooling windows. See `PoolOptions`."""
    return place_windows(image, spatial(ksize, options.get("data_format", "NHWC")), **options)


def slide(xp: ArrayModule, combine: Any, x: Array, windows: Windows, fill: Any, out: Array) -> None:
    """Combine each window's pixels into ``out``, rows first; without any, a window has ``fill``."""
    for axis in (0, 1):
        before = (slice(None),) * (axis + 1)
        whole = slice(0, windows.count[axis])
        places = (windows.inside(axis, place) for place in range(windows.size[axis]))
        seen = [place for place in places if place is not None]
        seen.sort(key=lambda place: place[1] != whole)  # those that all windows see first
        parts = [(x[(*before, pixels)], which) for pixels, which in seen]
        begun = sum(which == whole for _, which in parts[:2])
        if axis == 0 and begun == 1 == len(parts):
            x = parts[0][0]
            continue
        shape = (*x.shape[: axis + 1], whole.stop, *x.shape[axis + 2 :])
        x = out if axis == 1 else xp.empty(shape, x.dtype)
        if begun == 2:
            combine(parts[0][0], parts[1][0], out=x)
        else:
            x[...] = parts[0][0] if begun else fill
        for part, which in parts[begun:]:
            covered = x[(*before, which)]
            combine(covered, part, out=covered)


def scatter_to_first(x: Array, y: Array, dy: Any, windows: Windows) -> Array:
    """Return each window's gradient at its first maximum, where windows overlap.

    It is a product with a sparse matrix that has a one for each window: a pass, instead of three
    for each place of a window (m, 3x3, every second pixel of [16, 32, 32, 32]: 1.2 ms, not 2.0).
    """
    dx = np.empty(x.shape, dy.dtype)
    work = np.promote_types(dy.dtype, np.float32)
    for images in image_blocks(len(x), x[:1].nbytes, block_bytes(np)):
        places, found = first_places(np, x[images], y[images], windows)
        gradient = dy[images].astype(work, copy=False)
        if not found.all():
            gradient = np.where(found, gradient, 0)
        parts = np.ones(places.size, work), places.ravel(), np.arange(places.size + 1)
        spread = scipy.sparse.csc_array(parts, (dx[images].size, places.size))
        dx[images] = (spread @ gradient.ravel()).reshape(dx[images].shape)
    return dx


def first_places(xp: ArrayModule, x: Array, y: Array, windows: Windows) -> tuple[Any, Any]:
    """Return where in flattened images the first maximum of each window is, and if there is one.

    In a window with NaN there is none: what is said of its place is 0.
    """
    free, other = xp.ones(y.shape, bool), xp.empty(y.shape, bool)
    counts: Any = np.uint8 if math.prod(windows.size) < 256 else np.int32
    # How many places of a window, and whole rows of it, come before its first maximum.
    taps, rows = (xp.zeros(y.shape, counts) for _ in range(2))
    inside = {(tap.row, tap.column): tap for tap in windows.taps_inside()}
    for row, column, _ in windows.taps():
        if (tap := inside.get((row, column))) is not None:
            xp.not_equal(x[tap.pixels], y[tap.windows], out=other[tap.windows])
            free[tap.windows] &= other[tap.windows]
        taps += free.view(np.uint8)
        if column == windows.size[1] - 1:
            rows += free.view(np.uint8)
    _, height, width, channels = x.shape
    places: Any = rows.astype(np.int32 if x.size <= np.iinfo(np.int32).max else np.int64)
    places *= width - windows.size[1]  # a window's next row is so many pixels after its end
    places += taps
    tops, lefts = (
        xp.arange(windows.count[axis]) * windows.stride[axis] - windows.before[axis]
        for axis in (0, 1)
    )
    images = xp.arange(len(x)).reshape(-1, 1, 1, 1) * height
    places += ((images + tops.reshape(-1, 1, 1)) * width + lefts.reshape(-1, 1)).astype(
        places.dtype
    )
    places *= channels
    places += xp.arange(channels, dtype=places.dtype)
    if free.any():
        places[free] = 0
    return places, ~free


def first_maxima(
    xp: ArrayModule, x: Array, y: Array, windows: Windows, w: Array | None = None
) -> Iterator[tuple[Tap, Array]]:
    """Yield (tap, which of the windows that it sees pixels of have their first maximum there).

    Args:
        w: [height, width, channels], what was added to what windows see.
    """
    free, buffer = xp.ones(y.shape, bool), xp.empty(y.shape, bool)
    taps = windows.taps_inside()
    for number, tap in enumerate(taps, 1):
        left, first = free[tap.windows], buffer[tap.windows]
        seen = x[tap.pixels] if w is None else x[tap.pixels] + w[tap.row, tap.column]
        xp.equal(seen, y[tap.windows], out=first)
        xp.logical_and(first, left, out=first)
        yield tap, first
        if number < len(taps):
            xp.greater(left, first, out=left)


def window_weights(xp: ArrayModule, windows: Windows, dtype: np.dtype[Any]) -> Array:
    """Return one over the number of image pixels in each window, [rows, columns, 1].

    Without padding it is the same for all: [1, 1, 1].
    """
    if not windows.pads:
        return xp.full((1, 1, 1), 1.0 / math.prod(windows.size), dtype)
    counts = []
    for axis in (0, 1):
        starts = xp.arange(windows.count[axis]) * windows.stride[axis] - windows.before[axis]
        stops = xp.minimum(starts + windows.size[axis], windows.image[axis])
        counts.append(stops - xp.maximum(starts, 0))
    return (1.0 / (counts[0][:, None, None] * counts[1][:, None])).astype(dtype)


def max_pool_with_argmax(
    xp: ArrayModule, x: Array, *, dtype: DType, **options: Any
) -> tuple[Any, Any]:
    """Maximum of each window and the place of its first one, (row width + column) channels + c."""
    windows = pool_windows(x.shape[1:3], **options)
    y = max_pool(xp, x, **options)
    places = xp.empty(y.shape, dtype.np)
    for images in image_blocks(len(x), x[:1].nbytes, block_bytes(xp)):
        found, _ = first_places(xp, x[images], y[images], windows)
        places[images] = found % math.prod(x.shape[1:])  # in its own image
    return y, places
