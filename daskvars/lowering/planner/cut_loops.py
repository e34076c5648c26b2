"""Branches and loops planned through what they run: which dimensions may be cut all the way.

A node with branches has an `Access` as any other, found from those of the nodes inside. Each
dimension of each value inside is an element; what a node cuts alike is joined, in the ratio of its
factors, and so is what a turn gives and the next one takes (`Flow`). A dimension that something
wants whole is cut nowhere: blocks run on their own, and nothing moves between them inside. What is
left are the labels. So a recurrent network is cut along its batch, and a loop that mixes the rows
of its batch is not cut.

A result that lacks a label is the same of every block (a step counter), or it is partial: a sum
over the label that some product inside makes. Partial sums may be added up and moved, and go where
a loop sums the results of its turns (the gradients of weights); there they are results, which are
merged as those of any node. Whatever else takes one wants it whole, and the label is none.

The nodes inside get the attributes of a block (the numbers of a reshape, where the random numbers
lie) and its part of constants, as nodes outside do; blocks for which these are the same share one
program.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

from daskvars.graph.definitions.opdef import Spec
from daskvars.graph.definitions.patterns import ADD, ALIKE, Access, Block, Dim, Dims, Flow, Held
from daskvars.lowering.program import (
    CONSTANT,
    PARAMETER,
    Node,
    Program,
    Ref,
    concrete,
    is_alike,
    ranked,
    runs_visibly,
)
from daskvars.shapes import Shape

Slots = list[int | None] | None
"""The elements of a value's dimensions, None where one is whole; None: a list without items."""

Here = Mapping[int, tuple[int, int]]
"""Where a block lies: label -> its first element and how many it has, in units of the label."""


def access(node: Node, access_of: Callable[[Node], Access]) -> Access:
    """Return the labels of a node with branches, and note those of the values inside.

    Args:
      node: with the shapes that are really fed.
      access_of: gives the labels of a node inside.
    """
    whole = Access(
        tuple((None,) * len(ref.spec.shape or ()) for ref in node.inputs),
        tuple((None,) * len(spec.shape or ()) for spec in node.specs),
    )
    if node.flow is None or runs_visibly(node):
        return whole
    found = _Labels(node, node.flow, access_of).result()
    return whole if found is None else found


class _Elements:
    """Dimensions, joined where they are cut alike, in a ratio of the sizes of their blocks."""

    def __init__(self) -> None:
        self.above: list[int] = []
        self.ratios: list[Any] = []  # blocks of the element / blocks of the one above
        self.sizes: list[int | None] = []
        self.is_whole: list[bool] = []  # of a root: whether it may not be cut

    def new(self, size: int | None) -> int:
        self.above.append(len(self.above))
        self.ratios.append(1)
        self.sizes.append(size)
        self.is_whole.append(size is None)
        return len(self.above) - 1

    def root(self, element: int) -> tuple[int, Any]:
        """Return the root of an element, and its blocks as a multiple of the root's."""
        ratio: Any = 1
        while self.above[element] != element:
            ratio *= self.ratios[element]
            element = self.above[element]
        return element, ratio

    def keep_whole(self, element: int | None) -> None:
        if element is not None:
            self.is_whole[self.root(element)[0]] = True

    def join(self, a: int, b: int, ratio: Any = 1) -> None:
        """Have the blocks of `a` be those of `b` times `ratio`."""
        (root_a, times_a), (root_b, times_b) = self.root(a), self.root(b)
        if root_a != root_b:
            self.above[root_a] = root_b
            ratio = ratio * times_b
            self.ratios[root_a] = 1 if ratio == times_a else Fraction(ratio) / times_a
            self.is_whole[root_b] = self.is_whole[root_b] or self.is_whole[root_a]
        elif times_a != ratio * times_b:
            self.is_whole[root_a] = True

    def tie(self, a: Slots, b: Slots) -> None:
        """Have two values be cut alike; a list without items is so anyway."""
        if a is None or b is None:
            return
        if len(a) != len(b):
            for element in (*a, *b):
                self.keep_whole(element)
            return
        for one, other in zip(a, b, strict=True):
            if one is None or other is None or self.sizes[one] != self.sizes[other]:
                self.keep_whole(one)
                self.keep_whole(other)
            else:
                self.join(one, other)


