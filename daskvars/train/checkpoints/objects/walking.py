"""From object to object by the names of attributes: what is to be saved, and under which key."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from daskvars.state.external.tensorflow.object_graph import (
    VARIABLE_VALUE,
    SavedAttribute,
    SavedObject,
    SlotReference,
)
from daskvars.variables.partitions.partitioned_variable import full_name
from daskvars.variables.tracking import AnyVariable, Trackable, children_of, identity

STATE = "STATE"
"""What the state of an object that is in no variable is called among its attributes."""


class FoundObjects:
    """All objects below a root, numbered from there outward, with the paths that lead to them.

    Args:
      root: where to begin.

    Attributes:
      objects: the objects; variables that optimizers keep come last.
      nodes: what a checkpoint is to say of each.
      variables: key in the checkpoint -> variable.
      states: key -> the value of an object that has one of its own.
    """

    def __init__(self, root: Any) -> None:
        self.objects: list[Any] = [root]
        self.nodes = [SavedObject()]
        self.variables: dict[str, AnyVariable] = {}
        self.states: dict[str, NDArray[Any]] = {}
        self._numbers = {identity(root): 0}
        self._paths = [""]
        number = 0
        while number < len(self.objects):
            for name, child in children_of(self.objects[number]).items():
                path = f"{self._paths[number]}{escaped(name)}/"
                self.nodes[number].children[name] = self._number_of(child, path)
            number += 1
        for optimizer, found in enumerate(list(self.objects)):
            self._note_slots(optimizer, found)
        for node, path, found in zip(self.nodes, self._paths, self.objects, strict=True):
            self._note_values(node, path, found)

    def _number_of(self, found: Any, path: str) -> int:
        number = self._numbers.setdefault(identity(found), len(self.objects))
        if number == len(self.objects):
            self.objects.append(found)
            self.nodes.append(SavedObject())
            self._paths.append(path)
        return number

    def _note_slots(self, number: int, found: Any) -> None:
        if not isinstance(found, Trackable):
            return
        for variable, name, slot in found._tracked_slots():
            original = self._numbers.get(identity(variable))
            if original is not None:
                optimizer = self._paths[number]
                path = f"{self._paths[original]}.OPTIMIZER_SLOT/{optimizer}{escaped(name)}/"
                reference = SlotReference(original, name, self._number_of(slot, path))
                self.nodes[number].slots.append(reference)

    def _note_values(self, node: SavedObject, path: str, found: Any) -> None:
        if isinstance(found, AnyVariable):
            key = f"{path}.ATTRIBUTES/{VARIABLE_VALUE}"
            node.attributes[VARIABLE_VALUE] = SavedAttribute(full_name(found), key)
            self.variables[key] = found
        elif isinstance(found, Trackable):
            state = found._tracked_state()
            if state is not None:
                key = f"{path}.ATTRIBUTES/{STATE}"
                node.attributes[STATE] = SavedAttribute("", key)
                self.states[key] = state


def escaped(name: str) -> str:
    """Return a name as a segment of a key.

    >>> escaped("b/c.d")
    'b.Sc..d'
    """
    return name.replace(".", "..").replace("/", ".S")
