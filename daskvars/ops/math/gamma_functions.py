"""The gamma and beta functions' kin, and what a factor of 0 decides."""

from __future__ import annotations

from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import UNDEFINED_GRADIENT
from daskvars.graph.interpreter import apply
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.kernels.math import special, without_ufunc as kernels
from daskvars.ops.array.broadcasting import broadcast_gradients
from daskvars.ops.math import comparison
from daskvars.ops.math.arithmetic import add, multiply, negative, number, subtract
from daskvars.ops.math.casting import conj
from daskvars.ops.math.division import div_no_nan, realdiv
from daskvars.ops.math.reduce import reduce_sum
from daskvars.ops.math.transcendental import exp, lgamma, log, log1p
from daskvars.ops.rules.families import BinaryFunction, binary, elementwise

# -- gamma and beta ----------------------------------------------------------------------------


def lbeta(x: TensorLike, name: str | None = None) -> Tensor:
    """Return log |Beta(x)| along the last dimension: the sum of lgamma(x) less lgamma of the sum.

    Args:
      x: [..., n] floating.
      name: name scope of the operations, by default "lbeta".

    Returns:
      [...] of the dtype of `x`.

    Source: TensorFlow 1.15, ``tf.lbeta``.

    >>> round(float(lbeta([2.0, 3.0])), 5)  # log(1! 2! / 4!)
    -2.48491
    """
    with name_scope(name, "lbeta", [x]):
        x = convert_to_tensor(x, name="x")
        return subtract(reduce_sum(lgamma(x), -1), lgamma(reduce_sum(x, -1)))


def _slopes(op: Operation) -> tuple[Tensor, Tensor]:
    """Return the derivatives of igamma by a and by x."""
    a, x = op.inputs
    density = exp(subtract(multiply(subtract(a, number(1, a)), log(x)), add(x, lgamma(a))))
    return igamma_slope(a, x), density


def _igamma_gradient(op: Operation, dy: Tensor) -> list[Tensor]:
    by_a, by_x = _slopes(op)
    return broadcast_gradients(op, multiply(dy, by_a), multiply(dy, by_x))


def _igammac_gradient(op: Operation, dy: Tensor) -> list[Tensor]:
    by_a, by_x = _slopes(op)
    return broadcast_gradients(op, negative(multiply(dy, by_a)), negative(multiply(dy, by_x)))


igamma_slope: BinaryFunction = binary(
    "igamma_slope", "IgammaGradA", "R", special.igamma_slope, UNDEFINED_GRADIENT
)("Return the derivative of igamma by its first argument.", "igamma_slope([7, 3], [2, 4]) -> [0 0]")
IGAMMA = elementwise("Igamma", "x:R, y:R", special.igamma, _igamma_gradient)
IGAMMAC = elementwise("Igammac", "x:R, y:R", special.igammac, _igammac_gradient)


