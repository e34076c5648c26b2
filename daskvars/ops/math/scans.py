"""Running sums and products along an axis."""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any

from daskvars import shapes
from daskvars.dtypes import int64
from daskvars.errors import InvalidArgumentError
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import OpDef, Spec
from daskvars.graph.definitions.patterns import Contraction
from daskvars.graph.definitions.static_values import constant_value
from daskvars.graph.interpreter import apply
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.kernels.math import scans as kernels
from daskvars.ops.array.constant import ones_like
from daskvars.ops.math.arithmetic import multiply, number
from daskvars.ops.math.casting import cast, conj
from daskvars.ops.math.comparison import equal, logical_and, where
from daskvars.ops.math.division import realdiv
from daskvars.surface.signatures import with_arguments_of


def whole_along(inputs: Any, attrs: Any) -> str:
    """Return the access of an op that needs its axis whole and keeps all dimensions."""
    letters = list(string.ascii_lowercase[: len(inputs[0])])
    letters[attrs["axis"]] = "_"
    term = "".join(letters)
    return f"{term}->{term}"


def static_axis(axis: TensorLike, x: Tensor) -> int:
    """Return a single axis as an int, counted from the front where the rank is known.

    Raises:
      ValueError: the axis is not known before the run, or there is none such.
    """
    axis = known_integer(axis)
    shape = x.spec.shape
    return axis if shape is None else shapes.normalize_axis(axis, len(shape))


def known_integer(axis: TensorLike) -> int:
    """Return an int, or the value of a tensor, as an int.

    Raises:
      ValueError: it is no integer, or not known before the run.
    """
    if isinstance(axis, int):
        return axis
    value = constant_value(convert_to_tensor(axis))
    if value is None or value.size != 1 or value.dtype.kind not in "iu":
        raise ValueError(
            f"axis must be one integer that is known when the graph is built, not {axis!r}"
        )
    return int(value.reshape(()))


def _scanned(inputs: Sequence[Spec], *, axis: Any, exclusive: bool, reverse: bool) -> Spec:
    shape = inputs[0].shape
    if shape is not None and not -len(shape) <= axis < len(shape):
        raise ValueError(_scan_problem(axis, len(shape)))
    return inputs[0]


def _scan_problem(axis: int, rank: int) -> str:
    return f"Expected scan axis in the range [{-rank}, {rank}), but got {axis}"


def _scan(
    definition: OpDef, x: Any, axis: Any, exclusive: bool, reverse: bool, name: str | None
) -> Any:
    """Apply a scan; an axis that there is not is an InvalidArgumentError, as in TensorFlow."""
    x, type = convert_to_tensor(x), definition.type
    if not isinstance(axis, int) and convert_to_tensor(axis).spec.shape not in ((), None):
        raise InvalidArgumentError(
            None, name or type, f"{type}: axis must be a scalar, not {axis!r}"
        )
    axis = known_integer(axis)
    shape = x.spec.shape
    if shape is not None:
        if not -len(shape) <= axis < len(shape):
            raise InvalidArgumentError(
                None, name or type, f"{type}: {_scan_problem(axis, len(shape))}"
            )
        axis %= len(shape)
    return apply(
        definition, x, name=name, axis=axis, exclusive=bool(exclusive), reverse=bool(reverse)
    )


def _other_way(op: Operation, values: Tensor) -> Tensor:
    attrs = op.attrs
    return cumsum(values, attrs["axis"], attrs["exclusive"], not attrs["reverse"])


def _scan_op(type: str, kernel: Any, gradient: Any) -> OpDef:
    return OpDef(type, "x:N", _scanned, Contraction(whole_along, None), kernel, gradient)


CUMSUM = _scan_op("Cumsum", kernels.cumsum, _other_way)


def cumsum(
    x: TensorLike,
    axis: TensorLike = 0,
    exclusive: bool = False,
    reverse: bool = False,
    name: str | None = None,
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
      InvalidArgumentError: there is no such axis.

    >>> cumsum([1, 2, 3], exclusive=True, reverse=True).numpy().tolist()
    [5, 3, 0]
    """
    return _scan(CUMSUM, x, axis, exclusive, reverse, name)


def _cumprod_gradient(op: Operation, dy: Tensor) -> Tensor:
    """Divide by an element what it is a factor of; leave out the first zero, what there is none by.

    Of a further zero nothing is left: all that it is a factor of is zero without it.
    """
    x, attrs = op.inputs[0], op.attrs
    is_zero, ones = equal(x, number(0, x)), ones_like(x)
    nth = cumsum(cast(is_zero, int64), attrs["axis"], reverse=attrs["reverse"])
    is_first = logical_and(is_zero, equal(nth, number(1, nth)))
    without = apply(CUMPROD, where(is_first, ones, x), **attrs)
    quotients = realdiv(
        _other_way(op, multiply(dy, conj(op.outputs[0]))), conj(where(is_zero, ones, x))
    )
    return where(is_first, _other_way(op, multiply(dy, conj(without))), quotients)


CUMPROD = _scan_op("Cumprod", kernels.cumprod, _cumprod_gradient)


@with_arguments_of(cumsum)
def cumprod(**arguments: Any) -> Tensor:
    """Return running products along an axis. See `cumsum`.

    Args:
      name: name of the operation, by default "Cumprod".

    >>> print(cumprod([1, 2, 3]))
    [1 2 6]
    """
    return _scan(CUMPROD, **arguments)
