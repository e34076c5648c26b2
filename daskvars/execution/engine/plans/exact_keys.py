"""Keys of what was traced or planned for a Python value: two values share one only if they are the
same in all that a program can see."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import fields, is_dataclass
from decimal import Decimal
from typing import Any

from daskvars.dtypes import DType

_PLAIN = frozenset({int, bool, str, bytes, type(None), DType})


class _Same:
    """A key that stands for one object, which it keeps: the address of one that is gone is reused.

    It is for arguments that have no hash, so that nothing is known of when they are equal.
    """

    __slots__ = ("_object",)

    def __init__(self, what: Any) -> None:
        self._object = what

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and other._object is self._object

    def __hash__(self) -> int:
        return id(self._object)


def exactly(item: Any) -> Hashable:
    """Return a key that only the same value of the same type has: 1, 1.0 and True are three.

    0.0 and -0.0 are two, and every NaN is one, whatever `==` says.

    >>> exactly(1) == exactly(True), exactly(float("nan")) == exactly(float("nan"))
    (False, True)
    """
    kind = type(item)
    if kind in _PLAIN:
        return kind, item
    if isinstance(item, float):
        return kind, float.hex(item)
    if isinstance(item, complex):
        return kind, item.real.hex(), item.imag.hex()
    if isinstance(item, Decimal):
        return kind, str(item)
    if isinstance(item, slice):
        return kind, *map(exactly, (item.start, item.stop, item.step))
    if isinstance(item, tuple):
        return kind, *map(exactly, item)
    if isinstance(item, set | frozenset):
        return kind, frozenset(map(exactly, item))
    if is_dataclass(kind) and kind.__hash__ is not object.__hash__ and kind.__hash__ is not None:
        return kind, tuple([exactly(getattr(item, f.name)) for f in fields(item) if f.compare])
    try:
        hash(item)
    except TypeError:
        return _Same(item)
    return kind, item
