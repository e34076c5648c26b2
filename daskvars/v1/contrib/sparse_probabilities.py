"""Probabilities of which most are zero: `tf.contrib.sparsemax`."""

from __future__ import annotations

import math

from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.ops.array.constant import size_along, zeros_like
from daskvars.ops.array.ranges import range as range_of
from daskvars.ops.gather_scatter.gather import gather
from daskvars.ops.math.arithmetic import maximum
from daskvars.ops.math.casting import cast
from daskvars.ops.math.comparison import equal, is_inf, is_nan, logical_and, logical_or, where_v2
from daskvars.ops.math.reduce import reduce_sum
from daskvars.ops.math.scans import cumsum
from daskvars.ops.nn.ranking import top_k

__all__ = ["sparsemax", "sparsemax_loss"]


def sparsemax(logits: TensorLike, name: str | None = None) -> Tensor:
    """Return the probabilities nearest to `logits`: what is far below the largest is zero.

    Args:
      logits: [batch, classes], floats.
      name: name scope of the operations, by default "sparsemax".

    Returns:
      [batch, classes], of the dtype of `logits`. A row with infinity or NaN, or with nothing but
      minus infinity, is NaN.

    Source: Martins and Astudillo, "From Softmax to Sparsemax", 2016, algorithm 1.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     sess.run(tf.contrib.sparsemax.sparsemax([[1.0, 0.5, -1.0]])).tolist()
    [[0.75, 0.25, 0.0]]
    """
    with name_scope(name, "sparsemax", [logits]):
        logits = convert_to_tensor(logits, name="logits")
        classes = size_along(logits, 1)
        ordered, _ = top_k(logits, k=classes)
        sums = cumsum(ordered, axis=1)
        place = cast(range_of(1, classes + 1), logits.dtype)
        count = reduce_sum(cast(1 + place * ordered > sums, "int32"), axis=1, keepdims=True)
        total = gather(sums, maximum(count, 1) - 1, axis=1, batch_dims=1)
        threshold = (total - 1) / cast(maximum(count, 1), logits.dtype)
        invalid = logical_or(equal(count, 0), is_nan(sums[:, -1:]))
        return where_v2(invalid, math.nan, maximum(logits - threshold, 0))


def sparsemax_loss(
    logits: TensorLike, sparsemax: TensorLike, labels: TensorLike, name: str | None = None
) -> Tensor:
    """Return the loss whose gradient is what `sparsemax` is above the labels.

    Args:
      logits: [batch, classes], floats.
      sparsemax: what `sparsemax` gives for them.
      labels: [batch, classes], probabilities.
      name: name scope of the operations, by default "sparsemax_loss".

    Returns:
      [batch], of the dtype of `logits`.

    Source: Martins and Astudillo, "From Softmax to Sparsemax", 2016, equation 26.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     logits = tf.constant([[1.0, 0.5, -1.0]])
    ...     near = tf.contrib.sparsemax.sparsemax(logits)
    ...     loss = tf.contrib.sparsemax.sparsemax_loss(logits, near, [[1.0, 0.0, 0.0]])
    ...     sess.run(loss).tolist()
    [0.0625]
    """
    with name_scope(name, "sparsemax_loss", [logits, sparsemax, labels]):
        logits = convert_to_tensor(logits, name="logits")
        found = convert_to_tensor(sparsemax, name="sparsemax")
        labels = convert_to_tensor(labels, name="labels")
        # Zeros times infinite logits are no loss.
        supported = logical_or(found > 0, is_nan(found))
        reached = where_v2(supported, found * (logits - 0.5 * found), zeros_like(found))
        unmeant = logical_and(equal(labels, 0), is_inf(logits))
        missed = where_v2(unmeant, zeros_like(logits), labels * (0.5 * labels - logits))
        return reduce_sum(reached + missed, axis=1)
