"""Shapes, dtypes and values of recurrent networks: along the batch, and in time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from daskvars.dtypes import DTypeLike, as_dtype, int32
from daskvars.graph import nest
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.interpreter import builder_for
from daskvars.graph.scopes.name_scope import entered_graph
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.ops.array.constant import sizes_filled
from daskvars.ops.array.transposing import transpose
from daskvars.ops.control.tensor_array import TensorArray
from daskvars.ops.math.casting import cast
from daskvars.ops.math.comparison import where
from daskvars.shapes import TensorShape
from daskvars.variables.scopes.scope_stack import VariableScope
from daskvars.variables.scopes.variable_scope import variable_scope


@contextmanager
def opened(scope: str | VariableScope, values: TensorLike) -> Iterator[VariableScope]:
    """Open a variable scope, in the graph of `values`."""
    tensors = tuple(v for v in nest.flatten(values) if v is not None)
    with entered_graph(builder_for(tensors)), variable_scope(scope) as variables:
        yield variables


def swapped(value: Tensor) -> Tensor:
    """Return a tensor with its first two axes exchanged: batch and time."""
    rank = value.get_shape().ndims
    if rank is not None and rank < 2:
        raise ValueError(
            f"Expected input tensor {value.name} to have rank at least 2, but saw shape: "
            f"{value.get_shape()}"
        )
    if rank is None:
        raise ValueError(f"The rank of input tensor {value.name} must be known. Use set_shape.")
    return transpose(value, [1, 0, *range(2, rank)])


def map_sizes(function: Callable[[Any], Any], sizes: Any) -> Any:
    """Return a structure of sizes with ``function(size)`` for each; shapes are sizes too."""
    return (
        function(sizes) if isinstance(sizes, TensorShape) else nest.map_structure(function, sizes)
    )


def copied_through(is_over: Tensor, old: Any, new: Any) -> Any:
    """Return `new`, but the rows of `old` for those sequences that are over."""

    def chosen(a: Any, b: Any) -> Any:
        if isinstance(a, TensorArray) or a.get_shape().ndims == 0:
            return b
        return where(is_over, a, b)

    nest.assert_same_structure(old, new)
    pairs = zip(nest.flatten(old), nest.flatten(new), strict=True)
    return nest.pack(new, [chosen(a, convert_to_tensor(b)) for a, b in pairs])


def sizes(inputs: list[Tensor], time_axis: int | None = 0) -> tuple[Any, Any]:
    """Return the sizes of batch and time: ints where they are known, else scalar tensors."""
    first = 0 if time_axis is None else 1
    known: dict[str, int] = {}
    for value in inputs:
        shape = value.get_shape().with_rank_at_least(first + 1).as_list()
        if None in shape[first + 1 :]:
            raise ValueError(
                f"Input size (dimension {first + 1 + shape[first + 1 :].index(None)} of inputs) "
                f"must be accessible via shape inference, but saw value None: {value.name} has "
                f"shape {value.get_shape()}"
            )
        named = {"batch": shape[first], **({"time": shape[0]} if first else {})}
        for name, size in named.items():
            if size is not None and known.setdefault(name, size) != size:
                raise ValueError(
                    f"{name.capitalize()} size is not the same for all the inputs: {known[name]} "
                    f"and {size}"
                )
    names = ["time", "batch"] if first else ["batch"]
    found = sizes_filled(inputs[0], [known.get(name) for name in names])
    return found[first], found[0] if first else None


def lengths_of(sequence_length: TensorLike, batch: Any) -> Tensor:
    """Return the lengths of sequences as int32. Raises ValueError unless they are a vector."""
    lengths = cast(convert_to_tensor(sequence_length), int32)
    if lengths.get_shape().ndims not in (None, 1):
        raise ValueError(
            "sequence_length must be a vector of length batch_size, but saw shape: "
            f"{lengths.get_shape()}"
        )
    lengths.set_shape([batch if isinstance(batch, int) else None])
    return lengths


def state_value(part: Any) -> Any:
    """Return a part of a state as a tensor; a TensorArray stays as it is."""
    return part if isinstance(part, TensorArray) else convert_to_tensor(part)


def dtype_of(dtype: DTypeLike | None, state: Any) -> Any:
    """Return the dtype of outputs: that asked for, else that of the state."""
    if dtype is not None:
        return as_dtype(dtype).base_dtype
    found = {part.dtype.base_dtype for part in nest.flatten(state)}
    if len(found) != 1:
        raise ValueError(
            "State has tensors of different dtypes, or none at all. Unable to infer a single "
            f"representative dtype: {sorted(d.name for d in found)}"
        )
    return found.pop()


def with_step(arrays: Any, time: Tensor, values: Any) -> Any:
    """Return nested arrays with what a step gave, nested alike, written at a time."""
    pairs = zip(nest.flatten(arrays), nest.flatten(values), strict=True)
    return nest.pack(arrays, [array.write(time, value) for array, value in pairs])


def shaped_as(new: Any, old: Any) -> Any:
    """Tell the new state the static shapes of the old one."""
    for a, b in zip(nest.flatten(new), nest.flatten(old), strict=True):
        if not isinstance(b, TensorArray):
            a.set_shape(b.get_shape())
    return new
