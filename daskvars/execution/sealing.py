"""Sealing: cutting the variables loose from the tasks that made them.

Dask recovers lost blocks by running again what made them, so it keeps every ancestor of a block as
long as the block: a chain of updates would grow for ever. Every so often the blocks that changed
are written as a snapshot, and `load` tasks without ancestors take their places (`state.seals`).

A seal waits for the runs in flight: a later version is built on the keys of the earlier ones, which
cannot be changed under it. So it costs a few round trips and the writing; seals come so far apart
that this is at most a twentieth of the time, but not farther than `config.seal_every_s`.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
import warnings
import weakref
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from distributed import Client

from daskvars import config
from daskvars.chunk_grid import block_slices
from daskvars.execution import events
from daskvars.execution.bundles import SPLIT_BYTES
from daskvars.execution.placing import by_annotation
from daskvars.execution.remote_blocks import Reference, RemoteBlock
from daskvars.remote.dask_internals import RunGraph, Task, TaskRef
from daskvars.state import SnapshotWriter, delete_snapshot, open_zarr_store
from daskvars.state.chunks import chunk_ref
from daskvars.state.grids import Blocks, Index, Layout
from daskvars.state.manifest import Manifest, VariableRecord
from daskvars.state.seals import (
    Fragment,
    Slot,
    forget,
    load_chunks,
    load_regions,
    write_parts,
)
from daskvars.state.values import Values

FIRST_RUNS = 10  # before the first seal: a program that ends sooner needs none
SHARE = 20  # a seal may cost 1/20 of the time
MOST_TASKS = 1_000  # that the scheduler keeps for recovery, whatever the time
MOST_RETAINED_BYTES = 256 << 20  # of feeds that are kept for recovery, whatever the time


@dataclass(frozen=True, slots=True)
class Sealed:
    """A variable in a snapshot: where, the snapshot's manifest, its blocks as then rebound."""

    path: str
    manifest: Manifest
    blocks: Blocks


@dataclass(eq=False, slots=True)
class Group:
    """Stored chunks that one task writes.

    Attributes:
      parts: the variable, its blocks, and the chunk's index in the stored grid.
      is_whole: each chunk is one block, so that the blocks can be loaded by one task again.
    """

    parts: list[tuple[VariableRecord, Blocks, Index]]
    is_whole: bool


