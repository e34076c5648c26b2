"""Objects that checkpoints know by their attributes: what they hold, and what is yet to come.

An object-based checkpoint (`daskvars.train.Checkpoint`) goes from object to object by the names of
attributes. Layers, optimizers and checkpoints themselves are `Trackable`; variables are the leaves.
A restore may find fewer variables than there will be, as those of a layer before its first call:
it stays with the object, and whoever makes variables says so (`Trackable._resume_restores`).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Protocol

from numpy.typing import NDArray

from daskvars.graph.tensor import Operation
from daskvars.variables.partitions.partitioned_variable import PartitionedVariable
from daskvars.variables.variable import Variable

AnyVariable = Variable | PartitionedVariable


class Resumable(Protocol):
    """A restore that has values for variables which do not exist yet."""

    @property
    def root(self) -> Any:
        """The object that it began at."""

    def resume(self, found: Any, *, begins: bool = False) -> None:
        """Restore what has appeared below an object that it knows."""


class Trackable:
    """An object whose variables a checkpoint finds by the names of its attributes."""

    _restores: tuple[Resumable, ...] = ()
    _untracked: frozenset[str] = frozenset()
    """Attributes that only hold again what is found elsewhere."""

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if self._restores and name != "_restores" and is_trackable(value):
            self._resume_restores()

    def _tracked_children(self) -> dict[str, Any]:
        """Return what it holds, by name: variables, such objects, lists and dicts of them."""
        return {
            name: value
            for name, value in vars(self).items()
            if name not in self._untracked and is_trackable(value)
        }

    def _tracked_slots(self) -> Iterable[tuple[Operation, str, Variable]]:
        """Return what it keeps for others' variables: the variable's op, slot's name, slot."""
        return ()

    def _tracked_state(self) -> NDArray[Any] | None:
        """Return a value of its own that is in no variable, None for an object without one."""
        return None

    def _restore_state(self, value: NDArray[Any]) -> None:
        """Take such a value back."""
        raise NotImplementedError(f"{type(self).__name__} has no state of its own")

    def _await_restore(self, restore: Resumable) -> None:
        """Have a restore go on when variables are made; it is the last one of its root."""
        others = [known for known in self._restores if known.root is not restore.root]
        self._restores = (*others, restore)

    def _resume_restores(self) -> None:
        """Restore the variables that were made, where a restore has values for them."""
        for restore in self._restores:
            restore.resume(self)


class TrackedList(Trackable, list[Any]):
    """A list that restores what is put into it after a restore.

    Args:
      given: the list that it stands for, which must not be changed any more.
    """

    def __init__(self, given: list[Any]) -> None:
        super().__init__(map(tracked, given))
        self._given, self._known = given, list(given)

    def _tracked_children(self) -> dict[str, Any]:
        _check_unchanged(self._given, enumerate(self._known), enumerate(self._given))
        return children_of_items(enumerate(self))

    def append(self, item: Any) -> None:
        """Add an item at the end."""
        super().append(item)
        self._resume_restores()

    def extend(self, items: Iterable[Any]) -> None:
        """Add items at the end."""
        super().extend(items)
        self._resume_restores()

    def insert(self, index: Any, item: Any) -> None:
        """Add an item before another."""
        super().insert(index, item)
        self._resume_restores()

    def __setitem__(self, index: Any, item: Any) -> None:
        super().__setitem__(index, item)
        self._resume_restores()

    def __iadd__(self, items: Iterable[Any]) -> TrackedList:  # type: ignore[misc]
        self.extend(items)
        return self


class TrackedDict(Trackable, dict[Any, Any]):
    """A dict that restores what is put into it after a restore.

    Args:
      given: the dict that it stands for, which must not be changed any more.
    """

    def __init__(self, given: dict[Any, Any]) -> None:
        super().__init__({key: tracked(item) for key, item in given.items()})
        self._given, self._known = given, dict(given)

    def _tracked_children(self) -> dict[str, Any]:
        _check_unchanged(self._given, self._known.items(), self._given.items())
        return children_of_items(self.items())

    def __setitem__(self, key: Any, item: Any) -> None:
        super().__setitem__(key, item)
        self._resume_restores()

    def update(self, *args: Any, **kwargs: Any) -> None:
        """Set several items."""
        super().update(*args, **kwargs)
        self._resume_restores()

    def setdefault(self, key: Any, default: Any = None) -> Any:
        """Return an item, set before if it is not there."""
        found = super().setdefault(key, default)
        self._resume_restores()
        return found


def _check_unchanged(given: Any, known: Iterable[Any], present: Iterable[Any]) -> None:
    """Raise ValueError where a list or dict was changed that another one stands for."""
    pairs = itertools.zip_longest(known, present, fillvalue=(None, given))
    if any(one[0] != other[0] or one[1] is not other[1] for one, other in pairs):
        kind = type(given).__name__
        raise ValueError(
            f"the {kind} that was given to a checkpoint was changed since, which the checkpoint "
            f"does not see: change the {kind} that is its attribute, as in checkpoint.layers.append"
        )


def tracked(value: Any) -> Any:
    """Return a list or dict, with those in it, as one that restores what is put into it later."""
    kinds: dict[type, Callable[[Any], Any]] = {list: TrackedList, dict: TrackedDict}
    return kinds[type(value)](value) if type(value) in kinds else value


def is_trackable(value: Any) -> bool:
    """Return whether a checkpoint finds variables in a value, or may find some later."""
    return any(isinstance(item, Trackable | AnyVariable) for item in _parts_of(value))


def held_by(value: Trackable, kind: type) -> list[Any]:
    """Return the variables and the objects of a class that an object has, each once.

    They are found as attributes and in lists, tuples and dicts, but not in one another. The keys of
    dicts do not matter.
    """
    parts = _parts_of(list(value._tracked_children().values()))
    return once(part for part in parts if isinstance(part, kind | AnyVariable))


def _parts_of(value: Any) -> Iterator[Any]:
    """Yield a value, and what is in it if it is a list, tuple or dict, at any depth."""
    if not isinstance(value, list | tuple | dict):
        yield value
        return
    waiting: list[Any] = [value]
    seen: set[int] = set()  # a list may be in itself
    while waiting:
        item = waiting.pop()
        yield item
        if isinstance(item, list | tuple | dict) and id(item) not in seen:
            seen.add(id(item))
            waiting.extend(reversed(list(item.values() if isinstance(item, dict) else item)))


def children_of(value: Any) -> dict[str, Any]:
    """Return what is directly in an object, by name."""
    if isinstance(value, Trackable):
        return value._tracked_children()
    if isinstance(value, list | tuple):
        return children_of_items(enumerate(value))
    if isinstance(value, Mapping):
        return children_of_items(value.items())
    return {}


def children_of_items(items: Iterable[tuple[Any, Any]]) -> dict[str, Any]:
    """Return those items of a list or dict that have variables, by their keys as text."""

    def found() -> Iterator[tuple[str, Any]]:
        for key, item in items:
            if is_trackable(item):
                if not isinstance(key, str | int):
                    raise ValueError(
                        f"a checkpoint names what is in a dict by its key, and {key!r} is no text: "
                        "use keys of text for what has variables"
                    )
                yield str(key), item

    return dict(found())


def identity(value: Any) -> Any:
    """Return what is the same of an object however often it is wrapped: of a variable, its op."""
    return id(value.op) if isinstance(value, Variable) else id(value)


def once(values: Iterable[Any]) -> list[Any]:
    """Return each value where it comes first."""
    found: dict[Any, Any] = {}
    for value in values:
        found.setdefault(identity(value), value)
    return list(found.values())
