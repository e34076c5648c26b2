"""The kernel of `print`: arrays as the text that TensorFlow shows of them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy

from daskvars.backend import Array, ArrayModule
from daskvars.device_array import host_kernel

_FILE = "file://"
_ESCAPES = {"\n": "n", "\r": "r", "\t": "t", '"': '"', "'": "'", "\\": "\\"}


@host_kernel
def write(
    xp: ArrayModule, *data: Any, pieces: Sequence[str], summarize: int, end: str, stream: str
) -> tuple:
    """Write ``pieces[0]``, the first of `data`, ``pieces[1]`` and so on, then `end`."""
    words = [pieces[0]]
    for item, piece in zip(data, pieces[1:], strict=True):
        words += [shown(numpy.asarray(item), summarize), piece]
    text = "".join(words) + end
    if stream.startswith(_FILE):
        with Path(stream.removeprefix(_FILE)).open("a", encoding="utf-8") as file:
            file.write(text)
    else:
        print(text, end="", file=sys.stdout if stream == "stdout" else sys.stderr)
    return ()


def shown(array: numpy.ndarray, summarize: int) -> str:
    """Return the text of an array: the first and last `summarize` items of each dimension.

    >>> print(shown(numpy.arange(20.0).reshape(10, 2), 2))
    [[0 1]
     [2 3]
     ...
     [16 17]
     [18 19]]
    """
    return _item(array[()]) if array.ndim == 0 else _nested(array, summarize, 1)


def _nested(array: numpy.ndarray, summarize: int, depth: int) -> str:
    is_long = 0 <= 2 * summarize < len(array)
    places = [*range(summarize), *range(len(array) - summarize, len(array))]
    rows = [array[i] for i in places] if is_long else list(array)
    inner = array.ndim - 1
    words = [_nested(row, summarize, depth + 1) if inner else _item(row, '"') for row in rows]
    if is_long:
        words.insert(summarize, "...")
    between = "\n" * inner + " " * depth if inner else " "
    return f"[{between.join(words)}]"


def summarized(data: Sequence[Any], count: int | None) -> list[str]:
    """Return arrays as `Print` and `Assert` show them: the first `count` items, all if negative.

    Strings are escaped as in C, but for letters of other scripts, which stay as they are.

    >>> summarized([numpy.eye(2), numpy.float32(0.5)], None)
    ['[[1 0][0...]...]', '[0.5]']
    """
    arrays = [numpy.asarray(item) for item in data]
    counts = [a.size if count is not None and count < 0 else count for a in arrays]
    return [f"[{_first(a, 3 if n is None else n)}]" for a, n in zip(arrays, counts, strict=True)]


def _first(array: numpy.ndarray, count: int, depth: int = 0) -> str:
    """Return the first items, each row that has one of them in brackets."""
    if array.ndim < 2:
        words = [_escaped(value) for value in array.reshape(-1)[:count]]
        return " ".join(words) + "..." * (array.size > count)
    size = array[0].size if len(array) else 0
    rows = [
        _first(row, count - i * size, depth + 1) for i, row in enumerate(array) if i * size < count
    ]
    return "".join(f"[{row}]" for row in rows) + "..." * (depth == 0 and array.size > count)


def _escaped(value: Array) -> str:
    if not isinstance(value, bytes):
        return _item(value)
    text = value.decode("utf-8", "surrogateescape")
    return "".join(c if c.isprintable() and c not in _ESCAPES else _escape(c) for c in text)


def _escape(character: str) -> str:
    """Return a character as C writes it."""
    if character in _ESCAPES:
        return f"\\{_ESCAPES[character]}"
    return "".join(f"\\{byte:03o}" for byte in character.encode("utf-8", "surrogateescape"))


def _item(value: Array, quote: str = "") -> str:
    if isinstance(value, bytes):
        return f"{quote}{value.decode('utf-8', 'replace')}{quote}"
    if isinstance(value, bool | numpy.bool_):
        return str(int(value))
    if isinstance(value, numpy.complexfloating):
        return f"({_real(value.real)},{_real(value.imag)})"
    return str(value) if isinstance(value, numpy.integer) else _real(value)


def _real(value: Array) -> str:
    """Return a floating number as TensorFlow writes it: in digits that are few, if they are it.

    >>> _real(numpy.float32(0.1)), _real(numpy.float32(1) / 3), _real(numpy.float64(1) / 3)
    ('0.1', '0.333333343', '0.33333333333333331')
    """
    is_double = value.dtype == numpy.float64
    kind, few, enough = (numpy.float64, 15, 17) if is_double else (numpy.float32, 6, 9)
    text = f"{float(value):.{few}g}"
    return text if kind(text) == kind(value) else f"{float(value):.{enough}g}"
