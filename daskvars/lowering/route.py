"""Pass 4: updates of rows are computed where the rows are.

An update of rows of a variable that is cut by rows reads rows of it and of its slots, computes,
and writes rows back. Read and written by whoever has the gradient, every row would travel twice.
So each block of the variable takes the ids and the gradients that are its own, and reads,
computes and writes for these alone.

The values in between have as many rows as a block happens to get, which only the run knows; they
are laid out as the variable is, and `Node.ragged` says that their sizes are not what that says.
"""

from __future__ import annotations

from typing import Any

from daskvars.chunk_grid import Chunks
from daskvars.graph.definitions.opdef import Spec
from daskvars.graph.definitions.patterns import (
    Access,
    Dim,
    Effect,
    Elementwise,
    Gather,
    ScatterInto,
)
from daskvars.kernels.gather_scatter.row_shards import own_rows
from daskvars.lowering.program import STATE, Leaf, Node, Program, Ref

RowSizes = tuple[int, ...]


def route(program: Program) -> Program:
    """Return `program` with the updates of rows of cut variables made block by block."""
    groups: dict[tuple[Ref, RowSizes], list[Node]] = {}
    for node in program.nodes:
        rows = _rows_updated(program, node)
        if rows is not None:
            groups.setdefault((node.inputs[1], rows), []).append(node)
    for (ids, rows), updates in groups.items():
        _Routing(program, ids, rows).run(updates)
    if groups:
        program.drop_dead()
    return program


def _rows_updated(program: Program, node: Node) -> RowSizes | None:
    """Return how the variable whose rows a node updates is cut, if it is, and by rows alone."""
    pattern = node.opdef.pattern if node.opdef is not None else None
    if not isinstance(pattern, Effect) or not isinstance(pattern.inner, ScatterInto):
        return None
    ids, updates = node.inputs[1].spec.shape, node.inputs[2].spec.shape
    if ids is None or len(ids) != 1 or ids[0] == 1 or updates is None or len(node.inputs) != 3:
        return None
    if node.op is None or node.opdef.block is None or (updates and updates[0] != ids[0]):
        return None
    return _rows_of(program.stored.get(node.op.inputs[0].op.attrs["key"]))


def _rows_of(layout: Chunks | None) -> RowSizes | None:
    if not layout or len(layout[0]) == 1 or any(len(sizes) > 1 for sizes in layout[1:]):
        return None
    return layout[0]


