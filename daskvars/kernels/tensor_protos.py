"""Tensors as bytes, in TensorFlow's format: a message ``TensorProto`` of protocol buffers.

See https://protobuf.dev/programming-guides/encoding/: a field is a number (its tag times 8 plus how
it is written) and a value, a number in groups of seven bits or so many bytes. Of a tensor there are
its dtype (1), its shape (2) and its elements, as they are in memory (4) or one by one.
"""

from __future__ import annotations

import itertools
import re
import struct
from collections.abc import Iterator
from typing import Any

import numpy as np

from daskvars.backend import Array, ArrayModule
from daskvars.device_array import host_kernel
from daskvars.dtypes import DType, as_dtype, string
from daskvars.errors import InvalidArgumentError, invalid

NUMBER, FIXED64, DELIMITED, FIXED32 = 0, 1, 2, 5  # how a value is written
DTYPE, SHAPE, CONTENT, STRINGS = 1, 2, 4, 8  # tags
# Tags of elements one by one: how they are written, and as what. Halves are bits in integers.
ELEMENTS = {
    5: "<f4",
    6: "<f8",
    7: None,
    9: "<f4",
    10: None,
    11: None,
    12: "<f8",
    13: None,
    16: None,
    17: None,
}


def _number(value: int) -> bytes:
    """Return a number in groups of seven bits.

    >>> _number(300)
    b'\\xac\\x02'
    """
    value &= (1 << 64) - 1
    groups = bytearray()
    while value > 127:
        groups.append(value & 127 | 128)
        value >>= 7
    return bytes([*groups, value])


def _field(tag: int, value: int | bytes) -> bytes:
    if isinstance(value, int):
        return _number(tag << 3 | NUMBER) + _number(value)
    return _number(tag << 3 | DELIMITED) + _number(len(value)) + value


def encode(array: np.ndarray, dtype: DType, strings_apart: bool) -> bytes:
    """Return an array as the bytes of a message.

    Args:
      strings_apart: each string is a field, as in `serialize_tensor`; else all of them are one.
    """
    sizes = b"".join(_field(2, _field(1, n) if n else b"") for n in array.shape)
    message = _field(DTYPE, dtype.as_datatype_enum) + _field(SHAPE, sizes)
    if dtype is not string:
        content = np.ascontiguousarray(array).tobytes()
        return message + (_field(CONTENT, content) if content else b"")
    items = array.reshape(-1).tolist()
    if strings_apart:
        return message + b"".join(_field(STRINGS, item) for item in items)
    content = b"".join(_number(len(item)) for item in items) + b"".join(items)
    return message + (_field(CONTENT, content) if content else b"")


