"""TensorFlow's checkpoints, read as variables.

A tensor is given in chunks of at most `CHUNK_BYTES`, whatever its size. TensorFlow keeps one crc32c
for all bytes of a tensor, or of a slice of it. So where a chunk is a part of that, the whole is
read through once before, and the crc32c of each `BLOCK_BYTES` of it noted; the chunk's blocks are
then compared with these. Who restores into chunks on many workers therefore reads a large tensor
that is in one piece once more on each of them (partitioned ones, as large tables are, not), and no
worker has more than a chunk of it in memory.
"""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import google_crc32c
import numpy as np
from zarr.abc.store import Store as ZarrStorage

from daskvars.dtypes import as_dtype, string
from daskvars.errors import CorruptChunkError, InvalidArgumentError, OpError
from daskvars.shapes import Chunks
from daskvars.state.external.tensorflow.messages import (
    Entry,
    Header,
    read_varint,
    slice_key,
    slice_shape,
)
from daskvars.state.external.tensorflow.tables import masked, read_table
from daskvars.state.failures import not_found, store_failure
from daskvars.state.format.assembly import Load
from daskvars.state.format.encoding import memory_dtype, native
from daskvars.state.format.grids import Grid, Index, Selection, overlap, selection_shape
from daskvars.state.format.manifest import VariableRecord, shorten
from daskvars.state.stores.addresses import INDEX_SUFFIX
from daskvars.state.stores.objects import get, get_range, in_parallel, join, object_size

MAX_INDEX_BYTES = 1 << 30
MAX_SHARDS = 1 << 16
CHUNK_BYTES = 1 << 26
"""What is read of a tensor at once."""

BLOCK_BYTES = 1 << 20
"""Bytes of a tensor that have a crc32c of their own while it is read in parts."""

READ_BLOCKS = 16
CONSUMER = 1
"""The version of TensorFlow's readers of bundles that this one does as."""


class TensorFlowCheckpoint(NamedTuple):
    """A checkpoint of TensorFlow.

    Attributes:
        load: gives a chunk of one.
        token: changes with its index.
        left_out: names of tensors of a dtype that no variable has.
    """

    records: Mapping[str, VariableRecord]
    load: Load
    token: str
    left_out: tuple[str, ...]


def is_tensorflow(store: ZarrStorage, path: str) -> bool:
    """Return whether a checkpoint of TensorFlow is at a path: its index."""
    return bool(path) and object_size(store, f"{path}{INDEX_SUFFIX}") is not None


def open_tensorflow(store: ZarrStorage, path: str) -> TensorFlowCheckpoint:
    """Read the index of a checkpoint of TensorFlow.

    Args:
        store: the Zarr store in whose objects it is; a directory of a disk is one.
        path: the prefix of its objects' names.

    Raises:
        NotFoundError: there is no index.
        StoreError: the index is damaged, or claims what is not there.
    """
    place = join(str(store), path)
    content = get(store, f"{path}{INDEX_SUFFIX}", MAX_INDEX_BYTES)
    if content is None:
        raise not_found(f"{place}{INDEX_SUFFIX} is not there; check the path")
    data = content.tobytes()
    try:
        table = read_table(data)
        header = checked_header(table.pop(b"", None))
        bundle = Bundle(store, path, header.num_shards)
        tensors = dict(whole_tensors(table))
        known = {name: entry for name, entry in tensors.items() if entry.known_dtype}
        bundle.pieces = {name: list(pieces_of(name, entry, table)) for name, entry in known.items()}
        bundle.check_sizes()
        records = {
            name: record_of(name, entry, bundle.pieces[name]) for name, entry in known.items()
        }
    except (ValueError, InvalidArgumentError) as error:
        raise store_failure(f"{place}{INDEX_SUFFIX} cannot be read: {error}") from None
    token = f"tensorflow-{google_crc32c.value(data):08x}"
    left_out = tuple(sorted(tensors.keys() - known.keys()))
    return TensorFlowCheckpoint(records, bundle.load, token, left_out)


def checked_header(data: bytes | None) -> Header:
    """Give what an index says of itself, if it can be read here."""
    if data is None:
        raise ValueError("it has no header, so it is no index of a checkpoint")
    header = Header.parse(data)
    if header.is_big_endian:
        raise ValueError("its numbers are big endian, as no machine of today writes them")
    if header.min_consumer > CONSUMER:
        raise ValueError(
            f"it is for readers of version {header.min_consumer} or newer, not {CONSUMER} as this"
        )
    if not 0 < header.num_shards <= MAX_SHARDS:
        raise ValueError(f"it has {header.num_shards} files of data")
    return header


