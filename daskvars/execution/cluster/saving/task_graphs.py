"""Task graphs that write variables: each stored chunk is written by a worker that has its block.

Here they are made and sent; what a worker does in such a task is in `remote.tasks.chunk_tasks`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from distributed import Client

from daskvars.execution.cluster.results.remote_blocks import wait, wait_for_chunks
from daskvars.remote.dask_internals import RunGraph, Task, TaskRef
from daskvars.remote.tasks.chunk_tasks import Fragment, write_stored_chunks
from daskvars.state.format.chunks import chunk_ref
from daskvars.state.format.grids import Blocks, Index, Layout
from daskvars.state.format.manifest import VariableRecord

SPLIT_BYTES = 1 << 20
"""Bytes from which a chunk is worth a task of its own, which costs about as much as to move them.
"""


@dataclass(eq=False, slots=True)
class Group:
    """Stored chunks that one task writes.

    Attributes:
      parts: the variable, its blocks, and the chunk's index in the stored grid.
    """

    parts: list[tuple[VariableRecord, Blocks, Index]]


def write_chunks(
    client: Client,
    stamp: str,
    writer: Any,
    storage: Any,
    state: Mapping[str, Blocks],
    write: Callable[..., Any] = write_stored_chunks,
    priority: int = 0,
    doing: str = "",
) -> dict[str, dict[Index, int]]:
    """Have workers write variables into a snapshot that was begun.

    Args:
      stamp: a text for keys that was not used before.
      writer: the snapshot's writer; its records say how the variables are stored.
      storage: the Zarr store that it writes to.
      state: key -> blocks, which are on workers.
      write: what a task calls: `write_stored_chunks`, or `write_in_background`.
      priority: of the tasks, as Dask takes it.
      doing: what a bar says while chunks are written; "" shows none.

    Returns:
      key -> chunk -> crc32c.

    Raises:
      Exception: what Dask raises for a task that failed; the snapshot was aborted.
    """
    groups = grouped({key: (writer.records[key], blocks) for key, blocks in state.items()})
    keys = [f"{stamp}-{number}" for number in range(len(groups))]
    graph = {
        key: write_task(key, storage, writer.path, group, write)
        for key, group in zip(keys, groups, strict=True)
    }
    futures = client.get(RunGraph(graph, {}, stamp), keys, priority=priority, sync=False)
    try:
        if doing:
            num_chunks = {f: len(group.parts) for f, group in zip(futures, groups, strict=True)}
            wait_for_chunks(client, num_chunks, doing)
        wait(client, futures)
        written = client.gather(futures)
    except BaseException:
        for future in futures:  # what is not written yet need not be; the error would keep it
            future.release()
        raise
    digests: dict[str, dict[Index, int]] = {}
    for group, found in zip(groups, written, strict=True):
        for (record, _, index), digest in zip(group.parts, found, strict=True):
            digests.setdefault(record.key, {})[index] = digest
    return digests


def grouped(variables: Mapping[str, tuple[VariableRecord, Blocks]]) -> list[Group]:
    """Return the stored chunks of some variables by the task that writes them.

    Small outputs of one task go together. A chunk that is not one block, because Zarr's grids
    are regular, is a group of its own.
    """
    groups: dict[Any, Group] = {}
    for key, (record, blocks) in variables.items():
        size = record.nbytes // max(1, record.grid.num_chunks)
        for index in record.grid:
            identity: Any = (key, index)
            if record.is_regular and size < SPLIT_BYTES:
                identity = blocks[index].reference.future.key
            groups.setdefault(identity, Group([])).parts.append((record, blocks, index))
    return list(groups.values())


def write_task(key: str, storage: Any, path: str, group: Group, write: Callable[..., Any]) -> Task:
    """Return the task that writes a group."""
    numbers: dict[str, int] = {}
    parts = []
    for record, blocks, index in group.parts:
        overlaps: Iterable[Any] = [(index, None, None)]
        if not record.is_regular:
            overlaps = Layout(record.chunks).overlaps(record.grid.selection(index))
        fragments = []
        for at, source, target in overlaps:
            reference = blocks[at].reference
            number = numbers.setdefault(reference.future.key, len(numbers))
            fragments.append(Fragment(number, reference.position, source, target))
        parts.append((chunk_ref(record, index), fragments))
    return Task(key, write, storage, path, parts, *map(TaskRef, numbers))
