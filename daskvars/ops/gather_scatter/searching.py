"""Places of values: in sorted sequences, in other vectors, in shapes."""

from __future__ import annotations

import string
from collections.abc import Sequence
from typing import Any

from daskvars import shapes
from daskvars.dtypes import DType, DTypeLike, as_dtype, int32
from daskvars.graph.definitions.opdef import UNDEFINED_GRADIENT, Spec, without_gradient
from daskvars.graph.definitions.patterns import Attrs, Contraction, RankedShapes
from daskvars.graph.interpreter import apply
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.kernels.gather_scatter import searching as kernels
from daskvars.ops.rules.families import same_dtype


def _searched(inputs: Sequence[Spec], *, right: Any, dtype: DType) -> Spec:
    sequence, values = inputs[0].shape, inputs[1].shape
    if sequence is not None and values is not None:
        if not sequence or (len(sequence) != len(values) and len(sequence) > 1):
            raise ValueError(
                f"sorted_sequence {shapes.show(sequence)} and values {shapes.show(values)} must "
                "have the same rank, at least 1"
            )
        if not shapes.compatible(sequence[:-1], values[: len(sequence) - 1]):
            raise ValueError(
                "Leading dim_size of both tensors must match, got "
                f"{shapes.show(sequence)} and {shapes.show(values)}"
            )
    return Spec(dtype, values)


def _searched_access(inputs: RankedShapes, attrs: Attrs) -> str:
    """Each row is whole; what is searched for in a single row may be cut in any way."""
    return "_,...->..." if len(inputs[0]) == 1 else "..._,...v->...v"


SEARCHSORTED = without_gradient(
    "SearchSorted",
    "sorted_sequence:R, values:R",
    infer=_searched,
    kernel=kernels.searchsorted,
    pattern=Contraction(_searched_access, None),
)


def searchsorted(
    sorted_sequence: TensorLike,
    values: TensorLike,
    side: str = "left",
    out_type: DTypeLike = int32,
    name: str | None = None,
) -> Tensor:
    """Return where values would have to be inserted into sorted rows.

    Args:
      sorted_sequence: [..., n] real, in ascending order along the last dimension.
      values: [..., m] of the same dtype and leading dimensions.
      side: "left" gives the first such place, "right" the last.
      out_type: int32 or int64.
      name: name of the operation, by default "SearchSorted".

    Returns:
      [..., m] `out_type`, from 0 to n. It has no gradient.

    Raises:
      ValueError: `side` is something else, or the shapes do not fit.

    Source: TensorFlow 1.15, ``tf.searchsorted``.

    >>> searchsorted([1, 3, 3, 5], [3, 6]).numpy().tolist()
    [1, 4]
    """
    if side not in ("left", "right"):
        raise ValueError(f"side must be either 'right' or 'left'. Saw: {side}.")
    sequence, wanted = same_dtype(sorted_sequence, values, name or SEARCHSORTED.type)
    return apply(
        SEARCHSORTED, sequence, wanted, name=name, right=side == "right", dtype=as_dtype(out_type)
    )


def _differing(inputs: Sequence[Spec], *, index_dtype: DType) -> tuple[Spec, ...]:
    for spec in inputs:
        if spec.shape is not None and len(spec.shape) != 1:
            raise ValueError(f"setdiff1d expects 1D vectors, got shape {shapes.show(spec.shape)}")
    return Spec(inputs[0].dtype, (None,)), Spec(index_dtype, (None,))


LIST_DIFF = without_gradient(
    "ListDiff", "x:T, y:T", _differing, kernels.set_difference, gradient=UNDEFINED_GRADIENT
)


def setdiff1d(
    x: TensorLike, y: TensorLike, index_dtype: DTypeLike = int32, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Return the elements of a vector that are not in another, in their order.

    Args:
      x: [n] any dtype that can be ordered.
      y: [m] of the dtype of `x`.
      index_dtype: int32 or int64.
      name: name of the operation, by default "ListDiff".

    Returns:
      (out [k], the elements; idx [k] `index_dtype` with ``out[i] == x[idx[i]]``).

    Source: TensorFlow 1.15, ``tf.setdiff1d``.

    >>> [t.numpy().tolist() for t in setdiff1d([1, 2, 3, 4, 5, 6], [1, 3, 5])]
    [[2, 4, 6], [1, 3, 5]]
    """
    out, places = apply(LIST_DIFF, x, y, name=name, index_dtype=as_dtype(index_dtype))
    return out, places


def _unravelled(inputs: Sequence[Spec]) -> Spec:
    indices, dims = inputs[0].shape, inputs[1].shape
    if dims is not None and len(dims) != 1:
        raise ValueError(f"dims must be a vector, got shape {shapes.show(dims)}")
    rank = None if dims is None else dims[0]
    return Spec(inputs[0].dtype, None if indices is None else (rank, *indices))


def _unravelled_access(inputs: RankedShapes, attrs: Attrs) -> str:
    own = string.ascii_lowercase[: len(inputs[0])]
    return f"{own},_->_{own}"


UNRAVEL_INDEX = without_gradient(
    "UnravelIndex",
    "indices:I, dims:I",
    infer=_unravelled,
    kernel=kernels.unravel_index,
    pattern=Contraction(_unravelled_access, None),
)


def unravel_index(indices: TensorLike, dims: TensorLike, name: str | None = None) -> Tensor:
    """Return the coordinates of places that are counted row by row through a shape.

    Args:
      indices: [...] int32 or int64.
      dims: [rank] of the same dtype, the shape.
      name: name of the operation, by default "UnravelIndex".

    Returns:
      [rank, ...] of the dtype of `indices`.

    Raises:
      InvalidArgumentError: (when run) an index is outside of the shape.

    Source: TensorFlow 1.15, ``tf.unravel_index``.

    >>> unravel_index([2, 5, 7], [3, 3]).numpy().tolist()
    [[0, 1, 2], [2, 2, 1]]
    """
    return apply(UNRAVEL_INDEX, indices, dims, name=name)
