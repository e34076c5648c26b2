"""A state store in Zarr: a group of snapshots, whose attributes name the head.

Version 12 is the snapshot group ``v12``. Its manifest is the commit; the head in the root's
attributes follows it. So after a crash the head is the newest complete snapshot, which may be newer
than the attributes say, and never older: a version that they name and that is not there, or whose
manifest is damaged, is an error, and nothing is written, until somebody goes back on purpose
(`ZarrStore.roll_back_to`). They also keep the highest number ever used, so that none is used twice.
The root is written before the first snapshot, so that whoever finds a version has found a store.

Several processes may write at once, each into a group of its own: beginning a version takes the
next number. A commit takes the store's lock (`locks`), looks whether the version that it is based
on is the head still, writes its manifest and clears away all interrupted versions: those that were
begun before it cannot be committed any more, whether or not their writers live. A writer that was
killed leaves a group without a manifest, which nobody reads and the next commit removes.

On an object store that can compare before it writes (`conditional`) there is no lock. An
announcement is created where nothing was, so a number has one writer. A commit first *fences* all
other announcements that it can see, by replacing each if it is what it was, and then replaces its
own by the manifest, if that is what it was. Of two writers on one version, at least one sees the
other after announcing itself, and either fences it or finds its manifest; so at most one commits.
Perhaps neither does, and both try again. A killed writer blocks nobody.

On any other store that is no local directory only this process is kept out. There a writer of
another process that committed earlier is noticed, one that commits at the same moment is not: such
a store should have one writing process.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from zarr.abc.store import Store as ZarrStorage
from zarr.storage import StorePath

from daskvars import config
from daskvars.errors import (
    AlreadyExistsError,
    CorruptChunkError,
    NotFoundError,
    StoreError,
    invalid,
)
from daskvars.state.failures import ConflictError, RefusedError, conflict, not_found, store_failure
from daskvars.state.format.chunks import read_chunk
from daskvars.state.format.documents import (
    DOCUMENT,
    MAX_DOCUMENT_BYTES,
    chunk_object,
    parse_document,
)
from daskvars.state.format.grids import Index
from daskvars.state.format.manifest import (
    NO_NUMBER,
    NO_VERSION,
    Manifest,
    VariableRecord,
    VersionId,
    shorten,
)
from daskvars.state.format.snapshot import (
    SnapshotWriter,
    find_manifest,
    location,
    manifest_text,
    named_objects,
    parse_manifest,
    put_documents,
    put_manifest,
)
from daskvars.state.stores.addresses import open_zarr_store
from daskvars.state.stores.conditional import get_tagged, is_conditional, put_tagged
from daskvars.state.stores.locks import exclusive, this_process
from daskvars.state.stores.objects import (
    child_names,
    copy,
    delete,
    delete_tree,
    exists,
    flush,
    get,
    in_parallel,
    join,
)
from daskvars.state.stores.root import (
    ATTRIBUTE as ROOT_ATTRIBUTE,
    MAX_LOOKS,
    is_of_zarr_2,
    read_root,
    write_root,
)
from daskvars.state.stores.store import Store, Writer, check_base

SNAPSHOT = re.compile(r"v(\d{1,18})")


def node_document(storage: ZarrStorage, path: str) -> dict[str, Any] | None:
    """Read a node's document; None where there is none, or an empty one: left by a power cut."""
    data = get(storage, join(path, DOCUMENT), MAX_DOCUMENT_BYTES)
    if data is None or not len(data):
        return None
    return parse_document(data, location(storage, join(path, DOCUMENT)))


def store_at(
    storage: ZarrStorage, path: str, document: Mapping[str, Any] | None
) -> ZarrStore | None:
    """Give the store of versions at a path, to be read; None where there is none.

    It is one with a root's attributes, or without a document and with a version.

    Args:
        document: that of the node there, as `node_document` gives it.

    Raises:
        StoreError: the head is damaged.
    """
    store = ZarrStore(StorePath(storage, path), "r")
    if document is None:
        is_there = not is_of_zarr_2(storage, path) and store.head() is not None
        return store if is_there else None
    return store if ROOT_ATTRIBUTE in document.get("attributes", {}) else None


