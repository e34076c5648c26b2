"""Layouts of all values of a program whose leaves are cut in some way, which `cut_feeds` chooses.

Each node's access pattern labels its dimensions. The chunks of a label are those of the inputs
that carry it; inputs that disagree, or are cut where they must be whole, are rechunked on the
way in. A label that an output lacks leaves partial results, merged by a node of their own. What is
linear and gives no more than it takes is computed part by part, before: sums of gradients of a
variable that is used several times, means over those of several towers.
A source (a fill, random numbers) takes the layout of its first cut consumer, and so does a merge:
each block of the sum is made where it is needed, from slices of the partial results.

Where variables and the data of a step are cut both, a node that computes with both can be cut along
both, or a cut variable is gathered for the data's parts (`gathers`).
"""

from __future__ import annotations

import itertools
import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from daskvars import shapes
from daskvars.chunk_grid import Chunks
from daskvars.graph.definitions.patterns import (
    ALIKE,
    ASSEMBLE_ROWS,
    CONCATENATE_ROWS,
    Access,
    Contraction,
    Dims,
    Elementwise,
    Gather,
    Items,
    Movement,
    Reduction,
    Source,
)
from daskvars.lowering.planner import cut_loops
from daskvars.lowering.program import (
    CONSTANT,
    FEED,
    KEY,
    STALE,
    STATE,
    Leaf,
    Node,
    Program,
    Ref,
    is_variable,
    is_visible,
    ranked,
    spec_bytes,
    used_values,
)

REPEATED_BYTES = 1 << 20  # that all parts take from feeds to find the same each by itself
REPEATED_CALL_BYTES = 1 << 12  # that one of its calls takes as long as to move
REPEATED_FLOPS = 1 << 20  # of a product among them
# Of a cut table that comes whole: a row travels once, however often it is looked up, and of ids by
# chance two for each row leave every seventh row out, four every fiftieth.
LOOKUPS_PER_ROW = 4


def propagate(program: Program, parts: int = 1, gathers: bool = False) -> Program:
    """Return `program` with layouts, grids and block maps on every node.

    Args:
      program: with an access for each node, and layouts for the leaves.
      parts: how many blocks of a node are of use, where inputs are cut differently.
      gathers: whether cut variables come whole to whatever is cut as the data is.
    """
    if not _is_cut(program):
        for node in program.nodes:
            node.layouts = [None] * len(node.specs)
            node.wanted = [None] * len(node.inputs)
            node.in_maps = [()] * len(node.inputs)
            node.out_maps = [()] * len(node.specs)
        return program
    _Propagation(program, parts, gathers).run()
    return program


def _is_cut(program: Program) -> bool:
    layouts = [leaf.layouts[0] for leaf in program.leaves.values()]
    is_constrained = any(len(sizes) > 1 for node in program.nodes for sizes in node.cut.values())
    return is_constrained or any(map(is_cut, [*layouts, *program.stored.values()]))


def is_cut(layout: Chunks | None) -> bool:
    """Return whether a layout has more than one block."""
    if layout is not None:
        for sizes in layout:
            if len(sizes) > 1:
                return True
    return False


