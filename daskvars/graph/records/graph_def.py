"""GraphDef: a graph as plain data, for files.

It has the fields of TensorFlow's protocol buffer of that name as far as they mean something here,
and JSON where that has bytes. The bodies of branches and loops are graphs within attributes.

It is not in `daskvars.v1`, where the import of such records is, because `Graph.as_graph_def`,
`Session.graph_def` and `FileWriter.add_graph` are methods of classes that both ways in share.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Self

from daskvars.graph.records.attribute_json import decode, encode, shape_json, shortened
from daskvars.graph.records.json_record import JsonRecord
from daskvars.graph.scopes.collections import Collections
from daskvars.graph.tensor import Operation, Tensor
from daskvars.surface.accepted import accepts

FORMAT = 1
"""Number of the format that this code writes, and the only one that it reads."""

SHAPES = "_output_shapes"
"""Attribute of a node that holds the static shapes of its outputs."""

OUTER = "<"
"""Before a name, once a level: the tensor is one of the graph around the body."""


@dataclass
class NodeDef(JsonRecord):
    """One operation as data.

    Attributes:
      name: its name in the graph.
      op: type of its op, "MatMul".
      input: names of the tensors that it takes, ``"x"`` for ``x:0``, ``"x:1"``; then ``"^y"`` for
        each operation that it waits for.
      device: the device asked for.
      attr: attributes as JSON data, see `daskvars.graph.records.attribute_json`.

    >>> with dv.Graph().as_default() as graph:
    ...     _ = dv.tanh(dv.zeros([2], name="x"), name="y")
    >>> node = graph.as_graph_def().node[-1]
    >>> node.name, node.op, node.input, node.shapes
    ('y', 'Tanh', ['x'], [[2]])
    """

    what: ClassVar[str] = "a node"

    name: str = ""
    op: str = ""
    input: list[str] = field(default_factory=list)
    device: str = ""
    attr: dict[str, Any] = field(default_factory=dict)

    @property
    def shapes(self) -> list[Any]:
        """The static shapes of the outputs, as JSON data."""
        return self.attr.get(SHAPES, [])

    def to_json(self) -> dict[str, Any]:
        """Return the node as JSON data."""
        return vars(self)

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """Return the node that JSON data describes.

        Raises:
          ValueError: it is no node; names the field that is wrong.
        """
        kinds = {"name": str, "op": str, "input": list, "device": str, "attr": dict}
        if not isinstance(data, dict) or data.keys() != kinds.keys():
            raise ValueError(f"{shortened(data)} where a node belongs")
        for name, kind in kinds.items():
            if not isinstance(data[name], kind):
                raise ValueError(
                    f"node {shortened(data['name'])}: {name!r} is {shortened(data[name])}"
                )
        if not all(isinstance(name, str) for name in data["input"]):
            raise ValueError(f"node {data['name']!r}: 'input' is {shortened(data['input'])}")
        if not isinstance(data["attr"].get(SHAPES, []), list):
            shapes = shortened(data["attr"][SHAPES])
            raise ValueError(f"node {data['name']!r}: {SHAPES!r} is {shapes}")
        return cls(**data)


@dataclass
class GraphDef(JsonRecord):
    """A graph as data: what `Graph.as_graph_def` gives and `import_graph_def` takes.

    Attributes:
      node: its operations, each after those whose outputs it takes.

    >>> with dv.Graph().as_default() as graph:
    ...     x = dv.placeholder(dv.float32, [2], name="x")
    ...     y = dv.tanh(x, name="y")
    >>> [(node.name, node.op, node.input) for node in graph.as_graph_def().node]
    [('x', 'Placeholder', []), ('y', 'Tanh', ['x'])]
    """

    what: ClassVar[str] = "a graph"

    node: list[NodeDef] = field(default_factory=list)

    def to_json(self) -> dict[str, Any]:
        """Return the graph as JSON data."""
        return {"format": FORMAT, "node": [vars(node) for node in self.node]}

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """Return the graph that JSON data describes.

        Raises:
          ValueError: it is no graph; names the field that is wrong.
        """
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            raise ValueError(f"no graph in format {FORMAT} of daskvars: {shortened(data)}")
        return cls(nodes_of(data.get("node")))


def nodes_of(data: Any) -> list[NodeDef]:
    """Return the nodes that JSON data describes. Raises ValueError naming what is wrong."""
    if not isinstance(data, list):
        raise ValueError(f"{shortened(data)} where a list of nodes belongs")
    return [NodeDef.from_json(item) for item in data]


class WithGraphDef:
    """The part of a graph that gives it as data."""

    def get_operations(self) -> list[Operation]:
        """Return all operations in the order in which they were made."""
        raise NotImplementedError

    @accepts("add_shapes")
    def as_graph_def(self, from_version: int | None = None, add_shapes: bool = False) -> GraphDef:
        """Return the graph as data, for a file or `import_graph_def`.

        Args:
          from_version: leave out the operations before this `version`.

        Raises:
          TypeError: an attribute cannot be written as data; names the operation.
        """
        return GraphDef(_Writer().nodes(self.get_operations()[from_version or 0 :], ""))


class _Writer:
    """Writes operations, those of bodies included; `address` says where each is in the file."""

    def __init__(self) -> None:
        self.address: dict[Operation, str] = {}
        self.num_bodies: Counter[str] = Counter()

    def nodes(self, operations: Iterable[Operation], place: str) -> list[NodeDef]:
        found = []
        for op in operations:
            self.address[op] = f"{place}{op.name}"
            found.append(self.node(op))
        return found

    def node(self, op: Operation) -> NodeDef:
        names = [tensor_name(t, op.graph) for t in op.inputs]
        waits = [f"^{c.name}" for c in op.control_inputs]
        try:
            attr = {k: encode(v, lambda v: self.special(v, op)) for k, v in op.attrs.items()}
        except TypeError as error:
            raise TypeError(f"operation {op.name!r} ({op.type}): {error}") from None
        attr[SHAPES] = [shape_json(t.spec.shape) for t in op.outputs]
        return NodeDef(op.name, op.type, names + waits, op.device, attr)

    def special(self, value: Any, op: Operation) -> Any:
        """Encode the body of a branch, or an operation that an attribute refers to."""
        if isinstance(value, Collections):
            return {"graph": self.body(value, op)}
        if isinstance(value, Operation):
            if value not in self.address:
                raise TypeError(f"it refers to {value.name!r}, which is not in the graph")
            return {"operation": self.address[value]}
        return None

    def body(self, graph: Any, op: Operation) -> dict[str, Any]:
        nodes = self.nodes(graph.get_operations(), body_place(self.address[op], self.num_bodies))
        return {
            "name": graph.name,
            "node": [vars(node) for node in nodes],
            "input": [tensor_name(t, graph) for t in graph.inputs],
            "result": [tensor_name(t, graph) for t in graph.results],
            "effect": [effect.name for effect in graph.effects],
        }


def body_place(address: str, num_bodies: Counter[str]) -> str:
    """Return what stands before the names in the next body of the operation at `address`."""
    num_bodies[address] += 1
    return f"{address}>{num_bodies[address]}>"


def tensor_name(tensor: Tensor, graph: Any) -> str:
    """Return the name of a tensor as an input in `graph`, or in a body around which its graph is.

    Output 0 is named like its operation.
    """
    levels = 0
    while tensor.graph is not graph and getattr(graph, "outer", None) is not None:
        graph, levels = graph.outer, levels + 1
    number = f":{tensor.index}" if tensor.index else ""
    return f"{OUTER * levels}{tensor.op.name}{number}"


def decoded(node: NodeDef, special: Any) -> dict[str, Any]:
    """Return the attributes of a node. Raises ValueError naming the node and the attribute."""
    found = {}
    for name, data in node.attr.items():
        if name != SHAPES:
            try:
                found[name] = decode(data, special)
            except ValueError as error:
                raise ValueError(f"node {node.name!r}: attribute {name!r}: {error}") from None
    return found
