"""A state store in Zarr: a group of snapshots, whose attributes name the head.

Version 12 is the snapshot group ``v12``. Its manifest is the commit; the head in the root's
attributes follows it, and is there for other tools and for stores that cannot be listed. So after a
crash the head is the newest complete snapshot, whatever the attributes say. They also keep the
highest number ever used, so that none is used twice.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
from zarr.abc.store import Store as ZarrStorage

from daskvars.errors import CorruptChunkError
from daskvars.state.chunks import read_chunk
from daskvars.state.documents import (
    DOCUMENT,
    chunk_object,
    get_document,
    group_document,
    put_document,
)
from daskvars.state.failures import already_exists, conflict, invalid, not_found, store_failure
from daskvars.state.grids import Index
from daskvars.state.manifest import Fields, Manifest, VariableRecord
from daskvars.state.objects import (
    child_names,
    copy,
    delete,
    delete_tree,
    in_parallel,
    join,
    open_zarr_store,
)
from daskvars.state.snapshot import SnapshotWriter, find_manifest, location
from daskvars.state.store import Digests, Store, Writer

ATTRIBUTE = "daskvars_store"
FORMAT = 1
NO_VERSION = -1
SNAPSHOT = re.compile(r"v(\d{1,18})")


class ZarrStore(Store):
    """Keeps versions in a Zarr store.

    Args:
        where: a local path, a URL, a Zarr store or a ``StorePath`` in one; see `open_zarr_store`.
        mode: ``"r"`` to read what is there, ``"a"`` to write as well.
        keep: how many versions a commit leaves, counting itself.

    >>> from zarr.storage import MemoryStore
    >>> ZarrStore(MemoryStore()).head() is None
    True
    """

    def __init__(self, where: Any, mode: str = "a", keep: int = 2) -> None:
        if keep < 1:
            raise invalid(f"keep={keep}: a store keeps at least the head")
        self.storage, self.path = open_zarr_store(where, mode)
        self.keep = keep
        self.manifests: dict[int, Manifest] = {}

    def head(self) -> Manifest | None:
        """Give the newest committed version; see `Store.head`."""
        for version in sorted(self.version_numbers(), reverse=True):
            manifest = self.find(version)
            if manifest is not None:
                return manifest
        return None

    def snapshots(self) -> tuple[int, ...]:
        """List the committed versions; see `Store.snapshots`."""
        return tuple(v for v in sorted(self.version_numbers()) if self.find(v) is not None)

    def manifest(self, version: int) -> Manifest:
        """Give a version's manifest; see `Store.manifest`."""
        manifest = self.manifests.get(version) or self.find(version)
        if manifest is None:
            raise not_found(
                f"{location(self.storage, self.path)} has no version {version};"
                f" it has {self.snapshots()}"
            )
        return manifest

    def begin(self, records: Iterable[VariableRecord], version: int) -> Writer:
        """Begin to write a version, clearing away interrupted ones; see `Store.begin`."""
        numbers = self.version_numbers()
        complete = [number for number in numbers if self.find(number) is not None]
        last = max([self.root_numbers()[1], *complete])
        if version <= last:
            raise conflict(
                f"{location(self.storage, self.path)}: version {version} is not above {last}"
            )
        for number in numbers.difference(complete):
            delete_tree(self.storage, self.place(number))
        self.put_root(max(complete, default=NO_VERSION), last)
        writer = VersionWriter(self, version)
        writer.declare(records)
        return writer

    def read_chunk(self, key: str, version: int, index: Index) -> np.ndarray:
        """Read one stored chunk; see `Store.read_chunk`."""
        record = self.manifest(version).record(key)
        return read_chunk(self.storage, self.place(version), record, index)

    def run(self, function: Callable[[Any], None], items: Iterable[Any]) -> None:
        """Read many things at once; see `Store.run`."""
        in_parallel(self.storage, function, items)

    def drop(self, version: int) -> None:
        """Remove a version; see `Store.drop`."""
        self.manifest(version)
        last = max(self.root_numbers()[1], *self.snapshots())
        self.remove(version)
        self.put_root(max(self.snapshots(), default=NO_VERSION), last)

    def remove(self, version: int) -> None:
        """Delete a version's objects, its manifest first."""
        del self.manifests[version]
        place = self.place(version)
        delete(self.storage, [join(place, DOCUMENT)])
        delete_tree(self.storage, place)

    def place(self, version: int) -> str:
        """Give the path of a version's snapshot in the Zarr store."""
        return join(self.path, f"v{version}")

    def find(self, version: int) -> Manifest | None:
        """Give a version's manifest, None where it was not committed."""
        if version not in self.manifests:
            manifest = find_manifest(self.storage, self.place(version))
            if manifest is None or not manifest.complete:
                return None
            self.manifests[version] = manifest
        return self.manifests[version]

    def version_numbers(self) -> set[int]:
        """Give the numbers of all snapshots that may be there, complete or not."""
        if not self.storage.supports_listing:
            return {self.root_numbers()[0]} - {NO_VERSION}
        names = map(SNAPSHOT.fullmatch, child_names(self.storage, self.path))
        numbers = {int(name[1]) for name in names if name}
        self.manifests = {v: m for v, m in self.manifests.items() if v in numbers}
        return numbers

    def root_numbers(self) -> tuple[int, int]:
        """Give the head and the highest number ever used, as the root's attributes have them."""
        document = get_document(self.storage, self.path)
        if document is None:
            return NO_VERSION, NO_VERSION
        where = location(self.storage, self.path)
        attributes = document.get("attributes", {})
        if ATTRIBUTE not in attributes:
            raise already_exists(
                f"{where} holds a Zarr node that is no store of daskvars; choose another place"
            )
        fields = Fields(attributes[ATTRIBUTE], where)
        if fields.take("format", int) != FORMAT:
            raise store_failure(f"{where}: format {fields.take('format', int)}, not {FORMAT}")
        return fields.take("head", int), fields.take("last", int)

    def put_root(self, head: int, last: int) -> None:
        """Write the head and the highest number ever used into the root's attributes."""
        attributes = {ATTRIBUTE: {"format": FORMAT, "head": head, "last": last}}
        put_document(self.storage, self.path, group_document(attributes))

    def publish(self, manifest: Manifest) -> None:
        """Take note of a committed version and drop those that are not kept."""
        self.manifests[manifest.version] = manifest
        self.put_root(manifest.version, manifest.version)
        for version in self.snapshots()[: -self.keep]:
            self.remove(version)


