"""What a snapshot holds: its variables and the checksum of every chunk.

The manifest is JSON in the attributes of the snapshot's Zarr group. It is data: reading it makes
numbers, strings, tuples and the two dataclasses below, each field checked first, so a damaged or
hostile one is a `StoreError` that names what is wrong before anything is allocated. What a single
flipped bit makes another sound manifest of, a step or an ``uint8`` that becomes a ``qint8``, its
checksum tells, which is written with it (`snapshot`).
"""

from __future__ import annotations

import math
import re
import reprlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple, TypeVar

from daskvars.errors import InvalidArgumentError, did_you_mean, invalid
from daskvars.shapes import Chunks
from daskvars.state.failures import not_found, store_failure
from daskvars.state.format.encoding import is_storable, item_bytes
from daskvars.state.format.grids import Grid, layout_shape, remembered
from daskvars.state.format.keypath import check_key, decode_path

T = TypeVar("T")

FORMAT = 1
"""Number of the format that this code writes, and the only one that it reads."""

NAMINGS = ("default", "v2")
"""Zarr's chunk key encodings, used with separator ``.``; an overwritten checkpoint alternates."""

CODECS = ("zstd", "gzip", "blosc")
"""What chunks may be compressed with; see `compression`."""

SHARDS = re.compile(rf"shards-[1-9]\d{{0,14}}(\+({'|'.join(CODECS)}))?")
"""What chunks may be made shards with; see `sharding`."""

MAX_BYTES = 1 << 62
"""A variable of more bytes than this is a damaged manifest; so is one whose other axes have more
where one is empty, as NumPy has no such arrays."""

MAX_AXES = 64
"""Most axes that a NumPy array has."""

MAX_DIGEST = (1 << 32) - 1


class VersionId(NamedTuple):
    """What a version of a store is known by; printed as its number.

    Attributes:
        number: its place in the order of the store's versions. A store that was deleted and
            written anew, or restored from a backup, may use it again.
        token: that of its manifest, which no other version has.
    """

    number: int
    token: str

    def __str__(self) -> str:
        return str(self.number)


NO_NUMBER = -1
NO_VERSION = VersionId(NO_NUMBER, "")
"""What the first version of a store is based on."""


@dataclass(frozen=True)
class VariableRecord:
    """What is known of one variable without its value.

    Attributes:
        key: scope-qualified name.
        dtype: dtype by name: ``"float32"``, ``"bfloat16"``, ``"qint8"``, ``"string"``.
        shape: size of each axis.
        chunks: the layout: per axis the sizes of its chunks.
        trainable: whether optimizers update it.
        collections: names of the collections it is in.
        device: the device it was placed on, as a TensorFlow device string.
        path: node path in its snapshot; set when a snapshot declares it.
        naming: how its chunk objects are named; set when a snapshot declares it.
        digests: crc32c of the bytes of each stored chunk, in C order; set when it is committed.
        codec: what the chunks are compressed with or made shards; empty where they are not.

    Raises:
        InvalidArgumentError: a field that contradicts another, or a dtype that cannot be stored.

    >>> VariableRecord("w", "float32", (4, 2), ((2, 2), (2,))).nbytes
    32
    """

    key: str
    dtype: str
    shape: tuple[int, ...]
    chunks: Chunks
    trainable: bool = True
    collections: tuple[str, ...] = ()
    device: str = ""
    path: str = ""
    naming: str = NAMINGS[0]
    digests: tuple[int, ...] = ()
    codec: str = ""

    def __post_init__(self) -> None:
        check_key(self.key)
        problem = array_problem(self.dtype, self.shape, self.chunks) or self.problem()
        if problem:
            raise invalid(f"variable {self.key!r}: {problem}")

    def problem(self) -> str:
        """Say what contradicts itself in this record of an array; nothing if all is well."""
        if self.naming not in NAMINGS:
            return f"chunk naming {self.naming!r} is none of {NAMINGS}"
        if self.codec and self.codec not in CODECS and not SHARDS.fullmatch(self.codec):
            return f"codec {self.codec!r} is none of {CODECS}"
        return self.problem_among_alike()

    def problem_among_alike(self) -> str:
        """Say so of what two records of one form may differ in: key, path and checksums."""
        digests = self.digests
        if self.path and decode_path(self.path) != self.key:
            return f"path {self.path!r} belongs to another key"
        if digests and len(digests) != self.grid.num_chunks:
            return f"{len(digests)} checksums for {self.grid.num_chunks} chunks"
        if digests and not 0 <= min(digests) <= max(digests) <= MAX_DIGEST:
            return f"checksums {shorten(digests)} that are no crc32c"
        return ""

    @cached_property
    def grid(self) -> Grid:
        """The grid of the stored chunks, by which they are indexed."""
        return Grid.of(self.chunks)

    @cached_property
    def is_regular(self) -> bool:
        """Whether the stored chunks are those of the layout."""
        return self.grid.chunks == self.chunks

    def stored(self, **fields: Any) -> VariableRecord:
        """Give the record with another `key`, `path`, `naming`, `digests` or `codec`: unchecked.

        >>> VariableRecord("w", "int8", (4,), ((2, 2),)).stored(path="w").path
        'w'
        """
        record = object.__new__(VariableRecord)
        record.__dict__.update(self.__dict__, **fields)
        return record

    @property
    def nbytes(self) -> int:
        """Size of the value in bytes; of strings, as NumPy counts it, that of the references."""
        return math.prod(self.shape) * item_bytes(self.dtype)


