"""Zarr groups that somebody else wrote, read as variables.

They have no manifest, so a chunk's checksum is Zarr's business where its codecs have one, and a
chunk that is not there is the fill value, as Zarr defines. Either Zarr format will do, and any
codec of Zarr or numcodecs that runs no code. Nothing is believed: names, grids and codecs are
checked first (`codecs`), files are reached as `local_files` says, and an array that is
large must be there to some extent before memory is taken for it.
"""

from __future__ import annotations

import logging
import lzma
import math
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import zarr
from zarr.abc.store import Store as ZarrStorage
from zarr.core.sync import sync
from zarr.storage import LocalStore, WrapperStore

from daskvars.dtypes import as_dtype, to_numpy
from daskvars.errors import CorruptChunkError, OpError, StoreError
from daskvars.state.external.codecs import has_checksums, with_checked_codecs
from daskvars.state.failures import not_found, store_failure
from daskvars.state.format.assembly import Load
from daskvars.state.format.documents import MAX_DOCUMENT_BYTES
from daskvars.state.format.encoding import is_storable
from daskvars.state.format.grids import Grid, Index
from daskvars.state.format.manifest import MAX_AXES, VariableRecord, shorten
from daskvars.state.stores.local_files import MAX_BYTES, check_file
from daskvars.state.stores.objects import exists, join

DOCUMENTS = ("zarr.json", ".zarray", ".zgroup", ".zattrs", ".zmetadata")
MAX_CHUNKS = 1 << 22
"""An array of more chunks is not read as a variable."""

FREE_BYTES, MAX_RATIO = 1 << 28, 1000
"""An array of more bytes than this is at most so many times larger than what is stored of it."""

FAILURES = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    EOFError,
    LookupError,
    MemoryError,
    OSError,
    RuntimeError,
    TypeError,
    ValueError,
    zlib.error,
    lzma.LZMAError,
)
"""What Zarr, NumPy and the codecs raise on damaged metadata and chunks."""


def external_variables(store: ZarrStorage, path: str) -> tuple[dict[str, VariableRecord], Load]:
    """Describe the arrays of any Zarr group as variables.

    Returns:
        key -> record, the key being the array's path in the group as it is, the layout its chunk
        grid; and the function that reads a chunk of one. Arrays of a dtype that no variable has
        (dates, structures) are left out.

    Raises:
        NotFoundError: there is no group.
        StoreError: metadata that is damaged, contradicts itself or claims what is not there; a
            codec that is not known to run no code.

    >>> store = zarr.storage.MemoryStore()
    >>> _ = zarr.open_group(store).create_array("a/w", shape=(5,), chunks=(2,), dtype="int16")
    >>> external_variables(store, "")[0]["a/w"].chunks
    ((2, 2, 1),)
    """
    place = join(str(store), path)
    records, arrays = {}, {}
    for name, array in arrays_of(opened_group(store, path), place).items():
        dtype = variable_dtype(array)
        if dtype:
            try:
                arrays[name] = with_checked_codecs(array)
                records[name] = record_of(name, dtype, array)
            except FAILURES + (OpError,) as error:
                raise unreadable(f"{place}: {shorten(name)}", error) from None
    return records, partial(load_chunk, arrays, place)


def opened_group(store: ZarrStorage, path: str) -> zarr.Group:
    """Open a group for reading; errors as of `external_variables`."""
    place = join(str(store), path)
    if isinstance(store, LocalStore):
        store = CheckedStore(store)
    try:
        return zarr.open_group(store, path=path, mode="r")
    except FileNotFoundError:
        raise not_found(f"{place} holds no Zarr group; check the path") from None
    except FAILURES as error:
        raise unreadable(place, error) from None


class Unchecked(NamedTuple):
    """What reading an array of somebody else's does not tell.

    Attributes:
        num_objects: how many chunks it has, or shards where they are in shards.
        missing: those that are not there and so count as the fill value, by their index.
        has_checksums: whether a codec of theirs notices bytes that were altered.
    """

    num_objects: int
    missing: tuple[Index, ...]
    has_checksums: bool


