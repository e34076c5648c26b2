"""Checkpoints: one snapshot under its own name, saved from values and restored into any layout.

Restoring is strict and says everything at once: what is wanted is compared with what is there,
and unless all names, shapes and dtypes agree one error lists every difference and nothing is
returned. Reading an overwritten checkpoint is safe: if its objects vanish because a new one was
committed meanwhile, the new one is read.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any, TypeVar

import numpy as np
from zarr.abc.store import Store as ZarrStorage

from daskvars.dtypes import DType, as_dtype
from daskvars.errors import CorruptChunkError, OpError, restore_error
from daskvars.shapes import Chunks, block_indices, block_slices
from daskvars.state.external.reading import external_variables
from daskvars.state.external.tensorflow.reading import is_tensorflow, open_tensorflow
from daskvars.state.failures import RefusedError, not_found
from daskvars.state.format.assembly import Load, Run, assemble_selection, assemble_values
from daskvars.state.format.chunks import read_chunk
from daskvars.state.format.documents import DOCUMENT, MAX_DOCUMENT_BYTES, parse_document
from daskvars.state.format.grids import Blocks, Index, Selection
from daskvars.state.format.manifest import Manifest, VariableRecord
from daskvars.state.format.one_file import OneFileWriter
from daskvars.state.format.snapshot import (
    ATTRIBUTE,
    SnapshotWriter,
    check_complete,
    location,
    parse_manifest,
)
from daskvars.state.stores.addresses import archive_path, open_zarr_store
from daskvars.state.stores.objects import exists, get, in_parallel, join
from daskvars.state.stores.zarr_store import node_document, store_at

Result = TypeVar("Result")

NUM_ATTEMPTS = 5
"""How often a reader starts again because the checkpoint was overwritten under it."""

Wanted = Mapping[str, tuple[DType | str, tuple[int, ...], Chunks]]
"""key -> dtype, shape and layout that a value is wanted in."""


@dataclass(frozen=True)
class OpenedCheckpoint:
    """Something to restore from.

    Attributes:
        load: gives a stored chunk of one.
        token: changes when it is overwritten; empty for a Zarr group of somebody else's.
        location: how errors name it.
        kind: whose it is: "" for our own, "zarr" for a group of somebody else's, "tensorflow".
        left_out: names of what it has besides, of dtypes that no variable has.
        extra: what the writer kept with it.
    """

    records: Mapping[str, VariableRecord]
    load: Load
    token: str
    location: str
    storage: ZarrStorage
    path: str
    global_step: int | None = None
    kind: str = ""
    left_out: tuple[str, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def is_external(self) -> bool:
        """Whether somebody else wrote it, without a manifest."""
        return bool(self.kind)

    def whole(self, key: str) -> Any:
        """Return the value of a variable, a new array."""
        return self.part(key, tuple(slice(None) for _ in self.records[key].shape))

    def part(self, key: str, selection: Selection) -> Any:
        """Return a part of the value of a variable, a new array."""
        run = partial(in_parallel, self.storage)
        return assemble_selection(self.records[key], selection, self.load, run)


def save(
    values: Mapping[str, tuple[VariableRecord, Blocks]],
    where: Any,
    *,
    global_step: int | None = None,
    overwrite: bool = True,
    extra: Mapping[str, Any] | None = None,
    release: bool = False,
) -> Manifest:
    """Save values as a checkpoint.

    Args:
        values: key -> record and blocks, as `Values.capture` gives them.
        where: the checkpoint's own path, URL, Zarr store or ``StorePath``; a path that ends in
            ``.zip`` is one file.
        global_step: the step at which the values were taken.
        overwrite: whether a checkpoint that is there may be replaced; until the new one is
            complete, the old one is what a restore finds.
        extra: further JSON data to keep.
        release: drop each block from its dict as soon as it is written.

    Returns:
        The checkpoint's manifest.

    Raises:
        AlreadyExistsError: something is there that must not be replaced.
        InvalidArgumentError: a key that is not canonical, or blocks that do not fit their record.
        StoreError: the store refuses to be written; what was there before still stands.

    >>> from zarr.storage import MemoryStore
    >>> store, record = MemoryStore(), VariableRecord("b", "float32", (2,), ((2,),))
    >>> _ = save({"b": (record, {(0,): np.float32([1, 2])})}, store, global_step=5)
    >>> load_variable(store, "b")
    array([1., 2.], dtype=float32)
    """
    writer = writer_at(where, global_step or 0, overwrite)
    writer.doing = "" if release else "save"  # in the background nobody waits for it
    with writer.alone():
        writer.declare(record for record, _ in values.values())
        with writer.whole_or_not():
            writer.write_values({key: blocks for key, (_, blocks) in values.items()}, release)
            return writer.commit(global_step=global_step, extra=extra)


def writer_at(where: Any, version: int, overwrite: bool) -> OneFileWriter | SnapshotWriter:
    """Give what writes a checkpoint at a place: one file, or a group of objects."""
    archive = archive_path(where)
    if archive is not None:
        return OneFileWriter(archive, version, overwrite)
    store, path = open_zarr_store(where, "a")
    return SnapshotWriter(store, path, version, overwrite)


def restore(
    where: Any,
    wanted: Wanted,
    name_map: Mapping[str, str] | None = None,
    *,
    allow_unexpected: bool = False,
    offsets: Mapping[str, tuple[int, ...]] | None = None,
) -> dict[str, dict[Index, np.ndarray]]:
    """Read the values of a set of variables from a checkpoint or any Zarr group.

    Args:
        where: the checkpoint's path, URL, Zarr store or ``StorePath``.
        wanted: key -> dtype, shape and layout; the layout need not be the stored one.
        name_map: key -> the name of its value in the checkpoint, where that is another.
        allow_unexpected: whether the checkpoint may hold variables that are not wanted; they are
            listed all the same where something else is wrong.
        offsets: key -> where in the value it begins, for a part of one: its layout is the part's.

    Returns:
        key -> block index -> new array, in the layout wanted.

    Raises:
        NotFoundError: nothing is there.
        RestoreError: listing every missing, unexpected, wrong-shape and wrong-dtype name.
        StoreError: the checkpoint was never completed, or its manifest is damaged.
        CorruptChunkError: naming a variable and a chunk that is missing or damaged.
    """
    names = {key: (name_map or {}).get(key, key) for key in wanted}

    def read(source: OpenedCheckpoint) -> dict[str, dict[Index, np.ndarray]]:
        check_wanted(source, wanted, names, allow_unexpected)
        pairs = {key: (source.records[names[key]], wanted[key][2]) for key in wanted}
        run = partial(in_parallel, source.storage, doing="restore")
        return read_pairs(pairs, offsets or {}, source.load, run)

    return read_at(where, read)


def read_at(where: Any, read: Callable[[OpenedCheckpoint], Result]) -> Result:
    """Return what `read` makes of the checkpoint at a place, which may be overwritten meanwhile."""
    for attempt in range(NUM_ATTEMPTS):
        source = open_checkpoint(*open_zarr_store(where, "r"))  # anew: another file may be there
        try:
            return read(source)
        except CorruptChunkError:
            if attempt == NUM_ATTEMPTS - 1 or token_at(where) == source.token:
                raise
    raise AssertionError("unreachable: the last attempt returns or raises")


def token_at(where: Any) -> str:
    """Give the token of what is at a place now."""
    return open_checkpoint(*open_zarr_store(where, "r")).token


def read_pairs(
    pairs: Mapping[str, tuple[VariableRecord, Chunks]],
    offsets: Mapping[str, tuple[int, ...]],
    load: Load,
    run: Run,
) -> dict[str, dict[Index, np.ndarray]]:
    """Give values in blocks, those with an offset from there on, in the order of `pairs`."""
    whole = {key: pair for key, pair in pairs.items() if key not in offsets}
    found = assemble_values(whole, load, run)
    for key in offsets:
        record, chunks = pairs[key]
        found[key] = {
            index: assemble_selection(
                record, shifted(block_slices(chunks, index), offsets[key]), load, run
            )
            for index in block_indices(chunks)
        }
    return {key: found[key] for key in pairs}


def shifted(selection: Selection, offset: tuple[int, ...] | None) -> Selection:
    """Give a selection of a part as a selection of the whole."""
    if offset is None:
        return selection
    return tuple(
        slice(axis.start + start, axis.stop + start)
        for axis, start in zip(selection, offset, strict=True)
    )


def open_checkpoint(store: ZarrStorage, path: str) -> OpenedCheckpoint:
    """Open a checkpoint, the head of a session's store, or what somebody else wrote: a Zarr group
    without a manifest, a checkpoint of TensorFlow."""
    place = location(store, path)
    data = get(store, join(path, DOCUMENT), MAX_DOCUMENT_BYTES)
    document, manifest = None, None
    if data is not None and len(data):
        document, manifest = _parsed(data.tobytes(), join(place, DOCUMENT), place)
    versions = store_at(store, path, document)
    if versions is not None:
        head = versions.head()
        if head is None:
            raise not_found(f"{place} is a store without a version yet")
        return open_checkpoint(store, versions.version_path(head.version))
    if data is not None and document is None:
        parse_document(data, join(place, DOCUMENT))  # raises: it is there, and empty
    if document is None and is_tensorflow(store, path):
        found = open_tensorflow(store, path)
        read = found.records, found.load, found.token
        return OpenedCheckpoint(
            *read, place, store, path, kind="tensorflow", left_out=found.left_out
        )
    if manifest is None:
        read = *external_variables(store, path), ""
        return OpenedCheckpoint(*read, place, store, path, kind="zarr")
    check_complete(manifest, place)
    load = partial(read_chunk, store, path)
    step = manifest.global_step
    return OpenedCheckpoint(
        manifest.records, load, manifest.token, place, store, path, step, extra=manifest.extra
    )


@lru_cache(maxsize=2)
def _parsed(text: bytes, name: str, place: str) -> tuple[Mapping[str, Any], Manifest | None]:
    """Give the document of a group, and the manifest in it; nobody changes either.

    The last ones are remembered: each of a thousand initializers opens the same checkpoint.
    """
    document = parse_document(np.frombuffer(text, np.uint8), name)
    return document, parse_manifest(document, place)


def check_wanted(
    source: OpenedCheckpoint, wanted: Wanted, names: Mapping[str, str], allow_unexpected: bool
) -> None:
    """Raise one error for all differences, by the checkpoint's names, of wanted and found."""
    there = source.records
    missing = list(dict.fromkeys(names[key] for key in wanted if names[key] not in there))
    unexpected = sorted(there.keys() - names.values())
    shapes, dtypes = {}, {}  # once each: the parts of a partitioned variable have one name
    for key in wanted:
        record = there.get(names[key])
        if record is None:
            continue
        dtype, shape, _ = wanted[key]
        dtype = as_dtype(dtype).base_dtype.name
        if tuple(shape) != record.shape:
            shapes[names[key]] = (names[key], tuple(shape), record.shape)
        if dtype != record.dtype:
            dtypes[names[key]] = (names[key], dtype, record.dtype)
    if missing or shapes or dtypes or (unexpected and not allow_unexpected):
        differing = [*shapes.values()], [*dtypes.values()]
        raise restore_error(missing, unexpected, *differing, list(there), source.location)


