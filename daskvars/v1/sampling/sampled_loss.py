"""Losses over many classes that look at the true ones and at a sample of the others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from daskvars.dtypes import int64
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.ops.array.constant import constant, ones_like, zeros_like
from daskvars.ops.array.joining import concat
from daskvars.ops.array.reshaping import expand_dims, reshape, stop_gradient
from daskvars.ops.linalg.products import matmul
from daskvars.ops.math.arithmetic import add, multiply, number, subtract
from daskvars.ops.math.casting import cast
from daskvars.ops.math.comparison import equal, where_v2
from daskvars.ops.math.division import divide
from daskvars.ops.math.reduce import reduce_any, reduce_sum
from daskvars.ops.math.transcendental import log
from daskvars.ops.nn.embedding import embedding_lookup
from daskvars.ops.nn.loss import (
    sigmoid_cross_entropy_with_logits,
    softmax_cross_entropy_with_logits,
)
from daskvars.surface.signatures import Argument, Family
from daskvars.v1.sampling.candidates import log_uniform_candidate_sampler

SAMPLED = Family(
    {
        "weights": Argument(
            "[num_classes, dim] floating, or parts of it: see `embedding_lookup`.", type="Any"
        ),
        "biases": Argument("[num_classes] floating, or parts of it.", type="Any"),
        "labels": Argument("[batch, num_true] int64, the true classes."),
        "inputs": Argument("[batch, dim] floating."),
        "num_sampled": Argument("how many classes are drawn, for the whole batch.", type="int"),
        "num_classes": Argument("the number of classes.", type="int"),
        "num_true": Argument(
            "the number of true classes per example; each has the probability 1 / num_true.",
            1,
            "int",
        ),
        "sampled_values": Argument(
            "what a candidate sampler returns; by default `log_uniform_candidate_sampler` draws "
            "distinct classes, which suits classes in the order of falling frequency.",
            None,
            "Any",
        ),
        "remove_accidental_hits": Argument(
            "do not count drawn classes that are true ones of the example.", False, "bool"
        ),
        "partition_strategy": Argument(
            'how parts of the weights hold the classes, "mod" or "div".', "mod", "str"
        ),
        "name": Argument("name scope of the operations.", type="str | None"),
        "seed": Argument("int, of the default sampler; see `set_random_seed`.", None, "int | None"),
    },
    returns="[batch] of the dtype of `inputs`.",
    raises="""
        ValueError: shapes do not fit, or more classes are to be drawn than there are.
        InvalidArgumentError: (when run) a label is out of range.
    """,
    result="Tensor",
)
ORDER = "weights biases labels inputs num_sampled num_classes num_true sampled_values"


def _sampled(order: str) -> Callable[[Callable[[Tensor, Tensor], Tensor]], Callable[..., Tensor]]:
    """Make a loss of what it does with the logits of true and drawn classes, and the targets."""

    def decorate(loss: Callable[[Tensor, Tensor], Tensor]) -> Callable[..., Tensor]:
        def call(given: dict[str, Any]) -> Tensor:
            return loss(*_logits(**given))

        return SAMPLED.function(
            __name__, loss.__name__, f"{ORDER} {order}", call, loss.__doc__ or ""
        )

    return decorate


@_sampled("remove_accidental_hits partition_strategy name='nce_loss'")
def nce_loss(logits: Tensor, targets: Tensor) -> Tensor:
    """Return the noise-contrastive estimation loss, one number per example.

    Gradient:
      An IndexedSlices for weights and biases: of the true classes and of those drawn.

    Source: Gutmann and Hyvarinen, "Noise-contrastive estimation: A new estimation principle for
    unnormalized statistical models", 2010.

    >>> loss = nce_loss(dv.zeros([9, 4]), dv.zeros([9]), [[3]], dv.ones([1, 4]), 2, 9)
    >>> loss.shape.as_list()
    [1]
    """
    losses = sigmoid_cross_entropy_with_logits(labels=targets, logits=logits, name="sampled_losses")
    return reduce_sum(losses, -1)


@_sampled("remove_accidental_hits=True partition_strategy name='sampled_softmax_loss' seed")
def sampled_softmax_loss(logits: Tensor, targets: Tensor) -> Tensor:
    """Return the cross entropy of a softmax over the true classes and a sample of the others.

    It is for training, and mostly less than that of the softmax over all classes.

    Source: Jean et al., "On Using Very Large Target Vocabulary for Neural Machine Translation",
    2014.

    >>> from daskvars.v1.sampling import all_candidate_sampler
    >>> every = all_candidate_sampler([[2]], 1, 4, True)
    >>> loss = sampled_softmax_loss(dv.zeros([4, 3]), dv.zeros([4]), [[2]], dv.ones([1, 3]), 4, 4,
    ...                             sampled_values=every)
    >>> round(float(dv.exp(loss[0])), 4)
    4.0
    """
    return softmax_cross_entropy_with_logits(labels=stop_gradient(targets), logits=logits)


def _logits(
    weights: TensorLike,
    biases: TensorLike,
    labels: TensorLike,
    inputs: TensorLike,
    num_true: int,
    num_sampled: int,
    num_classes: int,
    sampled_values: tuple[Tensor, ...],
    remove_accidental_hits: bool,
    partition_strategy: str,
    name: str | None,
    seed: int | None = None,
) -> tuple[Tensor, Tensor]:
    """Return the logits of true and drawn classes, less the logarithms of their expected counts.

    Returns:
      Two tensors [batch, num_true + num_sampled] of the dtype of `inputs`, true classes first.
      The second is what they should be: 1 / num_true at true classes and 0 at others.
    """
    parts = [*weights] if isinstance(weights, list | tuple) else [weights]
    with name_scope(name, "compute_sampled_logits", [*parts, biases, inputs, labels]):
        inputs = convert_to_tensor(inputs, name="inputs")
        labels = _matrix(labels, num_true)
        if sampled_values is None:
            sampled_values = log_uniform_candidate_sampler(
                labels, num_true, num_sampled, True, num_classes, seed
            )
        sampled, true_counts, sampled_counts = (stop_gradient(v) for v in sampled_values)
        sampled = cast(sampled, int64)

        def rows(table: Any, classes: Tensor) -> Tensor:
            return embedding_lookup(table, classes, partition_strategy)

        # Two lookups: that of the batch stays where the batch lies.
        products = multiply(expand_dims(inputs, 1), rows(weights, labels))
        true = add(reduce_sum(products, -1), rows(biases, labels), name="true_logits")
        drawn = matmul(inputs, rows(weights, sampled), transpose_b=True)
        drawn = add(drawn, rows(biases, sampled), name="sampled_logits")
        true = subtract(true, log(cast(true_counts, true.dtype)))
        drawn = subtract(drawn, log(cast(sampled_counts, drawn.dtype)))
        if remove_accidental_hits:
            hits = reduce_any(equal(expand_dims(labels, 2), sampled), 1)
            drawn = where_v2(hits, constant(drawn.dtype.min, drawn.dtype), drawn)
        share = divide(ones_like(true), number(num_true, true))
        return concat([true, drawn], 1), concat([share, zeros_like(drawn)], 1)


def _matrix(labels: Any, num_true: int) -> Tensor:
    """Return labels as [batch, num_true] int64; a vector is taken row by row."""
    labels = convert_to_tensor(labels, name="labels")
    if labels.dtype.base_dtype is not int64:
        labels = cast(labels, int64)
    shape = labels.spec.shape
    if shape is None or len(shape) != 2:
        return reshape(labels, [-1, num_true])
    if shape[1] not in (None, num_true):
        raise ValueError(f"labels must have {num_true} columns (num_true), got {labels.shape}")
    return labels
