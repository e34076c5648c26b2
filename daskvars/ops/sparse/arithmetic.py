"""Sums and extremes of sparse tensors, products with elements of dense ones, and their softmax."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from daskvars.dtypes import int64
from daskvars.errors import invalid
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.sparse_tensor import SparseTensor
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.ops.array import constant, ranges
from daskvars.ops.array.constant import size_along
from daskvars.ops.array.joining import concat as dense_concat
from daskvars.ops.array.reshaping import reshape, stop_gradient
from daskvars.ops.checks.assertions import assert_equal
from daskvars.ops.control.dependencies import control_dependencies
from daskvars.ops.gather_scatter import segments
from daskvars.ops.gather_scatter.gather import boolean_mask, gather
from daskvars.ops.gather_scatter.scatter import gather_nd, scatter_nd, tensor_scatter_add
from daskvars.ops.gather_scatter.spreading import inside
from daskvars.ops.math import arithmetic
from daskvars.ops.math.casting import cast
from daskvars.ops.math.comparison import greater_equal, less, not_equal, where
from daskvars.ops.math.division import truediv
from daskvars.ops.math.reduce import reduce_all
from daskvars.ops.math.scans import cumsum
from daskvars.ops.math.transcendental import exp
from daskvars.ops.rules import axes
from daskvars.ops.sparse.indices import (
    SparseLike,
    as_sparse,
    distinct,
    is_sparse,
    parts,
    picked,
)
from daskvars.surface.signatures import named

# -- two sparse tensors ------------------------------------------------------------------------


def _together(a: SparseTensor, b: SparseTensor, function: str) -> tuple[Tensor, Tensor, Tensor]:
    """Return the places of two sparse tensors, and of the elements of each which of them it is."""
    if None not in (a.shape.ndims, b.shape.ndims) and a.shape.ndims != b.shape.ndims:
        raise invalid(
            f"Operands do not have the same ranks; got shapes: {a.shape} and {b.shape} in "
            f"{function}()"
        )
    check = assert_equal(
        a.dense_shape,
        b.dense_shape,
        message=f"Operands' shapes do not match: {function}() of sparse tensors",
    )
    with control_dependencies([check]):
        places, which = distinct(dense_concat([a.indices, b.indices], 0))
    count = size_along(a.indices, 0)
    return places, which[:count], which[count:]


def add(
    a: SparseLike | TensorLike,
    b: SparseLike | TensorLike,
    threshold: TensorLike = 0,
    thresh: TensorLike | None = None,
) -> SparseTensor | Tensor:
    """Return the sum of two tensors, at least one of which is sparse.

    Args:
      a, b: tensors of one shape; the sum of a sparse and a dense one is dense.
      threshold: elements of a sparse sum that are smaller in size are left out; the dtype is that
        of the values, or of the real parts of complex ones. `thresh` is the same.

    Returns:
      A tensor of the shape and dtype of both, sparse where both are.

    Raises:
      TypeError: neither is sparse.
      InvalidArgumentError: (when run) the shapes differ.

    Source: TensorFlow 1.15, ``tf.sparse.add``.

    >>> a, b = (dv.SparseTensor([[0], [i]], [1, 2], [3]) for i in (1, 2))
    >>> dv.sparse.to_dense(dv.sparse.add(a, b)).numpy().tolist()
    [2, 2, 2]
    """
    if not is_sparse(a) and not is_sparse(b):
        raise TypeError("At least one input should be SparseTensor; do you mean to use add()?")
    least = threshold if thresh is None else thresh
    if not (is_sparse(a) and is_sparse(b)):
        sp, dense = (a, b) if is_sparse(a) else (b, a)
        sparse = as_sparse(sp)
        with name_scope(None, "SparseTensorDenseAdd", parts(sparse)):
            other = convert_to_tensor(dense, sparse.values.dtype.base_dtype)
            places = inside(sparse.indices, constant.shape(other))
            return tensor_scatter_add(other, places, sparse.values)
    first, second = as_sparse(a), as_sparse(b)
    with name_scope(None, "SparseAdd", parts(first, second)):
        places, of_first, of_second = _together(first, second, "add")
        which = dense_concat([of_first, of_second], 0)
        values = dense_concat([first.values, second.values], 0)
        sums = segments.unsorted_segment_sum(values, which, size_along(places, 0))
        size = arithmetic.abs(sums)
        is_kept = greater_equal(size, convert_to_tensor(least, size.dtype.base_dtype))
        return SparseTensor(
            boolean_mask(places, is_kept), boolean_mask(sums, is_kept), first.dense_shape
        )


def _extreme(
    sp_a: SparseLike, sp_b: SparseLike, name: str | None, type: str, choose: Callable[..., Tensor]
) -> SparseTensor:
    a, b = as_sparse(sp_a), as_sparse(sp_b)
    with name_scope(name, f"SparseSparse{type}", parts(a, b)):
        places, of_a, of_b = _together(a, b, type.lower())
        count = size_along(places, 0)
        values = [
            segments.unsorted_segment_sum(each.values, which, count)
            for each, which in ((a, of_a), (b, of_b))
        ]
        return SparseTensor(places, choose(*values), a.dense_shape)


def maximum(sp_a: SparseLike, sp_b: SparseLike, name: str | None = None) -> SparseTensor:
    """Return the larger of two sparse tensors' elements; what one lacks counts as zero there.

    Args:
      sp_a, sp_b: sparse tensors of real values and one shape.
      name: name scope of the operations, by default "SparseSparseMaximum".

    Returns:
      A sparse tensor of the shape and dtype of both, of what either has.

    Source: TensorFlow 1.15, ``tf.sparse.maximum``.

    >>> a, b = dv.SparseTensor([[0]], [-5], [2]), dv.SparseTensor([[1]], [7], [2])
    >>> dv.sparse.to_dense(dv.sparse.maximum(a, b)).numpy().tolist()
    [0, 7]
    """
    return _extreme(sp_a, sp_b, name, "Maximum", arithmetic.maximum)


def minimum(sp_a: SparseLike, sp_b: SparseLike, name: str | None = None) -> SparseTensor:
    """Return the smaller of two sparse tensors' elements; what one lacks counts as zero there.

    Args:
      sp_a, sp_b: sparse tensors of real values and one shape.
      name: name scope of the operations, by default "SparseSparseMinimum".

    Returns:
      A `SparseTensor` of the places of either, of the dtype of both.

    Source: TensorFlow 1.15, ``tf.sparse.minimum``.

    >>> a = dv.SparseTensor([[0], [2]], [5.0, -1.0], [3])
    >>> b = dv.SparseTensor([[0], [1]], [2.0, 4.0], [3])
    >>> dv.sparse.to_dense(dv.sparse.minimum(a, b)).numpy().tolist()
    [2.0, 0.0, -1.0]
    """
    return _extreme(sp_a, sp_b, name, "Minimum", arithmetic.minimum)


# -- a sparse tensor and a dense one -----------------------------------------------------------


def _at(dense: Tensor, sp: SparseTensor) -> Tensor:
    """Return the elements of a dense tensor, broadcast to the shape of `sp`, at its places."""
    rank = dense.spec.shape
    if rank is None:
        raise ValueError(
            "a dense tensor of unknown rank beside a sparse one: give it a shape by set_shape()"
        )
    if not rank:
        return dense
    behind = sp.indices[:, -len(rank) :]
    sizes = constant.shape(dense, out_type=int64)
    many = cast(not_equal(sizes, constant.ones([], int64)), int64)
    wanted = sp.dense_shape[-len(rank) :]
    check = assert_equal(
        sizes * many,
        wanted * many,
        message="the dense tensor does not broadcast to the shape of the sparse one",
    )
    with control_dependencies([check]):
        return gather_nd(dense, behind * many)


def with_dense(
    sp: SparseTensor, dense: TensorLike, function: Callable[..., Tensor], type: str
) -> SparseTensor:
    """Return a function of each element of a sparse tensor and of the dense element there.

    Args:
      dense: a tensor that broadcasts to its shape.
      function: of two tensors.
      type: name scope of the operations.
    """
    with name_scope(None, type, parts(sp)):
        other = convert_to_tensor(dense, sp.values.dtype.base_dtype)
        return SparseTensor(sp.indices, function(sp.values, _at(other, sp)), sp.dense_shape)


# -- reductions --------------------------------------------------------------------------------


def _reduced_axes(axis: Any, rank: int) -> list[int]:
    given = range(rank) if axis is None else axes.as_known(axis)
    wanted = [given] if isinstance(given, int) else given
    for each in wanted:
        if not -rank <= each < rank:
            raise invalid(f"Invalid reduction dimension {each}, for input with {rank} dimensions")
    return sorted({each % rank for each in wanted})


def _kept(sp: SparseTensor, axis: Any) -> tuple[TensorLike, TensorLike]:
    """Return the dimensions that a reduction keeps, and the place of each dimension among these.

    One that is reduced comes after them. Tensors where the rank is known by the run alone.
    """
    rank = sp.shape.ndims
    if rank is not None:
        reduced = _reduced_axes(axis, rank)
        known = [i for i in range(rank) if i not in reduced]
        order = [known.index(i) if i in known else len(known) for i in range(rank)]
        return constant.constant(known, int64), order
    numbers = ranges.range(size_along(sp.dense_shape, 0))
    given = numbers if axis is None else reshape(convert_to_tensor(axis, numbers.dtype), [-1])
    given = gather(numbers, where(less(given, 0), given + size_along(numbers, 0), given))
    is_kept = reduce_all(not_equal(numbers[:, None], given), 1)
    kept = boolean_mask(numbers, is_kept)
    places = cumsum(cast(is_kept, numbers.dtype)) - 1
    last = constant.zeros_like(numbers) + size_along(kept, 0)
    return kept, where(is_kept, places, last)


def _groups(sp: SparseTensor, axis: Any, keepdims: bool) -> tuple[SparseTensor, Tensor]:
    """Return ones at the places of a reduction's results, and for each element which it goes to."""
    kept, order = _kept(sp, axis)
    places, which = distinct(gather(sp.indices, kept, axis=1))
    sizes = gather(sp.dense_shape, kept)
    ones = constant.ones([size_along(places, 0)], int64)
    if keepdims:
        zeros = constant.zeros_like(ones)[:, None]
        places = gather(dense_concat([places, zeros], 1), order, axis=1)
        sizes = gather(dense_concat([sizes, constant.ones([1], int64)], 0), order)
    return SparseTensor(places, ones, sizes), which


