"""What notebooks show of variables, tensors, graphs, sessions, functions, plans and checkpoints.

One function per kind, which `daskvars.surface.notebooks.html_of` finds by the class, on a few
pieces that escape their text. Nothing here runs a program or fetches a large value to show it; what
is too long is cut off, and how much is said.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

import numpy
from dask.array.svg import svg
from dask.utils import format_bytes

from daskvars import shapes
from daskvars.execution.eager import EAGER_CONTEXT, EagerTensor, computed
from daskvars.execution.function import Function
from daskvars.execution.session import Session
from daskvars.graph.graph import Graph
from daskvars.graph.scopes.stacks import get_default_session
from daskvars.graph.tensor import Operation, Tensor
from daskvars.lowering.plan import Plan
from daskvars.observe.drawing import MAX_DRAWN, draw
from daskvars.observe.variable_bytes import chunk_places
from daskvars.shapes import Chunks
from daskvars.state.format.encoding import item_bytes
from daskvars.state.format.manifest import VariableRecord
from daskvars.state.stores.store import Store
from daskvars.surface.notebooks import html_of
from daskvars.surface.one_line import counted
from daskvars.train.checkpoints.reader import CheckpointReader
from daskvars.variables.partitions.partitioned_variable import PartitionedVariable
from daskvars.variables.variable import Variable

MAX_ROWS = 100
"""Rows of a table, and operations of a scope, that are shown."""
SVG_SIZE = 120
_TABLE = '<table style="border-collapse: collapse"><tbody>'
_CELL = "text-align: left; vertical-align: top; padding: 0.15em 0.8em 0.15em 0"


# -- pieces ---------------------------------------------------------------------------------------


class Markup(str):
    """Text that is HTML already, and is not escaped again."""

    __slots__ = ()


def markup(value: object) -> str:
    """Return a value as HTML: escaped, unless it is `Markup`."""
    return value if isinstance(value, Markup) else escape(str(value))


def table(rows: Iterable[Sequence[object]], header: Sequence[object] = ()) -> Markup:
    """Return a table; its first `MAX_ROWS` rows, and how many more there are."""
    rows = list(rows)
    shown = [header, *rows[:MAX_ROWS]] if header else rows[:MAX_ROWS]
    lines = []
    for number, row in enumerate(shown):
        kind = "th" if header and not number else "td"
        cells = "".join(f'<{kind} style="{_CELL}">{markup(cell)}</{kind}>' for cell in row)
        lines.append(f"<tr>{cells}</tr>")
    more = len(rows) - MAX_ROWS
    if more > 0:
        lines.append(f'<tr><td style="{_CELL}">… {more:,} more</td></tr>')
    return Markup(f"{_TABLE}{''.join(lines)}</tbody></table>")


def facts(title: object, rows: Mapping[str, object]) -> Markup:
    """Return a title and a table of what is known; facts that are None are left out."""
    known = [(Markup(f"<b>{escape(k)}</b>"), v) for k, v in rows.items() if v is not None]
    return Markup(f"<div><code>{markup(title)}</code>{table(known)}</div>")


def folded(title: object, inside: Markup, is_open: bool = False) -> Markup:
    """Return what is shown when its title is clicked on."""
    opened = " open" if is_open else ""
    return Markup(f"<details{opened}><summary>{markup(title)}</summary>{inside}</details>")


def preformatted(text: str) -> Markup:
    """Return text whose lines and columns stay."""
    return Markup(f"<pre>{escape(text)}</pre>")


def beside(*parts: Markup) -> Markup:
    """Return parts in a row."""
    cells = "".join(f'<td style="vertical-align: top">{part}</td>' for part in parts)
    return Markup(f"<table><tr>{cells}</tr></table>")


def drawn_chunks(chunks: Chunks | None) -> Markup:
    """Return chunks as Dask draws them, nothing where it draws none: scalars and empty arrays."""
    if not chunks or not all(map(all, chunks)):
        return Markup("")
    return Markup(svg(chunks, size=SVG_SIZE))


# -- variables and tensors ------------------------------------------------------------------------


@html_of.register
def variable_html(variable: Variable) -> str:
    """Return shape, dtype, bytes, chunks drawn as Dask draws them, and where each chunk is."""
    spec = variable.handle.spec
    size = shapes.size(spec.shape)
    dtype = variable.dtype.base_dtype
    nbytes = None if size is None else format_bytes(size * item_bytes(dtype.name))
    engine, value = _engine_of(variable)  # first: a small value that was only recorded is computed
    places = chunk_places(engine, [variable.key]).get(variable.key) if engine is not None else None
    record = engine.values.record(variable.key) if places else None
    chunks = record.chunks if record is not None else variable.chunks
    if chunks is None and size is not None and spec.shape is not None:
        chunks = tuple((n,) for n in spec.shape)
    found = facts(
        f"tf.Variable '{variable.name}'",
        {
            "shape": variable.shape,
            "dtype": dtype.name,
            "bytes": nbytes,
            "chunks": None if not chunks else _layout(chunks),
            "trainable": variable.trainable,
            "device": variable.device or None,
            "value": None if places and variable.graph is not None else value,
        },
    )
    parts = [found, drawn_chunks(chunks)]
    if places:
        parts.append(_places(places, record))
    return beside(*parts)


def _engine_of(variable: Variable) -> tuple[Any, str]:
    """Return the engine that may have the value, and what is said of it."""
    if variable.graph is None:
        return EAGER_CONTEXT.engine, variable.handle.shown_value()
    session = get_default_session()
    if session is None or session.graph is not variable.graph:
        return None, "in sessions: inside `with session:` this shows where"
    return session.engine, "none yet: run its initializer"


def _layout(chunks: Chunks) -> str:
    if not chunks:  # of a scalar
        return "1 chunk"
    largest = tuple(map(max, chunks))
    return f"{counted(math.prod(map(len, chunks)), 'chunk')} of {largest}"


def _places(places: Mapping[tuple[int, ...], str], record: Any) -> Markup:
    """Return a row per device: its chunks by index, and their bytes."""
    by_place: dict[str, list[tuple[int, ...]]] = {}
    for index, place in places.items():
        by_place.setdefault(place, []).append(index)
    rows = []
    for place, indices in by_place.items():
        nbytes = sum(
            math.prod(sizes[i] for sizes, i in zip(record.chunks, index, strict=True))
            for index in indices
        ) * item_bytes(record.dtype)
        listed = ", ".join(map(str, indices[:8])) + (", …" if len(indices) > 8 else "")
        rows.append((place, f"{counted(len(indices), 'chunk')}: {listed}", format_bytes(nbytes)))
    return table(rows, ("where", "chunks", "bytes"))


@html_of.register
def partitioned_variable_html(variable: PartitionedVariable) -> str:
    """Return what it is, and its parts, each folded."""
    parts = "".join(folded(f"{part.name} {part.shape}", Markup(html_of(part))) for part in variable)
    shape = tuple(variable.shape.as_list())
    return facts(
        f"tf.PartitionedVariable '{variable.name}'",
        {"shape": shape, "dtype": variable.dtype.base_dtype.name, "parts": Markup(parts)},
    )


@html_of.register
def tensor_html(tensor: Tensor) -> str:
    """Return shape and dtype; of eager code a small value, else of a graph operation and device."""
    shape = tensor.spec.shape
    known: dict[str, object] = {
        "shape": "unknown" if shape is None else tensor.shape,
        "dtype": tensor.dtype.name,
        "device": tensor.device or None,
    }
    if not isinstance(tensor, EagerTensor):
        op = tensor.op
        inputs = ", ".join(t.name for t in op.inputs)
        made = {"operation": f"{op.type}({inputs})", "made at": op.where}
        return facts(f"tf.Tensor '{tensor.name}'", known | made)
    size = shapes.size(shape)
    if size is not None:
        known["bytes"] = format_bytes(size * item_bytes(tensor.dtype.base_dtype.name))
    if size is not None and size > numpy.get_printoptions()["threshold"]:
        value: object = "not computed yet" if tensor.value is None else "computed"
    else:
        value = preformatted(numpy.array2string(numpy.asarray(computed(tensor)), separator=", "))
    return facts("eager tensor", known | {"value": value})


# -- graphs ---------------------------------------------------------------------------------------


@html_of.register
def graph_html(graph: Graph) -> str:
    """Return the tree of scopes, each folded, with operations and the bytes of variables."""
    root: dict[str, Any] = {}
    for op in graph.get_operations():
        place = root
        *scopes, name = op.name.split("/")
        for scope in scopes:
            place = place.setdefault(f"{scope}/", {})
        place[name] = op
    return folded(repr(graph).strip("<>"), _scope(root, _variables(graph)), is_open=True)


def _variables(graph: Graph) -> dict[Operation, Variable]:
    return graph.notes.get("variables_by_op", {})


def _scope(place: dict[str, Any], variables: Mapping[Operation, Variable]) -> Markup:
    """Return scopes first, then operations."""
    lines: list[Markup] = []
    ops: list[object] = []
    for name, inside in place.items():
        if isinstance(inside, dict):
            lines.append(folded(f"{name} {_size(inside, variables)}", _scope(inside, variables)))
        else:
            ops.append(_operation(inside, inside in variables))
    if len(ops) > MAX_ROWS:
        ops[MAX_ROWS:] = [f"… {len(ops) - MAX_ROWS:,} more"]
    items = "".join(f"<li>{markup(line)}</li>" for line in ops)
    inside_html = "".join(lines) + (f"<ul>{items}</ul>" if items else "")
    return Markup(f'<div style="margin-left: 1.2em">{inside_html}</div>')


def _size(place: dict[str, Any], variables: Mapping[Operation, Variable]) -> str:
    ops = list(_operations(place))
    found = [variables[op] for op in ops if op in variables]
    text = counted(len(ops), "operation")
    if found:
        nbytes = sum(
            (shapes.size(v.handle.spec.shape) or 0) * item_bytes(v.dtype.base_dtype.name)
            for v in found
        )
        text += f", {counted(len(found), 'variable')} of {format_bytes(nbytes)}"
    return f"({text})"


def _operations(place: dict[str, Any]) -> Iterable[Operation]:
    for inside in place.values():
        yield from _operations(inside) if isinstance(inside, dict) else (inside,)


def _operation(op: Operation, is_variable: bool) -> Markup:
    name = op.name.rpartition("/")[2]
    inputs = ", ".join(t.name for t in op.inputs)
    outputs = ", ".join(
        f"{t.dtype.base_dtype.name} {shapes.show(t.spec.shape)}" for t in op.outputs
    )
    device = f" on {op.device}" if op.device else ""
    shown = f"<b>{escape(name)}</b>" if is_variable else escape(name)
    return Markup(
        f"<code>{shown} = {escape(f'{op.type}({inputs})')}</code> {escape(outputs + device)}"
    )


# -- what runs ------------------------------------------------------------------------------------


@html_of.register
def session_html(session: Session) -> str:
    """Return its graph, its store and version, and the variables that have values."""
    if session.is_closed:
        return facts("tf.Session", {"state": "closed", "graph": repr(session.graph)})
    store, values = session.engine.store, session.engine.present_values
    records = [values.record(key) for key in values.capture()[1]]
    nbytes = sum(record.nbytes for record in records)
    listed = folded(
        f"{counted(len(records), 'variable')} with a value, {format_bytes(nbytes)}",
        _records_html(records),
    )
    return facts(
        "tf.Session",
        {
            "graph": repr(session.graph),
            "store": None if store is None else str(store),
            "version": values.version,
            "variables": listed,
        },
    )


@html_of.register
def function_html(function: Function) -> str:
    """Return the signatures that it was traced for, each with the plan that ran last, folded."""
    traces = [
        folded(
            ", ".join(inputs) or "without tensors", Markup("" if plan is None else html_of(plan))
        )
        for inputs, plan in function.traced()
    ]
    return facts(
        f"daskvars.function '{function.name}'",
        {"traces": function.num_traces, "signatures": Markup("".join(traces)) if traces else None},
    )


@html_of.register
def plan_html(plan: Plan) -> str:
    """Return the regions, which are its stages, its exchanges and bytes, and a drawing of them."""
    rows = [
        (
            number,
            region.label,
            "x".join(map(str, region.grid)) or "1",
            region.place or "anywhere",
            folded(counted(len(region.ops), "operation"), table([(op,) for op in region.ops])),
        )
        for number, region in enumerate(plan.regions)
    ]
    exchanges = [(e.name, e.kind, format_bytes(e.nbytes)) for e in plan.sharding.exchanges]
    drawing = None
    if len(plan.regions) + len(plan.leaves) <= MAX_DRAWN:
        drawing = folded("drawing", Markup(draw(plan)._repr_html_()))
    return facts(
        "plan",
        {
            "tasks": plan.num_tasks,
            "between tasks": format_bytes(plan.transfer_bytes),
            "at most": format_bytes(plan.peak_bytes),
            "flops": f"{plan.flops:.3g}",
            "sharding": None if plan.sharding.chosen is None else plan.sharding.chosen,
            "regions": table(rows, ("", "scope", "tasks", "where", "operations")),
            "exchanges": table(exchanges, ("value", "kind", "bytes")) if exchanges else None,
            "drawing": drawing,
        },
    )


# -- what is stored -------------------------------------------------------------------------------


def _records_html(records: Iterable[VariableRecord]) -> Markup:
    rows = [
        (r.key, r.shape, r.dtype, format_bytes(r.nbytes), _layout(r.chunks))
        for r in sorted(records, key=lambda record: record.key)
    ]
    return table(rows, ("variable", "shape", "dtype", "bytes", "chunks"))


def _records_title(records: Iterable[VariableRecord]) -> str:
    records = list(records)
    total = format_bytes(sum(record.nbytes for record in records))
    return f"{counted(len(records), 'variable')}, {total}"


@html_of.register
def store_html(store: Store) -> str:
    """Return the versions of a store, and the variables of its head."""
    head = store.head()
    known: dict[str, object] = {"versions": ", ".join(map(str, store.snapshots())) or "none"}
    if head is not None:
        records = head.records.values()
        known |= {
            "head": head.version,
            "global step": head.global_step,
            "written by": head.author or None,
            "variables": folded(_records_title(records), _records_html(records)),
        }
    return facts(repr(store).strip("<>"), known)


@html_of.register
def checkpoint_html(reader: CheckpointReader) -> str:
    """Return the variables of a checkpoint."""
    records = reader.records.values()
    title = f"checkpoint {reader.path}: {_records_title(records)}"
    return folded(title, _records_html(records), is_open=True)
