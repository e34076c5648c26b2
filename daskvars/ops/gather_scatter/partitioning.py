"""Rows sorted into parts, put together again, and counted once each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from daskvars import shapes
from daskvars.dtypes import DType, DTypeLike, as_dtype, int32
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import OpDef, Spec
from daskvars.graph.definitions.patterns import Opaque
from daskvars.graph.definitions.static_values import constant_value
from daskvars.graph.interpreter import apply
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.kernels.gather_scatter import gather as kernels, partitioning
from daskvars.ops.array.reshaping import reshape
from daskvars.ops.gather_scatter.gather import gather
from daskvars.ops.math.casting import cast
from daskvars.ops.math.division import realdiv

# -- unique ------------------------------------------------------------------------------------


def _unique(
    inputs: Sequence[Spec], *, index_dtype: DType, axis: int | None = None
) -> tuple[Spec, ...]:
    shape = inputs[0].shape
    if axis is None and shape is not None and len(shape) != 1:
        raise ValueError(
            f"unique expects a 1D vector, got shape {shapes.show(shape)}; give axis to compare "
            "slices"
        )
    if shape is None:
        return (
            Spec(inputs[0].dtype, (None,) if axis is None else None),
            Spec(index_dtype, (None,)),
            Spec(index_dtype, (None,)),
        )
    along = 0 if axis is None else axis
    if not -len(shape) <= along < len(shape):
        raise ValueError(f"axis {axis} is none of an array of shape {shapes.show(shape)}")
    found = list(shape)
    found[along] = None
    return (
        Spec(inputs[0].dtype, tuple(found)),
        Spec(index_dtype, (shape[along],)),
        Spec(index_dtype, (None,)),
    )


def _unique_gradient(op: Operation, dy: Tensor, *others: Any) -> Tensor:
    """Equal elements share the gradient of the one that they became, as those of a maximum do."""
    _, places, counts = op.outputs
    along = op.attrs.get("axis") or 0
    rank = len(dy.shape)
    each = cast(gather(counts, places), dy.dtype)
    each = reshape(each, [-1] + [1] * (rank - 1 - along % rank))
    return realdiv(gather(dy, places, axis=along), each)


UNIQUE = OpDef("UniqueWithCounts", "x:T", _unique, Opaque(), partitioning.unique, _unique_gradient)


def unique_with_counts(
    x: TensorLike,
    out_idx: DTypeLike = int32,
    name: str | None = None,
    axis: int | Sequence[int] | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the distinct elements of a vector in order of first occurrence, and their counts.

    Args:
      x: [n] any dtype that can be ordered; of any shape, n long along `axis`, where it is given.
      out_idx: dtype of places and counts, int32 or int64.
      name: name of the operation, by default "UniqueWithCounts".
      axis: the dimension whose slices are compared, such as 0 for rows; a list of one is one, an
        empty list is none.

    Returns:
      (y [m], the distinct elements; idx [n] with ``y[idx[i]] == x[i]``; count [m]).
      With `axis` y has the shape of `x`, but m along it.

    Raises:
      ValueError: `x` is no vector and there is no `axis`, or it has no such dimension.

    >>> [t.numpy().tolist() for t in unique_with_counts([1, 1, 2, 4, 4])]
    [[1, 2, 4], [0, 0, 1, 2, 2], [2, 1, 2]]
    >>> unique_with_counts([[1, 2], [3, 4], [1, 2]], axis=0)[0].numpy().tolist()
    [[1, 2], [3, 4]]
    """
    given = [] if axis is None else numpy.ravel(axis).tolist()
    if len(given) > 1:
        raise ValueError(f"axis must be one dimension, got {given}")
    options = {"axis": int(given[0])} if given else {}
    values, places, counts = apply(UNIQUE, x, name=name, index_dtype=as_dtype(out_idx), **options)
    return values, places, counts


def unique(
    x: TensorLike,
    out_idx: DTypeLike = int32,
    name: str | None = None,
    axis: int | Sequence[int] | None = None,
) -> tuple[Tensor, Tensor]:
    """Return the distinct elements of a vector and the place of each among them.

    See `unique_with_counts`; the default name is "Unique".

    Raises:
      ValueError: as by `unique_with_counts`.

    >>> values, numbers = unique([4, 7, 4])
    >>> values.numpy().tolist(), numbers.numpy().tolist()
    ([4, 7], [0, 1, 0])
    """
    values, places, _ = unique_with_counts(x, out_idx, name or "Unique", axis)
    return values, places


# -- partition and stitch ----------------------------------------------------------------------


def _partitioned(inputs: Sequence[Spec], *, num_partitions: int) -> tuple[Spec, ...]:
    data, partitions = inputs[0].shape, inputs[1].shape
    if data is None or partitions is None:
        return (Spec(inputs[0].dtype, None),) * num_partitions
    if len(partitions) > len(data) or not shapes.compatible(data[: len(partitions)], partitions):
        raise ValueError(
            f"data.shape = {shapes.show(data)} must start with partitions.shape = "
            f"{shapes.show(partitions)}"
        )
    part = Spec(inputs[0].dtype, (None, *data[len(partitions) :]))
    return (part,) * num_partitions