def unchecked(store: ZarrStorage, path: str) -> dict[str, Unchecked]:
    """Look at what reading the arrays of any Zarr group does not tell, by their names.

    Args:
        store, path: as for `external_variables`, which has read them without an error.
    """
    found = {}
    for name, array in arrays_of(opened_group(store, path), join(str(store), path)).items():
        grid = Grid(array.shape, array.shards or array.chunks)
        place, encode = join(path, name), array.metadata.encode_chunk_key
        missing = [index for index in grid if not exists(store, join(place, encode(index)))]
        found[name] = Unchecked(grid.num_chunks, tuple(missing), has_checksums(array))
    return found


class CheckedStore(WrapperStore):
    """A local store whose files are looked at before they are opened."""

    async def get(self, key: str, prototype: Any, byte_range: Any = None) -> Any:
        """Read an object; see `WrapperStore.get`. Raises StoreError where there is a link."""
        is_document = key.rpartition("/")[2] in DOCUMENTS
        check_file(self._store, key, MAX_DOCUMENT_BYTES if is_document else MAX_BYTES)
        return await super().get(key, prototype, byte_range)


def unreadable(place: str, error: BaseException) -> StoreError:
    """Make the error of a group, or an array of it, that cannot be read."""
    reason = str(error) or type(error).__name__
    return store_failure(f"{place} cannot be read: {reason[:400]}")


def arrays_of(group: zarr.Group, place: str) -> dict[str, zarr.Array]:
    """Open all arrays below a group, by their paths in it."""
    with without_task_messages():
        try:
            members = group.members(max_depth=None)
        except OpError:
            raise
        except FAILURES as error:
            raise unreadable(place, error) from None
    return {name: node for name, node in members if isinstance(node, zarr.Array)}


@contextmanager
def without_task_messages() -> Iterator[None]:
    """Keep asyncio from logging the failures beside the first one, which is raised."""
    logger = logging.getLogger("asyncio")
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before


def record_of(name: str, dtype: str, array: zarr.Array) -> VariableRecord:
    """Describe an array as a variable, having compared what it claims with what is stored."""
    cells = [array.chunks, *([array.shards] if array.shards else [])]
    sizes = [*array.shape, *(size for cell in cells for size in cell)]
    if len(array.shape) > MAX_AXES or any(type(size) is not int or size < 0 for size in sizes):
        raise store_failure(f"no array has shape {shorten(array.shape)}")
    if any(0 in cell for cell in cells):
        raise store_failure(f"no array has chunks {shorten(array.chunks)}")
    grid = Grid(array.shape, array.chunks)
    in_shard = Grid(cells[-1], array.chunks)
    if max(grid.num_chunks, in_shard.num_chunks) > MAX_CHUNKS:
        raise store_failure(
            f"shape {shorten(array.shape)} in chunks of {shorten(array.chunks)} makes more than"
            f" {MAX_CHUNKS} chunks"
        )
    claimed = array.dtype.itemsize * max(math.prod(n or 1 for n in c) for c in (grid.shape, *cells))
    if claimed > FREE_BYTES:
        stored = sync(array.store_path.store.getsize_prefix(array.store_path.path))
        if claimed > stored * MAX_RATIO:
            raise store_failure(f"it claims {claimed} bytes, but {stored} are stored")
    return VariableRecord(name, dtype, array.shape, grid.chunks)


def variable_dtype(array: zarr.Array) -> str:
    """Give the dtype of the variable that an array holds; empty where there is none."""
    try:
        name = as_dtype(array.dtype).name
    except TypeError:
        return "string" if array.dtype.kind == "T" else ""
    return name if is_storable(name) else ""


def load_chunk(
    arrays: Mapping[str, zarr.Array], place: str, record: VariableRecord, index: Index
) -> np.ndarray:
    """Read one chunk of a group's array.

    Raises:
        CorruptChunkError: Zarr cannot decode it.
    """
    try:
        data = arrays[record.key][record.grid.selection(index)]
        array = np.asarray(data)
        texts = array.astype(object) if array.dtype.kind == "T" else array
        return to_numpy(texts, as_dtype(record.dtype))
    except (*FAILURES, OpError) as error:
        raise CorruptChunkError(record.key, index, str(error), place) from error
