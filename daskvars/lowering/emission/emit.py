"""Pass 15: regions to a plan: programs as data, and where each input comes from."""

from __future__ import annotations

import heapq
import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Collection, Sequence
from typing import Any

from daskvars import chunk_grid, config
from daskvars.chunk_grid import Chunks
from daskvars.graph.definitions import patterns
from daskvars.graph.definitions.opdef import Spec
from daskvars.graph.definitions.patterns import (
    ALIKE,
    ROW_MERGES,
    Block,
    Contraction,
    Effect,
    Elementwise,
    Held,
    Movement,
    Opaque,
)
from daskvars.lowering.emission.overlap import BEGIN, CALL, ScheduledCall, overlap
from daskvars.lowering.emission.row_kernels import (
    ask_call,
    block_kernel,
    looked_up_call,
    merge_rows_call,
    own_rows_call,
    row_attrs,
)
from daskvars.lowering.emission.summed_products import Products, products_in, with_factors
from daskvars.lowering.plan import (
    LeafInfo,
    OpPlacement,
    Origin,
    Plan,
    PlanValue,
    Region,
    RegionInput,
)
from daskvars.lowering.planner import sharding_report
from daskvars.lowering.planner.cut_loops import block_branches
from daskvars.lowering.planner.fuse import Group, label, lines_up
from daskvars.lowering.planner.piecewise import pieces_of
from daskvars.lowering.program import (
    CONSTANT,
    PARAMETER,
    STALE,
    STATE,
    Leaf,
    Node,
    Program,
    Ref,
    block_bytes,
    is_visible,
    num_elements,
    ranked,
    used_values,
)
from daskvars.remote.regions.chains.tiling import is_tiled
from daskvars.remote.regions.region_program import Call, RegionProgram, memory_roots
from daskvars.remote.regions.turns import APART
from daskvars.shapes import RankedShape


def emit(program: Program, groups: Sequence[Group]) -> Plan:
    """Return the plan of `program`, one region per group."""
    return _Emission(program, groups).plan()


class _Emission:
    def __init__(self, program: Program, groups: Sequence[Group]) -> None:
        self.program = program
        self.groups = groups
        self.region_of = {id(n): i for i, group in enumerate(groups) for n in group.nodes}
        self.leaves: dict[int, int] = {}
        self.infos: list[LeafInfo] = []
        self.positions: dict[Ref, int] = {}  # value -> position among its region's outputs
        self.exported = self._exported()
        self.used = used_values(program)

    def _exported(self) -> list[list[Ref]]:
        """Return for each region the values that others, or the caller, need of it."""
        needed: list[dict[Ref, None]] = [{} for _ in self.groups]
        for i, group in enumerate(self.groups):
            for node in group.nodes:
                for position, ref in enumerate(node.inputs):
                    producer = self.region_of.get(id(ref.node))
                    if producer is not None and (producer != i or not lines_up(node, position)):
                        needed[producer][ref] = None
        for ref in self.program.results():
            producer = self.region_of.get(id(ref.node))
            if producer is not None:
                needed[producer][ref] = None
        exported = [list(refs) for refs in needed]
        for refs in exported:
            self.positions.update((ref, i) for i, ref in enumerate(refs))
        return exported

    def plan(self) -> Plan:
        nodes = self.program.nodes
        regions = tuple(self._region(i, group) for i, group in enumerate(self.groups))
        outputs = tuple(self.value(ref) for ref in self.program.outputs)
        for ref in self.program.evaluated:
            self.value(ref)  # a variable that is only read must have a value all the same
        updates = {key: self.value(ref) for key, ref in self.program.updates.items()}
        return Plan(
            regions,
            tuple(self.infos),
            outputs,
            updates,
            dict(self.program.required),
            dict(self.program.presence),
            sum(node.flops for node in nodes),
            any(node.contracts for node in nodes),
            sharding_report.ShardingChoice(
                *self.program.sharding,
                sharding_report.cut_share(self.program),
                sharding_report.exchanges(self.program),
            ),
            self.program.pieces,
            self.program.client_s,
            self.program.seconds,
        )

    def value(self, ref: Ref) -> PlanValue:
        node = ref.node
        if isinstance(node, Leaf):
            if id(node) not in self.leaves:
                self.leaves[id(node)] = len(self.infos)
                is_stale = node.kind == STALE
                self.infos.append(
                    LeafInfo(
                        STATE if is_stale else node.kind,
                        node.what,
                        node.specs[0],
                        node.layouts[0],
                        is_stale,
                    )
                )
            return PlanValue(Origin(-1, self.leaves[id(node)]), ref.spec, ref.layout, (), 0)
        origin, axes = (
            Origin(self.region_of[id(node)], self.positions[ref]),
            node.out_maps[ref.index],
        )
        return PlanValue(origin, ref.spec, ref.layout, axes, len(node.grid), node.filled)

    def _region(self, number: int, group: Group) -> Region:
        builder = _RegionBuilder(group.nodes, self.used, self.value)
        for scheduled in overlap(_ordered(group.nodes)):
            builder.add_scheduled(scheduled)
        name = label(group)
        program = builder.program(name, self.exported[number])
        ops = tuple(dict.fromkeys(OpPlacement(n.name, n.device, n.reason) for n in group.nodes))
        inputs, work = tuple(builder.region_inputs), sum(map(_work, group.nodes))
        return Region(name, program, group.grid, inputs, group.place, ops, work, group.follows)


