"""Sparse tensors under the names that they had before ``tf.sparse``, and masks of gradients."""

from __future__ import annotations

from typing import Any

from daskvars.graph.indexed_slices import IndexedSlices
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.sparse_tensor import SparseTensor
from daskvars.graph.tensor import TensorLike
from daskvars.ops.gather_scatter.gather import gather
from daskvars.ops.gather_scatter.searching import setdiff1d
from daskvars.ops.sparse.arithmetic import (
    add as sparse_add,
    maximum as sparse_maximum,
    minimum as sparse_minimum,
    reduce_max as sparse_reduce_max,
    reduce_max_sparse as sparse_reduce_max_sparse,
    reduce_sum as sparse_reduce_sum,
    reduce_sum_sparse as sparse_reduce_sum_sparse,
    softmax as sparse_softmax,
)
from daskvars.ops.sparse.arranging import (
    concat as sparse_concat,
    fill_empty_rows as sparse_fill_empty_rows,
    merge as sparse_merge,
    reset_shape as sparse_reset_shape,
    retain as sparse_retain,
    slice as sparse_slice,
    split as _split,
    transpose as sparse_transpose,
)
from daskvars.ops.sparse.dense import (
    placeholder as sparse_placeholder,
    to_dense as sparse_tensor_to_dense,
    to_indicator as sparse_to_indicator,
)
from daskvars.ops.sparse.indices import (
    SparseLike,
    reorder as sparse_reorder,
    reshape as sparse_reshape,
)
from daskvars.ops.sparse.products import (
    sparse_dense_matmul as sparse_tensor_dense_matmul,
    sparse_matmul,
)
from daskvars.ops.sparse.segments import (
    segment_mean as sparse_segment_mean,
    segment_sqrt_n as sparse_segment_sqrt_n,
    segment_sum as sparse_segment_sum,
)

__all__ = [
    "sparse_add", "sparse_concat", "sparse_fill_empty_rows", "sparse_mask", "sparse_matmul",
    "sparse_maximum", "sparse_merge", "sparse_minimum", "sparse_placeholder", "sparse_reduce_max",
    "sparse_reduce_max_sparse", "sparse_reduce_sum", "sparse_reduce_sum_sparse", "sparse_reorder",
    "sparse_reset_shape", "sparse_reshape", "sparse_retain", "sparse_segment_mean",
    "sparse_segment_sqrt_n", "sparse_segment_sum", "sparse_slice", "sparse_softmax", "sparse_split",
    "sparse_tensor_dense_matmul", "sparse_tensor_to_dense", "sparse_to_indicator",
    "sparse_transpose",
]  # fmt: skip


_KEYWORDS = object()


def sparse_split(
    keyword_required: Any = _KEYWORDS,
    sp_input: SparseLike | None = None,
    num_split: int | None = None,
    axis: int | None = None,
    name: str | None = None,
    split_dim: int | None = None,
) -> list[SparseTensor]:
    """Return a sparse tensor in parts along a dimension. See `sparse.split`.

    Args:
      keyword_required: nothing: arguments are given by name.
      sp_input: a `SparseTensor`.
      num_split: how many parts.
      axis: the dimension. `split_dim` is the same.
      name: name scope of the operations.

    Returns:
      A list of sparse tensors of the dtype of `sp_input`, smaller along the dimension.

    Raises:
      ValueError: an argument is missing, or is not given by name.

    Source: TensorFlow 1.15, ``tf.sparse_split``.

    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     row = tf.SparseTensor([[0, 0], [0, 3]], [1.0, 2.0], [1, 4])
    ...     parts = tf.sparse_split(sp_input=row, num_split=2, axis=1)
    ...     [sess.run(tf.sparse.to_dense(part)).tolist() for part in parts]
    [[[1.0, 0.0]], [[0.0, 2.0]]]
    """
    along = axis if split_dim is None else split_dim
    if keyword_required is not _KEYWORDS:
        raise ValueError("Keyword arguments are required for this function.")
    if sp_input is None:
        raise ValueError("sp_input is required")
    if num_split is None:
        raise ValueError("num_split is required")
    if along is None:
        raise ValueError("axis is required")
    return _split(sp_input, num_split, along, name)


def sparse_mask(a: Any, mask_indices: TensorLike, name: str | None = None) -> IndexedSlices:
    """Return slices without those of some indices.

    Args:
      a: `IndexedSlices`.
      mask_indices: [m] of the dtype of their indices: which are left out.
      name: name scope of the operations, by default "sparse_mask".

    Returns:
      `IndexedSlices` of the dtype of `a` and of the shape of its whole.

    Source: TensorFlow 1.15, ``tf.sparse_mask``.

    >>> a = dv.IndexedSlices(dv.constant([1.0, 2.0]), dv.constant([4, 7]))
    >>> sparse_mask(a, [4]).values.numpy().tolist()
    [2.0]
    """
    with name_scope(name, "sparse_mask", [a.values, a.indices]):
        indices, places = setdiff1d(a.indices, mask_indices)
        return IndexedSlices(gather(a.values, places), indices, a.dense_shape)
