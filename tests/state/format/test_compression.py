"""Compressed chunks: Zarr reads them, damage is told, and no claim of their size is believed."""

from __future__ import annotations

import json
import os
import re

import google_crc32c
import numcodecs
import numpy as np
import pytest
import zarr

import daskvars.v1 as tf
from daskvars.errors import CorruptChunkError, InvalidArgumentError, StoreError
from daskvars.inspect_checkpoint import damages
from daskvars.state import restore, save
from daskvars.state.format.compression import LEVELS, decompress
from daskvars.state.format.manifest import CODECS
from tests.state.samples import DTYPES, LAYOUTS, assert_same, cut, joined, sample, variable

pytestmark = pytest.mark.usefixtures("graph")

VALUE = np.arange(16.0).reshape(4, 4)


def compressed(key, array, codec, chunks=None):
    record, blocks = variable(key, array, chunks) if chunks else variable(key, array)
    return record.stored(codec=codec), blocks


@pytest.mark.parametrize("codec", [*CODECS, "shards-16", "shards-9+zstd"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_and_layout(tmp_path, codec, dtype):
    for number, chunks in enumerate(layout for layout in LAYOUTS if layout):
        shape = tuple(sum(sizes) for sizes in chunks)
        array, path = sample(dtype, shape), tmp_path / str(number)
        record = variable("v", array, chunks, dtype)[0].stored(codec=codec)
        save({"v": (record, cut(array, chunks))}, path)
        found = restore(path, {"v": (dtype, shape, chunks)})
        assert_same(joined(found["v"], chunks), array)
        assert list(damages(str(path))) == []


@pytest.mark.parametrize("codec", CODECS)
def test_zarr_reads_it_and_writes_the_same_document(tmp_path, codec):
    array = np.arange(60_000.0).reshape(300, 200)
    save({"w": compressed("w", array, codec, ((200, 100), (200,)))}, tmp_path / "m")
    found = zarr.open_array(tmp_path / "m" / "w", mode="r")
    np.testing.assert_array_equal(found[:], array)
    name = json.loads((tmp_path / "m/w/zarr.json").read_text())["codecs"][1]["name"]
    assert name == codec
    size = sum(file.stat().st_size for file in (tmp_path / "m" / "w").iterdir())
    assert size < array.nbytes / 4


def test_names_are_those_of_the_manifest():
    assert tuple(LEVELS) == CODECS


@pytest.mark.parametrize("place", ["m", "m.zip"])
@pytest.mark.parametrize("later", [False, True], ids=["save", "async"])
def test_a_saver_compresses(tmp_path, place, later):
    value = np.zeros((400, 300))
    v = tf.get_variable("v", initializer=value, chunks=((200, 200), (300,)))
    saver = tf.train.Saver(compressor="zstd", async_save=later)
    with tf.Session() as sess:
        sess.run(v.initializer)
        path = saver.save(sess, str(tmp_path / place), write_meta_graph=False)
        sess.run(v.assign_add(value + 1))
        saver.restore(sess, path)
        np.testing.assert_array_equal(sess.run(v), value)
    files = [os.path.join(at, name) for at, _, names in os.walk(tmp_path) for name in names]
    assert sum(map(os.path.getsize, files)) < 10_000


def test_a_compressor_that_is_none_is_refused_and_one_without_effect_warns(tmp_path):
    tf.get_variable("v", initializer=1.0)
    with pytest.raises(InvalidArgumentError, match=r"'zst' is none of.*did you mean 'zstd'"):
        tf.train.Saver(compressor="zst")
    for codec in (zarr.codecs.ZstdCodec(), 3, [zarr.codecs.GzipCodec()]):
        with pytest.raises(InvalidArgumentError, match=r"is a name, 'zstd' or .*; got "):
            tf.train.Saver(compressor=codec)
    parts = [
        tf.get_variable(f"part{n}", initializer=VALUE[2 * n : 2 * n + 2], chunks=((2,), columns))
        for n, columns in enumerate([(4,), (2, 2)])
    ]
    for n, part in enumerate(parts):
        part._set_save_slice_info(tf.Variable.SaveSliceInfo("table", [4, 4], [2 * n, 0], [2, 4]))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        with pytest.warns(UserWarning, match="compressor='zstd' has no effect"):
            path = tf.train.Saver(parts, compressor="zstd").save(sess, str(tmp_path / "m"))
    np.testing.assert_array_equal(tf.train.load_variable(path, "table"), VALUE)


def test_damage_is_told(tmp_path):
    save({"w": compressed("w", np.arange(1000.0), "zstd")}, tmp_path)
    chunk = tmp_path / "w" / "c.0"
    whole = chunk.read_bytes()
    for data in (whole[:-1], bytes([whole[0] ^ 1]) + whole[1:], b"", whole + bytes(100_000)):
        chunk.write_bytes(data)
        with pytest.raises(CorruptChunkError, match="variable 'w'"):
            restore(tmp_path, {"w": ("float64", (1000,), ((1000,),))})


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("count", [999, 1 << 24])
def test_a_chunk_of_another_size_is_refused_before_it_is_made(tmp_path, codec, count):
    save({"w": compressed("w", np.arange(1000.0), codec)}, tmp_path)
    forged = {"zstd": numcodecs.Zstd(), "gzip": numcodecs.GZip(), "blosc": numcodecs.Blosc()}
    data = bytes(forged[codec].encode(np.zeros(count)))
    digest = google_crc32c.value(data)
    (tmp_path / "w" / "c.0").write_bytes(data + digest.to_bytes(4, "little"))
    document = json.loads((tmp_path / "zarr.json").read_text())
    del document["attributes"]["daskvars_snapshot"]["crc32c"]
    record = document["attributes"]["daskvars_snapshot"]["variables"]["w"]
    assert record["codec"] == codec
    record["digests"] = [digest]
    (tmp_path / "zarr.json").write_text(json.dumps(document))
    match = (
        "stand for more than 8000 bytes|has .* bytes, not" if count > 1000 else "7992 bytes, not"
    )
    with pytest.raises(CorruptChunkError, match=match):
        restore(tmp_path, {"w": ("float64", (1000,), ((1000,),))})


def without_checksum(place):
    return re.sub(r',"crc32c":\d+', "", (place / "zarr.json").read_text())


def test_an_unknown_codec_in_a_manifest_is_refused(tmp_path):
    save({"w": compressed("w", np.arange(10.0), "zstd")}, tmp_path)
    text = without_checksum(tmp_path)
    for codec, match in (
        ('"pickle"', "codec 'pickle' is none of"),
        ("7", "'codec' is 7; wanted str"),
    ):
        (tmp_path / "zarr.json").write_text(text.replace('"codec":"zstd"', f'"codec":{codec}'))
        with pytest.raises(StoreError, match=match):
            restore(tmp_path, {"w": ("float64", (10,), ((10,),))})


def test_a_manifest_from_before_there_were_codecs_is_read(tmp_path):
    save({"w": variable("w", np.arange(10.0))}, tmp_path)
    text = without_checksum(tmp_path)
    assert ',"codec":""' in text
    (tmp_path / "zarr.json").write_text(text.replace(',"codec":""', ""))
    found = restore(tmp_path, {"w": ("float64", (10,), ((10,),))})
    np.testing.assert_array_equal(found["w"][0,], np.arange(10.0))


def test_what_is_no_compressed_data_is_refused():
    for codec in CODECS:
        with pytest.raises((StoreError, ValueError)):
            decompress(codec, np.frombuffer(b"\1\2\3 nothing of that kind", np.uint8), 100)