class ZarrStore(Store):
    """Keeps versions in a Zarr store.

    Args:
        where: a local path, a URL, a Zarr store or a ``StorePath`` in one; see `open_zarr_store`.
        mode: ``"r"`` to read what is there, ``"a"`` to write as well.
        keep: how many versions a commit leaves, counting itself.
        is_scratch: whether nobody reads it after a power cut, which it need not survive then.

    >>> from zarr.storage import MemoryStore
    >>> ZarrStore(MemoryStore()).head() is None
    True
    """

    def __init__(
        self, where: Any, mode: str = "a", keep: int = 2, is_scratch: bool = False
    ) -> None:
        if keep < 1:
            raise invalid(f"keep={keep}: a store keeps at least the head")
        self.storage, self.path = open_zarr_store(where, mode)
        self.keep, self.is_scratch = keep, is_scratch
        self.manifests: dict[int, tuple[np.ndarray, Manifest]] = {}  # as read from these bytes

    def __str__(self) -> str:
        return location(self.storage, self.path)

    def head(self) -> Manifest | None:
        """Give the newest committed version; see `Store.head`.

        Raises:
            StoreError: its manifest is missing or damaged; says how to go back on purpose.
            RefusedError: one may not look, or the store cannot be reached.
        """
        for _ in range(MAX_LOOKS):
            named = self.root_numbers()[0]  # first: it is there until a newer one is
            manifest = self.newest()
            if (NO_NUMBER if manifest is None else manifest.version) >= named:
                return manifest
        raise self.damaged_head(named, "is missing or empty")

    def newest(self) -> Manifest | None:
        """Give the newest version in one listing, which others may change while it is read."""
        for version in sorted(self.version_numbers(), reverse=True):
            try:
                manifest = self.find(version)
            except RefusedError:
                raise  # it may be whole: nothing tells to go back behind it
            except StoreError as error:
                raise self.damaged_head(version, f"is damaged ({error.message})") from None
            if manifest is not None:
                return manifest
        return None

    def damaged_head(self, version: int, reason: str) -> StoreError:
        """Make the error of a head that cannot be read, which names the version before it."""
        name = join(self.version_path(version), DOCUMENT)
        whole = [v for v in self.snapshots() if v < version]
        how = "for no version before it is whole"
        if whole:
            how = (
                f"or go back on purpose to version {whole[-1]}, the newest that is whole, with"
                f" `daskvars restore-to {self} {whole[-1]}` or, in a session,"
                f" recover(version={whole[-1]}): what is left of later versions is removed then"
            )
        return store_failure(
            f"{self}: version {version} is the head, but its manifest {name!r} {reason}. Nothing"
            f" was changed. Put it back from a copy, {how}"
        )

    def exclusive(self) -> contextlib.AbstractContextManager[None]:
        """Return a context in which nobody else begins or commits a version."""
        return exclusive(self.storage, self.path)

    def snapshots(self) -> tuple[int, ...]:
        """List the committed versions, without damaged ones; see `Store.snapshots`."""
        return tuple(v for v in sorted(self.version_numbers()) if self.is_committed(v))

    def is_committed(self, version: int) -> bool | None:
        """Tell whether a version was committed; None where its manifest is damaged."""
        try:
            return self.find(version) is not None
        except StoreError:
            return None

    def manifest(self, version: int) -> Manifest:
        """Give a version's manifest; see `Store.manifest`."""
        known = self.manifests.get(version)
        manifest = known[1] if known else self.find(version)
        if manifest is None:
            raise self.no_version(version)
        return manifest

    def begin(
        self, records: Iterable[VariableRecord], version: int = 0, base: VersionId | None = None
    ) -> Writer:
        """Begin to write a version; see `Store.begin`."""
        self.root_numbers()  # before a lock is left in a place that is not ours
        if base is not None:
            self.refuse_if_gone(base)
        with self.exclusive():
            head = self.head()
            if base is not None:
                self.check_base(base, head)
            last = max([self.root_numbers()[1], *self.version_numbers()])
            if not exists(self.storage, join(self.path, DOCUMENT)):
                # Before the first manifest: who finds a version has found a store.
                self.put_root(NO_NUMBER if head is None else head.version, last)
            if is_conditional(self.storage):
                return self.first_free(list(records), max(version, last + 1), head)
            writer = VersionWriter(self, max(version, last + 1), head)
            writer.declare(records)
        return writer

    def refuse_if_gone(self, base: VersionId) -> None:
        """Refuse to build on a store that was deleted, before a lock is left in its place.

        Raises:
            ConflictError: nothing is there any more.
        """
        if base != NO_VERSION and not exists(self.storage, join(self.path, DOCUMENT)):
            self.check_base(base, self.head())

    def first_free(
        self, records: list[VariableRecord], version: int, before: Manifest | None
    ) -> Writer:
        """Begin to write the first version from a number on that nobody else has taken."""
        for number in range(version, version + MAX_LOOKS):
            writer = VersionWriter(self, number, before)
            try:
                writer.declare(records)
            except (ConflictError, AlreadyExistsError):
                continue
            return writer
        raise conflict(f"{self}: too many writers; try again")

    def fence(self, own: int) -> list[int]:
        """Make sure that no writer announced by now commits, save that of one version.

        Returns:
            The versions that never will be.
        """
        fenced = []
        for version in self.version_numbers() - {own}:
            place = self.version_path(version)
            found = get_tagged(self.storage, place)
            manifest = found and parse_manifest(found[0], location(self.storage, place))
            if not found or manifest is None or manifest.complete:
                continue
            announcement = replace(manifest, writer="")
            try:
                put_tagged(self.storage, place, manifest_text(announcement), found[1])
            except ConflictError:
                continue  # it has just committed, given up, or been fenced by another
            fenced.append(version)
        return fenced

    def check_base(self, base: VersionId, head: Manifest | None) -> None:
        """Refuse to build on a version that is not the head."""
        check_base(base, head, str(self))

    def read_chunk(self, key: str, version: int, index: Index) -> np.ndarray:
        """Read one stored chunk; see `Store.read_chunk`."""
        record = self.manifest(version).record(key)
        return read_chunk(self.storage, self.version_path(version), record, index)

    def run(self, function: Callable[[Any], None], items: Iterable[Any]) -> None:
        """Read many things at once; see `Store.run`."""
        in_parallel(self.storage, function, items)

    def drop(self, version: int) -> None:
        """Remove a version; see `Store.drop`."""
        self.manifest(version)
        with self.exclusive():
            last = max(self.root_numbers()[1], *self.snapshots())
            others = {*self.snapshots()} - {version}
            self.put_root(max(others, default=NO_NUMBER), last)
            self.remove(version)

    def no_version(self, version: int) -> NotFoundError:
        """Return the error that there is no such version, with those that there are."""
        there = ", ".join(map(str, self.snapshots())) or "none"
        return not_found(f"{self} has no version {version}; it has {there}")

    def roll_back_to(self, version: int) -> Manifest:
        """Make an older version the head: remove those after it, be they whole or damaged.

        Whoever has values of a later version is refused at the next commit.

        Args:
            version: its number.

        Returns:
            Its manifest.

        Raises:
            NotFoundError: it was never committed, or was dropped; nothing was changed.
            CorruptChunkError: a chunk of it is missing or damaged; nothing was changed.
        """
        if self.find(version) is None:  # before a lock is left in a place that is not ours
            raise self.no_version(version)
        with self.exclusive():
            manifest = self.manifest(version)
            for record in manifest.records.values():
                in_parallel(
                    self.storage, partial(self.read_chunk, record.key, version), record.grid
                )
            later = {number for number in self.version_numbers() if number > version}
            # The root last: until then, the head that it names is missing.
            last = max([version, *later, self.last_number()])
            for number in sorted(later, reverse=True):
                self.remove(number)
            self.put_root(version, last)
        return manifest

    def last_number(self) -> int:
        """Give the highest number ever used, as far as the root can be read."""
        try:
            return self.root_numbers()[1]
        except StoreError:
            return NO_NUMBER

    def remove(self, version: int) -> None:
        """Delete a version's objects, its manifest first."""
        self.manifests.pop(version, None)
        place = self.version_path(version)
        delete(self.storage, [join(place, DOCUMENT)])
        delete_tree(self.storage, place)

    def version_path(self, version: int) -> str:
        """Give the path of a version's snapshot in the Zarr store."""
        return join(self.path, f"v{version}")

    def find(self, version: int) -> Manifest | None:
        """Give a version's manifest as it is now, None where it was not committed.

        It is read each time, for another may have come in its place, and parsed if it is another.
        """
        place = self.version_path(version)
        data = get(self.storage, join(place, DOCUMENT), MAX_DOCUMENT_BYTES)
        known = self.manifests.get(version)
        if data is not None and known is not None and np.array_equal(data, known[0]):
            return known[1]
        self.manifests.pop(version, None)
        if data is None or not len(data):  # empty: what a power cut leaves of an announcement
            return None
        where = location(self.storage, place)
        manifest = parse_manifest(parse_document(data, where), where)
        if manifest is None or not manifest.complete:
            return None
        if manifest.version != version:
            raise store_failure(f"{where} holds version {shorten(manifest.version)}, not {version}")
        self.manifests[version] = data, manifest
        return manifest

    def version_numbers(self) -> set[int]:
        """Give the numbers of all snapshots that may be there, complete or not."""
        if not self.storage.supports_listing:
            return {self.root_numbers()[0]} - {NO_NUMBER}
        names = map(SNAPSHOT.fullmatch, child_names(self.storage, self.path))
        numbers = {int(name[1]) for name in names if name}
        self.manifests = {v: m for v, m in self.manifests.items() if v in numbers}
        return numbers

    def root_numbers(self) -> tuple[int, int]:
        """Give the head and the highest number ever used, as the root's attributes have them."""
        return read_root(self.storage, self.path)

    def put_root(self, head: int, last: int) -> None:
        """Write both into the root's attributes."""
        write_root(self.storage, self.path, head, last)

    def publish(self, manifest: Manifest, fenced: Iterable[int] | None = None) -> None:
        """Take note of a committed version and drop interrupted ones and those not kept.

        Args:
            fenced: the interrupted ones, if not all that are not complete are.
        """
        numbers = self.version_numbers()
        committed = {version: self.is_committed(version) for version in numbers}
        complete = sorted(version for version in numbers if committed[version])
        interrupted = [version for version in numbers if committed[version] is False]
        # Before they go: a writer that is still at one of them must have it for itself.
        self.put_root(manifest.version, max([self.root_numbers()[1], *numbers]))
        for version in interrupted if fenced is None else fenced:
            delete_tree(self.storage, self.version_path(version))
        for version in complete[: -self.keep]:
            self.remove(version)


