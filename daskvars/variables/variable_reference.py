"""What `Variable.ref` returns: a variable as a key of sets and dictionaries."""

from __future__ import annotations

from typing import Any


class VariableReference:
    """What `Variable.ref` returns."""

    __slots__ = ("_variable",)

    def __init__(self, variable: Any) -> None:
        self._variable = variable

    def deref(self) -> Any:
        """Return the variable."""
        return self._variable

    def __eq__(self, other: object) -> bool:
        return isinstance(other, VariableReference) and other._variable is self._variable

    def __hash__(self) -> int:
        return id(self._variable)

    def __repr__(self) -> str:
        return f"<Reference wrapping {self._variable!r}>"
