"""Losses of classifiers."""

from __future__ import annotations

from typing import Any

from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.scopes.collections import GraphKeys
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor
from daskvars.losses.differences import floats
from daskvars.losses.reduction import Reduction, compute_weighted_loss
from daskvars.ops.array.constant import shape
from daskvars.ops.array.reshaping import stop_gradient
from daskvars.ops.math.arithmetic import add, multiply, negative, subtract
from daskvars.ops.math.casting import cast
from daskvars.ops.math.division import truediv
from daskvars.ops.math.transcendental import log
from daskvars.ops.nn.activation import relu
from daskvars.ops.nn.loss import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits_v2,
    sparse_softmax_cross_entropy_with_logits,
)
from daskvars.ops.nn.weighting import check_same_shape, fitted_weights, remove_squeezable_dimensions


def hinge_loss(
    labels: Any,
    logits: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Return the loss max(0, 1 - t * logits), where t is 1 for label 1 and -1 for label 0.

    Args:
      labels: [batch, ...] number, 0 or 1.
      logits: of the shape of `labels`.
      weights: a number, or a tensor of the rank of `labels` with dimensions equal to its or of
        size 1.
      scope: name scope of the operations, by default "hinge_loss".
      loss_collection: name of the collection that it is added to; None for none.
      reduction: one of `Reduction`, by default the mean over the weights that are not zero.

    Returns:
      [] float32; with `Reduction.NONE` [batch, ...], the weighted losses.

    Raises:
      ValueError: labels or logits are None, or the static shapes do not fit.

    Source: TensorFlow 1.15, ``tf.losses``.

    >>> import daskvars as dv
    >>> float(hinge_loss([1.0, 0.0], [0.5, -2.0]))
    0.25
    """
    with floats(scope, "hinge_loss", weights, labels=labels, logits=logits) as (
        scope,
        labels,
        logits,
    ):
        signs = subtract(multiply(2.0, labels), 1.0)
        losses = relu(subtract(1.0, multiply(signs, logits)))
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def log_loss(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    epsilon: float = 1e-7,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Return the cross entropy between labels and predicted probabilities.

    See `hinge_loss` for the other arguments.

    Args:
      predictions: of the shape of `labels`, probabilities.
      epsilon: added to probabilities before the logarithm.

    >>> import daskvars as dv
    >>> round(float(log_loss([1.0, 0.0], [0.5, 0.5])), 4)
    0.6931
    """
    with floats(scope, "log_loss", weights, labels=labels, predictions=predictions) as (
        scope,
        labels,
        predictions,
    ):
        present = multiply(labels, log(add(predictions, epsilon)))
        absent = multiply(subtract(1.0, labels), log(add(subtract(1.0, predictions), epsilon)))
        losses = subtract(negative(present), absent)
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def _converted(labels: Any, logits: Any, name: str) -> tuple[Tensor, Tensor]:
    logits = convert_to_tensor(logits)
    labels = cast(labels, logits.dtype.base_dtype)
    check_same_shape(logits, labels, name)
    return labels, logits


def _check_given(**given: Any) -> None:
    for name, value in given.items():
        if value is None:
            raise ValueError(f"{name} must not be None.")


def sigmoid_cross_entropy(
    multi_class_labels: Any,
    logits: Any,
    weights: Any = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Return the cross entropy between labels and sigmoid(logits), for classes on their own.

    See `hinge_loss` for the other arguments.

    Args:
      multi_class_labels: [batch, classes] number, probabilities.
      logits: of the shape of the labels, floating.
      label_smoothing: how far labels are moved towards 1/2, from 0 to 1.

    Returns:
      [] of the dtype of `logits`; with `Reduction.NONE` [batch, classes].

    >>> import daskvars as dv
    >>> float(sigmoid_cross_entropy([[1.0, 0.0]], [[-50.0, -50.0]]))
    25.0
    """
    _check_given(multi_class_labels=multi_class_labels, logits=logits)
    with name_scope(
        scope, "sigmoid_cross_entropy_loss", [logits, multi_class_labels, weights]
    ) as scope:
        labels, logits = _converted(multi_class_labels, logits, "logits")
        if label_smoothing > 0:
            labels = add(multiply(labels, 1 - label_smoothing), 0.5 * label_smoothing)
        losses = sigmoid_cross_entropy_with_logits(labels=labels, logits=logits, name="xentropy")
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def softmax_cross_entropy(
    onehot_labels: Any,
    logits: Any,
    weights: Any = 1.0,
    label_smoothing: float = 0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Return the cross entropy between labels and softmax(logits); labels get no gradient.

    See `hinge_loss` for the other arguments.

    Args:
      onehot_labels: [batch, classes] number, each row a distribution.
      logits: of the shape of the labels, floating.
      weights: a scalar, or [batch].
      label_smoothing: how far labels are moved towards 1/classes, from 0 to 1.

    Returns:
      [] of the dtype of `logits`; with `Reduction.NONE` [batch].

    >>> import daskvars as dv
    >>> round(float(softmax_cross_entropy([[1, 0]], [[0.0, 0.0]])), 4)
    0.6931
    """
    _check_given(onehot_labels=onehot_labels, logits=logits)
    with name_scope(scope, "softmax_cross_entropy_loss", [logits, onehot_labels, weights]) as scope:
        labels, logits = _converted(onehot_labels, logits, "logits")
        if label_smoothing > 0:
            classes = cast(shape(labels)[-1], logits.dtype.base_dtype)
            even = truediv(label_smoothing, classes)
            labels = add(multiply(labels, 1.0 - label_smoothing), even)
        labels = stop_gradient(labels, name="labels_stop_gradient")
        losses = softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits, name="xentropy")
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def sparse_softmax_cross_entropy(
    labels: Any,
    logits: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Return the cross entropy between one class per row and softmax(logits).

    See `hinge_loss` for the other arguments.

    Args:
      labels: [batch] or [batch, 1] integer, in [0, classes).
      logits: [batch, classes] floating.
      weights: a scalar, or [batch], or [batch, 1].

    Returns:
      [] of the dtype of `logits`; with `Reduction.NONE` of the shape of the labels.

    >>> import daskvars as dv
    >>> round(float(sparse_softmax_cross_entropy([1], [[0.0, 0.0]])), 4)
    0.6931
    """
    _check_given(labels=labels, logits=logits)
    with name_scope(scope, "sparse_softmax_cross_entropy_loss", [logits, labels, weights]) as scope:
        labels, logits = remove_squeezable_dimensions(labels, logits, expected_rank_diff=1)
        if not isinstance(weights, float):
            weights = fitted_weights(weights, labels, expand=False)
        losses = sparse_softmax_cross_entropy_with_logits(
            labels=labels, logits=logits, name="xentropy"
        )
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)
