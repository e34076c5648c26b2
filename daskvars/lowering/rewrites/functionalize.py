"""Pass 2: operations to a functional program; variables become plain values.

Every read is resolved to one value: what the variable had when the run began, or the result of
the last assignment that data or control dependencies put before the read. Assignments to one
variable form a chain in the order of the operations. In a sequential program (eager code) a read
sees every assignment before it. What begins in a run and changes in it (`Opaque.chained`) goes
through the program in the same way; it is told by the tensor with which it begins.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy

from daskvars import dtypes
from daskvars.chunk_grid import Chunks
from daskvars.errors import NotFoundError
from daskvars.graph.definitions.opdef import Spec, UnregisteredOp
from daskvars.graph.definitions.patterns import Effect, Opaque
from daskvars.graph.func_graph import FuncGraph
from daskvars.graph.tensor import ANNOTATIONS, Operation, Tensor
from daskvars.lowering.program import (
    CONSTANT,
    FEED,
    KEY,
    PARAMETER,
    STALE,
    STATE,
    UNKNOWN,
    Node,
    Program,
    Ref,
)
from daskvars.lowering.rewrites.prune import prune

_NOT_FOR_RULES = ANNOTATIONS | {"operands"}
Key = str | int  # of a variable; of what begins with a tensor, its id
Visible = dict[Key, int]


def functionalize(
    ops: Sequence[Operation],
    fetches: Sequence[Tensor],
    feeds: Mapping[Tensor, tuple[Spec, Chunks | None]],
    state_of: Callable[[Tensor], tuple[Spec, Chunks | None, bool]],
    sequential: bool = False,
    identify: Callable[[Operation], Any] = lambda op: op,
    targets: Sequence[Operation] = (),
    is_async: bool = False,
) -> Program:
    """Return the program of `ops` with `fetches` as outputs.

    Args:
      ops: what `prune` returned.
      fetches: tensors; a variable's handle means its value at the end.
      feeds: fed tensors with what they are fed with.
      state_of: for a variable's handle: spec, chunks, and whether it has a value.
      sequential: reads see every assignment before them, as in eager code.
      identify: gives what stands for an operation that draws random numbers.
      targets: those of `ops` that were asked to run; their results are computed, used or not.
      is_async: reads may be of a stale version, updates are of the newest; see `split_update`.
    """
    program = Program()
    walk = _Walk(program, state_of, sequential, identify, is_async)
    for position, (tensor, (spec, layout)) in enumerate(feeds.items()):
        walk.values[id(tensor)] = program.leaf(FEED, position, spec, layout)
    walk.run(ops, fetches, targets)
    program.outputs = [walk.final(t) for t in fetches]
    program.updates = walk.changed()
    program.evaluated = [
        walk.values[id(t)]
        for op in _grouped(targets)
        if not getattr(op.opdef.pattern, "writes", False)
        for t in op.outputs
        if id(t) in walk.values
    ]
    if program.required:
        _require_used(program)
    return program


def _require_used(program: Program) -> None:
    """Require no value of variables that only a branch not taken would have used."""
    program.drop_dead()
    used = {leaf.what for leaf in program.leaves.values() if leaf.kind == STATE}
    program.required = {key: name for key, name in program.required.items() if key in used}


def _grouped(targets: Sequence[Operation]) -> list[Operation]:
    """Return the operations that `targets` are: of one that only groups others, those."""
    found: dict[Operation, None] = {}
    stack = list(targets)
    while stack:
        op = stack.pop()
        if op not in found:
            found[op] = None
            if not op.outputs and not op.inputs:
                stack.extend(op._control_inputs)
    return list(found)


class _Walk:
    """The state of one pass over operations."""

    def __init__(
        self,
        program: Program,
        state_of: Any,
        sequential: bool,
        identify: Any,
        is_async: bool = False,
    ) -> None:
        self.program = program
        self.unread = STALE if is_async else STATE
        self.identify = identify
        self.state_of = state_of
        self.sequential = sequential
        self.values: dict[int, Ref] = {}  # by the tensor's id: eager tensors have no hash
        self.writes: dict[Key, list[Ref]] = {}
        # For each operation with assignments before it: how many of each variable's it sees.
        self.visible: dict[Operation, Visible] = {}
        # What a body's inputs stand for, where something may begin with them that is changed.
        self.beginnings: dict[int, int] = {}
        self.from_around: frozenset[int] = frozenset()
        self.around: Visible = {}  # what all see: what the branch that they are in does

    def run(
        self, ops: Sequence[Operation], results: Sequence[Tensor], targets: Sequence[Operation]
    ) -> None:
        """Walk through `ops`, what `prune` returned for `results` and `targets`."""
        needed = _Needed(ops, results, targets)
        for op in ops:
            fed = {id(t): self.values[id(t)] for t in op.outputs if id(t) in self.values}
            if fed and len(fed) == len(op.outputs):
                continue
            visible = self._visible_before(op) if self.writes else None
            pattern = op.opdef.pattern
            if isinstance(pattern, Effect) and id(op.inputs[0]) not in self.values:
                visible = self._effect(op, pattern, visible or {})
            elif isinstance(pattern, Opaque) and pattern.branches:
                visible = self._branches(op, pattern, visible or {}, needed.positions(op, pattern))
            elif isinstance(pattern, Opaque) and pattern.chained:
                visible = self._chained(op, pattern, visible or {})
            elif isinstance(pattern, Effect):
                self._effect_on_fed(op, pattern)
            elif not _is_handle(op):
                self._node(op, [self._read(t, visible) for t in op.inputs])
            self.values.update(fed)
            if visible:
                self.visible[op] = visible

    def _visible_before(self, op: Operation) -> Visible:
        before = [d for t in op.inputs if (d := self.visible.get(t.op))]
        before += [d for c in op._control_inputs if (d := self.visible.get(c))]
        if self.around:
            before.append(self.around)
        return _merged(before)

    def _read(self, tensor: Tensor, visible: Visible | None) -> Ref:
        found = self.values.get(id(tensor))
        if found is None:  # a variable's handle used as a value
            found = self._version(tensor, None if self.sequential else (visible or {}))
        return found

    def _version(self, handle: Tensor, visible: Visible | None, newest: bool = False) -> Ref:
        """Return the variable's value after the writes `visible` (None: after all so far)."""
        key = handle.op.attrs["key"]
        written = self._written(key, visible)
        if written is not None:
            return written
        spec, layout, present = self._state_of(handle)
        self.program.devices[key] = handle.op.device
        if not present:
            self.program.required.setdefault(key, handle.op.name)
        return self.program.leaf(STATE if newest else self.unread, key, spec, layout)

    def _written(self, key: Any, visible: Visible | None) -> Ref | None:
        """Return what the last of the writes `visible` (None: of all so far) gave, if any."""
        chain = self.writes.get(key, ())
        count = len(chain) if visible is None else visible.get(key, 0)
        return chain[count - 1] if count else None

    def _chained(self, op: Operation, pattern: Opaque, visible: Visible) -> Visible:
        """Call an op with what has become of that which begins with its last input."""
        begin, changes = op.inputs[-1], pattern.chained == "changes"
        inputs = [self._read(t, visible) for t in op.inputs[:-1]]
        node = self._node(op, [*inputs, self._became(begin, None if changes else visible)])
        if not changes:
            return visible
        key = self._key(begin)
        self.writes.setdefault(key, []).append(Ref(node, len(op.outputs) - 1))
        return {**visible, key: len(self.writes[key])}

    def _key(self, begin: Tensor) -> int:
        return self.beginnings.get(id(begin), id(begin))

    def _became(self, begin: Tensor, visible: Visible | None) -> Ref:
        """Return what begins with `begin` after the changes `visible` (None: after all so far)."""
        key = self._key(begin)
        written = self._written(key, visible)
        if written is not None:
            return written
        if key in self.from_around:
            return self.program.leaf(STATE, key, begin.spec)
        return self.values[id(begin)]

    def changed(self) -> dict[Any, Ref]:
        """Return what the variables became, and in a body what else it was given to change."""
        return {
            key: chain[-1]
            for key, chain in self.writes.items()
            if isinstance(key, str) or key in self.from_around
        }

    def final(self, tensor: Tensor) -> Ref:
        """Return the value that a fetch of `tensor` means."""
        found = self.values.get(id(tensor))
        return self._version(tensor, None) if found is None else found

    def _effect(self, op: Operation, pattern: Effect, visible: Visible) -> Visible:
        handle = op.inputs[0]
        if not _is_handle(handle.op):
            raise ValueError(
                f"operation {op.name!r} ({op.type}) changes a variable, but its first input "
                f"{handle.name!r} is not a variable"
            )
        key = handle.op.attrs["key"]
        rest = [self._read(t, visible) for t in op.inputs[1:]]
        if pattern.presence:
            written = len(self.writes.get(key, ())) if self.sequential else visible.get(key, 0)
            present = bool(written) or self.state_of(handle)[2]
            if not written:
                self.program.presence[key] = present
            leaf = self.program.leaf(CONSTANT, numpy.array(present), Spec(dtypes.bool, ()))
            self.values[id(op.outputs[0])] = leaf
            return visible
        if not pattern.writes:
            self.values[id(op.outputs[0])] = self._version(
                handle, None if self.sequential else visible, bool(op.attrs.get("newest"))
            )
            return visible
        first = [self._version(handle, None, True)] if pattern.reads else []
        self._note_written(key, handle)
        node = self._node(op, [*first, *rest])
        node.device = handle.op.device
        if not pattern.reads:
            node.assigned = handle.spec
        self.writes.setdefault(key, []).append(Ref(node))
        return {**visible, key: len(self.writes[key])}

    def _state_of(self, handle: Tensor) -> tuple[Spec, Chunks | None, bool]:
        found = self.state_of(handle)
        if found[1] is not None and handle.op.attrs["chunks"] is None:
            self.program.automatic.add(handle.op.attrs["key"])
        return found

    def _note_written(self, key: str, handle: Tensor) -> None:
        self.program.stored[key] = self._state_of(handle)[1]
        self.program.devices[key] = handle.op.device

    def _effect_on_fed(self, op: Operation, pattern: Effect) -> None:
        """Read a variable whose handle was fed. Raises ValueError for an assignment to it."""
        if pattern.writes or pattern.presence:
            raise ValueError(
                f"operation {op.name!r} ({op.type}) cannot run while its variable "
                f"{op.inputs[0].name!r} is fed with a value"
            )
        self.values[id(op.outputs[0])] = self.values[id(op.inputs[0])]

    def _node(
        self, op: Operation, inputs: list[Ref], outputs: Sequence[Tensor] | None = None
    ) -> Node:
        """Add the call of an operation; `outputs` are those that it gives, by default all."""
        outputs = op.outputs if outputs is None else outputs
        opdef = op.opdef
        if isinstance(opdef, UnregisteredOp):
            raise NotFoundError(
                None,
                op.name,
                f"Op type not registered {op.type!r}: operation {op.name!r} cannot "
                f"run (made at {op.where}). Register the op with register_op().",
            )
        if opdef.seeded:
            drawn = self.identify(op.attrs.get("_key_of", op))
            inputs = [self.program.leaf(KEY, drawn, UNKNOWN), *inputs]
        attrs = {k: v for k, v in op.attrs.items() if k not in _NOT_FOR_RULES}
        specs = tuple([t.spec for t in outputs])
        operands = op.attrs.get("operands", ())
        node = Node(
            op.name, opdef, opdef.kernel, inputs, attrs, specs, op.multiple, operands, op=op
        )
        if not op.inputs and "value" in attrs and specs[0].dtype is not None:
            self.values[id(op.outputs[0])] = self.program.leaf(
                CONSTANT, attrs["value"], specs[0], attrs.get("chunks")
            )
            return node
        node.device = op.device
        # Eager code is done in its order, line by line.
        node.beside = None if self.sequential else getattr(opdef.pattern, "beside", None)
        self.program.nodes.append(node)
        for i, tensor in enumerate(outputs):
            self.values[id(tensor)] = Ref(node, i)
        return node

    # -- branches and loops ------------------------------------------------------------------

    def _branches(
        self, op: Operation, pattern: Opaque, visible: Visible, needed: Sequence[int] | None
    ) -> Visible:
        inputs = [self._read(t, visible) for t in op.inputs]
        branches: tuple[FuncGraph, ...] = op.attrs["branches"]
        choose = pattern.choose
        if choose is not None and getattr(inputs[0].node, "kind", "") == CONSTANT:
            chosen = choose(inputs[0].leaf.what)
            positions = op.attrs["positions"][chosen]
            return self._inline(op, branches[chosen], positions, inputs, visible, needed)
        subgraphs = [
            self._subgraph(branch, positions, op.inputs, needed)
            for branch, positions in zip(branches, op.attrs["positions"], strict=True)
        ]
        states = list(dict.fromkeys(k for subgraph in subgraphs for k in _states(subgraph)))
        written = [k for k in states if any(k in subgraph.updates for subgraph in subgraphs)]
        keys = list(
            dict.fromkeys(
                leaf.what
                for subgraph in subgraphs
                for leaf in subgraph.leaves.values()
                if leaf.kind == KEY
            )
        )
        handles = {k: h for subgraph in subgraphs for k, h in subgraph.handles.items()}
        first_state, first_key = len(inputs), len(inputs) + len(states)
        for key in states:
            # What is assigned goes on from all that was assigned before, waited for or not.
            before = None if self.sequential or key in written else visible
            if isinstance(key, str):
                inputs.append(self._version(handles[key], before, key in written))
            else:
                inputs.append(self._became(handles[key], before))
        inputs += [self.program.leaf(KEY, k, UNKNOWN) for k in keys]
        for subgraph in subgraphs:
            subgraph.bind(states, written, keys, first_state, first_key)
        outputs = _at(needed, op.outputs)
        node = self._node(op, inputs, outputs)
        node.multiple = True
        node.specs += tuple(
            self.state_of(handles[k])[0] if isinstance(k, str) else handles[k].spec for k in written
        )
        node.attrs = {k: v for k, v in op.attrs.items() if k not in ("branches", "positions")}
        node.attrs["written"] = tuple(first_state + states.index(k) for k in written)
        node.attrs["keyed"] = tuple(range(first_key, first_key + len(keys)))
        node.subgraphs = tuple(subgraph.program for subgraph in subgraphs)
        for i, key in enumerate(written):
            if isinstance(key, str):
                self._note_written(key, handles[key])
            self.writes.setdefault(key, []).append(Ref(node, len(outputs) + i))
        return {**visible, **{k: len(self.writes[k]) for k in written}} if written else visible

    def _subgraph(
        self,
        branch: FuncGraph,
        positions: Sequence[int],
        outer: Sequence[Tensor],
        needed: Sequence[int] | None,
    ) -> _Subgraph:
        handles: dict[Key, Tensor] = {}

        def state_of(handle: Tensor) -> Any:
            handles[handle.op.attrs["key"]] = handle
            spec, _, present = self.state_of(handle)
            return spec, None, present or handle.op.attrs["key"] in self.writes

        program = Program()
        walk = _Walk(program, state_of, self.sequential, self.identify)
        for tensor, position in zip(branch.inputs, positions, strict=True):
            walk.values[id(tensor)] = program.leaf(PARAMETER, position, tensor.spec)
            begin = walk.beginnings[id(tensor)] = self._key(outer[position])
            handles[begin] = outer[position]
        walk.from_around = frozenset(walk.beginnings.values())
        results = _at(needed, branch.results)
        walk.run(prune(results, branch.effects, branch.inputs), results, branch.effects)
        program.outputs = [walk.final(t) for t in results]
        program.updates = walk.changed()
        for key, name in program.required.items():
            self.program.required.setdefault(key, name)
        return _Subgraph(program, handles)

    def _inline(
        self,
        op: Operation,
        branch: FuncGraph,
        positions: Sequence[int],
        inputs: list[Ref],
        visible: Visible,
        needed: Sequence[int] | None,
    ) -> Visible:
        """Put a branch that is known to be taken in the place of the operation."""
        for tensor, position in zip(branch.inputs, positions, strict=True):
            self.values[id(tensor)] = inputs[position]
            self.beginnings[id(tensor)] = self._key(op.inputs[position])
        results = _at(needed, branch.results)
        ops = prune(results, branch.effects, branch.inputs)
        around, self.around = self.around, visible
        self.run(ops, results, branch.effects)
        self.around = around
        for tensor, result in zip(_at(needed, op.outputs), results, strict=True):
            self.values[id(tensor)] = self.final(result)
        return _merged([visible, *(self.visible[inner] for inner in ops if inner in self.visible)])


