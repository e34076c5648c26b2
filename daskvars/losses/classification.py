"""Losses of classifiers."""

from __future__ import annotations

from typing import Any

from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.losses.loss import loss
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


@loss()
def hinge_loss(labels: TensorLike, logits: TensorLike) -> Tensor:
    """Return the loss max(0, 1 - t * logits), where t is 1 for label 1 and -1 for label 0.

    Args:
      labels: [batch, ...] number, 0 or 1.

    Source: TensorFlow 1.15, ``tf.losses``.

    >>> float(hinge_loss([1.0, 0.0], [0.5, -2.0]))
    0.25
    """
    signs = subtract(multiply(2.0, labels), 1.0)
    return relu(subtract(1.0, multiply(signs, logits)))


@loss(order="labels predictions weights epsilon scope loss_collection reduction")
def log_loss(labels: TensorLike, predictions: TensorLike, epsilon: float = 1e-7) -> Tensor:
    """Return the cross entropy between labels and predicted probabilities.

    Args:
      labels: [batch, ...] number, probabilities.
      predictions: of the shape of `labels`, probabilities.
      epsilon: added to probabilities before the logarithm.

    >>> round(float(log_loss([1.0, 0.0], [0.5, 0.5])), 4)
    0.6931
    """
    present = multiply(labels, log(add(predictions, epsilon)))
    absent = multiply(subtract(1.0, labels), log(add(subtract(1.0, predictions), epsilon)))
    return subtract(negative(present), absent)


# -- cross entropies of logits -----------------------------------------------------------------


def _of_logits(labels: Any, logits: Any, weights: Any, name: str) -> tuple:
    """Return labels of the dtype of logits, logits and weights."""
    logits = convert_to_tensor(logits)
    labels = cast(labels, logits.dtype.base_dtype)
    check_same_shape(logits, labels, name)
    return labels, logits, weights


def _of_classes(labels: Any, logits: Any, weights: Any, name: str) -> tuple:
    """Return one class a row, logits, and weights that fit the classes."""
    labels, logits = remove_squeezable_dimensions(labels, logits, expected_rank_diff=1)
    if not isinstance(weights, float):
        weights = fitted_weights(weights, labels, expand=False)
    return labels, logits, weights


@loss(
    "sigmoid_cross_entropy_loss",
    "multi_class_labels logits weights label_smoothing scope loss_collection reduction",
    _of_logits,
)
def sigmoid_cross_entropy(
    multi_class_labels: TensorLike, logits: TensorLike, label_smoothing: float = 0
) -> Tensor:
    """Return the cross entropy between labels and sigmoid(logits), for classes on their own.

    Args:
      multi_class_labels: [batch, classes] number, probabilities.
      label_smoothing: how far labels are moved towards 1/2, from 0 to 1.

    Returns:
      [] of the dtype of `logits`; with `Reduction.NONE` [batch, classes].

    >>> float(sigmoid_cross_entropy([[1.0, 0.0]], [[-50.0, -50.0]]))
    25.0
    """
    labels = multi_class_labels
    if label_smoothing > 0:
        labels = add(multiply(labels, 1 - label_smoothing), 0.5 * label_smoothing)
    return sigmoid_cross_entropy_with_logits(labels=labels, logits=logits, name="xentropy")


@loss(
    "softmax_cross_entropy_loss",
    "onehot_labels logits weights label_smoothing scope loss_collection reduction",
    _of_logits,
)
def softmax_cross_entropy(
    onehot_labels: TensorLike, logits: Any, label_smoothing: float = 0
) -> Tensor:
    """Return the cross entropy between labels and softmax(logits); labels get no gradient.

    Args:
      onehot_labels: [batch, classes] number, each row a distribution.
      weights: a scalar, or [batch].
      label_smoothing: how far labels are moved towards 1/classes, from 0 to 1.

    Returns:
      [] of the dtype of `logits`; with `Reduction.NONE` [batch].

    >>> round(float(softmax_cross_entropy([[1, 0]], [[0.0, 0.0]])), 4)
    0.6931
    """
    labels = onehot_labels
    if label_smoothing > 0:
        classes = cast(shape(labels)[-1], logits.dtype.base_dtype)
        even = truediv(label_smoothing, classes)
        labels = add(multiply(labels, 1.0 - label_smoothing), even)
    labels = stop_gradient(labels, name="labels_stop_gradient")
    return softmax_cross_entropy_with_logits_v2(labels=labels, logits=logits, name="xentropy")


@loss("sparse_softmax_cross_entropy_loss", convert=_of_classes)
def sparse_softmax_cross_entropy(labels: TensorLike, logits: TensorLike) -> Tensor:
    """Return the cross entropy between one class per row and softmax(logits).

    Args:
      labels: [batch] or [batch, 1] integer, in [0, classes).
      logits: [batch, classes] floating.
      weights: a scalar, or [batch], or [batch, 1].

    Returns:
      [] of the dtype of `logits`; with `Reduction.NONE` of the shape of the labels.

    >>> round(float(sparse_softmax_cross_entropy([1], [[0.0, 0.0]])), 4)
    0.6931
    """
    return sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits, name="xentropy")
