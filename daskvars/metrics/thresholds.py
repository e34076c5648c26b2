"""Right and wrong predictions of a probability, by the threshold from which it means yes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from daskvars import dtypes
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.tensor import Tensor
from daskvars.metrics.means import Pair, collected, metric, metric_variable
from daskvars.ops.array.constant import constant
from daskvars.ops.array.reshaping import identity, reshape
from daskvars.ops.checks.assertions import assert_greater_equal, assert_less_equal
from daskvars.ops.control.dependencies import control_dependencies
from daskvars.ops.linalg.products import matvec
from daskvars.ops.math.arithmetic import add, multiply
from daskvars.ops.math.casting import cast
from daskvars.ops.math.comparison import greater, logical_not
from daskvars.ops.math.division import div
from daskvars.ops.nn.weighting import broadcast_weights, fitted
from daskvars.ops.state.assign import assign_add
from daskvars.variables.scopes.variable_scope import variable_scope

NAMES = {
    "tp": "true_positives",
    "fn": "false_negatives",
    "tn": "true_negatives",
    "fp": "false_positives",
}
Counts = dict[str, Tensor]

COUNT = """Return how many {words} there were in all runs, for each threshold.

Args:
  labels: [...] converted to bool.
  predictions: of the shape of `labels`, in [0, 1]; what is above a threshold means true.
  thresholds: list of numbers in [0, 1].
  weights: a scalar, or of the rank of `labels` with dimensions equal to its or of size 1.
  metrics_collections: names of collections for the value.
  updates_collections: names of collections for the update.
  name: name of the variable scope, by default "{name}".

Returns:
  (value, update), both [len(thresholds)] float32; the local variable has the scope's name.

Raises:
  ValueError: the static shapes do not fit.
  InvalidArgumentError: a prediction is not in [0, 1].
  RuntimeError: there is no graph.
"""


def counts_at(
    labels: Any,
    predictions: Any,
    thresholds: Sequence[float],
    weights: Any,
    includes: Sequence[str] = ("tp", "fn", "tn", "fp"),
) -> tuple[Counts, Counts]:
    """Return (values, updates) of counts for each threshold, under the keys of `includes`.

    With the predictions above each threshold as a matrix, a count is its product with the weights
    of the labels that are true, or false.
    """
    predictions = convert_to_tensor(predictions)
    message = "predictions must be in [0, 1]"
    zero, one = (cast(n, predictions.dtype.base_dtype) for n in (0.0, 1.0))
    checks = [
        assert_greater_equal(predictions, zero, message=message),
        assert_less_equal(predictions, one, message=message),
    ]
    with control_dependencies(checks):
        predictions = identity(cast(predictions, dtypes.float32))
    predictions, labels, weights = fitted(predictions, cast(labels, dtypes.bool), weights)
    if weights is not None:
        weights = broadcast_weights(cast(weights, dtypes.float32), predictions)
    bounds = constant([[t] for t in thresholds], dtypes.float32, [len(thresholds), 1])
    above = greater(reshape(predictions, [1, -1]), bounds)
    values, updates = {}, {}
    for key in NAMES:
        if key in includes:
            values[key], updates[key] = _count(key, above, labels, weights, len(thresholds))
    return values, updates


def _count(
    key: str, above: Tensor, labels: Tensor, weights: Tensor | None, num_thresholds: int
) -> Pair:
    count = metric_variable([num_thresholds], dtypes.float32, NAMES[key])
    marked = cast(labels if key in ("tp", "fn") else logical_not(labels), dtypes.float32)
    if weights is not None:
        marked = multiply(marked, weights)
    chosen = above if key in ("tp", "fp") else logical_not(above)
    found = matvec(cast(chosen, dtypes.float32), reshape(marked, [-1]))
    return count.value(), assign_add(count, found)


def _at_thresholds(name: str, words: str, key: str) -> Callable[..., Pair]:
    def function(
        labels: Any,
        predictions: Any,
        thresholds: Sequence[float],
        weights: Any = None,
        metrics_collections: Any = None,
        updates_collections: Any = None,
        name: str | None = None,
    ) -> Pair:
        with variable_scope(name, NAMES[key], [predictions, labels, weights]):
            values, updates = counts_at(labels, predictions, thresholds, weights, (key,))
            return collected(values[key], updates[key], metrics_collections, updates_collections)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = COUNT.format(name=NAMES[key], words=words)
    return metric(function)


true_positives_at_thresholds = _at_thresholds(
    "true_positives_at_thresholds", "labels of true were predicted", "tp"
)
true_negatives_at_thresholds = _at_thresholds(
    "true_negatives_at_thresholds", "labels of false were predicted", "tn"
)
false_positives_at_thresholds = _at_thresholds(
    "false_positives_at_thresholds", "labels of false were predicted true", "fp"
)
false_negatives_at_thresholds = _at_thresholds(
    "false_negatives_at_thresholds", "labels of true were predicted false", "fn"
)


@metric
def precision_at_thresholds(
    labels: Any,
    predictions: Any,
    thresholds: Sequence[float],
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """Return which part of what is predicted true is true, for each threshold.

    See `true_positives_at_thresholds` for the arguments. The scope is called
    "precision_at_thresholds", its variables "true_positives" and "false_positives".
    """
    with variable_scope(name, "precision_at_thresholds", [predictions, labels, weights]):
        values, updates = counts_at(labels, predictions, thresholds, weights, ("tp", "fp"))
        return collected(
            _share(values, "fp", "precision_value"),
            _share(updates, "fp", "precision_update_op"),
            metrics_collections,
            updates_collections,
        )


@metric
def recall_at_thresholds(
    labels: Any,
    predictions: Any,
    thresholds: Sequence[float],
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """Return which part of what is true is predicted true, for each threshold.

    See `true_positives_at_thresholds` for the arguments. The scope is called
    "recall_at_thresholds", its variables "true_positives" and "false_negatives".
    """
    with variable_scope(name, "recall_at_thresholds", [predictions, labels, weights]):
        values, updates = counts_at(labels, predictions, thresholds, weights, ("tp", "fn"))
        return collected(
            _share(values, "fn", "recall_value"),
            _share(updates, "fn", "recall_update_op"),
            metrics_collections,
            updates_collections,
        )


def _share(counts: Counts, others: str, name: str) -> Tensor:
    return div(counts["tp"], add(add(1e-7, counts["tp"]), counts[others]), name=name)
