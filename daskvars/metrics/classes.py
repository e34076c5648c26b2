"""Metrics of classifiers into many classes, class by class."""

from __future__ import annotations

from typing import Any

from daskvars import dtypes
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.metrics.metric import Pair, metric, metric_variable, ratio
from daskvars.ops.array.constant import ones_like
from daskvars.ops.array.reshaping import reshape
from daskvars.ops.linalg.matrix_parts import diag_part
from daskvars.ops.math.arithmetic import add, multiply, subtract
from daskvars.ops.math.casting import cast
from daskvars.ops.math.comparison import equal, not_equal
from daskvars.ops.math.counting import confusion_matrix
from daskvars.ops.math.division import div_no_nan
from daskvars.ops.math.reduce import reduce_mean, reduce_sum
from daskvars.ops.nn.weighting import check_same_shape
from daskvars.ops.state.assign import assign_add, scatter_add


def _flat(value: Any) -> Tensor:
    tensor = convert_to_tensor(value)
    return tensor if tensor.shape.ndims == 1 else reshape(tensor, [-1])


@metric()
def mean_iou(
    labels: TensorLike, predictions: TensorLike, num_classes: int, weights: TensorLike | None = None
) -> Pair:
    """Return intersection over union of labels and predictions, the mean over the classes seen.

    Args:
      labels: [...] integer, in [0, num_classes).
      predictions: of the shape of `labels`, integer, in [0, num_classes).
      num_classes: the number of classes.
      weights: of the shape of `labels`.

    Returns:
      (value, update): [] float32; and [num_classes, num_classes] float64, the counts so far, which
      the local variable "total_confusion_matrix" keeps.

    Raises:
      ValueError: the static shapes do not fit.
      InvalidArgumentError: (when run) there is no such class.
      RuntimeError: there is no graph.

    Source: TensorFlow 1.15, ``tf.metrics.mean_iou``.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     value, update = tf.metrics.mean_iou([0, 0, 1, 1], [0, 1, 1, 1], num_classes=2)
    ...     sess.run(tf.local_variables_initializer())
    ...     sess.run(update).tolist(), round(float(sess.run(value)), 4)
    ([[1.0, 1.0], [0.0, 2.0]], 0.5833)
    """
    predictions, labels = convert_to_tensor(predictions), convert_to_tensor(labels)
    check_same_shape(predictions, labels)
    total = metric_variable([num_classes] * 2, dtypes.float64, "total_confusion_matrix")
    counts = confusion_matrix(
        _flat(labels),
        _flat(predictions),
        num_classes,
        dtypes.float64,
        weights=None if weights is None else _flat(weights),
    )
    update = assign_add(total, counts)
    return _iou(total.value()), update


def _iou(counts: Tensor) -> Tensor:
    predicted, labelled = (cast(reduce_sum(counts, a), dtypes.float32) for a in (0, 1))
    both = cast(diag_part(counts), dtypes.float32)
    union = subtract(add(predicted, labelled), both)
    num_seen = reduce_sum(cast(not_equal(union, 0.0), dtypes.float32))
    return div_no_nan(reduce_sum(div_no_nan(both, union), name="mean_iou"), num_seen)


@metric("mean_accuracy")
def mean_per_class_accuracy(
    labels: TensorLike, predictions: TensorLike, num_classes: int, weights: TensorLike | None = None
) -> Pair:
    """Return the mean over classes of how often a label of the class is predicted.

    Args:
      labels, predictions, num_classes, weights: see `mean_iou`.

    Returns:
      (value, update): [] float32; and [num_classes] float32, the accuracies so far. Its variables
      are "total" and "count".

    Source: TensorFlow 1.15, ``tf.metrics.mean_per_class_accuracy``.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     value, update = tf.metrics.mean_per_class_accuracy([0, 0, 1, 1], [0, 1, 1, 1], 2)
    ...     sess.run(tf.local_variables_initializer())
    ...     sess.run(update).tolist(), float(sess.run(value))
    ([0.5, 1.0], 0.75)
    """
    labels, predictions = _flat(cast(labels, dtypes.int64)), _flat(predictions)
    check_same_shape(predictions, labels)
    total = metric_variable([num_classes], dtypes.float32, "total")
    count = metric_variable([num_classes], dtypes.float32, "count")
    right = cast(equal(cast(predictions, dtypes.int64), labels), dtypes.float32)
    present = ones_like(right)
    if weights is not None:
        present = multiply(present, _flat(cast(weights, dtypes.float32)))
        right = multiply(right, present)
    new_total = scatter_add(total, labels, present)
    new_count = scatter_add(count, labels, right)
    value = reduce_mean(ratio(count, total), name="mean_accuracy")
    return value, ratio(new_count, new_total, "update_op")