def whole_tensors(table: Mapping[bytes, bytes]) -> Iterator[tuple[str, Entry]]:
    """Yield name and entry of each tensor; the entries of slices, whose keys begin with a zero
    byte, are found by those of their tensors."""
    for key, value in table.items():
        if key.startswith(b"\0"):
            continue
        name = key.decode()
        try:
            yield name, Entry.parse(value)
        except ValueError as error:
            raise ValueError(f"tensor {shorten(name)}: {error}") from None


class Piece(NamedTuple):
    """A tensor, or a slice of one, whose bytes lie together.

    Attributes:
        entry: what the index says of it.
        selection: where in the whole tensor it is.
    """

    entry: Entry
    selection: Selection


def pieces_of(name: str, entry: Entry, table: Mapping[bytes, bytes]) -> Iterator[Piece]:
    """Yield the pieces of a tensor, which fill it."""
    try:
        if not entry.slices:
            check_bytes(entry)
            yield Piece(entry, tuple(slice(0, size) for size in entry.shape))
            return
        check_slices(entry)
        for part in entry.slices:
            found = table.get(slice_key(name, part))
            if found is None:
                raise ValueError(f"its slice {shorten(part)} is missing")
            piece, shape = Entry.parse(found), slice_shape(part, entry.shape)
            if piece.shape != shape or piece.dtype != entry.dtype or piece.slices:
                raise ValueError(f"its slice {shorten(part)} is of another shape or dtype")
            check_bytes(piece)
            starts = [start for start, _ in part]
            yield Piece(
                piece, tuple(slice(a, a + size) for a, size in zip(starts, shape, strict=True))
            )
    except ValueError as error:
        raise ValueError(f"tensor {shorten(name)}: {error}") from None


def check_bytes(entry: Entry) -> None:
    """Refuse an entry of more or fewer bytes than its shape says."""
    count, dtype = math.prod(entry.shape), entry.known_dtype
    if min(entry.size, entry.offset, entry.shard) < 0:
        raise ValueError("a negative number in its entry")
    if dtype is string:  # each element has at least its length, and they have a checksum
        if count and entry.size < count + CHECKSUM_BYTES:
            raise ValueError(f"{entry.size} bytes are not {count} strings")
    elif dtype is not None and entry.size != count * memory_dtype(dtype.name).itemsize:
        raise ValueError(f"{entry.size} bytes are not shape {shorten(entry.shape)} of {dtype.name}")


def check_slices(entry: Entry) -> None:
    """Refuse slices that do not fill their tensor, each element once."""
    shapes = [slice_shape(part, entry.shape) for part in entry.slices]
    if sum(map(math.prod, shapes)) != math.prod(entry.shape):
        raise ValueError(f"its slices do not fill its shape {shorten(entry.shape)}")
    limit = (1 << 63) - 1
    starts = [[min(start, limit) for start, _ in part] for part in entry.slices]
    low = np.array(starts, np.int64).reshape(len(shapes), len(entry.shape))
    high = low + np.array(shapes, np.int64).reshape(low.shape)
    filled = np.array([math.prod(shape) > 0 for shape in shapes])
    for number in range(len(shapes)):
        meets = filled & (low < high[number]).all(axis=1) & (high > low[number]).all(axis=1)
        meets[number] = False
        if filled[number] and meets.any():
            raise ValueError("its slices overlap")


def record_of(name: str, entry: Entry, pieces: list[Piece]) -> VariableRecord:
    """Describe a tensor as a variable, in chunks that are read at once."""
    shape, dtype = entry.shape, as_dtype(entry.dtype).name
    if dtype == "string":
        size = tuple(size or 1 for size in shape)
    else:
        size = chunk_shape(shape, memory_dtype(dtype).itemsize)
        first = pieces[0].selection
        rows = selection_shape(first)
        if entry.slices and rows[1:] == shape[1:] and 0 < rows[0] <= size[0]:
            size = (rows[0], *size[1:])  # as partitioners cut: then a slice is a chunk
    chunks: Chunks = tuple(grid or (0,) for grid in Grid(shape, size).chunks)
    return VariableRecord(name, dtype, shape, chunks)


