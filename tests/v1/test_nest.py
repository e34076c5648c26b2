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


def test_a_structure_is_followed_as_deep_as_another_one_goes():
    from daskvars.v1.python.util import nest

    deep = {"b": [[1, 2], (3, 4)], "a": Pair(5, [6])}
    assert nest.flatten_up_to({"b": [0, 0], "a": 0}, deep) == [Pair(5, [6]), [1, 2], (3, 4)]
    sizes = nest.map_structure_up_to({"b": [0, 0], "a": 0}, len, deep)
    assert sizes == {"b": [2, 2], "a": 2} and nest.is_sequence(deep)
    nest.assert_shallow_structure([0, 0], (1, [2]), check_types=False)
    with pytest.raises(TypeError, match="sequence type"):
        nest.assert_shallow_structure([0, 0], (1, [2]))
    with pytest.raises(TypeError, match="must also be a sequence"):
        nest.flatten_up_to([0, [0]], [1, 2])
    with pytest.raises(ValueError, match="sequence length"):
        nest.flatten_up_to([0], [1, 2])
    with pytest.raises(ValueError, match="same keys"):
        nest.flatten_up_to({"a": 0}, {"b": 1})
    with pytest.raises(ValueError, match="no sequences"):
        nest.map_structure_up_to([0], len)


def test_keys_that_are_sequences_are_flattened_with_their_values():
    nest = tf.contrib.framework.nest
    items = {("x", ("y",)): [1, (2,)], "z": [3, 4]}
    assert nest.flatten_dict_items(items) == {"x": 1, "y": 2, "z": [3, 4]}
    with pytest.raises(ValueError, match="key x is not unique"):
        nest.flatten_dict_items({("x", "y"): [1, 2], "x": 3})
    with pytest.raises(ValueError, match="Key had 2 elements, but value had 1"):
        nest.flatten_dict_items({("x", "y"): 1})
    with pytest.raises(TypeError, match="must be a dictionary"):
        nest.flatten_dict_items([1])
