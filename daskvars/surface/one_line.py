"""Objects in one line: what a console, a log or a list of them has room for.

Who is made by arguments shows those that matter (`ShownByArguments`); values are shown as far as
they are few (`values_in_line`). Nothing is computed or fetched to be shown. What has more to say
says it as HTML (`daskvars.surface.notebooks`).
"""

from __future__ import annotations

import inspect
import re
from typing import Any, ClassVar

import numpy

NUM_VALUES = 24
"""Elements of an array that are shown; of a larger one the first and last along each axis are."""
NUM_CHARACTERS = 60
"""Characters of an argument that are shown."""
_PLAIN = (bool, int, float, complex, str, bytes, tuple, frozenset, type(None))
_MISSING = object()
_BREAK = re.compile(r"\s*\n\s*")


def values_in_line(value: Any) -> str:
    """Return an array's values in one line.

    >>> values_in_line(numpy.eye(2))
    '[[1., 0.], [0., 1.]]'
    >>> values_in_line(numpy.arange(99))
    '[ 0,  1, ..., 97, 98]'
    """
    array = numpy.asarray(value)
    text = numpy.array2string(array, separator=", ", **_few(array))
    return _BREAK.sub(" ", text)


def _few(array: Any) -> dict[str, Any]:
    """Return NumPy's options for how much of an array is shown."""
    return {"threshold": NUM_VALUES, "edgeitems": 2 if numpy.ndim(array) < 2 else 1}


def counted(number: int, what: str) -> str:
    """Return a number of things in words.

    >>> counted(1, "variable"), counted(2000, "variable")
    ('1 variable', '2,000 variables')
    """
    return f"{number:,} {what}" + ("" if number == 1 else "s")


def array_in_line(value: Any) -> str:
    """Return the repr of an array or NumPy scalar, in one line.

    >>> array_in_line(numpy.eye(2, dtype="int8"))
    'array([[1, 0], [0, 1]], dtype=int8)'
    """
    with numpy.printoptions(**_few(value)):
        return _BREAK.sub(" ", repr(value))


class ShownByArguments:
    """An object that is shown by its constructor's arguments, where they are not the defaults.

    The value of an argument is the attribute of that name, with or without an underscore before
    it; one that is no attribute is left out.

    >>> class Scaled(ShownByArguments):
    ...     def __init__(self, factor, bias=0.0):
    ...         self.factor, self._bias = factor, bias
    >>> Scaled(2), Scaled(2, bias=1.5)
    (Scaled(factor=2), Scaled(factor=2, bias=1.5))
    """

    __slots__ = ()
    _argument_is: ClassVar[dict[str, str]] = {}
    """Argument -> its attribute, where that has another name."""
    _always_shown: ClassVar[tuple[str, ...]] = ()
    """Arguments that are shown though they are the defaults."""

    def __repr__(self) -> str:
        has = vars(self)
        shown = []
        # Not of the class: a metaclass may take its call.
        made_by = getattr(type(self), "__signature__", None) or inspect.signature(
            type(self).__init__
        )
        for name, parameter in made_by.parameters.items():
            attribute = self._argument_is.get(name, name)
            value = has.get(attribute, has.get(f"_{attribute}", _MISSING))
            if value is _MISSING:
                continue
            if name in self._always_shown or not _is_default(value, parameter.default):
                shown.append(f"{name}={_argument(value)}")
        return f"{type(self).__name__}({', '.join(shown)})"


def _is_default(value: Any, default: Any) -> bool:
    if value is default or value is None:
        return True
    return isinstance(value, _PLAIN) and type(value) is type(default) and value == default


def _argument(value: Any) -> str:
    """Return an argument in a few characters; of a tensor or variable, its name."""
    if hasattr(value, "shape") and hasattr(value, "name"):
        return repr(value.name)
    text = getattr(value, "__name__", None) or _BREAK.sub(" ", repr(value))
    return text if len(text) <= NUM_CHARACTERS else f"{text[: NUM_CHARACTERS - 3]}..."
