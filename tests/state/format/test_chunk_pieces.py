"""A version of a block is written as the array that it stands for, whatever comes after it."""

import numpy as np
import pytest

from daskvars import versioned
from daskvars.dtypes import as_dtype
from daskvars.remote.tasks.chunk_tasks import load_outputs
from daskvars.state import VariableRecord, open_zarr_store, read_chunk
from daskvars.state.format.chunks import chunk_ref, object_parts, write_chunk
from daskvars.state.format.encoding import Checksum
from daskvars.state.format.snapshot import SnapshotWriter
from daskvars.versioned import Versioned, changed


def add_one(block, rows):
    def write(arrays, record):
        record(arrays[0], rows)
        arrays[0][rows] += 1

    return changed([block], None, write)[0]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int8"])
@pytest.mark.parametrize("index", [(0, 0), (1, 0)])  # whole, and smaller at the edge
def test_pieces_are_the_bytes_of_the_array(monkeypatch, tmp_path, dtype, index):
    monkeypatch.setattr(versioned, "SLAB_BYTES", 32)
    monkeypatch.setattr("daskvars.state.format.chunks.STEP_BYTES", 24)
    storage, path = open_zarr_store(tmp_path)
    writer = SnapshotWriter(storage, path, 1)
    writer.declare([VariableRecord("t", dtype, (29, 3), ((18, 11), (3,)))])
    record = writer.records["t"]
    chunk = chunk_ref(record, index)
    array = (np.arange(np.prod(chunk.shape)) % 50).reshape(chunk.shape)
    array = array.astype(as_dtype(dtype).np)
    block = Versioned(array.copy())
    pieces = object_parts(chunk, block, Checksum())
    taken = [bytes(next(pieces))]
    newer = add_one(block, np.array([0, 5, len(array) - 1]))
    taken += map(bytes, pieces)
    assert len(taken) >= 3
    assert b"".join(taken) == b"".join(map(bytes, object_parts(chunk, array, Checksum())))
    other = (1 - index[0], 0)
    shape = chunk_ref(record, other).shape
    digests = {
        index: write_chunk(storage, path, record, index, newer),
        other: write_chunk(storage, path, record, other, np.ones(shape, array.dtype)),
    }
    manifest = writer.commit({"t": digests})
    record = manifest.records["t"]
    np.testing.assert_array_equal(read_chunk(storage, path, record, index), np.asarray(newer))
    wanted = [(0, "t", record.grid.selection(index))]
    (loaded,) = load_outputs(storage, path, wanted, manifest.token)
    np.testing.assert_array_equal(loaded, np.asarray(newer))
