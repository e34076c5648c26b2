"""Metrics of rankings: the classes labelled against the k that score highest.

Labels and predictions are sets of class numbers, one set a row. A row of labels compared with a
row of predictions is a small table of equalities, from which the sizes of the intersection and of
the differences follow; an element that occurs twice in a row counts once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from daskvars import dtypes
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.sparse_tensor import SparseTensor, SparseTensorValue
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.metrics.metric import (
    METRICS,
    Metric,
    Pair,
    collected,
    in_graphs,
    metric_variable,
    popped_collections,
    updated_to,
)
from daskvars.ops.array.constant import constant, ones_like, rank, shape, size
from daskvars.ops.array.reshaping import expand_dims
from daskvars.ops.control.cond import cond
from daskvars.ops.control.dependencies import control_dependencies
from daskvars.ops.linalg.matrix_parts import matrix_band_part
from daskvars.ops.math.arithmetic import add, minimum, multiply, number
from daskvars.ops.math.casting import cast
from daskvars.ops.math.comparison import (
    equal,
    greater_equal,
    less,
    logical_and,
    logical_not,
    not_equal,
    where_v2,
)
from daskvars.ops.math.division import div, div_no_nan
from daskvars.ops.math.reduce import reduce_any, reduce_sum
from daskvars.ops.math.scans import cumsum
from daskvars.ops.nn.ranking import top_k
from daskvars.ops.nn.weighting import assert_broadcastable, broadcast_weights
from daskvars.ops.sparse.dense import to_dense
from daskvars.ops.state.assign import assign_add
from daskvars.surface.signatures import Argument, Family

# What stands for no label where a row has fewer than others. A -1 is one, of a class that is none.
ABSENT = -(1 << 63)


def _at_k(name: str, k: int | None, class_id: int | None = None) -> str:
    name = f"{name}_at_k" if k is None else f"{name}_at_{k:d}"
    return name if class_id is None else f"{name}_class{class_id:d}"


def _rows_of_labels(labels: Any, predictions: Tensor) -> Tensor:
    """Return labels of the rank of the predictions: one label for each row becomes a set of one.

    Sparse labels are filled up with what is no label.

    Raises:
      ValueError: the static shapes do not fit.
    """
    if isinstance(labels, SparseTensor | SparseTensorValue):
        labels = SparseTensor.from_value(labels)
        labels = to_dense(cast(labels, dtypes.int64), default_value=ABSENT)
    with name_scope(None, "expand_labels", [labels, predictions]) as scope:
        labels = cast(labels, dtypes.int64)
        ours, theirs = labels.shape.ndims, predictions.shape.ndims
        if ours is None or theirs is None:
            missing = equal(rank(predictions), add(rank(labels), 1))
            return cond(missing, lambda: expand_dims(labels, -1), lambda: labels)
        if theirs == ours:
            return labels
        if theirs == ours + 1:
            return expand_dims(labels, -1, name=scope)
        raise ValueError(
            f"Unexpected labels shape {labels.shape} for predictions shape {predictions.shape}."
        )


def _is_in(elements: Tensor, others: Tensor) -> Tensor:
    """Return for each element of each row whether the other's row has it."""
    return reduce_any(equal(expand_dims(elements, -1), expand_dims(others, -2)), -1)


def _chosen(elements: Tensor, class_id: int | None) -> Tensor:
    """Return which elements count: the first of equal ones, of the class asked for."""
    same = equal(expand_dims(elements, -1), expand_dims(elements, -2))
    earlier = matrix_band_part(cast(same, dtypes.int32), -1, 0)  # with itself
    first = equal(reduce_sum(earlier, -1), 1)
    if class_id is None:
        return first
    return logical_and(first, equal(elements, cast(class_id, dtypes.int64)))


def _counted(found: Tensor, weights: Any) -> Tensor:
    """Return the weighted number of true elements of all rows, [] float64."""
    counts = reduce_sum(cast(found, dtypes.float64), -1)
    if weights is not None:
        with control_dependencies([assert_broadcastable(weights, counts)]):
            counts = multiply(counts, cast(weights, dtypes.float64))
    return reduce_sum(counts)


