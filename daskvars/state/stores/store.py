"""The contract of a state store: whole versions, written once, read by (key, version, chunk).

A store holds numbered versions. A version is written through a `Writer`; it is there once
committed, never before, and does not change afterwards. Numbers only go up and are not used
twice. Several writers may be under way, in this process and others. Each is *based* on the version
that was the head when its values were computed, and its commit is a compare-and-swap: it succeeds
if that is the head still. So of the writers on one version the first to commit wins; the others
learn who it was, and their callers read its version and compute anew.

Chunk indices count in the *stored* layout of a variable, ``stored_chunks(record.chunks)``, which is
its own layout wherever that is regular. All verbs are synchronous; reads and `Writer.write_chunk`
may be called from several threads. ``tests/state/stores/store_contract.py`` is this contract as
tests.
"""

from __future__ import annotations

import contextlib
import json
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from daskvars.errors import OpError, enumerated, invalid
from daskvars.shapes import Chunks
from daskvars.state.failures import conflict
from daskvars.state.format.assembly import Load, assemble_selection, assemble_values, stored_chunk
from daskvars.state.format.grids import Blocks, Index, Selection
from daskvars.state.format.keypath import encode_keys
from daskvars.state.format.manifest import NAMINGS, NO_VERSION, Manifest, VariableRecord, VersionId
from daskvars.surface.notebooks import ShownInNotebooks

Digests = Mapping[str, Mapping[Index, int]]
"""key -> stored chunk index -> crc32c of the chunk's bytes."""


