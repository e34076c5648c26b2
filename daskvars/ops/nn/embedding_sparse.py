"""Rows of tables for features of several values each: looked up, weighted and combined."""

from __future__ import annotations

from typing import Any

from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.sparse_tensor import SparseTensor
from daskvars.graph.tensor import Tensor
from daskvars.ops.array import constant
from daskvars.ops.array.constant import size_along
from daskvars.ops.array.joining import concat
from daskvars.ops.array.reshaping import reshape
from daskvars.ops.checks.assertions import assert_equal
from daskvars.ops.control.dependencies import control_dependencies
from daskvars.ops.gather_scatter.segments import unsorted_segment_sum
from daskvars.ops.math.arithmetic import maximum, square
from daskvars.ops.math.casting import cast
from daskvars.ops.math.comparison import equal, greater, greater_equal, logical_and, where_v2
from daskvars.ops.math.division import truediv
from daskvars.ops.math.reduce import reduce_prod
from daskvars.ops.math.transcendental import sqrt
from daskvars.ops.nn.embedding import embedding_lookup
from daskvars.ops.sparse import arranging
from daskvars.ops.sparse.indices import SparseLike, as_sparse, parts, reshape as sparse_reshape

COMBINERS = ("mean", "sqrtn", "sum")


def embedding_lookup_sparse(
    params: Any,
    sp_ids: SparseLike,
    sp_weights: SparseLike | None,
    partition_strategy: str = "mod",
    name: str | None = None,
    combiner: str | None = None,
    max_norm: float | None = None,
) -> Tensor:
    """Return for each row of ids the rows of a table that they name, combined.

    The table's rows are weighted and added up part by part of the ids; where the table is cut, each
    part takes the rows that its ids name, each once. The gradient of the table is of rows.

    Args:
      params: the table, [vocabulary, ...]. See `nn.embedding_lookup`.
      sp_ids: a `SparseTensor` [rows, columns] of int32 or int64 ids, its elements in order.
      sp_weights: a `SparseTensor` of equal places and float values; None for ones.
      partition_strategy: "mod" or "div". See `nn.embedding_lookup`.
      name: name scope of the operations, by default "embedding_lookup_sparse".
      combiner: "sum", "mean" (over the sum of the weights) or "sqrtn" (over the root of the sum of
        their squares); by default "mean".
      max_norm: rows of the table of a larger l2 norm are scaled to it.

    Returns:
      [rows, ...] of the dtype of the table; a row without ids is zero. Where the last rows of
      `sp_ids` are empty, they are there, unlike in TensorFlow.

    Raises:
      TypeError: `sp_ids` or `sp_weights` is no sparse tensor, or the weights are no floats.
      ValueError: there is no such combiner, or the shapes do not fit.
      InvalidArgumentError: (when run) an id is out of range, or places of ids and weights differ.

    Source: TensorFlow 1.15, ``tf.nn.embedding_lookup_sparse``.

    >>> table = dv.constant([[1.0], [10.0], [100.0]])
    >>> ids = dv.SparseTensor([[0, 0], [0, 1], [1, 0]], [0, 1, 2], [2, 2])
    >>> embedding_lookup_sparse(table, ids, None, combiner="sum").numpy().tolist()
    [[11.0], [100.0]]
    """
    how = "mean" if combiner is None else combiner
    if how not in COMBINERS:
        raise ValueError(f"combiner must be one of {', '.join(COMBINERS)}, got {how!r}")
    ids = as_sparse(sp_ids)
    weights = None if sp_weights is None else as_sparse(sp_weights)
    if weights is not None:
        ids.values.get_shape().assert_is_compatible_with(weights.values.get_shape())
        ids.indices.get_shape().assert_is_compatible_with(weights.indices.get_shape())
        if not weights.dtype.base_dtype.is_floating:
            raise TypeError(f"sp_weights should be of a float dtype, got {weights.dtype.name}")
    with name_scope(name, "embedding_lookup_sparse", parts(ids)):
        rows, number = ids.indices[:, 0], ids.dense_shape[0]
        found = embedding_lookup(params, ids.values, partition_strategy, max_norm=max_norm)
        if weights is None:
            given: Tensor = constant.ones_like(ids.values, dtype=found.dtype)
        else:
            check = assert_equal(
                ids.indices, weights.indices, message="ids and weights are at different places"
            )
            with control_dependencies([check]):
                given = cast(weights.values, found.dtype)
            found = found * _beside(given, found)
        sums = unsorted_segment_sum(found, rows, number)
        if how == "sum":
            return sums
        if weights is not None and how == "sqrtn":
            given = square(given)
        shares = unsorted_segment_sum(given, rows, number)
        if weights is None:
            safe: Tensor = maximum(shares, constant.ones([], shares.dtype))
        else:
            safe = where_v2(
                equal(shares, constant.zeros_like(shares)), constant.ones_like(shares), shares
            )
        return truediv(sums, _beside(sqrt(safe) if how == "sqrtn" else safe, sums))


