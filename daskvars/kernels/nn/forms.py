"""Kernels of neural-network ops that no other module of this package has."""

from __future__ import annotations

import math
from typing import Any

import numpy

from daskvars.backend import Array, ArrayModule
from daskvars.dtypes import DType
from daskvars.kernels.math.nonlinearities import fill_sigmoid
from daskvars.kernels.math.precision import float_work, lowest
from daskvars.kernels.math.row_sums import as_matrix, column_sums
from daskvars.kernels.math.special import in_blocks
from daskvars.kernels.math.without_ufunc import overwriting
from daskvars.kernels.nn.batch_norm import channel_rows, line_blocks, slope_sums, unrowed
from daskvars.kernels.nn.cross_entropy import softmax_cross_entropy, sparse_softmax_cross_entropy
from daskvars.kernels.nn.patches import channels_last
from daskvars.kernels.nn.pooling import first_maxima, pool_blocks, pool_windows

# Rows whose mean the moments of a channel are taken around.
SAMPLE_ROWS = 1024

# -- activations -------------------------------------------------------------------------------


def relu(xp: ArrayModule, x: Array) -> Array:
    """max(x, 0)."""
    return xp.maximum(x, x.dtype.type(0))


def relu_grad(xp: ArrayModule, dy: Array, y: Array) -> Array:
    """`dy` where `y` is positive, else 0."""
    if xp is not numpy:
        return xp.where(y > 0, dy, dy.dtype.type(0))
    # The mask as a number first: a product with bool goes through small buffers (m: 5 us, not 4).
    dx = xp.greater(y, y.dtype.type(0)).astype(dy.dtype)
    dx *= dy
    return dx


def relu6(xp: ArrayModule, x: Array) -> Array:
    """x cut to [0, 6]."""
    y = xp.maximum(x, x.dtype.type(0))
    return xp.minimum(y, x.dtype.type(6), out=overwriting(y))


def relu6_grad(xp: ArrayModule, dy: Array, y: Array) -> Array:
    """`dy` where `y` is between 0 and 6, else 0."""
    inside = xp.greater(y, y.dtype.type(0))
    inside &= y < y.dtype.type(6)
    dx = inside.astype(dy.dtype)
    dx *= dy
    return dx


def leaky_relu(xp: ArrayModule, x: Array, *, alpha: float) -> Array:
    """x where it is positive, else alpha x."""
    below = xp.multiply(x, x.dtype.type(alpha))
    # max(x, alpha x) for alpha up to 1, min beyond.
    choose = xp.maximum if alpha <= 1 else xp.minimum
    return choose(x, below)


def leaky_relu_grad(xp: ArrayModule, dy: Array, x: Array, *, alpha: float) -> Array:
    """`dy` where x is positive, else alpha dy."""
    kind = dy.dtype.type
    dx = xp.greater(x, x.dtype.type(0)).astype(dy.dtype)
    dx *= kind(1 - alpha)
    dx += kind(alpha)
    dx *= dy
    return dx


def swish(xp: ArrayModule, x: Array) -> Array:
    """x sigmoid(x)."""
    return in_blocks(xp, fill_swish, x)


def fill_swish(xp: ArrayModule, out: Array, x: Array) -> None:
    """Fill `out` with x sigmoid(x)."""
    fill_sigmoid(xp, out, x)
    out *= x


def swish_grad(xp: ArrayModule, dy: Array, x: Array) -> Array:
    """dy s (1 + x (1 - s)), s = sigmoid(x)."""
    return in_blocks(xp, fill_swish_grad, x, dy)


def fill_swish_grad(xp: ArrayModule, out: Array, x: Array, dy: Array) -> None:
    """Fill `out` with dy s (1 + x (1 - s))."""
    one = out.dtype.type(1)
    s = xp.empty_like(out)
    fill_sigmoid(xp, s, x)
    xp.subtract(one, s, out=out)
    out *= x
    out += one
    out *= s
    out *= dy


def scale_kept(xp: ArrayModule, x: Array, kept: Any, *, rate: float) -> Array:
    """x / (1 - rate) where `kept` holds, else 0."""
    y = kept.astype(x.dtype)
    y *= x.dtype.type(1 / (1 - rate) if rate < 1 else 1.0)  # at 1 nothing is kept
    return xp.multiply(y, x)


# -- reductions --------------------------------------------------------------------------------


def l2_loss(xp: ArrayModule, x: Array) -> Array:
    """Half the sum of squares."""
    flat = x.reshape(-1)
    flat = flat.astype(float_work(x.dtype), copy=False)
    return xp.multiply(xp.dot(flat, flat), flat.dtype.type(0.5)).astype(x.dtype)


def bias_add_grad(xp: ArrayModule, dy: Array, *, data_format: str) -> Array:
    """Sum over everything but the channels."""
    if data_format == "NCHW":
        axes = (0, *range(2, dy.ndim))
        return dy.sum(axis=axes, dtype=float_work(dy.dtype)).astype(dy.dtype, copy=False)
    rows = as_matrix(dy)
    if dy.dtype.kind in "iuc":
        return rows.sum(axis=0, dtype=dy.dtype)
    return column_sums(xp, rows.astype(float_work(dy.dtype), copy=False)).astype(dy.dtype)


def top_k_grad(xp: ArrayModule, dy: Array, indices: Array, *, size: int) -> Array:
    """Zeros [..., size] with `dy` [..., k] at `indices`."""
    rows = math.prod(dy.shape[:-1])
    dx = xp.zeros((rows, size), dy.dtype)
    dx[xp.arange(rows)[:, None], as_matrix(indices)] = as_matrix(dy)
    return dx.reshape(*dy.shape[:-1], size)


