"""What a worker does for one block of a region: put the inputs together, call the function.

A task carries plain data only: which of its dependencies, and which output of each bundle, every
argument of the region's function is made from.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy


class Literal:
    """Data that Dask must not look into for keys."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class Take(NamedTuple):
    """Takes one dependency of a task: all of it, or one output of its bundle."""

    dependency: int
    position: int | None


class Cut(NamedTuple):
    """An array put together from slices: [(piece, slice of the piece, slice of the array)]."""

    shape: tuple[int, ...]
    parts: tuple[tuple[Any, tuple[slice, ...], tuple[slice, ...]], ...]


def plain(value: Any) -> Any:
    """Return a dependency without its wrapping."""
    return value.value if isinstance(value, Literal) else value


def cut_array(shape: tuple[int, ...], parts: Sequence[tuple[Any, Any, Any]]) -> Any:
    """Return the array put together from slices; a view where one slice is all of it."""
    if len(parts) == 1:
        array, source, _ = parts[0]
        return array[source]
    result = numpy.empty_like(parts[0][0], shape=shape)
    for array, source, target in parts:
        result[target] = array[source]
    return result


def run_block(function: Callable[..., tuple], steps: Literal, dependencies: Sequence[Any]) -> tuple:
    """Run one block of a region.

    Args:
      function: the compiled region.
      steps: for each of its arguments a Take, a Cut whose pieces are Takes, or plain data.
      dependencies: results of other tasks (bundles) and Literals.

    Returns:
      The region's outputs, as one bundle.
    """

    def take(item: Take) -> Any:
        found = plain(dependencies[item.dependency])
        return found if item.position is None else found[item.position]

    arguments: list[Any] = []
    for step in steps.value:
        if isinstance(step, Take):
            arguments.append(take(step))
        elif isinstance(step, Cut):
            arguments.append(cut_array(step.shape, [(take(i), s, t) for i, s, t in step.parts]))
        else:
            arguments.append(step)
    return function(*arguments)
