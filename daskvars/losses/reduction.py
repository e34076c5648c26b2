"""What becomes of losses: weighting, reduction to a scalar, and the collection of losses."""

from __future__ import annotations

from typing import Any

from daskvars import dtypes
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.interpreter import builder_for
from daskvars.graph.scopes.collections import GraphKeys
from daskvars.graph.scopes.context import add_to_collection, get_collection
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.ops.array.constant import constant, ones_like, size
from daskvars.ops.control.dependencies import control_dependencies
from daskvars.ops.math.arithmetic import add_n, multiply
from daskvars.ops.math.casting import cast
from daskvars.ops.math.comparison import not_equal
from daskvars.ops.math.division import div_no_nan
from daskvars.ops.math.reduce import reduce_sum
from daskvars.ops.nn.weighting import assert_broadcastable, broadcast_weights


class Reduction:
    """What becomes of the weighted losses.

    - `NONE`: nothing, they are returned as they are
    - `SUM`: their sum
    - `MEAN`: the sum divided by the sum of the weights
    - `SUM_OVER_BATCH_SIZE`: the sum divided by the number of losses
    - `SUM_BY_NONZERO_WEIGHTS`: the sum divided by the number of weights that are not zero

    Source: TensorFlow 1.15, ``tf.losses.Reduction``.

    >>> labels, found, weights = [1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 1.0, 0.0]
    >>> for kind in (dv.losses.Reduction.SUM, dv.losses.Reduction.SUM_BY_NONZERO_WEIGHTS):
    ...     float(dv.losses.absolute_difference(labels, found, weights, reduction=kind))
    3.0
    1.5
    """

    NONE = "none"
    SUM = "weighted_sum"
    SUM_OVER_BATCH_SIZE = "weighted_sum_over_batch_size"
    MEAN = "weighted_mean"
    SUM_BY_NONZERO_WEIGHTS = "weighted_sum_by_nonzero_weights"
    SUM_OVER_NONZERO_WEIGHTS = SUM_BY_NONZERO_WEIGHTS

    @classmethod
    def all(cls) -> tuple[str, ...]:
        """Return the reductions that there are."""
        return (cls.NONE, cls.SUM, cls.MEAN, cls.SUM_OVER_BATCH_SIZE, cls.SUM_BY_NONZERO_WEIGHTS)

    @classmethod
    def validate(cls, key: Any) -> None:
        """Raise ValueError if `key` is no reduction."""
        if key not in cls.all():
            raise ValueError(f"Invalid ReductionKey {key}. Use one of {', '.join(cls.all())}.")


# -- the collection ----------------------------------------------------------------------------


def add_loss(loss: Tensor, loss_collection: str | None = GraphKeys.LOSSES) -> None:
    """Add a loss to a collection of the graph being built; eager code collects nothing.

    Args:
      loss: a tensor, as a rule [].
      loss_collection: name of the collection; None adds it to none.

    Source: TensorFlow 1.15, ``tf.losses.add_loss``.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     tf.losses.add_loss(tf.constant(2.0))
    ...     float(sess.run(tf.losses.get_total_loss()))
    2.0
    """
    if loss_collection and not builder_for((loss,)).is_eager:
        add_to_collection(loss_collection, loss)


def get_losses(scope: str | None = None, loss_collection: str = GraphKeys.LOSSES) -> list[Any]:
    """Return the losses collected.

    Args:
      scope: a regular expression that their names must begin with.
      loss_collection: name of the collection.

    Returns:
      A list of tensors, in the order in which they were made; empty in eager code.

    Source: TensorFlow 1.15, ``tf.losses.get_losses``.

    >>> with tf.Graph().as_default():
    ...     loss = tf.losses.mean_squared_error([1.0], [3.0], scope="error")
    ...     tf.losses.get_losses(scope="err") == [loss], tf.losses.get_losses(scope="other")
    (True, [])
    """
    return get_collection(loss_collection, scope)


def get_regularization_losses(scope: str | None = None) -> list[Any]:
    """Return the losses that regularizers of variables made. See `get_losses`.

    Args:
      scope: a regular expression that their names must begin with.

    Returns:
      A list of tensors, one for each variable that has a regularizer.

    Source: TensorFlow 1.15, ``tf.losses.get_regularization_losses``.

    >>> with tf.Graph().as_default():
    ...     w = tf.get_variable("w", [2], regularizer=tf.reduce_sum)
    ...     [loss.name for loss in tf.losses.get_regularization_losses()]
    ['w/Regularizer/Sum:0']
    """
    return get_collection(GraphKeys.REGULARIZATION_LOSSES, scope)


