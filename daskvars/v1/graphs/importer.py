"""import_graph_def: operations from data, checked one by one.

Every node is made as the functions of the library make theirs: its op is looked up in the
registry, its inputs are checked against the signature, shapes and dtypes are inferred anew. What
a file claims beyond that (a static shape) must agree. A name that is taken gets a suffix, and so
do all that refer to it: inputs, colocation groups, the key of a variable.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn

from daskvars.dtypes import DType
from daskvars.errors import did_you_mean
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import REGISTRY, OpDef, Spec, registered
from daskvars.graph.func_graph import FuncGraph
from daskvars.graph.graph import OP_NAME, Graph
from daskvars.graph.interpreter import builder_for, check_types, given_specs
from daskvars.graph.records.attribute_json import shape_of, shortened
from daskvars.graph.records.attribute_kinds import SHAPE
from daskvars.graph.records.graph_def import OUTER, GraphDef, NodeDef, body_place, decoded, nodes_of
from daskvars.graph.scopes.device import merged
from daskvars.graph.scopes.stacks import device_string
from daskvars.graph.tensor import ANNOTATIONS, Operation, Tensor
from daskvars.surface.accepted import accepts
from daskvars.v1.graphs.attribute_checks import check_attributes


@accepts("op_dict", "producer_op_list")
def import_graph_def(
    graph_def: GraphDef,
    input_map: Mapping[str, Any] | None = None,
    return_elements: Sequence[str] | None = None,
    name: str | None = None,
    op_dict: Any = None,
    producer_op_list: Any = None,
) -> list[Any] | None:
    """Add the operations of a `GraphDef` to the graph being built.

    Args:
      graph_def: the operations, in any order.
      input_map: name of a tensor in `graph_def` -> what is taken in its place; names may be bytes.
      return_elements: names of operations and tensors in `graph_def` to return.
      name: name scope that they are put under, by default "import"; "" for none.

    Returns:
      The operations and tensors that `return_elements` names, if it is given.

    Raises:
      TypeError: an argument is of another kind.
      ValueError: a name occurs twice, an op is unknown, an input missing or of another dtype; or
        `input_map` or `return_elements` has names that are not there.
      RuntimeError: there is no graph to import into, in eager code.

    >>> with dv.Graph().as_default() as graph:
    ...     x = dv.placeholder(dv.float32, [2], name="x")
    ...     y = dv.tanh(x, name="y")
    >>> with dv.Graph().as_default():
    ...     (y,) = import_graph_def(graph.as_graph_def(), {"x": dv.zeros([2])}, ["y:0"])
    >>> y.name
    'import/y:0'
    """
    if not isinstance(graph_def, GraphDef):
        raise TypeError("graph_def must be a GraphDef proto.")
    names = _names(return_elements, "return_elements must be a list of strings.")
    not_a_map = "input_map must be a dictionary mapping strings to Tensor objects."
    if not isinstance(input_map, Mapping | None):
        raise TypeError(not_a_map)
    mapped = dict(zip(_names(input_map, not_a_map), (input_map or {}).values(), strict=True))
    graph = builder_for(())
    if graph.is_eager:
        raise RuntimeError("a graph is imported into a graph: enter one, or use daskvars.v1")
    with graph.name_scope("import" if name is None else name) as scope:
        given = {
            _tensor_key(key): value if isinstance(value, Tensor) else convert_to_tensor(value)
            for key, value in mapped.items()
        }
    importer = Importer(graph, scope, given)
    importer.add(graph_def.node)
    unused = {key for key in given.keys() - importer.taken if not importer.has(key)}
    if unused:
        raise ValueError(
            "Attempted to map inputs that were not found in graph_def: "
            f"[{', '.join(sorted(unused))}]"
        )
    return None if return_elements is None else [importer.element(item) for item in names]


def _names(value: Any, otherwise: str) -> list[str]:
    names = [item.decode() if isinstance(item, bytes) else item for item in value or ()]
    if not all(isinstance(item, str) for item in names):
        raise TypeError(otherwise)
    return names


def _tensor_key(name: str) -> str:
    """Return the name of a tensor with the number of the output: "x:0" for "x"."""
    return name if ":" in name or name.startswith("^") else f"{name}:0"


class Importer:
    """Adds nodes to a graph, and to the bodies in it.

    Args:
      scope: what is put before names, ending in "/", or "".
      given: name of a tensor in the data -> what stands in its place.

    Attributes:
      taken: those names of `given` that occur.
    """

    def __init__(self, graph: Graph, scope: str, given: Mapping[str, Tensor]) -> None:
        self.graph, self.scope, self.given = graph, scope, given
        self.taken: set[str] = set()
        self.by_address: dict[str, Operation] = {}
        self.num_bodies: Counter[str] = Counter()
        self.names: list[dict[str, Operation]] = []  # of the innermost body first

    def add(self, nodes: Iterable[NodeDef]) -> None:
        """Add operations to the graph.

        Raises:
          ValueError, TypeError: a node that cannot be; names it.
        """
        self.names = [{}]
        self._nodes(self.graph, list(nodes), "")

    def has(self, key: str) -> bool:
        """Return whether the data has a tensor or, with "^" before it, an operation of a name."""
        op_name, _, number = key.removeprefix("^").partition(":")
        op = self.names[0].get(op_name)
        return op is not None and (not number or int(number) < len(op.outputs))

    def element(self, name: str) -> Any:
        """Return an operation, or a tensor, by its name in the data."""
        op_name, colon, number = name.partition(":")
        op = self.names[0].get(op_name)
        if colon and not number.isdigit():
            raise ValueError(f"Cannot convert {name!r} to a tensor name.")
        if colon and name in self.given:
            return self.given[name]
        if op is None:
            kind = "tensor" if colon else "node"
            raise ValueError(f"Requested return {kind} {name!r} not found in graph def")
        if colon and int(number) >= len(op.outputs):
            raise ValueError(
                f"Invalid return output {number} of node {op_name!r}, which has "
                f"{len(op.outputs)} output(s)"
            )
        return op.outputs[int(number)] if colon else op

    def _nodes(self, graph: Graph, nodes: list[NodeDef], place: str) -> None:
        """Add nodes to `graph`, the innermost of `self.names`; then what each waits for."""
        here = self.names[0]
        for node in _inputs_first(nodes):
            op = self._node(graph, node, place)
            here[node.name] = self.by_address[place + node.name] = op
        for node in nodes:
            waits = [name[1:] for name in node.input if name.startswith("^")]
            for name in waits:
                if name not in here and f"^{name}" not in self.given:
                    _fail(node, f"Unknown input node '^{name}'")
            self.taken.update(f"^{name}" for name in waits if f"^{name}" in self.given)
            ops = [self.given[f"^{n}"].op if f"^{n}" in self.given else here[n] for n in waits]
            op = here[node.name]
            op._control_inputs = (*op._control_inputs, *ops)
            graph.late_control_inputs |= any(other.id > op.id for other in ops)
            if "_class" in op.attrs:
                self._colocate(node, op)

    def _colocate(self, node: NodeDef, op: Operation) -> None:
        """Let `op` be where the operations of its groups are, by the names that they have now."""
        groups = []
        if not _are_texts(list(op.attrs["_class"])):
            _fail(node, f"its groups are {shortened(op.attrs['_class'])}")
        for group in op.attrs["_class"]:
            name = group.removeprefix("loc:@")
            other = next((names[name] for names in self.names if name in names), None)
            if other is None:
                raise ValueError(
                    f"Node {node.name!r} expects to be colocated with unknown node {name!r}"
                )
            groups.append(other)
        op.attrs["_class"] = tuple(f"loc:@{other.name}" for other in groups)
        others = [other for other in groups if other is not op]
        if others:
            op.device = next((o.device for o in others if o.device), device_string(node.device))

    def _node(self, graph: Graph, node: NodeDef, place: str) -> Operation:
        definition = registered(node.op)
        if definition is None:
            _fail(
                node,
                f"Op type not registered {node.op!r}{did_you_mean(node.op, REGISTRY)}; "
                "import the module that registers it",
            )
        if not OP_NAME.match(node.name):
            _fail(node, "no operation can have that name")
        if node.name in self.names[0]:
            raise ValueError(f"Node {node.name!r} is not unique")
        name = graph.claim(self.scope + node.name)
        inputs = [self._tensor(node, item) for item in node.input if not item.startswith("^")]
        attrs = decoded(node, lambda kind, data: self._special(kind, data, graph, node, place))
        op = self._create(graph, node, definition, tuple(inputs), attrs, name)
        if node.device:
            op._set_device(merged(op.device, device_string(node.device)))
        self._shapes(node, op)
        return op

    def _create(
        self,
        graph: Graph,
        node: NodeDef,
        definition: OpDef,
        inputs: tuple[Tensor, ...],
        attrs: dict[str, Any],
        name: str,
    ) -> Operation:
        try:
            check_attributes(definition, attrs, inputs, len(node.shapes))
        except ValueError as error:
            _fail(node, str(error))
        arguments = definition.arguments
        takes_more = any(argument.many for argument in arguments)
        count = len(inputs) - len(attrs.get("operands", ()))
        if count < len(arguments) - takes_more or (count > len(arguments) and not takes_more):
            _fail(
                node,
                f"NodeDef expected inputs {definition.signature!r} do not match {count} "
                "inputs specified",
            )
        try:
            check_types(definition, inputs[:count])
            known = {k: v for k, v in attrs.items() if k not in ANNOTATIONS}
            specs = definition.infer(given_specs(definition, inputs), **known)
            for spec in (specs,) if isinstance(specs, Spec) else specs:
                if not isinstance(spec.dtype, DType) or not SHAPE.holds(spec.shape):
                    raise ValueError(f"an output would be {shortened(spec)}")
        except Exception as error:
            raise ValueError(f"Node {node.name!r}: {error} (op {node.op})") from error
        outputs = (specs,) if isinstance(specs, Spec) else specs
        if "key" in attrs and any(spec.dtype.is_ref for spec in outputs):
            attrs["key"] = name if attrs["key"] == node.name else f"{self.scope}{attrs['key']}"
        return graph.create(definition, inputs, attrs, specs, name)

    def _shapes(self, node: NodeDef, op: Operation) -> None:
        if node.shapes and len(node.shapes) != len(op.outputs):
            _fail(node, f"{len(node.shapes)} shapes for {len(op.outputs)} outputs")
        for tensor, data in zip(op.outputs, node.shapes, strict=False):
            try:
                tensor.set_shape(shape_of(data))
            except ValueError as error:
                _fail(node, str(error))

    def _tensor(self, node: NodeDef, name: str) -> Tensor:
        """Return the tensor of a name: from `given`, this body, or one around it."""
        inner = name.lstrip(OUTER)
        levels = len(name) - len(inner)
        key = _tensor_key(inner)
        if levels == len(self.names) - 1 and key in self.given:
            self.taken.add(key)
            return self.given[key]
        op_name, _, number = key.rpartition(":")
        op = self.names[levels].get(op_name) if levels < len(self.names) else None
        if op is None or not number.isdigit():
            _fail(node, f"Unknown input node {name!r}")
        if int(number) >= len(op.outputs):
            _fail(
                node,
                f"Connecting to invalid output {number} of source node {op_name} which has "
                f"{len(op.outputs)} outputs",
            )
        return op.outputs[int(number)]

    def _special(self, kind: str, data: Any, graph: Graph, node: NodeDef, place: str) -> Any:
        if kind == "operation" and isinstance(data, str) and data in self.by_address:
            return self.by_address[data]
        if kind == "graph" and isinstance(data, dict):
            return self._body(data, graph, node, body_place(place + node.name, self.num_bodies))
        raise ValueError(f"{shortened({kind: data})} where an attribute belongs")

    def _body(self, data: dict[str, Any], outer: Graph, node: NodeDef, place: str) -> FuncGraph:
        parts: list[Any] = [data.get(part) for part in ("input", "result", "effect")]
        if not isinstance(data.get("name"), str) or not all(map(_are_texts, parts)):
            raise ValueError(f"{shortened(data)} where the body of a branch belongs")
        body = FuncGraph(self.scope + data["name"], outer, _no_more_inputs)
        self.names.insert(0, {})
        try:
            self._nodes(body, nodes_of(data.get("node")), place)
            body.inputs = [self._tensor(node, item) for item in parts[0]]
            body.results = [self._tensor(node, item) for item in parts[1]]
            body.effects = [self._operation(node, item) for item in parts[2]]
        finally:
            self.names.pop(0)
        return body

    def _operation(self, node: NodeDef, name: str) -> Operation:
        if name not in self.names[0]:
            _fail(node, f"{name!r} is not in its body")
        return self.names[0][name]


def _inputs_first(nodes: list[NodeDef]) -> list[NodeDef]:
    """Return nodes in their order, but each after those whose outputs it takes.

    A ring of nodes stays as it is: the first of them then lacks its input.
    """
    by_name = {node.name: node for node in nodes}
    ordered: list[NodeDef] = []
    begun, done = set(), set()
    for node in nodes:
        waiting = [node]
        while waiting:
            top = waiting[-1]
            sources = [] if id(top) in begun else [_source(name) for name in top.input]
            begun.add(id(top))
            lacking = [by_name[name] for name in sources if name in by_name]
            lacking = [other for other in lacking if id(other) not in begun]
            if lacking:
                waiting += reversed(lacking)
                continue
            if id(top) not in done:
                done.add(id(top))
                ordered.append(top)
            waiting.pop()
    return ordered


def _source(name: str) -> str:
    """Return which node an input names: none, where it is waited for or is of the graph around."""
    return "" if name.startswith(("^", OUTER)) else name.partition(":")[0]


def _no_more_inputs(graph: FuncGraph, tensor: Tensor) -> NoReturn:
    raise ValueError(f"the body {graph.name!r} was imported; it cannot take {tensor.name} as well")


def _are_texts(data: Any) -> bool:
    return isinstance(data, list) and all(isinstance(item, str) for item in data)


def _fail(node: NodeDef, problem: str) -> NoReturn:
    raise ValueError(f"Node {shortened(node.name)}: {problem} (op {shortened(node.op)})")
