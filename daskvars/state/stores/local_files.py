"""Files of a local store, which anybody may have made.

The root may be a symbolic link, as its user names it; a link below it is refused, and so is
whatever is no plain file, so that no name leads out of the store and nobody waits at a pipe. This
costs 2 us per directory in a name. The size of a file is looked at before memory is taken for it.
"""

from __future__ import annotations

import os
import stat
import sys
from typing import BinaryIO

from zarr.storage import LocalStore

from daskvars.state.failures import store_failure

MAX_BYTES = 1 << 33
"""Size above which no file is read whose size is not known beforehand."""

OWN_BYTES = getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
"""How a file is opened that is for this process alone, byte by byte as it is stored."""

_PLAIN = OWN_BYTES | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)


def path_in(store: LocalStore, name: str) -> str:
    """Give the path of an object in a local store.

    Raises:
        StoreError: a directory above it is a symbolic link.
    """
    root, end = str(store.root), name.find("/")
    while end >= 0:
        refuse_link(f"{root}/{name[:end]}")
        end = name.find("/", end + 1)
    return f"{root}/{name}"


def refuse_link(path: str) -> None:
    """Refuse a path in a store that is a symbolic link."""
    try:
        is_link = stat.S_ISLNK(os.lstat(path).st_mode)
    except OSError:  # whoever uses the path is told
        return
    if is_link:
        raise store_failure(
            f"{path!r} is a symbolic link, which may lead out of the store; put the directory or"
            " file itself there"
        )


def check_file(store: LocalStore, name: str, most_bytes: int = MAX_BYTES) -> None:
    """Refuse an object of a local store that another reader is about to open; see `path_in`."""
    path = path_in(store, name)
    refuse_link(path)
    try:
        found = os.stat(path)
    except OSError:  # whoever uses the path is told
        return
    if not stat.S_ISDIR(found.st_mode):
        checked_size(path, found, most_bytes)


def checked_size(path: str, found: os.stat_result, most_bytes: int = sys.maxsize) -> int:
    """Give the size of a file; refuse one that is too large, and what is no plain file."""
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(path)
    if not stat.S_ISREG(found.st_mode):
        raise store_failure(f"{path!r} is no plain file")
    if found.st_size > most_bytes:
        raise store_failure(f"{path!r} has {found.st_size} bytes, not {most_bytes} or fewer")
    return found.st_size


def open_plain(path: str, flags: int) -> int:
    """Open a file, following no link and waiting for nobody at the other end of a pipe.

    Raises:
        StoreError: it is a symbolic link, on a system that can only be asked beforehand.
        OSError: the system refuses it, for instance because it is a symbolic link.
    """
    if not hasattr(os, "O_NOFOLLOW"):  # Windows
        refuse_link(path)
    return os.open(path, flags | _PLAIN)


def open_bytes(path: str) -> BinaryIO:
    """Open a file to read it piece by piece.

    Raises:
        OSError: it is not there, no plain file, or a symbolic link.
    """
    file = open(path, "rb", opener=open_plain)  # noqa: SIM115
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise OSError(f"{path!r} is no plain file")
    return file
