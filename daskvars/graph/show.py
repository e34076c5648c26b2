"""A graph as text, one line per operation, and as a Graphviz drawing."""

from __future__ import annotations

from daskvars.graph.graph import Graph
from daskvars.shapes import show


def to_text(graph: Graph) -> str:
    """Return a line per operation: ``name = Type(inputs) ^control @device : dtype shape``.

    >>> with dv.Graph().as_default() as graph:
    ...     y = dv.constant(1.0, name="x") + 2.0
    >>> print(to_text(graph))
    x = Const() : float32 ()
    add/y = Const() : float32 ()
    add = Add(x:0, add/y:0) : float32 ()
    """
    lines = []
    for op in graph.get_operations():
        inputs = ", ".join(t.name for t in op.inputs)
        waits = "".join(f" ^{c.name}" for c in op.control_inputs)
        device = f" @{op.device}" if op.device else ""
        outputs = ", ".join(f"{t.dtype.name} {show(t.spec.shape)}" for t in op.outputs)
        lines.append(f"{op.name} = {op.type}({inputs}){waits}{device} : {outputs or 'nothing'}")
    return "\n".join(lines)


def to_dot(graph: Graph) -> str:
    """Return the graph in Graphviz's language, scopes as nested boxes."""
    numbers = {op: f"n{i}" for i, op in enumerate(graph.get_operations())}
    root: dict = {}
    for op in numbers:
        place = root
        for part in op.name.split("/")[:-1]:
            place = place.setdefault(part, {})
        place[op] = None
    lines = ["digraph {", "  rankdir=BT", *_boxes(root, numbers, "  ", "")]
    for op, number in numbers.items():
        lines += [f"  {numbers[t.op]} -> {number}" for t in op.inputs if t.op in numbers]
        lines += [f"  {numbers[c]} -> {number} [style=dashed]" for c in op.control_inputs]
    return "\n".join([*lines, "}"])


def _boxes(place: dict, numbers: dict, indent: str, path: str) -> list[str]:
    lines = []
    for item, inside in place.items():
        if inside is None:
            label = f"{item.name.rpartition('/')[2]}\\n{item.type}"
            lines.append(f'{indent}{numbers[item]} [label="{label}"]')
        else:
            lines.append(f'{indent}subgraph "cluster_{path}{item}" {{ label="{item}"')
            lines += _boxes(inside, numbers, indent + "  ", f"{path}{item}/")
            lines.append(f"{indent}}}")
    return lines
