"""Comparisons, logic, and choosing by a condition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from daskvars import dtypes, shapes
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import NO_GRADIENT, Spec, without_gradient
from daskvars.graph.interpreter import apply
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.kernels.math import without_ufunc as kernels
from daskvars.ops.array import constant, joining, reshaping, slicing
from daskvars.ops.array.broadcasting import broadcast_gradients
from daskvars.ops.rules.families import binary, elementwise, same_dtype, unary
from daskvars.ops.rules.shapes import compared


def _relation(name: str, type: str, letter: str, symbol: str, shown: str) -> Any:
    return binary(name, type, letter, name, NO_GRADIENT, infer=compared, result="bool")(
        f"Return x {symbol} y, element by element.", f"{name}([1, 2, 3], [2, 2, 2]) -> {shown}"
    )


equal = _relation("equal", "Equal", "T", "==", "[False  True False]")
not_equal = _relation("not_equal", "NotEqual", "T", "!=", "[ True False  True]")
less = _relation("less", "Less", "R", "<", "[ True False False]")
less_equal = _relation("less_equal", "LessEqual", "R", "<=", "[ True  True False]")
greater = _relation("greater", "Greater", "R", ">", "[False False  True]")
greater_equal = _relation("greater_equal", "GreaterEqual", "R", ">=", "[False  True  True]")


def _connective(name: str, type: str, words: str, shown: str) -> Any:
    return binary(name, type, "B", name, NO_GRADIENT, result="bool")(
        f"Return {words}, element by element.",
        f"{name}([True, True, False], [True, False, False]) -> {shown}",
    )


logical_and = _connective("logical_and", "LogicalAnd", "x and y", "[ True False False]")
logical_or = _connective("logical_or", "LogicalOr", "x or y", "[ True  True False]")
logical_xor = _connective(
    "logical_xor", "LogicalXor", "whether exactly one of x and y holds", "[False  True False]"
)
logical_not = unary("logical_not", "LogicalNot", "B", "logical_not", NO_GRADIENT)(
    "Return not x, by element.", "logical_not([True, False]) -> [False  True]"
)


def _is(name: str, type: str, kernel: str, words: str, shown: str) -> Any:
    return unary(name, type, "F", kernel, NO_GRADIENT, infer=compared, result="bool")(
        f"Return whether x is {words}, element by element.",
        f'{name}([1.0, float("nan"), float("inf")]) -> {shown}',
    )


is_nan = _is("is_nan", "IsNan", "isnan", "not a number", "[False  True False]")
is_inf = _is("is_inf", "IsInf", "isinf", "infinite", "[False False  True]")
is_finite = _is(
    "is_finite", "IsFinite", "isfinite", "neither infinite nor NaN", "[ True False False]"
)


def _chosen(inputs: Sequence[Spec]) -> Spec:
    return Spec(inputs[1].dtype, shapes.broadcast(*[spec.shape for spec in inputs]))


def _chosen_of_one_shape(inputs: Sequence[Spec]) -> Spec:
    return Spec(inputs[1].dtype, shapes.merge(inputs[1].shape, inputs[2].shape))


def split_by(condition: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
    """Return `value` where `condition` holds and zeros elsewhere, and the other way round."""
    zero = constant.zeros([], value.dtype.base_dtype)
    return where_v2(condition, value, zero), where_v2(condition, zero, value)


SELECT = elementwise(
    "Select",
    "condition:B, x:T, y:T",
    infer=_chosen_of_one_shape,
    kernel=kernels.select,
    gradient=lambda op, dy: (None, *split_by(op.inputs[0], dy)),
)

SELECT_V2 = elementwise(
    "SelectV2",
    "condition:B, x:T, y:T",
    infer=_chosen,
    kernel=kernels.select,
    gradient=lambda op, dy: broadcast_gradients(op, None, *split_by(op.inputs[0], dy)),
)

WHERE = without_gradient(
    "Where",
    "condition:T",
    infer=lambda inputs: Spec(
        dtypes.int64, (None, None if inputs[0].shape is None else len(inputs[0].shape))
    ),
    kernel=kernels.nonzero,
)


def where(condition: TensorLike, x: Any = None, y: Any = None, name: str | None = None) -> Tensor:
    """Choose between `x` and `y`, or tell where `condition` holds.

    Args:
      condition: [...] bool of the shape of `x`; or a scalar; or [n], and then it chooses rows.
      x: [...] any dtype, taken where `condition` holds; None with `y` None.
      y: of the shape and dtype of `x`, taken elsewhere.
      name: name of the operation, by default "Select" or "Where".

    Returns:
      [...] as `x`; without `x` and `y` the coordinates of the elements that hold, [count, rank]
      int64, in row-major order.

    Raises:
      ValueError: only one of `x` and `y` is given, or the shapes differ.

    Source: TensorFlow 1.15, ``tf.where``. `where_v2` broadcasts instead.

    >>> where([True, False], [[1, 1], [2, 2]], [[3, 3], [4, 4]]).numpy().tolist()
    [[1, 1], [4, 4]]
    >>> where([False, True, True]).numpy().tolist()
    [[1], [2]]
    """
    if x is None or y is None:
        return where_v2(condition, x, y, name)
    with name_scope(name, "Select", [condition, x, y]) as scope:
        condition = convert_to_tensor(condition, dtypes.bool, name="condition")
        x, y = same_dtype(x, y, scope)
        if not shapes.compatible(x.spec.shape, y.spec.shape):
            raise ValueError(
                f"Shapes must be equal: x of shape {shapes.show(x.spec.shape)}, y of shape "
                f"{shapes.show(y.spec.shape)}. where_v2 broadcasts."
            )
        found, wanted = condition.spec.shape, shapes.merge(x.spec.shape, y.spec.shape)
        if found is None or wanted is None:
            condition = _aligned_when_run(condition, x)
        elif len(found) == 1 and len(wanted) > 1:
            if not shapes.compatible(found, wanted[:1]):
                raise ValueError(
                    f"Shapes must be equal: a vector condition of shape {shapes.show(found)} "
                    f"cannot choose rows of tensors of shape {shapes.show(wanted)}"
                )
            condition = reshaping.reshape(condition, (-1,) + (1,) * (len(wanted) - 1))
        elif found and not shapes.compatible(found, wanted):
            raise ValueError(
                f"Shapes must be equal: condition of shape {shapes.show(found)}, x and y of shape "
                f"{shapes.show(wanted)}. where_v2 broadcasts."
            )
        return apply(SELECT, condition, x, y, name=scope)


def _aligned_when_run(condition: Tensor, x: Tensor) -> Tensor:
    """Return `condition` with size-1 dimensions after its own, as many as `x` has more."""
    rank = reshaping.expand_dims(constant.rank(condition), 0)
    missing = slicing.slice(constant.shape(x), rank, [-1])
    sizes = joining.concat([constant.shape(condition), constant.ones_like(missing)], 0)
    return reshaping.reshape(condition, sizes)


def where_v2(
    condition: TensorLike,
    x: TensorLike | None = None,
    y: TensorLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Choose between `x` and `y`, all three broadcast together. See `where`.

    Args:
      condition: [...] bool.
      x: [...] any dtype, taken where `condition` holds; None with `y` None.
      y: [...] of the dtype of `x`, taken elsewhere.
      name: name of the operation, by default "SelectV2" or "Where".

    Returns:
      [...] of the broadcast shape, of the dtype of `x`; without `x` and `y` as `where`.

    Raises:
      ValueError: only one of `x` and `y` is given, or the shapes do not broadcast.

    >>> where_v2([True, False], [[1], [2]], 0).numpy().tolist()
    [[1, 0], [2, 0]]
    """
    if (x is None) != (y is None):
        raise ValueError("x and y must both be non-None or both be None.")
    if x is None:
        return apply(WHERE, condition, name=name)
    return apply(SELECT_V2, condition, x, y, name=name)
