"""Recurrent networks that take all times at once, the times along the first dimension."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from daskvars.dtypes import DTypeLike, as_dtype, int64
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.layers.recurrent.cell import RNNCell
from daskvars.layers.recurrent.rnn import dynamic_rnn, static_rnn
from daskvars.ops.array.constant import size_along
from daskvars.ops.array.joining import stack, unstack
from daskvars.ops.array.rearranging import reverse, reverse_sequence
from daskvars.ops.math.casting import cast
from daskvars.surface.forwarding import forwards
from daskvars.surface.signatures import with_arguments_in_order
from daskvars.v1.contrib.networks.further_cells import LSTMBlockCell


class LSTMBlockFusedCell:
    """A network of `LSTMBlockCell`, called once with all times.

    Args:
      num_units, forget_bias, cell_clip, use_peephole, reuse, dtype, name: see `LSTMBlockCell`.

    Source: TensorFlow 1.15, ``tf.contrib.rnn.LSTMBlockFusedCell``.

    >>> with tf.Graph().as_default():
    ...     network = tf.contrib.rnn.LSTMBlockFusedCell(4)
    ...     outputs, state = network(tf.ones([5, 2, 3]), dtype=tf.float32)
    ...     outputs.shape.as_list(), [v.name for v in tf.trainable_variables()]
    ([5, 2, 4], ['lstm_fused_cell/kernel:0', 'lstm_fused_cell/bias:0'])
    """

    @with_arguments_in_order(
        "num_units forget_bias cell_clip use_peephole reuse dtype name='lstm_fused_cell'",
        LSTMBlockCell.__init__,
    )
    def __init__(self, **arguments: Any) -> None:
        self._cell = LSTMBlockCell(**arguments)

    num_units: int = forwards("_cell.output_size", "Size of output and memory.")

    def __call__(
        self,
        inputs: TensorLike,
        initial_state: Any = None,
        dtype: DTypeLike | None = None,
        sequence_length: TensorLike | None = None,
    ) -> tuple[Any, Any]:
        """Return the outputs of all times, zeros after an example's last, and the last state.

        Args:
          inputs: [times, batch, size], or a list of [batch, size].
          initial_state: pair of memory and output, [batch, `num_units`] each.
          dtype: of the zeros that are there in its place.
          sequence_length: [batch] integer, how many times each example has.

        Returns:
          [times, batch, `num_units`], or a list if inputs are one, and a pair as `initial_state`.

        Raises:
          ValueError: there is neither `initial_state` nor `dtype`.
        """
        steps = _stacked(inputs)
        if initial_state is None:
            if dtype is None:
                raise ValueError("Either initial_state or dtype needs to be specified")
            initial_state = self._cell.zero_state(size_along(steps, 1), as_dtype(dtype))
        self._cell(steps[0], initial_state)  # its variables are of no loop's scope
        outputs, state = dynamic_rnn(
            self._cell, steps, sequence_length, initial_state, time_major=True
        )
        return _like(inputs, outputs), state


class TimeReversedFusedRNN:
    """A network that goes from the last time to the first.

    Args:
      cell: network that is called with all times, such as `LSTMBlockFusedCell`.

    Source: TensorFlow 1.15, ``tf.contrib.rnn.TimeReversedFusedRNN``.

    >>> with tf.Graph().as_default():
    ...     network = tf.contrib.rnn.TimeReversedFusedRNN(tf.contrib.rnn.LSTMBlockFusedCell(4))
    ...     network(tf.ones([5, 2, 3]), dtype=tf.float32)[0].shape.as_list()
    [5, 2, 4]
    """

    def __init__(self, cell: Callable[..., tuple[Any, Any]]) -> None:
        self._cell = cell

    def __call__(
        self,
        inputs: TensorLike,
        initial_state: Any = None,
        dtype: DTypeLike | None = None,
        sequence_length: TensorLike | None = None,
        **kwargs: Any,
    ) -> tuple[Any, Any]:
        """Return the outputs, at the times that they belong to, and the state at the first time.

        Args:
          inputs, initial_state, dtype, sequence_length: see `LSTMBlockFusedCell`.
          kwargs: passed on to the network.
        """
        steps = _like(inputs, _reversed(_stacked(inputs), sequence_length))
        outputs, state = self._cell(steps, initial_state, dtype, sequence_length, **kwargs)
        return _like(inputs, _reversed(_stacked(outputs), sequence_length)), state


class FusedRNNCellAdaptor:
    """A network of any cell, called once with all times.

    Args:
      cell: the cell.
      use_dynamic_rnn: go through the times by a loop, not unrolled.

    Source: TensorFlow 1.15, ``tf.contrib.rnn.FusedRNNCellAdaptor``.

    >>> with tf.Graph().as_default():
    ...     network = tf.contrib.rnn.FusedRNNCellAdaptor(tf.nn.rnn_cell.GRUCell(4))
    ...     network(tf.ones([5, 2, 3]), dtype=tf.float32)[0].shape.as_list()
    [5, 2, 4]
    """

    def __init__(self, cell: RNNCell, use_dynamic_rnn: bool = False) -> None:
        self._cell = cell
        self._use_dynamic_rnn = use_dynamic_rnn

    def __call__(
        self,
        inputs: TensorLike,
        initial_state: Any = None,
        dtype: DTypeLike | None = None,
        sequence_length: TensorLike | None = None,
        scope: Any = None,
    ) -> tuple[Any, Any]:
        """Return the outputs of all times, zeros after an example's last, and the last state.

        Args:
          inputs, initial_state, dtype, sequence_length: see `LSTMBlockFusedCell`.
          scope: variable scope, by default "rnn".
        """
        if self._use_dynamic_rnn:
            outputs, state = dynamic_rnn(
                self._cell,
                _stacked(inputs),
                sequence_length,
                initial_state,
                dtype,
                time_major=True,
                scope=scope,
            )
            return _like(inputs, outputs), state
        steps = inputs if isinstance(inputs, list) else unstack(inputs)
        outputs, state = static_rnn(
            self._cell, steps, initial_state, dtype, sequence_length, scope=scope
        )
        return outputs if isinstance(inputs, list) else stack(outputs), state


def _stacked(inputs: Any) -> Tensor:
    return stack(inputs) if isinstance(inputs, list) else convert_to_tensor(inputs)


def _like(inputs: Any, outputs: Tensor) -> Any:
    """Return outputs as a list where the inputs are one."""
    return unstack(outputs, len(inputs)) if isinstance(inputs, list) else outputs


def _reversed(steps: Tensor, lengths: Any) -> Tensor:
    if lengths is None:
        return reverse(steps, [0])
    return reverse_sequence(steps, cast(lengths, int64), seq_axis=0, batch_axis=1)
