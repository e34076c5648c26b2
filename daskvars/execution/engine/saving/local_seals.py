"""When and how a session without a cluster seals: its store on a disk or an object store.

On a cluster the scheduler says when (`remote.versions.seal_schedule`), and workers write
(`execution.cluster.saving.seals`). What follows is for a session that computes in its own process.
Sessions of one process on one path share a `Values`, and a run commits to it in memory: that costs
microseconds, a durable version milliseconds. A *seal* writes what changed as the store's next
version, with links to what did not. It is a compare-and-swap (`state.stores.store`): `Values.base`
is the version that the values come from, known by its token, and it must be the head still. The
head is the newest group ``v<number>`` with a manifest. Another process finds it by listing the
store, and takes it over when it *synchronises*: when a session is opened, at `Session.seal`, and at
the first run after `config.seal_every_s`. Then what changed here is sealed; if nothing did, the
head is read if it is another. When the last session of a process on a store is closed, its values
are released.

A process that is killed loses at most the runs of this period and of the time of one seal. The
runs see to it themselves; for a program that pauses between them, a thread does. A session that is
dropped without being closed is sealed by that thread, and shares its values until then with those
that are opened meanwhile; what is still open when the program ends is sealed then.

A seal may be broken off when its version is the head already: by Ctrl-C, or where the disk refuses
what comes after. Then nobody has heard that it succeeded, and the head would pass for that of
another process. So it is noted beforehand which version is begun (`Values.begun`, on a cluster
`State.begun` of the scheduler), and what is written next follows it if it is the head.

So two processes may meet in two ways. (Both are serializable; ``consistency="async"`` means
something on a cluster, see `execution.cluster.executor`.)

- With a period, a process is ahead of the store by the runs since its last seal. Their results have
  been returned, so they cannot be done again on another version: if the head has moved, or the
  store was deleted or replaced, the seal raises `ConflictError`, an `AbortedError`, writes nothing
  and leaves the values in memory as they are. `recover` takes the head's values instead; a `Saver`
  keeps both.
- With ``config.seal_every_s = 0`` each run is a transaction on the store: it synchronises, runs,
  and seals before it returns. One that loses runs again on the new head, with the same random
  numbers, holding the store so that nobody comes between; where a store cannot be held, up to
  `MAX_ATTEMPTS` times (a local directory can, see `state.stores.locks`). A run that fails, or
  whose version cannot be written, leaves the head's values.
"""

from __future__ import annotations

import contextlib
import logging
import os
import threading
import time
from collections.abc import Callable, Collection, Mapping
from typing import Any

from daskvars import config
from daskvars.errors import (
    AbortedError,
    FailedPreconditionError,
    NotFoundError,
    OpError,
    StoreError,
)
from daskvars.execution.engine import events
from daskvars.execution.engine.interrupts import before_threads_end, shielded
from daskvars.execution.engine.saving.targets import PREFIX, served_by
from daskvars.state import (
    NO_VERSION,
    ConflictError,
    Manifest,
    Values,
    VariableRecord,
    VersionId,
    ZarrStore,
    close_values,
    named_values,
    opened_values,
)
from daskvars.state.stores.addresses import local_path
from daskvars.state.stores.objects import check_writable
from daskvars.state.stores.store import Digests, Writer

logger = logging.getLogger("daskvars")

MAX_ATTEMPTS = 10  # of a run on a store that cannot be held
MIN_PAUSE_S = 0.001  # between two looks whether there is something to seal
EXIT_WAIT_S = 10.0  # for a run that is still going on when the program ends


def open_state(where: Any, load: bool = True) -> tuple[str, Values, ZarrStore | None]:
    """Return under which name sessions on the store `where` share variables, those of this
    process, and where they are kept.

    Args:
      where: None or "" for private variables; a path or URL (something with a "/" in it, or that
        ends in ".zarr") for variables that are read from there and written back; any other text
        is a name that sessions of this process share. The target of a server that runs in this
        process stands for the store that it serves.

    Raises:
      StoreError: what is there is no store, or is damaged, or may not be written.
      ConflictError: another session of this process has changed the variables, and the store has
        another head than they come from.
      UnavailableError: `where` is the target of a server that does not run in this process.
    """
    if not where:
        return "", Values(), None
    name = state_name(where)
    if not is_location(name):
        return name, named_values(name), None
    store = ZarrStore(name)
    store.root_numbers()  # raises where it is damaged, or no store of ours
    values = opened_values(name)
    try:
        with values.run_lock:
            if not len(values) and values.num_sessions == 1:
                values.base = NO_VERSION
            if load:
                load_if_changed(values, store)
        # Now, or training would go on until the first seal; nothing is touched of what is refused.
        check_writable(store.storage, store.path)
    except ConflictError as error:
        close_values(values)
        raise ConflictError.saying(f"{error.message}. {OPEN_ELSEWHERE}") from None
    except BaseException:
        close_values(values)
        raise
    return name, values, store


