"""Seals of a state on a cluster: one client writes, and training goes on.

Dask recovers lost blocks by running again what made them, so it keeps every ancestor of a block as
long as the block: a chain of updates would grow for ever. So every now and then the scheduler asks
a client (`remote.versions.version_keeper`) to have the workers write the blocks that changed, as
they were when it began, and to commit them as the next version of the state's store. Runs go on
meanwhile, its own after the writing. Then the scheduler replaces what the blocks are computed from
by loading them, so nothing is loaded that is still on a worker.

Seals come so far apart that they cost at most a twentieth of the time, but not farther than
`config.seal_every_s`.

A signal may come at any moment, and a client may be killed. So the scheduler knows which version is
about to be committed before it is, and what a client was not told (that its turn had begun) or has
not told (that its version is there) the next seal makes good.
"""

from __future__ import annotations

import contextlib
import time
import warnings
import weakref
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Protocol

from daskvars import config
from daskvars.chunk_grid import block_slices
from daskvars.errors import OpError, enumerated
from daskvars.execution.cluster.runs.lost import LostRuns
from daskvars.execution.cluster.saving.task_graphs import write_chunks
from daskvars.execution.cluster.state_client import StateClient
from daskvars.execution.engine.saving.local_seals import base_of, seal_version
from daskvars.remote.dask_internals import Task
from daskvars.remote.tasks.chunk_tasks import load_outputs
from daskvars.remote.versions.commit_order import Variables
from daskvars.state import VersionId, ZarrStore, scratch_directory
from daskvars.state.format.grids import Blocks
from daskvars.state.format.manifest import NO_VERSION, Manifest
from daskvars.state.stores.store import Digests

SHARE = 20  # a seal may cost 1/20 of the time
WAIT_S = 0.02  # between questions whether another client has finished its seal
SEAL_PRIORITY = 1  # before the tasks of runs in flight, which have 0


class Sealable(StateClient, Protocol):
    """A state that can be sealed: `executor.ClusterExecutor`.

    Attributes:
      lost_runs: what sends runs again on what was sealed.
    """

    lost_runs: LostRuns

    def fetch(self) -> None:
        """Bring results that were not waited for."""

    def pinned(self, variables: Variables) -> dict[str, Blocks]:
        """Return the blocks of variables, which this client keeps as long as it has them."""

    def workers_without_access(self, path: str) -> list[str]:
        """Return the workers that do not see a directory."""


