"""A graph as it is drawn: its operations, those in the bodies of branches and loops included.

A node is ``{"name", "op", "input", "device", "attr"}``. What is in a body stands before the
operation that runs it, under its own name ("loop/body/add"), with a number where another has that.
An attribute is a number, a text, or a dtype as ``{"dtype": "float32"}``; long ones and the elements
of constants are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import count
from typing import Any

from daskvars.graph.records.graph_def import OUTER, SHAPES, GraphDef

MAX_TEXT = 1_000
"""Characters of an attribute; what is longer is left out."""

Node = dict[str, Any]


def shortened(graph: GraphDef) -> GraphDef:
    """Return a graph without its long attributes, in bodies too: above all elements of constants.

    >>> with dv.Graph().as_default() as graph:
    ...     x = dv.zeros([500]), dv.placeholder(dv.float32, [2])
    >>> [sorted(node.attr) for node in shortened(graph.as_graph_def()).node]
    [['_output_shapes', 'chunks', 'dtype'], ['_output_shapes', 'dtype', 'shape', 'tensor']]
    """
    return GraphDef([replace(node, attr=_short_attrs(node.attr)) for node in graph.node])


def _short_attrs(attr: dict[str, Any]) -> dict[str, Any]:
    found = {}
    for name, data in attr.items():
        if _bodies(data):
            found[name] = _short_bodies(data)
        elif name == SHAPES or len(str(data)) <= MAX_TEXT:
            found[name] = data
    return found


def _bodies(data: Any) -> list[Any]:
    """Return the bodies that an attribute is, or has."""
    several = data if isinstance(data, list) else [data]
    return [item["graph"] for item in several if isinstance(item, dict) and "graph" in item]


def _short_bodies(data: Any) -> Any:
    if isinstance(data, list):
        return [_short_bodies(item) for item in data]
    if not _bodies(data):
        return data
    body = data["graph"]
    nodes = [node | {"attr": _short_attrs(node["attr"])} for node in body["node"]]
    return {"graph": body | {"node": nodes}}


def drawn_nodes(graph: GraphDef) -> list[Node]:
    """Return the nodes of a graph.

    >>> with dv.Graph().as_default() as graph:
    ...     y = dv.tanh(dv.placeholder(dv.float32, [2], name="x"), name="y")
    >>> drawn_nodes(graph.as_graph_def())[1]  # doctest: +NORMALIZE_WHITESPACE
    {'name': 'y', 'op': 'Tanh', 'input': ['x'], 'device': '',
     'attr': {'_output_shapes': [[2]]}}
    """
    return list(_of_data([vars(node) for node in graph.node], (), set()))


def _of_data(
    nodes: list[Node], around: tuple[dict[str, str], ...], taken: set[str]
) -> Iterator[Node]:
    """Yield the nodes of a graph as data; `around` has the names in the graphs around, if any."""
    names: dict[str, str] = {}
    for node in nodes:
        inputs = [_input_name(text, (*around, names)) for text in node["input"]]
        attr: dict[str, Any] = {}
        for key, data in node["attr"].items():
            if bodies := _bodies(data):
                for body in bodies:
                    yield from _of_data(body["node"], (*around, names), taken)
            elif key == SHAPES or isinstance(data, bool | int | float):
                attr[key] = data
            elif isinstance(data, dict) and "dtype" in data:
                attr[key] = {"dtype": data["dtype"]}
            elif isinstance(data, str | list) and len(text := str(data)) <= MAX_TEXT:
                attr[key] = text
        name = names[node["name"]] = _unique(node["name"], taken)
        yield node | {"name": name, "input": inputs, "attr": attr}


def _input_name(text: str, levels: tuple[dict[str, str], ...]) -> str:
    """Return the drawn name of an input; each `OUTER` before it is one graph further out."""
    wait, text = ("^", text[1:]) if text.startswith("^") else ("", text)
    inner = text.lstrip(OUTER)
    name, colon, index = inner.partition(":")
    level = levels[len(inner) - len(text) - 1]
    return f"{wait}{level.get(name, name)}{colon}{index}"


def _unique(name: str, taken: set[str]) -> str:
    found = next(n for n in (f"{name}_{i}" if i else name for i in count()) if n not in taken)
    taken.add(found)
    return found
