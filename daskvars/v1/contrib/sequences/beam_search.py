"""Beam search: the best of several beginnings of each sequence are kept at each step."""

from __future__ import annotations

import math
import warnings
from typing import Any, NamedTuple

from daskvars.dtypes import bool as bool_, int32, int64
from daskvars.graph import nest
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.layers.layer import Layer
from daskvars.layers.recurrent.batch_and_time import map_sizes
from daskvars.layers.recurrent.cell import check_is_cell
from daskvars.ops.array.constant import (
    fill,
    shape as shape_of,
    size as num_elements,
    size_along,
    zeros,
)
from daskvars.ops.array.joining import stack
from daskvars.ops.array.one_hot import one_hot
from daskvars.ops.array.ranges import range as range_, sequence_mask
from daskvars.ops.array.repeating import tile
from daskvars.ops.array.reshaping import expand_dims, reshape
from daskvars.ops.array.transposing import transpose
from daskvars.ops.control.cond import cond
from daskvars.ops.control.map_fn import scan
from daskvars.ops.control.tensor_array import TensorArray
from daskvars.ops.gather_scatter.gather import gather
from daskvars.ops.math.arithmetic import minimum
from daskvars.ops.math.casting import cast
from daskvars.ops.math.comparison import equal, greater, logical_not, logical_or, where
from daskvars.ops.math.division import floordiv, floormod
from daskvars.ops.math.reduce import reduce_all, reduce_max, reduce_mean, reduce_sum
from daskvars.ops.math.scans import cumsum
from daskvars.ops.math.transcendental import log
from daskvars.ops.nn.ranking import top_k
from daskvars.ops.nn.softmax import log_softmax
from daskvars.shapes import TensorShape
from daskvars.surface.forwarding import forwards
from daskvars.v1.contrib.sequences.attention_wrapper import AttentionWrapperState
from daskvars.v1.contrib.sequences.decoders import Decoder, check_is_layer
from daskvars.v1.contrib.sequences.next_inputs import checked_tokens, embedding_function
from daskvars.v1.contrib.sequences.structures import layered_size, with_leading
from daskvars.v1.nest import map_structure


class BeamSearchDecoderState(NamedTuple):
    """State of a `BeamSearchDecoder`.

    Attributes:
      cell_state: [batch, beam, ...] in the structure of the cell's state.
      log_probs: [batch, beam], of what was written so far.
      finished: [batch, beam] bool.
      lengths: [batch, beam] int64.
      accumulated_attention_probs: [batch, beam, places], the attention to each place so far; or ()
        where no coverage is scored.
    """

    cell_state: Any
    log_probs: Any
    finished: Any
    lengths: Any
    accumulated_attention_probs: Any = ()


class BeamSearchDecoderOutput(NamedTuple):
    """What a step of `BeamSearchDecoder` gives, [batch, beam] each, the best beam first.

    Attributes:
      scores: log probabilities, divided by the length penalty.
      predicted_ids: int32, the ids that were written.
      parent_ids: int32, the beams that they were written to.
    """

    scores: Any
    predicted_ids: Any
    parent_ids: Any


class FinalBeamSearchDecoderOutput(NamedTuple):
    """What `dynamic_decode` gives of a `BeamSearchDecoder`.

    Attributes:
      predicted_ids: [batch, time, beam] int32, the sequences, the best first.
      beam_search_decoder_output: the `BeamSearchDecoderOutput` of all steps.
    """

    predicted_ids: Any
    beam_search_decoder_output: Any


