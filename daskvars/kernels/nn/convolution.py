"""Two-dimensional convolution and its two gradients, as matrix products over patches.

Each is linear in either operand, so the three of them are each other's gradients. Filters are
[height, width, inputs, outputs]; images are [batch, height, width, channels] ("NHWC") or
[batch, channels, height, width] ("NCHW", turned around at the edges).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, Unpack

import numpy

from daskvars.backend import Array, ArrayModule
from daskvars.kernels.math.row_sums import as_matrix
from daskvars.kernels.nn.windows.convolving import by_filter, convolved
from daskvars.kernels.nn.windows.patches import block_bytes, image_blocks, patch_blocks
from daskvars.kernels.nn.windows.phases import PixelPhases
from daskvars.kernels.nn.windows.sliding import (
    WindowOptions,
    Windows,
    pixels_as_channels,
    place_windows,
    spatial,
    turned,
)
from daskvars.kernels.nn.windows.strips import can_sum, rows_at_once, strip_blocks
from daskvars.kernels.one_by_one import one_by_one

FEW_CHANNELS = 8  # fewer make a product of few columns, which is slow


def _flops_one_by_one(
    shape: tuple[int, ...], filter_shape: tuple[int, ...], **options: Unpack[WindowOptions]
) -> float | None:
    """Return the flops of ``conv2d`` if NumPy makes products for each image, else None."""
    inputs, outputs = filter_shape[2:]
    image = spatial(shape, options.get("data_format", "NHWC"))
    windows = place_windows(image, filter_shape[:2], **options)
    wide, pixels = pixels_as_channels(windows)
    if not rows_at_once(wide, pixels * inputs, outputs):
        return None
    return 2.0 * shape[0] * math.prod(windows.count) * math.prod(filter_shape)


@one_by_one(_flops_one_by_one)
def conv2d(
    xp: ArrayModule, x: Array, w: Array, *, out: Any = None, **options: Unpack[WindowOptions]
) -> Array:
    """Convolve images with a filter (cross-correlation, as ``tf.nn.conv2d``).

    Args:
        x: [batch, height, width, inputs] float, in ``data_format`` order.
        w: [height, width, inputs, outputs] float.
        out: where the result may be written to; it is the result then.

    Returns:
        [batch, rows, columns, outputs], dtype of ``x``.

    >>> x, w = np.ones((1, 3, 3, 1)), np.ones((3, 3, 1, 1))
    >>> conv2d(np, x, w, strides=(1, 1, 1, 1), padding="SAME")[0, :, :, 0]
    array([[4., 6., 4.],
           [6., 9., 6.],
           [4., 6., 4.]])
    """
    return convolved(xp, x, w, correlate, options, out=out)


def conv2d_backprop_input(
    xp: ArrayModule,
    w: Array,
    dy: Array,
    *,
    input_shape: tuple,
    out: Any = None,
    **options: Unpack[WindowOptions],
) -> Array:
    """Return the gradient of ``conv2d`` with respect to its images (``conv2d_transpose``).

    Args:
        w: [height, width, inputs, outputs] float.
        dy: [batch, rows, columns, outputs] float, in ``data_format`` order.
        input_shape: shape of the images; its batch is ignored, ``dy``'s is taken.

    Returns:
        [batch, height, width, inputs], dtype of ``dy``.
    """
    return convolved(xp, dy, w, images_gradient, options, input_shape, out)


def conv2d_backprop_filter(
    xp: ArrayModule, x: Array, dy: Array, *, filter_shape: tuple, **options: Unpack[WindowOptions]
) -> Array:
    """Return the gradient of ``conv2d`` with respect to its filter.

    Args:
        x: [batch, height, width, inputs] float, in ``data_format`` order.
        dy: [batch, rows, columns, outputs] float, in ``data_format`` order.
        filter_shape: (height, width, inputs, outputs).

    Returns:
        ``filter_shape``, dtype of ``x``: the sum over this block's images.
    """
    return by_filter(xp, x, dy, filter_shape, filter_gradient, options)


def correlate(
    xp: ArrayModule, x: Array, w: Array, windows: Windows, work: numpy.dtype[Any], out: Any = None
) -> Array:
    """Return the windows' products with ``w``, computed in the ``work`` dtype.

    Where images go one by one, ``w`` may be [batch, height, width, inputs, outputs], each one's.
    """
    outputs = w.shape[-1]
    matrix = w.astype(work, copy=False)
    matrix = matrix.reshape(*w.shape[:-4], math.prod(w.shape[-4:-1]), outputs)
    windows, pixels = pixels_as_channels(windows)
    x = x.reshape(len(x), *windows.image, pixels * x.shape[3])
    y = xp.empty((len(x), *windows.count, outputs), work) if out is None else out
    at_once = rows_at_once(windows, x.shape[3], outputs) if xp is numpy else 0
    if at_once:
        sum_strips(xp, x, matrix, windows, at_once, y)
        return y
    for images, rows, patches in position_blocks(xp, x, windows, work):
        xp.matmul(patches, matrix, out=as_matrix(y[images, rows]))
    return y


def sum_strips(
    xp: ArrayModule, x: Array, matrix: Array, windows: Windows, at_once: int, y: Array
) -> None:
    """Write the windows' products to ``y``, added up over their rows, ``at_once`` rows of them."""
    rows, columns = windows.count
    filters = matrix.reshape(*matrix.shape[:-2], windows.size[0], -1, y.shape[3])
    is_own = filters.ndim == 4
    if is_own:
        filters = filters.transpose(1, 0, 2, 3)[:, :, None]
    product: Any = None
    for images, seen in strip_blocks(xp, x, windows, y.dtype, y.shape[3]):
        shape = len(seen[0]), rows // at_once, at_once * columns, -1
        out = y[images].reshape(shape)
        product = xp.empty_like(out) if product is None else product[: len(out)]
        those = filters[:, images] if is_own else filters
        xp.matmul(seen[0].reshape(shape), those[0], out=out)
        for part, some in zip(seen[1:], those[1:], strict=True):
            out += xp.matmul(part.reshape(shape), some, out=product)


