"""Right and wrong predictions of a yes or no: counts, precision and recall."""

from __future__ import annotations

from typing import Any

from daskvars import dtypes
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.metrics.metric import EXAMPLE, Metric, Pair, metric, metric_variable, updated_to
from daskvars.ops.array.constant import rank
from daskvars.ops.checks.shape_assertions import assert_rank_in
from daskvars.ops.control.dependencies import control_dependencies
from daskvars.ops.math.arithmetic import add, multiply
from daskvars.ops.math.casting import cast
from daskvars.ops.math.comparison import logical_and, logical_not
from daskvars.ops.math.division import div_no_nan
from daskvars.ops.math.reduce import reduce_sum
from daskvars.ops.nn.weighting import fitted
from daskvars.ops.state.assign import assign_add
from daskvars.surface.signatures import named, with_example

COUNTED = {
    "true_positives": "labels of true were predicted",
    "true_negatives": "labels of false were predicted",
    "false_positives": "labels of false were predicted true",
    "false_negatives": "labels of true were predicted false",
}


def _as_bools(labels: Any, predictions: Any, weights: Any) -> tuple[Any, Any, Any]:
    predictions, labels = cast(predictions, dtypes.bool), cast(labels, dtypes.bool)
    predictions, labels, weights = fitted(predictions, labels, weights)
    return labels, predictions, weights


def _counted(values: Tensor, weights: Any) -> Pair:
    """Return (variable's value, update) of a count of the true values."""
    count = metric_variable([], dtypes.float32, "count")
    values = cast(values, dtypes.float32)
    if weights is not None:
        with control_dependencies([assert_rank_in(weights, (0, rank(values)))]):
            values = multiply(values, cast(weights, dtypes.float32))
    return count.value(), assign_add(count, reduce_sum(values))


def _count(name: str, label: bool, prediction: bool, found: str) -> Metric:
    """Return a metric that counts.

    Args:
      found: what it is of the labels and predictions of its example.
    """

    def count(
        labels: TensorLike, predictions: TensorLike, weights: TensorLike | None = None
    ) -> Pair:
        labels, predictions, weights = _as_bools(labels, predictions, weights)
        found = logical_and(
            labels if label else logical_not(labels),
            predictions if prediction else logical_not(predictions),
        )
        return _counted(found, weights)

    doc = f"""Return how many {COUNTED[name]} there were in all runs, weighted.

    Args:
      labels: [...] converted to bool.
      predictions: of the shape of `labels`, converted to bool.

    Returns:
      (value, update), both [] float32; the local variable is "count".

    Source: TensorFlow 1.15, ``tf.metrics.{name}``.
    """
    labels = "[1, 1, 1, 1, 0, 0], [1, 1, 1, 0, 1, 1]"
    example = EXAMPLE.format(name=name, labels=labels, others="", shown=found)
    return metric()(named(count, name, with_example(doc, example)))


true_positives = _count("true_positives", True, True, "3.0")
true_negatives = _count("true_negatives", False, False, "0.0")
false_positives = _count("false_positives", False, True, "2.0")
false_negatives = _count("false_negatives", True, False, "1.0")


def _share(labels: Any, predictions: Any, weights: Any, others: Metric) -> Pair:
    """Return which part true positives are of themselves and `others`."""
    labels, predictions, weights = _as_bools(labels, predictions, weights)
    right, new_right = true_positives(labels, predictions, weights)
    wrong, new_wrong = others(labels, predictions, weights)
    value = div_no_nan(right, add(right, wrong), name="value")
    return value, div_no_nan(new_right, add(new_right, new_wrong), name="update_op")


@metric()
@updated_to("[1, 0, 1, 0], [1, 1, 0, 0] -> 0.5")
def precision(
    labels: TensorLike, predictions: TensorLike, weights: TensorLike | None = None
) -> Pair:
    """Return which part of what was predicted true is true.

    Its variables are "true_positives/count" and "false_positives/count".

    Args:
      labels: [...] converted to bool.
      predictions: of the shape of `labels`, converted to bool.
    """
    return _share(labels, predictions, weights, false_positives)


@metric()
@updated_to("[1, 1, 1, 0], [1, 0, 0, 0], weights=[2, 1, 1, 1] -> 0.5")
def recall(labels: TensorLike, predictions: TensorLike, weights: TensorLike | None = None) -> Pair:
    """Return which part of what is true was predicted true.

    Its variables are "true_positives/count" and "false_negatives/count".

    Args:
      labels: [...] converted to bool.
      predictions: of the shape of `labels`, converted to bool.
    """
    return _share(labels, predictions, weights, false_negatives)
