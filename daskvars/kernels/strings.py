"""Kernels of strings, which are `bytes` in arrays of objects: one Python call per element."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from daskvars.backend import ArrayModule
from daskvars.device_array import host_kernel
from daskvars.dtypes import DType
from daskvars.errors import invalid


def each(
    function: Callable[..., Any], *arrays: numpy.ndarray, dtype: Any = object
) -> numpy.ndarray:
    """Give what `function` makes of the elements of arrays that broadcast."""
    arrays = numpy.broadcast_arrays(*arrays)
    columns = [array.reshape(-1).tolist() for array in arrays]
    out = numpy.empty(arrays[0].size, dtype)
    out[...] = list(map(function, *columns))
    return out.reshape(arrays[0].shape)


# -- numbers -----------------------------------------------------------------------------------


@host_kernel
def as_string(xp: ArrayModule, x: numpy.ndarray, *, template: str) -> numpy.ndarray:
    """Give numbers as text, by a template of Python's ``%``; bools are true and false."""
    x = numpy.asarray(x)
    if x.dtype.kind == "O":
        return x
    if x.dtype.kind == "b":
        return each(lambda value: b"true" if value else b"false", x)
    if x.dtype.kind == "c":
        return each(lambda z: f"({template % z.real},{template % z.imag})".encode(), x)
    return each(lambda value: (template % value).encode(), x)


def to_number(xp: ArrayModule, text: Any, *, dtype: DType) -> numpy.ndarray:
    """Give the numbers that texts say. Raises InvalidArgumentError naming one that says none."""
    kind = float if dtype.is_floating else int

    def parsed(item: bytes) -> float:
        try:
            if kind is float and b"0x" in item.lower():
                number: Any = float.fromhex(item.decode())
            else:
                number = kind(item) if b"_" not in item else None
        except ValueError:
            number = None
        if number is None or not (kind is float or dtype.min <= number <= dtype.max):
            shown = item.decode("utf-8", "replace")
            raise invalid(f"StringToNumberOp could not correctly convert string: {shown}")
        return number

    return xp.asarray(each(parsed, text, dtype=dtype.np))


# -- text --------------------------------------------------------------------------------------


def join(xp: ArrayModule, *texts: Any, separator: bytes) -> numpy.ndarray:
    """Give texts put together element by element."""
    return each(lambda *items: separator.join(items), *texts)


def axes_in_order(axis: int | Sequence[int] | None, rank: int) -> tuple[int, ...]:
    """Return the axes of `reduce_join`, counted from the front, in the order of joining.

    Raises:
        InvalidArgumentError: there is no such dimension, or one is given twice.
    """
    if axis is None:
        return tuple(reversed(range(rank)))
    found: list[int] = []
    for number in (axis,) if isinstance(axis, int) else axis:
        if not -rank <= number < rank:
            raise invalid(
                f"Invalid reduction dimension {number} for input with {rank} "
                f"dimension(s): it must be in [{-rank}, {rank})"
            )
        if number % rank in found:
            raise invalid(f"Duplicate reduction dimension {number % rank} in {axis}")
        found.append(number % rank)
    return tuple(found)


def reduce_join(
    xp: ArrayModule,
    x: numpy.ndarray,
    *,
    axis: int | Sequence[int] | None,
    keepdims: bool,
    separator: bytes,
) -> numpy.ndarray:
    """Give texts put together along axes, the first of which goes fastest."""
    folded = axes_in_order(axis, x.ndim)
    kept = [d for d in range(x.ndim) if d not in folded]
    sizes = [x.shape[d] for d in kept]
    count = math.prod(x.shape[d] for d in folded)
    rows = x.transpose(*kept, *reversed(folded)).reshape(*sizes, count)
    out = numpy.empty(sizes, object)
    for place in numpy.ndindex(*sizes):
        out[place] = separator.join(rows[place])
    shape = [1 if d in folded else n for d, n in enumerate(x.shape)]
    return out.reshape(shape) if keepdims else out


def strip(xp: ArrayModule, x: numpy.ndarray) -> numpy.ndarray:
    """Give texts without white space at their ends."""
    return each(bytes.strip, x)


def _unicode(item: bytes) -> str:
    return item.decode("utf-8", "replace")


