"""Where state lives: local paths, URLs of object stores, Zarr stores.

What is guaranteed where. A checkpoint has one writer at a time everywhere, is visible when it is
complete, and needs only that an object is written whole and seen once it is. A session's store may
have several writing processes

- in a local directory, or one on NFS: they are kept apart by `locks`;
- on S3, Google's or Azure's object storage through obstore (what their URLs mean where it is
  installed, and any ``zarr.storage.ObjectStore`` of it): by `conditional` writes.

Any other Zarr store should have one: a commit notices the commits before it, not one at the same
moment. Icechunk's stores are refused by Icechunk: it takes chunks of one naming only, and not
before their array's document.
"""

from __future__ import annotations

import os
import re
from urllib.parse import urlsplit

from zarr.abc.store import Store
from zarr.storage import FsspecStore, LocalStore, ObjectStore, StorePath

from daskvars.errors import invalid
from daskvars.state.failures import not_found, reason_of, refused, store_failure
from daskvars.state.stores.archive import ArchiveStore
from daskvars.state.stores.objects import exists

try:
    import obstore
    import obstore.store
except ImportError:  # it is an extra
    obstore = None  # type: ignore[assignment]

ARCHIVE_SUFFIX = ".zip"
"""How the path of a checkpoint in one file ends."""

INDEX_SUFFIX = ".index"
"""How the index of a checkpoint of TensorFlow is named, after the prefix that all its files have.
Such a prefix is a path in the directory, or under the URL, that they are in."""

OBSTORE_SCHEMES = ("s3", "s3a", "gs", "az", "abfs", "abfss")
"""URLs that obstore opens, where it is installed; all others are fsspec's. Credentials, selections
and endpoints are those of the environment (``AWS_ENDPOINT_URL``), on the workers theirs."""


_FILE_URL = re.compile(r"file://(?:localhost(?=/))?", re.IGNORECASE)
_ONE_SLASH = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/(?!/)")  # a drive of Windows is one letter