def _merged(counts: Sequence[Visible]) -> Visible:
    """Return how many assignments to each variable are seen by what comes after all of these."""
    if not counts or all(each is counts[0] for each in counts):
        return counts[0] if counts else {}
    merged = dict(counts[0])
    for each in counts[1:]:
        for key, count in each.items():
            merged[key] = max(count, merged.get(key, 0))
    return merged


class _Needed:
    """What is needed of operations that have branches: some of their results, or all they do."""

    def __init__(
        self, ops: Sequence[Operation], results: Sequence[Tensor], targets: Sequence[Operation]
    ) -> None:
        self.ops, self.results, self.targets = ops, results, targets
        self.values: set[int] | None = None

    def positions(self, op: Operation, pattern: Opaque) -> list[int] | None:
        """Return which of its results the branches of `op` must give, None for all of them.

        As in TensorFlow 1, where each is an operation of its own: what a branch does for results
        that nobody asked for is not done. A loop always goes round as a whole.
        """
        if pattern.choose is None:
            return None
        if self.values is None:
            self.values = {id(t) for other in self.ops for t in other.inputs}
            self.values.update(map(id, self.results))
            self.whole = {*self.targets, *(c for other in self.ops for c in other._control_inputs)}
        if op in self.whole:
            return None
        return [i for i, tensor in enumerate(op.outputs) if id(tensor) in self.values]


