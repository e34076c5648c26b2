"""`Module`: an object whose attributes are variables and other such objects."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from daskvars.graph.scopes import name_scope as scopes
from daskvars.graph.scopes.default_graph import in_graph_context
from daskvars.layers.layer import Layer
from daskvars.surface.forwarding import forwards
from daskvars.variables.tracking import Trackable
from daskvars.variables.variable import Variable

_scope = in_graph_context(scopes.name_scope)
_CAPITAL = re.compile(r"((?<=[a-z0-9])[A-Z]|(?!^)[A-Z](?=[a-z]))")
Path = tuple[Any, ...]


class Module(Trackable):
    """An object with variables, found as attributes of its own and of modules in it.

    A subclass makes variables in `__init__` or later, and keeps them as attributes, or in lists,
    tuples and dicts that are. A layer that is an attribute counts as a module. A
    `tf.train.Checkpoint` saves a module as it saves a layer.

    Args:
      name: of the module and its name scope, by default the class's, as ``my_module``.

    Raises:
      ValueError: the name is no identifier.

    Source: TensorFlow 1.15, ``tf.Module``.

    >>> class Affine(tf.Module):
    ...     def __init__(self, size, name=None):
    ...         super().__init__(name)
    ...         with self.name_scope:
    ...             self.w = tf.Variable(tf.ones([size]), name="w")
    ...             self.b = tf.Variable(0.0, trainable=False, name="b")
    ...
    ...     @tf.Module.with_name_scope
    ...     def __call__(self, x):
    ...         return self.w * x + self.b
    >>> with tf.Graph().as_default():
    ...     affine = Affine(2)
    ...     y = affine(3.0)
    >>> [v.name for v in affine.variables], [v.name for v in affine.trainable_variables], y.name
    (['affine/b:0', 'affine/w:0'], ['affine/w:0'], 'affine/add:0')
    """

    _TF_MODULE_IGNORED_PROPERTIES: frozenset[str] = frozenset()

    def __init__(self, name: str | None = None) -> None:
        if name is None:
            name = _CAPITAL.sub(r"_\1", type(self).__name__).lower()
        elif not (name.isascii() and name.isidentifier()):
            raise ValueError(
                f"{name!r} is not a valid module name. Module names must be valid Python "
                "identifiers (e.g. a valid class name)."
            )
        self._name = name
        with _scope(name) as self._scope_name:
            pass

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self._name!r}>"

    name: str = forwards(
        "_name", "The name given, or the class's. `name_scope` has those around it, too."
    )

    @property
    def name_scope(self) -> Any:
        """A context manager that enters the module's name scope."""
        return _scope(self._scope_name)

    @property
    def variables(self) -> tuple[Any, ...]:
        """Its variables by the names of its attributes, then those of the modules in it."""
        return tuple(self._flatten(predicate=_is_variable))

    @property
    def trainable_variables(self) -> tuple[Any, ...]:
        """Those of `variables` that are to be trained."""
        return tuple(self._flatten(predicate=lambda v: _is_variable(v) and v.trainable))

    @property
    def submodules(self) -> tuple[Any, ...]:
        """The modules in it, and in these."""
        return tuple(self._flatten(predicate=_is_module))

    def _flatten(
        self,
        recursive: bool = True,
        predicate: Callable[[Any], Any] | None = None,
        attribute_traversal_key: Callable[[str], Any] | None = None,
        with_path: bool = False,
    ) -> Iterator[Any]:
        """Yield what is in its attributes, in their order, then what is in the modules there.

        Subclasses call it, as in TensorFlow.

        Args:
          recursive: whether to go into modules.
          predicate: what to yield, by default everything.
          attribute_traversal_key: gives what attributes are ordered by, by default their names.
          with_path: yield (path, value) instead, a value as often as there are paths to it.
        """
        seen = {id(self)}
        waiting: list[tuple[Path, Any]] = [((), self)]
        while waiting:
            path, module = waiting.pop(0)
            inside = []
            for place, leaf in _leaves_of(module, attribute_traversal_key):
                if not with_path:
                    if id(leaf) in seen:
                        continue
                    seen.add(id(leaf))
                whole = (*path, *place)
                if predicate is None or predicate(leaf):
                    yield (whole, leaf) if with_path else leaf
                if recursive and _is_module(leaf):
                    inside.append((whole, leaf))
            waiting = [*inside, *waiting]

    @classmethod
    def with_name_scope(cls, method: Callable[..., Any]) -> Callable[..., Any]:
        """Return a method that enters the name scope of its module first."""

        @functools.wraps(method)
        def in_scope(self: Module, *args: Any, **kwargs: Any) -> Any:
            with self.name_scope:
                return method(self, *args, **kwargs)

        return in_scope


def _is_module(value: Any) -> bool:
    return isinstance(value, Module | Layer)


def _is_variable(value: Any) -> bool:
    return isinstance(value, Variable)


def _leaves_of(module: Any, key: Callable[[str], Any] | None) -> Iterator[tuple[Path, Any]]:
    """Yield (path, value) for what is in the attributes of a module."""
    ignored = getattr(module, "_TF_MODULE_IGNORED_PROPERTIES", ())
    attributes = vars(module)
    for name in sorted(attributes, key=key):
        if name not in ignored:
            for path, leaf in _leaves(attributes[name]):
                yield (name, *path), leaf


def _leaves(value: Any) -> Iterator[tuple[Path, Any]]:
    """Yield (path, leaf) for what is in lists, tuples and dicts, of these by their keys' order."""
    if isinstance(value, Mapping):
        items: Any = ((key, value[key]) for key in sorted(value))
    elif hasattr(value, "_fields"):
        items = zip(value._fields, value, strict=True)
    elif isinstance(value, list | tuple):
        items = enumerate(value)
    else:
        yield (), value
        return
    for key, item in items:
        for path, leaf in _leaves(item):
            yield (key, *path), leaf
