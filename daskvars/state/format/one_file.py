"""A snapshot in one file: a zip archive that any Zarr tool opens, complete or absent.

Its entries are the objects of a snapshot in a directory, by the same names. There is no
announcement: nobody sees the archive before it takes its place, so writing one is declaring,
writing chunks, and a commit that adds the documents and puts the file there.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from zarr.abc.store import Store as ZarrStorage

from daskvars.errors import OpError
from daskvars.state.failures import already_exists, store_failure
from daskvars.state.format.chunks import chunk_ref, object_parts
from daskvars.state.format.documents import (
    DOCUMENT,
    ENCODER,
    array_text,
    get_document,
    group_document,
    group_paths,
)
from daskvars.state.format.encoding import CHECKSUM_BYTES, Checksum, encoded_bytes
from daskvars.state.format.grids import Index
from daskvars.state.format.manifest import Manifest, VariableRecord
from daskvars.state.format.snapshot import ATTRIBUTE, manifest_text, named_objects
from daskvars.state.stores.archive import ArchiveStore, ArchiveWriter
from daskvars.state.stores.objects import get, in_threads, join
from daskvars.state.stores.store import Writer, to_write


class OneFileWriter(Writer):
    """Writes a snapshot into one file: declare, chunks, commit.

    Args:
        version: the number that the manifest gives it.
        overwrite: whether a checkpoint that is there may be replaced.

    >>> import tempfile, zarr
    >>> record = VariableRecord("a/b", "float32", (2,), ((2,),))
    >>> with tempfile.TemporaryDirectory() as place:
    ...     writer = OneFileWriter(f"{place}/m.zip")
    ...     writer.declare([record])
    ...     _ = writer.write_chunk("a/b", (0,), np.float32([1, 2]))
    ...     _ = writer.commit(global_step=7)
    ...     print(zarr.open_group(zarr.storage.ZipStore(f"{place}/m.zip"), mode="r")["a/b"][:])
    [1. 2.]
    """

    def __init__(self, target: str, version: int = 0, overwrite: bool = False) -> None:
        super().__init__(version)
        self.target, self.overwrite = target, overwrite
        self.file: ArchiveWriter  # from `declare` on

    def declare(self, records: Iterable[VariableRecord]) -> None:
        """Say which variables there will be, and open the file; see `SnapshotWriter.declare`.

        Raises:
            AlreadyExistsError: a checkpoint is there that must not be replaced, or something else.
            InvalidArgumentError: two variables of one key, or keys whose paths would be too long.
            StoreError: the disk refuses, with its reason.
        """
        check_replaceable(self.target, self.overwrite)
        self.records = to_write(records)
        self.file = ArchiveWriter(self.target)

    def write_chunk(self, key: str, index: Index, array: np.ndarray) -> int:
        """Write one stored chunk and remember its checksum; see `Writer.write_chunk`."""
        chunk, found = chunk_ref(self.record(key), index), Checksum()
        size = None if chunk.codec else encoded_bytes(chunk.dtype, chunk.full_shape)
        parts = object_parts(chunk, array, found)
        self.file.add(chunk.name, parts, None if size is None else size + CHECKSUM_BYTES)
        self.digests[key, index] = found.value
        return found.value

    def run(self, function: Callable[[Any], None], items: Iterable[Any]) -> None:
        """Write many things at once; see `Writer.run`."""
        in_threads(True, function, items, self.doing)

    def publish(self, manifest: Manifest) -> Manifest:
        """Add the documents, and put the file in its place."""
        texts = {record.path: array_text(record) for record in self.records.values()}
        group = ENCODER.encode(group_document({}))
        texts |= dict.fromkeys(sorted(group_paths(texts)), group)
        texts[""] = manifest_text(manifest)
        for path, text in texts.items():
            self.file.add(join(path, DOCUMENT), [text.encode()])
        self.file.finish()
        return manifest

    def abort(self) -> None:
        """Remove what was written, leaving what was there before."""
        self.file.abort()


def check_replaceable(target: str, overwrite: bool) -> None:
    """Refuse a place where a file is that a checkpoint must not replace.

    Raises:
        AlreadyExistsError: it is a checkpoint that is to stay, or something else.
    """
    if not os.path.lexists(target):
        return
    try:
        document = get_document(ArchiveStore(target), "") or {}
    except OpError as error:
        raise already_exists(
            f"{target!r} is there, and cannot be read as a checkpoint ({error.message}); save"
            " elsewhere or remove it"
        ) from None
    if ATTRIBUTE not in document.get("attributes", {}):
        raise already_exists(
            f"{target!r} is an archive that is no checkpoint; save elsewhere or remove it"
        )
    if not overwrite:
        raise already_exists(f"{target!r} is a checkpoint; allow overwriting or save elsewhere")


def pack(store: ZarrStorage, path: str, manifest: Manifest, target: str) -> None:
    """Copy a complete snapshot into one file, object by object.

    Args:
        target: path of the file, which is replaced.

    Raises:
        StoreError: an object of it is not there, or the disk refuses.
    """
    file = ArchiveWriter(target)
    try:
        for name in sorted(named_objects(manifest)):
            data = get(store, join(path, name))
            if data is None:
                raise store_failure(f"{join(str(store), join(path, name))} is missing")
            file.add(name, [data], len(data))
        file.finish()
    except BaseException:
        file.abort()
        raise