def _accumulated(
    kind: str,
    labels: Tensor,
    predictions: Tensor,
    k: int | None,
    class_id: int | None,
    weights: Any,
) -> Pair:
    """Return (value, update) of a count of true positives, or false positives or negatives."""
    with name_scope(None, _at_k(kind, k, class_id), [predictions, labels, weights]) as scope:
        if kind == "false_negative":
            missed = logical_and(
                not_equal(labels, ABSENT), logical_not(_is_in(labels, predictions))
            )
            found = logical_and(_chosen(labels, class_id), missed)
        else:
            hit = _is_in(predictions, labels)
            hit = hit if kind == "true_positive" else logical_not(hit)
            found = logical_and(_chosen(predictions, class_id), hit)
        total = metric_variable([], dtypes.float64, scope)
        return total.value(), assign_add(total, _counted(found, weights), name="update")


# -- precision and recall ----------------------------------------------------------------------

AT_K = Family(
    {
        "class_id": Argument("count this class alone.", None, "int | None"),
        **METRICS.arguments,
        "labels": Argument("[batch, num_labels] or [batch] integer, classes; or sparse."),
        "predictions": Argument("[batch, classes] floating, scores."),
        "predictions_idx": Argument("[batch, k] integer, the classes predicted."),
        "k": Argument("how many of the highest scores count.", type="int"),
        "weights": Argument("a scalar, or [batch]; 0 leaves a row out.", None),
        "name": Argument(
            'name scope of the operations, by default "{scope}", with the number k.',
            None,
            "str | None",
        ),
    },
    returns="""
        (value, update), both [] float64, NaN where nothing was counted. The local variables are
        "true_positive_at_k" and "{others}_at_k", with the number and the class, in the scope.
    """,
    raises="""
        ValueError: the static shapes do not fit.
        RuntimeError: there is no graph.
    """,
    result="Pair",
)


def _share_at_k(share: str, others: str) -> Callable[[Callable[..., Tensor]], Metric]:
    """Make a metric of the function that gives the classes predicted, [batch, k].

    Args:
      share: what true positives are of themselves and `others`, in the names of operations.
      others: "false_positive" or "false_negative".
    """

    def decorate(own: Callable[..., Tensor]) -> Metric:
        def call(given: dict[str, Any]) -> Pair:
            name, collections = given.pop("name"), popped_collections(given)
            labels, k = given["labels"], given["k"]
            class_id, weights = given.pop("class_id"), given.pop("weights")
            with name_scope(name, _at_k(share, k, class_id), [*given.values(), weights]) as scope:
                predictions = cast(own(**given), dtypes.int64)
                labels = _rows_of_labels(labels, predictions)
                arguments = (labels, predictions, k, class_id, weights)
                right, new_right = _accumulated("true_positive", *arguments)
                wrong, new_wrong = _accumulated(others, *arguments)
                value = div(right, add(right, wrong), name=scope)
                update = div(new_right, add(new_right, new_wrong), name="update")
                return collected((value, update), collections)

        return in_graphs(AT_K.member(own, call, scope=f"{share}_at_k", others=others))

    return decorate


@_share_at_k("precision", "false_positive")
@updated_to("[[1, 2]], [[2, 0, 3, 1]] -> 0.5")
def precision_at_top_k(
    labels: TensorLike, predictions_idx: TensorLike, k: int | None = None
) -> Any:
    """Return which part of the classes predicted are labels.

    Args:
      k: for the names of operations and variables only.
    """
    return predictions_idx


@_share_at_k("precision", "false_positive")
@updated_to("[[1], [0]], [[0.1, 0.9], [0.1, 0.9]], k=1 -> 0.5")
def precision_at_k(labels: TensorLike, predictions: TensorLike, k: int) -> Tensor:
    """Return which part of the k classes that score highest are labels."""
    return top_k(predictions, k)[1]


@_share_at_k("precision", "false_positive")
@updated_to("[[0]], [[0.3, 0.1, 0.6]], k=2 -> 0.5")
def sparse_precision_at_k(labels: TensorLike, predictions: TensorLike, k: int) -> Tensor:
    """Return `precision_at_k`, of which this is the old name."""
    return top_k(predictions, k)[1]


