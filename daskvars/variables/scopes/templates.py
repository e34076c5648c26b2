"""Templates: functions whose variables are made by the first call and shared by the others."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from daskvars.graph.by_identity import is_among
from daskvars.graph.interpreter import builder_for
from daskvars.graph.scopes import stacks as scopes
from daskvars.graph.scopes.collections import GraphKeys
from daskvars.graph.scopes.name_scope import entered_graph
from daskvars.graph.user_line import user_line
from daskvars.surface.forwarding import forwards
from daskvars.variables.colocation import owner
from daskvars.variables.scopes.scope_stack import pure_variable_scope, scopes_of
from daskvars.variables.scopes.variable_scope import VariableScope, variable_scope


def make_template(
    name_: str,
    func_: Callable[..., Any],
    create_scope_now_: bool = False,
    unique_name_: str | None = None,
    custom_getter_: Callable[..., Any] | None = None,
    **kwargs: Any,
) -> Template:
    """Return `func_` as a function whose calls all share the variables of the first.

    Args:
      name_: name of the variable scope, made unique.
      func_: the function; it makes variables by `get_variable`.
      create_scope_now_: fix the scope now rather than in the first call.
      unique_name_: name of the scope that is not made unique.
      custom_getter_: custom getter of the scope.
      **kwargs: arguments of `func_` that are fixed.

    >>> with tf.Graph().as_default():
    ...     layer = tf.make_template("layer", lambda x: x * tf.get_variable("w", []))
    ...     a, b = layer(tf.constant(1.0)), layer(tf.constant(2.0))
    ...     [v.name for v in tf.global_variables()]
    ['layer/w:0']
    """
    if kwargs:
        func_ = functools.partial(func_, **kwargs)
    return Template(name_, func_, create_scope_now_, unique_name_, custom_getter_)


class Template:
    """What `make_template` returns."""

    def __init__(
        self,
        name: str,
        func: Callable[..., Any],
        create_scope_now: bool = False,
        unique_name: str | None = None,
        custom_getter: Callable[..., Any] | None = None,
    ) -> None:
        if name is None:
            raise ValueError("name cannot be None.")
        self._name = name
        self._func = func
        self._unique_name = unique_name
        self._custom_getter = custom_getter
        self._made_at = "{}:{}".format(*user_line())
        self._builder = builder_for(())
        self._variables_created = False
        self._scope: VariableScope | None = None
        if create_scope_now:
            found = scopes_of(owner())
            unique = unique_name or found.counts.unique(name, found.current.name)
            with pure_variable_scope(unique, custom_getter=custom_getter) as self._scope:
                pass

    name: str = forwards("_name", "The name given.")
    func: Callable[..., Any] = forwards("_func", "The function called.")
    variable_scope: VariableScope | None = forwards(
        "_scope", "The scope of the variables, None before the first call."
    )

    @property
    def variable_scope_name(self) -> str | None:
        """The name of the scope with a "/" at its end, None before the first call."""
        return None if self._scope is None else f"{self._scope.name}/"

    @property
    def variables(self) -> list[Any]:
        """The global and local variables in the scope."""
        return self.global_variables + self.local_variables

    @property
    def global_variables(self) -> list[Any]:
        """The global variables in the scope."""
        return self._collected(GraphKeys.GLOBAL_VARIABLES)

    @property
    def local_variables(self) -> list[Any]:
        """The local variables in the scope."""
        return self._collected(GraphKeys.LOCAL_VARIABLES)

    @property
    def trainable_variables(self) -> list[Any]:
        """The trainable variables in the scope."""
        return self._collected(GraphKeys.TRAINABLE_VARIABLES)

    @property
    def non_trainable_variables(self) -> list[Any]:
        """The global variables in the scope that are not trainable."""
        trainable = self.trainable_variables
        return [v for v in self.global_variables if not is_among(v, trainable)]

    weights: list[Any] = forwards("variables", "Another name of `variables`.")
    trainable_weights: list[Any] = forwards(
        "trainable_variables", "Another name of `trainable_variables`."
    )
    non_trainable_weights: list[Any] = forwards(
        "non_trainable_variables", "Another name of `non_trainable_variables`."
    )
    var_scope: VariableScope | None = forwards("_scope", "Another name of `variable_scope`.")

    def _collected(self, key: str) -> list[Any]:
        return self._scope.get_collection(key) if self._scope and self._variables_created else []

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function in the template's scope."""
        # Where no graph is entered, the one that the template was made in is meant.
        with entered_graph(scopes.current_builder() or self._builder):
            if self._scope is not None:
                with variable_scope(self._scope, reuse=self._variables_created):
                    return self._called(args, kwargs)
            with variable_scope(
                self._unique_name, self._name, custom_getter=self._custom_getter
            ) as self._scope:
                return self._called(args, kwargs)

    def _called(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        trainable = owner().get_collection_ref(GraphKeys.TRAINABLE_VARIABLES)
        before = len(trainable)
        try:
            result = self._func(*args, **kwargs)
        except Exception as error:
            error.add_note(f"in template {self._name!r}, made at {self._made_at}")
            raise
        if self._variables_created and len(trainable) != before:
            raise ValueError(
                f"Trainable variable created when calling template {self._name!r} after the first "
                "time, perhaps you used tf.Variable when you meant tf.get_variable: "
                f"{trainable[before:]}"
            )
        self._variables_created = True
        return result