def _reduction(
    sp_input: SparseLike,
    axis: Any,
    keepdims: bool | None,
    names: tuple[Any, bool | None],
    name: tuple[str | None, str],
    fold: Callable[..., Tensor],
    is_dense: bool,
) -> Any:
    sp = as_sparse(sp_input)
    axis = axis if names[0] is None else names[0]
    keepdims = bool(keepdims if names[1] is None else names[1])
    with name_scope(name[0], name[1], parts(sp)):
        found, which = _groups(sp, axis, keepdims)
        values = fold(sp.values, which, size_along(found.indices, 0))
        if not is_dense:
            return SparseTensor(found.indices, values, found.dense_shape)
        dense = scatter_nd(found.indices, values, found.dense_shape)
        if sp.shape.ndims is not None:
            reduced = _reduced_axes(axis, sp.shape.ndims)
            known = enumerate(sp.shape.as_list())
            dense.set_shape(
                [1 if i in reduced else n for i, n in known if keepdims or i not in reduced]
            )
        return dense


REDUCTION = """{summary}, along some dimensions{result}.

    {absent}

    Args:
      sp_input: a `SparseTensor` or `SparseTensorValue` of {types} values.
      axis: the dimensions, one or several; by default all.
      keepdims: keep them, of size 1. `keep_dims` is the same.
      reduction_axes: another name of `axis`.
      name: name scope of the operations, by default "{type}".

    Returns:
      [...] without the dimensions, of the dtype of the values{result}.

    Source: TensorFlow 1.15, ``tf.sparse.{function}``.

    >>> sp = dv.SparseTensor([[0, 0], [0, 2], [1, 1]], [1, 2, 3], [2, 3])
    >>> {example}
    {shown}
    """


