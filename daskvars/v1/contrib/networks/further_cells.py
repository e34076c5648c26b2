"""Cells that only ``contrib.rnn`` has: normalized, convolutional, highways; stacks of pairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from daskvars.dtypes import DTypeLike
from daskvars.graph import nest
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.layers.by_name import Activation
from daskvars.layers.recurrent.bidirectional import (
    bidirectional_dynamic_rnn,
    static_bidirectional_rnn,
)
from daskvars.layers.recurrent.cell import RNNCell
from daskvars.layers.recurrent.cell_wrappers import CellWrapper
from daskvars.layers.recurrent.cells import GRUCell, LSTMCell, LSTMStateTuple, MemoryCell
from daskvars.ops.array.joining import concat, split
from daskvars.ops.linalg.products import matmul
from daskvars.ops.math.arithmetic import add, multiply, subtract
from daskvars.ops.math.moments import moments
from daskvars.ops.math.transcendental import sigmoid, tanh
from daskvars.ops.nn.activation import relu
from daskvars.ops.nn.bias import bias_add
from daskvars.ops.nn.convolution.composed import convolution
from daskvars.ops.nn.dropout import dropout
from daskvars.ops.nn.normalization.moments import batch_normalization
from daskvars.shapes import TensorShape
from daskvars.surface.accepted import accepts
from daskvars.surface.forwarding import forwards
from daskvars.surface.signatures import with_arguments_in_order
from daskvars.v1.contrib.networks.linear_maps import linear
from daskvars.variables.initializers import Constant, InitializerLike, Zeros
from daskvars.variables.scopes.scope_stack import get_variable_scope
from daskvars.variables.scopes.variable_scope import get_variable, variable_scope

_SMALL = 1e-12  # what layers are normalized with in ``contrib.layers``


class LSTMBlockCell(LSTMCell):
    """`LSTMCell` under the name of TensorFlow's fused one, with its arguments and variables.

    Args:
      num_units: size of output and memory.
      forget_bias: added to the forget gate.
      cell_clip: what the memory is clipped to, None or 0 for nothing.
      use_peephole: whether gates see the memory.
      dtype, reuse, name: see `Layer`.

    Source: TensorFlow 1.15, ``tf.contrib.rnn.LSTMBlockCell``.

    >>> with tf.Graph().as_default():
    ...     cell = tf.contrib.rnn.LSTMBlockCell(4)
    ...     output, state = cell(tf.ones([2, 3]), cell.zero_state(2, tf.float32))
    ...     output.shape.as_list(), [v.name for v in cell.variables]
    ([2, 4], ['lstm_cell/kernel:0', 'lstm_cell/bias:0'])
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        cell_clip: float | None = None,
        use_peephole: bool = False,
        dtype: DTypeLike | None = None,
        reuse: bool | None = None,
        name: str = "lstm_cell",
    ) -> None:
        begin: Any = super().__init__  # with what the cell is declared to take
        begin(
            num_units,
            use_peepholes=use_peephole,
            cell_clip=cell_clip if cell_clip and cell_clip > 0 else None,
            forget_bias=forget_bias,
            reuse=reuse,
            name=name,
            dtype=dtype,
        )


class GRUBlockCellV2(GRUCell):
    """`GRUCell` under the name of TensorFlow's fused one.

    Args:
      num_units: size of output and state.
      reuse, name: see `Layer`.

    Source: TensorFlow 1.15, ``tf.contrib.rnn.GRUBlockCellV2``.

    >>> with tf.Graph().as_default():
    ...     cell = tf.contrib.rnn.GRUBlockCellV2(4)
    ...     cell(tf.ones([2, 3]), cell.zero_state(2, tf.float32))[0].shape.as_list()
    [2, 4]
    """

    def __init__(self, num_units: int, reuse: bool | None = None, name: str = "gru_cell") -> None:
        begin: Any = super().__init__
        begin(num_units, reuse=reuse, name=name)


