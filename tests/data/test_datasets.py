"""Datasets in eager code: stored arrays, what is refused and how, files of records."""

import itertools
import os

import dask
import dask.array as da
import numpy as np
import pytest
import xarray
import zarr

import daskvars as dv
import daskvars.v1 as tf
from daskvars.data import Dataset, TFRecordDataset, TFRecordWriter, tf_record_iterator
from daskvars.errors import (
    AlreadyExistsError,
    DataLossError,
    InvalidArgumentError,
    NotFoundError,
    UnimplementedError,
    UnknownError,
)
from daskvars.remote.tasks.tfrecord_reader import RecordReader


def values(dataset):
    return [np.asarray(x).tolist() for x in dataset]


@pytest.fixture(params=["zarr", "dask"])
def stored(request, tmp_path):
    rows = np.arange(22).reshape(11, 2)
    if request.param == "dask":
        return da.from_array(rows, chunks=(4, 2))
    array = zarr.create_array(tmp_path / "rows", shape=rows.shape, chunks=(4, 2), dtype="i8")
    array[:] = rows
    return array


def test_rows_of_stored_arrays_come_block_by_block(stored):
    wanted = np.arange(22).reshape(11, 2)
    dataset = Dataset.from_tensor_slices(stored)
    assert dataset.output_shapes == (2,)
    assert values(dataset) == wanted.tolist()
    assert [*itertools.chain(*values(dataset.batch(3)))] == wanted.tolist()
    assert sorted(values(dataset.shuffle(5, seed=1))) == wanted.tolist()
    together = Dataset.from_tensor_slices({"x": stored, "y": np.arange(11)}).batch(5)
    assert [len(element["y"].numpy()) for element in together] == [5, 5, 1]


def test_collections_of_dask():
    rows = np.arange(12, dtype="f4").reshape(4, 3)
    array = da.from_array(rows, chunks=(2, 3))
    found = Dataset.from_tensor_slices(xarray.DataArray(array, dims=("row", "column")))
    np.testing.assert_array_equal([element.numpy() for element in found], rows)
    with pytest.raises(ValueError, match=r"not known, shape \(nan, 3\): call its compute_chunk_"):
        Dataset.from_tensor_slices(array[array[:, 0] > 2])
    with pytest.raises(TypeError, match=r"Delayed.*dask.array.from_delayed"):
        Dataset.from_tensors(dask.delayed(rows))


def test_a_block_of_a_stored_array_is_read_once(tmp_path, monkeypatch):
    array = zarr.create_array(tmp_path / "rows", shape=(100,), chunks=(10,), dtype="i8")
    read = []
    get = zarr.Array.__getitem__
    monkeypatch.setattr(zarr.Array, "__getitem__", lambda a, k: read.append(k) or get(a, k))
    assert len(values(Dataset.from_tensor_slices(array).shuffle(20).batch(7))) == 15
    assert len(read) == 10


def test_elements_are_tensors_and_take_part_in_gradients():
    for x in Dataset.from_tensor_slices(np.ones((1, 3), "f4")):
        with dv.GradientTape() as tape:
            tape.watch(x)
            y = dv.reduce_sum(x * x)
        assert tape.gradient(y, x).numpy().tolist() == [2, 2, 2]


def test_functions_see_values_around_them():
    scale = dv.constant(3.0)
    assert values(Dataset.from_tensors(2.0).map(lambda x: x * scale)) == [6.0]
    v = dv.Variable(1.0)
    with pytest.raises(UnimplementedError, match=r"map uses the variable 'Variable"):
        Dataset.from_tensors(2.0).map(lambda x: x * v)


def test_a_function_is_traced_once():
    calls = []

    def function(x):
        calls.append(x)
        return x

    assert len(values(Dataset.range(20).map(function).repeat(2))) == 40
    assert len(calls) == 1


def test_random_numbers_are_new_in_each_element_and_repetition():
    dataset = Dataset.range(4).map(lambda x: dv.random_uniform([], seed=1)).repeat(2)
    found = values(dataset)
    assert len(set(found)) == 8
    assert values(dataset) == found


