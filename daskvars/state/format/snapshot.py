"""Writing one snapshot: a Zarr group whose manifest, written last, is the commit.

A snapshot is written in three moves, so that it is visible when complete and not before, on any
Zarr store and without renaming a directory:

1. *announce*: the group's document says what is to come. On a fresh path it is an incomplete
   manifest; over an existing snapshot it is that snapshot's manifest, still valid, with a list of
   pending paths.
2. *chunks*, from any process, one object each. Over an existing snapshot the new chunks have
   other names than the old ones (Zarr's two chunk key encodings alternate: ``c.0.1`` and
   ``0.1``), so both are there.
3. *commit*: the arrays' documents, then the manifest. Only then are objects deleted that it does
   not name.

A kill at any moment leaves the old manifest with all of its chunks, or the new one; what an
interrupted writer left is known from the announcement and goes with the next commit. Between the
arrays' documents and the manifest a tool that knows no manifest may see arrays of both. A snapshot
has one writer at a time, in any number of processes: an announcement ends the writer before it. Who
saves a checkpoint on a disk waits for others that save at its path.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from zarr.abc.store import Store as ZarrStorage

from daskvars.state.failures import already_exists, conflict, not_found, store_failure
from daskvars.state.format.chunks import write_chunk
from daskvars.state.format.documents import (
    DOCUMENT,
    ENCODER,
    MAX_DOCUMENT_BYTES,
    array_text,
    chunk_object,
    get_document,
    group_document,
    group_paths,
    put_document,
)
from daskvars.state.format.encoding import checksum
from daskvars.state.format.grids import Index
from daskvars.state.format.manifest import NAMINGS, Fields, Manifest, VariableRecord, shorten
from daskvars.state.stores.objects import (
    alone_at,
    child_names,
    delete,
    get,
    in_parallel,
    join,
    object_names,
)
from daskvars.state.stores.store import Writer, to_write

ATTRIBUTE = "daskvars_snapshot"
"""Attribute of a snapshot's group that holds its manifest."""

CHECKSUM = "crc32c"
"""The manifest's last field: of the text of all others, as `ENCODER` writes it."""

OWN_OBJECT = re.compile(r"(zarr\.json|c(\.\d+)*|\d+(\.\d+)*)(\.[0-9a-f]{32}\.partial)?")
"""Names of the objects that a snapshot puts under an array; no other is ever deleted."""

OWN_DOCUMENT = re.compile(r"zarr\.json(\.[0-9a-f]{32}\.partial)?")
"""Names of the objects that a snapshot puts into a group."""

UNFINISHED = ENCODER.encode({"complete": False})[1:-1].encode()
"""What is in the document of a snapshot that is not complete, and in no name that it may have."""


