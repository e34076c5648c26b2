"""How objects are shown in a notebook.

`daskvars.observe.html` says how, one function per kind. It is above what it draws, so it is loaded
when something is shown, and whoever is to be shown derives from `ShownInNotebooks`.
"""

from __future__ import annotations

from functools import singledispatch

from daskvars.surface.loading import load_until


@singledispatch
def html_of(value: object) -> str:
    """Return an object as HTML. What is text in it is escaped.

    Args:
      value: what is shown: a graph, a tensor, a variable, a session and others.

    Raises:
      TypeError: nobody registered how objects of this kind are drawn.

    >>> "&lt;b&gt;" in html_of(dv.constant("<b>"))
    True
    """
    raise TypeError(f"a {type(value).__name__} has no drawing")


def is_drawn(kind: type) -> bool:
    """Return whether it is registered how objects of a class are drawn."""
    return html_of.dispatch(kind) is not html_of.dispatch(object)


class ShownInNotebooks:
    """An object that Jupyter shows as HTML.

    >>> html = dv.Graph()._repr_html_()
    >>> "0 operations" in html
    True
    """

    __slots__ = ()

    def _repr_html_(self) -> str:
        load_until(lambda: is_drawn(type(self)))
        return html_of(self)
