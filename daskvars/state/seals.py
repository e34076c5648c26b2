"""What workers do to seal a version: write blocks, keep what was written, load it.

A seal cuts a value loose from the tasks that made it. Each block is written by a worker that holds
it; then a `load_blocks` task takes its place, which has no ancestors and finds the block where it
was left a moment ago (`written`). Run anew on another worker, it reads the chunk and verifies it.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from distributed import get_worker
from zarr.abc.store import Store as ZarrStorage

from daskvars.chunk_grid import block_slices
from daskvars.state.assembly import stored_chunk
from daskvars.state.chunks import read_region, write_chunk
from daskvars.state.grids import Index
from daskvars.state.manifest import VariableRecord
from daskvars.state.snapshot import read_manifest


class Part(NamedTuple):
    """One stored chunk to be written.

    Attributes:
        record: the variable, as declared by the snapshot's writer.
        index: the chunk's index in the stored layout.
        blocks: block index -> which dependency of the task holds it, and which output of that
            bundle it is, None for all of it.
    """

    record: VariableRecord
    index: Index
    blocks: dict[Index, tuple[int, int | None]]


class Slot(NamedTuple):
    """Where a worker leaves blocks for the task that will load them: session, seal, number."""

    owner: str
    seal: int
    number: int


written: dict[str, dict[Slot, tuple[Any, ...]]] = {}
written_lock = threading.Lock()


def write_parts(
    storage: ZarrStorage, path: str, parts: Sequence[Part], slot: Slot | None, *dependencies: Any
) -> tuple[str, list[int]]:
    """Write stored chunks of a snapshot.

    Args:
        storage: the Zarr store.
        path: the snapshot's path in it.
        parts: the chunks.
        slot: where to leave the blocks, if every part is one block.
        dependencies: bundles and blocks.

    Returns:
        The worker's address, and the crc32c of each chunk.
    """
    digests, kept = [], []
    for record, index, blocks in parts:
        found = {
            at: dependencies[number] if position is None else dependencies[number][position]
            for at, (number, position) in blocks.items()
        }
        chunk = np.asarray(stored_chunk(record, found, index))
        digests.append(write_chunk(storage, path, record, index, chunk))
        kept.extend(found.values())
    if slot is not None:
        leave(slot, tuple(kept))
    return get_worker().address, digests


def leave(slot: Slot, blocks: tuple[Any, ...]) -> None:
    """Keep blocks until they are loaded, or until the next seal of the same session."""
    with written_lock:
        slots = written.setdefault(slot.owner, {})
        for old in [s for s in slots if s.seal != slot.seal]:
            del slots[old]
        slots[slot] = blocks


def take(slot: Slot) -> tuple[Any, ...] | None:
    """Give what was left in a slot, once."""
    with written_lock:
        return written.get(slot.owner, {}).pop(slot, None)


def forget(owner: str) -> None:
    """Drop all that a session left."""
    with written_lock:
        written.pop(owner, None)


def load_blocks(
    storage: ZarrStorage, path: str, wanted: Sequence[tuple[str, Index]], slot: Slot | None
) -> tuple[Any, ...]:
    """Give blocks of a snapshot's variables.

    Args:
        storage: the Zarr store.
        path: the snapshot's path in it.
        wanted: key and block index, in the layouts that the snapshot's records name.
        slot: where this worker may have left them.

    Raises:
        CorruptChunkError: a chunk is missing or damaged.
        NotFoundError, StoreError: so is the snapshot.
    """
    found = take(slot) if slot is not None else None
    if found is not None:
        return found
    manifest = read_manifest(storage, path)
    blocks = []
    for key, index in wanted:
        record = manifest.record(key)
        block = read_region(storage, path, record, block_slices(record.chunks, index))
        blocks.append(block[()] if not block.ndim else block)
    return tuple(blocks)
