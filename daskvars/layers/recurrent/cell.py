"""RNNCell: what one step of a recurrent network is."""

from __future__ import annotations

from typing import Any

from daskvars.dtypes import DTypeLike
from daskvars.graph import nest
from daskvars.graph.definitions.static_values import constant_value
from daskvars.graph.interpreter import builder_for
from daskvars.graph.scopes.name_scope import entered_graph, name_scope
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.layers.layer import Layer
from daskvars.ops.array.constant import shape as shape_of, zeros
from daskvars.shapes import ShapeLike, as_tuple, is_known, show
from daskvars.surface.required import required_property
from daskvars.variables.partitions.partitioned_variable import parts_of
from daskvars.variables.scopes.scope_stack import VariableScope, get_variable_scope
from daskvars.variables.scopes.variable_scope import variable_scope


def known_number(value: Any) -> Any:
    """Return a number, None for a tensor of which it is not known before the run."""
    return constant_value(value) if isinstance(value, Tensor) else value


def batch_zeros(size: Any, batch_size: TensorLike, dtype: DTypeLike) -> Tensor:
    """Return zeros of shape [batch_size, *size].

    Args:
      size: an int or a shape, fully known.
      batch_size: an int or a scalar tensor.
      dtype: dtype of the zeros.
    """
    sizes = as_tuple(size)
    if not is_known(sizes):
        raise ValueError(f"The sizes of states and outputs must be known, got {show(sizes)}")
    known = known_number(batch_size)
    if known is not None:
        return zeros([int(known), *sizes], dtype)
    result = zeros([batch_size, *sizes], dtype)
    result.set_shape([None, *sizes])
    return result


class RNNCell(Layer):
    """One step of a recurrent network: ``output, new_state = cell(input, state)``.

    A subclass gives `state_size` and `output_size`, and computes in ``call(inputs, state)``. It
    makes its variables in `build`, or in `call` by `get_variable`.

    >>> class Sum(dv.nn.rnn_cell.RNNCell):
    ...     state_size = output_size = 1
    ...     def call(self, inputs, state):
    ...         return inputs + state, inputs + state
    >>> cell = Sum()
    >>> cell([[1.0]], [[2.0]])[0].numpy().tolist()
    [[3.0]]
    """

    state_size: Any = required_property(
        "Size of the state: an int, a TensorShape, or a nested structure of these."
    )
    output_size: Any = required_property(
        "Size of the output: an int, a TensorShape, or a nested structure of these."
    )

    def __call__(
        self,
        inputs: TensorLike,
        state: Any,
        scope: str | VariableScope | None = None,
        **kwargs: Any,
    ) -> Any:
        """Return the output and the new state.

        Args:
          inputs: [batch, inputs], or a nested structure of such.
          state: [batch, size] for each size in `state_size`, in its structure.
          scope: variable scope of the first call, by default named after the class.
        """
        with entered_graph(builder_for(tuple(nest.flatten((inputs, state))))):
            opened = get_variable_scope() if scope is None else scope
            with variable_scope(opened, custom_getter=self._kept) as inner:
                if scope is not None:
                    kwargs["scope"] = inner
                return super().__call__(inputs, state, **kwargs)

    def _kept(self, getter: Any, *args: Any, **kwargs: Any) -> Any:
        """Get a variable, and keep it as one of the cell's."""
        variable = getter(*args, **kwargs)
        if not self._has_made(variable):
            self._keep(variable, getattr(parts_of(variable)[0], "trainable", False))
        return variable

    def build(self, input_shape: ShapeLike) -> None:
        """Make the variables; by default `call` does."""

    def zero_state(self, batch_size: TensorLike, dtype: DTypeLike) -> Any:
        """Return a state of zeros, in the structure of `state_size`.

        Args:
          batch_size: an int or a scalar int32 tensor.
          dtype: dtype of all parts of the state.
        """
        with name_scope(f"{type(self).__name__}ZeroState", values=[batch_size]):
            return self._zeros(batch_size, dtype)

    def _zeros(self, batch_size: Any, dtype: Any) -> Any:
        return nest.map_structure(
            lambda size: batch_zeros(size, batch_size, dtype), self.state_size
        )

    def get_initial_state(
        self,
        inputs: TensorLike | None = None,
        batch_size: TensorLike | None = None,
        dtype: DTypeLike | None = None,
    ) -> Any:
        """Return a state of zeros; where `inputs` are given, for their batch and of their dtype.

        Raises:
          ValueError: neither `inputs` nor both of `batch_size` and `dtype` are given.
        """
        if inputs is not None:
            first = nest.flatten(inputs)[0]
            static = first.get_shape().as_list()[0]
            batch_size = static if static is not None else shape_of(first)[0]
            dtype = first.dtype.base_dtype
        if batch_size is None or dtype is None:
            raise ValueError(
                "batch_size and dtype must be given where inputs are not: "
                f"batch_size={batch_size}, dtype={dtype}"
            )
        return self.zero_state(batch_size, dtype)


class LayerRNNCell(RNNCell):
    """A cell that makes its variables in `build`, under a scope of its own, as layers do."""

    def __call__(
        self,
        inputs: TensorLike,
        state: Any,
        scope: str | VariableScope | None = None,
        *args: Any,
        **kwargs: Any,
    ) -> Any:
        """Return the output and the new state; see `RNNCell`."""
        return Layer.__call__(self, inputs, state, *args, scope=scope, **kwargs)


def check_is_cell(cell: object, what: str = "cell") -> None:
    """Raise TypeError unless `cell` can be used as an `RNNCell`."""
    known = [hasattr(cell, name) for name in ("state_size", "output_size")]
    zero = hasattr(cell, "zero_state") or hasattr(cell, "get_initial_state")
    if not (all(known) and zero and callable(cell)):
        raise TypeError(
            f"{what} must be an instance of RNNCell, with state_size, output_size, zero_state and "
            f"a call of inputs and state; got {cell!r}"
        )


def check_steps(inputs: object) -> None:
    """Raise TypeError or ValueError unless there are inputs, a sequence with those of each step."""
    if not isinstance(inputs, list | tuple):
        raise TypeError("inputs must be a sequence")
    if not inputs:
        raise ValueError("inputs must not be empty")


class ComposedCell(RNNCell):
    """A cell made of others, whose variables are its own."""

    _cells: list[Any]

    def _own_weights(self, held: list[Any]) -> tuple[list[Any], list[Any]]:
        trained, rest = super()._own_weights(held)
        for cell in self._cells:
            if not isinstance(cell, Layer):  # which may have variables without being a layer
                trained += getattr(cell, "trainable_weights", ())
                rest += getattr(cell, "non_trainable_weights", ())
        return trained, rest

    def _kept(self, getter: Any, *args: Any, **kwargs: Any) -> Any:
        return getter(*args, **kwargs)
