"""Sparse tensors from dense ones and back, and placeholders of them."""

from __future__ import annotations

from typing import Any

from daskvars import dtypes, shapes
from daskvars.dtypes import DTypeLike, int64
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.sparse_tensor import SparseTensor
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.ops.array import constant, ranges
from daskvars.ops.array.joining import stack
from daskvars.ops.array.placeholders import placeholder as dense_placeholder
from daskvars.ops.gather_scatter.scatter import gather_nd
from daskvars.ops.gather_scatter.spreading import sparse_to_dense
from daskvars.ops.math.arithmetic import minimum
from daskvars.ops.math.comparison import not_equal, where
from daskvars.ops.sparse.arranging import merge
from daskvars.ops.sparse.indices import SparseLike, as_int64, as_sparse, parts
from daskvars.shapes import ShapeLike


def placeholder(
    dtype: DTypeLike, shape: ShapeLike | Tensor | None = None, name: str | None = None
) -> SparseTensor:
    """Return a sparse tensor whose value is given with ``feed_dict`` when something is run.

    Fed are a `SparseTensorValue` or another triple, a matrix of scipy.sparse, or an array of the
    ``sparse`` package.

    Args:
      dtype: of the values.
      shape: the shape of the whole, a [rank] int64 tensor too; None, or sizes of None, where it is
        fed as well.
      name: prefix of the names of its parts.

    Returns:
      A sparse tensor of that shape and dtype.

    Raises:
      RuntimeError: outside a graph, where there is nothing to be run later.

    Source: TensorFlow 1.15, ``tf.sparse_placeholder``.

    >>> from daskvars.ops.sparse.dense import placeholder
    >>> with dv.Graph().as_default(), dv.Session() as session:
    ...     sp = placeholder(dv.float32, [2, 2])
    ...     value = dv.SparseTensorValue([[0, 1]], [5.0], [2, 2])
    ...     session.run(dv.sparse.to_dense(sp), {sp: value}).tolist()
    [[0.0, 5.0], [0.0, 0.0]]
    """
    sizes = shapes.as_tuple(None if isinstance(shape, Tensor) else shape)
    prefix = None if name is None else f"{name}/"
    rank = None if sizes is None else len(sizes)
    if isinstance(shape, Tensor):
        rank = shape.spec.shape[0] if shape.spec.shape else None

    def part(kind: DTypeLike, of: Any, what: str) -> Tensor:
        return dense_placeholder(kind, of, None if prefix is None else prefix + what)

    values = part(dtype, [None], "values")
    indices = part(int64, [None, rank], "indices")
    whole: Any
    if isinstance(shape, Tensor):
        whole = shape
    elif shapes.is_known(sizes):
        whole = constant.constant(sizes, int64, name=None if prefix is None else f"{prefix}shape")
    else:
        whole = part(int64, [rank], "shape")
    return SparseTensor(indices, values, whole)


def from_dense(tensor: TensorLike, name: str | None = None) -> SparseTensor:
    """Return the elements of a dense tensor that are not zero.

    Args:
      tensor: [...] any dtype; of strings, those that are not empty.
      name: name scope of the operations, by default "dense_to_sparse".

    Returns:
      A sparse tensor of the shape and dtype of `tensor`.

    Source: TensorFlow 1.15, ``tf.sparse.from_dense``.

    >>> dv.sparse.from_dense([[0, 3], [0, 0]]).indices.numpy().tolist()
    [[0, 1]]
    """
    with name_scope(name, "dense_to_sparse", [tensor]):
        dense = convert_to_tensor(tensor)
        nothing = "" if dense.dtype.base_dtype == dtypes.string else 0
        places = where(not_equal(dense, constant.constant(nothing, dense.dtype.base_dtype)))
        return SparseTensor(places, gather_nd(dense, places), constant.shape(dense, out_type=int64))


def to_dense(
    sp_input: SparseLike,
    default_value: TensorLike | None = None,
    validate_indices: bool = True,
    name: str | None = None,
) -> Tensor:
    """Return a sparse tensor as a dense one.

    Args:
      sp_input: a `SparseTensor` or `SparseTensorValue`, its elements in order.
      default_value: scalar, of what is absent; by default zero, or "" of strings.
      validate_indices: check that the places are in order and none occurs twice.
      name: name of the operation, by default "SparseToDense".

    Returns:
      [*shape] of the dtype of the values.

    Raises:
      TypeError: `sp_input` is no sparse tensor.
      InvalidArgumentError: (when run) the places are not in order, or outside of the shape.

    Source: TensorFlow 1.15, ``tf.sparse.to_dense``.

    >>> sp = dv.SparseTensor([[0, 1]], [5], [1, 3])
    >>> dv.sparse.to_dense(sp, -1).numpy().tolist()
    [[-1, 5, -1]]
    """
    sp = as_sparse(sp_input)
    if default_value is None:
        default_value = "" if sp.dtype.base_dtype == dtypes.string else 0
    sizes = sp.dense_shape
    dense = sparse_to_dense(
        sp.indices, sizes, sp.values, default_value, validate_indices=validate_indices, name=name
    )
    dense.set_shape(sp.shape)
    return dense


def to_indicator(sp_input: SparseLike, vocab_size: int, name: str | None = None) -> Tensor:
    """Return for each row of ids which of all there are.

    Args:
      sp_input: a `SparseTensor` [..., k] of int32 or int64 ids in [0, vocab_size).
      vocab_size: how many ids there are.
      name: name scope of the operations, by default "SparseToIndicator".

    Returns:
      [..., vocab_size] bool.

    Source: TensorFlow 1.15, ``tf.sparse.to_indicator``.

    >>> sp = dv.SparseTensor([[0, 0], [0, 1], [1, 0]], [2, 0, 1], [2, 2])
    >>> dv.sparse.to_indicator(sp, 3).numpy().astype(int).tolist()
    [[1, 0, 1], [0, 1, 0]]
    """
    sp = as_sparse(sp_input)
    with name_scope(name, "SparseToIndicator", parts(sp)) as scope:
        there = SparseTensor(
            sp.indices, constant.ones_like(sp.values, dtype=dtypes.bool), sp.dense_shape
        )
        ids = merge(sp, there, vocab_size)
        dense = sparse_to_dense(
            ids.indices, ids.dense_shape, ids.values, False, validate_indices=False, name=scope
        )
        dense.set_shape([*(sp.shape.as_list()[:-1] if sp.shape.ndims else [None]), vocab_size])
        return dense


def eye(
    num_rows: TensorLike,
    num_columns: TensorLike | None = None,
    dtype: DTypeLike = dtypes.float32,
    name: str | None = None,
) -> SparseTensor:
    """Return ones on the diagonal of a matrix.

    Args:
      num_rows, num_columns: its sizes; by default it is square.
      dtype: of the values.
      name: name scope of the operations, by default "eye".

    Returns:
      A sparse tensor [num_rows, num_columns] of dtype `dtype`.

    Source: TensorFlow 1.15, ``tf.sparse.eye``.

    >>> dv.sparse.to_dense(dv.sparse.eye(2, 3)).numpy().tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    with name_scope(name, "eye", []):
        rows = as_int64(num_rows)
        columns = rows if num_columns is None else as_int64(num_columns)
        along = ranges.range(minimum(rows, columns), dtype=int64)
        return SparseTensor(
            stack([along, along], axis=1),
            constant.ones_like(along, dtype=dtype),
            stack([rows, columns]),
        )
