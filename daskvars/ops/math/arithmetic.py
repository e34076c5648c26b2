"""Arithmetic: sums, products, squares, rounding, extremes. Division is in `division`.

Dtypes are never promoted: all operands of an op have one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from daskvars import shapes
from daskvars.dtypes import DType, DTypeLike, as_dtype
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import NO_GRADIENT, OpDef, Spec, opdef
from daskvars.graph.definitions.patterns import Sum
from daskvars.graph.indexed_slices import Gradients, IndexedSlices
from daskvars.graph.interpreter import apply
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.kernels.math import without_ufunc as kernels
from daskvars.ops.array import constant, reshaping
from daskvars.ops.array.broadcasting import broadcast_gradients, sum_like
from daskvars.ops.math import casting, comparison
from daskvars.ops.math.casting import cast, conj
from daskvars.ops.rules.families import BinaryFunction, UnaryFunction, binary, elementwise, unary
from daskvars.ops.rules.shapes import compared, like_first, merged_shape
from daskvars.shapes import ShapeLike

add = binary("add", "Add", "P", "add", lambda op, dy: broadcast_gradients(op, dy, dy))(
    "Return x + y, element by element; of strings, one after the other.",
    "add([1, 2], [3, 4]) -> [4 6]",
)


def _subtract_gradient(op: Operation, dy: Tensor) -> Gradients:
    dx, dy = broadcast_gradients(op, dy, dy)
    return dx, negative(dy)


subtract = binary("subtract", "Sub", "N", "subtract", _subtract_gradient)(
    "Return x - y, element by element.", "subtract([7.0, 3.0], [2.0, 4.0]) -> [ 5. -1.]"
)


def _multiply_gradient(op: Operation, dy: Tensor) -> list[Tensor]:
    x, y = op.inputs
    return broadcast_gradients(op, multiply(dy, conj(y)), multiply(dy, conj(x)))


multiply = binary("multiply", "Mul", "N", "multiply", _multiply_gradient)(
    "Return x * y, element by element.", "multiply([7.0, 3.0], [2.0, 4.0]) -> [14. 12.]"
)


def _multiply_no_nan_gradient(op: Operation, dy: Tensor) -> list[Tensor]:
    x, y = map(conj, op.inputs)
    return broadcast_gradients(op, multiply_no_nan(dy, y), multiply_no_nan(x, dy))


multiply_no_nan: BinaryFunction = binary(
    "multiply_no_nan",
    "MulNoNan",
    "F",
    kernels.multiply_no_nan,
    _multiply_no_nan_gradient,
    default_name="multiply_no_nan",
)(
    "Return x y, and 0 where y is 0 even if x is infinite or NaN.",
    "multiply_no_nan([3.0, 1.0], [2.0, 4.0]) -> [6. 4.]",
)

negative: UnaryFunction = unary("negative", "Neg", "N", "negative", lambda op, dy: negative(dy))(
    "Return -x.", "negative([-3.0, 2.0]) -> [ 3. -2.]"
)


def _abs_gradient(op: Operation, dy: Tensor) -> Tensor:
    x = op.inputs[0]
    if x.dtype.is_complex:
        dy = casting.complex(dy, constant.zeros_like(dy))
    return multiply(dy, sign(x))


abs = unary(
    "abs",
    "Abs",
    "N",
    "absolute",
    _abs_gradient,
    infer=lambda inputs: Spec(inputs[0].dtype.real_dtype, inputs[0].shape),
    result="of the dtype of `x`; float of complex numbers",
)("Return |x|, element by element.", "abs([-3.0, 2.0]) -> [3. 2.]")


def _sign_gradient(op: Operation, dy: Tensor) -> Tensor:
    """Of a complex number what goes around the origin turns its sign, the less the larger it is."""
    x, direction = op.inputs[0], op.outputs[0]
    if not x.dtype.is_complex:
        return constant.zeros_like(dy)
    along, size = casting.real(multiply(conj(dy), direction)), abs(x)
    along, size = (casting.complex(part, constant.zeros_like(part)) for part in (along, size))
    around = subtract(dy, multiply(along, direction))
    return apply(opdef("DivNoNan"), around, size)  # division is made of what is here


sign = unary("sign", "Sign", "N", "sign", _sign_gradient)(
    "Return -1, 0 or 1 by the sign of x; x / |x| of complex numbers.",
    "sign([-3.0, 0.0, 2.0]) -> [-1.  0.  1.]",
)


def number(value: float, like: Tensor) -> Tensor:
    """Return a scalar constant of the dtype of `like`."""
    return constant.constant(value, like.dtype.base_dtype)


square = unary(
    "square",
    "Square",
    "N",
    "square",
    lambda op, dy: multiply(dy, multiply(conj(op.inputs[0]), number(2, dy))),
)("Return x², element by element.", "square([3.0, -2.0]) -> [9. 4.]")


def _squared_difference_gradient(op: Operation, dy: Tensor) -> Gradients:
    x, y = op.inputs
    dx = multiply(multiply(dy, number(2, dy)), subtract(x, y))
    dx, other = sum_like(dx, x, [y]), sum_like(dx, y, [x])
    return dx, negative(other)


squared_difference = binary(
    "squared_difference",
    "SquaredDifference",
    "R",
    kernels.squared_difference,
    _squared_difference_gradient,
)("Return (x - y)², element by element.", "squared_difference([7, 3], [2, 4]) -> [25  1]")

# -- rounding ----------------------------------------------------------------------------------

ceil = unary("ceil", "Ceil", "D", "ceil", lambda op, dy: None)(
    "Return x rounded up.", "ceil([1.5, -2.5]) -> [ 2. -2.]"
)
floor = unary("floor", "Floor", "D", "floor", lambda op, dy: None)(
    "Return x rounded down.", "floor([1.5, -2.5]) -> [ 1. -3.]"
)
rint = unary("rint", "Rint", "D", "rint", lambda op, dy: None)(
    "Return x rounded to the nearest integer, halves to the even one.",
    "rint([0.5, 1.5, -1.7]) -> [ 0.  2. -2.]",
)
signbit = unary("signbit", "SignBit", "D", "signbit", NO_GRADIENT, infer=compared, result="bool")(
    "Return whether the sign of x is minus, also that of -0.0 and NaN.",
    "signbit([1.0, -0.0]) -> [False  True]",
)
NEXT_AFTER = elementwise(
    "NextAfter",
    "x1:D, x2:D",
    "nextafter",
    lambda op, dy: broadcast_gradients(op, dy, constant.zeros_like(dy)),
)


def nextafter(x1: TensorLike, x2: TensorLike, name: str | None = None) -> Tensor:
    """Return the number that is next to x1 in the direction of x2.

    Args:
      x1: [...] real floating.
      x2: [...] of the dtype of `x1`; the shapes are broadcast as NumPy's.
      name: name of the operation, by default "NextAfter".

    Returns:
      [...] of the broadcast shape, of the dtype of `x1`.

    Raises:
      TypeError: the dtypes differ, or the op does not take them; nothing is converted silently.
      ValueError: the shapes do not broadcast.

    >>> print(nextafter([1.0, 2.0], [2.0, 0.0]))
    [1.0000001 1.9999999]
    """
    return apply(NEXT_AFTER, x1, x2, name=name)


ROUND = elementwise("Round", "x:F", "rint", lambda op, dy: None, infer=like_first)


def round(x: TensorLike, name: str | None = None) -> Tensor:
    """Return x rounded to the nearest integer, halves to the even one.

    Args:
      x: [...] real; integers are returned as they are.
      name: name of the operation, by default "Round".

    Returns:
      [...] of the dtype of `x`.

    >>> round([0.9, 2.5, 2.3, 1.5, -4.5]).numpy().tolist()
    [1.0, 2.0, 2.0, 2.0, -4.0]
    """
    x = convert_to_tensor(x)
    return x if x.dtype.is_integer else apply(ROUND, x, name=name)


# -- extremes ----------------------------------------------------------------------------------


def _extreme_gradient(chosen: Any) -> Any:
    def gradient(op: Operation, dy: Tensor) -> list[Tensor]:
        x, y = op.inputs
        return broadcast_gradients(op, *comparison.split_by(chosen(x, y), dy))

    return gradient


maximum = binary("maximum", "Maximum", "R", "maximum", _extreme_gradient(comparison.greater_equal))(
    "Return the larger of x and y, element by element.", "maximum([7, 3], [2, 4]) -> [7 4]"
)
minimum = binary("minimum", "Minimum", "R", "minimum", _extreme_gradient(comparison.less_equal))(
    "Return the smaller of x and y, element by element.", "minimum([7, 3], [2, 4]) -> [2 3]"
)


def saturate_cast(value: TensorLike, dtype: DTypeLike, name: str | None = None) -> Tensor:
    """Convert to another dtype, values outside its range to the nearest in it.

    Args:
      value: [...] real.
      dtype: the real dtype wanted.
      name: name of the operation, by default "saturate_cast".

    Returns:
      [...] `dtype`.

    >>> saturate_cast([-5.0, 300.0], dv.uint8).numpy().tolist()
    [0, 255]
    """
    with name_scope(name, "saturate_cast", [value]) as scope:
        value, dtype = convert_to_tensor(value, name="value"), as_dtype(dtype).base_dtype
        source = value.dtype.base_dtype
        low, high = _shared_range(source, dtype)
        if source.is_floating or source.min < low:  # floats have infinities
            value = maximum(value, constant.constant(low, source))
        if source.is_floating or source.max > high:
            value = minimum(value, constant.constant(high, source))
        return cast(value, dtype, name=scope)


def _shared_range(source: DType, dtype: DType) -> list[Any]:
    """Return the lowest and the highest value that both dtypes have, as numbers of `source`.

    >>> [int(x) for x in _shared_range(as_dtype("float16"), as_dtype("int16"))]  # it has no 32767
    [-32768, 32752]
    """
    low, high = max(source.min, dtype.min, key=float), min(source.max, dtype.max, key=float)
    if not source.is_floating:
        return [low, high]
    nearest = np.array([float(low), float(high)], source.np)
    return [x if low <= float(x) <= high else np.nextafter(x, 0 * x) for x in nearest]


# -- sums --------------------------------------------------------------------------------------


def _all_equal(inputs: Sequence[Spec]) -> Spec:
    return Spec(inputs[0].dtype, merged_shape(*[spec.shape for spec in inputs]))


ADD_N = OpDef(
    "AddN",
    "*inputs:N",
    infer=_all_equal,
    pattern=Sum(),
    kernel=kernels.add_n,
    gradient=lambda op, dy: [dy] * len(op.inputs),
)


def add_n(inputs: Sequence[Any], name: str | None = None) -> Tensor:
    """Add tensors of one shape.

    Args:
      inputs: one or more, [...] any number, all of one shape and dtype.
      name: name of the operation, by default "AddN".

    Returns:
      [...] of that shape and dtype; a single input is returned as it is.

    Raises:
      ValueError: `inputs` is empty or no list, or the shapes differ.

    >>> add_n([[3.0, 5.0], [1.0, 6.0], [2.0, 2.0]]).numpy().tolist()
    [6.0, 13.0]
    """
    if not isinstance(inputs, list | tuple) or not inputs:
        raise ValueError(
            "inputs must be a list of at least one Tensor/IndexedSlices with the same dtype and "
            f"shape, not {inputs!r}"
        )
    if len(inputs) == 1:
        value = convert_to_tensor(inputs[0])
        return reshaping.identity(value, name=name) if name else value
    return apply(ADD_N, *inputs, name=name)


def accumulate_n(
    inputs: Sequence[Any],
    shape: ShapeLike | None = None,
    tensor_dtype: DTypeLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Add tensors of one shape, as `add_n`.

    Args:
      inputs: see `add_n`.
      shape: the shape that they have, where it is not known.
      tensor_dtype: the dtype that they have.
      name: name of the operation, by default "AccumulateNV2".

    Raises:
      TypeError: `tensor_dtype` is not the dtype of the inputs.

    >>> print(accumulate_n([[1, 2], [3, 4]]))
    [4 6]
    """
    total = add_n(inputs, name=name or "AccumulateNV2")
    if tensor_dtype is not None and as_dtype(tensor_dtype) is not total.dtype.base_dtype:
        raise TypeError(
            f"tensor_dtype is {as_dtype(tensor_dtype).name}, but input is of type "
            f"{total.dtype.name}"
        )
    if shape is not None:
        total.set_shape(shape)
    return total


