"""Elementwise kernels that no single ufunc computes."""

from __future__ import annotations

from typing import Any

import numpy

from daskvars.errors import InvalidArgumentError
from daskvars.kernels.math.special import digamma, lgamma

# Bernoulli numbers B2, B4, ... B16, and how many terms are added up before the series with them.
BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)
SUMMED = 10


def overwriting(x: Any) -> Any:
    """Return the ``out`` argument that reuses the fresh value `x`: itself, or None for a scalar."""
    return x if getattr(x, "ndim", 0) else None


def cast(xp: Any, x: Any, *, dtype: Any) -> Any:
    """Convert to another dtype; floats are cut towards zero, complex numbers lose their imaginary
    part."""
    if x.dtype.kind == "c" and dtype.np.kind not in "cb":
        x = x.real
    return x.astype(dtype.np)


def bitcast(xp: Any, x: Any, *, dtype: Any) -> Any:
    """Read the bits of numbers as another dtype; the last dimension grows or goes with them."""
    x, width = xp.asarray(x, order="C"), dtype.np.itemsize
    if width < x.dtype.itemsize:
        return x[..., None].view(dtype.np)
    recast = x.view(dtype.np)
    return recast if width == x.dtype.itemsize else recast[..., 0]


def add_n(xp: Any, *values: Any) -> Any:
    """Add any number of arrays of one shape, from left to right."""
    if len(values) == 1:
        return values[0].copy()
    total = xp.add(values[0], values[1])
    for value in values[2:]:
        total = xp.add(total, value, out=overwriting(total))
    return total


def select(xp: Any, condition: Any, x: Any, y: Any) -> Any:
    """Take elements of `x` where `condition` holds, else of `y`."""
    return xp.where(condition, x, y)


def nonzero(xp: Any, condition: Any) -> Any:
    """Give the coordinates of the elements that hold, [count, rank] int64, in row-major order."""
    return xp.argwhere(condition)


def squared_difference(xp: Any, x: Any, y: Any) -> Any:
    """(x - y)²."""
    difference = xp.subtract(x, y)
    return xp.multiply(difference, difference, out=overwriting(difference))


# -- division ----------------------------------------------------------------------------------


def _is_integer_division(y: Any) -> bool:
    """Return whether the divisor is integer. Raises InvalidArgumentError where it is zero."""
    if y.dtype.kind not in "iu":
        return False
    if not y.all():
        raise InvalidArgumentError(None, None, "Integer division by zero")
    return True


def floor_divide(xp: Any, x: Any, y: Any) -> Any:
    """Floor of the quotient."""
    if _is_integer_division(y):
        return xp.floor_divide(x, y)
    quotient = xp.divide(x, y)
    return xp.floor(quotient, out=overwriting(quotient))


def floor_mod(xp: Any, x: Any, y: Any) -> Any:
    """Remainder with the sign of the divisor."""
    _is_integer_division(y)
    return xp.remainder(x, y)


def truncate_divide(xp: Any, x: Any, y: Any) -> Any:
    """Quotient rounded towards zero, as C divides."""
    if not _is_integer_division(y):
        quotient = xp.divide(x, y)
        return xp.trunc(quotient, out=overwriting(quotient))
    quotient = xp.floor_divide(x, y)
    inexact = xp.multiply(quotient, y) != x
    return quotient + (inexact & ((x < 0) != (y < 0))).astype(quotient.dtype)


def truncate_mod(xp: Any, x: Any, y: Any) -> Any:
    """Remainder with the sign of the dividend, as C's."""
    _is_integer_division(y)
    return xp.fmod(x, y)


def divide_no_nan(xp: Any, x: Any, y: Any) -> Any:
    """Quotient, and 0 where the divisor is 0."""
    zero = y == 0
    quotient = xp.divide(x, xp.where(zero, y.dtype.type(1), y))
    return xp.where(zero, quotient.dtype.type(0), quotient)


# -- roots and ratios --------------------------------------------------------------------------


