"""Batch normalization: each channel normalized over batch, height and width.

Channels are few and rows many, so many rows make one line, with the per-channel vectors repeated to
its length: a broadcast over 32 channels would spend most of its time starting inner loops. Sums
over rows are kept in float64.

Source: Ioffe and Szegedy, "Batch Normalization", 2015; names and results as TensorFlow's
``fused_batch_norm``.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from daskvars.backend import DEVICE_BLOCK_ELEMENTS, Array, ArrayModule
from daskvars.kernels.math.precision import float_work
from daskvars.kernels.math.row_sums import as_matrix, column_sums
from daskvars.kernels.nn.windows.patches import channels_last, in_data_format

# Of a line. Of shorter ones NumPy's iterator puts several into its buffer of 8192 elements, the
# vector over and over (m, x - vector, ns an element, lines of 2^10, 2^12, 2^13, 2^14: 0.29, 0.25,
# 0.15, 0.15; two arrays of a shape: 0.14).
LINE_ELEMENTS = 1 << 13
# Of a block, which stays in the last cache over several passes. Smaller ones would fit the one
# before, but at each call two threads hand the interpreter over (m, 512K elements on each thread,
# blocks of 2^16 and 2^18: 0.79 and 0.41 ms; one thread alone: 0.40 and 0.33).
BLOCK_ELEMENTS = 1 << 18
# Rows whose mean the moments of a channel are taken around.
SAMPLE_ROWS = 1024


def batch_norm_inference(
    xp: ArrayModule,
    x: Array,
    scale: Array,
    offset: Array,
    mean: Array,
    variance: Array,
    *,
    epsilon: float = 1e-3,
    data_format: str = "NHWC",
) -> Array:
    """Normalize each channel by given statistics.

    Args:
        x: [batch, height, width, channels] float in ``data_format`` order, or [..., channels].
        scale, offset: [channels] float.
        mean, variance: [channels] float, the statistics.
        epsilon: added to the variance.
        data_format: "NHWC" or "NCHW".

    Returns:
        Like ``x``.
    """
    gain = scale / xp.sqrt(variance.astype(np.float64) + epsilon)
    return channel_affine(xp, x, mean, gain, offset, data_format=data_format)


def line_blocks(xp: ArrayModule, rows: Array, vectors: list) -> Iterator[Any]:
    """Yield (slice of rows, the extent of a line, the vectors repeated to that extent)."""
    channels = rows.shape[1]
    if not channels:
        return
    elements = BLOCK_ELEMENTS if xp is np else DEVICE_BLOCK_ELEMENTS
    together = max(1, LINE_ELEMENTS // channels)
    step = max(1, elements // channels // together) * together
    # NumPy tiles by a longer way to the same (m, 256 times 32 channels: 11 us instead of 3.5).
    wide = [vector[None].repeat(together, axis=0).reshape(-1) for vector in vectors]
    whole = len(rows) // together * together
    for start in range(0, whole, step):
        yield slice(start, min(start + step, whole)), together * channels, wide
    if whole < len(rows):
        yield slice(whole, len(rows)), channels, vectors


def channel_rows(xp: ArrayModule, x: Array, data_format: str) -> Array:
    """Return ``x`` as a contiguous [rows, channels] matrix."""
    x = channels_last(x, data_format)
    return as_matrix(xp.ascontiguousarray(x))


def unrowed(xp: ArrayModule, rows: Array, shape: tuple, data_format: str) -> Array:
    """Return a [rows, channels] matrix in ``shape``, which is in ``data_format`` order."""
    if data_format == "NHWC":
        return rows.reshape(shape)
    batch, channels, height, width = shape
    return in_data_format(xp, rows.reshape(batch, height, width, channels), data_format)


def channel_moments(
    xp: ArrayModule, x: Array, *, data_format: str, count: int | None = None
) -> tuple[Any, Any]:
    """Mean and mean square of each channel, float64; with `count`, this block's part of them.

    One pass: sums are taken around the mean of the first rows, so that float32 loses nothing to
    a mean that is large beside the deviation. Of no rows they are NaN, as any mean is.
    """
    rows = channel_rows(xp, x, data_format)
    work, channels = float_work(x.dtype), rows.shape[1]
    sample = rows[:SAMPLE_ROWS].astype(work, copy=False)
    near = (column_sums(xp, sample) / max(len(sample), 1)).astype(work)
    sums, squares = (xp.zeros(channels, np.float64) for _ in range(2))
    for block, line, (centre,) in line_blocks(xp, rows, [near]):
        centred = xp.subtract(rows[block].reshape(-1, line), centre, dtype=work)
        sums += column_sums(xp, centred.reshape(-1, channels))
        centred *= centred
        squares += column_sums(xp, centred.reshape(-1, channels))
    near = near.astype(np.float64)
    squares += near * (2 * sums + len(rows) * near)
    sums += len(rows) * near
    total = (len(rows) if count is None else count) or math.nan
    return sums / total, squares / total


def channel_sums(
    xp: ArrayModule, dy: Array, x: Array, centre: Array, *, data_format: str
) -> tuple[Any, Any]:
    """Sums over each channel of dy and of dy (x - centre), in the dtype of `centre`."""
    slopes, rows = (channel_rows(xp, array, data_format) for array in (dy, x))
    work = float_work(x.dtype)
    along, alone = (xp.zeros(rows.shape[1], np.float64) for _ in range(2))
    for block, line, (near,) in line_blocks(xp, rows, [centre.astype(work)]):
        slope = slopes[block].astype(work, copy=False)
        centred = xp.subtract(rows[block].reshape(-1, line), near, dtype=work)
        centred *= slope.reshape(-1, line)
        along += column_sums(xp, centred.reshape(slope.shape))
        alone += column_sums(xp, slope)
    return alone.astype(centre.dtype), along.astype(centre.dtype)


def channel_affine(
    xp: ArrayModule,
    x: Array,
    centre: Array,
    slope: Array,
    shift: Array,
    *pair: Any,
    data_format: str,
) -> Array:
    """(x - centre) slope + shift, all per channel; with the pair (z, gain) also + z gain."""
    rows = channel_rows(xp, x, data_format)
    work = float_work(x.dtype)
    vectors = [vector.astype(work) for vector in (centre, slope, shift, *pair[1:])]
    other: Any = channel_rows(xp, pair[0], data_format) if pair else None
    y = xp.empty(rows.shape, x.dtype)
    for block, line, wide in line_blocks(xp, rows, vectors):
        out = y[block].reshape(-1, line)
        into = out if out.dtype == work else None
        lines = xp.subtract(rows[block].reshape(-1, line), wide[0], out=into, dtype=work)
        lines *= wide[1]
        if pair:
            lines += other[block].reshape(-1, line) * wide[3]
        xp.add(lines, wide[2], out=out, casting="same_kind")
    return unrowed(xp, y, x.shape, data_format)
