"""The current variable scope of a graph in a thread, and what a scope is."""

from __future__ import annotations

import functools
import operator
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from daskvars.dtypes import DTypeLike, as_dtype, float32
from daskvars.errors import did_you_mean
from daskvars.graph.scopes.collections import GraphKeys
from daskvars.graph.scopes.device import DeviceLike
from daskvars.surface.forwarding import forwards
from daskvars.variables.colocation import owner
from daskvars.variables.initializers import InitializerLike
from daskvars.variables.scopes.scope_counts import ScopeCounts
from daskvars.variables.scopes.variable_store import ReuseMode


def _kept(name: str, meaning: str) -> property:
    return property(operator.attrgetter(f"_{name}"), doc=meaning)


class VariableScope:  # shown as TensorFlow shows it: programs print it, by its class alone
    """A prefix for the names that `get_variable` gives, and defaults for its arguments.

    Made by `variable_scope`, and kept to be opened again. Its variables are its items by their
    names within it, which IPython completes.

    Args:
      reuse: True shares existing variables, False makes new ones, AUTO_REUSE does what is possible.
      name: the prefix, without a "/" at its end.
      initializer, regularizer, caching_device, partitioner, custom_getter, dtype, use_resource,
        constraint: defaults for the arguments of `get_variable`.
      name_scope: the name scope opened along with it.

    >>> with dv.variable_scope("encoder") as scope:
    ...     w = dv.get_variable("layer/w", [2])
    >>> scope["layer/w"] is w
    True
    """

    def __init__(
        self,
        reuse: bool | ReuseMode | None,
        name: str = "",
        initializer: InitializerLike | None = None,
        regularizer: Callable[[Any], Any] | None = None,
        caching_device: DeviceLike | None = None,
        partitioner: Callable[..., Any] | None = None,
        custom_getter: Callable[..., Any] | None = None,
        name_scope: str = "",
        dtype: DTypeLike = float32,
        use_resource: bool | None = None,
        constraint: Callable[[Any], Any] | None = None,
    ) -> None:
        self._reuse = reuse
        self._name = name
        self._initializer = initializer
        self._regularizer = regularizer
        self._caching_device = caching_device
        self._partitioner = partitioner
        self._custom_getter = custom_getter
        self._name_scope = name_scope
        self._dtype = as_dtype(dtype)
        self._use_resource = use_resource
        self._constraint = constraint
        self._program = owner()

    original_name_scope: str = forwards(
        "_name_scope", "The name scope that was opened with the scope when it was first made."
    )

    name = _kept("name", 'The full name, "" at the root.')
    reuse = _kept("reuse", "Whether existing variables are shared: a bool or AUTO_REUSE.")
    initializer = _kept("initializer", "The default initializer.")
    regularizer = _kept("regularizer", "The default regularizer.")
    caching_device = _kept("caching_device", "The default caching device.")
    partitioner = _kept("partitioner", "The default partitioner.")
    custom_getter = _kept("custom_getter", "The function that `get_variable` goes through.")
    dtype = _kept("dtype", "The default dtype.")
    use_resource = _kept("use_resource", "Accepted: there is one kind of variable.")
    constraint = _kept("constraint", "The default constraint.")

    def reuse_variables(self) -> None:
        """Share existing variables from here on, for good."""
        self._reuse = True

    def set_initializer(self, initializer: InitializerLike) -> None:
        """Set the default initializer."""
        self._initializer = initializer

    def set_regularizer(self, regularizer: Callable[[Any], Any] | None) -> None:
        """Set the default regularizer."""
        self._regularizer = regularizer

    def set_caching_device(self, caching_device: DeviceLike) -> None:
        """Set the default caching device."""
        self._caching_device = caching_device

    def set_partitioner(self, partitioner: Callable[..., Any] | None) -> None:
        """Set the default partitioner."""
        self._partitioner = partitioner

    def set_custom_getter(self, custom_getter: Callable[..., Any] | None) -> None:
        """Set the function that `get_variable` goes through."""
        self._custom_getter = custom_getter

    def set_dtype(self, dtype: DTypeLike) -> None:
        """Set the default dtype."""
        self._dtype = as_dtype(dtype)

    def set_use_resource(self, use_resource: bool | None) -> None:
        """Accepted: there is one kind of variable."""
        self._use_resource = use_resource

    def set_constraint(self, constraint: Callable[[Any], Any] | None) -> None:
        """Set the default constraint."""
        self._constraint = constraint

    def __getitem__(self, name: str) -> Any:
        found = {v.op.name: v for v in self._all_variables()}
        full = self._prefix + name
        if full not in found:
            raise KeyError(f"there is no variable {full!r}{did_you_mean(full, found)}")
        return found[full]

    __iter__ = None  # a scope has names, no numbers

    def _ipython_key_completions_(self) -> list[str]:
        return [v.op.name.removeprefix(self._prefix) for v in self._all_variables()]

    @property
    def _prefix(self) -> str:
        return f"{self._name}/" if self._name else ""

    def _all_variables(self) -> list[Any]:
        return [*self.global_variables(), *self.local_variables()]

    def get_collection(self, name: str) -> list[Any]:
        """Return the items of a collection that are in this scope."""
        return self._program.get_collection(name, self._prefix)

    def global_variables(self) -> list[Any]:
        """Return the global variables of this scope."""
        return self.get_collection(GraphKeys.GLOBAL_VARIABLES)

    def local_variables(self) -> list[Any]:
        """Return the local variables of this scope."""
        return self.get_collection(GraphKeys.LOCAL_VARIABLES)

    def trainable_variables(self) -> list[Any]:
        """Return the trainable variables of this scope."""
        return self.get_collection(GraphKeys.TRAINABLE_VARIABLES)

    def _copy(self, **changes: Any) -> VariableScope:
        """Return a copy with those of `changes` that are not None."""
        new = VariableScope.__new__(VariableScope)
        new.__dict__.update(self.__dict__)
        for key, value in changes.items():
            if value is not None:
                setattr(new, f"_{key}", as_dtype(value) if key == "dtype" else value)
        return new