def _read_number(data: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        value |= (data[place] & 127) << shift
        place, shift = place + 1, shift + 7
        if not data[place - 1] & 128:
            return value, place


def _fields(data: bytes) -> Iterator[tuple[int, int | bytes]]:
    place = 0
    while place < len(data):
        key, place = _read_number(data, place)
        tag, kind = key >> 3, key & 7
        if kind == NUMBER:
            value, place = _read_number(data, place)
            yield tag, value
            continue
        size = 8 if kind == FIXED64 else 4
        if kind == DELIMITED:
            size, place = _read_number(data, place)
        elif kind not in (FIXED64, FIXED32):
            raise ValueError(f"a field of kind {kind}")
        if place + size > len(data):
            raise IndexError
        yield tag, data[place : place + size]
        place += size


def decode(data: bytes, dtype: DType) -> np.ndarray:
    """Return the array that the bytes of a message are.

    Raises:
      InvalidArgumentError: they are no such message, or are of another dtype.
    """
    try:
        return _decoded(data, dtype)
    except (IndexError, ValueError, struct.error) as error:
        raise invalid(
            f"Could not parse `serialized` as TensorProto: {data[:40].decode('latin-1')!r}, "
            f"{len(data)} bytes: {error or 'it is cut'}"
        ) from None


def _decoded(data: bytes, dtype: DType) -> np.ndarray:
    found: DType | None = None
    sizes: list[int] = []
    content = b""
    strings: list[bytes] = []
    numbers: list[Any] = []
    for tag, value in _fields(data):
        if tag == DTYPE and isinstance(value, int):
            found = as_dtype(value)
        elif tag == SHAPE and isinstance(value, bytes):
            for inner, size in _fields(value):
                if inner == 2 and isinstance(size, bytes):
                    sizes.append(next((int(n) for t, n in _fields(size) if t == 1), 0))
        elif isinstance(value, bytes) and tag == CONTENT:
            content = value
        elif isinstance(value, bytes) and tag == STRINGS:
            strings.append(value)
        elif tag in ELEMENTS:
            numbers += _elements(value, ELEMENTS[tag])
    if found is not dtype:
        raise invalid(
            f"Type mismatch between parsed tensor ({found.name if found else 'none'}) and dtype "
            f"({dtype.name})"
        )
    return _array(sizes, dtype, content, strings, numbers)


def _elements(value: int | bytes, kind: str | None) -> list[Any]:
    """Return the elements of a field: one number, or many in a row."""
    if isinstance(value, int):
        return [value - (1 << 64) if value >> 63 else value]
    if kind:
        return np.frombuffer(value, kind).tolist()
    items, place = [], 0
    while place < len(value):
        number, place = _read_number(value, place)
        items.append(number - (1 << 64) if number >> 63 else number)
    return items


def _array(
    sizes: list[int], dtype: DType, content: bytes, strings: list[bytes], numbers: list[Any]
) -> np.ndarray:
    count = int(np.prod(sizes, dtype=np.int64))
    if dtype is string:
        out = np.empty(count, object)
        out[...] = b""
        items = strings
        if content:
            lengths, place = [], 0
            for _ in range(count):
                length, place = _read_number(content, place)
                lengths.append(length)
            ends = np.cumsum([place, *lengths]).tolist()
            items = [content[a:b] for a, b in itertools.pairwise(ends)]
        out[: len(items)] = items
        return out.reshape(sizes)
    if content:
        return np.frombuffer(content, dtype.np).reshape(sizes).copy()
    if dtype.np.kind == "c":
        values = np.array(numbers, np.float64).view(np.complex128)
    elif dtype.np.itemsize == 2 and dtype.is_floating:
        values = np.array(numbers, np.uint16).view(dtype.np)
    else:
        values = np.array(numbers)
    # The last one stands for all that are left.
    filled = np.zeros(count, dtype.np)
    if len(values):
        filled[:] = values[-1]
        filled[: len(values)] = values
    return filled.reshape(sizes)


# -- kernels -----------------------------------------------------------------------------------


@host_kernel
def serialize_tensor(xp: ArrayModule, x: Array, *, dtype: DType) -> np.ndarray:
    """Give an array as bytes."""
    return np.array(encode(np.asarray(x), dtype, strings_apart=True), object)


@host_kernel
def parse_tensor(xp: ArrayModule, data: Any, *, dtype: DType) -> np.ndarray:
    """Give the array that bytes are."""
    if not isinstance(data, bytes) and data.shape != ():
        raise invalid(f"Expected `serialized` to be a scalar, got shape: {list(data.shape)}")
    return decode(data if isinstance(data, bytes) else data.item(), dtype)


@host_kernel
def serialize_sparse(
    xp: ArrayModule, places: Array, values: Array, shape: Array, *, dtype: DType
) -> np.ndarray:
    """Give the three parts of a sparse tensor as bytes, [3]."""
    return _three(np.asarray(places), np.asarray(values), np.asarray(shape), dtype)


def _three(places: Any, values: Any, shape: Any, dtype: DType) -> np.ndarray:
    out = np.empty(3, object)
    int64 = as_dtype(np.int64)
    parts = ((places, int64), (values, dtype), (shape, int64))
    out[...] = [encode(part, kind, strings_apart=False) for part, kind in parts]
    return out


@host_kernel
def serialize_many_sparse(
    xp: ArrayModule, places: Array, values: Array, shape: Array, *, dtype: DType
) -> np.ndarray:
    """Give each row of a sparse tensor as bytes, [rows, 3]."""
    where, what, sizes = (np.asarray(part) for part in (places, values, shape))
    if not len(sizes) or where.shape[1:] != sizes.shape:
        raise invalid(f"Rank of input SparseTensor should be > 1, got shape {sizes.tolist()}")
    rows = int(sizes[0])
    out = np.empty((rows, 3), object)
    for row in range(rows):
        mine = where[:, 0] == row
        out[row] = _three(where[mine, 1:], what[mine], sizes[1:], dtype)
    return out


_DTYPE_FOUND = re.compile(r"Type mismatch between parsed tensor \((\w+)\)")


def _sparse_row(number: int, three: list[bytes], dtype: DType) -> list[np.ndarray]:
    """Return places, values and shape of what is a row of others."""
    int64 = as_dtype(np.int64)
    kinds = zip(three, (int64, dtype, int64), strict=True)
    try:
        return [decode(item, kind) for item, kind in kinds]
    except InvalidArgumentError as error:
        text = f"Could not parse serialized proto of SparseTensor[{number}]: {error.message}"
        found = _DTYPE_FOUND.match(error.message)
        if found:
            text = (
                f"Requested SparseTensor of type {dtype.name} but "
                f"SparseTensor[{number}].values.dtype() == {found[1]}"
            )
        raise invalid(text) from None


@host_kernel
def deserialize_many_sparse(
    xp: ArrayModule, serialized: Any, *, dtype: DType
) -> tuple[Any, Any, Any]:
    """Give (places, values, shape) of sparse tensors as the rows of one."""
    rows = [_sparse_row(number, three, dtype) for number, three in enumerate(serialized.tolist())]
    if not rows:
        raise invalid("Must have at least 1 serialized element, got none")
    ranks = [len(shape) for _, _, shape in rows]
    for number, rank in enumerate(ranks):
        if rank != ranks[0]:
            raise invalid(
                "Inconsistent shape across SparseTensors: rank prior to "
                f"SparseTensor[{number}] was: {ranks[0]} but rank of SparseTensor[{number}] is: "
                f"{rank}"
            )
    places = [
        np.concatenate([np.full((len(where), 1), number, np.int64), where], axis=1)
        for number, (where, _, _) in enumerate(rows)
    ]
    sizes = np.max([shape for _, _, shape in rows], axis=0)
    values = np.concatenate([what for _, what, _ in rows])
    return np.concatenate(places), values, np.array([len(rows), *sizes.tolist()], np.int64)
