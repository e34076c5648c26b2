"""Seals of a state that several clients share: one of them writes, and training goes on.

The client that is asked to (`state.version_keeper`) has the workers write the blocks that changed,
as they were when it began, and commits them as the store's next version. Runs go on meanwhile, its
own after the writing. Then the scheduler replaces what the blocks are computed from by loading
them, so nothing is loaded that is still on a worker.
"""

from __future__ import annotations

import time
import warnings
from typing import Any

from distributed import Future

from daskvars import config
from daskvars.chunk_grid import block_slices
from daskvars.execution import events
from daskvars.execution.remote_blocks import Reference, RemoteBlock
from daskvars.execution.sealing import SHARE, grouped, write_task
from daskvars.remote.dask_internals import RunGraph, Task, cut_loose
from daskvars.state import VersionId, ZarrStore
from daskvars.state.seals import load_bundle
from daskvars.state.shared_versions import Variables

WAIT_S = 0.02  # between questions whether another client has finished its seal
SEAL_PRIORITY = 1  # before the tasks of runs in flight, which have 0


class SharedSealer:
    """Seals a shared state when asked to.

    Args:
      executor: the state's executor.
      store: where to; without it that is a directory on the scheduler's machine.

    Attributes:
      version: the last one that is durable, as far as is known here; None before the first.
      is_asked: whether the scheduler has asked this client.
      num_seals: how many snapshots were written from here.
    """

    def __init__(self, executor: Any, store: ZarrStore | None) -> None:
        self.executor, self.store = executor, store
        self.version: VersionId | None = None
        self.is_asked = False
        self.num_seals = 0
        self._works = True

    def note_run(self, *_: Any) -> None:
        """Take note of a run: the scheduler does that."""

    def hasten(self) -> None:
        """Seal soon: the scheduler knows that from what is put there."""

    def seal_if_asked(self) -> None:
        """Seal if the scheduler has asked for it and no other client has begun."""
        if self.is_asked:
            self.is_asked = False
            self._attempt()

    def seal(self) -> None:
        """Make what is finished durable, once no other client is doing so."""
        while not self._attempt():
            time.sleep(WAIT_S)

    def _attempt(self) -> bool:
        executor = self.executor
        session = {"name": executor.name, "session": executor.token}
        granted = executor.ask("begin_seal", client=executor.client.id, **session)
        if granted is None:
            return False
        start = time.monotonic()
        outcome: dict[str, Any] = {"durable": None, "recipes": {}}
        try:
            outcome = self._written(*granted)
        finally:
            took = time.monotonic() - start
            pause = min(SHARE * took, config.get().seal_every_s) if self._works else float("inf")
            executor.ask("end_seal", pause_s=pause, **outcome, **session)
        return True

    def _written(self, variables: Variables, changed: set[str], base: VersionId) -> dict[str, Any]:
        """Write a version; return its number and what loads the blocks from it."""
        executor = self.executor
        # Made whatever comes: that they go tells the scheduler that this client wants them no more.
        state = {key: (record, executor.pinned(blocks)) for key, (record, blocks) in
                 variables.items()}  # fmt: skip
        store = self.place() if changed else None
        if store is None:
            return {"durable": None, "recipes": {}}
        start = time.monotonic()
        self.num_seals += 1
        records = [record for record, _ in variables.values()]
        writer: Any = store.begin(records, base=base)
        try:
            dirty = {k for k in variables if k in changed or not writer.carry(k)}
            groups = grouped({key: (writer.records[key], state[key][1]) for key in dirty})
            stamp = f"seal-{executor.token}.{self.num_seals}"
            keys = [f"{stamp}-{number}" for number in range(len(groups))]
            graph = {
                key: write_task(key, store.storage, writer.path, group, None)
                for key, group in zip(keys, groups, strict=True)
            }
            digests: dict[str, dict[Any, int]] = {}
            written = executor.client.get(RunGraph(graph, {}, stamp), keys, priority=SEAL_PRIORITY)
            for group, (_, found) in zip(groups, written, strict=True):
                for (record, _, index), digest in zip(group.parts, found, strict=True):
                    digests.setdefault(record.key, {})[index] = digest
            manifest = writer.commit(digests)
        except BaseException:
            writer.abort()
            raise
        self.version = manifest.id
        nbytes = sum(variables[key][0].nbytes for key in dirty)
        duration = time.monotonic() - start
        events.publish(events.Sealed(str(store), manifest.version, nbytes, duration))
        recipes = self._cut_loose(variables, store.storage, writer.path, manifest.token)
        return {"durable": manifest.id, "recipes": recipes}

    def _cut_loose(self, *arguments: Any) -> dict[Any, Task]:
        """Have the workers forget what the blocks were computed from; return what loads them."""
        recipes = loading(*arguments)
        self.executor.client.run(cut_loose, list(recipes), on_error="ignore")
        return recipes

    def place(self) -> ZarrStore | None:
        """Return where to; None, with a warning, where that is a place that workers do not see."""
        if self.store is None and self._works:
            executor = self.executor
            place = executor.ask("place", name=executor.name, scratch=config.get().scratch)
            blind = executor.blind(place)
            self._works = not blind
            if blind:
                warnings.warn(
                    f"workers {', '.join(blind)} do not see the directory {place!r}, so history is "
                    "kept and grows with every run; set config.scratch to a directory or URL that "
                    "all workers reach, or give the state a store",
                    stacklevel=2,
                )
            else:
                self.store = ZarrStore(place)
        return self.store

    def close(self) -> None:
        """Let go of nothing: what is sealed belongs to all clients."""


def loading(variables: Variables, storage: Any, path: str, token: str) -> dict[Any, Task]:
    """Return for each key of some variables the task that loads what is under it."""
    wanted: dict[Any, list[Any]] = {}
    for name, (record, blocks) in variables.items():
        for index, held in blocks.items():
            region = block_slices(record.chunks, index)
            wanted.setdefault(held.key, []).append((held.position, name, region))
    return {
        key: Task(key, load_bundle, storage, path, blocks, token) for key, blocks in wanted.items()
    }


def pinned_block(client: Any, held: Any) -> RemoteBlock:
    """Return a block whose key the client wants from now on."""
    return RemoteBlock(Reference(Future(held.key, client), held.position, held.extra_bytes))