class _RegionBuilder:
    """Collects the calls of one region and numbers its registers."""

    def __init__(
        self,
        nodes: Sequence[Node],
        used: Collection[Ref],
        value: Callable[[Ref], PlanValue],
        num_given: int = 0,
        is_cut: bool = False,
    ) -> None:
        self.value = value  # of what comes from outside
        self.num_given = num_given  # of a branch: how many inputs its operation has
        self.is_cut = is_cut  # whether that operation is cut in parts, which keep threads busy
        self.region_inputs: list[RegionInput] = []  # the others
        self.shapes: list[Any] = [None] * num_given
        self.inputs: dict[Any, int] = {}
        self.registers: dict[Ref, int] = {}
        self.calls: list[Call] = []
        self.started: dict[int, int] = {}  # id of a node whose call was begun -> register of that
        self.constants: dict[int, Any] = {}
        self.members = set(map(id, nodes))
        self.used = used  # every value that some node or result takes
        self.next_register = 1 << 20  # renumbered once the number of inputs is known

    def _new_register(self) -> int:
        self.next_register += 1
        return self.next_register

    def _input(self, identity: Any, region_input: Any, shape: Any) -> int:
        if identity not in self.inputs:
            self.inputs[identity] = self.num_given + len(self.region_inputs)
            self.region_inputs.append(region_input)
            self.shapes.append(shape)
        return self.inputs[identity]

    def register(self, node: Node, position: int) -> int:
        """Return the register of input `position` of `node`."""
        ref = node.inputs[position]
        if node.by_rows and position == 0:
            nbytes = block_bytes(node.specs[0], node.layouts[0])
            taken = RegionInput(self.value(ref), "rows", node.wanted[0], nbytes=nbytes)
            return self._input((id(node), "rows"), taken, None)
        if isinstance(ref.node, Leaf):
            if ref in self.registers and node.wanted[position] is None:
                return self.registers[ref]
        elif id(ref.node) in self.members and lines_up(node, position):
            return self.registers[ref]
        if self._is_inlined(ref) and node.wanted[position] is None:
            self.registers[ref] = self._new_register()
            self.constants[self.registers[ref]] = ref.leaf.what
            return self.registers[ref]
        value, wanted = self.value(ref), node.wanted[position]
        kind = "block" if ref.layout == wanted else "cut"
        if isinstance(ref.node, Node) and lines_up(node, position):
            numbered = set(ref.node.out_maps[ref.index]) - {-1}
            kind = "block" if len(numbered) == len(ref.node.grid) else "own"
        axes = node.in_maps[position] or (-1,) * len(ref.spec.shape or ())
        shape = _nominal(ref.spec.shape, wanted)
        identity = (value.origin, kind, wanted, axes)
        return self._input(identity, RegionInput(value, kind, wanted, axes), shape)

    @staticmethod
    def _is_inlined(ref: Ref) -> bool:
        """Return whether a value is a constant small enough to be part of the program."""
        node = ref.node
        if not isinstance(node, Leaf) or node.kind != CONSTANT or ref.layout is not None:
            return False
        return node.what.nbytes <= config.get().inline_constant_bytes

    def add_scheduled(self, scheduled: ScheduledCall) -> None:
        """Add the call of a node, or what begins it or ends it."""
        node = scheduled.node
        if scheduled.kind == CALL:
            self.add(node)
            return
        if node.by_rows:
            self._add_lookup(node, scheduled.kind == BEGIN)
            return
        assert node.beside is not None  # else it had been a call like any other
        begin, finish = node.beside
        if scheduled.kind == BEGIN:
            arguments = self._arguments(node)
            self.started[id(node)] = out = self._new_register()
            attrs = {k: v for k, v in node.attrs.items() if k[0] != "_"}
            self.calls.append(
                Call(
                    begin, arguments, (out,), attrs, name=node.name, shapes=(None,), dtypes=(None,)
                )
            )
            return
        arguments = tuple(self.started[id(other)] for other in (node, *scheduled.running))
        outs = tuple(self._new_register() for _ in node.specs)
        self.registers.update((Ref(node, i), register) for i, register in enumerate(outs))
        self.calls.append(
            Call(
                finish,
                arguments,
                outs,
                {},
                multiple=node.multiple,
                name=node.name,
                shapes=tuple(_nominal(spec.shape, None) for spec in node.specs),
                dtypes=tuple(spec.dtype.np for spec in node.specs),
                promised=_promised(node),
            )
        )

    def _arguments(self, node: Node) -> tuple[int, ...]:
        return tuple(self.register(node, i) for i in range(len(node.inputs)))

    def _add_lookup(self, node: Node, begins: bool) -> None:
        """Add the call that asks a cut table for rows, or the one that waits for them."""
        out = self._new_register()
        if begins:
            arguments = self._arguments(node)
            self.started[id(node)] = out
            self.calls.append(ask_call(node, arguments, out))
            return
        self.registers[Ref(node)] = out
        shape = _nominal(node.specs[0].shape, node.layouts[0])
        asked = (self.started[id(node)],)
        self.calls.append(looked_up_call(node, asked, (out,), shape, is_asked=True))

    def add(self, node: Node) -> None:
        """Add the call of `node`; merging partial results takes one call for each but the first."""
        if node.merges is not None:
            self._add_merge(node, node.merges)
            return
        arguments = self._arguments(node)
        outs = []
        for i in range(len(node.specs)):
            self.registers[Ref(node, i)] = self._new_register()
            outs.append(self.registers[Ref(node, i)])
        if node.opdef is None:
            self._add_plain(node, arguments, tuple(outs))
            return
        if node.by_rows:
            shape = _nominal(node.specs[0].shape, node.layouts[0])
            self.calls.append(looked_up_call(node, arguments, tuple(outs), shape))
            return
        attrs = {k: v for k, v in node.attrs.items() if k[0] != "_"}
        block = -1
        if node.subgraphs:
            attrs, block = self._branches(node, attrs)
        elif node.opdef.block is not None and node.grid:
            taken = _block_attrs(node.opdef.block, node, attrs)
            block = self._input((id(node), "attrs"), taken, None)
            attrs = {}
        pattern, inner = node.pattern, node.kernel_pattern
        writes = isinstance(pattern, Effect) and pattern.writes
        self.calls.append(
            Call(
                block_kernel(node),
                arguments,
                tuple(outs),
                attrs,
                node.operands,
                block,
                node.multiple,
                node.name,
                isinstance(inner, Elementwise),
                isinstance(inner, (Movement, Opaque)) and inner.view,
                node.opdef.in_place,
                node.opdef.check,
                tuple(map(_block_shape, node.specs, node.layouts, [node.ragged] * len(outs))),
                tuple(spec.dtype.np for spec in node.specs),
                _is_fresh(node, inner) and not writes,
                _promised(node),
                node.opdef.trusted,
                None if self.is_cut else pieces_of(node),
                _folds_rows(node),
            )
        )

    def _branches(self, node: Node, attrs: dict[str, Any]) -> tuple[dict[str, Any], int]:
        """Return the attributes with the branches, and the register of what tells a block's."""
        attrs["used"] = tuple(Ref(node, i) in self.used for i in range(len(node.specs)))
        variants, table = block_branches(node)
        products = products_in(node)
        if products:
            attrs["products"] = products
        if _only_computes(node):
            attrs[APART] = True
        found = [
            {**attrs, "branches": self._branch_programs(node, branches, products)}
            for branches in variants
        ]
        if len(found) == 1:
            return found[0], -1
        taken = RegionInput(None, "attrs", attrs={b: {"variant": n} for b, n in table.items()})
        return {"variants": tuple(found)}, self._input((id(node), "attrs"), taken, None)

    def _branch_programs(
        self, node: Node, branches: Sequence[Program], products: Products
    ) -> tuple[RegionProgram, ...]:
        """Return the programs of branches, and of the products that one of them leaves."""
        count, is_cut = len(node.inputs), self.is_cut or math.prod(node.grid) > 1
        multiply: Sequence[Program] = ()
        if products:
            body, multiply = with_factors(branches[0], node.attrs["num_grads"], products)
            branches = [body]
        return (
            *(_subgraph_program(node.name, branch, count, is_cut) for branch in branches),
            *(_subgraph_program(each.nodes[0].name, each, 2, is_cut) for each in multiply),
        )

    def _add_plain(self, node: Node, arguments: tuple[int, ...], outs: tuple[int, ...]) -> None:
        """Add the call of a node that belongs to no op."""
        if not node.ragged:
            self.calls.append(_plain_call(node, arguments, outs))
            return
        block = self._input((id(node), "attrs"), row_attrs(node), None)
        self.calls.append(own_rows_call(node, arguments, outs, block))

    def _add_merge(self, node: Node, merges: tuple[int, ...]) -> None:
        """Merge from left to right, so that the order never depends on timing."""
        (ref,) = node.inputs
        value, grid = self.value(ref), ref.producer.grid
        shape = _nominal(node.specs[0].shape, node.layouts[0])
        parts = []
        count = 1 if node.kernel == ALIKE else math.prod(grid[axis] for axis in merges)
        for number in range(count):
            region_input = RegionInput(
                value,
                "partial",
                None if node.layouts[0] == value.layout else node.layouts[0],
                node.out_maps[0],
                merged=merges,
                grid=grid,
                partial=number,
                has_own_rows=node.kernel in ROW_MERGES,
            )
            identity = (value.origin, "partial", merges, number)
            parts.append(self._input(identity, region_input, shape))
        if node.kernel in ROW_MERGES:
            self.registers[Ref(node)] = out = self._new_register()
            self.calls.append(merge_rows_call(node, tuple(parts), out, shape))
            return
        total = parts[0]
        for part in parts[1:]:
            out = self._new_register()
            self.calls.append(_plain_call(node, (total, part), (out,)))
            total = out
        self.registers[Ref(node)] = total

    def program(self, name: str, exported: Sequence[Ref]) -> RegionProgram:
        """Return the region as data, registers numbered from 0: inputs, constants, results."""
        count = self.num_given + len(self.region_inputs)
        numbers = {i: i for i in range(count)}
        for register in [*self.constants, *(s for call in self.calls for s in call.outs)]:
            numbers[register] = len(numbers)
        calls = tuple(
            call._replace(
                args=tuple(numbers[s] for s in call.args),
                outs=tuple(numbers[s] for s in call.outs),
                block=numbers.get(call.block, -1),
            )
            for call in self.calls
        )
        constants = {numbers[s]: value for s, value in self.constants.items()}
        outputs = tuple(numbers[self.registers[ref]] for ref in exported)
        copied = _copied(calls, outputs, count, constants)
        return RegionProgram(name, count, constants, calls, outputs, copied, tuple(self.shapes))


