"""What convolutions of images share, whatever the products of a window are.

Images come in any format and dtype. What computes gets them with the channels last, is told where
the windows are and in which dtype to work; its result gets their dtype and format again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from daskvars.backend import Array, ArrayModule
from daskvars.kernels.nn.windows.patches import channels_last, in_data_format, working_dtype
from daskvars.kernels.nn.windows.sliding import WindowOptions, place_windows, spatial


def convolved(
    xp: ArrayModule,
    x: Array,
    w: Array,
    compute: Callable[..., Array],
    options: WindowOptions,
    input_shape: tuple | None = None,
    out: Any = None,
) -> Array:
    """Return what ``compute(xp, x, w, windows, dtype)`` makes of images and a filter.

    Args:
        x: the images, or the gradient of a convolution's result.
        compute: either the convolution, or its gradient by images.
        input_shape: of the images that these slide over, if they are not ``x``.
        out: where ``compute(..., out=out)`` writes and returns its result, if it is as computed.
    """
    data_format = options.get("data_format", "NHWC")
    image = spatial(tuple(x.shape if input_shape is None else input_shape), data_format)
    x, kind = channels_last(x, data_format), x.dtype
    windows = place_windows(image, w.shape[-4:-2], **options)
    work = working_dtype(xp, kind)
    is_room = out is not None and data_format[1] != "C" and work == kind and out.flags.c_contiguous
    y = compute(xp, x, w, windows, work, **({"out": out} if is_room else {}))
    return in_data_format(xp, y.astype(kind, copy=False), data_format)


def by_filter(
    xp: ArrayModule,
    x: Array,
    dy: Array,
    filter_shape: tuple,
    gradient: Callable[..., Array],
    options: WindowOptions,
) -> Array:
    """Return the gradient by a filter: ``gradient(xp, x, dy, filter_shape, windows, dtype)``."""
    data_format = options.get("data_format", "NHWC")
    x, dy, kind = channels_last(x, data_format), channels_last(dy, data_format), x.dtype
    windows = place_windows(x.shape[1:3], filter_shape[:2], **options)
    dw = gradient(xp, x, dy, filter_shape, windows, working_dtype(xp, kind))
    return dw.astype(kind, copy=False)
