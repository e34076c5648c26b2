"""Pass 10: updates of rows are computed where the rows are.

An update of rows of a variable that is cut by rows reads rows of it and of its slots, computes,
and writes rows back. Read and written by whoever has the gradient, every row would travel twice.
So each block of the variable takes the ids and the gradients that are its own, and reads,
computes and writes for these alone. Where gradients are made in parts, each part gives each block
what is that block's, and these are put one after the other, in the order of the parts.

Gradients of one row are added up there as well (`CombineById`), and before that where they are
made, so that a row travels once however often a part has it; but not of a variable that is cut for
no other reason than the number of workers: sums of sums have other bits than it has in one process.
Where a variable is cut by columns, each block takes its columns of all gradients. What several
lookups in one table give, one after the other, is routed lookup by lookup: put together, it would
be in one place.

The values in between have as many rows as a block happens to get, which only the run knows; they
are laid out as the variable is, and `Node.ragged` says that their sizes are not what that says.

Lookups, which only read, are not routed here: whether rows are looked up where a cut table has them
is decided with its layout (``_looks_up`` of `lowering.planner.propagate`), and the kernels that do
it are in `kernels.gather_scatter.row_shards`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from daskvars.chunk_grid import Chunks
from daskvars.graph.definitions.opdef import Spec
from daskvars.graph.definitions.patterns import (
    CONCATENATE_ROWS,
    Access,
    CombineById,
    Dim,
    Dims,
    Effect,
    Elementwise,
    Gather,
    ScatterInto,
)
from daskvars.kernels.gather_scatter.row_shards import own_rows, own_sums
from daskvars.lowering.program import STATE, Leaf, Node, Program, Ref, concrete, ranked
from daskvars.lowering.rewrites.split_rows import Pieces, in_pieces
from daskvars.shapes import is_known


class Cut(NamedTuple):
    """How a variable is cut along one axis, and no other: the axis, and its chunks."""

    axis: int
    sizes: tuple[int, ...]


def route_updates(program: Program) -> Program:
    """Return `program` with the updates of rows of cut variables made block by block."""
    groups: dict[tuple[Ref, Cut, int], list[Node]] = {}
    # How many updates of a group, one after the other, a node is made from: it cannot be routed
    # with those.
    depths: dict[int, dict[tuple[Ref, Cut], int]] = {}
    for node in program.nodes:
        found: dict[tuple[Ref, Cut], int] = {}
        for ref in node.inputs:
            for key, depth in depths.get(id(ref.node), {}).items():
                found[key] = max(depth, found.get(key, 0))
        cut = _cut_of_updated(program, node)
        if cut is not None:
            own = node.inputs[1], cut
            groups.setdefault((*own, found.get(own, 0)), []).append(node)
            found[own] = 1 + found.get(own, 0)
        if found:
            depths[id(node)] = found
    for (ids, cut, _), updates in groups.items():
        _Routing(program, ids, cut).run(updates)
    if groups:
        program.drop_dead()
    return program


def _cut_of_updated(program: Program, node: Node) -> Cut | None:
    """Return how the variable whose rows a node updates is cut, if it is along one axis."""
    pattern = node.pattern
    if not isinstance(pattern, Effect) or not isinstance(pattern.inner, ScatterInto):
        return None
    ids, updates = node.inputs[1].spec.shape, node.inputs[2].spec.shape
    if ids is None or len(ids) != 1 or ids[0] == 1 or updates is None or len(node.inputs) != 3:
        return None
    if node.op is None or node.rules.block is None or (updates and updates[0] != ids[0]):
        return None
    return _cut_of(program.stored.get(node.written_key))


def _cut_of(layout: Chunks | None) -> Cut | None:
    axes = [axis for axis, sizes in enumerate(layout or ()) if len(sizes) > 1]
    return Cut(axes[0], layout[axes[0]]) if layout and len(axes) == 1 else None


class _Routing:
    """The updates at the same ids of variables that are cut alike."""

    def __init__(self, program: Program, ids: Ref, cut: Cut) -> None:
        self.program, self.ids, self.cut = program, ids, cut
        (self.num_ids,) = ranked(ids.spec.shape)
        self.num_rows = sum(cut.sizes)  # what a block's part of a value is said to have
        self.device, self.rank, self.is_automatic = "", 0, False
        self.routed: dict[Ref, int] = {}  # value of all ids -> output of the routing node
        self.local: dict[Ref, Ref] = {}  # value of all ids -> that of a block's own
        self.made: list[Node] = []
        self.explored: dict[Ref, tuple[bool, tuple[Ref, ...]]] = {}

    def run(self, updates: list[Node]) -> None:
        """Put the nodes that route before the first update that takes them."""
        for update in updates:
            value = update.inputs[2]
            if value.spec.shape:
                self._find(value)
        self.is_automatic = any(update.written_key in self.program.automatic for update in updates)
        self.device, self.rank = updates[0].device, len(ranked(updates[0].specs[0].shape))
        first = self._routing_nodes(updates[0])
        if not first:
            return
        nodes = self.program.nodes
        if len(updates) > 1 and _after(nodes, first) > nodes.index(updates[0]):
            # What a later one takes is made after the first: variables that the same run
            # initializes have rows to read only then.
            for update in updates:
                _Routing(self.program, self.ids, self.cut).run([update])
            return
        for update in updates:
            before = len(self.made)
            value = update.inputs[2]
            if value.spec.shape:
                value = self._as_local(value)
            update.inputs = [update.inputs[0], self.local[self.ids], value]
            table = self._dims(update.specs[0])
            update.pinned = Access((table, *map(self._by_block, update.inputs[1:])), (table,))
            update.cut = {0: self.cut.sizes}  # what a block got has no other cut
            place = nodes.index(update)
            nodes[place:place] = self.made[before:]
        place = _after(nodes, first)
        nodes[place:place] = first

    def _routing_nodes(self, update: Node) -> list[Node]:
        """Return the nodes that give each block its ids and what goes with them; [] if none can."""
        combine = self.ids.node
        if not (
            isinstance(combine, Node)
            and isinstance(combine.pattern, CombineById)
            and self.routed.keys() <= {Ref(combine, 0)}
            and all(is_known(ref.spec.shape) for ref in combine.inputs)
        ):
            if self.cut.axis:
                return []
            made, own = self._own(update, [self.ids, *self.routed], own_rows)
            self.local.update(zip([self.ids, *self.routed], own, strict=True))
            return made
        if self.cut.axis:
            if self.cut.axis >= len(ranked(combine.specs[0].shape)):
                return []
            (self.num_rows,) = concrete(combine.inputs[1].spec.shape)
            node = self._combined(combine, combine.inputs)
            node.cut = {0: self.cut.sizes}
            return [node]
        rows, ids = combine.inputs
        kernel = own_rows if self.is_automatic else own_sums
        made, (own_ids, own_values) = self._own(update, [ids, rows], kernel)
        return [*made, self._combined(combine, [own_values, own_ids])]

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
                inner = [self._explore(i) for i in ref.producer.inputs if self._has_rows(i)]
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
            and (_cut_of(table.layouts[0]) == self.cut)
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
        return shape is not None and shape[:1] == (self.num_ids,)

    # -- nodes of a block -----------------------------------------------------------------------

    def _own(self, update: Node, inputs: list[Ref], kernel: Any) -> tuple[list[Node], list[Ref]]:
        """Return the nodes that give each block its own of some values, and what they give."""
        made: list[Node] = []
        pieces = _pieces(inputs, made)
        if pieces is None:
            own = self._own_rows(update, inputs, kernel)
            return [own], [Ref(own, i) for i in range(len(inputs))]
        together = zip(*(each.values for each in pieces), strict=True)
        owns = [self._own_rows(update, list(values), kernel) for values in together]
        joined = [
            self._joined(each.node, [Ref(own, i) for own in owns]) for i, each in enumerate(pieces)
        ]
        return [*made, *owns, *joined], [Ref(node) for node in joined]

    def _joined(self, node: Node, inputs: list[Ref]) -> Node:
        """Return the node that puts together what a block has of each of several values."""
        copy = node.copy()
        copy.inputs, copy.device, copy.specs = inputs, self.device, (inputs[0].spec,)
        copy.ragged, copy.filled = True, sum(ref.producer.filled for ref in inputs)
        dims = self._dims(inputs[0].spec)
        copy.pinned = Access((dims,) * len(inputs), (dims,))
        return copy

    def _own_rows(self, update: Node, inputs: list[Ref], kernel: Any) -> Node:
        """Return the node that gives each block its own of all ids, and of what goes with them."""
        specs = tuple(
            Spec(ref.spec.dtype, (self.num_rows, *ranked(ref.spec.shape)[1:])) for ref in inputs
        )
        device = update.device
        node = Node(
            update.name, None, kernel, inputs, {}, specs, multiple=True, op=update.op, device=device
        )
        # Blocks of one part are neighbours, as it has what they take: its label comes first.
        part, owner = Dim(0), Dim(1)
        node.pinned = Access(
            tuple((part, *(None for _ in ranked(ref.spec.shape)[1:])) for ref in inputs),
            tuple((owner, *(None for _ in ranked(spec.shape)[1:])) for spec in specs),
            CONCATENATE_ROWS,
        )
        node.cut, node.ragged = {owner.label: self.cut.sizes}, True
        (num_ids,) = ranked(inputs[0].spec.shape)
        node.filled = 1.0 if num_ids is None else num_ids / self.num_rows
        return node

    def _combined(self, node: Node, inputs: list[Ref]) -> Node:
        """Return the node that adds up what a block has of each id.

        All blocks of columns have the same ids, each its own: they are said to be cut, too.
        """
        rows, ids = (ref.spec for ref in node.inputs)
        copy = node.copy()
        copy.inputs, copy.device = inputs, self.device
        copy.specs = (
            Spec(rows.dtype, (self.num_rows, *ranked(rows.shape)[1:])),
            Spec(ids.dtype, (sum(self.cut.sizes),)),
        )
        copy.ragged = True
        if not self.cut.axis:
            copy.filled = min(1.0, inputs[0].producer.filled)
        self.local.update({Ref(node, i): Ref(copy, i) for i in range(2)})
        taken = (self._dims(rows), (None,)) if self.cut.axis else map(self._by_block, inputs)
        copy.pinned = Access(tuple(taken), (self._dims(copy.specs[0]), (Dim(0),)))
        return copy

    def _as_local(self, ref: Ref) -> Ref:
        """Return a block's part of a value, through copies of the nodes that make it."""
        found = self.local.get(ref)
        if found is None:
            node = ref.producer
            inputs = [
                self.local[self.ids]
                if i == self.ids
                else self._as_local(i)
                if self._has_rows(i) and not isinstance(i.node, Leaf)
                else self.local.get(i, i)
                for i in node.inputs
            ]
            dtype, shape = node.specs[0]
            spec = Spec(dtype, (self.num_rows, *ranked(shape)[1:]))
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
            copy.pinned = Access(tuple(map(self._by_block, inputs)), (self._dims(spec),))
            copy.cut = {0: self.cut.sizes}
            copy.ragged, copy.filled = True, self.local[self.ids].producer.filled
            self.made.append(copy)
            found = self.local[ref] = Ref(copy)
        return found

    def _by_block(self, ref: Ref) -> Dims:
        """Return the labels of an input: of a block's part, of the variable, of one for columns."""
        if ref == self.local[self.ids]:
            return (Dim(0),)
        node, shape = ref.node, ranked(ref.spec.shape)
        layout = node.layouts[0] if isinstance(node, Leaf) else None
        if getattr(node, "ragged", False) or _cut_of(layout) == self.cut:
            return self._dims(ref.spec)
        # What is the same for every row is cut by columns as they are.
        at = self.cut.axis - (self.rank - len(shape)) if self.cut.axis else -1
        return tuple(Dim(0) if i == at and n != 1 else None for i, n in enumerate(shape))

    def _dims(self, spec: Spec) -> Dims:
        """Return the labels of what is cut as the variable is."""
        axis = self.cut.axis
        return tuple(Dim(0) if i == axis else None for i in range(len(ranked(spec.shape))))


def _pieces(values: list[Ref], made: list[Node]) -> list[Pieces] | None:
    """Return what values are put together from, if it is, for all of them, pieces of as many rows.

    To `made` goes what is computed of each piece.
    """
    new: list[Node] = []
    found = [pieces for ref in values if (pieces := in_pieces(ref, new))]
    lengths = {tuple(concrete(ref.spec.shape)[0] for ref in each.values) for each in found}
    if len(found) < len(values) or len(lengths) > 1:
        return None
    made += new
    return found


def _broadcasts(shape: Any, rank: int) -> bool:
    """Return whether a value is the same for every row."""
    return shape is not None and (len(shape) < rank or shape[0] == 1)


def _after(nodes: list[Node], later: list[Node]) -> int:
    """Return the first place where all has been made that other nodes take."""
    made = {id(ref.node) for node in later for ref in node.inputs}
    return max((i + 1 for i, other in enumerate(nodes) if id(other) in made), default=0)
