"""Right and wrong predictions of a probability, by the threshold from which it means yes."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from daskvars import dtypes
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.metrics.counts import COUNTED
from daskvars.metrics.metric import EXAMPLE, Metric, Pair, metric, metric_variable
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
from daskvars.surface.signatures import named, with_example

NAMES = {
    "tp": "true_positives",
    "fn": "false_negatives",
    "tn": "true_negatives",
    "fp": "false_positives",
}
Counts = dict[str, Tensor]


def counts_at(
    labels: TensorLike,
    predictions: TensorLike,
    thresholds: Sequence[float],
    weights: TensorLike | None,
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


def _at_thresholds(
    name: str,
    summary: str,
    includes: Sequence[str],
    share: Callable[[Counts, str], Tensor],
    found: str,
) -> Metric:
    """Return a metric of counts for each threshold.

    Args:
      summary: first line of its docstring.
      includes: keys of what it counts; its variables have their names.
      share: what it is from the counts, with the ending of its operation's name.
      found: what it is of the labels, predictions and thresholds of its example.
    """
    scope = name if len(includes) > 1 else NAMES[includes[0]]
    variables = " and ".join(f'"{NAMES[key]}"' for key in includes)

    def at_thresholds(
        labels: TensorLike,
        predictions: TensorLike,
        thresholds: Sequence[float],
        weights: TensorLike | None = None,
    ) -> Pair:
        values, updates = counts_at(labels, predictions, thresholds, weights, includes)
        return share(values, "value"), share(updates, "update_op")

    doc = f"""{summary}, for each threshold.

    Args:
      labels: [...] converted to bool.
      predictions: of the shape of `labels`, in [0, 1]; what is above a threshold means true.
      thresholds: list of numbers in [0, 1].

    Returns:
      (value, update), both [len(thresholds)] float32; its local variables:
      {variables}.

    Raises:
      ValueError: the static shapes do not fit.
      InvalidArgumentError: a prediction is not in [0, 1].
      RuntimeError: there is no graph.

    Source: TensorFlow 1.15, ``tf.metrics.{name}``.
    """
    labels = "[1, 1, 0, 0], [0.9, 0.4, 0.6, 0.1]"
    example = EXAMPLE.format(name=name, labels=labels, others=", [0.25, 0.5]", shown=found)
    return metric(scope)(named(at_thresholds, name, with_example(doc, example)))


def _counted(key: str, found: str) -> Metric:
    name = f"{NAMES[key]}_at_thresholds"
    summary = f"Return how many {COUNTED[NAMES[key]]} there were in all runs"
    return _at_thresholds(name, summary, (key,), lambda counts, _: counts[key], found)


def _shared(name: str, summary: str, others: str, found: str) -> Metric:
    def share(counts: Counts, ending: str) -> Tensor:
        name_of_op = f"{name.partition('_')[0]}_{ending}"
        return div(counts["tp"], add(add(1e-7, counts["tp"]), counts[others]), name=name_of_op)

    return _at_thresholds(name, summary, ("tp", others), share, found)


true_positives_at_thresholds = _counted("tp", "[2.0, 1.0]")
true_negatives_at_thresholds = _counted("tn", "[1.0, 1.0]")
false_positives_at_thresholds = _counted("fp", "[1.0, 1.0]")
false_negatives_at_thresholds = _counted("fn", "[0.0, 1.0]")
precision_at_thresholds = _shared(
    "precision_at_thresholds",
    "Return which part of what is predicted true is true",
    "fp",
    "[0.6666666865348816, 0.5]",
)
recall_at_thresholds = _shared(
    "recall_at_thresholds",
    "Return which part of what is true is predicted true",
    "fn",
    "[1.0, 0.5]",
)
