"""What a chain would keep for a later one is made again there, where that is less to keep.

A gradient takes what the forward step made: of a gelu that is written out 1 + t, x / 2, 1 - t^2 and
x^2, four arrays of its size, each written to memory and read again. From x and t they are made in
the cache by a product or a sum each. So values of a chain that only one later chain takes are not
kept if they follow, by few cheap calls, from fewer values: from what the chain was given, what it
keeps anyhow, or one value of its own in place of two or more. What is written over one of these, as
a product with its bias added is, is kept in place of it. XLA and PyTorch look for a minimal
cut of the whole graph; in a chain there are few values to try.

An element's value depends on that element alone, so what is made again has the same bits.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

from daskvars.remote.regions.chains.broadcasts import without_broadcasts
from daskvars.remote.regions.chains.ufunc_steps import in_steps
from daskvars.remote.regions.region_program import (
    Call,
    RegionProgram,
    memory_roots,
    registers_after,
    sizes_of,
)

CHEAP = {"add", "subtract", "multiply", "negative", "square", "maximum", "minimum"}
MOST_CALLS = 3  # that make one value again
SMALL = 8  # an array that is so many times smaller may be kept as well

Chains = Callable[[Sequence[Call]], Mapping[int, int]]
"""``chains(calls)``: start -> end of each run of calls that are made as one."""


def recomputed(program: RegionProgram, chains: Chains) -> Sequence[Call]:
    """Return the calls of a region with less that its chains keep for one another."""
    first = chains(program.calls)
    if not first:  # as of most small regions, and all that follows is about chains
        return program.calls
    calls: Sequence[Call] = in_steps(program, first)
    calls = without_broadcasts(program, calls, chains(calls))
    calls = _said_once(program, calls, chains(calls))
    found = chains(calls)
    return _Recomputation(program, calls, found).calls() if len(found) > 1 else calls


def _said_once(
    program: RegionProgram, calls: Sequence[Call], chains: Mapping[int, int]
) -> Sequence[Call]:
    """Return the calls without those that an earlier one of their chain has made already."""
    fixed = {*program.outputs, *program.into}
    same: dict[int, int] = {}
    dropped = set()
    for start, end in chains.items():
        made: dict[Any, int] = {}
        for number in range(start, end):
            call = _renamed(calls[number], same)
            if isinstance(call.kernel, str) and not call.attrs and call.outs[0] not in fixed:
                first = made.setdefault((call.kernel, call.args, call.dtypes), call.outs[0])
                if first != call.outs[0]:
                    same[call.outs[0]] = first
                    dropped.add(number)
    if not dropped:
        return calls
    return [_renamed(call, same) for n, call in enumerate(calls) if n not in dropped]


def _renamed(call: Call, names: Mapping[int, int]) -> Call:
    if names.keys().isdisjoint(call.args):
        return call
    return call._replace(args=tuple(names.get(register, register) for register in call.args))


class _Recomputation:
    """The calls of a region, and what its chains make again."""

    def __init__(
        self, program: RegionProgram, old: Sequence[Call], chains: Mapping[int, int]
    ) -> None:
        self._program, self._old, self._chains = program, old, chains
        self._chain_of = {n: start for start, end in chains.items() for n in range(start, end)}
        self._fresh = {
            register
            for call in old
            for register in call.outs
            if (call.fresh or call.elementwise) and not call.views
        }
        self._uses: defaultdict[int, list[int]] = defaultdict(list)
        for number, call in enumerate(old):
            for register in call.args:
                self._uses[register].append(number)
        for register in program.outputs:
            self._uses[register].append(len(old))  # after all calls
        self._sizes = sizes_of(program, old)
        self._unsteady = _written_over(program, old)
        self._new_register = registers_after(old)
        self._first: dict[int, list[Call]] = {}  # start of a chain -> what it makes again
        self._names: dict[int, dict[int, int]] = {}  # ... -> value -> the one that is made again

    def calls(self) -> Sequence[Call]:
        """Return the calls, each chain's with what it makes again before them."""
        for start in sorted(self._chains, reverse=True):
            end = self._chains[start]
            makers = {call.outs[0]: call for call in self._old[start:end] if call.elementwise}
            for later, needed in self._taken_by_one(makers, end):
                self._make_again(makers, needed, later, end - 1)
        if not self._first:
            return self._old
        found: list[Call] = []
        for number, call in enumerate(self._old):
            found += self._first.get(number, ())
            found.append(_renamed(call, self._names.get(self._chain_of.get(number, -1), {})))
        return self._without_unused(found)

    def _taken_by_one(
        self, makers: Mapping[int, Call], end: int
    ) -> Iterator[tuple[int, list[int]]]:
        """Yield the start of a later chain, of the same shape, and what it alone takes."""
        taken: dict[int, list[int]] = defaultdict(list)
        shapes = next(iter(makers.values())).shapes
        for register in makers:
            chains = {self._chain_of.get(n, -1) for n in self._uses[register] if n >= end}
            if len(chains) == 1 and register not in self._unsteady:
                taken[chains.pop()].append(register)
        for later, registers in taken.items():
            if later >= 0 and self._old[later].shapes == shapes:
                yield later, registers

    def _make_again(
        self, makers: Mapping[int, Call], needed: Sequence[int], later: int, end: int
    ) -> None:
        """Have a later chain make what it alone takes of one that has its last call at `end`."""
        given = {register for call in makers.values() for register in call.args}
        taken = {register for register in makers if self._last_use(register) > end}
        base = ((given - makers.keys()) | taken) - set(needed) - self._unsteady
        ends = {r for r in base if self._is_large(r, needed[0]) and self._last_use(r) < later}
        found = self._following(makers, needed, base)
        kept = _arguments(found.values()) & ends
        if len(kept) > len(found):
            kept = set()
            found = self._following(makers, needed, base - ends)
        base -= ends - kept
        over = {end: r for end in kept if (r := self._written_over_it(end)) is not None}
        if over:
            base = (base - over.keys()) | set(over.values())
            needed = [register for register in needed if register not in base]
            found = self._following(makers, needed, base)
        others = [r for r in makers if r not in base and r not in needed]
        while others:
            left = [register for register in needed if register not in found]
            tried = {r: self._following(makers, left, {*base, r}) for r in others}
            best = max(others, key=lambda register: len(tried[register]))
            if len(tried[best]) < 2:
                break
            others.remove(best)
            base.add(best)
            found.update(tried[best])
        self._add(found, later)

    def _written_over_it(self, register: int) -> int | None:
        """Return the value that is made in the memory of another, of which nobody else takes."""
        users = set(self._uses[register])
        if register not in self._fresh or len(users) != 1 or min(users) == len(self._old):
            return None
        user = self._old[min(users)]
        return user.outs[0] if user.elementwise else None

    def _following(
        self, makers: Mapping[int, Call], needed: Sequence[int], base: Collection[int]
    ) -> dict[int, dict[int, Call]]:
        """Return value -> the calls that make it from `base`, for those of which there are few."""
        tried = ((register, self._calls_for(register, makers, base)) for register in needed)
        return {register: calls for register, calls in tried if calls is not None}

    def _calls_for(
        self, register: int, makers: Mapping[int, Call], base: Collection[int]
    ) -> dict[int, Call] | None:
        if register in base:
            return {}
        call = makers.get(register)
        if call is None or not self._is_cheap(call):
            return None
        found: dict[int, Call] = {}
        for argument in call.args:
            calls = self._calls_for(argument, makers, base)
            if calls is None:
                return None
            found.update(calls)
        return {**found, register: call} if len(found) < MOST_CALLS else None

    def _is_cheap(self, call: Call) -> bool:
        return isinstance(call.kernel, str) and call.kernel in CHEAP and not call.attrs

    def _last_use(self, register: int) -> int:
        return max(self._uses[register], default=-1)

    def _is_large(self, register: int, other: int) -> bool:
        """Return whether a value is about as large as another, or of unknown size."""
        return self._sizes.get(register, math.inf) * SMALL > self._sizes[other]

    def _add(self, found: Mapping[int, Mapping[int, Call]], later: int) -> None:
        """Add calls before a chain, under names of its own."""
        made = {register: call for calls in found.values() for register, call in calls.items()}
        names = {register: next(self._new_register) for register in made}
        for register in _arguments(found.values()):
            self._uses[register].append(later)
        again = [_renamed(call, names)._replace(outs=(names[r],)) for r, call in made.items()]
        self._first[later] = [*again, *self._first.get(later, ())]
        chosen = {register: names[register] for register in found}
        self._names.setdefault(later, {}).update(chosen)

    def _without_unused(self, calls: Sequence[Call]) -> list[Call]:
        """Return the calls without the cheap ones of which nobody takes what they make."""
        used = {*self._program.outputs, *self._program.into}
        found = []
        for call in reversed(calls):
            if used.isdisjoint(call.outs) and self._is_cheap(call):
                continue
            used.update(call.args, (call.block,))
            found.append(call)
        return found[::-1]


def _arguments(found: Collection[Mapping[int, Call]]) -> set[int]:
    """Return what calls take that they do not make."""
    calls = [call for made in found for call in made.values()]
    made = {register for call in calls for register in call.outs}
    return {register for call in calls for register in call.args} - made


def _written_over(program: RegionProgram, calls: Sequence[Call]) -> set[int]:
    """Return what changes while the region runs, and what may share its memory."""
    written, roots = {*program.into, *program.into.values()}, memory_roots(calls)
    memory = {roots.get(register) for register in written} - {None}
    return written.union(register for register, root in roots.items() if root in memory)
