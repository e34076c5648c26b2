"""Activations and their gradients; sigmoid and its kin are in `kernels.math.nonlinearities`."""

from __future__ import annotations

import numpy

from daskvars.backend import Array, ArrayModule, fusible
from daskvars.kernels.math.bounds import at_least, at_most
from daskvars.kernels.math.nonlinearities import fill_sigmoid
from daskvars.kernels.math.special import filled
from daskvars.kernels.math.without_ufunc import overwriting


@fusible
def relu(xp: ArrayModule, x: Array, *, out: Array | None = None) -> Array:
    """max(x, 0)."""
    return at_least(xp, x, 0, out)


@fusible
def relu_grad(xp: ArrayModule, dy: Array, y: Array, *, out: Array | None = None) -> Array:
    """`dy` where `y` is positive, else 0."""
    return _where_inside(xp, xp.greater(y, y.dtype.type(0)), dy, out)


@fusible
def relu6(xp: ArrayModule, x: Array, *, out: Array | None = None) -> Array:
    """x cut to [0, 6]."""
    y = at_least(xp, x, 0, out)
    return at_most(xp, y, 6, overwriting(y))


@fusible
def relu6_grad(xp: ArrayModule, dy: Array, y: Array, *, out: Array | None = None) -> Array:
    """`dy` where `y` is between 0 and 6, else 0."""
    inside = xp.greater(y, y.dtype.type(0))
    inside &= y < y.dtype.type(6)
    return _where_inside(xp, inside, dy, out)


def _where_inside(xp: ArrayModule, inside: Array, dy: Array, out: Array | None) -> Array:
    """`dy` where its element is inside, else 0."""
    if xp is not numpy:
        return xp.where(inside, dy, dy.dtype.type(0))
    # The mask as a number first: a product with bool goes through small buffers (m: 5 us, not 4).
    dx = inside.astype(dy.dtype)
    return xp.multiply(dx, dy, out=overwriting(dx) if out is None else out)


@fusible
def leaky_relu(xp: ArrayModule, x: Array, *, alpha: float) -> Array:
    """x where it is positive, else alpha x."""
    below = xp.multiply(x, x.dtype.type(alpha))
    # max(x, alpha x) for alpha up to 1, min beyond.
    choose = xp.maximum if alpha <= 1 else xp.minimum
    return choose(x, below)


@fusible
def leaky_relu_grad(xp: ArrayModule, dy: Array, x: Array, *, alpha: float) -> Array:
    """`dy` where x is positive, else alpha dy."""
    kind = dy.dtype.type
    dx = xp.greater(x, x.dtype.type(0)).astype(dy.dtype)
    dx *= kind(1 - alpha)
    dx += kind(alpha)
    dx *= dy
    return dx


@fusible
def swish(xp: ArrayModule, x: Array) -> Array:
    """x sigmoid(x)."""
    return filled(xp, fill_swish, x)


def fill_swish(xp: ArrayModule, out: Array, x: Array) -> None:
    """Fill `out` with x sigmoid(x)."""
    fill_sigmoid(xp, out, x)
    out *= x


@fusible
def swish_grad(xp: ArrayModule, dy: Array, x: Array) -> Array:
    """dy s (1 + x (1 - s)), s = sigmoid(x)."""
    return filled(xp, fill_swish_grad, x, dy)


def fill_swish_grad(xp: ArrayModule, out: Array, x: Array, dy: Array) -> None:
    """Fill `out` with dy s (1 + x (1 - s))."""
    one = out.dtype.type(1)
    s = fill_sigmoid(xp, None, x)
    xp.subtract(one, s, out=out)
    out *= x
    out += one
    out *= s
    out *= dy
