"""Checkpoints of TensorFlow: those that it wrote are read, what is written it reads."""

from __future__ import annotations

import os
import shutil
from functools import partial

import google_crc32c
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from zarr.storage import MemoryStore

import daskvars.v1 as tf
from daskvars.errors import CorruptChunkError, NotFoundError, OpError, StoreError
from daskvars.state import VariableRecord, load_variable, open_zarr_store
from daskvars.state.checkpoint import open_checkpoint
from daskvars.state.external.tensorflow import reading, tables, writing
from daskvars.state.external.tensorflow.messages import (
    Entry,
    Header,
    field,
    fields,
    read_varint,
    signed_code,
    slice_key,
    varint,
)
from daskvars.state.external.tensorflow.reading import (
    check_bytes,
    check_slices,
    data_name,
    open_tensorflow,
)
from daskvars.state.external.tensorflow.tables import masked, read_table, written_table
from daskvars.state.external.tensorflow.writing import write_tensorflow
from daskvars.state.stores.objects import get, put
from tests.state.external.tensorflow.samples import DTYPES, GOLDEN, PARTITIONED, array, by_dtype
from tests.tensorflow_python import printed_by_tensorflow


@pytest.fixture(params=["whole", "in parts"])
def sizes(request, monkeypatch):
    """Read in one go, and in many small reads."""
    if request.param == "in parts":
        monkeypatch.setattr(reading, "CHUNK_BYTES", 100)
        monkeypatch.setattr(reading, "BLOCK_BYTES", 64)
        monkeypatch.setattr(reading, "READ_BLOCKS", 2)
        monkeypatch.setattr(reading, "NOTED", reading.NotedBlocks(2))
    return request.param


def partitioned():
    return {name: array("float32", shape) for name, (shape, _) in PARTITIONED.items()}


def same(found, wanted):
    assert (found.dtype, found.shape) == (wanted.dtype, wanted.shape)
    np.testing.assert_array_equal(found, wanted)


# -- what TensorFlow wrote ------------------------------------------------------------------------


@pytest.mark.parametrize("file, values", [("dtypes", by_dtype), ("partitioned", partitioned)])
def test_what_tensorflow_wrote_is_read(sizes, file, values):
    prefix = str(GOLDEN / file)
    wanted = values()
    assert [name for name, _ in tf.train.list_variables(prefix)] == sorted(wanted)
    for name, value in wanted.items():
        same(load_variable(prefix, name), value)


def test_the_reader_says_what_is_there():
    reader = tf.train.load_checkpoint(str(GOLDEN / "dtypes"))
    assert reader.get_variable_to_shape_map()["scope/half/3".replace("half", "float16")] == [3, 4]
    assert reader.get_variable_to_dtype_map()["scope/bfloat16/0"] is tf.bfloat16
    assert reader.has_tensor("scope/string/2") and not reader.has_tensor("scope/string")
    assert reader.get_tensor("scope/string/0") == b""
    with pytest.raises(NotFoundError, match="Key scope/strin not found in checkpoint"):
        reader.get_tensor("scope/strin")


def test_it_is_read_from_any_store():
    store, memory = open_zarr_store(str(GOLDEN / "partitioned"), "r")[0], MemoryStore()
    for name in reading.object_names_of(store, "partitioned"):
        put(memory, f"run/{name}", [get(store, name).tobytes()])
    found = open_tensorflow(memory, "run/partitioned")
    record = found.records["columns"]
    same(found.load(record, (0, 0)), array("float32", (2, 300)))
    assert open_checkpoint(memory, "run/partitioned").kind == "tensorflow"


@pytest.mark.parametrize("chunks", [None, ((64, 64, 72), (2, 1))])
def test_a_saver_restores_into_any_layout(sizes, chunks):
    with tf.Graph().as_default(), tf.Session() as sess:
        rows = tf.get_variable("rows", [200, 3], chunks=chunks)
        columns = tf.get_variable("columns", [2, 300], partitioner=tf.fixed_size_partitioner(3, 1))
        tf.train.Saver().restore(sess, str(GOLDEN / "partitioned"))
        same(sess.run(rows), array("float32", (200, 3)))
        same(sess.run(tf.convert_to_tensor(columns)), array("float32", (2, 300)))


