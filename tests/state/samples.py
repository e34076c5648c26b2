"""Values to store: every dtype, and the shapes and layouts that are easy to get wrong."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from daskvars.dtypes import as_dtype
from daskvars.shapes import Chunks, block_indices, block_slices, whole
from daskvars.state import Blocks, VariableRecord

DTYPES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128", "bfloat16", "string"),
    *("qint8", "quint8", "qint16", "quint16", "qint32"),
)

LAYOUTS: tuple[Chunks, ...] = (
    (),
    ((0,),),
    ((1,),),
    ((7,),),
    ((3, 3, 1),),
    ((4, 3, 3),),
    ((2, 5, 2),),
    ((0, 3, 0, 2),),
    ((2, 2, 1), (3, 1)),
    ((4,), (1, 1, 1)),
    ((0,), (2, 2)),
    ((2, 3), (1, 4), (2, 2, 2)),
)


def sample(dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    """Give an array of a dtype whose elements all differ as far as the dtype allows."""
    count = math.prod(shape)
    if dtype == "string":
        strings = np.empty(count, object)
        strings[:] = [b"\x00\xff" * (i % 3) + str(i).encode() for i in range(count)]
        return strings.reshape(shape)
    numbers = np.arange(count) * 7 + 1
    if dtype.startswith("complex"):
        numbers = numbers - 1j * numbers
    if dtype == "bool":
        numbers = numbers % 2
    return numbers.astype(as_dtype(dtype).np).reshape(shape)


def cut(array: np.ndarray, chunks: Chunks) -> Blocks:
    """Cut an array into the blocks of a layout."""
    return {index: array[block_slices(chunks, index)] for index in block_indices(chunks)}


def joined(blocks: Blocks, chunks: Chunks) -> np.ndarray:
    """Put the blocks of a layout together."""
    shape = tuple(sum(sizes) for sizes in chunks)
    array = np.empty(shape, next(iter(blocks.values())).dtype)
    for index in block_indices(chunks):
        array[block_slices(chunks, index)] = blocks[index]
    return array


def variable(
    key: str, array: np.ndarray, chunks: Chunks | None = None, dtype: str = ""
) -> tuple[VariableRecord, Blocks]:
    """Give the record and the blocks of a variable with a value."""
    chunks = whole(array.shape) if chunks is None else chunks
    record = VariableRecord(key, dtype or as_dtype(array.dtype).name, array.shape, chunks)
    return record, cut(array, chunks)


def contents(place: Path) -> dict[str, bytes]:
    """Give all files of a store but its lock."""
    return {
        str(path.relative_to(place)): path.read_bytes()
        for path in place.rglob("*")
        if path.is_file() and path.parent.name != "lock"
    }


def assert_same(found: np.ndarray, wanted: np.ndarray) -> None:
    """Check dtype, shape and bits."""
    assert found.dtype == wanted.dtype
    assert found.shape == wanted.shape
    if wanted.dtype == object:
        assert found.tolist() == wanted.tolist()
    else:
        assert found.tobytes() == wanted.tobytes()
