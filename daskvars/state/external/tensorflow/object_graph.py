"""The objects of an object-based checkpoint, as TensorFlow writes them: a message, and back.

It is a tensor of the checkpoint, the scalar string `KEY`, in ours as in TensorFlow's.
Source: tensorflow/core/protobuf/trackable_object_graph.proto.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

from daskvars.state.external.tensorflow.messages import field as encoded, fields, message, signed
from daskvars.state.format.manifest import shorten

KEY = "_CHECKPOINTABLE_OBJECT_GRAPH"
VARIABLE_VALUE = "VARIABLE_VALUE"


class SavedAttribute(NamedTuple):
    """A value of an object: its name in the program that saved it, and in the checkpoint."""

    full_name: str
    key: str


class SlotReference(NamedTuple):
    """A variable that an optimizer keeps for another one: numbers of nodes, and the slot's name."""

    original: int
    name: str
    slot: int


@dataclass
class SavedObject:
    """One object of a program, as its checkpoint knows it.

    Attributes:
        children: name of an attribute -> number of the object there.
        attributes: values that it has itself, by what they are.
        slots: what it keeps for variables, where it is an optimizer.
    """

    children: dict[str, int] = field(default_factory=dict)
    attributes: dict[str, SavedAttribute] = field(default_factory=dict)
    slots: list[SlotReference] = field(default_factory=list)


def serialized(nodes: list[SavedObject]) -> bytes:
    """Write a ``TrackableObjectGraph``."""
    return b"".join(encoded(1, _node(node)) for node in nodes)


def _node(node: SavedObject) -> bytes:
    parts = [
        encoded(1, encoded(1, number) + encoded(2, name.encode()))
        for name, number in node.children.items()
    ]
    parts += [
        encoded(2, encoded(1, name.encode()) + encoded(2, full.encode()) + encoded(3, key.encode()))
        for name, (full, key) in node.attributes.items()
    ]
    parts += [
        encoded(3, encoded(1, original) + encoded(2, name.encode()) + encoded(3, slot))
        for original, name, slot in node.slots
    ]
    has_values = encoded(5, encoded(1, 1)) if node.attributes else b""
    return b"".join(parts) + has_values


def parse(data: bytes) -> list[SavedObject]:
    """Read a ``TrackableObjectGraph``; the first object is the root.

    Raises:
        ValueError: it is none, or refers to objects that are not there.

    >>> root = SavedObject({"w": 1})
    >>> value = SavedObject({}, {VARIABLE_VALUE: SavedAttribute("w", "key of w")})
    >>> parse(serialized([root, value])) == [root, value]
    True
    """
    nodes = [_parsed(message(value)) for number, value in fields(data) if number == 1]
    if not nodes:
        raise ValueError("an object graph without objects")
    for node in nodes:
        named = [*node.children.values(), *(n for s in node.slots for n in (s.original, s.slot))]
        outside = [number for number in named if not 0 <= number < len(nodes)]
        if outside:
            raise ValueError(f"object {shorten(outside[0])} of {len(nodes)}")
    return nodes


def _parsed(data: bytes) -> SavedObject:
    found = SavedObject()
    for number, value in fields(data):
        part: dict[int, Any] = dict(fields(message(value))) if number in (1, 2, 3) else {}
        if number == 1:
            found.children[_text(part.get(2, b""))] = signed(part.get(1, 0))
        elif number == 2:
            saved = SavedAttribute(_text(part.get(2, b"")), _text(part.get(3, b"")))
            found.attributes[_text(part.get(1, b""))] = saved
        elif number == 3:
            numbers = signed(part.get(1, 0)), signed(part.get(3, 0))
            found.slots.append(SlotReference(numbers[0], _text(part.get(2, b"")), numbers[1]))
    return found


def _text(value: Any) -> str:
    return message(value).decode()