def test_nothing_is_assigned_where_something_is_missing():
    with tf.Graph().as_default(), tf.Session() as sess:
        rows = tf.get_variable("rows", [200, 3], initializer=tf.zeros_initializer())
        tf.get_variable("row", [2])
        sess.run(tf.global_variables_initializer())
        with pytest.raises(NotFoundError, match="Key row not found in checkpoint"):
            tf.train.Saver().restore(sess, str(GOLDEN / "partitioned"))
        assert not sess.run(rows).any()


def test_variables_begin_with_its_values():
    with tf.Graph().as_default(), tf.Session() as sess:
        rows = tf.get_variable("model/rows", [200, 3], partitioner=tf.fixed_size_partitioner(2))
        tf.train.init_from_checkpoint(str(GOLDEN / "partitioned"), {"/": "model/"})
        sess.run(tf.global_variables_initializer())
        same(sess.run(tf.convert_to_tensor(rows)), array("float32", (200, 3)))


def test_a_directory_of_tensorflows_saver_is_one(tmp_path):
    for file in GOLDEN.glob("partitioned*"):
        shutil.copy(file, tmp_path / file.name.replace("partitioned", "model-7"))
    (tmp_path / "checkpoint").write_text(
        'model_checkpoint_path: "model-7"\nall_model_checkpoint_paths: "model-7"\n'
    )
    path = tf.train.latest_checkpoint(str(tmp_path))
    assert path == str(tmp_path / "model-7") and tf.train.checkpoint_exists(path)
    assert len(tf.train.get_checkpoint_mtimes([path])) == 1
    same(tf.train.load_variable(str(tmp_path), "whole"), array("float32", (4, 2)))
    tf.train.remove_checkpoint(path)
    assert os.listdir(tmp_path) == ["checkpoint"]
    assert tf.train.latest_checkpoint(str(tmp_path)) is None


# -- what is written ------------------------------------------------------------------------------


def write(prefix, arrays, chunk=None):
    """Write arrays; `chunk` rows at a time."""
    records = {}
    for name, value in arrays.items():
        dtype = "string" if value.dtype == object else value.dtype.name
        layout = tuple((n,) for n in value.shape)
        if chunk and value.ndim and value.shape[0] > chunk:
            whole, rest = divmod(value.shape[0], chunk)
            layout = ((chunk,) * whole + ((rest,) if rest else ()), *layout[1:])
        records[name] = VariableRecord(name, dtype, value.shape, layout)

    def load(record, index):
        return np.asarray(arrays[record.key][record.grid.selection(index) or ...])

    write_tensorflow(str(prefix), records, load)


def test_there_and_back(sizes, tmp_path):
    wanted = by_dtype() | partitioned()
    write(tmp_path / "m", wanted, chunk=2)
    assert sorted(os.listdir(tmp_path)) == ["m.data-00000-of-00001", "m.index"]
    for name, value in wanted.items():
        same(load_variable(str(tmp_path / "m"), name), value)


@settings(max_examples=30)
@given(
    arrays=st.dictionaries(
        st.text("ab/é.", min_size=1, max_size=9).map(lambda t: f"x{t.replace('/', '/y')}z"),
        st.tuples(st.sampled_from(DTYPES), st.lists(st.integers(0, 5), max_size=3)),
        max_size=40,
    ),
    limit=st.sampled_from([1 << 26, 64]),
    block=st.sampled_from([1 << 18, 50]),
)
def test_any_variables_go_there_and_back(tmp_path_factory, arrays, limit, block):
    prefix = tmp_path_factory.mktemp("any") / "m"
    wanted = {name: array(dtype, tuple(shape)) for name, (dtype, shape) in arrays.items()}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reading, "CHUNK_BYTES", limit)
        patch.setattr(tables, "BLOCK_BYTES", block)
        write(prefix, wanted)
        assert [n for n, _ in tf.train.list_variables(str(prefix))] == sorted(wanted)
        for name, value in wanted.items():
            same(load_variable(str(prefix), name), value)


