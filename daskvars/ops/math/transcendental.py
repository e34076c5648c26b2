"""Roots, powers, exponentials, trigonometry, and the special functions."""

from __future__ import annotations

import math
from typing import Any

from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import Spec
from daskvars.graph.interpreter import apply
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.kernels.math import nonlinearities, special, without_ufunc as kernels
from daskvars.ops.array import constant
from daskvars.ops.array.broadcasting import broadcast_gradients
from daskvars.ops.math import casting, comparison
from daskvars.ops.math.arithmetic import (
    abs,
    add,
    multiply,
    multiply_no_nan,
    negative,
    number,
    square,
    subtract,
)
from daskvars.ops.math.casting import conj
from daskvars.ops.math.division import realdiv
from daskvars.ops.rules.families import UnaryFunction, binary, elementwise, unary
from daskvars.ops.rules.shapes import like_first

# -- roots and powers --------------------------------------------------------------------------


# Where dy is 0, as where another branch of a `where` was taken, 0 comes back, as in TensorFlow:
# the slope may be infinite there, or NaN.
def _sqrt_gradient(op: Operation, dy: Tensor) -> Tensor:
    return multiply_no_nan(realdiv(number(0.5, dy), conj(op.outputs[0])), dy)


def _rsqrt_gradient(op: Operation, dy: Tensor) -> Tensor:
    y = conj(op.outputs[0])
    return multiply_no_nan(multiply(y, square(y)), multiply(dy, number(-0.5, dy)))


def _reciprocal_gradient(op: Operation, dy: Tensor) -> Tensor:
    return negative(multiply_no_nan(square(conj(op.outputs[0])), dy))


sqrt = unary("sqrt", "Sqrt", "F", "sqrt", _sqrt_gradient)(
    "Return the square root of x.", "sqrt([0.5, 0.25]) -> [0.70710677 0.5       ]"
)
rsqrt = unary("rsqrt", "Rsqrt", "F", kernels.rsqrt, _rsqrt_gradient)(
    "Return 1 / sqrt(x).", "rsqrt([0.5, 0.25]) -> [1.4142135 2.       ]"
)
reciprocal = unary("reciprocal", "Reciprocal", "F", "reciprocal", _reciprocal_gradient)(
    "Return 1 / x.", "reciprocal([0.5, 0.25]) -> [2. 4.]"
)


def _pow_gradient(op: Operation, dy: Tensor) -> list[Tensor]:
    x, y = map(conj, op.inputs)
    # From the left, as TensorFlow: where dy is small the products stay within the dtype.
    dx = multiply(multiply(dy, y), pow(x, subtract(y, number(1, y))))
    # x^y has a derivative by y where x has a logarithm; elsewhere it counts as zero.
    zero = constant.zeros([], x.dtype.base_dtype)
    defined = (comparison.not_equal if x.dtype.is_complex else comparison.greater)(x, zero)
    logarithm = log(comparison.where_v2(defined, x, number(1, x)))
    return broadcast_gradients(op, dx, multiply(multiply(dy, conj(op.outputs[0])), logarithm))


pow = binary("pow", "Pow", "N", kernels.power, _pow_gradient)(
    "Return x to the power of y, element by element.", "pow([7.0, 3.0], [2.0, 4.0]) -> [49. 81.]"
)

# -- exponentials ------------------------------------------------------------------------------

exp = unary("exp", "Exp", "F", "exp", lambda op, dy: multiply(dy, conj(op.outputs[0])))(
    "Return e to the power of x.", "exp([0.5, 0.25]) -> [1.6487212 1.2840255]"
)
expm1 = unary("expm1", "Expm1", "F", "expm1", lambda op, dy: multiply(dy, exp(conj(op.inputs[0]))))(
    "Return exp(x) - 1, exact where x is small.", "expm1([0.5, 0.25]) -> [0.6487213  0.28402543]"
)
log = unary("log", "Log", "F", "log", lambda op, dy: realdiv(dy, conj(op.inputs[0])))(
    "Return the natural logarithm of x.", "log([1.0, 2.5]) -> [0.         0.91629076]"
)
log1p = unary(
    "log1p",
    "Log1p",
    "F",
    "log1p",
    lambda op, dy: realdiv(dy, add(conj(op.inputs[0]), number(1, dy))),
)(
    "Return log(1 + x), exact where x is small.",
    "log1p([0.5, 0.25]).numpy().round(4) -> [0.4055 0.2231]",
)