DYNAMIC_PARTITION = OpDef(
    "DynamicPartition",
    "data:T, partitions:I",
    infer=_partitioned,
    pattern=Opaque(),
    kernel=kernels.partition,
    gradient=lambda op, *dys: (apply(PARTITION_GRAD, op.inputs[1], *dys), None),
)


def _put_together(inputs: Sequence[Spec]) -> Spec:
    partitions, part = inputs[0].shape, inputs[1].shape
    if partitions is None or part is None:
        return Spec(inputs[1].dtype, None)
    return Spec(inputs[1].dtype, (*partitions, *part[1:]))


PARTITION_GRAD: OpDef = OpDef(
    "DynamicPartitionGrad",
    "partitions:I, *parts:N",
    infer=_put_together,
    pattern=Opaque(),
    kernel=kernels.partition_grad,
    gradient=lambda op, dy: (
        None,
        *apply(DYNAMIC_PARTITION, dy, op.inputs[0], num_partitions=len(op.inputs) - 1),
    ),
)


def dynamic_partition(
    data: TensorLike, partitions: TensorLike, num_partitions: int, name: str | None = None
) -> list[Tensor]:
    """Return the slices of a tensor sorted into parts.

    Args:
      data: [*partitions.shape, ...] any dtype.
      partitions: [...] int32, in [0, num_partitions): the part of each slice.
      num_partitions: the number of parts, at least 1.
      name: name of the operation, by default "DynamicPartition".

    Returns:
      A list of `num_partitions` tensors [count, ...]; the counts are known when run.

    Raises:
      ValueError: the shape of `data` does not start with that of `partitions`.
      InvalidArgumentError: (when run) a part is out of range.

    >>> [t.numpy().tolist() for t in dynamic_partition([10, 20, 30], [0, 1, 0], 2)]
    [[10, 30], [20]]
    """
    num_partitions = int(num_partitions)
    if num_partitions < 1:
        raise ValueError(f"num_partitions must be at least 1, got {num_partitions}")
    parts = apply(DYNAMIC_PARTITION, data, partitions, name=name, num_partitions=num_partitions)
    return list(parts)


def _greatest(places: Sequence[Any]) -> int | None:
    """Return the greatest of places, as far as they are known when the graph is built."""
    greatest = -1
    for at in map(constant_value, places):
        if at is None:
            return None
        greatest = max(greatest, int(at.max(initial=-1)))
    return greatest


def _stitched(inputs: Sequence[Spec], *, _size: Any = None) -> Spec:
    count = len(inputs) // 2
    places, data = inputs[:count], inputs[count:]
    tail = None
    for at, slices in zip(places, data, strict=True):
        if at.shape is None or slices.shape is None:
            continue
        if not shapes.compatible(slices.shape[: len(at.shape)], at.shape):
            raise ValueError(
                f"data.shape = {shapes.show(slices.shape)} must start with indices.shape = "
                f"{shapes.show(at.shape)}"
            )
        tail = shapes.merge(tail, slices.shape[len(at.shape) :])
    return Spec(data[0].dtype, None if tail is None else (_size, *tail))


def _stitch_gradient(op: Operation, dy: Tensor) -> list[Tensor | None]:
    places = op.inputs[: len(op.inputs) // 2]
    return [None] * len(places) + [gather(dy, at) for at in places]


DYNAMIC_STITCH = OpDef(
    "DynamicStitch", "*values:A", _stitched, Opaque(), kernels.stitch, _stitch_gradient
)


def dynamic_stitch(indices: Sequence[Any], data: Sequence[Any], name: str | None = None) -> Tensor:
    """Return one tensor of slices put at the places that `indices` say.

    Args:
      indices: a list of [...] int32 tensors.
      data: a list, as long, of [*indices[i].shape, ...] tensors of one dtype.
      name: name of the operation, by default "DynamicStitch".

    Returns:
      [greatest index + 1, ...]; where an index occurs twice the later slice counts.

    Raises:
      ValueError: the lists differ in length, or shapes do not fit.
      TypeError: the dtypes of `data` differ.

    >>> dynamic_stitch([[0, 2], [1]], [[10, 30], [20]]).numpy().tolist()
    [10, 20, 30]
    """
    if len(indices) != len(data) or not data:
        raise ValueError(
            f"dynamic_stitch needs as many indices as data, at least one: got {len(indices)} and "
            f"{len(data)}"
        )
    places = [convert_to_tensor(at, int32) for at in indices]
    slices = [convert_to_tensor(item) for item in data]
    found = {t.dtype.base_dtype.name for t in slices}
    if len(found) > 1:
        raise TypeError(f"dynamic_stitch needs data of one dtype, got {', '.join(sorted(found))}")
    greatest = _greatest(places)
    size = None if greatest is None else greatest + 1
    return apply(DYNAMIC_STITCH, *places, *slices, name=name, _size=size)
