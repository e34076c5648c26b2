"""Single files at paths and URLs, wherever Zarr stores can be: what lies beside checkpoints."""

from __future__ import annotations

import os
from collections.abc import Iterable

from zarr.storage import LocalStore

from daskvars.state.stores.addresses import open_directory
from daskvars.state.stores.disk import put_locked_file
from daskvars.state.stores.local_files import path_in
from daskvars.state.stores.objects import delete, get, put


def write_file(path: str, content: bytes | Iterable[bytes]) -> None:
    """Write a file; a reader sees the old one or the new one, whole. Makes missing directories.

    On a disk, what killed processes have left that were writing in its directory is removed.

    Args:
        path: where.
        content: what is in it, or its consecutive pieces.

    Raises:
        StoreError: the disk or the store refuses, with its reason.
    """
    directory, name = os.path.split(path)
    store = open_directory(directory or ".", "a")
    parts = [content] if isinstance(content, bytes) else content
    if type(store) is LocalStore:
        put_locked_file(path_in(store, name), parts)
    else:
        put(store, name, parts)


def read_file(path: str) -> bytes | None:
    """Read a file, None where there is none.

    Raises:
        StoreError: the disk or the store refuses, with its reason.
    """
    directory, name = os.path.split(path)
    found = get(open_directory(directory or ".", "a"), name)
    return None if found is None else found.tobytes()


def remove_file(path: str) -> None:
    """Remove a file, if it is there."""
    directory, name = os.path.split(path)
    delete(open_directory(directory or ".", "a"), [name])
