"""The lines of a file as keys and values of a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy

from daskvars.dtypes import DType, string
from daskvars.errors import OutOfRangeError, invalid
from daskvars.kernels.opened_files import opened

WHOLE_LINE, LINE_NUMBER = -2, -1


def pairs_of_lines(
    filename: bytes,
    indices: tuple[int, int],
    dtypes: tuple[DType, DType],
    vocab_size: int,
    delimiter: str,
) -> tuple[list[Any], list[Any]]:
    """Return the keys and values in a file.

    Args:
      indices: what of a line is the key, and what the value: a column, or one of the constants.
      vocab_size: how many lines to read, negative for all.
      delimiter: between columns.

    Raises:
      InvalidArgumentError: a line is empty or has not these columns, or there are too few lines.
      OutOfRangeError: the file is empty.
    """
    with opened(filename) as file:
        lines = file.read().split(b"\n")
    if not lines[-1]:
        lines.pop()
    name = filename.decode()
    if not lines:
        raise OutOfRangeError.saying(f"{name} is empty: there is nothing to fill a table with")
    if vocab_size > len(lines):
        raise invalid(f"Invalid vocab_size in {name}: expected {vocab_size} but got {len(lines)}")
    lines = [line.removesuffix(b"\r") for line in lines[: vocab_size if vocab_size > 0 else None]]
    if b"" in lines:
        raise invalid(
            f"Invalid content in {name}: empty line found at position {lines.index(b'')}."
        )
    rows = [line.split(delimiter.encode()) for line in lines] if max(indices) >= 0 else []
    _check_columns(name, lines, rows, max(indices) + 1)
    keys, values = (
        _column(lines, rows, index, dtype) for index, dtype in zip(indices, dtypes, strict=True)
    )
    return keys, values


def _check_columns(
    name: str, lines: Sequence[bytes], rows: Sequence[Sequence[bytes]], count: int
) -> None:
    for number, row in enumerate(rows):
        if len(row) < count:
            raise invalid(
                f"Invalid number of columns in {name} line {number} ({lines[number].decode()}) : "
                f"expected {count} got {len(row)}"
            )


def _column(lines: Sequence[bytes], rows: Any, index: int, dtype: DType) -> list[Any]:
    if index == LINE_NUMBER:
        return list(range(len(lines)))
    texts = list(lines) if index == WHOLE_LINE else [row[index] for row in rows]
    if dtype == string:
        return texts
    # As numbers of the dtype, so that a float32 is found as what it is rounded to.
    read: Callable[[Any], Any] = int if dtype.is_integer else float
    found = []
    for number, text in enumerate(texts):
        try:
            found.append(numpy.array(read(text), dtype.as_numpy_dtype).item())
        except (ValueError, OverflowError):
            raise invalid(
                f"Field {text.decode()} in line {number} is not a valid {dtype.name}."
            ) from None
    return found
