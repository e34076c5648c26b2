"""Linear-chain conditional random fields: ``tf.contrib.crf``.

A sequence's score is the sum of a potential for each tag at its step and one for each pair of
neighbours; its likelihood is the softmax of that over all sequences of tags. Both the normalizer
and the best sequence are found step by step, by a recurrent cell (`dynamic_rnn`), so that a batch
is cut over workers as other recurrent networks are. Lafferty, McCallum and Pereira, "Conditional
Random Fields", ICML 2001; Collins, "The Forward-Backward Algorithm".
"""

from __future__ import annotations

from typing import Any

import numpy as np

from daskvars.dtypes import int32
from daskvars.errors import invalid
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.layers.recurrent.rnn import dynamic_rnn
from daskvars.layers.recurrent.rnn_cell import RNNCell
from daskvars.ops.array.constant import shape as shape_of, size_along, zeros_like
from daskvars.ops.array.joining import concat
from daskvars.ops.array.ranges import sequence_mask
from daskvars.ops.array.rearranging import reverse_sequence
from daskvars.ops.array.reshaping import expand_dims, reshape, squeeze
from daskvars.ops.gather_scatter.gather import batch_gather, gather
from daskvars.ops.math.arithmetic import add, maximum, multiply, subtract
from daskvars.ops.math.casting import cast
from daskvars.ops.math.comparison import greater, where
from daskvars.ops.math.reduce import argmax, reduce_logsumexp, reduce_max, reduce_sum
from daskvars.surface.forwarding import forwards
from daskvars.surface.signatures import Argument, Family
from daskvars.variables.scopes.variable_scope import get_variable

ARGUMENTS = Family(
    {
        "inputs": Argument("[batch, length, tags] floating potentials."),
        "tag_indices": Argument("[batch, length] integer."),
        "sequence_lengths": Argument("[batch] integer: later tags do not count."),
        "transition_params": Argument("[tags, tags] floating, of a tag and the one that follows."),
    },
    returns="[batch] of the type of the potentials.",
)
# Cells give no result of their own.
CELLS = Family(ARGUMENTS.arguments)


class _ForwardCell(RNNCell):
    """Adds a step's potentials to what is best, or known, of all ways that lead to each tag."""

    def __init__(self, transition_params: TensorLike) -> None:
        super().__init__()
        transitions = convert_to_tensor(transition_params)
        self._transitions = expand_dims(transitions, 0)
        self._num_tags = transitions.shape.as_list()[0]

    state_size: Any = forwards("_num_tags", "The number of tags.")
    output_size: Any = forwards("_num_tags", "The number of tags.")

    def _ways(self, state: TensorLike) -> Tensor:
        return add(expand_dims(state, 2), self._transitions)


@CELLS.documents()
class CrfForwardRnnCell(_ForwardCell):
    """Carries the logarithm of the sum of the scores of all sequences that end in each tag.

    >>> with tf.Graph().as_default():
    ...     cell = tf.contrib.crf.CrfForwardRnnCell(tf.zeros([3, 3]))
    ...     cell(tf.zeros([2, 3]), tf.zeros([2, 3]))[1].shape.as_list()
    [2, 3]
    """

    def __call__(self, inputs: TensorLike, state: Any, scope: Any = None) -> Any:  # type: ignore[override]
        """Return the new state, as output and as state: [batch, tags]."""
        new = add(inputs, reduce_logsumexp(self._ways(state), [1]))
        return new, new


@CELLS.documents()
class CrfDecodeForwardRnnCell(_ForwardCell):
    """Carries the score of the best sequence that ends in each tag; gives the tags before.

    >>> with tf.Graph().as_default():
    ...     cell = tf.contrib.crf.CrfDecodeForwardRnnCell(tf.zeros([3, 3]))
    ...     cell(tf.zeros([2, 3]), tf.zeros([2, 3]))[0].dtype.name
    'int32'
    """

    def __call__(self, inputs: TensorLike, state: Any, scope: Any = None) -> Any:  # type: ignore[override]
        """Return the tag before each, [batch, tags] int32, and the new state, [batch, tags]."""
        ways = self._ways(state)
        return argmax(ways, 1, output_type=int32), add(inputs, reduce_max(ways, [1]))