def tile_batch(t: Any, multiplier: int, name: str | None = None) -> Any:
    """Return tensors with each row of the batch repeated, one copy after another.

    Args:
      t: [batch, ...], or a nested structure of such.
      multiplier: how often each row is there.
      name: name scope, by default "tile_batch".

    Returns:
      [batch * multiplier, ...] in the structure of `t`.

    Raises:
      ValueError: a tensor is a scalar, or of unknown rank.

    Source: TensorFlow 1.8, ``tf.contrib.seq2seq.tile_batch``.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     sess.run(tf.contrib.seq2seq.tile_batch(tf.constant([1, 2]), 2)).tolist()
    [1, 1, 2, 2]
    """

    def tiled(value: Any) -> Tensor:
        value = convert_to_tensor(value, name="t")
        rank = value.get_shape().ndims
        if not rank:
            raise ValueError(
                f"t must have statically known rank, of at least 1, got {value.get_shape()}"
            )
        repeated = tile(expand_dims(value, 1), [1, multiplier, *[1] * (rank - 1)])
        return with_leading(repeated, [size_along(value, 0) * multiplier], 2)

    with name_scope(name, "tile_batch", nest.flatten(t)):
        return nest.map_structure(tiled, t)


def gather_tree(
    step_ids: TensorLike,
    parent_ids: TensorLike,
    max_sequence_lengths: TensorLike,
    end_token: TensorLike,
    name: str | None = None,
) -> Tensor:
    """Return the sequences that end in each beam, gone back from the last step to the first.

    Args:
      step_ids: [time, batch, beam] int32, the ids that each step wrote.
      parent_ids: [time, batch, beam] int32, the beams of the step before that they were written to.
      max_sequence_lengths: [batch] int32, the number of steps of the longest beam.
      end_token: scalar int32, what stands after its first appearance, and after the last step.
      name: name scope, by default "GatherTree".

    Returns:
      [time, batch, beam] int32.

    Raises:
      InvalidArgumentError: (when run) there is no such parent.

    Source: TensorFlow 1.8, ``tf.contrib.seq2seq.gather_tree``.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     ids, parents = [[[1, 2]], [[3, 4]]], [[[0, 0]], [[1, 0]]]
    ...     sess.run(tf.contrib.seq2seq.gather_tree(ids, parents, [2], 9))[:, 0].tolist()
    [[2, 1], [3, 4]]
    """
    with name_scope(name, "GatherTree"):
        ids = convert_to_tensor(step_ids, int32)
        parents = convert_to_tensor(parent_ids, int32)
        end = convert_to_tensor(end_token, int32)
        time, batch, beams = (size_along(ids, axis) for axis in range(3))
        is_there = transpose(sequence_mask(max_sequence_lengths, maxlen=time))
        is_there = tile(expand_dims(is_there, 2), [1, 1, beams])
        own = tile(expand_dims(range_(beams), 0), [batch, 1])

        def back(later: Any, step: Any) -> Any:
            (_, beam), (ids, parents, is_there) = later, step
            # Where there is no step yet, what is written in it is not looked at.
            parents = where(is_there, parents, own)
            found = gather(ids, beam, batch_dims=1)
            return where(is_there, found, fill(shape_of(found), end)), gather(
                parents, beam, batch_dims=1
            )

        found, _ = scan(back, (ids, parents, is_there), (own, own), reverse=True)
        has_ended = cumsum(cast(equal(found, end), int32), axis=0, exclusive=True)
        result = where(greater(has_ended, 0), fill(shape_of(found), end), found)
        result.set_shape(ids.get_shape())
        return result