def _work(node: Node) -> float:
    """Return the operations of a node, about: those of a contraction, and one for each result."""
    return 1.0 + node.flops + sum(num_elements(spec.shape) for spec in node.specs)


def _plain_call(node: Node, arguments: tuple[int, ...], outs: tuple[int, ...]) -> Call:
    """Return the call of a node that belongs to no op: it merges, or gives a value on."""
    spec = node.specs[0]
    return Call(
        node.kernel,
        arguments,
        outs,
        {},
        name=node.name,
        elementwise=node.merges is not None,
        shapes=(_nominal(spec.shape, node.layouts[0]),),
        dtypes=(spec.dtype.np,),
    )


def _is_fresh(node: Node, pattern: Any) -> bool:
    """Return whether a result is memory of its own; a user's kernel may keep what it gives."""
    if isinstance(pattern, patterns.Source):
        return node.rules.trusted
    return isinstance(pattern, (Contraction, patterns.Gather, patterns.Reduction))


def _only_computes(node: Node) -> bool:
    """Return whether nobody can tell in which order the turns of a loop are made, or how often."""
    is_loop = node.flow is not None and bool(node.flow.carried)
    return is_loop and not any(_has_visible(subgraph) for subgraph in node.subgraphs)


def _has_visible(subgraph: Program) -> bool:
    return any(is_visible(n) or any(map(_has_visible, n.subgraphs)) for n in subgraph.nodes)