def igamma(a: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """Return the lower regularized incomplete gamma function P(a, x).

    Args:
      a: [...] floating, positive.
      x: [...] of the dtype of `a`, not negative; shapes are broadcast.
      name: name of the operation, by default "Igamma".

    Returns:
      [...] of the dtype of `a`; NaN outside the domain.

    Source: TensorFlow 1.15, ``tf.igamma``.

    >>> round(float(igamma(1.0, 2.0)), 4)  # 1 - exp(-2)
    0.8647
    """
    return apply(IGAMMA, a, x, name=name)


def igammac(a: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """Return 1 - igamma(a, x), exact where that is tiny. See `igamma`.

    Args:
      a: [...] floating, positive.
      x: [...] of the dtype of `a`, 0 or more; shapes are broadcast.
      name: name of the operation.

    Returns:
      [...] of the dtype of `a`.

    >>> import math
    >>> math.isclose(float(igammac(1.0, 50.0)), math.exp(-50.0), rel_tol=1e-5)
    True
    """
    return apply(IGAMMAC, a, x, name=name)


def _betainc_gradient(op: Operation, dy: Tensor) -> list[Tensor | None]:
    a, b, x = op.inputs
    one = number(1, a)
    log_beta = subtract(add(lgamma(a), lgamma(b)), lgamma(add(a, b)))
    powers = add(xlogy(subtract(a, one), x), multiply(subtract(b, one), log1p(negative(x))))
    return broadcast_gradients(op, None, None, multiply(dy, exp(subtract(powers, log_beta))))


BETAINC = elementwise("Betainc", "a:R, b:R, x:R", special.betainc, _betainc_gradient)


def betainc(a: TensorLike, b: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """Return the regularized incomplete beta function I_x(a, b).

    Args:
      a: [...] floating, positive.
      b: [...] of the dtype of `a`, positive.
      x: [...] of the dtype of `a`, in [0, 1]; shapes are broadcast.
      name: name of the operation, by default "Betainc".

    Returns:
      [...] of the dtype of `a`; NaN outside the domain. It has a gradient by `x` only.

    Source: TensorFlow 1.15, ``tf.betainc``.

    >>> round(float(betainc(1.0, 2.0, 0.5)), 4)
    0.75
    """
    return apply(BETAINC, a, b, x, name=name)


def _zeta_gradient(op: Operation, dy: Tensor) -> list[Tensor | None]:
    x, q = op.inputs
    slope = negative(multiply(x, zeta(add(x, number(1, x)), q)))
    return broadcast_gradients(op, None, multiply(dy, slope))


ZETA = elementwise("Zeta", "x:R, y:R", special.zeta, _zeta_gradient)


def zeta(x: TensorLike, q: TensorLike, name: str | None = None) -> Tensor:
    """Return the Hurwitz zeta function, the sum of (q + n)^-x over n from 0 on.

    Args:
      x: [...] floating, over 1.
      q: [...] of the dtype of `x`, positive; shapes are broadcast.
      name: name of the operation, by default "Zeta".

    Returns:
      [...] of the dtype of `x`. It has a gradient by `q` only.

    Source: TensorFlow 1.15, ``tf.zeta``.

    >>> import math
    >>> math.isclose(float(zeta(2.0, 1.0)), math.pi**2 / 6, rel_tol=1e-6)
    True
    """
    return apply(ZETA, x, q, name=name)


# -- a factor of 0 decides ---------------------------------------------------------------------


def _xlogy_gradient(op: Operation, dy: Tensor) -> list[Tensor]:
    x, y = map(conj, op.inputs)
    is_zero = comparison.equal(x, number(0, x))
    by_x = comparison.where_v2(is_zero, number(0, y), log(y))
    return broadcast_gradients(op, multiply(dy, by_x), multiply(dy, xdivy(x, y)))


def _xdivy_gradient(op: Operation, dy: Tensor) -> list[Tensor]:
    x, y = map(conj, op.inputs)
    is_zero = comparison.equal(x, number(0, x))
    by_x = comparison.where_v2(is_zero, number(0, y), realdiv(number(1, y), y))
    by_y = negative(xdivy(conj(op.outputs[0]), y))
    return broadcast_gradients(op, multiply(dy, by_x), multiply(dy, by_y))


xlogy: BinaryFunction = binary(
    "xlogy", "Xlogy", "F", kernels.xlogy, _xlogy_gradient, default_name="xlogy"
)(
    "Return x log(y), and 0 where x is 0 whatever y.",
    "xlogy([3.0, 1.0], [2.0, 4.0]) -> [2.0794415 1.3862944]",
)
xdivy: BinaryFunction = binary(
    "xdivy", "Xdivy", "F", kernels.xdivy, _xdivy_gradient, default_name="xdivy"
)("Return x / y, and 0 where x is 0 whatever y.", "xdivy([3.0, 1.0], [2.0, 4.0]) -> [1.5  0.25]")


def reciprocal_no_nan(x: TensorLike, name: str | None = None) -> Tensor:
    """Return 1 / x, and 0 where x is 0.

    Args:
      x: [...] floating or complex.
      name: name of the operation, by default "reciprocal_no_nan".

    Returns:
      [...] of the dtype of `x`.

    Source: TensorFlow 1.15, ``tf.math.reciprocal_no_nan``.

    >>> reciprocal_no_nan([4.0, 0.0]).numpy().tolist()
    [0.25, 0.0]
    """
    with name_scope(name, "reciprocal_no_nan", [x]) as scope:
        x = convert_to_tensor(x, name="x")
        return div_no_nan(number(1, x), x, name=scope)
