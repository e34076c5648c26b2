"""Gradients that programs register by name, and the blocks that give them to operations.

An op's own gradient stands beside it (`opdef`). A program registers another under a name of its
choice and says with `gradient_override_map` which operations are to have it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from daskvars.graph.definitions.opdef import NO_GRADIENT, UNDEFINED_GRADIENT, registered
from daskvars.graph.tensor import Operation
from daskvars.surface.one_line import ShownByArguments

_OVERRIDE = "_gradient_op_type"  # TensorFlow's name of the attribute
_gradients: dict[str, Any] = {}


class RegisterGradient(ShownByArguments):
    """A decorator that registers ``gradient(op, *dys) -> one gradient per input`` under a name.

    Args:
      op_type: the name, which `Graph.gradient_override_map` gives to operations; or the type of
        an op that has no gradient.

    Raises:
      TypeError: the name is no string.
      KeyError: (when it decorates) the name is taken, by another gradient or by an op with one.

    Source: TensorFlow 1.15, ``tf.RegisterGradient``.

    >>> @tf.RegisterGradient("ReversedForTheExample")
    ... def reverse(op, dy):
    ...     return -dy
    >>> with tf.Graph().as_default() as graph, tf.Session() as sess:
    ...     x = tf.constant(1.0)
    ...     with graph.gradient_override_map({"Identity": "ReversedForTheExample"}):
    ...         y = tf.identity(x)
    ...     float(sess.run(tf.gradients(y, x)[0]))
    -1.0
    """

    def __init__(self, op_type: str) -> None:
        if not isinstance(op_type, str):
            raise TypeError(f"op_type must be a string, not {op_type!r}")
        self._op_type = op_type

    def __call__(self, f: Callable[..., Any]) -> Callable[..., Any]:
        """Register `f` and return it."""
        _register(self._op_type, f)
        return f


def NotDifferentiable(op_type: str) -> None:
    """Register that there is no gradient under the name `op_type`: it is None, without an error.

    Raises:
      TypeError: the name is no string.
      KeyError: the name is taken.

    >>> NotDifferentiable("FrozenTanh")
    >>> with tf.Graph().as_default() as graph, graph.gradient_override_map({"Tanh": "FrozenTanh"}):
    ...     x = tf.constant(0.5)
    ...     tf.gradients(tf.tanh(x), x)
    [None]
    """
    if not isinstance(op_type, str):
        raise TypeError(f"op_type must be a string, not {op_type!r}")
    _register(op_type, NO_GRADIENT)


NoGradient = NotDifferentiable


def _register(name: str, gradient: Any) -> None:
    own = getattr(registered(name), "gradient", NO_GRADIENT)
    if name in _gradients or own not in (NO_GRADIENT, UNDEFINED_GRADIENT):
        raise KeyError(
            f"Registering two gradient with name {name!r}! Choose another name and give it to "
            "operations with gradient_override_map."
        )
    _gradients[name] = gradient


def gradient_of(op: Operation) -> Any:
    """Return the gradient of an operation: what a block gave it, else that of its op.

    Raises:
      LookupError: it was given a name under which there is none.
    """
    name = op.attrs.get(_OVERRIDE, op.opdef.type)
    if name in _gradients:
        return _gradients[name]
    definition = registered(name)
    if definition is not None:
        return definition.gradient
    raise LookupError(
        f"No gradient defined for operation {op.name!r} (op type: {name}): a "
        "gradient_override_map gave it that name. Register one with RegisterGradient."
    )


class Overrides:
    """The part of a graph that gives other gradients to operations.

    The bodies of branches and loops share the names with the graph around them.
    """

    def __init__(self) -> None:
        super().__init__()
        self._gradient_names: dict[str, str] = {}

    @contextmanager
    def gradient_override_map(self, op_type_map: Mapping[str, str]) -> Iterator[None]:
        """Give operations made in the block other gradients.

        Args:
          op_type_map: type of operations -> name that a gradient was registered under.

        Raises:
          TypeError: it does not map strings to strings.
        """
        if not isinstance(op_type_map, Mapping):
            raise TypeError("op_type_map must be a dictionary mapping strings to strings")
        for op_type, name in op_type_map.items():
            if not isinstance(op_type, str) or not isinstance(name, str):
                raise TypeError(
                    "op_type_map must be a dictionary mapping strings to strings, but has "
                    f"{op_type!r}: {name!r}"
                )
        names = self._gradient_names
        saved = dict(names)
        names.update(op_type_map)
        try:
            yield
        finally:
            names.clear()
            names.update(saved)

    def _with_gradient_name(self, op_type: str, attrs: dict[str, Any]) -> dict[str, Any]:
        name = self._gradient_names.get(op_type)
        return attrs if name is None else {_OVERRIDE: name, **attrs}
