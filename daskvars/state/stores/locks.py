"""Keeping other writers of one place out for a moment, in this process and, on a disk, in others.

The lock of a local store is the system's own (``flock``, ``LockFileEx``) on the document of an
empty group ``lock`` in it: the system gives it back when its holder dies, however that happens, so
no lock is ever left behind. It works on local file systems and on NFS. Where the system has no such
locks there is a file beside it that names its holder, and is worth nothing once that is dead. Other
Zarr stores have no such thing: there only the threads of this process keep out of each other's way.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial

from zarr.abc.store import Store
from zarr.storage import LocalStore

from daskvars.state.failures import store_failure
from daskvars.state.format.documents import DOCUMENT, group_document
from daskvars.state.stores.local_files import open_plain, path_in
from daskvars.state.stores.objects import join

# filelock is imported where it is used: it takes 10 ms, and only who writes a store needs it.
NODE = "lock"
ASKED_EVERY_S = 0.005
"""Seconds after which whoever waits for another process asks again."""
NOT_WRITABLE = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC)
"""Errors that say by themselves why nothing can be locked: nothing can be written."""
LOCKS_WANTED = "; a store that is written needs a file system with locks"


class PathLock:
    """A lock on one place, which its holder may take again.

    Args:
        path_of: gives the file to lock, each time, for what it leads through may change; None
            where there is none.
    """

    def __init__(self, path_of: Callable[[], str] | None) -> None:
        self.path_of = path_of
        self.threads = threading.RLock()
        self.depth = 0
        self.release: Callable[[], object] | None = None

    def __enter__(self) -> None:
        self.threads.acquire()
        try:
            if self.path_of is not None and not self.depth:
                self.release = locked_file(self.path_of())
        except BaseException:
            self.threads.release()
            raise
        self.depth += 1

    def __exit__(self, *raised: object) -> None:
        self.depth -= 1
        try:
            if self.release is not None and not self.depth:
                release, self.release = self.release, None
                release()
        finally:
            self.threads.release()


def locked_file(path: str) -> Callable[[], object]:
    """Lock a file, made if it is not there, once no other process has; return what unlocks it."""
    try:
        try:
            file = open_plain(path, os.O_RDWR)
        except FileNotFoundError:
            make_file(path)
            file = open_plain(path, os.O_RDWR)
        try:
            import filelock  # noqa: PLC0415

            filelock.lock_descriptor(file, poll_interval=ASKED_EVERY_S)
        except OSError as error:
            os.close(file)
            if error.errno != errno.ENOSYS:
                raise
            return marked(path)
        except BaseException:
            os.close(file)
            raise
    except OSError as error:
        refused = "" if error.errno in NOT_WRITABLE else LOCKS_WANTED
        raise store_failure(f"cannot lock {path!r}: {error.strerror or error}{refused}") from error
    return partial(os.close, file)


def marked(path: str) -> Callable[[], object]:
    """Mark a file as held, once no living process has, where the system knows no locks."""
    import filelock  # noqa: PLC0415

    mark = filelock.SoftFileLock(f"{path}.held", poll_interval=ASKED_EVERY_S)
    mark.acquire()
    return mark.release


def make_file(path: str) -> None:
    """Make the document that is locked; it is never replaced, for a lock is on the file."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    beside = f"{path}.{os.urandom(16).hex()}.partial"
    with open(beside, "x") as file:
        json.dump(group_document({}), file)
    with contextlib.suppress(FileExistsError):  # another process was faster
        os.link(beside, path)
    os.unlink(beside)


_locks: dict[tuple[str, str], PathLock] = {}


@contextlib.contextmanager
def exclusive(store: Store, path: str) -> Iterator[None]:
    """Return a context in which nobody else has this place.

    Raises:
        StoreError: it is open for reading only, or its file system has no locks, or refuses.
    """
    if store.read_only:
        raise store_failure(f"cannot lock {store}: it is open for reading only")
    place = (str(store), path)
    if place not in _locks:
        name = f"{join(path, NODE)}/{DOCUMENT}"
        path_of = partial(path_in, store, name) if isinstance(store, LocalStore) else None
        _locks.setdefault(place, PathLock(path_of))
    with _locks[place]:
        yield


def this_process() -> str:
    """Name this process and moment, for others to know who wrote what they find."""
    moment = time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime())
    return f"process {os.getpid()} on {socket.gethostname()} at {moment}"