class Scopes(threading.local):
    """The current scope of a graph in a thread, and the counts that make default names unique."""

    def __init__(self) -> None:
        self.current = VariableScope(False)
        self.counts = ScopeCounts()


def scopes_of(builder: Any) -> Scopes:
    """Return the stack of variable scopes of a graph, or of the eager program."""
    found = builder.notes.get("variable_scopes")
    return builder.notes.setdefault("variable_scopes", Scopes()) if found is None else found


def get_variable_scope() -> VariableScope:
    """Return the current variable scope.

    >>> with dv.variable_scope("layer"):
    ...     name = get_variable_scope().name
    >>> name
    'layer'
    """
    return scopes_of(owner()).current


@contextmanager
def pure_variable_scope(
    name_or_scope: str | VariableScope,
    reuse: bool | ReuseMode | None = None,
    custom_getter: Callable[..., Any] | None = None,
    name_scope: str | None = None,
    **defaults: Any,
) -> Iterator[VariableScope]:
    """Open a variable scope without any name scope; see `variable_scope`."""
    program = owner()
    scopes = scopes_of(program)
    old = scopes.current
    jumps = isinstance(name_or_scope, VariableScope)
    base = name_or_scope if isinstance(name_or_scope, VariableScope) else old
    if custom_getter is not None:
        custom_getter = _chained(custom_getter, base.custom_getter)
    changes = {"reuse": reuse or base.reuse, "custom_getter": custom_getter, "program": program}
    if isinstance(name_or_scope, str):
        segment = name_or_scope.rstrip("/")
        changes["name"] = f"{old.name}/{segment}" if old.name and segment else segment or old.name
        changes["name_scope"] = name_or_scope if name_scope is None else name_scope
    scope = base._copy(**changes, **defaults)
    scopes.counts.opened(scope.name)
    if jumps:
        scopes.counts.begin_jump()
    scopes.current = scope
    try:
        yield scope
    finally:
        if scopes.current is not scope:
            raise RuntimeError("Improper nesting of variable_scope.")
        if jumps:
            scopes.counts.end_jump()
        else:
            scopes.counts.closed(scope.name)
        scopes.current = old


def _chained(custom_getter: Callable[..., Any], outer: Callable[..., Any] | None) -> Any:
    """Return a getter that gives `custom_getter` the outer scope's getter as the true one."""
    if outer is None:
        return custom_getter

    def chained(getter: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        return custom_getter(functools.partial(outer, getter), *args, **kwargs)

    return chained