def images_gradient(
    xp: ArrayModule, dy: Array, w: Array, windows: Windows, work: numpy.dtype[Any], out: Any = None
) -> Array:
    """Return the gradient by the images, computed in the ``work`` dtype."""
    dx = xp.empty((len(dy), *windows.image, w.shape[2]), work) if out is None else out
    windows, pixels = pixels_as_channels(windows)
    w = w.astype(work, copy=False).reshape(*windows.size, pixels * w.shape[2], w.shape[3])
    fill_gradient(xp, dy, w, windows, dx.reshape(len(dy), *windows.image, w.shape[2]))
    return dx


def fill_gradient(xp: ArrayModule, dy: Array, w: Array, windows: Windows, dx: Array) -> None:
    """Write the same to ``dx`` for windows that do not see all pixels along their last axis."""
    backwards = turned(windows)
    if backwards is not None and prefers_turned(windows, w.shape[2], w.shape[3]):
        correlate(xp, dy, w[::-1, ::-1].transpose(0, 1, 3, 2), backwards, dx.dtype, dx)
    else:
        scatter_taps(xp, w, dy.astype(dx.dtype, copy=False), windows, dx)


def filter_gradient(
    xp: ArrayModule, x: Array, dy: Array, shape: tuple, windows: Windows, work: numpy.dtype[Any]
) -> Array:
    """Return the gradient by the filter, of its ``shape``, computed in the ``work`` dtype."""
    dw = xp.zeros((math.prod(shape[:3]), shape[3]), work)
    windows, pixels = pixels_as_channels(windows)
    x = x.reshape(len(x), *windows.image, pixels * x.shape[3])
    if xp is numpy and can_sum(windows, x.shape[3], shape[3]):
        add_strip_gradients(xp, x, dy, windows, dw)
        return dw.reshape(shape)
    part = xp.empty_like(dw)
    for number, (images, rows, patches) in enumerate(position_blocks(xp, x, windows, work)):
        dy_rows = as_matrix(dy[images, rows]).astype(work, copy=False)
        xp.matmul(patches.T, dy_rows, out=part if number else dw)
        if number:
            dw += part
    return dw.reshape(shape)