class _Labels:
    """Finds the labels of one node with branches."""

    def __init__(self, node: Node, flow: Flow, access_of: Callable[[Node], Access]) -> None:
        self.node, self.flow, self.access_of = node, flow, access_of
        self.elements = _Elements()
        self.inputs = [self._slots(ref.spec.shape) for ref in node.inputs]
        self.outputs = [self._slots(spec.shape) for spec in node.specs]
        self.taken: dict[int, Slots] = {}  # input -> slots of what stands for it inside
        self.inside: list[dict[Ref, Slots]] = []
        # Node inside -> label of its own -> an element.
        self.own: dict[int, dict[int, int]] = {}
        self.partial: dict[Ref, set[int]] = {}  # value -> elements that it is a partial sum over

    def _slots(self, shape: Shape) -> Slots:
        if isinstance(shape, Held) and not shape.parts:
            return None
        return [self.elements.new(n) for n in shape or ()]

    def result(self) -> Access | None:
        """Return the labels, None where there are none."""
        for branch in self.node.subgraphs:
            self.inside.append(self._walk(branch))
        for i, slots in self.taken.items():
            self.elements.tie(self.inputs[i], slots)
        self._tie_flow()
        for ref, slots in zip(self.node.inputs, self.inputs, strict=True):
            if isinstance(ref.spec.shape, Held) and len(ref.spec.shape.parts) > 1:
                self._tie_as_made(ref, slots or [])
        for branch in self.node.subgraphs:
            self._note_partials(branch)
        sums = self._partial_outputs()
        self._join_idle()
        self._keep_distinct()
        return self._numbered(sums) if any(map(self._is_cut, self._outside())) else None

    # -- what is cut alike ----------------------------------------------------------------------

    def _walk(self, branch: Program) -> dict[Ref, Slots]:
        found: dict[Ref, Slots] = {}
        for leaf in branch.leaves.values():
            slots = self._slots(leaf.specs[0].shape)
            found[Ref(leaf)] = slots
            if leaf.kind == PARAMETER:
                self.elements.tie(slots, self.taken.setdefault(leaf.what, slots))
        for node in branch.nodes:
            self._join(node, found)
        return found

    def _join(self, node: Node, found: dict[Ref, Slots]) -> None:
        labels = node.access = self.access_of(node)
        own: dict[int, tuple[int, int]] = {}  # label of the node's -> an element, its factor
        elements = self.elements
        for dims, ref in zip(labels.inputs, node.inputs, strict=True):
            for dim, slot in zip(dims, found[ref] or (), strict=True):
                if dim is None:
                    elements.keep_whole(slot)
                else:
                    self._note(own, dim, slot)
        for i, (dims, spec) in enumerate(zip(labels.outputs, node.specs, strict=True)):
            slots: list[int | None] = []
            for dim, size in zip(dims, spec.shape or (), strict=True):
                slots.append(None if dim is None else elements.new(size))
                if dim is not None:
                    self._note(own, dim, slots[-1])
            is_empty = isinstance(spec.shape, Held) and not spec.shape.parts
            found[Ref(node, i)] = None if is_empty else slots
        self.own[id(node)] = {label: element for label, (element, _) in own.items()}
        if node.rules.block is not None and not _is_known(node):
            for element, _ in own.values():
                elements.keep_whole(element)

    def _note(self, own: dict[int, tuple[int, int]], dim: Dim, slot: int | None) -> None:
        """Join a dimension with others of its label; if it is whole, so are they."""
        elements = self.elements
        is_whole = slot is None
        element = elements.new(None) if slot is None else slot
        other, factor = own.setdefault(dim.label, (element, dim.factor))
        if other != element:
            ratio = 1 if dim.factor == factor else Fraction(dim.factor, factor)
            elements.join(element, other, ratio)
        if is_whole:
            elements.keep_whole(element)

    def _result(self, result: tuple[int, int]) -> Slots:
        branch, position = result
        return self.inside[branch][self.node.subgraphs[branch].outputs[position]]

    def _tie_flow(self) -> None:
        flow, tie = self.flow, self.elements.tie
        for output, results in flow.given:
            for result in results:
                tie(self.outputs[output], self._result(result))
        for output, i, result in (*flow.carried, *flow.summed):
            tie(self.outputs[output], self._result(result))
            tie(self.outputs[output], self.inputs[i])
            tie(self.outputs[output], self.taken.get(i))
        for output, i, result in flow.joined:
            for slots in (self.outputs[output], self.inputs[i], self._result(result)):
                for element in slots or ():
                    self.elements.keep_whole(element)
        for result in flow.decides:
            for element in self._result(result) or ():
                self.elements.keep_whole(element)
        if flow.history is not None:
            self._tie_history(*flow.history)

    def _tie_history(
        self, output: int, inputs: Sequence[int], results: Sequence[tuple[int, int]]
    ) -> None:
        shape, slots = self.node.specs[output].shape, self.outputs[output]
        if not isinstance(shape, Held) or slots is None:
            return
        carried = {i: o for o, i, _ in self.flow.carried}
        held = [self.outputs[carried[i]] if i in carried else self.inputs[i] for i in inputs]
        for number, other in enumerate([*held, *map(self._result, results)]):
            self.elements.tie(slots[shape.range_of(number)], other)

    def _tie_as_made(self, ref: Ref, slots: Sequence[int | None]) -> None:
        """Take what a loop has noted as that is cut, all of it, or whole."""
        elements = self.elements
        labels = getattr(ref.node, "access", None)
        dims = (None,) * len(slots) if labels is None else labels.outputs[ref.index]
        firsts: dict[int, tuple[int | None, int]] = {}
        for dim, slot in zip(dims, slots, strict=True):
            other, factor = firsts.setdefault(dim.label, (slot, dim.factor)) if dim else (None, 1)
            if dim is None or slot is None or other is None:
                elements.keep_whole(slot)
                elements.keep_whole(other)
            elif slot != other:
                elements.join(slot, other, Fraction(dim.factor, factor))

    # -- partial sums ---------------------------------------------------------------------------

    def _note_partials(self, branch: Program) -> None:
        for node in branch.nodes:
            labels = node.access
            given = {d.label for dims in (*labels.inputs, *labels.outputs) for d in dims if d}
            taken = [self._sums_of(ref) for ref in node.inputs]
            is_linear = getattr(node.pattern, "linear", False)
            over = self._in_all(taken if is_linear else [set(), *taken])
            own = self.own[id(node)]
            for i, dims in enumerate(labels.outputs):
                lacking = given - {dim.label for dim in dims if dim}
                sums = set(over)
                for label in lacking:
                    root, _ = self.elements.root(own[label])
                    combine = labels.combine_of(i)
                    if combine == ADD:
                        sums.add(root)
                    elif combine != ALIKE:
                        self.elements.is_whole[root] = True
                if sums:
                    self.partial[Ref(node, i)] = sums

    def _in_all(self, sums: list[set[int]]) -> set[int]:
        """Return the labels that all values are partial sums over; others are kept whole."""
        found = {root for root in set[int]().union(*sums) if all(root in each for each in sums)}
        for root in set[int]().union(*sums) - found:
            self.elements.is_whole[root] = True
        return found

    def _sums_of(self, ref: Ref) -> set[int]:
        """Return the labels that a value is a partial sum over."""
        found = self.partial.get(ref, ())
        return {root for root in found if not self.elements.is_whole[root]}

    def _partial_outputs(self) -> list[set[int]]:
        """Return for each output the labels that it is a partial sum over."""
        flow, branches = self.flow, self.node.subgraphs

        def sums_of(result: tuple[int, int]) -> set[int]:
            branch, position = result
            return self._sums_of(branches[branch].outputs[position])

        whole = [*flow.decides, *(result for _, _, result in (*flow.carried, *flow.joined))]
        if flow.history is not None:
            whole += flow.history[2]
        summed = {i for _, i, _ in flow.summed}
        leaves = [leaf for branch in branches for leaf in branch.leaves.values()]
        is_used = any(leaf.kind == PARAMETER and leaf.what in summed for leaf in leaves)
        if is_used:  # what was summed so far is for this loop alone
            whole += [result for _, _, result in flow.summed]
        found: list[set[int]] = [set() for _ in self.outputs]
        for result in whole:
            for root in sums_of(result):
                self.elements.is_whole[root] = True
        for output, results in flow.given:
            sums = [sums_of(result) for result in results]
            found[output] = self._in_all(sums)
        for output, _, result in flow.summed:
            found[output] = sums_of(result)
        return found

    # -- labels ---------------------------------------------------------------------------------

    def _join_idle(self) -> None:
        """Cut what nothing here needs (of the history of a loop, say) as most of the rest is cut.

        It comes as it is, then, and adds no way to cut this node. What an array has beside each
        other is not cut alike, though it be as long: a state of as many units as rows.
        """
        elements = self.elements
        users: dict[int, set[int]] = {}
        for number, slots in enumerate((*self.inputs, *self.outputs)):
            for element in slots or ():
                if element is not None and self._is_cut(element):
                    users.setdefault(elements.root(element)[0], set()).add(number)
        idle = [
            r for r, found in users.items() if len(found) == 1 and min(found) < len(self.inputs)
        ]
        busy = sorted(users.keys() - set(idle), key=lambda root: (-len(users[root]), root))
        beside = self._beside() if idle else {}
        for root in idle:
            for other in busy:
                if elements.sizes[root] == elements.sizes[other] and other not in beside[root]:
                    elements.join(root, other)
                    beside[other] |= beside[root]
                    for each in beside[root]:
                        beside[each].add(other)
                    break

    def _beside(self) -> dict[int, set[int]]:
        """Return for each root those that some array has in other dimensions."""
        found: dict[int, set[int]] = defaultdict(set)
        for roots in self._arrays():
            for root in roots:
                found[root].update(roots)
        for root, others in found.items():
            others.discard(root)
        return found

    def _keep_distinct(self) -> None:
        """Keep whole what an array would be cut along twice: its blocks were not all there."""
        for roots in self._arrays():
            for root in roots if len(set(roots)) < len(roots) else ():
                if roots.count(root) > 1:
                    self.elements.is_whole[root] = True

    def _arrays(self) -> Iterator[list[int]]:
        """Give the roots of the dimensions of each array, here and inside."""
        node = self.node
        values = [*zip([ref.spec for ref in node.inputs], self.inputs, strict=True)]
        values += zip(node.specs, self.outputs, strict=True)
        values += [(ref.spec, slots) for found in self.inside for ref, slots in found.items()]
        for spec, slots in values:
            if not slots:
                continue
            arrays = [slots]
            if isinstance(spec.shape, Held):
                arrays = [slots[spec.shape.range_of(i)] for i in range(len(spec.shape.parts))]
            for array in arrays:
                yield [self.elements.root(element)[0] for element in array if element is not None]

    def _outside(self) -> list[int]:
        """Return the elements of what the node takes and gives."""
        values = (*self.inputs, *self.outputs)
        return [element for slots in values for element in slots or () if element is not None]

    def _is_cut(self, element: int) -> bool:
        return not self.elements.is_whole[self.elements.root(element)[0]]

    def _numbered(self, sums: list[set[int]]) -> Access:
        """Return the labels by number, in the order in which the inputs and outputs have them."""
        counts: dict[int, int] = {}
        for element in self._outside():
            if self._is_cut(element):
                root, _ = self.elements.root(element)
                counts[root] = counts.get(root, 0) + 1
        self._check_units(counts)
        taken = self._consistent(sorted(counts, key=lambda root: -counts[root]), sums)
        self.numbers = {root: i for i, root in enumerate(r for r in counts if r in taken)}
        inputs, outputs = (
            tuple(self._dims(slots) for slots in side) for side in (self.inputs, self.outputs)
        )
        self.node.inside = tuple(
            {ref: dims for ref, slots in found.items() if any(dims := self._dims(slots))}
            for found in self.inside
        )
        combine = tuple(ADD if found & taken else ALIKE for found in sums)
        return Access(inputs, outputs, combine)

    def _check_units(self, counts: dict[int, int]) -> None:
        """Find the unit of each label, of which all its dimensions are multiples."""
        members: dict[int, list[tuple[int, Any]]] = {root: [] for root in counts}
        for element in range(len(self.elements.above)):
            root, ratio = self.elements.root(element)
            if root in members:
                members[root].append((element, ratio))
        self.units: dict[int, int] = {}
        for root, found in members.items():
            unit = math.lcm(*(Fraction(ratio).denominator for _, ratio in found))
            sizes = {Fraction(self.elements.sizes[e] or 0) / (r * unit) for e, r in found}
            if len(sizes) != 1 or sizes.pop().denominator != 1:
                del counts[root]
            self.units[root] = unit

    def _consistent(self, roots: list[int], sums: list[set[int]]) -> set[int]:
        """Return the labels that may be cut at once, those first that come first.

        Over those that an output lacks it must be merged in one way. Each two must be beside each
        other in some array: the rows of variables that have nothing to do with each other would
        make a block for each way in which theirs go together.
        """
        has = [
            {self.elements.root(element)[0] for element in slots or () if element is not None}
            for slots in self.outputs
        ]
        beside = self._beside()
        taken: set[int] = set()
        for root in roots:
            lacking = [(taken | {root}) - labels for labels in has]
            if taken <= beside[root] and all(
                not each & over or each <= over for each, over in zip(lacking, sums, strict=True)
            ):
                taken.add(root)
        return taken

    def _dims(self, slots: Slots) -> Dims:
        found: list[Dim | None] = []
        for element in slots or ():
            root, ratio = (-1, 1) if element is None else self.elements.root(element)
            number = self.numbers.get(root)
            found.append(None if number is None else Dim(number, int(ratio * self.units[root])))
        return tuple(found)


