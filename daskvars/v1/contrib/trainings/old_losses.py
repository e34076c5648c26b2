"""Losses of ``tf.contrib.losses`` and slim: those of the core, with the predictions first.

Weights are those of the core: dimensions equal to those of the losses, or 1; besides, a vector may
weigh the examples of a batch.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from daskvars.dtypes import float32
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.scopes.collections import GraphKeys
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.losses import classification, differences, reduction
from daskvars.ops.array.constant import ones_like, shape as shape_of
from daskvars.ops.array.reshaping import reshape
from daskvars.ops.math.arithmetic import add_n, multiply, square, subtract
from daskvars.ops.math.casting import cast
from daskvars.ops.math.division import div_no_nan
from daskvars.ops.math.reduce import reduce_prod, reduce_sum
from daskvars.ops.nn.activation import relu
from daskvars.surface.signatures import binder
from daskvars.v1.contrib.arg_scopes import add_arg_scope
from daskvars.variables.colocation import owner


def _weights(weights: TensorLike, rank: int | None) -> Tensor:
    """Return weights of examples with a dimension of size 1 for each other one of the losses."""
    weights = convert_to_tensor(weights)
    given = weights.get_shape().ndims
    if rank is None or given is None:
        raise ValueError("the ranks of losses and weights must be known")
    if not 0 < given < rank:
        return weights
    sizes = shape_of(weights)
    return reshape(weights, [*(sizes[i] for i in range(given)), *[1] * (rank - given)])


def _rank(value: Any) -> int | None:
    return convert_to_tensor(value).get_shape().ndims


@add_arg_scope
def add_loss(loss: Tensor, loss_collection: str | None = GraphKeys.LOSSES) -> None:
    """Add a loss to a collection; None for none, also for all losses in an `arg_scope`."""
    reduction.add_loss(loss, loss_collection)


def _added(loss: Tensor) -> Tensor:
    add_loss(loss)
    return loss


def compute_weighted_loss(
    losses: TensorLike, weights: TensorLike = 1.0, scope: str | None = None
) -> Tensor:
    """Return the mean of the losses whose weights are not zero, and add it to the losses.

    Args:
      losses: [batch, ...] floating.
      weights: a number, one for each example, or one for each loss.
      scope: name scope.
    """
    spread = _weights(weights, _rank(losses))
    return _added(reduction.compute_weighted_loss(losses, spread, scope, None))


def _of_predictions(loss: Callable[..., Tensor], order: str, rest: str = "") -> Any:
    """Return a loss of the core that takes the predictions first, and weights of examples.

    Args:
      order: names of predictions and labels.
      rest: its other arguments, after the weights.
    """
    theirs = inspect.signature(loss).parameters
    plain = inspect.Parameter.POSITIONAL_OR_KEYWORD
    names = [*order.split(), "weights", *rest.split(), "scope"]
    parameters = [inspect.Parameter(n, plain, default=theirs[n].default) for n in names]
    signature = inspect.Signature(parameters)
    bound = binder(loss.__name__, signature)

    def with_predictions_first(*args: Any, **kwargs: Any) -> Tensor:
        given = bound(args, kwargs)
        rank = _rank(given[names[0]])
        weights = given.pop("weights")
        of_classes = "softmax" in loss.__name__
        spread = _of_examples(weights) if of_classes else _weights(weights, rank)
        return _added(loss(**given, weights=spread, loss_collection=None))

    with_predictions_first.__name__ = with_predictions_first.__qualname__ = loss.__name__
    with_predictions_first.__signature__ = signature  # type: ignore[attr-defined]
    with_predictions_first.__doc__ = (
        f"Return `losses.{loss.__name__}`, which takes the arguments in another order."
    )
    return with_predictions_first


def _of_examples(weights: TensorLike) -> Tensor:
    """Return weights of examples without a last dimension of size 1."""
    weights = convert_to_tensor(weights)
    return reshape(weights, [-1]) if weights.get_shape().ndims == 2 else weights


absolute_difference = _of_predictions(differences.absolute_difference, "predictions labels")
mean_squared_error = _of_predictions(differences.mean_squared_error, "predictions labels")
log_loss = _of_predictions(classification.log_loss, "predictions labels", "epsilon")
sigmoid_cross_entropy = _of_predictions(
    classification.sigmoid_cross_entropy, "logits multi_class_labels", "label_smoothing"
)
softmax_cross_entropy = _of_predictions(
    classification.softmax_cross_entropy, "logits onehot_labels", "label_smoothing"
)
_one_label = _of_predictions(classification.sparse_softmax_cross_entropy, "logits labels")


def sparse_softmax_cross_entropy(
    logits: TensorLike, labels: TensorLike, weights: TensorLike = 1.0, scope: str | None = None
) -> Tensor:
    """Return `losses.sparse_softmax_cross_entropy`, logits first, of one label an example.

    Args:
      logits: [batch, classes] floating.
      labels: [batch] or [batch, 1] integer.
      weights: a number, or one for each example.
      scope: name scope.
    """
    labels = convert_to_tensor(labels)
    return _one_label(logits, reshape(labels, [shape_of(labels)[0]]), weights, scope)


def cosine_distance(
    predictions: TensorLike,
    labels: TensorLike | None = None,
    axis: int | None = None,
    weights: TensorLike = 1.0,
    scope: str | None = None,
    dim: int | None = None,
) -> Tensor:
    """Return `losses.cosine_distance`, predictions first; `dim` is the old name of `axis`."""
    axis = dim if axis is None else axis
    spread = _weights(weights, _rank(predictions))
    return _added(
        differences.cosine_distance(labels, predictions, axis, spread, scope, loss_collection=None)
    )


def mean_pairwise_squared_error(
    predictions: TensorLike, labels: TensorLike, weights: TensorLike = 1.0, scope: str | None = None
) -> Tensor:
    """Return the mean over pairs of elements of the squared difference of their errors.

    A pair of an element with itself counts too, unlike in `losses.mean_pairwise_squared_error`.

    Args:
      predictions, labels: [batch, ...], of one shape.
      weights: a number, or one for each example.
      scope: name scope, by default "mean_pairwise_squared_error".
    """
    with name_scope(scope, "mean_pairwise_squared_error", [predictions, labels, weights]):
        found, wanted = (cast(v, float32) for v in (predictions, labels))
        found.get_shape().assert_is_compatible_with(wanted.get_shape())
        errors = subtract(found, wanted)
        rank = errors.get_shape().ndims
        if rank is None:
            raise ValueError("the rank of the predictions must be known")
        factors = cast(weights, float32)
        factors = reshape(factors, [-1]) if factors.get_shape().ndims else factors
        others = list(range(1, rank))
        count = cast(reduce_prod(shape_of(errors)[1:]), float32)
        of_squares = div_no_nan(reduce_sum(square(errors), others), count)
        of_sums = div_no_nan(square(reduce_sum(errors, others)), square(count))
        return _added(reduce_sum(multiply(multiply(subtract(of_squares, of_sums), 2.0), factors)))


def hinge_loss(logits: TensorLike, labels: TensorLike, scope: str | None = None) -> Tensor:
    """Return the hinge loss of each element: neither reduced nor collected.

    Args:
      logits: [...] floating.
      labels: of their shape, 0 or 1.
      scope: name scope, by default "hinge_loss".

    Raises:
      ValueError: the shapes differ.
    """
    with name_scope(scope, "hinge_loss", [logits, labels]):
        found, wanted = convert_to_tensor(logits), cast(labels, float32)
        found.get_shape().assert_is_compatible_with(wanted.get_shape())
        ones = ones_like(wanted)
        signs = subtract(multiply(wanted, 2.0), ones)
        return relu(subtract(ones, multiply(signs, found)))


def get_losses(scope: str | None = None, loss_collection: str = GraphKeys.LOSSES) -> list[Tensor]:
    """Return the losses collected under names that begin with `scope`."""
    return owner().get_collection(loss_collection, scope)


def get_total_loss(add_regularization_losses: bool = True, name: str = "total_loss") -> Tensor:
    """Return the sum of all losses collected, with those of regularizers unless told otherwise."""
    found = get_losses()
    if add_regularization_losses:
        found += owner().get_collection(GraphKeys.REGULARIZATION_LOSSES)
    return add_n(found, name=name)