def log2(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the logarithm of base 2: that of NumPy, composed of `log`.

    Args:
      x: [...] floating or complex.
      name: name scope.

    >>> log2([8.0, 0.5]).numpy()
    array([ 3., -1.], dtype=float32)
    """
    return multiply(log(x), 1 / math.log(2), name=name)


def log10(x: TensorLike, name: str | None = None) -> Tensor:
    """Return the logarithm of base 10: that of NumPy, composed of `log`.

    Args:
      x: [...] floating or complex.
      name: name scope.

    >>> log10([100.0, 1.0]).numpy()
    array([2., 0.], dtype=float32)
    """
    return multiply(log(x), 1 / math.log(10), name=name)


def exp2(x: TensorLike, name: str | None = None) -> Tensor:
    """Return 2 to the power of x: NumPy's, composed of `pow`.

    Args:
      x: [...] floating or complex.
      name: name scope.

    >>> exp2([3.0, -1.0]).numpy()
    array([8. , 0.5], dtype=float32)
    """
    return pow(2.0, x, name=name)


def _sigmoid_gradient(op: Operation, dy: Tensor) -> Tensor:
    y = conj(op.outputs[0])
    return multiply(dy, multiply(y, subtract(number(1, y), y)))


def _softsign_gradient(op: Operation, dy: Tensor) -> Tensor:
    return realdiv(dy, square(add(abs(op.inputs[0]), number(1, dy))))


sigmoid = unary("sigmoid", "Sigmoid", "F", nonlinearities.sigmoid, _sigmoid_gradient)(
    "Return 1 / (1 + exp(-x)).", "sigmoid([0.5, 0.25]) -> [0.62245935 0.5621765 ]"
)
SOFTPLUS = elementwise(
    "Softplus",
    "features:D",
    nonlinearities.softplus,
    lambda op, dy: multiply(dy, sigmoid(op.inputs[0])),
    infer=like_first,
)
SOFTSIGN = elementwise(
    "Softsign", "features:D", kernels.softsign, _softsign_gradient, infer=like_first
)


def softplus(features: TensorLike, name: str | None = None) -> Tensor:
    """Return log(1 + exp(features)).

    Args:
      features: [...] real floating.
      name: name of the operation, by default "Softplus".

    Returns:
      [...], of the dtype of `features`.

    Raises:
      TypeError: `features` has another dtype.

    >>> print(softplus([1.5, -2.5]))
    [1.7014133  0.07888974]
    """
    return apply(SOFTPLUS, features, name=name)


def softsign(features: TensorLike, name: str | None = None) -> Tensor:
    """Return features / (1 + abs(features)).

    Args:
      features: [...] real floating.
      name: name of the operation, by default "Softsign".

    Returns:
      [...], of the dtype of `features`.

    Raises:
      TypeError: `features` has another dtype.

    >>> print(softsign([1.5, -2.5]))
    [ 0.6        -0.71428573]
    """
    return apply(SOFTSIGN, features, name=name)


def log_sigmoid(x: TensorLike, name: str | None = None) -> Tensor:
    """Return log(sigmoid(x)), without underflow.

    Args:
      x: [...] floating.
      name: name of the operation, by default "LogSigmoid".

    Returns:
      [...] of the dtype of `x`.

    >>> float(log_sigmoid(-200.0))
    -200.0
    """
    with name_scope(name, "LogSigmoid", [x]) as scope:
        return negative(softplus(negative(x)), name=scope)


# -- trigonometry ------------------------------------------------------------------------------


def _one_minus_square(x: Tensor, one: Any) -> Any:
    return subtract(one, square(x))


def _tan_gradient(op: Operation, dy: Tensor) -> Tensor:
    return multiply(dy, add(square(conj(op.outputs[0])), number(1, dy)))


def _tanh_gradient(op: Operation, dy: Tensor) -> Tensor:
    return multiply(dy, _one_minus_square(conj(op.outputs[0]), number(1, dy)))


def _asin_gradient(op: Operation, dy: Tensor) -> Tensor:
    return multiply(dy, rsqrt(_one_minus_square(conj(op.inputs[0]), number(1, dy))))


def _atan_gradient(op: Operation, dy: Tensor) -> Tensor:
    return realdiv(dy, add(square(conj(op.inputs[0])), number(1, dy)))


def _atanh_gradient(op: Operation, dy: Tensor) -> Tensor:
    return realdiv(dy, _one_minus_square(conj(op.inputs[0]), number(1, dy)))


sin = unary("sin", "Sin", "F", "sin", lambda op, dy: multiply(dy, cos(conj(op.inputs[0]))))(
    "Return the sine of x, in radians.", "sin([0.5, 0.25]) -> [0.47942555 0.24740396]"
)
cos: UnaryFunction = unary(
    "cos", "Cos", "F", "cos", lambda op, dy: negative(multiply(dy, sin(conj(op.inputs[0]))))
)("Return the cosine of x, in radians.", "cos([0.5, 0.25]) -> [0.87758255 0.9689124 ]")
tan = unary("tan", "Tan", "F", "tan", _tan_gradient)(
    "Return the tangent of x, in radians.", "tan([0.5, 0.25]) -> [0.5463025  0.25534192]"
)
asin = unary("asin", "Asin", "F", "arcsin", _asin_gradient)(
    "Return the angle whose sine is x.", "asin([0.5, 0.25]) -> [0.5235988  0.25268024]"
)
acos = unary("acos", "Acos", "F", "arccos", lambda op, dy: negative(_asin_gradient(op, dy)))(
    "Return the angle whose cosine is x.", "acos([0.5, 0.25]).numpy().round(4) -> [1.0472 1.3181]"
)
atan = unary("atan", "Atan", "F", "arctan", _atan_gradient)(
    "Return the angle whose tangent is x.", "atan([0.5, 0.25]) -> [0.4636476  0.24497867]"
)
sinh = unary("sinh", "Sinh", "F", "sinh", lambda op, dy: multiply(dy, cosh(conj(op.inputs[0]))))(
    "Return the hyperbolic sine of x.", "sinh([0.5, 0.25]) -> [0.5210953  0.25261232]"
)
cosh: UnaryFunction = unary(
    "cosh", "Cosh", "F", "cosh", lambda op, dy: multiply(dy, sinh(conj(op.inputs[0])))
)("Return the hyperbolic cosine of x.", "cosh([0.5, 0.25]).numpy().round(4) -> [1.1276 1.0314]")
tanh = unary("tanh", "Tanh", "F", "tanh", _tanh_gradient)(
    "Return the hyperbolic tangent of x.", "tanh([0.5, 0.25]) -> [0.4621172  0.24491866]"
)
asinh = unary(
    "asinh", "Asinh", "F", "arcsinh", lambda op, dy: realdiv(dy, cosh(conj(op.outputs[0])))
)(
    "Return the number whose hyperbolic sine is x.",
    "asinh([0.5, 0.25]).numpy().round(4) -> [0.4812 0.2475]",
)
acosh = unary(
    "acosh", "Acosh", "F", "arccosh", lambda op, dy: realdiv(dy, sinh(conj(op.outputs[0])))
)("Return the number whose hyperbolic cosine is x.", "acosh([1.0, 2.0]) -> [0.       1.316958]")
atanh = unary("atanh", "Atanh", "F", "arctanh", _atanh_gradient)(
    "Return the number whose hyperbolic tangent is x.",
    "atanh([0.5, 0.25]) -> [0.54930615 0.25541282]",
)


def _atan2_gradient(op: Operation, dy: Tensor) -> list[Tensor]:
    y, x = op.inputs
    scale = realdiv(dy, add(square(x), square(y)))
    return broadcast_gradients(op, multiply(x, scale), negative(multiply(y, scale)))


ATAN2 = elementwise("Atan2", "y:R, x:R", "arctan2", _atan2_gradient)


def atan2(y: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """Return the angle of the points (x, y), in [-pi, pi].

    Args:
      y: [...] floating.
      x: [...] of the dtype of `y`; shapes are broadcast.
      name: name of the operation, by default "Atan2".

    Returns:
      [...] of the dtype of `y`.

    >>> print(atan2([1.0, 0.0], [0.0, 1.0]))
    [1.5707964 0.       ]
    """
    return apply(ATAN2, y, x, name=name)


def _angle_gradient(op: Operation, dy: Tensor) -> Tensor:
    x = op.inputs[0]
    z = reciprocal(casting.complex(casting.imag(x), casting.real(x)))
    return negative(multiply(casting.complex(dy, constant.zeros_like(dy)), z))


ANGLE = elementwise(
    "Angle",
    "x:F",
    kernels.angle,
    _angle_gradient,
    infer=lambda inputs: Spec(inputs[0].dtype.real_dtype, inputs[0].shape),
)


def angle(input: TensorLike, name: str | None = None) -> Tensor:
    """Return the argument of complex numbers, in (-pi, pi].

    Args:
      input: [...] any number; of a real one it is 0 or, where it is negative, pi.
      name: name of the operation, by default "Angle".

    Returns:
      [...] float32 of complex64, float64 of complex128, otherwise of the dtype of `input`.

    >>> print(angle([1j]))
    [1.57079633]
    """
    input = convert_to_tensor(input, name="input")
    if input.dtype.is_complex:
        return apply(ANGLE, input, name=name)
    zero = number(0, input)
    is_negative = comparison.less(input, zero)
    return comparison.where_v2(is_negative, number(math.pi, input), zero, name=name)


# -- special functions -------------------------------------------------------------------------


def _erf_gradient(op: Operation, dy: Tensor) -> Tensor:
    slope = multiply(number(2 / math.sqrt(math.pi), dy), exp(negative(square(op.inputs[0]))))
    return multiply(dy, slope)


def _polygamma_gradient(op: Operation, dy: Tensor) -> list[Tensor | None]:
    order, x = op.inputs
    slope = polygamma(add(order, number(1, order)), x)
    return broadcast_gradients(op, None, multiply(dy, slope))


erf = unary("erf", "Erf", "D", special.erf, _erf_gradient)(
    "Return the error function of x.", "erf([1.5, -2.5]) -> [ 0.966105  -0.9995931]"
)
erfc = unary("erfc", "Erfc", "D", special.erfc, lambda op, dy: negative(_erf_gradient(op, dy)))(
    "Return 1 - erf(x), exact where that is small.", "erfc([1.5, -2.5]) -> [0.03389485 1.999593  ]"
)
lgamma = unary(
    "lgamma", "Lgamma", "D", special.lgamma, lambda op, dy: multiply(dy, digamma(op.inputs[0]))
)(
    "Return the logarithm of the absolute value of the gamma function.",
    "lgamma([3.0, 4.5]) -> [0.6931472 2.4537365]",
)
digamma: UnaryFunction = unary(
    "digamma",
    "Digamma",
    "D",
    special.digamma,
    lambda op, dy: multiply(dy, polygamma(number(1, dy), op.inputs[0])),
)("Return the derivative of lgamma.", "digamma([1.0, 2.0]) -> [-0.5772157   0.42278433]")

POLYGAMMA = elementwise("Polygamma", "a:R, x:R", special.polygamma, _polygamma_gradient)


def polygamma(a: TensorLike, x: TensorLike, name: str | None = None) -> Tensor:
    """Return the a-th derivative of digamma.

    Args:
      a: [...] floating, whole numbers from 0 on.
      x: [...] of the dtype of `a`; shapes are broadcast.
      name: name of the operation, by default "Polygamma".

    Returns:
      [...] of the dtype of `x`.

    >>> import math
    >>> math.isclose(float(polygamma(1.0, 1.0)), math.pi**2 / 6, rel_tol=1e-6)
    True
    """
    return apply(POLYGAMMA, a, x, name=name)