class SnapshotWriter(Writer):
    """Writes one snapshot: declare, chunks, commit.

    Args:
        store: the Zarr store.
        path: the snapshot's path in it.
        version: the number that the manifest gives it.
        overwrite: whether a snapshot that is there may be replaced.

    >>> from zarr.storage import MemoryStore
    >>> store, record = MemoryStore(), VariableRecord("b", "float32", (2,), ((2,),))
    >>> writer = SnapshotWriter(store, "run")
    >>> writer.declare([record])
    >>> _ = writer.write_chunk("b", (0,), np.float32([1, 2]))
    >>> writer.commit(global_step=7).global_step
    7
    """

    def __init__(
        self, store: ZarrStorage, path: str, version: int = 0, overwrite: bool = False
    ) -> None:
        super().__init__(version)
        self.store, self.path, self.overwrite = store, path, overwrite
        self.before = Manifest(version, {}, complete=False)

    def declare(self, records: Iterable[VariableRecord]) -> None:
        """Announce the snapshot's variables; `records` then says how to write their chunks.

        Raises:
            InvalidArgumentError: two variables of one key, or keys whose paths would be too long.
            AlreadyExistsError: a snapshot is there that is not to be overwritten, or something
                else.
        """
        self.before = manifest_to_replace(self.store, self.path, self.overwrite)
        self.records = to_write(records, next_naming(self.before))
        self.digests.clear()
        pending = (*self.before.pending, *(record.path for record in self.records.values()))
        announcement = replace(
            self.before, pending=tuple(dict.fromkeys(pending)), writer=self.token
        )
        self.announce(announcement)

    def alone(self) -> contextlib.AbstractContextManager[object]:
        """Return a context in which others that write there wait for this one: on a disk."""
        return alone_at(self.store, self.path)

    def announce(self, announcement: Manifest) -> None:
        """Write the announcement of this snapshot."""
        put_manifest(self.store, self.path, announcement)

    def write_chunk(self, key: str, index: Index, array: np.ndarray) -> int:
        """Write one stored chunk and remember its checksum; see `Writer.write_chunk`."""
        digest = write_chunk(self.store, self.path, self.record(key), index, array)
        self.digests[key, index] = digest
        return digest

    def run(self, function: Callable[[Any], None], items: Iterable[Any]) -> None:
        """Write many things at once; see `Writer.run`."""
        in_parallel(self.store, function, items, self.doing)

    def publish(self, manifest: Manifest) -> Manifest:
        """Make the snapshot visible; see `Writer.commit`."""
        self.check_announcement()
        put_documents(self.store, self.path, self.records.values())
        leftovers = nodes_of(self.before)
        put_manifest(self.store, self.path, replace(manifest, pending=leftovers))
        if leftovers:
            sweep(self.store, self.path, leftovers, manifest)
            put_manifest(self.store, self.path, manifest)
        return manifest

    def check_announcement(self) -> None:
        """Refuse to commit if another writer has announced itself at this path."""
        document = get_document(self.store, self.path) or {}
        found = document.get("attributes", {}).get(ATTRIBUTE)
        if type(found) is not dict or found.get("writer") != self.token:
            raise conflict(
                f"{location(self.store, self.path)}: another writer took over; its snapshot stands"
            )

    def abort(self) -> None:
        """Remove what was written, leaving what was there before."""
        self.check_announcement()
        written = tuple(record.path for record in self.records.values())
        sweep(self.store, self.path, written, self.before)
        if self.before.complete:
            put_manifest(self.store, self.path, self.before)
        else:
            delete(self.store, [join(self.path, DOCUMENT)])


def manifest_to_replace(store: ZarrStorage, path: str, overwrite: bool) -> Manifest:
    """Give the manifest that a new snapshot replaces, an incomplete one where there is none."""
    document = get_document(store, path)
    if document is None:
        return Manifest(0, {}, complete=False)
    before = parse_manifest(document, location(store, path))
    if before is None:
        raise already_exists(
            f"{location(store, path)} holds a Zarr node that is no snapshot;"
            " save elsewhere or remove it"
        )
    if before.complete and not overwrite:
        raise already_exists(
            f"{location(store, path)} holds a snapshot; allow overwriting or save elsewhere"
        )
    return before


def next_naming(before: Manifest) -> str:
    """Choose the chunk names that a snapshot's manifest does not use."""
    used = {record.naming for record in before.records.values()}
    return next(naming for naming in NAMINGS if naming not in used)


def location(store: ZarrStorage, path: str) -> str:
    """Name a place for an error."""
    return join(str(store), path)


def put_manifest(store: ZarrStorage, path: str, manifest: Manifest, synced: bool = False) -> None:
    """Write a manifest into its group's document, in one write."""
    put_document(store, path, manifest_text(manifest), synced)


def manifest_text(manifest: Manifest) -> str:
    """Give the document of a snapshot's group: the manifest, with its own checksum behind it."""
    text = ENCODER.encode(manifest.to_json())
    sealed = f'{text[:-1]},"{CHECKSUM}":{text_checksum(text)}}}'
    return ENCODER.encode(group_document({ATTRIBUTE: None})).replace("null", sealed)


def text_checksum(text: str) -> int:
    """Compute the crc32c of a text."""
    return checksum(np.frombuffer(text.encode(), np.uint8))


def put_documents(store: ZarrStorage, path: str, records: Iterable[VariableRecord]) -> None:
    """Write the documents of a snapshot's arrays and of the groups between, many at once."""
    documents: dict[str, Any] = {record.path: array_text(record) for record in records}
    documents |= {group: group_document({}) for group in group_paths(documents)}
    in_parallel(
        store, lambda item: put_document(store, join(path, item[0]), item[1]), documents.items()
    )


def nodes_of(manifest: Manifest) -> tuple[str, ...]:
    """Give the node paths at which a snapshot, or a writer announced over it, has objects."""
    paths = [record.path for record in manifest.records.values()]
    return tuple(dict.fromkeys([*paths, *manifest.pending]))


