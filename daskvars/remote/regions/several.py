"""Regions called for several elements at once: the straight line gone through once for all of them.

What a register holds is the same for all elements, or *stacked*, an array with a dimension of
elements in front, or one for *each*. A kernel with a rule (`stacked_kernels`) is called once, on
what is stacked; any other for one element after the other. Of a `cond` each branch is gone through
for the elements that take it. So the values are those of `compilation.compiled`, bit for bit, at a
fraction of the calls (m: a uint8 image of 32x32 made float, padded, cropped, flipped and brightened
at random takes 17 us, one by one 67).

What fails fails for all of them: who calls it tells by calls for one, which error comes where.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy

from daskvars import config
from daskvars.errors import invalid
from daskvars.kernels.control import flow
from daskvars.remote.regions.region_program import Call, RegionProgram, bytes_made, operand
from daskvars.remote.regions.result_check import check_results
from daskvars.remote.regions.stacked_kernels import (
    VARYING,
    Columns,
    Keys,
    Picked,
    Stacked,
    rule_of,
)
from daskvars.remote.tracing import Labels, Meter, layer_of, scope_of

# Of the largest array that a call makes, of all its elements: more calls cost Python's time, larger
# arrays leave the cache (m, images of 12 KB: with 1 MB a fifth slower, with 4 MB as quick).
CALL_BYTES = 1 << 21
FEWEST = 16  # elements of a call: where so few fill it, each is as quick alone (m: from 128 KB on)
FIRST_CALL = 4  # elements of the first call, which tells how large they are


class Each(NamedTuple):
    """What differs from element to element, in shape or altogether.

    Attributes:
      values: of the elements.
    """

    values: list[Any]

    def each(self) -> list[Any]:
        """Return them."""
        return self.values

    def picked(self, places: numpy.ndarray) -> Each:
        """Return those of some elements."""
        return Each([self.values[place] for place in places.tolist()])


DIFFERING: tuple[type[Any], ...] = (Stacked, Picked, Each, Keys, Columns)
KernelOf = Callable[[Call], Callable[..., Any]]


def as_rows(values: Sequence[Any]) -> numpy.ndarray | None:
    """Return arrays as the rows of one; None where they are not alike.

    >>> as_rows([numpy.zeros(2), numpy.ones(2)]).tolist()
    [[0.0, 0.0], [1.0, 1.0]]
    >>> as_rows([numpy.zeros(2), numpy.ones(3)])
    """
    first = values[0]
    if not isinstance(first, numpy.ndarray | numpy.generic):
        return None
    for value in values:
        if getattr(value, "shape", None) != first.shape or value.dtype != first.dtype:
            return None
    found = numpy.empty((len(values), *first.shape), first.dtype)
    is_text = first.dtype.hasobject and not first.shape
    for number, value in enumerate(values):
        found[number] = value[()] if is_text else value
    return found


def as_stacked(value: Any) -> Any:
    """Return what a register holds as `Stacked`, if that can be."""
    if isinstance(value, Picked):
        return Stacked(value.array[value.places])
    if not isinstance(value, Each):
        return value
    if not all(v.flags.c_contiguous for v in value.values if isinstance(v, numpy.ndarray)):
        return value  # bits of sums depend on how arrays lie, and rows lie otherwise
    array = as_rows(value.values)
    return value if array is None else Stacked(array)


class SeveralRegion:
    """A region that is called for several elements at once.

    Args:
      program: the region; nothing is written into memory of its inputs, which results may share.
      kernel_of: gives the function that a call is of, for one element.
      meter: is told what the kernels took, each time the region has been called.

    Attributes:
      label: scope of the region.
      largest_bytes: of the largest array of an element that was given or made so far, or that
        shapes tell of.
    """

    def __init__(
        self, program: RegionProgram, kernel_of: KernelOf, meter: Meter | None = None
    ) -> None:
        self._program, self.label = program, program.label
        self.largest_bytes: float = max(bytes_made(program.calls).values(), default=0)
        self._meter = None if meter is None else partial(meter, labels_of(program.calls))
        self._calls = [_SeveralCall(call, kernel_of) for call in program.calls]
        last = {register: i for i, call in enumerate(program.calls) for register in call.args}
        self._dead: list[list[int]] = [[] for _ in program.calls]
        for register, i in last.items():
            if register not in program.outputs:
                self._dead[i].append(register)

    @property
    def call_size(self) -> int:
        """How many elements a call is for; 0 where they are so large that each is to be one."""
        if not self.largest_bytes:
            return FIRST_CALL
        size = int(CALL_BYTES // self.largest_bytes)
        return size if size >= FEWEST else 0

    def __call__(self, count: int, inputs: Sequence[Any]) -> list[Any]:
        """Return what the region gives.

        Args:
          count: elements, at least one.
          inputs: each `Stacked`, `Each`, `Keys`, or what is the same for all.
        """
        values = {**dict(enumerate(inputs)), **self._program.constants}
        self._measure(count, inputs)
        times = [time.perf_counter()]
        for call, dead in zip(self._calls, self._dead, strict=True):
            if call.takes_stacked:
                for register in call.args:
                    if isinstance(values[register], Picked | Each):
                        values[register] = as_stacked(values[register])
            results = call(count, [values[register] for register in call.args])
            values.update(zip(call.outs, results, strict=True))
            self._measure(count, results)
            for register in dead:
                del values[register]
            if self._meter is not None:
                times.append(time.perf_counter())
        if self._meter is not None:
            self._meter(times)
        return [values[register] for register in self._program.outputs]

    def _measure(self, count: int, values: Sequence[Any]) -> None:
        for value in values:
            if isinstance(value, Stacked):
                found = value.array.nbytes / count
            elif isinstance(value, Each):
                found = getattr(value.values[0], "nbytes", 0)
            else:
                continue
            if found > self.largest_bytes:
                self.largest_bytes = found


def labels_of(calls: Sequence[Call]) -> Labels:
    """Return what calls are, each by itself."""
    kernels = tuple(
        call.kernel if isinstance(call.kernel, str) else call.kernel.__name__ for call in calls
    )
    return Labels(
        kernels,
        tuple(call.name for call in calls),
        tuple(layer_of(scope_of(call.name)) for call in calls),
        tuple({"kernel": kernel} for kernel in kernels),
    )


class _SeveralCall:
    """A call of a kernel, for several elements.

    Attributes:
      args, outs: its registers.
      takes_stacked: whether it goes through elements at once where they are stacked.
    """

    def __init__(self, call: Call, kernel_of: KernelOf) -> None:
        self.args, self.outs = call.args, call.outs
        self._call, self._kernel, self._rule = call, kernel_of(call), rule_of(call)
        self._num_arrays = len(call.args) - len(call.operands)
        self._branches, self._is_checked = None, False
        if call.kernel is flow.cond:
            self._branches = [SeveralRegion(branch, kernel_of) for branch in call.attrs["branches"]]
        self.takes_stacked = self._rule is not None or self._branches is not None

    def __call__(self, count: int, arguments: Sequence[Any]) -> Sequence[Any]:
        """Return the results, each as a register holds it."""
        if not any(isinstance(argument, DIFFERING) for argument in arguments):
            first = self._num_arrays
            same = (*arguments[:first], *map(operand, arguments[first:]))
            return self._results(self._kernel(*same))
        if self._branches is not None and isinstance(arguments[0], Stacked):
            return _of_branches(self._branches, count, arguments)
        found = None if self._rule is None else self._by_rule(arguments)
        if found is None:
            return self._one_by_one(count, arguments)
        results = self._results(found)
        if not self._is_checked or config.get().check_every_run:
            self._check(count, results)
            self._is_checked = True
        return results

    def _results(self, found: Any) -> Sequence[Any]:
        return found if self._call.multiple else (found,)

    def _by_rule(self, arguments: Sequence[Any]) -> Any:
        call = self._call
        assert self._rule is not None
        for argument in arguments:
            if isinstance(argument, Each):
                return None
        if not call.operands:
            return self._rule(arguments, call.attrs)
        arrays, operands = arguments[: self._num_arrays], arguments[self._num_arrays :]
        attrs = dict(call.attrs)
        for key, value in zip(call.operands, operands, strict=True):
            if isinstance(value, DIFFERING) and call.kernel not in VARYING:
                return None
            attrs[key] = value if isinstance(value, DIFFERING) else operand(value)
        return self._rule(arrays, attrs)

    def _one_by_one(self, count: int, arguments: Sequence[Any]) -> Sequence[Any]:
        columns: list[Sequence[Any]] = []
        for number, argument in enumerate(arguments):
            differs, is_operand = isinstance(argument, DIFFERING), number >= self._num_arrays
            if not differs:
                columns.append([operand(argument) if is_operand else argument] * count)
            else:
                values = argument.each()
                columns.append([*map(operand, values)] if is_operand else values)
        found = [self._results(self._kernel(*row)) for row in zip(*columns, strict=True)]
        check_results(found[0], self._call.promised)
        return [Each(list(values)) for values in zip(*found, strict=True)]

    def _check(self, count: int, results: Sequence[Any]) -> None:
        """Raise InvalidArgumentError where a rule gave what the op does not promise."""
        for result, (dtype, shape) in zip(results, self._call.promised, strict=False):
            if isinstance(result, Stacked):
                sizes = None if shape is None else (count, *shape)
                check_results([result.array], [(dtype, sizes)])


def _of_branches(
    branches: Sequence[SeveralRegion], count: int, arguments: Sequence[Any]
) -> list[Any]:
    """Return what branches give for the elements that take them."""
    wanted = arguments[0].array
    if wanted.ndim != 1:
        raise invalid(f"a condition has shape {wanted.shape[1:]}")
    sides = [numpy.flatnonzero(wanted), numpy.flatnonzero(~wanted.astype(bool))]
    for branch, places in zip(branches, sides, strict=True):
        if len(places) == count:
            return branch(count, arguments)
    given = [
        branch(
            len(places), [a.picked(places) if isinstance(a, DIFFERING) else a for a in arguments]
        )
        for branch, places in zip(branches, sides, strict=True)
    ]
    return [_merged(count, sides, parts) for parts in zip(*given, strict=True)]


def _merged(count: int, sides: Sequence[numpy.ndarray], parts: Sequence[Any]) -> Any:
    """Return what is for elements at some places and at all others as one."""
    parts = [part if isinstance(part, Picked) else as_stacked(part) for part in parts]
    rows = [part.array[0] if isinstance(part, Stacked | Picked) else part for part in parts]
    if as_rows(rows) is None:
        values: list[Any] = [None] * count
        for places, part in zip(sides, parts, strict=True):
            for place, value in zip(places.tolist(), each_of(part, len(places)), strict=True):
                values[place] = value
        return Each(values)
    # What a branch gives on as it is given is at its places already.
    there = [n for n, p in enumerate(parts) if isinstance(p, Picked) and len(p.array) == count][:1]
    found = numpy.empty((count, *rows[0].shape), rows[0].dtype)
    if there:
        found[...] = parts[there[0]].array
    for number, (places, part) in enumerate(zip(sides, parts, strict=True)):
        if number not in there:
            value = as_stacked(part)
            found[places] = value.array if isinstance(value, Stacked) else value
    return Stacked(found)


def each_of(value: Any, count: int) -> list[Any]:
    """Return what a register holds as one value for each element."""
    return value.each() if isinstance(value, DIFFERING) else [value] * count
