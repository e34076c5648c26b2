"""Nested lists, tuples, named tuples and dicts: flattened, and packed again."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any


def flatten(structure: Any) -> list[Any]:
    """Return the leaves in order; a dict's in the order of its sorted keys."""
    return list(_leaves(structure))


def _leaves(structure: Any) -> Iterator[Any]:
    if isinstance(structure, list | tuple):
        for item in structure:
            yield from _leaves(item)
    elif isinstance(structure, Mapping):
        for key in sorted(structure):
            yield from _leaves(structure[key])
    else:
        yield structure


def pack(structure: Any, leaves: list[Any]) -> Any:
    """Return `leaves` in the form of `structure`."""
    rest = iter(leaves)
    return map_structure(lambda _: next(rest), structure)


def map_structure(function: Callable[[Any], Any], structure: Any) -> Any:
    """Return the structure with ``function(leaf)`` for each leaf."""
    if isinstance(structure, Mapping):
        mapped = {key: map_structure(function, structure[key]) for key in sorted(structure)}
        kind: Any = type(structure)
        return kind((key, mapped[key]) for key in structure)
    if isinstance(structure, list | tuple):
        items = [map_structure(function, item) for item in structure]
        if hasattr(structure, "_fields"):
            return type(structure)(*items)
        return type(structure)(items)
    return function(structure)


def assert_same_structure(first: Any, second: Any, what: str = "structures") -> None:
    """Check that both nest in the same way.

    Raises:
      ValueError: they differ in depth or in the number of elements.
      TypeError: they nest alike, but in containers of different types.
    """
    if map_structure(lambda _: 0, first) == map_structure(lambda _: 0, second):
        return
    if _plain(first) == _plain(second):
        raise TypeError(
            f"{what}: the two structures don't have the same nested structure: they don't have the "
            f"same sequence type: {first!r}, {second!r}"
        )
    one, other = len(flatten(first)), len(flatten(second))
    problem = "the two structures don't have the same nested structure"
    if one != other:
        problem += f": they don't have the same number of elements: {one} and {other}"
    raise ValueError(f"{what}: {problem}: {first!r} and {second!r}")


def _plain(structure: Any) -> Any:
    """Return the structure in tuples, without its leaves."""
    if isinstance(structure, Mapping):
        return tuple((key, _plain(structure[key])) for key in sorted(structure))
    return tuple(map(_plain, structure)) if isinstance(structure, list | tuple) else 0
