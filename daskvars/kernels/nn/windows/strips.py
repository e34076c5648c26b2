"""Images cut into what the rows of windows see: patches of one row each, which windows share.

A patch has each pixel as often as windows see it, nine times where they are 3x3. A *strip*, all
that the windows of a row see of one row of pixels, is there once for all rows of windows that reach
it, with its pixels three times. A convolution is a product for each row of a window then, which are
added up. (m, one thread, 16 to 16 channels, 3x3, 32 images of 32x32: 2.2 ms, from patches 3.3, its
gradient by the filter 2.1 and 3.6; 64 to 64, 8x8: 1.5 and 1.7, its gradient no less.) What is
saved is copies of inputs, and what it costs are passes over outputs, which must not be many more:
of 3 channels to 64 patches take 1.6 ms, strips 2.0 (m, one thread, 3x3, 16 images of 32x32).

BLAS copies the operands of a large product before, those of a small one not. So each product is of
as many rows of windows as make a small one. Products are added up in blocks that stay in the last
cache, products and sums included (m, 64 to 64 channels of 32x32, two threads, blocks of which the
strips alone are counted and of all three: 51 and 70 GF/s each).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from daskvars.backend import Array, ArrayModule
from daskvars.kernels.nn.windows.patches import padded_blocks, strided
from daskvars.kernels.nn.windows.phases import copy_pixels
from daskvars.kernels.nn.windows.sliding import Windows

STRIP_BYTES = 2 << 20  # of strips, what they make, and what that is added to
SMALL_PRODUCT = 1_000_000  # multiplications; OpenBLAS's own limit
# Of a product: of fewer it reads its filter too often (m, 5x5, 32 to 64 channels of 14x14, products
# of 28 and 196 positions, and patches: 62, 71 and 69 GF/s).
MIN_POSITIONS = 64
# Numbers in the patches of an image of no more positions, with which strips are slower (m, 3x3, 32
# to 32 channels of 8x8, 1 and 32 images: 0.10 and 0.86 ms, from patches 0.08 and 0.72).
FEW_SEEN = 20_000
# Outputs for each number that a window sees of a row.
MAX_OUTPUTS_SEEN = 2
# Of a filter, and of one whose gradient is looked for, to which each image adds one. More take so
# long to multiply that copies hardly matter.
MAX_OUTPUTS, MAX_SUMMED_OUTPUTS = 64, 32


def rows_at_once(windows: Windows, inputs: int, outputs: int) -> int:
    """Return how many rows of windows to multiply at once; 0 where patches are faster."""
    if not _may_pay(windows, inputs, outputs, MAX_OUTPUTS):
        return 0
    rows, columns = windows.count
    most = SMALL_PRODUCT // (windows.size[1] * inputs * outputs)
    return _greatest_divisor(rows, -(-MIN_POSITIONS // columns), most // columns)


@lru_cache(maxsize=1024)  # a program has few of them, and looks for them in each step
def _greatest_divisor(number: int, least: int, most: int) -> int:
    """Return the greatest divisor of a number from ``least`` to ``most``; 0 where there is none."""
    numbers = range(max(least, 1), min(most, number) + 1)
    return max((n for n in numbers if number % n == 0), default=0)


def can_sum(windows: Windows, inputs: int, outputs: int) -> bool:
    """Return whether the gradient by a filter is faster from strips: the sum of its images'."""
    few = min(MAX_SUMMED_OUTPUTS, math.prod(windows.count) // 2)
    return _may_pay(windows, inputs, outputs, few)


def _may_pay(windows: Windows, inputs: int, outputs: int, most: int) -> bool:
    height, width = windows.size
    most = min(most, MAX_OUTPUTS_SEEN * width * inputs)
    positions = math.prod(windows.count)
    is_small = positions <= MIN_POSITIONS and positions * height * width * inputs <= FEW_SEEN
    return height > 1 and inputs > 1 and 0 < outputs <= most and not is_small


def strip_blocks(
    xp: ArrayModule, x: Array, windows: Windows, dtype: np.dtype[Any], outputs: int
) -> Iterator[tuple[slice, list[Any]]]:
    """Yield (images, for each row of a window what it sees of them).

    That is [images, positions, window width * channels], in a buffer that the next block
    overwrites. Rows of pixels that are a stride apart lie side by side there, so that what a row of
    windows sees is one matrix.
    """
    height, step = windows.padded[0], windows.stride[0]
    shape = (step, -(-height // step), windows.count[1], windows.size[1] * x.shape[3])
    image_bytes = (math.prod(shape) + 2 * math.prod(windows.count) * outputs) * dtype.itemsize
    buffer = None
    for images, padded in padded_blocks(xp, x, windows, image_bytes, STRIP_BYTES, dtype):
        if buffer is None:
            buffer = xp.empty((len(padded), *shape), dtype)
        strips = buffer[: len(padded)]
        view = strip_view(xp, padded, windows)
        for phase in range(step):
            rows = view[:, phase::step]
            copy_pixels(xp, rows, strips[:, phase, : rows.shape[1]].reshape(rows.shape))
        yield images, [_seen(strips, windows, row) for row in range(windows.size[0])]


def strip_view(xp: ArrayModule, padded: Array, windows: Windows) -> Array:
    """Return the view [batch, rows of pixels, columns, window width * channels].

    Where what a window sees of a row is no run of memory, its last dimension is two.
    """
    batch, row, column, channel = padded.strides
    channels, apart = padded.shape[3], column * windows.dilation[1]
    shape: tuple[int, ...] = (windows.size[1], channels)
    strides: tuple[int, ...] = (apart, channel)
    if apart == channels * channel:
        shape, strides = (windows.size[1] * channels,), (channel,)
    shape = (*padded.shape[:2], windows.count[1], *shape)
    return strided(xp, padded, shape, (batch, row, column * windows.stride[1], *strides))


def _seen(strips: Array, windows: Windows, row: int) -> Array:
    start, phase = divmod(row * windows.dilation[0], windows.stride[0])
    found = strips[:, phase, start : start + windows.count[0]]
    return found.reshape(len(found), -1, found.shape[3])