def _is_known(node: Node) -> bool:
    specs = [*(ref.spec for ref in node.inputs[node.rules.seeded :]), *node.specs]
    return all(spec.shape is not None and None not in spec.shape for spec in specs)


# -- blocks ----------------------------------------------------------------------------------------


def block_branches(node: Node) -> tuple[list[tuple[Program, ...]], dict[tuple[int, ...], int]]:
    """Return the different branches that the blocks of a node run, and which block runs which."""
    labels = _cut_labels(node)
    if not labels:
        return [node.subgraphs], dict.fromkeys(product(*map(range, node.grid)), 0)
    variants: list[tuple[Program, ...]] = []
    notes: list[list[Any]] = []
    table: dict[tuple[int, ...], int] = {}
    for index in product(*map(range, node.grid)):
        here = {
            label: (sum(sizes[: index[axis]]), sizes[index[axis]])
            for label, (axis, sizes) in labels.items()
        }
        note: list[Any] = [[size for _, size in here.values()]]
        branches = tuple(
            _of_block(branch, inside, here, note)
            for branch, inside in zip(node.subgraphs, node.inside, strict=True)
        )
        number = next((i for i, other in enumerate(notes) if is_alike(note, other)), len(notes))
        if number == len(notes):
            notes.append(note)
            variants.append(branches)
        table[index] = number
    return variants, table