class Writer(ABC):
    """Writes one version: an implementer provides `write_chunk`, `publish` and `abort`.

    Attributes:
        version: the number of the version.
        base: the version that it may follow.
        token: a text that no other writer has.
        records: the variables to be written, by key, as declared and with their paths filled in.
        digests: checksums of the chunks written so far.
        doing: what a bar says while chunks are written; "" shows none.
    """

    def __init__(self, version: int, base: VersionId = NO_VERSION) -> None:
        self.version, self.base = version, base
        self.token = uuid.uuid4().hex
        self.doing = ""
        self.records: dict[str, VariableRecord] = {}
        self.digests: dict[tuple[str, Index], int] = {}

    @property
    def id(self) -> VersionId:
        """What the version will be known by."""
        return VersionId(self.version, self.token)

    @abstractmethod
    def write_chunk(self, key: str, index: Index, array: np.ndarray) -> int:
        """Write one stored chunk.

        Args:
            key: the variable's key.
            index: the chunk's index in the stored layout.
            array: the chunk's elements, in the variable's NumPy dtype.

        Returns:
            The crc32c of the chunk's bytes, which the writer remembers too.

        Raises:
            InvalidArgumentError: no such variable or chunk, or another shape or dtype than
                declared.
        """

    def commit(
        self,
        digests: Digests | None = None,
        *,
        global_step: int | None = None,
        extra: Mapping[str, Any] | None = None,
    ) -> Manifest:
        """Make the version the head.

        Args:
            digests: checksums of the chunks that other processes wrote.
            global_step: the step at which the values were taken.
            extra: further JSON data to keep.

        Returns:
            The manifest of the version.

        Raises:
            InvalidArgumentError: naming chunks that nobody wrote; write them and commit again.
            ConflictError: another version became the head meanwhile; nothing of this one stays.
        """
        return self.publish(self.finish(digests, global_step, extra))

    @abstractmethod
    def publish(self, manifest: Manifest) -> Manifest:
        """Make the version of a manifest the head; return what was published of it."""

    @abstractmethod
    def abort(self) -> None:
        """Give the version up and remove what was written of it."""

    def alone(self) -> contextlib.AbstractContextManager[object]:
        """Return a context in which others that write at the same place wait for this writer."""
        return contextlib.nullcontext()

    @contextlib.contextmanager
    def whole_or_not(self) -> Iterator[None]:
        """Return a context that gives the version up where something in it fails."""
        try:
            yield
        except BaseException:
            with contextlib.suppress(OpError):  # the first error is the one to tell
                self.abort()
            raise

    def carry(self, key: str) -> bool:
        """Take a variable's chunks over from the version that this one is based on.

        Args:
            key: the variable's key.

        Returns:
            Whether it was done; False where that version lacks it, has it in another form, or
            there is none.
        """
        self.record(key)
        return False

    def write_values(self, values: Mapping[str, Blocks], release: bool = False) -> None:
        """Write all chunks of several variables.

        Args:
            values: key -> block index -> block, in the variable's layout ``record.chunks``.
            release: drop each block from its dict when it is written, where it is one chunk.

        Raises:
            InvalidArgumentError: a block is missing, or as for `write_chunk`.
        """

        def write(chunk: tuple[str, Index]) -> None:
            key, index = chunk
            self.write_chunk(key, index, stored_chunk(self.records[key], values[key], index))
            if release and self.records[key].is_regular:
                del values[key][index]  # type: ignore[attr-defined]

        self.run(write, self.chunks_of(values))

    def run(self, function: Callable[[Any], None], items: Iterable[Any]) -> None:
        """Call a function that writes with each of many arguments; a writer may do so at once."""
        for item in items:
            function(item)

    def chunks_of(self, keys: Iterable[str]) -> list[tuple[str, Index]]:
        """List the stored chunks of some declared variables."""
        return [(key, index) for key in keys for index in self.record(key).grid]

    def record(self, key: str) -> VariableRecord:
        """Give a declared variable's record."""
        if key not in self.records:
            raise invalid(f"variable {key!r} was not declared for this version")
        return self.records[key]

    def finish(
        self, digests: Digests | None, global_step: int | None, extra: Mapping[str, Any] | None
    ) -> Manifest:
        """Make the manifest of what was written, or refuse because chunks are missing."""
        for key, found in (digests or {}).items():
            self.digests.update({(key, index): digest for index, digest in found.items()})
        known = {
            key: [self.digests.get((key, index)) for index in record.grid]
            for key, record in self.records.items()
        }
        if any(None in found for found in known.values()):
            missing = [chunk for chunk in self.chunks_of(self.records) if chunk not in self.digests]
            named = enumerated([f"{key!r} {index}" for key, index in missing])
            raise invalid(
                f"{len(missing)} chunks were not written: {named}; write them, then commit"
            )
        records = {
            key: record.stored(digests=tuple(known[key])) for key, record in self.records.items()
        }
        step = None if global_step is None else int(global_step)
        return Manifest(self.version, records, step, checked_extra(extra), token=self.token)

    def same_in(self, manifest: Manifest | None, key: str) -> VariableRecord | None:
        """Give a variable's record in another version if its chunks there have the same form."""
        old = manifest.records.get(key) if manifest else None
        return old if old and form(old) == form(self.record(key)) else None


def form(record: VariableRecord) -> tuple[Any, ...]:
    """Give what must be equal for two variables to have interchangeable chunks."""
    return record.dtype, record.grid, record.codec


def checked_extra(extra: Mapping[str, Any] | None) -> dict[str, Any]:
    """Refuse extra data that JSON cannot hold."""
    try:
        return json.loads(json.dumps(dict(extra or {}), allow_nan=False))
    except (TypeError, ValueError) as error:
        raise invalid(f"extra data {extra!r} is no JSON: {error}") from None


