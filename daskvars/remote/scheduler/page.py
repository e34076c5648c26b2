"""The dashboard's page of states: variables, steps per second, scalars, the last step, seals.

It is a Bokeh application beside Dask's own, ``/daskvars`` in the dashboard's menu, and is there as
soon as the first state is on the cluster. What it shows is an `Observer`'s; drawing it has workers
tell of their stages.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from bokeh.layouts import column, row
from bokeh.models import Column, ColumnDataSource, DataRange1d, FactorRange, HoverTool
from bokeh.models.widgets import DataTable, Div, HTMLTemplateFormatter, TableColumn
from bokeh.palettes import Category20
from bokeh.plotting import figure
from dask.utils import format_bytes

from daskvars.remote.dask_internals import add_to_dashboard
from daskvars.remote.scheduler.observer import Observer
from daskvars.remote.tracing import Slice, layer_of
from daskvars.surface.one_line import counted

PATH = "/daskvars"
UPDATE_MS = 1_000
MAX_SCOPES = 20  # that are bars of their own
COLORS = Category20[20]

COLUMNS = (  # of the table of variables: what, title, width in pixels
    ("name", "variable", 230),
    ("shape", "shape", 90),
    ("dtype", "dtype", 60),
    ("bytes", "bytes", 70),
    ("chunks", "chunks", 50),
    ("shards", "shards by worker", 120),
    ("version", "version", 60),
    ("saved", "saved", 90),
)
NAME = """<span style="padding-left: <%= 14 * depth %>px;
 font-weight: <%= value.endsWith('/') ? 'bold' : 'normal' %>"><%- value %></span>"""
CELL = """<span style="color: <%= String(value).endsWith('dirty') ? '#c0392b' : 'inherit' %>;
 font-weight: <%= name.endsWith('/') ? 'bold' : 'normal' %>"><%- value %></span>"""


def add_page(observer: Observer) -> None:
    """Add the page to the dashboard of an observer's scheduler."""

    def draw(document: Any) -> None:
        page = Page(observer)
        page.update()
        document.title = "Dask: daskvars"
        document.add_root(page.root)
        document.add_periodic_callback(page.update, UPDATE_MS)

    add_to_dashboard(observer.scheduler, PATH, draw)