def _reduction_function(
    function_name: str, type: str, fold: Callable[..., Tensor], is_dense: bool, **texts: str
) -> Callable[..., Any]:
    def function(
        sp_input: SparseLike,
        axis: int | Sequence[int] | None = None,
        keepdims: bool | None = None,
        reduction_axes: int | Sequence[int] | None = None,
        keep_dims: bool | None = None,
        name: str | None = None,
    ) -> Any:
        old = (reduction_axes, keep_dims)
        return _reduction(sp_input, axis, keepdims, old, (name, type), fold, is_dense)

    doc = REDUCTION.format(function=function_name, type=type, **texts)
    return named(function, function_name, doc)


def _reductions(
    name: str, fold: Callable[..., Tensor], shown: str, **texts: str
) -> tuple[Callable[..., Tensor], Callable[..., SparseTensor]]:
    """Return a reduction, and the one whose result is a sparse tensor."""
    type, call = f"SparseReduce{name.title()}", f"dv.sparse.reduce_{name}"
    texts["shown"] = shown
    dense = _reduction_function(
        f"reduce_{name}",
        type,
        fold,
        True,
        **texts,
        result="",
        example=f"{call}(sp, 1).numpy().tolist()",
    )
    sparse = _reduction_function(
        f"reduce_{name}_sparse",
        f"{type}Sparse",
        fold,
        False,
        **texts,
        result=", as a sparse tensor",
        example=f"{call}_sparse(sp, 1).values.numpy().tolist()",
    )
    return dense, sparse


