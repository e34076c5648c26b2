"""The public `name_scope`: a prefix for the names of operations."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from daskvars.graph.func_graph import FuncGraph
from daskvars.graph.interpreter import builder_for, graph_of
from daskvars.graph.scopes import stacks as scopes
from daskvars.surface.forwarding import forwards
from daskvars.surface.one_line import ShownByArguments


def entered_graph(builder: Any) -> AbstractContextManager[Any]:
    """Return a context manager that makes `builder` current, where it has to be entered at all.

    The eager program is what is current without any graph, and the body of a function being
    traced is never left for the graph around it.
    """
    current = scopes.current_builder()
    if current is None and not builder.is_eager:
        return scopes.entered(builder)
    if current is None or current is builder:
        return nullcontext(builder)
    if builder.is_eager or isinstance(current, FuncGraph):
        return nullcontext(current)
    return scopes.entered(builder)


def _graph_of(values: Iterable[Any] | None) -> Any:
    """Return the graph that `values` belong to, None where they have none or it is not left."""
    if isinstance(scopes.current_builder(), FuncGraph):
        return None
    found = None
    for value in values or ():
        graph = graph_of(value)
        if found is None:
            found = graph
        elif graph is not None and graph is not found:
            raise ValueError(
                f"{value!r} is not from the graph of the values before it: all values of a "
                "name scope must be from the same graph"
            )
    return found


class name_scope(ShownByArguments):
    """Prefix the names of the operations made in a ``with`` block.

    A scope opened a second time gets a suffix, ``a_1``. The block's value is the scope with a "/"
    at its end; given that string, `name_scope` opens the very same scope again.

    Args:
      name: the prefix. None takes `default_name`; None without `values`, or "", the empty scope.
      default_name: what to use where `name` is None.
      values: tensors and operations that the block works on; their graph is entered.

    Raises:
      ValueError: neither name is given, but `values` are; or they are of several graphs; or the
        name is no legal one.

    >>> with dv.Graph().as_default(), dv.name_scope("layer") as scope:
    ...     c = dv.constant(1.0, name="c")
    >>> scope, c.name
    ('layer/', 'layer/c:0')
    """

    def __init__(
        self, name: str | None, default_name: str | None = None, values: Iterable[Any] | None = None
    ) -> None:
        self._name = default_name if name is None else name
        if self._name is None and values is not None:
            raise ValueError(
                f"At least one of name ({name}) and default_name ({default_name}) must be provided."
            )
        self._builder = _graph_of(values) or builder_for(())
        self._open: list[tuple[Any, Any]] = []

    name: str | None = forwards("_name", "The name asked for.")

    def __enter__(self) -> str:
        graph = entered_graph(self._builder)
        builder = graph.__enter__()
        try:
            prefix = builder.name_scope(self._name)
            scope = prefix.__enter__()
        except BaseException:
            graph.__exit__(*sys.exc_info())
            raise
        self._open.append((prefix, graph))
        return scope

    def __exit__(self, *exc_info: Any) -> None:
        prefix, graph = self._open.pop()
        prefix.__exit__(*exc_info)
        graph.__exit__(*exc_info)
