"""`tf.nest`: structures flattened, packed, mapped and compared."""

from collections import namedtuple

import pytest

import daskvars.v1 as tf

Pair = namedtuple("Pair", "one other")
STRUCTURE = {"b": [1, (2, 3)], "a": Pair(4, {"c": 5})}


def test_what_is_flattened_is_packed():
    leaves = tf.nest.flatten(STRUCTURE)
    assert leaves == [4, 5, 1, 2, 3]
    assert tf.nest.pack_sequence_as(STRUCTURE, leaves) == STRUCTURE
    assert tf.nest.flatten(7) == [7] and not tf.nest.is_nested("text") and tf.nest.is_nested([])
    with pytest.raises(ValueError, match="Structure had 5 elements, but flat_sequence had 1"):
        tf.nest.pack_sequence_as(STRUCTURE, [1])


def test_several_structures_are_mapped_together():
    doubled = tf.nest.map_structure(lambda x, y: x + y, STRUCTURE, STRUCTURE)
    assert doubled == {"b": [2, (4, 6)], "a": Pair(8, {"c": 10})}
    assert tf.nest.map_structure(max, [1, 2], (3, 0), check_types=False) == [3, 2]
    with pytest.raises(TypeError, match="sequence type"):
        tf.nest.map_structure(max, [1, 2], (3, 0))
    with pytest.raises(ValueError, match="number of elements"):
        tf.nest.map_structure(max, [1, 2], [3])


def test_tensors_are_leaves(graph):
    state = tf.nest.map_structure(tf.zeros_like, (tf.ones([2]), [tf.ones([3])]))
    assert [each.shape.as_list() for each in tf.nest.flatten(state)] == [[2], [3]]
