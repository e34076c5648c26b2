"""Recurrent networks: a cell applied step by step, unrolled or in a loop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from daskvars.dtypes import DTypeLike
from daskvars.graph import nest
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.layers.recurrent.batch_and_time import (
    copied_through,
    dtype_of,
    lengths_of,
    map_sizes,
    opened,
    shaped_as,
    sizes,
    state_value,
    swapped,
    with_step,
)
from daskvars.layers.recurrent.cell import RNNCell, batch_zeros, check_is_cell, check_steps
from daskvars.ops.array.constant import constant, zeros_like
from daskvars.ops.array.reshaping import identity
from daskvars.ops.control.dependencies import control_dependencies
from daskvars.ops.control.tensor_array import TensorArray
from daskvars.ops.control.while_loop import while_loop
from daskvars.ops.math.arithmetic import add, maximum, minimum
from daskvars.ops.math.comparison import greater_equal, less
from daskvars.ops.math.reduce import reduce_max
from daskvars.surface.accepted import accepts
from daskvars.variables.scopes.scope_stack import VariableScope


@accepts("parallel_iterations", "swap_memory")
def dynamic_rnn(
    cell: RNNCell,
    inputs: TensorLike,
    sequence_length: TensorLike | None = None,
    initial_state: Any = None,
    dtype: DTypeLike | None = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: str | VariableScope | None = None,
) -> tuple[Any, Any]:
    """Apply a cell to sequences of any length, in a loop.

    The body of the loop is compiled once. Gradients pass through it. Where a batch is worth it the
    whole loop is cut along it, and each part runs its own (`daskvars.lowering.planner.cut_loops`).

    Args:
      cell: an `RNNCell`.
      inputs: [batch, time, ...], or a nested structure of such tensors.
      sequence_length: [batch] int32, how long each sequence is; later outputs are zeros, and the
        state stays as it was. The loop ends with the longest.
      initial_state: in the structure of ``cell.state_size``; by default zeros.
      dtype: dtype of the state, needed where there is no `initial_state`.
      time_major: inputs and outputs are [time, batch, ...], which saves transposing them.
      scope: variable scope, by default "rnn".

    Returns:
      outputs: [batch, time, size] for each size in ``cell.output_size``, in its structure.
      state: the last state of each sequence, in the structure of ``cell.state_size``.

    Raises:
      TypeError: `cell` is no cell.
      ValueError: a shape does not fit or is not known, or there is neither state nor dtype.

    >>> cell = dv.nn.rnn_cell.BasicLSTMCell(4)
    >>> outputs, state = dv.nn.dynamic_rnn(cell, dv.ones([2, 5, 3]), dtype=dv.float32)
    >>> outputs.shape.as_list(), [v.name for v in cell.variables]
    ([2, 5, 4], ['rnn/basic_lstm_cell/kernel:0', 'rnn/basic_lstm_cell/bias:0'])
    """
    check_is_cell(cell)
    with opened(scope or "rnn", (inputs, initial_state)):
        inputs = nest.map_structure(convert_to_tensor, inputs)
        if not time_major:
            inputs = nest.map_structure(swapped, inputs)
        batch, time = sizes(nest.flatten(inputs))
        if sequence_length is not None:
            sequence_length = lengths_of(sequence_length, batch)
        if initial_state is None:
            if dtype is None:
                raise ValueError("If there is no initial_state, you must give a dtype.")
            initial_state = cell.zero_state(batch, dtype)
        state = nest.map_structure(state_value, initial_state)
        loop = _Loop(cell, inputs, batch, time, sequence_length, dtype_of(dtype, state))
        outputs, state = loop.run(state)
        if not time_major:
            outputs = nest.map_structure(swapped, outputs)
    return outputs, state


class _Loop:
    """One loop over time: what it reads, and what it writes."""

    def __init__(
        self,
        cell: RNNCell,
        inputs: TensorLike,
        batch: Any,
        time: Any,
        lengths: Tensor | None,
        dtype: DTypeLike,
    ) -> None:
        self.cell = cell
        self.batch, self.time, self.lengths, self.dtype = batch, time, lengths, dtype
        self.steps = time
        if lengths is not None:
            self.steps = minimum(time, maximum(1, reduce_max(lengths)))

        def unstacked(value: Tensor) -> TensorArray:
            array = TensorArray(
                value.dtype.base_dtype, size=time, clear_after_read=False, name="input"
            )
            return array.unstack(value)

        self.inputs = nest.map_structure(unstacked, inputs)

    def run(self, state: Any) -> tuple[Any, Any]:
        zeros = map_sizes(self._zeros, self.cell.output_size)
        arrays = nest.map_structure(
            lambda zero: TensorArray(
                self.dtype,
                size=self.time,
                clear_after_read=False,
                element_shape=zero.get_shape(),
                name="output",
            ),
            zeros,
        )

        def step(time: Tensor, arrays: Any, state: Any) -> Any:
            inputs = nest.map_structure(lambda array: array.read(time), self.inputs)
            output, new_state = self.cell(inputs, state)
            nest.assert_same_structure(state, new_state, "the old and the new state of the cell")
            if self.lengths is not None:
                is_over = greater_equal(time, self.lengths)
                output = copied_through(is_over, zeros, output)
                new_state = copied_through(is_over, state, new_state)
            new_state = shaped_as(new_state, state)
            arrays = with_step(arrays, time, output)
            return add(time, 1), arrays, new_state

        first = (constant(0, name="time"), arrays, state)
        _, arrays, state = while_loop(
            lambda time, *_: less(time, self.steps), step, first, name="while"
        )
        return nest.map_structure(self._stacked, arrays), state

    def _zeros(self, size: Any) -> Tensor:
        return batch_zeros(size, self.batch, self.dtype)

    def _stacked(self, array: TensorArray) -> Tensor:
        """Return outputs [time, batch, ...]; those that the loop did not come to are zeros."""
        outputs = array.stack()
        element_shape = array.element_shape
        known = self.time if isinstance(self.time, int) else None
        outputs.set_shape([known, *element_shape.as_list()])
        return outputs


def static_rnn(
    cell: RNNCell,
    inputs: Sequence[Any],
    initial_state: Any = None,
    dtype: DTypeLike | None = None,
    sequence_length: TensorLike | None = None,
    scope: str | VariableScope | None = None,
) -> tuple[list[Any], Any]:
    """Apply a cell to a list of inputs, unrolled.

    Args:
      cell: an `RNNCell`.
      inputs: for each step [batch, size], or a nested structure of such.
      initial_state: in the structure of ``cell.state_size``; by default zeros.
      dtype: dtype of the state, needed where there is no `initial_state`.
      sequence_length: [batch] int32, how long each sequence is; later outputs are zeros, and the
        state stays as it was.
      scope: variable scope, by default "rnn".

    Returns:
      outputs: a list as long as `inputs` of [batch, cell.output_size], of the dtype of the state.
      state: the last state of each sequence, [batch, size] in the structure of ``cell.state_size``.

    Raises:
      TypeError: `cell` is no cell, or `inputs` is no list.
      ValueError: there are no inputs, their sizes differ or are not known, or there is neither
        state nor dtype.

    >>> outputs, state = dv.nn.static_rnn(
    ...     dv.nn.rnn_cell.GRUCell(4), [dv.ones([2, 3])] * 5, dtype=dv.float32)
    >>> len(outputs), state.shape.as_list()
    (5, [2, 4])
    """
    check_is_cell(cell)
    check_steps(inputs)
    outputs = []
    with opened(scope or "rnn", (inputs, initial_state)) as variables:
        inputs = nest.map_structure(convert_to_tensor, list(inputs))
        batch, _ = sizes(nest.flatten(inputs), time_axis=None)
        state = initial_state
        if state is None:
            if dtype is None:
                raise ValueError("If no initial_state is provided, dtype must be specified")
            state = cell.zero_state(batch, dtype)
        state = nest.map_structure(state_value, state)
        if sequence_length is not None:
            sequence_length = lengths_of(sequence_length, batch)
        for time, step_inputs in enumerate(inputs):
            if time > 0:
                variables.reuse_variables()
            output, new_state = cell(step_inputs, state)
            if sequence_length is not None:
                is_over = greater_equal(time, sequence_length)
                zeros = nest.map_structure(zeros_like, output)
                output = copied_through(is_over, zeros, output)
                new_state = copied_through(is_over, state, new_state)
            outputs.append(output)
            state = new_state
    return outputs, state


def static_state_saving_rnn(
    cell: RNNCell,
    inputs: Sequence[Any],
    state_saver: Any,
    state_name: Any,
    sequence_length: TensorLike | None = None,
    scope: str | VariableScope | None = None,
) -> tuple[list[Any], Any]:
    """Apply a cell to a list of inputs, going on from the state that was saved before.

    Args:
      cell: an `RNNCell`.
      inputs: see `static_rnn`.
      state_saver: gives a state by ``state(name)``; ``save_state(name, value)`` returns an
        operation that saves one.
      state_name: name of the state, or names in the structure of ``cell.state_size``.
      sequence_length, scope: see `static_rnn`.

    Returns:
      outputs: a list as long as `inputs` of [batch, cell.output_size]; computing the last one saves
        the state.
      state: the last state of each sequence, [batch, size] in the structure of ``cell.state_size``.

    Raises:
      ValueError: the names are not structured as the state is.

    Source: TensorFlow 1.15, ``tf.nn.static_state_saving_rnn``.

    >>> class Saver:
    ...     saved = dv.Variable(dv.zeros([2, 4]), trainable=False)
    ...     def state(self, name):
    ...         return self.saved
    ...     def save_state(self, name, value):
    ...         return self.saved.assign(value)
    >>> outputs, state = dv.nn.static_state_saving_rnn(
    ...     dv.nn.rnn_cell.GRUCell(4), [dv.ones([2, 3])] * 5, Saver(), "h", scope="saving")
    >>> bool(dv.reduce_all(dv.equal(Saver.saved, state)))
    True
    """
    size = cell.state_size
    names = nest.flatten(state_name)
    nests = [isinstance(s, list | tuple) for s in (size, state_name)]
    if nests[0] != nests[1] or len(names) != len(nest.flatten(size)):
        raise ValueError(
            f"state_name should be structured as cell.state_size: {state_name!r}, {size!r}"
        )
    first = nest.pack(size, [state_saver.state(name) for name in names])
    outputs, state = static_rnn(cell, inputs, first, sequence_length=sequence_length, scope=scope)
    saved = [
        state_saver.save_state(name, value)
        for name, value in zip(names, nest.flatten(state), strict=True)
    ]
    with control_dependencies(saved):
        outputs[-1] = nest.map_structure(identity, outputs[-1])
    return outputs, state
