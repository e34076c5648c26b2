"""Where state lives: local paths, URLs of object stores, Zarr stores."""

from __future__ import annotations

import os
from urllib.parse import urlsplit

from zarr.abc.store import Store
from zarr.storage import FsspecStore, LocalStore, StorePath

from daskvars.state.failures import invalid, not_found, store_failure


def open_zarr_store(
    where: str | os.PathLike[str] | Store | StorePath, mode: str = "a"
) -> tuple[Store, str]:
    """Open the place where a snapshot or a store of snapshots lives.

    Args:
        where: a local path, a URL that fsspec knows (``s3://bucket/run``), a Zarr store such as
            ``zarr.storage.ObjectStore(obstore_store)``, or a ``StorePath`` inside one.
        mode: ``"r"`` to read what is there, ``"a"`` to write as well.

    Returns:
        The Zarr store and the path inside it.

    Raises:
        InvalidArgumentError: `mode` or the type of `where` is none of the above.
        NotFoundError: mode ``"r"`` and no such directory.
        StoreError: the store refuses writing, or the URL's filesystem is not installed.

    >>> from zarr.storage import MemoryStore
    >>> open_zarr_store(MemoryStore())[1]
    ''
    """
    if mode not in ("r", "a"):
        raise invalid(f"mode {mode!r} is neither 'r' (read) nor 'a' (write as well)")
    if isinstance(where, StorePath):
        store, path = where.store, where.path
    elif isinstance(where, Store):
        store, path = where, ""
    elif isinstance(where, str | os.PathLike):
        store, path = open_address(os.fspath(where), mode), ""
    else:
        raise invalid(
            f"a store is a path, a URL or a Zarr store, not {type(where).__name__}: {where!r}"
        )
    if mode == "a" and store.read_only:
        raise store_failure(f"{store} is open for reading only; open it for writing")
    return store, path


def open_address(address: str, mode: str) -> Store:
    """Open a local path or a URL."""
    scheme = urlsplit(address).scheme if "://" in address else ""
    if scheme and scheme != "file":
        try:
            return FsspecStore.from_url(address, read_only=mode == "r")
        except (ImportError, ValueError) as error:
            raise store_failure(
                f"cannot open {address!r}: {error}; install fsspec with that filesystem, or pass"
                " a Zarr store"
            ) from error
    root = os.path.abspath(os.path.expanduser(address.removeprefix("file://")))
    if mode == "r" and not os.path.isdir(root):
        raise not_found(f"no directory {root!r}; check the path, or save there first")
    return LocalStore(root, read_only=mode == "r")
