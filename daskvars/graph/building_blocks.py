"""The blocks that a graph is built in: name scopes and control dependencies."""

from __future__ import annotations

from typing import Any


class NameScope:
    """The block of `Graph.name_scope`."""

    __slots__ = ("_graph", "_name", "_outer")

    def __init__(self, graph: Any, name: str | None) -> None:
        self._graph = graph
        self._name = name

    def __enter__(self) -> str:
        scope = self._graph._scope_called(self._name) if self._name else ""
        thread = self._graph._thread
        self._outer = thread.name_scope
        thread.name_scope = scope
        return f"{scope}/" if self._name else ""

    def __exit__(self, *exc_info: object) -> None:
        self._graph._thread.name_scope = self._outer


class Controller:
    """One `control_dependencies` block: its ops, and those made in it."""

    def __init__(self, ops: tuple[Any, ...]) -> None:
        self.ops = ops
        self.members: set[Any] = set()