class Sealer:
    """Seals the variables of one `Values`.

    Args:
      client: the cluster.
      values: the variables; all their blocks are on workers when `seal` is called.
      token: a text that no other sealer has.
      wish_of: ``wish_of(key, number, count)``: the Dask annotations of what makes a chunk.
      type_of: ``type_of(key)``: the type of device that a variable lives on.

    Attributes:
      version: the last one that is durable, None before the first seal.
      sealed: the variables in it, by key.
      num_seals: how many snapshots were written.
      retained: what lost blocks could not be computed without, kept until the next seal.
    """

    def __init__(
        self, client: Client, values: Values, token: str,
        wish_of: Callable[[str, int, int], dict[str, Any]] = lambda key, number, count: {},
        type_of: Callable[[str], str] = lambda key: "CPU",
    ) -> None:  # fmt: skip
        self.client, self.values, self.token = client, values, token
        self.wish_of, self.type_of = wish_of, type_of
        self.version: int | None = None
        self.sealed: dict[str, Sealed] = {}
        self.retained: list[Any] = []
        self._retained_bytes = 0
        self._storage: Any = None
        self._root = ""
        self._works = True
        self.num_seals = 0
        self._num_loads = 0
        self._runs = 0
        self._tasks = 0
        self._next_s = 0.0
        self._paths: set[str] = set()
        self._finalizer: Any = None

    # -- when -----------------------------------------------------------------------------------

    def note_run(self, tasks: int, retained: Iterable[Any], nbytes: int) -> None:
        """Take note of a run: how many tasks it had, and what its recovery needs kept alive."""
        self._runs += 1
        self._tasks += tasks
        self.retained.extend(retained)
        self._retained_bytes += nbytes

    def hasten(self) -> None:
        """Seal with the next run: something was put on the workers that they cannot rebuild."""
        self._runs, self._next_s = FIRST_RUNS, 0.0

    @property
    def is_due(self) -> bool:
        """Whether it is time to seal."""
        if not self._works or self._runs < FIRST_RUNS:
            return False
        return (
            time.monotonic() >= self._next_s
            or self._tasks >= MOST_TASKS
            or self._retained_bytes >= MOST_RETAINED_BYTES
        )

    # -- sealing --------------------------------------------------------------------------------

    def seal(self) -> bool:
        """Make the present version durable, once no run is in flight, and forget its history.

        Returns:
          Whether that was possible.
        """
        start = time.monotonic()
        if self._storage is None and not self._open():
            return False
        version, state = self.values.capture()
        dirty = {
            key: (record, blocks) for key, (record, blocks) in state.items()
            if key not in self.sealed or self.sealed[key].blocks is not blocks
        }  # fmt: skip
        if dirty:
            self.num_seals += 1
            self._write(version, dirty)
            nbytes = sum(record.nbytes for record, _ in dirty.values())
            path = f"{self._storage}/{self._root}"
            events.publish(events.Sealed(path, version, nbytes, time.monotonic() - start))
        self.version = version
        self.retained, self._retained_bytes, self._runs, self._tasks = [], 0, 0, 0
        now = time.monotonic()
        self._next_s = now + min(SHARE * (now - start), config.get().seal_every_s)
        return True

    def _write(self, version: int, dirty: dict[str, tuple[Any, Blocks]]) -> None:
        """Write dirty variables as a snapshot and rebind their blocks to it."""
        path = f"{self._root}/v{self.num_seals}" if self._root else f"v{self.num_seals}"
        writer = SnapshotWriter(self._storage, path, version)
        writer.declare([record for record, _ in dirty.values()])
        groups = grouped({key: (writer.records[key], b) for key, (_, b) in dirty.items()})
        slots = [
            Slot(self.token, self.num_seals, number) if group.is_whole else None
            for number, group in enumerate(groups)
        ]
        try:
            written = self._write_groups(writer, groups, slots)
        except Exception:
            writer.abort()
            raise
        digests: dict[str, dict[Index, int]] = {}
        wanted, homes = [], []
        for group, slot, (address, found) in zip(groups, slots, written, strict=True):
            names = [(record.key, index) for record, _, index in group.parts]
            for (key, index), digest in zip(names, found, strict=True):
                digests.setdefault(key, {})[index] = digest
            if slot is not None:
                wanted.append((names, slot))
                homes.append(address)
        manifest = writer.commit(digests)
        bound = {key: blocks for key, (_, blocks) in dirty.items()}
        covered = {name for names, _ in wanted for name in names}
        names = [(key, index) for key, found in bound.items() for index in found]
        wanted += [([name], None) for name in names if name not in covered]
        self._load(manifest, writer.path, wanted, homes, bound)
        for key, blocks in bound.items():
            self.sealed[key] = Sealed(writer.path, manifest, blocks)
        self._drop_unused()

    def _write_groups(self, writer: Any, groups: list[Group], slots: list[Slot | None]) -> Any:
        stamp = f"seal-{self.token}.{self.num_seals}"
        graph = {}
        for number, (group, slot) in enumerate(zip(groups, slots, strict=True)):
            key = f"{stamp}-{number}"
            graph[key] = write_task(key, self._storage, writer.path, group, slot)
        return self.client.get(RunGraph(graph, {}, stamp), list(graph))

    def _load(
        self, manifest: Manifest, path: str, wanted: list[Any], homes: list[str],
        state: dict[str, Blocks],
    ) -> None:  # fmt: skip
        """Send load tasks, the first ones to the workers that have the blocks, and rebind."""
        self._num_loads += 1
        stamp = f"{self.token}.{self._num_loads}"
        keys = [f"load-{stamp}-{number}" for number in range(len(wanted))]
        graph = {
            key: self._load_task(key, manifest, path, names, slot)
            for key, (names, slot) in zip(keys, wanted, strict=True)
        }
        numbers = {key: {index: n for n, index in enumerate(found)} for key, found in state.items()}
        wishes = {}
        for key, (((name, index), *_), _) in zip(keys, wanted, strict=True):
            wishes[key] = self.wish_of(name, numbers[name][index], len(numbers[name]))
        for key, home in zip(keys, homes, strict=False):
            if not wishes[key] or "allow_other_workers" in wishes[key]:
                wishes[key] = {"workers": [home], "allow_other_workers": True}
        expression = RunGraph(graph, by_annotation(wishes), f"load-{stamp}")
        futures = self.client.get(expression, keys, sync=False)
        for (names, _), future in zip(wanted, futures, strict=True):
            for position, (key, index) in enumerate(names):
                state[key][index].reference = Reference(future, position)

    def _load_task(
        self, key: str, manifest: Manifest, path: str, names: Any, slot: Slot | None
    ) -> Task:
        records, device_type = manifest.records, self.type_of(names[0][0])
        if slot is not None:
            chunks = [chunk_ref(records[name], index) for name, index in names]
            return Task(key, load_chunks, self._storage, path, chunks, slot, device_type)
        regions = [(name, block_slices(records[name].chunks, index)) for name, index in names]
        return Task(
            key, load_regions, self._storage, path, regions, manifest.token, device_type
        )

    # -- going back -----------------------------------------------------------------------------

    def reload(self) -> dict[str, tuple[VariableRecord, Blocks]]:
        """Return the variables as last sealed, to be read anew from their snapshots."""
        by_path: dict[str, dict[str, Any]] = {}
        for key, sealed in self.sealed.items():
            blocks = {index: RemoteBlock() for index in sealed.blocks}
            by_path.setdefault(sealed.path, {})[key] = blocks
        found: dict[str, tuple[VariableRecord, Blocks]] = {}
        for path, state in by_path.items():
            manifest = self.sealed[next(iter(state))].manifest
            wanted = [([(key, at)], None) for key, blocks in state.items() for at in blocks]
            self._load(manifest, path, wanted, [], state)
            for key, blocks in state.items():
                self.sealed[key] = Sealed(path, manifest, blocks)
                found[key] = (manifest.records[key], blocks)
        return found

    # -- the place ------------------------------------------------------------------------------

    def _open(self) -> bool:
        """Open the place for snapshots; False, with a warning, where workers cannot reach it."""
        scratch = config.get().scratch
        if scratch is None:
            place = tempfile.mkdtemp(prefix="daskvars-")
            self._finalizer = weakref.finalize(self, shutil.rmtree, place, ignore_errors=True)
        else:
            place = scratch
            self._root = f"session-{self.token}"
        if scratch is None or "://" not in place:
            os.makedirs(place, exist_ok=True)
            seen = self.client.run(os.path.isdir, place, on_error="ignore")
            blind = sorted(worker for worker, found in seen.items() if not found)
            if blind:
                self._works = False
                warnings.warn(
                    f"workers {', '.join(blind)} do not see the directory {place!r}, so history is "
                    "kept and grows with every run; set config.scratch to a directory or URL that "
                    "all workers reach",
                    stacklevel=2,
                )
                return False
        self._storage, inner = open_zarr_store(place)
        self._root = "/".join(part for part in (inner, self._root) if part)
        return True

    def _drop_unused(self) -> None:
        """Delete snapshots that no variable is bound to any more."""
        used = {sealed.path for sealed in self.sealed.values()}
        for path in self._paths - used:
            delete_snapshot(self._storage, path)
        self._paths = used

    def close(self) -> None:
        """Remove the snapshots, and what workers keep of them."""
        if self.client.status == "running":
            self.client.run(forget, self.token, on_error="ignore")
        if self._finalizer is not None:
            self._finalizer()
        elif self._storage is not None:
            for path in self._paths:
                delete_snapshot(self._storage, path)
        self.sealed, self._paths, self.retained = {}, set(), []