class _Propagation:
    def __init__(self, program: Program, parts: int, gathers: bool) -> None:
        self.program, self.parts, self.gathers = program, parts, gathers
        self.nodes: list[Node] = []
        self.merged: dict[Ref, Ref] = {}  # partial result -> merged result
        self.free: set[int] = set()  # nodes whose layout nobody has asked for yet
        self.open: set[int] = set()  # those that were made of nothing that is cut
        # Those whose bits depend on it, and their labels if nobody asks.
        self.waiting: dict[int, tuple[Node, dict[int, Any]]] = {}
        self.data: set[Ref] = set()  # values that are cut as the data of the step is
        self.lengths: set[int] = set()  # of the dimensions that it is cut along
        self.used = used_values(program)
        # Of values the dimensions that are cut as the user, or the planner, said: for the same
        # parts the same cuts.
        self.settled: dict[Ref, set[int]] = {}
        self.updating = _updating(program)
        self.merges_less = False

    def run(self) -> None:
        program = self.program
        for leaf in program.leaves.values():
            if is_cut(leaf.layouts[0]):
                if leaf.kind in (FEED, CONSTANT):
                    self.data.add(Ref(leaf))
                    self.lengths.update(
                        sum(sizes) for sizes in leaf.layouts[0] or () if len(sizes) > 1
                    )
                if leaf.kind not in (STATE, STALE) or leaf.what not in program.automatic:
                    self.settled[Ref(leaf)] = set(_cut_dimensions(leaf.layouts[0]))
        for node in program.nodes:
            if self.merged:
                node.inputs = [self.merged.get(ref, ref) for ref in node.inputs]
            self._lay_out(node)
        program.nodes = self.nodes
        program.outputs = [self.merged.get(ref, ref) for ref in program.outputs]
        program.evaluated = [self.merged.get(ref, ref) for ref in program.evaluated]
        program.updates = {k: self.merged.get(ref, ref) for k, ref in program.updates.items()}
        for key, layout in program.stored.items():
            if key in program.updates:
                self._retarget(program.updates[key], layout, key not in program.automatic)
                program.updates[key] = self._rechunk(program.updates[key], layout)
        if self.merges_less:
            program.drop_dead()
        for node, labels in self.waiting.values():
            if id(node) in self.free:
                given = {dim.label for dim in node.access.outputs[0] if dim}
                self._finish(node, node.access, {k: labels[k] for k in labels.keys() & given})
        self._repeat_sources()
        self._look_up_here()

    def _repeat_sources(self) -> None:
        """Make in each block that takes it whole what costs less to make than to send.

        That is made of nothing (zeros that sums begin with), or a view of a variable that is cut,
        and would be gathered all the same, or found from little that is fed: how long the longest
        sequence is, or how many numbers a mask leaves, is known before the first exchange then.
        """
        program, copies = self.program, dict[tuple[int, tuple[int, ...]], Node]()
        nodes: list[Node] = []
        taken_bytes = dict[Ref, float](), dict[Ref, float]()

        def is_repeated(ref: Ref, is_data: bool) -> bool:
            if _is_made_of_nothing(ref.node) or _is_view_of_variable(ref):
                return True
            if isinstance(ref.node, Leaf):
                return False
            nbytes = self._fed_bytes(ref, is_data, taken_bytes[is_data])
            return self.parts * nbytes <= REPEATED_BYTES  # however many workers there are

        def own(ref: Ref, grid: tuple[int, ...], is_data: bool) -> Ref:
            if not is_repeated(ref, is_data):
                return ref
            if ref.producer.merges is not None:
                ref = ref.producer.inputs[0]
            copy = copies.get((id(ref.node), grid))
            if copy is None:
                copy = copies[id(ref.node), grid] = ref.producer.copy()
                copy.inputs = [own(taken, grid, is_data) for taken in copy.inputs]
                if _is_lookup(copy):
                    copy.access, copy.by_rows = _by_ids(copy.access), True
                self._finish(copy, copy.access, {})
                copy.grid = grid
                if copy.by_rows:
                    copy.wanted[0] = copy.inputs[0].layout
                nodes.append(copy)
            return Ref(copy, ref.index)

        for node in program.nodes:
            is_data = not self.data.isdisjoint(node.inputs)
            for i, ref in enumerate(node.inputs if node.grid and node.merges is None else ()):
                if node.wanted[i] is None:
                    node.inputs[i] = own(ref, node.grid, is_data)
            nodes.append(node)
        if copies:
            program.nodes = nodes
            program.drop_dead()

    def _fed_bytes(self, ref: Ref, looks_up: bool, found: dict[Ref, float]) -> float:
        """Return the bytes of what is fed, or comes between, of a value that depends on no more.

        Random numbers are found by each block as well, the same ones, and by parts of the data rows
        of tables. Infinity where it depends on more, or takes much work, or is a block's own part.
        """
        node = ref.node
        nbytes = spec_bytes(ref.spec) if shapes.is_known(ref.spec.shape) else math.inf
        if isinstance(node, Leaf):
            return {FEED: nbytes, CONSTANT: 0.0, KEY: 0.0}.get(node.kind, math.inf)
        if ref in self.merged:
            return math.inf
        if ref not in found:
            node = node if node.merges is None else node.inputs[0].producer
            is_known = not (node.operands or node.by_rows or node.cut or node.device)
            is_lookup = looks_up and _is_lookup(node)
            inputs = node.inputs[1:] if is_lookup else node.inputs
            found[ref] = math.inf
            if is_known and (is_lookup or _is_little(node)):
                taken = (self._fed_bytes(each, looks_up, found) for each in inputs)
                found[ref] = nbytes + REPEATED_CALL_BYTES + sum(taken)
        return found[ref]

    def _look_up_here(self) -> None:
        """Look rows up in tables that come whole all the same, as those of tied weights do."""
        nodes = [node for node in self.program.nodes if node.grid and node.merges is None]
        whole = {
            ref
            for node in nodes
            for ref, wanted in zip(node.inputs, node.wanted, strict=True)
            if wanted is None and is_cut(ref.layout)
        }
        for node in nodes:
            if node.by_rows and node.inputs[0] in whole:
                node.by_rows, node.wanted[0] = False, None

    def _lay_out(self, node: Node) -> None:
        if getattr(node.pattern, "linear", False) and not node.operands:
            for terms in self._terms_by_parts(node):
                if self._by_parts(node, terms) is node:
                    return
        if self._looks_up(node):
            node.access, node.by_rows = _by_ids(node.access), True
        access = node.access
        labels = self._label_chunks(node, access)
        if self._waits_for_data(node, labels):
            self.waiting[id(node)] = node, labels
            self.free.add(id(node))
            self.open.add(id(node))
            labels = {}
        self._finish(node, access, labels)
        if node.by_rows:
            node.wanted[0] = node.inputs[0].layout
        self.nodes.append(node)
        if not labels:
            return
        if node.cut and isinstance(node.pattern, Source):  # the planner has
            for i, layout in enumerate(node.layouts):
                self.data.add(Ref(node, i))
                self.settled[Ref(node, i)] = set(_cut_dimensions(layout))
        self._note_data(node, access)
        if self.program.automatic:
            self._note_settled(node, access)
        for i, axes in enumerate(node.out_maps):
            missing = tuple(axis for axis in range(len(node.grid)) if axis not in axes)
            if missing and Ref(node, i) in self.used:
                self._merge(node, i, missing)

    def _waits_for_data(self, node: Node, labels: Mapping[int, Any]) -> bool:
        """Return whether what a node gives is likely to be taken by data, and cut as that is.

        So are gradients of results by what is fed: they begin with ones, times a weight. So is
        noise that is scaled by its own norm.
        """
        is_free = [self._is_open(ref) for ref in node.inputs]
        if node.operands or len(node.specs) > 1 or not any(is_free):
            return False
        if isinstance(node.pattern, Reduction):
            return all(is_free)
        if not isinstance(node.pattern, Contraction) or (labels and not self.gathers):
            return False
        others = itertools.compress(node.inputs, (not free for free in is_free))
        given = {dim.label for dim in node.access.outputs[0] if dim}
        rows = {
            size
            for dims, ref in itertools.compress(
                zip(node.access.inputs, node.inputs, strict=True), is_free
            )
            for dim, size in zip(dims, ref.spec.shape or (), strict=True)
            if dim and dim.label in given and size
        }
        has_rows = any(size % length == 0 for size in rows for length in self.lengths if length)
        return has_rows and not all(is_free) and all(map(is_variable, others))

    def _is_open(self, ref: Ref) -> bool:
        """Return whether a value is whole, and made of nothing that is cut."""
        if id(ref.node) in self.open:
            return id(ref.node) in self.free
        return _is_loose(ref) and not is_cut(ref.layout)

    def _note_data(self, node: Node, access: Access) -> None:
        """Add to the data the outputs that are cut as an input among it is."""
        labels = {
            label
            for dims, ref in zip(access.inputs, node.inputs, strict=True)
            if ref in self.data and ref.layout is not None
            for label in _label_sizes(dims, ref.layout)
        }
        if not labels:
            return
        for i, (dims, layout) in enumerate(zip(access.outputs, node.layouts, strict=True)):
            if layout is not None and not labels.isdisjoint(_label_sizes(dims, layout)):
                self.data.add(Ref(node, i))

    def _note_settled(self, node: Node, access: Access) -> None:
        """Note which dimensions of the outputs are cut as settled ones of the inputs are."""
        labels = self._settled_labels(node, access)
        if not labels:
            return
        for i, (dims, layout) in enumerate(zip(access.outputs, node.layouts, strict=True)):
            found = {
                axis for axis in _cut_dimensions(layout) if (d := dims[axis]) and d.label in labels
            }
            if found:
                self.settled[Ref(node, i)] = found

    def _settled_labels(self, node: Node, access: Access) -> set[int]:
        """Return the labels of the settled dimensions of a node's inputs."""
        return {
            dim.label
            for dims, ref in zip(access.inputs, node.inputs, strict=True)
            if ref in self.settled
            for axis in self.settled[ref]
            if (dim := dims[axis]) is not None
        }

    def _label_chunks(self, node: Node, access: Access) -> dict[int, Any]:
        """Return the chunks (in units of one) of each label that is cut."""
        given: list[Given] = []
        key = node.written_key
        wanted = self.program.stored.get(key)
        if wanted is not None:
            is_settled = key not in self.program.automatic
            given.append(Given(_label_sizes(access.outputs[0], wanted), math.inf, is_settled))
        for dims, ref in zip(access.inputs, self._deciding(node), strict=True):
            if ref is not None and ref.layout is not None:
                nbytes = math.inf if is_variable(ref) else spec_bytes(ref.spec)
                given.extend(self._given(ref, dims, nbytes))
        labels: dict[int, tuple[int, ...]] = dict(node.cut)
        # What the number of workers decided comes last: the rest must be cut as without it.
        for is_settled in (True, False):
            found = [one for one in given if one.is_settled == is_settled]
            if found:
                labels = {**_agreed(node, found, self.parts), **labels}
        labels = {label: sizes for label, sizes in labels.items() if len(sizes) > 1}
        if labels and self.program.automatic:
            self._drop_unsettled(node, access, labels)
        if labels:
            for i, dims in enumerate(access.outputs):
                if access.combine_of(i) is None:
                    names = {dim.label for dim in dims if dim}
                    labels = {label: sizes for label, sizes in labels.items() if label in names}
        if not labels and not node.cut and self._is_free(node):
            self.free.add(id(node))
            if isinstance(node.pattern, Source) or all(map(self._is_open, node.inputs)):
                self.open.add(id(node))
        return labels

    def _given(self, ref: Ref, dims: Dims, nbytes: float) -> list[Given]:
        """Return how an input is cut, apart for what is settled of it and what is not."""
        labels = _label_sizes(dims, ref.layout or ())
        if not self.program.automatic:
            return [Given(labels, nbytes, True)]
        axes = self.settled.get(ref, ())
        settled = {dim.label for axis in axes if (dim := dims[axis]) is not None}
        return [
            Given({k: labels[k] for k in labels if (k in settled) is kind}, nbytes, kind)
            for kind in (True, False)
        ]

    def _drop_unsettled(self, node: Node, access: Access, labels: dict[int, Any]) -> None:
        """Drop cuts whose number is that of the workers, where bits would depend on them.

        They would of partial sums, and of products, which BLAS rounds by the shapes that it is
        given, and by the order of what it is given in memory: what is transposed is a view of the
        whole. Rows that a table gives, or gets, are put together, not summed.
        """
        settled = self._settled_labels(node, access)
        if isinstance(node.pattern, Movement) and node.pattern.view:
            for label in labels.keys() - settled - _leading_labels(node, access):
                del labels[label]
        if access.combine is None or _is_gather(node):
            return
        is_product = node.contracts
        summed = [
            dims
            for i, dims in enumerate(access.outputs)
            if access.combine_of(i) not in (ALIKE, CONCATENATE_ROWS)
        ]
        for label in labels.keys() - settled:
            if is_product or not all(any(d and d.label == label for d in dims) for dims in summed):
                del labels[label]

    def _deciding(self, node: Node) -> list[Ref | None]:
        """Return the inputs whose layouts cut a node: all, or where variables are gathered data's.

        A table stays where it is, and gives the rows that it owns, unless nearly all are asked for.
        """
        inputs: list[Ref | None] = list(node.inputs)
        if not self.gathers or node.pinned is not None:
            return inputs
        has_data = [ref in self.data for ref in node.inputs]
        if not any(has_data):
            return inputs
        found = [ref if is_data else None for ref, is_data in zip(inputs, has_data, strict=True)]
        if _is_gather(node) and _has_rows_to_spare(node):
            found[0] = node.inputs[0]
        return found

    def _looks_up(self, node: Node) -> bool:
        """Return whether the data's parts look rows up in a table that is cut by rows.

        A table of which nearly all rows are looked up comes whole.
        """
        if not self.gathers or not looks_rows_up(node):
            return False
        ids = node.inputs[1]
        return ids in self.data and is_cut(ids.layout) and _is_lookup(node)

    def _is_free(self, node: Node) -> bool:
        """Return whether the node only computes with what any layout will do for.

        Those are sources, whole feeds and constants, single numbers, and elementwise results of
        these, moved or not.
        """
        if isinstance(node.pattern, Source):
            return True
        return isinstance(node.pattern, Elementwise | Movement) and all(
            id(ref.node) in self.free or _is_loose(ref) for ref in node.inputs
        )

    def _finish(
        self, node: Node, access: Access, labels: dict[int, Any], is_settled: bool | None = None
    ) -> None:
        if not labels:
            node.grid, node.wanted = (), [None] * len(node.inputs)
            node.layouts = [None] * len(node.specs)
            node.in_maps = [(-1,) * len(dims) for dims in access.inputs]
            node.out_maps = [(-1,) * len(dims) for dims in access.outputs]
            return
        # Blocks of a table, not of ids, are neighbours: they stay on its owner, and ids go there.
        table = {dim.label for dim in access.inputs[0] if dim} if _is_gather(node) else set()
        ordered = sorted(labels, key=lambda label: (label not in table, label))
        axis = {label: i for i, label in enumerate(ordered)}
        node.grid = tuple(len(labels[label]) for label in ordered)
        if is_settled is None:
            settled = self._settled_labels(node, access) if self.program.automatic else labels
            is_settled = labels.keys() <= set(settled)
        node.wanted = []
        for ref, dims in zip(node.inputs, access.inputs, strict=True):
            layout = _layout(dims, ref.spec.shape, labels)
            if is_cut(layout):
                self._retarget(ref, layout, is_settled)
                node.wanted.append(layout)
            else:
                node.wanted.append(None)
        node.in_maps = [_map(dims, axis) for dims in access.inputs]
        node.out_maps = [_map(dims, axis) for dims in access.outputs]
        node.layouts = [
            layout if is_cut(layout := _layout(dims, spec.shape, labels)) else None
            for dims, spec in zip(access.outputs, node.specs, strict=True)
        ]

    def _retarget(self, ref: Ref, layout: Chunks | None, is_settled: bool) -> None:
        """Let what nobody has cut yet make its values in the blocks wanted.

        Where bits depend on it, only in those that do not depend on the number of workers.
        """
        if id(ref.node) not in self.free or layout is None or not is_cut(layout):
            return
        if id(ref.node) in self.waiting and not is_settled:
            return
        node = ref.producer
        if node.merges is not None:
            self.free.discard(id(node))
            node.layouts = node.wanted = [layout]
            axes, node.grid = by_dimension(layout)
            node.in_maps = node.out_maps = [axes]
            return
        dims = node.access.outputs[ref.index]
        cut = [(dim, sizes) for dim, sizes in zip(dims, layout, strict=True) if len(sizes) > 1]
        if any(dim is None or any(size % dim.factor for size in sizes) for dim, sizes in cut):
            return
        self.free.discard(id(node))
        labels = {
            dim.label: tuple(size // dim.factor for size in sizes) for dim, sizes in cut if dim
        }
        _, own = self.waiting.get(id(node), (node, labels))
        if labels.keys().isdisjoint(own):
            self.data.add(ref)
        self._finish(node, node.access, labels, is_settled)

    def _terms_by_parts(self, node: Node) -> list[list[Ref]]:
        """Return which inputs of what is linear are merged from the same partial results.

        Of a sum those terms, where there are several. Of anything else all inputs or none: if they
        are for it alone, and it gives no more than it takes.
        """
        found: dict[Any, list[Ref]] = defaultdict(list)
        is_sum, shape = isinstance(node.pattern, Elementwise), node.specs[0].shape
        for ref in node.inputs:
            term = ref.node
            if isinstance(term, Leaf) or term.merges is None or term.kernel != "add" or term.ragged:
                continue
            (of,) = term.inputs
            if is_sum and ref.spec.shape == shape:
                parts = of.producer.grid, term.merges, of.producer.out_maps[of.index], of.layout
                found[parts].append(ref)
            elif not is_sum and of.layout is None and self.used[of] < 2:
                found[of.producer.grid, term.merges].append(ref)
        if is_sum:
            return [terms for terms in found.values() if len(terms) > 1]
        taken = sum(spec_bytes(ref.spec) for ref in node.inputs)
        is_less = sum(map(spec_bytes, node.specs)) <= taken and len(node.specs) == 1
        return [terms for terms in found.values() if is_less and len(terms) == len(node.inputs)]

    def _by_parts(self, node: Node, terms: list[Ref]) -> Node:
        """Compute with the partial results of which some inputs are merged, and merge that.

        Returns:
          The node that does: that which was given, if these are all of its inputs.
        """
        of, merges = terms[0].producer.inputs[0], terms[0].producer.merges
        total = node if len(terms) == len(node.inputs) else node.copy()
        total.inputs = [ref.producer.inputs[0] for ref in terms]
        total.access = Access(node.access.inputs[: len(terms)], node.access.outputs, "add")
        total.grid, total.layouts = of.producer.grid, [of.layout]
        total.wanted = [of.layout] * len(terms)
        total.in_maps = [ref.producer.out_maps[ref.index] for ref in total.inputs]
        is_whole = of.layout is None
        total.out_maps = (
            [(-1,) * len(total.specs[0].shape or ())] if is_whole else total.in_maps[:1]
        )
        self.nodes.append(total)
        if Ref(node) in self.updating:
            self.updating[Ref(total)] = self.updating[Ref(node)]
        assert merges is not None
        self._merge(total, 0, merges)
        self.merges_less = True
        if total is not node:
            rest = [ref for ref in node.inputs if ref not in terms]
            node.inputs = [self.merged[Ref(total)], *rest]
            dims = node.access.outputs
            node.access = Access(dims * len(node.inputs), dims)
        return total

    def _merge(self, node: Node, index: int, missing: tuple[int, ...]) -> None:
        rest = [axis for axis in range(len(node.grid)) if axis not in missing]
        combine = node.access.combine_of(index)
        merge = Node(
            node.name, None, combine, [Ref(node, index)], {}, (node.specs[index],), op=node.op
        )
        merge.merges, merge.ragged, merge.filled = missing, node.ragged, node.filled
        merge.grid = tuple(node.grid[axis] for axis in rest)
        renumbered = {axis: i for i, axis in enumerate(rest)}
        merge.layouts = [node.layouts[index]]
        merge.wanted = [node.layouts[index]]
        merge.out_maps = [tuple(renumbered.get(a, -1) for a in node.out_maps[index])]
        merge.in_maps = [merge.out_maps[0]]
        self.nodes.append(merge)
        merged = self.merged[Ref(node, index)] = Ref(merge)
        if not rest and merge.kernel != ASSEMBLE_ROWS:
            self.free.add(id(merge))
        if Ref(node, index) in self.data:
            self.data.add(merged)
        if Ref(node, index) in self.settled:
            self.settled[merged] = self.settled[Ref(node, index)]
        key = self.updating.get(Ref(node, index))
        if key is not None:
            self._retarget(merged, self.program.stored[key], key not in self.program.automatic)
            if key not in self.program.automatic:
                self.settled[merged] = set(_cut_dimensions(merge.layouts[0]))

    def _rechunk(self, ref: Ref, layout: Chunks | None) -> Ref:
        """Return the value in `layout`, through a node that gives it on if it has another."""
        if ref.layout == (layout if is_cut(layout) else None):
            return ref
        node = Node("relayout", None, "copy", [ref], {}, (ref.spec,))
        cut = layout if is_cut(layout) else None
        node.layouts, node.wanted = [cut], [cut]
        axes, node.grid = by_dimension(layout or ((0,),) * len(ranked(ref.spec.shape)))
        node.in_maps = node.out_maps = [axes]
        self.program.nodes.append(node)
        return Ref(node)


def _leading_labels(node: Node, access: Access) -> set[int]:
    """Return the labels of the first dimensions of results, those of size 1 aside."""
    found = set[int]()
    for dims, spec in zip(access.outputs, node.specs, strict=True):
        long = [dim for dim, n in zip(dims, ranked(spec.shape), strict=True) if n != 1]
        found.update(dim.label for dim in long[:1] if dim)
    return found


def _updating(program: Program) -> dict[Ref, str]:
    """Return value -> key of a cut variable that it becomes an update of, element by element.

    What is summed up to such a value is wanted in the variable's blocks, whoever else takes it, and
    before that (the norm that gradients are clipped by). Variables that the user has cut come
    first: others are cut by the number of workers, and in one process not at all.
    """
    found: dict[Ref, str] = {}
    cut = [(key, ref) for key, ref in program.updates.items() if is_cut(program.stored.get(key))]
    for is_automatic in (False, True) if cut else ():
        for key, ref in cut:
            if (key in program.automatic) is is_automatic:
                found.setdefault(ref, key)
        for node in reversed(program.nodes):
            becomes = found.get(Ref(node))
            if becomes is not None and isinstance(node.kernel_pattern, Elementwise):
                for ref in node.inputs:
                    if ref.spec.shape == node.specs[0].shape:
                        found.setdefault(ref, becomes)
    return found


def _cut_dimensions(layout: Chunks | None) -> list[int]:
    return [axis for axis, sizes in enumerate(layout or ()) if len(sizes) > 1]


def _label_sizes(dims: Dims, layout: Chunks) -> dict[int, tuple[int, ...]]:
    """Return the chunks of each label along which a value is cut, in units of one."""
    found: dict[int, tuple[int, ...]] = {}
    for dim, sizes in zip(dims, layout, strict=False):
        if dim is None or len(sizes) == 1:
            continue
        if dim.factor == 1:
            found[dim.label] = sizes
        elif not any(size % dim.factor for size in sizes):
            found[dim.label] = tuple(size // dim.factor for size in sizes)
    return found


class Given(NamedTuple):
    """How one value that a node takes or makes is cut.

    Attributes:
      labels: the chunks of each label along which it is.
      nbytes: of the value; infinite where it stays as it is.
      is_settled: whether that does not depend on the number of workers.
    """

    labels: dict[int, tuple[int, ...]]
    nbytes: float
    is_settled: bool


def _agreed(node: Node, given: Sequence[Given], parts: int) -> dict[int, tuple[int, ...]]:
    """Return the chunks of the labels along which a node is cut.

    Inputs that are cut along different labels would make a block of every pair of theirs. If these
    are more than there are parts, only the labels of one input are kept, and other inputs gathered:
    a variable, or that with the most bytes.
    """
    union = {label: sizes for one in reversed(given) for label, sizes in one.labels.items()}
    blocks = math.prod(map(len, union.values()))
    pattern = node.pattern
    is_pairwise = isinstance(pattern, Elementwise | Contraction)
    if (
        not is_pairwise
        or blocks <= parts
        or any(one.labels.keys() == union.keys() for one in given)
    ):
        return union
    return max(given, key=lambda one: (bool(one.labels), one.nbytes)).labels


def _is_gather(node: Node) -> bool:
    return isinstance(node.pattern, Gather)


def _picks_rows(node: Node) -> bool:
    """Return whether a node picks rows of a variable, which may stay where they are."""
    pattern = node.pattern
    if node.pinned is not None or not isinstance(pattern, Gather) or pattern.partial is None:
        return False
    return is_variable(node.inputs[0])


def _is_lookup(node: Node) -> bool:
    """Return whether a node picks rows of a variable that is cut by rows."""
    return _picks_rows(node) and _cut_dimensions(node.inputs[0].layout) == [0]


def looks_rows_up(node: Node) -> bool:
    """Return whether a node looks up rows of a variable, and is likely to leave many."""
    return _picks_rows(node) and _has_rows_to_spare(node)


def _has_rows_to_spare(node: Node) -> bool:
    """Return whether a table is likely to have many rows that a step does not look up."""
    return LOOKUPS_PER_ROW * node.inputs[0].nbytes > spec_bytes(node.specs[0])


def _by_ids(access: Access) -> Access:
    """Return the labels of rows that are looked up by ids, those of the table left out."""
    table, ids = access.inputs[:2]
    (found,) = access.outputs
    labels = {dim.label for dim in ids if dim}
    kept = tuple(dim if dim and dim.label in labels else None for dim in found)
    return Access(((None,) * len(table), ids), (kept,))


def _is_made_of_nothing(node: Node | Leaf) -> bool:
    """Return whether a whole value is made of constants alone, by an op that but fills memory."""
    return (
        isinstance(node, Node)
        and not node.grid
        and isinstance(node.pattern, Source | Items)
        and all(isinstance(r.node, Leaf) and r.node.kind == CONSTANT for r in node.inputs)
    )


def _is_little(node: Node) -> bool:
    """Return whether what a node does takes little time where it takes few bytes."""
    if isinstance(node.pattern, Contraction):
        return node.flops <= REPEATED_FLOPS
    is_drawn = node.opdef is not None and node.opdef.seeded and not is_visible(node)
    return is_drawn or isinstance(node.pattern, Elementwise | Movement | Reduction)


def _is_view_of_variable(ref: Ref) -> bool:
    """Return whether a value that is cut has all the elements of a variable, and no others."""
    node = ref.node
    if isinstance(node, Leaf) or not isinstance(node.pattern, Movement) or not node.pattern.view:
        return False
    source = node.inputs[0]
    return (
        is_cut(ref.layout)
        and source.nbytes == ref.nbytes
        and all(isinstance(taken.node, Leaf) for taken in node.inputs[1:])
        and (is_variable(source) or _is_view_of_variable(source))
    )


def by_dimension(layout: Chunks) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the map of dimensions to axes, and the grid, of a node with an axis for each cut."""
    cut = _cut_dimensions(layout)
    axes = tuple(cut.index(dim) if dim in cut else -1 for dim in range(len(layout)))
    return axes, tuple(len(layout[dim]) for dim in cut)


def full_access(node: Node) -> Access:
    """Return the labels of a node's dimensions, those of a random op's key included."""
    if node.pinned is not None:
        return node.pinned
    if node.subgraphs:
        return cut_loops.access(node, full_access)
    in_shapes = [ref.spec.shape for ref in node.inputs]
    seeded = node.rules.seeded
    access = _access(node, in_shapes[seeded:], [spec.shape for spec in node.specs])
    return Access(((), *access.inputs), access.outputs, access.combine) if seeded else access


def _access(
    node: Node, in_shapes: Sequence[shapes.Shape], out_shapes: Sequence[shapes.Shape]
) -> Access:
    """Return the labels of a node's dimensions, where only the run can tell a size without any.

    A tensor with such a dimension stays whole, and so does what shares a label with it.
    """
    ins = [shape for shape in in_shapes if shape is not None]
    outs = [shape for shape in out_shapes if shape is not None]
    if len(ins) < len(in_shapes) or len(outs) < len(out_shapes):
        whole = [tuple((None,) * len(s or ()) for s in each) for each in (in_shapes, out_shapes)]
        return Access(whole[0], whole[1])
    access = node.rules.pattern.access(ins, outs, node.rule_attrs)
    every = (*ins, *outs)
    if not any(None in shape for shape in every):
        return access
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


def _layout(dims: Dims, shape: Any, labels: dict[int, tuple[int, ...]]) -> Chunks | None:
    if shape is None or None in shape:
        return None
    layout: list[tuple[int, ...]] = []
    for dim, n in zip(dims, shape, strict=True):
        sizes = None if dim is None else labels.get(dim.label)
        if dim is None or sizes is None:
            layout.append((n,))
        elif dim.factor == 1:
            layout.append(sizes)
        else:
            layout.append(tuple(size * dim.factor for size in sizes))
    return tuple(layout)


def _map(dims: Dims, axis: dict[int, int]) -> tuple[int, ...]:
    return tuple([-1 if dim is None else axis.get(dim.label, -1) for dim in dims])
