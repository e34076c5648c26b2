"""raw_rnn: a recurrent network in a loop that a function controls."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from daskvars.graph import nest
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.tensor import Tensor
from daskvars.layers.recurrent.batch_and_time import (
    copied_through,
    dtype_of,
    map_sizes,
    opened,
    shaped_as,
    sizes,
    state_value,
    with_step,
)
from daskvars.layers.recurrent.cell import batch_zeros, check_is_cell
from daskvars.ops.array.constant import constant, shape as shape_of, zeros
from daskvars.ops.array.joining import concat
from daskvars.ops.control.tensor_array import TensorArray
from daskvars.ops.control.while_loop import while_loop
from daskvars.ops.math.arithmetic import add
from daskvars.ops.math.comparison import logical_not, logical_or
from daskvars.ops.math.reduce import reduce_all
from daskvars.surface.accepted import accepts

__all__ = ["raw_rnn"]


@accepts("parallel_iterations", "swap_memory")
def raw_rnn(
    cell: Any,
    loop_fn: Callable[..., Any],
    parallel_iterations: int | None = None,
    swap_memory: bool = False,
    scope: Any = None,
) -> tuple[Any, Any, Any]:
    """Apply a cell in a loop that a function controls.

    Args:
      cell: an `RNNCell`.
      loop_fn: ``loop_fn(time, output, state, loop_state)`` gives (finished, next_input, next_state,
        emit, loop_state): which sequences are over, [batch] bool; what goes into the next step;
        and what is written of this one. It is called first with time 0 and None for all else: it
        then gives the first input, the first state, the structure of what will be written (None:
        the output of the cell), and the first loop state or None.
      scope: variable scope, by default "rnn".

    Returns:
      emitted: `TensorArray`s in the structure of what is written; zeros where a sequence is over.
      state: the last state of each sequence, [batch, size] in the structure of ``cell.state_size``.
      loop_state: the last loop state.

    Raises:
      TypeError: `cell` is no cell, or `loop_fn` no function.
      ValueError: the first input has no known size.

    Source: TensorFlow 1.15, ``tf.nn.raw_rnn``.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     cell = tf.nn.rnn_cell.BasicRNNCell(3)
    ...     def loop_fn(time, output, state, loop_state):
    ...         state = cell.zero_state(2, tf.float32) if output is None else state
    ...         return time >= [4, 1], tf.ones([2, 5]), state, output, None
    ...     emitted, state, _ = tf.nn.raw_rnn(cell, loop_fn)
    ...     sess.run(tf.global_variables_initializer())
    ...     sess.run(emitted.stack()).shape
    (4, 2, 3)
    """
    check_is_cell(cell)
    if not callable(loop_fn):
        raise TypeError(f"loop_fn must be a callable, got {loop_fn!r}")
    with opened(scope or "rnn", ()):
        time = constant(0, name="time")
        finished, inputs, state, structure, loop_state = loop_fn(time, None, None, None)
        inputs = nest.map_structure(convert_to_tensor, inputs)
        state = nest.map_structure(state_value, state)
        finished = convert_to_tensor(finished)
        batch, _ = sizes(nest.flatten(inputs), time_axis=None)
        keeps_state = loop_state is not None
        blanks, arrays = _emissions(cell, structure, batch, dtype_of(None, state))

        def step(time: Any, finished: Any, inputs: Any, arrays: Any, state: Any, kept: Any) -> Any:
            output, cell_state = cell(inputs, state)
            nest.assert_same_structure(state, cell_state, "the old and the new state of the cell")
            next_time = add(time, 1)
            found = loop_fn(next_time, output, cell_state, kept if keeps_state else None)
            is_over, next_inputs, next_state, emitted, next_kept = found
            nest.assert_same_structure(state, next_state, "the old and the new state")
            nest.assert_same_structure(inputs, next_inputs, "the old and the new input")
            emitted = copied_through(finished, blanks, emitted)
            next_state = shaped_as(copied_through(finished, state, next_state), state)
            arrays = with_step(arrays, time, emitted)
            next_kept = kept if next_kept is None else next_kept
            is_over = logical_or(is_over, finished)
            return next_time, is_over, next_inputs, arrays, next_state, next_kept

        results = while_loop(
            lambda time, finished, *_: logical_not(reduce_all(finished)),
            step,
            (time, finished, inputs, arrays, state, loop_state if keeps_state else 0),
        )
        _, _, _, arrays, state, kept = results
    return arrays, state, kept if keeps_state else None


def _emissions(cell: Any, structure: Any, batch: Any, dtype: Any) -> tuple[Any, Any]:
    """Return zeros, and arrays for what is written, in the structure of that."""
    if structure is None:
        blanks = map_sizes(lambda size: batch_zeros(size, batch, dtype), cell.output_size)
    else:

        def zero(example: Any) -> Tensor:
            example = convert_to_tensor(example)
            shape, dtype = example.get_shape(), example.dtype.base_dtype
            if shape.is_fully_defined():
                return batch_zeros(shape, batch, dtype)
            return zeros(concat([[batch], shape_of(example)], 0), dtype)

        blanks = nest.map_structure(zero, structure)
    arrays = nest.map_structure(
        lambda zero: TensorArray(
            zero.dtype.base_dtype, size=0, dynamic_size=True, element_shape=zero.get_shape()
        ),
        blanks,
    )
    return blanks, arrays
