"""Elementwise functions that no ufunc of NumPy's computes; for the others an op names the ufunc."""

from __future__ import annotations

import numpy

from daskvars.backend import Array, ArrayModule, fusible
from daskvars.dtypes import DType
from daskvars.errors import invalid

# From so many on `select` picks bits instead of elements: no branch depends on the condition (m,
# 128K float32, a random one: 60 us instead of 460, one that never holds: 60 instead of 74).
LEAST_ELEMENTS = 1 << 12


def overwriting(x: Array) -> Array | None:
    """Return the ``out`` argument that reuses the fresh value `x`: itself, or None for a scalar."""
    return x if getattr(x, "ndim", 0) else None


def cast(xp: ArrayModule, x: Array, *, dtype: DType) -> Array:
    """Convert to another dtype; floats are cut towards zero, complex numbers lose their imaginary
    part."""
    if x.dtype.kind == "c" and dtype.np.kind not in "cb":
        x = x.real
    return x.astype(dtype.np)


def bitcast(xp: ArrayModule, x: Array, *, dtype: DType) -> Array:
    """Read the bits of numbers as another dtype; the last dimension grows or goes with them."""
    x, width = xp.asarray(x, order="C"), dtype.np.itemsize
    if width < x.dtype.itemsize:
        return x[..., None].view(dtype.np)
    recast = x.view(dtype.np)
    return recast if width == x.dtype.itemsize else recast[..., 0]


@fusible
def add_n(xp: ArrayModule, *values: Array) -> Array:
    """Add any number of arrays of one shape, from left to right."""
    if len(values) == 1:
        return values[0].copy()
    total = xp.add(values[0], values[1])
    for value in values[2:]:
        total = xp.add(total, value, out=overwriting(total))
    return total


@fusible
def select(xp: ArrayModule, condition: Array, x: Array, y: Array) -> Array:
    """Take elements of `x` where `condition` holds, else of `y`."""
    kind, width = x.dtype, x.dtype.itemsize
    if xp is not numpy or condition.size < LEAST_ELEMENTS or kind.hasobject or width > 8:
        return xp.where(condition, x, y)
    bits = numpy.dtype(f"i{width}")
    others = y.view(bits)
    found = numpy.bitwise_xor(x.view(bits), others)
    if found.shape == condition.shape:
        found *= condition
    else:
        found = found * condition
    return numpy.bitwise_xor(found, others, out=found).view(kind)


def nonzero(xp: ArrayModule, condition: Array) -> Array:
    """Give the coordinates of the elements that hold, [count, rank] int64, in row-major order."""
    return xp.argwhere(condition)


@fusible
def squared_difference(xp: ArrayModule, x: Array, y: Array) -> Array:
    """(x - y)²."""
    difference = xp.subtract(x, y)
    return xp.multiply(difference, difference, out=overwriting(difference))


# -- division ----------------------------------------------------------------------------------


def _is_integer_division(x: Array, y: Array) -> bool:
    """Return whether the divisor is integer. Raises InvalidArgumentError where it is zero."""
    if y.dtype.kind not in "iu":
        return False
    if x.size and not y.all():  # else nothing is divided
        raise invalid("Integer division by zero")
    return True


def floor_divide(xp: ArrayModule, x: Array, y: Array) -> Array:
    """Floor of the quotient."""
    if _is_integer_division(x, y):
        return xp.floor_divide(x, y)
    quotient = xp.divide(x, y)
    return xp.floor(quotient, out=overwriting(quotient))


def floor_mod(xp: ArrayModule, x: Array, y: Array) -> Array:
    """Remainder with the sign of the divisor."""
    _is_integer_division(x, y)
    return xp.remainder(x, y)


def truncate_divide(xp: ArrayModule, x: Array, y: Array) -> Array:
    """Quotient rounded towards zero, as C divides."""
    if not _is_integer_division(x, y):
        quotient = xp.divide(x, y)
        return xp.trunc(quotient, out=overwriting(quotient))
    quotient = xp.floor_divide(x, y)
    inexact = xp.multiply(quotient, y) != x
    return quotient + (inexact & ((x < 0) != (y < 0))).astype(quotient.dtype)


