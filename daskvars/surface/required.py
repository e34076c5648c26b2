"""Methods and properties that a subclass must have: the base class says of them what they are."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NoReturn, ParamSpec, TypeVar

from daskvars.surface.signatures import with_raises

P = ParamSpec("P")
R = TypeVar("R")
RAISES = "NotImplementedError: the subclass has none."


def required(method: Callable[P, R]) -> Callable[P, R]:
    """Return a method that says that the subclass has none.

    Args:
      method: its signature and docstring, and no body.

    >>> class Shape:
    ...     @required
    ...     def scaled(self, factor):
    ...         "Return the shape, larger."
    >>> class Circle(Shape): pass
    >>> Circle().scaled(2)
    Traceback (most recent call last):
    NotImplementedError: Circle must have scaled()
    """

    @functools.wraps(method)
    def missing(*args: P.args, **kwargs: P.kwargs) -> R:
        raise NotImplementedError(f"{type(args[0]).__name__} must have {method.__name__}()")

    missing.__doc__ = with_raises(method.__doc__, RAISES)
    return missing


class required_property(property):
    """A property that says that the subclass has none.

    Args:
      doc: what it is.

    >>> class Shape:
    ...     area = required_property("How large it is.")
    >>> class Circle(Shape): pass
    >>> Circle().area
    Traceback (most recent call last):
    NotImplementedError: Circle must have an area
    """

    def __init__(self, doc: str) -> None:
        super().__init__(self._missing)
        self.__doc__ = with_raises(doc, RAISES)

    def __set_name__(self, owner: type, name: str) -> None:
        self._what = f"{'an' if name[0] in 'aeiou' else 'a'} {name}"

    def _missing(self, owner: object) -> NoReturn:
        raise NotImplementedError(f"{type(owner).__name__} must have {self._what}")
