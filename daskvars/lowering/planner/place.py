"""Pass 12: where each node runs.

A node runs where its operation's device says, and what changes a variable where the variable is.
What asks for nothing joins its neighbours if that costs no more bytes than staying apart: it then
needs no task of its own. Whatever is left runs anywhere: next to what it takes. A program of little
work that needs no worker is placed nowhere: the client does it (`client_work`).

A place is a device with, after "@", where among the device's workers the first block goes: "@2" is
anywhere, beginning with the third worker. It names no worker, so a plan outlives them.
"""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Protocol

from daskvars.chunk_grid import Chunks
from daskvars.graph.definitions.opdef import Spec
from daskvars.graph.scopes.device import DeviceSpec
from daskvars.lowering.planner.client_work import client_seconds, seconds_here
from daskvars.lowering.planner.propagate import by_dimension, is_cut, looks_rows_up
from daskvars.lowering.program import STATE, UNKNOWN, Leaf, Node, Program, Ref, spec_bytes
from daskvars.shapes import is_known


class Places(Protocol):
    """What knows which places there are.

    Attributes:
      why_anywhere: the reason, in words, of what may run anywhere.
      most_task_bytes: that a task should take and give; infinity where memory is no matter.
      spare_bytes: that a thread has for variables and one task; infinity likewise.
      most_awaited_bytes: that a region should wait for; infinity where all is at hand.
    """

    why_anywhere: str
    most_awaited_bytes: float

    @property
    def most_task_bytes(self) -> float:
        """See above."""

    @property
    def spare_bytes(self) -> float:
        """See above."""

    def of_device(self, device: str, name: str) -> tuple[str, str]:
        """Return the place of the operation of a name on a device, and the reason in words."""

    def of_variable(self, key: str, device: str, spec: Spec, layout: Chunks | None) -> str:
        """Return the place of a variable that a program writes."""


def place(program: Program, places: Places | None = None, client_work_s: float = 0.0) -> Program:
    """Return `program` with a place on every node; "" is anywhere.

    Args:
      program: with layouts.
      places: what there is to choose from; None where everything is in one place.
      client_work_s: the most seconds of work that the client does instead; 0 for none.
    """
    if places is None:
        if any(math.prod(node.grid) > 1 for node in program.nodes):
            program.seconds = seconds_here(program)
        return program
    program.client_s = client_seconds(program, client_work_s)
    if program.client_s is not None:
        return program
    for node in program.nodes:
        if node.device:
            node.place, node.reason = places.of_device(node.device, node.name)
            node.by_rows = node.by_rows or _looks_up_elsewhere(program, node)
    _join_neighbours(program, _place_updates(program, places))
    for node in program.nodes:
        node.reason = node.reason or places.why_anywhere
    return program


def device_of(place: str) -> str:
    """Return the device of a place, "" for none in particular."""
    return place.partition("@")[0]


def device_type_of(place: str) -> str:
    """Return the type of the device of a place: "CPU" unless it says another."""
    return DeviceSpec.from_string(device_of(place)).device_type or "CPU"


def _looks_up_elsewhere(program: Program, node: Node) -> bool:
    """Return whether rows are looked up on another device than their table's: they move alone."""
    if not looks_rows_up(node) or is_cut(node.inputs[0].layout):
        return False
    home = program.devices.get(node.inputs[0].leaf.what)
    return bool(home) and home != node.device and is_known(node.inputs[0].spec.shape)


def _place_updates(program: Program, places: Places) -> dict[str, str]:
    """Put each variable's new value where the variable is, and return where that is."""
    settled: set[int] = set()
    variable_places: dict[str, str] = {}
    for key, ref in program.updates.items():
        device, layout = program.devices.get(key, ""), program.stored.get(key)
        variable_place = variable_places[key] = places.of_variable(key, device, ref.spec, layout)
        node = ref.node
        pinned = device_of(variable_place)
        if not isinstance(node, Leaf) and device_of(node.place) == pinned:
            if id(node) not in settled:
                node.place = variable_place
                if pinned:
                    node.reason = f"colocated with variable {key}"
                elif variable_place:
                    node.reason = f"by cost: balances the bytes of variable {key}"
            settled.add(id(node))
        elif pinned:
            program.updates[key] = _brought(program, ref, key, variable_place)
    return variable_places