class CrfDecodeBackwardRnnCell(RNNCell):
    """Goes back from a tag to the best one before it.

    Args:
      num_tags: how many tags there are.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     cell = tf.contrib.crf.CrfDecodeBackwardRnnCell(3)
    ...     sess.run(cell(tf.constant([[2, 0, 1]]), tf.constant([[1]]))[0]).tolist()
    [[0]]
    """

    def __init__(self, num_tags: int) -> None:
        super().__init__()
        self._num_tags = num_tags

    @property
    def state_size(self) -> Any:
        """One tag."""
        return 1

    @property
    def output_size(self) -> Any:
        """One tag."""
        return 1

    def __call__(self, inputs: TensorLike, state: Any, scope: Any = None) -> Any:  # type: ignore[override]
        """Return the tag before that of the state, as output and as state: [batch, 1]."""
        before = batch_gather(inputs, state)
        return before, before


@ARGUMENTS.documents()
def crf_unary_score(
    tag_indices: TensorLike, sequence_lengths: TensorLike, inputs: TensorLike
) -> Tensor:
    """Return the sum of the potentials of each sequence's tags.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     potentials = tf.constant([[[1.0, 2.0], [3.0, 4.0]]])
    ...     sess.run(tf.contrib.crf.crf_unary_score([[0, 1]], [2], potentials)).tolist()
    [5.0]
    """
    inputs = convert_to_tensor(inputs)
    potentials = squeeze(batch_gather(inputs, expand_dims(tag_indices, 2)), [2])
    return _masked_sum(potentials, sequence_lengths)


@ARGUMENTS.documents()
def crf_binary_score(
    tag_indices: TensorLike, sequence_lengths: TensorLike, transition_params: TensorLike
) -> Tensor:
    """Return the sum of the potentials of each sequence's pairs of neighbours.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     transitions = tf.constant([[1.0, 2.0], [3.0, 4.0]])
    ...     sess.run(tf.contrib.crf.crf_binary_score([[0, 1, 0]], [3], transitions)).tolist()
    [5.0]
    """
    tags, transitions = convert_to_tensor(tag_indices), convert_to_tensor(transition_params)
    num_tags = cast(shape_of(transitions)[1], tags.dtype)
    pairs = add(multiply(tags[:, :-1], num_tags), tags[:, 1:])
    potentials = gather(reshape(transitions, [-1]), pairs)
    return _masked_sum(potentials, _one_less(sequence_lengths))


def _masked_sum(values: Tensor, lengths: TensorLike) -> Tensor:
    mask = sequence_mask(lengths, size_along(values, 1), values.dtype)
    return reduce_sum(multiply(values, mask), 1)


def _one_less(lengths: TensorLike) -> Tensor:
    return maximum(subtract(lengths, 1), 0)


@ARGUMENTS.documents()
def crf_sequence_score(
    inputs: TensorLike,
    tag_indices: TensorLike,
    sequence_lengths: TensorLike,
    transition_params: TensorLike,
) -> Tensor:
    """Return the unnormalized score of each sequence of tags.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     potentials = tf.constant([[[1.0, 2.0], [3.0, 4.0]]])
    ...     score = tf.contrib.crf.crf_sequence_score(potentials, [[0, 1]], [2], tf.ones([2, 2]))
    ...     sess.run(score).tolist()
    [6.0]
    """
    unary = crf_unary_score(tag_indices, sequence_lengths, inputs)
    return add(unary, crf_binary_score(tag_indices, sequence_lengths, transition_params))


@ARGUMENTS.documents()
def crf_log_norm(
    inputs: TensorLike, sequence_lengths: TensorLike, transition_params: TensorLike
) -> Tensor:
    """Return the logarithm of the sum of the exponentials of all sequences' scores.

    Args:
      sequence_lengths: [batch] integer.

    Returns:
      [batch] of the type of the potentials; 0 for sequences of no steps.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     norm = tf.contrib.crf.crf_log_norm(tf.zeros([1, 3, 2]), [3], tf.zeros([2, 2]))
    ...     round(float(sess.run(norm)[0]), 4)
    2.0794
    """
    inputs = convert_to_tensor(inputs)
    cell = CrfForwardRnnCell(transition_params)
    _, last = _forward(cell, inputs, sequence_lengths, inputs.dtype)
    norm = reduce_logsumexp(last, [1])
    return where(greater(sequence_lengths, 0), norm, zeros_like(norm))


def _forward(cell: _ForwardCell, inputs: Tensor, lengths: TensorLike, dtype: Any) -> Any:
    """Return the outputs of all steps but the first, of a type, and the last state."""
    return dynamic_rnn(cell, inputs[:, 1:], _one_less(lengths), inputs[:, 0], dtype)


