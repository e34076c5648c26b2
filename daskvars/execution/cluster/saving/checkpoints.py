"""Checkpoints of variables that are on workers: every chunk is written and read there."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from typing import Any

from distributed import Client, Future

from daskvars.chunk_grid import block_indices, block_slices
from daskvars.execution.cluster.errors import error_of
from daskvars.execution.cluster.results.remote_blocks import (
    Reference,
    RemoteBlock,
    wait,
    wait_for_chunks,
)
from daskvars.execution.cluster.saving.task_graphs import SPLIT_BYTES, write_chunks
from daskvars.execution.cluster.workers.placement import ClusterPlacement
from daskvars.remote.dask_internals import RunGraph, Task
from daskvars.remote.task_keys import outputs_key
from daskvars.remote.tasks.chunk_tasks import (
    load_selections,
    write_in_background,
    write_stored_chunks,
)
from daskvars.state import SnapshotWriter, open_zarr_store
from daskvars.state.checkpoint import check_wanted, open_checkpoint, shifted
from daskvars.state.format.grids import Blocks
from daskvars.state.format.manifest import Manifest, VariableRecord
from daskvars.state.format.one_file import check_replaceable, pack
from daskvars.state.stores.addresses import archive_path


def save(
    client: Client,
    stamp: str,
    values: Mapping[str, tuple[VariableRecord, Blocks]],
    where: Any,
    global_step: int | None,
    in_flight: Sequence[Future] | None = None,
) -> None:
    """Write a checkpoint of variables whose blocks are on workers; see `checkpoint.save`.

    Args:
      client: the cluster.
      stamp: a text for keys that was not used before.
      values: name -> record and blocks.
      where: path or URL, which all workers reach. For one file, workers write their chunks into a
        directory beside it, from which this process makes the file: every byte is written twice.
      global_step: the step that is noted in it.
      in_flight: of the runs that made the values: what must succeed. With it workers write in
        threads beside those of their other tasks.
    """
    archive = archive_path(where)
    if archive is not None:
        check_replaceable(archive, overwrite=True)
        beside = f"{archive}.{stamp}.partial"
        try:
            manifest = write(client, stamp, values, beside, global_step, in_flight)
            pack(*open_zarr_store(beside, "r"), manifest, archive)
        finally:
            shutil.rmtree(beside, ignore_errors=True)
    else:
        write(client, stamp, values, where, global_step, in_flight)


def write(
    client: Client,
    stamp: str,
    values: Mapping[str, tuple[VariableRecord, Blocks]],
    where: Any,
    global_step: int | None,
    in_flight: Sequence[Future] | None,
) -> Manifest:
    """Have workers write a checkpoint of many objects; see `save`."""
    storage, path = open_zarr_store(where, "a")
    writer = SnapshotWriter(storage, path, global_step or 0, overwrite=True)
    here = {
        name: found
        for name, (_, found) in values.items()
        if not any(isinstance(block, RemoteBlock) for block in found.values())
    }
    blocks = {name: found for name, (_, found) in values.items() if name not in here}
    waits = in_flight is None
    put = write_stored_chunks if waits else write_in_background
    doing = "save" if waits else ""  # in the background nobody waits for it
    with writer.alone(), writer.whole_or_not():
        writer.declare(record for record, _ in values.values())
        writer.write_values(here)
        name = f"save-{stamp}"
        digests = write_chunks(client, name, writer, storage, blocks, put, doing=doing)
        wait(client, in_flight or ())
        failed = next((f for f in in_flight or () if f.status != "finished"), None)
        if failed is not None:
            raise error_of(failed)
        return writer.commit(digests, global_step=global_step)


def restore(
    client: Client,
    stamp: str,
    placement: ClusterPlacement,
    where: Any,
    wanted: Mapping[str, tuple[Any, tuple[int, ...], Any]],
    names: Mapping[str, str],
    offsets: Mapping[str, tuple[int, ...]],
) -> dict[str, dict[Any, RemoteBlock]]:
    """Return blocks that workers read from a checkpoint or any Zarr group.

    Args:
      client: the cluster.
      stamp: a text for keys that was not used before.
      placement: knows where the variables are to live.
      where: path or URL, which all workers reach.
      wanted: key -> dtype, shape and chunks.
      names: key -> name in the checkpoint.
      offsets: key -> where in the array of that name it begins, if it is a part of it.

    Raises:
      RestoreError: listing everything that differs; nothing was read.
    """
    storage, path = open_zarr_store(where, "r")
    names = {key: names.get(key, key) for key in wanted}
    source = open_checkpoint(storage, path)
    check_wanted(source, wanted, names, allow_unexpected=True)
    found: dict[str, dict[Any, RemoteBlock]] = {}
    batches: dict[Any, list[tuple[str, Any, Any]]] = {}
    batch, room = 0, 0
    for key, (_, _, chunks) in wanted.items():
        indices = list(block_indices(chunks))
        found[key] = {index: RemoteBlock() for index in indices}
        size = source.records[names[key]].nbytes // max(1, len(indices))
        device_type = placement.type_of(key)
        for number, index in enumerate(indices):
            found_at = placement.variable_annotations(key, number, len(indices))
            workers = (
                tuple(found_at.get("workers", ())),
                "allow_other_workers" in found_at,
                device_type,
            )
            room -= size
            if room < 0:
                batch, room = batch + 1, SPLIT_BYTES
            selection = shifted(block_slices(chunks, index), offsets.get(key))
            batches.setdefault((batch, workers), []).append((key, index, selection))
    graph = {}
    annotations: dict[str, dict[Any, Any]] = {"workers": {}, "allow_other_workers": {}}
    for number, ((_, (workers, is_loose, device_type)), blocks) in enumerate(batches.items()):
        key = outputs_key("restore", stamp, number)
        selections = tuple((names[name], selection) for name, _, selection in blocks)
        graph[key] = Task(
            key, load_selections, storage, path, selections, source.token, device_type
        )
        if workers:
            annotations["workers"][key] = list(workers)
            annotations["allow_other_workers"][key] = is_loose
    expression = RunGraph(graph, annotations, f"restore-{stamp}")
    futures = client.get(expression, list(graph), sync=False)
    num_chunks = {f: len(blocks) for f, blocks in zip(futures, batches.values(), strict=True)}
    wait_for_chunks(client, num_chunks, "restore")
    for future in futures:
        if future.status != "finished":
            raise error_of(future)
    for blocks, future in zip(batches.values(), futures, strict=True):
        for position, (key, index, _) in enumerate(blocks):
            found[key][index].found = Reference(future, position)
    return found