def state_name(where: Any) -> str:
    """Return the name under which sessions share variables: a path whole, a URL or name as it is.

    Raises:
      InvalidArgumentError: `where` is neither a path nor a URL nor a name.
      UnavailableError: `where` is the target of a server that does not run in this process.
    """
    name = served_by(os.fspath(where) if not isinstance(where, bytes) else where.decode())
    return local_path(name) if is_location(name) else name


class Durable:
    """Keeps the variables of one engine and their store in step.

    Args:
      name: the store's path or URL.
      values: the variables; sessions of this process on one store share them.
    """

    def __init__(self, name: str, values: Values, store: ZarrStore) -> None:
        self.name, self.values, self.store = name, values, store
        self._next_s = time.monotonic() + config.get().seal_every_s
        self._released = threading.Event()
        self._is_abandoned = False
        self._watcher: threading.Thread | None = None

    def seal(self) -> None:
        """Write what changed, or if nothing did take over what others wrote.

        Raises:
          ConflictError: both others and this process have changed the variables since the version
            that they come from, or the store was deleted. Nothing was written, and the values here
            are as they were.
        """
        with self.values.run_lock:
            try:
                if not write_version(self.values, self.store):
                    load_if_changed(self.values, self.store)
            except ConflictError as error:
                raise ConflictError.saying(f"{error.message}. {REMEDY}") from None
            finally:
                self._next_s = time.monotonic() + config.get().seal_every_s

    def seal_if_due(self) -> None:
        """Do so if the last time was `config.seal_every_s` ago."""
        if self._watcher is None:
            shielded(self._begin_watching)
        if time.monotonic() >= self._next_s:
            self.seal()

    def _begin_watching(self) -> None:
        self._watcher = threading.Thread(target=self._watch, name="daskvars-seal", daemon=True)
        self._watcher.start()
        _watched.add(self)

    def seal_changes(self) -> None:
        """Write what changed, if anything did; raises as `seal`."""
        with self.values.run_lock:
            if self.values.dirty:
                self.seal()

    def _watch(self) -> None:
        """Seal what is due while no run comes to do it, and at last what nobody closed."""
        pause_s = config.get().seal_every_s
        while not self._released.wait(min(max(pause_s, MIN_PAUSE_S), threading.TIMEOUT_MAX)):
            pause_s = config.get().seal_every_s
            with self.values.run_lock:
                left_s = self._next_s - time.monotonic()
                if left_s > 0:
                    pause_s = left_s
                else:
                    self._seal_aside()
        if self._is_abandoned:
            self._seal_aside()
            self.release()

    def _seal_aside(self) -> None:
        try:
            self.seal_changes()
        except (OpError, OSError, RuntimeError) as error:  # the next run raises it
            self._next_s = 0.0
            logger.warning("what changed since the last seal is not in %s: %s", self.name, error)

    def seal_at_exit(self) -> None:
        """Seal what changed, as the program ends; say so in the log where that cannot be."""
        if not self.values.run_lock.acquire(timeout=EXIT_WAIT_S):
            logger.warning(
                "what changed since the last seal is not in %s: a run still goes on", self.name
            )
            return
        try:
            self._seal_aside()
        finally:
            self.values.run_lock.release()

    def unwatch(self) -> None:
        """Take note that the thread that seals is not in this process, which was forked."""
        self._watcher = None

    def release(self) -> None:
        """Let go of the variables, which other sessions of this process may still use."""
        self._released.set()
        _watched.discard(self)
        close_values(self.values)

    def abandon(self) -> None:
        """Let go of what was not closed; a session opened before it is sealed shares its values.

        The garbage collector may call this at any place of any thread, so it waits for nothing.
        """
        self._is_abandoned = True
        self._released.set()
        if self._watcher is None:
            self.release()

    def transact(self, run: Callable[[], Any]) -> Any:
        """Run on the newest version, write what that changes, and return the results.

        Args:
          run: changes the variables in memory, all or none; may be called several times.

        Raises:
          AbortedError: other writers were faster each time; nothing has changed.
        """
        with self.values.run_lock:
            for attempt in range(MAX_ATTEMPTS):
                with self.store.exclusive() if attempt else contextlib.nullcontext():
                    self.seal()
                    try:
                        return self._attempt(run)
                    except ConflictError as error:
                        lost = error
        raise AbortedError.saying(
            f"a run was given up after {MAX_ATTEMPTS} attempts, in each of which "
            f"another writer was faster; it changed nothing. At last: {lost.message}"
        )

    def _attempt(self, run: Callable[[], Any]) -> Any:
        results = run()
        try:
            write_version(self.values, self.store)
        except BaseException:
            roll_back(self.values, self.store)
            raise
        return results


_watched: set[Durable] = set()  # those that may have something to seal


@before_threads_end
def _seal_at_exit() -> None:
    for durable in tuple(_watched):
        durable.seal_at_exit()


def _after_fork() -> None:
    for durable in _watched:
        durable.unwatch()
    _watched.clear()


if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=_after_fork)


