"""Directories that go with the process that made them, also if it is killed.

A process removes its own when it ends. For one that has no time for it, whoever makes the next
directory beside removes what it left: each has a file of which its process holds the system's lock,
which is free again when the process is gone, however it went. The file says on which machine that
was, and others leave the directory alone.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import tempfile
from collections.abc import Callable
from functools import partial

from daskvars.state.stores.local_files import OWN_BYTES, open_plain

# filelock is imported where it is used: see `locks`.
PREFIX = "daskvars-"
OWNER = "owner"
MAX_NAME_BYTES = 1024


def scratch_directory(parent: str | None) -> tuple[str, Callable[[], None]]:
    """Make a directory of this process.

    Args:
        parent: where, made if it is not there; None is where the system has temporary files.

    Returns:
        Its path, and what removes it.
    """
    import filelock  # noqa: PLC0415

    if parent is not None:
        os.makedirs(parent, exist_ok=True)
    path = tempfile.mkdtemp(prefix=PREFIX, dir=parent)
    remove_abandoned(os.path.dirname(path))
    file = os.open(f"{path}/{OWNER}", os.O_RDWR | os.O_CREAT | OWN_BYTES, 0o600)
    with contextlib.suppress(OSError):  # a file system without locks: it stays if we are killed
        filelock.lock_descriptor(file)
        os.write(file, machine())  # once it is locked: until then nobody takes it for abandoned
    return path, partial(_remove, path, file, os.getpid())


def remove_abandoned(parent: str) -> None:
    """Remove the directories in a place whose processes ran on this machine and are gone."""
    with os.scandir(parent) as entries:
        found = [entry.path for entry in entries if entry.name.startswith(PREFIX)]
    for path in filter(_is_abandoned, found):
        shutil.rmtree(path, ignore_errors=True)


def machine() -> bytes:
    """Return the name of this machine."""
    return socket.gethostname().encode()[:MAX_NAME_BYTES]


def _is_abandoned(path: str) -> bool:
    import filelock  # noqa: PLC0415

    try:
        file = open_plain(f"{path}/{OWNER}", os.O_RDWR)
    except OSError:  # none of ours, another user's, or removed meanwhile
        return False
    try:
        is_free = filelock.lock_descriptor(file, blocking=False)
        return is_free and os.read(file, MAX_NAME_BYTES) == machine()
    except OSError:
        return False
    finally:
        os.close(file)


def _remove(path: str, file: int, process: int) -> None:
    if os.getpid() != process:  # forked from the one whose it is
        return
    os.close(file)
    shutil.rmtree(path, ignore_errors=True)
