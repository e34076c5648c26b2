"""Variables that outlive the process: a session's store on a disk or an object store."""

from __future__ import annotations

import os
import time
from typing import Any

from daskvars.errors import FailedPreconditionError
from daskvars.execution import events
from daskvars.execution.targets import served_by
from daskvars.state import Values, ZarrStore, named_values


def open_state(where: Any) -> tuple[Values, ZarrStore | None]:
    """Return the variables that sessions on the store `where` share, and where they are kept.

    Args:
      where: None or "" for private variables; a path or URL (something with a "/" in it, or that
        ends in ".zarr") for variables that are read from there and written back; any other text
        is a name that sessions of this process share. The target of a server that runs in this
        process stands for the store that it serves.

    Raises:
      StoreError: what is there is no store, or is damaged.
      UnavailableError: `where` is the target of a server that does not run in this process.
    """
    if not where:
        return Values(), None
    name = served_by(os.fspath(where) if not isinstance(where, bytes) else where.decode())
    if not is_place(name):
        return named_values(name), None
    place = name if "://" in name else os.path.abspath(name)
    values = named_values(place)
    store = ZarrStore(place)
    head = store.head()
    with values.run_lock:
        if head is not None and not len(values):
            read_version(values, store)
    return values, store


def read_version(values: Values, store: ZarrStore | None) -> int:
    """Set the variables to the store's newest version, and return its number.

    Raises:
      FailedPreconditionError: there is no store, or nothing in it.
    """
    head = store.head() if store is not None else None
    if store is None or head is None:
        raise no_durable_version()
    found = store.read_values(head.version)
    version = values.commit(found, values.version, dict(head.records))
    for key in values.capture()[1].keys() - found.keys():
        version = values.delete(key)
    values.mark_saved(version)
    return head.version


def no_durable_version() -> FailedPreconditionError:
    """Return the error of going back where there is nothing to go back to."""
    return FailedPreconditionError(
        None, None, "no version of the variables is durable yet; run the initializers, or restore "
        "a checkpoint"
    )  # fmt: skip


def is_place(name: str) -> bool:
    """Return whether the name of a store is a path or URL, not a mere name."""
    if name.startswith(("grpc://", "tcp://", "tls://")):
        return False  # a server's address
    return os.sep in name or "/" in name or name.endswith(".zarr")


def write_version(values: Values, store: ZarrStore) -> None:
    """Write what changed since the last version as a new one; the store's head moves to it."""
    start = time.perf_counter()
    dirty = values.dirty
    if not dirty:
        return
    version, state = values.capture()
    head = store.head()
    number = max(version, head.version + 1 if head is not None else 0)
    writer = store.begin([record for record, _ in state.values()], number)
    try:
        changed = {
            k: blocks for k, (_, blocks) in state.items() if k in dirty or not writer.carry(k)
        }
        writer.write_values(changed)
        writer.commit()
    except BaseException:
        writer.abort()
        raise
    values.mark_saved(version)
    nbytes = sum(state[key][0].nbytes for key in changed)
    events.publish(events.Sealed(str(store), number, nbytes, time.perf_counter() - start))
