"""Elements spread out: repeated along a dimension, and placed in a dense tensor."""

from __future__ import annotations

from typing import Any

import numpy

from daskvars import shapes
from daskvars.dtypes import int64
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import Spec, without_gradient
from daskvars.graph.definitions.patterns import Opaque
from daskvars.graph.definitions.static_values import constant_value
from daskvars.graph.interpreter import apply
from daskvars.graph.records import attribute_kinds
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.kernels.gather_scatter import searching as kernels
from daskvars.ops.array import constant
from daskvars.ops.array.constant import size_along
from daskvars.ops.array.joining import stack
from daskvars.ops.array.repeating import broadcast_to, tile
from daskvars.ops.array.reshaping import expand_dims, identity, reshape
from daskvars.ops.control.dependencies import Assert, control_dependencies
from daskvars.ops.gather_scatter.gather import gather
from daskvars.ops.gather_scatter.scatter import tensor_scatter_update
from daskvars.ops.math.comparison import equal
from daskvars.ops.rules import axes
from daskvars.ops.rules.shapes import like_first

# -- repeat ------------------------------------------------------------------------------------

REPEATED_PLACES = without_gradient(
    "RepeatedPlaces",
    "repeats:I",
    infer=lambda inputs, **attrs: Spec(int64, (None,)),
    kernel=kernels.repeated_places,
    operands=("size",),
)


def repeat(
    input: TensorLike, repeats: TensorLike, axis: int | None = None, name: str | None = None
) -> Tensor:
    """Return a tensor with each slice along a dimension several times in a row.

    Args:
      input: [...] any dtype, of known rank.
      repeats: an integer, or a vector of one for each slice.
      axis: the dimension; None takes all elements as one vector.
      name: name scope of the operations, by default "Repeat".

    Returns:
      [...] of the dtype of `input`.

    Raises:
      TypeError: `repeats` are no integers.
      ValueError: there is no such dimension, or `repeats` is no scalar and no vector.

    Source: TensorFlow 1.15, ``tf.repeat``.

    >>> repeat([[1, 2], [3, 4]], [2, 1], axis=0).numpy().tolist()
    [[1, 2], [1, 2], [3, 4]]
    """
    with name_scope(name, "Repeat", [input, repeats]):
        x = convert_to_tensor(input)
        repeats = convert_to_tensor(repeats, name="repeats")
        if not repeats.spec.dtype.is_integer:
            raise TypeError(f"repeats must be int32 or int64, got {repeats.spec.dtype.name}")
        counts = repeats.spec.shape
        if counts is None or len(counts) > 1:
            raise ValueError(f"repeats must be a scalar or a vector, got {shapes.show(counts)}")
        if axis is None or x.spec.shape == ():
            x, axis = reshape(x, [-1]), 0
        if x.spec.shape is None:
            raise ValueError("repeat() needs input of known rank: give it a shape by set_shape")
        sizes = constant.sizes_filled(x, x.spec.shape)
        axis = shapes.normalize_axis(axis, len(sizes))
        if counts == ():
            return _times_each(x, sizes, repeats, axis)
        return gather(x, _places(sizes[axis], repeats), axis=axis)


def _times_each(x: Tensor, sizes: list[Any], times: Tensor, axis: int) -> Tensor:
    known = constant_value(times)
    count: Any = times if known is None else int(known)
    multiples = [*[1] * (axis + 1), count, *[1] * (len(sizes) - axis - 1)]
    repeated = tile(expand_dims(x, axis + 1), multiples)
    return reshape(repeated, [*sizes[:axis], sizes[axis] * count, *sizes[axis + 1 :]])


def _places(size: Any, repeats: Tensor) -> Any:
    counts = constant_value(repeats)
    if counts is not None and isinstance(size, int):
        return numpy.repeat(numpy.arange(size), counts)
    return apply(REPEATED_PLACES, repeats, size=size)


# -- sparse_to_dense ---------------------------------------------------------------------------

