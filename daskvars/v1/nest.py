"""Nested lists, tuples, named tuples and dicts, the names of ``tf.nest``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from daskvars.graph import nest

__all__ = ["assert_same_structure", "flatten", "is_nested", "map_structure", "pack_sequence_as"]


def is_nested(seq: Any) -> bool:
    """Return whether a value is a list, a tuple or a dict.

    Args:
      seq: anything.

    Source: TensorFlow 1.15, ``tf.nest.is_nested``.

    >>> tf.nest.is_nested({"a": 1}), tf.nest.is_nested("a")
    (True, False)
    """
    return isinstance(seq, list | tuple | Mapping)


def flatten(structure: Any) -> list[Any]:
    """Return the leaves of a structure in order; a dict's in the order of its sorted keys.

    Args:
      structure: lists, tuples and dicts, nested, or one leaf.

    Source: TensorFlow 1.15, ``tf.nest.flatten``.

    >>> flatten({"b": (1, 2), "a": [3]})
    [3, 1, 2]
    """
    return nest.flatten(structure)


def pack_sequence_as(structure: Any, flat_sequence: Any) -> Any:
    """Return leaves in the form of a structure.

    Args:
      structure: what nests.
      flat_sequence: list of as many leaves as it has.

    Raises:
      ValueError: there is another number of them.

    Source: TensorFlow 1.15, ``tf.nest.pack_sequence_as``.

    >>> pack_sequence_as([0, (0, 0)], [1, 2, 3])
    [1, (2, 3)]
    """
    leaves = list(flat_sequence)
    count = len(nest.flatten(structure))
    if count != len(leaves):
        raise ValueError(
            f"Could not pack sequence. Structure had {count} elements, but flat_sequence had "
            f"{len(leaves)} elements. Structure: {structure!r}, flat_sequence: {leaves!r}."
        )
    return nest.pack(structure, leaves)


def assert_same_structure(nest1: Any, nest2: Any, check_types: bool = True) -> None:
    """Check that two structures nest in the same way.

    Args:
      nest1: one of them.
      nest2: the other.
      check_types: the containers have to be of the same types as well.

    Raises:
      ValueError: they differ in depth or in the number of elements.
      TypeError: they differ in the types of containers.

    Source: TensorFlow 1.15, ``tf.nest.assert_same_structure``.

    >>> tf.nest.assert_same_structure([1, (2, 3)], ["a", ("b", "c")])
    >>> tf.nest.assert_same_structure([1, 2], (1, 2), check_types=False)
    """
    try:
        nest.assert_same_structure(nest1, nest2)
    except TypeError:
        if check_types:
            raise


def map_structure(func: Callable[..., Any], *structure: Any, check_types: bool = True) -> Any:
    """Return a structure with the results of a function of the leaves of one or several.

    Args:
      func: called with a leaf of each structure.
      structure: those; all nest in the same way.
      check_types: the containers have to be of the same types as well.

    Raises:
      TypeError: `func` is none.
      ValueError: there is no structure, or they differ.

    Source: TensorFlow 1.15, ``tf.nest.map_structure``.

    >>> map_structure(lambda x, y: x + y, [1, (2,)], [10, (20,)])
    [11, (22,)]
    """
    if not callable(func):
        raise TypeError(f"func must be callable, got: {func!r}")
    if not structure:
        raise ValueError("Must provide at least one structure")
    for other in structure[1:]:
        assert_same_structure(structure[0], other, check_types)
    leaves = zip(*map(nest.flatten, structure), strict=True)
    return nest.pack(structure[0], [func(*each) for each in leaves])


def flatten_up_to(shallow_tree: Any, input_tree: Any, check_types: bool = True) -> list[Any]:
    """Return the parts of a structure that stand where another one has its leaves.

    Args:
      shallow_tree: the structure that says how deep to go.
      input_tree: nests as it does so far, and may nest further.
      check_types: the containers have to be of the same types as well.

    Raises:
      TypeError: a container is of another type, or none at all.
      ValueError: a container has another number of elements, or other keys.

    Source: TensorFlow 1.15, ``tf.contrib.framework.nest.flatten_up_to``.

    >>> flatten_up_to([0, (0, 0)], [[1, 2], (3, [4])])
    [[1, 2], 3, [4]]
    """
    if not is_nested(shallow_tree):
        return [input_tree]
    if not is_nested(input_tree):
        raise TypeError(
            f"If shallow structure is a sequence, input must also be a sequence. Input has type: "
            f"{type(input_tree)}."
        )
    if check_types and type(input_tree) is not type(shallow_tree):
        raise TypeError(
            f"The two structures don't have the same sequence type. Input structure has type "
            f"{type(input_tree)}, while shallow structure has type {type(shallow_tree)}."
        )
    if len(input_tree) != len(shallow_tree):
        raise ValueError(
            f"The two structures don't have the same sequence length. Input structure has length "
            f"{len(input_tree)}, while shallow structure has length {len(shallow_tree)}."
        )
    if isinstance(shallow_tree, Mapping):
        if set(input_tree) != set(shallow_tree):
            raise ValueError(
                f"The two structures don't have the same keys. Input structure has "
                f"{list(input_tree)}, while shallow structure has {list(shallow_tree)}."
            )
        pairs = [(shallow_tree[key], input_tree[key]) for key in sorted(shallow_tree)]
    else:
        pairs = list(zip(shallow_tree, input_tree, strict=True))
    return [leaf for below, part in pairs for leaf in flatten_up_to(below, part, check_types)]


def map_structure_up_to(
    shallow_tree: Any, func: Callable[..., Any], *inputs: Any, check_types: bool = True
) -> Any:
    """Return a structure with the results of a function of parts of one or several others.

    Args:
      shallow_tree: the structure whose leaves say how deep to go, and of the result.
      func: called with the part of each input that stands where `shallow_tree` has a leaf.
      inputs: structures that nest as it does so far, and may nest further.
      check_types: see `flatten_up_to`.

    Raises:
      ValueError: there is no input, or one nests otherwise.
      TypeError: a container is of another type, or none at all.

    Source: TensorFlow 1.15, ``tf.contrib.framework.nest.map_structure_up_to``.

    >>> map_structure_up_to([0, 0], sum, [[1, 2], [3, 4, 5]])
    [3, 12]
    """
    if not inputs:
        raise ValueError("Cannot map over no sequences")
    parts = [flatten_up_to(shallow_tree, each, check_types) for each in inputs]
    return nest.pack(shallow_tree, [func(*each) for each in zip(*parts, strict=True)])


def assert_shallow_structure(shallow_tree: Any, input_tree: Any, check_types: bool = True) -> None:
    """Check that a structure nests as another one, as deep as this goes.

    Args:
      shallow_tree: the structure that says how deep to go.
      input_tree: nests as it does so far, and may nest further.
      check_types: see `flatten_up_to`.

    Raises:
      TypeError: a container is of another type, or none at all.
      ValueError: a container has another number of elements, or other keys.

    Source: TensorFlow 1.15, ``tf.contrib.framework.nest.assert_shallow_structure``.

    >>> assert_shallow_structure([0, 0], [[1, 2], 3])
    """
    flatten_up_to(shallow_tree, input_tree, check_types)


def flatten_dict_items(dictionary: Mapping[Any, Any]) -> dict[Any, Any]:
    """Return a dict whose keys are the leaves of another one's keys, with the values' leaves.

    Args:
      dictionary: of keys that are no sequences, with any values, and of such that are, with values
        that have as many leaves.

    Raises:
      TypeError: it is no dict.
      ValueError: a key is there twice, or has another number of leaves than its value.

    Source: TensorFlow 1.15, ``tf.contrib.framework.nest.flatten_dict_items``.

    >>> flatten_dict_items({(4, (5, 6)): ("a", ["b", "c"]), 7: [1, 2]})
    {4: 'a', 5: 'b', 6: 'c', 7: [1, 2]}
    """
    if not isinstance(dictionary, Mapping):
        raise TypeError("input must be a dictionary")
    found: dict[Any, Any] = {}
    for key, value in dictionary.items():
        keys, values = (flatten(key), flatten(value)) if is_nested(key) else ([key], [value])
        if len(keys) != len(values):
            raise ValueError(
                f"Could not flatten dictionary. Key had {len(keys)} elements, but value had "
                f"{len(values)} elements. Key: {keys}, value: {values}."
            )
        for each in keys:
            if each in found or keys.count(each) > 1:
                raise ValueError(f"Could not flatten dictionary: key {each} is not unique.")
        found.update(zip(keys, values, strict=True))
    return found