def _folds_rows(node: Node) -> bool:
    """Return whether a node folds each row of its only input, whatever the others are."""
    pattern, shape = node.pattern, node.inputs[0].spec.shape if len(node.inputs) == 1 else None
    if not isinstance(pattern, patterns.Reduction) or node.multiple or not shape:
        return False
    return 0 not in pattern.folded(node.attrs, len(shape))


def _promised(node: Node) -> tuple[Any, ...]:
    """Return dtype and shape of each result, for every block, as far as they are known."""
    if block_kernel(node) is not node.kernel or node.kernel is None:
        return ()
    found = []
    for spec, layout in zip(node.specs, node.layouts, strict=True):
        sizes = None if node.ragged or isinstance(spec.shape, Held) else spec.shape
        if sizes is not None and layout is not None:
            sizes = tuple(axis[0] if len(set(axis)) == 1 else None for axis in layout)
        found.append((spec.dtype.base_dtype.np, sizes))
    return tuple(found)


def _block_shape(spec: Any, layout: Any, ragged: bool) -> Any:
    """Return the shape of the first block, which stands for all, or None if only the run tells."""
    return None if ragged else _nominal(spec.shape, layout)


def _nominal(shape: Any, layout: Any) -> Any:
    """Return the shape of the first block, which stands for all of them, or None if unknown."""
    if shape is None or None in shape or isinstance(shape, Held):
        return None
    return tuple(sizes[0] for sizes in layout) if layout is not None else tuple(shape)


