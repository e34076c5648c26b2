"""Columns of features: values, names of variables and texts of errors are TensorFlow's."""

import numpy as np
import pytest

import daskvars.v1 as tf
from tests import clusters

pytestmark = pytest.mark.usefixtures("sess")

fc = tf.feature_column


def sparse(values, dtype=None, shape=(3, 2), places=((0, 0), (0, 1), (1, 0), (2, 1))):
    return tf.SparseTensorValue(list(places), np.array(values, dtype), list(shape))


WORDS = fc.categorical_column_with_vocabulary_list("words", ["a", "b"], num_oov_buckets=2)
HASHED = fc.categorical_column_with_hash_bucket("words", 5)
IDS = fc.categorical_column_with_identity("ids", 4, default_value=2)
STRICT = fc.categorical_column_with_identity("ids", 4)
WEIGHTED = fc.weighted_categorical_column(IDS, "w")
NUMBER = fc.numeric_column("n", dtype=tf.int32)
DOUBLED = fc.numeric_column("x", shape=2, normalizer_fn=lambda t: t * 2)
BUCKETS = fc.bucketized_column(fc.numeric_column("x", shape=(2,)), [0, 2.5, 7])
CROSSED = fc.crossed_column(["words", IDS], 7)


def features():
    return {
        "words": sparse(["a", "zz", "b", ""]),
        "ids": sparse([3, -1, 0, 1], np.int64),
        "w": sparse([0.5, -1.0, 2.0, 0.0], np.float32),
        "x": [[1.0, 5.0], [10.0, -3.0], [2.5, 7.0]],
        "n": [1, 2, 3],
    }


def run(made, sess):
    """Return the value of a layer; the elements of each variable are 1, 2, 3..."""
    sess.run([tf.global_variables_initializer(), tf.tables_initializer()])
    for v in tf.global_variables():
        shape = v.shape.as_list()
        sess.run(v.assign(np.arange(1, np.prod(shape) + 1, dtype=np.float32).reshape(shape)))
    return sess.run(made)


@pytest.mark.parametrize(
    ("column", "wanted"),
    [
        (NUMBER, [[1], [2], [3]]),
        (DOUBLED, [[2, 10], [20, -6], [5, 14]]),
        (BUCKETS, [[0, 1, 0, 0, 0, 0, 1, 0], [0, 0, 0, 1, 1, 0, 0, 0], [0, 0, 1, 0, 0, 0, 0, 1]]),
        (fc.indicator_column(HASHED), [[0, 0, 1, 0, 1], [0, 0, 1, 0, 0], [0, 0, 0, 1, 0]]),
        (
            fc.indicator_column(fc.categorical_column_with_hash_bucket("ids", 5, tf.int64)),
            [[1, 1, 0, 0, 0], [1, 0, 0, 0, 0], [0, 0, 0, 0, 1]],
        ),
        (fc.indicator_column(WORDS), [[1, 0, 1, 0], [0, 1, 0, 0], [0, 0, 0, 1]]),
        (
            fc.indicator_column(
                fc.categorical_column_with_vocabulary_list("words", ["a", "b"], default_value=1)
            ),
            [[1, 1], [0, 1], [0, 1]],
        ),
        (fc.indicator_column(IDS), [[0, 0, 1, 1], [1, 0, 0, 0], [0, 1, 0, 0]]),
        (fc.indicator_column(WEIGHTED), [[0, 0, -1, 0.5], [2, 0, 0, 0], [0, 0, 0, 0]]),
        (
            fc.indicator_column(CROSSED),
            [[0, 1, 0, 2, 0, 0, 1], [0, 1, 0, 0, 0, 0, 0], [0, 0, 0, 0, 1, 0, 0]],
        ),
    ],
    ids=lambda case: getattr(case, "name", ""),
)
def test_columns_without_variables(sess, column, wanted):
    made = fc.input_layer(features(), [column])
    assert made.shape.as_list() == [3, len(wanted[0])] and made.dtype == tf.float32
    assert not tf.global_variables()
    assert run(made, sess).tolist() == wanted


