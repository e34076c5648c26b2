"""Images cut into the patches that windows see, a cache-sized block at a time.

Convolution becomes one matrix product per block. A block of about 4 MiB of patches stays in the
last cache between being written and being multiplied; 512 rows at least, so that the product
reads its weights often enough to pay for packing them. Measured, 5x5x32x64 over 14x14 images, with
blocks of 1, 2, 4 and 8 MiB: 11.8, 11.7, 11.6 and 13.8 ms. Smaller blocks lose where two threads
compute: at each they hand the interpreter over (3x3x64x64 over 8x8 images, half of them on each
thread: 1.8 ms with blocks of 1 MiB, 0.95 with 4).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from daskvars import idle_threads
from daskvars.backend import Array, ArrayModule
from daskvars.kernels.math.precision import float_work
from daskvars.kernels.nn.windows.sliding import Windows

PATCH_BYTES = 4 << 20
BLOCK_BYTES = 1 << 20  # of what is gone through several times
PATCH_ROWS = 512
# A GPU wants few, large products: its limit is memory, not cache.
DEVICE_PATCH_BYTES = 1 << 28


def block_bytes(xp: ArrayModule) -> int:
    """Return the size of one block of work on ``xp``'s device."""
    return BLOCK_BYTES if xp is np else DEVICE_PATCH_BYTES


def working_dtype(xp: ArrayModule, dtype: np.dtype[Any]) -> np.dtype:
    """Return the dtype to compute in: 16-bit floats have no fast product on a CPU."""
    return float_work(dtype) if xp is np else dtype


def channels_last(x: Array, data_format: str) -> Array:
    """Return ``x`` seen as [batch, *space, channels]."""
    return x if data_format[1] != "C" else x.transpose(0, *range(2, x.ndim), 1)


def in_data_format(xp: ArrayModule, y: Array, data_format: str) -> Array:
    """Return [batch, *space, channels] as a contiguous array in ``data_format``."""
    if data_format[1] != "C":
        return y
    return xp.ascontiguousarray(y.transpose(0, y.ndim - 1, *range(1, y.ndim - 1)))


def image_blocks(images: int, image_bytes: int, limit_bytes: int) -> list[slice]:
    """Return slices of whole images of at most ``limit_bytes`` each, one image at least."""
    return idle_threads.slices(images, max(1, limit_bytes // max(1, image_bytes)))


def padded_blocks(
    xp: ArrayModule,
    x: Array,
    windows: Windows,
    image_bytes: int,
    limit_bytes: int,
    dtype: np.dtype[Any],
) -> Iterator[tuple[slice, Any]]:
    """Yield (images, padded images), reusing one buffer; without padding, views of ``x``."""
    if not windows.pads and dtype == x.dtype:
        for images in image_blocks(len(x), image_bytes, limit_bytes):
            yield images, x[images]
        return
    buffer = None
    for images in image_blocks(len(x), image_bytes, limit_bytes):
        if buffer is None:
            shape = (images.stop - images.start, *windows.padded, x.shape[3])
            buffer = xp.zeros(shape, dtype)
        block = buffer[: images.stop - images.start]
        block[windows.interior()] = x[images]
        yield images, block


def window_view(xp: ArrayModule, padded: Array, windows: Windows) -> Array:
    """Return the view [batch, rows, columns, window rows, window columns, channels]."""
    batch, row, column, channel = padded.strides
    shape = (len(padded), *windows.count, *windows.size, padded.shape[3])
    strides = (
        batch,
        row * windows.stride[0],
        column * windows.stride[1],
        row * windows.dilation[0],
        column * windows.dilation[1],
        channel,
    )
    return strided(xp, padded, shape, strides)


def strided(xp: ArrayModule, x: Any, shape: tuple[int, ...], strides: tuple[int, ...]) -> Array:
    """Return `as_strided` of an array; of one in C order NumPy makes it in a tenth of the time."""
    if xp is np and x.flags.c_contiguous:
        return np.ndarray(shape, x.dtype, x, 0, strides)
    return xp.lib.stride_tricks.as_strided(x, shape, strides)


def patch_blocks(
    xp: ArrayModule, x: Array, windows: Windows, dtype: np.dtype[Any]
) -> Iterator[tuple[slice, slice, Any]]:
    """Yield (images, window rows, patches [positions, window size * channels]).

    The patches lie in a buffer that the next block overwrites.
    """
    patch_bytes = math.prod(windows.size) * x.shape[3] * dtype.itemsize
    row_bytes = max(1, windows.count[1] * patch_bytes)
    image_bytes = windows.count[0] * row_bytes
    limit = max(PATCH_BYTES if xp is np else DEVICE_PATCH_BYTES, PATCH_ROWS * patch_bytes)
    step = max(1, limit // row_bytes) if image_bytes > 2 * limit else windows.count[0]
    buffer = None
    for images, padded in padded_blocks(xp, x, windows, image_bytes, limit, dtype):
        view = window_view(xp, padded, windows)
        for start in range(0, windows.count[0], step):
            rows = slice(start, min(start + step, windows.count[0]))
            part = view[:, rows]
            if buffer is None:
                buffer = xp.empty(part.size, dtype)
            yield images, rows, copy_patches(xp, part, buffer[: part.size])


def copy_patches(xp: ArrayModule, view: Any, buffer: Array) -> Array:
    """Copy a window view into ``buffer`` and return it as a matrix with a row per position.

    With one channel the runs along a window are only its width long, so the matrix is then
    written transposed, in runs along the image (m: 28x28, 5x5 windows: 6.3 us instead of 28).
    """
    batch, rows, columns, height, width, depth = view.shape
    positions, taps = batch * rows * columns, height * width * depth
    if depth == 1 and columns > width:
        turned = buffer.reshape(height, width, depth, batch, rows, columns)
        xp.copyto(turned, view.transpose(3, 4, 5, 0, 1, 2))
        return turned.reshape(taps, positions).T
    xp.copyto(buffer.reshape(view.shape), view)
    return buffer.reshape(positions, taps)
