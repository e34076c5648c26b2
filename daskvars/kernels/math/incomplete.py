"""Incomplete gamma and beta functions, element by element, without SciPy: computed in float64.

Series and continued fractions run until no element of a cache-sized block changes any more.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from daskvars.kernels.math.special import digamma, in_blocks, lgamma

EPSILON = float(np.finfo(np.float64).eps)
TINY = 1e-300  # stands for 0 in a denominator (Lentz's method)
MOST_TERMS = 20_000


def igamma(xp: Any, a: Any, x: Any) -> Any:
    """Return the regularized lower incomplete gamma function P(a, x).

    Args:
        a: [...] float, positive.
        x: [...] float, not negative; broadcast against ``a``.

    Returns:
        Of the dtype of ``a``; NaN outside the domain.

    Example:
        >>> import numpy as np
        >>> igamma(np, np.array([1.0]), np.array([2.0])).round(6)  # 1 - exp(-2)
        array([0.864665])
    """
    return _together(xp, _fill_lower, a, x)


def igammac(xp: Any, a: Any, x: Any) -> Any:
    """Return 1 - P(a, x) with full relative precision where that is tiny. See ``igamma``."""
    return _together(xp, _fill_upper, a, x)


def igamma_slope(xp: Any, a: Any, x: Any) -> Any:
    """Return the derivative of P(a, x) by ``a``. See ``igamma``."""
    return _together(xp, _fill_slope, a, x)


def betainc(xp: Any, a: Any, b: Any, x: Any) -> Any:
    """Return the regularized incomplete beta function I_x(a, b).

    Args:
        a, b: [...] float, positive.
        x: [...] float in [0, 1]; all three are broadcast.

    Returns:
        Of the dtype of ``a``; NaN outside the domain.
    """
    return _together(xp, _fill_beta, a, b, x)


def _together(xp: Any, fill: Any, *arrays: Any) -> Any:
    """Return what ``fill`` computes of arrays broadcast to one shape, in float64."""
    doubles = xp.broadcast_arrays(*[array.astype(np.float64) for array in arrays])
    with np.errstate(all="ignore"):
        return in_blocks(xp, fill, *doubles).astype(arrays[0].dtype, copy=False)


# -- gamma -------------------------------------------------------------------------------------


def _fill_lower(xp: Any, out: Any, a: Any, x: Any) -> None:
    lower, upper, by_series = _gamma_parts(xp, a, x)
    out[...] = xp.where(by_series, lower, 1 - upper)


def _fill_upper(xp: Any, out: Any, a: Any, x: Any) -> None:
    lower, upper, by_series = _gamma_parts(xp, a, x)
    out[...] = xp.where(by_series, 1 - lower, upper)


def _gamma_parts(xp: Any, a: Any, x: Any) -> tuple[Any, Any, Any]:
    """Return P where the series gives it, 1 - P where the fraction does, and where that is."""
    defined = (a > 0) & (x >= 0)
    by_series = (x <= 1) | (x <= a) | ~defined
    shape, point = xp.where(defined, a, 1.0), xp.where(defined & xp.isfinite(x), x, 1.0)
    density = xp.exp(shape * xp.log(point) - point - lgamma(xp, shape))  # times x
    first = xp.where(by_series, point, 1.0)
    lower = density * _gamma_series(xp, xp.where(by_series, shape, 1.0), first)[0]
    second = xp.where(by_series, 2.0, point)
    upper = density * _gamma_fraction(xp, xp.where(by_series, 1.0, shape), second)
    lower = xp.where(x == 0, 0.0, xp.where(defined, lower, np.nan))
    return lower, xp.where(xp.isinf(x), 0.0, upper), by_series


def _gamma_series(xp: Any, a: Any, x: Any) -> tuple[Any, Any]:
    """Return the sum of x^n / (a (a+1) ... (a+n)) over n, and its derivative by a."""
    term = 1 / a
    total, harmonic = term, 1 / a
    slope = -term * harmonic
    for n in range(1, MOST_TERMS):
        term = term * (x / (a + n))
        harmonic = harmonic + 1 / (a + n)
        total, slope = total + term, slope - term * harmonic
        if not bool((term * harmonic > EPSILON * -slope).any()):
            break
    return total, slope


def _gamma_fraction(xp: Any, a: Any, x: Any) -> Any:
    """Return 1 / (x+1-a - 1(1-a)/(x+3-a - 2(2-a)/(x+5-a - ...))), by Lentz's method."""
    b = x + 1 - a
    c = xp.full_like(b, 1 / TINY)
    d = 1 / b
    value = d
    for n in range(1, MOST_TERMS):
        value, c, d, change = _lentz(xp, value, c, d, -n * (n - a), b + 2 * n)
        if not bool((xp.abs(change - 1) > EPSILON).any()):
            break
    return value