def sweep(store: ZarrStorage, path: str, nodes: Iterable[str], manifest: Manifest) -> None:
    """Delete the objects at and above some nodes that a manifest does not name."""
    nodes = set(nodes)
    groups = group_paths(nodes) | {""}
    listings = in_parallel(
        store, lambda node: object_names(store, join(path, node)), [*nodes, *groups]
    )
    found = {
        join(node, name)
        for node, names in zip([*nodes, *groups], listings, strict=True)
        for name in [*names, DOCUMENT]  # that, there or not: the directory may be empty
        if (OWN_OBJECT if node in nodes else OWN_DOCUMENT).fullmatch(name)
    }
    delete(store, [join(path, name) for name in found - named_objects(manifest)])


def named_objects(manifest: Manifest) -> set[str]:
    """Give the names of all objects of a snapshot."""
    arrays = {record.path for record in manifest.records.values()}
    documents = {join(node, DOCUMENT) for node in arrays | group_paths(arrays) | {""}}
    return documents | {
        chunk_object(record, index) for record in manifest.records.values() for index in record.grid
    }


def find_manifest(store: ZarrStorage, path: str) -> Manifest | None:
    """Give the manifest or announcement at a path, None where there is neither."""
    document = get_document(store, path)
    return None if document is None else parse_manifest(document, location(store, path))


def parse_manifest(document: Mapping[str, Any], where: str) -> Manifest | None:
    """Give the manifest in a group's document, None where it has none."""
    attributes = document.get("attributes", {})
    if ATTRIBUTE not in attributes:
        return None
    fields = dict(Fields(attributes[ATTRIBUTE], where, ATTRIBUTE).data)
    if CHECKSUM in fields:  # there are manifests from before it
        check_sum(fields, fields.pop(CHECKSUM), where)
    return Manifest.from_json(fields, where)


def check_sum(fields: Mapping[str, Any], claimed: object, where: str) -> None:
    """Refuse a manifest of another checksum than it claims, however its document is laid out."""
    try:
        found = text_checksum(ENCODER.encode(fields))
    except (ValueError, RecursionError) as error:
        raise store_failure(f"{where}: {error}") from None
    if found != claimed:
        raise store_failure(
            f"{where}: the manifest has checksum {found}, not {shorten(claimed)}: it is damaged"
        )


def read_manifest(store: ZarrStorage, path: str) -> Manifest:
    """Read the manifest of a complete snapshot.

    Args:
        store: the Zarr store.
        path: the snapshot's path in it.

    Raises:
        NotFoundError: there is no snapshot.
        StoreError: it was never committed, or its manifest is damaged.
    """
    manifest = find_manifest(store, path)
    if manifest is None:
        raise not_found(f"{location(store, path)} holds no snapshot; check the path")
    check_complete(manifest, location(store, path))
    return manifest


def check_complete(manifest: Manifest, where: str) -> None:
    """Refuse an announcement where a manifest is needed."""
    if not manifest.complete:
        raise store_failure(
            f"{where} was never committed: its writer was interrupted, or is still writing"
        )


def delete_snapshot(store: ZarrStorage, path: str) -> None:
    """Delete a snapshot; other objects under its path stay.

    Raises:
        NotFoundError: there is none.
    """
    manifest = find_manifest(store, path)
    if manifest is None:
        raise not_found(f"{location(store, path)} holds no snapshot to delete")
    nodes = nodes_of(manifest)
    put_manifest(store, path, Manifest(manifest.version, {}, complete=False, pending=nodes))
    sweep(store, path, nodes, Manifest(manifest.version, {}))
    delete(store, [join(path, DOCUMENT)])


def delete_interrupted(store: ZarrStorage, path: str) -> None:
    """Delete what is left of a snapshot, if whoever wrote or deleted it was killed.

    On a disk nobody has its lock then. Elsewhere no more is known than that a deletion has begun.
    """
    data = get(store, join(path, DOCUMENT), MAX_DOCUMENT_BYTES)
    if data is None or UNFINISHED not in data.tobytes():
        return  # not parsed: there may be many, and large ones
    with alone_at(store, path, waits=False) as is_alone:
        found = find_manifest(store, path)
        if found and not found.complete and (is_alone or not found.writer):
            delete_snapshot(store, path)


def list_snapshots(store: ZarrStorage, path: str = "") -> list[str]:
    """List the complete snapshots directly under a path, by name, sorted."""
    names = sorted(child_names(store, path))
    manifests = in_parallel(store, lambda name: find_manifest(store, join(path, name)), names)
    return [name for name, found in zip(names, manifests, strict=True) if found and found.complete]
