"""A cell that attends to its own last outputs: that of ``contrib.rnn``."""

from __future__ import annotations

from typing import Any

from daskvars.graph import nest
from daskvars.graph.tensor import Tensor
from daskvars.layers.recurrent.cell import RNNCell, check_is_cell
from daskvars.ops.array.joining import concat, split
from daskvars.ops.array.reshaping import expand_dims, reshape
from daskvars.ops.math.arithmetic import add, multiply
from daskvars.ops.math.reduce import reduce_sum
from daskvars.ops.math.transcendental import tanh
from daskvars.ops.nn.convolution.functions import conv2d
from daskvars.ops.nn.softmax import softmax
from daskvars.surface.forwarding import forwards
from daskvars.v1.contrib.networks.linear_maps import linear
from daskvars.variables.scopes.variable_scope import get_variable, variable_scope


class AttentionCellWrapper(RNNCell):
    """A cell that also sees a weighted sum of its last outputs.

    The state is that of the cell inside, the sum, and the outputs as one row.

    Args:
      cell: the cell inside.
      attn_length: how many outputs it attends to.
      attn_size: size of an output, by default that of the cell.
      attn_vec_size: size in which outputs and state are compared, by default `attn_size`.
      input_size: size that inputs and sum are projected to, by default that of the inputs.
      state_is_tuple: whether the state is a tuple, and not joined into one matrix.
      reuse: see `Layer`.

    Raises:
      TypeError: `cell` is no cell.
      ValueError: `attn_length` is not positive, or the cell has a tuple for a state where the
        whole is to be a matrix.

    Source: Cheng et al., "Long Short-Term Memory-Networks for Machine Reading", 2016; TensorFlow
    1.15, ``tf.contrib.rnn.AttentionCellWrapper``.

    >>> with tf.Graph().as_default():
    ...     cell = tf.contrib.rnn.AttentionCellWrapper(tf.nn.rnn_cell.GRUCell(3), attn_length=5)
    ...     output, state = cell(tf.ones([2, 4]), cell.zero_state(2, tf.float32))
    ...     [part.shape.as_list() for part in (output, *state)]
    [[2, 3], [2, 3], [2, 3], [2, 15]]
    """

    def __init__(
        self,
        cell: RNNCell,
        attn_length: int,
        attn_size: int | None = None,
        attn_vec_size: int | None = None,
        input_size: int | None = None,
        state_is_tuple: bool = True,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(_reuse=reuse)
        check_is_cell(cell)
        if isinstance(cell.state_size, list | tuple) and not state_is_tuple:
            raise ValueError(
                "Cell returns tuple of states, but the flag state_is_tuple is not set. "
                f"State size is: {cell.state_size}"
            )
        if attn_length <= 0:
            raise ValueError(f"attn_length should be greater than zero, got {attn_length}")
        self._cell, self._state_is_tuple = cell, state_is_tuple
        self._length, self._input_size = attn_length, input_size
        self._size = cell.output_size if attn_size is None else attn_size
        self._vec_size = self._size if attn_vec_size is None else attn_vec_size

    output_size: Any = forwards("_size", "Size of an output.")

    @property
    def state_size(self) -> Any:
        """Sizes of the cell's state, of the sum and of the outputs, or what they are together."""
        sizes = self._cell.state_size, self._size, self._size * self._length
        return sizes if self._state_is_tuple else sum(sizes)

    def call(self, inputs: Any, state: Any) -> tuple[Tensor, Any]:
        """Return the output, for inputs beside the last sum, and the new state."""
        if not self._state_is_tuple:
            state = split(state, [self._cell.state_size, self._size, self._size * self._length], 1)
        state, attended, outputs = state
        outputs = reshape(outputs, [-1, self._length, self._size])
        size = self._input_size or inputs.get_shape().as_list()[1]
        output, state = self._cell(linear([inputs, attended], size, True), state)
        attended = self._attended(concat(nest.flatten(state), 1), outputs)
        with variable_scope("attn_output_projection"):
            output = linear([output, attended], self._size, True)
        kept = concat([outputs[:, 1:], expand_dims(output, 1)], 1)
        parts = state, attended, reshape(kept, [-1, self._length * self._size])
        return output, parts if self._state_is_tuple else concat(list(parts), 1)

    def _attended(self, query: Tensor, outputs: Tensor) -> Tensor:
        with variable_scope("attention"):
            kernel = get_variable("attn_w", [1, 1, self._size, self._vec_size])
            vector = get_variable("attn_v", [self._vec_size])
            hidden = reshape(outputs, [-1, self._length, 1, self._size])
            seen = conv2d(hidden, kernel, [1, 1, 1, 1], "SAME")
            asked = reshape(linear(query, self._vec_size, True), [-1, 1, 1, self._vec_size])
            weights = softmax(reduce_sum(multiply(vector, tanh(add(seen, asked))), [2, 3]))
            weighted = multiply(reshape(weights, [-1, self._length, 1, 1]), hidden)
            return reshape(reduce_sum(weighted, [1, 2]), [-1, self._size])