def _lentz(xp: Any, value: Any, c: Any, d: Any, numerator: Any, denominator: Any) -> tuple:
    """Take one more term of a continued fraction into `value`."""
    d = denominator + numerator * d
    c = denominator + numerator / c
    d = 1 / xp.where(xp.abs(d) < TINY, TINY, d)
    c = xp.where(xp.abs(c) < TINY, TINY, c)
    change = c * d
    return value * change, c, d, change


def _fill_slope(xp: Any, out: Any, a: Any, x: Any) -> None:
    defined = (a > 0) & (x >= 0)
    # Far in the tail P is 1 for every a nearby; the series would need x terms to say so.
    within = defined & (x > 0) & (x < a + 40 * xp.sqrt(xp.abs(a)) + 200)
    a, x = xp.where(within, a, 1.0), xp.where(within, x, 1.0)
    total, slope = _gamma_series(xp, a, x)
    density = xp.exp(a * xp.log(x) - x - lgamma(xp, a))
    value = density * (total * (xp.log(x) - digamma(xp, a)) + slope)
    out[...] = xp.where(within, value, xp.where(defined, 0.0, np.nan))


# -- beta --------------------------------------------------------------------------------------


def _fill_beta(xp: Any, out: Any, a: Any, b: Any, x: Any) -> None:
    defined = (a > 0) & (b > 0) & (x >= 0) & (x <= 1)
    inner = defined & (x > 0) & (x < 1)
    p, q, point = xp.where(inner, a, 1.0), xp.where(inner, b, 1.0), xp.where(inner, x, 0.5)
    log_beta = lgamma(xp, p) + lgamma(xp, q) - lgamma(xp, p + q)
    front = xp.exp(p * xp.log(point) + q * xp.log1p(-point) - log_beta)
    swapped = point > (p + 1) / (p + q + 2)  # the fraction is quick on the near side of the mean
    p, q = xp.where(swapped, q, p), xp.where(swapped, p, q)
    point = xp.where(swapped, 1 - point, point)
    value = front * _beta_fraction(xp, p, q, point) / p
    value = xp.where(swapped, 1 - value, value)
    out[...] = xp.where(inner, value, xp.where(defined, x, np.nan))


def _beta_fraction(xp: Any, a: Any, b: Any, x: Any) -> Any:
    """Return the continued fraction of I_x(a, b), by Lentz's method.

    Source: Abramowitz and Stegun 26.5.8.
    """
    first = 1 - (a + b) * x / (a + 1)
    d = 1 / xp.where(xp.abs(first) < TINY, TINY, first)
    c = xp.ones_like(d)
    value = d
    for n in range(1, MOST_TERMS):
        even = n * (b - n) * x / ((a + 2 * n - 1) * (a + 2 * n))
        value, c, d, _ = _lentz(xp, value, c, d, even, 1.0)
        odd = -(a + n) * (a + b + n) * x / ((a + 2 * n) * (a + 2 * n + 1))
        value, c, d, change = _lentz(xp, value, c, d, odd, 1.0)
        if not bool((xp.abs(change - 1) > EPSILON).any()):
            break
    return value