def chunk_shape(shape: tuple[int, ...], item_bytes: int) -> tuple[int, ...]:
    """Give the shape of chunks of at most `CHUNK_BYTES` that lie together, as rows do.

    >>> chunk_shape((1 << 20, 128), 4), chunk_shape((2, 1 << 25), 4)
    ((131072, 128), (1, 16777216))
    """
    found = [size or 1 for size in shape]
    for axis, size in enumerate(found):
        inner = math.prod(found[axis + 1 :]) * item_bytes
        found[axis] = min(size, max(1, CHUNK_BYTES // inner))
        if found[axis] > 1 or inner <= CHUNK_BYTES:
            break
    return tuple(found)


CHECKSUM_BYTES = 4

Blocks = dict[tuple[str, int, int, int], tuple[int, ...]]


class NotedBlocks:
    """The crc32c of the blocks of pieces that were read in parts; the oldest are forgotten.

    What vouches for them is the crc32c in the index, which is part of what they are found by.
    """

    def __init__(self, most: int) -> None:
        self.most, self.found, self.lock = most, Blocks(), threading.Lock()

    def get(self, key: tuple[str, int, int, int]) -> tuple[int, ...] | None:
        """Give those of a piece, None where they are not noted."""
        with self.lock:
            return self.found.get(key)

    def note(self, key: tuple[str, int, int, int], digests: tuple[int, ...]) -> None:
        """Note those of a piece."""
        with self.lock:
            self.found[key] = digests
            while len(self.found) > self.most:
                self.found.pop(next(iter(self.found)))


NOTED = NotedBlocks(most=1024)


@dataclass
class Bundle:
    """The files of data of a checkpoint.

    Args:
        store, path: where it is; see `open_tensorflow`.
        num_shards: how many files there are.

    Attributes:
        pieces: name of a tensor -> where its bytes are.
    """

    store: ZarrStorage
    path: str
    num_shards: int
    pieces: dict[str, list[Piece]] = field(default_factory=dict)
    reading: threading.Lock = field(default_factory=threading.Lock)

    def data_name(self, shard: int) -> str:
        """Give the name of a file of data."""
        return data_name(self.path, shard, self.num_shards)

    def check_sizes(self) -> None:
        """Refuse an index whose entries are not within the files that are there.

        Raises:
            ValueError: naming the file.
        """
        ends: dict[int, tuple[int, str]] = {}
        for name, pieces in self.pieces.items():
            for entry, _ in pieces:
                end = entry.offset + entry.size
                ends[entry.shard] = max(ends.get(entry.shard, (0, "")), (end, name))
        if max(ends, default=0) >= self.num_shards:
            raise ValueError(f"a tensor is in file {max(ends)} of {self.num_shards}")
        shards = sorted(ends)
        sizes = in_parallel(
            self.store, lambda shard: object_size(self.store, self.data_name(shard)), shards
        )
        for shard, size in zip(shards, sizes, strict=True):
            end, name = ends[shard]
            label = join(str(self.store), self.data_name(shard))
            if size is None and end:
                raise ValueError(f"{label} is missing; copy all files of the checkpoint")
            if (size or 0) < end:
                raise ValueError(
                    f"{label} has {size} bytes, and {shorten(name)} would end at {end}: it is cut "
                    "off"
                )

    def load(self, record: VariableRecord, index: Index) -> np.ndarray:
        """Read a chunk of a tensor. Raises CorruptChunkError where it is missing or altered."""
        try:
            return self.read(record, record.grid.selection(index))
        except (ValueError, OpError) as error:
            place = join(str(self.store), self.path)
            raise CorruptChunkError(record.key, index, str(error), place) from None

    def read(self, record: VariableRecord, selection: Selection) -> np.ndarray:
        """Read a selection of a tensor: of each piece what lies in it."""
        pieces = self.pieces[record.key]
        if len(pieces) == 1:
            return self.read_piece(pieces[0].entry, selection)
        found = np.empty(selection_shape(selection), memory_dtype(record.dtype))
        for entry, place in pieces:
            _, source, target = overlap((), place, selection)
            if all(axis.start < axis.stop for axis in source):
                found[target] = self.read_piece(entry, source)
        return found

    def read_piece(self, entry: Entry, selection: Selection) -> np.ndarray:
        """Read a selection of a piece: what lies together around it, and of that the selection."""
        dtype = entry.known_dtype
        assert dtype is not None, "tensors of other dtypes are left out"
        if dtype is string:
            return self.strings(entry)[selection or ...]
        shape = selection_shape(selection)
        if 0 in shape:
            return np.empty(shape, dtype.np)
        axis = next((n for n, size in enumerate(shape) if size > 1), max(len(shape) - 1, 0))
        inner = entry.shape[axis + 1 :]
        row_bytes = math.prod(inner) * dtype.np.itemsize
        start = 0
        for part, size in zip(selection[: axis + 1], entry.shape, strict=False):
            start = start * size + part.start
        rows = shape[axis : axis + 1]
        data = self.checked(entry, start * row_bytes, (start + math.prod(rows)) * row_bytes)
        array = native(data.view(dtype.np)).reshape((*shape[:axis], *rows, *inner))
        return array[(slice(None),) * len(shape[: axis + 1]) + selection[axis + 1 :] or ...]

    def strings(self, entry: Entry) -> np.ndarray:
        """Read a piece of strings: their lengths, the crc32c of these, their bytes.

        The crc32c of all is made of each length as four or eight bytes.
        """
        found = np.empty(entry.shape, object)
        if not found.size:
            return found
        data = self.ranged(entry, 0, entry.size).tobytes()
        lengths, at = [], 0
        for _ in range(found.size):
            length, at = read_varint(data, at)
            lengths.append(length)
        wide = [n.to_bytes(4 if n < 1 << 32 else 8, "little") for n in lengths]
        crc = google_crc32c.value(b"".join(wide))
        start = at + CHECKSUM_BYTES
        if int.from_bytes(data[at:start], "little") != masked(crc):
            raise ValueError("crc32c of the lengths of strings differs")
        if start + sum(lengths) != len(data):
            raise ValueError("the lengths of strings are not those of its bytes")
        check_crc(google_crc32c.extend(crc, data[at:]), entry)
        flat = found.reshape(-1)
        ends = itertools.accumulate(lengths, initial=start)
        for number, (first, last) in enumerate(itertools.pairwise(ends)):
            flat[number] = data[first:last]
        return found

    def checked(self, entry: Entry, start: int, stop: int) -> np.ndarray:
        """Read bytes of a piece that a crc32c has vouched for."""
        if (start, stop) == (0, entry.size):
            data = self.ranged(entry, 0, entry.size)
            check_crc(google_crc32c.value(data), entry)
            return data
        digests = self.digests(entry)
        low, first = start // BLOCK_BYTES * BLOCK_BYTES, start // BLOCK_BYTES
        high = min(entry.size, -(-stop // BLOCK_BYTES) * BLOCK_BYTES)
        data = self.ranged(entry, low, high)
        for number, digest in enumerate(block_digests(data)):
            if digest != digests[first + number]:
                raise ValueError("crc32c differs")
        part = data[start - low : stop - low]
        return part if start == low else part.copy()  # where numbers of its size may begin

    def digests(self, entry: Entry) -> tuple[int, ...]:
        """Give the crc32c of each block of a piece, having compared that of the whole."""
        key = (
            join(str(self.store), self.data_name(entry.shard)),
            entry.offset,
            entry.size,
            entry.checksum,
        )
        with self.reading:  # another thread may be reading it
            known = NOTED.get(key)
            if known is not None:
                return known
            found, crc = list[int](), 0
            step = BLOCK_BYTES * READ_BLOCKS
            for start in range(0, entry.size, step):
                data = self.ranged(entry, start, min(start + step, entry.size))
                crc = google_crc32c.extend(crc, data)
                found += block_digests(data)
            check_crc(crc, entry)
            NOTED.note(key, tuple(found))
            return tuple(found)

    def ranged(self, entry: Entry, start: int, stop: int) -> np.ndarray:
        """Read bytes of a piece, as they are."""
        name = self.data_name(entry.shard)
        found = get_range(self.store, name, entry.offset + start, entry.offset + stop)
        if found is None:
            raise ValueError(f"{name} is missing or cut off")
        return found


def block_digests(data: np.ndarray) -> list[int]:
    """Give the crc32c of each block of some bytes."""
    starts = range(0, len(data), BLOCK_BYTES)
    return [google_crc32c.value(data[start : start + BLOCK_BYTES]) for start in starts]


def check_crc(crc: int, entry: Entry) -> None:
    """Compare a crc32c with that of the index. Raises ValueError."""
    if masked(crc) != entry.checksum:
        raise ValueError("crc32c differs")


def data_name(prefix: str, shard: int, num_shards: int) -> str:
    """Give the name of a file of data.

    >>> data_name("model.ckpt-7", 0, 2)
    'model.ckpt-7.data-00000-of-00002'
    """
    return f"{prefix}.data-{shard:05d}-of-{num_shards:05d}"


def object_names_of(store: ZarrStorage, path: str) -> list[str]:
    """Give the names of all objects of a checkpoint, its index first.

    Raises:
        StoreError: the index is damaged.
    """
    content = get(store, f"{path}{INDEX_SUFFIX}", MAX_INDEX_BYTES)
    if content is None:
        return []
    try:
        count = checked_header(read_table(content.tobytes()).get(b"")).num_shards
    except ValueError as error:
        raise store_failure(
            f"{join(str(store), path)}{INDEX_SUFFIX} cannot be read: {error}"
        ) from None
    return [f"{path}{INDEX_SUFFIX}", *(data_name(path, shard, count) for shard in range(count))]
