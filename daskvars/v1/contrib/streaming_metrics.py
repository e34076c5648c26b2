"""Metrics of ``tf.contrib.metrics`` alone: covariances, correlations, the best F1, hits."""

from __future__ import annotations

from typing import Any

from daskvars.dtypes import float32
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.metrics.means import mean
from daskvars.metrics.metric import Pair, collected, metric, metric_variable, popped_collections
from daskvars.metrics.thresholds import Counts, counts_at
from daskvars.ops.array.constant import ones_like
from daskvars.ops.control.dependencies import control_dependencies
from daskvars.ops.math.casting import cast
from daskvars.ops.math.comparison import where
from daskvars.ops.math.division import div_no_nan
from daskvars.ops.math.reduce import reduce_max, reduce_sum
from daskvars.ops.math.transcendental import sqrt
from daskvars.ops.nn.ranking import in_top_k
from daskvars.ops.state.assign import assign
from daskvars.surface.signatures import with_arguments_in_order, with_arguments_of
from daskvars.variables.scopes.variable_scope import variable_scope

__all__ = [
    "f1_score",
    "streaming_covariance",
    "streaming_pearson_correlation",
    "streaming_recall_at_k",
]
_EPSILON = 1e-7


@metric("covariance")
def streaming_covariance(
    predictions: TensorLike, labels: TensorLike, weights: TensorLike | None = None
) -> Pair:
    """Return the unbiased covariance of predictions and labels, over all batches.

    Batches are joined by their means and by the sums of products around these, so that large
    numbers of little variance lose nothing.

    Args:
      predictions, labels: [...] numbers, of one shape.
      weights: how often each counts, by default once.

    Returns:
      (value, update), both [] float32; NaN before two values have been counted.

    Source: TensorFlow 1.15, ``tf.contrib.metrics.streaming_covariance``.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     _, update = tf.contrib.metrics.streaming_covariance([1.0, 2.0], [2.0, 6.0])
    ...     sess.run(tf.local_variables_initializer())
    ...     float(sess.run(update))
    2.0
    """
    x, y = cast(predictions, float32), cast(labels, float32)
    w = ones_like(x) if weights is None else cast(weights, float32) * ones_like(x)
    names = ("count", "mean_prediction", "mean_label", "comoment")
    kept = [metric_variable([], float32, n) for n in names]
    count, mean_x, mean_y, comoment = (v.value() for v in kept)
    with control_dependencies([count, mean_x, mean_y, comoment]):
        more = reduce_sum(w)
    new_x = div_no_nan(reduce_sum(x * w), more)
    new_y = div_no_nan(reduce_sum(y * w), more)
    total = count + more
    share = div_no_nan(more, total)
    between = (new_x - mean_x) * (new_y - mean_y) * count * share
    around = reduce_sum((x - new_x) * (y - new_y) * w)
    found = (
        total,
        mean_x + (new_x - mean_x) * share,
        mean_y + (new_y - mean_y) * share,
        comoment + around + between,
    )
    updates = [assign(v, value) for v, value in zip(kept, found, strict=True)]
    value = _unbiased(count, comoment, "value")
    update = _unbiased(updates[0], updates[3], "update_op")
    with control_dependencies(updates):
        return value, update + 0.0


def _unbiased(count: Tensor, comoment: Tensor, name: str) -> Tensor:
    few = count <= 1.0
    return where(few, ones_like(count) * float("nan"), comoment / (count - 1.0), name=name)


@with_arguments_of(streaming_covariance)
def streaming_pearson_correlation(
    predictions: TensorLike, labels: TensorLike, weights: Any, name: str | None, **collections: Any
) -> Pair:
    """Return Pearson's correlation of predictions and labels, over all batches.

    Args:
      name: name of the variable scope, by default "pearson_r".

    Source: TensorFlow 1.15, ``tf.contrib.metrics.streaming_pearson_correlation``.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     _, update = tf.contrib.metrics.streaming_pearson_correlation([1.0, 2.0], [3.0, 7.0])
    ...     sess.run(tf.local_variables_initializer())
    ...     round(float(sess.run(update)), 4)
    1.0
    """
    with variable_scope(name, "pearson_r", [predictions, labels]):
        both = streaming_covariance(predictions, labels, weights, name="covariance")
        of_x = streaming_covariance(predictions, predictions, weights, name="variance_predictions")
        of_y = streaming_covariance(labels, labels, weights, name="variance_labels")
        value, update = (both[i] / (sqrt(of_x[i]) * sqrt(of_y[i])) for i in (0, 1))
        return collected((value, update), popped_collections(collections))


@with_arguments_in_order(
    "predictions labels k weights metrics_collections updates_collections name",
    streaming_covariance,
)
def streaming_recall_at_k(
    predictions: TensorLike, labels: TensorLike, k: int, name: str | None, **arguments: Any
) -> Pair:
    """Return how often a row's label is among its k greatest predictions, over all batches.

    Args:
      predictions: [batch, classes] float32.
      labels: [batch] int32 or int64.
      k: how many.
      weights: how often each row counts, by default once.
      name: name of the variable scope, by default "recall_at_" and k.

    Returns:
      (value, update), both [] float32.

    Source: TensorFlow 1.15, ``tf.contrib.metrics.streaming_recall_at_k``.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     rows = [[0.1, 0.7, 0.2], [0.5, 0.3, 0.2]]
    ...     _, update = tf.contrib.metrics.streaming_recall_at_k(rows, [2, 2], 2)
    ...     sess.run(tf.local_variables_initializer())
    ...     float(sess.run(update))
    0.5
    """
    return mean(in_top_k(predictions, labels, k), name=name or f"recall_at_{k}", **arguments)


@metric("f1")
def f1_score(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    num_thresholds: int = 200,
) -> Pair:
    """Return the greatest F1 that a threshold gives, over all batches.

    Args:
      labels: [...] converted to bool.
      predictions: of the shape of `labels`, in [0, 1].
      weights: how often each counts, by default once.
      num_thresholds: how many thresholds, evenly spaced.

    Returns:
      (value, update), both [] float32.

    Source: TensorFlow 1.15, ``tf.contrib.metrics.f1_score``.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     _, update = tf.contrib.metrics.f1_score([1, 0, 1, 0], [0.9, 0.6, 0.7, 0.1])
    ...     sess.run(tf.local_variables_initializer())
    ...     round(float(sess.run(update)), 4)
    1.0
    """
    inner = [(i + 1) / (num_thresholds - 1) for i in range(num_thresholds - 2)]
    bounds = [0.0 - _EPSILON, *inner, 1.0 + _EPSILON]
    counts = counts_at(labels, predictions, bounds, weights, ("tp", "fp", "fn"))
    value, update = (_best(c, n) for c, n in zip(counts, ("value", "update_op"), strict=True))
    return value, update


def _best(counts: Counts, name: str) -> Tensor:
    with name_scope(name, values=list(counts.values())):
        precision = counts["tp"] / (counts["tp"] + counts["fp"] + _EPSILON)
        recall = counts["tp"] / (counts["tp"] + counts["fn"] + _EPSILON)
        return reduce_max(2.0 * precision * recall / (precision + recall + _EPSILON))