def get_regularization_loss(
    scope: str | None = None, name: str = "total_regularization_loss"
) -> Tensor:
    """Return the sum of the regularization losses, [] float32; zero if there are none.

    Args:
      scope: a regular expression that the losses' names must begin with.
      name: name of the operation.

    Source: TensorFlow 1.15, ``tf.losses.get_regularization_loss``.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     kind = {"initializer": tf.ones_initializer(), "regularizer": tf.reduce_sum}
    ...     for name in ("a", "b"):
    ...         w = tf.get_variable(name, [2], **kind)
    ...     sess.run(tf.global_variables_initializer())
    ...     float(sess.run(tf.losses.get_regularization_loss()))
    4.0
    """
    losses = get_regularization_losses(scope)
    return add_n(losses, name=name) if losses else constant(0.0)


def get_total_loss(
    add_regularization_losses: bool = True, name: str = "total_loss", scope: str | None = None
) -> Tensor:
    """Return the sum of all losses collected.

    Args:
      add_regularization_losses: count those that regularizers made, too.
      name: name of the operation.
      scope: a regular expression that the names of the losses must begin with.

    Returns:
      [] of the dtype of the losses.

    Raises:
      ValueError: there are none.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     tf.losses.add_loss(tf.constant(2.0))
    ...     float(sess.run(tf.losses.get_total_loss()))
    2.0
    """
    losses = get_losses(scope=scope)
    if add_regularization_losses:
        losses += get_regularization_losses(scope=scope)
    return add_n(losses, name=name)


# -- weighting ---------------------------------------------------------------------------------


def _num_elements(losses: Tensor) -> Tensor:
    with name_scope(None, "num_elements", [losses]) as scope:
        return cast(size(losses, name=scope), losses.dtype.base_dtype)


def _num_present(losses: Tensor, weights: Any) -> Tensor:
    if isinstance(weights, float) and weights != 0.0:
        return _num_elements(losses)
    with name_scope(None, "num_present", [losses, weights]) as scope:
        return reduce_sum(present(losses, weights), name=scope)


def present(losses: Tensor, weights: TensorLike) -> Tensor:
    """Return ones where the weight is not zero and zeros elsewhere, of the shape of `losses`."""
    counted = cast(not_equal(cast(weights, dtypes.float32), 0.0), dtypes.float32)
    return broadcast_weights(counted, losses)


def compute_weighted_loss(
    losses: Any,
    weights: Any = 1.0,
    scope: str | None = None,
    loss_collection: str | None = GraphKeys.LOSSES,
    reduction: str = Reduction.SUM_BY_NONZERO_WEIGHTS,
) -> Tensor:
    """Weigh losses, reduce them and add the result to a collection.

    Args:
      losses: [batch, ...] number.
      weights: a scalar, or of the rank of `losses` with dimensions equal to its or of size 1.
      scope: name scope of the operations, by default "weighted_loss".
      loss_collection: name of the collection, None for none.
      reduction: one of `Reduction`.

    Returns:
      [] of the dtype of `losses`, or with `Reduction.NONE` the weighted losses. It is computed in
      float32.

    Raises:
      ValueError: the weights do not fit, or there is no such reduction.
      InvalidArgumentError: (when run) the weights do not fit.

    >>> float(compute_weighted_loss([1.0, 2.0, 5.0], weights=[1.0, 1.0, 0.0]))
    1.5
    """
    Reduction.validate(reduction)
    with (
        name_scope(scope, "weighted_loss", [losses, weights]),
        control_dependencies([assert_broadcastable(weights, losses)]),
    ):
        losses = convert_to_tensor(losses)
        dtype = losses.dtype.base_dtype
        losses = cast(losses, dtypes.float32)
        loss = losses
        if not isinstance(weights, float) or weights != 1.0:
            loss = multiply(losses, cast(weights, dtypes.float32))
        if reduction != Reduction.NONE:
            loss = _reduced(reduce_sum(loss), losses, weights, reduction)
        loss = cast(loss, dtype)
        add_loss(loss, loss_collection)
        return loss


def _reduced(total: Tensor, losses: Tensor, weights: Any, reduction: str) -> Tensor:
    if reduction == Reduction.SUM:
        return total
    if reduction == Reduction.MEAN:
        count = reduce_sum(multiply(ones_like(losses), cast(weights, dtypes.float32)))
    elif reduction == Reduction.SUM_OVER_BATCH_SIZE:
        count = _num_elements(losses)
    else:
        count = _num_present(losses, weights)
    return div_no_nan(total, count, name="value")