def test_another_one_is_replaced_whole(tmp_path):
    for file in GOLDEN.glob("partitioned*"):
        shutil.copy(file, tmp_path)
    write(tmp_path / "partitioned", {"w": np.zeros(2)})
    assert sorted(os.listdir(tmp_path)) == ["partitioned.data-00000-of-00001", "partitioned.index"]

    def fail(record, index):
        raise CorruptChunkError("w", index, "the chunk is missing")

    record = VariableRecord("w", "float32", (2,), ((2,),))
    with pytest.raises(CorruptChunkError):
        write_tensorflow(str(tmp_path / "partitioned"), {"w": record}, fail)
    same(load_variable(str(tmp_path / "partitioned"), "w"), np.zeros(2))
    assert len(os.listdir(tmp_path)) == 2


@pytest.mark.parametrize("step", range(4))
def test_a_kill_leaves_the_old_one_or_the_new(tmp_path, monkeypatch, step):
    write(tmp_path / "m", {"w": np.zeros(2)})
    steps = iter(range(4))

    def reached(call, *arguments):
        if next(steps, 4) >= step:
            raise KeyboardInterrupt
        return call(*arguments)

    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(os, "replace", partial(reached, os.replace))
        patch.setattr(writing, "delete", partial(reached, writing.delete))
        write(tmp_path / "m", {"w": np.ones(2)})
    same(load_variable(str(tmp_path / "m"), "w"), np.ones(2) if step == 3 else np.zeros(2))
    for value in (2, 3):
        write(tmp_path / "m", {"w": np.full(2, value)})
        same(load_variable(str(tmp_path / "m"), "w"), np.full(2, value))


READS = """
import sys
import numpy as np
import tensorflow.compat.v1 as tf
from tests.state.external.tensorflow.samples import PARTITIONED, array, by_dtype

prefix = sys.argv[1]
reader = tf.train.load_checkpoint(prefix)
wanted = by_dtype() | {name: array("float32", shape) for name, (shape, _) in PARTITIONED.items()}
assert sorted(reader.get_variable_to_shape_map()) == sorted(wanted)
for name, value in wanted.items():
    found = np.asarray(reader.get_tensor(name))
    assert found.shape == value.shape and (found == value).all(), name
with tf.Graph().as_default(), tf.Session() as sess:
    parts = [
        tf.get_variable(name, shape, partitioner=lambda parts=parts, **_: list(parts))
        if parts != (1, 1) else tf.get_variable(name, shape)
        for name, (shape, parts) in PARTITIONED.items()
    ]
    tf.train.Saver().restore(sess, prefix)
    for name, found in zip(PARTITIONED, parts):
        assert (sess.run(tf.convert_to_tensor(found)) == wanted[name]).all(), name
print("read")
"""


@pytest.mark.slow
def test_tensorflow_reads_what_is_written(tmp_path):
    write(tmp_path / "m", {"w": np.zeros(2)})  # which that is written over
    write(tmp_path / "m", by_dtype() | partitioned(), chunk=2)
    assert printed_by_tensorflow(READS, tmp_path / "m") == "read"


# -- what is damaged ------------------------------------------------------------------------------


def all_values(prefix):
    source = open_checkpoint(*open_zarr_store(str(prefix), "r"))
    return {name: load_variable(str(prefix), name) for name in source.records}


@pytest.mark.slow
def test_any_altered_byte_is_noticed(tmp_path):
    for file in GOLDEN.glob("partitioned*"):
        shutil.copy(file, tmp_path)
    wanted = all_values(tmp_path / "partitioned")
    for file in tmp_path.iterdir():
        content = file.read_bytes()
        for at in range(0, len(content), 1 if file.suffix == ".index" else 97):
            altered = bytearray(content)
            altered[at] ^= 0x41
            file.write_bytes(altered)
            try:
                found = all_values(tmp_path / "partitioned")
            except StoreError:
                continue
            assert file.suffix == ".index"
            for name, value in wanted.items():  # it is in what nobody reads
                same(found[name], value)
        for size in range(0, len(content), 1 + len(content) // 50):
            file.write_bytes(content[:size])
            with pytest.raises(StoreError):
                all_values(tmp_path / "partitioned")
        file.unlink()
        with pytest.raises(OpError):
            all_values(tmp_path / "partitioned")
        file.write_bytes(content)


def test_a_block_is_compared_also_where_only_a_part_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "CHUNK_BYTES", 64)
    monkeypatch.setattr(reading, "BLOCK_BYTES", 16)
    monkeypatch.setattr(reading, "NOTED", reading.NotedBlocks(2))
    write(tmp_path / "m", {"w": np.arange(100.0)})
    store, path = open_zarr_store(str(tmp_path / "m"), "r")
    found = open_tensorflow(store, path)
    record = found.records["w"]
    same(found.load(record, (3,)), np.arange(24.0, 32.0))
    data = tmp_path / "m.data-00000-of-00001"
    content = bytearray(data.read_bytes())
    content[200] ^= 1
    data.write_bytes(content)  # after it was read through
    same(found.load(record, (0,)), np.arange(8.0))
    with pytest.raises(CorruptChunkError, match=r"Chunk \(3,\) of variable 'w'.*crc32c differs"):
        found.load(record, (3,))