IN_ORDER = without_gradient(
    "CoordinatesInOrder",
    "indices:I",
    infer=like_first,
    kernel=kernels.in_order,
    pattern=Opaque(view=True),
    operands=("sizes",),
    attributes={"sizes": attribute_kinds.INTS, "check": attribute_kinds.BOOL},
)


def sparse_to_dense(
    sparse_indices: TensorLike,
    output_shape: TensorLike,
    sparse_values: TensorLike,
    default_value: TensorLike = 0,
    validate_indices: bool = True,
    name: str | None = None,
) -> Tensor:
    """Return a tensor of one value with other values at some places.

    Args:
      sparse_indices: [n, rank] int32 or int64, the places; [n] or [] for a vector.
      output_shape: [rank] of the dtype of `sparse_indices`.
      sparse_values: [n] any dtype, or [], one value for all places.
      default_value: scalar, the value elsewhere.
      validate_indices: check that the places are in order and none occurs twice.
      name: name of the operation, by default "SparseToDense".

    Returns:
      [*output_shape] of the dtype of `sparse_values`.

    Raises:
      ValueError: the values are neither one nor one for each place, or the default is no scalar.
      InvalidArgumentError: (when run) the places are not in order, or outside of the shape; or
        the shapes, where the run alone tells them, do not fit.

    Source: TensorFlow 1.15, ``tf.sparse_to_dense``.

    >>> sparse_to_dense([1, 3], [5], [7, 9], -1).numpy().tolist()
    [-1, 7, -1, 9, -1]
    """
    with name_scope(name, "SparseToDense", [sparse_indices, sparse_values]) as scope:
        values = convert_to_tensor(sparse_values, name="sparse_values")
        default = convert_to_tensor(default_value, values.dtype.base_dtype, name="default_value")
        indices = _as_rows(convert_to_tensor(sparse_indices, name="sparse_indices"), output_shape)
        _check_values(indices.spec.shape, values.spec.shape, default.spec.shape)
        indices = inside(indices, output_shape, validate_indices)
        count = size_along(indices, 0)
        if values.spec.shape is None:
            text = "sparse_values has incorrect shape, should be [] or one value for each place:"
            sizes = constant.shape(values)
            one_each = equal(constant.size(sizes), 0) | equal(constant.size(values), count)
            with control_dependencies([Assert(one_each, [text, sizes, count])]):
                values = identity(values)
        if not values.spec.shape:
            values = broadcast_to(values, [count])
        dense = constant.fill(output_shape, default)
        return identity(tensor_scatter_update(dense, indices, values), name=scope)


def _check_values(indices: shapes.Shape, values: shapes.Shape, default: shapes.Shape) -> None:
    if default not in (None, ()):
        raise ValueError(
            f"default_value should be a scalar, got one of shape {shapes.in_brackets(default)}"
        )
    count = None if indices is None else indices[:1]
    if values != () and not shapes.compatible(values, count):
        raise ValueError(
            f"sparse_values has incorrect shape {shapes.in_brackets(values)}, should be [] or "
            f"{shapes.in_brackets(count)}: one value, or one for each place"
        )


def inside(indices: Tensor, sizes: TensorLike, in_order: bool = False) -> Tensor:
    """Return places as they are; a run fails where they are not in a tensor of some sizes.

    Args:
      indices: [n, rank] int32 or int64.
      sizes: [rank], of the tensor.
      in_order: whether they must be in order, and each once.
    """
    return apply(IN_ORDER, indices, sizes=axes.as_operand(sizes), check=bool(in_order))


def _as_rows(indices: Tensor, sizes: TensorLike) -> Tensor:
    """Return places as rows of coordinates [n, rank], in a tensor of some sizes."""
    shape = indices.spec.shape
    if shape is None:
        return reshape(indices, stack([-1, size_along(convert_to_tensor(sizes), 0)]))
    if len(shape) > 2:
        raise ValueError(
            f"sparse_indices should be a scalar, vector, or matrix, got {shapes.show(shape)}"
        )
    return indices if len(shape) == 2 else reshape(indices, [-1, 1])
