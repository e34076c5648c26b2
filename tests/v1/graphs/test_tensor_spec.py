"""`TensorSpec`, as TensorFlow 1.15 has it (asked of TensorFlow's own class)."""

from __future__ import annotations

import pytest

import daskvars.v1 as tf


def test_it_has_what_it_is_made_of():
    spec = tf.TensorSpec([None, 3], "int32", "ids")
    assert (spec.shape, spec.dtype, spec.name) == (tf.TensorShape([None, 3]), tf.int32, "ids")
    assert (tf.TensorSpec([]).dtype, tf.TensorSpec(None).shape.ndims) == (tf.float32, None)
    assert tf.TensorSpec is tf.contrib.framework.TensorSpec


def test_specs_of_the_same_shape_dtype_and_name_are_equal():
    specs = [
        tf.TensorSpec([2]),
        tf.TensorSpec([3]),
        tf.TensorSpec(None),
        tf.TensorSpec([2], tf.int32),
        tf.TensorSpec([2], name="a"),
    ]
    for i, one in enumerate(specs):
        assert [one == other for other in specs] == [i == j for j in range(len(specs))]
        assert one == tf.TensorSpec.from_spec(one)
        assert hash(one) == hash(tf.TensorSpec.from_spec(one, "b"))


def test_it_is_of_a_tensor_and_compatible_with_it(graph):
    x = tf.placeholder(tf.float32, [None, 3], name="x")
    spec = tf.TensorSpec.from_tensor(x)
    assert spec == tf.TensorSpec([None, 3], tf.float32, "x")
    assert tf.TensorSpec.from_tensor(x, "y").name == "y"
    assert spec.is_compatible_with(tf.zeros([4, 3]))
    assert spec.is_compatible_with(tf.TensorSpec(None))
    assert not spec.is_compatible_with(tf.zeros([4, 2]))
    assert not spec.is_compatible_with(tf.zeros([4, 3], tf.int32))
    assert not spec.is_compatible_with([[1.0, 2.0, 3.0]])
    with pytest.raises(ValueError, match=r"should be a tf\.Tensor"):
        tf.TensorSpec.from_tensor([1.0])


def test_structures_take_it_for_a_leaf():
    specs = {"a": tf.TensorSpec([2]), "b": (tf.TensorSpec([], tf.int32),)}
    assert tf.nest.flatten(tf.nest.map_structure(lambda s: s.dtype, specs)) == [
        tf.float32,
        tf.int32,
    ]