@remembered
def array_problem(dtype: str, shape: tuple[int, ...], chunks: Chunks) -> str:
    """Say what keeps an array from having this dtype, shape and layout; nothing if all is well."""
    if not is_storable(dtype):
        return f"dtype {dtype!r} cannot be stored"
    sizes = [*shape, *chain.from_iterable(chunks)]
    if min(sizes, default=0) < 0:
        return f"negative size in shape {shorten(shape)} or chunks {shorten(chunks)}"
    if max(sizes, default=0) > MAX_BYTES or len(shape) > MAX_AXES:
        return f"no array has the shape {shorten(shape)}"
    if layout_shape(chunks) != shape:
        return f"chunks {shorten(chunks)} do not add up to shape {shape}"
    if math.prod([size or 1 for size in shape]) * item_bytes(dtype) > MAX_BYTES:
        return f"shape {shorten(shape)} of {dtype} is more than {MAX_BYTES} bytes"
    return ""


def shorten(value: object) -> str:
    """Print a value that may be long or deep, in short."""
    text = reprlib.repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."


@dataclass(frozen=True, slots=True)
class Manifest:
    """One complete snapshot, or the announcement of one.

    Attributes:
        version: version of the store's state that the snapshot holds.
        records: the variables, by key.
        global_step: the step at which it was taken.
        extra: further JSON data that the writer wished to keep.
        complete: whether the snapshot was committed; an announcement is not.
        token: a different text for every commit, by which a reader notices an overwriting.
        pending: node paths at which a writer that has announced itself may leave objects.
        writer: token of that writer.
        author: who committed it, for errors to name: process, machine and time.
    """

    version: int
    records: Mapping[str, VariableRecord]
    global_step: int | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    complete: bool = True
    token: str = ""
    pending: tuple[str, ...] = ()
    writer: str = ""
    author: str = ""

    @property
    def id(self) -> VersionId:
        """What the version is known by."""
        return VersionId(self.version, self.token)

    def to_json(self) -> dict[str, Any]:
        """Give the manifest as JSON data."""
        return {
            "format": FORMAT,
            "version": self.version,
            "complete": self.complete,
            "token": self.token,
            "global_step": self.global_step,
            "extra": dict(self.extra),
            "pending": list(self.pending),
            "writer": self.writer,
            "author": self.author,
            "variables": {key: record_json(record) for key, record in self.records.items()},
        }

    def record(self, key: str) -> VariableRecord:
        """Give a variable's record.

        Raises:
            NotFoundError: the snapshot has no such variable; names the nearest ones.
        """
        if key not in self.records:
            hint = did_you_mean(key, self.records)
            raise not_found(f"no variable {key!r} in version {self.version}{hint}")
        return self.records[key]

    @classmethod
    def from_json(cls, data: object, where: str = "manifest") -> Manifest:
        """Check JSON data and make a manifest of it.

        Args:
            data: what `to_json` gave, after any journey.
            where: how errors name the snapshot.

        Raises:
            StoreError: naming the field that is missing, of a wrong type or contradictory.

        >>> Manifest.from_json({"format": 7})
        Traceback (most recent call last):
        daskvars.errors.StoreError: manifest: format 7, where this version of daskvars reads 1
        """
        fields = Fields(data, where)
        if fields.take("format", int) != FORMAT:
            raise store_failure(
                f"{where}: format {shorten(fields.take('format', int))},"
                f" where this version of daskvars reads {FORMAT}"
            )
        variables = fields.take("variables", dict)
        alike: Alike = {}
        return cls(
            version=fields.take("version", int),
            records={key: read_record(key, variables[key], where, alike) for key in variables},
            global_step=fields.take_optional("global_step", int),
            extra=fields.take("extra", dict),
            complete=fields.take("complete", bool),
            token=fields.take("token", str),
            writer=fields.take("writer", str),
            author=fields.take_optional("author", str) or "",
            pending=tuple(checked_path(path, where) for path in fields.take_list("pending", str)),
        )


