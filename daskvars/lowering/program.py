"""The program that lowering works on: values, their producers, and annotations of each pass.

A program is purely functional: variables enter as leaves and leave as `updates`. A node is one
kernel call (on one block, once layouts are known); a leaf is a value that comes from outside.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, NamedTuple

import numpy

from daskvars import dtypes
from daskvars.chunk_grid import Chunks
from daskvars.graph.definitions.opdef import OpDef, Spec
from daskvars.graph.definitions.patterns import (
    Access,
    Contraction,
    Dims,
    Effect,
    Flow,
    Held,
    Pattern,
)
from daskvars.graph.tensor import Operation
from daskvars.shapes import RankedShape, Shape, is_known

FEED, STATE, CONSTANT, KEY, PARAMETER = "feed", "state", "constant", "key", "parameter"
STALE = "stale"
# Of a random key, which is two numbers, or of a variable that a branch only passes on.
UNKNOWN = Spec(dtypes.resource, None)
UNLABELLED = Access((), ())


def ranked(shape: Shape) -> RankedShape:
    """Return a shape whose rank is known, as is that of whatever is cut, labelled or routed."""
    assert shape is not None
    return shape


def concrete(shape: Shape) -> tuple[int, ...]:
    """Return a shape that is wholly known, as is that of whatever is cut."""
    assert is_known(shape)
    return shape


def num_elements(shape: Shape) -> int:
    """Return how many elements a value has, unknown dimensions counted as 1."""
    if isinstance(shape, Held):
        return (shape.num_items or 1) * sum(map(num_elements, shape.parts))
    return math.prod(n or 1 for n in shape or ())


def spec_bytes(spec: Spec) -> int:
    """Return the bytes of a value, unknown dimensions counted as 1; a random key has 16."""
    return 16 if spec is UNKNOWN else spec.dtype.np.itemsize * num_elements(spec.shape)


def block_bytes(spec: Spec, layout: Chunks | None) -> int:
    """Return the bytes of one block of a value, about."""
    blocks = [len(sizes) for sizes in layout or ()]
    # What holds arrays is cut along one axis in all of them.
    count = max(blocks, default=1) if isinstance(spec.shape, Held) else math.prod(blocks)
    return spec_bytes(spec) // count


class FeedRows(NamedTuple):
    """Rows of what is fed: the number of the feed, the first row, and that after the last."""

    feed: int
    start: int
    stop: int


class Ref(NamedTuple):
    """One output of a node, or a leaf."""

    node: Node | Leaf
    index: int = 0  # type: ignore[assignment]

    @property
    def producer(self) -> Node:
        """The node of what is computed."""
        assert isinstance(self.node, Node)
        return self.node

    @property
    def leaf(self) -> Leaf:
        """The leaf of what comes from outside."""
        assert isinstance(self.node, Leaf)
        return self.node

    @property
    def spec(self) -> Spec:
        """Dtype and shape of the value."""
        return self.node.specs[self.index]

    @property
    def layout(self) -> Chunks | None:
        """The chunks of the value; None is one whole block."""
        return self.node.layouts[self.index]

    @property
    def nbytes(self) -> int:
        """The bytes of the value, about; see `spec_bytes`."""
        filled = self.node.filled if isinstance(self.node, Node) else 1.0
        return int(spec_bytes(self.spec) * filled)


@dataclass(eq=False, slots=True, repr=False)
class Leaf:
    """A value from outside.

    Attributes:
      kind: "feed" (`what` is its position among the feeds), "state" (the variable's key), "stale"
        (the same, of an older version than the one that is updated, see `split_update`),
        "constant" (the array), "key" (what stands for the operation that draws random numbers) or
        "parameter" (a position).
      layouts: its chunks, one entry; None is one block.
    """

    kind: str
    what: Any
    specs: tuple[Spec, ...]
    layouts: list[Chunks | None]


@dataclass(eq=False, slots=True, repr=False)
class Node:
    """One kernel call.

    Attributes:
      name: name of the operation that it comes from, for labels and errors.
      opdef: its rules; None for the merging of partial results, which belongs to no op.
      kernel: what is called: a name in the array namespace or a function.
      inputs: the values it takes.
      attrs: attributes, with everything known by now filled in.
      specs: dtype and shape of each output, whole tensors (not blocks).
      multiple: the kernel returns a tuple.
      operands: attributes that come as trailing inputs because they are known only in the run.
      assigned: what is known of a variable that the op writes without reading it.
      subgraphs: functional programs of an op with branches.
      turns: how often these are run, about (`specialize`).
      inside: for each of them the labels of its values' dimensions, as in `access` (`cut_feeds`).
      access: its labels (`cut_feeds`).
      layouts: chunks of each output (`cut_feeds`).
      wanted: chunks in which it takes each input (`cut_feeds`).
      grid: blocks along each parallel axis of the op (`cut_feeds`).
      in_maps, out_maps: for each dimension of each input and output, the axis of `grid` that
        numbers its blocks, or -1 for a whole dimension (`cut_feeds`).
      merges: axes of the producer's grid over which partial results are merged (`cut_feeds`).
      pinned, cut: its labels and the chunks of some of them, where `route_updates` has set them.
      by_rows: it looks rows up in its first input, which is cut or has another device, wherever
        they are (`cut_feeds`, `place`).
      ragged: its blocks have fewer rows than their layout says (`route_updates`).
      filled: how many they have in all, about, as a share of what that says.
      device: where its operation asks to run; of an assignment, where its variable is.
      place: where it runs, "" anywhere (`place`).
      reason: why there, in words (`place`).
      needs_newest: whether it is computed from the newest version (`split_update`).
      beside: kernels that begin and end its call, if it may run at the same time as others that
        need nothing of it (`overlap`).
      stage: how many times data crossed between grids before it (`fuse`).
    """

    name: str
    opdef: OpDef | None
    kernel: Any
    inputs: list[Ref]
    attrs: dict[str, Any]
    specs: tuple[Spec, ...]
    multiple: bool = False
    operands: tuple[str, ...] = ()
    assigned: Spec | None = None
    subgraphs: tuple[Program, ...] = ()
    turns: int = 1
    inside: tuple[dict[Ref, Dims], ...] = ()
    op: Operation | None = None
    access: Access = UNLABELLED
    layouts: list[Chunks | None] = field(default_factory=list)
    wanted: list[Chunks | None] = field(default_factory=list)
    grid: tuple[int, ...] = ()
    in_maps: list[tuple[int, ...]] = field(default_factory=list)
    out_maps: list[tuple[int, ...]] = field(default_factory=list)
    merges: tuple[int, ...] | None = None
    pinned: Access | None = None
    cut: dict[int, tuple[int, ...]] = field(default_factory=dict)
    by_rows: bool = False
    ragged: bool = False
    filled: float = 1.0
    device: str = ""
    place: str = ""
    reason: str = ""
    needs_newest: bool = False
    beside: tuple[Any, Any] | None = None
    stage: int = 0

    def __repr__(self) -> str:
        return f"<Node {self.name!r}>"

    def copy(self) -> Node:
        """Return a node that shares all with this one."""
        return Node(*_FIELDS(self))

    @property
    def scope(self) -> str:
        """The scope part of the name."""
        return self.name.rpartition("/")[0]

    @property
    def pattern(self) -> Pattern | None:
        """The access pattern of its op, if it is of one."""
        return None if self.opdef is None else self.opdef.pattern

    @property
    def kernel_pattern(self) -> Pattern | None:
        """The access pattern of its kernel: of an effect on a variable, that on the value."""
        pattern = self.pattern
        return pattern.inner if isinstance(pattern, Effect) else pattern

    @property
    def flow(self) -> Flow | None:
        """How values go through its subgraphs, if its op says so."""
        rule = getattr(self.pattern, "flow", None)
        return None if rule is None else rule(self.attrs, len(self.specs))

    @property
    def written_key(self) -> str:
        """The key of the variable that its operation writes, "" if it writes none."""
        op, pattern = self.op, self.pattern
        if op is None or not isinstance(pattern, Effect) or not pattern.writes:
            return ""
        key: str = op.inputs[0].op.attrs["key"]
        return key

    @property
    def rules(self) -> OpDef:
        """The definition of its op; what `route_updates` and `cut_feeds` add has none."""
        assert self.opdef is not None
        return self.opdef

    @property
    def rule_attrs(self) -> dict[str, Any]:
        """The attributes as rules of shape and access take them: with what the run alone tells."""
        return {**self.attrs, "operands": self.operands} if self.operands else self.attrs

    @property
    def contracts(self) -> bool:
        """Whether it, or what it branches to, is a product that BLAS computes."""
        subgraphs = any(inner.contracts for subgraph in self.subgraphs for inner in subgraph.nodes)
        return subgraphs or isinstance(self.pattern, Contraction)

    @property
    def calls(self) -> int:
        """How many kernels it calls, about, in its branches or by itself."""
        inside = sum(inner.calls for subgraph in self.subgraphs for inner in subgraph.nodes)
        return self.turns * inside if self.subgraphs else 1

    @property
    def flops(self) -> float:
        """Rough floating-point operations of contractions whose shapes are known, else 0.

        Elementwise work is shared among threads tile by tile; cutting the batch is for the rest.
        """
        if self.subgraphs:
            return self.turns * sum(inner.flops for each in self.subgraphs for inner in each.nodes)
        pattern = self.pattern
        if not isinstance(pattern, Contraction):
            return 0.0
        taken = [shape for ref in self.inputs if is_known(shape := ref.spec.shape)]
        given = [shape for spec in self.specs if is_known(shape := spec.shape)]
        if len(taken) < len(self.inputs) or len(given) < len(self.specs):
            return 0.0
        access = self.access
        if access is UNLABELLED:  # of a node in a branch that is not cut
            access = pattern.access(taken, given, self.rule_attrs)
        return pattern.flops(taken, given, access)


_FIELDS = attrgetter(*Node.__slots__)  # in the order of `__init__`


@dataclass(eq=False, slots=True, repr=False)
class Program:
    """Nodes in an order in which they can run, and what is wanted of them.

    Attributes:
      nodes: topologically ordered.
      outputs: the values fetched.
      evaluated: values of operations that were asked to run without effect: computed and let go.
      updates: the new value of each variable written, by key.
      leaves: every leaf, by kind and identity.
      required: keys of variables that must have a value, with the name of the first reader.
      stored: layout in which each variable written is kept, by key.
      devices: where each variable is asked to be, by key.
      presence: keys whose having a value was looked at, and what was found.
      automatic: keys of variables that are cut though nobody said how: their number of chunks is
        that of the workers, so that no bits may depend on it.
      sharding: how its work is cut, and the runner-up, if there was a choice (`cut_feeds`).
      pieces: of what is fed that are fed on their own (`planner.feed_pieces`).
      client_s: the estimated seconds of its work if the client does it, else None (`place`).
      seconds: those of its work on one thread, where it is cut for the threads of this process.
    """

    nodes: list[Node] = field(default_factory=list)
    outputs: list[Ref] = field(default_factory=list)
    evaluated: list[Ref] = field(default_factory=list)
    updates: dict[str, Ref] = field(default_factory=dict)
    leaves: dict[tuple[str, Any], Leaf] = field(default_factory=dict)
    required: dict[str, str] = field(default_factory=dict)
    stored: dict[str, Chunks | None] = field(default_factory=dict)
    devices: dict[str, str] = field(default_factory=dict)
    presence: dict[str, bool] = field(default_factory=dict)
    automatic: set[str] = field(default_factory=set)
    sharding: tuple[Any, Any] = (None, None)
    pieces: tuple[FeedRows, ...] = ()
    client_s: float | None = None
    seconds: float = math.inf

    def leaf(self, kind: str, what: Any, spec: Spec, layout: Chunks | None = None) -> Ref:
        """Return the leaf of that identity, made if need be."""
        identity = (kind, id(what) if kind == CONSTANT else what)
        found = self.leaves.get(identity)
        if found is None:
            found = self.leaves[identity] = Leaf(kind, what, (spec,), [layout])
        return Ref(found)

    def results(self) -> Iterator[Ref]:
        """Yield everything that the program is run for."""
        yield from self.outputs
        yield from self.evaluated
        yield from self.updates.values()

    def copy(self) -> Program:
        """Return a program whose nodes and leaves can be laid out without a trace in this one.

        What passes before have found of a node (attributes, specs, labels) is shared.
        """
        made: dict[int, Any] = {
            id(leaf): Leaf(leaf.kind, leaf.what, leaf.specs, list(leaf.layouts))
            for leaf in self.leaves.values()
        }

        def moved(ref: Ref) -> Ref:
            return Ref(made[id(ref.node)], ref.index)

        nodes = []
        for node in self.nodes:
            copy = made[id(node)] = node.copy()
            copy.inputs = [moved(ref) for ref in node.inputs]
            nodes.append(copy)
        return Program(
            nodes,
            [moved(ref) for ref in self.outputs],
            [moved(ref) for ref in self.evaluated],
            {key: moved(ref) for key, ref in self.updates.items()},
            {key: made[id(leaf)] for key, leaf in self.leaves.items()},
            dict(self.required),
            dict(self.stored),
            dict(self.devices),
            dict(self.presence),
            self.automatic,
            pieces=self.pieces,
        )

    def map_refs(self, change: Callable[[Ref], Ref]) -> None:
        """Replace every use of a value by ``change(value)``."""
        for node in self.nodes:
            node.inputs = [change(ref) for ref in node.inputs]
        self.outputs = [change(ref) for ref in self.outputs]
        self.evaluated = [change(ref) for ref in self.evaluated]
        self.updates = {key: change(ref) for key, ref in self.updates.items()}

    def renumber(self, places: Mapping[int, int]) -> None:
        """Have the parameters of a body be those at other positions: old -> new."""
        leaves, self.leaves = self.leaves, {}
        for (kind, what), leaf in leaves.items():
            if kind == PARAMETER:
                leaf.what = what = places[what]
            self.leaves[kind, what] = leaf

    def drop_dead(self) -> None:
        """Drop nodes that no result needs, and leaves that no node uses."""
        alive = self.needed(self.results())
        self.nodes = [node for node in self.nodes if id(node) in alive]
        self.leaves = {k: leaf for k, leaf in self.leaves.items() if id(leaf) in alive}
        loops = [node for node in self.nodes if node.flow is not None and node.flow.history]
        used = used_values(self) if loops else ()
        for loop in loops:
            _drop_carried(loop, used)

    def needed(self, results: Iterable[Ref]) -> set[int]:
        """Return the ids of the nodes and leaves without which some results cannot be."""
        alive = {id(ref.node) for ref in results}
        for node in reversed(self.nodes):
            if id(node) in alive or is_visible(node):
                alive.add(id(node))
                alive.update(id(ref.node) for ref in node.inputs)
        return alive


def _drop_carried(loop: Node, used: Collection[Ref]) -> None:
    """Have a loop carry as it is what no turn and nobody after it takes: TensorFlow runs no more.

    What its gradient takes is all that it carries.
    """
    flow = loop.flow
    assert flow is not None and flow.history is not None
    history, inputs, _ = flow.history
    if Ref(loop, history) in used:
        return
    dead = {
        place: (output, result)
        for output, place, result in flow.carried
        if place in inputs and Ref(loop, output) not in used
    }
    while dead:
        taken: set[Any] = set()
        for branch, body in enumerate(loop.subgraphs):
            wanted = [
                ref
                for position, ref in enumerate(body.results())
                if all(result != (branch, position) for _, result in dead.values())
            ]
            alive = body.needed(wanted)
            leaves = [leaf for leaf in body.leaves.values() if leaf.kind == PARAMETER]
            taken.update(leaf.what for leaf in leaves if id(leaf) in alive)
        if taken.isdisjoint(dead):
            break
        dead = {place: found for place, found in dead.items() if place not in taken}
    for place, (output, (branch, position)) in dead.items():
        body = loop.subgraphs[branch]
        body.outputs[position] = body.leaf(PARAMETER, place, loop.specs[output])
    for branch in {branch for _, (branch, _) in dead.values()}:
        loop.subgraphs[branch].drop_dead()


def is_variable(ref: Ref) -> bool:
    """Return whether a value is what a variable has, of one version or another."""
    return isinstance(ref.node, Leaf) and ref.node.kind in (STATE, STALE)


def is_visible(node: Node) -> bool:
    """Return whether running the node can be seen from outside, so that it may not be dropped."""
    return getattr(node.pattern, "pure", True) is False


def runs_visibly(node: Node) -> bool:
    """Return whether a run of something in the branches of a node can be seen from outside."""
    return any(
        is_visible(inner) or runs_visibly(inner) for each in node.subgraphs for inner in each.nodes
    )


def used_values(program: Program) -> Counter[Ref]:
    """Return every value that nodes of the program, or its caller, take, and how often."""
    found = Counter(ref for node in program.nodes for ref in node.inputs)
    found.update(program.results())
    return found


def is_alike(a: Any, b: Any) -> bool:
    """Return whether two pieces of plain data, which may have arrays in them, are the same."""
    if isinstance(a, numpy.ndarray) or isinstance(b, numpy.ndarray):
        return a is b or (type(a) is type(b) and a.shape == b.shape and a.tobytes() == b.tobytes())
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(is_alike(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(map(is_alike, a, b))
    return bool(a == b)
