"""Losses of sequences: ``contrib.seq2seq``, ``legacy_seq2seq``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.ops.array.constant import shape as shape_of
from daskvars.ops.array.reshaping import reshape
from daskvars.ops.math.arithmetic import add, add_n, multiply
from daskvars.ops.math.casting import cast
from daskvars.ops.math.division import divide
from daskvars.ops.math.reduce import reduce_sum
from daskvars.ops.nn.loss import sparse_softmax_cross_entropy_with_logits
from daskvars.surface.signatures import with_arguments_in_order

_TINY = 1e-12  # to avoid division by zero weights


def _cross_entropy(labels: Any, logits: Any) -> Tensor:
    return sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)


def sequence_loss(
    logits: TensorLike,
    targets: TensorLike,
    weights: TensorLike,
    average_across_timesteps: bool = True,
    average_across_batch: bool = True,
    softmax_loss_function: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Tensor:
    """Return the weighted cross-entropy of sequences of classes. ``contrib.seq2seq``'s.

    Args:
      logits: [batch, length, classes] floating.
      targets: [batch, length] integer.
      weights: [batch, length] floating, 0 for steps that do not count.
      average_across_timesteps: whether steps are summed and divided by their weights.
      average_across_batch: whether sequences are.
      softmax_loss_function: ``function(labels=, logits=)`` in place of the cross-entropy.
      name: name scope, by default "sequence_loss".

    Returns:
      [] floating; [batch], [length] or [batch, length] where less is averaged.

    Raises:
      ValueError: the ranks are not as described.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     logits, targets = tf.zeros([2, 3, 4]), [[0] * 3] * 2
    ...     loss = tf.contrib.seq2seq.sequence_loss(logits, targets, tf.ones([2, 3]))
    ...     round(float(sess.run(loss)), 4)
    1.3863
    """
    logits, targets, weights = (convert_to_tensor(v) for v in (logits, targets, weights))
    for value, rank, what in (
        (logits, 3, "Logits must be a [batch_size x sequence_length x logits] tensor"),
        (targets, 2, "Targets must be a [batch_size x sequence_length] tensor"),
        (weights, 2, "Weights must be a [batch_size x sequence_length] tensor"),
    ):
        if value.get_shape().ndims != rank:
            raise ValueError(f"{what}, got shape {value.get_shape()}")
    with name_scope(name, "sequence_loss", [logits, targets, weights]):
        classes = shape_of(logits)[2]
        flat = (softmax_loss_function or _cross_entropy)(
            labels=reshape(targets, [-1]), logits=reshape(logits, [-1, classes])
        )
        weighted = multiply(flat, reshape(weights, [-1]))
        if average_across_timesteps and average_across_batch:
            return divide(reduce_sum(weighted), add(reduce_sum(weights), _TINY))
        losses = reshape(weighted, shape_of(logits)[0:2])
        for axis, is_averaged in ((1, average_across_timesteps), (0, average_across_batch)):
            if is_averaged:
                total = add(reduce_sum(weights, axis=axis), _TINY)
                return divide(reduce_sum(losses, axis=axis), total)
        return losses


def sequence_loss_by_example(
    logits: Sequence[Any],
    targets: Sequence[Any],
    weights: Sequence[Any],
    average_across_timesteps: bool = True,
    softmax_loss_function: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Tensor:
    """Return the weighted cross-entropy of each sequence. ``contrib.legacy_seq2seq``'s.

    Args:
      logits: a [batch, classes] for each step.
      targets: a [batch] integer for each step.
      weights: a [batch] floating for each step.
      average_across_timesteps: whether the sum is divided by that of the weights.
      softmax_loss_function: ``function(labels=, logits=)`` in place of the cross-entropy.
      name: name scope, by default "sequence_loss_by_example".

    Raises:
      ValueError: the lists are of different lengths.
    """
    if not len(logits) == len(targets) == len(weights):
        raise ValueError(
            "Lengths of logits, weights, and targets must be the same "
            f"{len(logits)}, {len(weights)}, {len(targets)}."
        )
    with name_scope(name, "sequence_loss_by_example", [*logits, *targets, *weights]):
        loss = softmax_loss_function or _cross_entropy
        steps = [
            multiply(loss(labels=reshape(target, [-1]), logits=logit), weight)
            for logit, target, weight in zip(logits, targets, weights, strict=True)
        ]
        total = add_n(steps)
        if not average_across_timesteps:
            return total
        return divide(total, add(add_n([convert_to_tensor(w) for w in weights]), _TINY))


@with_arguments_in_order(
    "logits targets weights average_across_timesteps average_across_batch softmax_loss_function "
    "name",
    sequence_loss_by_example,
)
def legacy_sequence_loss(
    targets: Sequence[Any], name: str | None, average_across_batch: bool = True, **arguments: Any
) -> Tensor:
    """Return the sum over a batch of `sequence_loss_by_example`, or the mean.

    Args:
      average_across_batch: whether it is the mean.
      name: name scope, by default "sequence_loss".
    """
    given = [*arguments["logits"], *targets, *arguments["weights"]]
    with name_scope(name, "sequence_loss", given):
        cost = reduce_sum(sequence_loss_by_example(targets=targets, **arguments))
        if not average_across_batch:
            return cost
        return divide(cost, cast(shape_of(targets[0])[0], cost.dtype))
