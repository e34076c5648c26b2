"""Attributes that a test replaces for a while."""

from __future__ import annotations

import inspect
from typing import Any, Self

from daskvars.surface.one_line import ShownByArguments


class StubOutForTesting(ShownByArguments):
    """Replaces attributes, and puts back what was there; `unittest.mock` is the newer way.

    >>> import math
    >>> with StubOutForTesting() as stubs:
    ...     stubs.Set(math, "pi", 3)
    ...     math.pi
    3
    >>> math.pi > 3
    True
    """

    def __init__(self) -> None:
        self._replaced: list[tuple[Any, str, Any]] = []
        self._smartly: list[tuple[Any, str, Any]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.CleanUp()

    def CleanUp(self) -> None:
        """Put back all that was replaced."""
        self.SmartUnsetAll()
        self.UnsetAll()

    def Set(self, parent: Any, child_name: str, new_child: Any) -> None:
        """Replace an attribute of a module, class or object. Raises AttributeError for none."""
        self._replaced.append((parent, child_name, _found(parent, child_name)))
        setattr(parent, child_name, new_child)

    def UnsetAll(self) -> None:
        """Put back what `Set` replaced, last first."""
        _put_back(self._replaced)

    def SmartSet(self, obj: Any, attr_name: str, new_attr: Any) -> None:
        """Replace an attribute where it is defined: in the class for one that an object has by it.

        Raises:
          AttributeError: there is none.
        """
        where = obj
        if not inspect.ismodule(obj) and attr_name not in vars(obj):
            line = (obj if inspect.isclass(obj) else type(obj)).__mro__
            where = next((kind for kind in line if attr_name in vars(kind)), obj)
        self._smartly.append((where, attr_name, _found(where, attr_name)))
        setattr(where, attr_name, new_attr)

    def SmartUnsetAll(self) -> None:
        """Put back what `SmartSet` replaced, last first."""
        _put_back(self._smartly)


def _found(parent: Any, name: str) -> Any:
    """Return an attribute as it is stored: a static method as one."""
    return vars(parent)[name] if name in vars(parent) else getattr(parent, name)


def _put_back(replaced: list[tuple[Any, str, Any]]) -> None:
    while replaced:
        setattr(*replaced.pop())
