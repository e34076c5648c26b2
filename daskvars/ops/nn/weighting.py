"""Labels, predictions and weights brought to shapes that fit each other.

Losses and metrics take a weight for everything, for each element, or for each slice of size one;
and they take labels, predictions and weights that differ by a last dimension of size one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from daskvars import shapes
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import Spec, without_gradient
from daskvars.graph.definitions.patterns import Opaque
from daskvars.graph.interpreter import apply_op
from daskvars.graph.records import attribute_kinds as kinds_of
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.kernels.control import checks as check_kernels
from daskvars.ops.array.constant import ones_like, rank, shape
from daskvars.ops.array.reshaping import expand_dims, squeeze
from daskvars.ops.control.cond import cond
from daskvars.ops.control.dependencies import control_dependencies, no_op
from daskvars.ops.math.arithmetic import multiply, subtract
from daskvars.ops.math.comparison import equal


def _broadcastable(
    inputs: Sequence[Spec], *, weights_shape: Any, values_shape: Any, operands: Sequence[str] = ()
) -> tuple[Spec, ...]:
    problem = None if operands else check_kernels.weights_problem(weights_shape, values_shape)
    if problem:
        raise ValueError(problem)
    return ()


# The shapes are attributes, so that a run whose feeds do not fit is told of the weights, and not
# of the product that comes after.
ASSERT_BROADCASTABLE = without_gradient(
    "AssertBroadcastable",
    "",
    infer=_broadcastable,
    kernel=check_kernels.broadcastable,
    pattern=Opaque(pure=False, only_checks=True),
    operands=("weights_shape", "values_shape"),
    attributes={"weights_shape": kinds_of.SIZES, "values_shape": kinds_of.SIZES},
)


def assert_broadcastable(weights: TensorLike, values: TensorLike) -> Operation:
    """Return an operation that checks that weights fit values.

    Args:
      weights: a scalar, or of the rank of `values` with dimensions equal to its or of size 1.
      values: the tensor that they weigh.

    Returns:
      An Operation; it does nothing where the static shapes decide.

    Raises:
      ValueError: the static shapes do not fit.
      InvalidArgumentError: (when run) the shapes do not fit.
    """
    with name_scope(None, "assert_broadcastable", [weights, values]) as scope:
        weights = convert_to_tensor(weights, name="weights")
        values = convert_to_tensor(values, name="values")
        ours, theirs = weights.spec.shape, values.spec.shape
        if ours == ():
            return no_op(name="static_scalar_check_success")
        if ours is not None and theirs is not None:
            problem = check_kernels.weights_problem(ours, theirs)
            if problem:
                raise ValueError(problem)
            if shapes.is_known(ours) and shapes.is_known(theirs):
                return no_op(name="static_dims_check_success")
        sizes = {"weights_shape": shape(weights), "values_shape": shape(values)}
        return apply_op(ASSERT_BROADCASTABLE, name=scope, **sizes)


def broadcast_weights(weights: TensorLike, values: TensorLike) -> Tensor:
    """Return weights of the shape of `values`. See `assert_broadcastable`."""
    with name_scope(None, "broadcast_weights", [weights, values]) as scope:
        values = convert_to_tensor(values, name="values")
        weights = convert_to_tensor(weights, values.dtype.base_dtype, name="weights")
        known = shapes.is_known(weights.spec.shape) and shapes.is_known(values.spec.shape)
        if known and weights.spec.shape == values.spec.shape:
            return weights
        with control_dependencies([assert_broadcastable(weights, values)]):
            return multiply(weights, ones_like(values), name=scope)


def _may_end_in_one(tensor: Tensor) -> bool:
    known = tensor.spec.shape
    return known is None or (len(known) > 0 and known[-1] in (1, None))


def _where_rank_differs(
    difference: Tensor, by: int, tensor: Tensor, change: Callable[[Tensor], Tensor]
) -> Tensor:
    """Return ``change(tensor)`` if, when run, `difference` is `by`, else `tensor`."""
    return cond(equal(difference, by), lambda: change(tensor), lambda: tensor)


def _squeezed(tensor: Tensor) -> Tensor:
    return squeeze(tensor, [-1])


def _expanded(tensor: Tensor) -> Tensor:
    return expand_dims(tensor, -1)


def remove_squeezable_dimensions(
    labels: TensorLike,
    predictions: TensorLike,
    expected_rank_diff: int = 0,
    name: str | None = None,
) -> tuple[Tensor, Tensor]:
    """Drop a last dimension of size 1 from one of two tensors where it has one rank too many.

    Args:
      labels: any tensor.
      predictions: any tensor.
      expected_rank_diff: what the rank of `predictions` is to have more than that of `labels`.
      name: name scope of the operations, by default "remove_squeezable_dimensions".

    Returns:
      (labels, predictions), as they are where neither can be dropped from.
    """
    with name_scope(name, "remove_squeezable_dimensions", [labels, predictions]):
        predictions, labels = convert_to_tensor(predictions), convert_to_tensor(labels)
        more, fewer = expected_rank_diff + 1, expected_rank_diff - 1
        if predictions.shape.ndims is not None and labels.shape.ndims is not None:
            found = predictions.shape.ndims - labels.shape.ndims
            if found == more and _may_end_in_one(predictions):
                predictions = _squeezed(predictions)
            elif found == fewer and _may_end_in_one(labels):
                labels = _squeezed(labels)
            return labels, predictions
        difference = subtract(rank(predictions), rank(labels))
        if _may_end_in_one(predictions):
            predictions = _where_rank_differs(difference, more, predictions, _squeezed)
        if _may_end_in_one(labels):
            labels = _where_rank_differs(difference, fewer, labels, _squeezed)
        return labels, predictions


def fitted_weights(weights: TensorLike, values: Tensor, expand: bool = True) -> Tensor:
    """Return weights with a last dimension of size 1 dropped or added, towards the rank of values.

    Scalars stay. With `expand` False nothing is added.
    """
    weights = convert_to_tensor(weights)
    ours, theirs = weights.shape.ndims, values.shape.ndims
    if ours == 0:
        return weights
    if ours is not None and theirs is not None:
        if ours - theirs == 1:
            return _squeezed(weights)
        return _expanded(weights) if expand and theirs - ours == 1 else weights
    difference = subtract(rank(weights), rank(values))

    def adjusted() -> Tensor:
        result = weights
        if expand:
            result = _where_rank_differs(difference, -1, result, _expanded)
        if _may_end_in_one(weights):
            result = cond(equal(difference, 1), lambda: _squeezed(weights), lambda: result)
        return result

    return cond(equal(rank(weights), 0), lambda: weights, adjusted)


def fitted(
    predictions: TensorLike, labels: TensorLike, weights: TensorLike | None = None
) -> tuple[Tensor, Tensor, Tensor | None]:
    """Return (predictions, labels, weights) that fit each other; None stays None.

    Raises:
      ValueError: the static shapes of predictions and labels differ.
    """
    labels, predictions = remove_squeezable_dimensions(labels, predictions)
    check_same_shape(predictions, labels)
    return predictions, labels, None if weights is None else fitted_weights(weights, predictions)


def check_same_shape(predictions: Tensor, labels: Tensor, what: str = "predictions") -> None:
    """Raise ValueError unless the static shapes may be equal."""
    if not shapes.compatible(predictions.spec.shape, labels.spec.shape):
        raise ValueError(
            f"Shapes {predictions.shape} and {labels.shape} are incompatible: {what} and labels "
            "must have one shape"
        )