@_share_at_k("recall", "false_negative")
@updated_to("[[1, 2]], [[2, 0]] -> 0.5")
def recall_at_top_k(labels: TensorLike, predictions_idx: TensorLike, k: int | None = None) -> Any:
    """Return which part of the labels is among the classes predicted.

    Args:
      k: for the names of operations and variables only.
    """
    return predictions_idx


@_share_at_k("recall", "false_negative")
@updated_to("[[0, 1]], [[0.3, 0.1, 0.6]], k=2 -> 0.5")
def recall_at_k(labels: TensorLike, predictions: TensorLike, k: int) -> Tensor:
    """Return which part of the labels is among the k classes that score highest."""
    return top_k(predictions, k)[1]


# -- average precision -------------------------------------------------------------------------


def _average_precision(labels: Tensor, predictions: Tensor, k: int) -> Tensor:
    """Return the mean precision of the first 1, 2, ... k where the last of them is a label."""
    right = cast(_is_in(predictions, labels), dtypes.float64)
    precisions = div(cumsum(right, -1), cumsum(ones_like(right), -1))
    num_labels = reduce_sum(cast(greater_equal(labels, number(0, labels)), dtypes.int32), -1)
    relevant = cast(minimum(num_labels, k), dtypes.float64)
    return div(reduce_sum(multiply(precisions, right), -1), relevant)


def _accumulated_sum(values: Tensor, name: str) -> Pair:
    with name_scope(None, name, [values]) as scope:
        variable = metric_variable([], dtypes.float64, scope)
        return variable.value(), assign_add(variable, reduce_sum(values), name="update")


AVERAGES = Family(
    {name: argument for name, argument in AT_K.arguments.items() if name != "class_id"},
    returns='(value, update), both [] float64; the local variables are "max" and "total".',
    raises="ValueError: k is less than 1, or the static shapes do not fit.",
    result="Pair",
)


def _average_at_k(own: Callable[..., Tensor]) -> Metric:
    """Make a metric of the function that gives the classes predicted, [batch, k]."""

    def call(given: dict[str, Any]) -> Pair:
        name, collections = given.pop("name"), popped_collections(given)
        if given["k"] < 1:
            raise ValueError(f"Invalid k={given['k']}.")
        default = _at_k("average_precision", given["k"])
        with name_scope(name, default, list(given.values())) as scope:
            weights = given.pop("weights")
            given["predictions"] = convert_to_tensor(given["predictions"])
            chosen = cast(own(**given), dtypes.int64)
            return collected(
                _average(**given, chosen=chosen, weights=weights, scope=scope), collections
            )

    return in_graphs(AVERAGES.member(own, call, scope="average_precision_at_k"))


def _average(
    labels: Any, predictions: Tensor, k: int, chosen: Tensor, weights: Any, scope: str
) -> Pair:
    labels = _rows_of_labels(labels, chosen)
    classes = cast(shape(predictions)[-1], dtypes.int64)
    labels = where_v2(less(labels, classes), labels, constant(-1, dtypes.int64))
    values = _average_precision(labels, chosen, k)
    most = cast(size(values), dtypes.float64)
    if weights is not None:
        weights = broadcast_weights(cast(weights, dtypes.float64), values)
        values, most = multiply(values, weights), reduce_sum(weights)
    (best, new_best), (total, new_total) = (
        _accumulated_sum(found, kind) for kind, found in (("max", most), ("total", values))
    )
    value = div_no_nan(total, best, name="mean")
    return value, div_no_nan(new_total, new_best, name=scope)


@_average_at_k
@updated_to("[[0, 2]], [[0.3, 0.4, 0.6]], k=3 -> 0.8333")
def average_precision_at_k(labels: TensorLike, predictions: TensorLike, k: int) -> Tensor:
    """Return the mean of the precision at 1, 2, ... k, of those where a label is ranked."""
    return top_k(predictions, k)[1]


@_average_at_k
@updated_to("[[0]], [[0.3, 0.6]], k=2 -> 0.5")
def sparse_average_precision_at_k(labels: TensorLike, predictions: TensorLike, k: int) -> Tensor:
    """Return `average_precision_at_k`, of which this is the old name."""
    return top_k(predictions, k)[1]
