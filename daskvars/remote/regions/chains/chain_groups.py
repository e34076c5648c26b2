"""Chains that need nothing of one another, side by side: threads that are idle share their tiles.

An optimizer updates each variable by a chain of its own. One of a MiB has a tile or two, too few
for threads, but all of them together are work for each. So where that pays, chains are moved behind
one another, and those that follow one another are one group. Each chain makes what it would have
made alone, of the same inputs: the bits are the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from daskvars.connected_parts import connected
from daskvars.remote.regions.chains import tiling
from daskvars.remote.regions.region_program import Call, RegionProgram, sizes_of


class Group(NamedTuple):
    """Calls ``start ... end - 1`` of a region, as chains that need nothing of one another."""

    end: int
    parts: Sequence[Sequence[Call]]


def together(
    program: RegionProgram, calls: Sequence[Call], chains: Mapping[int, int]
) -> Sequence[Call]:
    """Return the calls, chains as late as the first call that takes what one of them makes.

    Only those are moved that take the region's inputs and scalars: nothing is kept longer for it.
    """
    if program.into or len(chains) < 2:
        return calls
    scalars = {call.outs[0] for call in calls if call.outs and call.shapes[:1] == ((),)}
    kept = {*range(program.num_inputs), *program.constants, *scalars}
    found: list[Call] = []
    waiting: list[Call] = []
    number = 0
    while number < len(calls):
        part = calls[number : chains.get(number, number + 1)]
        made = {call.outs[0] for call in waiting}
        if any(not made.isdisjoint((*call.args, call.block)) for call in part):
            found += waiting
            waiting = []
        own = {register for call in part for register in call.outs}
        is_moved = number in chains and all(kept.union(own).issuperset(c.args) for c in part)
        (waiting if is_moved else found).extend(part)
        number += len(part)
    return found + waiting


def groups(
    program: RegionProgram,
    calls: Sequence[Call],
    chains: Mapping[int, int],
    root: Mapping[int, int],
) -> dict[int, Group]:
    """Return start -> group for all chains; where threads would not pay, each by itself.

    Args:
      program: the region.
      calls: those of it, in the order in which they will be made.
      chains: start -> end of each run of calls that are made as one.
      root: value -> the one whose memory it shares; see `AliasAnalysis`.
    """
    found: dict[int, Group] = {}
    if not chains:
        return found
    sizes = sizes_of(program, calls)
    run: list[int] = []  # starts of chains that follow one another and may be side by side
    around = _Memory()
    for start, end in chains.items():
        memory = _Memory.of(calls[start:end], program.into, root)
        if run and (chains[run[-1]] != start or around.meets(memory)):
            found.update(_grouped(calls, chains, run, sizes, root))
            run, around = [], _Memory()
        run.append(start)
        around = around.with_(memory)
    found.update(_grouped(calls, chains, run, sizes, root))
    return found


class _Memory(NamedTuple):
    """What chains take, make, and write over."""

    taken: frozenset[int] = frozenset()
    made: frozenset[int] = frozenset()
    changed: frozenset[int] = frozenset()

    @classmethod
    def of(cls, calls: Sequence[Call], into: Mapping[int, int], root: Mapping[int, int]) -> _Memory:
        made = frozenset(call.outs[0] for call in calls)
        taken = {register for call in calls for register in call.args} - made
        changed = {into[register] for register in made if register in into}
        return cls(
            *(frozenset(root.get(r, r) for r in registers) for registers in (taken, made, changed))
        )

    def meets(self, other: _Memory) -> bool:
        """Return whether one takes, or changes, what the other makes or changes."""
        return bool(
            other.taken & (self.made | self.changed) or other.changed & (self.taken | self.changed)
        )

    def with_(self, other: _Memory) -> _Memory:
        return _Memory(*(mine | theirs for mine, theirs in zip(self, other, strict=True)))


def _grouped(
    calls: Sequence[Call],
    chains: Mapping[int, int],
    run: Sequence[int],
    sizes: Mapping[int, int],
    root: Mapping[int, int],
) -> dict[int, Group]:
    """Return the groups of chains that may be side by side."""
    if not run:
        return {}
    whole = {start: calls[start : chains[start]] for start in run}
    elements = sum(sizes[part[0].outs[0]] * len(part) for part in whole.values())
    parts = [part for chain in whole.values() for part in _parts(chain, sizes, root)]
    # An error names the operation of its line, and a group is one line.
    may_fail = any(not isinstance(call.kernel, str) for part in parts for call in part)
    if len(parts) < 2 or elements < 2 * tiling.THREAD_ELEMENTS or may_fail:
        return {start: Group(chains[start], [part]) for start, part in whole.items()}
    return {run[0]: Group(chains[run[-1]], parts)}


def _parts(
    chain: Sequence[Call], sizes: Mapping[int, int], root: Mapping[int, int]
) -> Iterator[list[Call]]:
    """Yield the calls of a chain that have no array of its size in common with others."""
    size = sizes[chain[0].outs[0]]
    first: dict[int, int] = {}  # large value -> the first call that has to do with it
    links = [
        (number, first.setdefault(root.get(register, register), number))
        for number, call in enumerate(chain)
        for register in (*call.args, *call.outs)
        if sizes.get(register, size) >= size
    ]
    for part in connected(len(chain), links):
        yield [chain[number] for number in part]