@accepts("input_size")
class LayerNormBasicLSTMCell(MemoryCell):
    """Long short-term memory with normalized gates and memory, and dropout of what is new in it.

    Args:
      num_units: size of output and memory.
      forget_bias: added to the forget gate.
      activation: of what is new, and of the memory.
      layer_norm: whether gates and memory are normalized.
      norm_gain, norm_shift: what the gains and shifts begin with.
      dropout_keep_prob: which share of what is new is kept.
      dropout_prob_seed: int, of the draws.
      reuse: see `Layer`.

    Source: Ba et al., "Layer Normalization", 2016; TensorFlow 1.15,
    ``tf.contrib.rnn.LayerNormBasicLSTMCell``.

    >>> with tf.Graph().as_default():
    ...     cell = tf.contrib.rnn.LayerNormBasicLSTMCell(4)
    ...     output, state = cell(tf.ones([2, 3]), cell.zero_state(2, tf.float32))
    ...     output.shape.as_list(), tf.trainable_variables()[1].op.name
    ([2, 4], 'layer_norm_basic_lstm_cell/input/gamma')
    """

    def __init__(
        self,
        num_units: int,
        forget_bias: float = 1.0,
        input_size: int | None = None,
        activation: Any = tanh,
        layer_norm: bool = True,
        norm_gain: float = 1.0,
        norm_shift: float = 0.0,
        dropout_keep_prob: Any = 1.0,
        dropout_prob_seed: int | None = None,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units, self._forget_bias, self._activation = num_units, forget_bias, activation
        self._is_normalized = layer_norm
        self._norm_gain, self._norm_shift = norm_gain, norm_shift
        self._keep_prob, self._seed = dropout_keep_prob, dropout_prob_seed

    def _gates(self, gates: Tensor, *scopes: str) -> list[Tensor]:
        """Return the gates one by one, each normalized in the scope of its name."""
        parts = split(gates, len(scopes), 1)
        return [self._normalized(gate, scope) for gate, scope in zip(parts, scopes, strict=True)]

    def _normalized(self, value: Tensor, scope: str) -> Tensor:
        if not self._is_normalized:
            return value
        dtype = value.dtype.base_dtype
        with variable_scope(scope):
            size = [self._num_units]
            gain = get_variable("gamma", size, dtype, Constant(self._norm_gain))
            shift = get_variable("beta", size, dtype, Constant(self._norm_shift))
        mean, variance = moments(value, [1], keep_dims=True)
        return batch_normalization(value, mean, variance, shift, gain, _SMALL)

    def call(self, inputs: Any, state: Any) -> tuple[Tensor, LSTMStateTuple]:
        """Return output and new state."""
        memory, output = state
        joined = concat([inputs, output], 1)
        dtype, size = joined.dtype.base_dtype, 4 * self._num_units
        depth = joined.get_shape().as_list()[1]
        gates = matmul(joined, get_variable("kernel", [depth, size], dtype))
        if not self._is_normalized:
            gates = bias_add(gates, get_variable("bias", [size], dtype, Zeros()))
        new, chosen, forget, shown = self._gates(gates, "input", "transform", "forget", "output")
        chosen = self._activation(chosen)
        if not isinstance(self._keep_prob, float) or self._keep_prob < 1:
            chosen = dropout(chosen, self._keep_prob, seed=self._seed)
        kept = multiply(memory, sigmoid(add(forget, self._forget_bias)))
        memory = self._normalized(add(kept, multiply(sigmoid(new), chosen)), "state")
        output = multiply(self._activation(memory), sigmoid(shown))
        return self._output_and_state(memory, output)


class CoupledInputForgetGateLSTMCell(LayerNormBasicLSTMCell):
    """Long short-term memory that takes in as much of what is new as it forgets.

    Args:
      num_units: size of the memory.
      use_peepholes: whether gates see the memory.
      initializer: of all weights but biases, by default that of the scope. (TensorFlow 1.15, other
        than it says, always takes that of the scope.)
      num_proj: size of the output, by default that of the memory.
      proj_clip: bound on the absolute value of the projected output.
      num_unit_shards, num_proj_shards: of how many variables kernel and projection are.
      forget_bias: added to the forget gate.
      state_is_tuple: whether the state is an `LSTMStateTuple`, rather than both joined.
      activation: of what is new, and of the memory.
      reuse: see `Layer`.
      layer_norm: whether gates and memory are normalized.
      norm_gain, norm_shift: what the gains and shifts begin with.

    Raises:
      ValueError: the size of inputs is unknown.

    Source: Greff et al., "LSTM: A Search Space Odyssey", 2015; TensorFlow 1.15,
    ``tf.contrib.rnn.CoupledInputForgetGateLSTMCell``.

    >>> with tf.Graph().as_default():
    ...     cell = tf.contrib.rnn.CoupledInputForgetGateLSTMCell(4, use_peepholes=True)
    ...     output, state = cell(tf.ones([2, 3]), cell.zero_state(2, tf.float32))
    ...     output.shape.as_list(), tf.trainable_variables()[0].op.name
    ([2, 4], 'coupled_input_forget_gate_lstm_cell/W_0')
    """

    @with_arguments_in_order(
        "num_units use_peepholes initializer num_proj proj_clip num_unit_shards num_proj_shards "
        "forget_bias state_is_tuple activation reuse layer_norm=False norm_gain norm_shift",
        LayerNormBasicLSTMCell.__init__,
    )
    def __init__(
        self,
        use_peepholes: bool = False,
        initializer: InitializerLike | None = None,
        num_proj: int | None = None,
        proj_clip: float | None = None,
        num_unit_shards: int = 1,
        num_proj_shards: int = 1,
        state_is_tuple: bool = True,
        **of_normalized: Any,
    ) -> None:
        super().__init__(**of_normalized)
        self._use_peepholes, self._initializer = use_peepholes, initializer
        self._num_proj, self._proj_clip = num_proj, proj_clip
        self._num_unit_shards, self._num_proj_shards = num_unit_shards, num_proj_shards
        self._state_is_tuple = state_is_tuple

    def call(self, inputs: Any, state: Any) -> tuple[Tensor, Any]:
        """Return output and new state."""
        with variable_scope(get_variable_scope(), initializer=self._initializer):
            return self._step(inputs, state)

    def _step(self, inputs: Any, state: Any) -> tuple[Tensor, Any]:
        size, dtype = self._num_units, inputs.dtype.base_dtype
        memory, output = (
            state if self._state_is_tuple else split(state, [size, self.output_size], 1)
        )
        depth = _depth(inputs)
        kernel = _in_parts("W", depth + self.output_size, 3 * size, dtype, self._num_unit_shards)
        bias = get_variable("B", [3 * size], dtype, Zeros())  # made, if not used, as TensorFlow's
        gates = matmul(concat([inputs, output], 1), kernel)
        if not self._is_normalized:
            gates = bias_add(gates, bias)
        chosen, forget, shown = self._gates(gates, "transform", "forget", "output")
        forget = add(forget, self._forget_bias)
        if self._use_peepholes:
            to_forget, to_show = (
                get_variable(f"W_{gate}_diag", [size], dtype) for gate in ("F", "O")
            )
            forget = add(forget, multiply(to_forget, memory))
        share = sigmoid(forget)
        new = multiply(subtract(1.0, share), self._activation(chosen))
        memory = self._normalized(add(multiply(share, memory), new), "state")
        if self._use_peepholes:
            shown = add(shown, multiply(to_show, memory))
        output = multiply(sigmoid(shown), self._activation(memory))
        if self._num_proj:
            output = matmul(
                output, _in_parts("W_P", size, self._num_proj, dtype, self._num_proj_shards)
            )
        return self._output_and_state(memory, output)


def _depth(inputs: Any) -> int:
    depth = TensorShape(inputs.get_shape()).as_list()[1]
    if depth is None:
        raise ValueError("Could not infer input size from inputs.get_shape()[-1]")
    return depth


def _in_parts(name: str, rows: int, columns: int, dtype: Any, parts: int) -> Tensor:
    """Return a matrix of variables, whose names end in numbers, one upon another."""
    heights = [rows // parts + (part < rows % parts) for part in range(parts)]
    return concat(
        [get_variable(f"{name}_{n}", [height, columns], dtype) for n, height in enumerate(heights)],
        0,
    )


class NASCell(MemoryCell):
    """The cell that a search for architectures found.

    Args:
      num_units: size of the memory.
      num_proj: size of the output, by default that of the memory.
      use_biases: whether there are biases.
      reuse: see `Layer`.

    Source: Zoph and Le, "Neural Architecture Search with Reinforcement Learning", 2017; TensorFlow
    1.15, ``tf.contrib.rnn.NASCell``.

    >>> with tf.Graph().as_default():
    ...     cell = tf.contrib.rnn.NASCell(4, num_proj=2)
    ...     output, state = cell(tf.ones([2, 3]), cell.zero_state(2, tf.float32))
    ...     output.shape.as_list(), state.c.shape.as_list()
    ([2, 2], [2, 4])
    """

    def __init__(
        self,
        num_units: int,
        num_proj: int | None = None,
        use_biases: bool = False,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units, self._num_proj, self._use_biases = num_units, num_proj, use_biases

    def call(self, inputs: Any, state: Any) -> tuple[Tensor, LSTMStateTuple]:
        """Return output and new state."""
        memory, output = state
        dtype, size = inputs.dtype.base_dtype, 8 * self._num_units
        depth = _depth(inputs)
        of_output = matmul(
            output, get_variable("recurrent_kernel", [self.output_size, size], dtype)
        )
        of_inputs = matmul(inputs, get_variable("kernel", [depth, size], dtype))
        if self._use_biases:
            of_output = bias_add(of_output, get_variable("bias", [size], dtype, Zeros()))
        pairs = list(zip(split(of_inputs, 8, 1), split(of_output, 8, 1), strict=True))
        functions = (sigmoid, relu, sigmoid, relu, tanh, sigmoid, tanh, sigmoid)
        first = [
            function(multiply(x, m) if place == 3 else add(x, m))
            for place, (function, (x, m)) in enumerate(zip(functions, pairs, strict=True))
        ]
        with_memory = tanh(add(tanh(multiply(first[0], first[1])), memory))
        memory = multiply(with_memory, tanh(add(first[2], first[3])))
        beside = tanh(add(tanh(multiply(first[4], first[5])), sigmoid(add(first[6], first[7]))))
        output = tanh(multiply(memory, beside))
        if self._num_proj is not None:
            shape = [self._num_units, self._num_proj]
            output = matmul(output, get_variable("projection_weights", shape, dtype))
        return self._output_and_state(memory, output)


class UGRNNCell(RNNCell):
    """A cell with one gate, between the state and what is new.

    Args:
      num_units: size of output and state.
      initializer: of the weights, by default that of the scope.
      forget_bias: added to the gate.
      activation: of what is new.
      reuse: see `Layer`.

    Source: Collins et al., "Capacity and Trainability in Recurrent Neural Networks", 2017;
    TensorFlow 1.15, ``tf.contrib.rnn.UGRNNCell``.

    >>> with tf.Graph().as_default():
    ...     cell = tf.contrib.rnn.UGRNNCell(4)
    ...     cell(tf.ones([2, 3]), cell.zero_state(2, tf.float32))[0].shape.as_list()
    [2, 4]
    """

    def __init__(
        self,
        num_units: int,
        initializer: InitializerLike | None = None,
        forget_bias: float = 1.0,
        activation: Activation = tanh,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        self._num_units, self._initializer = num_units, initializer
        self._forget_bias, self._activation = forget_bias, activation

    state_size: int = forwards("_num_units", "The number of units.")
    output_size: int = forwards("_num_units", "The number of units.")

    def call(self, inputs: Any, state: Any) -> tuple[Tensor, Tensor]:
        """Return output and new state, which are the same."""
        with variable_scope(get_variable_scope(), initializer=self._initializer):
            gate, new = split(linear([inputs, state], 2 * self._num_units, True), 2, 1)
        gate = sigmoid(add(gate, self._forget_bias))
        function: Any = self._activation
        found = add(multiply(gate, state), multiply(subtract(1.0, gate), function(new)))
        return found, found


class ConvLSTMCell(RNNCell):
    """Long short-term memory of images: its products are convolutions.

    Args:
      conv_ndims: of how many dimensions they are: 1, 2 or 3.
      input_shape: of an input, without the batch.
      output_channels: of output and memory.
      kernel_shape: of the convolutions.
      use_bias: whether there are biases.
      skip_connection: whether inputs are joined to outputs.
      forget_bias: added to the forget gate.
      initializers: of the kernel, by default that of the scope.
      name: see `Layer`.

    Raises:
      ValueError: `input_shape` is of another number of dimensions.

    Source: Shi et al., "Convolutional LSTM Network", 2015; TensorFlow 1.15,
    ``tf.contrib.rnn.ConvLSTMCell``.

    >>> with tf.Graph().as_default():
    ...     cell = tf.contrib.rnn.ConvLSTMCell(2, [6, 5, 3], 4, [3, 3])
    ...     output, state = cell(tf.ones([2, 6, 5, 3]), cell.zero_state(2, tf.float32))
    ...     output.shape.as_list()
    [2, 6, 5, 4]
    """

    def __init__(
        self,
        conv_ndims: int,
        input_shape: Sequence[int],
        output_channels: int,
        kernel_shape: Sequence[int],
        use_bias: bool = True,
        skip_connection: bool = False,
        forget_bias: float = 1.0,
        initializers: InitializerLike | None = None,
        name: str = "conv_lstm_cell",
    ) -> None:
        super().__init__(name=name)
        if conv_ndims != len(input_shape) - 1:
            raise ValueError(f"Invalid input_shape {input_shape} for conv_ndims={conv_ndims}.")
        self._input_shape, self._channels = list(input_shape), output_channels
        self._kernel_shape, self._use_bias = list(kernel_shape), use_bias
        self._skips, self._forget_bias = skip_connection, forget_bias
        self._initializer = initializers

    @property
    def state_size(self) -> LSTMStateTuple:
        """Shapes of memory and output."""
        shape = TensorShape([*self._input_shape[:-1], self._channels])
        return LSTMStateTuple(shape, self.output_size if self._skips else shape)

    @property
    def output_size(self) -> TensorShape:
        """The shape of the output."""
        added = self._input_shape[-1] if self._skips else 0
        return TensorShape([*self._input_shape[:-1], self._channels + added])

    def call(self, inputs: Any, state: Any) -> tuple[Tensor, LSTMStateTuple]:
        """Return output and new state."""
        memory, output = state
        joined = concat([inputs, output], -1)
        depth, size = joined.get_shape().as_list()[-1], 4 * self._channels
        dtype = joined.dtype.base_dtype
        shape = [*self._kernel_shape, depth, size]
        gates = convolution(
            joined, get_variable("kernel", shape, dtype, self._initializer), padding="SAME"
        )
        if self._use_bias:
            gates = bias_add(gates, get_variable("biases", [size], dtype, Zeros()))
        new, chosen, forget, shown = split(gates, 4, -1)
        memory = multiply(sigmoid(add(forget, self._forget_bias)), memory)
        memory = add(memory, multiply(sigmoid(new), tanh(chosen)))
        output = multiply(tanh(memory), sigmoid(shown))
        if self._skips:
            output = concat([output, inputs], -1)
        return output, LSTMStateTuple(memory, output)


def _by_rank(rank: int) -> type[ConvLSTMCell]:
    class OfRank(ConvLSTMCell):
        def __init__(self, name: str = f"conv_{rank}d_lstm_cell", **kwargs: Any) -> None:
            super().__init__(conv_ndims=rank, name=name, **kwargs)

    OfRank.__name__ = OfRank.__qualname__ = f"Conv{rank}DLSTMCell"
    OfRank.__doc__ = f"""`ConvLSTMCell` of {rank} dimensions.

    Args:
      name: see `Layer`.
      **kwargs: those of `ConvLSTMCell`, without ``conv_ndims``.

    Source: TensorFlow 1.15, ``tf.contrib.rnn.Conv{rank}DLSTMCell``.
    """
    return OfRank


Conv1DLSTMCell, Conv2DLSTMCell, Conv3DLSTMCell = map(_by_rank, (1, 2, 3))


class HighwayWrapper(CellWrapper):
    """A cell past which inputs go, as much of them as a gate lets.

    Args:
      cell: the cell inside, with outputs of the size of its inputs.
      couple_carry_transform_gates: whether as much less of the outputs comes as more of the inputs.
      carry_bias_init: what the bias of the gate begins with.

    Raises:
      TypeError: `cell` is no cell.

    Source: Srivastava et al., "Highway Networks", 2015; TensorFlow 1.15,
    ``tf.contrib.rnn.HighwayWrapper``.

    >>> with tf.Graph().as_default():
    ...     cell = tf.contrib.rnn.HighwayWrapper(tf.nn.rnn_cell.GRUCell(3))
    ...     cell(tf.ones([2, 3]), cell.zero_state(2, tf.float32))[0].shape.as_list()
    [2, 3]
    """

    def __init__(
        self, cell: RNNCell, couple_carry_transform_gates: bool = True, carry_bias_init: float = 1.0
    ) -> None:
        super().__init__(cell)
        self._is_coupled, self._bias = couple_carry_transform_gates, carry_bias_init

    def _wrapped(self, inputs: Any, state: Any, step: Callable[[Any, Any], Any]) -> Any:
        outputs, state = step(inputs, state)
        nest.assert_same_structure(inputs, outputs, "inputs and outputs of HighwayWrapper")
        pairs = zip(nest.flatten(inputs), nest.flatten(outputs), strict=True)
        return nest.pack(outputs, [self._mixed(x, y) for x, y in pairs]), state

    def _mixed(self, inputs: Tensor, outputs: Tensor) -> Tensor:
        carry = self._gate(inputs, "carry", self._bias)
        if self._is_coupled:
            transform = subtract(1.0, carry)
        else:
            transform = self._gate(inputs, "transform", -self._bias)
        return add(multiply(inputs, carry), multiply(outputs, transform))

    def _gate(self, inputs: Tensor, name: str, bias: float) -> Tensor:
        size = inputs.get_shape().as_list()[1]
        weights = get_variable(f"{name}_w", [size, size])
        start = get_variable(f"{name}_b", [size], initializer=Constant(bias))
        return sigmoid(bias_add(matmul(inputs, weights), start))


@accepts("parallel_iterations")
def stack_bidirectional_dynamic_rnn(
    cells_fw: Sequence[RNNCell],
    cells_bw: Sequence[RNNCell],
    inputs: Any,
    initial_states_fw: Sequence[Any] | None = None,
    initial_states_bw: Sequence[Any] | None = None,
    dtype: DTypeLike | None = None,
    sequence_length: TensorLike | None = None,
    parallel_iterations: int | None = None,
    time_major: bool = False,
    scope: Any = None,
) -> tuple[Tensor, tuple[Any, ...], tuple[Any, ...]]:
    """Apply pairs of cells one upon another, each forward and backward in time.

    Args:
      cells_fw, cells_bw: lists of cells, one of each for a layer.
      inputs: see `dynamic_rnn`; a layer takes both outputs of the one before, joined.
      initial_states_fw, initial_states_bw: lists of states to begin with, by default zeros.
      dtype, sequence_length, time_major: see `dynamic_rnn`.
      scope: variable scope, by default "stack_bidirectional_rnn"; layers are under "cell_0" and on.

    Returns:
      The outputs of the last layer, [batch, time, both sizes], and the last states of each layer,
      forward and backward.

    Raises:
      ValueError: the lists are empty, or not equally long.

    Source: TensorFlow 1.15, ``tf.contrib.rnn.stack_bidirectional_dynamic_rnn``.

    >>> with tf.Graph().as_default():
    ...     forward, backward = [[tf.nn.rnn_cell.GRUCell(3) for _ in range(2)] for _ in range(2)]
    ...     found = tf.contrib.rnn.stack_bidirectional_dynamic_rnn(
    ...         forward, backward, tf.ones([2, 5, 4]), dtype=tf.float32)
    ...     found[0].shape.as_list(), len(found[1])
    ([2, 5, 6], 2)
    """

    def layer(fw: RNNCell, bw: RNNCell, below: Any, first_fw: Any, first_bw: Any) -> Any:
        outputs, states = bidirectional_dynamic_rnn(
            fw, bw, below, sequence_length, first_fw, first_bw, dtype, time_major=time_major
        )
        return concat(outputs, 2), *states

    return _stacked(layer, cells_fw, cells_bw, inputs, initial_states_fw, initial_states_bw, scope)


@with_arguments_in_order(
    "cells_fw cells_bw inputs initial_states_fw initial_states_bw dtype sequence_length scope",
    stack_bidirectional_dynamic_rnn,
)
def stack_bidirectional_rnn(
    dtype: Any, sequence_length: Any, **arguments: Any
) -> tuple[list[Tensor], tuple[Any, ...], tuple[Any, ...]]:
    """Apply pairs of cells one upon another, over a list of inputs, unrolled.

    Args:
      inputs, dtype, sequence_length: see `static_rnn`.

    Returns:
      The outputs of the last layer, for each step [batch, both sizes], and the last states of each
      layer, forward and backward.

    Raises:
      ValueError: the lists are empty, or not equally long.

    Source: TensorFlow 1.15, ``tf.contrib.rnn.stack_bidirectional_rnn``.

    >>> with tf.Graph().as_default():
    ...     forward, backward = [[tf.nn.rnn_cell.GRUCell(3) for _ in range(2)] for _ in range(2)]
    ...     found = tf.contrib.rnn.stack_bidirectional_rnn(
    ...         forward, backward, [tf.ones([2, 4])] * 5, dtype=tf.float32)
    ...     len(found[0]), found[0][0].shape.as_list(), len(found[1])
    (5, [2, 6], 2)
    """

    def layer(fw: RNNCell, bw: RNNCell, below: Any, first_fw: Any, first_bw: Any) -> Any:
        return static_bidirectional_rnn(fw, bw, below, first_fw, first_bw, dtype, sequence_length)

    return _stacked(layer, **arguments)


def _stacked(
    layer: Callable[..., Any],
    cells_fw: Sequence[RNNCell],
    cells_bw: Sequence[RNNCell],
    inputs: Any,
    initial_states_fw: Sequence[Any] | None,
    initial_states_bw: Sequence[Any] | None,
    scope: Any,
) -> tuple[Any, tuple[Any, ...], tuple[Any, ...]]:
    """Return the outputs of the last of some layers, and the states of all, in two directions."""
    for cells, what in ((cells_fw, "fw"), (cells_bw, "bw")):
        if not cells:
            raise ValueError(f"Must specify at least one {what} cell for BidirectionalRNN.")
    if len(cells_fw) != len(cells_bw):
        raise ValueError("Forward and Backward cells must have the same depth.")
    for states, what in ((initial_states_fw, "fw"), (initial_states_bw, "bw")):
        if states is not None and len(states) != len(cells_fw):
            raise ValueError(
                f"initial_states_{what} must be a list of state tensors (one per layer)."
            )
    nothing = [None] * len(cells_fw)
    layers = zip(
        cells_fw, cells_bw, initial_states_fw or nothing, initial_states_bw or nothing, strict=True
    )
    found = []
    with variable_scope(scope or "stack_bidirectional_rnn"):
        for number, (forward, backward, first_fw, first_bw) in enumerate(layers):
            with variable_scope(f"cell_{number}"):
                inputs, *states = layer(forward, backward, inputs, first_fw, first_bw)
            found.append(states)
    states_fw, states_bw = zip(*found, strict=True)
    return inputs, states_fw, states_bw