@pytest.mark.parametrize(
    "make, error, words",
    [
        (lambda: Dataset.range(), ValueError, "arguments to range"),
        (lambda: Dataset.range(3).map(lambda x: None), TypeError, "None where a tensor"),
        (lambda: Dataset.range(3).flat_map(lambda x: x), TypeError, "must return a `Dataset`"),
        (lambda: Dataset.range(3).apply(lambda d: 3), TypeError, "must return a Dataset, got 3"),
        (lambda: Dataset.from_generator([1], dv.int32), TypeError, "must be callable"),
        (lambda: TFRecordDataset(Dataset.range(3)), TypeError, "dataset of scalar strings"),
        (lambda: TFRecordDataset("x", "BZIP"), None, ""),
        (lambda: Dataset.range(3).make_one_shot_iterator(), RuntimeError, "for element in"),
        (lambda: iter(tf.data.Dataset.range(3)), RuntimeError, "iterated by runs"),
    ],
)
def test_refusals(make, error, words):
    if error is None:
        with pytest.raises(ValueError, match="compression_type"):
            next(iter(make()))
        return
    with pytest.raises(error, match=words):
        make()


@pytest.mark.parametrize("number", [1.5, 2.0, np.float64(2.0), float("nan")])
@pytest.mark.parametrize("method", ["take", "skip", "repeat", "batch", "prefetch", "shuffle"])
def test_numbers_that_are_no_integers_are_not_cut_off(method, number):
    with pytest.raises(TypeError, match="Expected int64, got"):
        getattr(Dataset.range(5), method)(number)
    with pytest.raises(TypeError, match="Expected int64, got"):
        Dataset.range(number)


@pytest.mark.parametrize("compression", ["", "GZIP", "ZLIB"])
def test_records_come_back(tmp_path, compression):
    records = [b"", b"x", os.urandom(100_000), b"last"]
    path = tmp_path / "some.tfrecord"
    with TFRecordWriter(path, compression) as writer:
        for record in records:
            writer.write(record)
            writer.flush()
    assert list(tf_record_iterator(path, compression)) == records
    assert [x.numpy() for x in TFRecordDataset(path, compression)] == records
    skipping = iter(TFRecordDataset([path, path], compression))
    skipping.restore({"position": 6, "entropy": 0, "iteration": 0})
    assert [x.numpy() for x in skipping] == records[2:]
    writer = TFRecordWriter(path, compression)
    writer.write(b"and not closed")
    del writer
    assert list(tf_record_iterator(path, compression)) == [b"and not closed"]
    if compression:
        path.write_bytes(path.read_bytes()[:-1])
        with pytest.raises(DataLossError, match="ended before the end-of-stream marker"):
            list(tf_record_iterator(path, compression))
    path.write_bytes(b"")
    assert not list(tf_record_iterator(path, compression))


def test_every_damaged_byte_of_a_record_is_found(tmp_path):
    path = tmp_path / "one.tfrecord"
    with TFRecordWriter(path) as writer:
        writer.write(b"abc")
    whole = path.read_bytes()
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(DataLossError, match=rf"{path}: record 0 "):
            list(tf_record_iterator(path))
    for length in range(1, len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(DataLossError, match="is cut off"):
            list(tf_record_iterator(path))


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(NotFoundError, match=r"no\.tfrecord; No such file"):
        RecordReader(tmp_path / "no.tfrecord")
    with pytest.raises(NotFoundError, match=r"no\.such"):
        TFRecordWriter(tmp_path / "no.such" / "file")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="Linux has a disk that is always full")
def test_a_full_disk_is_told_with_its_file():
    writer = TFRecordWriter("/dev/full")
    writer.write(b"x")
    with pytest.raises(UnknownError, match="/dev/full; No space left on device"):
        writer.close()


def test_remote_files(tmp_path):
    with TFRecordWriter("memory://data/a.tfrecord") as writer:
        writer.write(b"there")
    found = Dataset.list_files("memory://data/*.tfrecord")
    assert [x.numpy() for x in TFRecordDataset(found)] == [b"there"]


def test_without_protobuf_it_says_what_to_install(monkeypatch):
    from daskvars.kernels import example_protos

    def missing(name):
        raise ModuleNotFoundError(name)

    example_protos.message_class.cache_clear()
    monkeypatch.setattr(example_protos, "import_module", missing)
    monkeypatch.setattr(example_protos, "_pool", example_protos._pool.__wrapped__)
    with pytest.raises(ImportError, match=r"pip install daskvars\[protobuf\]"):
        dv.data.Example()


