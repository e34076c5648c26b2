"""Methods and properties that a subclass must have: the base class says of them what they are."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from daskvars.surface.signatures import with_raises

P = ParamSpec("P")
R = TypeVar("R")


def required(method: Callable[P, R]) -> Callable[P, R]:
    """Return a method, or the getter of a property, that says that the subclass has none.

    Args:
      method: its signature and docstring, and no body; a getter takes nothing but the object.

    >>> class Shape:
    ...     @required
    ...     def scaled(self, factor):
    ...         "Return the shape, larger."
    >>> class Circle(Shape): pass
    >>> Circle().scaled(2)
    Traceback (most recent call last):
    NotImplementedError: Circle must have scaled()
    """
    name = method.__name__
    if len(inspect.signature(method).parameters) > 1:
        what = f"{name}()"
    else:
        what = f"{'an' if name[0] in 'aeiou' else 'a'} {name}"

    @functools.wraps(method)
    def missing(*args: P.args, **kwargs: P.kwargs) -> R:
        raise NotImplementedError(f"{type(args[0]).__name__} must have {what}")

    missing.__doc__ = with_raises(method.__doc__, "NotImplementedError: the subclass has none.")
    return missing
