"""Axes, sizes and other shape-like arguments as plain data, and which dimensions may stay cut.

Every op that moves elements answers two questions: what its shape arguments are when they are
known only in part, and which dimensions of its input reach the output as they are. A dimension
that does keeps its label, so that a batch that came in chunks stays in chunks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import IntEnum
from typing import Any

import numpy

from daskvars import shapes
from daskvars.graph.definitions.opdef import Spec
from daskvars.graph.definitions.patterns import Access, Block, Dim, KnownShapes, RankedShapes
from daskvars.graph.definitions.static_values import MAX_STATIC_ELEMENTS, as_attr, constant_value
from daskvars.graph.indexed_slices import IndexedSlices
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.shapes import Dimension, TensorShape

# -- arguments that may be tensors -------------------------------------------------------------


def is_symbolic(value: TensorLike) -> bool:
    """Return whether `value` is a tensor or variable, or a list with one in it."""
    if type(value) is int:
        return False
    if isinstance(value, list | tuple):
        return any(map(is_symbolic, value))
    return isinstance(value, Tensor | IndexedSlices) or hasattr(value, "_as_graph_element")


def as_operand(value: TensorLike) -> Any:
    """Return an argument that may be a tensor as an attribute: tensors as they are, data plain.

    Args:
      value: a number, nested sequence, array, TensorShape or Dimension, or something symbolic.

    Returns:
      A number, nested tuples of numbers, or `value` where it is symbolic.

    Raises:
      ValueError: a size in it is not known.

    >>> as_operand(numpy.array([[1, 2]])), as_operand(TensorShape([3])), as_operand(-1)
    (((1, 2),), (3,), -1)
    """
    return value if is_symbolic(value) else _plain(value)


def as_known(value: TensorLike) -> Any:
    """Return an argument that must be known now as plain data, also where it is a constant tensor.

    What only the run knows stays a tensor. See `as_operand`.
    """
    known = constant_value(value) if isinstance(value, Tensor) else None
    return as_operand(value if known is None else known)


def as_operands(**values: TensorLike) -> dict[str, Any]:
    """Return arguments that may be tensors as attributes, by name. See `as_operand`."""
    return {name: as_operand(value) for name, value in values.items()}


def as_integers(**values: TensorLike) -> dict[str, Any]:
    """Return arguments that are whole numbers as attributes, by name. See `as_operand`.

    Raises:
      TypeError: one is no whole number; how it is spelled does not tell (2.0 is none).
    """
    operands = as_operands(**values)
    for name, value in operands.items():
        if not is_symbolic(value) and not _is_whole(value):
            raise TypeError(f"{name} must be int32 or int64, got {values[name]!r}")
    return operands


def _is_whole(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(map(_is_whole, value))
    return isinstance(value, int) and not isinstance(value, bool)


def _plain(value: Any) -> Any:
    if isinstance(value, numpy.ndarray | numpy.generic):
        value = value.tolist()
    if isinstance(value, IntEnum):
        return value.value
    if isinstance(value, Dimension):
        value = value.value
    if isinstance(value, list | tuple | TensorShape):
        return tuple(map(_plain, value))
    if value is None:
        raise ValueError("None values not supported. Take the sizes of shape(x) instead.")
    return value


def as_sizes(value: Any) -> Any:
    """Return a shape that may be a tensor as an attribute; a number is the size of a vector.

    Raises:
      ValueError: it is a matrix or more, or has a negative size.
    """
    if type(value) is list:
        value = tuple(value)
    if shapes.are_sizes(value):
        return value
    value = as_operand(value)
    if is_symbolic(value):
        return (value,) if isinstance(value, Tensor) and value.shape.rank == 0 else value
    if isinstance(value, tuple) and any(isinstance(size, tuple) for size in value):
        raise ValueError(f"Shape must be rank 1, a vector of sizes, got {value}")
    return shapes.as_tuple(value)


def operand_of(op: Operation, name: str) -> Any:
    """Return what the attribute `name` of an operation was given as: a tensor or plain data."""
    dynamic = op.attrs.get("operands", ())
    if name in dynamic:
        return op.inputs[len(op.inputs) - len(dynamic) + dynamic.index(name)]
    return op.attrs[name]


def is_complete(value: TensorLike) -> bool:
    """Return whether nothing in nested tuples is unknown (None)."""
    return all(map(is_complete, value)) if isinstance(value, tuple) else value is not None


def sizes_of(value: Any, operands: Sequence[Spec]) -> tuple[int | None, ...] | None:
    """Return a partly known vector: what its attribute says, else as many unknowns as it has.

    A number is a vector of it, known or not.

    Args:
      value: the attribute, a number, a tuple with None in it, or None.
      operands: specs of the trailing inputs; the first one is of the tensor that was given.
    """
    if value is not None:
        return value if isinstance(value, tuple) else (value,)
    shape = operands[0].shape if operands else None
    if shape == ():
        return (None,)
    if shape is None or len(shape) != 1 or shape[0] is None:
        return None
    return (None,) * shape[0]


def either(new: Any, old: Any, new_name: str, old_name: str) -> Any:
    """Return the argument given under its new or its deprecated name.

    Raises:
      ValueError: both are given.
    """
    if new is not None and old is not None:
        raise ValueError(f"Cannot specify both '{new_name}' and '{old_name}'")
    return old if new is None else new


# -- values known in part ----------------------------------------------------------------------


def known_arrays(values: Sequence[Any], specs: Sequence[Spec]) -> list[Any] | None:
    """Return partly known values as object arrays, None where nothing is known of them.

    Static rules compute with these: an unknown number is a None in the array.
    """
    if all(value is None for value in values):
        return None
    arrays = []
    for value, spec in zip(values, specs, strict=True):
        size = shapes.size(spec.shape)
        if size is None or size > MAX_STATIC_ELEMENTS:
            return None
        shape: Any = spec.shape
        array: Any = numpy.empty(shape, dtype=object)  # of Nones
        if value is not None:
            array[...] = numpy.array(value, dtype=object).reshape(shape)
        arrays.append(array)
    return arrays


def as_value(array: Any) -> Any:
    """Return an object array as a number or nested tuples, which cannot tell an empty shape."""
    array = numpy.asarray(array, dtype=object)  # arithmetic on arrays of rank 0 gives a number
    if not array.size and array.ndim > 1:
        return None
    return as_attr(array)


def first_value(values: Sequence[Any], specs: Sequence[Spec], attrs: dict[str, Any]) -> Any:
    """The static rule of an op that gives its first input on."""
    return values[0]


# -- dimensions that stay as they are ----------------------------------------------------------


def aligned(inputs: KnownShapes, outputs: KnownShapes, pairs: Iterable[tuple[int, int]]) -> Access:
    """Return the access of an op that leaves some dimensions of its first input alone.

    Args:
      inputs: shapes; all inputs but the first must be whole.
      outputs: shapes; all outputs are labelled alike.
      pairs: (dimension of the first input, dimension of the outputs) that correspond.
    """
    source, target = inputs[0], outputs[0]
    ins: list[Dim | None] = [None] * len(source)
    outs: list[Dim | None] = [None] * len(target)
    for i, j in pairs:
        if source[i] == target[j]:
            ins[i] = outs[j] = Dim(i)
    others = tuple((None,) * len(shape) for shape in inputs[1:])
    return Access((tuple(ins), *others), (tuple(outs),) * len(outputs))


def aligned_except(inputs: KnownShapes, outputs: KnownShapes, changed: Iterable[int]) -> Access:
    """Return the access of an op that leaves all dimensions but `changed` alone."""
    rank = len(inputs[0])
    skipped = {axis % rank for axis in changed} if rank else set()
    return aligned(inputs, outputs, [(i, i) for i in range(rank) if i not in skipped])


def whole(inputs: RankedShapes, outputs: RankedShapes) -> Access:
    """Return the access of an op that needs everything in one block."""
    ins = tuple((None,) * len(shape) for shape in inputs)
    return Access(ins, tuple((None,) * len(shape) for shape in outputs))


def in_block(attrs: Mapping[str, Any], **changes: Any) -> dict[str, Any]:
    """Return the attributes of one block: `changes`, and all others that are known.

    Those that are not known come to the kernel as operands, which no attribute may shadow.
    """
    return {name: value for name, value in ({**attrs, **changes}).items() if is_complete(value)}


def shaped_as_block(attribute: str) -> Callable[[Mapping[str, Any], Block], dict[str, Any]]:
    """Return the rule of an op whose attribute is the shape of its result: of a block, its own."""
    return lambda attrs, block: in_block(attrs, **{attribute: block.out_shapes[0]})


def shaped_by(attribute: str, *others: str) -> dict[str, Any]:
    """Return the rules of an op with operands, of which one is the shape of its result."""
    return {"operands": (attribute, *others), "block": shaped_as_block(attribute)}


def from_rows_of_block(attrs: Mapping[str, Any], block: Block) -> dict[str, Any]:
    """Return the attributes of an op that takes rows of its first input, of which a block has some.

    Its kernel is told which is the first of them (``offset``), and how many there are in all.
    """
    return {**attrs, "offset": block.in_offsets[0][0], "size": block.full_in_shapes[0][0]}


def into_rows_of_block(attrs: Mapping[str, Any], block: Block) -> dict[str, Any]:
    """Return the attributes of an op that writes rows of its result, of which a block has some."""
    return {**attrs, "offset": block.out_offsets[0][0], "size": block.full_out_shapes[0][0]}
