"""Zarr groups that somebody else wrote, read as variables.

They have no manifest, so a chunk's checksum is Zarr's business where its codecs have one, and a
chunk that is not there is the fill value, as Zarr defines. Any codec and either Zarr format will
do.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import zarr
from zarr.abc.store import Store as ZarrStorage

from daskvars.dtypes import as_dtype, to_numpy
from daskvars.errors import CorruptChunkError
from daskvars.state.assembly import Load
from daskvars.state.encoding import is_storable
from daskvars.state.failures import not_found
from daskvars.state.grids import Grid, Index
from daskvars.state.manifest import VariableRecord
from daskvars.state.objects import join


def records_from_group(store: ZarrStorage, path: str) -> dict[str, VariableRecord]:
    """Describe the arrays of any Zarr group as variables.

    Args:
        store: the Zarr store.
        path: the group's path in it.

    Returns:
        key -> record, the key being the array's path in the group as it is, the layout its chunk
        grid. Arrays of a dtype that no variable has (dates, structures) are left out.

    Raises:
        NotFoundError: there is no group.

    >>> store = zarr.storage.MemoryStore()
    >>> _ = zarr.open_group(store).create_array("a/w", shape=(5,), chunks=(2,), dtype="int16")
    >>> records_from_group(store, "")["a/w"].chunks
    ((2, 2, 1),)
    """
    members = open_group(store, path).members(max_depth=None)
    arrays = {name: node for name, node in members if isinstance(node, zarr.Array)}
    return {
        name: VariableRecord(name, dtype, array.shape, Grid(array.shape, array.chunks).chunks)
        for name, array in arrays.items()
        if (dtype := variable_dtype(array))
    }


def open_group(store: ZarrStorage, path: str) -> zarr.Group:
    """Open a group for reading."""
    try:
        return zarr.open_group(store, path=path, mode="r")
    except FileNotFoundError:
        raise not_found(f"{join(str(store), path)} holds no Zarr group; check the path") from None


def variable_dtype(array: zarr.Array) -> str:
    """Give the dtype of the variable that an array holds; empty where there is none."""
    try:
        name = as_dtype(array.dtype).name
    except TypeError:
        return "string" if array.dtype.kind == "T" else ""
    return name if is_storable(name) else ""


def foreign_loader(store: ZarrStorage, path: str) -> Load:
    """Give the function that reads a chunk of a group's array, by its record."""
    return partial(load_chunk, open_group(store, path))


def load_chunk(group: Any, record: VariableRecord, index: Index) -> np.ndarray:
    """Read one chunk of a group's array.

    Raises:
        CorruptChunkError: Zarr cannot decode it.
    """
    region = record.grid.region(index)
    try:
        data = group[record.key][region]
    except (ValueError, RuntimeError) as error:
        raise CorruptChunkError(record.key, index, str(error), str(group.store_path)) from error
    array = np.asarray(data)
    return to_numpy(
        array.astype(object) if array.dtype.kind == "T" else array, as_dtype(record.dtype)
    )