def truncate_mod(xp: ArrayModule, x: Array, y: Array) -> Array:
    """Remainder with the sign of the dividend, as C's."""
    _is_integer_division(x, y)
    return xp.fmod(x, y)


@fusible
def divide_no_nan(xp: ArrayModule, x: Array, y: Array) -> Array:
    """Quotient, and 0 where the divisor is 0."""
    zero = y == 0
    quotient = xp.divide(x, xp.where(zero, y.dtype.type(1), y))
    return xp.where(zero, quotient.dtype.type(0), quotient)


# -- roots, powers and ratios ------------------------------------------------------------------


def _square(xp: ArrayModule, x: Array) -> Array:
    return xp.square(x)


def _cube(xp: ArrayModule, x: Array) -> Array:
    cube = xp.square(x)
    return xp.multiply(cube, x, out=overwriting(cube))


_PRODUCTS = {2: _square, 3: _cube}


@fusible
def power(xp: ArrayModule, x: Array, y: Array) -> Array:
    """x to the power of y.

    Squares and cubes of floats are products on NumPy, as in TensorFlow (Grappler's ConvertPow): of
    a float32 ``numpy.power`` takes three times as long for a square, and 60 ns for a cube of a
    negative number; every written-out gelu and its gradient have them. It is so for each element
    that is raised to the second or third, else values would depend on chunks.
    """
    if xp is not numpy or x.dtype.kind != "f":
        return xp.power(x, y)
    if y.size == 1 and y.ndim <= x.ndim:
        only = _PRODUCTS.get(y.item())
        return xp.power(x, y) if only is None else only(xp, x)
    found: Array | None = None
    for exponent, product in _PRODUCTS.items():
        if (chosen := y == exponent).any():
            if chosen.all() and y.ndim <= x.ndim:
                return product(xp, x)
            found = xp.where(chosen, product(xp, x), xp.power(x, y) if found is None else found)
    return xp.power(x, y) if found is None else found


@fusible
def rsqrt(xp: ArrayModule, x: Array) -> Array:
    """1 / sqrt(x)."""
    root = xp.sqrt(x)
    return xp.reciprocal(root, out=overwriting(root))


@fusible
def softsign(xp: ArrayModule, x: Array) -> Array:
    """x / (1 + |x|)."""
    y = xp.abs(x)
    y += x.dtype.type(1)
    return xp.divide(x, y, out=overwriting(y))


# -- complex numbers ---------------------------------------------------------------------------


def real(xp: ArrayModule, x: Array) -> Array:
    """Real part."""
    return x.real.copy()


def imag(xp: ArrayModule, x: Array) -> Array:
    """Imaginary part."""
    return x.imag.copy()


def angle(xp: ArrayModule, x: Array) -> Array:
    """Argument of a complex number, in (-pi, pi]."""
    return xp.arctan2(x.imag, x.real)


def join_complex(xp: ArrayModule, re: Array, im: Array) -> Array:
    """re + i im."""
    out = xp.empty(numpy.broadcast_shapes(re.shape, im.shape), numpy.result_type(re.dtype, "c8"))
    out.real = re
    out.imag = im
    return out


# -- products that 0 decides -------------------------------------------------------------------


def xlogy(xp: ArrayModule, x: Array, y: Array) -> Array:
    """x log(y), and 0 where x is 0."""
    return multiply_no_nan(xp, xp.log(y), x)


def xdivy(xp: ArrayModule, x: Array, y: Array) -> Array:
    """x / y, and 0 where x is 0."""
    return xp.where(x == 0, x.dtype.type(0), x / y)


def multiply_no_nan(xp: ArrayModule, x: Array, y: Array) -> Array:
    """x y, and 0 where y is 0 whatever x."""
    return xp.where(y == 0, y.dtype.type(0), x * y)
