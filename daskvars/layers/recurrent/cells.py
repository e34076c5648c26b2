"""The usual recurrent cells: plain, gated, and with long short-term memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.layers.arguments import takes
from daskvars.layers.by_name import activation_of
from daskvars.layers.input_spec import InputSpec
from daskvars.layers.recurrent.cell import ComposedCell, LayerRNNCell, RNNCell
from daskvars.ops.array.joining import concat, split
from daskvars.ops.array.slicing import slice as part_of
from daskvars.ops.linalg.products import matmul
from daskvars.ops.math.arithmetic import add, multiply, subtract
from daskvars.ops.math.clip import clip_by_value
from daskvars.ops.math.transcendental import sigmoid, tanh
from daskvars.ops.nn.bias import bias_add
from daskvars.shapes import ShapeLike, TensorShape
from daskvars.surface.signatures import Argument, Family
from daskvars.variables.initializers import Ones, Zeros
from daskvars.variables.partitions.partitioners import fixed_size_partitioner
from daskvars.variables.scopes.variable_scope import variable_scope

_ZEROS, _ONES = Zeros(), Ones()

ARGUMENTS = Family(
    {
        "num_units": Argument("size of output and state.", type="int"),
        "use_peepholes": Argument("the gates see the memory.", False, "bool"),
        "cell_clip": Argument("bound on the absolute value of the memory.", None, "float | None"),
        "initializer": Argument("initializer of kernels and peepholes.", None, "InitializerLike"),
        "num_proj": Argument("size of the output, where it is projected.", None, "int | None"),
        "proj_clip": Argument(
            "bound on the absolute value of the projected output.", None, "float | None"
        ),
        "num_unit_shards": Argument("into how many parts the kernel is cut.", None, "int | None"),
        "num_proj_shards": Argument("the same of the projection.", None, "int | None"),
        "forget_bias": Argument("added to the forget gates.", 1.0, "float"),
        "state_is_tuple": Argument(
            "the state is an `LSTMStateTuple`, rather than both joined along the columns.",
            True,
            "bool",
        ),
        "activation": Argument("function or its name, by default tanh.", None, "Activation"),
        "reuse": Argument(
            "True shares the variables of an earlier cell of that name and scope.", None, "bool"
        ),
        "kernel_initializer": Argument("initializer of kernels.", None, "InitializerLike"),
        "bias_initializer": Argument("initializer of biases.", None, "InitializerLike"),
        "name": Argument("see `Layer`.", None, "str"),
        "dtype": Argument("see `Layer`.", None, "DTypeLike"),
    },
    result="None",
)


class GatedCell(LayerRNNCell):
    """What the cells here share: a size, an activation, and inputs joined with the state."""

    floating_inputs = True

    _num_units: int
    _activation: Any

    def _prepare(self) -> None:
        self.input_spec = InputSpec(ndim=2)
        self._activation = activation_of(self._activation) or tanh

    @property
    def state_size(self) -> Any:
        """The number of units."""
        return self._num_units

    @property
    def output_size(self) -> int:
        """The number of units."""
        return self._num_units

    def _depth(self, input_shape: ShapeLike) -> int:
        depth = TensorShape(input_shape).as_list()[-1]
        if depth is None:
            raise ValueError(
                f"Expected inputs.shape[-1] to be known, saw shape: {input_shape} (cell "
                f"{self.name})"
            )
        return depth

    def _affine(self, inputs: Any, state: Any, kernel: Any, bias: Any) -> Tensor:
        return bias_add(matmul(concat([inputs, state], 1), kernel), bias)


@takes("num_units activation reuse name dtype", ARGUMENTS, "_")
class BasicRNNCell(GatedCell):
    """The plain cell: output and new state are ``activation([inputs, state] @ kernel + bias)``.

    Args:
      name, dtype: see `Layer`.

    >>> cell = dv.nn.rnn_cell.BasicRNNCell(4)
    >>> output, state = cell(dv.ones([2, 3]), cell.zero_state(2, dv.float32))
    >>> output.shape.as_list(), cell.variables[0].name
    ([2, 4], 'basic_rnn_cell/kernel:0')
    """

    def build(self, input_shape: ShapeLike) -> None:
        """Make ``kernel`` and ``bias``."""
        size = self._num_units
        self._kernel = self.add_weight("kernel", [self._depth(input_shape) + size, size])
        self._bias = self.add_weight("bias", [size], initializer=_ZEROS)
        self.built = True

    def call(self, inputs: TensorLike, state: Any) -> tuple[Tensor, Tensor]:
        """Return output and new state, which are the same."""
        output = self._activation(self._affine(inputs, state, self._kernel, self._bias))
        return output, output


@takes("num_units activation reuse kernel_initializer bias_initializer name dtype", ARGUMENTS, "_")
class GRUCell(GatedCell):
    """The gated recurrent unit.

    Args:
      kernel_initializer, bias_initializer: initializers; biases of gates are 1 by default.
      name, dtype: see `Layer`.

    Source: Cho et al., "Learning Phrase Representations using RNN Encoder-Decoder", 2014.

    >>> cell = dv.nn.rnn_cell.GRUCell(4)
    >>> cell(dv.ones([2, 3]), cell.zero_state(2, dv.float32))[0].shape.as_list()
    [2, 4]
    """

    _kernel_initializer: Any
    _bias_initializer: Any

    def build(self, input_shape: ShapeLike) -> None:
        """Make the kernels and biases of the gates and of the candidate."""
        size, depth = self._num_units, self._depth(input_shape)
        given, kernels = self._bias_initializer, self._kernel_initializer
        self._gate_kernel = self.add_weight(
            "gates/kernel", [depth + size, 2 * size], initializer=kernels
        )
        self._gate_bias = self.add_weight(
            "gates/bias", [2 * size], initializer=_ONES if given is None else given
        )
        self._candidate_kernel = self.add_weight(
            "candidate/kernel", [depth + size, size], initializer=kernels
        )
        self._candidate_bias = self.add_weight(
            "candidate/bias", [size], initializer=_ZEROS if given is None else given
        )
        self.built = True

    def call(self, inputs: TensorLike, state: Any) -> tuple[Tensor, Tensor]:
        """Return output and new state, which are the same."""
        gates = sigmoid(self._affine(inputs, state, self._gate_kernel, self._gate_bias))
        reset, update = split(gates, 2, 1)
        candidate = self._activation(
            self._affine(
                inputs, multiply(reset, state), self._candidate_kernel, self._candidate_bias
            )
        )
        kept = multiply(update, state)
        output = add(kept, multiply(subtract(1, update), candidate))
        return output, output


class _StateTuple(NamedTuple):
    c: Any
    h: Any


class LSTMStateTuple(_StateTuple):
    """The state of an LSTM cell: its memory `c`, and its output `h`.

    Attributes:
      c: [batch, units] floating.
      h: [batch, units] of the dtype of `c`, or [batch, projection].

    >>> state = dv.nn.rnn_cell.LSTMCell(3).zero_state(2, dv.float32)
    >>> state.c.shape.as_list(), state.h.shape.as_list(), state.dtype.name
    ([2, 3], [2, 3], 'float32')
    """

    __slots__ = ()

    @property
    def dtype(self) -> Any:
        """The dtype of both. Raises TypeError where they differ."""
        if self.c.dtype != self.h.dtype:
            raise TypeError(f"Inconsistent internal state: {self.c.dtype} vs {self.h.dtype}")
        return self.c.dtype


class MemoryCell(RNNCell):
    """What cells share whose state is a memory and the output, which may be projected."""

    _num_units: int
    _num_proj: int | None = None
    _proj_clip: float | None = None
    _state_is_tuple: bool = True

    @property
    def state_size(self) -> Any:
        """Sizes of memory and output, or their sum."""
        sizes = LSTMStateTuple(self._num_units, self.output_size)
        return sizes if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self) -> int:
        """The size of the projection, if there is one, else the number of units."""
        return self._num_proj or self._num_units

    def _output_and_state(self, memory: Tensor, output: Tensor) -> tuple[Tensor, Any]:
        """Return the output, clipped where it is a projection, and the new state."""
        if self._num_proj and self._proj_clip is not None:
            output = clip_by_value(output, -self._proj_clip, self._proj_clip)
        if self._state_is_tuple:
            return output, LSTMStateTuple(memory, output)
        return output, concat([memory, output], 1)


@takes(
    "num_units use_peepholes cell_clip initializer num_proj proj_clip num_unit_shards "
    "num_proj_shards forget_bias state_is_tuple activation reuse name dtype",
    ARGUMENTS,
    "_",
)
class LSTMCell(MemoryCell, GatedCell):
    """Long short-term memory, with optional peepholes, projection and clipping.

    Args:
      num_units: size of the memory.
      name, dtype: see `Layer`.

    Source: Hochreiter and Schmidhuber, "Long Short-Term Memory", 1997; Sak et al., "Long
    Short-Term Memory Recurrent Neural Network Architectures for Large Scale Acoustic Modeling",
    2014.

    >>> cell = dv.nn.rnn_cell.LSTMCell(4, num_proj=2)
    >>> output, state = cell(dv.ones([2, 3]), cell.zero_state(2, dv.float32))
    >>> output.shape.as_list(), state.c.shape.as_list()
    ([2, 2], [2, 4])
    """

    _use_peepholes: bool = False
    _cell_clip: float | None = None
    _initializer: Any = None
    _num_unit_shards: int | None = None
    _num_proj_shards: int | None = None
    _forget_bias: float

    def build(self, input_shape: ShapeLike) -> None:
        """Make ``kernel``, ``bias``, and what peepholes and projection take."""
        size, depth = self._num_units, self._depth(input_shape)
        shape = [depth + self.output_size, 4 * size]
        self._kernel = self.add_weight(
            "kernel", shape, initializer=self._initializer, partitioner=_cut(self._num_unit_shards)
        )
        self._bias = self.add_weight("bias", [4 * size], initializer=_ZEROS)
        if self._use_peepholes:
            self._w_f_diag, self._w_i_diag, self._w_o_diag = (
                self.add_weight(f"w_{gate}_diag", [size], initializer=self._initializer)
                for gate in "fio"
            )
        if self._num_proj:
            self._proj_kernel = self.add_weight(
                "projection/kernel",
                [size, self._num_proj],
                initializer=self._initializer,
                partitioner=_cut(self._num_proj_shards),
            )
        self.built = True

    def call(self, inputs: TensorLike, state: Any) -> tuple[Tensor, Any]:
        """Return output and new state."""
        if self._state_is_tuple:
            memory, output = state
        else:
            _check_size(state, self.state_size, self.name)
            memory = part_of(state, [0, 0], [-1, self._num_units])
            output = part_of(state, [0, self._num_units], [-1, self.output_size])
        gates = self._affine(inputs, output, self._kernel, self._bias)
        new, chosen, forget, shown = split(gates, 4, 1)
        forget = add(forget, self._forget_bias)
        if self._use_peepholes:
            forget = add(forget, multiply(self._w_f_diag, memory))
            new = add(new, multiply(self._w_i_diag, memory))
        memory = add(
            multiply(sigmoid(forget), memory), multiply(sigmoid(new), self._activation(chosen))
        )
        if self._cell_clip is not None:
            memory = clip_by_value(memory, -self._cell_clip, self._cell_clip)
        if self._use_peepholes:
            shown = add(shown, multiply(self._w_o_diag, memory))
        output = multiply(sigmoid(shown), self._activation(memory))
        if self._num_proj:
            output = matmul(output, self._proj_kernel)
        return self._output_and_state(memory, output)


def _check_size(state: Any, wanted: int, name: str) -> None:
    found = state.get_shape().as_list()[-1]
    if found not in (None, wanted):
        raise ValueError(f"The state of cell {name} must have {wanted} columns, got {found}")


def _cut(shards: int | None) -> Callable[..., Any] | None:
    return None if shards is None else fixed_size_partitioner(shards)


@takes("num_units forget_bias state_is_tuple activation reuse name dtype", ARGUMENTS, "_")
class BasicLSTMCell(LSTMCell):
    """Long short-term memory without peepholes, projection and clipping.

    Args:
      num_units: size of output and memory.
      name, dtype: see `Layer`.

    Source: Zaremba et al., "Recurrent Neural Network Regularization", 2014.

    >>> cell = dv.nn.rnn_cell.BasicLSTMCell(4)
    >>> output, state = cell(dv.ones([2, 3]), cell.zero_state(2, dv.float32))
    >>> state.h is output, [v.name for v in cell.variables]
    (True, ['basic_lstm_cell/kernel:0', 'basic_lstm_cell/bias:0'])
    """


class MultiRNNCell(ComposedCell):
    """Cells one upon another: each takes the output of the one before.

    Args:
      cells: the cells, a list or tuple.
      state_is_tuple: the state is the tuple of their states, rather than these joined along the
        columns.

    Raises:
      ValueError: there are no cells; or their states are tuples, which cannot be joined.
      TypeError: `cells` is no list or tuple.

    >>> cell = dv.nn.rnn_cell.MultiRNNCell([dv.nn.rnn_cell.GRUCell(n) for n in (3, 4)])
    >>> output, state = cell(dv.ones([2, 3]), cell.zero_state(2, dv.float32))
    >>> output.shape.as_list(), len(state)
    ([2, 4], 2)
    """

    def __init__(self, cells: Sequence[Any], state_is_tuple: bool = True) -> None:
        super().__init__()
        if not cells:
            raise ValueError("Must specify at least one cell for MultiRNNCell.")
        if not isinstance(cells, list | tuple):
            raise TypeError(f"cells must be a list or tuple, but saw: {cells}.")
        self._cells = list(cells)
        self._state_is_tuple = state_is_tuple
        sizes = [cell.state_size for cell in cells]
        if not state_is_tuple and any(isinstance(size, list | tuple) for size in sizes):
            raise ValueError(
                "Some cells return tuples of states, but the flag state_is_tuple is not set. "
                f"State sizes are: {sizes}"
            )

    @property
    def state_size(self) -> Any:
        """The tuple of the cells' state sizes, or their sum."""
        sizes = tuple(cell.state_size for cell in self._cells)
        return sizes if self._state_is_tuple else sum(sizes)

    @property
    def output_size(self) -> Any:
        """That of the last cell."""
        return self._cells[-1].output_size

    def _zeros(self, batch_size: Any, dtype: Any) -> Any:
        if not self._state_is_tuple:
            return super()._zeros(batch_size, dtype)
        return tuple(cell.zero_state(batch_size, dtype) for cell in self._cells)

    def call(self, inputs: TensorLike, state: Any) -> tuple[Any, Any]:
        """Return the output of the last cell, and the new states of all.

        Raises:
          ValueError: states are tuples, and `state` is none.
        """
        if self._state_is_tuple and not isinstance(state, list | tuple):
            raise ValueError(
                f"Expected state to be a tuple of length {len(self._cells)}, but received: {state}"
            )
        new_states, start = [], 0
        for i, cell in enumerate(self._cells):
            with variable_scope(f"cell_{i}"):
                if self._state_is_tuple:
                    own = state[i]
                else:
                    own = part_of(state, [0, start], [-1, cell.state_size])
                    start += cell.state_size
                inputs, new_state = cell(inputs, own)
                new_states.append(new_state)
        return inputs, tuple(new_states) if self._state_is_tuple else concat(new_states, 1)