class Sealer:
    """Seals a state on a cluster when asked to.

    Args:
      store: where to; without it that is a directory: for a private state on this machine, else on
        the scheduler's.

    Attributes:
      is_durable: whether versions outlive the cluster, in a store that somebody named.
      version: the last one that is durable, as far as is known here; None before the first.
      is_requested: whether the scheduler has asked this client.
      num_seals: how many snapshots were written from here.
    """

    def __init__(self, executor: Sealable, store: ZarrStore | None) -> None:
        self.executor, self.store = executor, store
        self.is_durable = store is not None
        self.version: VersionId | None = None
        self.is_requested = False
        self.num_seals = 0
        self._has_turn = False
        self._works = True
        self._scratch: weakref.finalize | None = None

    def seal_if_requested(self) -> None:
        """Seal if the scheduler has asked for it and no other client has begun."""
        if self.is_requested or self._has_turn:  # which was broken off, and nobody else has it now
            self.is_requested = False
            self._attempt()

    def seal(self) -> None:
        """Make what is finished durable, once no other client is doing so."""
        while not self._attempt():
            time.sleep(WAIT_S)

    def _attempt(self) -> bool:
        self.executor.fetch()  # what the scheduler will not be able to compute again
        with self._turn() as (granted, told):
            if granted is None:
                return False
            start = time.monotonic()
            try:
                self._write(told, *granted)
            finally:
                took = time.monotonic() - start
                pause = min(SHARE * took, config.get().seal_every_s)
                told["pause_s"] = pause if self._works else float("inf")
        if not self._works:
            self.executor.lost_runs.discard_log()
        return True

    @contextlib.contextmanager
    def _turn(self, *, waits: bool = False) -> Iterator[tuple[Any, dict[str, Any]]]:
        """Ask for the right to write: give what the scheduler grants, and what to tell it after.

        While another client has it nothing is granted, unless this waits.
        """
        executor = self.executor
        session = {"name": executor.name, "session": executor.token}
        self._has_turn = True  # before it is known: a signal may come before the answer
        begin = partial(executor.call_scheduler, "begin_seal", client=executor.client.id)
        while (granted := begin(**session)) is None and waits:
            time.sleep(WAIT_S)
        told: dict[str, Any] = {"durable": None, "reload_tasks": {}, "pause_s": 0.0}
        try:
            yield granted, told
        finally:
            if granted is not None:
                executor.call_scheduler("end_seal", **told, **session)
            self._has_turn = False

    def _write(
        self,
        told: dict[str, Any],
        variables: Variables,
        changed: set[str],
        base: VersionId,
        begun: VersionId | None,
    ) -> None:
        """Write a version, and add to what is told its number and what loads the blocks from it."""
        executor = self.executor
        # Made whatever comes: that they go tells the scheduler that this client wants them no more.
        state = executor.pinned(variables)
        store = self.open_store() if changed else None
        if store is None:
            return
        self.num_seals += 1
        stamp = f"seal-{executor.token}.{self.num_seals}"
        named: VersionId | None = None

        def write(writer: Any, keys: set[str]) -> Digests:
            nonlocal named
            blocks = {key: state[key] for key in keys}
            digests = write_chunks(
                executor.client, stamp, writer, store.storage, blocks, priority=SEAL_PRIORITY
            )
            executor.call_scheduler("begin_commit", name=executor.name, begun=writer.id)
            named = writer.id
            return digests

        records = {key: record for key, (record, _) in variables.items()}
        base = base_of(store, base, begun)
        if not self.is_durable and store.head() is None:
            changed, base = set(variables), NO_VERSION  # somebody tidied up where it was: all anew
        durable = base
        try:
            durable = seal_version(store, records, changed, base, write).id
        except BaseException:  # which may have come when it was committed
            with contextlib.suppress(OpError):  # the first error is the one to tell
                durable = base_of(store, base, named)
            raise
        finally:
            if durable != base:
                self.version = told["durable"] = durable
                told["reload_tasks"] = self._reload_tasks(variables, store, durable)

    def _reload_tasks(
        self, variables: Variables, store: ZarrStore, version: VersionId
    ) -> dict[Any, Task]:
        """Return for each key of some variables the task that loads what is under it."""
        path, token = store.version_path(version.number), version.token
        wanted: dict[Any, list[Any]] = {}
        for name, (record, blocks) in variables.items():
            for index, location in blocks.items():
                selection = block_slices(record.chunks, index)
                wanted.setdefault(location.key, []).append((location.position, name, selection))
        type_of = self.executor.placement.type_of
        return {
            key: Task(key, load_outputs, store.storage, path, found, token, type_of(found[0][1]))
            for key, found in wanted.items()
        }

    def catch_up(self, reset: Callable[[ZarrStore, Manifest], object]) -> None:
        """Have a state that was there before go on from its store, if that was written meanwhile.

        A process without a cluster may have done so. Where the state has changed as well, neither
        is taken for the other: it stays, and who seals it is told.

        Args:
          reset: ``reset(store, head)`` sets the state to the store's head.
        """
        store = self.store
        head = None if store is None else store.head()
        if store is None or head is None or head.id == self.version:
            return
        with self._turn(waits=True) as ((_, changed, *ours), _):  # others write what is the state's
            head = store.head()
            if head is None or head.id in ours:
                return
            if changed:
                warnings.warn(
                    f"the store {store.path!r} was written by a process without this cluster "
                    f"(version {head.version}), while {enumerated(sorted(changed))} changed here: "
                    "a seal will raise AbortedError. recover() takes what is in the store; a Saver "
                    "keeps what is here",
                    stacklevel=2,
                )
            else:
                reset(store, head)

    # -- the store ------------------------------------------------------------------------------

    def open_store(self) -> ZarrStore | None:
        """Return where to; None, with a warning, where workers do not see that."""
        if self.store is None and self._works:
            path = self._new_location()
            blind = self.executor.workers_without_access(path)
            self._works = not blind
            if blind:
                warnings.warn(
                    f"workers {', '.join(blind)} do not see the directory {path!r}, so history is "
                    "kept and grows with every run; set config.scratch to a directory or URL that "
                    "all workers reach, or give the session a store",
                    stacklevel=2,
                )
            else:
                self.store = ZarrStore(path, keep=1, is_scratch=True)
        return self.store

    def _new_location(self) -> str:
        executor, scratch = self.executor, config.get().scratch
        if not executor.is_private:
            return executor.call_scheduler("scratch_location", name=executor.name, scratch=scratch)
        if scratch is not None and "://" in scratch:
            return f"{scratch}/{executor.name}"
        path, remove = scratch_directory(scratch)
        self._scratch = weakref.finalize(self, remove)
        return path

    def close(self) -> None:
        """Remove what a private state has written; what others may want stays."""
        if self._scratch is not None:
            self._scratch()
        elif self.executor.is_private and self.store is not None:
            for version in self.store.snapshots():
                self.store.drop(version)
