"""Indices [n, rank], where elements are: ops on these alone, and what is built with them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from daskvars import dtypes, shapes
from daskvars.dtypes import int64
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import Spec, without_gradient
from daskvars.graph.definitions.static_values import constant_value
from daskvars.graph.interpreter import apply
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.sparse_tensor import SparseTensor, SparseTensorValue
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.kernels.sparse import indices as kernels
from daskvars.ops.gather_scatter.gather import gather
from daskvars.ops.math.casting import cast

SparseLike = SparseTensor | SparseTensorValue


def is_sparse(value: Any) -> bool:
    """Return whether something is a sparse tensor, or the value of one."""
    return isinstance(value, SparseTensor | SparseTensorValue)


def as_sparse(value: Any) -> SparseTensor:
    """Return a sparse tensor as such. Raises TypeError where it is none."""
    if not is_sparse(value):
        raise TypeError(f"Input must be a SparseTensor, got {value!r} ({type(value).__name__})")
    return SparseTensor.from_value(value)


def as_int64(value: TensorLike) -> Tensor:
    """Return integers as int64."""
    return cast(convert_to_tensor(value, dtype_hint=int64), int64)


def parts(*values: SparseTensor) -> list[Tensor]:
    """Return the tensors that sparse tensors consist of."""
    return [each for value in values for each in (value.indices, value.values, value.dense_shape)]


def known_rank(value: SparseTensor, function: str) -> int:
    """Return the rank of a sparse tensor. Raises ValueError where it is not known."""
    rank = value.shape.ndims
    if rank is None:
        raise ValueError(f"{function}() needs a sparse tensor of known rank")
    return rank


def _column(shape: shapes.Shape) -> shapes.Shape:
    if shape is not None and len(shape) != 2:
        raise ValueError(f"places should have shape [n, rank], got {shapes.show(shape)}")
    return (None,) if shape is None else (shape[0],)


ORDER = without_gradient(
    "SparseOrder", "indices:I", lambda inputs: Spec(int64, _column(inputs[0].shape)), kernels.order
)


def _distinct(inputs: Sequence[Spec]) -> tuple[Spec, Spec]:
    dtype, shape = inputs[0]
    column = _column(shape)
    rows = None if shape is None else (None, *shape[1:])
    return Spec(dtype, rows), Spec(int64, column)


DISTINCT = without_gradient("SparseDistinct", "indices:I", _distinct, kernels.distinct)


def distinct(places: Tensor) -> tuple[Tensor, Tensor]:
    """Return the distinct places, in order, and for each place which of them it is.

    Args:
      places: [n, rank] integer.

    Returns:
      [m, rank] of the dtype of `places`, and [n] int64.
    """
    found, which = apply(DISTINCT, places)
    return found, which


def picked(values: Tensor, rows: Tensor) -> Tensor:
    """Return elements [n] of a vector.

    They are picked along a second dimension: along the first one the gradient would be that of a
    table, `IndexedSlices`, and values of sparse tensors are no table.
    """
    return gather(values[None], rows, axis=1)[0]


def reorder(sp_input: SparseLike, name: str | None = None) -> SparseTensor:
    """Return a sparse tensor with its elements in the order of rows, as functions want them.

    Args:
      sp_input: a `SparseTensor` or `SparseTensorValue`.
      name: name scope of the operations, by default "SparseReorder".

    Returns:
      A sparse tensor of the shape and dtype of `sp_input`.

    Raises:
      TypeError: it is none.

    Source: TensorFlow 1.15, ``tf.sparse.reorder``.

    >>> sp = dv.SparseTensor([[1, 0], [0, 1]], [7.0, 5.0], [2, 2])
    >>> dv.sparse.reorder(sp).values.numpy().tolist()
    [5.0, 7.0]
    """
    sp = as_sparse(sp_input)
    with name_scope(name, "SparseReorder", parts(sp)):
        rows = apply(ORDER, sp.indices)
        return SparseTensor(gather(sp.indices, rows), picked(sp.values, rows), sp.dense_shape)


def _filled_rows(inputs: Sequence[Spec], *, num_rows: Any, **attrs: Any) -> tuple[Spec, ...]:
    dtype, places = inputs[0]
    _column(places)
    rank = None if places is None else places[1]
    return Spec(dtype, (None, rank)), Spec(int64, (None,)), Spec(dtypes.bool, (num_rows,))


FILLED_ROWS = without_gradient(
    "SparseFilledRows", "indices:I", _filled_rows, kernels.filled_rows, operands=("num_rows",)
)


def _reshaped(inputs: Sequence[Spec]) -> tuple[Spec, Spec]:
    places, sizes, wanted = (each.shape for each in inputs)
    if places and sizes and not shapes.compatible(places[1:], sizes):
        raise ValueError(f"places of {places[1:]} coordinates in a shape of {sizes} sizes")
    (rank,) = (None,) if wanted is None else wanted
    (count,) = _column(places) or (None,)
    return Spec(int64, (count, rank)), Spec(int64, (rank,))


RESHAPE = without_gradient(
    "SparseReshape", "input_indices:I, input_shape:I, new_shape:I", _reshaped, kernels.reshaped
)


def _check_reshape(sp: SparseTensor, wanted: Any) -> None:
    """Raise ValueError where a shape is known not to be one of the elements of a sparse tensor."""
    if wanted is None or not sp.shape.is_fully_defined():
        return
    sizes = wanted.tolist()
    if sizes.count(-1) > 1:
        raise ValueError(f"At most one dimension can be inferred (-1). Found: {sizes}")
    total, count = sp.shape.num_elements() or 0, math.prod(n for n in sizes if n != -1)
    if total % count if -1 in sizes and count else total != count:
        raise ValueError(
            f"Cannot reshape a tensor with {total} elements to shape {sizes} ({count} elements)."
        )


def reshape(sp_input: SparseLike, shape: TensorLike, name: str | None = None) -> SparseTensor:
    """Return the elements of a sparse tensor in another shape.

    Args:
      sp_input: a `SparseTensor` or `SparseTensorValue`.
      shape: [new rank] int64 of as many elements; one size may be -1, which is what is left.
      name: name scope of the operations, by default "SparseReshape".

    Raises:
      TypeError: `sp_input` is no sparse tensor.
      ValueError: `shape` is known to have another number of elements, or has several sizes of -1.
      InvalidArgumentError: (when run) `shape` has another number of elements.

    Source: TensorFlow 1.15, ``tf.sparse.reshape``.

    >>> sp = dv.SparseTensor([[0, 1], [1, 0]], [5.0, 7.0], [2, 2])
    >>> dv.sparse.reshape(sp, [-1]).indices.numpy().tolist()
    [[1], [2]]
    """
    sp = as_sparse(sp_input)
    with name_scope(name, "SparseReshape", parts(sp)):
        wanted = as_int64(shape)
        _check_reshape(sp, constant_value(wanted))
        places, sizes = apply(RESHAPE, sp.indices, sp.dense_shape, wanted)
        return SparseTensor(places, sp.values, sizes)
