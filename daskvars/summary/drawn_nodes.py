"""A graph as it is drawn: its operations, those in the bodies of branches and loops included.

A node is ``{"name", "op", "input", "device", "attr"}``. What is in a body stands before the
operation that runs it, under its own name ("loop/body/add"), with a number where another has that.
An attribute is a number, a text, or a dtype as ``{"dtype": "float32"}``; long ones and the elements
of constants are left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

from daskvars.dtypes import DType
from daskvars.graph.graph import Graph
from daskvars.graph.records.attribute_json import shape_json
from daskvars.graph.records.graph_def import OUTER, SHAPES, GraphDef
from daskvars.graph.scopes.collections import Collections
from daskvars.graph.tensor import Operation

MAX_TEXT = 1_000
"""Characters of an attribute; what is longer is left out."""

Node = dict[str, Any]


def drawn_nodes(graph: Graph | GraphDef) -> list[Node]:
    """Return the nodes of a graph, or of one as data.

    >>> import daskvars as dv
    >>> with dv.Graph().as_default() as graph:
    ...     y = dv.tanh(dv.placeholder(dv.float32, [2], name="x"), name="y")
    >>> drawn_nodes(graph)[1]  # doctest: +NORMALIZE_WHITESPACE
    {'name': 'y', 'op': 'Tanh', 'input': ['x'], 'device': '',
     'attr': {'_output_shapes': [[2]]}}
    """
    taken: set[str] = set()
    if isinstance(graph, GraphDef):
        return list(_of_data([vars(node) for node in graph.node], (), taken))
    return list(_of_graph(graph, {}, taken))


def _of_graph(graph: Any, names: dict[Operation, str], taken: set[str]) -> Iterator[Node]:
    """Yield the nodes of a graph; `names` has those of all before."""
    for op in graph.get_operations():
        inputs = [names[t.op] + (f":{t.index}" if t.index else "") for t in op.inputs]
        inputs += [f"^{names[waited]}" for waited in op.control_inputs]
        attr: dict[str, Any] = {}
        for key, value in op.attrs.items():
            if bodies := [body for body in _several(value) if isinstance(body, Collections)]:
                for body in bodies:
                    yield from _of_graph(body, names, taken)
            elif (short := _short(value)) is not None:
                attr[key] = short
        attr[SHAPES] = [shape_json(t.spec.shape) for t in op.outputs]
        name = names[op] = _unique(op.name, taken)
        yield {"name": name, "op": op.type, "input": inputs, "device": op.device, "attr": attr}


def _several(value: Any) -> Any:
    return value if isinstance(value, tuple | list) else (value,)


def _short(value: Any) -> Any:
    if isinstance(value, bool | int | float):
        return value
    if isinstance(value, DType):
        return {"dtype": value.name}
    if isinstance(value, Operation):
        return value.name
    if isinstance(value, str | bytes | tuple) and len(text := str(value)) <= MAX_TEXT:
        return text
    return getattr(value, "__qualname__", None)  # of a function


def _of_data(
    nodes: list[Node], around: tuple[dict[str, str], ...], taken: set[str]
) -> Iterator[Node]:
    """Yield the nodes of a graph as data; `around` has the names in the graphs around, if any."""
    names: dict[str, str] = {}
    for node in nodes:
        inputs = [_input_name(text, (*around, names)) for text in node["input"]]
        attr: dict[str, Any] = {}
        for key, data in node["attr"].items():
            if bodies := [
                d["graph"] for d in _several(data) if isinstance(d, dict) and "graph" in d
            ]:
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
