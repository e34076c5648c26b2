"""Pass 5: layouts, from where data enters to everything after it.

Each node's access pattern labels its dimensions. The chunks of a label are those of the inputs
that carry it; inputs that disagree, or are cut where they must be whole, are rechunked on the
way in. A label that an output lacks leaves partial results, merged by a node of their own.
A source (a fill, random numbers) takes the layout of its first cut consumer.
"""

from __future__ import annotations

from typing import Any

from daskvars import shapes
from daskvars.chunk_grid import Chunks
from daskvars.graph.definitions.patterns import Access, Dims, Effect, Elementwise, Movement, Source
from daskvars.lowering.program import CONSTANT, FEED, Leaf, Node, Program, Ref


def propagate(program: Program) -> Program:
    """Return `program` with layouts, grids and block maps on every node."""
    if not _is_cut(program):
        for node in program.nodes:
            node.layouts = [None] * len(node.specs)
            node.wanted = [None] * len(node.inputs)
            node.in_maps = [()] * len(node.inputs)
            node.out_maps = [()] * len(node.specs)
        return program
    _Propagation(program).run()
    return program


def _is_cut(program: Program) -> bool:
    layouts = [leaf.layouts[0] for leaf in program.leaves.values()]
    return any(map(is_cut, [*layouts, *program.stored.values()]))


def is_cut(layout: Chunks | None) -> bool:
    """Return whether a layout has more than one block."""
    return layout is not None and any(len(sizes) > 1 for sizes in layout)