REMEDY = (
    "Nothing of this session's was written, and its variables keep their values: save them with a "
    "Saver to keep them, then recover() takes the store's values over. If several processes are to "
    "write, set config.seal_every_s=0: each run is then a transaction on the newest version"
)


OPEN_ELSEWHERE = (
    "Another session of this process has the store open, and its variables have changed: save them "
    "with a Saver to keep them, then recover() there takes the store's values over"
)


def load_if_changed(values: Values, store: ZarrStore) -> None:
    """Read the store's head, if it is another version than the values are or come from.

    Raises:
      ConflictError: it is, and they have changed; or the store was deleted.
    """
    note_begun(values, store)
    head = store.head()
    if (NO_VERSION if head is None else head.id) == values.base:
        return
    if head is None or values.dirty:
        store.check_base(values.base, head)
    read_version(values, store)


def roll_back(values: Values, store: ZarrStore) -> None:
    """Set the variables to the store's newest version, whatever they are; none in an empty one."""
    if store.head() is not None:
        read_version(values, store)
    else:
        clear_values(values)


def clear_values(values: Values) -> None:
    """Leave the variables without values, as those of an empty store."""
    for key in values.capture()[1]:
        values.delete(key)
    values.base = NO_VERSION


def read_version(values: Values, store: ZarrStore | None) -> int:
    """Set the variables to the store's newest version, and return its number.

    Raises:
      FailedPreconditionError: there is no store, or nothing in it. If that is because it was
        deleted, the variables have no values then.
    """
    head = store.head() if store is not None else None
    if store is None or head is None:
        if values.base != NO_VERSION:
            clear_values(values)
        raise no_durable_version()
    head, found = newest_values(store, head)
    version = values.put(found, dict(head.records))
    for key in values.capture()[1].keys() - found.keys():
        version = values.delete(key)
    values.mark_saved(version)
    if not store.is_scratch:  # of which a lost cluster's version is, and nothing to come
        values.base = head.id
    return head.version


def newest_values(store: ZarrStore, head: Manifest) -> tuple[Manifest, Any]:
    """Return the head and its values; a later head, if others drop it while it is read."""
    while True:
        try:
            return head, store.read_values(head.version)
        except (NotFoundError, StoreError):
            newer = store.head()
            if newer is None or newer.id == head.id:
                raise
            head = newer


def no_durable_version() -> FailedPreconditionError:
    """Return the error of going back where there is nothing to go back to."""
    return FailedPreconditionError.saying(
        "no version of the variables is durable yet; run the initializers, or restore a checkpoint"
    )


def is_location(name: str) -> bool:
    """Return whether the name of a store is a path or URL, not a mere name."""
    if name.startswith(PREFIX):
        return False  # a server's address
    return os.sep in name or "/" in name or name.endswith(".zarr")


def write_version(values: Values, store: ZarrStore) -> bool:
    """Write what changed since the last version as a new one; the store's head moves to it.

    Returns:
      Whether anything did.

    Raises:
      ConflictError: the head is not the version that the values come from.
    """
    dirty = values.dirty
    if not dirty:
        return False
    version, state = values.capture()
    store.refuse_if_gone(values.base)
    note_begun(values, store)

    def write(writer: Writer, keys: set[str]) -> None:
        writer.write_values({key: blocks for key, (_, blocks) in state.items() if key in keys})
        values.begun = writer.id

    # Held while writing: whoever committed meanwhile would have made this work useless.
    with store.exclusive():
        records = {key: record for key, (record, _) in state.items()}
        values.base = seal_version(store, records, dirty, values.base, write, version).id
    values.mark_saved(version)
    return True


def note_begun(values: Values, store: ZarrStore) -> None:
    """Take note of a version that was written although its seal was broken off."""
    if values.begun is not None:
        values.base = base_of(store, values.base, values.begun)


def base_of(store: ZarrStore, base: VersionId, begun: VersionId | None) -> VersionId:
    """Return what the next version follows: one that was begun, if it is the head, else `base`."""
    head = None if begun is None else store.head()
    return base if head is None or head.id != begun else head.id


def seal_version(
    store: ZarrStore,
    records: Mapping[str, VariableRecord],
    dirty: Collection[str],
    base: VersionId,
    write: Callable[[Writer, set[str]], Digests | None],
    version: int = 0,
) -> Manifest:
    """Seal, whoever has the values: write those that changed, carry the others over, and commit.

    Args:
      dirty: which of them differ from the version `base`.
      base: the version that must be the head.
      write: writes variables, and returns the checksums of what other processes wrote of them.
      version: the least number that the new version may have.

    Returns:
      The new head.

    Raises:
      ConflictError: the head is another than `base`; nothing was written.
    """
    start = time.perf_counter()
    writer = store.begin(records.values(), version, base)
    with writer.whole_or_not():
        changed = {key for key in records if key in dirty or not writer.carry(key)}
        manifest = writer.commit(write(writer, changed))
    nbytes = sum(records[key].nbytes for key in changed)
    duration = time.perf_counter() - start
    events.publish(events.Sealed(str(store), manifest.version, nbytes, duration))
    return manifest