def take_last(xp: ArrayModule, x: Array, indices: Array) -> Array:
    """Entries of the last dimension at `indices` [..., k]."""
    return xp.take_along_axis(x, indices.astype(numpy.int64), axis=-1)


# -- losses ------------------------------------------------------------------------------------


def dense_cross_entropy(xp: ArrayModule, logits: Array, labels: Array) -> tuple[Any, Any]:
    """Cross entropy along the last dimension and its gradient, whatever the leading ones."""
    rows = (math.prod(logits.shape[:-1]), logits.shape[-1])
    loss, gradient = softmax_cross_entropy(xp, logits.reshape(rows), labels.reshape(rows))
    return loss.reshape(logits.shape[:-1]), gradient.reshape(logits.shape)


def sparse_cross_entropy(xp: ArrayModule, logits: Array, labels: Array) -> tuple[Any, Any]:
    """Cross entropy with one class per row and its gradient, whatever the leading dimensions."""
    rows = (math.prod(logits.shape[:-1]), logits.shape[-1])
    loss, gradient = sparse_softmax_cross_entropy(xp, logits.reshape(rows), labels.reshape(-1))
    return loss.reshape(labels.shape), gradient.reshape(logits.shape)


# -- channels ----------------------------------------------------------------------------------


def channel_moments(
    xp: ArrayModule, x: Array, *, data_format: str, count: int | None = None
) -> tuple[Any, Any]:
    """Mean and mean square of each channel, float64; with `count`, this block's part of them.

    One pass: sums are taken around the mean of the first rows, so that float32 loses nothing to
    a mean that is large beside the deviation.
    """
    rows = channel_rows(xp, x, data_format)
    work, channels = float_work(x.dtype), rows.shape[1]
    sample = rows[:SAMPLE_ROWS].astype(work, copy=False)
    near = (column_sums(xp, sample) / max(len(sample), 1)).astype(work)
    sums, squares = (xp.zeros(channels, numpy.float64) for _ in range(2))
    for block, line, (centre,) in line_blocks(xp, rows, [near]):
        centred = xp.subtract(rows[block].reshape(-1, line), centre, dtype=work)
        sums += column_sums(xp, centred.reshape(-1, channels))
        centred *= centred
        squares += column_sums(xp, centred.reshape(-1, channels))
    near = near.astype(numpy.float64)
    squares += near * (2 * sums + len(rows) * near)
    sums += len(rows) * near
    total = max(len(rows) if count is None else count, 1)
    return sums / total, squares / total


def channel_sums(
    xp: ArrayModule, dy: Array, x: Array, centre: Array, *, data_format: str
) -> tuple[Any, Any]:
    """Sums over each channel of dy and of dy (x - centre), in the dtype of `centre`."""
    slopes, rows = (channel_rows(xp, array, data_format) for array in (dy, x))
    along, alone = slope_sums(xp, rows, slopes, centre, float_work(x.dtype))
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
        lines = xp.subtract(rows[block].reshape(-1, line), wide[0], dtype=work)
        lines *= wide[1]
        if pair:
            lines += other[block].reshape(-1, line) * wide[3]
        xp.add(lines, wide[2], out=y[block].reshape(-1, line), casting="same_kind")
    return unrowed(xp, y, x.shape, data_format)


def channel_window_sum(xp: ArrayModule, x: Array, *, depth_radius: int) -> Array:
    """Sum of each channel and its neighbours up to `depth_radius` away."""
    channels = x.shape[-1]
    place = xp.arange(channels)
    # As a product with a band matrix: for a few hundred channels BLAS beats shifted sums.
    band = (abs(place[:, None] - place) <= depth_radius).astype(float_work(x.dtype))
    return xp.matmul(as_matrix(x), band).reshape(x.shape).astype(x.dtype, copy=False)


def local_response(
    xp: ArrayModule, x: Array, *, depth_radius: int, bias: float, alpha: float, beta: float
) -> Array:
    """x / (bias + alpha times the sum of the neighbouring channels' squares)^beta."""
    work = x.astype(float_work(x.dtype), copy=False)
    scale = channel_window_sum(xp, work * work, depth_radius=depth_radius)
    scale *= scale.dtype.type(alpha)
    scale += scale.dtype.type(bias)
    xp.log(scale, out=scale)  # NumPy's power takes ten times as long as log and exp
    scale *= scale.dtype.type(-beta)
    xp.exp(scale, out=scale)
    scale *= work
    return scale.astype(x.dtype, copy=False)


# -- pooling -----------------------------------------------------------------------------------


def max_pool_with_argmax(
    xp: ArrayModule, x: Array, *, dtype: DType, **options: Any
) -> tuple[Any, Any]:
    """Maximum of each window and the place of its first one, (row width + column) channels + c."""
    x = channels_last(x, "NHWC")
    windows = pool_windows(x.shape[1:3], **options)
    width, channels = x.shape[2], x.shape[3]
    y = xp.empty((len(x), *windows.count, channels), x.dtype)
    places = xp.zeros(y.shape, dtype.np)
    tops = xp.arange(windows.count[0])[:, None, None] * windows.stride[0] - windows.before[0]
    lefts = xp.arange(windows.count[1])[:, None] * windows.stride[1] - windows.before[1]
    origin = (tops * width + lefts) * channels + xp.arange(channels)
    for images, padded in pool_blocks(xp, x, windows, lowest(x.dtype)):
        seen = [padded[index] for _, _, index in windows.taps()]
        best = seen[0].copy()
        for pixels in seen[1:]:
            xp.maximum(best, pixels, out=best)
        y[images] = best
        taps = zip(windows.taps(), first_maxima(xp, padded, best, windows), strict=True)
        for (row, column, _), (_, first) in taps:
            shift = (row * width + column) * channels
            places[images] += xp.where(first, origin + shift, 0).astype(dtype.np)
    return y, places