class Page:
    """What one browser looks at."""

    def __init__(self, observer: Observer) -> None:
        self.observer = observer
        self.head = Div(sizing_mode="stretch_width")
        self.variables = source("depth", *(field for field, _, _ in COLUMNS))
        self.speed = source("second", "rate")
        self.scalars = source("steps", "values", "name", "color")
        self.slices = source("lane", "left", "right", "name", "kind", "ms", "bytes", "color")
        self.scopes = source("scope", "ms", "color")
        self.colors: dict[str, str] = {}
        self._color = itertools.cycle(COLORS)
        self.lanes, self.layers = FactorRange(), FactorRange()
        self.root: Column = column(
            self.head,
            row(self._speed(), self._scalars(), sizing_mode="stretch_width"),
            self._timeline(),
            row(self._by_scope(), self._table(), sizing_mode="stretch_width"),
            sizing_mode="stretch_width",
        )

    # -- figures --------------------------------------------------------------------------------

    def _speed(self) -> Any:
        found = figure(
            title="Steps per second",
            y_range=DataRange1d(start=0),
            height=220,
            sizing_mode="stretch_width",
        )
        found.line("second", "rate", source=self.speed, line_width=2)
        found.xaxis.axis_label = "seconds ago"
        return found

    def _scalars(self) -> Any:
        hover = HoverTool(tooltips=[("", "@name"), ("step", "$x{0}"), ("value", "$y")])
        found = figure(
            title="Scalars over steps", height=220, sizing_mode="stretch_width", tools=[hover]
        )
        found.multi_line(
            "steps", "values", source=self.scalars, color="color", line_width=2, legend_field="name"
        )
        found.xaxis.axis_label = "step"
        return found

    def _timeline(self) -> Any:
        hover = HoverTool(
            tooltips=[("", "@kind @name"), ("took", "@ms{0.00} ms"), ("bytes", "@bytes")]
        )
        found = figure(
            title="The last step: stages, their blocks (layer by layer) and exchanges, by worker",
            y_range=self.lanes,
            height=240,
            sizing_mode="stretch_width",
            tools=[hover, "xwheel_zoom", "xpan", "reset"],
        )
        found.hbar(
            "lane",
            left="left",
            right="right",
            height=0.8,
            source=self.slices,
            color="color",
            line_color="white",
        )
        found.xaxis.axis_label = "milliseconds"
        return found

    def _by_scope(self) -> Any:
        found = figure(
            title="The last step by scope: forward, backward (gradients/...), update",
            y_range=self.layers,
            x_range=DataRange1d(start=0),
            height=360,
            sizing_mode="stretch_width",
            tools=[HoverTool(tooltips=[("", "@scope"), ("took", "@ms{0.00} ms")])],
        )
        found.hbar("scope", right="ms", height=0.8, source=self.scopes, color="color")
        found.xaxis.axis_label = "milliseconds, of all workers"
        return found

    def _table(self) -> Any:
        columns = [
            TableColumn(
                field=field,
                title=title,
                width=width,
                sortable=False,
                formatter=HTMLTemplateFormatter(template=NAME if field == "name" else CELL),
            )
            for field, title, width in COLUMNS
        ]
        return DataTable(
            source=self.variables,
            columns=columns,
            index_position=None,
            height=360,
            sizing_mode="stretch_width",
        )

    # -- what changes ---------------------------------------------------------------------------

    def update(self) -> None:
        """Show what is so now."""
        observer = self.observer
        observer.look()
        states = observer.states()
        self.head.text = "".join(map(headline, states)) or "No state is on this cluster."
        rows = [row for state in states for row in variable_rows(state)]
        self.variables.data = columns_of(self.variables, rows)
        self.speed.data = columns_of(self.speed, self._rates())
        self.scalars.data = columns_of(self.scalars, list(self._series(states)))
        self._show_last_step()

    def _rates(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = []
        for samples in self.observer.samples.values():
            now = samples[-1][0]
            rows += [
                {"second": after[0] - now, "rate": (after[1] - before[1]) / (after[0] - before[0])}
                for before, after in itertools.pairwise(samples)
            ]
            rows.append({"second": math.nan, "rate": math.nan})  # between two states
        return rows

    def _series(self, states: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
        for state in states:
            several = len(states) > 1
            for name, found in state["scalars"].items():
                yield {
                    "steps": list(found["steps"]),
                    "values": list(found["values"]),
                    "name": f"{state['name']}: {name}" if several else name,
                    "color": self._color_of(name),
                }

    def _show_last_step(self) -> None:
        step = self.observer.last_step()
        first_s = min((one.start_s for _, one in step), default=0.0)
        rows, spent = [], dict[str, float]()
        for worker, one in step:
            layers: dict[str, float] = {}
            for scope, seconds in one.facts.get("scopes", {}).items():
                layer = layer_of(scope)
                layers[layer] = layers.get(layer, 0.0) + seconds
                spent[layer] = spent.get(layer, 0.0) + 1e3 * seconds
            for name, start_s, seconds in pieces(one, layers):
                left = 1e3 * (start_s - first_s)
                rows.append(
                    {
                        "lane": f"{worker} {one.kind}s",
                        "left": left,
                        "right": left + 1e3 * seconds,
                        "name": name,
                        "kind": one.kind,
                        "ms": 1e3 * seconds,
                        "bytes": one.facts.get("bytes", ""),
                        "color": self._color_of(name),
                    }
                )
        self.lanes.factors = sorted({found["lane"] for found in rows}, reverse=True)
        self.slices.data = columns_of(self.slices, rows)
        longest = sorted(spent, key=lambda scope: -spent[scope])[:MAX_SCOPES]
        self.layers.factors = longest[::-1]
        self.scopes.data = columns_of(
            self.scopes, [{"scope": s, "ms": spent[s], "color": self._color_of(s)} for s in longest]
        )

    def _color_of(self, name: str) -> str:
        if name not in self.colors:
            self.colors[name] = next(self._color)
        return self.colors[name]


def pieces(one: Slice, layers: Mapping[str, float]) -> Iterator[tuple[str, float, float]]:
    """Give name, start and seconds of what a slice is drawn as: layer by layer where told so.

    Layers come in the order in which they began; what one did later is drawn with it.
    """
    start_s = one.start_s
    for layer, seconds in layers.items():
        yield layer, start_s, seconds
        start_s += seconds
    if not layers:
        yield one.name, start_s, one.duration_s


def source(*names: str) -> ColumnDataSource:
    """Return an empty table of those columns."""
    return ColumnDataSource({name: [] for name in names})


def columns_of(table: ColumnDataSource, rows: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """Return rows as the columns of a table."""
    return {name: [found[name] for found in rows] for name in table.column_names}


def headline(state: Mapping[str, Any]) -> str:
    """Return what is said of a state above everything else, as HTML."""
    seals, rate = state["seals"], state["steps_per_second"]
    name = "a session's variables" if state["is_private"] else escaped(state["name"])
    nbytes = sum(found["bytes"] for found in state["variables"])
    moved = state["exchanged_bytes_per_step"]
    durable = seals["durable_version"]
    said = [
        f"<b>{name}</b>: {counted(len(state['variables']), 'variable')}, {format_bytes(nbytes)}",
        f"version {state['version']}, {state['runs_in_flight']} runs in flight",
        "steps/s: " + ("-" if rate is None else f"{rate:.1f}"),
        "exchanged a step: " + ("-" if moved is None else format_bytes(int(moved))),
        f"seals: {seals['count']} in {seals['seconds']:.2f} s"
        + (", one is being written" if seals["is_running"] else ""),
        "nothing is durable" if durable is None else f"durable in the store's version {durable}",
    ]
    return f"<p style='margin:4px 8px'>{' &middot; '.join(said)}</p>"


def escaped(text: str) -> str:
    """Return text that is no HTML."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def variable_rows(state: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Give the rows of the table for a state: scopes, each with what is in it, and variables."""
    found, open_scopes = state["variables"], list[str]()
    ordered = sorted(found, key=lambda one: one["name"].split("/"))
    names = {one["name"] for one in found}
    for one in ordered:
        scopes = [s for s in scopes_of(one["name"]) if s not in names]
        for scope in scopes:
            if scope not in open_scopes:
                within = [v for v in found if v["name"].startswith(f"{scope}/")]
                yield row_of(f"{scope}/", len(scopes_of(scope)), within)
        open_scopes = scopes
        yield row_of(one["name"], len(scopes_of(one["name"])), [one])


def scopes_of(name: str) -> list[str]:
    """Return the scopes around a name, the outermost first.

    >>> scopes_of("tower/dense/w")
    ['tower', 'tower/dense']
    """
    parts = name.split("/")
    return ["/".join(parts[:depth]) for depth in range(1, len(parts))]


def row_of(name: str, depth: int, found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return a row: of one variable, or of all in a scope."""
    shards: dict[str, int] = {}
    for worker, count in (item for one in found for item in one["shards"].items()):
        shards[worker] = shards.get(worker, 0) + count
    num_dirty = sum(not one["is_durable"] for one in found)
    is_scope, (first, *_) = name.endswith("/"), found
    dirty = f"{num_dirty} of {len(found)} dirty" if is_scope else "dirty"
    return {
        "name": name,
        "depth": depth,
        "shape": counted(len(found), "variable")
        if is_scope
        else "x".join(map(str, first["shape"])),
        "dtype": "" if is_scope else first["dtype"],
        "bytes": format_bytes(sum(one["bytes"] for one in found)),
        "chunks": sum(one["chunks"] for one in found),
        "shards": ", ".join(f"{worker}: {count}" for worker, count in sorted(shards.items())),
        "version": max(one["version"] for one in found),
        "saved": dirty if num_dirty else "durable",
    }
