"""Pass 13: group nodes into regions, each of which becomes one task per block.

Nodes get a stage: crossing an edge where blocks do not line up, or to another place, or into what
is computed from the newest version (`split_update`), adds one. Nodes of equal stage, grid and place
form a region. Within a stage data only flows from coarser to finer grids, so regions cannot form a
cycle, and values used both forward and backward stay inside one region.

What is small and made of little (a learning rate, Adam's correction of its bias, a mean of parts'
means, the norm that gradients are clipped by) is computed in every block that takes it: in a task
of its own it would hold up all of them, and be one more way from worker to worker. What blocks of
several stages take whole (weights, forward and backward) the first has put together for all.

A task's inputs and results are in memory at the same time, and Dask keeps or spills them as one. So
where a region has more bytes than a worker can spare for a task, those of its nodes that need
nothing of one another (the updates of several variables) become regions of their own.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from daskvars.connected_parts import connected
from daskvars.lowering.program import (
    Leaf,
    Node,
    Program,
    Ref,
    block_bytes,
    is_variable,
    is_visible,
    num_elements,
    spec_bytes,
)
from daskvars.shapes import is_known

SMALL_BYTES = 1 << 10  # of a value that is computed again in each block rather than once
MIN_KEPT_BYTES = 1 << 12  # of a variable that a stage gives on rather than have it come again
# That come to each block for it from others: of a value, and in all (1 MiB travels in the time that
# one more stage takes).
ARRIVING_BYTES, MOST_ARRIVING_BYTES = 1 << 16, 1 << 20


Consumers = dict[int, list[tuple[Node, int]]]
"""Id of a node -> what takes a value of it, as which of its inputs."""


@dataclass(eq=False, slots=True)
class Group:
    """The nodes of one region, in program order.

    Attributes:
      stage, grid, place: of all of them.
      nodes: themselves.
      follows: whether it goes on with the blocks of the region before it (`segments`).
    """

    stage: int
    grid: tuple[int, ...]
    place: str
    nodes: list[Node]
    follows: bool = False


def lines_up(node: Node, position: int) -> bool:
    """Return whether block b of an input is what block b of `node` needs."""
    ref = node.inputs[position]
    producer = ref.producer
    return (
        node.merges is None
        and producer.grid == node.grid
        and producer.layouts[ref.index] == node.wanted[position]
        and producer.out_maps[ref.index] == node.in_maps[position]
    )


def _crossing(node: Node, position: int) -> int:
    """Return 1 where an edge goes between places or blocks that do not line up, else 0."""
    ref = node.inputs[position]
    producer = ref.producer
    if producer.place != node.place or (node.needs_newest and not producer.needs_newest):
        return 1
    if lines_up(node, position):
        return 0
    same = node.merges is None and producer.layouts[ref.index] == node.wanted[position]
    return 0 if same and len(producer.grid) < len(node.grid) else 1


def fuse(program: Program, most_bytes: float | None = None) -> list[Group]:
    """Return the regions of `program` in an order in which they can run.

    Args:
      program: with layouts and places.
      most_bytes: that a task should take and give, where its region can be split; None where all
        is done in this process.
    """
    consumers = _assign_stages(program)
    repeated = _repeated_nodes(program, consumers)
    _sink(program, consumers, repeated)
    _repeat(program, repeated)
    _gather_once(program, most_bytes is not None)
    found = _groups(program)
    if most_bytes is None or math.isinf(most_bytes):
        return found
    moved = moved_values(program, found)
    return [part for group in found for part in _split(program, group, most_bytes, moved)]


def without_repeats(program: Program) -> list[Group]:
    """Return the regions of a program as it is: without what blocks compute again."""
    _sink(program, _assign_stages(program), set())
    return _groups(program)


def _groups(program: Program) -> list[Group]:
    groups: dict[tuple, Group] = {}
    for node in program.nodes:
        where = (node.stage, len(node.grid), node.grid, node.place, node.needs_newest)
        if where not in groups:
            groups[where] = Group(node.stage, node.grid, node.place, [])
        groups[where].nodes.append(node)
    return [groups[where] for where in sorted(groups)]


def moved_values(program: Program, groups: Sequence[Group]) -> set[Ref]:
    """Return the values that some region takes from outside, or gives away."""
    return taken_elsewhere(program, groups).union(program.results())


def taken_elsewhere(program: Program, groups: Sequence[Group]) -> set[Ref]:
    """Return the values that regions take from outside."""
    group_of = {id(node): group for group in groups for node in group.nodes}
    return {
        ref
        for node in program.nodes
        for ref in node.inputs
        if group_of.get(id(ref.node)) is not group_of[id(node)]
    }


def _split(program: Program, group: Group, most_bytes: float, moved: set[Ref]) -> Iterator[Group]:
    """Yield the parts of a group that need nothing of one another, joined up to so many bytes."""
    if sum(map(_block_bytes, _moved(group.nodes, moved))) <= most_bytes:
        yield group
        return
    repeated: set[int] = set()
    others: set[int] = set()
    for node in group.nodes:
        is_own = moved.isdisjoint(_given(node)) and others.isdisjoint(
            id(r.node) for r in node.inputs
        )
        (repeated if is_own and _is_repeated(node) else others).add(id(node))
    parts: list[list[Node]] = []
    values: set[Ref] = set()
    for part in _independent([node for node in group.nodes if id(node) not in repeated]):
        more = values | _moved(part, moved)
        if not parts or sum(map(_block_bytes, more)) > most_bytes:
            parts.append([])
            more = _moved(part, moved)
        parts[-1] += part
        values = more
    program.nodes = [node for node in program.nodes if id(node) not in repeated]
    for nodes in parts:
        _repeat_own(program, nodes, repeated)
        yield Group(group.stage, group.grid, group.place, nodes)


def _moved(nodes: list[Node], moved: set[Ref]) -> set[Ref]:
    return moved.intersection(ref for node in nodes for ref in (*_given(node), *node.inputs))


def _given(node: Node) -> list[Ref]:
    return [Ref(node, number) for number in range(len(node.specs))]


def _independent(nodes: list[Node]) -> list[list[Node]]:
    """Return the parts of some nodes between which nothing flows, each in program order.

    What can be seen from outside stays in one part, so that it is seen in its order.
    """
    numbers = {id(node): number for number, node in enumerate(nodes)}
    links = []
    seen: int | None = None
    for number, node in enumerate(nodes):
        links += [(number, n) for r in node.inputs if (n := numbers.get(id(r.node))) is not None]
        if is_visible(node):
            links.append((number, number if seen is None else seen))
            seen = number
    return [[nodes[number] for number in part] for part in connected(len(nodes), links)]


def _block_bytes(ref: Ref) -> int:
    return block_bytes(ref.spec, ref.layout)


def _assign_stages(program: Program) -> Consumers:
    """Give each node the first stage that it can be in; return what takes a value of each."""
    consumers: Consumers = defaultdict(list)
    for node in program.nodes:
        stage = 0
        for position, ref in enumerate(node.inputs):
            if not isinstance(ref.node, Leaf):
                stage = max(stage, ref.node.stage + _crossing(node, position))
                consumers[id(ref.node)].append((node, position))
        node.stage = stage
    return consumers


def _sink(program: Program, consumers: Consumers, repeated: set[int]) -> None:
    """Move nodes to the stage that needs them, where they then need no task of their own.

    Those are whole (uncut) ones, and those that are made of what is outside alone. A learning rate
    computed from the step, the increment of the step itself, or the gradient that a loss begins
    with depends on nothing and would otherwise be a task in stage 0.

    What blocks take for what they repeat is made before their stage.
    """

    def latest(node: Node, user: Node, position: int) -> int:
        is_arriving = id(user) in repeated and id(node) not in repeated
        return user.stage - (1 if is_arriving else _crossing(user, position))

    last = max((node.stage for node in program.nodes if _may_sink(node)), default=0)
    for node in reversed(program.nodes):
        if not _may_sink(node):
            continue
        users = consumers[id(node)]
        found = min(
            (latest(node, user, position) for user, position in users),
            default=node.stage if node.grid else last,
        )
        node.stage = max(node.stage, found)


def _may_sink(node: Node) -> bool:
    return not node.grid or all(isinstance(ref.node, Leaf) for ref in node.inputs)


def _repeated_nodes(program: Program, consumers: Consumers) -> set[int]:
    """Return the ids of nodes that each block that takes them is to compute again.

    They are whole and small, and so is what comes to a block for them, from nodes of stages before.
    """
    small: set[int] = set()
    arriving: set[Ref] = set()
    left: float = MOST_ARRIVING_BYTES
    for node in program.nodes:
        if not _may_be_repeated(node):
            continue
        others = {r for r in node.inputs if id(r.node) not in small and r not in arriving}
        sizes = [_arriving_bytes(node, ref) for ref in others]
        if max(sizes, default=0) <= ARRIVING_BYTES and sum(sizes) <= left:
            small.add(id(node))
            arriving |= others
            left -= sum(sizes)
    repeated: set[int] = set()
    for node in reversed(program.nodes if small else ()):
        if id(node) in small and any(
            id(user) in repeated or (user.grid and _takes_whole(user, position))
            for user, position in consumers[id(node)]
        ):
            repeated.add(id(node))
    return repeated


def _may_be_repeated(node: Node) -> bool:
    """Return whether a node is whole, gives little, and can be run any number of times."""
    if node.grid or is_visible(node) or node.subgraphs or node.needs_newest:
        return False
    is_plain = node.opdef is None and node.merges is None
    return not is_plain and all(
        is_known(spec.shape) and spec_bytes(spec) <= SMALL_BYTES for spec in node.specs
    )


def _arriving_bytes(node: Node, ref: Ref) -> float:
    """Return the bytes that come from other blocks for an input; infinity if they should not."""
    if not is_known(ref.spec.shape):
        return math.inf
    if isinstance(ref.node, Leaf):
        return 0 if ref.nbytes <= SMALL_BYTES else math.inf
    if ref.node.stage >= node.stage:
        return math.inf
    return ref.nbytes * (1 if node.merges is None else math.prod(ref.node.grid))


def _repeat(program: Program, repeated: set[int]) -> None:
    """Give each group of blocks nodes of its own for those that are to be computed again."""
    copies: dict[tuple, Node] = {}
    nodes: list[Node] = []

    def copied(node: Node, user: Node) -> Node:
        where = (id(node), user.stage, user.grid, user.place)
        if where not in copies:
            copy = copies[where] = node.copy()
            copy.stage, copy.grid, copy.place = user.stage, user.grid, user.place
            copy.inputs = [taken(ref, user) for ref in node.inputs]
            nodes.append(copy)
        return copies[where]

    def taken(ref: Ref, user: Node) -> Ref:
        return Ref(copied(ref.producer, user), ref.index) if id(ref.node) in repeated else ref

    for node in program.nodes:
        if node.grid:
            node.inputs = [
                taken(ref, node) if _takes_whole(node, i) else ref
                for i, ref in enumerate(node.inputs)
            ]
        nodes.append(node)
    if copies:
        program.nodes = nodes
        program.drop_dead()


def _gather_once(program: Program, is_apart: bool) -> None:
    """Have what blocks of several stages take whole put together in the first of these.

    Args:
      is_apart: whether blocks are on several workers: what is whole already comes once to each.
    """
    takers: dict[tuple, list[tuple[Node, int]]] = defaultdict(list)
    for node in program.nodes:
        for position, ref in enumerate(node.inputs if node.grid and node.merges is None else ()):
            is_looked_up = node.by_rows and position == 0
            is_made = not isinstance(ref.node, Leaf) or is_variable(ref)
            travels = ref.layout or (is_apart and is_variable(ref) and ref.nbytes >= MIN_KEPT_BYTES)
            if node.wanted[position] is None and travels and is_made and not is_looked_up:
                where = ref, node.grid, node.place, node.needs_newest, node.in_maps[position]
                takers[where].append((node, position))
    before: dict[int, list[Node]] = defaultdict(list)
    for (ref, grid, place, needs_newest, axes), found in takers.items():
        stages = [node.stage for node, _ in found]
        if min(stages) == max(stages):
            continue
        name = str(ref.node.what if isinstance(ref.node, Leaf) else ref.node.name)
        gathered = Node(name, None, "asarray", [ref], {}, (ref.spec,), op=found[0][0].op)
        gathered.grid, gathered.place, gathered.stage = grid, place, min(stages)
        gathered.needs_newest, gathered.reason = needs_newest, "next to what takes it"
        gathered.layouts, gathered.wanted = [None], [None]
        gathered.in_maps = gathered.out_maps = [axes]
        before[id(found[0][0])].append(gathered)
        for node, position in found:
            node.inputs[position] = Ref(gathered)
    if before:
        program.nodes = [each for node in program.nodes for each in (*before[id(node)], node)]


def _repeat_own(program: Program, nodes: list[Node], repeated: set[int]) -> None:
    """Add to nodes of a region those of it that its parts are to compute again."""
    copies: dict[int, Node] = {}

    def own(ref: Ref) -> Ref:
        if id(ref.node) not in repeated:
            return ref
        if id(ref.node) not in copies:
            copy = ref.producer.copy()
            copy.inputs = [own(taken) for taken in copy.inputs]
            copies[id(ref.node)] = copy
        return Ref(copies[id(ref.node)], ref.index)

    for node in nodes:
        node.inputs = [own(ref) for ref in node.inputs]
    nodes[:0] = copies.values()
    program.nodes += copies.values()


def _is_repeated(node: Node) -> bool:
    """Return whether each block computes the same, for itself, if it is given the same."""
    maps = (*node.in_maps, *node.out_maps)
    return bool(node.grid) and all(axis < 0 for axes in maps for axis in axes)


def _takes_whole(node: Node, position: int) -> bool:
    """Return whether each block takes all of an input."""
    ref = node.inputs[position]
    maps = node.in_maps[position]
    is_whole = node.merges is None and node.wanted[position] == ref.layout
    return is_whole and all(axis < 0 for axis in maps)


def label(group: Group) -> str:
    """Return the scope that most of a region's work belongs to: its name on the dashboard.

    An operation outside of all scopes counts as a scope of its own. See `main_scope`.
    """
    work: dict[str, float] = defaultdict(float)
    for node in group.nodes:
        parts, amount = node.name.split("/"), _work(node)
        for depth in range(1, max(2, len(parts))):
            work["/".join(parts[:depth])] += amount
    total = sum(amount for scope, amount in work.items() if "/" not in scope)
    return main_scope(work, total).replace("-", "_")


def main_scope(work: Mapping[str, float], total: float) -> str:
    """Return the scope that most of some work belongs to.

    Args:
      work: of each scope, what is inside of it included.

    Returns:
      The innermost scope with at least half of the work, or else the outermost one with the most.

    >>> main_scope({"a": 3.0, "a/b": 2.0, "c": 1.0}, total=4.0)
    'a/b'
    """
    inner = [scope for scope, amount in work.items() if 2 * amount >= total]
    if inner:
        return max(inner, key=lambda scope: (scope.count("/"), work[scope], scope))
    return max((s for s in work if "/" not in s), key=lambda s: (work[s], s), default="run")


def _work(node: Node) -> float:
    pattern = node.kernel_pattern
    if pattern is None or not node.specs:
        return 1.0
    if node.subgraphs:
        return 1.0 + node.flops + sum(num_elements(spec.shape) for spec in node.specs)
    shapes, out = (
        [tuple(n or 1 for n in spec.shape or ()) for spec in specs]
        for specs in ([ref.spec for ref in node.inputs], node.specs)
    )
    return 1.0 + pattern.flops(shapes or out, out, node.access)
