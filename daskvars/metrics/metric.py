"""What a metric is: a value and its update in a scope, arguments that all take, variables."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

from daskvars.dtypes import DTypeLike
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.interpreter import builder_for
from daskvars.graph.scopes.collections import GraphKeys
from daskvars.graph.scopes.context import add_to_collections
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.ops.array.constant import zeros
from daskvars.ops.math.arithmetic import maximum, number
from daskvars.ops.math.division import div_no_nan
from daskvars.surface.signatures import Argument, Family, with_example
from daskvars.variables.scopes.variable_scope import variable_scope
from daskvars.variables.variable import Variable

Pair = tuple[Tensor, Tensor]
Metric = Callable[..., Pair]
Function = TypeVar("Function", bound=Callable[..., Any])

METRICS = Family(
    {
        "labels": Argument("[...] any dtype."),
        "predictions": Argument(
            "of the shape of `labels`, or with a last dimension of size 1 more or less."
        ),
        "weights": Argument(
            "a scalar, or of the rank of the values with dimensions equal to theirs or of size 1; "
            "0 leaves a value out.",
            None,
        ),
        "metrics_collections": Argument(
            "names of collections for the value.", None, "str | Sequence[str] | None"
        ),
        "updates_collections": Argument(
            "names of collections for the update.", None, "str | Sequence[str] | None"
        ),
        "name": Argument('name of the variable scope, by default "{scope}".', None, "str | None"),
    },
    returns="""
        (value, update), both [] float32: the metric so far, from local variables in the scope; and
        what counts the values of a run and then gives the metric.
    """,
    raises="""
        ValueError: the static shapes do not fit.
        RuntimeError: there is no graph.
    """,
    result="Pair",
)


EXAMPLE = """labels, predictions = {labels}
with tf.Graph().as_default(), tf.Session() as sess:
    value, update = tf.metrics.{name}(labels, predictions{others})
    sess.run(tf.local_variables_initializer())
    sess.run(update).tolist() -> {shown}"""

UPDATED = """with tf.Graph().as_default(), tf.Session() as sess:
    value, update = tf.metrics.{name}({arguments})
    sess.run(tf.local_variables_initializer())
    round(float(sess.run(update)), 4) -> {shown}"""


def updated_to(example: str) -> Callable[[Function], Function]:
    """Add an example to the docstring of a metric's function: "arguments -> its update"."""

    def document(own: Function) -> Function:
        arguments, _, shown = example.rpartition(" -> ")
        code = UPDATED.format(name=own.__name__, arguments=arguments, shown=shown)
        own.__doc__ = with_example(own.__doc__ or "", code)
        return own

    return document


def metric(scope: str = "", order: str = "") -> Callable[[Metric], Metric]:
    """Make a metric of the function that gives its (value, update), called in a variable scope.

    Args:
      scope: default name of the scope, where it is not the function's.
      order: names of all arguments, where the metric's own are not first.
    """

    def decorate(own: Metric) -> Metric:
        default = scope or own.__name__

        def call(given: dict[str, Any]) -> Pair:
            name, collections = given.pop("name"), popped_collections(given)
            with variable_scope(name, default, list(given.values())):
                return collected(own(**given), collections)

        return in_graphs(METRICS.member(own, call, order, scope=default))

    return decorate


def in_graphs(function: Metric) -> Metric:
    """Return a metric such that eager code, which has no update operations, gets a clear error."""

    @functools.wraps(function)
    def checked(*args: Any, **kwargs: Any) -> Pair:
        if builder_for((*args, *kwargs.values())).is_eager:
            raise RuntimeError(
                f"{function.__name__} is not supported when eager execution is enabled. "
                "Its update is an operation: build it in a graph, with daskvars.v1."
            )
        return function(*args, **kwargs)

    return checked


def popped_collections(given: dict[str, Any]) -> tuple[Any, Any]:
    """Take the collections for value and update out of a metric's arguments."""
    return given.pop("metrics_collections"), given.pop("updates_collections")


def metric_variable(shape: TensorLike, dtype: DTypeLike, name: str | None = None) -> Variable:
    """Return a variable of zeros in the local and the metric variables."""
    collections = [GraphKeys.LOCAL_VARIABLES, GraphKeys.METRIC_VARIABLES]
    return Variable(
        lambda: zeros(shape, dtype), trainable=False, name=name, collections=collections
    )


def collected(pair: Pair, collections: tuple[Any, Any]) -> Pair:
    """Add a metric's value and update to collections and return both."""
    for tensor, names in zip(pair, collections, strict=True):
        if names:
            add_to_collections(names, tensor)
    return pair


def ratio(total: TensorLike, count: TensorLike, name: str | None = None) -> Tensor:
    """Return total / count, zero where there is nothing yet."""
    count = convert_to_tensor(count)
    return div_no_nan(total, maximum(count, number(0, count)), name=name)