class Fields:
    """The fields of a JSON object, taken with their types checked."""

    def __init__(self, data: object, where: str, name: str = "") -> None:
        if type(data) is not dict:
            found = f"{name!r} is {shorten(data)}" if name else shorten(data)
            raise store_failure(f"{where}: {found} where an object belongs")
        self.data, self.where = data, where

    def take(self, name: str, kind: type[T]) -> T:
        """Take one field."""
        value = self.data.get(name)
        if type(value) is not kind:
            found = shorten(value) if name in self.data else "missing"
            raise store_failure(f"{self.where}: {name!r} is {found}; wanted {kind.__name__}")
        return value

    def take_optional(self, name: str, kind: type[T]) -> T | None:
        """Take one field that may be null."""
        return None if self.data.get(name, self) is None else self.take(name, kind)

    def take_list(self, name: str, kind: type[T]) -> tuple[T, ...]:
        """Take a field that lists values of one type."""
        values = self.take(name, list)
        if not {kind}.issuperset(map(type, values)):
            raise store_failure(
                f"{self.where}: {name!r} is {shorten(values)}; wanted {kind.__name__} elements"
            )
        return tuple(values)


Alike = dict[tuple[object, ...], VariableRecord]
"""A record of each form: a model has many variables that differ in key, path and checksums alone,
and what was found sound of one need not be looked at again in the next."""

RECORD_FIELDS = {
    "dtype": str,
    "trainable": bool,
    "device": str,
    "path": str,
    "naming": str,
    "codec": str,
}
RECORD_LISTS = {"shape": int, "chunks": list, "collections": str, "digests": int}
RECORD_NAMES = (
    *("path", "naming", "dtype", "shape", "chunks"),
    *("trainable", "collections", "device", "digests", "codec"),
)
"""In the order in which `record_json` has them."""

RECORD_TYPES = tuple(RECORD_FIELDS.get(name, list) for name in RECORD_NAMES)


def record_json(record: VariableRecord) -> dict[str, Any]:
    """Give a record as JSON data; its key is where the manifest puts it."""
    return {
        "path": record.path,
        "naming": record.naming,
        "dtype": record.dtype,
        "shape": [int(size) for size in record.shape],
        "chunks": [[int(size) for size in sizes] for sizes in record.chunks],
        "trainable": record.trainable,
        "collections": list(record.collections),
        "device": record.device,
        "digests": list(record.digests),
        "codec": record.codec,
    }


def read_record(key: str, data: object, where: str, alike: Alike) -> VariableRecord:
    """Check JSON data and make a record of it."""
    form = form_of(data)
    known = alike.get(form) if form else None
    if known is not None and type(data) is dict:
        record = known.stored(key=key, path=data["path"], digests=tuple(data["digests"]))
        if record.path and len(record.digests) == record.grid.num_chunks and is_sound(record):
            return record
    record = read_any_record(key, data, where)
    if form:
        alike[form] = record
    return record


def form_of(data: object) -> tuple[object, ...]:
    """Give what is alike in many records; empty where a field is not as this code writes it."""
    if type(data) is not dict or tuple(data) != RECORD_NAMES:
        return ()
    if tuple(map(type, data.values())) != RECORD_TYPES:
        return ()
    _, naming, dtype, shape, chunks, trainable, collections, device, digests, codec = data.values()
    if not {list}.issuperset(map(type, chunks)) or not {str}.issuperset(map(type, collections)):
        return ()
    if not {int}.issuperset(map(type, chain(shape, digests, *chunks))):
        return ()
    sizes = tuple(map(tuple, chunks))
    return naming, dtype, tuple(shape), sizes, trainable, tuple(collections), device, codec


def is_sound(record: VariableRecord) -> bool:
    """Tell whether a record is, of which another of its form is."""
    try:
        check_key(record.key)
        return not record.problem_among_alike()
    except InvalidArgumentError:
        return False


def read_any_record(key: str, data: object, where: str) -> VariableRecord:
    """Check JSON data field by field, and make a record of it."""
    where = f"{where}: variable {repr(key) if len(key) < 29 else shorten(key)}"
    fields = Fields(data, where)
    lists: dict[str, Any] = {
        name: fields.take_list(name, kind) for name, kind in RECORD_LISTS.items()
    }
    sizes = lists["chunks"]
    if not {int}.issuperset(map(type, chain.from_iterable(sizes))):
        raise store_failure(f"{where}: 'chunks' is {shorten(sizes)}; wanted lists of int")
    lists["chunks"] = tuple(map(tuple, sizes))
    plain: dict[str, Any] = {
        name: fields.take(name, kind)
        for name, kind in RECORD_FIELDS.items()
        if name != "codec" or name in fields.data  # there are manifests from before it
    }
    try:
        record = VariableRecord(key, **plain, **lists)
    except InvalidArgumentError as error:
        raise store_failure(f"{where}: {error}") from None
    if not record.path:
        raise store_failure(f"{where}: 'path' is empty")
    if len(record.digests) != record.grid.num_chunks:
        raise store_failure(
            f"{where}: {len(record.digests)} checksums for {record.grid.num_chunks} chunks"
        )
    return record


def checked_path(path: str, where: str) -> str:
    """Refuse a node path that leads out of the snapshot."""
    try:
        check_key(decode_path(path))
    except InvalidArgumentError as error:
        raise store_failure(f"{where}: 'pending': {error}") from None
    return path
