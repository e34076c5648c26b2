"""Convolution in three dimensions and its two gradients, as convolutions of images.

The planes that a window sees are stacked as the channels of one image, so that all taps along the
depth are one convolution of images: 1.35 times as fast as one for each tap, their results added
(3x3x3x16x32 on one thread), for as many times the images' memory as there are taps.

Filters are [depth, height, width, inputs, outputs]; volumes are [batch, depth, height, width,
channels] ("NDHWC") or [batch, channels, depth, height, width] ("NCDHW", turned at the edges).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Unpack

from daskvars.backend import Array, ArrayModule
from daskvars.kernels.nn.convolution import conv2d, conv2d_backprop_filter, conv2d_backprop_input
from daskvars.kernels.nn.windows.patches import channels_last, in_data_format, working_dtype
from daskvars.kernels.nn.windows.sliding import (
    WindowOptions,
    conv_output_size,
    conv_padding,
    conv_shape,
    spatial,
)

ONES = (1, 1, 1, 1, 1)


def conv3d(xp: ArrayModule, x: Array, w: Array, **options: Unpack[WindowOptions]) -> Array:
    """Convolve volumes with a filter (cross-correlation, as ``tf.nn.conv3d``).

    Args:
        x: [batch, depth, height, width, inputs] float, in ``data_format`` order.
        w: [depth, height, width, inputs, outputs] float.

    Returns:
        [batch, planes, rows, columns, outputs], dtype of ``x``.

    >>> x, w = np.ones((1, 3, 2, 2, 1)), np.ones((2, 2, 2, 1, 1))
    >>> conv3d(np, x, w, strides=(1, 1, 1, 1, 1), padding="VALID").ravel()
    array([8., 8.])
    """
    data_format, padding, steps = along_space(**options)
    x, kind = channels_last(x, data_format), x.dtype
    work = working_dtype(xp, kind)
    strides, dilations = ((1, *along, 1) for along in steps)
    shape = conv_shape(
        x.shape, w.shape, padding=padding, strides=strides, dilations=dilations, data_format="NDHWC"
    )
    images = stacked(xp, x.astype(work, copy=False), w.shape[0], shape[1], steps, padding)
    y = conv2d(xp, images, depth_as_channels(w), **of_planes(steps, padding)).reshape(shape)
    return in_data_format(xp, y.astype(kind, copy=False), data_format)


def conv3d_backprop_input(
    xp: ArrayModule, w: Array, dy: Array, *, input_shape: tuple, **options: Unpack[WindowOptions]
) -> Array:
    """Return the gradient of ``conv3d`` with respect to its volumes (``conv3d_transpose``).

    Args:
        w: [depth, height, width, inputs, outputs] float.
        dy: [batch, planes, rows, columns, outputs] float, in ``data_format`` order.
        input_shape: shape of the volumes; its batch is ignored, ``dy``'s is taken.

    Returns:
        [batch, depth, height, width, inputs], dtype of ``dy``.
    """
    data_format, padding, steps = along_space(**options)
    dy, kind = channels_last(dy, data_format), dy.dtype
    work = working_dtype(xp, kind)
    volume = spatial(tuple(input_shape), data_format)
    count, size, inputs = dy.shape[1], w.shape[0], w.shape[3]
    images = planes_of(dy.astype(work, copy=False))
    stack = conv2d_backprop_input(
        xp,
        depth_as_channels(w),
        images,
        input_shape=(0, *volume[1:], size * inputs),
        **of_planes(steps, padding),
    ).reshape(len(dy), count, *volume[1:], size, inputs)
    dx = xp.zeros((len(dy), *volume, inputs), work)
    for tap, planes, seen in depth_taps(volume[0], size, steps, padding):
        dx[:, seen] += stack[:, planes, :, :, tap]
    return in_data_format(xp, dx.astype(kind, copy=False), data_format)


def conv3d_backprop_filter(
    xp: ArrayModule, x: Array, dy: Array, *, filter_shape: tuple, **options: Unpack[WindowOptions]
) -> Array:
    """Return the gradient of ``conv3d`` with respect to its filter.

    Args:
        x: [batch, depth, height, width, inputs] float, in ``data_format`` order.
        dy: [batch, planes, rows, columns, outputs] float, in ``data_format`` order.
        filter_shape: (depth, height, width, inputs, outputs).

    Returns:
        ``filter_shape``, dtype of ``x``: the sum over this block's volumes.
    """
    data_format, padding, steps = along_space(**options)
    x, dy, kind = channels_last(x, data_format), channels_last(dy, data_format), x.dtype
    work = working_dtype(xp, kind)
    size, height, width, inputs, outputs = filter_shape
    dw = conv2d_backprop_filter(
        xp,
        stacked(xp, x.astype(work, copy=False), size, dy.shape[1], steps, padding),
        planes_of(dy.astype(work, copy=False)),
        filter_shape=(height, width, size * inputs, outputs),
        **of_planes(steps, padding),
    ).reshape(height, width, size, inputs, outputs)
    return xp.ascontiguousarray(dw.transpose(2, 0, 1, 3, 4)).astype(kind, copy=False)


def stacked(
    xp: ArrayModule, x: Array, size: int, count: int, steps: tuple[tuple, tuple], padding: str
) -> Array:
    """Return an image for each window along the depth, its planes side by side as channels."""
    batch, depth, height, width, channels = x.shape
    if size == 1 and count == depth:
        return planes_of(x)
    stack = xp.zeros((batch, count, height, width, size, channels), x.dtype)
    for tap, planes, seen in depth_taps(depth, size, steps, padding):
        stack[:, planes, :, :, tap] = x[:, seen]
    return stack.reshape(batch * count, height, width, size * channels)


def planes_of(x: Array) -> Array:
    """Return the planes of volumes as images."""
    return x.reshape(x.shape[0] * x.shape[1], *x.shape[2:])


def depth_as_channels(w: Array) -> Array:
    """Return a filter of volumes as that of their stacked planes."""
    size, height, width, inputs, outputs = w.shape
    return w.transpose(1, 2, 0, 3, 4).reshape(height, width, size * inputs, outputs)


def along_space(
    *, padding: Any, strides: tuple, dilations: tuple = ONES, data_format: str = "NDHWC"
) -> tuple[str, str, tuple[tuple, tuple]]:
    """Return (data format, padding, (strides, dilations) of the axes of space)."""
    steps = spatial(strides, data_format), spatial(dilations, data_format)
    return data_format, padding, steps


def of_planes(steps: tuple[tuple, tuple], padding: str) -> dict[str, Any]:
    """Return the options of the convolution of planes."""
    strides, dilations = steps
    return {
        "strides": (1, *strides[1:], 1),
        "dilations": (1, *dilations[1:], 1),
        "padding": padding,
    }


def depth_taps(
    depth: int, size: int, steps: tuple[tuple, tuple], padding: str
) -> Iterator[tuple[int, slice, slice]]:
    """Yield (tap, planes of the result, planes that the tap sees for them).

    Planes of padding add nothing and are left out.

    >>> list(depth_taps(3, 2, ((1, 1, 1), (1, 1, 1)), "SAME"))
    [(0, slice(0, 3, None), slice(0, 3, 1)), (1, slice(0, 2, None), slice(1, 3, 1))]
    """
    stride, dilation = steps[0][0], steps[1][0]
    before, _ = conv_padding(depth, size, stride, dilation, padding)
    count = conv_output_size(depth, size, stride, dilation, padding) or 0
    for tap in range(size):
        offset = tap * dilation - before
        first = max(0, -(offset // stride))
        stop = min(count, (depth - 1 - offset) // stride + 1)
        if first < stop:
            start = first * stride + offset
            seen = slice(start, start + (stop - 1 - first) * stride + 1, stride)
            yield tap, slice(first, stop), seen
