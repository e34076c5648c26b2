"""Pass 6: what the turns of a loop compute, and their gradients need, is kept and not made again.

The gradient of a loop builds the body a second time, on the values that each turn began with: so a
graph has all of it, whatever is asked for. Here both bodies are known, with their shapes. What is
the same in both, and is used by more than that, becomes a result of the first, which the history
holds as well; the second takes it from there. TensorFlow keeps as much.

What is made at once of what is there, by an operation of two numbers or as a view, is made again:
to read it from memory would take as long.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from typing import Any

import numpy

from daskvars.graph.definitions.opdef import Spec
from daskvars.graph.definitions.patterns import Elementwise, Flow, Held, Movement, Opaque, Part
from daskvars.lowering.program import (
    CONSTANT,
    PARAMETER,
    Leaf,
    Node,
    Program,
    Ref,
    is_visible,
)
from daskvars.ops.control.while_loop import HISTORY_ITEM

MAX_COMPARED_BYTES = 1 << 12  # of constants, which are else the same only if they are one array


def keep_values(program: Program) -> Program:
    """Return `program` with loops that keep what their gradients need of each turn."""
    for node in program.nodes:
        for subgraph in node.subgraphs:
            keep_values(subgraph)
    for node in program.nodes:
        loop = _replayed(node)
        if loop is not None:
            _Bodies(loop, node).keep(program)
    program.drop_dead()
    return program


def _replayed(node: Node) -> Node | None:
    """Return the loop whose history a node goes through, if all is known that is to be."""
    flow = node.flow
    if flow is None or flow.replays is None:
        return None
    ref = node.inputs[flow.replays]
    if not isinstance(ref.node, Node) or not isinstance(ref.spec.shape, Held):
        return None
    before = ref.node.flow
    if before is None or before.history is None or before.history[0] != ref.index:
        return None
    return ref.node


class _Bodies:
    """The body of a loop and that of its gradient.

    Attributes:
      same: value in the body of the gradient -> the value in the loop's that it is.
    """

    def __init__(self, loop: Node, gradient: Node) -> None:
        self.loop, self.gradient = loop, gradient
        flow, of_loop = gradient.flow, loop.flow
        assert flow is not None and of_loop is not None and of_loop.history is not None
        self.output, self.held, self.results = of_loop.history
        self.replays, self.changing = flow.replays, _changing(flow)
        self.changing_before = _changing(of_loop)
        # What a turn gives is carried on.
        self.first = loop.subgraphs[of_loop.carried[0][2][0]]
        self.second = gradient.subgraphs[0]
        self.item = self.second.leaves.get((PARAMETER, self.replays))
        self.same: dict[Ref, Ref] = {}

    def keep(self, program: Program) -> None:
        """Have the loop keep, and its gradient take, what both compute."""
        if self.item is None:
            return
        self._match()
        kept = self._kept()
        if not kept:
            return
        taken = {ref: self._part(ref) for ref in kept}
        self._widen(program)
        nodes: list[Node] = []
        for node in self.second.nodes:
            nodes += [taken[ref].producer for ref in kept if ref.node is node]
            nodes.append(node)
        self.second.nodes = nodes
        self.second.map_refs(lambda ref: taken.get(ref, ref))
        self.second.drop_dead()
        self._drop_inputs()

    def _drop_inputs(self) -> None:
        """Give the gradient no longer what was there to compute what is now kept."""
        gradient, leaves = self.gradient, self.second.leaves.values()
        keyed = gradient.attrs["keyed"]
        used = {leaf.what for leaf in leaves if leaf.kind == PARAMETER}
        used |= {self.replays, *self.changing, *keyed}
        places = {old: new for new, old in enumerate(sorted(used))}
        gradient.inputs = [gradient.inputs[place] for place in places]
        gradient.attrs["keyed"] = tuple(places[place] for place in keyed)
        self.second.renumber(places)

    # -- what is the same in both ---------------------------------------------------------------

    def _match(self) -> None:
        """Find the values of the gradient's body that the loop's has as well."""
        first = self.first
        outer = {
            self.loop.inputs[leaf.what]: Ref(leaf)
            for leaf in first.leaves.values()
            if leaf.kind == PARAMETER and leaf.what not in self.changing_before
        }
        constants = {identity(leaf): Ref(leaf) for leaf in first.leaves.values()}
        for leaf in self.second.leaves.values():
            found = None
            if leaf.kind == CONSTANT:
                found = constants.get(identity(leaf))
            elif leaf.what not in self.changing and leaf is not self.item:
                found = outer.get(self.gradient.inputs[leaf.what])
            if found is not None:
                self.same[Ref(leaf)] = found
        made, given_on = _by_inputs(first)
        for node in self.second.nodes:
            self._match_node(node, made, given_on)

    def _match_node(self, node: Node, made: dict[Any, Node], given_on: dict[Ref, Ref]) -> None:
        if isinstance(node.pattern, Part) and node.inputs[0].node is self.item:
            found = self._held_value(node.attrs["index"])
            if found is not None:
                self.same[Ref(node)] = given_on.get(found, found)
            return
        if node.subgraphs or is_visible(node) or not all(r in self.same for r in node.inputs):
            return
        other = made.get(same_call(node, (self.same[ref] for ref in node.inputs)))
        if other is not None:
            self.same.update((Ref(node, i), Ref(other, i)) for i in range(len(node.specs)))

    def _held_value(self, index: int) -> Ref | None:
        """Return the value in the loop's body that the history has at an index."""
        if index >= len(self.held):
            branch, position = self.results[index - len(self.held)]
            return self.loop.subgraphs[branch].outputs[position]
        leaf = self.first.leaves.get((PARAMETER, self.held[index]))
        return None if leaf is None else Ref(leaf)

    # -- what is kept -----------------------------------------------------------------------------

    def _kept(self) -> list[Ref]:
        """Return the values that the gradient's body is to take from the history."""
        wanted = dict.fromkeys(ref for ref in self._used_beyond() if self._may_be_kept(ref))
        cheap = {ref for ref in wanted if _is_cheap(ref.producer)}
        kept = {ref for ref in wanted if ref not in cheap}
        for node in reversed(self.second.nodes):
            if Ref(node) in cheap and not all(
                isinstance(ref.node, Leaf)
                or isinstance(ref.producer.pattern, Part)
                or ref in kept
                or ref in cheap
                for ref in node.inputs
            ):
                cheap.remove(Ref(node))
                kept.add(Ref(node))
        return [ref for ref in wanted if ref in kept]

    def _used_beyond(self) -> Iterator[Ref]:
        """Yield what both bodies make and the gradient's uses for what it alone makes."""
        for node in self.second.nodes:
            if Ref(node) not in self.same:
                yield from node.inputs
        yield from self.second.outputs

    def _may_be_kept(self, ref: Ref) -> bool:
        if ref not in self.same or isinstance(ref.node, Leaf) or ref.spec.shape is None:
            return False
        is_there = isinstance(ref.producer.pattern, Part) and ref.node.inputs[0].node is self.item
        return not is_there and not isinstance(ref.spec.shape, Held)

    def _part(self, ref: Ref) -> Ref:
        """Have the loop keep a value; return what gives it to the gradient's body."""
        assert self.item is not None
        made = self.same[ref]
        results = [self.loop.subgraphs[b].outputs[place] for b, place in self.results]
        if made not in results:
            self.loop.attrs["saved"] = self.loop.attrs.get("saved", 0) + 1
            branch, place = self._end()
            self.loop.subgraphs[branch].outputs.insert(place, made)
            self.results = (*self.results, (branch, place))
            results.append(made)
        attrs = {"index": len(self.held) + results.index(made), "_spec": ref.spec}
        node, rules = ref.producer, HISTORY_ITEM
        part = Node(
            node.name,
            rules,
            rules.kernel,
            [Ref(self.item)],
            attrs,
            (ref.spec,),
            op=node.op,
            device=node.device,
        )
        return Ref(part)

    def _end(self) -> tuple[int, int]:
        """Return where the loop's body gives what is kept next: it was made room for."""
        flow = self.loop.flow
        assert flow is not None and flow.history is not None
        return flow.history[2][-1]

    def _widen(self, program: Program) -> None:
        """Note in the loop, and in all that go through its history, what the history now has."""
        dtype, old = self.loop.specs[self.output]
        assert isinstance(old, Held)
        outputs = [self.loop.subgraphs[b].outputs[place] for b, place in self.results]
        new = [ref.spec.shape for ref in outputs[len(old.parts) - len(self.held) :]]
        shape = Held([*old.parts, *new])
        spec = Spec(dtype, shape)
        specs = list(self.loop.specs)
        specs[self.output] = spec
        self.loop.specs = tuple(specs)
        self.loop.attrs["ranks"] = tuple(len(part or ()) for part in shape.parts)
        history = Ref(self.loop, self.output)
        for node in program.nodes:
            for branch in node.subgraphs:
                for leaf in branch.leaves.values():
                    if leaf.kind == PARAMETER and node.inputs[leaf.what] == history:
                        leaf.specs = (spec,)


