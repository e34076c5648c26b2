"""Running sums and products along an axis."""

from __future__ import annotations

import string
from typing import Any

from daskvars import shapes
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.interpreter import apply
from daskvars.graph.opdef import OpDef
from daskvars.graph.patterns import Contraction
from daskvars.graph.static_values import constant_value
from daskvars.graph.tensor import Tensor
from daskvars.kernels import arrays
from daskvars.ops.arithmetic import multiply
from daskvars.ops.casting import conj
from daskvars.ops.division import realdiv
from daskvars.ops.rules import like_first


def whole_along(inputs: Any, attrs: Any) -> str:
    """Return the access of an op that needs its axis whole and keeps all dimensions."""
    letters = list(string.ascii_lowercase[: len(inputs[0])])
    letters[attrs["axis"]] = "_"
    term = "".join(letters)
    return f"{term}->{term}"


def static_axis(axis: Any, x: Tensor, what: str = "axis") -> int:
    """Return a single axis as an int, counted from the front where the rank is known.

    Raises:
      ValueError: the axis is not known before the run, or there is none such.
    """
    if not isinstance(axis, int):
        value = constant_value(convert_to_tensor(axis))
        if value is None or value.size != 1 or value.dtype.kind not in "iu":
            raise ValueError(
                f"{what} must be one integer that is known when the graph is built, not {axis!r}"
            )
        axis = int(value.reshape(()))
    shape = x.spec.shape
    return axis if shape is None else shapes.normalize_axis(axis, len(shape), what)


def _other_way(op, values):
    attrs = op.attrs
    return cumsum(values, attrs["axis"], attrs["exclusive"], not attrs["reverse"])


CUMSUM = OpDef(
    "Cumsum", "x:N", infer=like_first, pattern=Contraction(whole_along, None),
    kernel=arrays.cumsum, gradient=lambda op, dy: _other_way(op, dy),
)  # fmt: skip


def cumsum(
    x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """Return running sums along an axis.

    Args:
      x: [...] any number.
      axis: the axis, an int.
      exclusive: leave each element out of its own sum.
      reverse: sum from the end.
      name: name of the operation, by default "Cumsum".

    Returns:
      [...] of the shape and dtype of `x`.

    Raises:
      ValueError: there is no such axis.

    >>> import daskvars as dv
    >>> cumsum([1, 2, 3], exclusive=True, reverse=True).numpy().tolist()
    [5, 3, 0]
    """
    x = convert_to_tensor(x)
    axis = static_axis(axis, x)
    return apply(CUMSUM, x, name=name, axis=axis, exclusive=bool(exclusive), reverse=bool(reverse))


def _cumprod_gradient(op, dy):
    return realdiv(_other_way(op, multiply(dy, conj(op.outputs[0]))), conj(op.inputs[0]))


CUMPROD = OpDef(
    "Cumprod", "x:N", infer=like_first, pattern=Contraction(whole_along, None),
    kernel=arrays.cumprod, gradient=_cumprod_gradient,
)  # fmt: skip


def cumprod(
    x: Any, axis: Any = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Tensor:
    """Return running products along an axis. See `cumsum`.

    The gradient divides by `x`, as TensorFlow's does: it is not a number where `x` is zero.
    """
    x = convert_to_tensor(x)
    axis = static_axis(axis, x)
    return apply(CUMPROD, x, name=name, axis=axis, exclusive=bool(exclusive), reverse=bool(reverse))