@ARGUMENTS.documents()
def crf_log_likelihood(
    inputs: TensorLike,
    tag_indices: TensorLike,
    sequence_lengths: TensorLike,
    transition_params: TensorLike | None = None,
) -> tuple[Tensor, Any]:
    """Return the logarithm of each sequence's likelihood, and the potentials of transitions.

    Variables: ``transitions`` [tags, tags], unless they are given.

    Args:
      tag_indices: [batch, length] integer: the right tags.

    Returns:
      [batch] of the type of the potentials, and the transitions.

    Raises:
      ValueError: the number of tags is not known.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     likelihood, _ = tf.contrib.crf.crf_log_likelihood(
    ...         tf.zeros([1, 3, 2]), [[0, 1, 1]], [3], tf.zeros([2, 2])
    ...     )
    ...     round(float(sess.run(tf.exp(likelihood))[0]), 4)
    0.125
    """
    inputs = convert_to_tensor(inputs)
    num_tags = inputs.shape.as_list()[2]
    if transition_params is None:
        if num_tags is None:
            raise ValueError("the last dimension of inputs, the number of tags, must be known")
        transition_params = get_variable("transitions", [num_tags, num_tags])
    with name_scope(None, "crf_log_likelihood", [inputs]):
        score = crf_sequence_score(inputs, tag_indices, sequence_lengths, transition_params)
        norm = crf_log_norm(inputs, sequence_lengths, transition_params)
        return subtract(score, norm), transition_params


@ARGUMENTS.documents()
def crf_decode(
    potentials: TensorLike, transition_params: TensorLike, sequence_length: TensorLike
) -> tuple[Tensor, Tensor]:
    """Return the best tags of each sequence, by Viterbi's algorithm.

    Args:
      potentials: [batch, length, tags] floating.
      sequence_length: [batch] integer.

    Returns:
      [batch, length] int32, 0 beyond a sequence's end, and their scores, [batch].

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     potentials = tf.constant([[[1.0, 0.0], [0.0, 0.5], [9.0, 9.0]]])
    ...     tags, score = tf.contrib.crf.crf_decode(potentials, [[3.0, 0.0], [0.0, 0.0]], [2])
    ...     sess.run([tags, score])
    [array([[0, 0, 0]], dtype=int32), array([4.], dtype=float32)]
    """
    with name_scope(None, "crf_decode", [potentials]):
        potentials = convert_to_tensor(potentials)
        forward = CrfDecodeForwardRnnCell(transition_params)
        before, last = _forward(forward, potentials, sequence_length, int32)
        rest = _one_less(sequence_length)
        before = reverse_sequence(before, rest, seq_axis=1)
        ends = expand_dims(argmax(last, 1, output_type=int32), 1)
        backward = CrfDecodeBackwardRnnCell(forward.state_size)
        tags, _ = dynamic_rnn(backward, before, rest, ends, int32)
        tags = concat([ends, squeeze(tags, [2])], 1)
        tags = reverse_sequence(tags, cast(sequence_length, int32), seq_axis=1)
        is_step = sequence_mask(sequence_length, size_along(potentials, 1), int32)
        return multiply(tags, is_step), reduce_max(last, 1)


def viterbi_decode(score: np.ndarray, transition_params: np.ndarray) -> tuple[list[Any], Any]:
    """Return the best tags of one sequence of NumPy arrays, and their score.

    Args:
      score: [length, tags] potentials.
      transition_params: [tags, tags], of a tag and the one that follows.

    Returns:
      A list of `length` integers, and a number.

    Raises:
      InvalidArgumentError: the shapes are not as described.

    >>> tags, score = tf.contrib.crf.viterbi_decode(np.eye(3), np.zeros((3, 3)))
    >>> [int(tag) for tag in tags], float(score)
    ([0, 1, 2], 3.0)
    """
    score, transitions = np.asarray(score), np.asarray(transition_params)
    if score.ndim != 2 or not len(score) or transitions.shape != (score.shape[1],) * 2:
        raise invalid(
            "viterbi_decode needs potentials [length, tags] and transitions [tags, tags]; got "
            f"{score.shape} and {transitions.shape}"
        )
    best, before = score[0], []
    for potentials in score[1:]:
        ways = best[:, None] + transitions
        before.append(ways.argmax(0))
        best = potentials + ways.max(0)
    tags = [best.argmax()]
    for step in reversed(before):
        tags.append(step[tags[-1]])
    return tags[::-1], best.max()
