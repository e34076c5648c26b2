"""Regularizers: functions of a variable that give a scalar loss, or None for no loss.

`get_variable` puts what they give into the collection of regularization losses.
"""

from __future__ import annotations

import numbers
from collections.abc import Callable, Sequence
from typing import Any

from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.scopes.collections import GraphKeys
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.ops.array import constant as constants
from daskvars.ops.math.arithmetic import abs as absolute, add_n, multiply, square
from daskvars.ops.math.reduce import reduce_sum
from daskvars.surface.signatures import with_arguments_of
from daskvars.variables.colocation import owner

Regularizer = Callable[[Any], Tensor | None]


def l1_regularizer(scale: float, scope: str | None = None) -> Regularizer:
    """Give ``scale * sum(abs(weights))``.

    Args:
      scale: factor, 0.0 for no loss at all.
      scope: name scope of the ops.

    Raises:
      ValueError: `scale` is an integer or negative.

    >>> float(l1_regularizer(0.5)(dv.constant([1.0, -2.0])))
    1.5
    """
    return _norm("l1", 1.0, absolute, scale, scope)


@with_arguments_of(l1_regularizer)
def l2_regularizer(**arguments: Any) -> Regularizer:
    """Give ``scale * sum(weights ** 2) / 2``.

    >>> float(l2_regularizer(0.5)(dv.constant([1.0, 3.0])))
    2.5
    """
    return _norm("l2", 0.5, square, **arguments)


def _norm(
    kind: str, factor: float, of: Callable[[Any], Tensor], scale: float, scope: str | None
) -> Regularizer:
    if _checked_scale(scale) == 0.0:
        return _no_loss

    def regularizer(weights: TensorLike, name: str | None = None) -> Tensor:
        with name_scope(scope, f"{kind}_regularizer", [weights]):
            return multiply(_scale_for(weights, factor * scale), reduce_sum(of(weights)), name=name)

    regularizer.__name__ = regularizer.__qualname__ = kind
    return regularizer


def l1_l2_regularizer(
    scale_l1: float = 1.0, scale_l2: float = 1.0, scope: str | None = None
) -> Regularizer:
    """Give the sum of both; see `l1_regularizer` and `l2_regularizer`.

    Args:
      scale_l1: the factor of the sum of absolute values, 0 for none.
      scale_l2: the factor of half the sum of squares, 0 for none.
      scope: name scope of the operations, by default "l1_l2_regularizer".

    Returns:
      A function of a tensor that gives a scalar of its dtype.

    Raises:
      ValueError: a scale is an int or negative.

    >>> float(l1_l2_regularizer(1.0, 0.5)(dv.constant([-2.0, 4.0])))
    11.0
    """
    scope = scope or "l1_l2_regularizer"
    return _sum([l1_regularizer(scale_l1), l2_regularizer(scale_l2)], scope)


def sum_regularizer(
    regularizer_list: Sequence[Regularizer | None], scope: str | None = None
) -> Regularizer | None:
    """Give the sum of what `regularizer_list` gives; None entries are left out, None if all are.

    Args:
      regularizer_list: functions of a tensor that give a scalar.
      scope: name scope of the operations.

    >>> both = sum_regularizer([l1_regularizer(1.0), None, l2_regularizer(0.5)])
    >>> float(both(dv.constant([-2.0, 4.0]))), sum_regularizer([None])
    (11.0, None)
    """
    regularizers = [r for r in regularizer_list if r is not None]
    return _sum(regularizers, scope) if regularizers else None


def _sum(regularizers: Sequence[Regularizer], scope: str | None) -> Regularizer:
    def total(weights: TensorLike) -> Tensor | None:
        with name_scope(scope, "sum_regularizer", [weights]) as name:
            losses = [loss for r in regularizers if (loss := r(weights)) is not None]
            return add_n(losses, name=name) if losses else None

    return total


def apply_regularization(
    regularizer: Regularizer, weights_list: Sequence[Any] | None = None
) -> Tensor:
    """Return the summed loss of all weights, and put it into the regularization losses.

    Args:
      regularizer: function of one tensor or variable.
      weights_list: what to apply it to, by default the collection of weights.

    Returns:
      [] of the dtype of the weights; zero, float32, where there are none.

    Raises:
      ValueError: a loss is not scalar.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     penalty = tf.contrib.layers.l2_regularizer(0.5)
    ...     total = tf.contrib.layers.apply_regularization(penalty, [tf.constant([2.0, 4.0])])
    ...     float(sess.run(total)), total in tf.losses.get_regularization_losses()
    (5.0, True)
    """
    builder = owner()
    if not weights_list:
        weights_list = builder.get_collection(GraphKeys.WEIGHTS)
    with name_scope("get_regularization_penalty", values=tuple(weights_list)) as scope:
        losses = [loss for w in weights_list if (loss := regularizer(w)) is not None]
        for loss in losses:
            if loss.get_shape().ndims not in (None, 0):
                raise ValueError(
                    f"regularizer must return a scalar Tensor instead of a Tensor with rank "
                    f"{loss.get_shape().ndims}: {loss!r}"
                )
        total = add_n(losses, name=scope) if losses else constants.constant(0.0)
    builder.add_to_collection(GraphKeys.REGULARIZATION_LOSSES, total)
    return total


def _checked_scale(scale: float) -> float:
    if isinstance(scale, numbers.Integral):
        raise ValueError(f"scale cannot be an integer: {scale}")
    if scale < 0.0:
        raise ValueError(f"Setting a scale less than 0 on a regularizer: {scale:g}")
    return scale


def _scale_for(weights: Any, scale: float) -> Tensor:
    return convert_to_tensor(scale, weights.dtype.base_dtype, "scale")


def _no_loss(weights: Any) -> None:
    return None
