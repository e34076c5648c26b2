"""NumPy's ``npz``: a zip archive of arrays."""

from __future__ import annotations

import math
import threading
import zipfile
from collections.abc import Mapping
from functools import partial
from typing import IO, Any

import numpy as np

from daskvars.state.external.whole_arrays import record_of_array, whole_value
from daskvars.state.format.assembly import Load
from daskvars.state.format.grids import Index
from daskvars.state.format.manifest import VariableRecord

MAX_DEFLATION = 1100
"""Bytes that one compressed byte stands for at most: deflate reaches 1032."""
# A header is text of Python. Its parser counts how deep it is for all threads together (3.11): of
# two that read headers at once one may fail ("AST constructor recursion depth mismatch").
_PARSING = threading.Lock()


def write_npz(path: str, records: Mapping[str, VariableRecord], load: Load) -> None:
    """Write what ``numpy.savez`` would, one array after another."""
    with zipfile.ZipFile(path, "w") as file:
        for name, record in records.items():
            with file.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, whole_value(record, load), allow_pickle=False)


def open_npz(path: str) -> tuple[dict[str, VariableRecord], Load]:
    """Describe what is in an npz file, having compared what arrays claim with what is there.

    Raises:
        OSError, ValueError, EOFError, BadZipFile: it is damaged, or holds something else.
    """
    records = {}
    with zipfile.ZipFile(path) as file:
        for entry in file.infolist():
            if not entry.filename.endswith(".npy"):
                raise ValueError(f"{entry.filename!r} is no array")
            with file.open(entry) as content:
                shape, _, dtype = read_header(content)
            claimed = math.prod(shape) * dtype.itemsize
            if dtype.hasobject or claimed > entry.compress_size * MAX_DEFLATION:
                raise ValueError(
                    f"{entry.filename!r} claims {shape} of {dtype} in {entry.compress_size} bytes"
                )
            name = entry.filename.removesuffix(".npy")
            records[name] = record_of_array(path, name, dtype, shape)
    return records, partial(load_npy, path)


def load_npy(path: str, record: VariableRecord, index: Index) -> np.ndarray:
    """Read one array, whole."""
    name = f"{record.key}.npy"
    with zipfile.ZipFile(path) as file, file.open(name) as content:
        shape, in_columns, dtype = read_header(content)
        claimed = math.prod(shape) * dtype.itemsize
        data = content.read(claimed)
        if len(data) != claimed or content.read(1):
            raise ValueError(f"{name!r} has not the {claimed} bytes it claims")
    array = np.frombuffer(data, dtype).reshape(shape, order="F" if in_columns else "C")
    return np.array(array, dtype.newbyteorder("="))


def read_header(content: IO[bytes]) -> Any:
    """Give what stands before an array: its shape, whether it is stored by columns, its dtype."""
    version = np.lib.format.read_magic(content)
    is_first = version == (1, 0)
    read = np.lib.format.read_array_header_1_0 if is_first else np.lib.format.read_array_header_2_0
    with _PARSING:
        return read(content)
