"""The larger or the smaller of each element and a number.

NumPy's ``maximum`` and ``minimum`` take two arrays in vectors, but an array and a number element by
element (m, ns an element: 0.14 and 0.37). So the number is given as an array: a line that is made
once and stays in the cache. The bits are the same.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy

from daskvars.backend import Array, ArrayModule

# Of a line. Of shorter ones NumPy's iterator would put several into its buffer of 8192 elements (m,
# lines of 2^12 and 2^14: 0.34 and 0.19 ns an element).
LINE_ELEMENTS = 1 << 14
LEAST_ELEMENTS = 1 << 11  # fewer take less time than finding the line


def at_least(xp: ArrayModule, x: Array, bound: float, out: Array | None = None) -> Array:
    """Return the larger of each element and a number, NaN for NaN; ``out`` may be ``x``."""
    return _bounded(xp, "maximum", x, bound, out)


def at_most(xp: ArrayModule, x: Array, bound: float, out: Array | None = None) -> Array:
    """Return the smaller of each element and a number, of the arguments of `at_least`."""
    return _bounded(xp, "minimum", x, bound, out)


def _bounded(xp: ArrayModule, name: str, x: Array, bound: float, out: Array | None) -> Array:
    choose = getattr(xp, name)
    if xp is not numpy or x.size < LEAST_ELEMENTS:
        return choose(x, x.dtype.type(bound), out=out)
    line = repeated(bound, x.dtype, LINE_ELEMENTS)
    if x.size <= len(line):
        return choose(x, line[: x.size].reshape(x.shape), out=out)
    y = xp.empty(x.shape, x.dtype) if out is None else out
    if not (x.flags.c_contiguous and y.flags.c_contiguous):
        return choose(x, x.dtype.type(bound), out=y)
    whole = x.size - x.size % len(line)
    elements, into = x.reshape(-1), y.reshape(-1)
    lines = (-1, len(line))
    choose(elements[:whole].reshape(lines), line, out=into[:whole].reshape(lines))
    choose(elements[whole:], line[: x.size - whole], out=into[whole:])
    return y


@functools.lru_cache(maxsize=64)
def repeated(value: float, dtype: numpy.dtype[Any], elements: int) -> Array:
    """Return an array of one number over and over, which is kept, not to be written to."""
    line = numpy.full(elements, value, dtype)
    line.flags.writeable = False
    return line