reduce_sum, reduce_sum_sparse = _reductions(
    "sum",
    segments.unsorted_segment_sum,
    "[3, 3]",
    summary="Add up the elements of a sparse tensor",
    types="any",
    absent="Where there are none, the sum is zero.",
)
reduce_max, reduce_max_sparse = _reductions(
    "max",
    segments.unsorted_segment_max,
    "[2, 3]",
    summary="Return the largest elements of a sparse tensor",
    types="real",
    absent="What is absent does not count; where there is nothing, the result is zero.",
)


def softmax(sp_input: SparseLike, name: str | None = None) -> SparseTensor:
    """Return the softmax of the elements that are there, along the last dimension.

    Args:
      sp_input: a `SparseTensor` or `SparseTensorValue` [..., n] of float values.
      name: name scope of the operations, by default "SparseSoftmax".

    Returns:
      A sparse tensor of the shape and dtype of `sp_input`.

    Source: TensorFlow 1.15, ``tf.sparse.softmax``.

    >>> sp = dv.SparseTensor([[0, 0], [0, 2]], [1.0, 1.0], [1, 3])
    >>> dv.sparse.softmax(sp).values.numpy().tolist()
    [0.5, 0.5]
    """
    sp = as_sparse(sp_input)
    with name_scope(name, "SparseSoftmax", parts(sp)):
        rows, which = distinct(sp.indices[:, :-1])
        count = size_along(rows, 0)
        most = stop_gradient(segments.unsorted_segment_max(sp.values, which, count))
        powers = exp(sp.values - picked(most, which))
        sums = segments.unsorted_segment_sum(powers, which, count)
        return SparseTensor(sp.indices, truediv(powers, picked(sums, which)), sp.dense_shape)