class BeamSearchDecoder(Decoder):
    """A decoder that keeps the best beginnings of each sequence.

    Args:
      cell: an `RNNCell`.
      embedding: a function of ids, or a table of rows.
      start_tokens: [batch] int32, the ids read first.
      end_token: scalar int32, the id that ends a sequence.
      initial_state: first state of the cell, [batch * beam_width, ...]; see `tile_batch`.
      beam_width: how many beginnings are kept.
      output_layer: a layer on the outputs, such as `Dense` to the logits of a vocabulary.
      length_penalty_weight: scores are divided by ``((5 + length) / 6) ** weight``.
      coverage_penalty_weight: of the finished beams' scores, how much is taken off for places that
        attention left out: the sum of the logarithms of what each place had, 1 at most.
      reorder_tensor_arrays: bring `TensorArray`s of the state, such as the alignment history, into
        the order of the beams in the end, as one tensor each.

    Raises:
      TypeError: a cell or layer is none.
      ValueError: `start_tokens` is no vector, `end_token` no scalar, the state not tiled, or
        coverage scored where no attention is in the state.

    Source: TensorFlow 1.15, ``tf.contrib.seq2seq.BeamSearchDecoder``.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     tf.set_random_seed(1)
    ...     cell, state = tf.nn.rnn_cell.GRUCell(4), tf.zeros([2 * 3, 4])
    ...     decoder = tf.contrib.seq2seq.BeamSearchDecoder(
    ...         cell, tf.eye(4), [0, 0], 1, state, beam_width=3)
    ...     outputs, _, _ = tf.contrib.seq2seq.dynamic_decode(decoder, maximum_iterations=5)
    ...     sess.run(tf.global_variables_initializer())
    ...     sess.run(outputs.predicted_ids).shape
    (2, 5, 3)
    """

    def __init__(
        self,
        cell: Any,
        embedding: Any,
        start_tokens: TensorLike,
        end_token: TensorLike,
        initial_state: Any,
        beam_width: int,
        output_layer: Layer | None = None,
        length_penalty_weight: TensorLike = 0.0,
        coverage_penalty_weight: TensorLike = 0.0,
        reorder_tensor_arrays: bool = True,
    ) -> None:
        check_is_cell(cell)
        check_is_layer(output_layer)
        self._cell = cell
        self._output_layer = output_layer
        self._reorder_tensor_arrays = reorder_tensor_arrays
        self._embedding_fn = embedding_function(embedding)
        starts, self._end_token = checked_tokens(start_tokens, end_token)
        self._batch_size = num_elements(starts)
        self._static_batch = starts.get_shape().as_list()[0]
        self._beam_width = beam_width
        self._length_penalty_weight = length_penalty_weight
        self._coverage_penalty_weight = coverage_penalty_weight
        self._initial_cell_state = map_structure(
            self._split_state, initial_state, cell.state_size, check_types=False
        )
        self._start_inputs = self._embedding_fn(tile(expand_dims(starts, 1), [1, beam_width]))

    @property
    def _batch(self) -> Any:
        return self._batch_size if self._static_batch is None else self._static_batch

    batch_size: Any = forwards("_batch_size", "Number of sequences, a scalar int32 tensor.")

    @property
    def tracks_own_finished(self) -> bool:
        """True: beams change places, and what is finished with them."""
        return True

    @property
    def output_size(self) -> BeamSearchDecoderOutput:
        """One of each for every beam."""
        return BeamSearchDecoderOutput(*[TensorShape([self._beam_width])] * 3)

    @property
    def output_dtype(self) -> BeamSearchDecoderOutput:
        """Scores are of the dtype of the state, ids int32."""
        dtype = nest.flatten(self._initial_cell_state)[0].dtype
        size = layered_size(self._cell.output_size, self._output_layer)
        return BeamSearchDecoderOutput(map_sizes(lambda _: dtype, size), int32, int32)

    def initialize(self, name: str | None = None) -> Any:
        """Return (finished, first inputs, first state): only the first beam counts."""
        dtype = nest.flatten(self._initial_cell_state)[0].dtype
        first = one_hot(zeros([self._batch], int32), self._beam_width, dtype=dtype)
        is_first = cast(first, bool_)
        finished = logical_not(is_first)
        state = BeamSearchDecoderState(
            cell_state=self._initial_cell_state,
            log_probs=where(is_first, 0 * first, fill(shape_of(first), cast(-math.inf, dtype))),
            finished=finished,
            lengths=zeros([self._batch, self._beam_width], int64),
            accumulated_attention_probs=self._attention_in(self._initial_cell_state),
        )
        return finished, self._start_inputs, state

    def step(self, time: Any, inputs: Any, state: Any, name: str | None = None) -> Any:
        """Return (`BeamSearchDecoderOutput`, next state, next inputs, finished)."""
        with name_scope(name, "BeamSearchDecoderStep"):
            inputs = nest.map_structure(lambda value: self._merged(value), inputs)
            cell_state = nest.map_structure(self._merge_state, state.cell_state)
            outputs, cell_state = self._cell(inputs, cell_state)
            outputs = nest.map_structure(self._split, outputs)
            cell_state = map_structure(
                self._split_state, cell_state, self._cell.state_size, check_types=False
            )
            if self._output_layer is not None:
                outputs = self._output_layer(outputs)
            output, state = self._search(outputs, cell_state, state)
            next_inputs = cond(
                reduce_all(state.finished),
                lambda: self._start_inputs,
                lambda: self._embedding_fn(output.predicted_ids),
            )
        return output, state, next_inputs, state.finished

    def _search(
        self, logits: Tensor, cell_state: Any, state: BeamSearchDecoderState
    ) -> tuple[BeamSearchDecoderOutput, BeamSearchDecoderState]:
        """Return what is written to which beam, and the state after that.

        Args:
          logits: [batch, beam, vocabulary].
          cell_state: that after the step.
          state: that before it.
        """
        vocabulary, width, end = size_along(logits, -1), self._beam_width, self._end_token
        flat = [self._batch, width * vocabulary]
        is_end = tile(
            reshape(equal(range_(vocabulary), end), [1, 1, vocabulary]), [self._batch, width, 1]
        )
        is_over = tile(expand_dims(state.finished, 2), [1, 1, vocabulary])
        step = log_softmax(logits)
        # A beam that is finished goes on with the end token alone.
        after_end = where(is_end, 0 * step, fill(shape_of(step), step.dtype.min))
        log_probs = where(is_over, after_end, step) + expand_dims(state.log_probs, 2)
        grows = cast(logical_not(logical_or(is_end, is_over)), int64)
        scores = log_probs / self._penalty(expand_dims(state.lengths, 2) + grows, log_probs.dtype)
        attended = self._attention_so_far(cell_state, state)
        if not isinstance(attended, tuple):
            scores += expand_dims(self._uncovered(attended, state.finished), 2)
        best, places = top_k(reshape(scores, flat), k=width)
        ids, beams = floormod(places, vocabulary), floordiv(places, vocabulary)

        def of_beams(value: Any) -> Any:
            return gather(value, beams, batch_dims=1)

        was_finished = of_beams(state.finished)
        output = BeamSearchDecoderOutput(scores=best, predicted_ids=ids, parent_ids=beams)
        return output, BeamSearchDecoderState(
            cell_state=nest.map_structure(
                lambda v: of_beams(v) if _has_beams(v) else v, cell_state
            ),
            log_probs=gather(reshape(log_probs, flat), places, batch_dims=1),
            finished=logical_or(was_finished, equal(ids, end)),
            lengths=of_beams(state.lengths) + cast(logical_not(was_finished), int64),
            accumulated_attention_probs=nest.map_structure(of_beams, attended),
        )

    @property
    def _scores_coverage(self) -> bool:
        weight = self._coverage_penalty_weight
        return isinstance(weight, Tensor) or weight != 0

    def _attention_in(self, cell_state: Any) -> Any:
        """Return the attention [batch, beam, places] of a step: the mean of all that is paid."""
        if not self._scores_coverage:
            return ()
        is_one = isinstance(cell_state, AttentionWrapperState)
        parts = [cell_state] if is_one or not isinstance(cell_state, tuple) else cell_state
        found = [part.alignments for part in parts if isinstance(part, AttentionWrapperState)]
        if not found:
            raise ValueError(
                "coverage_penalty_weight must be 0.0 if no cell of the decoder pays attention"
            )
        means = [reduce_mean(stack(list(a)), 0) if isinstance(a, tuple) else a for a in found]
        return means[0] if len(means) == 1 else reduce_mean(stack(means), 0)

    def _attention_so_far(self, cell_state: Any, state: BeamSearchDecoderState) -> Any:
        """Return the attention [batch, beam, places] of all steps until a beam was finished."""
        now = self._attention_in(cell_state)
        if isinstance(now, tuple):
            return ()
        goes_on = cast(logical_not(state.finished), now.dtype)
        return state.accumulated_attention_probs + now * expand_dims(goes_on, 2)

    def _uncovered(self, attended: Tensor, finished: Tensor) -> Tensor:
        """Return what the score [batch, beam] of each finished beam loses, as it is added."""
        # A place that had nothing at all is none: it lies behind the end of its sequence.
        had = where(equal(attended, 0 * attended), 0 * attended + 1, attended)
        lost = reduce_sum(log(minimum(had, 0 * had + 1)), 2)
        return lost * cast(finished, lost.dtype) * cast(self._coverage_penalty_weight, lost.dtype)

    def _penalty(self, lengths: Tensor, dtype: Any) -> Any:
        weight = self._length_penalty_weight
        if not isinstance(weight, Tensor) and weight == 0:
            return 1.0
        return ((5.0 + cast(lengths, dtype)) / 6.0) ** weight

    def finalize(self, outputs: Any, final_state: Any, sequence_lengths: Any) -> Any:
        """Return (`FinalBeamSearchDecoderOutput`, state); the lengths are those of the state."""
        longest = cast(reduce_max(final_state.lengths, axis=1), int32)
        ids = gather_tree(outputs.predicted_ids, outputs.parent_ids, longest, self._end_token)
        if self._reorder_tensor_arrays:
            cell_state = nest.map_structure(
                lambda value: self._in_order(value, outputs.parent_ids, final_state.lengths),
                final_state.cell_state,
            )
            final_state = final_state._replace(cell_state=cell_state)
        return FinalBeamSearchDecoderOutput(ids, outputs), final_state

    def _merged(self, value: Tensor) -> Tensor:
        return with_leading(value, [self._batch * self._beam_width], 2)

    def _merge_state(self, value: Any) -> Any:
        return self._merged(value) if _has_beams(value) else value

    def _split(self, value: Tensor) -> Tensor:
        first, rest = value.get_shape().as_list()[0], value.get_shape()[1:]
        if None not in (first, self._static_batch) and first != self._batch * self._beam_width:
            raise ValueError(
                "Unexpected behavior when reshaping between beam width and batch size.  "
                f"{value.name} has shape {value.get_shape()}, wanted was batch_size * beam_width, "
                f"{self._batch} * {self._beam_width}, and then {rest}.  Perhaps you forgot to "
                "create a zero_state with batch_size=encoder_batch_size * beam_width?"
            )
        return with_leading(value, [self._batch, self._beam_width], 1)

    def _split_state(self, value: Any, size: Any) -> Any:
        if isinstance(value, TensorArray):
            return value
        if value.get_shape().ndims is None:
            raise ValueError(f"Expected tensor ({value}) to have known rank, but ndims == None.")
        return self._split(value) if value.get_shape().ndims else value

    def _in_order(self, array: Any, parent_ids: Tensor, lengths: Tensor) -> Any:
        """Return a TensorArray of the state stacked, with what each beam's steps wrote."""
        if not isinstance(array, TensorArray):
            return array
        shape, width = array.element_shape, self._beam_width
        sizes = shape.as_list() if shape.ndims else []
        first = sizes[0] if sizes else None
        fits = (
            None in (first, self._static_batch)
            or first == self._batch * width
            or sizes[:2] in ([self._batch, width], [self._batch, None])
        )
        if not sizes or not fits:
            warnings.warn(
                f"The TensorArray {array.flow.op.name} in the cell state is not reordered by the "
                "result of the beam search: its elements should be of shape [batch_size * "
                f"beam_width, ...], but are of {shape}. Set reorder_tensor_arrays=False if they "
                "are not meant to be.",
                stacklevel=2,
            )
            return array
        steps = array.stack()
        time, batch = size_along(parent_ids, 0), self._batch
        own = tile(reshape(range_(width), [1, 1, width]), [time, batch, 1])
        is_there = transpose(sequence_mask(lengths, maxlen=time), [2, 0, 1])
        none = fill(shape_of(own), width + 1)
        longest = cast(reduce_max(lengths, axis=1), int32)
        beams = gather_tree(where(is_there, own, none), parent_ids, longest, width + 1)
        beams = where(is_there, beams, own)
        rows = reshape(steps, [time, batch, width, -1])
        return reshape(gather(rows, beams, batch_dims=2), shape_of(steps))


def _has_beams(value: Any) -> bool:
    """Return whether a part of the state is split into beams."""
    return not isinstance(value, TensorArray) and value.get_shape().ndims >= 2
