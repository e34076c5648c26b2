"""Recurrent networks in both directions of time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from daskvars.dtypes import DTypeLike
from daskvars.graph import nest
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.interpreter import builder_for
from daskvars.graph.scopes.name_scope import entered_graph
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.layers.recurrent.cell import RNNCell, check_is_cell, check_steps
from daskvars.layers.recurrent.rnn import dynamic_rnn, static_rnn
from daskvars.ops.array.joining import concat, stack, unstack
from daskvars.ops.array.rearranging import reverse, reverse_sequence
from daskvars.surface.accepted import accepts
from daskvars.variables.scopes.scope_stack import VariableScope
from daskvars.variables.scopes.variable_scope import variable_scope


@accepts("parallel_iterations", "swap_memory")
def bidirectional_dynamic_rnn(
    cell_fw: RNNCell,
    cell_bw: RNNCell,
    inputs: TensorLike,
    sequence_length: TensorLike | None = None,
    initial_state_fw: Any = None,
    initial_state_bw: Any = None,
    dtype: DTypeLike | None = None,
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    time_major: bool = False,
    scope: str | VariableScope | None = None,
) -> tuple[tuple[Any, Any], tuple[Any, Any]]:
    """Apply one cell forward in time, and one backward; see `dynamic_rnn`.

    Args:
      cell_fw: an `RNNCell`, for the forward direction.
      cell_bw: an `RNNCell`, for the backward direction.
      initial_state_fw, initial_state_bw: the states to begin with, by default zeros.
      inputs, sequence_length, dtype, parallel_iterations, swap_memory, time_major: see
        `dynamic_rnn`.
      scope: variable scope, by default "bidirectional_rnn"; the cells are under "fw" and "bw".

    Returns:
      outputs: of both directions, each in the order of time.
      states: the last state of each direction.

    >>> cells = dv.nn.rnn_cell.GRUCell(4), dv.nn.rnn_cell.GRUCell(4)
    >>> outputs, _ = dv.nn.bidirectional_dynamic_rnn(*cells, dv.ones([2, 5, 3]), dtype=dv.float32)
    >>> outputs[0].shape.as_list(), cells[1].variables[0].name
    ([2, 5, 4], 'bidirectional_rnn/bw/gru_cell/gates/kernel:0')
    """
    check_is_cell(cell_fw, "cell_fw")
    check_is_cell(cell_bw, "cell_bw")
    options: dict[str, Any] = {"time_major": time_major, "dtype": dtype}
    time, batch = (0, 1) if time_major else (1, 0)

    def turned(value: Tensor) -> Tensor:
        if sequence_length is None:
            return reverse(value, [time])
        return reverse_sequence(value, sequence_length, seq_axis=time, batch_axis=batch)

    with (
        entered_graph(builder_for(tuple(nest.flatten(inputs)))),
        variable_scope(scope or "bidirectional_rnn"),
    ):
        inputs = nest.map_structure(convert_to_tensor, inputs)
        with variable_scope("fw") as inner:
            forward, state_fw = dynamic_rnn(
                cell_fw, inputs, sequence_length, initial_state_fw, scope=inner, **options
            )
        with variable_scope("bw") as inner:
            inputs_bw = nest.map_structure(turned, inputs)
            backward, state_bw = dynamic_rnn(
                cell_bw, inputs_bw, sequence_length, initial_state_bw, scope=inner, **options
            )
        backward = nest.map_structure(turned, backward)
    return (forward, backward), (state_fw, state_bw)


def static_bidirectional_rnn(
    cell_fw: RNNCell,
    cell_bw: RNNCell,
    inputs: Sequence[Any],
    initial_state_fw: Any = None,
    initial_state_bw: Any = None,
    dtype: DTypeLike | None = None,
    sequence_length: TensorLike | None = None,
    scope: str | VariableScope | None = None,
) -> tuple[list[Any], Any, Any]:
    """Apply one cell forward over a list of inputs, and one backward, unrolled.

    Args:
      cell_fw: an `RNNCell`, for the forward direction.
      cell_bw: an `RNNCell`, for the backward direction.
      initial_state_fw, initial_state_bw: the states to begin with, by default zeros.
      inputs, dtype, sequence_length: see `static_rnn`.
      scope: variable scope, by default "bidirectional_rnn"; the cells are under "fw" and "bw".

    Returns:
      outputs: for each step those of both directions, joined along the columns: [batch, sum of both
        ``output_size``].
      state_fw, state_bw: the last state of each direction, [batch, size] in the structure of its
        cell's ``state_size``.

    Raises:
      TypeError: `inputs` is no sequence, or a cell is none.
      ValueError: `inputs` is empty.

    >>> with tf.Graph().as_default():
    ...     cells = [tf.nn.rnn_cell.GRUCell(4) for _ in range(2)]
    ...     outputs, *_ = tf.nn.static_bidirectional_rnn(
    ...         *cells, [tf.ones([2, 3])] * 5, dtype=tf.float32)
    >>> len(outputs), outputs[0].shape.as_list()
    (5, [2, 8])
    """
    check_is_cell(cell_fw, "cell_fw")
    check_is_cell(cell_bw, "cell_bw")
    check_steps(inputs)
    with (
        entered_graph(builder_for(tuple(nest.flatten(inputs)))),
        variable_scope(scope or "bidirectional_rnn"),
    ):
        inputs = nest.map_structure(convert_to_tensor, list(inputs))
        with variable_scope("fw") as inner:
            forward, state_fw = static_rnn(
                cell_fw, inputs, initial_state_fw, dtype, sequence_length, inner
            )
        with variable_scope("bw") as inner:
            inputs_bw = _turned(inputs, sequence_length)
            turned, state_bw = static_rnn(
                cell_bw, inputs_bw, initial_state_bw, dtype, sequence_length, inner
            )
        backward = _turned(turned, sequence_length)
        outputs = [
            nest.pack(
                a,
                [concat([x, y], 1) for x, y in zip(nest.flatten(a), nest.flatten(b), strict=True)],
            )
            for a, b in zip(forward, backward, strict=True)
        ]
    return outputs, state_fw, state_bw


def _turned(steps: Sequence[Any], lengths: Any) -> list[Any]:
    """Return the steps in the other order, each sequence within its length."""
    if lengths is None:
        return list(steps[::-1])
    columns = zip(*map(nest.flatten, steps), strict=True)
    turned = [unstack(reverse_sequence(stack(c), lengths, 0, 1), len(steps)) for c in columns]
    return [
        nest.pack(step, list(row))
        for step, row in zip(steps, zip(*turned, strict=True), strict=True)
    ]
