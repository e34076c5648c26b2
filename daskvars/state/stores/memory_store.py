"""A state store in this process's memory: the contract in its plainest form."""

from __future__ import annotations

import threading
from collections.abc import Iterable

import numpy as np

from daskvars.errors import invalid
from daskvars.state.failures import not_found
from daskvars.state.format.chunks import check_index, chunk_bytes, chunk_ref
from daskvars.state.format.encoding import checksum
from daskvars.state.format.grids import Index
from daskvars.state.format.manifest import (
    NO_NUMBER,
    NO_VERSION,
    Manifest,
    VariableRecord,
    VersionId,
)
from daskvars.state.stores.store import Store, Writer, check_base, to_write


class MemoryStore(Store):
    """Keeps versions as arrays in memory.

    Args:
        keep: how many versions a commit leaves, counting itself.

    >>> store, record = MemoryStore(), VariableRecord("b", "float32", (2,), ((2,),))
    >>> writer = store.begin([record], version=1)
    >>> _ = writer.write_chunk("b", (0,), np.float32([1, 2]))
    >>> _ = writer.commit()
    >>> store.read_chunk("b", 1, (0,))
    array([1., 2.], dtype=float32)
    """

    def __init__(self, keep: int = 2) -> None:
        if keep < 1:
            raise invalid(f"keep={keep}: a store keeps at least the head")
        self.keep = keep
        self.last = NO_NUMBER
        self.lock = threading.RLock()
        self.versions: dict[int, tuple[Manifest, dict[tuple[str, Index], np.ndarray]]] = {}

    def __str__(self) -> str:
        return "in memory"

    def head(self) -> Manifest | None:
        """Give the newest committed version; see `Store.head`."""
        return self.versions[max(self.versions)][0] if self.versions else None

    def snapshots(self) -> tuple[int, ...]:
        """List the committed versions; see `Store.snapshots`."""
        return tuple(sorted(self.versions))

    def manifest(self, version: int) -> Manifest:
        """Give a version's manifest; see `Store.manifest`."""
        return self.version(version)[0]

    def version(self, version: int) -> tuple[Manifest, dict[tuple[str, Index], np.ndarray]]:
        """Give a version's manifest and chunks."""
        if version not in self.versions:
            raise not_found(f"no version {version} in memory; there are {self.snapshots()}")
        return self.versions[version]

    def begin(
        self, records: Iterable[VariableRecord], version: int = 0, base: VersionId | None = None
    ) -> Writer:
        """Begin to write a version; see `Store.begin`."""
        declared = to_write(records)
        with self.lock:
            head = self.head()
            base = (NO_VERSION if head is None else head.id) if base is None else base
            self.check_base(base)
            self.last = max(version, self.last + 1)
            return MemoryWriter(self, declared, self.last, base)

    def check_base(self, base: VersionId) -> None:
        """Refuse to build on a version that is not the head."""
        check_base(base, self.head(), "memory")

    def read_chunk(self, key: str, version: int, index: Index) -> np.ndarray:
        """Read one stored chunk; see `Store.read_chunk`."""
        manifest, chunks = self.version(version)
        check_index(manifest.record(key), index)
        return chunks[key, index].copy()

    def drop(self, version: int) -> None:
        """Remove a version; see `Store.drop`."""
        self.version(version)
        del self.versions[version]

    def publish(self, manifest: Manifest, chunks: dict[tuple[str, Index], np.ndarray]) -> None:
        """Take a committed version up and drop those that are not kept."""
        self.versions[manifest.version] = (manifest, chunks)
        for version in self.snapshots()[: -self.keep]:
            self.drop(version)


class MemoryWriter(Writer):
    """Writes one version of a `MemoryStore`."""

    def __init__(
        self, owner: MemoryStore, records: dict[str, VariableRecord], version: int, base: VersionId
    ) -> None:
        super().__init__(version, base)
        self.owner, self.records = owner, records
        self.chunks: dict[tuple[str, Index], np.ndarray] = {}

    def write_chunk(self, key: str, index: Index, array: np.ndarray) -> int:
        """Write one stored chunk; see `Writer.write_chunk`."""
        digest = checksum(chunk_bytes(chunk_ref(self.record(key), index), array))
        self.chunks[key, index] = np.array(array)
        self.digests[key, index] = digest
        return digest

    def carry(self, key: str) -> bool:
        """Share a variable's arrays with the version before; see `Writer.carry`."""
        before, kept = self.owner.versions.get(self.base.number, (None, {}))
        old = self.same_in(before, key)
        if old is None:
            return False
        for chunk, digest in zip(self.chunks_of([key]), old.digests, strict=True):
            self.chunks[chunk], self.digests[chunk] = kept[chunk], digest
        return True

    def publish(self, manifest: Manifest) -> Manifest:
        """Make the version the head; see `Writer.commit`."""
        with self.owner.lock:
            self.owner.check_base(self.base)
            self.owner.publish(manifest, self.chunks)
        return manifest

    def abort(self) -> None:
        """Give the version up; see `Writer.abort`."""
        self.chunks.clear()
