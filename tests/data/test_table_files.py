"""Files of separated values and of examples, as batches."""

import gzip

import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf
from daskvars.data import experimental
from daskvars.errors import InvalidArgumentError


@pytest.fixture
def tables(tmp_path):
    for number in range(2):
        rows = [f"{10 * number + n},{n / 2},{'' if n == 1 else 'abc'[n]}" for n in range(3)]
        (tmp_path / f"{number}.csv").write_text("\n".join(["id,score,word", *rows]) + "\n")
    return tmp_path


def test_batches_of_columns(tables):
    batches = experimental.make_csv_dataset(
        str(tables / "*.csv"), 4, label_name="id", num_epochs=1, shuffle=False
    )
    found = list(batches.as_numpy_iterator())
    assert [label.tolist() for _, label in found] == [[0, 1, 2, 10], [11, 12]]
    assert list(found[0][0]) == ["score", "word"]
    assert found[0][0]["score"].dtype == np.float32
    assert found[1][0]["word"].tolist() == [b"", b"c"]


def test_shuffled_rows_are_all_there_in_each_epoch(tables):
    batches = experimental.make_csv_dataset(
        str(tables / "*.csv"), 3, select_columns=["id"], shuffle_seed=1
    )
    iterator = iter(batches)
    seen = [next(iterator)["id"].numpy().tolist() for _ in range(4)]
    assert sorted(seen[0] + seen[1]) == sorted(seen[2] + seen[3]) == [0, 1, 2, 10, 11, 12]


@pytest.mark.parametrize(
    "arguments, words",
    [
        ({"label_name": "ids"}, "`label_name` provided must be one of the columns"),
        ({"column_names": ["a", "a", "b"]}, "duplicate column names"),
        ({"select_columns": ["x"]}, "'x' is none of the columns"),
        ({"column_defaults": [0]}, "column_defaults are 1, but"),
        ({"header": False}, "Cannot infer column names"),
        ({"file_pattern": "/there/is/nothing*"}, "No files match"),
    ],
)
def test_columns_that_are_not_there(tables, arguments, words):
    given = {"file_pattern": str(tables / "*.csv"), "batch_size": 2, **arguments}
    with pytest.raises(ValueError, match=words):
        experimental.make_csv_dataset(**given)


def test_headers_of_files_are_the_same(tables):
    (tables / "2.csv").write_text("id,other\n1,2\n")
    with pytest.raises(ValueError, match="must have the same header"):
        experimental.make_csv_dataset(str(tables / "*.csv"), 2)


@pytest.mark.parametrize(
    "texts, kind",
    [
        (["1", "-2"], dv.int32),
        (["1", "3000000000"], dv.int64),
        (["1", "2.5"], dv.float32),
        (["2.5", "1e300", ""], dv.float64),
        (["1", "x"], dv.string),
        (["", ""], dv.string),
    ],
)
def test_a_column_has_the_first_dtype_that_holds_it(tmp_path, texts, kind):
    (tmp_path / "one.csv").write_text("\n".join(["x,y", *[f"{t},0" for t in texts]]))
    dataset = experimental.make_csv_dataset(str(tmp_path / "one.csv"), 2, num_epochs=1)
    assert dataset.output_types["x"] is kind


def test_rows_of_files_with_headers(tables):
    names = [str(tables / f"{n}.csv") for n in range(2)]
    rows = experimental.CsvDataset(names, [tf.int32, [0.0], [""]], header=True)
    assert [int(n) for n, _, _ in rows] == [0, 1, 2, 10, 11, 12]
    required = experimental.CsvDataset(names, [tf.string], header=True, select_cols=[2])
    with pytest.raises(InvalidArgumentError, match="is required but missing"):
        list(required)


def test_rows_of_compressed_files_in_a_graph(tmp_path):
    path = str(tmp_path / "one.csv.gz")
    with gzip.open(path, "wt") as file:
        file.write('1;"a;b"\n2;c\n')
    with tf.Graph().as_default(), tf.Session() as sess:
        name = tf.placeholder(tf.string, [])
        rows = tf.data.experimental.CsvDataset(name, [[0], [""]], "GZIP", field_delim=";")
        iterator = rows.make_initializable_iterator()
        element = iterator.get_next()
        sess.run(iterator.initializer, {name: path})
        assert sess.run(element) == (1, b"a;b")
        assert sess.run(element) == (2, b"c")


def test_batches_of_features(tmp_path):
    path = str(tmp_path / "one.tfrecord")
    with tf.python_io.TFRecordWriter(path) as writer:
        for n in range(5):
            feature = {
                "x": tf.train.Feature(float_list=tf.train.FloatList(value=[n, n / 2])),
                "y": tf.train.Feature(int64_list=tf.train.Int64List(value=[n])),
            }
            example = tf.train.Example(features=tf.train.Features(feature=feature))
            writer.write(example.SerializeToString())
    features = {"x": tf.FixedLenFeature([2], tf.float32), "y": tf.FixedLenFeature([], tf.int64)}
    batches = experimental.make_batched_features_dataset(
        path, 2, features, label_key="y", num_epochs=1, shuffle_seed=3
    )
    found = list(batches.as_numpy_iterator())
    labels = [n for _, label in found for n in label.tolist()]
    assert sorted(labels) == [0, 1, 2, 3, 4]
    assert [x[0] for each, _ in found for x in each["x"]] == labels
    with pytest.raises(ValueError, match="none of the features"):
        experimental.make_batched_features_dataset(path, 2, features, label_key="z")