def is_announced(where: Any) -> bool:
    """Return whether a checkpoint, complete or not, a Zarr group, or a file for one, is there.

    TensorFlow's are complete once they have an index.

    Raises:
        RefusedError: one may not look, or the store cannot be reached.
    """
    try:
        archive = archive_path(where)
        if archive is not None:
            return os.path.isfile(archive)
        store, path = open_zarr_store(where, "r")
        is_node = exists(store, join(path, DOCUMENT)) or exists(store, join(path, ".zgroup"))
        return is_node or store_at(store, path, None) is not None or is_tensorflow(store, path)
    except RefusedError:
        raise
    except OpError:
        return False


def is_complete(where: Any) -> bool:
    """Return whether there is something to restore from: a complete checkpoint, or a Zarr group.

    One document is read, and of a checkpoint's only the field that says so: whether its records
    are sound is for `restore` to find.

    Raises:
        RefusedError: one may not look, or the store cannot be reached.
    """
    try:
        store, path = open_zarr_store(where, "r")
        document = node_document(store, path)
        versions = store_at(store, path, document)
        if versions is not None:
            return versions.head() is not None
        if document is None:
            return is_tensorflow(store, path)
        if document.get("node_type") != "group":
            return False
        manifest = document.get("attributes", {}).get(ATTRIBUTE)
        if manifest is None:
            return True
    except RefusedError:
        raise
    except OpError:
        return False
    return isinstance(manifest, dict) and manifest.get("complete") is True


def list_variables(where: Any) -> list[tuple[str, tuple[int, ...]]]:
    """List the variables of a checkpoint or of any Zarr group, by name, with their shapes.

    OpenedCheckpoint: `tf.train.list_variables`.

    Raises:
        NotFoundError: nothing is there.
    """
    source = open_checkpoint(*open_zarr_store(where, "r"))
    return sorted((key, record.shape) for key, record in source.records.items())


def load_variable(where: Any, key: str) -> np.ndarray:
    """Read one variable of a checkpoint or of any Zarr group, whole.

    Args:
        where: the checkpoint's path, URL, Zarr store or ``StorePath``.
        key: the variable's name in it.

    Returns:
        The value, a new array of the variable's dtype and shape.

    Raises:
        NotFoundError: nothing is there, or no such variable.
        CorruptChunkError: a chunk is missing or damaged.

    OpenedCheckpoint: `tf.train.load_variable`.
    """

    def read(source: OpenedCheckpoint) -> np.ndarray:
        if key not in source.records:
            raise restore_error([key], [], [], [], list(source.records), source.location)
        value: np.ndarray = source.whole(key)
        return value

    return read_at(where, read)