def _copied(calls: Sequence[Call], outputs: Sequence[int], num_inputs: int, constants: Any) -> Any:
    """Return positions of outputs whose memory an input, a constant or another output shares."""
    root = memory_roots(calls)
    taken: set[int] = set()
    copied = []
    for position, register in enumerate(outputs):
        origin = root.get(register, register)
        if origin < num_inputs or origin in constants or origin in taken:
            copied.append(position)
        taken.add(origin)
    return tuple(copied)


def _block_attrs(
    rule: Callable[..., dict[str, Any]], node: Node, attrs: dict[str, Any]
) -> RegionInput:
    """Return a source of the keyword arguments of `node` for each block."""
    ins = list(zip(node.inputs, node.wanted, node.in_maps, strict=True))[node.rules.seeded :]
    outs = list(zip(node.specs, node.layouts, node.out_maps, strict=True))
    table = {}
    full_ins = tuple(ranked(ref.spec.shape) for ref, _, _ in ins)
    full_outs = tuple(ranked(spec.shape) for spec in node.specs)
    for index in itertools.product(*map(range, node.grid)):
        _, in_offsets = _located([(r.spec, w, m) for r, w, m in ins], index)
        out_shapes, out_offsets = _located(outs, index)
        block = Block(in_offsets, out_shapes, out_offsets, full_ins, full_outs)
        found = rule(attrs, block)
        table[index] = {k: v for k, v in found.items() if k not in node.operands}
    return RegionInput(None, "attrs", attrs=table)


