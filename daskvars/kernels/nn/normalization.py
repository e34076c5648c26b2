"""Softmax, its logarithm, and layer normalization, with their gradients.

All passes after the first write where the last one wrote (``out=``). 16-bit floats compute in
float32.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from daskvars import idle_threads
from daskvars.backend import DEVICE_BLOCK_ELEMENTS, Array, ArrayModule
from daskvars.kernels.math.precision import float_work
from daskvars.kernels.math.row_sums import as_matrix, column_sums, largest, row_sums, total

# Elements of a block of rows that stays in cache over a dozen passes. Measured on a layer norm of
# 2048 x 256, 2^12 ... 2^16 elements: 3.3, 2.0, 1.3, 1.1, 1.1 ms.
BLOCK_ELEMENTS = 1 << 16


def softmax(xp: ArrayModule, x: Array, *, axis: int = -1) -> Array:
    """Return exp(x) over its sum along ``axis``.

    Args:
        axis: the dimension of the classes.

    >>> softmax(np, np.array([0.0, 0.0]))
    array([0.5, 0.5])
    """
    y = shifted(xp, x, axis)
    xp.exp(y, out=y)
    y /= total(xp, y, axis)
    return y.astype(x.dtype, copy=False)


def softmax_grad(xp: ArrayModule, y: Array, dy: Array, *, axis: int = -1) -> Array:
    """Return the gradient of ``softmax`` from its result ``y`` and its gradient ``dy``."""
    y, kind = y.astype(float_work(y.dtype), copy=False), dy.dtype
    dx = xp.multiply(dy, y)
    xp.subtract(dy, total(xp, dx, axis), out=dx)
    dx *= y
    return dx.astype(kind, copy=False)


def log_softmax(xp: ArrayModule, x: Array, *, axis: int = -1) -> Array:
    """Return the logarithm of ``softmax``, of the same arguments, also where that would vanish."""
    y = shifted(xp, x, axis)
    if axis not in (-1, x.ndim - 1) or x.ndim < 2:
        y -= xp.log(total(xp, xp.exp(y), axis))
        return y.astype(x.dtype, copy=False)
    rows = as_matrix(y)  # a copy where x was transposed
    for block in row_blocks(xp, rows):
        sums = row_sums(xp, xp.exp(rows[block]))
        rows[block] -= xp.log(sums, out=sums)
    return rows.reshape(x.shape).astype(x.dtype, copy=False)


def log_softmax_grad(xp: ArrayModule, y: Array, dy: Array, *, axis: int = -1) -> Array:
    """Return the gradient of ``log_softmax`` from its result ``y`` and its gradient ``dy``."""
    kind = dy.dtype
    dy = dy.astype(float_work(kind), copy=False)
    dx = xp.exp(y.astype(dy.dtype, copy=False))
    dx *= total(xp, dy, axis)
    xp.subtract(dy, dx, out=dx)
    return dx.astype(kind, copy=False)


def shifted(xp: ArrayModule, x: Array, axis: int) -> Array:
    """Return a new array: ``x`` less its maximum along ``axis``, in the dtype to compute in."""
    x = x.astype(float_work(x.dtype), copy=False)
    return xp.subtract(x, largest(xp, x, axis)) if x.size else x.copy()


def layer_norm(
    xp: ArrayModule, x: Array, gamma: Array, beta: Array, *, epsilon: float = 1e-12
) -> tuple[Any, Any, Any]:
    """Normalize each row to mean 0 and variance 1, then scale and shift it.

    Args:
        x: [..., n] float.
        gamma: [n] float, scale.
        beta: [n] float, shift.
        epsilon: added to the variance.

    Returns:
        (y like ``x``, mean [..., 1], rstd [..., 1]); rstd is one over the standard deviation. The
        last two are float32 at least.

    Source: Ba, Kiros and Hinton, "Layer Normalization", 2016.
    """
    work, columns = float_work(x.dtype), x.shape[-1]
    rows = as_matrix(x)
    y = xp.empty(rows.shape, x.dtype)
    mean, rstd = (xp.empty((len(rows), 1), work) for _ in range(2))
    for block in row_blocks(xp, rows):
        centred = rows[block].astype(work)
        mean[block] = row_sums(xp, centred) / work.type(columns)
        centred -= mean[block]
        variance = row_sums(xp, centred * centred) / work.type(columns)
        variance += work.type(epsilon)
        xp.sqrt(variance, out=variance)
        xp.divide(work.type(1), variance, out=rstd[block])
        centred *= rstd[block]
        centred *= gamma
        xp.add(centred, beta, out=y[block], casting="same_kind")
    shape = (*x.shape[:-1], 1)
    return y.reshape(x.shape), mean.reshape(shape), rstd.reshape(shape)


def layer_norm_grad(
    xp: ArrayModule, x: Array, mean: Array, rstd: Array, gamma: Array, dy: Array
) -> tuple[Any, Any, Any]:
    """Return the gradients of ``layer_norm``.

    Args:
        x: [..., n] float, the argument of ``layer_norm``.
        mean, rstd: [..., 1], its results.
        gamma: [n] float, its scale.
        dy: like ``x``, the gradient of its first result.

    Returns:
        (dx like ``x``, dgamma [n], dbeta [n]); the last two are sums over this block's rows, in
        the dtype of ``gamma``.
    """
    work, columns = mean.dtype, x.shape[-1]
    rows, slopes = as_matrix(x), as_matrix(dy)
    mean, rstd = as_matrix(mean), as_matrix(rstd)
    dx = xp.empty(rows.shape, dy.dtype)
    dgamma, dbeta = (xp.zeros(columns, np.float64) for _ in range(2))
    scale = gamma.astype(work, copy=False)
    for block in row_blocks(xp, rows):
        slope = slopes[block].astype(work, copy=False)
        normal = xp.subtract(rows[block], mean[block], dtype=work)
        normal *= rstd[block]
        product = slope * normal
        dgamma += column_sums(xp, product)
        dbeta += column_sums(xp, slope)
        # The mean of slope * scale along a row, and of that times the normalized row.
        inner = xp.matmul(slope, scale[:, None]) / work.type(columns)
        normal *= xp.matmul(product, scale[:, None]) / work.type(columns)
        xp.multiply(slope, scale, out=product)
        product -= inner
        product -= normal
        product *= rstd[block]
        dx[block] = product
    return (dx.reshape(x.shape), dgamma.astype(gamma.dtype), dbeta.astype(gamma.dtype))


def row_blocks(xp: ArrayModule, rows: Array) -> list[slice]:
    """Return slices of rows that stay in cache over several passes."""
    elements = BLOCK_ELEMENTS if xp is np else DEVICE_BLOCK_ELEMENTS
    return idle_threads.slices(len(rows), max(1, elements // max(1, rows.shape[1])))


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
