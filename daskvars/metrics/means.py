"""Means over all runs: sums and counts kept in local variables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from daskvars import dtypes
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.metrics.metric import (
    METRICS,
    Metric,
    Pair,
    collected,
    in_graphs,
    metric,
    metric_variable,
    popped_collections,
    ratio,
    updated_to,
)
from daskvars.ops.array.constant import ones_like, size
from daskvars.ops.control.dependencies import control_dependencies
from daskvars.ops.math.arithmetic import (
    abs as absolute,
    multiply,
    number,
    squared_difference,
    subtract,
)
from daskvars.ops.math.casting import cast
from daskvars.ops.math.comparison import equal, less, where_v2
from daskvars.ops.math.division import realdiv
from daskvars.ops.math.reduce import reduce_sum
from daskvars.ops.math.transcendental import sqrt
from daskvars.ops.nn.weighting import (
    broadcast_weights,
    check_same_shape,
    fitted,
    fitted_weights,
    remove_squeezable_dimensions,
)
from daskvars.ops.state.assign import assign_add
from daskvars.variables.variable import Variable


def averaged(
    scope: str = "", finish: Callable[[Tensor], Tensor] = lambda mean: mean
) -> Callable[[Callable[..., Tensor]], Metric]:
    """Make a metric of the function whose values it takes the mean of.

    Args:
      scope: default name of the scope, where it is not the function's.
      finish: what becomes of the mean.
    """

    def decorate(own: Callable[..., Tensor]) -> Metric:
        default = scope or own.__name__

        def call(given: dict[str, Any]) -> Pair:
            name, collections = given.pop("name"), popped_collections(given)
            weights = given.pop("weights")
            if "labels" in given:
                given["predictions"], given["labels"], weights = fitted(
                    given["predictions"], given["labels"], weights
                )
            value, update = mean(own(**given), weights, name=name or default)
            return collected((finish(value), finish(update)), collections)

        return in_graphs(METRICS.member(own, call, scope=default))

    return decorate


def weighed(values: Tensor, weights: TensorLike) -> tuple[Tensor, Tensor]:
    """Return (values times weights, weights of the shape of the values)."""
    weights = cast(fitted_weights(weights, values), values.dtype.base_dtype)
    weights = broadcast_weights(weights, values)
    return multiply(values, weights), weights


@metric()
def mean(values: Any, weights: Any = None) -> Pair:
    """Return the weighted mean of all values of all runs.

    Args:
      values: [...] number.

    Returns:
      (value, update), both [] float32: the mean so far, from the local variables "total" and
      "count"; and what counts the values of a run and then gives the mean.

    Source: TensorFlow 1.15, ``tf.metrics``.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.placeholder(tf.float32, [None])
    ...     value, update = tf.metrics.mean(x)
    ...     sess.run(tf.local_variables_initializer())
    ...     _ = sess.run(update, {x: [1.0, 2.0]}), sess.run(update, {x: [6.0]})
    ...     float(sess.run(value))
    3.0
    """
    values = cast(values, dtypes.float32)
    total = metric_variable([], dtypes.float32, "total")
    count = metric_variable([], dtypes.float32, "count")
    if weights is None:
        found = cast(size(values), dtypes.float32)
    else:
        values, weights = weighed(values, weights)
        found = reduce_sum(weights)
    return _mean_of(total, count, reduce_sum(values), found, values)


def _mean_of(
    total: Variable, count: Variable, added: Tensor, found: Tensor, values: Tensor
) -> Pair:
    new_total = assign_add(total, added)
    with control_dependencies([values]):
        new_count = assign_add(count, found)
    return ratio(total, count, "value"), ratio(new_total, new_count, "update_op")


@metric("mean")
def mean_tensor(values: Any, weights: Any = None) -> Pair:
    """Return the weighted mean over runs, of each element on its own.

    Args:
      values: [...] number, of known shape.

    Returns:
      (value, update), both [...] float32; its variables are "total_tensor" and "count_tensor".

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.placeholder(tf.float32, [2])
    ...     value, update = tf.metrics.mean_tensor(x)
    ...     sess.run(tf.local_variables_initializer())
    ...     _ = sess.run(update, {x: [1.0, 10.0]}), sess.run(update, {x: [3.0, 20.0]})
    ...     sess.run(value).tolist()
    [2.0, 15.0]
    """
    values = cast(values, dtypes.float32)
    total = metric_variable(values.shape, dtypes.float32, "total_tensor")
    count = metric_variable(values.shape, dtypes.float32, "count_tensor")
    found = ones_like(values)
    if weights is not None:
        values, found = weighed(values, weights)
    return _mean_of(total, count, values, found, values)


@averaged("percentage_below_threshold")
@updated_to("[1.0, 2.0, 3.0, 4.0], 2.5 -> 0.5")
def percentage_below(values: TensorLike, threshold: TensorLike) -> Tensor:
    """Return which part of all values is below `threshold`.

    Args:
      values: [...] number.
      threshold: a number, or of the shape of `values`.
    """
    return cast(less(values, threshold), dtypes.float32)


@averaged()
@updated_to("[1, 2, 3, 4], [1, 2, 3, 0] -> 0.75")
def accuracy(labels: Any, predictions: Any) -> Tensor:
    """Return how often predictions equal labels."""
    return cast(equal(cast(predictions, labels.dtype.base_dtype), labels), dtypes.float32)


@averaged()
@updated_to("[1.0, 2.0], [2.0, 4.0] -> 1.5")
def mean_absolute_error(labels: TensorLike, predictions: TensorLike) -> Tensor:
    """Return the mean of |predictions - labels|."""
    return absolute(subtract(predictions, labels))


@averaged()
@updated_to("[1.0, 2.0], [2.0, 4.0] -> 2.5")
def mean_squared_error(labels: TensorLike, predictions: TensorLike) -> Tensor:
    """Return the mean of (predictions - labels)²."""
    return squared_difference(labels, predictions)


@averaged(finish=sqrt)
@updated_to("[0.0, 0.0], [2.0, 2.0] -> 2.0")
def root_mean_squared_error(labels: TensorLike, predictions: TensorLike) -> Tensor:
    """Return the root of the mean of (predictions - labels)²."""
    return squared_difference(labels, predictions)


@averaged()
@updated_to("[1.0, 2.0], [2.0, 4.0], [1.0, 0.0] -> 0.5")
def mean_relative_error(
    labels: TensorLike, predictions: TensorLike, normalizer: TensorLike
) -> Tensor:
    """Return the mean of |predictions - labels| / normalizer, zero where the normalizer is zero.

    Args:
      normalizer: of the shape of `predictions`.
    """
    predictions, normalizer = remove_squeezable_dimensions(predictions, normalizer)
    check_same_shape(predictions, normalizer, "normalizer")
    zero = number(0, normalizer)
    errors = realdiv(absolute(subtract(labels, predictions)), normalizer)
    return where_v2(equal(normalizer, zero), zero, errors)


@averaged(finish=lambda mean: subtract(1.0, mean))
@updated_to("[[1.0, 0.0]], [[0.6, 0.8]], dim=1 -> 0.4")
def mean_cosine_distance(labels: TensorLike, predictions: TensorLike, dim: int) -> Tensor:
    """Return one minus the mean of sum(predictions * labels) along an axis.

    Args:
      dim: the axis of the vectors, which have length one.
    """
    return reduce_sum(multiply(predictions, labels), [dim], keepdims=True)