class _Routing:
    """The updates at the same ids of variables that are cut alike."""

    def __init__(self, program: Program, ids: Ref, rows: RowSizes) -> None:
        self.program, self.ids, self.rows = program, ids, rows
        self.num_ids = ids.spec.shape[0]
        self.device = ""
        self.routed: dict[Ref, int] = {}  # value of all ids -> output of the routing node
        self.local: dict[Ref, Ref] = {}  # value of all ids -> that of a block's own
        self.made: list[Node] = []
        self.explored: dict[Ref, tuple[bool, tuple[Ref, ...]]] = {}

    def run(self, updates: list[Node]) -> None:
        """Put the routed nodes before the first update that takes them."""
        for update in updates:
            value = update.inputs[2]
            if value.spec.shape:
                self._find(value)
        self.device = updates[0].device
        node = self._routing_node(updates[0])
        self.local[self.ids] = Ref(node, 0)
        for value, index in self.routed.items():
            self.local[value] = Ref(node, index)
        nodes = self.program.nodes
        for update in updates:
            before = len(self.made)
            value = update.inputs[2]
            if value.spec.shape:
                value = self._as_local(value)
            update.inputs = [update.inputs[0], self.local[self.ids], value]
            table = _dims(update.specs[0])
            update.pinned = Access((table, *map(_by_block, update.inputs[1:])), (table,))
            place = nodes.index(update)
            nodes[place:place] = self.made[before:]
        nodes.insert(_after(nodes, node), node)

    # -- what is routed and what is computed by block -------------------------------------------

    def _find(self, value: Ref) -> None:
        """Note what a block needs from outside to compute its part of a value."""
        for ref in self._explore(value)[1]:
            self.routed.setdefault(ref, 1 + len(self.routed))

    def _explore(self, ref: Ref) -> tuple[bool, tuple[Ref, ...]]:
        """Return whether rows of a cut variable are read for a value, and what else it is made of.

        What is made of several other values, and of no such rows, is computed where these are.
        """
        found = self.explored.get(ref)
        if found is None:
            found = False, (ref,)
            if self._reads_rows(ref.node):
                found = True, ()
            elif self._is_elementwise(ref.node):
                inner = [self._explore(i) for i in ref.node.inputs if self._has_rows(i)]
                reads = any(reads for reads, _ in inner)
                made_of = tuple(dict.fromkeys(r for _, refs in inner for r in refs))
                if reads or len(made_of) == 1:
                    found = reads, made_of
            self.explored[ref] = found
        return found

    def _reads_rows(self, node: Any) -> bool:
        if isinstance(node, Leaf) or node.opdef is None or node.opdef.block is None:
            return False
        if not isinstance(node.opdef.pattern, Gather) or node.inputs[1] != self.ids:
            return False
        table = node.inputs[0].node
        return (
            isinstance(table, Leaf)
            and table.kind == STATE
            and (_rows_of(table.layouts[0]) == self.rows)
        )

    def _is_elementwise(self, node: Any) -> bool:
        if isinstance(node, Leaf) or node.opdef is None or node.operands or node.subgraphs:
            return False
        if not isinstance(node.opdef.pattern, Elementwise) or len(node.specs) != 1:
            return False
        rank = len(node.specs[0].shape or ())
        return bool(rank) and all(
            self._has_rows(ref) or _broadcasts(ref.spec.shape, rank) for ref in node.inputs
        )

    def _has_rows(self, ref: Ref) -> bool:
        """Return whether a value has a row for each id."""
        shape = ref.spec.shape
        return bool(shape) and shape[0] == self.num_ids and len(shape) > 0

    # -- nodes of a block -----------------------------------------------------------------------

    def _routing_node(self, update: Node) -> Node:
        inputs = [self.ids, *self.routed]
        size = sum(self.rows)
        specs = tuple(Spec(ref.spec.dtype, (size, *ref.spec.shape[1:])) for ref in inputs)
        node = Node(
            update.name,
            None,
            own_rows,
            inputs,
            {},
            specs,
            multiple=True,
            op=update.op,
            device=update.device,
        )
        node.pinned = Access(
            tuple((None,) * len(ref.spec.shape) for ref in inputs), tuple(map(_dims, specs))
        )
        node.cut, node.ragged = {0: self.rows}, True
        return node

    def _as_local(self, ref: Ref) -> Ref:
        """Return a block's part of a value, through copies of the nodes that make it."""
        found = self.local.get(ref)
        if found is None:
            node = ref.node
            inputs = [
                self.local[self.ids]
                if i == self.ids
                else self._as_local(i)
                if self._has_rows(i) and not isinstance(i.node, Leaf)
                else self.local.get(i, i)
                for i in node.inputs
            ]
            spec = Spec(node.specs[0].dtype, (sum(self.rows), *node.specs[0].shape[1:]))
            copy = Node(
                node.name,
                node.opdef,
                node.kernel,
                inputs,
                dict(node.attrs),
                (spec,),
                op=node.op,
                device=self.device,
            )
            copy.pinned = Access(tuple(map(_by_block, inputs)), (_dims(spec),))
            copy.ragged = True
            self.made.append(copy)
            found = self.local[ref] = Ref(copy)
        return found


def _broadcasts(shape: Any, rank: int) -> bool:
    """Return whether a value is the same for every row."""
    return shape is not None and (len(shape) < rank or shape[0] == 1)


def _by_block(ref: Ref) -> Any:
    """Return the labels of an input: cut by rows, where it is a block's part or the variable."""
    node = ref.node
    cut = getattr(node, "ragged", False) or _rows_of(_layout_of(ref)) is not None
    return _dims(ref.spec) if cut else (None,) * len(ref.spec.shape or ())


def _layout_of(ref: Ref) -> Chunks | None:
    return ref.node.layouts[0] if isinstance(ref.node, Leaf) else None


def _dims(spec: Spec) -> Any:
    return (Dim(0), *(None,) * (len(spec.shape) - 1))


def _after(nodes: list[Node], node: Node) -> int:
    """Return the first place where all inputs of a node have been made."""
    made = {id(ref.node) for ref in node.inputs}
    return max((i + 1 for i, other in enumerate(nodes) if id(other) in made), default=0)