class _Propagation:
    def __init__(self, program: Program) -> None:
        self.program = program
        self.nodes: list[Node] = []
        self.merged: dict[Ref, Ref] = {}  # partial result -> merged result
        self.free: set[int] = set()  # sources whose layout nobody has asked for yet

    def run(self) -> None:
        for node in self.program.nodes:
            node.inputs = [self.merged.get(ref, ref) for ref in node.inputs]
            self._lay_out(node)
        self.program.nodes = self.nodes
        program = self.program
        program.outputs = [self.merged.get(ref, ref) for ref in program.outputs]
        program.evaluated = [self.merged.get(ref, ref) for ref in program.evaluated]
        program.updates = {k: self.merged.get(ref, ref) for k, ref in program.updates.items()}
        for key, layout in self.program.stored.items():
            if key in self.program.updates:
                self._retarget(self.program.updates[key], layout)
                self.program.updates[key] = self._rechunk(self.program.updates[key], layout)

    def _lay_out(self, node: Node) -> None:
        node.access = access = node.pinned or _full_access(node)
        wanted = self.program.stored.get(_written_key(node))
        labels = self._label_chunks(node, access, wanted)
        self._finish(node, access, labels)
        self.nodes.append(node)
        for i, axes in enumerate(node.out_maps):
            missing = tuple(axis for axis in range(len(node.grid)) if axis not in axes)
            if missing:
                self._merge(node, i, missing)

    def _label_chunks(self, node: Node, access: Access, wanted: Chunks | None) -> dict[int, Any]:
        """Return the chunks (in units of one) of each label that is cut."""
        labels: dict[int, tuple[int, ...]] = dict(node.cut)
        given = list(zip(access.inputs, (ref.layout for ref in node.inputs), strict=True))
        if wanted is not None:
            given.insert(0, (access.outputs[0], wanted))
        for dims, layout in given:
            for dim, sizes in zip(dims, layout or (), strict=False):
                if dim is None or len(sizes) == 1 or dim.label in labels:
                    continue
                if any(size % dim.factor for size in sizes):
                    continue
                labels[dim.label] = tuple(size // dim.factor for size in sizes)
        if access.combine is None:
            kept = [{d.label for d in dims if d} for dims in access.outputs]
            for label in list(labels):
                if not all(label in names for names in kept):
                    del labels[label]
        if not labels and self._is_free(node):
            self.free.add(id(node))
        return labels

    def _is_free(self, node: Node) -> bool:
        """Return whether the node only computes with what any layout will do for.

        Those are sources, whole feeds and constants, single numbers, and elementwise results of
        these, moved or not.
        """
        if isinstance(node.opdef.pattern, Source):
            return True
        return isinstance(node.opdef.pattern, Elementwise | Movement) and all(
            id(ref.node) in self.free or _is_loose(ref) for ref in node.inputs
        )

    def _finish(self, node: Node, access: Access, labels: dict[int, Any]) -> None:
        ordered = sorted(labels)
        axis = {label: i for i, label in enumerate(ordered)}
        node.grid = tuple(len(labels[label]) for label in ordered)
        node.wanted = []
        for ref, dims in zip(node.inputs, access.inputs, strict=True):
            layout = _layout(dims, ref.spec.shape, labels)
            self._retarget(ref, layout)
            node.wanted.append(layout if is_cut(layout) else None)
        node.in_maps = [_map(dims, axis) for dims in access.inputs]
        node.out_maps = [_map(dims, axis) for dims in access.outputs]
        node.layouts = [
            layout if is_cut(layout := _layout(dims, spec.shape, labels)) else None
            for dims, spec in zip(access.outputs, node.specs, strict=True)
        ]

    def _retarget(self, ref: Ref, layout: Chunks | None) -> None:
        """Let a source that nobody has cut yet make its values in the blocks wanted."""
        node = ref.node
        if not is_cut(layout) or id(node) not in self.free:
            return
        dims = node.access.outputs[ref.index]
        cut = [(dim, sizes) for dim, sizes in zip(dims, layout, strict=True) if len(sizes) > 1]
        if any(dim is None or dim.factor != 1 for dim, _ in cut):
            return
        self.free.discard(id(node))
        self._finish(node, node.access, {dim.label: sizes for dim, sizes in cut})

    def _merge(self, node: Node, index: int, missing: tuple[int, ...]) -> None:
        rest = [axis for axis in range(len(node.grid)) if axis not in missing]
        merge = Node(
            node.name,
            None,
            node.access.combine,
            [Ref(node, index)],
            {},
            (node.specs[index],),
            op=node.op,
        )
        merge.merges = missing
        merge.grid = tuple(node.grid[axis] for axis in rest)
        renumbered = {axis: i for i, axis in enumerate(rest)}
        merge.layouts = [node.layouts[index]]
        merge.wanted = [node.layouts[index]]
        merge.out_maps = [tuple(renumbered.get(a, -1) for a in node.out_maps[index])]
        merge.in_maps = [merge.out_maps[0]]
        self.nodes.append(merge)
        self.merged[Ref(node, index)] = Ref(merge)

    def _rechunk(self, ref: Ref, layout: Chunks | None) -> Ref:
        """Return the value in `layout`, through a node that gives it on if it has another."""
        if ref.layout == (layout if is_cut(layout) else None):
            return ref
        dims = tuple(range(len(ref.spec.shape)))
        node = Node("relayout", None, "copy", [ref], {}, (ref.spec,))
        cut = layout if is_cut(layout) else None
        node.layouts, node.wanted = [cut], [cut]
        sizes = layout or ((),) * len(dims)
        axes = [d for d in dims if len(sizes[d]) > 1]
        node.grid = tuple(len(sizes[d]) for d in axes)
        node.in_maps = node.out_maps = [tuple(axes.index(d) if d in axes else -1 for d in dims)]
        self.program.nodes.append(node)
        return Ref(node)


def _full_access(node: Node) -> Access:
    """Return the labels of a node's dimensions, those of a random op's key included."""
    in_shapes = [ref.spec.shape for ref in node.inputs]
    seeded = node.opdef.seeded
    access = _access(node, in_shapes[seeded:], [spec.shape for spec in node.specs])
    return Access(((), *access.inputs), access.outputs, access.combine) if seeded else access


def _access(node: Node, in_shapes: list[Any], out_shapes: list[Any]) -> Access:
    """Return the labels of a node's dimensions, where only the run can tell a size without any.

    A tensor with such a dimension stays whole, and so does what shares a label with it.
    """
    pattern = node.opdef.pattern
    every = (*in_shapes, *out_shapes)
    if all(shape is not None and None not in shape for shape in every):
        return pattern.access(in_shapes, out_shapes, node.rule_attrs)
    inner = pattern.inner if isinstance(pattern, Effect) else pattern
    if isinstance(inner, Movement) or any(shape is None for shape in every):
        ins, outs = ([(None,) * len(s or ()) for s in each] for each in (in_shapes, out_shapes))
        return Access(tuple(ins), tuple(outs))
    access = pattern.access(in_shapes, out_shapes, node.rule_attrs)
    terms = (*access.inputs, *access.outputs)
    open_labels = {
        dim.label
        for dims, shape in zip(terms, every, strict=True)
        if None in shape
        for dim in dims
        if dim is not None
    }

    def kept(dims: Dims) -> Dims:
        return tuple(None if d is None or d.label in open_labels else d for d in dims)

    return Access(tuple(map(kept, access.inputs)), tuple(map(kept, access.outputs)), access.combine)


def _is_loose(ref: Ref) -> bool:
    node = ref.node
    if isinstance(node, Leaf) and node.kind in (FEED, CONSTANT):
        return True
    return ref.spec.shape is not None and shapes.size(ref.spec.shape) == 1


def _written_key(node: Node) -> str | None:
    pattern = node.opdef.pattern if node.opdef is not None else None
    if getattr(pattern, "writes", False) and node.op is not None:
        return node.op.inputs[0].op.attrs["key"]
    return None


def _layout(dims: Dims, shape: Any, labels: dict[int, tuple[int, ...]]) -> Chunks | None:
    if shape is None or any(n is None for n in shape):
        return None
    return tuple(
        tuple(size * dim.factor for size in labels[dim.label])
        if dim is not None and dim.label in labels
        else (n,)
        for dim, n in zip(dims, shape, strict=True)
    )


def _map(dims: Dims, axis: dict[int, int]) -> tuple[int, ...]:
    return tuple(-1 if dim is None else axis.get(dim.label, -1) for dim in dims)
