"""Decoders: a step of writing sequences, and the loop over it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from daskvars.dtypes import int32
from daskvars.graph import nest
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import TensorLike
from daskvars.layers.layer import Layer
from daskvars.layers.recurrent.batch_and_time import copied_through, map_sizes, shaped_as, swapped
from daskvars.layers.recurrent.cell import check_is_cell
from daskvars.ops.array.constant import constant, fill, shape as shape_of, zeros_like
from daskvars.ops.control.tensor_array import TensorArray
from daskvars.ops.control.while_loop import while_loop
from daskvars.ops.math.comparison import greater_equal, logical_not, logical_or, where
from daskvars.ops.math.reduce import reduce_all
from daskvars.shapes import TensorShape
from daskvars.surface.accepted import accepts
from daskvars.surface.forwarding import forwards
from daskvars.surface.required import required, required_property
from daskvars.v1.contrib.sequences.next_inputs import Helper
from daskvars.v1.contrib.sequences.structures import layered_size, sized_zeros, static_size
from daskvars.v1.nest import map_structure
from daskvars.variables.scopes.variable_scope import variable_scope


class Decoder:
    """One step of writing sequences, which `dynamic_decode` repeats.

    A subclass has the properties and methods that are here; `finalize` and `tracks_own_finished`
    if it needs others than these.
    """

    batch_size: Any = required_property("Number of sequences, a number or a scalar int32 tensor.")
    output_size: Any = required_property(
        "Sizes of what a step gives for one sequence: numbers or shapes, in its structure."
    )
    output_dtype: Any = required_property("Dtypes of what a step gives, in its structure.")

    @required
    def initialize(self, name: str | None = None) -> Any:
        """Return (finished, the first inputs, the first state)."""

    @required
    def step(self, time: Any, inputs: Any, state: Any, name: str | None = None) -> Any:
        """Return (outputs, next state, next inputs, finished)."""

    def finalize(self, outputs: Any, final_state: Any, sequence_lengths: Any) -> Any:
        """Return what `dynamic_decode` gives for the outputs of all steps and the last state."""
        return outputs, final_state

    @property
    def tracks_own_finished(self) -> bool:
        """Whether `step` remembers itself what was finished before."""
        return False


@accepts("parallel_iterations", "swap_memory")
def dynamic_decode(
    decoder: Decoder,
    output_time_major: bool = False,
    impute_finished: bool = False,
    maximum_iterations: TensorLike | None = None,
    parallel_iterations: int = 32,
    swap_memory: bool = False,
    scope: Any = None,
) -> tuple[Any, Any, Any]:
    """Repeat the step of a decoder until all sequences are finished.

    Args:
      decoder: a `Decoder`.
      output_time_major: outputs are [time, batch, ...], which saves transposing them.
      impute_finished: what is written of a sequence after its end are zeros, and its state stays
        as it was; so nothing of that time has a part in gradients.
      maximum_iterations: bound on the number of steps, a scalar.
      scope: variable scope, by default "decoder", made unique.

    Returns:
      outputs: [batch, time, ...] in the structure of the decoder's output.
      state: the last state.
      lengths: [batch] int32, how long each sequence became.

    Raises:
      TypeError: `decoder` is none.
      ValueError: `maximum_iterations` is no scalar; a step changes the structure of its state or
        inputs, or gives another than ``output_size`` has.

    Source: TensorFlow 1.8, ``tf.contrib.seq2seq.dynamic_decode``.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     cell = tf.nn.rnn_cell.GRUCell(4)
    ...     helper = tf.contrib.seq2seq.TrainingHelper(tf.ones([2, 5, 3]), [4, 2])
    ...     state = cell.zero_state(2, tf.float32)
    ...     decoder = tf.contrib.seq2seq.BasicDecoder(cell, helper, state)
    ...     outputs, _, lengths = tf.contrib.seq2seq.dynamic_decode(decoder)
    ...     sess.run(tf.global_variables_initializer())
    ...     sess.run(outputs.rnn_output).shape, sess.run(lengths).tolist()
    ((2, 4, 4), [4, 2])
    """
    if not isinstance(decoder, Decoder):
        raise TypeError(f"Expected decoder to be type Decoder, but saw: {type(decoder)}")
    with variable_scope(scope, "decoder"):
        finished, inputs, state = decoder.initialize()
        inputs = nest.map_structure(convert_to_tensor, inputs)
        finished = convert_to_tensor(finished)
        bound: Any = None
        if maximum_iterations is not None:
            bound = convert_to_tensor(maximum_iterations, int32)
            if bound.get_shape().ndims != 0:
                raise ValueError(
                    f"maximum_iterations must be a scalar, got shape {bound.get_shape()}"
                )
            finished = logical_or(finished, greater_equal(0, bound))
        arrays = _arrays(decoder)
        _, arrays, state, _, _, lengths = while_loop(
            lambda _time, _arrays, _state, _inputs, finished, _ends: logical_not(
                reduce_all(finished)
            ),
            _step_of(decoder, impute_finished),
            (constant(0), arrays, state, inputs, finished, zeros_like(finished, int32)),
            maximum_iterations=bound,
        )
        outputs = nest.map_structure(lambda array: array.stack(), arrays)
        outputs, state = decoder.finalize(outputs, state, lengths)
        if not output_time_major:
            outputs = nest.map_structure(swapped, outputs)
    return outputs, state, lengths


def _arrays(decoder: Decoder) -> Any:
    """Return TensorArrays for what the steps give."""

    def array(size: Any, dtype: Any) -> TensorArray:
        shape = None  # of numbers, which a step need not keep to
        if isinstance(size, TensorShape) and size.ndims != 0:
            shape = TensorShape([static_size(decoder.batch_size)]).concatenate(size)
        return TensorArray(dtype, size=0, dynamic_size=True, element_shape=shape)

    return map_structure(array, decoder.output_size, decoder.output_dtype)


def _step_of(decoder: Decoder, impute_finished: bool) -> Callable[..., Any]:
    """Return the body of the loop over a decoder."""
    blanks: Any = None
    if impute_finished:
        blanks = map_structure(
            lambda size, dtype: sized_zeros(decoder.batch_size, size, dtype),
            decoder.output_size,
            decoder.output_dtype,
        )

    def step(time: Any, arrays: Any, state: Any, inputs: Any, finished: Any, ends: Any) -> Any:
        outputs, next_state, next_inputs, is_over = decoder.step(time, inputs, state)
        nest.assert_same_structure(state, next_state, "the old and the new state")
        nest.assert_same_structure(inputs, next_inputs, "the old and the new input")
        nest.assert_same_structure(arrays, outputs, "output_size and the outputs")
        if not decoder.tracks_own_finished:
            is_over = logical_or(is_over, finished)
        ends = where(finished, ends, fill(shape_of(ends), time + 1))
        if impute_finished:
            outputs = copied_through(finished, blanks, outputs)
            next_state = copied_through(finished, state, next_state)
        next_state = shaped_as(next_state, state)
        arrays = map_structure(lambda array, value: array.write(time, value), arrays, outputs)
        return time + 1, arrays, next_state, next_inputs, is_over, ends

    return step


class BasicDecoderOutput(NamedTuple):
    """What a step of `BasicDecoder` gives.

    Attributes:
      rnn_output: [batch, ...], output of the cell, or of the layer on it.
      sample_id: what the helper chose by it.
    """

    rnn_output: Any
    sample_id: Any


class BasicDecoder(Decoder):
    """A decoder that is a cell, and a layer if there is one; a helper says what it reads.

    Args:
      cell: an `RNNCell`.
      helper: a `Helper`.
      initial_state: first state of the cell.
      output_layer: a layer on the outputs, such as `Dense` to the logits of a vocabulary.

    Raises:
      TypeError: one of these is none.
    """

    def __init__(
        self, cell: Any, helper: Helper, initial_state: Any, output_layer: Layer | None = None
    ) -> None:
        check_is_cell(cell)
        if not isinstance(helper, Helper):
            raise TypeError(f"helper must be a Helper, received: {type(helper)}")
        check_is_layer(output_layer)
        self._cell = cell
        self._helper = helper
        self._initial_state = initial_state
        self._output_layer = output_layer

    batch_size: Any = forwards("_helper.batch_size", "That of the helper.")

    @property
    def output_size(self) -> BasicDecoderOutput:
        """Size of the output, and that of what the helper chooses."""
        return BasicDecoderOutput(self._rnn_output_size(), self._helper.sample_ids_shape)

    @property
    def output_dtype(self) -> BasicDecoderOutput:
        """Dtype of the state, and that of what the helper chooses."""
        dtype = nest.flatten(self._initial_state)[0].dtype
        dtypes = map_sizes(lambda _: dtype, self._rnn_output_size())
        return BasicDecoderOutput(dtypes, self._helper.sample_ids_dtype)

    def _rnn_output_size(self) -> Any:
        """Return the size of the output alone; by TensorFlow's name, which subclasses call."""
        return layered_size(self._cell.output_size, self._output_layer)

    def initialize(self, name: str | None = None) -> Any:
        """Return (finished, first inputs, first state)."""
        return (*self._helper.initialize(), self._initial_state)

    def step(self, time: Any, inputs: Any, state: Any, name: str | None = None) -> Any:
        """Return (`BasicDecoderOutput`, next state, next inputs, finished)."""
        with name_scope(name, "BasicDecoderStep"):
            outputs, state = self._cell(inputs, state)
            if self._output_layer is not None:
                outputs = self._output_layer(outputs)
            ids = self._helper.sample(time=time, outputs=outputs, state=state)
            finished, next_inputs, next_state = self._helper.next_inputs(
                time=time, outputs=outputs, state=state, sample_ids=ids
            )
        return BasicDecoderOutput(outputs, ids), next_state, next_inputs, finished


def check_is_layer(layer: object) -> None:
    """Raise TypeError unless `layer` is a `Layer` or None."""
    if layer is not None and not isinstance(layer, Layer):
        raise TypeError(f"output_layer must be a Layer, received: {type(layer)}")
