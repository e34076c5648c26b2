"""NodeDef: one operation as plain data, in the fields that TensorFlow's protocol buffers have.

`Operation.node_def` gives it, a method of the one class that both ways in share.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy

from daskvars.dtypes import DType


class Dim(NamedTuple):
    """One dimension of a shape, -1 where it is not known."""

    size: int


class Shape(NamedTuple):
    """A shape: its dimensions, or that not even their number is known."""

    dim: tuple[Dim, ...] = ()
    unknown_rank: bool = False


@dataclass(frozen=True)
class ListValue:
    """Several values of one kind, in the field for it."""

    s: list[bytes] = field(default_factory=list)
    i: list[int] = field(default_factory=list)
    f: list[float] = field(default_factory=list)
    b: list[bool] = field(default_factory=list)
    type: list[int] = field(default_factory=list)
    shape: list[Shape] = field(default_factory=list)


@dataclass(frozen=True)
class AttrValue:
    """An attribute: the field for its kind holds it, the others what they hold by default.

    Attributes:
      s, i, f, b: text as bytes, an integer, a float, a bool.
      type: number of a dtype, `DType.as_datatype_enum`.
      shape: a shape.
      tensor: the array of a constant.
      list: several values.
    """

    s: bytes = b""
    i: int = 0
    f: float = 0.0
    b: bool = False
    type: int = 0
    shape: Shape = field(default_factory=Shape)
    tensor: numpy.ndarray | None = None
    list: ListValue = field(default_factory=ListValue)


class NodeDef(NamedTuple):
    """An operation: name, type, inputs (control inputs as "^name"), device, attributes.

    What is no attribute has the fields' defaults, as in a protocol buffer.
    """

    name: str
    op: str
    input: tuple[str, ...]
    device: str
    attr: Mapping[str, AttrValue]


def attr_value(name: str, value: Any) -> AttrValue:
    """Return an attribute of an operation in the field for its kind, if there is one.

    >>> attr_value("N", 3).i, attr_value("shape", (None, 3)).shape.dim[0]
    (3, Dim(size=-1))
    """
    if name == "shape":
        return AttrValue(shape=_shape(value))
    if name == "shapes":
        return AttrValue(list=ListValue(shape=[*map(_shape, value or ())]))
    if isinstance(value, numpy.ndarray):
        return AttrValue(tensor=value)
    if isinstance(value, tuple | list):
        kinds = {_kind(item) for item in value}
        kind = kinds.pop() if len(kinds) == 1 else None
        return AttrValue(list=ListValue(**{kind: [*map(_plain, value)]} if kind else {}))
    kind = _kind(value)
    return AttrValue(**{kind: _plain(value)}) if kind else AttrValue()


def _shape(sizes: Any) -> Shape:
    if sizes is None:
        return Shape(unknown_rank=True)
    return Shape(tuple([Dim(-1 if n is None else n) for n in sizes]))


def _kind(value: Any) -> str | None:
    """Return the field for a value, None for what TensorFlow has no field for."""
    kinds = {bool: "b", int: "i", float: "f", str: "s", bytes: "s", DType: "type"}
    return kinds.get(type(value))


def _plain(value: Any) -> Any:
    if isinstance(value, DType):
        return value.as_datatype_enum
    return value.encode() if isinstance(value, str) else value
