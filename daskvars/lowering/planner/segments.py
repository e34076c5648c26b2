"""Pass 14: regions that begin before all of what they take has come.

A block runs when all that it takes is there. A region of a whole step would wait for all weights,
and then compute: networks idle while processors work, and the other way round. So a region that
takes much from other blocks becomes *segments*, each of what is computed from the next few
megabytes: the first layer is computed while the weights of the second are on their way, and a
variable is updated while the gradients of the next one are. Segments of a region have the same
blocks, one after the other, so what one hands to the next is no task, no exchange and no copy.

What a block takes is held until it ends. So a segment ends as well where it has made a few
megabytes for other blocks: a layer's weights go when its gradients are there, not when those of all
layers are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from daskvars.lowering.planner.fuse import Group, taken_elsewhere
from daskvars.lowering.planner.sharding_report import movement
from daskvars.lowering.program import Node, Program, Ref, block_bytes, is_visible, spec_bytes


def segments(
    program: Program, groups: Sequence[Group], most_bytes: float = math.inf
) -> list[Group]:
    """Return the regions of `program` with those that wait for much in segments.

    Args:
      program: with layouts and places.
      groups: its regions.
      most_bytes: that a segment waits for, where it could wait for less than its region.
    """
    if math.isinf(most_bytes):
        return [*groups]
    taken = taken_elsewhere(program, groups)
    return [part for group in groups for part in _segments(group, taken, most_bytes)]


def _segments(group: Group, taken: set[Ref], most_bytes: float) -> Iterator[Group]:
    """Yield the segments of a group: each node is in the first that has what it takes.

    Once the last one has made enough for others, the next begins. Effects keep their order. What
    changes rows in place comes last, when nobody reads the old ones; what waits for nothing is
    computed beside what takes it.

    Args:
      taken: values that other regions take.
      most_bytes: that a segment waits for, or makes for others.
    """
    segment_of: dict[int, int] = {}
    arrivals: dict[tuple[Ref, object], int] = {}
    last = awaited = made = effects = 0
    for node in group.nodes:
        found = [effects] if is_visible(node) else []
        for position, ref in enumerate(node.inputs):
            arrival = ref, node.wanted[position]
            size = 0 if arrival in arrivals else _arriving_bytes(node, position)
            if size:
                if awaited and awaited + size > most_bytes:
                    last, awaited, made = last + 1, 0, 0
                awaited += size
                arrivals[arrival] = last
            if arrival in arrivals:
                found.append(arrivals[arrival])
            elif id(ref.node) in segment_of:
                found.append(segment_of[id(ref.node)])
        if found:
            segment = max(found)
            if segment == last and made > most_bytes:
                segment = last = last + 1
                awaited = made = 0
            segment_of[id(node)] = segment
            if segment == last:
                given = (Ref(node, number) for number in range(len(node.specs)))
                made += sum(block_bytes(ref.spec, ref.layout) for ref in given if ref in taken)
            if is_visible(node):
                effects = segment
    first_use: dict[int, int] = {}
    for node in reversed(group.nodes):
        segment = segment_of.setdefault(id(node), first_use.get(id(node), 0))
        for ref in node.inputs:
            first_use[id(ref.node)] = min(segment, first_use.get(id(ref.node), segment))
    segments: list[list[Node]] = [[] for _ in range(last + 1)]
    late: set[int] = set()
    for node in group.nodes:
        changes_rows = node.opdef is not None and node.opdef.in_place is not None
        if changes_rows or any(id(ref.node) in late for ref in node.inputs):
            late.add(id(node))
        segments[last if id(node) in late else segment_of[id(node)]].append(node)
    for number, nodes in enumerate(filter(None, segments)):
        yield Group(group.stage, group.grid, group.place, nodes, number > 0)


def _arriving_bytes(node: Node, position: int) -> int:
    """Return the bytes that a block takes for an input from blocks elsewhere; 0 for none."""
    ref, wanted = node.inputs[position], node.wanted[position]
    kind, times, moved = movement(node, position)
    if not kind or node.by_rows:
        return 0
    block = spec_bytes(ref.spec) if wanted is None else block_bytes(ref.spec, wanted)
    return min(moved, block) * (1 if node.merges is None else times)
