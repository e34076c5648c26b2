"""Reading and writing the chunks of a snapshot.

Writing needs the store, the snapshot's path and the variable's record, so any process can do it.
Reading trusts
nothing: Zarr gives zeros for a missing chunk, so here every chunk's length and crc32c are
compared with the manifest's before a value is made of it, and nothing is allocated for a size
that no object has.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np
from zarr.abc.store import Store as ZarrStorage

from daskvars.errors import CorruptChunkError
from daskvars.shapes import Chunks, block_shape
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
from daskvars.state.grids import (
    Index,
    Region,
    flat_index,
    stored_chunk_shape,
    stored_chunks,
)
from daskvars.state.manifest import VariableRecord
from daskvars.state.objects import get, in_parallel, put


def write_chunk(
    store: ZarrStorage, path: str, record: VariableRecord, index: Index, array: np.ndarray
) -> int:
    """Write one chunk of a declared variable, from any process.

    Args:
        store: the Zarr store.
        path: the snapshot's path in it.
        record: the variable, as `SnapshotWriter.records` has it.
        index: the chunk's index in ``stored_chunks(record.chunks)``.
        array: the chunk's elements, in the variable's NumPy dtype.

    Returns:
        The crc32c of the chunk's bytes, for `SnapshotWriter.commit`.

    Raises:
        InvalidArgumentError: no such chunk, or an array of another shape or dtype than declared.
        StoreError: the store refuses it.
    """
    data = chunk_bytes(record, index, array)
    digest = checksum(data)
    put(store, chunk_object(path, record, index), [data, digest.to_bytes(CHECKSUM_BYTES, "little")])
    return digest


def chunk_bytes(record: VariableRecord, index: Index, array: np.ndarray) -> np.ndarray:
    """Give the bytes of a stored chunk, having checked that it is one."""
    check_index(record, index)
    wanted = block_shape(stored_chunks(record.chunks), index)
    if array.shape != wanted or array.dtype != memory_dtype(record.dtype):
        raise invalid(
            f"variable {record.key!r}, chunk {index}: {array.dtype} of shape {array.shape},"
            f" where the stored chunk is {record.dtype} of shape {wanted}"
        )
    return encode(on_host(array), record.dtype, stored_chunk_shape(record.chunks))


def check_index(record: VariableRecord, index: Index) -> None:
    """Refuse an index outside a variable's stored layout."""
    grid = tuple(len(sizes) for sizes in stored_chunks(record.chunks))
    inside = len(index) == len(grid) and all(0 <= i < n for i, n in zip(index, grid, strict=True))
    if not inside:
        raise invalid(
            f"variable {record.key!r} has no chunk {index}; its stored chunks form a {grid} grid"
        )


def read_chunk(store: ZarrStorage, path: str, record: VariableRecord, index: Index) -> np.ndarray:
    """Read one chunk of a variable and verify it.

    Args:
        store: the Zarr store.
        path: the snapshot's path in it.
        record: the variable, from the snapshot's manifest.
        index: the chunk's index in ``stored_chunks(record.chunks)``.

    Returns:
        The chunk's elements, a new array.

    Raises:
        InvalidArgumentError: no such chunk.
        CorruptChunkError: the chunk is missing, truncated or altered.
    """
    check_index(record, index)
    stored = stored_chunks(record.chunks)
    full_shape = stored_chunk_shape(record.chunks)
    digest = record.digests[flat_index(stored, index)]
    name = chunk_object(path, record, index)
    data = get(store, name)
    try:
        array = verified(data, digest, record.dtype, full_shape)
    except ValueError as error:
        raise CorruptChunkError(record.key, index, f"object {name!r} {error}", str(store)) from None
    shape = block_shape(stored, index)
    if shape == full_shape:
        return array
    return np.ascontiguousarray(array[tuple(slice(size) for size in shape)])


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
    return assemble_region(
        record, region, partial(read_chunk, store, path), partial(in_parallel, store)
    )


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
    return assemble_values(wanted, partial(read_chunk, store, path), partial(in_parallel, store))
