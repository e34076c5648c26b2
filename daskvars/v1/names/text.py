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
    """Return text or bytes as bytes.

    Args:
      bytes_or_text: str or bytes.
      encoding: of the bytes.

    Raises:
      TypeError: it is something else.

    >>> as_bytes("name")
    b'name'
    """
    if isinstance(bytes_or_text, str):
        return bytes_or_text.encode(encoding)
    if isinstance(bytes_or_text, bytes | bytearray):
        return bytes(bytes_or_text)
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


def as_text(bytes_or_text: str | bytes, encoding: str = "utf-8") -> str:
    """Return text or bytes as text.

    Args:
      bytes_or_text: str or bytes.
      encoding: that the bytes have.

    Raises:
      TypeError: it is something else.

    >>> as_text(b"name")
    'name'
    """
    return as_bytes(bytes_or_text, encoding).decode(encoding)


as_str = as_text


def as_str_any(value: Any) -> str:
    """Return bytes decoded, anything else as `str` gives it.

    Args:
      value: anything.

    >>> as_str_any(b"name"), as_str_any(7)
    ('name', '7')
    """
    return as_text(value) if isinstance(value, bytes) else str(value)


def path_to_str(path: Any) -> Any:
    """Return a path object as a string, anything else as it is.

    Args:
      path: a str, a ``pathlib.Path`` or something else.

    >>> import pathlib
    >>> path_to_str(pathlib.PurePosixPath("logs") / "today"), path_to_str("logs")
    ('logs/today', 'logs')
    """
    return os.fspath(path) if hasattr(path, "__fspath__") else path