def scalar_mul(scalar: TensorLike, x: TensorLike, name: str | None = None) -> Any:
    """Multiply a tensor, or the rows of an IndexedSlices, by a scalar.

    Args:
      scalar: [] a number, a scalar tensor or a variable.
      x: [...] Tensor or IndexedSlices.
      name: name of the operation, by default "Mul".

    Returns:
      As `x`.

    Raises:
      ValueError: `scalar` is not a scalar.

    >>> print(scalar_mul(2.0, [1.0, 2.0]))
    [2. 4.]
    """
    values = x.values if isinstance(x, IndexedSlices) else convert_to_tensor(x)
    scalar = convert_to_tensor(scalar, values.dtype.base_dtype, name="scalar")
    if scalar.spec.shape != ():
        raise ValueError(f"Only scalar multiply works, got shape {shapes.show(scalar.spec.shape)}")
    product = multiply(scalar, values, name=name)
    if isinstance(x, IndexedSlices):
        return IndexedSlices(product, x.indices, x.dense_shape)
    return product


def polyval(coeffs: Sequence[Any], x: TensorLike, name: str | None = None) -> Tensor:
    """Evaluate a polynomial by Horner's rule.

    Args:
      coeffs: list of numbers or tensors, highest power first.
      x: [...] any number.
      name: name scope of the operations, by default "polyval".

    Returns:
      [...] of the dtype of `x`.

    >>> float(polyval([3.0, 1.0, 2.0], 2.0))
    16.0
    """
    with name_scope(name, "polyval", [x, *coeffs]):
        x = convert_to_tensor(x, name="x")
        if not coeffs:
            return constant.zeros_like(x)
        terms = [convert_to_tensor(c, x.dtype.base_dtype, name="coeff") for c in coeffs]
        value = terms[0]
        for term in terms[1:]:
            value = add(term, multiply(value, x))
        return value