def _located(
    values: Sequence[tuple[Spec, Chunks | None, tuple[int, ...]]], index: tuple[int, ...]
) -> tuple[tuple[RankedShape, ...], tuple[tuple[int, ...], ...]]:
    block_shapes: list[RankedShape] = []
    offsets: list[tuple[int, ...]] = []
    for spec, layout, axes in values:
        if layout is None:
            block_shapes.append(ranked(spec.shape))
            offsets.append((0,) * len(ranked(spec.shape)))
        else:
            at = tuple(index[axis] if axis >= 0 else 0 for axis in axes)
            block_shapes.append(chunk_grid.block_shape(layout, at))
            offsets.append(chunk_grid.block_offset(layout, at))
    return tuple(block_shapes), tuple(offsets)


def _subgraph_program(name: str, subgraph: Program, num_inputs: int, is_cut: bool) -> RegionProgram:
    """Return the program of a branch as one region whose inputs are those of its operation."""
    for node in subgraph.nodes:
        node.layouts, node.out_maps = [None] * len(node.specs), [()] * len(node.specs)
        node.wanted, node.in_maps = [None] * len(node.inputs), [()] * len(node.inputs)
    used = used_values(subgraph)
    builder = _RegionBuilder(subgraph.nodes, used, _none_outside, num_inputs, is_cut)
    for (kind, _), leaf in subgraph.leaves.items():
        ref = Ref(leaf)
        if kind == CONSTANT:
            builder.registers[ref] = builder._new_register()
            builder.constants[builder.registers[ref]] = leaf.what
        else:
            builder.registers[ref] = leaf.what
            shape = leaf.specs[0].shape
            builder.shapes[leaf.what] = None if isinstance(shape, Held) else shape
        builder.members.add(id(leaf))
    for scheduled in overlap(subgraph.nodes):
        builder.add_scheduled(scheduled)
    assert all(leaf.kind in (CONSTANT, PARAMETER) for leaf in subgraph.leaves.values())
    return builder.program(name, subgraph.outputs)


def _none_outside(ref: Ref) -> PlanValue:
    raise AssertionError("what a branch takes is given to its operation")


def _ordered(nodes: Sequence[Node]) -> list[Node]:
    """Order a region's nodes so that large elementwise calls of one shape come in runs."""
    number = {id(node): i for i, node in enumerate(nodes)}
    waiting, users = {}, defaultdict(list)
    for i, node in enumerate(nodes):
        before = {number[id(ref.node)] for ref in node.inputs if id(ref.node) in number}
        waiting[i] = len(before)
        for j in before:
            users[j].append(i)
    ready = [i for i in range(len(nodes)) if not waiting[i]]
    heapq.heapify(ready)
    tiled: dict[Any, list[int]] = defaultdict(list)  # shape -> ready elementwise nodes of it
    shape: Any = None
    done: list[Node] = []
    taken: set[int] = set()
    while len(done) < len(nodes):
        pool = tiled[shape] if shape is not None and tiled[shape] else ready
        i = heapq.heappop(pool)
        if i in taken:
            continue
        taken.add(i)
        done.append(nodes[i])
        shape = _tile_shape(nodes[i])
        for j in users[i]:
            waiting[j] -= 1
            if not waiting[j]:
                heapq.heappush(ready, j)
                if (other := _tile_shape(nodes[j])) is not None:
                    heapq.heappush(tiled[other], j)
    return done


def _tile_shape(node: Node) -> Any:
    """Return the block shape of a node that would be run tile by tile, else None."""
    if len(node.specs) != 1 or node.ragged or node.operands:
        return None
    elementwise = node.merges is not None or isinstance(node.kernel_pattern, Elementwise)
    shape = _nominal(node.specs[0].shape, node.layouts[0])
    call = Call(node.kernel, (), (0,), {}, elementwise=elementwise, shapes=(shape,))
    return shape if is_tiled(call) else None
