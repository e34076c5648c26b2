"""Greyscale dilation, a pooling whose windows add a filter to what they see, and its gradients.

Pixels outside of the image never win. Where a maximum occurs several times in a window its first
place in row-major order takes the gradient, as in max-pooling.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Unpack

from daskvars.backend import Array, ArrayModule
from daskvars.kernels.math.precision import lowest
from daskvars.kernels.nn.windows.patches import block_bytes, image_blocks, working_dtype
from daskvars.kernels.nn.windows.pooling import first_maxima
from daskvars.kernels.nn.windows.sliding import Tap, WindowOptions, Windows, place_windows


def dilation2d(xp: ArrayModule, x: Array, w: Array, **options: Unpack[WindowOptions]) -> Array:
    """Return the maximum over each window of pixels plus filter (as ``tf.nn.dilation2d``).

    Args:
        x: [batch, height, width, channels] real number.
        w: [height, width, channels] like ``x``.

    Returns:
        [batch, rows, columns, channels], dtype of ``x``.

    >>> x, w = np.arange(4.0).reshape(1, 2, 2, 1), np.array([[[0.0], [-5.0]]])
    >>> dilation2d(np, x, w, strides=(1, 1, 1, 1), padding="SAME").ravel()
    array([0., 1., 2., 3.])
    """
    windows = place_windows(x.shape[1:3], w.shape[:2], **options)
    y = xp.full((len(x), *windows.count, x.shape[3]), lowest(x.dtype), x.dtype)
    for images in _blocks(xp, x):
        image, maxima = x[images], y[images]
        for tap in windows.taps_inside():
            seen = maxima[tap.windows]
            xp.maximum(seen, image[tap.pixels] + w[tap.row, tap.column], out=seen)
    return y


def dilation2d_backprop_input(
    xp: ArrayModule, x: Array, w: Array, dy: Array, **options: Unpack[WindowOptions]
) -> Array:
    """Return the gradient of ``dilation2d`` with respect to its images.

    Args:
        x, w, options: as of ``dilation2d``.
        dy: [batch, rows, columns, channels] float, the gradient of its result.

    Returns:
        Like ``x``: the gradient of each window at its first maximum.
    """
    windows = place_windows(x.shape[1:3], w.shape[:2], **options)
    dx = xp.zeros(x.shape, working_dtype(xp, dy.dtype))
    for images, tap, first in _first_maxima(xp, x, w, windows, options):
        dx[images][tap.pixels] += xp.where(first, dy[images][tap.windows], 0)
    return dx.astype(dy.dtype, copy=False)


def dilation2d_backprop_filter(
    xp: ArrayModule, x: Array, w: Array, dy: Array, **options: Unpack[WindowOptions]
) -> Array:
    """Return the gradient of ``dilation2d`` with respect to its filter, for this block's images.

    Args:
        x, w, dy, options: as of ``dilation2d_backprop_input``.

    Returns:
        Like ``w``: for each place the gradients of the windows whose first maximum is there.
    """
    windows = place_windows(x.shape[1:3], w.shape[:2], **options)
    work = working_dtype(xp, dy.dtype)
    dw = xp.zeros(w.shape, work)
    for images, tap, first in _first_maxima(xp, x, w, windows, options):
        gradient = dy[images][tap.windows].astype(work, copy=False)
        dw[tap.row, tap.column] += xp.where(first, gradient, 0).sum((0, 1, 2))
    return dw.astype(dy.dtype, copy=False)


def dilation2d_tangent(
    xp: ArrayModule, x: Array, w: Array, dx: Array, dw: Array, **options: Unpack[WindowOptions]
) -> Array:
    """Return how ``dilation2d`` changes with its images and filter: what both gradients transpose.

    Args:
        x, w, options: as of ``dilation2d``.
        dx: like ``x``, the change of the images.
        dw: like ``w``, the change of the filter.

    Returns:
        [batch, rows, columns, channels], dtype of ``dx``: the change of each window's first
        maximum.
    """
    windows = place_windows(x.shape[1:3], w.shape[:2], **options)
    dy = xp.zeros((len(x), *windows.count, x.shape[3]), dx.dtype)
    for images, tap, first in _first_maxima(xp, x, w, windows, options):
        sums = dx[images][tap.pixels] + dw[tap.row, tap.column]
        dy[images][tap.windows] += xp.where(first, sums, 0)
    return dy


def _blocks(xp: ArrayModule, x: Array) -> list[slice]:
    """Return slices of images that stay in the outer cache while taps are gone through."""
    height, width, channels = x.shape[1:]
    return image_blocks(len(x), height * width * channels * x.dtype.itemsize, 2 * block_bytes(xp))


def _first_maxima(
    xp: ArrayModule, x: Array, w: Array, windows: Windows, options: WindowOptions
) -> Iterator[tuple[slice, Tap, Array]]:
    """Yield (images, tap, mask of the windows it sees pixels of, whose first maximum is there)."""
    for images in _blocks(xp, x):
        image = x[images]
        y = dilation2d(xp, image, w, **options)
        for tap, first in first_maxima(xp, image, y, windows, w):
            yield images, tap, first