class Store(ShownInNotebooks, ABC):
    """Holds versions of the state."""

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self}>"

    @abstractmethod
    def head(self) -> Manifest | None:
        """Give the newest committed version; None in an empty store."""

    @abstractmethod
    def snapshots(self) -> tuple[int, ...]:
        """List the committed versions, oldest first."""

    @abstractmethod
    def manifest(self, version: int) -> Manifest:
        """Give the manifest of a version.

        Raises:
            NotFoundError: it was never committed, or was dropped.
        """

    @abstractmethod
    def begin(
        self, records: Iterable[VariableRecord], version: int = 0, base: VersionId | None = None
    ) -> Writer:
        """Begin to write a version.

        Args:
            records: all variables of the version.
            version: the least number that it may have; it gets the first from there that is
                above every number used before.
            base: the version from which the values were computed, as its manifest's `id` has it,
                `NO_VERSION` for an empty store; None for the head as it is now.

        Raises:
            ConflictError: the head is another version than `base`.
            InvalidArgumentError: two variables of one key.
        """

    @abstractmethod
    def read_chunk(self, key: str, version: int, index: Index) -> np.ndarray:
        """Read one stored chunk into a new array.

        Raises:
            NotFoundError: no such version or variable.
            InvalidArgumentError: no such chunk.
            CorruptChunkError: the chunk is missing or damaged.
        """

    def read_selection(self, key: str, version: int, selection: Selection) -> np.ndarray:
        """Read a selection, one slice with step 1 per axis, into a new array.

        Raises:
            InvalidArgumentError: no such selection; otherwise as for `read_chunk`.
        """
        record = self.manifest(version).record(key)
        return assemble_selection(record, selection, self.loader(version), self.run)

    def read_values(
        self, version: int, layouts: Mapping[str, Chunks] | None = None
    ) -> dict[str, dict[Index, np.ndarray]]:
        """Read several variables, each chunk once.

        Args:
            layouts: key -> layout wanted; None for every variable in its own layout.

        Returns:
            key -> block index -> new array.

        Raises:
            InvalidArgumentError: a layout of another shape; otherwise as for `read_chunk`.
        """
        manifest = self.manifest(version)
        if layouts is None:
            layouts = {key: record.chunks for key, record in manifest.records.items()}
        wanted = {key: (manifest.record(key), layout) for key, layout in layouts.items()}
        return assemble_values(wanted, self.loader(version), self.run)

    def loader(self, version: int) -> Load:
        """Give the function that reads a chunk of a version."""
        return lambda record, index: self.read_chunk(record.key, version, index)

    def run(self, function: Callable[[Any], None], items: Iterable[Any]) -> None:
        """Call a function that reads with each of many arguments; a store may do so at once."""
        for item in items:
            function(item)

    @abstractmethod
    def drop(self, version: int) -> None:
        """Remove a version.

        Raises:
            NotFoundError: no such version.
        """


def check_base(base: VersionId, head: Manifest | None, where: str) -> None:
    """Refuse to build on a version that is not the head: that has its number and its token.

    Raises:
        ConflictError: naming both, and who committed the head.
    """
    found = NO_VERSION if head is None else head.id
    if found == base:
        return
    wanted = f"version {base}" if base != NO_VERSION else "no version"
    again = "another " if found.number == base.number else ""
    there = f"{again}version {found}" if head is not None else "no version"
    by = f", committed by {head.author}," if head is not None and head.author else ""
    raise conflict(
        f"{where}: values computed from {wanted} cannot be committed, for {there}{by} is the head"
        f" meanwhile; {what_happened(base, found)}"
    )


def what_happened(base: VersionId, head: VersionId) -> str:
    """Say how a store that had one head came to have another, and what to do."""
    if head == NO_VERSION:
        return "the store was deleted"
    if base == NO_VERSION or head.number > base.number:
        return "read it and compute them anew"
    return "the store was deleted and written anew, or restored from a copy"


def to_write(
    records: Iterable[VariableRecord], naming: str = NAMINGS[0]
) -> dict[str, VariableRecord]:
    """Arrange records by key, as they are to be written: with paths, and no checksums yet.

    Raises:
        InvalidArgumentError: naming the keys that occur twice, or whose paths would be too long.
    """
    listed = list(records)
    arranged = {record.key: record for record in listed}
    if len(arranged) < len(listed):
        keys = [record.key for record in listed]
        twice = sorted(key for key in arranged if keys.count(key) > 1)
        raise invalid(f"variables declared twice: {', '.join(twice)}")
    paths = encode_keys(arranged)
    return {
        key: record.stored(path=paths[key], naming=naming, digests=())
        for key, record in arranged.items()
    }
