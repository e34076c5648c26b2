"""Reading and writing the chunks of a snapshot.

Writing needs the store, the snapshot's path and a `ChunkRef`, so any process can do it. Reading
trusts nothing: Zarr gives zeros for a missing chunk, so here every chunk's length and crc32c are
compared with the manifest's before a value is made of it, and nothing is allocated for a size that
no object has.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from functools import lru_cache, partial
from typing import Any, NamedTuple

import numpy as np
from zarr.abc.store import Store as ZarrStorage

from daskvars.errors import CorruptChunkError, StoreError, invalid
from daskvars.shapes import Chunks
from daskvars.state.format.assembly import assemble_values
from daskvars.state.format.compression import SLACK_BYTES, compress, decompress
from daskvars.state.format.documents import chunk_object
from daskvars.state.format.encoding import (
    CHECKSUM_BYTES,
    Checksum,
    blank,
    decode_strings,
    encode,
    encoded_bytes,
    item_bytes,
    memory_dtype,
    native,
)
from daskvars.state.format.grids import Grid, Index, selection_shape
from daskvars.state.format.manifest import VariableRecord
from daskvars.state.format.sharding import MOST_MORE_BYTES, inner_shape, parsed, sharded, unsharded
from daskvars.state.stores.disk import STEP_BYTES
from daskvars.state.stores.objects import get_into, in_parallel, join, put
from daskvars.versioned import Versioned

MAX_STRING_BYTES = 1 << 31
"""A chunk of strings of more bytes than this is damaged."""


class ChunkRef(NamedTuple):
    """All that reading or writing one stored chunk needs; small enough to travel with a task.

    Attributes:
        key: the variable's key.
        index: the chunk's index in the variable's grid.
        name: the chunk's object in the snapshot.
        dtype: the variable's dtype, by name.
        shape: the chunk's shape.
        full_shape: the shape at which it is stored; larger at the edges.
        digest: crc32c of its bytes; None before it was written.
        codec: what it is compressed with or made a shard; empty where it is not.
    """

    key: str
    index: Index  # type: ignore[assignment]
    name: str
    dtype: str
    shape: tuple[int, ...]
    full_shape: tuple[int, ...]
    digest: int | None
    codec: str = ""


def chunk_ref(record: VariableRecord, index: Index) -> ChunkRef:
    """Give the reference to one chunk of a variable.

    Args:
        record: the variable, from a snapshot's manifest, or from its writer.
        index: the chunk's index in ``record.grid``.

    Raises:
        InvalidArgumentError: no such chunk, or a record of no snapshot.
    """
    shape, position = place_in(record.grid, index)
    if position < 0:
        check_index(record, index)
    return ChunkRef(
        record.key,
        index,
        chunk_object(record, index),
        record.dtype,
        shape,
        record.grid.chunk_shape,
        record.digests[position] if record.digests else None,
        record.codec,
    )


@lru_cache(maxsize=4096)
def place_in(grid: Grid, index: Index) -> tuple[tuple[int, ...], int]:
    """Give a chunk's shape and its number in C order, -1 for one that the grid has not.

    A model has many variables of few grids.
    """
    if index not in grid:
        return (), -1
    return selection_shape(grid.selection(index)), grid.position(index)


def check_index(record: VariableRecord, index: Index) -> None:
    """Refuse an index outside a variable's grid."""
    if index not in record.grid:
        raise invalid(
            f"variable {record.key!r} has no chunk {index};"
            f" its stored chunks form a {record.grid.counts} grid"
        )


def write_ref(store: ZarrStorage, path: str, chunk: ChunkRef, array: np.ndarray | Versioned) -> int:
    """Write one chunk of a declared variable, from any process.

    Args:
        path: the snapshot's path in it.
        chunk: the chunk, ``chunk_ref(writer.records[key], index)``.
        array: the chunk's elements, in the variable's NumPy dtype. A version of a block is
            written piece by piece, whatever becomes of its memory meanwhile.

    Returns:
        The crc32c of the chunk's bytes, for `SnapshotWriter.commit`.

    Raises:
        InvalidArgumentError: an array of another shape or dtype than declared.
        StoreError: the store refuses it.
    """
    found = Checksum()
    put(store, join(path, chunk.name), object_parts(chunk, array, found))
    return found.value


