"""Cells with an embedding or a projection around a cell: those of ``contrib.rnn``."""

from __future__ import annotations

import math
from typing import Any

from daskvars.graph import nest
from daskvars.layers.by_name import Activation, activation_of
from daskvars.layers.recurrent.cell import RNNCell, check_is_cell
from daskvars.ops.array.reshaping import reshape
from daskvars.ops.nn.embedding import embedding_lookup
from daskvars.surface.accepted import accepts
from daskvars.surface.forwarding import forwards
from daskvars.v1.contrib.networks.linear_maps import linear
from daskvars.variables.initializers import InitializerLike, RandomUniform
from daskvars.variables.scopes.scope_stack import get_variable_scope
from daskvars.variables.scopes.variable_scope import get_variable


class _Around(RNNCell):
    """A cell with the state of the cell inside, under whose scope its variables are."""

    def __init__(self, cell: RNNCell, reuse: bool | None) -> None:
        super().__init__(_reuse=reuse)
        check_is_cell(cell)
        self._cell = cell

    state_size: Any = forwards("_cell.state_size", "That of the cell inside.")

    def _zeros(self, batch_size: Any, dtype: Any) -> Any:
        return self._cell.zero_state(batch_size, dtype)


class EmbeddingWrapper(_Around):
    """A cell whose inputs are ids, of which a table has rows.

    Args:
      cell: the cell inside.
      embedding_classes: number of rows.
      embedding_size: their size.
      initializer: of the table, by default that of the scope, else uniform with variance 1.
      reuse: see `Layer`.

    Raises:
      TypeError: `cell` is no cell.
      ValueError: a size is not positive.

    Source: TensorFlow 1.8, ``tf.contrib.rnn.EmbeddingWrapper``.
    """

    def __init__(
        self,
        cell: RNNCell,
        embedding_classes: int,
        embedding_size: int,
        initializer: InitializerLike | None = None,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(cell, reuse)
        if embedding_classes <= 0 or embedding_size <= 0:
            raise ValueError(
                "Both embedding_classes and embedding_size must be > 0: "
                f"{embedding_classes}, {embedding_size}."
            )
        self._sizes = [embedding_classes, embedding_size]
        self._initializer = initializer

    output_size: Any = forwards("_cell.output_size", "That of the cell inside.")

    def call(self, inputs: Any, state: Any) -> Any:
        """Return the output and the new state of the cell, for the rows of ids."""
        bound = math.sqrt(3)
        initializer = self._initializer or get_variable_scope().initializer
        first = initializer or RandomUniform(-bound, bound)
        embedding = get_variable(
            "embedding", self._sizes, nest.flatten(state)[0].dtype.base_dtype, first
        )
        return self._cell(embedding_lookup(embedding, reshape(inputs, [-1])), state)


@accepts("input_size")
class InputProjectionWrapper(_Around):
    """A cell whose inputs are projected.

    Args:
      cell: the cell inside.
      num_proj: size of its inputs.
      activation: function of the projection.
      reuse: see `Layer`.

    Raises:
      TypeError: `cell` is no cell.

    Source: TensorFlow 1.8, ``tf.contrib.rnn.InputProjectionWrapper``.
    """

    def __init__(
        self,
        cell: RNNCell,
        num_proj: int,
        activation: Activation | None = None,
        input_size: int | None = None,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(cell, reuse)
        self._num_proj = num_proj
        self._activation = activation_of(activation)

    output_size: Any = forwards("_cell.output_size", "That of the cell inside.")

    def call(self, inputs: Any, state: Any) -> Any:
        """Return the output and the new state of the cell, for projected inputs."""
        projected = linear(inputs, self._num_proj, True)
        if self._activation is not None:
            projected = self._activation(projected)
        return self._cell(projected, state)


class OutputProjectionWrapper(_Around):
    """A cell whose outputs are projected.

    Args:
      cell: the cell inside.
      output_size: size of the outputs.
      activation: function of the projection.
      reuse: see `Layer`.

    Raises:
      TypeError: `cell` is no cell.

    Source: TensorFlow 1.8, ``tf.contrib.rnn.OutputProjectionWrapper``.

    >>> with tf.Graph().as_default():
    ...     cell = tf.contrib.rnn.OutputProjectionWrapper(tf.nn.rnn_cell.GRUCell(3), 5)
    ...     cell(tf.ones([2, 4]), cell.zero_state(2, tf.float32))[0].get_shape().as_list()
    [2, 5]
    """

    def __init__(
        self,
        cell: RNNCell,
        output_size: int,
        activation: Activation | None = None,
        reuse: bool | None = None,
    ) -> None:
        super().__init__(cell, reuse)
        self._output_size = output_size
        self._activation = activation_of(activation)

    output_size: Any = forwards("_output_size", "Size of the projection.")

    def call(self, inputs: Any, state: Any) -> Any:
        """Return the projected output and the new state of the cell."""
        output, state = self._cell(inputs, state)
        projected = linear(output, self._output_size, True)
        return projected if self._activation is None else self._activation(projected), state
