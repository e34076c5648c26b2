"""Sets along the last dimension: what two of them make together, and how they differ."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from daskvars import shapes
from daskvars.dtypes import float32, int32, int64
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import OpDef, Spec, without_gradient
from daskvars.graph.interpreter import apply
from daskvars.graph.records import attribute_kinds as kinds_of
from daskvars.graph.sparse_tensor import SparseTensor
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.kernels.sparse import sets as kernels
from daskvars.ops.gather_scatter.spreading import inside
from daskvars.ops.sparse.indices import SparseLike, as_sparse, is_sparse, parts


def _rank(spec: Spec, form: str) -> int | None:
    """Return the rank of an input: of a dense one, or by the places [n, rank] of a sparse one."""
    if spec.shape is None:
        return None
    return len(spec.shape) if form == "dense" else spec.shape[1]


def _together(inputs: Sequence[Spec], *, forms: Sequence[str], operation: str) -> Any:
    first_of_b = 1 if forms[0] == "dense" else 3
    ranks = [_rank(inputs[0], forms[0]), _rank(inputs[first_of_b], forms[1])]
    known = {rank for rank in ranks if rank is not None}
    if len(known) > 1 or known & {0, 1}:
        raise ValueError(f"sets must be of one rank, 2 or more; got ranks {ranks}")
    dtypes = [inputs[0 if forms[0] == "dense" else 1].dtype]
    dtypes.append(inputs[first_of_b + (0 if forms[1] == "dense" else 1)].dtype)
    if dtypes[0] is not dtypes[1]:
        raise TypeError(f"Types don't match, {dtypes[0].name} vs {dtypes[1].name}.")
    rank = known.pop() if known else None
    return Spec(int64, (None, rank)), Spec(dtypes[0], (None,)), Spec(int64, (rank,))


def _set_op(type: str) -> OpDef:
    attributes = {"forms": kinds_of.tuple_of(kinds_of.TEXT), "operation": kinds_of.TEXT}
    return without_gradient(
        type, "*inputs:A", infer=_together, kernel=kernels.set_operation, attributes=attributes
    )


_OPS = {
    ("dense", "dense"): _set_op("DenseToDenseSetOperation"),
    ("dense", "sparse"): _set_op("DenseToSparseSetOperation"),
    ("sparse", "sparse"): _set_op("SparseToSparseSetOperation"),
}
_TURNED = {"a-b": "b-a", "b-a": "a-b"}
SetLike = TensorLike | SparseLike


def _checked_parts(value: SetLike, validate_indices: bool) -> list[Tensor]:
    """Return the tensors of a sparse tensor; a run fails where its places are not in order."""
    sp = as_sparse(value)
    if not validate_indices:
        return parts(sp)
    return [inside(sp.indices, sp.dense_shape, True), sp.values, sp.dense_shape]


def _combined(a: SetLike, b: SetLike, operation: str, validate_indices: bool) -> SparseTensor:
    if is_sparse(a) and not is_sparse(b):
        a, b, operation = b, a, _TURNED.get(operation, operation)
    tensors: list[Tensor] = []
    forms = []
    for value in (a, b):
        forms.append("sparse" if is_sparse(value) else "dense")
        if is_sparse(value):
            tensors += _checked_parts(value, validate_indices)
        else:
            tensors.append(convert_to_tensor(value))
    definition = _OPS[forms[0], forms[1]]
    found = apply(definition, *tensors, forms=tuple(forms), operation=operation)
    return SparseTensor(*found)


def set_intersection(a: SetLike, b: SetLike, validate_indices: bool = True) -> SparseTensor:
    """Return what is in both of two sets, for each row.

    Args:
      a: [..., n] tensor or sparse tensor, integer or string; elements may be there several times.
      b: [..., m] of the dtype of `a` and, but for the last dimension, of its shape.
      validate_indices: check that the places of sparse tensors are in order and none occurs twice.

    Returns:
      [..., size of the largest] sparse, each row in ascending order.

    Raises:
      ValueError: the ranks differ or are below 2.
      TypeError: the dtypes differ.
      InvalidArgumentError: (when run) the other dimensions differ, or places are not in order.

    Source: TensorFlow 1.15, ``tf.sets.set_intersection``.

    >>> set_intersection([[3, 1, 2]], [[2, 3, 3]]).values.numpy().tolist()
    [2, 3]
    """
    return _combined(a, b, "intersection", validate_indices)


def set_difference(
    a: SetLike, b: SetLike, aminusb: bool = True, validate_indices: bool = True
) -> SparseTensor:
    """Return what is in one of two sets and not in the other. See `set_intersection`.

    Args:
      a: see `set_intersection`, also for `b` and `validate_indices`.
      aminusb: what is in `a`; else what is in `b`.

    Source: TensorFlow 1.15, ``tf.sets.set_difference``.

    >>> set_difference([[3, 1, 2]], [[2, 3, 3]]).values.numpy().tolist()
    [1]
    """
    return _combined(a, b, "a-b" if aminusb else "b-a", validate_indices)


def set_union(a: SetLike, b: SetLike, validate_indices: bool = True) -> SparseTensor:
    """Return what is in any of two sets. See `set_intersection`.

    Source: TensorFlow 1.15, ``tf.sets.set_union``.

    >>> set_union([[3, 1]], [[2, 3]]).values.numpy().tolist()
    [1, 2, 3]
    """
    return _combined(a, b, "union", validate_indices)


def _sizes(inputs: Sequence[Spec]) -> Spec:
    rank = _rank(inputs[0], "sparse")
    if rank is not None and rank < 2:
        raise ValueError(f"sets must be of rank 2 or more, got {rank}")
    return Spec(int32, None if rank is None else (None,) * (rank - 1))


SET_SIZE = without_gradient(
    "SetSize", "set_indices:I, set_values:T, set_shape:I", _sizes, kernels.set_size, attributes={}
)


def set_size(a: SparseLike, validate_indices: bool = True) -> Tensor:
    """Return how many distinct elements each row of a sparse tensor has.

    Args:
      a: [..., n] sparse integer or string.
      validate_indices: check that its places are in order and none occurs twice.

    Returns:
      [...] int32.

    Raises:
      TypeError: `a` is no sparse tensor.
      InvalidArgumentError: (when run) its places are not in order.

    Source: TensorFlow 1.15, ``tf.sets.set_size``.

    >>> set_size(set_union([[3, 1]], [[2, 3]])).numpy().tolist()
    [3]
    """
    return apply(SET_SIZE, *_checked_parts(a, validate_indices))


# -- how they differ ---------------------------------------------------------------------------


def _distances(inputs: Sequence[Spec], *, normalize: bool) -> Spec:
    ranks = {_rank(inputs[place], "sparse") for place in (0, 3)} - {None}
    if len(ranks) > 1:
        raise ValueError(f"hypothesis and truth must have one rank, got {sorted(map(str, ranks))}")
    rank = ranks.pop() if ranks else None
    known = shapes.compatible(inputs[0].shape, (None, None))
    return Spec(float32, (None,) * (rank - 1) if rank and known else None)


EDIT_DISTANCE = without_gradient(
    "EditDistance",
    "hypothesis_indices:I, hypothesis_values:T, hypothesis_shape:I, "
    "truth_indices:I, truth_values:T, truth_shape:I",
    infer=_distances,
    kernel=kernels.edit_distance,
    attributes={"normalize": kinds_of.BOOL},
)


def edit_distance(
    hypothesis: SparseLike,
    truth: SparseLike,
    normalize: bool = True,
    name: str | None = "edit_distance",
) -> Tensor:
    """Return how many elements to insert, remove or replace to make one sequence of another.

    Args:
      hypothesis: [..., n] sparse: along the last dimension, sequences.
      truth: [..., m] sparse, of the dtype of `hypothesis`.
      normalize: divide by the length of the truth; infinite where that is 0.
      name: name of the operation.

    Returns:
      [...] float32.

    Raises:
      TypeError: one of them is no sparse tensor.
      ValueError: the ranks differ.

    Source: TensorFlow 1.15, ``tf.edit_distance``.

    >>> a = dv.SparseTensor([[0, 0], [0, 1]], [1, 2], [1, 2])
    >>> b = dv.SparseTensor([[0, 0], [0, 1]], [1, 3], [1, 2])
    >>> edit_distance(a, b).numpy().tolist()
    [0.5]
    """
    ours, theirs = as_sparse(hypothesis), as_sparse(truth)
    tensors = [*parts(ours), *parts(theirs)]
    found = apply(EDIT_DISTANCE, *tensors, name=name, normalize=bool(normalize))
    sizes = [sparse.shape.as_list() for sparse in (ours, theirs) if sparse.shape.ndims]
    if len(sizes) == 2:
        pairs = zip(*[each[:-1] for each in sizes], strict=True)
        found.set_shape([None if None in pair else max(pair) for pair in pairs])
    return found
