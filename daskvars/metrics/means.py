"""Means over all runs: sums and counts kept in local variables."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from daskvars import dtypes
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.interpreter import builder_for
from daskvars.graph.scopes.collections import GraphKeys
from daskvars.graph.scopes.context import add_to_collections
from daskvars.graph.tensor import Tensor
from daskvars.ops.array.constant import ones_like, size, zeros
from daskvars.ops.control.dependencies import control_dependencies
from daskvars.ops.math.arithmetic import abs as absolute
from daskvars.ops.math.arithmetic import maximum, multiply, number, squared_difference, subtract
from daskvars.ops.math.casting import cast
from daskvars.ops.math.comparison import equal, less, where_v2
from daskvars.ops.math.division import div_no_nan, realdiv
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
from daskvars.variables.scopes.variable_scope import variable_scope
from daskvars.variables.variable import Variable

Pair = tuple[Tensor, Tensor]


def metric(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a metric such that eager code, which has no update operations, gets a clear error."""

    @functools.wraps(function)
    def in_graphs(*args: Any, **kwargs: Any) -> Any:
        if builder_for((*args, *kwargs.values())).is_eager:
            raise RuntimeError(
                f"tf.metrics.{function.__name__} is not supported when eager execution is enabled. "
                "Its update is an operation: build it in a graph, with daskvars.v1."
            )
        return function(*args, **kwargs)

    return in_graphs


def metric_variable(shape: Any, dtype: Any, name: str | None = None) -> Variable:
    """Return a variable of zeros in the local and the metric variables."""
    return Variable(
        lambda: zeros(shape, dtype),
        trainable=False,
        name=name,
        collections=[GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES],
    )


def collected(
    value: Tensor, update: Tensor, metrics_collections: Any, updates_collections: Any
) -> Pair:
    """Add a metric's value and update to collections and return both."""
    if metrics_collections:
        add_to_collections(metrics_collections, value)
    if updates_collections:
        add_to_collections(updates_collections, update)
    return value, update


def ratio(total: Any, count: Any, name: str | None = None) -> Tensor:
    """Return total / count, zero where there is nothing yet."""
    count = convert_to_tensor(count)
    return div_no_nan(total, maximum(count, number(0, count)), name=name)


def weighed(values: Tensor, weights: Any) -> tuple[Tensor, Tensor]:
    """Return (values times weights, weights of the shape of the values)."""
    weights = cast(fitted_weights(weights, values), values.dtype.base_dtype)
    weights = broadcast_weights(weights, values)
    return multiply(values, weights), weights


