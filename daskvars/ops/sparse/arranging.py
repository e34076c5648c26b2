"""Sparse tensors cut, joined, transposed and filled up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from daskvars import dtypes
from daskvars.dtypes import int32, int64
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.static_values import partial_value
from daskvars.graph.interpreter import apply
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.sparse_tensor import SparseTensor
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.ops.array import constant, ranges
from daskvars.ops.array.constant import size_along
from daskvars.ops.array.joining import concat as dense_concat, stack
from daskvars.ops.array.reshaping import ensure_shape, reshape as dense_reshape
from daskvars.ops.checks.assertions import assert_equal, assert_less_equal
from daskvars.ops.control.dependencies import Assert, control_dependencies
from daskvars.ops.gather_scatter.gather import boolean_mask, gather
from daskvars.ops.math.arithmetic import add, maximum, minimum, subtract
from daskvars.ops.math.casting import cast
from daskvars.ops.math.comparison import equal, greater_equal, less, logical_and
from daskvars.ops.math.reduce import reduce_all, reduce_max
from daskvars.ops.rules import axes
from daskvars.ops.sparse.indices import (
    FILLED_ROWS,
    SparseLike,
    as_int64,
    as_sparse,
    known_rank,
    parts,
    picked,
    reorder,
)


def _kept(sp: SparseTensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    return boolean_mask(sp.indices, mask), boolean_mask(sp.values, mask)


def retain(sp_input: SparseLike, to_retain: TensorLike) -> SparseTensor:
    """Return the elements of a sparse tensor for which a mask holds.

    Args:
      sp_input: a `SparseTensor` or `SparseTensorValue` of n elements.
      to_retain: [n] bool.

    Returns:
      A sparse tensor of the shape and dtype of `sp_input`, with fewer elements.

    Raises:
      TypeError: `sp_input` is no sparse tensor.
      ValueError: the mask is not of its length.

    Source: TensorFlow 1.15, ``tf.sparse.retain``.

    >>> sp = dv.SparseTensor([[0], [2]], [5, 7], [3])
    >>> dv.sparse.retain(sp, [False, True]).values.numpy().tolist()
    [7]
    """
    sp = as_sparse(sp_input)
    with name_scope(None, "SparseRetain", [*parts(sp), to_retain]):
        mask = convert_to_tensor(to_retain, dtypes.bool)
        if mask.spec.shape is None:
            mask = ensure_shape(mask, [None])
        mask.get_shape()[:1].assert_is_compatible_with(sp.values.get_shape()[:1])
        return SparseTensor(*_kept(sp, mask), sp.dense_shape)


def slice(
    sp_input: SparseLike, start: TensorLike, size: TensorLike, name: str | None = None
) -> SparseTensor:
    """Return a part of a sparse tensor.

    Args:
      sp_input: a `SparseTensor` or `SparseTensorValue`.
      start: [rank] int64, where the part begins.
      size: [rank] int64, its sizes; what lies beyond the end is left out.
      name: name scope of the operations, by default "SparseSlice".

    Returns:
      A sparse tensor of the dtype of `sp_input`; of shape `size`, but for what lies beyond the end.

    Source: TensorFlow 1.15, ``tf.sparse.slice``.

    >>> sp = dv.SparseTensor([[0, 1], [1, 0]], [5, 7], [2, 2])
    >>> dv.sparse.to_dense(dv.sparse.slice(sp, [1, 0], [1, 2])).numpy().tolist()
    [[7, 0]]
    """
    sp = as_sparse(sp_input)
    with name_scope(name, "SparseSlice", parts(sp)):
        begin, sizes = as_int64(start), as_int64(size)
        inside = reduce_all(
            logical_and(greater_equal(sp.indices, begin), less(sp.indices, add(begin, sizes))),
            axis=1,
        )
        places, values = _kept(sp, inside)
        whole = maximum(minimum(sizes, subtract(sp.dense_shape, begin)), 0)
        return SparseTensor(subtract(places, begin), values, whole)


def split(
    sp_input: SparseLike, num_split: int, axis: int, name: str | None = None
) -> list[SparseTensor]:
    """Return a sparse tensor in parts along a dimension.

    Args:
      sp_input: a `SparseTensor` or `SparseTensorValue`.
      num_split: how many parts; the first ones are larger by one where it does not divide the size.
      axis: the dimension.
      name: name scope of the operations, by default "SparseSplit".

    Returns:
      A list of sparse tensors of the dtype of `sp_input`, smaller along the dimension.

    Raises:
      ValueError: there is no such dimension, the rank is not known, or `num_split` is below 1.

    Source: TensorFlow 1.15, ``tf.sparse.split``.

    >>> sp = dv.SparseTensor([[0, 2], [1, 0]], [5, 7], [2, 3])
    >>> [dv.sparse.to_dense(p).numpy().tolist() for p in dv.sparse.split(sp, 2, 1)]
    [[[0, 0], [7, 0]], [[5], [0]]]
    """
    sp = as_sparse(sp_input)
    rank = known_rank(sp, "split")
    if not -rank <= axis < rank:
        raise ValueError(f"split() of a sparse tensor of rank {rank}: there is no axis {axis}")
    if num_split < 1:
        raise ValueError(f"split() into {num_split} parts: there must be at least one")
    with name_scope(name, "SparseSplit", parts(sp)):
        size = sp.dense_shape[axis]
        share, left = size // num_split, size % num_split
        found: list[SparseTensor] = []
        unit = _unit(sp, axis, rank)
        begin: Any = constant.constant(0, int64)
        for number in range(num_split):
            width = share + cast(less(constant.constant(number, int64), left), int64)
            sizes = sp.dense_shape + unit * (width - size)
            found.append(slice(sp, unit * begin, sizes))
            begin = begin + width
        return found


def concat(
    axis: int,
    sp_inputs: Sequence[SparseLike],
    name: str | None = None,
    expand_nonconcat_dim: bool = False,
    concat_dim: int | None = None,
    expand_nonconcat_dims: bool | None = None,
) -> SparseTensor:
    """Return sparse tensors joined along a dimension, in order.

    Args:
      axis: the dimension.
      sp_inputs: sparse tensors of one rank, whose other sizes are equal.
      name: name scope of the operations, by default "SparseConcat".
      expand_nonconcat_dim: other sizes may differ: the result has the largest.
      concat_dim, expand_nonconcat_dims: other names of `axis` and `expand_nonconcat_dim`.

    Returns:
      A sparse tensor of the dtype of the inputs; along the dimension its size is the sum of theirs.

    Raises:
      TypeError: an input is no sparse tensor.
      InvalidArgumentError: (when run) other sizes differ.
      ValueError: there are no inputs, or no such dimension; or ranks differ or are not known.

    Source: TensorFlow 1.15, ``tf.sparse.concat``.

    >>> a = dv.SparseTensor([[0, 0]], [5], [1, 1])
    >>> b = dv.SparseTensor([[0, 1]], [7], [1, 2])
    >>> dv.sparse.to_dense(dv.sparse.concat(1, [a, b])).numpy().tolist()
    [[5, 0, 7]]
    """
    if concat_dim is not None:
        axis = concat_dim
    if expand_nonconcat_dims is not None:
        expand_nonconcat_dim = expand_nonconcat_dims
    axis, inputs = int(axis), [as_sparse(each) for each in sp_inputs]
    if not inputs:
        raise ValueError("concat() of sparse tensors needs at least one")
    if len(inputs) == 1:
        return inputs[0]
    rank = next((each.shape.ndims for each in inputs if each.shape.ndims is not None), None)
    if rank is not None and not -rank <= axis < rank:
        raise ValueError(f"concat() of sparse tensors of rank {rank}: there is no axis {axis}")
    with name_scope(name, "SparseConcat", parts(*inputs)):
        unit = _unit(inputs[0], axis, rank)
        others = [each.dense_shape * (1 - unit) for each in inputs]
        whole = others[0]
        if expand_nonconcat_dim:
            for sizes in others[1:]:
                whole = maximum(whole, sizes)
            checks = []
        else:
            text = (
                "Input shapes must match along the other dimensions (expand_nonconcat_dim=True "
                "takes the largest), but are, with 0 along the axis:"
            )
            checks = [
                Assert(reduce_all(equal(each, whole)), [text, whole, each]) for each in others[1:]
            ]
        offset: Any = constant.zeros_like(unit)
        places = []
        with control_dependencies(checks):
            for each in inputs:
                places.append(each.indices + offset)
                offset = offset + each.dense_shape * unit
        joined = SparseTensor(
            dense_concat(places, 0),
            dense_concat([each.values for each in inputs], 0),
            whole + offset,
        )
        found = joined if axis == 0 or axis == -(rank or 0) else reorder(joined)
        if rank is not None:
            found.indices.set_shape([None, rank])
            found.dense_shape.set_shape([rank])
        return found


def _unit(sp: SparseTensor, axis: int, rank: int | None) -> Tensor:
    """Return zeros [rank], and one at an axis; the rank may not be known."""
    if rank is not None:
        return constant.constant([int(i == axis % rank) for i in range(rank)], int64)
    found = size_along(sp.dense_shape, 0)
    place = axis if axis >= 0 else found + axis
    return cast(equal(ranges.range(found), place), int64)


def transpose(
    sp_input: SparseLike, perm: TensorLike | None = None, name: str | None = None
) -> SparseTensor:
    """Return a sparse tensor with its dimensions in another order.

    Args:
      sp_input: a `SparseTensor` or `SparseTensorValue`.
      perm: [rank], for each dimension of the result which one it was; by default they are reversed.
      name: name scope of the operations, by default "SparseTranspose".

    Returns:
      A sparse tensor of the dtype of `sp_input`, its sizes in the order of `perm`.

    Source: TensorFlow 1.15, ``tf.sparse.transpose``.

    >>> sp = dv.SparseTensor([[0, 2]], [5], [2, 3])
    >>> dv.sparse.transpose(sp).indices.numpy().tolist()
    [[2, 0]]
    """
    sp = as_sparse(sp_input)
    with name_scope(name, "SparseTranspose", parts(sp)):
        if perm is None:
            perm = list(range(known_rank(sp, "transpose")))[::-1]
        order = cast(convert_to_tensor(perm), int32)
        return reorder(
            SparseTensor(
                gather(sp.indices, order, axis=1), sp.values, gather(sp.dense_shape, order)
            )
        )


def expand_dims(
    sp_input: SparseLike, axis: int | None = None, name: str | None = None
) -> SparseTensor:
    """Return a sparse tensor with another dimension, of size 1.

    Args:
      sp_input: a `SparseTensor` or `SparseTensorValue`.
      axis: where the dimension is put, by default at the end.
      name: name scope of the operations, by default "expand_dims".

    Returns:
      A sparse tensor of the dtype of `sp_input`, and of one dimension more.

    Raises:
      ValueError: there is no such place, or the rank is not known.

    Source: TensorFlow 1.15, ``tf.sparse.expand_dims``.

    >>> sp = dv.SparseTensor([[2]], [5], [3])
    >>> dv.sparse.expand_dims(sp, 0).indices.numpy().tolist()
    [[0, 2]]
    """
    sp = as_sparse(sp_input)
    rank = known_rank(sp, "expand_dims")
    axis = -1 if axis is None else axis
    if not -rank - 1 <= axis <= rank:
        raise ValueError(
            f"expand_dims() of a sparse tensor of rank {rank}: there is no place {axis}"
        )
    place = axis % (rank + 1)
    with name_scope(name, "expand_dims", parts(sp)):
        zero = constant.zeros_like(sp.indices[:, :1])
        places = dense_concat([sp.indices[:, :place], zero, sp.indices[:, place:]], 1)
        one = constant.ones([1], int64)
        sizes = dense_concat([sp.dense_shape[:place], one, sp.dense_shape[place:]], 0)
        return SparseTensor(places, sp.values, sizes)


def reset_shape(sp_input: SparseLike, new_shape: TensorLike | None = None) -> SparseTensor:
    """Return a sparse tensor with another shape and its elements where they are.

    Args:
      sp_input: a `SparseTensor` or `SparseTensorValue`.
      new_shape: [rank] int64, nowhere smaller; by default the smallest that holds all elements.

    Raises:
      ValueError: it is known to be of another rank, or smaller.
      InvalidArgumentError: (when run) that shows in the run alone.

    Source: TensorFlow 1.15, ``tf.sparse.reset_shape``.

    >>> sp = dv.SparseTensor([[0, 1]], [5], [4, 4])
    >>> dv.sparse.reset_shape(sp).dense_shape.numpy().tolist()
    [1, 2]
    """
    sp = as_sparse(sp_input)
    with name_scope(None, "SparseResetShape", parts(sp)):
        if new_shape is None:
            places = dense_concat([sp.indices, constant.zeros_like(sp.indices[:1]) - 1], 0)
            least = constant.zeros_like(sp.dense_shape) - 1
            found = reduce_max(dense_concat([places, least[None]], 0), axis=0)
            return SparseTensor(sp.indices, sp.values, found + 1)
        sizes = as_int64(new_shape)
        rank, wanted = sp.shape.ndims, sizes.get_shape().with_rank(1).as_list()[0]
        if None not in (rank, wanted) and rank != wanted:
            raise ValueError(
                f"Dimensions {wanted} and {rank} are not compatible: reset_shape() of a sparse "
                f"tensor of rank {rank}, and the new shape has {wanted} sizes"
            )
        known = partial_value(sizes)
        smallest = sp.shape.as_list() if rank is not None else []
        if known is not None and any(
            None not in (new, old) and new < old for new, old in zip(known, smallest, strict=False)
        ):
            raise ValueError(
                f"Requested new_shape should have dimension sizes >= sp_input.shape.  Found "
                f"new_shape ({list(known)}), sp_input.shape ({smallest})."
            )
        checks = []
        if None in (rank, wanted):
            checks.append(
                assert_equal(
                    *(size_along(each, 0) for each in (sp.dense_shape, sizes)),
                    message="reset_shape(): the new shape is of another rank",
                )
            )
        with control_dependencies(checks):
            check = assert_less_equal(
                sp.dense_shape, sizes, message="reset_shape(): the new shape is smaller"
            )
        with control_dependencies([check]):
            return SparseTensor(sp.indices, sp.values, sizes + 0)


def fill_empty_rows(
    sp_input: SparseLike, default_value: TensorLike, name: str | None = None
) -> tuple[SparseTensor, Tensor]:
    """Return a sparse matrix with an element at the start of each row that has none.

    Args:
      sp_input: a `SparseTensor` or `SparseTensorValue` [rows, columns], its elements in order.
      default_value: scalar, the element of empty rows.
      name: name scope of the operations, by default "SparseFillEmptyRows".

    Returns:
      The matrix, and [rows] bool: which rows were empty.

    Source: TensorFlow 1.15, ``tf.sparse.fill_empty_rows``.

    >>> sp = dv.SparseTensor([[1, 1]], [5], [2, 2])
    >>> filled, empty = dv.sparse.fill_empty_rows(sp, -1)
    >>> dv.sparse.to_dense(filled).numpy().tolist(), empty.numpy().tolist()
    ([[-1, 0], [0, 5]], [True, False])
    """
    sp = as_sparse(sp_input)
    with name_scope(name, "SparseFillEmptyRows", [*parts(sp), default_value]):
        default = convert_to_tensor(default_value, sp.values.dtype.base_dtype)
        number = axes.as_operand(sp.dense_shape[0])
        places, rows, is_empty = apply(FILLED_ROWS, sp.indices, num_rows=number)
        values = picked(dense_concat([sp.values, dense_reshape(default, [1])], 0), rows)
        return SparseTensor(places, values, sp.dense_shape), is_empty


def merge(
    sp_ids: Any,
    sp_values: SparseLike,
    vocab_size: Any,
    name: str | None = None,
    already_sorted: bool = False,
) -> SparseTensor:
    """Return values at the places that ids name, in their last dimensions.

    Args:
      sp_ids: a `SparseTensor` [..., k] of int32 or int64 ids, or several of such with equal places.
      sp_values: a `SparseTensor` with equal places.
      vocab_size: how many ids there are; of several, one number each.
      name: name scope of the operations, by default "SparseMerge".
      already_sorted: within each row, ids are in order.

    Returns:
      [..., *vocab_size].

    Raises:
      ValueError: there are other numbers of tensors of ids than of `vocab_size`.

    Source: TensorFlow 1.15, ``tf.sparse_merge``.

    >>> ids = dv.SparseTensor([[0, 0], [0, 1]], [2, 0], [1, 2])
    >>> values = dv.SparseTensor([[0, 0], [0, 1]], [5.0, 7.0], [1, 2])
    >>> dv.sparse.to_dense(merge(ids, values, 3)).numpy().tolist()
    [[7.0, 0.0, 5.0]]
    """
    several = isinstance(sp_ids, list | tuple) and not hasattr(sp_ids, "dense_shape")
    ids = [as_sparse(each) for each in (sp_ids if several else [sp_ids])]
    sizes = list(vocab_size) if several else [vocab_size]
    if len(ids) != len(sizes):
        raise ValueError(f"merge(): {len(ids)} tensors of ids, and {len(sizes)} numbers of ids")
    values = as_sparse(sp_values)
    with name_scope(name, "SparseMerge", parts(*ids, values)):
        columns = [cast(each.values, int64)[:, None] for each in ids]
        places = dense_concat([ids[0].indices[:, :-1], *columns], 1)
        whole = dense_concat([ids[0].dense_shape[:-1], stack([as_int64(n) for n in sizes])], 0)
        merged = SparseTensor(places, values.values, whole)
        return merged if already_sorted else reorder(merged)
