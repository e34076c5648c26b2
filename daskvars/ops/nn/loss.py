"""Losses on logits, and half the sum of squares.

The cross entropies compute loss and gradient from one exponential. That the gradient is a function
of the logits too, for second derivatives, is said by an op that gives its first input on: it costs
nothing when run.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from daskvars import shapes
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import OpDef, Spec
from daskvars.graph.definitions.patterns import Contraction, Reduction
from daskvars.graph.indexed_slices import Gradients
from daskvars.graph.interpreter import apply
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.kernels.nn import loss as kernels
from daskvars.ops.array.constant import shape as shape_of, zeros_like
from daskvars.ops.array.reshaping import expand_dims, reshape, stop_gradient
from daskvars.ops.array.transposing import transpose
from daskvars.ops.math.arithmetic import add, multiply, negative, number, subtract
from daskvars.ops.math.casting import cast
from daskvars.ops.math.comparison import greater_equal, less_equal, logical_and, where_v2
from daskvars.ops.math.scans import static_axis
from daskvars.ops.math.transcendental import exp, log, softplus
from daskvars.ops.nn.softmax import SOFTMAX_GRAD, log_softmax, softmax
from daskvars.ops.rules.axes import either
from daskvars.ops.rules.families import elementwise
from daskvars.ops.rules.shapes import like_first
from daskvars.surface.signatures import with_arguments_of

L2_LOSS = OpDef(
    "L2Loss",
    "t:D",
    infer=lambda inputs: Spec(inputs[0].dtype, ()),
    pattern=Reduction("add", kernels.l2_loss_rows),
    kernel=kernels.l2_loss,
    gradient=lambda op, dy: multiply(op.inputs[0], dy),
)


def l2_loss(t: TensorLike, name: str | None = None) -> Tensor:
    """Return half the sum of squares.

    Args:
      t: [...] floating.
      name: name of the operation, by default "L2Loss".

    Returns:
      [] of the dtype of `t`.

    >>> float(l2_loss([3.0, 4.0]))
    12.5
    """
    return apply(L2_LOSS, t, name=name)


def _check_given(function: str, _sentinel: Any, labels: Any, logits: Any) -> None:
    if _sentinel is not None:
        raise ValueError(
            f"Only call `{function}` with named arguments (labels=..., logits=..., ...)"
        )
    if labels is None or logits is None:
        raise ValueError("Both labels and logits must be provided.")


# -- classes as distributions ------------------------------------------------------------------


def _dense_specs(inputs: Sequence[Spec]) -> tuple[Spec, ...]:
    logits, labels = inputs
    if not shapes.compatible(logits.shape, labels.shape):
        raise ValueError(
            f"logits and labels must be same size: logits {shapes.show(logits.shape)}, labels "
            f"{shapes.show(labels.shape)}"
        )
    shape = shapes.merge(logits.shape, labels.shape)
    if shape == ():
        raise ValueError("logits must have at least rank 1 but are a scalar")
    return Spec(logits.dtype, None if shape is None else shape[:-1]), Spec(logits.dtype, shape)


def _dense_gradient(op: Operation, dy: Tensor, _: Tensor) -> Gradients:
    logits, labels = op.inputs
    rows = expand_dims(dy, -1)
    backprop = apply(CROSS_ENTROPY_BACKPROP, op.outputs[1], logits, labels)
    return multiply(rows, backprop), negative(multiply(rows, log_softmax(logits)))


CROSS_ENTROPY = OpDef(
    "SoftmaxCrossEntropyWithLogits",
    "features:D, labels:D",
    infer=_dense_specs,
    pattern=Contraction("..._,..._->...,..._", None),
    kernel=kernels.dense_cross_entropy,
    gradient=_dense_gradient,
)


def _slope_of_softmax(logits: Tensor, g: Tensor) -> Tensor:
    return apply(SOFTMAX_GRAD, softmax(logits), g, axis=-1)


CROSS_ENTROPY_BACKPROP = elementwise(
    "SoftmaxCrossEntropyBackprop",
    "backprop:D, features:D, labels:D",
    infer=like_first,
    kernel=None,
    gradient=lambda op, g: (None, _slope_of_softmax(op.inputs[1], g), negative(g)),
)


def _rows_as_of(logits: Tensor, labels: Any) -> Any:
    """Return labels arranged as logits: as in TensorFlow, rows of [1, 4, 7] are those of [4, 7]."""
    wanted, given = logits.spec.shape, labels.spec.shape
    if not wanted or not given or shapes.compatible(wanted, given):
        return labels
    if len(wanted) == len(given) and (len(given) < 3 or wanted[-1] != given[-1]):
        return labels  # those are of another size
    return reshape(labels, shape_of(logits))


def softmax_cross_entropy_with_logits_v2(
    labels: TensorLike,
    logits: TensorLike,
    axis: int | None = None,
    name: str | None = None,
    dim: int | None = None,
) -> Tensor:
    """Return the cross entropy between labels and softmax(logits), one number per row.

    Args:
      labels: [..., classes, ...] cast to the dtype of `logits`, each row a distribution; as many
        rows in another arrangement, [1, rows, classes], are taken too.
      logits: [..., classes, ...] floating.
      axis: the axis of the classes, by default the last.
      name: name of the operation, by default "softmax_cross_entropy_with_logits".
      dim: the old name of `axis`.

    Returns:
      [...], without the axis, of the dtype of `logits`. It has a gradient by the labels too.

    Raises:
      ValueError: the shapes differ, or both `axis` and `dim` are given.

    >>> loss = softmax_cross_entropy_with_logits_v2(labels=[[1.0, 0.0]], logits=[[0.0, 0.0]])
    >>> round(float(loss[0]), 4)
    0.6931
    """
    axis = either(axis, dim, "axis", "dim")
    with name_scope(name, "softmax_cross_entropy_with_logits", [logits, labels]) as scope:
        logits = convert_to_tensor(logits, name="logits")
        labels = cast(convert_to_tensor(labels, name="labels"), logits.dtype.base_dtype)
        axis = static_axis(-1 if axis is None else axis, logits)
        rank = None if logits.spec.shape is None else len(logits.spec.shape)
        if rank is not None and axis != rank - 1:
            order = [a for a in range(rank) if a != axis] + [axis]
            logits, labels = transpose(logits, order), transpose(labels, order)
        elif rank is None and axis != -1:
            raise ValueError(f"axis {axis} of the classes needs the rank of {logits.name!r}")
        return apply(CROSS_ENTROPY, logits, _rows_as_of(logits, labels), name=scope)[0]


def softmax_cross_entropy_with_logits(
    _sentinel: None = None,
    labels: TensorLike | None = None,
    logits: TensorLike | None = None,
    dim: int = -1,
    name: str | None = None,
    axis: int | None = None,
) -> Tensor:
    """Return the cross entropy between labels and softmax(logits); labels get no gradient.

    Args:
      labels: [...] cast to the dtype of `logits`: probabilities along the axis.
      logits: [...] floating, unnormalised log-probabilities.
      dim: the old name of `axis`, by default the last.
      name: name of the operation, by default "softmax_cross_entropy_with_logits_sg".
      axis: the axis of the classes.

    Returns:
      [...], without the axis, of the dtype of `logits`.

    Raises:
      ValueError: labels or logits are missing or given by position, or the shapes do not fit.

    >>> y = softmax_cross_entropy_with_logits(labels=[[1.0, 0.0]], logits=[[0.0, 0.0]])
    >>> round(float(y[0]), 4)
    0.6931
    """
    _check_given("softmax_cross_entropy_with_logits", _sentinel, labels, logits)
    axis = dim if axis is None else axis
    with name_scope(name, "softmax_cross_entropy_with_logits_sg", [logits, labels]) as scope:
        logits = convert_to_tensor(logits, name="logits")
        labels = cast(convert_to_tensor(labels, name="labels"), logits.dtype.base_dtype)
        labels = stop_gradient(labels, name="labels_stop_gradient")
        return softmax_cross_entropy_with_logits_v2(
            labels=labels, logits=logits, axis=axis, name=scope
        )


# -- classes as numbers ------------------------------------------------------------------------


def _sparse_specs(inputs: Sequence[Spec]) -> tuple[Spec, ...]:
    (dtype, logits), (_, labels) = inputs
    if logits is None:
        return Spec(dtype, labels), Spec(dtype, None)
    if not logits:
        raise ValueError(f"Logits cannot be scalars - received shape {shapes.show(logits)}.")
    rows = logits[:-1]
    if labels is not None and len(labels) != len(rows):
        raise ValueError(
            f"Rank mismatch: Rank of labels (received {len(labels)}) should equal rank of logits "
            f"minus 1 (received {len(logits)}){'; labels must be 1-D' if len(rows) == 1 else ''}."
        )
    if not shapes.compatible(labels, rows):
        raise ValueError(
            f"Shape mismatch: The shape of labels (received {shapes.show(labels)}) should equal "
            f"the shape of logits except for the last dimension (received {shapes.show(logits)})."
        )
    rows = shapes.merge(labels, rows)
    return Spec(dtype, rows), Spec(dtype, (*rows, logits[-1]))


def _sparse_gradient(op: Operation, dy: Tensor, _: Tensor) -> Gradients:
    backprop = apply(SPARSE_CROSS_ENTROPY_BACKPROP, op.outputs[1], op.inputs[0])
    return multiply(expand_dims(dy, -1), backprop), None


SPARSE_CROSS_ENTROPY = OpDef(
    "SparseSoftmaxCrossEntropyWithLogits",
    "features:D, labels:I",
    infer=_sparse_specs,
    pattern=Contraction("..._,...->...,..._", None),
    kernel=kernels.sparse_cross_entropy,
    gradient=_sparse_gradient,
)
SPARSE_CROSS_ENTROPY_BACKPROP = elementwise(
    "SparseSoftmaxCrossEntropyBackprop",
    "backprop:D, features:D",
    infer=like_first,
    kernel=None,
    gradient=lambda op, g: (None, _slope_of_softmax(op.inputs[1], g)),
)


def sparse_softmax_cross_entropy_with_logits(
    _sentinel: None = None,
    labels: TensorLike | None = None,
    logits: TensorLike | None = None,
    name: str | None = None,
) -> Tensor:
    """Return the cross entropy between one class per row and softmax(logits).

    Args:
      labels: [...] int32 or int64, in [0, classes).
      logits: [..., classes] floating.
      name: name of the operation, by default "SparseSoftmaxCrossEntropyWithLogits".

    Returns:
      [...] of the dtype of `logits`.

    Raises:
      ValueError: arguments are not given by name, or the shapes do not fit.
      InvalidArgumentError: (when run on a CPU) a label is no class. On a GPU the loss of that row
        and its gradient are NaN, as TensorFlow's.

    >>> loss = sparse_softmax_cross_entropy_with_logits(labels=[0], logits=[[0.0, 0.0]])
    >>> round(float(loss[0]), 4)
    0.6931
    """
    _check_given("sparse_softmax_cross_entropy_with_logits", _sentinel, labels, logits)
    return apply(SPARSE_CROSS_ENTROPY, logits, labels, name=name)[0]


# -- independent classes -----------------------------------------------------------------------


def _alike(labels: Any, logits: Any, what: str = "labels") -> tuple[Tensor, Tensor]:
    """Return both as tensors of one dtype. Raises ValueError when their shapes differ."""
    logits = convert_to_tensor(logits, name="logits")
    labels = convert_to_tensor(labels, logits.dtype.base_dtype, name=what)
    if not shapes.compatible(logits.spec.shape, labels.spec.shape):
        raise ValueError(
            f"logits and {what} must have the same shape ({logits.shape} vs {labels.shape})"
        )
    return labels, logits


@with_arguments_of(sparse_softmax_cross_entropy_with_logits)
def sigmoid_cross_entropy_with_logits(
    _sentinel: Any, labels: Any, logits: Any, name: str | None
) -> Tensor:
    """Return the cross entropy between labels and sigmoid(logits), element by element.

    Args:
      labels: [...] of the dtype of `logits`, probabilities.
      logits: [...] floating.
      name: name of the operation, by default "logistic_loss".

    Returns:
      [...] of the dtype of `logits`: softplus(logits) - logits * labels.

    Raises:
      ValueError: arguments are not given by name, or the shapes differ.

    >>> sigmoid_cross_entropy_with_logits(labels=[1.0, 0.0], logits=[-50.0, 50.0]).numpy().tolist()
    [50.0, 50.0]
    """
    _check_given("sigmoid_cross_entropy_with_logits", _sentinel, labels, logits)
    with name_scope(name, "logistic_loss", [logits, labels]) as scope:
        labels, logits = _alike(labels, logits)
        return subtract(softplus(logits), multiply(logits, labels), name=scope)


def weighted_cross_entropy_with_logits(
    labels: Any = None,
    logits: TensorLike | None = None,
    pos_weight: Any = None,
    name: str | None = None,
    targets: TensorLike | None = None,
) -> Tensor:
    """Return the cross entropy between labels and sigmoid(logits), positive labels weighted.

    Args:
      labels: [...] of the dtype of `logits`, probabilities.
      logits: [...] floating.
      pos_weight: weight of positive labels, broadcasts with `logits`.
      name: name of the operation, by default "logistic_loss".
      targets: the old name of `labels`.

    Returns:
      [...] of the dtype of `logits`.

    Raises:
      ValueError: the shapes differ.

    >>> weighted_cross_entropy_with_logits([1.0], [-50.0], 3.0).numpy().tolist()
    [150.0]
    """
    labels = either(labels, targets, "labels", "targets")
    with name_scope(name, "logistic_loss", [logits, labels]) as scope:
        labels, logits = _alike(labels, logits, "targets")
        one = number(1, logits)
        weight = add(one, multiply(subtract(pos_weight, one), labels))
        negatives = multiply(subtract(one, labels), logits)
        return add(negatives, multiply(weight, softplus(negative(logits))), name=scope)


def log_poisson_loss(
    targets: TensorLike,
    log_input: TensorLike,
    compute_full_loss: bool = False,
    name: str | None = None,
) -> Tensor:
    """Return the negative logarithm of the probability of `targets` under Poisson's law.

    Args:
      targets: [...] of the dtype of `log_input`, counts.
      log_input: [...] floating, logarithm of the expected count.
      compute_full_loss: add Stirling's approximation of log(targets!), for targets above 1.
      name: name of the operation, by default "log_poisson_loss".

    Returns:
      [...] of the dtype of `log_input`.

    Raises:
      ValueError: the shapes differ.

    >>> log_poisson_loss([2.0], [0.0]).numpy().tolist()
    [1.0]
    """
    with name_scope(name, "log_poisson_loss", [log_input, targets]) as scope:
        targets, log_input = _alike(targets, log_input, "targets")
        if not compute_full_loss:
            return subtract(exp(log_input), multiply(log_input, targets), name=scope)
        loss = subtract(exp(log_input), multiply(log_input, targets))
        return add(loss, _stirling(targets), name=scope)


def _stirling(n: Tensor) -> Tensor:
    """Return n log n - n + log(2 pi n) / 2, zero where n is at most 1."""
    one = number(1, n)
    small = logical_and(greater_equal(n, number(0, n)), less_equal(n, one))
    safe = where_v2(small, one, n)
    value = subtract(multiply(safe, log(safe)), safe)
    half = number(0.5, n)
    value = add(value, multiply(half, log(multiply(number(2 * math.pi, n), safe))))
    return where_v2(small, zeros_like(n), value)