def is_store(storage: ZarrStorage, path: str) -> bool:
    """Tell whether a store of versions, as a session keeps it, is at a path."""
    document = get_document(storage, path)
    return document is not None and ATTRIBUTE in document.get("attributes", {})


class VersionWriter(SnapshotWriter):
    """Writes one version of a `ZarrStore`."""

    def __init__(self, owner: ZarrStore, version: int) -> None:
        super().__init__(owner.storage, owner.place(version), version)
        self.owner = owner

    def carry(self, key: str) -> bool:
        """Take a variable's objects over from the head, as links on a disk; see `Writer.carry`."""
        record, head = self.record(key), self.owner.head()
        old = self.same_in(head, key)
        if head is None or old is None:
            return False
        source = self.owner.place(head.version)
        indices = [index for _, index in self.chunks_of([key])]

        def carry_chunk(index: Index) -> None:
            name = join(source, chunk_object(old, index))
            if not copy(self.store, name, join(self.path, chunk_object(record, index))):
                raise CorruptChunkError(key, index, f"object {name!r} is missing", str(self.store))

        self.run(carry_chunk, indices)
        self.digests.update({(key, i): d for i, d in zip(indices, old.digests, strict=True)})
        return True

    def commit(
        self,
        digests: Digests | None = None,
        *,
        global_step: int | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> Manifest:
        """Make the version the head; see `Writer.commit`."""
        head = self.owner.head()
        if head is not None and head.version >= self.version:
            raise conflict(
                f"version {self.version} lost: {head.version} is the head of {self.store} meanwhile"
            )
        manifest = super().commit(digests, global_step=global_step, extra=extra)
        self.owner.publish(manifest)
        return manifest
