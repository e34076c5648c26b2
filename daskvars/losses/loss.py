"""What a loss is: values for each element, weighted and reduced; the arguments of all of them."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from daskvars import dtypes
from daskvars.graph.scopes.collections import GraphKeys
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.losses.reduction import Reduction, compute_weighted_loss
from daskvars.ops.math.casting import cast
from daskvars.ops.nn.weighting import check_same_shape
from daskvars.surface.signatures import Argument, Family

LOSSES = Family(
    {
        "labels": Argument("[batch, ...] number, what is wanted."),
        "predictions": Argument("of the shape of `labels`."),
        "logits": Argument("of the shape of the labels, floating."),
        "weights": Argument(
            "a number, or a tensor of the rank of the losses with dimensions equal to theirs or of "
            "size 1.",
            1.0,
        ),
        "scope": Argument(
            'name scope of the operations, by default "{scope}".', None, "str | None"
        ),
        "loss_collection": Argument(
            "name of the collection that it is added to; None for none.",
            GraphKeys.LOSSES,
            "str | None",
        ),
        "reduction": Argument(
            "one of `Reduction`, by default the mean over the weights that are not zero.",
            Reduction.SUM_BY_NONZERO_WEIGHTS,
            "str",
        ),
    },
    returns="[] float32; with `Reduction.NONE` [batch, ...], the weighted losses.",
    raises="ValueError: labels or {predictions} are None, or the static shapes do not fit.",
    result="Tensor",
)

Loss = Callable[..., Tensor]


def as_floats(labels: Any, predictions: Any, weights: TensorLike, name: str) -> tuple:
    """Return labels and predictions as float32, and the weights.

    Raises:
      ValueError: the shapes differ; `name` is that of the predictions.
    """
    predictions, labels = (cast(value, dtypes.float32) for value in (predictions, labels))
    check_same_shape(predictions, labels, name)
    return labels, predictions, weights


def loss(
    scope: str = "", order: str = "", convert: Callable[..., tuple] = as_floats
) -> Callable[[Callable[..., Tensor]], Loss]:
    """Make a loss of the function that gives one value for each element.

    Args:
      scope: default name of its scope, where it is not the function's.
      order: names of all arguments, where the loss's own are not first.
      convert: function of labels, predictions, weights and the name of the predictions that gives
        the first three as the loss takes them.
    """

    def decorate(own: Callable[..., Tensor]) -> Loss:
        default = scope or own.__name__
        first, second = list(inspect.signature(own).parameters)[:2]

        def call(given: dict[str, Any]) -> Tensor:
            weights, name = given.pop("weights"), given.pop("scope")
            collection, reduction = given.pop("loss_collection"), given.pop("reduction")
            labels, predictions = given[first], given[second]
            check_given(**{first: labels, second: predictions})
            with name_scope(name, default, [predictions, labels, weights]) as full:
                given[first], given[second], weights = convert(labels, predictions, weights, second)
                return compute_weighted_loss(own(**given), weights, full, collection, reduction)

        return LOSSES.member(own, call, order, scope=default, predictions=second)

    return decorate


def check_given(**given: Any) -> None:
    """Raise ValueError for an argument that is None."""
    for name, value in given.items():
        if value is None:
            raise ValueError(f"{name} must not be None.")
