"""Tensors and variables as keys: those of eager code compare by value and have no hash.

`Reference` is a key for users' sets and dictionaries; `ByIdentity` is a dictionary for this
package, which looks for tensors of either program; `ByVariable` is what keeps something for each
variable, as an optimizer its slots.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping, MutableMapping
from typing import Any, TypeVar

Value = TypeVar("Value")


class Reference:
    """What `Tensor.ref` and `Variable.ref` return: hashable, equal to another of the same object.

    >>> x, y = dv.constant(1.0), dv.constant(1.0)
    >>> names = {x.ref(): "x", y.ref(): "y"}
    >>> names[y.ref()], x.ref() == y.ref(), x.ref().deref() is x
    ('y', False, True)
    """

    __slots__ = ("_referred",)

    def __init__(self, referred: Any) -> None:
        self._referred = referred

    def deref(self) -> Any:
        """Return the tensor or variable."""
        return self._referred

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reference) and other._referred is self._referred

    def __hash__(self) -> int:
        return id(self._referred)

    def __repr__(self) -> str:
        return f"<Reference wrapping {self._referred!r}>"


class ByIdentity(MutableMapping[Any, Value]):
    """A dictionary whose keys are objects themselves, whatever ``==`` says of them.

    >>> x, y = dv.constant(1.0), dv.constant(1.0)
    >>> found = ByIdentity([(x, "x")])
    >>> x in found, y in found
    (True, False)
    """

    __slots__ = ("_items",)

    def __init__(self, items: Iterable[tuple[Any, Value]] | Mapping[Any, Value] = ()) -> None:
        self._items: dict[int, tuple[Any, Value]] = {}
        self.update(items)

    def __getitem__(self, key: Any) -> Value:
        try:
            return self._items[id(key)][1]
        except KeyError:
            raise KeyError(key) from None

    def __setitem__(self, key: Any, value: Value) -> None:
        self._items[id(key)] = key, value

    def __delitem__(self, key: Any) -> None:
        del self._items[id(key)]

    def __contains__(self, key: object) -> bool:
        return id(key) in self._items

    def __iter__(self) -> Iterator[Any]:
        return iter([key for key, _ in self._items.values()])

    def __len__(self) -> int:
        return len(self._items)


class ByVariable(dict[Any, Value]):
    """A dictionary whose keys are operations, which stay the same however variables are wrapped.

    What is copied along with variables, before or after them, has those of the copies as keys.
    """

    def __deepcopy__(self, memo: dict[int, Any]) -> ByVariable[Value]:
        copied = memo[id(self)] = ByVariable[Value]()
        memo.setdefault(id(ByVariable), []).append(copied)
        for op, value in self.items():
            copied[copy.deepcopy(op, memo)] = copy.deepcopy(value, memo)
        return copied


def note_copy(op: Any, copied: Any, memo: dict[int, Any]) -> None:
    """Have the operation of a copied variable be the key in copies that are made in the same go."""
    memo[id(op)] = copied
    for made in memo.get(id(ByVariable), ()):
        if op in made:
            made[copied] = made.pop(op)


def each_once(items: Iterable[Any]) -> list[Any]:
    """Return the distinct objects among `items`, in their order."""
    return list({id(item): item for item in items}.values())


def is_among(item: Any, items: Iterable[Any]) -> bool:
    """Return whether an object itself is one of `items`, which ``in`` asks by value."""
    return any(item is other for other in items)