@pytest.mark.parametrize(
    ("combiner", "wanted", "linear"),
    [
        ("mean", [[7, 8], [1, 2], [0, 0]], [[48, 63], [12, 29], [58, 79]]),
        ("sum", [[-1.5, -2], [2, 4], [0, 0]], [[47.5, 62], [21, 40], [68, 90]]),
        (
            "sqrtn",
            [[7, 8], [1, 2], [0, 0]],
            [[51.31371, 66.72792], [15.31371, 32.72792], [62.14214, 83.55635]],
        ),
    ],
)
def test_rows_of_tables_are_combined(sess, combiner, wanted, linear):
    column = fc.embedding_column(WEIGHTED, 2, combiner=combiner)
    vars_of, parts = {}, {}
    made = fc.input_layer(features(), column, cols_to_vars=vars_of, cols_to_output_tensors=parts)
    assert parts[column].shape.as_list() == made.shape.as_list()
    name = "input_layer/ids_weighted_by_w_embedding/embedding_weights:0"
    assert [v.name for v in vars_of[column]] == [v.name for v in tf.model_variables()] == [name]
    np.testing.assert_allclose(run(made, sess), wanted, rtol=1e-5)
    columns = [WEIGHTED, BUCKETS, DOUBLED]
    with tf.Graph().as_default(), tf.Session() as sess:
        made = fc.linear_model(features(), columns, 2, combiner, cols_to_vars=vars_of)
        keys = ("ids_weighted_by_w", "x", "x_bucketized")
        assert [v.name for v in tf.trainable_variables()] == [
            *(f"linear_model/{key}/weights:0" for key in keys),
            "linear_model/bias_weights:0",
        ]
        assert [v.name for v in vars_of["bias"]] == ["linear_model/bias_weights:0"]
        np.testing.assert_allclose(run(made, sess), linear, rtol=1e-5)


def test_tables_are_shared_trained_or_not_and_of_bounded_norm(sess):
    ids = {
        "a": sparse([3, -1, 0, 1], np.int64),
        "b": sparse([1, 2], None, (3, 1), ((0, 0), (1, 0))),
    }
    of = [fc.categorical_column_with_identity(key, 4, 0) for key in "ba"]
    made = fc.input_layer(ids, fc.shared_embedding_columns(of, 2))
    name = "input_layer/a_b_shared_embedding/embedding_weights:0"
    assert [v.name for v in tf.global_variables()] == [name]
    assert run(made, sess).tolist() == [[4, 5, 3, 4], [1, 2, 5, 6], [3, 4, 0, 0]]
    with tf.Graph().as_default(), tf.Session() as sess:
        fixed = fc.embedding_column(IDS, 2, trainable=False)
        made = fc.input_layer(features(), [fixed, fc.embedding_column(WORDS, 1)])
        assert [v.name for v in tf.trainable_variables()] == [
            "input_layer/words_embedding/embedding_weights:0"
        ]
        assert run(made, sess).tolist() == [[6, 7, 2], [1, 2, 2], [3, 4, 4]]
    with tf.Graph().as_default(), tf.Session() as sess:
        made = fc.input_layer(features(), fc.embedding_column(IDS, 2, max_norm=3.0))
        np.testing.assert_allclose(
            run(made, sess), [[1.94803, 2.2812], [1, 2], [1.8, 2.4]], rtol=1e-5
        )


def test_crosses_of_crosses_and_dense_ids(sess):
    crossed = fc.crossed_column([CROSSED, BUCKETS], 11, hash_key=5)
    assert crossed.name == "ids_X_words_X_x_bucketized"
    assert run(fc.linear_model(features(), crossed), sess).tolist() == [[64], [3], [16]]
    dense = fc.input_layer({"words": [["a", ""], ["b", "a"]]}, fc.indicator_column(WORDS))
    assert run(dense, sess).tolist() == [[1, 0, 0, 0], [1, 1, 0, 0]]
    vector = fc.input_layer({"ids": [1, 3]}, fc.indicator_column(IDS))
    assert run(vector, sess).tolist() == [[0, 1, 0, 0], [0, 0, 0, 1]]


def test_features_of_unknown_rank(sess):
    fed = {"n": tf.placeholder(tf.int32), "words": tf.placeholder(tf.string)}
    layer = fc.input_layer(fed, [NUMBER, fc.indicator_column(WORDS)])
    sess.run(tf.tables_initializer())
    for n, words in (([4, 5], ["b", "b"]), ([[4], [5]], [["b"], ["b"]])):
        found = sess.run(layer, {fed["n"]: n, fed["words"]: words})
        assert found.tolist() == [[4, 0, 1, 0, 0], [5, 0, 1, 0, 0]]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"\(key: n\) cannot have rank 0"):
        sess.run(layer, {fed["n"]: 4, fed["words"]: ["b"]})


def test_words_of_a_file_and_a_table_of_a_checkpoint(sess, tmp_path):
    (tmp_path / "words").write_text("a\nb\n")
    words = fc.categorical_column_with_vocabulary_file("words", str(tmp_path / "words"))
    assert words.num_buckets == 2
    table = tf.get_variable("there", initializer=[[5.0], [7.0]])
    sess.run(table.initializer)
    path = tf.train.Saver().save(sess, str(tmp_path / "model"))
    with tf.Graph().as_default(), tf.Session() as sess:
        column = fc.embedding_column(words, 1, ckpt_to_load_from=path, tensor_name_in_ckpt="there")
        layer = fc.input_layer(features(), column)
        sess.run([tf.global_variables_initializer(), tf.tables_initializer()])
        assert sess.run(layer).tolist() == [[5], [7], [0]]


