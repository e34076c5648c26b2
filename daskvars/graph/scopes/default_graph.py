"""The default graph of TensorFlow-1 code, and how the same functions serve graph and eager mode.

A function called inside ``with graph.as_default():`` builds into that graph whichever way it was
imported. Outside, the names of `daskvars` are eager and those of `daskvars.v1` build into the
default graph: `in_graph` makes the latter of the former. A function of tensors builds into theirs,
as in TensorFlow (`in_graph_of_inputs`).
"""

from __future__ import annotations

import copyreg
import functools
import inspect
import itertools
import threading
from collections.abc import Callable, Iterable
from typing import Any

from numpy import ndarray

from daskvars.dtypes import DType
from daskvars.graph.graph import Graph
from daskvars.graph.scopes import stacks as scopes
from daskvars.graph.tensor import Operation, Tensor


class _Default(threading.local):
    def __init__(self) -> None:
        self.graph: Graph | None = None


_default = _Default()


def get_default_graph() -> Graph:
    """Return the graph that was entered last, else this thread's default graph.

    >>> get_default_graph() is get_default_graph()
    True
    """
    builder = scopes.current_builder()
    if builder is not None and not builder.is_eager:
        return builder
    if _default.graph is None:
        _default.graph = Graph()
    return _default.graph


def reset_default_graph() -> None:
    """Begin a new default graph. One that an interactive session has entered is left.

    Raises:
      AssertionError: a graph is entered; a nested graph cannot be cleared.

    >>> v = tf.get_variable("made_before", [2])
    >>> tf.reset_default_graph()
    >>> tf.global_variables()
    []
    """
    nested = len(scopes.stacks.builders) > len(scopes.stacks.unended)
    if nested and scopes.current_builder() is not None:
        raise AssertionError(
            "Do not use tf.reset_default_graph() to clear nested graphs. If you need a cleared "
            "graph, exit the nesting and create a new graph."
        )
    for unended in scopes.stacks.unended[::-1]:
        unended.__exit__()
    _default.graph = None


