"""Text and bytes into each other: the functions of `tf.compat`."""

from __future__ import annotations

import numbers
import os
from typing import Any

import numpy

__all__ = [
    "as_bytes",
    "as_str",
    "as_str_any",
    "as_text",
    "bytes_or_text_types",
    "complex_types",
    "integral_types",
    "path_to_str",
    "real_types",
]

integral_types = (numbers.Integral, numpy.integer)
real_types = (numbers.Real, numpy.integer, numpy.floating)
complex_types = (numbers.Complex, numpy.number)
bytes_or_text_types = (bytes, str)


def as_bytes(bytes_or_text: str | bytes, encoding: str = "utf-8") -> bytes:
    """Return text or bytes as bytes. Raises TypeError for anything else.

    >>> as_bytes("name")
    b'name'
    """
    if isinstance(bytes_or_text, str):
        return bytes_or_text.encode(encoding)
    if isinstance(bytes_or_text, bytes | bytearray):
        return bytes(bytes_or_text)
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


def as_text(bytes_or_text: str | bytes, encoding: str = "utf-8") -> str:
    """Return text or bytes as text. Raises TypeError for anything else."""
    return as_bytes(bytes_or_text, encoding).decode(encoding)


as_str = as_text


def as_str_any(value: Any) -> str:
    """Return bytes decoded, anything else as `str` gives it."""
    return as_text(value) if isinstance(value, bytes) else str(value)


def path_to_str(path: Any) -> Any:
    """Return a path object as a string, anything else as it is."""
    return os.fspath(path) if hasattr(path, "__fspath__") else path
