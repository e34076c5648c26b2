"""A part of a `GraphDef`: the nodes under a name scope, with that scope taken from their names."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from daskvars.graph.records.graph_def import OUTER, GraphDef, NodeDef, nodes_of

UNBOUND = "$unbound_inputs_"
"""Before the name of an input that is not in the part: it must be mapped on import."""


def extract(
    graph_def: GraphDef, scope: str, excluded: Collection[str] = (), clear_devices: bool = False
) -> tuple[GraphDef, list[str]]:
    """Return the nodes under a name scope, and the names of inputs that are not among them.

    Args:
      graph_def: the whole.
      scope: the scope that is taken from names, without "/" at its end; "" for all nodes.
      excluded: names of nodes to leave out.
      clear_devices: forget devices.

    >>> from daskvars.graph.records.graph_def import NodeDef
    >>> whole = GraphDef([NodeDef("x", "Placeholder"), NodeDef("a/y", "Tanh", ["x"])])
    >>> part, unbound = extract(whole, "a")
    >>> part.node[0].name, unbound
    ('y', ['$unbound_inputs_x'])
    """
    prefix = f"{scope}/" if scope else ""
    kept = [n for n in graph_def.node if n.name.startswith(prefix) and n.name not in excluded]
    part = _Renamer(prefix, {node.name for node in kept}, clear_devices)
    return GraphDef([part.node(node, 0) for node in kept]), list(part.unbound)


class _Renamer:
    def __init__(self, prefix: str, names: set[str], clear_devices: bool) -> None:
        self.prefix, self.names, self.clear_devices = prefix, names, clear_devices
        self.unbound: dict[str, None] = {}

    def node(self, node: NodeDef, level: int) -> NodeDef:
        attr = {key: self.attribute(data, level) for key, data in node.attr.items()}
        if isinstance(attr.get("key"), str):
            attr["key"] = attr["key"].removeprefix(self.prefix)
        if "_class" in attr:
            groups = [group.removeprefix("loc:@") for group in attr["_class"]]
            attr["_class"] = [
                f"loc:@{name.removeprefix(self.prefix)}" for name in groups if name in self.names
            ]
            if not attr["_class"]:
                del attr["_class"]
        return NodeDef(
            node.name.removeprefix(self.prefix),
            node.op,
            [self.name(item, level) for item in node.input],
            "" if self.clear_devices else node.device,
            attr,
        )

    def name(self, item: str, level: int) -> str:
        """Return an input's name in the part; `level` counts the bodies around it."""
        inner = item.lstrip(f"^{OUTER}")
        mark = item[: len(item) - len(inner)]
        if mark.count(OUTER) != level or inner.partition(":")[0] in self.names:
            return mark + inner.removeprefix(self.prefix)
        name = f"{mark.replace(OUTER, '')}{UNBOUND}{inner}"
        self.unbound[name] = None
        return f"{mark}{UNBOUND}{inner}"

    def attribute(self, data: Any, level: int) -> Any:
        if isinstance(data, list):
            return [self.attribute(item, level) for item in data]
        if isinstance(data, dict) and "graph" in data:
            return {"graph": self.body(data["graph"], level + 1)}
        if isinstance(data, dict) and "operation" in data:
            parts = data["operation"].split(">")
            return {"operation": ">".join(part.removeprefix(self.prefix) for part in parts)}
        return data

    def body(self, body: dict[str, Any], level: int) -> dict[str, Any]:
        return {
            "name": body["name"].removeprefix(self.prefix),
            "node": [vars(self.node(node, level)) for node in nodes_of(body["node"])],
            "input": [self.name(item, level) for item in body["input"]],
            "result": [self.name(item, level) for item in body["result"]],
            "effect": [item.removeprefix(self.prefix) for item in body["effect"]],
        }