def in_graph(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return `function` such that it builds into the default graph where no graph is entered."""

    @functools.wraps(function)
    def in_default_graph(*args: Any, **kwargs: Any) -> Any:
        builders = scopes.stacks.builders
        if builders and builders[-1] is not None:
            return function(*args, **kwargs)
        with scopes.entered(get_default_graph()):
            return function(*args, **kwargs)

    return in_default_graph


def in_graph_of_inputs(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return `function` such that it builds into the graph of the tensors that it is given.

    Without any it builds as one of `in_graph` does; in the body of a function, always there.
    """

    @functools.wraps(function)
    def in_graph_of_tensors(*args: Any, **kwargs: Any) -> Any:
        current = scopes.current_builder()
        if current is not None and type(current) is not Graph:
            return function(*args, **kwargs)
        graph = _graph_of(args)
        if graph is None and kwargs:
            graph = _graph_of(kwargs.values())
        if graph is None:
            graph = current or get_default_graph()
        if current is graph:
            return function(*args, **kwargs)
        with scopes.entered(graph):
            return function(*args, **kwargs)

    return in_graph_of_tensors


# What is looked for, and types that are seen at once to be none of it.
_ELEMENTS = (Tensor, Operation)
_PLAIN = frozenset({int, float, bool, str, type(None), DType, ndarray})


def _graph_of(values: Iterable[Any]) -> Graph | None:
    """Return the graph of the first tensor, operation or variable among `values`, if any."""
    for value in values:
        kind = type(value)
        if kind is Tensor:
            graph = value.op.graph
        elif kind in _PLAIN:
            continue
        elif kind is list or kind is tuple:
            graph = _graph_of(itertools.takewhile(_may_be_element, value))
        elif isinstance(value, _ELEMENTS) or hasattr(value, "_as_graph_element"):
            # A program's own class that stands for a tensor, or its name, need not have a graph.
            known = value if hasattr(value, "graph") else value._as_graph_element()
            graph = getattr(known, "graph", None)
        else:
            continue
        if type(graph) is Graph:
            return graph
    return None


def _may_be_element(value: Any) -> bool:
    """Whether to look further in a list, which is long where it holds numbers."""
    return not isinstance(value, int | float | str)


def in_graph_context(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that makes context managers, such that their blocks build into the graph.

    The graph is entered for as long as the block lasts.
    """

    @functools.wraps(function)
    def make(*args: Any, **kwargs: Any) -> _Entered:
        return _Entered(function, args, kwargs)

    return make


class _Entered:
    """A context manager inside the default graph."""

    def __init__(self, function: Callable[..., Any], args: Any, kwargs: Any) -> None:
        self._make = in_graph(function)
        self._manager = self._make(*args, **kwargs)
        self._graph: Any = None

    def __repr__(self) -> str:
        return repr(self._manager)

    def __enter__(self) -> Any:
        if scopes.current_builder() is None:
            self._graph = scopes.entered(get_default_graph())
            self._graph.__enter__()
        try:
            return self._manager.__enter__()
        except BaseException as error:
            self._leave(type(error), error, error.__traceback__)
            raise

    def __exit__(self, kind: Any, error: Any, trace: Any) -> Any:
        try:
            return self._manager.__exit__(kind, error, trace)
        finally:
            self._leave(kind, error, trace)

    def _leave(self, kind: Any, error: Any, trace: Any) -> None:
        if self._graph is not None:
            graph, self._graph = self._graph, None
            graph.__exit__(kind, error, trace)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._manager, name)


class InGraph(type):
    """The class of classes whose methods build into the default graph (see `in_graph_class`)."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if scopes.current_builder() is not None:
            return super().__call__(*args, **kwargs)
        with scopes.entered(get_default_graph()):
            return super().__call__(*args, **kwargs)

    @property
    def __signature__(cls) -> inspect.Signature:
        """What the class is called with: that is what ``help()`` and completion show."""
        made_by = (cls.__init__, cls.__new__)  # type: ignore[misc]
        makers = [maker for maker in made_by if inspect.isfunction(maker)]
        parameters = inspect.signature(makers[0]).parameters.values() if makers else ()
        return inspect.Signature([*parameters][1:])

    def __instancecheck__(cls, instance: Any) -> bool:
        return cls.__subclasscheck__(type(instance))

    def __subclasscheck__(cls, subclass: type) -> bool:
        # By the line of ancestors, not issubclass: an abstract original would ask this class again.
        return cls.__dict__.get("_original", cls) in subclass.__mro__


def _reduced(cls: Any) -> str | tuple[Any, ...]:
    """Return what pickle keeps of a class of `InGraph`: its original, a program's own by name."""
    return (in_graph_class, (cls._original,)) if "_original" in vars(cls) else cls.__qualname__


_classes: dict[type, type] = {}  # original -> what `in_graph_class` has made of it


def in_graph_class(original: type) -> type:
    """Return `original` as a class whose constructor and methods build into the default graph.

    Instances of either pass ``isinstance`` of the other's name.
    """
    if original in _classes:
        return _classes[original]
    methods = {
        name: (
            staticmethod(in_graph(member))
            if isinstance(inspect.getattr_static(original, name), staticmethod)
            else in_graph(member)
        )
        for name, member in inspect.getmembers(original, inspect.isfunction)
        if not name.startswith("_") or name == "__call__"
    }
    names = {"__doc__": original.__doc__, "__module__": original.__module__, "_original": original}
    meta = type("InGraph", (InGraph, type(original)), {}) if type(original) is not type else InGraph
    copyreg.pickle(meta, _reduced)  # pickle goes by the class of classes
    _classes[original] = meta(original.__name__, (original,), {**methods, **names})
    return _classes[original]
