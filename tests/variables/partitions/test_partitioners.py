"""Partitioners against the numbers of TensorFlow's own tests."""

import pytest

from daskvars.dtypes import float32, int64, string
from daskvars.shapes import TensorShape
from daskvars.variables.partitions.partitioners import (
    fixed_size_partitioner,
    min_max_variable_partitioner,
    variable_axis_size_partitioner,
)
from daskvars.variables.partitions.slices import cut_axis, partitions_of, slices_of


@pytest.mark.parametrize(
    ("num_shards", "axis", "shape", "parts"),
    [(5, 0, [10, 1], [5, 1]), (20, 0, [10, 1], [10, 1]), (2, 1, [3, 4], [1, 2])],
)
def test_fixed_size(num_shards, axis, shape, parts):
    partitioner = fixed_size_partitioner(num_shards, axis)
    assert partitioner(TensorShape(shape), dtype=float32) == parts


@pytest.mark.parametrize(
    ("arguments", "shape", "dtype", "parts"),
    [
        # variable of 4 * 8 * 16 * 32 float32 = 65536 bytes
        ({"axis": 3, "max_shard_bytes": 32768}, [4, 8, 16, 32], float32, [1, 1, 1, 2]),
        ({"axis": 3, "max_shard_bytes": 2048}, [4, 8, 16, 32], float32, [1, 1, 1, 32]),
        ({"axis": 3, "max_shard_bytes": 1024}, [4, 8, 16, 32], float32, [1, 1, 1, 32]),
        ({"axis": 0, "max_shard_bytes": 65536}, [4, 8, 16, 32], float32, [1, 1, 1, 1]),
        ({"axis": 0, "max_shard_bytes": 65535}, [4, 8, 16, 32], float32, [2, 1, 1, 1]),
        ({"max_shard_bytes": 1024, "max_shards": 3}, [1024], int64, [3]),
        ({"max_shard_bytes": 16, "bytes_per_string_element": 8}, [8], string, [4]),
        ({"max_shard_bytes": 16}, [0, 4], float32, [1, 1]),
    ],
)
def test_variable_axis_size(arguments, shape, dtype, parts):
    assert variable_axis_size_partitioner(**arguments)(TensorShape(shape), dtype) == parts


@pytest.mark.parametrize(
    ("arguments", "shape", "dtype", "parts"),
    [
        ({"max_partitions": 100, "min_slice_size": 2 << 10}, [2048], float32, [4]),
        ({"max_partitions": 100, "min_slice_size": 1 << 10}, [2048], float32, [8]),
        ({"max_partitions": 100, "min_slice_size": 2 << 10}, [2048], int64, [8]),
        ({"max_partitions": 2, "min_slice_size": 1}, [2048], float32, [2]),
        ({"max_partitions": 100, "min_slice_size": 1}, [3], float32, [3]),
        ({"max_partitions": 100, "axis": 1, "min_slice_size": 64}, [4, 64], float32, [1, 16]),
        ({"max_partitions": 9, "min_slice_size": 256}, [64], string, [4]),
    ],
)
def test_min_max(arguments, shape, dtype, parts):
    assert min_max_variable_partitioner(**arguments)(TensorShape(shape), dtype) == parts


def test_bad_arguments():
    with pytest.raises(ValueError, match="must be positive"):
        variable_axis_size_partitioner(0)
    with pytest.raises(ValueError, match="must be positive"):
        variable_axis_size_partitioner(1, max_shards=0)
    with pytest.raises(ValueError, match="along axis 2"):
        min_max_variable_partitioner(axis=2)(TensorShape([2]), float32)
    with pytest.raises(ValueError, match="not fully defined"):
        variable_axis_size_partitioner(8)(TensorShape([None]), float32)


def test_slices_cover_the_axis():
    assert list(slices_of((10, 4), 0, 3)) == [((0, 0), (4, 4)), ((4, 0), (3, 4)), ((7, 0), (3, 4))]
    assert list(slices_of((2, 4), 1, 2)) == [((0, 0), (2, 2)), ((0, 2), (2, 2))]
    assert cut_axis([1, 1, 3]) == 2 and cut_axis([1, 1]) == 0
    with pytest.raises(ValueError, match="rank at least 1"):
        partitions_of(fixed_size_partitioner(2), (), float32)
