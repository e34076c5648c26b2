"""Assertions on values: comparisons that must hold for every element.

Each gives an operation for `control_dependencies`. What the graph alone decides is checked when
the assertion is made; eager code is checked at the call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy

from daskvars.dtypes import NUMERIC
from daskvars.errors import invalid
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.static_values import constant_value
from daskvars.graph.interpreter import builder_for
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.ops.array.reshaping import reshape
from daskvars.ops.control.dependencies import Assert, no_op
from daskvars.ops.math import comparison
from daskvars.ops.math.arithmetic import abs as absolute, add, multiply, number, subtract
from daskvars.ops.math.reduce import reduce_all
from daskvars.ops.rules.families import same_dtype
from daskvars.surface.signatures import Argument, Family

# What all assertions take.
SHOWN = {
    "data": Argument(
        "tensors and strings to show on failure, by default {shown}.", None, "Sequence[Any]"
    ),
    "summarize": Argument("how many elements of each to show, by default 3.", None, "int"),
    "message": Argument("begins the error.", None, "str"),
    "name": Argument('name scope of the operations, by default "{function}".', None, "str"),
}
ASSERTIONS = Family(
    {
        "x": Argument("[...] number."),
        "y": Argument("[...] of the dtype of `x`; the shapes broadcast."),
        **SHOWN,
    },
    returns="An Operation; a run that fails changes no variable.",
    raises="InvalidArgumentError: at once where the values are known, else when run.",
    result="Operation",
)


def shown_name(tensor: Tensor) -> str:
    """Return how a message calls a tensor: its name, or in eager code what it looks like."""
    if builder_for((tensor,)).is_eager:
        return f"shape={tensor.shape} dtype={tensor.dtype.name}"
    return tensor.name


def asserted(condition: Tensor, data: Sequence[Any], summarize: int | None = None) -> Operation:
    """Return an assertion that is also checked now, where `condition` can be known now.

    Raises:
      InvalidArgumentError: the condition is known and false.
    """
    known = constant_value(condition)
    if known is not None and not numpy.all(known):
        raise invalid(" ".join(filter(None, map(_shown, data))))
    op = Assert(condition, data, summarize=summarize)
    if builder_for((condition,)).is_eager:
        bool(condition)  # computes what is recorded, the assertion too
    return op


def _shown(item: Any) -> str:
    value = constant_value(item) if isinstance(item, Tensor) else item
    return str(item if value is None else value)


def _comparison(
    name: str,
    relation: Callable[..., Tensor],
    symbol: str,
    example: str,
    words: str = "element-wise",
) -> Callable[..., Operation]:
    def call(given: dict[str, Any]) -> Operation:
        data = given["data"]
        with name_scope(given["name"], name, [given["x"], given["y"], data]) as scope:
            x, y = same_dtype(given["x"], given["y"], scope)
            if x is y and relation is comparison.equal:
                return no_op()
            if data is None:
                said = f"Condition x {symbol} y did not hold {words}:"
                data = [given["message"] or "", said, *_named(x=x, y=y)]
            return asserted(reduce_all(relation(x, y)), data, given["summarize"])

    return _assertion(name, "x y", f"x {symbol} y", example, call, "`x` and `y`")


def _assertion(
    name: str, operands: str, condition: str, example: str, call: Callable[..., Any], shown: str
) -> Callable[..., Operation]:
    order = f"{operands} data summarize message name"
    doc = f"""Return an operation that fails the run unless {condition} everywhere.

    >>> _ = {name}({example})
    """
    return ASSERTIONS.function(__name__, name, order, call, doc, shown=shown)


def _named(**operands: Tensor) -> list[Any]:
    """Return what an error shows of operands."""
    named = [(f"{name} ({shown_name(tensor)}) = ", tensor) for name, tensor in operands.items()]
    return [item for pair in named for item in pair]


assert_equal = _comparison("assert_equal", comparison.equal, "==", "[1, 2], [1, 2]")
assert_none_equal = _comparison(
    "assert_none_equal", comparison.not_equal, "!=", "[1, 2], [2, 1]", "for every single element"
)
assert_less = _comparison("assert_less", comparison.less, "<", "[1, 2], 3")
assert_less_equal = _comparison("assert_less_equal", comparison.less_equal, "<=", "[1, 2], 2")
assert_greater = _comparison("assert_greater", comparison.greater, ">", "[1, 2], 0")
assert_greater_equal = _comparison(
    "assert_greater_equal", comparison.greater_equal, ">=", "[1, 2], 1"
)


def _sign(
    name: str, relation: Callable[..., Tensor], symbol: str, example: str
) -> Callable[..., Operation]:
    def call(given: dict[str, Any]) -> Operation:
        data = given["data"]
        with name_scope(given["name"], name, [given["x"], data]):
            x = convert_to_tensor(given["x"], name="x")
            if data is None:
                said = f"Condition x {symbol} 0 did not hold element-wise:"
                data = [given["message"] or "", said, *_named(x=x)]
            return asserted(reduce_all(relation(x, number(0, x))), data, given["summarize"])

    return _assertion(name, "x", f"x {symbol} 0", example, call, "`x`")


assert_negative = _sign("assert_negative", comparison.less, "<", "[-1, -2]")
assert_positive = _sign("assert_positive", comparison.greater, ">", "[1, 2]")
assert_non_negative = _sign("assert_non_negative", comparison.greater_equal, ">=", "[0, 1]")
assert_non_positive = _sign("assert_non_positive", comparison.less_equal, "<=", "[0, -1]")


@Family(SHOWN).documents(shown="`x` and `y`")
def assert_near(
    x: TensorLike,
    y: TensorLike,
    rtol: TensorLike | None = None,
    atol: TensorLike | None = None,
    data: Sequence[Any] | None = None,
    summarize: int | None = None,
    message: str | None = None,
    name: str | None = None,
) -> Operation:
    """Return an operation that fails the run unless |x - y| < atol + rtol |y| everywhere.

    Args:
      x: [...] floating.
      y: [...] of the dtype of `x`; the shapes broadcast.
      rtol: relative tolerance, by default ten times the spacing of numbers near one.
      atol: absolute tolerance, by default the same.

    Raises:
      InvalidArgumentError: at once where the values are known, else when run.

    >>> _ = assert_near([1.0, 2.0], [1.0, 2.01], rtol=0.1)
    """
    with name_scope(name, "assert_near", [x, y, rtol, atol, data]):
        x = convert_to_tensor(x, name="x")
        dtype = x.dtype.base_dtype
        y = convert_to_tensor(y, dtype, name="y")
        default = 10 * float(ml_dtypes.finfo(dtype.np).eps)
        rtol = convert_to_tensor(default if rtol is None else rtol, dtype, name="rtol")
        atol = convert_to_tensor(default if atol is None else atol, dtype, name="atol")
        if data is None:
            data = [
                message or "",
                f"x and y not equal to tolerance rtol = {_shown(rtol)}, atol = {_shown(atol)}",
                *_named(x=x, y=y),
            ]
        tolerance = add(atol, multiply(rtol, absolute(y)))
        near = comparison.less(absolute(subtract(x, y)), tolerance)
        return asserted(reduce_all(near), data, summarize)


# -- order -------------------------------------------------------------------------------------


def _ordered(x: Any, relation: Callable[..., Tensor], name: str | None, default: str) -> Tensor:
    with name_scope(name, default, [x]):
        flat = reshape(convert_to_tensor(x, name="x"), [-1])
        if flat.dtype.base_dtype not in NUMERIC:
            raise TypeError(f"Expected x to be numeric, instead found: {x}")
        return reduce_all(relation(flat[:-1], flat[1:]))


def is_non_decreasing(x: TensorLike, name: str | None = None) -> Tensor:
    """Return whether no element is less than the one before it, in row-major order.

    Args:
      x: [...] number.
      name: name scope of the operations, by default "is_non_decreasing".

    Returns:
      [] bool; True of fewer than two elements.

    Raises:
      TypeError: `x` is no number.

    >>> bool(is_non_decreasing([1, 1, 2]))
    True
    """
    return _ordered(x, comparison.less_equal, name, "is_non_decreasing")


def is_strictly_increasing(x: TensorLike, name: str | None = None) -> Tensor:
    """Return whether each element is greater than the one before it. See `is_non_decreasing`.

    >>> bool(is_strictly_increasing([1, 1, 2]))
    False
    """
    return _ordered(x, comparison.less, name, "is_strictly_increasing")
