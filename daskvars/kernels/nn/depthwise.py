"""Depthwise convolution: each channel has filters of its own, [height, width, inputs, multiplier].

A multiplier above one is the same sum over images whose channels are repeated, so everything here
works with one filter per channel. The sums are ``einsum`` over a window view, which needs no
patches; with horizontal stride 1 a whole image row of (column, channel) pairs is one run of it
(m, one thread, 3x3x32 over 56x56: 8.4 GF/s, with runs of 32 channels 1.7). With another stride that
is so of columns so far apart, one set of them after the other. Images of one channel
are convolved as by `convolution` (m, 3x3 over 300x300: 0.18 ms, by ``einsum`` 1.4).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Unpack

import numpy as np

from daskvars.backend import Array, ArrayModule
from daskvars.kernels.math.row_sums import row_sums
from daskvars.kernels.nn import convolution
from daskvars.kernels.nn.windows.convolving import by_filter, convolved
from daskvars.kernels.nn.windows.patches import (
    block_bytes,
    image_blocks,
    padded_blocks,
    strided,
    window_view,
)
from daskvars.kernels.nn.windows.phases import PixelPhases
from daskvars.kernels.nn.windows.sliding import WindowOptions, Windows, turned

# Channels: runs of so many are as fast as lines that have to be copied first (m, 3x3 of stride 2
# over 32x32: of 8, 32, 64 and 128 channels 0.33, 3.2, 1.1, 1.0 ms, as lines 0.17, 1.4, 1.1, 1.0).
LONG_RUN = 64


def depthwise_conv2d(
    xp: ArrayModule, x: Array, w: Array, **options: Unpack[WindowOptions]
) -> Array:
    """Convolve each channel with its own filters (as ``tf.nn.depthwise_conv2d``).

    Args:
        x: [batch, height, width, inputs] float, in ``data_format`` order.
        w: [height, width, inputs, multiplier] float.

    Returns:
        [batch, rows, columns, inputs * multiplier], dtype of ``x``.

    >>> w = np.array([1.0, 10.0]).reshape(1, 1, 2, 1)
    >>> x = np.ones((1, 1, 1, 2))
    >>> depthwise_conv2d(np, x, w, strides=(1, 1, 1, 1), padding="SAME").ravel()
    array([ 1., 10.])
    """
    return convolved(xp, x, w, correlate, options)


def depthwise_conv2d_backprop_input(
    xp: ArrayModule, w: Array, dy: Array, *, input_shape: tuple, **options: Unpack[WindowOptions]
) -> Array:
    """Return the gradient of ``depthwise_conv2d`` with respect to its images.

    As ``conv2d_backprop_input``, of filters as here; ``dy`` has inputs * multiplier channels.
    """
    return convolved(xp, dy, w, images_gradient, options, input_shape)


def depthwise_conv2d_backprop_filter(
    xp: ArrayModule, x: Array, dy: Array, *, filter_shape: tuple, **options: Unpack[WindowOptions]
) -> Array:
    """Return the gradient of ``depthwise_conv2d`` with respect to its filters.

    As ``conv2d_backprop_filter``, of filters as here; ``dy`` has inputs * multiplier channels.
    """
    return by_filter(xp, x, dy, filter_shape, filter_gradient, options)


def correlate(xp: ArrayModule, x: Array, w: Array, windows: Windows, work: np.dtype[Any]) -> Array:
    """Return the windows' products with each channel's filters, in the ``work`` dtype."""
    return weigh_windows(xp, x, flat_filters(w, work), windows, work, w.shape[3])


def images_gradient(
    xp: ArrayModule, dy: Array, w: Array, windows: Windows, work: np.dtype[Any]
) -> Array:
    """Return the gradient by the images, computed in the ``work`` dtype."""
    filters = flat_filters(w, work)
    backwards = turned(windows)
    if backwards is not None:
        dx = weigh_windows(xp, dy, filters[::-1, ::-1], backwards, work, 1)
    else:
        dx = scatter_weighted(xp, filters, dy.astype(work, copy=False), windows)
    if w.shape[3] > 1:
        dx = row_sums(xp, dx.reshape(*dx.shape[:3], *w.shape[2:]))[..., 0]
    return dx


def filter_gradient(
    xp: ArrayModule, x: Array, dy: Array, shape: tuple, windows: Windows, work: np.dtype[Any]
) -> Array:
    """Return the gradient by the filters, of their ``shape``, computed in the ``work`` dtype."""
    height, width, inputs, multiplier = shape
    if inputs == 1:
        return convolution.filter_gradient(xp, x, dy, shape, windows, work)
    depth = inputs * multiplier
    dw = xp.zeros((height, width, depth), work)
    for images, padded in repeated_blocks(xp, x, windows, multiplier, work):
        gradient = dy[images].astype(work, copy=False)
        if windows.stride[1] != 1:
            dw += xp.einsum("nhwijc,nhwc->ijc", window_view(xp, padded, windows), gradient)
            continue
        lines = (*gradient.shape[:2], gradient.shape[2] * depth)
        gradient = xp.ascontiguousarray(gradient).reshape(lines)
        view = line_view(xp, padded, windows)
        for i, j in np.ndindex(height, width):  # all at once takes twice as long
            line = xp.einsum("nhk,nhk->k", view[:, :, i, j], gradient)
            dw[i, j] += line.reshape(windows.count[1], depth).sum(axis=0)
    return dw.reshape(shape)


def flat_filters(w: Array, dtype: np.dtype[Any]) -> Array:
    """Return the filters as [height, width, inputs * multiplier]."""
    return w.astype(dtype, copy=False).reshape(*w.shape[:2], w.shape[2] * w.shape[3])


def weigh_windows(
    xp: ArrayModule,
    x: Array,
    filters: Array,
    windows: Windows,
    work: np.dtype[Any],
    multiplier: int,
) -> Array:
    """Return each window's sum weighted by ``filters`` [height, width, depth]."""
    if x.shape[3] == 1:
        return convolution.correlate(xp, x, filters[:, :, None], windows, work)
    y = xp.empty((len(x), *windows.count, filters.shape[2]), work)
    is_in_lines = windows.stride[1] == 1 or (xp is np and filters.shape[2] < LONG_RUN)
    if is_in_lines:
        line = xp.repeat(filters[:, :, None], windows.count[1], axis=2)
        line = line.reshape(*windows.size, windows.count[1] * filters.shape[2])
    for images, padded in repeated_blocks(xp, x, windows, multiplier, work):
        block = y[images]
        if is_in_lines:
            sum_lines(xp, padded, line, windows, block.reshape(*block.shape[:2], line.shape[2]))
        else:
            view = window_view(xp, padded, windows)
            einsum_into(xp, "nhwijc,ijc->nhwc", view, filters, block)
    return y


