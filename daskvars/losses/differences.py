"""Losses on the difference between predictions and labels."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from daskvars import dtypes
from daskvars.graph.scopes.collections import GraphKeys
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor
from daskvars.losses.reduction import Reduction, add_loss, compute_weighted_loss, present
from daskvars.ops.array.constant import rank
from daskvars.ops.array.ranges import range as indices
from daskvars.ops.control.dependencies import control_dependencies
from daskvars.ops.math.arithmetic import abs as absolute
from daskvars.ops.math.arithmetic import (
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
from daskvars.ops.nn.weighting import assert_broadcastable, check_same_shape
from daskvars.ops.rules.axes import either


@contextmanager
def floats(
    scope: str | None, default: str, weights: Any, **given: Any
) -> Iterator[tuple[str, Tensor, Tensor]]:
    """Open the name scope of a loss and give (scope, labels, predictions), as float32.

    Args:
      scope: name asked for.
      default: name otherwise.
      weights: the weights.
      given: labels, then predictions, under the names that the loss has for them.

    Raises:
      ValueError: one of them is None, or the shapes differ.
    """
    for name, value in given.items():
        if value is None:
            raise ValueError(f"{name} must not be None.")
    labels, predictions = given.values()
    with name_scope(scope, default, [predictions, labels, weights]) as full:
        predictions, labels = (cast(v, dtypes.float32) for v in (predictions, labels))
        check_same_shape(predictions, labels, list(given)[1])
        yield full, labels, predictions


def mean_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Return the loss (predictions - labels)².

    Args:
      labels: [batch, ...] number, what is wanted.
      predictions: of the shape of `labels`.
      weights: a number, or a tensor of the rank of `labels` with dimensions equal to its or of
        size 1.
      scope: name scope of the operations, by default "mean_squared_error".
      loss_collection: name of the collection that it is added to; None for none.
      reduction: one of `Reduction`, by default the mean over the weights that are not zero.

    Returns:
      [] float32; with `Reduction.NONE` [batch, ...], the weighted losses.

    Raises:
      ValueError: labels or predictions are None, or the static shapes do not fit.

    Source: TensorFlow 1.15, ``tf.losses``.

    >>> import daskvars as dv
    >>> float(mean_squared_error([1.0, 2.0], [1.0, 4.0]))
    2.0
    """
    with floats(scope, "mean_squared_error", weights, labels=labels, predictions=predictions) as (
        scope,
        labels,
        predictions,
    ):
        losses = squared_difference(predictions, labels)
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def absolute_difference(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Return the loss |predictions - labels|. See `mean_squared_error` for the arguments.

    >>> import daskvars as dv
    >>> float(absolute_difference([1.0, 2.0], [1.0, 4.0]))
    1.0
    """
    with floats(scope, "absolute_difference", weights, labels=labels, predictions=predictions) as (
        scope,
        labels,
        predictions,
    ):
        losses = absolute(subtract(predictions, labels))
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def huber_loss(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
    delta: float = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Return the loss error²/2 where the error is at most `delta`, and linear beyond.

    See `mean_squared_error` for the other arguments.

    Args:
      delta: where the square ends: beyond, the loss is delta |error| - delta²/2.

    >>> import daskvars as dv
    >>> huber_loss([0.0, 0.0], [0.5, 3.0], reduction="none").numpy().tolist()
    [0.125, 2.5]
    """
    with floats(scope, "huber_loss", weights, labels=labels, predictions=predictions) as (
        scope,
        labels,
        predictions,
    ):
        error = absolute(subtract(predictions, labels))
        quadratic = minimum(error, delta)
        linear = multiply(delta, subtract(error, quadratic))
        losses = add(multiply(0.5, square(quadratic)), linear)
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def cosine_distance(
    labels: Any,
    predictions: Any,
    axis: int | None = None,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
    dim: int | None = None,
) -> Tensor:
    """Return the loss 1 - sum(predictions * labels) along an axis, for vectors of length one.

    See `mean_squared_error` for the other arguments.

    Args:
      axis: the axis of the vectors; the losses keep it, with size 1.
      dim: the old name of `axis`.

    Raises:
      ValueError: there is no axis.

    >>> import daskvars as dv
    >>> float(cosine_distance([[1.0, 0.0]], [[0.0, 1.0]], axis=1))
    1.0
    """
    axis = either(axis, dim, "axis", "dim")
    if axis is None:
        raise ValueError("You must specify 'axis'.")
    with floats(scope, "cosine_distance_loss", weights, labels=labels, predictions=predictions) as (
        scope,
        labels,
        predictions,
    ):
        losses = subtract(1.0, reduce_sum(multiply(predictions, labels), [axis], keepdims=True))
        return compute_weighted_loss(losses, weights, scope, loss_collection, reduction)


def mean_pairwise_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = 1.0,
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

    >>> import daskvars as dv
    >>> float(mean_pairwise_squared_error([[1.0, 2.0]], [[1.0, 4.0]]))
    4.0
    """
    with floats(
        scope, "mean_pairwise_squared_error", weights, labels=labels, predictions=predictions
    ) as (_, labels, predictions):
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
            loss = reduce_sum(multiply(multiply(2.0, spread), weights))
            loss = where_v2(greater(reduce_sum(counts), 0.0), loss, 0.0, name="value")
            add_loss(loss, loss_collection)
            return loss


def _all_but_batch(x: Tensor) -> Any:
    if x.spec.shape is not None:
        return list(range(1, len(x.spec.shape)))
    return indices(1, rank(x))
