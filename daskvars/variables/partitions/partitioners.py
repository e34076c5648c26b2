"""Partitioners: rules that cut a variable into parts along one axis.

Each is a function of shape and dtype that returns the number of parts along every axis. The
formulas are those of TensorFlow's `partitioned_variables.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from daskvars.dtypes import DType, DTypeLike, as_dtype, string
from daskvars.shapes import TensorShape

Partitioner = Callable[..., Sequence[int]]


def fixed_size_partitioner(num_shards: int, axis: int = 0) -> Partitioner:
    """Cut into `num_shards` parts along `axis`, or as many as it is long.

    >>> fixed_size_partitioner(3)(shape=TensorShape([10, 4]))
    [3, 1]
    """

    def partitioner(shape: TensorShape, **unused: Any) -> list[int]:
        parts = [1] * len(shape)
        parts[axis] = min(num_shards, int(shape[axis]))
        return parts

    return partitioner


def variable_axis_size_partitioner(
    max_shard_bytes: int,
    axis: int = 0,
    bytes_per_string_element: int = 16,
    max_shards: int | None = None,
) -> Partitioner:
    """Cut along `axis` so that no part is larger than `max_shard_bytes`.

    Args:
      max_shard_bytes: the largest size of a part; a part holds at least one index of `axis`.
      axis: the axis to cut.
      bytes_per_string_element: size to assume for a string.
      max_shards: the largest number of parts, which overrides `max_shard_bytes`.

    Raises:
      ValueError: a size or number is not positive.

    >>> variable_axis_size_partitioner(64)(shape=TensorShape([10, 4]), dtype="float32")
    [3, 1]
    """
    if max_shard_bytes < 1 or bytes_per_string_element < 1:
        raise ValueError(
            "Both max_shard_bytes and bytes_per_string_element must be positive, got "
            f"{max_shard_bytes} and {bytes_per_string_element}."
        )
    if max_shards is not None and max_shards < 1:
        raise ValueError(f"max_shards must be positive, got {max_shards}.")

    def partitioner(shape: TensorShape, dtype: DTypeLike) -> list[int]:
        num_bytes = _num_bytes(shape, dtype, bytes_per_string_element)
        length = int(shape[axis])
        bytes_per_slice = num_bytes / max(1, length)
        slices_per_shard = max(1, math.floor(max_shard_bytes / max(1.0, bytes_per_slice)))
        count = max(1, math.ceil(length / slices_per_shard))
        parts = [1] * len(shape)
        parts[axis] = min(count, max_shards) if max_shards else count
        return parts

    return partitioner


def min_max_variable_partitioner(
    max_partitions: int = 1,
    axis: int = 0,
    min_slice_size: int = 256 << 10,
    bytes_per_string_element: int = 16,
) -> Partitioner:
    """Cut into at most `max_partitions` parts, none needlessly smaller than `min_slice_size`.

    Args:
      max_partitions: the largest number of parts.
      axis: the axis to cut.
      min_slice_size: bytes below which a part is not worth having.
      bytes_per_string_element: size to assume for a string.

    >>> min_max_variable_partitioner(8, min_slice_size=64)(TensorShape([10, 4]), "float32")
    [3, 1]
    """

    def partitioner(shape: TensorShape, dtype: DTypeLike) -> list[int]:
        if axis >= len(shape):
            raise ValueError(
                f"Can not partition variable along axis {axis} when shape is only {shape}"
            )
        wanted = math.ceil(_num_bytes(shape, dtype, bytes_per_string_element) / min_slice_size)
        parts = [1] * len(shape)
        parts[axis] = max(1, min(int(shape[axis]), max_partitions, wanted))
        return parts

    return partitioner


def _num_bytes(shape: TensorShape, dtype: Any, bytes_per_string_element: int) -> int:
    count = shape.num_elements()
    if count is None:
        raise ValueError(f"shape is not fully defined: {shape}")
    element: DType = as_dtype(dtype).base_dtype
    size = bytes_per_string_element if element is string else element.size
    return count * size
