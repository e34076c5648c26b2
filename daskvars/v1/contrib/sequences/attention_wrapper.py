"""AttentionWrapper: a cell that looks into memories at each step."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from daskvars.dtypes import DTypeLike, int32
from daskvars.graph import nest
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.layers.dense import Dense
from daskvars.layers.recurrent.cell import RNNCell, check_is_cell, known_number
from daskvars.ops.array.constant import size_along, zeros
from daskvars.ops.array.joining import concat
from daskvars.ops.array.reshaping import expand_dims, identity, squeeze
from daskvars.ops.checks.assertions import assert_equal
from daskvars.ops.control.dependencies import control_dependencies
from daskvars.ops.control.tensor_array import TensorArray
from daskvars.ops.linalg.products import matmul
from daskvars.shapes import TensorShape
from daskvars.v1.contrib.sequences.attention import AttentionMechanism
from daskvars.v1.contrib.sequences.structures import sized_zeros
from daskvars.v1.nest import map_structure


class AttentionWrapperState(NamedTuple):
    """State of an `AttentionWrapper`.

    Attributes:
      cell_state: state of the cell inside.
      attention: [batch, size], what was read from the memories in the step before.
      time: scalar int32, number of the step.
      alignments: [batch, places] of the step before; with several mechanisms a tuple.
      alignment_history: a `TensorArray` of all of them, or (); with several a tuple.
      attention_state: state of the mechanism; with several a tuple.
    """

    cell_state: Any
    attention: Any
    time: Any
    alignments: Any
    alignment_history: Any
    attention_state: Any

    def clone(self, **kwargs: Any) -> AttentionWrapperState:
        """Return the state with other parts, of the shapes of the old ones.

        Raises:
          ValueError: the structure or the shape of a part is another.

        >>> with tf.Graph().as_default():
        ...     attention = tf.contrib.seq2seq.LuongAttention(4, tf.ones([2, 3, 5]))
        ...     cell = tf.contrib.seq2seq.AttentionWrapper(tf.nn.rnn_cell.GRUCell(4), attention)
        ...     state = cell.zero_state(2, tf.float32)
        ...     state.clone(cell_state=tf.ones([2, 4], name="encoded")).cell_state.op.name
        'encoded'
        """

        def with_shape(old: Any, new: Any) -> Any:
            if isinstance(old, Tensor) and isinstance(new, Tensor):
                new.set_shape(old.get_shape())
            return new

        return map_structure(with_shape, self, self._replace(**kwargs))


class AttentionWrapper(RNNCell):
    """A cell that at each step looks into memories: its output is a query for attention.

    Args:
      cell: the cell inside. It is given the inputs joined with what was read the step before.
      attention_mechanism: an `AttentionMechanism`, or a list of them.
      attention_layer_size: size of a layer on output and context joined, whose output is the
        attention; for several mechanisms a list. None: the context itself is.
      alignment_history: keep the alignments of all steps in the state, as a `TensorArray`.
      cell_input_fn: function of inputs and attention that gives the inputs of the cell.
      output_attention: the output is the attention, as Luong's; False: that of the cell, as
        Bahdanau's.
      initial_cell_state: state of the cell in `zero_state`.
      name: see `Layer`.
      attention_layer: a layer, in place of `attention_layer_size`; for several a list.

    For `BeamSearchDecoder`, tile memory, lengths and state by `tile_batch` first, and give
    `zero_state` the batch size times the number of beams.

    Raises:
      TypeError: a cell or mechanism is none, or `cell_input_fn` no function.
      ValueError: there is another number of layers than of mechanisms, or layers and sizes.
      InvalidArgumentError: (when run) the batch of a memory is not that of the state.

    Source: TensorFlow 1.8, ``tf.contrib.seq2seq.AttentionWrapper``.

    >>> with tf.Graph().as_default():
    ...     attention = tf.contrib.seq2seq.LuongAttention(4, tf.ones([2, 3, 5]))
    ...     cell = tf.nn.rnn_cell.GRUCell(4)
    ...     cell = tf.contrib.seq2seq.AttentionWrapper(cell, attention, attention_layer_size=6)
    ...     output, state = cell(tf.ones([2, 7]), cell.zero_state(2, tf.float32))
    ...     output.get_shape().as_list(), state.alignments.get_shape().as_list()
    ([2, 6], [2, 3])
    """

    def __init__(
        self,
        cell: RNNCell,
        attention_mechanism: AttentionMechanism | Sequence[AttentionMechanism],
        attention_layer_size: int | Sequence[int] | None = None,
        alignment_history: bool = False,
        cell_input_fn: Callable[[Any, Any], Any] | None = None,
        output_attention: bool = True,
        initial_cell_state: Any = None,
        name: str | None = None,
        attention_layer: Any = None,
    ) -> None:
        super().__init__(name=name)
        check_is_cell(cell)
        self._is_multi = isinstance(attention_mechanism, list | tuple)
        mechanisms: Any = _as_tuple(attention_mechanism)
        for mechanism in mechanisms:
            if not isinstance(mechanism, AttentionMechanism):
                raise TypeError(
                    "attention_mechanism must be an AttentionMechanism or list of multiple "
                    f"AttentionMechanism instances, saw type: {type(mechanism).__name__}"
                )
        if cell_input_fn is not None and not callable(cell_input_fn):
            raise TypeError(
                f"cell_input_fn must be callable, saw type: {type(cell_input_fn).__name__}"
            )
        self._cell = cell
        self._attention_mechanisms = mechanisms
        self._cell_input_fn = cell_input_fn or (
            lambda inputs, attention: concat([inputs, attention], -1)
        )
        self._output_attention = output_attention
        self._alignment_history = alignment_history
        self._set_layers(attention_layer_size, attention_layer)
        self._initial_cell_state = None
        if initial_cell_state is not None:
            with name_scope(name, "AttentionWrapperInit"):
                batch = size_along(nest.flatten(initial_cell_state)[-1], 0)
                self._initial_cell_state = self._checked(
                    initial_cell_state, batch, "constructing", "initial_cell_state"
                )

    def _set_layers(self, sizes: Any, layers: Any) -> None:
        if sizes is not None and layers is not None:
            raise ValueError("Only one of attention_layer_size and attention_layer should be set")
        given, what = (
            (sizes, "attention_layer_size") if layers is None else (layers, "attention_layer")
        )
        depths = [m.values.get_shape().as_list()[-1] for m in self._attention_mechanisms]
        self._attention_layers: tuple[Any, ...] | None = None
        if given is None:
            self._attention_layer_size = sum(depths)
            return
        given = _as_tuple(given)
        if len(given) != len(self._attention_mechanisms):
            raise ValueError(
                f"If provided, {what} must contain exactly one for each attention_mechanism, saw: "
                f"{len(given)} vs {len(self._attention_mechanisms)}"
            )
        if layers is None:
            self._attention_layer_size = sum(given)
            self._attention_layers = tuple(
                Dense(size, name="attention_layer", use_bias=False, dtype=mechanism.dtype)
                for size, mechanism in zip(given, self._attention_mechanisms, strict=True)
            )
        else:
            self._attention_layers = given
            output = self._cell.output_size
            self._attention_layer_size = sum(
                TensorShape(layer.compute_output_shape([None, output + depth])).as_list()[-1]
                for layer, depth in zip(given, depths, strict=True)
            )

    def _checked(self, values: Any, batch: Any, doing: str, what: str) -> Any:
        """Return values whose batch is that of the memories, or fail in the run."""
        message = (
            f"When {doing} AttentionWrapper {self._name}: Non-matching batch sizes between the "
            f"memory (encoder output) and {what}.  Are you using the BeamSearchDecoder?  You may "
            "need to tile your memory and initial state via the tf.contrib.seq2seq.tile_batch "
            "function with argument multiplier=beam_width, and to give zero_state batch_size * "
            "beam_width."
        )
        sizes = [m.batch_size for m in self._attention_mechanisms]
        if all(isinstance(size, int) and size == batch for size in sizes):
            return values
        checks = [assert_equal(batch, size, message=message) for size in sizes]
        with control_dependencies(checks):
            return nest.map_structure(
                lambda v: v if isinstance(v, TensorArray) else identity(v), values
            )

    def _item_or_tuple(self, values: Any) -> Any:
        found = tuple(values)
        return found if self._is_multi else found[0]

    @property
    def output_size(self) -> Any:
        """Size of the attention, or of the output of the cell."""
        return self._attention_layer_size if self._output_attention else self._cell.output_size

    @property
    def state_size(self) -> AttentionWrapperState:
        """Sizes of the state."""
        sizes = [mechanism.alignments_size for mechanism in self._attention_mechanisms]
        return AttentionWrapperState(
            cell_state=self._cell.state_size,
            time=TensorShape([]),
            attention=self._attention_layer_size,
            alignments=self._item_or_tuple(sizes),
            attention_state=self._item_or_tuple(m.state_size for m in self._attention_mechanisms),
            alignment_history=self._item_or_tuple(
                size if self._alignment_history else () for size in sizes
            ),
        )

    def zero_state(self, batch_size: TensorLike, dtype: DTypeLike) -> AttentionWrapperState:
        """Return a state of zeros, with `initial_cell_state` where that is given.

        Args:
          batch_size: a number or a scalar int32 tensor.
          dtype: dtype of all parts of the state.

        Raises:
          InvalidArgumentError: (perhaps when run) it is not the batch size of the memories.
        """
        with name_scope(f"{type(self).__name__}ZeroState", values=[batch_size]):
            cell_state = self._initial_cell_state
            if cell_state is None:
                cell_state = self._cell.zero_state(batch_size, dtype)
            known = known_number(batch_size)
            batch = batch_size if known is None else int(known)
            cell_state = self._checked(
                cell_state, batch, "calling zero_state of", "the requested batch size"
            )
            firsts = [m.initial_alignments(batch, dtype) for m in self._attention_mechanisms]
            return AttentionWrapperState(
                cell_state=cell_state,
                time=zeros([], int32),
                attention=sized_zeros(batch, self._attention_layer_size, dtype),
                alignments=self._item_or_tuple(firsts),
                attention_state=self._item_or_tuple(
                    m.initial_state(batch, dtype) for m in self._attention_mechanisms
                ),
                alignment_history=self._item_or_tuple(
                    TensorArray(dtype, size=0, dynamic_size=True, element_shape=first.get_shape())
                    if self._alignment_history
                    else ()
                    for first in firsts
                ),
            )

    def call(self, inputs: Any, state: AttentionWrapperState) -> Any:
        """Return the attention, or the output of the cell, and the next state.

        Raises:
          TypeError: `state` is no `AttentionWrapperState`.
        """
        if not isinstance(state, AttentionWrapperState):
            raise TypeError(
                "Expected state to be instance of AttentionWrapperState. Received type "
                f"{type(state)} instead."
            )
        cell_inputs = self._cell_input_fn(inputs, state.attention)
        output, cell_state = self._cell(cell_inputs, state.cell_state)
        output = self._checked(
            output, size_along(output, 0), "applying", "the query (decoder output)"
        )
        before, histories = state.attention_state, state.alignment_history
        if not self._is_multi:
            before, histories = (before,), (histories,)
        attentions, alignments, states = [], [], []
        for i, mechanism in enumerate(self._attention_mechanisms):
            found, next_state = mechanism(output, state=before[i])
            context = squeeze(matmul(expand_dims(found, 1), mechanism.values), [1])
            if self._attention_layers is not None:
                context = self._attention_layers[i](concat([output, context], 1))
            attentions.append(context)
            alignments.append(found)
            states.append(next_state)
        attention = concat(attentions, 1)
        if self._alignment_history:
            pairs = zip(histories, alignments, strict=True)
            histories = [history.write(state.time, found) for history, found in pairs]
        new = AttentionWrapperState(
            time=state.time + 1,
            cell_state=cell_state,
            attention=attention,
            attention_state=self._item_or_tuple(states),
            alignments=self._item_or_tuple(alignments),
            alignment_history=self._item_or_tuple(histories),
        )
        return attention if self._output_attention else output, new


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, list | tuple) else (value,)
