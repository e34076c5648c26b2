"""Rows sorted into parts, put together again, and counted once each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from daskvars import shapes
from daskvars.dtypes import DType, DTypeLike, as_dtype, int32
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import OpDef, Spec, without_gradient
from daskvars.graph.definitions.patterns import Opaque
from daskvars.graph.definitions.static_values import constant_value
from daskvars.graph.interpreter import apply
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.kernels.gather_scatter import gather as kernels
from daskvars.kernels.gather_scatter import partitioning
from daskvars.ops.gather_scatter.gather import gather

# -- unique ------------------------------------------------------------------------------------


def _unique(inputs: Sequence[Spec], *, index_dtype: DType) -> tuple[Spec, ...]:
    shape = inputs[0].shape
    if shape is not None and len(shape) != 1:
        raise ValueError(f"unique expects a 1D vector, got shape {shapes.show(shape)}")
    places = Spec(index_dtype, (None,) if shape is None else shape)
    return Spec(inputs[0].dtype, (None,)), places, Spec(index_dtype, (None,))


UNIQUE = without_gradient("UniqueWithCounts", "x:T", _unique, partitioning.unique)


def unique_with_counts(
    x: TensorLike, out_idx: DTypeLike = int32, name: str | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the distinct elements of a vector in order of first occurrence, and their counts.

    Args:
      x: [n] any dtype that can be ordered.
      out_idx: dtype of places and counts, int32 or int64.
      name: name of the operation, by default "UniqueWithCounts".

    Returns:
      (y [m], the distinct elements; idx [n] with ``y[idx[i]] == x[i]``; count [m]).

    Raises:
      ValueError: `x` is no vector.

    >>> import daskvars as dv
    >>> [t.numpy().tolist() for t in unique_with_counts([1, 1, 2, 4, 4])]
    [[1, 2, 4], [0, 0, 1, 2, 2], [2, 1, 2]]
    """
    values, places, counts = apply(UNIQUE, x, name=name, index_dtype=as_dtype(out_idx))
    return values, places, counts


def unique(
    x: TensorLike, out_idx: DTypeLike = int32, name: str | None = None
) -> tuple[Tensor, Tensor]:
    """Return the distinct elements of a vector and the place of each among them.

    See `unique_with_counts`; the default name is "Unique".

    >>> values, numbers = unique([4, 7, 4])
    >>> values.numpy().tolist(), numbers.numpy().tolist()
    ([4, 7], [0, 1, 0])
    """
    values, places, _ = unique_with_counts(x, out_idx, name or "Unique")
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

    >>> import daskvars as dv
    >>> [t.numpy().tolist() for t in dynamic_partition([10, 20, 30], [0, 1, 0], 2)]
    [[10, 30], [20]]
    """
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
    "DynamicStitch",
    "*values:A",
    infer=_stitched,
    pattern=Opaque(),
    kernel=kernels.stitch,
    gradient=_stitch_gradient,
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

    >>> import daskvars as dv
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


parallel_stitch = dynamic_stitch
