"""Inverses of the error function and of the normal distribution; modified Bessel functions."""

from __future__ import annotations

import math

from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.kernels.math import special
from daskvars.ops.math import comparison
from daskvars.ops.math.arithmetic import multiply, number, sign, square, subtract
from daskvars.ops.math.division import div_no_nan
from daskvars.ops.math.transcendental import exp
from daskvars.ops.rules.families import UnaryFunction, unary

# -- quantiles ---------------------------------------------------------------------------------


def _erfinv_gradient(op: Operation, dy: Tensor) -> Tensor:
    return multiply(dy, multiply(exp(square(op.outputs[0])), number(math.sqrt(math.pi) / 2, dy)))


def _ndtri_gradient(op: Operation, dy: Tensor) -> Tensor:
    half = multiply(square(op.outputs[0]), number(0.5, dy))
    return multiply(dy, multiply(exp(half), number(math.sqrt(2 * math.pi), dy)))


erfinv = unary("erfinv", "Erfinv", "D", special.erfinv, _erfinv_gradient)(
    "Return the number of which `erf` gives x, from -1 to 1.", "erfinv([0.0]) -> [0.]"
)
ndtri = unary("ndtri", "Ndtri", "D", special.ndtri, _ndtri_gradient)(
    "Return the number below which a share x of the standard normal distribution lies.",
    "ndtri([0.5]) -> [0.]",
)


def erfcinv(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the number of which `erfc` gives x, from 0 to 2. See `erfinv`.

    Args:
      x: [...] floating, from 0 to 2.
      name: name of the operation.

    Returns:
      [...] of the dtype of `x`: infinity at 0, its negative at 2, NaN outside.

    >>> [round(y, 4) for y in erfcinv([0.0, 0.5, 1.5, 3.0]).numpy().tolist()]
    [inf, 0.4769, -0.4769, nan]
    """
    x = convert_to_tensor(x, name="x")
    quantile = ndtri(multiply(x, number(0.5, x)))
    return multiply(quantile, number(-math.sqrt(0.5), x), name=name)


# -- Bessel functions --------------------------------------------------------------------------


def _by_order(order: Tensor, other: Tensor, x: Tensor) -> Tensor:
    """Return ``other - order / x``, half of `other` where x is 0: the slope of the order 1."""
    at_zero = comparison.equal(x, number(0, x))
    half = multiply(other, number(0.5, x))
    return comparison.where_v2(at_zero, half, subtract(other, div_no_nan(order, x)))


bessel_i0: UnaryFunction = unary(
    "bessel_i0",
    "BesselI0",
    "D",
    special.bessel_i0,
    lambda op, dy: multiply(dy, bessel_i1(op.inputs[0])),
)("Return the modified Bessel function of the first kind and order 0.", "bessel_i0([0.0]) -> [1.]")
bessel_i1: UnaryFunction = unary(
    "bessel_i1",
    "BesselI1",
    "D",
    special.bessel_i1,
    lambda op, dy: multiply(dy, _by_order(op.outputs[0], bessel_i0(op.inputs[0]), op.inputs[0])),
)("Return the modified Bessel function of the first kind and order 1.", "bessel_i1([0.0]) -> [0.]")
bessel_i0e: UnaryFunction = unary(
    "bessel_i0e",
    "BesselI0e",
    "D",
    special.bessel_i0e,
    lambda op, dy: multiply(
        dy, subtract(bessel_i1e(op.inputs[0]), multiply(sign(op.inputs[0]), op.outputs[0]))
    ),
)("Return `bessel_i0` times exp(-abs(x)), which does not overflow.", "bessel_i0e([0.0]) -> [1.]")


def _i1e_gradient(op: Operation, dy: Tensor) -> Tensor:
    x, y = op.inputs[0], op.outputs[0]
    slope = _by_order(y, bessel_i0e(x), x)
    return multiply(dy, subtract(slope, multiply(sign(x), y)))


bessel_i1e: UnaryFunction = unary(
    "bessel_i1e", "BesselI1e", "D", special.bessel_i1e, _i1e_gradient
)("Return `bessel_i1` times exp(-abs(x)), which does not overflow.", "bessel_i1e([0.0]) -> [0.]")