def lower(xp: ArrayModule, x: numpy.ndarray, *, encoding: str) -> numpy.ndarray:
    """Give texts in small letters: of ASCII, or with an encoding of Unicode."""
    return each(lambda item: _unicode(item).lower().encode() if encoding else item.lower(), x)


def upper(xp: ArrayModule, x: numpy.ndarray, *, encoding: str) -> numpy.ndarray:
    """Give texts in capitals. See `lower`."""
    return each(lambda item: _unicode(item).upper().encode() if encoding else item.upper(), x)


def length(xp: ArrayModule, x: numpy.ndarray, *, unit: str) -> numpy.ndarray:
    """Give the number of bytes, or of characters, of texts."""
    return each(len if unit == "BYTE" else _characters, x, dtype=numpy.int32)


def _characters(item: bytes) -> int:
    """Count the bytes that begin a character, so that bytes which are no text count too."""
    return sum(byte & 0xC0 != 0x80 for byte in item)


def substr(
    xp: ArrayModule, x: numpy.ndarray, position: Any, count: Any, *, unit: str
) -> numpy.ndarray:
    """Give parts of texts. Raises InvalidArgumentError where a part begins outside."""

    def part(item: bytes, start: int, number: int) -> bytes:
        text: Any = item if unit == "BYTE" else _text(item)
        if not -len(text) <= start <= len(text):
            raise invalid(f"pos {start} out of range for string {item!r} of length {len(text)}")
        start += len(text) if start < 0 else 0
        found = text[start:] if number < 0 else text[start : start + number]
        return found if unit == "BYTE" else _bytes(found)

    return each(part, x, position, count)


def replace(
    xp: ArrayModule, x: numpy.ndarray, *, pattern: str, rewrite: str, count: int
) -> numpy.ndarray:
    """Give texts with matches of a regular expression rewritten, `count` of them or (0) all."""
    # A group is one digit, and 0 the whole match: as RE2 has it, which Python spells otherwise.
    new = re.sub(r"\\(.)", _group, rewrite)
    matcher = _matcher(pattern)
    return each(lambda item: _bytes(matcher.sub(new, _text(item), count)), x)


# Characters that RE2 has names for inside of brackets, as ``[[:punct:]]``, and Python has not.
_CLASSES = {
    "alnum": "0-9A-Za-z",
    "alpha": "A-Za-z",
    "ascii": r"\x00-\x7f",
    "blank": r"\t ",
    "cntrl": r"\x00-\x1f\x7f",
    "digit": "0-9",
    "graph": "!-~",
    "lower": "a-z",
    "print": " -~",
    "punct": r"!-/:-@\[-`{-~",
    "space": r"\t\n\v\f\r ",
    "upper": "A-Z",
    "word": "0-9A-Za-z_",
    "xdigit": "0-9A-Fa-f",
}
_SET = r"\[\^?\]?(?:\[:\^?\w+:\]|\\.|[^\]\\])*\]"  # one character in brackets


def _matcher(pattern: str) -> re.Pattern[str]:
    """Compile what RE2 takes for characters, `\\w` and its like for those of ASCII."""
    # The end of a text, which Python sees before a last new line, too.
    end = "$" if re.search(r"\(\?\w*m", pattern) else r"\Z"

    def spelled(part: re.Match[str]) -> str:
        if part[0].startswith("["):
            return "[" + re.sub(r"\[:(\^?\w+):\]", named, part[0][1:])
        return end if part[0] == "$" else part[0]

    def named(characters: re.Match[str]) -> str:
        if characters[1] not in _CLASSES:
            raise invalid(f"Invalid pattern: {pattern}, error: no characters {characters[0]}")
        return _CLASSES[characters[1]]

    try:
        return re.compile(re.sub(rf"\\.|{_SET}|\$", spelled, pattern, flags=re.DOTALL), re.ASCII)
    except re.error as error:
        raise invalid(f"Invalid pattern: {pattern}, error: {error}") from None


def _group(escaped: re.Match[str]) -> str:
    return rf"\g<{escaped[1]}>" if escaped[1].isdigit() else escaped[0]


def _text(item: bytes) -> str:
    return item.decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def full_match(xp: ArrayModule, x: numpy.ndarray, *, pattern: str) -> numpy.ndarray:
    """Give whether a regular expression matches each text as a whole."""
    matcher = _matcher(pattern)
    return each(lambda item: matcher.fullmatch(_text(item)) is not None, x, dtype=bool)
