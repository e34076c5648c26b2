"""Which outputs of a task travel together.

A task returns all outputs of its region under one key, and Dask moves what is there whole. So
outputs that different tasks want (weights that every part of the batch reads, slots that only the
update reads) are put apart by small `pick` tasks, where that saves more than such a task costs.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from daskvars.execution.engine.steps import updated_inputs
from daskvars.lowering.plan import Plan, PlanValue
from daskvars.lowering.program import STATE, block_bytes

SPLIT_BYTES = 1 << 20
"""Bytes that must be spared: a task costs about as much as moving a megabyte."""


@dataclass(frozen=True, slots=True)
class OutputGroups:
    """How the outputs of one region are grouped.

    Attributes:
      groups: positions of the outputs in each group; one group needs no `pick`.
      where: output position -> (group, position in it).
      sizes: bytes of each output of one block, about.
      in_place: positions of variables of which rows change, in the memory that they have.
    """

    groups: tuple[tuple[int, ...], ...]
    where: dict[int, tuple[int, int]]
    sizes: tuple[int, ...]
    in_place: frozenset[int]

    @property
    def new_bytes(self) -> int:
        """The bytes of what takes memory of its own, of one block, about."""
        return sum(size for p, size in enumerate(self.sizes) if p not in self.in_place)

    @property
    def is_split(self) -> bool:
        """Whether groups are picked out of the task's outputs."""
        return len(self.groups) > 1

    def extra_bytes(self, position: int) -> int:
        """Return how many bytes travel with an output besides its own."""
        group = self.groups[self.where[position][0]]
        return sum(self.sizes[p] for p in group) - self.sizes[position]


def output_groups(plan: Plan) -> list[OutputGroups]:
    """Return the grouping of each region's outputs."""
    wanted, values = _wanted(plan)
    found = []
    for number, region in enumerate(plan.regions):
        positions = range(len(region.program.outputs))
        sizes = [
            block_bytes(v.spec, v.layout) if (v := values.get((number, p))) else 0
            for p in positions
        ]
        in_place = _in_place(plan, number)
        moved = [0 if p in in_place else size for p, size in enumerate(sizes)]
        apart: dict[Any, list[int]] = {}
        for position in positions:
            readers = frozenset(wanted[number, position])
            # Nobody of this plan reads it, others may: a large one is worth a group of its own.
            alone = not readers and moved[position] >= SPLIT_BYTES
            apart.setdefault(position if alone else readers, []).append(position)
        groups = tuple(map(tuple, apart.values()))
        spared = sum(moved) - max((sum(moved[p] for p in g) for g in groups), default=0)
        if spared < SPLIT_BYTES:
            groups = (tuple(positions),)
        where = {p: (g, i) for g, group in enumerate(groups) for i, p in enumerate(group)}
        found.append(OutputGroups(groups, where, tuple(sizes), in_place))
    return found


def new_value_bytes(plan: Plan, found: Sequence[OutputGroups]) -> int:
    """Return the bytes of new values of variables, but for those of which only rows change."""
    return sum(
        value.nbytes()
        for value in plan.updates.values()
        if (origin := value.origin).region < 0
        or origin.position not in found[origin.region].in_place
    )


def _in_place(plan: Plan, number: int) -> frozenset[int]:
    """Return the outputs that are variables of which rows change: who reads rows goes there."""
    program = plan.regions[number].program
    made = {slot: call for call in program.calls for slot in call.outs}
    return frozenset(
        position
        for position in updated_inputs(plan, number)
        if (call := made.get(program.outputs[position])) is not None and call.in_place is not None
    )


def _wanted(plan: Plan) -> tuple[dict[Any, set[Any]], dict[Any, PlanValue]]:
    """Return who wants each output, in this run or as state in the next, and its value."""
    wanted: dict[Any, set[Any]] = defaultdict(set)
    values: dict[Any, PlanValue] = {}
    state_readers: dict[str, set[Any]] = defaultdict(set)
    for number, region in enumerate(plan.regions):
        for region_input in region.inputs:
            if region_input.value is None:
                continue
            origin = region_input.value.origin
            if origin.region >= 0:
                wanted[origin].add(number)
                values[origin] = region_input.value
            elif plan.leaves[origin.position].kind == STATE:
                state_readers[plan.leaves[origin.position].what].add(("next", number))
    for value in plan.outputs:
        wanted[value.origin].add("client")
        values[value.origin] = value
    for key, value in plan.updates.items():
        wanted[value.origin].update(state_readers[key])
        values[value.origin] = value
    return wanted, values
