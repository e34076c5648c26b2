"""Single files at paths and URLs, wherever Zarr stores can be: what lies beside checkpoints."""

from __future__ import annotations

import os
from collections.abc import Iterable

from daskvars.state.stores.addresses import open_directory
from daskvars.state.stores.objects import delete, get, put


def write_file(path: str, content: bytes | Iterable[bytes]) -> None:
    """Write a file; a reader sees the old one or the new one, whole. Makes missing directories.

    Args:
        path: where.
        content: what is in it, or its consecutive pieces.

    Raises:
        StoreError: the disk or the store refuses, with its reason.
    """
    directory, name = os.path.split(path)
    put(
        open_directory(directory or ".", "a"),
        name,
        [content] if isinstance(content, bytes) else content,
    )


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
