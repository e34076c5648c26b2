"""Arrays to the bytes of a Zarr v3 chunk object and back.

A chunk object is the chunk's elements, little endian and in C order (Zarr's ``bytes`` codec),
then their crc32c (Zarr's ``crc32c`` codec); no compression, as float weights hardly compress.
Zarr stores every chunk at full size, so a smaller one at the edge is padded with zeros. Strings
are Zarr's ``variable_length_bytes`` (``vlen-bytes`` codec: a count, then the length and the bytes
of each). Nothing is ever pickled. A dtype that Zarr lacks is stored as the integer of its size,
bfloat16 as uint16, qint8 as int8 and so on; the true dtype is in the array's attributes and in the
manifest.
"""

from __future__ import annotations

import math
import struct
import sys
from functools import cache
from typing import Any

import google_crc32c
import numpy as np

from daskvars.dtypes import as_dtype
from daskvars.errors import invalid

STRINGS = "variable_length_bytes"

STORED_AS = {
    "bfloat16": "uint16",
    "qint8": "int8",
    "quint8": "uint8",
    "qint16": "int16",
    "quint16": "uint16",
    "qint32": "int32",
    "string": STRINGS,
}
"""Zarr data types of the dtypes that Zarr does not have."""

AS_NAMED = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
)
"""Dtypes that Zarr has, by the same name."""

CHECKSUM_BYTES = 4
CHECKSUM_STEP = 1 << 20


def is_storable(dtype: str) -> bool:
    """Tell whether values of a dtype, given by name, can be stored."""
    return dtype in AS_NAMED or dtype in STORED_AS


def zarr_data_type(dtype: str) -> str:
    """Give the Zarr data type that stores a dtype.

    >>> zarr_data_type("bfloat16"), zarr_data_type("float32")
    ('uint16', 'float32')
    """
    return STORED_AS.get(dtype, dtype)


@cache
def item_bytes(dtype: str) -> int:
    """Give the size of one element; for a string that of a reference, as NumPy counts it."""
    data_type = zarr_data_type(dtype)
    return np.dtype(object).itemsize if data_type == STRINGS else np.dtype(data_type).itemsize


def encoded_bytes(dtype: str, full_shape: tuple[int, ...]) -> int | None:
    """Give the bytes that a chunk takes, without its checksum; None where its values decide."""
    is_fixed = zarr_data_type(dtype) != STRINGS
    return math.prod(full_shape) * item_bytes(dtype) if is_fixed else None


def zarr_codecs(dtype: str, compressor: Any = None) -> list[dict[str, Any]]:
    """Give the Zarr codec chain of a dtype, with the document of a compressor if there is one."""
    is_strings = zarr_data_type(dtype) == STRINGS
    first = ("vlen-bytes", {}) if is_strings else ("bytes", {"endian": "little"})
    between = [compressor] if compressor else []
    return [{"name": first[0], "configuration": first[1]}, *between, {"name": "crc32c"}]


def zarr_fill_value(dtype: str) -> Any:
    """Give the fill value, zero, as Zarr's metadata spells it for a dtype."""
    data_type = zarr_data_type(dtype)
    if data_type == STRINGS:
        return ""
    if data_type == "bool":
        return False
    return [0.0, 0.0] if data_type.startswith("complex") else 0


@cache
def memory_dtype(dtype: str) -> np.dtype:
    """Give the NumPy dtype in which values of a dtype are computed with."""
    return as_dtype(dtype).np


def encode(array: Any, dtype: str, full_shape: tuple[int, ...]) -> np.ndarray:
    """Give the bytes of a chunk, without their checksum.

    Args:
        array: the chunk's elements, in the NumPy dtype of `dtype`.
        dtype: the variable's dtype, by name.
        full_shape: the shape of the stored chunk; larger than `array` at the edges.

    Returns:
        A uint8 vector; a view of `array` where its bytes already are as Zarr wants them.

    Raises:
        InvalidArgumentError: a string element is not bytes.
    """
    array = padded(array, full_shape)
    if zarr_data_type(dtype) == STRINGS:
        return np.frombuffer(encode_strings(array), np.uint8)
    stored = np.dtype(zarr_data_type(dtype))
    flat = np.ascontiguousarray(array).reshape(-1).view(stored)
    return flat.astype(stored.newbyteorder("<"), copy=False).view(np.uint8)


def padded(array: np.ndarray, full_shape: tuple[int, ...]) -> np.ndarray:
    """Extend a chunk at the edge to the full chunk shape, with zeros or empty strings."""
    if array.shape == full_shape:
        return array
    full = np.full(full_shape, b"" if array.dtype == object else 0, array.dtype)
    full[tuple(slice(size) for size in array.shape)] = array
    return full


def encode_strings(array: np.ndarray) -> bytes:
    """Encode an object array of bytes as Zarr's vlen-bytes codec does."""
    pieces = [struct.pack("<I", array.size)]
    for value in array.flat:
        if not isinstance(value, bytes):
            raise invalid(
                f"string element {value!r} is {type(value).__name__}, not bytes; encode it first"
            )
        pieces += (struct.pack("<I", len(value)), value)
    return b"".join(pieces)


def blank(dtype: str, full_shape: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """Give a new array for a full chunk, and its bytes to read a chunk object into."""
    array = np.empty(full_shape, memory_dtype(dtype))
    return array, array.reshape(-1).view(np.uint8)


def native(array: np.ndarray) -> np.ndarray:
    """Give an array whose bytes were read from a chunk object in the order of this machine."""
    return array if sys.byteorder == "little" else array.byteswap(inplace=True)


def decode_strings(data: bytes, count: int) -> np.ndarray:
    """Decode what Zarr's vlen-bytes codec wrote.

    Raises:
        ValueError: the bytes are not those of so many strings.
    """
    if data[:4] != struct.pack("<I", count) or len(data) < 4 + 4 * count:
        raise ValueError(f"no {count} strings")
    values, position = np.empty(count, object), 4
    for i in range(count):
        if position + 4 > len(data):
            raise ValueError(f"only {i} of {count} strings")
        (length,) = struct.unpack_from("<I", data, position)
        position += 4 + length
        values[i] = data[position - length : position]
    if position != len(data):
        raise ValueError(f"{count} strings take {position} bytes, not {len(data)}")
    return values


class Checksum:
    """The crc32c of bytes that come piece by piece."""

    __slots__ = ("value",)

    def __init__(self) -> None:
        self.value = 0

    def add(self, piece: Any) -> None:
        """Go on with the next bytes; other threads come in between."""
        self.value = google_crc32c.extend(self.value, piece)


def checksum(data: np.ndarray) -> int:
    """Compute the crc32c of a uint8 vector."""
    found = Checksum()
    for start in range(0, len(data), CHECKSUM_STEP):
        found.add(data[start : start + CHECKSUM_STEP])
    return found.value