def sum_lines(xp: ArrayModule, padded: Array, line: Array, windows: Windows, out: Array) -> None:
    """Write the windows' sums, weighted by `line`, into `out` [batch, rows, columns * channels]."""
    step = windows.stride[1]
    if step == 1:
        einsum_into(xp, "nhijk,ijk->nhk", line_view(xp, padded, windows), line, out)
        return
    # Columns of windows that are so far apart see columns of the images that are a stride apart.
    dilation = windows.dilation[1]
    every = step // math.gcd(step, dilation)
    for first in range(min(every, windows.size[1])):
        weights = line[:, first::every]
        narrow = replace(
            windows,
            size=(windows.size[0], weights.shape[1]),
            stride=(windows.stride[0], 1),
            dilation=(windows.dilation[0], every * dilation // step),
        )
        view = line_view(xp, padded[:, :, first * dilation :: step], narrow)
        if first:
            out += xp.einsum("nhijk,ijk->nhk", view, weights)
        else:
            einsum_into(xp, "nhijk,ijk->nhk", view, weights, out)


def einsum_into(xp: ArrayModule, subscripts: str, x: Array, w: Array, out: Array) -> None:
    """Write an Einstein sum into ``out``; CuPy's cannot do so itself."""
    if xp is np:
        xp.einsum(subscripts, x, w, out=out)
    else:
        out[...] = xp.einsum(subscripts, x, w)


def scatter_weighted(xp: ArrayModule, filters: Array, dy: Array, windows: Windows) -> Array:
    """Return the image gradient, per repeated channel, tap by tap where windows are strided."""
    depth = filters.shape[2]
    dx = xp.empty((len(dy), *windows.image, depth), dy.dtype)
    line = xp.repeat(filters[:, :, None], windows.count[1], axis=2)
    for images in image_blocks(len(dy), dy[:1].nbytes, block_bytes(xp)):
        gradient = dy[images]
        phases = PixelPhases(xp, windows, (len(gradient), depth), dy.dtype)
        product = xp.empty_like(gradient)
        for row, column, _ in windows.taps():
            xp.multiply(gradient, line[row, column], out=product)
            seen = phases.seen(row, column)
            seen += product
        phases.write(dx[images])
    return dx


def repeated_blocks(
    xp: ArrayModule, x: Array, windows: Windows, multiplier: int, work: np.dtype[Any]
) -> Iterator[Any]:
    """Yield (images, padded images) with every channel repeated ``multiplier`` times."""
    height, width = windows.padded
    image_bytes = height * width * x.shape[3] * multiplier * work.itemsize
    for images, padded in padded_blocks(xp, x, windows, image_bytes, block_bytes(xp), work):
        yield images, padded if multiplier == 1 else xp.repeat(padded, multiplier, axis=3)


def line_view(xp: ArrayModule, padded: Array, windows: Windows) -> Array:
    """Return the view [batch, rows, window rows, window columns, columns * channels]."""
    padded = xp.ascontiguousarray(padded)
    batch, row, column, item = padded.strides
    shape = (len(padded), windows.count[0], *windows.size, windows.count[1] * padded.shape[3])
    strides = (
        batch,
        row * windows.stride[0],
        row * windows.dilation[0],
        column * windows.dilation[1],
        item,
    )
    return strided(xp, padded, shape, strides)
