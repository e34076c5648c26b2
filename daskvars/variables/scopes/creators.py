"""Functions that take part in the making of every variable of a block."""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from daskvars.variables.colocation import owner

Creator = Callable[..., Any]


class _Here(threading.local):
    def __init__(self) -> None:
        self.stack: list[tuple[Any, Creator]] = []  # (program, creator), outermost first


_here = _Here()


@contextmanager
def variable_creator_scope(variable_creator: Creator) -> Iterator[None]:
    """Let a function make the variables of the block, in this graph and thread.

    Args:
      variable_creator: function of ``next_creator`` and, as keywords, all arguments of `Variable`.
        It returns ``next_creator(**kwargs)``, having changed arguments, or something else that
        stands for the variable. The creator of the outermost block is called last.

    Raises:
      RuntimeError: blocks are left in another order than they were entered.

    Source: TensorFlow 1.15, ``tf.variable_creator_scope``.

    >>> def frozen(next_creator, **kwargs):
    ...     return next_creator(**{**kwargs, "trainable": False})
    >>> with tf.Graph().as_default(), tf.variable_creator_scope(frozen):
    ...     v = tf.get_variable("v", [2])
    >>> v.trainable
    False
    """
    entry = (owner(), variable_creator)
    _here.stack.append(entry)
    try:
        yield
    finally:
        is_innermost = _here.stack[-1] is entry
        _here.stack.remove(entry)
    if not is_innermost:
        raise RuntimeError(
            "Exiting variable_creator_scope without proper nesting: leave the blocks that were "
            "entered inside it first"
        )


class MadeByCreators(type):
    """The class of `Variable`: to call it is to ask the creators around the call."""

    @property
    def __signature__(cls) -> inspect.Signature:
        signature = inspect.signature(cls.__init__)  # type: ignore[misc]
        return signature.replace(parameters=list(signature.parameters.values())[1:])

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        """Make a variable, or what the creators make in its place."""
        if not _here.stack:
            return type.__call__(cls, *args, **kwargs)
        make = super().__call__
        original = cls.__dict__.get("_original", cls)  # of the class of graph mode
        is_subclass = any(isinstance(parent, MadeByCreators) for parent in original.__bases__)
        program = owner()
        creators = [] if is_subclass else [made for where, made in _here.stack if where is program]
        if not creators:
            return make(*args, **kwargs)
        given = inspect.signature(cls).bind(*args, **kwargs)
        given.apply_defaults()
        for creator in creators:
            make = functools.partial(creator, make)
        return make(**given.arguments)
