"""Properties that are those of a part: a tensor's graph is its operation's."""

from __future__ import annotations

from operator import attrgetter
from typing import Any


def forwards(path: str, doc: str) -> Any:
    """Return a property that gives an attribute of an attribute, or one that has another name.

    Args:
      path: names from the object to the attribute, as in "op.graph".

    >>> class Pair:
    ...     left = 1 + 2j
    ...     first: float = forwards("left.real", "The real part.")
    >>> Pair().first
    1.0
    """
    return property(attrgetter(path), doc=doc)