def test_the_compression_of_files_may_be_a_tensor(tmp_path):
    path = str(tmp_path / "records")
    with tf.python_io.TFRecordWriter(path, "GZIP") as writer:
        writer.write(b"one")
    with tf.Graph().as_default(), tf.Session() as sess:
        kind = tf.placeholder_with_default("", [])
        iterator = tf.data.TFRecordDataset(path, kind).make_initializable_iterator()
        element = iterator.get_next()
        sess.run(iterator.initializer, {kind: "GZIP"})
        assert sess.run(element) == b"one"


def test_a_file_of_elements_is_written_by_one_and_complete_or_not_there(tmp_path):
    prefix = str(tmp_path / "kept")
    dataset = Dataset.range(3).cache(prefix)
    writing = iter(dataset)
    assert int(next(writing)) == 0
    with pytest.raises(AlreadyExistsError, match="concurrent caching iterator"):
        next(iter(Dataset.range(3).cache(prefix)))
    assert [int(n) for n in writing] == [1, 2]
    assert [path.name for path in tmp_path.iterdir()] == ["kept.tfrecord"]
    assert [int(n) for n in Dataset.range(0).cache(prefix)] == [0, 1, 2]


def test_a_file_of_sparse_elements_and_strings_has_them_whole(tmp_path):
    rows = dv.SparseTensor([[0, 2], [1, 0]], [5.0, 7.0], [2, 3])
    dataset = Dataset.from_tensor_slices((rows, ["a", ""])).cache(str(tmp_path / "kept"))
    for _ in range(2):
        (first, a), (second, b) = dataset
        assert (a.numpy(), b.numpy()) == (b"a", b"")
        assert [dv.sparse.to_dense(sp).numpy().tolist() for sp in (first, second)] == [
            [0.0, 0.0, 5.0],
            [7.0, 0.0, 0.0],
        ]
    assert dataset.output_shapes[0].as_list() == [3]


def test_an_iterator_of_another_dtype_is_no_iterator_of_a_handle():
    with tf.Graph().as_default(), tf.Session() as session:
        handle = tf.data.Dataset.from_tensors([1.0]).make_one_shot_iterator().string_handle()
        element = tf.data.Iterator.from_string_handle(handle, tf.int32, [None]).get_next()
        with pytest.raises(InvalidArgumentError, match=r"float32.*int32"):
            session.run(element)


def test_rows_are_filled_up_with_what_a_table_says(graph):
    """As translators do, within a function too: the id of the end of a sentence is a tensor."""
    table = tf.contrib.lookup.index_table_from_tensor(["a", "b", "</s>"])
    end = tf.cast(table.lookup(tf.constant("</s>")), tf.int32)

    def filled(rows):
        return rows.padded_batch(2, ([None], []), (end, 7))

    rows = tf.data.Dataset.range(1, 3)
    rows = rows.map(lambda n: (tf.fill([tf.cast(n, tf.int32)], 0), n))
    grouped = rows.apply(
        tf.contrib.data.group_by_window(
            lambda *_: tf.constant(0, tf.int64), lambda _, d: filled(d), 2
        )
    )
    for data in (filled(rows), grouped):
        iterator = data.make_initializable_iterator()
        with tf.Session() as session:
            session.run(tf.tables_initializer())
            session.run(iterator.initializer)
            assert session.run(iterator.get_next())[0].tolist() == [[0, 2], [0, 0]]
    with pytest.raises(TypeError, match=r"type \(float32\) does not match"):
        rows.padded_batch(2, ([None], []), (tf.constant(1.0), 7))
    with pytest.raises(ValueError, match="should be a scalar"):
        rows.padded_batch(2, ([None], []), (tf.constant([1]), 7))


def test_a_dataset_has_a_length_where_it_is_known():
    numbers = Dataset.range(5)
    assert (len(numbers.batch(2)), bool(numbers.take(0))) == (3, True)
    for dataset, said in ((numbers.repeat(), "infinite"), (numbers.unique(), "unknown")):
        with pytest.raises(TypeError, match=said):
            len(dataset)
    with dv.Graph().as_default(), pytest.raises(TypeError, match=r"use cardinality\(\)"):
        len(Dataset.range(5))


def test_a_dataset_says_what_does_the_work_of_a_method_that_is_elsewhere():
    with pytest.raises(AttributeError, match=r"no 'scan': use dataset\.apply"):
        Dataset.range(5).scan  # noqa: B018
    with pytest.raises(AttributeError, match="no 'bacth' \\(did you mean 'batch'"):
        Dataset.range(5).bacth  # noqa: B018