def grouped(variables: dict[str, tuple[VariableRecord, Blocks]]) -> list[Group]:
    """Return the stored chunks of some variables by the task that writes them.

    Small blocks of one bundle go together. A chunk that is not one block, because Zarr's grids
    are regular, is a group of its own.
    """
    groups: dict[Any, Group] = {}
    for key, (record, blocks) in variables.items():
        size = record.nbytes // max(1, record.grid.num_chunks)
        for index in record.grid:
            identity: Any = (key, index)
            if record.is_regular and size < SPLIT_BYTES:
                identity = blocks[index].reference.future.key
            group = groups.setdefault(identity, Group([], record.is_regular))
            group.parts.append((record, blocks, index))
    return list(groups.values())


def write_task(
    key: str, storage: Any, path: str, group: Group, slot: Slot | None, write: Any = write_parts
) -> Task:
    """Return the task that writes a group."""
    numbers: dict[str, int] = {}
    parts = []
    for record, blocks, index in group.parts:
        overlaps: Iterable[Any] = [(index, None, None)]
        if not record.is_regular:
            overlaps = Layout(record.chunks).overlaps(record.grid.region(index))
        fragments = []
        for at, source, target in overlaps:
            reference = blocks[at].reference
            number = numbers.setdefault(reference.future.key, len(numbers))
            fragments.append(Fragment(number, reference.position, source, target))
        parts.append((chunk_ref(record, index), fragments))
    return Task(key, write, storage, path, parts, slot, *map(TaskRef, numbers))
