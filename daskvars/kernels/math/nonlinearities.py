"""Activation functions and their gradients, in few passes and fewer temporaries.

16-bit floats compute in float32. NumPy's ``log1p`` and ``expm1`` of float32 are fast only where a
processor has AVX-512 (m, elsewhere: 17 ns an element, ``exp`` 2.3), so those are built here from
what is fast everywhere.
"""

from __future__ import annotations

import math

from daskvars.backend import Array, ArrayModule, fusible
from daskvars.kernels.math.bounds import at_least, at_most
from daskvars.kernels.math.special import fill_erf, filled, horner

# exp of this is finite: of complex numbers, one over infinity is NaN.
EXP_LIMIT = {4: 88.0, 8: 709.0}
# log(1 + e) = 2 s (1 + s^2/3 + s^4/5 + ...) with s = e / (2 + e); highest power first.
LOG1P_SERIES = (1 / 13, 1 / 11, 1 / 9, 1 / 7, 1 / 5, 1 / 3, 1.0)
TANH_SCALE, TANH_CUBE = math.sqrt(2 / math.pi), 0.044715
# Klambauer et al., "Self-Normalizing Neural Networks", 2017.
SELU_SCALE = 1.0507009873554804934193349852946
SELU_SCALE_ALPHA = SELU_SCALE * 1.6732632423543772848170429916717


@fusible
def sigmoid(xp: ArrayModule, x: Array) -> Array:
    """Return 1 / (1 + exp(-x)), exactly 0 and 1 far from zero.

    >>> sigmoid(np, np.array([-1000.0, 0.0, 1000.0])).round(6)
    array([0. , 0.5, 1. ])
    """
    return filled(xp, fill_sigmoid, x)


def fill_sigmoid(xp: ArrayModule, out: Array | None, x: Array) -> Array:
    """Fill ``out``, or an array of its own, with the sigmoid: one over infinity is zero."""
    out = xp.negative(x, out=out)
    if out.dtype.kind == "c":
        at_most(xp, out.real, EXP_LIMIT[out.real.dtype.itemsize], out=out.real)
    xp.exp(out, out=out)
    out += out.dtype.type(1)
    return xp.reciprocal(out, out=out)


@fusible
def softplus(xp: ArrayModule, x: Array) -> Array:
    """Return log(1 + exp(x)), precise where that is tiny and where it is large."""
    return filled(xp, fill_softplus, x)


def fill_softplus(xp: ArrayModule, out: Array, x: Array) -> None:
    """Fill ``out`` with max(x, 0) + log(1 + exp(-|x|))."""
    kind = out.dtype.type
    xp.abs(x, out=out)
    xp.negative(out, out=out)
    xp.exp(out, out=out)
    if out.dtype.itemsize == 8:
        xp.log1p(out, out=out)
    else:
        out /= out + kind(2)
        series = horner(xp, LOG1P_SERIES, out * out)
        out *= series
        out += out
    out += at_least(xp, x, 0)


@fusible
def elu(xp: ArrayModule, x: Array) -> Array:
    """Return x above zero, exp(x) - 1 below."""
    return filled(xp, lambda xp, out, x: fill_elu(xp, out, x, 1.0, 1.0), x)


@fusible
def elu_grad(xp: ArrayModule, y: Array, dy: Array) -> Array:
    """Return the gradient of ``elu`` from its result ``y`` and its gradient ``dy``."""
    return filled(xp, lambda xp, out, y, dy: fill_elu_grad(xp, out, y, dy, 1.0, 1.0), y, dy)


@fusible
def selu(xp: ArrayModule, x: Array) -> Array:
    """Return the scaled exponential linear unit.

    Source: Klambauer et al., "Self-Normalizing Neural Networks", 2017.
    """
    return filled(xp, lambda xp, out, x: fill_elu(xp, out, x, SELU_SCALE, SELU_SCALE_ALPHA), x)


@fusible
def selu_grad(xp: ArrayModule, y: Array, dy: Array) -> Array:
    """Return the gradient of ``selu`` from its result ``y`` and its gradient ``dy``."""
    return filled(
        xp,
        lambda xp, out, y, dy: fill_elu_grad(xp, out, y, dy, SELU_SCALE, SELU_SCALE_ALPHA),
        y,
        dy,
    )


