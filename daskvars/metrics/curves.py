"""Areas under and points on the curves that a classifier's threshold draws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from daskvars import dtypes
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.metrics.metric import Pair, metric, ratio, updated_to
from daskvars.metrics.thresholds import Counts, counts_at
from daskvars.ops.math.arithmetic import abs as absolute, add, maximum, minimum, multiply, subtract
from daskvars.ops.math.casting import cast
from daskvars.ops.math.comparison import equal, greater, logical_and, where_v2
from daskvars.ops.math.division import div
from daskvars.ops.math.reduce import argmax, argmin, reduce_min, reduce_sum
from daskvars.ops.math.scans import cumsum
from daskvars.ops.math.transcendental import log

EPSILON = 1e-7


def _even_thresholds(count: int, last: float = 1.0 + EPSILON) -> list[float]:
    inner = [(i + 1) * 1.0 / (count - 1) for i in range(count - 2)]
    return [0.0 - EPSILON, *inner, last]


@metric(
    order="labels predictions weights num_thresholds metrics_collections updates_collections curve "
    "name summation_method thresholds"
)
@updated_to("[0, 0, 1, 1], [0.0, 0.5, 0.3, 0.9] -> 0.75")
def auc(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike | None = None,
    num_thresholds: int = 200,
    curve: str = "ROC",
    summation_method: str = "trapezoidal",
    thresholds: Sequence[float] | None = None,
) -> Pair:
    """Return the area under a curve, approximated by a sum over thresholds.

    Args:
      labels: [...] converted to bool.
      predictions: of the shape of `labels`, in [0, 1].
      num_thresholds: how many thresholds, evenly spaced.
      curve: "ROC" (true over false positives) or "PR" (precision over recall).
      summation_method: "trapezoidal"; "careful_interpolation", better for "PR"; "minoring" and
        "majoring" take the lesser or greater end of each step.
      thresholds: numbers in [0, 1] instead of evenly spaced ones.

    Returns:
      (value, update), both [] float32; its variables are "true_positives", "false_negatives",
      "true_negatives" and "false_positives", [number of thresholds].

    Raises:
      ValueError: there is no such curve or method, or the static shapes do not fit.
      InvalidArgumentError: a prediction is not in [0, 1].
      RuntimeError: there is no graph.
    """
    if curve not in ("ROC", "PR"):
        raise ValueError(f"curve must be either ROC or PR, {curve} unknown")
    methods = ("trapezoidal", "careful_interpolation", "minoring", "majoring")
    if summation_method not in methods:
        raise ValueError(
            f"Invalid summation_method: {summation_method}. Use one of {', '.join(methods)}."
        )
    if thresholds is None:
        bounds = _even_thresholds(num_thresholds)
    else:
        bounds = [0.0 - EPSILON, *sorted(thresholds), 1.0 + EPSILON]
    values, updates = counts_at(labels, predictions, bounds, weights)
    return (
        _area(values, curve, summation_method, "value"),
        _area(updates, curve, summation_method, "update_op"),
    )


def _area(counts: Counts, curve: str, method: str, name: str) -> Tensor:
    tp, fn, tn, fp = (counts[key] for key in ("tp", "fn", "tn", "fp"))
    if curve == "PR" and method == "careful_interpolation":
        return _interpolated_area(tp, fp, fn)
    epsilon = 1e-6
    found = add(tp, epsilon)
    recall = div(found, add(add(tp, fn), epsilon))
    if curve == "ROC":
        x, y = div(fp, add(add(fp, tn), epsilon)), recall
    else:
        x, y = recall, div(found, add(add(tp, fp), epsilon))
    left, right = y[:-1], y[1:]
    if method == "minoring":
        heights = minimum(left, right)
    elif method == "majoring":
        heights = maximum(left, right)
    else:
        heights = div(add(left, right), 2.0)
    return reduce_sum(multiply(subtract(x[:-1], x[1:]), heights), name=name)


def _interpolated_area(tp: Tensor, fp: Tensor, fn: Tensor) -> Tensor:
    """Sum the area under precision over recall with true positives linear in all positives."""
    new = subtract(tp[:-1], tp[1:])
    positives = add(tp, fp)
    left, right = positives[:-1], positives[1:]
    slope = ratio(new, subtract(left, right), "prec_slope")
    intercept = subtract(tp[1:], multiply(slope, right))
    both = logical_and(greater(left, 0.0), greater(right, 0.0))
    quotient = where_v2(both, ratio(left, right, "recall_relative_ratio"), 1.0)
    areas = multiply(slope, add(new, multiply(intercept, log(quotient))))
    steps = ratio(areas, add(tp[1:], fn[1:]), "pr_auc_increment")
    return reduce_sum(steps, name="interpolate_pr_auc")


@metric()
@updated_to("[0, 0, 1, 1], [.1, .6, .4, .9], 0.5 -> 1.0")
def sensitivity_at_specificity(
    labels: TensorLike,
    predictions: TensorLike,
    specificity: float,
    weights: TensorLike | None = None,
    num_thresholds: int = 200,
) -> Pair:
    """Return which part of what is true is predicted true, at the threshold for a specificity.

    Args:
      specificity: in [0, 1], which part of what is false is to be predicted false.
      num_thresholds: how many thresholds, evenly spaced.

    Raises:
      ValueError: `specificity` is not in [0, 1], or the static shapes do not fit.
    """

    def sensitivity(counts: Counts, name: str) -> Tensor:
        off = absolute(subtract(_share(counts["tn"], counts["fp"]), specificity))
        best = cast(argmin(off, 0), dtypes.int32)
        return _share(counts["tp"][best], counts["fn"][best], name)

    bounds = _even_thresholds(num_thresholds)
    found = _counts_around("specificity", specificity, labels, predictions, bounds, weights)
    return sensitivity(found[0], "value"), sensitivity(found[1], "update_op")


@metric()
@updated_to("[0, 0, 1, 1], [.1, .6, .4, .9], 1.0 -> 0.5")
def specificity_at_sensitivity(
    labels: TensorLike,
    predictions: TensorLike,
    sensitivity: float,
    weights: TensorLike | None = None,
    num_thresholds: int = 200,
) -> Pair:
    """Return which part of what is false is predicted false, at the threshold for a sensitivity.

    Args:
      sensitivity: in [0, 1], which part of what is true is to be predicted true.
      num_thresholds: how many thresholds, evenly spaced.

    Raises:
      ValueError: `sensitivity` is not in [0, 1], or the static shapes do not fit.
    """

    def specificity(counts: Counts, name: str) -> Tensor:
        off = absolute(subtract(_share(counts["tp"], counts["fn"]), sensitivity))
        # Of equal thresholds the last: where the number of those so far is greatest first.
        nearest = cast(equal(off, reduce_min(off)), dtypes.int64)
        best = cast(argmax(cumsum(nearest), 0), dtypes.int32)
        return _share(counts["tn"][best], counts["fp"][best], name)

    bounds = _even_thresholds(num_thresholds, 1.0 - EPSILON)
    found = _counts_around("sensitivity", sensitivity, labels, predictions, bounds, weights)
    return specificity(found[0], "value"), specificity(found[1], "update_op")


def _counts_around(name: str, share: float, *arguments: Any) -> tuple[Counts, Counts]:
    if not 0 <= share <= 1:
        raise ValueError(f"`{name}` must be in the range [0, 1].")
    return counts_at(*arguments)


def _share(part: Tensor, rest: Tensor, name: str | None = None) -> Tensor:
    return div(part, add(add(part, rest), EPSILON), name=name)
