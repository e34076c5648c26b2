"""Chunks as shards: Zarr and xarray read them in parts, damage is told."""

from __future__ import annotations

import json

import numpy as np
import pytest
import xarray
import zarr
from zarr.storage import WrapperStore, ZipStore

import daskvars.v1 as tf
from daskvars.errors import CorruptChunkError, InvalidArgumentError
from daskvars.inspect_checkpoint import damages
from daskvars.state import restore, save
from daskvars.state.format.sharding import inner_shape
from tests.state.samples import variable

TABLE = np.random.default_rng(0).normal(size=(1000, 64)).astype("f4")
TABLE[500:] = 0.0


class Counting(WrapperStore):
    """Counts the bytes that are read of chunks."""

    num_bytes = 0

    async def get(self, key, prototype, byte_range=None):
        found = await super().get(key, prototype, byte_range)
        if found is not None and not key.endswith("zarr.json"):
            Counting.num_bytes += len(found)
        return found


@pytest.mark.parametrize("place", ["m", "m.zip"])
@pytest.mark.parametrize("compressor", [None, "zstd"])
def test_a_saver_writes_shards_that_others_read(tmp_path, place, compressor):
    with tf.Graph().as_default(), tf.Session() as session:
        table = tf.get_variable("table", initializer=TABLE, chunks=((500, 500), (64,)))
        small = tf.get_variable("small", initializer=np.float32([1, 2]))
        words = tf.get_variable("words", initializer=tf.constant([b"a", b"bc"]))
        session.run(tf.global_variables_initializer())
        saver = tf.train.Saver(compressor=compressor, shards=16_384)
        path = saver.save(session, str(tmp_path / place))
        session.run([table.assign(tf.zeros_like(table)), small.assign([0.0, 0.0])])
        saver.restore(session, path)
        np.testing.assert_array_equal(session.run(table), TABLE)
        assert session.run(small).tolist() == [1.0, 2.0]
        assert session.run(words).tolist() == [b"a", b"bc"]
    assert list(damages(path)) == []
    store = ZipStore(path, mode="r") if place == "m.zip" else path
    array = zarr.open_group(store, mode="r")["table"]
    assert (array.shards, array.chunks) == ((500, 64), (50, 64))
    np.testing.assert_array_equal(array[:], TABLE)
    if place == "m":
        data = xarray.open_zarr(path, consolidated=False)
        np.testing.assert_array_equal(data["table"][490:510].values, TABLE[490:510])


def test_a_reader_takes_only_the_rows_that_it_needs(tmp_path):
    record, blocks = variable("table", TABLE)
    save({"table": (record.stored(codec="shards-16384"), blocks)}, tmp_path)
    store = Counting(zarr.storage.LocalStore(tmp_path, read_only=True))
    Counting.num_bytes = 0
    array = zarr.open_array(store, path="table", mode="r")
    np.testing.assert_array_equal(array[100:110], TABLE[100:110])
    assert Counting.num_bytes < TABLE.nbytes / 10


def test_every_damaged_byte_is_told(tmp_path):
    record, blocks = variable("w", np.arange(12.0).reshape(6, 2))
    save({"w": (record.stored(codec="shards-32"), blocks)}, tmp_path)
    document = json.loads((tmp_path / "w" / "zarr.json").read_text())
    assert document["codecs"][0]["configuration"]["chunk_shape"] == [2, 2]
    (path,) = (tmp_path / "w").glob("c*")
    whole = path.read_bytes()
    wanted = {"w": ("float64", (6, 2), ((6,), (2,)))}
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(CorruptChunkError):
            restore(tmp_path, wanted)
    path.write_bytes(whole[:-30])
    with pytest.raises(CorruptChunkError):
        restore(tmp_path, wanted)


@pytest.mark.parametrize("shards", [0, -1, 1.5, True, "1MB"])
def test_what_is_no_number_of_bytes_is_refused(shards):
    with tf.Graph().as_default(), pytest.raises(InvalidArgumentError, match="shards is the bytes"):
        tf.get_variable("v", [2])
        tf.train.Saver(shards=shards)


def test_inner_chunks_are_equal_parts_of_about_the_bytes_asked_for():
    assert inner_shape("shards-4096", "float32", (1009, 64)) == (1, 64)  # a prime
    assert inner_shape("shards-100", "float32", (4, 1000)) == (1, 25)
    assert inner_shape("shards-4", "float32", ()) is None
    assert inner_shape("shards-4", "string", (100,)) is None