def fill_elu(xp: ArrayModule, out: Array, x: Array, above: float, below: float) -> None:
    """Fill ``out`` with above * x where x is positive, below * (exp(x) - 1) elsewhere."""
    kind = out.dtype.type
    at_most(xp, x, 0, out=out)
    if out.dtype.itemsize == 8:
        xp.expm1(out, out=out)
        out *= kind(below)
    else:
        # exp(x) - 1 = 2 t / (1 - t), t = tanh(x / 2), which loses nothing near zero.
        out *= kind(0.5)
        xp.tanh(out, out=out)
        out /= xp.subtract(kind(1), out)
        out *= kind(2 * below)
    if above == below == 1:
        xp.maximum(out, x, out=out)
        return
    positive = at_least(xp, x, 0)
    positive *= kind(above)
    out += positive


def fill_elu_grad(
    xp: ArrayModule, out: Array, y: Array, dy: Array, above: float, below: float
) -> None:
    """Fill ``out`` with dy * above where y is 0 or more, dy * (y + below) elsewhere."""
    kind = out.dtype.type
    at_most(xp, y, 0, out=out)
    out += kind(below)
    if above != below:
        # The mask as a number first: a product with bool goes through small buffers.
        positive = (y >= kind(0)).astype(out.dtype)
        positive *= kind(above - below)
        out += positive
    out *= dy


@fusible
def gelu(xp: ArrayModule, x: Array, *, approximate: bool = True) -> Array:
    """Return x times the normal distribution's probability below x.

    Args:
        approximate: use the tanh formula instead of the error function.

    Source: Hendrycks and Gimpel, "Gaussian Error Linear Units", 2016.
    """
    return filled(xp, fill_gelu_tanh if approximate else fill_gelu_erf, x)


@fusible
def gelu_grad(xp: ArrayModule, x: Array, dy: Array, *, approximate: bool = True) -> Array:
    """Return the gradient of ``gelu`` from its argument ``x`` and its gradient ``dy``."""
    return filled(xp, fill_gelu_tanh_grad if approximate else fill_gelu_erf_grad, x, dy)


def fill_odds(xp: ArrayModule, out: Array | None, x: Array) -> Array:
    """Fill ``out``, or an array of its own, with 1 + exp(-2 u).

    Here u = sqrt(2 / pi) (x + 0.044715 x^3). (1 + tanh(u)) / 2 is one over that, and ``exp`` is
    faster than ``tanh`` (m: 1.9, 2.7 ns).
    """
    kind = x.dtype.type
    out = xp.multiply(x, x, out=out)
    out *= kind(-2 * TANH_SCALE * TANH_CUBE)
    out += kind(-2 * TANH_SCALE)
    out *= x
    xp.exp(out, out=out)  # one over infinity is as good as one over much
    out += kind(1)
    return out


def fill_gelu_tanh(xp: ArrayModule, out: Array, x: Array) -> None:
    """Fill ``out`` with the tanh formula."""
    fill_odds(xp, out, x)
    xp.divide(x, out, out=out)


def fill_gelu_tanh_grad(xp: ArrayModule, out: Array, x: Array, dy: Array) -> None:
    """Fill ``out`` with dy s (1 + 2 x u' (1 - s)), s = (1 + tanh(u)) / 2."""
    kind = out.dtype.type
    share = fill_odds(xp, None, x)
    xp.reciprocal(share, out=share)
    xp.multiply(x, x, out=out)
    out *= kind(6 * TANH_SCALE * TANH_CUBE)
    out += kind(2 * TANH_SCALE)
    out *= x
    out *= xp.subtract(kind(1), share)
    out += kind(1)
    out *= share
    out *= dy


def fill_normal_probability(xp: ArrayModule, out: Array, x: Array) -> None:
    """Fill ``out`` with the normal distribution's probability below x."""
    kind = out.dtype.type
    fill_erf(xp, out, x * kind(math.sqrt(0.5)))
    out += kind(1)
    out *= kind(0.5)


def fill_gelu_erf(xp: ArrayModule, out: Array, x: Array) -> None:
    """Fill ``out`` with the exact formula."""
    fill_normal_probability(xp, out, x)
    out *= x


def fill_gelu_erf_grad(xp: ArrayModule, out: Array, x: Array, dy: Array) -> None:
    """Fill ``out`` with dy times the derivative of the exact formula."""
    kind = out.dtype.type
    fill_normal_probability(xp, out, x)
    density = x * x
    density *= kind(-0.5)
    xp.exp(density, out=density)
    density *= kind(1 / math.sqrt(2 * math.pi))
    density *= x
    out += density
    out *= dy