def index(*entries, header=None):
    """Write an index; entries are (key, Entry or bytes)."""
    pairs = [(b"", (header or Header(1)).serialized() if header != b"" else b"")]
    for key, entry in entries:
        pairs.append((key, entry if isinstance(entry, bytes) else entry.serialized()))
    return written_table(sorted(pairs))


def sliced(*slices, shape=(4,), dtype=1):
    """Give the entry of a tensor in slices."""
    dims = b"".join(field(2, field(1, size)) for size in shape)
    parts = b"".join(
        field(7, b"".join(field(1, field(1, a) + field(2, n)) for a, n in part)) for part in slices
    )
    return field(1, dtype) + field(2, dims) + parts


FLOATS = Entry(1, (4,), 0, 0, 16, masked(google_crc32c.value(bytes(16))))
HOSTILE = {
    "more bytes than its shape": (Entry(1, (4,), 0, 0, 15), "15 bytes are not shape"),
    "a tensor beyond the file": (Entry(1, (1 << 50,), 0, 0, 1 << 52), "it is cut off"),
    "an offset beyond the file": (Entry(1, (4,), 0, 1 << 60, 16), "it is cut off"),
    "a negative offset": (Entry(1, (4,), 0, -16, 16), "a negative number"),
    "a size that wraps around": (Entry(1, (1 << 40, 1 << 40), 0, 0, 0), "0 bytes are not shape"),
    "a negative size": (field(1, 1) + field(2, field(2, field(1, -4))), "no tensor has the shape"),
    "too many axes": (Entry(1, (1,) * 70, 0, 0, 4), "no array has the shape"),
    "another file": (Entry(1, (4,), 7, 0, 16), "a tensor is in file 7 of 1"),
    "more strings than bytes": (Entry(7, (1 << 40,), 0, 0, 16), "are not 1099511627776 strings"),
    "no message": (b"\xff\xff", "a number is cut off"),
    "a field cut off": (field(2, b"12345")[:-1], "field 2 is cut off"),
    "an unknown kind": (b"\x0b", "a kind 3 that is not known"),
    "a number for a message": (field(2, 4), "where a message belongs"),
    "an unknown rank": (field(1, 1) + field(2, field(3, 1)), "rank is not known"),
    "a slice that is missing": (sliced(((0, 4),)), "its slice .* is missing"),
    "slices that leave a gap": (sliced(((0, 1),), ((2, 2),)), "do not fill its shape"),
    "slices that overlap": (sliced(((0, 2),), ((1, 2),)), "its slices overlap"),
    "a slice outside": (sliced(((2, 4),)), "is not within"),
    "a slice of other axes": (sliced(((0, 2), (0, 2))), "a slice of 2 axes"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_no_claim_of_an_index_is_believed(tmp_path, case):
    entry, match = HOSTILE[case]
    (tmp_path / "m.data-00000-of-00001").write_bytes(bytes(16))
    (tmp_path / "m.index").write_bytes(index((b"w", entry)))
    with pytest.raises(StoreError, match=match):
        tf.train.list_variables(str(tmp_path / "m"))


@pytest.mark.parametrize(
    "content, match",
    [
        (b"", "does not end as a table"),
        (bytes(48), "does not end as a table"),
        (index(header=b""), "0 files of data"),
        (written_table([(b"w", FLOATS.serialized())]), "it has no header"),
        (index(header=Header(1 << 40)), "1099511627776 files of data"),
        (written_table([(b"", field(1, 1) + field(2, 1))]), "big endian"),
        (written_table([(b"", field(1, 1) + field(3, field(2, 9)))]), "version 9 or newer"),
        (index((b"\xff", FLOATS)), "cannot be read"),
        (index((b"../../w", FLOATS)), "'..' segment"),
        (index((b"a//w", FLOATS)), "empty segment"),
        (written_table([(b"", Header(1).serialized()), (b"b", b""), (b"a", b"")]), "in its order"),
    ],
)
def test_no_index_is_believed(tmp_path, content, match):
    (tmp_path / "m.data-00000-of-00001").write_bytes(bytes(16))
    (tmp_path / "m.index").write_bytes(content)
    with pytest.raises(StoreError, match=match):
        tf.train.list_variables(str(tmp_path / "m"))


def test_a_compressed_index_is_said_to_be(tmp_path):
    content = bytearray(index((b"w", FLOATS)))
    size = len(written_block_of(content))
    content[size] = tables.SNAPPY
    crc = masked(google_crc32c.value(bytes(content[: size + 1])))
    content[size + 1 : size + 5] = crc.to_bytes(4, "little")
    (tmp_path / "m.index").write_bytes(content)
    with pytest.raises(StoreError, match="compressed with Snappy"):
        tf.train.list_variables(str(tmp_path / "m"))


def written_block_of(content):
    _, at = tables.read_handle(bytes(content[-48:]), 0)
    where, _ = tables.read_handle(bytes(content[-48:]), at)
    ((_, handle),) = tables.entries(tables.block(bytes(content), *where))
    offset, size = tables.read_handle(handle, 0)[0]
    assert offset == 0
    return content[:size]


def test_tensors_of_other_dtypes_are_left_out(tmp_path):
    (tmp_path / "m.data-00000-of-00001").write_bytes(bytes(16))
    other = Entry(20, (), 0, 0, 4)  # a resource
    (tmp_path / "m.index").write_bytes(index((b"h", other), (b"w", FLOATS)))
    assert tf.train.list_variables(str(tmp_path / "m")) == [("w", [4])]
    assert open_checkpoint(*open_zarr_store(str(tmp_path / "m"), "r")).left_out == ("h",)


def test_a_link_is_not_followed(tmp_path):
    for file in GOLDEN.glob("partitioned*"):
        target = tmp_path / file.name
        target.symlink_to(file) if ".data" in file.name else shutil.copy(file, target)
    with pytest.raises(StoreError, match="symbolic link"):
        tf.train.load_variable(str(tmp_path / "partitioned"), "whole")


def test_damaged_strings_are_noticed(tmp_path):
    write(tmp_path / "m", {"s": np.array([b"one", b"two"], object)})
    data = tmp_path / "m.data-00000-of-00001"
    content = data.read_bytes()
    for at in range(len(content)):
        altered = bytearray(content)
        altered[at] ^= 1
        data.write_bytes(altered)
        with pytest.raises(CorruptChunkError):
            load_variable(str(tmp_path / "m"), "s")


# -- the parts ------------------------------------------------------------------------------------


@given(st.integers(0, (1 << 64) - 1))
def test_varints(value):
    assert read_varint(varint(value) + b"x", 0) == (value, len(varint(value)))
    assert value == 0 or list(fields(field(3, value))) == [(3, value)]


@given(st.lists(st.integers(-(1 << 63), (1 << 63) - 1), min_size=2))
def test_the_order_of_codes_is_that_of_numbers(values):
    codes = [signed_code(value) for value in sorted(values)]
    assert codes == sorted(codes)
    assert len(set(codes)) == len(set(values))


def test_keys_of_slices_have_escapes():
    assert slice_key("a\0", ()) == b"\0a\0\xff\0\1\0"


@given(st.dictionaries(st.binary(max_size=20), st.binary(max_size=50), max_size=60))
def test_tables(pairs):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tables, "BLOCK_BYTES", 100)
        assert read_table(written_table(sorted(pairs.items()))) == pairs


def test_entries_are_written_as_they_are_read():
    entry = Entry(3, (2, 0, 5), 1, 1 << 40, 7, 99)
    assert Entry.parse(entry.serialized()) == entry
    with pytest.raises(ValueError, match="7 bytes are not shape"):
        check_bytes(entry)
    check_slices(Entry(1, (4, 2), slices=(((0, 4), (0, 1)), ((0, -1), (1, 1)))))
    assert data_name("m", 1, 12) == "m.data-00001-of-00012"