def add_strip_gradients(xp: ArrayModule, x: Array, dy: Array, windows: Windows, dw: Array) -> None:
    """Add the gradient by the filter to ``dw``, a matrix, image by image and row by row of it."""
    rows_of = dw.reshape(windows.size[0], -1, dw.shape[1])
    for images, seen in strip_blocks(xp, x, windows, dw.dtype, dw.shape[1]):
        gradient = dy[images].astype(dw.dtype, copy=False)
        gradient = gradient.reshape(*seen[0].shape[:2], dw.shape[1])
        for row, part in zip(rows_of, seen, strict=True):
            row += xp.matmul(part.transpose(0, 2, 1), gradient).sum(axis=0)


def position_blocks(
    xp: ArrayModule, x: Array, windows: Windows, work: numpy.dtype[Any]
) -> Iterator[Any]:
    """Yield patches in blocks; where a window is one pixel, the pixels themselves at once."""
    if windows.size != (1, 1) or windows.pads:
        yield from patch_blocks(xp, x, windows, work)
    else:
        pixels = x[windows.tap(0, 0)].astype(work, copy=False)
        yield slice(None), slice(None), as_matrix(pixels)


def prefers_turned(windows: Windows, inputs: int, outputs: int) -> bool:
    """Whether the flipped convolution is cheaper than one product per tap.

    It copies patches of the gradient, so it loses where that has far more channels than the
    image, or (without "SAME" padding) where the image is much larger than the gradient.
    """
    rows, columns = windows.count
    height, width = windows.image
    return outputs <= 2 * inputs and 2 * height * width <= 3 * rows * columns


def scatter_taps(xp: ArrayModule, w: Array, dy: Array, windows: Windows, dx: Array) -> None:
    """Write the image gradient to ``dx``: products for the taps, added where each tap looked.

    Pixels that are a stride apart lie side by side meanwhile, so that a tap adds to whole rows; of
    images of a few channels each channel is apart, for a product's columns are to be many.
    """
    inputs, outputs = w.shape[2:]
    rows, columns = windows.count
    is_apart = inputs < FEW_CHANNELS
    filters = w.reshape(len(windows.taps()), inputs, outputs)
    position_bytes = rows * columns * inputs * dy.dtype.itemsize
    for images in image_blocks(len(dy), position_bytes, block_bytes(xp) // 4):
        gradient = as_matrix(dy[images])
        size = images.stop - images.start, inputs
        phases = PixelPhases(xp, windows, size, dy.dtype, is_apart=is_apart)
        products = tap_products(xp, filters, gradient, is_apart=is_apart)
        for product, (row, column, _) in zip(products, windows.taps(), strict=True):
            seen = phases.seen(row, column)
            seen += product.reshape(seen.shape)
        phases.write(dx[images])


def tap_products(
    xp: ArrayModule, filters: Array, gradient: Any, *, is_apart: bool
) -> Iterator[Array]:
    """Yield the products of a gradient [positions, outputs] with each tap [inputs, outputs].

    They are [positions, inputs], which the next may overwrite; with channels apart [inputs,
    positions]. Where they stay in a cache together, one call makes all of them.
    """
    taps, inputs, _ = filters.shape
    if is_apart:
        yield from xp.matmul(as_matrix(filters), gradient.T).reshape(taps, inputs, len(gradient))
    elif taps * inputs * len(gradient) * gradient.dtype.itemsize <= block_bytes(xp) // 4:
        yield from xp.matmul(gradient, filters.transpose(0, 2, 1))
    else:
        product = xp.empty((len(gradient), inputs), gradient.dtype)
        for tap in filters:
            yield xp.matmul(gradient, tap.T, out=product)
