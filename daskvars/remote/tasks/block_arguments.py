"""What a worker does for one block of a region: put the inputs together, call the function.

A task carries plain data only: which of its dependencies, and which of their outputs, every
argument of the region's function is made from.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

import numpy

from daskvars.device_array import as_input
from daskvars.kernels.control.tensor_lists import joined
from daskvars.remote.tasks.table_rows import RowRequests, Rows, TableBlocks


class Literal:
    """Data that Dask must not look into for keys."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class Take(NamedTuple):
    """Takes one dependency of a task: all of it, or one of its outputs."""

    dependency: int
    position: int | None


class Cut(NamedTuple):
    """A value put together from slices: [(block, slice of the block, slice of the array)]."""

    shape: tuple[int, ...]
    parts: tuple[tuple[Any, tuple[slice, ...], tuple[slice, ...]], ...]


def source_in(value: Any, is_pulled: bool, source: Any) -> Any:
    """Return which slice of a value a Cut takes: all of an array that was pulled as that slice."""
    return ... if is_pulled and isinstance(value, numpy.ndarray) else source


def plain(value: Any) -> Any:
    """Return a dependency without its wrapping."""
    return value.value if isinstance(value, Literal) else value


def run_block(
    function: Callable[..., tuple], xp: Any, steps: Literal, dependencies: Sequence[Any]
) -> tuple:
    """Run one block of a region.

    Args:
      xp: the array module that computes it.
      steps: for each of its arguments a Take, a Cut or Rows whose blocks are Takes, or plain data.
      dependencies: results of other tasks and Literals.

    Returns:
      The region's outputs, as one result.
    """

    def taken(item: Take) -> Any:
        value = plain(dependencies[item.dependency])
        return value if item.position is None else value[item.position]

    def as_argument(value: Any, number: int) -> Any:
        return as_input(xp, value)

    return function(*arguments_of(steps.value, taken, as_argument, xp))


def arguments_of(
    steps: Sequence[Any],
    taken: Callable[[Take], Any],
    as_argument: Callable[[Any, int], Any],
    xp: Any,
    pulled: Collection[int] = (),
) -> list[Any]:
    """Return the arguments of a region's function.

    Args:
      steps: as in `run_block`.
      as_argument: ``as_argument(value, number)`` gives what is taken for an argument, or put
        together with others to one.
      xp: the module of the arrays that `as_argument` gives.
      pulled: the dependencies that are slices already, as the Cuts want them.
    """
    arguments: list[Any] = []
    requests = RowRequests()
    for number, step in enumerate(steps):
        if isinstance(step, Take):
            arguments.append(as_argument(taken(step), number))
        elif isinstance(step, Cut):
            parts: list[Any] = []
            for item, source, target in step.parts:
                value = taken(item)
                source = source_in(value, item.dependency in pulled, source)
                parts.append((as_argument(value, -1), source, target))
            arguments.append(joined(xp, step.shape, parts))
        elif isinstance(step, Rows):
            arguments.append(TableBlocks(xp, list(map(taken, step.parts)), requests))
        else:
            arguments.append(step)
    return arguments
