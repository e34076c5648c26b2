"""Kernels that read numbers out of strings: raw bytes, comma-separated values, examples."""

from __future__ import annotations

import csv
import math
import re
import zlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy

from daskvars.backend import ArrayModule
from daskvars.dtypes import DType, string
from daskvars.errors import invalid
from daskvars.kernels.example_protos import decode_error, example_of_json, message_class

DENSE, SPARSE, SEQUENCE = "dense", "sparse", "sequence"
OPTIONAL = "optional sequence"  # of a sequence example that may lack it
_LISTS = {"bytes_list": "string", "float_list": "float", "int64_list": "int64"}
_MEMBERS = {"string": "bytes_list", "float32": "float_list", "int64": "int64_list"}
_NUMBERS = {"float32": "float", "float64": "double"}
_SHOWN = {"string": "string", "float32": "float", "int64": "int64"}


# -- bytes -----------------------------------------------------------------------------------------


def decode_raw(xp: ArrayModule, text: Any, *, dtype: DType, little_endian: bool) -> numpy.ndarray:
    """Give the bytes of strings, all equally long, as numbers."""
    array = numpy.asarray(text, object)
    items = array.reshape(-1).tolist()
    size = dtype.np.itemsize
    length = len(items[0]) if items else 0
    for item in items:
        if len(item) != length:
            raise invalid(
                "DecodeRaw requires input strings to all be the same size, but element 1 has size "
                f"{length} != {len(item)}"
            )
    if length % size:
        raise invalid(
            f"Input to DecodeRaw has length {length} that is not a multiple of {size}, the size of "
            f"{dtype.name}"
        )
    kind = numpy.dtype(dtype.np).newbyteorder("<" if little_endian else ">")
    found = numpy.frombuffer(b"".join(items), kind).astype(dtype.np)
    return found.reshape(*array.shape, length // size)


# Name -> the bits of a window that zlib takes for its format.
COMPRESSIONS = {"": 0, "ZLIB": zlib.MAX_WBITS, "GZIP": zlib.MAX_WBITS | 16}


def decode_compressed(xp: ArrayModule, text: Any, *, compression_type: str) -> numpy.ndarray:
    """Give strings that were compressed, each by itself."""
    array = numpy.asarray(text, object)
    if not compression_type:
        return array
    found = numpy.empty(array.shape, object)
    for place, item in enumerate(array.reshape(-1).tolist()):
        try:
            found.reshape(-1)[place] = zlib.decompress(item, COMPRESSIONS[compression_type])
        except zlib.error as error:
            raise invalid(
                f"string {place} is not compressed by {compression_type}: {error}"
            ) from None
    return found


# -- comma-separated values ------------------------------------------------------------------------


def decode_csv(
    xp: ArrayModule,
    records: Any,
    *defaults: Any,
    dtypes: Sequence[DType],
    separator: str,
    quoted: bool,
    missing: str,
    columns: tuple[int, ...] | None,
) -> tuple[numpy.ndarray, ...]:
    """Give the columns of lines of separated values; `defaults` stand for what is empty."""
    array = numpy.asarray(records, object)
    lines = [item.decode("utf-8", "surrogateescape") for item in array.reshape(-1).tolist()]
    quoting: Any = csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
    field, mark = r'(?:"(?:[^"]|"")*"|[^"SEP]*)', re.escape(separator)
    whole = re.compile(f"{field}(?:SEP{field})*".replace("SEP", mark))
    found: list[list[Any]] = [[] for _ in dtypes]
    wanted = range(len(dtypes)) if columns is None else columns
    for number, line in enumerate(lines):
        try:
            rows = list(csv.reader([line], delimiter=separator, quoting=quoting, strict=True))
        except csv.Error as error:
            raise invalid(
                f"Quoted field has to end with quote followed by delimiter or end: record {number} "
                f"({error})"
            ) from None
        fields = rows[0] if rows and rows[0] else [""]
        if (
            quoted and '"' in line and not whole.fullmatch(line)
        ):  # csv takes a quote inside as it is
            raise invalid(
                f"Unquoted fields cannot have quotes/CRLFs inside: record {number}, {line[:40]!r}"
            )
        if columns is None and len(fields) != len(dtypes):
            raise invalid(f"Expect {len(dtypes)} fields but have {len(fields)} in record {number}")
        for place, column in enumerate(wanted):
            if column >= len(fields):
                raise invalid(
                    f"Expect {len(wanted)} fields but have {place} in record {number}: it has no "
                    f"field {column}"
                )
            default = defaults[place]
            found[place].append(
                _field(fields[column], dtypes[place], default, missing, column, number)
            )
    results = []
    for values, dtype in zip(found, dtypes, strict=True):
        column_array = numpy.empty(len(values), dtype.np)
        column_array[...] = values
        results.append(column_array.reshape(array.shape))
    return tuple(results)


def _field(text: str, dtype: DType, default: Any, missing: str, column: int, number: int) -> Any:
    if text in ("", missing):
        values = numpy.asarray(default).reshape(-1)
        if not len(values):
            raise invalid(f"Field {column} is required but missing in record {number}!")
        return values[0]
    if dtype is string:
        return text.encode("utf-8", "surrogateescape")
    kind = _NUMBERS.get(dtype.name, dtype.name)
    refusal = invalid(f"Field {column} in record {number} is not a valid {kind}: {text}")
    if "_" in text:  # which Python's own numbers may have between digits
        raise refusal
    try:
        value = float(text) if dtype.is_floating else int(text)
    except ValueError:
        raise refusal from None
    if dtype.is_integer and not dtype.min <= value <= dtype.max:
        raise refusal
    return value


# -- examples --------------------------------------------------------------------------------------


class About(NamedTuple):
    """Which example an error is about: its name, b"" where it has none, and its number."""

    name: bytes
    number: int

    def __str__(self) -> str:
        return f"Name: {self.name.decode(errors='replace') or '<unknown>'}, "


class Declared(NamedTuple):
    """A feature as it is wanted: its name, how it is given, and its dtype and shape."""

    key: str
    kind: str
    dtype: DType
    shape: tuple[int, ...]


def _declared(keys: Any, kinds: Any, dtypes: Any, shapes: Any) -> list[Declared]:
    return [Declared(*each) for each in zip(keys, kinds, dtypes, shapes, strict=True)]


def parse_example(
    xp: ArrayModule, serialized: Any, names: Any, *defaults: Any, **declared: Sequence[Any]
) -> tuple[numpy.ndarray, ...]:
    """Give the features of examples: one array of a dense one, three of a sparse one.

    `names` has one for each, for errors, or none.
    """
    array = numpy.asarray(serialized, object)
    abouts = _abouts(numpy.asarray(names, object), array.shape)
    features = [
        _features(item, about) for item, about in zip(array.reshape(-1), abouts, strict=True)
    ]
    rest = iter(defaults)
    found: list[numpy.ndarray] = []
    for wanted in _declared(**declared):
        rows = [
            _values(feature, wanted, about) for feature, about in zip(features, abouts, strict=True)
        ]
        if wanted.kind == SPARSE:
            parts = _sparse(rows, wanted.dtype)
            if not array.ndim:
                parts = (parts[0][:, 1:], parts[1], parts[2][1:])
            found.extend(parts)
            continue
        default = numpy.asarray(next(rest))
        combine = _dense if wanted.kind == DENSE else _sequence
        whole = combine(rows, wanted, default, abouts)
        found.append(whole if array.ndim else whole[0, ...])  # of bytes too an array
    return tuple(found)


def _abouts(names: numpy.ndarray, shape: tuple[int, ...]) -> list[About]:
    """Return how errors call each of some examples."""
    known = names.reshape(-1).tolist()
    count = math.prod(shape)
    if known and len(known) != count:
        raise invalid(
            f"Expected len(names) == len(serialized), but got: {len(known)} vs. {count}: give a "
            "name for each example, or none"
        )
    return [About(name, number) for number, name in enumerate(known or [b""] * count)]


def parse_single_sequence_example(
    xp: ArrayModule,
    serialized: Any,
    name: Any,
    *defaults: Any,
    num_context: int,
    **declared: Sequence[Any],
) -> tuple[numpy.ndarray, ...]:
    """Give the features of a sequence example: those of its context, then those of its frames."""
    try:
        message = message_class("SequenceExample").FromString(serialized.item())
    except decode_error():
        raise invalid(
            f"Could not parse sequence example, value: {serialized.item()[:64]!r}"
        ) from None
    about = About(name.item(), 0)
    features = _declared(**declared)
    rest = iter(defaults)
    found: list[numpy.ndarray] = []
    for wanted in features[:num_context]:
        row = _values(message.context.feature, wanted, about)
        if wanted.kind == SPARSE:
            indices, values, size = _sparse([row], wanted.dtype)
            found += [indices[:, 1:], values, size[1:]]
        else:
            default = numpy.asarray(next(rest))
            found.append(_dense([row], wanted, default, [about])[0, ...])  # of bytes too an array
    lists = message.feature_lists.feature_list
    for wanted in features[num_context:]:
        if wanted.key not in lists and wanted.kind == SEQUENCE:
            raise invalid(
                f"{about}Feature list '{wanted.key}' is required but could not be found.  Did you "
                "mean to include it in feature_list_dense_missing_assumed_empty or "
                "feature_list_dense_defaults? Declare it with allow_missing=True."
            )
        frames = lists[wanted.key].feature if wanted.key in lists else ()
        rows = [_frame(frame, wanted, place, about) for place, frame in enumerate(frames)]
        if wanted.kind == SPARSE:
            found += _sparse(rows, wanted.dtype)
        else:
            found.append(_frames(rows, wanted, about))
    return tuple(found)


def _frame(feature: Any, wanted: Declared, place: int, about: About) -> Any:
    """Return the values of one frame, none where it has no list."""
    key, dtype = wanted.key, wanted.dtype
    kind = feature.WhichOneof("kind")
    if kind is None:
        return numpy.empty(0, dtype.np)
    if kind != _MEMBERS[dtype.name]:
        raise invalid(
            f"{about}Feature list: {key}, Index: {place}.  Data types don't match. Expected type: "
            f"{_SHOWN[dtype.name]}  Feature is: {kind}"
        )
    return _as_array(getattr(feature, kind).value, dtype)


def _frames(rows: Sequence[Any], wanted: Declared, about: About) -> numpy.ndarray:
    found = numpy.empty((len(rows), math.prod(wanted.shape)), wanted.dtype.np)
    for place, row in enumerate(rows):
        found[place] = _of_size(row, wanted, about, place)
    return found.reshape(len(rows), *wanted.shape)


def _of_size(row: Any, wanted: Declared, about: About, place: int) -> Any:
    """Return the values of a feature. Raises InvalidArgumentError for too many or too few."""
    if len(row) != math.prod(wanted.shape):
        raise invalid(
            f"{about}Key: {wanted.key}, Index: {place}.  Number of {_SHOWN[wanted.dtype.name]} "
            f"values != expected.  values size: {len(row)} but output shape: {list(wanted.shape)}"
        )
    return row


def decode_json_example(xp: ArrayModule, text: Any) -> numpy.ndarray:
    """Give serialized examples out of those in JSON."""
    found = numpy.empty(text.shape, object)
    for place, item in enumerate(text.reshape(-1).tolist()):
        found.flat[place] = example_of_json(item)
    return found


def _features(item: bytes, about: About) -> Any:
    try:
        return message_class("Example").FromString(item).features.feature
    except decode_error():
        raise invalid(
            f"{about}Could not parse example input, value: {item[:64]!r} (example {about.number})"
        ) from None


def _values(features: Any, wanted: Declared, about: About) -> Any:
    """Return the values of a feature, None where the example has none."""
    key, dtype = wanted.key, wanted.dtype
    if key not in features:
        return None
    feature = features[key]
    kind = feature.WhichOneof("kind")
    if kind is None:
        return None
    if kind != _MEMBERS[dtype.name]:
        raise invalid(
            f"{about}Key: {key}, Index: {about.number}.  Data types don't match. Data type: "
            f"{_LISTS[kind]} but expected type: {_SHOWN[dtype.name]}"
        )
    return _as_array(getattr(feature, kind).value, dtype)


def _as_array(values: Any, dtype: DType) -> numpy.ndarray:
    return numpy.fromiter(values, dtype.np, len(values))


def _dense(
    rows: Sequence[Any], wanted: Declared, default: numpy.ndarray, abouts: Sequence[About]
) -> numpy.ndarray:
    key, _, dtype, shape = wanted
    size = math.prod(shape)
    found = numpy.empty((len(rows), size), dtype.np)
    for number, row in enumerate(rows):
        if row is not None:
            found[number] = _of_size(row, wanted, abouts[number], number)
            continue
        if not default.size and size:
            raise invalid(
                f"{abouts[number]}Feature: {key} (data type: {_SHOWN[dtype.name]}) is "
                f"required but could not be found (example {number})."
            )
        found[number] = default.reshape(-1)
    return found.reshape(len(rows), *shape)


def _sequence(
    rows: Sequence[Any], wanted: Declared, default: numpy.ndarray, abouts: Sequence[About]
) -> numpy.ndarray:
    key, _, dtype, shape = wanted
    size = math.prod(shape)
    counts = [0 if row is None else len(row) for row in rows]
    for number, count in enumerate(counts):
        if count % size if size else count:
            kind = "bytes" if dtype is string else _SHOWN[dtype.name]
            raise invalid(
                f"{abouts[number]}Key: {key}, Index: {number}.  Number of {kind} values is not "
                f"a multiple of stride length. Saw {count} values but output shape is: "
                f"{list(shape)}"
            )
    longest = max(counts, default=0)
    found = numpy.empty((len(rows), longest), dtype.np)
    found[...] = default.reshape(-1)[0] if default.size else b"" if dtype is string else 0
    for number, row in enumerate(rows):
        if row is not None:
            found[number, : len(row)] = row
    return found.reshape(len(rows), longest // size if size else 0, *shape)


def _sparse(rows: Sequence[Any], dtype: DType) -> tuple[numpy.ndarray, ...]:
    counts = [0 if row is None else len(row) for row in rows]
    indices = numpy.empty((sum(counts), 2), numpy.int64)
    indices[:, 0] = numpy.repeat(numpy.arange(len(rows)), counts)
    indices[:, 1] = [place for count in counts for place in range(count)]
    values = numpy.empty(sum(counts), dtype.np)
    full = [row for row in rows if row is not None]
    if full:
        values[...] = numpy.concatenate(full)
    shape = numpy.array([len(rows), max(counts, default=0)], numpy.int64)
    return indices, values, shape
