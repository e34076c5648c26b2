"""PartitionedVariable as a class, create_partitioned_variables, and what initializers are told."""

import numpy
import pytest

import daskvars.v1 as tf
from daskvars.variables.partitions.slices import PartitionInfo
from tests.sessions import run


def part(value, offset, full=(2,)):
    variable = tf.Variable(value)
    variable._set_save_slice_info(
        tf.Variable.SaveSliceInfo("whole", list(full), [offset], [len(value)])
    )
    return variable


def test_parts_are_sorted_by_their_offset(graph):
    second, first = part([1], 1), part([0], 0)
    whole = tf.PartitionedVariable("w", [2], second.dtype, [second, first], [2])
    assert list(whole) == [first, second] and len(whole) == 2
    assert whole.shape == [2] and whole.dtype is tf.int32
    assert run(whole.as_tensor()).tolist() == [0, 1]


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"variable_list": []}, ValueError, "empty"),
        ({"variable_list": 3}, TypeError, "not a list"),
        ({"partitions": 2}, TypeError, "not a list"),
        ({"partitions": [0]}, ValueError, "must be positive"),
        ({"partitions": [1, 2]}, ValueError, "equal lengths"),
        ({"partitions": [3]}, ValueError, "ask for 3 parts, got 2"),
        ({"shape": [3]}, ValueError, "full shapes must match"),
    ],
)
def test_what_does_not_fit_is_refused(graph, change, error, message):
    arguments = {
        "name": "w",
        "shape": [2],
        "dtype": tf.int32,
        "partitions": [2],
        "variable_list": [part([0], 0), part([1], 1)],
    }
    with pytest.raises(error, match=message):
        tf.PartitionedVariable(**{**arguments, **change})
    with pytest.raises(ValueError, match="must have a save_slice_info"):
        tf.PartitionedVariable("w", [1], tf.int32, [tf.Variable([0])], [1])


def test_create_partitioned_variables(graph):
    value = numpy.arange(10).reshape(2, 5)
    with tf.variable_scope("hi"):
        parts = tf.create_partitioned_variables([2, 5], [1, 2], tf.constant(value))
        again = tf.create_partitioned_variables([4], [1], tf.ones_initializer(), tf.float64)
    names = ["hi/PartitionedVariable/part_0:0", "hi/PartitionedVariable/part_1:0"]
    assert [v.name for v in parts] == names
    assert [v._get_save_slice_info().spec for v in parts] == ["2 5 0,2:0,3", "2 5 0,2:3,2"]
    assert {v._get_save_slice_info().full_name for v in parts} == {"hi/PartitionedVariable"}
    assert [v.name for v in again] == ["hi/PartitionedVariable_1/part_0:0"]
    assert again[0].dtype.base_dtype is tf.float64
    assert numpy.array_equal(run(tf.concat(parts, 1)), value)


def test_create_partitioned_variables_shares(graph):
    made = tf.create_partitioned_variables([4], [2], tf.zeros_initializer(), name="w")
    again = tf.create_partitioned_variables([4], [2], tf.zeros_initializer(), name="w", reuse=True)
    assert again == made
    with pytest.raises(ValueError, match="already exists"):
        tf.create_partitioned_variables([4], [2], tf.zeros_initializer(), name="w")
    with pytest.raises(ValueError, match="same length"):
        tf.create_partitioned_variables([4], [2, 1], tf.zeros_initializer())
    with pytest.raises(ValueError, match="one dimension"):
        tf.create_partitioned_variables([4, 4], [2, 2], tf.zeros_initializer())


def test_a_partition_info_finds_its_axis():
    info = PartitionInfo([9, 3], [4, 0])
    assert info.single_offset([2, 3]) == 4 and info.single_slice_dim([2, 3]) == 0
    whole = PartitionInfo((9, 3), (0, 0))
    assert whole.single_offset([9, 3]) == 0 and whole.single_slice_dim([9, 2]) == 1
    for shape, error in (
        (None, TypeError),
        ([1, 2, 3], ValueError),
        ([6, 3], ValueError),
        ([1, 1], ValueError),
    ):
        with pytest.raises(error):
            info.single_slice_dim(shape)


@pytest.mark.parametrize(
    ("full_shape", "var_offset", "error"),
    [
        (None, [0, 1], TypeError),
        ([0, 1], None, TypeError),
        ("foo", [0, 1], TypeError),
        ([0, 1], [0], ValueError),
        ([1, 1], [0, 1], ValueError),
        ([2], [-1], ValueError),
    ],
)
def test_a_partition_info_is_checked(full_shape, var_offset, error):
    with pytest.raises(error):
        PartitionInfo(full_shape, var_offset)