def _brought(program: Program, ref: Ref, key: str, variable_place: str) -> Ref:
    """Return the value at `variable_place`, through a node that gives it on."""
    node = Node(key, None, "copy", [ref], {}, (ref.spec,))
    node.layouts = node.wanted = [ref.layout]
    axes, node.grid = by_dimension(ref.layout or ((),) * len(ref.spec.shape or ()))
    node.in_maps = node.out_maps = [axes]
    node.place, node.reason = variable_place, f"colocated with variable {key}"
    program.nodes.append(node)
    return Ref(node)


def _join_neighbours(program: Program, variable_places: dict[str, str]) -> None:
    """Give nodes that may run anywhere the place of those around them, where that is cheap."""
    placed = [node for node in program.nodes if node.place]
    found = {node.place for node in placed}
    if len(found) == 1:
        (only,) = found
        grids = {node.grid for node in placed}
        for node in program.nodes:
            if not node.place and (node.grid in grids or node.merges is not None):
                _join(node, only)
    elif found:
        _join_users(program, variable_places)
        _join_producers(program, variable_places)


def _join_users(program: Program, variable_places: dict[str, str]) -> None:
    users: dict[int, list[Node]] = defaultdict(list)
    for node in reversed(program.nodes):
        found = {user.place for user in users[id(node)]}
        same = all(user.grid == node.grid for user in users[id(node)])
        if not node.place and len(found) == 1 and same:
            (only,) = found
            if node.merges is not None or _taken(node, variable_places, only) <= _given(node):
                _join(node, only)
        for ref in node.inputs:
            users[id(ref.node)].append(node)


def _join_producers(program: Program, variable_places: dict[str, str]) -> None:
    for node in program.nodes:
        large = [ref for ref in node.inputs if not _is_single(ref)]
        found = {_place_of(ref, variable_places) for ref in large}
        if node.place or len(found) != 1:
            continue
        same = all(_has_grid(ref, node.grid) for ref in large)
        if node.merges is not None or (same and _given(node) <= _taken(node)):
            _join(node, found.pop())


def _join(node: Node, place: str) -> None:
    if place:
        node.place = place
        where = device_of(place)
        node.reason = f"by cost: with its neighbours on {where}" if where else ""


def _taken(node: Node, variable_places: dict[str, str] | None = None, place: str = "") -> int:
    """Return the bytes that a node takes from elsewhere than `place`; single numbers are none.

    Args:
      node: with its inputs.
      variable_places: where variables are, by key.
      place: what is there already, variables or results of nodes, does not count.
    """
    return sum(
        _nbytes(ref.spec)
        for ref in dict.fromkeys(node.inputs)
        if not _is_single(ref) and not (place and _place_of(ref, variable_places or {}) == place)
    )


def _is_single(ref: Ref) -> bool:
    """Return whether a value is a single number, which costs nothing to move."""
    shape = ref.spec.shape
    return is_known(shape) and math.prod(shape) == 1


def _has_grid(ref: Ref, grid: tuple[int, ...]) -> bool:
    """Return whether a value comes in as many blocks along each axis."""
    if not isinstance(ref.node, Leaf):
        return ref.node.grid == grid
    return tuple(len(sizes) for sizes in ref.layout or () if len(sizes) > 1) == grid


def _place_of(ref: Ref, variable_places: dict[str, str]) -> str:
    if isinstance(ref.node, Leaf):
        return variable_places.get(ref.node.what, "") if ref.node.kind == STATE else ""
    return ref.node.place


def _given(node: Node) -> int:
    return sum(map(_nbytes, node.specs))


def _nbytes(spec: Spec) -> int:
    return 0 if spec is UNKNOWN else spec_bytes(spec)  # a random key goes with its task
