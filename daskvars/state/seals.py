"""What workers do to seal a version: write blocks, keep what was written, load it.

A seal cuts a value loose from the tasks that made it. Each block is written by a worker that holds
it; then a `load_blocks` task takes its place, which has no ancestors and finds the block where it
was left a moment ago (`written`). Run anew on another worker, it reads the chunk and verifies it.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from distributed import get_worker
from zarr.abc.store import Store as ZarrStorage

from daskvars.state.assembly import assemble_region, stored_chunk
from daskvars.state.checkpoint import open_source
from daskvars.state.chunks import write_chunk
from daskvars.state.failures import store_failure
from daskvars.state.grids import Index, Region
from daskvars.state.manifest import VariableRecord
from daskvars.state.objects import in_parallel
from daskvars.state.snapshot import find_manifest, location


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

    Raises:
        StoreError: this worker does not see the snapshot that was begun.
    """
    address = get_worker().address
    if find_manifest(storage, path) is None:
        raise store_failure(
            f"worker {address} does not see {location(storage, path)}; use a directory or URL that"
            " all workers reach"
        )
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
    return address, digests


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
    storage: ZarrStorage,
    path: str,
    wanted: Sequence[tuple[str, Region]],
    token: str,
    slot: Slot | None,
) -> tuple[Any, ...]:
    """Give regions of a snapshot's, checkpoint's or other Zarr group's variables.

    Args:
        storage: the Zarr store.
        path: the snapshot's path in it.
        wanted: key and region of each block.
        token: that of the manifest, which an overwriting changes.
        slot: where this worker may have left the blocks.

    Raises:
        CorruptChunkError: a chunk is missing or damaged.
        NotFoundError, StoreError: so is the snapshot.
    """
    found = take(slot) if slot is not None else None
    if found is not None:
        return found
    source = open_source(storage, path)
    if source.token != token:
        raise store_failure(f"{source.place} was overwritten while it was read; read it again")
    run = partial(in_parallel, storage)
    blocks = [assemble_region(source.records[key], at, source.load, run) for key, at in wanted]
    return tuple(block if block.ndim else block[()] for block in blocks)
