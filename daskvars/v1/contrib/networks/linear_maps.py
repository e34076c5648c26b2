"""What cells and loops of one's own are written with, and has no public name in TensorFlow.

Programs import it from where cells are defined: `inner_modules` has it under the names there.
"""

from __future__ import annotations

from typing import Any

from daskvars.dtypes import DTypeLike, int32
from daskvars.graph import nest
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.static_values import constant_value
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.layers.recurrent.cell import batch_zeros, check_is_cell
from daskvars.ops.array.joining import concat
from daskvars.ops.array.reshaping import expand_dims
from daskvars.ops.linalg.products import matmul
from daskvars.ops.nn.bias import bias_add
from daskvars.shapes import TensorShape, as_shape
from daskvars.surface.signatures import with_arguments_in_order
from daskvars.variables.initializers import zeros_initializer
from daskvars.variables.scopes.scope_stack import get_variable_scope
from daskvars.variables.scopes.variable_scope import get_variable, variable_scope


class LinearMap:
    """The map of some inputs, beside each other, to one output; its variables are of the scope.

    Args:
      args: [batch, size], or a list of such: inputs as it is to be called with.
      output_size: of the output.
      build_bias: whether a bias is added.
      bias_initializer, kernel_initializer: of "bias", by default zeros, and of "kernel".

    Raises:
      ValueError: there are no inputs, or the size of one is not known.
    """

    def __init__(
        self,
        args: Any,
        output_size: int,
        build_bias: bool,
        bias_initializer: Any = None,
        kernel_initializer: Any = None,
    ) -> None:
        inputs = _listed(args)
        if not inputs:
            raise ValueError("`args` must be specified")
        sizes: list[Any] = [value.get_shape().with_rank(2).as_list()[1] for value in inputs]
        if None in sizes:
            raise ValueError(f"linear expects the last size of each input to be known: {sizes}")
        dtype = inputs[0].dtype.base_dtype
        self._kernel = get_variable("kernel", [sum(sizes), output_size], dtype, kernel_initializer)
        first = zeros_initializer() if bias_initializer is None else bias_initializer
        with variable_scope(get_variable_scope()) as scope:
            scope.set_partitioner(None)
            self._bias = get_variable("bias", [output_size], dtype, first) if build_bias else None

    def __call__(self, args: Any) -> Tensor:
        """Return the output [batch, output_size] of inputs."""
        inputs = _listed(args)
        found = matmul(inputs[0] if len(inputs) == 1 else concat(inputs, 1), self._kernel)
        return found if self._bias is None else bias_add(found, self._bias)


def _listed(args: Any) -> list[Tensor]:
    given = args if isinstance(args, list | tuple) else [] if args is None else [args]
    return [convert_to_tensor(value) for value in given]


@with_arguments_in_order(
    "args output_size bias bias_initializer kernel_initializer", LinearMap.__init__
)
def linear(args: Any, bias: bool, **arguments: Any) -> Tensor:
    """Return the output [batch, output_size] of a new `LinearMap` of inputs, with its arguments."""
    return LinearMap(args, build_bias=bias, **arguments)(args)


def is_like_cell(cell: object) -> bool:
    """Return whether something can be used as a cell."""
    try:
        check_is_cell(cell)
    except TypeError:
        return False
    return True


def assert_like_cell(cell_name: str, cell: object) -> None:
    """Raise TypeError unless something can be used as a cell."""
    check_is_cell(cell, cell_name)


def batch_shape(prefix: Any, suffix: Any, static: bool = False) -> Any:
    """Return the shape of a batch of states, [prefix, *suffix].

    Args:
      prefix: the size of the batch, or sizes, or a tensor of either.
      suffix: the size of a state, or its shape, or a tensor of either.
      static: return a list of sizes instead of a tensor, or None where the rank is not known.

    Raises:
      ValueError: a tensor is wanted, and sizes are not known.
    """
    parts = (prefix, suffix)
    if static:
        first, rest = (_static(part) for part in parts)
        whole = first.concatenate(rest)
        return None if whole.ndims is None else whole.as_list()
    return concat([_sizes(part) for part in parts], 0)


def _static(part: Any) -> TensorShape:
    return as_shape(constant_value(part) if isinstance(part, Tensor) else part)


def _sizes(part: Any) -> Tensor:
    if isinstance(part, Tensor):
        return expand_dims(part, 0) if part.get_shape().ndims == 0 else part
    known = as_shape(part)
    if not known.is_fully_defined():
        raise ValueError(f"Provided a prefix or suffix of None: {part}")
    return convert_to_tensor(known.as_list(), int32)


def zero_state_tensors(state_size: Any, batch_size: TensorLike, dtype: DTypeLike) -> Any:
    """Return zeros in the structure of a cell's `state_size`: [batch_size, *size] for each."""
    return nest.map_structure(lambda size: batch_zeros(size, batch_size, dtype), state_size)
