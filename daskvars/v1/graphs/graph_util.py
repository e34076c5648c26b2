"""Graphs as data, cut down to what computes an output: `tf.graph_util`.

Functions of `GraphDef` to `GraphDef`: none changes what it is given.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy
from numpy.typing import NDArray

from daskvars.dtypes import as_dtype
from daskvars.errors import did_you_mean, enumerated
from daskvars.graph.graph import Graph
from daskvars.graph.records.attribute_json import encode
from daskvars.graph.records.graph_def import OUTER, SHAPES, GraphDef, NodeDef, nodes_of
from daskvars.graph.scopes.stacks import SessionLike
from daskvars.shapes import TensorShape
from daskvars.v1.graphs.importer import import_graph_def

__all__ = [
    "convert_variables_to_constants",
    "extract_sub_graph",
    "import_graph_def",
    "remove_training_nodes",
    "tensor_shape_from_node_def_name",
]

VARIABLE, READ, CONSTANT, IDENTITY = "VariableV2", "ReadVariable", "Const", "Identity"
CHECKS = ("CheckNumerics",)


def convert_variables_to_constants(
    sess: SessionLike,
    input_graph_def: GraphDef,
    output_node_names: Sequence[str],
    variable_names_whitelist: Collection[str] | None = None,
    variable_names_blacklist: Collection[str] | None = None,
) -> GraphDef:
    """Return the part of a graph that computes some outputs, its variables become constants.

    Args:
      sess: the session that has the variables' values.
      input_graph_def: the graph, ``sess.graph.as_graph_def()``.
      output_node_names: names of the operations whose outputs are wanted, a list.
      variable_names_whitelist: names of the variables to replace, by default all.
      variable_names_blacklist: names of variables that stay variables.

    Returns:
      The graph, to be imported with `import_graph_def`. The nodes have the names that they had.

    Raises:
      AssertionError: an output is not in the graph.
      FailedPreconditionError: variables have no value; all are named.
      ValueError: a variable that would become a constant is changed on the way to an output.

    Source: TensorFlow 1.15, ``tf.graph_util.convert_variables_to_constants``.

    >>> with tf.Graph().as_default() as graph, tf.Session() as sess:
    ...     y = tf.multiply(tf.get_variable("w", initializer=3.0), 2.0, name="y")
    ...     sess.run(tf.global_variables_initializer())
    ...     frozen = tf.graph_util.convert_variables_to_constants(
    ...         sess, graph.as_graph_def(), ["y"])
    >>> [(node.name, node.op) for node in frozen.node]
    [('w', 'Const'), ('w/read', 'Identity'), ('y/y', 'Const'), ('y', 'Mul')]
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     print(*sess.run(tf.import_graph_def(frozen, return_elements=["y:0"])))
    6.0
    """
    part = extract_sub_graph(input_graph_def, output_node_names)
    names = [
        node.name
        for node in part.node
        if node.op == VARIABLE
        and (variable_names_whitelist is None or node.name in variable_names_whitelist)
        and node.name not in (variable_names_blacklist or ())
    ]
    values = dict(zip(names, sess.run([f"{name}:0" for name in names]), strict=True))
    changed = [
        f"{node.name!r} ({node.op})"
        for node in part.node
        if node.op != READ and any(_operation(item) in values for item in _values(node))
    ]
    if changed:
        raise ValueError(
            f"the outputs depend on {enumerated(changed, 4)}, which needs a variable that would "
            "become a constant: leave that to variable_names_blacklist, or ask for outputs that "
            "only read"
        )
    return GraphDef([_frozen(node, values) for node in part.node])


def _frozen(node: NodeDef, values: Mapping[str, NDArray[Any]]) -> NodeDef:
    if node.name in values:
        array = numpy.asarray(values[node.name])
        attr = {
            "value": encode(array, lambda value: None),
            "dtype": encode(as_dtype(array.dtype), lambda value: None),
            "chunks": None,
            SHAPES: [list(array.shape)],
        }
        return replace(node, op=CONSTANT, input=[], attr=attr)
    if node.op == READ and _operation(node.input[0]) in values:
        return replace(node, op=IDENTITY)
    return node


def extract_sub_graph(graph_def: GraphDef, dest_nodes: Iterable[str]) -> GraphDef:
    """Return the nodes of a graph that some nodes need, themselves included, in their order.

    Args:
      graph_def: a `GraphDef`.
      dest_nodes: names of operations, a list.

    Raises:
      TypeError: an argument is of another kind.
      AssertionError: there is no node of a name.

    >>> with tf.Graph().as_default() as graph:
    ...     x = tf.constant(1.0, name="x")
    ...     y, z = tf.tanh(x, name="y"), tf.exp(x, name="z")
    >>> [node.name for node in extract_sub_graph(graph.as_graph_def(), ["y"]).node]
    ['x', 'y']
    """
    _check(graph_def, dest_nodes)
    nodes = {node.name: node for node in graph_def.node}
    wanted = list(dest_nodes)
    for name in wanted:
        if name not in nodes:
            raise AssertionError(f"{name} is not in graph{did_you_mean(name, nodes)}")
    needed: set[str] = set()
    while wanted:
        name = wanted.pop()
        if name not in needed:
            needed.add(name)
            wanted += [other for other in _needs(nodes[name]) if other in nodes]
    return GraphDef([_without_groups(n, needed) for n in graph_def.node if n.name in needed])


def remove_training_nodes(
    input_graph: GraphDef, protected_nodes: Collection[str] | None = None
) -> GraphDef:
    """Return a graph without the nodes that only matter while training.

    ``CheckNumerics`` and ``Identity`` go; what took their outputs takes their inputs. An
    ``Identity`` stays where operations wait for it or it waits for some, and so does what the body
    of a branch or loop refers to.

    Args:
      input_graph: a `GraphDef`.
      protected_nodes: names of operations that stay: above all the outputs.

    >>> with tf.Graph().as_default() as graph:
    ...     y = tf.tanh(tf.identity(tf.constant(1.0, name="x")), name="y")
    >>> [(node.name, node.input) for node in remove_training_nodes(graph.as_graph_def()).node]
    [('x', []), ('y', ['x'])]
    """
    _check(input_graph, ())
    kept = set(protected_nodes or ())
    for node in input_graph.node:
        kept |= {_operation(item) for item in node.input if item.startswith("^")}
        kept |= set(_needs_of_attributes(node.attr, 1))
        if node.op == IDENTITY and any(item.startswith("^") for item in node.input):
            kept.add(node.name)
    taken_for = {
        node.name: node.input[0]
        for node in input_graph.node
        if node.op in (IDENTITY, *CHECKS) and node.name not in kept
    }

    def source(item: str) -> str:
        while item in taken_for:
            item = taken_for[item]
        return item

    left = {node.name for node in input_graph.node} - taken_for.keys()
    return GraphDef(
        [
            _without_groups(replace(node, input=[source(item) for item in node.input]), left)
            for node in input_graph.node
            if node.name in left
        ]
    )


def tensor_shape_from_node_def_name(graph: Graph, input_name: str) -> TensorShape:
    """Return the static shape of a tensor of a graph, by its name or that of its operation.

    Args:
      graph: the graph that it is in.
      input_name: "x" or "x:0".

    >>> with tf.Graph().as_default() as graph:
    ...     x = tf.placeholder(tf.float32, [None, 4], "x")
    >>> tf.graph_util.tensor_shape_from_node_def_name(graph, "x").as_list()
    [None, 4]
    """
    name = input_name if ":" in input_name else f"{input_name}:0"
    return graph.get_tensor_by_name(name).get_shape()


def _check(graph_def: Any, names: Any) -> None:
    if not isinstance(graph_def, GraphDef):
        raise TypeError(
            f"graph_def must be a graph_pb2.GraphDef proto, but got type {type(graph_def)}."
        )
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise TypeError(f"dest_nodes must be an iterable of strings, but got type {type(names)}.")


def _operation(item: str) -> str:
    """Return the name of the operation of an input, waited for or taken."""
    return item.removeprefix("^").partition(":")[0]


def _values(node: NodeDef) -> list[str]:
    return [item for item in node.input if not item.startswith("^")]


def _needs(node: NodeDef) -> Iterator[str]:
    """Yield the names of the operations that a node needs, those that its bodies need too."""
    yield from map(_operation, node.input)
    yield from _needs_of_attributes(node.attr, 1)


def _needs_of_attributes(data: Any, level: int) -> Iterator[str]:
    """Yield the names that attributes refer to; `level` counts the bodies from the graph on."""
    if isinstance(data, list):
        for item in data:
            yield from _needs_of_attributes(item, level)
    elif isinstance(data, dict) and "graph" in data:
        body = data["graph"]
        outward = OUTER * level
        inputs = [item for node in nodes_of(body["node"]) for item in node.input]
        for item in [*inputs, *body["input"], *body["result"]]:
            if item.lstrip("^").startswith(outward):
                yield _operation(item.lstrip("^").removeprefix(outward))
        for node in nodes_of(body["node"]):
            yield from _needs_of_attributes(node.attr, level + 1)
    elif isinstance(data, dict) and "operation" in data:
        yield data["operation"].partition(">")[0]
    elif isinstance(data, dict):
        for item in data.values():
            yield from _needs_of_attributes(item, level)


def _without_groups(node: NodeDef, names: Collection[str]) -> NodeDef:
    """Return a node that is not to be where nodes are that the graph has no more."""
    groups = node.attr.get("_class")
    if not groups:
        return node
    left = [group for group in groups if group.removeprefix("loc:@") in names]
    attr = {key: value for key, value in node.attr.items() if key != "_class"}
    return replace(node, attr={**attr, "_class": left} if left else attr)