def object_parts(chunk: ChunkRef, array: np.ndarray | Versioned, found: Checksum) -> Iterator[Any]:
    """Give the bytes of a chunk's object in pieces, having checked that the array is one."""
    check_array(chunk, array)
    if chunk.codec:
        return coded_parts(chunk, chunk_bytes(chunk, np.asarray(array)), found)
    if not isinstance(array, Versioned):
        return checked_parts(chunk_bytes(chunk, array), None, found)
    if array.shape[1:] != chunk.full_shape[1:] or encoded_bytes(chunk.dtype, array.shape) is None:
        return checked_parts(chunk_bytes(chunk, np.asarray(array)), None, found)
    return version_parts(chunk, array, found)


def coded_parts(chunk: ChunkRef, data: np.ndarray, found: Checksum) -> Iterator[Any]:
    """Give a chunk's bytes in pieces, as a shard or compressed."""
    inner = inner_shape(chunk.codec, chunk.dtype, chunk.full_shape)
    if inner is not None:
        return checked_parts(*sharded(*form(chunk), inner, data), found)
    compressor = parsed(chunk.codec).compressor
    if compressor:
        data = compress(compressor, data, item_bytes(chunk.dtype))
    return checked_parts(data, None, found)


def form(chunk: ChunkRef) -> tuple[str, str, tuple[int, ...]]:
    """Give what `sharding` has to know of a chunk."""
    return chunk.codec, chunk.dtype, chunk.full_shape


def version_parts(chunk: ChunkRef, block: Versioned, found: Checksum) -> Iterator[Any]:
    """Give a version's bytes in pieces, those of the rows that it lacks, then their checksum."""
    for _, rows in block.slabs():
        data = encode(rows, chunk.dtype, rows.shape)
        found.add(data)
        yield data
    row_bytes = (encoded_bytes(chunk.dtype, chunk.full_shape) or 0) // chunk.full_shape[0]
    left = row_bytes * (chunk.full_shape[0] - len(block))
    zeros = np.zeros(min(left, STEP_BYTES), np.uint8)
    for first in range(0, left, STEP_BYTES):
        found.add(zeros[: left - first])
        yield zeros[: left - first]
    yield found.value.to_bytes(CHECKSUM_BYTES, "little")


def checked_parts(data: np.ndarray, trailer: int | None, found: Checksum) -> Iterator[Any]:
    """Give bytes in pieces that stay in the cache, then a trailer, by default their checksum."""
    if len(data) <= STEP_BYTES:
        found.add(data)
        last = found.value if trailer is None else trailer
        yield data.tobytes() + last.to_bytes(CHECKSUM_BYTES, "little")
        return
    for start in range(0, len(data), STEP_BYTES):
        piece = data[start : start + STEP_BYTES]
        found.add(piece)
        yield piece
    last = found.value if trailer is None else trailer
    yield last.to_bytes(CHECKSUM_BYTES, "little")


def check_array(chunk: ChunkRef, array: np.ndarray | Versioned) -> None:
    """Refuse what is not the array of a chunk."""
    if array.shape != chunk.shape or array.dtype != memory_dtype(chunk.dtype):
        raise invalid(
            f"variable {chunk.key!r}, chunk {chunk.index}: {array.dtype} of shape {array.shape},"
            f" where the stored chunk is {chunk.dtype} of shape {chunk.shape}"
        )


def chunk_bytes(chunk: ChunkRef, array: np.ndarray) -> np.ndarray:
    """Give the bytes of a chunk, having checked that the array is one."""
    check_array(chunk, array)
    return encode(np.asarray(array), chunk.dtype, chunk.full_shape)


def read_ref(store: ZarrStorage, path: str, chunk: ChunkRef) -> np.ndarray:
    """Read one chunk of a variable and verify it.

    Args:
        path: the snapshot's path in it.
        chunk: the chunk, ``chunk_ref(manifest.record(key), index)``.

    Returns:
        The chunk's elements, a new array.

    Raises:
        InvalidArgumentError: the chunk's checksum is not known.
        CorruptChunkError: the chunk is missing, truncated or altered.
    """
    if chunk.digest is None:
        raise invalid(f"variable {chunk.key!r}: use the record that its snapshot's manifest has")
    buffer = ChunkBuffer(chunk)
    try:
        if not get_into(store, join(path, chunk.name), buffer.memory):
            raise ValueError("is missing")
        array = buffer.verified()
    except (ValueError, StoreError) as error:
        reason = f"object {join(path, chunk.name)!r} {error}"
        raise CorruptChunkError(chunk.key, chunk.index, reason, str(store)) from None
    if chunk.shape == chunk.full_shape:
        return array
    return array[tuple(slice(size) for size in chunk.shape)].copy()


