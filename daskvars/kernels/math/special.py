"""Special functions element by element, without SciPy, in few passes over cache-sized blocks.

16-bit floats compute in float32. float32 has an approximation of its own where that is faster;
otherwise it computes in float64.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from daskvars.kernels.math.precision import float_work

# Elements of a block: its half dozen buffers stay in a core's own cache.
BLOCK_ELEMENTS = 1 << 14
DEVICE_BLOCK_ELEMENTS = 1 << 28

# x P(x^2) / Q(x^2) on [-4, 4], highest power first; fitted for the machine-learning libraries
# (Eigen's fast float erf); at most 4, on average half a unit in the last place off.
ERF_SINGLE = (
    (
        -2.72614225801306e-10,
        2.77068142495902e-08,
        -2.10102402082508e-06,
        -5.69250639462346e-05,
        -7.34990630326855e-04,
        -2.95459980854025e-03,
        -1.60960333262415e-02,
    ),
    (
        -1.45660718464996e-05,
        -2.13374055278905e-04,
        -1.68282697438203e-03,
        -7.37332916720468e-03,
        -1.42647390514189e-02,
    ),
)
# Cody, "Rational Chebyshev Approximations for the Error Function", Math. Comp. 23 (1969): up to
# 0.46875 (erf), up to 4 and beyond (erfc).
SMALL, MIDDLE = 0.46875, 4.0
ERF_SMALL = (
    (
        1.85777706184603153e-1,
        3.16112374387056560e0,
        1.13864154151050156e2,
        3.77485237685302021e2,
        3.20937758913846947e3,
    ),
    (
        1.0,
        2.36012909523441209e1,
        2.44024637934444173e2,
        1.28261652607737228e3,
        2.84423683343917062e3,
    ),
)
ERFC_MIDDLE = (
    (
        2.15311535474403846e-8,
        5.64188496988670089e-1,
        8.88314979438837594e0,
        6.61191906371416295e1,
        2.98635138197400131e2,
        8.81952221241769090e2,
        1.71204761263407058e3,
        2.05107837782607147e3,
        1.23033935479799725e3,
    ),
    (
        1.0,
        1.57449261107098347e1,
        1.17693950891312499e2,
        5.37181101862009858e2,
        1.62138957456669019e3,
        3.29079923573345963e3,
        4.36261909014324716e3,
        3.43936767414372164e3,
        1.23033935480374942e3,
    ),
)
ERFC_FAR = (
    (
        1.63153871373020978e-2,
        3.05326634961232344e-1,
        3.60344899949804439e-1,
        1.25781726111229246e-1,
        1.60837851487422766e-2,
        6.58749161529837803e-4,
    ),
    (
        1.0,
        2.56852019228982242e0,
        1.87295284992346725e0,
        5.27905102951428412e-1,
        6.05183413124413191e-2,
        2.33520497626869185e-3,
    ),
)
INVERSE_SQRT_PI = 5.6418958354775628695e-1

# Bernoulli numbers over 2n (2n - 1) and over 2n, for the asymptotic series.
STIRLING = (
    1.0 / 156,
    -691.0 / 360360,
    1.0 / 1188,
    -1.0 / 1680,
    1.0 / 1260,
    -1.0 / 360,
    1.0 / 12,
)
DIGAMMA_SERIES = (
    1.0 / 12,
    -691.0 / 32760,
    1.0 / 132,
    -1.0 / 240,
    1.0 / 252,
    -1.0 / 120,
    1.0 / 12,
)
# Arguments are raised to this before the series is used.
ASYMPTOTIC = 10.0


def erf(xp: Any, x: Any) -> Any:
    """Return the error function.

    Args:
        x: [...] float.

    Returns:
        Like ``x``, accurate to a few units in the last place.

    Example:
        >>> import numpy as np
        >>> erf(np, np.array([0.0, 1.0])).round(6)
        array([0.      , 0.842701])
    """
    return in_blocks(xp, erf_single if x.dtype.itemsize <= 4 else erf_double, x)


def erfc(xp: Any, x: Any) -> Any:
    """Return one less the error function, with full relative precision where that is tiny.

    Args:
        x: [...] float.

    Returns:
        Like ``x``.
    """
    return in_double(xp, erfc_double, x)


def lgamma(xp: Any, x: Any) -> Any:
    """Return the logarithm of the absolute value of the gamma function.

    Args:
        x: [...] float.

    Returns:
        Like ``x``; infinity at 0, -1, -2 and so on.
    """
    return in_double(xp, lgamma_double, x)


def digamma(xp: Any, x: Any) -> Any:
    """Return the derivative of ``lgamma``.

    Args:
        x: [...] float.

    Returns:
        Like ``x``; NaN at 0, -1, -2 and so on.
    """
    return in_double(xp, digamma_double, x)


def in_blocks(xp: Any, fill: Any, *arrays: Any) -> Any:
    """Return what ``fill(xp, out, *arrays)`` writes, applied to one flat block after the other."""
    kind, shape = arrays[0].dtype, arrays[0].shape
    work = float_work(kind)
    flats = [array.astype(work, copy=False).reshape(-1) for array in arrays]
    out = xp.empty(flats[0].shape, work)
    step = BLOCK_ELEMENTS if xp is np else DEVICE_BLOCK_ELEMENTS
    for start in range(0, out.size, step):
        part = slice(start, start + step)
        fill(xp, out[part], *(flat[part] for flat in flats))
    return out.reshape(shape).astype(kind, copy=False)


def in_double(xp: Any, fill: Any, x: Any) -> Any:
    """Return ``in_blocks`` computed in float64."""
    return in_blocks(xp, fill, x.astype(np.float64, copy=False)).astype(x.dtype, copy=False)


def horner(xp: Any, coefficients: Any, x: Any, out: Any = None) -> Any:
    """Return a polynomial's values, highest power first, in ``out`` if given."""
    kind = x.dtype.type
    out = xp.multiply(x, kind(coefficients[0]), out=out)
    out += kind(coefficients[1])
    for coefficient in coefficients[2:]:
        out *= x
        out += kind(coefficient)
    return out


