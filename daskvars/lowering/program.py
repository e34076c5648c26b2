"""The program that lowering works on: values, their producers, and annotations of each pass.

A program is purely functional: variables enter as leaves and leave as `updates`. A node is one
kernel call (on one block, once layouts are known); a leaf is a value that comes from outside.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from daskvars.chunk_grid import Chunks
from daskvars.graph.definitions.opdef import OpDef, Spec
from daskvars.graph.definitions.patterns import Access, Contraction
from daskvars.graph.tensor import Operation

FEED, STATE, CONSTANT, KEY, PARAMETER = "feed", "state", "constant", "key", "parameter"
STALE = "stale"


def spec_bytes(spec: Spec) -> int:
    """Return the bytes of a value, unknown dimensions counted as 1; a random key has 16."""
    itemsize = spec.dtype.np.itemsize if spec.dtype is not None else 16
    return itemsize * math.prod(n or 1 for n in spec.shape or ())


def block_bytes(spec: Spec, layout: Chunks | None) -> int:
    """Return the bytes of one block of a value, about."""
    return spec_bytes(spec) // math.prod(map(len, layout or ()))


class Ref(NamedTuple):
    """One output of a node, or a leaf."""

    node: Any
    index: int = 0  # type: ignore[assignment]

    @property
    def spec(self) -> Spec:
        """Dtype and shape of the value."""
        return self.node.specs[self.index]

    @property
    def layout(self) -> Chunks | None:
        """The chunks of the value; None is one whole block."""
        return self.node.layouts[self.index]


@dataclass(eq=False, slots=True)
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


@dataclass(eq=False, slots=True)
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
      layouts: chunks of each output (`propagate`).
      access: its labels (`propagate`).
      grid: blocks along each parallel axis of the op (`propagate`).
      in_maps, out_maps: for each dimension of each input and output, the axis of `grid` that
        numbers its blocks, or -1 for a whole dimension (`propagate`).
      merges: axes of the producer's grid over which partial results are merged (`propagate`).
      pinned, cut: its labels and the chunks of some of them, where `route` has set them.
      ragged: its blocks have fewer rows than their layout says (`route`).
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
    op: Operation | None = None
    access: Access | None = None
    layouts: list[Chunks | None] = field(default_factory=list)
    wanted: list[Chunks | None] = field(default_factory=list)
    grid: tuple[int, ...] = ()
    in_maps: list[tuple[int, ...]] = field(default_factory=list)
    out_maps: list[tuple[int, ...]] = field(default_factory=list)
    merges: tuple[int, ...] | None = None
    pinned: Access | None = None
    cut: dict[int, tuple[int, ...]] = field(default_factory=dict)
    ragged: bool = False
    device: str = ""
    place: str = ""
    reason: str = ""
    needs_newest: bool = False
    beside: tuple[Any, Any] | None = None
    stage: int = 0

    @property
    def scope(self) -> str:
        """The scope part of the name."""
        return self.name.rpartition("/")[0]

    @property
    def rule_attrs(self) -> dict[str, Any]:
        """The attributes as rules of shape and access take them: with what the run alone tells."""
        return {**self.attrs, "operands": self.operands} if self.operands else self.attrs

    @property
    def contracts(self) -> bool:
        """Whether it, or what it branches to, is a product that BLAS computes."""
        subgraphs = any(inner.contracts for subgraph in self.subgraphs for inner in subgraph.nodes)
        return subgraphs or (self.opdef is not None and isinstance(self.opdef.pattern, Contraction))

    @property
    def flops(self) -> float:
        """Rough floating-point operations of a contraction whose shapes are known, else 0.

        Elementwise work is shared among threads tile by tile; cutting the batch is for the rest.
        """
        if self.opdef is None or not isinstance(self.opdef.pattern, Contraction):
            return 0.0
        taken = [ref.spec.shape for ref in self.inputs]
        given = [spec.shape for spec in self.specs]
        is_known = all(shape is not None and None not in shape for shape in taken + given[:1])
        return self.opdef.pattern.flops(taken, given) if is_known else 0.0


@dataclass(eq=False, slots=True)
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
      devices: where each variable written is asked to be, by key.
      presence: keys whose having a value was looked at, and what was found.
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

    def map_refs(self, change: Callable[[Ref], Ref]) -> None:
        """Replace every use of a value by ``change(value)``."""
        for node in self.nodes:
            node.inputs = [change(ref) for ref in node.inputs]
        self.outputs = [change(ref) for ref in self.outputs]
        self.evaluated = [change(ref) for ref in self.evaluated]
        self.updates = {key: change(ref) for key, ref in self.updates.items()}

    def drop_dead(self) -> None:
        """Drop nodes that no result needs, and leaves that no node uses."""
        alive: set[int] = {id(ref.node) for ref in self.results()}
        kept = []
        for node in reversed(self.nodes):
            if id(node) in alive or is_visible(node):
                kept.append(node)
                alive.update(id(ref.node) for ref in node.inputs)
        self.nodes = kept[::-1]
        self.leaves = {k: leaf for k, leaf in self.leaves.items() if id(leaf) in alive}


def is_visible(node: Node) -> bool:
    """Return whether running the node can be seen from outside, so that it may not be dropped."""
    return node.opdef is not None and getattr(node.opdef.pattern, "pure", True) is False
