"""Cells around a cell: dropout, residual connections, a device."""

from __future__ import annotations

import hashlib
import numbers
from collections.abc import Callable
from functools import partial
from typing import Any

from daskvars.dtypes import DTypeLike
from daskvars.graph import nest
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.static_values import constant_value
from daskvars.graph.scopes.context import device as device_scope
from daskvars.graph.scopes.device import DeviceLike
from daskvars.graph.tensor import TensorLike
from daskvars.layers.recurrent.cell import ComposedCell, RNNCell, check_is_cell
from daskvars.layers.recurrent.cells import LSTMStateTuple
from daskvars.ops.control.tensor_array import TensorArray
from daskvars.ops.math.arithmetic import add, floor, multiply
from daskvars.ops.math.division import divide
from daskvars.ops.nn.dropout import dropout
from daskvars.ops.random.distributions import random_uniform
from daskvars.shapes import TensorShape
from daskvars.surface.forwarding import forwards
from daskvars.variables.scopes.scope_stack import VariableScope


class CellWrapper(ComposedCell):
    """What wrappers are: cells with the sizes, states and variables of the cell inside."""

    def __init__(self, cell: RNNCell) -> None:
        super().__init__()
        check_is_cell(cell)
        self._cell = cell
        self._cells = [cell]

    def __call__(
        self,
        inputs: TensorLike,
        state: Any,
        scope: str | VariableScope | None = None,
        **kwargs: Any,
    ) -> Any:
        """Return the output and the new state; see `RNNCell`."""
        return self._wrapped(inputs, state, partial(self._cell, scope=scope, **kwargs))

    def _wrapped(self, inputs: Any, state: Any, step: Callable[[Any, Any], Any]) -> Any:
        """Return what a wrapper makes of a step of the cell inside."""
        return step(inputs, state)

    state_size: Any = forwards("_cell.state_size", "That of the cell inside.")
    output_size: Any = forwards("_cell.output_size", "That of the cell inside.")

    def _zeros(self, batch_size: Any, dtype: Any) -> Any:
        return self._cell.zero_state(batch_size, dtype)


def _all_but_memory(state: Any) -> Any:
    """Return what of a state is dropped by default: all but the memory of LSTM cells."""
    if isinstance(state, LSTMStateTuple):
        return LSTMStateTuple(c=False, h=True)
    return not isinstance(state, TensorArray)


class DropoutWrapper(CellWrapper):
    """A cell whose inputs, states and outputs lose random elements.

    Args:
      cell: the cell inside.
      input_keep_prob, output_keep_prob, state_keep_prob: probabilities that an element is kept,
        numbers or scalar tensors. The state is that which goes to the next step.
      variational_recurrent: drop the same elements at all steps of a run.
      input_size: size of the inputs, for variational dropout of them.
      dtype: dtype of all these, for variational dropout.
      seed: int, see `set_random_seed`.
      dropout_state_filter_visitor: function of a part of the state that tells, by a bool or a
        structure of them, what of it may be dropped; by default all but the memory of LSTM cells.

    Raises:
      TypeError: `cell` is no cell.
      ValueError: a probability is not in [0, 1], or variational dropout lacks `dtype` or
        `input_size`.

    Source: Zaremba et al., "Recurrent Neural Network Regularization", 2014; Gal and Ghahramani, "A
    Theoretically Grounded Application of Dropout in Recurrent Neural Networks", 2015.

    >>> cell = dv.nn.rnn_cell.DropoutWrapper(dv.nn.rnn_cell.GRUCell(3), output_keep_prob=0.5)
    >>> cell(dv.ones([2, 4]), cell.zero_state(2, dv.float32))[0].shape.as_list()
    [2, 3]
    """

    def __init__(
        self,
        cell: RNNCell,
        input_keep_prob: TensorLike = 1.0,
        output_keep_prob: TensorLike = 1.0,
        state_keep_prob: TensorLike = 1.0,
        variational_recurrent: bool = False,
        input_size: Any = None,
        dtype: DTypeLike | None = None,
        seed: int | None = None,
        dropout_state_filter_visitor: Callable[[Any], Any] | None = None,
    ) -> None:
        super().__init__(cell)
        if dropout_state_filter_visitor is not None and not callable(dropout_state_filter_visitor):
            raise TypeError("dropout_state_filter_visitor must be callable")
        self._filter = dropout_state_filter_visitor or _all_but_memory
        self._input_keep_prob = _probability(input_keep_prob, "input_keep_prob")
        self._state_keep_prob = _probability(state_keep_prob, "state_keep_prob")
        self._output_keep_prob = _probability(output_keep_prob, "output_keep_prob")
        self._seed = seed
        self._noise: dict[str, list[Any]] = {}
        if variational_recurrent:
            self._draw(input_size, dtype)

    def _draw(self, input_size: Any, dtype: Any) -> None:
        if dtype is None:
            raise ValueError("When variational_recurrent=True, dtype must be provided")
        sizes = {"state": self._cell.state_size, "output": self._cell.output_size}
        if _drops(self._input_keep_prob):
            if input_size is None:
                raise ValueError(
                    "When variational_recurrent=True and input_keep_prob < 1.0 or is unknown, "
                    "input_size must be provided"
                )
            sizes["input"] = input_size
        for what, size in sizes.items():
            self._noise[what] = [
                random_uniform([1, *_shape(leaf)], dtype=dtype, seed=self._seed_of(what, i))
                for i, leaf in enumerate(_sizes(size))
            ]

    def _seed_of(self, what: str, index: int) -> int | None:
        """Return a seed of its own for each tensor that is dropped, as TensorFlow derives it."""
        if self._seed is None:
            return None
        text = f"{self._seed}{what}_{index}".encode()
        return int(hashlib.md5(text).hexdigest()[:8], 16) & 0x7FFFFFFF

    wrapped_cell: Any = forwards("_cell", "The cell inside.")

    def _wrapped(self, inputs: Any, state: Any, step: Callable[[Any, Any], Any]) -> Any:
        inputs = self._dropped(inputs, "input", self._input_keep_prob)
        output, new_state = step(inputs, state)
        chosen = iter(_chosen(self._filter, new_state))
        new_state = self._dropped(new_state, "state", self._state_keep_prob, chosen)
        return self._dropped(output, "output", self._output_keep_prob), new_state

    def _dropped(self, values: Any, what: str, keep_prob: Any, chosen: Any = None) -> Any:
        if not _drops(keep_prob):
            return values
        numbers = iter(range(len(nest.flatten(values))))

        def dropped(value: Any) -> Any:
            i = next(numbers)
            if chosen is not None and not next(chosen):
                return value
            if what not in self._noise:
                return dropout(value, keep_prob, seed=self._seed_of(what, i))
            mask = floor(add(self._noise[what][i], keep_prob))
            result = multiply(divide(value, keep_prob), mask)
            result.set_shape(value.get_shape())
            return result

        return nest.map_structure(dropped, values)