def erf_single(xp: Any, out: Any, x: Any) -> None:
    """Fill ``out`` with the error function of float32 numbers."""
    x = xp.clip(x, np.float32(-4), np.float32(4))
    square = x * x
    horner(xp, ERF_SINGLE[0], square, out)
    out *= x
    out /= horner(xp, ERF_SINGLE[1], square, x)


def erf_double(xp: Any, out: Any, x: Any) -> None:
    """Fill ``out`` with the error function of float64 numbers."""
    small = xp.clip(x, -SMALL, SMALL)
    square = small * small
    horner(xp, ERF_SMALL[0], square, out)
    out *= small
    out /= horner(xp, ERF_SMALL[1], square)
    large = xp.flatnonzero(xp.abs(x) > SMALL)
    if large.size:
        value = x[large]
        complement = erfc_large(xp, xp.abs(value))
        out[large] = xp.copysign((0.5 - complement) + 0.5, value)


def erfc_double(xp: Any, out: Any, x: Any) -> None:
    """Fill ``out`` with one less the error function of float64 numbers."""
    erf_double(xp, out, x)
    xp.subtract(1.0, out, out=out)
    large = xp.flatnonzero(x > SMALL)
    if large.size:
        out[large] = erfc_large(xp, x[large])


def erfc_large(xp: Any, y: Any) -> Any:
    """Return the complementary error function of numbers above 0.46875."""
    # Beyond 27 the result vanishes, and the series must not see infinity.
    y = xp.minimum(y, 30.0)
    out = horner(xp, ERFC_MIDDLE[0], y)
    out /= horner(xp, ERFC_MIDDLE[1], y)
    far = xp.flatnonzero(y > MIDDLE)
    if far.size:
        inverse = 1.0 / (y[far] * y[far])
        ratio = horner(xp, ERFC_FAR[0], inverse)
        ratio /= horner(xp, ERFC_FAR[1], inverse)
        ratio *= inverse
        out[far] = (INVERSE_SQRT_PI - ratio) / y[far]
    # exp(-y^2) in two factors, the first of an exact argument, keeps the relative precision.
    coarse = xp.trunc(y * 16.0) / 16.0
    out *= xp.exp(-coarse * coarse)
    out *= xp.exp((coarse - y) * (coarse + y))
    return out


def lgamma_double(xp: Any, out: Any, x: Any) -> None:
    """Fill ``out`` with log |gamma| of float64 numbers."""
    reflected = x < 0.5
    out[...] = lgamma_positive(xp, xp.where(reflected, 1.0 - x, x))
    places = xp.flatnonzero(reflected)
    if places.size:
        value = x[places]
        with np.errstate(divide="ignore", invalid="ignore"):
            sine = xp.abs(xp.sin(np.pi * (value - xp.round(value))))
            mirrored = np.log(np.pi) - xp.log(sine) - out[places]
        out[places] = xp.where(xp.isinf(value), np.inf, mirrored)


def lgamma_positive(xp: Any, x: Any) -> Any:
    """Return log gamma of numbers from 0.5 on."""
    product = xp.ones_like(x)
    for _ in range(int(ASYMPTOTIC)):
        low = x < ASYMPTOTIC
        product = xp.where(low, product * x, product)
        x = xp.where(low, x + 1.0, x)
    inverse = 1.0 / x
    series = horner(xp, STIRLING, inverse * inverse) * inverse
    finite = xp.minimum(x, np.finfo(np.float64).max / 1024)
    main = (finite - 0.5) * xp.log(finite) - finite + 0.5 * np.log(2 * np.pi)
    return xp.where(xp.isinf(x), x, main + series - xp.log(product))


def digamma_double(xp: Any, out: Any, x: Any) -> None:
    """Fill ``out`` with the logarithmic derivative of gamma of float64 numbers."""
    reflected = x < 0.5
    out[...] = digamma_positive(xp, xp.where(reflected, 1.0 - x, x))
    places = xp.flatnonzero(reflected)
    if places.size:
        value = x[places]
        with np.errstate(divide="ignore", invalid="ignore"):
            nearest = value - xp.round(value)
            mirrored = out[places] - np.pi / xp.tan(np.pi * nearest)
        out[places] = xp.where(nearest == 0, np.nan, mirrored)


def digamma_positive(xp: Any, x: Any) -> Any:
    """Return the derivative of log gamma of numbers from 0.5 on."""
    total = xp.zeros_like(x)
    for _ in range(int(ASYMPTOTIC)):
        low = x < ASYMPTOTIC
        total -= xp.where(low, 1.0 / x, 0.0)
        x = xp.where(low, x + 1.0, x)
    inverse = 1.0 / x
    square = inverse * inverse
    return total + xp.log(x) - 0.5 * inverse - horner(xp, DIGAMMA_SERIES, square) * square
