"""Graphs and plans as drawings: SVG by Graphviz where its ``dot`` is installed, else text."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from functools import cached_property
from html import escape
from os import PathLike

from dask.utils import format_bytes

from daskvars.graph import show
from daskvars.graph.graph import Graph
from daskvars.lowering.explain import explain
from daskvars.lowering.plan import Plan
from daskvars.surface.one_line import counted

MAX_DRAWN = 60
"""Nodes up to which a notebook draws a plan unasked: Graphviz takes some 10 ms for them."""
TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Drawing:
    """A graph or plan to look at; Jupyter shows it.

    Attributes:
      dot: it in Graphviz's language.
      text: it as lines of text.

    >>> with dv.Graph().as_default() as graph:
    ...     total = dv.constant(1.0, name="a") + 2.0
    >>> dv.observe.draw(graph).dot.splitlines()[0]
    'digraph {'
    """

    dot: str
    text: str

    @cached_property
    def svg(self) -> str | None:
        """The drawing, None where Graphviz is not installed.

        Raises:
          CalledProcessError, TimeoutExpired: Graphviz failed, or took more than a minute; draw a
            part of the graph then.
        """
        program = shutil.which("dot")
        if program is None:
            return None
        done = subprocess.run(
            [program, "-Tsvg"], input=self.dot.encode(), capture_output=True, timeout=TIMEOUT_S
        )
        done.check_returncode()
        text = done.stdout.decode()
        return text[text.index("<svg") :]

    def save(self, path: str | PathLike[str]) -> None:
        """Write the drawing to a file of SVG.

        Raises:
          RuntimeError: Graphviz is not installed.
        """
        if self.svg is None:
            raise RuntimeError("no drawing without Graphviz: install it so that `dot` is found")
        with open(path, "w", encoding="utf-8") as file:
            file.write(self.svg)

    def __repr__(self) -> str:
        return f"<Drawing of {len(self.text.splitlines())} lines>"

    def _repr_html_(self) -> str:
        if self.svg is not None:
            return self.svg
        return f"<pre>{escape(self.text)}</pre><p>Graphviz (dot) would draw it.</p>"


def draw(what: Graph | Plan) -> Drawing:
    """Return a graph or plan as a drawing: operations in boxes of their scopes, or regions.

    Args:
      what: a graph, or a plan (`Function.plan`).

    Raises:
      TypeError: it is neither.

    >>> with dv.Graph().as_default() as graph:
    ...     y = dv.constant(1.0, name="x") + 2.0
    >>> print(draw(graph).text)
    x = Const() : float32 ()
    add/y = Const() : float32 ()
    add = Add(x:0, add/y:0) : float32 ()
    """
    if isinstance(what, Graph):
        return Drawing(show.to_dot(what), show.to_text(what))
    if isinstance(what, Plan):
        return Drawing(plan_to_dot(what), explain(what))
    raise TypeError(f"draw takes a graph or a plan, found {type(what).__name__}")


def plan_to_dot(plan: Plan) -> str:
    """Return a plan in Graphviz's language: its regions, what they take, and the bytes of that."""
    lines = ["digraph {", "  rankdir=BT", "  node [shape=box]"]
    for number, leaf in enumerate(plan.leaves):
        name = getattr(leaf.what, "name", leaf.what if isinstance(leaf.what, str) else "")
        label = quoted(f"{leaf.kind} {name}".strip())
        lines.append(f"  leaf{number} [shape=ellipse label={label}]")
    for number, region in enumerate(plan.regions):
        where = f" on {region.place}" if region.place else ""
        label = quoted(f"{region.label}\n{counted(len(region.ops), 'op')}, {region.tasks}{where}")
        lines.append(f"  region{number} [label={label}]")
        edges = {}
        for taken in region.inputs:
            if taken.value is not None:
                origin = taken.value.origin
                edges[origin] = taken.value.nbytes()
        for origin, nbytes in edges.items():
            source = f"region{origin.region}" if origin.region >= 0 else f"leaf{origin.position}"
            lines.append(f"  {source} -> region{number} [label={quoted(format_bytes(nbytes))}]")
    for key, value in plan.updates.items():
        if value.origin.region >= 0:
            lines.append(f"  {quoted(key)} [shape=ellipse style=bold]")
            lines.append(f"  region{value.origin.region} -> {quoted(key)}")
    return "\n".join([*lines, "}"])


def quoted(text: str) -> str:
    """Return a text as Graphviz's language has it."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
