"""Reading and writing the chunks of a snapshot.

Writing needs the store, the snapshot's path and a `ChunkRef`, so any process can do it. Reading
trusts nothing: Zarr gives zeros for a missing chunk, so here every chunk's length and crc32c are
compared with the manifest's before a value is made of it, and nothing is allocated for a size that
no object has.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from zarr.abc.store import Store as ZarrStorage

from daskvars.errors import CorruptChunkError, StoreError
from daskvars.shapes import Chunks
from daskvars.state.assembly import assemble_region, assemble_values
from daskvars.state.documents import chunk_object
from daskvars.state.encoding import (
    CHECKSUM_BYTES,
    checksum,
    decode,
    encode,
    encoded_bytes,
    memory_dtype,
    on_host,
)
from daskvars.state.failures import invalid
from daskvars.state.grids import Index, Region, region_shape
from daskvars.state.manifest import VariableRecord
from daskvars.state.objects import get, in_parallel, join, put

MOST_STRING_BYTES = 1 << 31
"""A chunk of strings of more bytes than this is damaged."""


@dataclass(frozen=True, slots=True)
class ChunkRef:
    """All that reading or writing one stored chunk needs; small enough to travel with a task.

    Attributes:
        key: the variable's key.
        index: the chunk's index in the variable's grid.
        name: the chunk's object in the snapshot.
        dtype: the variable's dtype, by name.
        shape: the chunk's shape.
        full_shape: the shape at which it is stored; larger at the edges.
        digest: crc32c of its bytes; None before it was written.
    """

    key: str
    index: Index
    name: str
    dtype: str
    shape: tuple[int, ...]
    full_shape: tuple[int, ...]
    digest: int | None


def chunk_ref(record: VariableRecord, index: Index) -> ChunkRef:
    """Give the reference to one chunk of a variable.

    Args:
        record: the variable, from a snapshot's manifest, or from its writer.
        index: the chunk's index in ``record.grid``.

    Raises:
        InvalidArgumentError: no such chunk, or a record of no snapshot.
    """
    grid = record.grid
    check_index(record, index)
    return ChunkRef(
        key=record.key,
        index=index,
        name=chunk_object(record, index),
        dtype=record.dtype,
        shape=region_shape(grid.region(index)),
        full_shape=grid.chunk_shape,
        digest=record.digests[grid.position(index)] if record.digests else None,
    )


def check_index(record: VariableRecord, index: Index) -> None:
    """Refuse an index outside a variable's grid."""
    if index not in record.grid:
        raise invalid(
            f"variable {record.key!r} has no chunk {index};"
            f" its stored chunks form a {record.grid.counts} grid"
        )


def write_ref(store: ZarrStorage, path: str, chunk: ChunkRef, array: np.ndarray) -> int:
    """Write one chunk of a declared variable, from any process.

    Args:
        store: the Zarr store.
        path: the snapshot's path in it.
        chunk: the chunk, ``chunk_ref(writer.records[key], index)``.
        array: the chunk's elements, in the variable's NumPy dtype.

    Returns:
        The crc32c of the chunk's bytes, for `SnapshotWriter.commit`.

    Raises:
        InvalidArgumentError: an array of another shape or dtype than declared.
        StoreError: the store refuses it.
    """
    data = chunk_bytes(chunk, array)
    digest = checksum(data)
    put(store, join(path, chunk.name), [data, digest.to_bytes(CHECKSUM_BYTES, "little")])
    return digest


def chunk_bytes(chunk: ChunkRef, array: np.ndarray) -> np.ndarray:
    """Give the bytes of a chunk, having checked that the array is one."""
    if array.shape != chunk.shape or array.dtype != memory_dtype(chunk.dtype):
        raise invalid(
            f"variable {chunk.key!r}, chunk {chunk.index}: {array.dtype} of shape {array.shape},"
            f" where the stored chunk is {chunk.dtype} of shape {chunk.shape}"
        )
    return encode(on_host(array), chunk.dtype, chunk.full_shape)


def read_ref(store: ZarrStorage, path: str, chunk: ChunkRef) -> np.ndarray:
    """Read one chunk of a variable and verify it.

    Args:
        store: the Zarr store.
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
    size = encoded_bytes(chunk.dtype, chunk.full_shape)
    most = MOST_STRING_BYTES if size is None else size + CHECKSUM_BYTES
    try:
        data = get(store, join(path, chunk.name), most)
        array = verified(data, chunk.digest, chunk.dtype, chunk.full_shape)
    except (ValueError, StoreError) as error:
        reason = f"object {join(path, chunk.name)!r} {error}"
        raise CorruptChunkError(chunk.key, chunk.index, reason, str(store)) from None
    if chunk.shape == chunk.full_shape:
        return array
    return np.ascontiguousarray(array[tuple(slice(size) for size in chunk.shape)])


def verified(
    data: np.ndarray | None, digest: int, dtype: str, full_shape: tuple[int, ...]
) -> np.ndarray:
    """Decode a chunk object, or raise ValueError with what is wrong with it."""
    if data is None:
        raise ValueError("is missing")
    wanted = encoded_bytes(dtype, full_shape)
    if wanted is None:
        wanted = max(0, len(data) - CHECKSUM_BYTES)
    if len(data) != wanted + CHECKSUM_BYTES:
        raise ValueError(f"has {len(data)} bytes, not {wanted + CHECKSUM_BYTES}")
    content = data[:-CHECKSUM_BYTES]
    trailer = int.from_bytes(data[-CHECKSUM_BYTES:].tobytes(), "little")
    found = checksum(content)
    if found != digest or trailer != digest:
        raise ValueError(f"has checksum {found:08x} and says {trailer:08x}, not {digest:08x}")
    return decode(content, dtype, full_shape)


def write_chunk(
    store: ZarrStorage, path: str, record: VariableRecord, index: Index, array: np.ndarray
) -> int:
    """Write one chunk, given by record and index; see `write_ref`."""
    return write_ref(store, path, chunk_ref(record, index), array)


def read_chunk(store: ZarrStorage, path: str, record: VariableRecord, index: Index) -> np.ndarray:
    """Read one chunk, given by record and index; see `read_ref`."""
    return read_ref(store, path, chunk_ref(record, index))


def read_region(
    store: ZarrStorage, path: str, record: VariableRecord, region: Region
) -> np.ndarray:
    """Read a region of a variable, whatever its chunks.

    Args:
        store: the Zarr store.
        path: the snapshot's path in it.
        record: the variable, from the snapshot's manifest.
        region: one slice with step 1 per axis.

    Returns:
        The region's elements, a new array.

    Raises:
        InvalidArgumentError: `region` is no region of the variable.
        CorruptChunkError: a chunk of the region is missing, truncated or altered.
    """
    run = partial(in_parallel, store)
    return assemble_region(record, region, partial(read_chunk, store, path), run)


def read_values(
    store: ZarrStorage, path: str, wanted: Mapping[str, tuple[VariableRecord, Chunks]]
) -> dict[str, dict[Index, np.ndarray]]:
    """Read several variables, each chunk once, many at a time.

    Args:
        store: the Zarr store.
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
