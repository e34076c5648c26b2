"""Division in all its forms, as TensorFlow divides.

`truediv` of integers is floating, `div` of integers rounds down. Integer division by zero is an
error of the run, floating division by zero is infinite.
"""

from __future__ import annotations

from typing import Any

from daskvars import dtypes
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.kernels.math import without_ufunc as kernels
from daskvars.ops.array.broadcasting import broadcast_gradients
from daskvars.ops.math.arithmetic import multiply, negative
from daskvars.ops.math.casting import cast, conj
from daskvars.ops.rules.families import BinaryFunction, binary, dtype_of, same_dtype


def _quotient_gradient(divide: Any, op: Operation, dy: Tensor) -> list[Tensor]:
    dx = divide(dy, conj(op.inputs[1]))
    return broadcast_gradients(op, dx, negative(multiply(dx, conj(op.outputs[0]))))


realdiv: BinaryFunction = binary(
    "realdiv", "RealDiv", "F", "divide", lambda op, dy: _quotient_gradient(realdiv, op, dy)
)("Return x / y of floats, element by element.", "realdiv([3.0, 1.0], [2.0, 4.0]) -> [1.5  0.25]")
floordiv = binary(
    "floordiv",
    "FloorDiv",
    "R",
    kernels.floor_divide,
    lambda op, dy: (None, None),
    default_name="floordiv",
)("Return x / y rounded down, element by element.", "floordiv([7, 3], [2, 4]) -> [3 0]")
truncatediv = binary(
    "truncatediv", "TruncateDiv", "R", kernels.truncate_divide, lambda op, dy: (None, None)
)(
    "Return x / y rounded towards zero, as C divides, element by element.",
    "truncatediv([7, 3], [2, 4]) -> [3 0]",
)


def _mod_gradient(divide: Any) -> Any:
    def gradient(op: Operation, dy: Tensor) -> list[Tensor]:
        x, y = op.inputs
        return broadcast_gradients(op, dy, negative(multiply(dy, divide(x, y))))

    return gradient


floormod = binary("floormod", "FloorMod", "R", kernels.floor_mod, _mod_gradient(floordiv))(
    "Return the remainder of x / y with the sign of y, so that floordiv(x, y) * y + it is x.",
    "floormod([7, 3], [2, 4]) -> [1 3]",
)
mod = floormod
truncatemod = binary(
    "truncatemod", "TruncateMod", "R", kernels.truncate_mod, _mod_gradient(truncatediv)
)(
    "Return the remainder of x / y with the sign of x, as C's.",
    "truncatemod([7, 3], [2, 4]) -> [1 3]",
)


div_no_nan: BinaryFunction = binary(
    "div_no_nan",
    "DivNoNan",
    "F",
    kernels.divide_no_nan,
    lambda op, dy: _quotient_gradient(div_no_nan, op, dy),
    default_name="div_no_nan",
)("Return x / y, and 0 where y is 0.", "div_no_nan([3.0, 1.0], [2.0, 4.0]) -> [1.5  0.25]")

# What true division of integers gives.
_QUOTIENTS = {
    dtypes.int8: dtypes.float32,
    dtypes.uint8: dtypes.float32,
    dtypes.int16: dtypes.float32,
    dtypes.uint16: dtypes.float32,
    dtypes.int32: dtypes.float64,
    dtypes.int64: dtypes.float64,
}


def truediv(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return x / y, element by element, as Python 3 divides.

    Args:
      x: [...] any number.
      y: [...] of the dtype of `x`; shapes are broadcast.
      name: name of the operation, by default "truediv".

    Returns:
      [...] of the dtype of `x`; of integers float32 (8 or 16 bits) or float64 (32 or 64).

    Raises:
      TypeError: the dtypes differ.

    >>> truediv([7, 8], 2).numpy().tolist()
    [3.5, 4.0]
    """
    found = dtype_of(x, y)
    if found is not None and found not in _QUOTIENTS:
        return realdiv(x, y, name=name or "truediv")
    with name_scope(name, "truediv", [x, y]) as scope:
        x, y = same_dtype(x, y, scope)
        wide = _QUOTIENTS.get(x.dtype.base_dtype)
        if wide is not None:
            x, y = cast(x, wide), cast(y, wide)
        return realdiv(x, y, name=scope)


def divide(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return x / y, element by element. The same as `truediv`.

    >>> print(divide([7, 3], [2, 2]))
    [3.5 1.5]
    """
    return truediv(x, y, name=name)


def div(x: TensorLike, y: TensorLike, name: str | None = None) -> Tensor:
    """Return x / y as Python 2 divides: rounded down where both are integers.

    Args:
      x: [...] any number.
      y: [...] of the dtype of `x`; shapes are broadcast.
      name: name of the operation, by default "div".

    Returns:
      [...] of the dtype of `x`.

    Raises:
      TypeError: the dtypes differ.

    >>> print(div([7, 3], [2, 2]))
    [3 1]
    """
    found = dtype_of(x, y)
    if found is not None:
        return (floordiv if found.is_integer else realdiv)(x, y, name=name or "div")
    with name_scope(name, "div", [x, y]) as scope:
        x, y = same_dtype(x, y, scope)
        return (floordiv if x.dtype.is_integer else realdiv)(x, y, name=scope)