def _probability(value: Any, name: str) -> Any:
    if isinstance(value, numbers.Real):
        known: Any = value
    else:
        value = convert_to_tensor(value)
        known = constant_value(value)
    if known is None:
        return value
    if not 0 <= known <= 1:
        raise ValueError(f"Parameter {name} must be between 0 and 1: {known:g}")
    return float(known)


def _drops(keep_prob: Any) -> bool:
    return not isinstance(keep_prob, float) or keep_prob < 1


def _sizes(size: Any) -> list[Any]:
    return [size] if isinstance(size, TensorShape) else nest.flatten(size)


def _shape(size: Any) -> list[Any]:
    return TensorShape(size if isinstance(size, TensorShape) else [size]).as_list()


def _chosen(decide: Callable[[Any], Any], state: Any) -> list[bool]:
    """Return for each tensor of a state whether `decide` lets it be dropped."""
    answer = decide(state)
    is_nested = isinstance(state, list | tuple | dict)
    if isinstance(answer, list | tuple | dict):
        pairs = zip(nest.flatten(answer), _children(state), strict=True)
        return [
            flag
            for ok, part in pairs
            for flag in (
                _chosen(decide, part)
                if ok and isinstance(part, list | tuple | dict)
                else [bool(ok)] * len(nest.flatten(part))
            )
        ]
    if answer and is_nested:
        return [flag for part in _children(state) for flag in _chosen(decide, part)]
    return [bool(answer)] * len(nest.flatten(state))


def _children(state: Any) -> list[Any]:
    return [state[key] for key in sorted(state)] if isinstance(state, dict) else list(state)


class ResidualWrapper(CellWrapper):
    """A cell whose inputs are added to its outputs.

    Args:
      cell: the cell inside.
      residual_fn: function of inputs and outputs that gives the outputs; by default their sum.

    Raises:
      ValueError: inputs and outputs differ in structure or shape.

    >>> cell = dv.nn.rnn_cell.ResidualWrapper(dv.nn.rnn_cell.GRUCell(3))
    >>> cell(dv.ones([2, 3]), cell.zero_state(2, dv.float32))[0].shape.as_list()
    [2, 3]
    """

    def __init__(self, cell: RNNCell, residual_fn: Callable[[Any, Any], Any] | None = None) -> None:
        super().__init__(cell)
        self._residual_fn = residual_fn or _sum

    def _wrapped(self, inputs: Any, state: Any, step: Callable[[Any, Any], Any]) -> Any:
        outputs, new_state = step(inputs, state)
        return self._residual_fn(inputs, outputs), new_state


def _sum(inputs: Any, outputs: Any) -> Any:
    nest.assert_same_structure(inputs, outputs, "inputs and outputs of ResidualWrapper")
    sums = []
    for a, b in zip(nest.flatten(inputs), nest.flatten(outputs), strict=True):
        a.get_shape().assert_is_compatible_with(b.get_shape())
        sums.append(add(a, b))
    return nest.pack(outputs, sums)


class DeviceWrapper(CellWrapper):
    """A cell that runs on a device.

    Args:
      cell: the cell inside.
      device: what `device` takes.

    >>> with tf.Graph().as_default():
    ...     cell = tf.nn.rnn_cell.DeviceWrapper(tf.nn.rnn_cell.GRUCell(3), "/cpu:0")
    ...     cell(tf.ones([2, 3]), cell.zero_state(2, tf.float32))[0].device
    '/device:CPU:0'
    """

    def __init__(self, cell: RNNCell, device: DeviceLike) -> None:
        super().__init__(cell)
        self._device = device

    def _zeros(self, batch_size: Any, dtype: Any) -> Any:
        with device_scope(self._device):
            return super()._zeros(batch_size, dtype)

    def _wrapped(self, inputs: Any, state: Any, step: Callable[[Any, Any], Any]) -> Any:
        with device_scope(self._device):
            return step(inputs, state)