def test_ids_out_of_range_fail(sess):
    layer = fc.input_layer(
        {"ids": tf.placeholder(tf.int64, [2], "ids")}, fc.indicator_column(STRICT)
    )
    with pytest.raises(tf.errors.InvalidArgumentError, match="assert_less_than_num_buckets"):
        sess.run(layer, {"ids:0": [1, 4]})


def test_examples_are_parsed_as_columns_declare():
    columns = [fc.embedding_column(WEIGHTED, 2), BUCKETS, CROSSED]
    assert fc.make_parse_example_spec(columns) == {
        "ids": tf.VarLenFeature(tf.int64),
        "w": tf.VarLenFeature(tf.float32),
        "x": tf.FixedLenFeature((2,), tf.float32),
        "words": tf.VarLenFeature(tf.string),
    }
    with pytest.raises(ValueError, match="contain different parse_spec for key w"):
        fc.make_parse_example_spec([WEIGHTED, fc.numeric_column("w")])


@pytest.mark.cluster
def test_a_model_of_columns_learns_on_a_cluster():
    x = tf.constant([["a"], ["b"], ["c"], ["a"]])
    columns = [fc.categorical_column_with_vocabulary_list("words", ["a", "b", "c"])]
    loss = tf.losses.mean_squared_error(
        [[1.0], [2.0], [3.0], [1.0]], fc.linear_model({"words": x}, columns)
    )
    train = tf.train.GradientDescentOptimizer(0.5).minimize(loss)
    with clusters.running(1, set_as_default=True), tf.Session() as sess:
        sess.run([tf.global_variables_initializer(), tf.tables_initializer()])
        first = sess.run(loss)
        for _ in range(20):
            sess.run(train)
        assert sess.run(loss) < first / 20


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: fc.numeric_column("x", 0), "shape dimensions must be greater than 0"),
        (lambda: fc.numeric_column("x", [2], [1, 2, 3]), "shape of default_value must be equal"),
        (lambda: fc.numeric_column("x", dtype=tf.string), "dtype must be convertible to float"),
        (lambda: fc.bucketized_column(NUMBER, [2, 1]), "boundaries must be a sorted list"),
        (lambda: fc.bucketized_column(IDS, [1]), "must be a column generated with numeric_column"),
        (lambda: fc.embedding_column(IDS, 0), "Invalid dimension 0"),
        (lambda: fc.embedding_column(IDS, 2, initializer="x"), "initializer must be callable"),
        (lambda: fc.embedding_column(IDS, 2, ckpt_to_load_from="x"), "Must specify both"),
        (lambda: fc.shared_embedding_columns([IDS, HASHED], 2), "must have the same type"),
        (
            lambda: fc.shared_embedding_columns(
                [IDS, fc.categorical_column_with_identity("other", 9)], 2
            ),
            "must have the same number of buckets",
        ),
        (lambda: fc.crossed_column(["a"], 3), "keys must be a list with length > 1"),
        (lambda: fc.crossed_column(["a", HASHED], 3), "is not supported for crossing"),
        (lambda: fc.crossed_column(["a", 3], 3), "Unsupported key type"),
        (lambda: fc.categorical_column_with_identity("a", 3, 3), r"not in range \[0, 3\)"),
        (lambda: fc.categorical_column_with_vocabulary_list("a", []), "must be non-empty"),
        (lambda: fc.categorical_column_with_vocabulary_list("a", [1, 1]), "Duplicate keys"),
        (lambda: fc.categorical_column_with_vocabulary_list("a", [1.0]), "string or integer"),
        (lambda: fc.categorical_column_with_vocabulary_file("a", ""), "Missing vocabulary_file"),
        (lambda: fc.categorical_column_with_hash_bucket("a", 0), "must be at least 1"),
        (lambda: fc.input_layer({}, [NUMBER]), "Feature n is not in features dictionary"),
        (lambda: fc.input_layer({"n": 3}, [NUMBER]), r"\(key: n\) cannot have rank 0"),
        (lambda: fc.input_layer(features(), [IDS]), "must be a _DenseColumn"),
        (lambda: fc.input_layer(features(), []), "must not be empty"),
        (lambda: fc.input_layer(features(), [IDS, IDS]), "Duplicate feature column name"),
        (lambda: fc.linear_model(features(), ["ids"]), "must be a _FeatureColumn"),
        (
            lambda: fc.linear_model({"x": [[1.0, 2.0]], "n": [1, 2]}, [DOUBLED, NUMBER]),
            r"Batch size of columns \(n, x\): \(2, 1\)",
        ),
    ],
)
def test_mistakes(call, text):
    with pytest.raises(ValueError, match=text):
        call()