def rsqrt(xp: Any, x: Any) -> Any:
    """1 / sqrt(x)."""
    root = xp.sqrt(x)
    return xp.reciprocal(root, out=overwriting(root))


def softsign(xp: Any, x: Any) -> Any:
    """x / (1 + |x|)."""
    y = xp.abs(x)
    y += x.dtype.type(1)
    return xp.divide(x, y, out=overwriting(y))


# -- complex numbers ---------------------------------------------------------------------------


def real(xp: Any, x: Any) -> Any:
    """Real part."""
    return x.real.copy()


def imag(xp: Any, x: Any) -> Any:
    """Imaginary part."""
    return x.imag.copy()


def angle(xp: Any, x: Any) -> Any:
    """Argument of a complex number, in (-pi, pi]."""
    return xp.arctan2(x.imag, x.real)


def join_complex(xp: Any, re: Any, im: Any) -> Any:
    """re + i im."""
    out = xp.empty(numpy.broadcast_shapes(re.shape, im.shape), numpy.result_type(re.dtype, "c8"))
    out.real = re
    out.imag = im
    return out


# -- polygamma ---------------------------------------------------------------------------------


def polygamma(xp: Any, order: Any, x: Any) -> Any:
    """The derivative of `digamma` of an integer order, for x > 0; order 0 is digamma itself."""
    order, points = order.astype(numpy.float64), x.astype(numpy.float64)
    high = xp.maximum(order, 1.0)
    sign = xp.where(high % 2 == 0, -1.0, 1.0)
    value = sign * xp.exp(lgamma(xp, high + 1.0)) * hurwitz_zeta(high + 1.0, points)
    undefined = (order < 0) | (order != xp.floor(order)) | (points <= 0)
    value = xp.where(undefined, numpy.nan, value)
    return xp.where(order == 0, digamma(xp, points), value).astype(x.dtype)


def hurwitz_zeta(s: Any, x: Any) -> Any:
    """The sum of (x + k)^-s over k >= 0, for s > 1 and x > 0.

    Source: Euler-Maclaurin summation, Abramowitz and Stegun 23.1.30.
    """
    total = sum((x + k) ** -s for k in range(SUMMED))
    z = x + SUMMED
    total = total + z ** (1.0 - s) / (s - 1.0) + 0.5 * z**-s
    rising, factorial = s, 2.0
    for k, bernoulli in enumerate(BERNOULLI, 1):
        total = total + bernoulli / factorial * rising * z ** (-s - (2 * k - 1))
        rising = rising * (s + 2 * k - 1) * (s + 2 * k)
        factorial *= (2 * k + 1) * (2 * k + 2)
    return total


def zeta(xp: Any, x: Any, q: Any) -> Any:
    """The sum of (q + k)^-x over k >= 0: infinite at the poles x = 1 and q = 0, -1, ...; NaN where
    the sum is not defined otherwise."""
    s, point = x.astype(numpy.float64), q.astype(numpy.float64)
    defined = (s > 1) & (point > 0)
    value = hurwitz_zeta(xp.where(defined, s, 2.0), xp.where(defined, point, 1.0))
    pole = (s == 1) | ((s > 1) & (point <= 0) & (point == xp.floor(point)))
    return xp.where(defined, value, xp.where(pole, numpy.inf, numpy.nan)).astype(x.dtype)


# -- products that 0 decides -------------------------------------------------------------------


def xlogy(xp: Any, x: Any, y: Any) -> Any:
    """x log(y), and 0 where x is 0."""
    return multiply_no_nan(xp, xp.log(y), x)


def xdivy(xp: Any, x: Any, y: Any) -> Any:
    """x / y, and 0 where x is 0."""
    return xp.where(x == 0, x.dtype.type(0), x / y)


def multiply_no_nan(xp: Any, x: Any, y: Any) -> Any:
    """x y, and 0 where y is 0 whatever x."""
    return xp.where(y == 0, y.dtype.type(0), x * y)
