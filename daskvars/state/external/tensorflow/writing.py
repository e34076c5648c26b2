"""Variables as a checkpoint of TensorFlow, which its savers and readers read.

There is one file of data, in which tensors follow each other in the order of their names. Each is
whole: TensorFlow gives a part of a partitioned variable what it needs of it. The index is put in
place last, so that there is a checkpoint when there is all of it.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import Any, BinaryIO

import google_crc32c
import numpy as np
from zarr.abc.store import Store as ZarrStorage

from daskvars.dtypes import as_dtype
from daskvars.errors import StoreError, invalid
from daskvars.state.external.tensorflow.messages import Entry, Header, varint
from daskvars.state.external.tensorflow.reading import (
    CHECKSUM_BYTES,
    chunk_shape,
    data_name,
    object_names_of,
)
from daskvars.state.external.tensorflow.tables import masked, written_table
from daskvars.state.external.whole_arrays import one_by_one, whole_value
from daskvars.state.format.assembly import Load, assemble_selection
from daskvars.state.format.encoding import encode
from daskvars.state.format.grids import Grid
from daskvars.state.format.manifest import VariableRecord
from daskvars.state.stores.addresses import INDEX_SUFFIX, open_directory
from daskvars.state.stores.disk import put_in_place
from daskvars.state.stores.objects import delete

DTYPES = frozenset(
    {
        *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float16", "bfloat16", "float32", "float64", "complex64", "complex128", "string"),
        *("qint8", "quint8", "qint16", "quint16", "qint32"),
    }
)


def write_tensorflow(prefix: str, records: Mapping[str, VariableRecord], load: Load) -> None:
    """Write a checkpoint of TensorFlow.

    Args:
        prefix: path that its files' names begin with, on a disk. One that is there is replaced by
            replacing its index: the data is in files of other names until then.
        load: gives a chunk of one.

    Raises:
        StoreError: the disk refuses.
        InvalidArgumentError: a name begins with a zero byte, as keys of slices do.
    """
    names = sorted(records, key=str.encode)
    if names and names[0].startswith("\0"):
        raise invalid(f"{names[0]!r} cannot be a name in a checkpoint of TensorFlow")
    directory, name = os.path.split(os.path.abspath(prefix))
    store = open_directory(directory, "a")
    old = files_of(store, name)
    shards = 2 if data_name(name, 0, 1) in old else 1  # the index chooses between old and new
    new = [f"{name}{INDEX_SUFFIX}", *(data_name(name, shard, shards) for shard in range(shards))]
    with ExitStack() as stack:  # the index is the last one to be in place
        beside_index, beside_data, *empty = [
            stack.enter_context(put_in_place(os.path.join(directory, file))) for file in new
        ]
        with open(beside_data, "wb") as file:
            pairs = [(b"", Header(num_shards=shards).serialized())]
            for key in names:
                entry = write_tensor(file, records[key], load)
                pairs.append((key.encode(), entry.serialized()))
        for path in empty:
            open(path, "wb").close()
        with open(beside_index, "wb") as file:
            file.write(written_table(pairs))
    delete(store, [file for file in old if file not in new])


def files_of(store: ZarrStorage, name: str) -> list[str]:
    """Give the files of the checkpoint that is there, its index first."""
    with contextlib.suppress(StoreError):  # what a damaged index would have named is not known
        return object_names_of(store, name)
    return []


def write_tensor(file: BinaryIO, record: VariableRecord, load: Load) -> Entry:
    """Write a variable's bytes, and give its entry."""
    offset, crc = file.tell(), 0
    parts = strings(record, load) if record.dtype == "string" else numbers(record, load)
    for data, summed in parts:
        file.write(data)
        crc = google_crc32c.extend(crc, summed)
    size = file.tell() - offset
    number = as_dtype(record.dtype).as_datatype_enum
    return Entry(number, record.shape, 0, offset, size, masked(crc))


def numbers(record: VariableRecord, load: Load) -> Iterator[tuple[Any, Any]]:
    """Yield the bytes of a variable in their order, some rows at a time, with what is summed."""
    item_bytes = max(1, record.nbytes // max(1, int(np.prod(record.shape))))
    grid = Grid(record.shape, chunk_shape(record.shape, item_bytes))
    for index in grid:
        part = assemble_selection(record, grid.selection(index), load, one_by_one)
        data = encode(part, record.dtype, part.shape)
        yield data, data


def strings(record: VariableRecord, load: Load) -> Iterator[tuple[bytes, bytes]]:
    """Yield the bytes of strings with what is summed; see `Bundle.strings`."""
    texts = whole_value(record, load).reshape(-1).tolist()
    if not texts:
        return
    wide = b"".join(len(t).to_bytes(4 if len(t) < 1 << 32 else 8, "little") for t in texts)
    checksum = masked(google_crc32c.value(wide)).to_bytes(CHECKSUM_BYTES, "little")
    yield b"".join(varint(len(text)) for text in texts), wide
    yield checksum, checksum
    for text in texts:
        yield text, text