def _changing(flow: Flow) -> set[int]:
    """Return which inputs a body is not given as they are."""
    return {i for _, i, _ in (*flow.carried, *flow.summed, *flow.joined)}


def identity(leaf: Leaf) -> Any:
    """Return what a constant has in common with those of the same value."""
    return _identity(leaf.what) if leaf.kind == CONSTANT else id(leaf.what)


def same_call(node: Node, inputs: Iterable[Ref]) -> Any:
    """Return what a call on `inputs` has in common with those that compute the same."""
    attrs = {name: value for name, value in node.attrs.items() if name[0] != "_"}
    how = (node.operands, node.specs, node.device, _identity(attrs))
    return (id(node.opdef), tuple(inputs), *how)


def _identity(value: Any) -> Any:
    """Return what plain data, which may have arrays in it, is looked up by."""
    if isinstance(value, dict):
        return frozenset((name, _identity(each)) for name, each in value.items())
    if isinstance(value, list | tuple):
        return tuple(map(_identity, value))
    if not isinstance(value, numpy.ndarray):
        return value if isinstance(value, Hashable) else id(value)
    if value.nbytes > MAX_COMPARED_BYTES:
        return id(value)
    if not value.dtype.hasobject:
        return value.dtype, value.shape, value.tobytes()
    texts = tuple(value.reshape(-1).tolist())
    return (value.shape, texts) if all(isinstance(text, bytes) for text in texts) else id(value)


def _by_inputs(body: Program) -> tuple[dict[Any, Node], dict[Ref, Ref]]:
    """Return the nodes of a body by their calls, and what only gives on an input as it is."""
    made: dict[Any, Node] = {}
    given_on: dict[Ref, Ref] = {}
    for node in body.nodes:
        inputs = [given_on.get(ref, ref) for ref in node.inputs]
        if isinstance(node.pattern, Opaque) and node.pattern.gives_on:
            given_on[Ref(node)] = inputs[0]
        made.setdefault(same_call(node, inputs), node)
    return made, given_on


def _is_cheap(node: Node) -> bool:
    """Return whether a value takes no longer to be made than to be read."""
    if isinstance(node.pattern, Movement):
        return node.pattern.view and len(node.inputs) == 1
    is_ufunc = isinstance(node.pattern, Elementwise) and isinstance(node.kernel, str)
    return is_ufunc and len(node.inputs) == 2