def open_zarr_store(
    where: str | os.PathLike[str] | Store | StorePath, mode: str = "a"
) -> tuple[Store, str]:
    """Open the place where a snapshot or a store of snapshots lives.

    Args:
        where: a local path, a URL that obstore (``s3://bucket/run``) or fsspec knows, a Zarr
            store such as ``zarr.storage.ObjectStore(obstore_store)``, or a ``StorePath`` in one.
            A local path that ends in ``.zip`` is a checkpoint in one file, to be read; to be read
            is also the prefix of a checkpoint of TensorFlow, or the path of its index.
        mode: ``"r"`` to read what is there, ``"a"`` to write as well.

    Returns:
        The Zarr store and the path inside it.

    Raises:
        InvalidArgumentError: `mode` or the type of `where` is none of the above, or mode ``"a"``
            and ``.zip``: such a file is written whole, by `daskvars.state.save`.
        NotFoundError: mode ``"r"`` and no such directory or file.
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
        store, path = open_address(os.fspath(where), mode)
    else:
        raise invalid(
            f"a store is a path, a URL or a Zarr store, not {type(where).__name__}: {where!r}"
        )
    if mode == "a" and store.read_only:
        raise store_failure(f"{store} is open for reading only; open it for writing")
    return store, path


def open_address(address: str, mode: str) -> tuple[Store, str]:
    """Open a local path or a URL: a directory of objects, or to be read an archive of them."""
    archive = archive_path(address)
    if archive is None:
        prefix = tensorflow_prefix(address) if mode == "r" else None
        if prefix is not None:
            directory, _, name = prefix.rpartition("/")
            return open_directory(directory or "/", mode), name
        return open_directory(address, mode), ""
    if mode == "a":
        raise invalid(
            f"{archive!r} is one file, which is written whole, by saving a checkpoint there; what"
            " is written bit by bit, as a session's store, needs a directory: a path without .zip"
        )
    return ArchiveStore(archive), ""


def tensorflow_prefix(address: str) -> str | None:
    """Give the prefix of a checkpoint of TensorFlow that an address means; None for anything else.

    A directory of that name, or a Zarr group at that URL, goes first.
    """
    prefix = local_path(address).removesuffix(INDEX_SUFFIX).rstrip("/")
    if "://" not in prefix:
        return (
            None if os.path.isdir(prefix) or not os.path.isfile(prefix + INDEX_SUFFIX) else prefix
        )
    directory, _, name = prefix.rpartition("/")
    if not name or directory.endswith("/"):  # the root of a bucket is no prefix
        return None
    store = open_directory(directory, "r")
    if not exists(store, name + INDEX_SUFFIX) or exists(store, f"{name}/zarr.json"):
        return None
    return prefix


def archive_path(where: object) -> str | None:
    """Give the path of the zip archive that an address means; None where it means no such file.

    It is one if it ends in ``.zip``, and no directory is there.

    Raises:
        InvalidArgumentError: it ends so, and is the URL of another place than this machine's disks.

    >>> archive_path("/data/model-7"), archive_path("/data/model-7.zip")
    (None, '/data/model-7.zip')
    """
    if not isinstance(where, str | os.PathLike):
        return None
    address = os.fspath(where)
    if not address.endswith(ARCHIVE_SUFFIX):
        return None
    path = local_path(address)
    if "://" in path:
        raise invalid(
            f"{address!r}: a checkpoint in one file is on a disk; save there and copy it, or leave"
            f" out {ARCHIVE_SUFFIX} for a checkpoint of many objects"
        )
    return None if os.path.isdir(path) else path


def local_path(address: str) -> str:
    """Give the absolute path of what is on a disk; another URL as it is.

    Raises:
        InvalidArgumentError: it is no path and no URL.
    """
    address = without_file_scheme(address)
    if "://" in address:
        return address
    if not address:
        raise invalid("a path is empty; '.' is the folder of the process")
    if "\0" in address:
        raise invalid(f"{address!r} is no path: it has a null character; leave that out")
    if _ONE_SLASH.match(address):
        raise invalid(
            f"{address!r} is no URL, which has two slashes, and would be a folder"
            f" {address.partition('/')[0]!r} here. Give URLs as text: pathlib.Path takes one slash"
            " away. If you mean the folder, begin with './'"
        )
    return os.path.abspath(os.path.expanduser(address))


def without_file_scheme(address: str) -> str:
    """Give the path that a URL of a file means; any other address as it is.

    >>> without_file_scheme("FILE://localhost/data/run"), without_file_scheme("s3://data/run")
    ('/data/run', 's3://data/run')
    """
    found = _FILE_URL.match(address)
    return address if found is None else address[found.end() :]


def is_elsewhere(address: str) -> bool:
    """Tell whether an address is a URL of another place than this machine's disks."""
    return "://" in without_file_scheme(address)


def open_directory(address: str, mode: str) -> Store:
    """Open a local path or a URL as a directory of objects."""
    scheme = urlsplit(address).scheme if is_elsewhere(address) else ""
    if scheme in OBSTORE_SCHEMES and obstore is not None:
        try:
            return ObjectStore(obstore.store.from_url(address), read_only=mode == "r")
        except (ValueError, obstore.exceptions.BaseError) as error:
            raise refused(
                f"cannot open {address!r}: {reason_of(error)}; check the address, and what the"
                " environment says of the account"
            ) from error
    if scheme:
        try:
            return FsspecStore.from_url(address, read_only=mode == "r")
        except (ImportError, ValueError) as error:
            raise refused(
                f"cannot open {address!r}: {error}; install daskvars[object-stores], or fsspec"
                " with that filesystem, or pass a Zarr store"
            ) from error
    root = local_path(address)
    if mode == "r" and not os.path.isdir(root):
        raise not_found(f"no directory {root!r}; check the path, or save there first")
    return LocalStore(root, read_only=mode == "r")
