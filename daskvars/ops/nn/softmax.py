"""Softmax and its logarithm; the axis of the classes is whole, all others may be cut."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from daskvars.dtypes import int32
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import OpDef
from daskvars.graph.definitions.patterns import Contraction
from daskvars.graph.definitions.static_values import constant_value
from daskvars.graph.indexed_slices import Gradients
from daskvars.graph.interpreter import apply
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.kernels.nn import normalization as normalize
from daskvars.ops.array.constant import rank
from daskvars.ops.array.ranges import range as range_of
from daskvars.ops.array.transposing import transpose
from daskvars.ops.control.dependencies import Assert, control_dependencies
from daskvars.ops.math.arithmetic import multiply, negative, subtract
from daskvars.ops.math.casting import cast
from daskvars.ops.math.comparison import equal, logical_and
from daskvars.ops.math.division import floormod
from daskvars.ops.math.reduce import reduce_sum
from daskvars.ops.math.scans import static_axis, whole_along
from daskvars.ops.math.transcendental import exp
from daskvars.ops.rules.axes import either, is_symbolic
from daskvars.ops.rules.shapes import like_first
from daskvars.surface.signatures import Argument, Family


def whole_classes(inputs: Any, attrs: Any) -> str:
    """Return the access of an op of which every input keeps all dimensions, the axis whole."""
    term = whole_along(inputs, attrs).partition("->")[0]
    return f"{','.join([term] * len(inputs))}->{term}"


def _along_classes(x: Tensor, op: Any) -> Tensor:
    return reduce_sum(x, op.attrs["axis"], keepdims=True)


def _op(type: str, operands: str, kernel: Any, gradient: Any) -> OpDef:
    pattern = Contraction(whole_classes, None)
    return OpDef(type, operands, like_first, pattern, kernel, gradient)


def _slope(op: Operation, dy: Tensor) -> Tensor:
    return apply(GRADIENTS[op.type], op.outputs[0], dy, axis=op.attrs["axis"])


def _softmax_grad_gradient(op: Operation, g: Tensor) -> Gradients:
    y, dy = op.inputs
    pulled = subtract(dy, _along_classes(multiply(dy, y), op))
    for_y = subtract(multiply(g, pulled), multiply(dy, _along_classes(multiply(g, y), op)))
    return for_y, apply(SOFTMAX_GRAD, y, g, axis=op.attrs["axis"])


def _log_softmax_grad_gradient(op: Operation, g: Tensor) -> Gradients:
    y, dy = op.inputs
    weighted = multiply(g, exp(y))
    for_y = negative(multiply(weighted, _along_classes(dy, op)))
    return for_y, subtract(g, _along_classes(weighted, op))


SOFTMAX = _op("Softmax", "logits:D", normalize.softmax, _slope)
SOFTMAX_GRAD = _op(
    "SoftmaxGrad", "softmax:D, gradients:D", normalize.softmax_grad, _softmax_grad_gradient
)
LOG_SOFTMAX = _op("LogSoftmax", "logits:D", normalize.log_softmax, _slope)
LOG_SOFTMAX_GRAD = _op(
    "LogSoftmaxGrad",
    "logsoftmax:D, gradients:D",
    normalize.log_softmax_grad,
    _log_softmax_grad_gradient,
)
GRADIENTS = {"Softmax": SOFTMAX_GRAD, "LogSoftmax": LOG_SOFTMAX_GRAD}

SOFTMAXES = Family(
    {
        "logits": Argument("[..., classes, ...] floating."),
        "axis": Argument(
            "the axis of the classes, an int or a scalar tensor, by default the last.",
            None,
            "TensorLike | None",
        ),
        "name": Argument('name of the operation, by default "{type}".', None, "str | None"),
        "dim": Argument("the old name of `axis`.", None, "TensorLike | None"),
    },
    returns="[..., classes, ...] of the dtype of `logits`.",
    raises="ValueError: there is no such axis, or it is given under both of its names.\n"
    "InvalidArgumentError: (when run) there is no such axis, and the run alone tells which.",
    result="Tensor",
)


def _swapped_with_last(axis: TensorLike, x: Tensor) -> Tensor:
    """Return the dimensions with an axis that the run tells and the last in each other's place."""
    at, count = cast(axis, int32), rank(x)
    message = "the axis of the classes is out of range for the rank of the logits:"
    with control_dependencies(
        [Assert(logical_and(at >= -count, at < count), [message, at, count])]
    ):
        at = floormod(at, count)
    places, last = range_of(count), count - 1
    moved = subtract(cast(equal(places, at), int32), cast(equal(places, last), int32))
    return places + moved * (last - at)


def _along(name: str, definition: OpDef) -> Callable[[str], Callable[..., Tensor]]:
    """Return what gives the function of an op along an axis of classes, by its docstring."""

    def call(given: dict[str, Any]) -> Tensor:
        axis = either(given["axis"], given["dim"], "axis", "dim")
        logits = convert_to_tensor(given["logits"], name="logits")
        if not is_symbolic(axis) or constant_value(convert_to_tensor(axis)) is not None:
            axis = static_axis(-1 if axis is None else axis, logits)
            return apply(definition, logits, name=given["name"], axis=axis)
        with name_scope(given["name"], definition.type, [logits, axis]) as scope:
            order = _swapped_with_last(axis, logits)
            result = apply(definition, transpose(logits, order), axis=-1)
            result = transpose(result, order, name=scope)
            result.set_shape(logits.shape)
            return result

    order = "logits axis name dim"
    return functools.partial(SOFTMAXES.function, __name__, name, order, call, type=definition.type)


softmax = _along("softmax", SOFTMAX)("""
    Return exp(logits) over their sum along an axis, so that sums along the axis are 1.

    >>> softmax([[1.0, 1.0]]).numpy().tolist()
    [[0.5, 0.5]]
    """)
log_softmax = _along("log_softmax", LOG_SOFTMAX)("""
    Return the logarithm of the softmax, exact also where that would vanish.

    >>> log_softmax([[0.0, 1000.0]]).numpy().tolist()
    [[-1000.0, 0.0]]
    """)