def _cut_labels(node: Node) -> dict[int, tuple[int, tuple[int, ...]]]:
    """Return the axis of the grid, and the sizes of the blocks, of each label that is cut."""
    found: dict[int, tuple[int, tuple[int, ...]]] = {}
    if not node.inside:
        return found
    given = (*zip(node.access.inputs, node.in_maps, node.wanted, strict=True),)
    given += (*zip(node.access.outputs, node.out_maps, node.layouts, strict=True),)
    for dims, axes, layout in given:
        for dim, axis, sizes in zip(dims, axes, layout or (), strict=False):
            if dim is not None and axis >= 0:
                found[dim.label] = axis, tuple(size // dim.factor for size in sizes)
    return found


def _of_block(branch: Program, inside: Mapping[Ref, Dims], here: Here, note: list[Any]) -> Program:
    """Return a branch as one block runs it; to `note` goes all that tells it from others."""
    new = Program()
    moved: dict[Ref, Ref] = {}
    for leaf in branch.leaves.values():
        what, (spec,), dims = leaf.what, leaf.specs, inside.get(Ref(leaf), ())
        if leaf.kind == CONSTANT and dims:
            sizes, offsets = _extents(spec.shape, dims, here)
            places = zip(concrete(sizes), offsets, strict=True)
            what = what[tuple(slice(offset, offset + size) for size, offset in places)]
            note.append(what)
        moved[Ref(leaf)] = new.leaf(leaf.kind, what, _spec_of_block(spec, dims, here))
    for node in branch.nodes:
        copy = node.copy()
        ins = [(ref.spec.shape, inside.get(ref, ())) for ref in node.inputs]
        outs = [(spec.shape, inside.get(Ref(node, i), ())) for i, spec in enumerate(node.specs)]
        copy.inputs = [moved[ref] for ref in node.inputs]
        copy.specs = tuple(
            _spec_of_block(spec, dims, here)
            for spec, (_, dims) in zip(node.specs, outs, strict=True)
        )
        is_cut = any(dim.label in here for _, dims in (*ins, *outs) for dim in dims if dim)
        rule = node.rules.block
        if is_cut and rule is not None:
            copy.attrs = _block_attrs(rule, node, ins, outs, here)
            note.append(copy.attrs)
        if is_cut and node.subgraphs and node.inside:
            inner = _inner_here(node, [dims for _, dims in (*ins, *outs)], here)
            copy.subgraphs = tuple(
                _of_block(each, dims, inner, note)
                for each, dims in zip(node.subgraphs, node.inside, strict=True)
            )
        copy.inside = ()
        moved.update((Ref(node, i), Ref(copy, i)) for i in range(len(node.specs)))
        new.nodes.append(copy)
    new.outputs = [moved[ref] for ref in branch.outputs]
    return new


def _extents(
    shape: Shape, dims: Dims, here: Here
) -> tuple[tuple[int | None, ...], tuple[int, ...]]:
    """Return the shape and the offset of a block."""
    places = [
        (n, 0)
        if dim is None or dim.label not in here
        else (here[dim.label][1] * dim.factor, here[dim.label][0] * dim.factor)
        for n, dim in zip(shape or (), dims or (None,) * len(shape or ()), strict=True)
    ]
    return tuple(size for size, _ in places), tuple(offset for _, offset in places)


def _spec_of_block(spec: Spec, dims: Dims, here: Here) -> Spec:
    if not dims:
        return spec
    sizes, _ = _extents(spec.shape, dims, here)
    if isinstance(spec.shape, Held):
        every = range(len(spec.shape.parts))
        parts = [spec.shape.parts[i] and sizes[spec.shape.range_of(i)] for i in every]
        return Spec(spec.dtype, Held(parts))
    return Spec(spec.dtype, sizes)


def _block_attrs(
    rule: Callable[..., dict[str, Any]],
    node: Node,
    ins: Sequence[tuple[Shape, Dims]],
    outs: Sequence[tuple[Shape, Dims]],
    here: Here,
) -> dict[str, Any]:
    ins = ins[node.rules.seeded :]
    taken, given = ([_extents(*value, here) for value in side] for side in (ins, outs))
    block = Block(
        tuple(offset for _, offset in taken),
        tuple(shape for shape, _ in given),
        tuple(offset for _, offset in given),
        tuple(ranked(shape) for shape, _ in ins),
        tuple(ranked(shape) for shape, _ in outs),
    )
    found = rule({k: v for k, v in node.attrs.items() if k[0] != "_"}, block)
    return {k: v for k, v in found.items() if k not in node.operands}


def _inner_here(node: Node, outside: Sequence[Dims], here: Here) -> Here:
    """Return where a block lies in the labels of a node inside that has branches of its own."""
    found: dict[int, tuple[int, int]] = {}
    for own, dims in zip((*node.access.inputs, *node.access.outputs), outside, strict=True):
        for dim, outer in zip(own, dims, strict=False):
            if dim is not None and outer is not None and outer.label in here:
                offset, size = (n * outer.factor // dim.factor for n in here[outer.label])
                found[dim.label] = offset, size
    return found