@metric
def mean(
    values: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """Return the weighted mean of all values of all runs.

    Args:
      values: [...] number.
      weights: a scalar, or of the rank of `values` with dimensions equal to its or of size 1;
        0 leaves a value out.
      metrics_collections: names of collections for the value.
      updates_collections: names of collections for the update.
      name: name of the variable scope, by default "mean".

    Returns:
      (value, update), both [] float32: the mean so far, from the local variables "total" and
      "count"; and what counts the values of a run and then gives the mean.

    Raises:
      ValueError: the static shapes do not fit.
      RuntimeError: there is no graph.

    Source: TensorFlow 1.15, ``tf.metrics``.

    >>> import daskvars.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     x = tf.placeholder(tf.float32, [None])
    ...     value, update = tf.metrics.mean(x)
    ...     sess.run(tf.local_variables_initializer())
    ...     _ = sess.run(update, {x: [1.0, 2.0]}), sess.run(update, {x: [6.0]})
    ...     float(sess.run(value))
    3.0
    """
    with variable_scope(name, "mean", [values, weights]):
        values = cast(values, dtypes.float32)
        total = metric_variable([], dtypes.float32, "total")
        count = metric_variable([], dtypes.float32, "count")
        if weights is None:
            found = cast(size(values), dtypes.float32)
        else:
            values, weights = weighed(values, weights)
            found = reduce_sum(weights)
        return _mean_of(
            total,
            count,
            reduce_sum(values),
            found,
            (values,),
            metrics_collections,
            updates_collections,
        )


def _mean_of(
    total: Variable,
    count: Variable,
    values: Tensor,
    found: Tensor,
    first: tuple[Tensor, ...],
    metrics_collections: Any,
    updates_collections: Any,
) -> Pair:
    new_total = assign_add(total, values)
    with control_dependencies(first):
        new_count = assign_add(count, found)
    value = ratio(total, count, "value")
    update = ratio(new_total, new_count, "update_op")
    return collected(value, update, metrics_collections, updates_collections)


@metric
def mean_tensor(
    values: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """Return the weighted mean over runs, of each element on its own.

    Args:
      values: [...] number, of known shape.

    See `mean` for the other arguments.

    Returns:
      (value, update), both [...] float32; its variables are "total_tensor" and "count_tensor".
    """
    with variable_scope(name, "mean", [values, weights]):
        values = cast(values, dtypes.float32)
        total = metric_variable(values.shape, dtypes.float32, "total_tensor")
        count = metric_variable(values.shape, dtypes.float32, "count_tensor")
        found = ones_like(values)
        if weights is not None:
            values, found = weighed(values, weights)
        return _mean_of(
            total, count, values, found, (values,), metrics_collections, updates_collections
        )


@metric
def percentage_below(
    values: Any,
    threshold: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """Return which part of all values is below `threshold`. See `mean`."""
    below = cast(less(values, threshold), dtypes.float32)
    return mean(
        below,
        weights,
        metrics_collections,
        updates_collections,
        name or "percentage_below_threshold",
    )


@metric
def accuracy(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """Return how often predictions equal labels.

    Args:
      labels: [...] any dtype.
      predictions: of the shape of `labels`, or with a last dimension of size 1 more or less.

    See `mean` for the other arguments. The scope is called "accuracy".

    >>> import daskvars.v1 as tf
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     value, update = tf.metrics.accuracy([1, 2, 3, 4], [1, 2, 3, 0])
    ...     sess.run(tf.local_variables_initializer())
    ...     float(sess.run(update))
    0.75
    """
    predictions, labels, weights = fitted(predictions, labels, weights)
    predictions = cast(predictions, labels.dtype.base_dtype)
    right = cast(equal(predictions, labels), dtypes.float32)
    return mean(right, weights, metrics_collections, updates_collections, name or "accuracy")


@metric
def mean_absolute_error(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """Return the mean of |predictions - labels|. See `mean` and `accuracy`."""
    predictions, labels, weights = fitted(predictions, labels, weights)
    errors = absolute(subtract(predictions, labels))
    return mean(
        errors, weights, metrics_collections, updates_collections, name or "mean_absolute_error"
    )


@metric
def mean_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """Return the mean of (predictions - labels)². See `mean` and `accuracy`."""
    predictions, labels, weights = fitted(predictions, labels, weights)
    errors = squared_difference(labels, predictions)
    return mean(
        errors, weights, metrics_collections, updates_collections, name or "mean_squared_error"
    )


@metric
def root_mean_squared_error(
    labels: Any,
    predictions: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """Return the root of the mean of (predictions - labels)². See `mean` and `accuracy`."""
    value, update = mean_squared_error(
        labels, predictions, weights, name=name or "root_mean_squared_error"
    )
    return collected(sqrt(value), sqrt(update), metrics_collections, updates_collections)


@metric
def mean_relative_error(
    labels: Any,
    predictions: Any,
    normalizer: Any,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """Return the mean of |predictions - labels| / normalizer, zero where the normalizer is zero.

    Args:
      normalizer: of the shape of `predictions`.

    See `mean` and `accuracy` for the other arguments.
    """
    predictions, labels, weights = fitted(predictions, labels, weights)
    predictions, normalizer = remove_squeezable_dimensions(predictions, normalizer)
    check_same_shape(predictions, normalizer, "normalizer")
    zero = number(0, normalizer)
    errors = realdiv(absolute(subtract(labels, predictions)), normalizer)
    errors = where_v2(equal(normalizer, zero), zero, errors)
    return mean(
        errors, weights, metrics_collections, updates_collections, name or "mean_relative_error"
    )


@metric
def mean_cosine_distance(
    labels: Any,
    predictions: Any,
    dim: int,
    weights: Any = None,
    metrics_collections: Any = None,
    updates_collections: Any = None,
    name: str | None = None,
) -> Pair:
    """Return one minus the mean of sum(predictions * labels) along an axis.

    Args:
      dim: the axis of the vectors, which have length one.

    See `mean` and `accuracy` for the other arguments.
    """
    predictions, labels, weights = fitted(predictions, labels, weights)
    cosines = reduce_sum(multiply(predictions, labels), [dim], keepdims=True)
    value, update = mean(cosines, weights, name=name or "mean_cosine_distance")
    return collected(
        subtract(1.0, value), subtract(1.0, update), metrics_collections, updates_collections
    )
