"""What workers do to seal a version: write blocks, and load them where they were lost.

A seal ends a value's lineage: what made it is forgotten. Each block is written by a worker that
holds it and stays where it is; what computes it from then on, if it is lost, is a `load_outputs`
task, which has no ancestors: it reads the chunk and verifies it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from distributed import get_worker, secede
from zarr.abc.store import Store as ZarrStorage

from daskvars.backend import namespace
from daskvars.device_array import on_device
from daskvars.remote.exchange import Exchanges, brought
from daskvars.remote.task_outputs import TaskOutputs
from daskvars.state.checkpoint import open_checkpoint
from daskvars.state.failures import store_failure
from daskvars.state.format.assembly import assemble_selection, part_of
from daskvars.state.format.chunks import ChunkRef, write_ref
from daskvars.state.format.documents import get_document
from daskvars.state.format.encoding import memory_dtype
from daskvars.state.format.grids import Selection
from daskvars.state.format.snapshot import location
from daskvars.state.stores.objects import in_parallel
from daskvars.versioned import VERSIONED_BYTES, Versioned


class Fragment(NamedTuple):
    """A part of a block that goes into a stored chunk.

    Attributes:
        dependency: which dependency of the task holds the block.
        position: which of that task's outputs it is.
        source: the part of the block, None for all of it.
    """

    dependency: int
    position: int
    source: Selection | None = None
    target: Selection | None = None


def write_stored_chunks(
    storage: ZarrStorage,
    path: str,
    parts: Sequence[tuple[ChunkRef, Sequence[Fragment]]],
    *dependencies: Any,
) -> list[int]:
    """Write stored chunks of a snapshot.

    Args:
        parts: the chunks, and what each is put together from.
        dependencies: outputs of tasks, and blocks.

    Returns:
        The crc32c of each chunk.

    Raises:
        StoreError: this worker does not see the snapshot that was begun.
    """
    if get_document(storage, path) is None:
        raise store_failure(
            f"worker {get_worker().address} does not see {location(storage, path)}; use a "
            "directory or URL that all workers reach"
        )
    digests = []
    with Exchanges.of_task().traced("write", path or "chunks", chunks=len(parts)):
        for chunk, fragments in parts:
            array = assemble_chunk(chunk, fragments, dependencies)
            data = array if isinstance(array, Versioned) else np.asarray(array)
            digests.append(write_ref(storage, path, chunk, data))
    return digests


def write_in_background(*arguments: Any) -> list[int]:
    """Do as `write_stored_chunks` does, in a thread that does not count among the worker's."""
    secede()
    return write_stored_chunks(*arguments)


def assemble_chunk(chunk: ChunkRef, fragments: Sequence[Fragment], dependencies: Any) -> Any:
    """Give the elements of a stored chunk: the block that it is, or a new array."""
    result = None
    for number, position, source, target in fragments:
        (block,) = brought([dependencies[number][position]])
        if source is None:
            return block
        if result is None:
            result = np.empty(chunk.shape, memory_dtype(chunk.dtype))
        result[target] = part_of(block, source)
    return result


def load_selections(
    storage: ZarrStorage,
    path: str,
    wanted: Sequence[tuple[str, Selection]],
    token: str,
    device_type: str = "CPU",
) -> tuple[Any, ...]:
    """Give selections of the variables of a snapshot, or of any Zarr group.

    Args:
        wanted: key and selection of each block.
        token: that of the manifest, which an overwriting changes.

    Raises:
        CorruptChunkError: a chunk is missing or damaged.
        NotFoundError, StoreError: so is the snapshot.
    """
    source = open_checkpoint(storage, path)
    if source.token != token:
        raise store_failure(f"{source.location} was overwritten while it was read; read it again")
    run = partial(in_parallel, storage)
    return TaskOutputs(
        as_result(assemble_selection(source.records[key], selection, source.load, run), device_type)
        for key, selection in wanted
    )


def load_outputs(
    storage: ZarrStorage,
    path: str,
    wanted: Sequence[tuple[int, str, Selection]],
    token: str,
    device_type: str = "CPU",
) -> Any:
    """Give what a task returned whose blocks were sealed, as far as they are blocks of variables.

    Args:
        wanted: for each block: which of the task's outputs it is, key and selection.

    Raises:
        CorruptChunkError, NotFoundError, StoreError: as `load_selections`.
    """
    selections = [(key, selection) for _, key, selection in wanted]
    found = load_selections(storage, path, selections, token, device_type)
    positions = [position for position, _, _ in wanted]
    outputs: list[Any] = [None] * (max(positions) + 1)
    for position, block in zip(positions, found, strict=True):
        outputs[position] = block
    return TaskOutputs(outputs)


def as_result(array: np.ndarray, device_type: str) -> Any:
    """Give what tasks give: an array on the device; where that is a CPU a scalar, rather than an
    array of rank 0, and a version if it is large."""
    if namespace(device_type) is not np:
        return on_device(array)
    if array.ndim and array.nbytes >= VERSIONED_BYTES and array.dtype != object:
        return Versioned(array)
    return array if array.ndim else array[()]
