"""Functions of elements called for several at once, where the elements are to be a batch.

That is done where a function only computes, of arrays that have one shape in all elements: with
effects, or Python, it is called for one element before the next is made. What comes is the same:
values bit for bit, the random numbers of each element, errors, and which elements these are of.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy

from daskvars import backend, config
from daskvars.data.nodes.elements import Element, Together
from daskvars.data.nodes.node import has_errors
from daskvars.dtypes import DType, to_numpy
from daskvars.lowering.plan import Origin, Plan
from daskvars.lowering.program import CONSTANT, FEED, KEY
from daskvars.remote import tracing
from daskvars.remote.regions.compilation import several
from daskvars.remote.regions.several import Each, as_rows, each_of
from daskvars.remote.regions.stacked_kernels import Keys, Stacked, keys_of

MOST_SHAPES = 8  # that a function is planned for: each takes some ms


class Calls:
    """Calls of a function of elements in a pass.

    Args:
      function: takes an element, and a number for random draws.
      together: the function for several, None if it has to be called for each.
      number: gives the number of an element, of which it is from the first on.
    """

    def __init__(
        self,
        function: Callable[[Element, int], Element],
        together: FunctionTogether | None,
        number: Callable[[int], int],
    ) -> None:
        self._function, self._together, self._number = function, together, number

    @property
    def can_be_together(self) -> bool:
        """Whether several can be one call; else each is made before the element after it: effects
        tell, and what is large stays in the cache."""
        return self._together is not None and self._together.pays

    def __call__(self, element: Element, at: int) -> Element:
        """Return what the function gives for an element."""
        return self._function(element, self._number(at))

    def of_several(self, elements: Sequence[Any], places: Sequence[int]) -> Sequence[Any]:
        """Return what it gives for elements; errors among them are given on, or come of calls."""
        problem = None
        if self._together is not None and len(elements) > 1 and not has_errors(elements):
            try:
                found = self._together(elements, [*map(self._number, places)])
            except Exception as error:  # noqa: BLE001 - calls for each tell which one it is of
                problem = error
            else:
                if found is not None:
                    return found
        made = [self._made(*pair) for pair in zip(elements, places, strict=True)]
        if problem is not None and not has_errors(made) and config.get().check_every_run:
            raise problem
        return made

    def _made(self, element: Any, at: int) -> Any:
        """Return what the function gives for an element, or the error."""
        if isinstance(element, Exception):
            return element
        try:
            return self(element, at)
        except Exception as error:  # noqa: BLE001 - raised in its turn
            return error


class FunctionTogether:
    """A function of elements for several of them at once, in a pass.

    Args:
      plans: what it is for elements of some shapes; for all passes.
      captured: arrays around that the function uses.
      stream_of: gives the stream of random numbers of an op.
      computing: what calls are inside of.
    """

    def __init__(
        self,
        plans: PlansTogether,
        captured: Sequence[numpy.ndarray],
        dtypes: Sequence[DType],
        stream_of: Callable[[Any], int],
        computing: AbstractContextManager[Any],
    ) -> None:
        self._plans, self._captured, self._dtypes = plans, captured, dtypes
        self._stream_of, self._computing = stream_of, computing

    @property
    def pays(self) -> bool:
        """Whether elements are not known to be so large that each is to be a call."""
        return not self._plans.are_large

    def __call__(
        self, elements: Sequence[Element], numbers: Sequence[int]
    ) -> Sequence[Element] | None:
        """Return what it makes of elements; None where it has to be called for each.

        Args:
          elements: at least one.
          numbers: for random draws.
        """
        columns = columns_of(elements)
        function = None if columns is None else self._plans.of(columns, self._captured)
        if columns is None or function is None:
            return None
        keys = keys_of([self._stream_of(op) for op in function.draws], numbers)
        parts: list[list[Any]] = []
        done = 0
        while done < len(numbers):
            size = function.call_size
            if not size:
                self._plans.are_large = True
                return None
            part = slice(done, done + size)
            given = [column[part] for column in columns]
            drawn = [key.picked(part) for key in keys]
            with self._computing, backend.one_blas_thread, numpy.errstate(all="ignore"):
                results = function(given, self._captured, drawn)
            pairs = zip(results, self._dtypes, strict=True)
            parts.append([_rows(value, len(given[0]), dtype) for value, dtype in pairs])
            done += size
        found = [_whole(arrays) for arrays in zip(*parts, strict=True)]
        if all(isinstance(column, numpy.ndarray) for column in found):
            return Together(tuple(found))
        return list(zip(*map(_each, found), strict=True))


class PlansTogether:
    """What a function of elements is for several of them, by the shapes that they have.

    Args:
      plan_of: gives the plan for arrays: those of an element, then those around.

    Attributes:
      are_large: whether elements turned out to be so large that each is to be a call.
    """

    def __init__(self, plan_of: Callable[[Sequence[Any]], Plan]) -> None:
        self._plan_of, self.are_large = plan_of, False
        self._found: dict[Any, _OfShapes | None] = {}

    def of(
        self, columns: Sequence[numpy.ndarray], captured: Sequence[numpy.ndarray]
    ) -> _OfShapes | None:
        """Return the function for elements such as some; None if it has to be called for each."""
        key = tuple([(a.shape[1:], a.dtype) for a in columns]), tuple([a.shape for a in captured])
        if key not in self._found:
            if len(self._found) >= MOST_SHAPES:
                return None
            row = [column[0, ...] for column in columns]
            plan = self._plan_of([*row, *captured])
            self._found[key] = _OfShapes(plan, len(row)) if is_one_computation(plan) else None
        return self._found[key]


def columns_of(elements: Sequence[Element]) -> list[numpy.ndarray] | None:
    """Return the components of elements, each as one array; None where they cannot be that."""
    if isinstance(elements, Together):
        return list(elements.columns)
    columns = [as_rows(parts) for parts in zip(*elements, strict=True)]
    found = [column for column in columns if column is not None]
    return found if len(found) == len(columns) else None


def _rows(value: Any, count: int, dtype: DType) -> Any:
    """Return a result of elements as an array with a row for each, or a list of arrays."""
    if not isinstance(value, Stacked):
        values = [to_numpy(each, dtype) for each in each_of(value, count)]
        found = as_rows(values)
        return values if found is None else found
    return numpy.ascontiguousarray(to_numpy(value.array, dtype))


def _whole(parts: Sequence[Any]) -> Any:
    """Return what calls gave for a component, one after the other."""
    if len(parts) == 1:
        return parts[0]
    shapes = {part.shape[1:] if isinstance(part, numpy.ndarray) else None for part in parts}
    if len(shapes) == 1 and None not in shapes:
        return numpy.concatenate(parts)
    return [row for part in parts for row in _each(part)]


def _each(rows: Any) -> list[Any]:
    """Return the arrays of elements."""
    return Stacked(rows).each() if isinstance(rows, numpy.ndarray) else rows


def is_one_computation(plan: Plan) -> bool:
    """Return whether a plan is at most one region, which only computes."""
    if plan.num_tasks > 1 or plan.updates or plan.pieces or len(plan.regions) > 1:
        return False
    if {leaf.kind for leaf in plan.leaves} - {FEED, CONSTANT, KEY}:
        return False
    return all(
        backend.namespace(region.device_type) is numpy
        and not region.program.into
        and all(given.kind == "block" for given in region.inputs)
        for region in plan.regions
    )


class _OfShapes:
    """A function for several elements of known shapes.

    Args:
      num_given: arrays of an element; those around follow.

    Attributes:
      draws: the ops that draw random numbers.
    """

    def __init__(self, plan: Plan, num_given: int) -> None:
        self._num_given, self._leaves = num_given, plan.leaves
        self.draws = [leaf.what for leaf in plan.leaves if leaf.kind == KEY]
        region = plan.regions[0] if plan.regions else None
        self._region = None if region is None else several(region.program)
        self._inputs = [] if region is None else [given.origin for given in region.inputs]
        self._outputs = [output.origin for output in plan.outputs]
        copied = () if region is None else region.program.copied
        self._shared = {
            number
            for number, (of_region, position) in enumerate(self._outputs)
            if of_region < 0 or position in copied
        }

    @property
    def call_size(self) -> int:
        """How many elements a call is for; 0 where they are so large that each is to be one."""
        return config.get().tile_elements if self._region is None else self._region.call_size

    def __call__(
        self,
        columns: Sequence[numpy.ndarray],
        captured: Sequence[numpy.ndarray],
        keys: Sequence[Keys],
    ) -> list[Any]:
        """Return what the function gives for elements, each result as `SeveralRegion` has it.

        Args:
          columns: their components.
          captured: arrays around.
          keys: their random keys, for each draw.
        """
        count = len(columns[0])
        results: list[Any] = []

        def value(origin: Origin) -> Any:
            if origin.region >= 0:
                return results[origin.position]
            leaf = self._leaves[origin.position]
            if leaf.kind == CONSTANT:
                return leaf.what
            if leaf.kind == KEY:
                return keys[self.draws.index(leaf.what)]
            place = leaf.what - self._num_given
            return Stacked(columns[leaf.what]) if place < 0 else captured[place]

        if self._region is not None:
            call: Callable[..., list[Any]] = self._region
            if tracing.here is not None:
                call = tracing.here.around("stage", self._region.label, call)
            results = call(count, [value(origin) for origin in self._inputs])
        found = [value(origin) for origin in self._outputs]
        return [
            _separate(each) if number in self._shared else each for number, each in enumerate(found)
        ]


def _separate(value: Any) -> Any:
    """Return a result in memory of its own: whoever takes elements may write into them."""
    if isinstance(value, Stacked):
        return Stacked(value.array.copy())
    return Each([each.copy() for each in value.values]) if isinstance(value, Each) else value