def _at(positions: Sequence[int] | None, items: Sequence[Any]) -> list[Any]:
    """Return the items at some positions, all for None."""
    return list(items) if positions is None else [items[i] for i in positions]


class _Subgraph:
    """The program of one branch, and the variables it uses."""

    def __init__(self, program: Program, handles: dict[Key, Tensor]) -> None:
        self.program = program
        self.handles = handles

    @property
    def leaves(self) -> dict[Any, Any]:
        return self.program.leaves

    @property
    def updates(self) -> dict[Any, Ref]:
        return self.program.updates

    def bind(
        self, states: list, written: list, keys: list, first_state: int, first_key: int
    ) -> None:
        """Turn variables and random keys into parameters, in the order they are passed."""
        bound = {}
        for (kind, what), leaf in self.leaves.items():
            if kind == STATE:
                leaf.kind, what = PARAMETER, first_state + states.index(what)
            elif kind == KEY:
                leaf.kind, what = PARAMETER, first_key + keys.index(what)
            if leaf.kind != kind:
                leaf.what = what
            bound[leaf.kind, what] = leaf
        self.program.leaves = bound
        for key in written:
            new = self.updates.get(key)
            if new is None:
                new = self.program.leaf(PARAMETER, first_state + states.index(key), UNKNOWN)
            self.program.outputs.append(new)
        self.program.updates = {}


def _states(subgraph: _Subgraph) -> list[Key]:
    read = [leaf.what for leaf in subgraph.leaves.values() if leaf.kind == STATE]
    return [*read, *(k for k in subgraph.updates if k not in read)]


def _is_handle(op: Operation) -> bool:
    return bool(op.outputs) and op.outputs[0].spec.dtype.is_ref
