"""Softmax and its logarithm; the axis of the classes is whole, all others may be cut."""

from __future__ import annotations

from typing import Any

from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import OpDef
from daskvars.graph.definitions.patterns import Contraction
from daskvars.graph.interpreter import apply
from daskvars.graph.tensor import Tensor
from daskvars.kernels.nn import normalization as normalize
from daskvars.ops.math.arithmetic import multiply, negative, subtract
from daskvars.ops.math.reduce import reduce_sum
from daskvars.ops.math.scans import static_axis, whole_along
from daskvars.ops.math.transcendental import exp
from daskvars.ops.rules.axes import either
from daskvars.ops.rules.shapes import like_first


def whole_classes(inputs: Any, attrs: Any) -> str:
    """Return the access of an op of which every input keeps all dimensions, the axis whole."""
    term = whole_along(inputs, attrs).partition("->")[0]
    return f"{','.join([term] * len(inputs))}->{term}"


def _along_classes(x: Tensor, op: Any) -> Tensor:
    return reduce_sum(x, op.attrs["axis"], keepdims=True)


def _softmax_slope(op, dy):
    return apply(SOFTMAX_GRAD, op.outputs[0], dy, axis=op.attrs["axis"])


def _softmax_grad_gradient(op, g):
    y, dy = op.inputs
    pulled = subtract(dy, _along_classes(multiply(dy, y), op))
    for_y = subtract(multiply(g, pulled), multiply(dy, _along_classes(multiply(g, y), op)))
    return for_y, apply(SOFTMAX_GRAD, y, g, axis=op.attrs["axis"])


SOFTMAX = OpDef(
    "Softmax",
    "logits:D",
    infer=like_first,
    pattern=Contraction(whole_classes, None),
    kernel=normalize.softmax,
    gradient=_softmax_slope,
)
SOFTMAX_GRAD = OpDef(
    "SoftmaxGrad",
    "softmax:D, gradients:D",
    infer=like_first,
    pattern=Contraction(whole_classes, None),
    kernel=normalize.softmax_grad,
    gradient=_softmax_grad_gradient,
)


def softmax(
    logits: Any, axis: int | None = None, name: str | None = None, dim: int | None = None
) -> Tensor:
    """Return exp(logits) over their sum along an axis.

    Args:
      logits: [..., classes, ...] floating.
      axis: the axis of the classes, by default the last.
      name: name of the operation, by default "Softmax".
      dim: the old name of `axis`.

    Returns:
      [..., classes, ...] of the dtype of `logits`; sums along the axis are 1.

    Raises:
      ValueError: there is no such axis, or it is given under both of its names.

    >>> import daskvars as dv
    >>> softmax([[1.0, 1.0]]).numpy().tolist()
    [[0.5, 0.5]]
    """
    return _along(SOFTMAX, logits, axis, name, dim)


def _log_softmax_slope(op, dy):
    return apply(LOG_SOFTMAX_GRAD, op.outputs[0], dy, axis=op.attrs["axis"])


def _log_softmax_grad_gradient(op, g):
    y, dy = op.inputs
    weighted = multiply(g, exp(y))
    for_y = negative(multiply(weighted, _along_classes(dy, op)))
    return for_y, subtract(g, _along_classes(weighted, op))


LOG_SOFTMAX = OpDef(
    "LogSoftmax",
    "logits:D",
    infer=like_first,
    pattern=Contraction(whole_classes, None),
    kernel=normalize.log_softmax,
    gradient=_log_softmax_slope,
)
LOG_SOFTMAX_GRAD = OpDef(
    "LogSoftmaxGrad",
    "logsoftmax:D, gradients:D",
    infer=like_first,
    pattern=Contraction(whole_classes, None),
    kernel=normalize.log_softmax_grad,
    gradient=_log_softmax_grad_gradient,
)


def log_softmax(
    logits: Any, axis: int | None = None, name: str | None = None, dim: int | None = None
) -> Tensor:
    """Return the logarithm of the softmax, exact also where that would vanish.

    Args:
      logits: [..., classes, ...] floating.
      axis: the axis of the classes, by default the last.
      name: name of the operation, by default "LogSoftmax".
      dim: the old name of `axis`.

    Returns:
      [..., classes, ...] of the dtype of `logits`.

    Raises:
      ValueError: there is no such axis, or it is given under both of its names.

    >>> import daskvars as dv
    >>> log_softmax([[0.0, 1000.0]]).numpy().tolist()
    [[-1000.0, 0.0]]
    """
    return _along(LOG_SOFTMAX, logits, axis, name, dim)


def _along(definition: OpDef, logits: Any, axis: Any, name: str | None, dim: Any) -> Tensor:
    axis = either(axis, dim, "axis", "dim")
    logits = convert_to_tensor(logits, name="logits")
    axis = static_axis(-1 if axis is None else axis, logits)
    return apply(definition, logits, name=name, axis=axis)