class VersionWriter(SnapshotWriter):
    """Writes one version of a `ZarrStore`."""

    def __init__(self, owner: ZarrStore, version: int, head: Manifest | None) -> None:
        super().__init__(owner.storage, owner.version_path(version), version)
        self.owner, self.head = owner, head
        self.base = NO_VERSION if head is None else head.id
        self.carried: set[str] = set()
        self.tag = ""  # of the announcement, where the store has tags

    def carry(self, key: str) -> bool:
        """Take a variable's objects over, as links on a disk; see `Writer.carry`."""
        record = self.record(key)
        old = self.same_in(self.head, key)
        if old is None:
            return False
        source = self.owner.version_path(self.base.number)
        indices = [index for _, index in self.chunks_of([key])]

        def carry_chunk(index: Index) -> None:
            name = join(source, chunk_object(old, index))
            if not copy(self.store, name, join(self.path, chunk_object(record, index))):
                raise CorruptChunkError(key, index, f"object {name!r} is missing", str(self.store))

        self.run(carry_chunk, indices)
        self.digests.update({(key, i): d for i, d in zip(indices, old.digests, strict=True)})
        self.carried.update(join(self.path, chunk_object(record, index)) for index in indices)
        return True

    def write_chunk(self, key: str, index: Index, array: np.ndarray) -> int:
        """Write one stored chunk; see `Writer.write_chunk`.

        Raises:
            ConflictError: another commit has cleared away what was written.
        """
        try:
            return super().write_chunk(key, index, array)
        except StoreError:
            self.owner.check_base(self.base, self.owner.head())
            raise

    def publish(self, manifest: Manifest) -> Manifest:
        """Make the version the head; see `Writer.commit`."""
        manifest = replace(manifest, author=this_process())
        durable = config.get().fsync_seals and not self.owner.is_scratch
        try:
            self.owner.check_base(self.base, self.owner.head())
            put_documents(self.store, self.path, self.records.values())
            if durable:
                names = {join(self.path, name) for name in named_objects(manifest)}
                flush(self.store, names - self.carried)
            if is_conditional(self.store):
                self.replace_announcement(manifest)
                return manifest
            with self.owner.exclusive():
                self.owner.check_base(self.base, self.owner.head())
                self.check_announcement()
                put_manifest(self.store, self.path, manifest, durable)
                if durable:
                    flush(self.store, [join(self.path, DOCUMENT)])
                with contextlib.suppress(StoreError):  # the version is the head, come what may
                    self.owner.publish(manifest)
        except ConflictError:
            self.abort()
            raise
        except StoreError:  # such as that of objects which another commit cleared away
            head = self.owner.head()
            if head is None or head.id != manifest.id:  # it is the head if its last flush failed
                self.owner.check_base(self.base, head)
            raise
        return manifest

    def announce(self, announcement: Manifest) -> None:
        """Write the announcement; on an object store only where nothing is."""
        if not is_conditional(self.store):
            super().announce(announcement)
            return
        self.tag = put_tagged(self.store, self.path, manifest_text(announcement), None)

    def replace_announcement(self, manifest: Manifest) -> None:
        """Commit without a lock: nobody else who is announced will, and nobody has."""
        fenced = self.owner.fence(self.version)
        self.owner.check_base(self.base, self.owner.head())
        try:
            put_tagged(self.store, self.path, manifest_text(manifest), self.tag)
        except ConflictError:
            found = find_manifest(self.store, self.path)
            if found is None or not found.complete:
                raise
            # It is there: the request was repeated after its answer had been lost.
        with contextlib.suppress(StoreError):  # the version is the head, come what may
            self.owner.publish(manifest, fenced)

    def abort(self) -> None:
        """Remove what was written; nothing of a committed version; see `Writer.abort`."""
        if not exists(self.store, join(self.owner.path, DOCUMENT)):
            return  # the store was deleted, and this with it
        with self.owner.exclusive():
            found = find_manifest(self.store, self.path)
            if found and (found.complete or found.writer not in ("", self.token)):
                return  # it was committed, or the store is another now
            head, last = self.owner.root_numbers()
            try:  # its number is used up: a worker may still be writing to it
                self.owner.put_root(head, max(last, self.version))
            finally:  # on a full disk too, which then is less full
                delete_tree(self.store, self.path)
