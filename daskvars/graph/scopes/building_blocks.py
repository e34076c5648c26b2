"""The blocks that a graph is built in: name scopes and control dependencies."""

from __future__ import annotations

from typing import Any

from daskvars.graph.scopes import stacks as scopes
from daskvars.graph.user_line import user_line


class NameScope:
    """The block of `Graph.name_scope`."""

    __slots__ = ("_graph", "_name", "_outer")

    def __init__(self, graph: Any, name: str | None) -> None:
        self._graph = graph
        self._name = name

    def __enter__(self) -> str:
        name = self._name
        if not name:
            scope = ""
        elif name[-1] == "/":
            scope = name[:-1]
        else:
            scope = self._graph._scope_called(name)
        thread = self._graph._thread
        self._outer = thread.name_scope
        thread.name_scope = scope
        return f"{scope}/" if name else ""

    def __exit__(self, *exc_info: object) -> None:
        self._graph._thread.name_scope = self._outer


class OutsideNames:
    """A block outside of all name scopes, for what has its full name already.

    All operations made in it are of the line that it is entered from: to look for the line costs
    as much as all else that is remembered of a small operation.
    """

    __slots__ = ("_line", "_outer", "_thread")

    def __init__(self, graph: Any) -> None:
        self._thread = graph._thread

    def __enter__(self) -> None:
        self._line = scopes.stacks.line
        if self._line is None:
            scopes.stacks.line = user_line()
        self._outer = self._thread.name_scope
        self._thread.name_scope = ""

    def __exit__(self, *exc_info: object) -> None:
        self._thread.name_scope = self._outer
        scopes.stacks.line = self._line


class Controller:
    """One `control_dependencies` block: its ops, and those made in it."""

    def __init__(self, ops: tuple[Any, ...]) -> None:
        self.ops = ops
        self.members: set[Any] = set()
