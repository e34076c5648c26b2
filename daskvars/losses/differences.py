"""Losses on the difference between predictions and labels."""

from __future__ import annotations

from typing import Any

from daskvars import dtypes
from daskvars.graph.scopes.collections import GraphKeys
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.losses.loss import as_floats, check_given, loss
from daskvars.losses.reduction import add_loss, present
from daskvars.ops.array.constant import rank
from daskvars.ops.array.ranges import range as indices
from daskvars.ops.control.dependencies import control_dependencies
from daskvars.ops.math.arithmetic import (
    abs as absolute,
    add,
    maximum,
    minimum,
    multiply,
    square,
    squared_difference,
    subtract,
)
from daskvars.ops.math.casting import cast
from daskvars.ops.math.comparison import greater, where_v2
from daskvars.ops.math.division import div_no_nan
from daskvars.ops.math.reduce import reduce_sum
from daskvars.ops.nn.weighting import assert_broadcastable
from daskvars.ops.rules.axes import either


@loss()
def mean_squared_error(labels: TensorLike, predictions: TensorLike) -> Tensor:
    """Return the loss (predictions - labels)².

    Source: TensorFlow 1.15, ``tf.losses``.

    >>> float(mean_squared_error([1.0, 2.0], [1.0, 4.0]))
    2.0
    """
    return squared_difference(predictions, labels)


@loss()
def absolute_difference(labels: TensorLike, predictions: TensorLike) -> Tensor:
    """Return the loss |predictions - labels|.

    >>> float(absolute_difference([1.0, 2.0], [1.0, 4.0]))
    1.0
    """
    return absolute(subtract(predictions, labels))


@loss(order="labels predictions weights delta scope loss_collection reduction")
def huber_loss(labels: TensorLike, predictions: TensorLike, delta: float = 1.0) -> Tensor:
    """Return the loss error²/2 where the error is at most `delta`, and linear beyond.

    Args:
      delta: where the square ends: beyond, the loss is delta |error| - delta²/2.

    >>> huber_loss([0.0, 0.0], [0.5, 3.0], reduction="none").numpy().tolist()
    [0.125, 2.5]
    """
    error = absolute(subtract(predictions, labels))
    quadratic = minimum(error, delta)
    linear = multiply(delta, subtract(error, quadratic))
    return add(multiply(0.5, square(quadratic)), linear)


@loss("cosine_distance_loss", "labels predictions axis weights scope loss_collection reduction dim")
def cosine_distance(
    labels: TensorLike, predictions: TensorLike, axis: int | None = None, dim: int | None = None
) -> Tensor:
    """Return the loss 1 - sum(predictions * labels) along an axis, for vectors of length one.

    Args:
      axis: the axis of the vectors; the losses keep it, with size 1.
      dim: the old name of `axis`.

    Raises:
      ValueError: there is no axis.

    >>> float(cosine_distance([[1.0, 0.0]], [[0.0, 1.0]], axis=1))
    1.0
    """
    axis = either(axis, dim, "axis", "dim")
    if axis is None:
        raise ValueError("You must specify 'axis'.")
    return subtract(1.0, reduce_sum(multiply(predictions, labels), [axis], keepdims=True))


def mean_pairwise_squared_error(
    labels: TensorLike,
    predictions: TensorLike,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
) -> Tensor:
    """Return the mean squared difference of the errors of each two elements of an example.

    Args:
      labels: [batch, ...] number, what is wanted.
      predictions: of the shape of `labels`.
      weights: a scalar, or [batch, 1, ...], or of the shape of `labels`.
      scope: name scope of the operations, by default "mean_pairwise_squared_error".
      loss_collection: name of the collection that it is added to; None for none.

    Returns:
      [] float32, the sum over the batch.

    Raises:
      ValueError: labels or predictions are None, or the static shapes do not fit.

    >>> float(mean_pairwise_squared_error([[1.0, 2.0]], [[1.0, 4.0]]))
    4.0
    """
    check_given(labels=labels, predictions=predictions)
    with name_scope(scope, "mean_pairwise_squared_error", [predictions, labels, weights]):
        labels, predictions, _ = as_floats(labels, predictions, weights, "predictions")
        weights = cast(weights, dtypes.float32)
        with control_dependencies([assert_broadcastable(weights, labels)]):
            errors = subtract(predictions, labels)
            axes = _all_but_batch(errors)
            counts = reduce_sum(present(errors, weights), axes, keepdims=True, name="num_present")
            others = maximum(subtract(counts, 1.0), 0.0)
            squares = reduce_sum(square(errors), axes, keepdims=True)
            sums = square(reduce_sum(errors, axes, keepdims=True))
            spread = subtract(
                div_no_nan(squares, others), div_no_nan(sums, multiply(counts, others))
            )
            total = reduce_sum(multiply(multiply(2.0, spread), weights))
            total = where_v2(greater(reduce_sum(counts), 0.0), total, 0.0, name="value")
            add_loss(total, loss_collection)
            return total


def _all_but_batch(x: Tensor) -> Any:
    if x.spec.shape is not None:
        return list(range(1, len(x.spec.shape)))
    return indices(1, rank(x))