class ChunkBuffer:
    """A chunk object on its way in: its bytes come where its elements will be."""

    __slots__ = ("array", "checksum", "chunk", "content", "trailer")

    def __init__(self, chunk: ChunkRef) -> None:
        self.chunk, self.checksum = chunk, Checksum()
        self.trailer = np.empty(CHECKSUM_BYTES, np.uint8)

    def memory(self, size: int) -> list[Any]:
        """Give the memory of an object of some size, or raise ValueError if it is not this one."""
        dtype, shape = self.chunk.dtype, self.chunk.full_shape
        encoded = encoded_bytes(dtype, shape)
        is_any_size = encoded is None or bool(self.chunk.codec)
        wanted = encoded or 0
        if is_any_size:
            most = MAX_STRING_BYTES if encoded is None else largest_object(self.chunk, encoded)
            wanted = max(0, min(size - CHECKSUM_BYTES, most))
        if size != wanted + CHECKSUM_BYTES:
            raise ValueError(f"has {size} bytes, not {wanted + CHECKSUM_BYTES}")
        if is_any_size:
            self.array = self.content = np.empty(wanted, np.uint8)
        else:
            self.array, self.content = blank(dtype, shape)
        return [(self.content, self.checksum.add), (self.trailer, None)]

    def verified(self) -> np.ndarray:
        """Give the elements, or raise ValueError with what is wrong with the object."""
        chunk, found = self.chunk, self.checksum.value
        trailer = int.from_bytes(self.trailer.tobytes(), "little")
        inner = inner_shape(*form(chunk)) if chunk.codec else None
        if found != chunk.digest or (inner is None and trailer != chunk.digest):
            raise ValueError(
                f"has checksum {found:08x} and says {trailer:08x}, not {chunk.digest:08x}"
            )
        if self.array is not self.content:
            return native(self.array)
        count, encoded = math.prod(chunk.full_shape), encoded_bytes(chunk.dtype, chunk.full_shape)
        data, compressor = self.content, parsed(chunk.codec).compressor
        if inner is not None:
            data = unsharded(*form(chunk), inner, data, trailer)
        elif compressor:
            data = decompress(compressor, data, MAX_STRING_BYTES if encoded is None else encoded)
        if encoded is None:
            return decode_strings(data.tobytes(), count).reshape(chunk.full_shape)
        if len(data) != encoded:
            raise ValueError(f"stands for {len(data)} bytes, not {encoded}")
        array, content = blank(chunk.dtype, chunk.full_shape)
        content[:] = data
        return native(array)


def largest_object(chunk: ChunkRef, encoded: int) -> int:
    """Give the most bytes that the object of a chunk may have, without its trailer."""
    inner, most = inner_shape(*form(chunk)), encoded + encoded // 8 + SLACK_BYTES
    if inner is None:
        return most
    return most + MOST_MORE_BYTES * (math.prod(chunk.full_shape) // math.prod(inner))


def write_chunk(
    store: ZarrStorage, path: str, record: VariableRecord, index: Index, array: np.ndarray
) -> int:
    """Write one chunk, given by record and index; see `write_ref`."""
    return write_ref(store, path, chunk_ref(record, index), array)


def read_chunk(store: ZarrStorage, path: str, record: VariableRecord, index: Index) -> np.ndarray:
    """Read one chunk, given by record and index; see `read_ref`."""
    return read_ref(store, path, chunk_ref(record, index))


def read_values(
    store: ZarrStorage, path: str, wanted: Mapping[str, tuple[VariableRecord, Chunks]]
) -> dict[str, dict[Index, np.ndarray]]:
    """Read several variables, each chunk once, many at a time.

    Args:
        path: the snapshot's path in it.
        wanted: name -> a record from the snapshot's manifest, and the layout to cut its value
            into; ``record.chunks`` reads without a copy where that is regular.

    Returns:
        name -> block index -> new array.

    Raises:
        InvalidArgumentError: a layout of another shape than its variable.
        CorruptChunkError: a chunk is missing, truncated or altered.
    """
    run = partial(in_parallel, store)
    return assemble_values(wanted, partial(read_chunk, store, path), run)