def _beside(weights: Tensor, rows: Tensor) -> Tensor:
    """Return [n] weights in a shape that broadcasts with rows [n, ...]."""
    shape = rows.spec.shape
    if shape is None:
        raise ValueError("embedding_lookup_sparse() needs a table of known rank")
    return reshape(weights, [-1] + [1] * (len(shape) - 1))


def safe_embedding_lookup_sparse(
    embedding_weights: Any,
    sparse_ids: SparseLike,
    sparse_weights: SparseLike | None = None,
    combiner: str = "mean",
    default_id: int | None = None,
    name: str | None = None,
    partition_strategy: str = "div",
    max_norm: float | None = None,
) -> Tensor:
    """Return `embedding_lookup_sparse` of ids of any rank, invalid and missing ones left out.

    Ids below 0 are left out, and unless `combiner` is "sum" those of weights that are not above 0.

    Args:
      embedding_weights: the table, [vocabulary, ...]: a Variable, or a list of parts.
      sparse_ids: a `SparseTensor` [d0, ..., dn] of int32 or int64 ids.
      sparse_weights: a `SparseTensor` of as many float values, which are at the places of the
        ids; None for ones.
      combiner: "sum", "mean" or "sqrtn".
      default_id: the id of an entry without ids; by default it has the vector 0.
      name: name scope of the operations, by default "embedding_lookup".
      partition_strategy: "div" or "mod". See `nn.embedding_lookup`.
      max_norm: rows of the table of a larger l2 norm are scaled to it.

    Returns:
      [d0, ..., d(n-1), ...] of the dtype of the table.

    Raises:
      ValueError: there is no table.

    Source: TensorFlow 1.15, ``tf.nn.safe_embedding_lookup_sparse``.

    >>> ids = dv.SparseTensor([[0, 0], [0, 1]], [1, -1], [2, 2])
    >>> safe_embedding_lookup_sparse(dv.constant([[1.0], [10.0]]), ids).numpy().tolist()
    [[10.0], [0.0]]
    """
    if embedding_weights is None or (
        isinstance(embedding_weights, list | tuple) and not embedding_weights
    ):
        raise ValueError("Missing embedding_weights: give a table, or a list of its parts.")
    ids = as_sparse(sparse_ids)
    weights = None if sparse_weights is None else as_sparse(sparse_weights)
    with name_scope(name, "embedding_lookup", parts(ids)):
        shape, known = ids.dense_shape, ids.shape.as_list()[:-1] if ids.shape.ndims else None
        if ids.shape.ndims != 2:
            rank = size_along(shape, 0)
            lead = shape[: rank - 1]
            ids = sparse_reshape(ids, concat([reduce_prod(lead)[None], shape[rank - 1 :]], 0))
        is_kept = greater_equal(ids.values, constant.zeros([], ids.dtype.base_dtype))
        if weights is not None:
            if combiner != "sum":  # a mean has nothing to divide by, a sum may take away
                nothing = constant.zeros([], weights.dtype.base_dtype)
                is_kept = logical_and(is_kept, greater(weights.values, nothing))
            weights = arranging.retain(
                SparseTensor(ids.indices, weights.values, ids.dense_shape), is_kept
            )
        kept = arranging.retain(ids, is_kept)
        filled, is_empty = arranging.fill_empty_rows(kept, default_id or 0)
        if weights is not None:
            weights, _ = arranging.fill_empty_rows(weights, 1.0)
        found = embedding_lookup_sparse(
            embedding_weights, filled, weights, partition_strategy, None, combiner, max_norm
        )
        if default_id is None:
            mask = reshape(is_empty, [-1] + [1] * (len(found.get_shape()) - 1))
            found = where_v2(mask, constant.zeros_like(found), found)
        if len(known or ()) == 1:
            return found
        result = reshape(found, concat([lead, constant.shape(found, out_type=lead.dtype)[1:]], 0))
        if known is not None:
            result.set_shape([*known, *found.get_shape().as_list()[1:]])
        return result
