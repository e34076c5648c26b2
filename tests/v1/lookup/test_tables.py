"""Tables from keys to values; ids and texts of errors are TensorFlow's."""

import numpy as np
import pytest

import daskvars.v1 as tf
from tests import clusters

pytestmark = pytest.mark.usefixtures("sess")


def pairs(keys=("a", "b"), values=(1, 2), dtypes=(tf.string, tf.int64)):
    return tf.lookup.KeyValueTensorInitializer(list(keys), list(values), *dtypes)


def table(default=-1, **kwargs):
    return tf.lookup.StaticHashTable(pairs(), default, **kwargs)


def test_values_of_keys_dense_and_sparse(sess):
    made = table()
    assert tf.get_collection(tf.GraphKeys.TABLE_INITIALIZERS) == [made.initializer]
    sess.run(tf.tables_initializer())
    found = made.lookup(tf.constant([["a", "z"]]))
    assert found.shape.as_list() == [1, 2] and found.dtype == tf.int64
    assert sess.run(found).tolist() == [[1, -1]]
    assert sess.run(made.lookup(tf.constant("b"))) == 2
    sparse = sess.run(made.lookup(tf.SparseTensor([[0, 1], [1, 0]], ["a", "q"], [2, 2])))
    assert sparse.indices.tolist() == [[0, 1], [1, 0]] and sparse.values.tolist() == [1, -1]
    assert sess.run(made.size()) == 2
    keys, values = sess.run(made.export())
    assert dict(zip(keys.tolist(), values.tolist(), strict=True)) == {b"a": 1, b"b": 2}


def test_names_are_tensorflows():
    made = table(name="tt")
    found = made.lookup(tf.constant(["a"]))
    names = [t.name for t in (found, made.size(), made.export()[0])]
    assert names == ["tt_Lookup/LookupTableFindV2:0", "tt_Size/LookupTableSizeV2:0", "tt_Export:0"]
    assert made.name == "tt"
    assert made.init.name.startswith("key_value_init/")
    assert table().name == "hash_table"


@pytest.mark.parametrize(
    ("keys", "values", "dtypes", "asked", "found"),
    [
        ([5, 7], ["x", "é"], (tf.int64, tf.string), [7, 1], ["é".encode(), b"?"]),
        ([5, 7], [0.1, 1.5], (tf.int32, tf.float32), [5, 1], [np.float32(0.1), -1.0]),
        (["k"], [True], (tf.string, tf.bool), ["k", ""], [True, False]),
    ],
)
def test_keys_and_values_of_other_dtypes(sess, keys, values, dtypes, asked, found):
    default = {tf.string: "?", tf.bool: False}.get(dtypes[1], -1)
    made = tf.lookup.StaticHashTable(pairs(keys, values, dtypes), default)
    sess.run(made.init)
    result = sess.run(made.lookup(tf.constant(asked, dtypes[0])))
    assert result.tolist() == found
    assert result.dtype == dtypes[1].as_numpy_dtype


def test_a_table_that_was_not_initialized(sess):
    made = table()
    with pytest.raises(tf.errors.FailedPreconditionError, match="Table not initialized"):
        sess.run(made.lookup(tf.constant(["a"])))
    assert sess.run(made.size()) == 0


def test_a_key_with_two_values(sess):
    wrong = tf.lookup.StaticHashTable(pairs(["a", "a"], [1, 2]), -1)
    text = "HashTable has different value for same key. Key a has 1 and trying to add value 2"
    with pytest.raises(tf.errors.FailedPreconditionError, match=text):
        sess.run(wrong.init)
    same = tf.lookup.StaticHashTable(pairs(["a", "a"], [1, 1]), -1)
    sess.run(same.init)
    assert sess.run(same.size()) == 1


def test_a_table_is_filled_once(sess):
    values = tf.placeholder(tf.int64, [None])
    keys = tf.constant(["a", "b"])
    made = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, values), -1)
    sess.run(made.init, {values: [1, 2]})
    sess.run(made.init, {values: [1, 2]})
    with pytest.raises(tf.errors.FailedPreconditionError, match="Table already initialized"):
        sess.run(made.init, {values: [1, 3]})
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Expected shape \[2\] for value"):
        sess.run(made.init, {values: [1, 2, 3]})
    nothing = tf.constant([], tf.int64)
    empty = tf.lookup.KeyValueTensorInitializer(tf.as_string(nothing), nothing)
    with pytest.raises(tf.errors.InvalidArgumentError, match="cannot be empty"):
        sess.run(tf.lookup.StaticHashTable(empty, -1).init)


def test_what_is_no_key_of_a_table():
    with pytest.raises(TypeError, match="Keys must be dtype"):
        table().lookup(tf.constant([1]))
    with pytest.raises(TypeError):
        tf.lookup.StaticHashTable(pairs(), "text")
    with pytest.raises(ValueError, match="scalar"):
        tf.lookup.StaticHashTable(pairs(), [1, 2])
    with pytest.raises(ValueError, match="both shapes must be equal, but are 2 and 3"):
        tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(["a", "b"], [1, 2, 3]), -1)
    with pytest.raises(ValueError, match=r"one file, whose name is a scalar; got .* \[2\]"):
        names = tf.constant(["one.txt", "two.txt"])
        tf.contrib.lookup.index_table_from_file(names)
    for name in ("none.txt", tf.constant("none.txt")):
        with pytest.raises(ValueError, match=r"got 0\. vocabulary_file: none\.txt"):
            tf.contrib.lookup.index_table_from_file(name, vocab_size=0)


def test_each_session_has_its_own():
    made = table()
    found = made.lookup(tf.constant(["a"]))
    with tf.Session() as first, tf.Session() as second:
        first.run(made.init)
        assert first.run(found) == [1]
        with pytest.raises(tf.errors.FailedPreconditionError):
            second.run(found)
    with tf.Session("tables shared"), tf.Session("tables shared") as other:
        other.run(made.init)
        assert other.run(found) == [1]


def test_every_key_has_an_id(sess):
    ids = tf.lookup.KeyValueTensorInitializer(["a", "b"], [0, 1], value_dtype=tf.int64)
    made = tf.lookup.StaticVocabularyTable(ids, 5)
    sess.run(tf.tables_initializer())
    found, size = sess.run([made.lookup(tf.constant(["a", "zz", "q", "hello"])), made.size()])
    assert found.tolist() == [0, 4, 5, 3] and size == 7
    known = tf.lookup.KeyValueTensorInitializer(
        tf.constant([10, 11], tf.int64), tf.constant([0, 1], tf.int64)
    )
    numbers = tf.lookup.StaticVocabularyTable(known, 5, lookup_key_dtype=tf.int32)
    sess.run(numbers.initializer)
    assert sess.run(numbers.lookup(tf.constant([10, 12, 13]))).tolist() == [0, 5, 5]
    buckets = tf.lookup.StaticVocabularyTable(None, 5)
    assert sess.run(buckets.lookup(tf.constant(["zz", "q"]))).tolist() == [2, 3]
    with pytest.raises(ValueError, match="oov_buckets"):
        tf.lookup.StaticVocabularyTable(None, 0)
    with pytest.raises(TypeError, match="value dtype"):
        tf.lookup.StaticVocabularyTable(pairs(dtypes=(tf.string, tf.int32)), 2)


def test_hashes_of_buckets(sess):
    lookup = tf.contrib.lookup
    words = tf.constant(["zz", "q"])
    strong = lookup.IdTableWithHashBuckets(None, 1000, lookup.StrongHashSpec([1, 2]))
    wanted = tf.string_to_hash_bucket_strong(words, 1000, [1, 2])
    assert sess.run(strong.lookup(words)).tolist() == sess.run(wanted).tolist()
    with pytest.raises(ValueError, match="size 2"):
        lookup.StrongHashSpec([1])
    with pytest.raises(TypeError):
        lookup.StrongHashSpec([1.5, 2])
    with pytest.raises(TypeError, match="HasherSpec"):
        lookup.IdTableWithHashBuckets(None, 5, "fast")


def test_a_table_that_grows(sess):
    made = tf.contrib.lookup.MutableHashTable(tf.string, tf.int64, -1)
    keys = tf.placeholder(tf.string, [None])
    insert = made.insert(keys, tf.range(tf.cast(tf.size(keys), tf.int64)))
    found = made.lookup(tf.constant(["a", "b", "c"]))
    assert sess.run(found).tolist() == [-1, -1, -1]
    sess.run(insert, {keys: ["a", "b"]})
    sess.run(insert, {keys: ["b", "c"]})
    assert sess.run(found).tolist() == [0, 0, 1]
    sess.run(made.remove(["b", "z"]))
    assert sess.run([found, made.size()])[0].tolist() == [0, -1, 1]


def test_a_table_of_vectors(sess):
    made = tf.contrib.lookup.MutableHashTable(tf.int64, tf.float32, [-1.0, -2.0])
    sess.run(made.insert([5, 6], [[1.0, 2.0], [3.0, 4.0]]))
    found = made.lookup(tf.constant([[6, 7]], tf.int64))
    assert found.shape.as_list() == [1, 2, 2]
    assert sess.run(found).tolist() == [[[3.0, 4.0], [-1.0, -2.0]]]
    keys, values = sess.run(made.export())
    assert keys.tolist() == [5, 6] and values.shape == (2, 2)
    with pytest.raises(tf.errors.InvalidArgumentError, match="Expected shape"):
        sess.run(made.insert([5], [1.0]))


def test_in_branches_loops_and_datasets(sess):
    made = table()
    sess.run(made.init)
    word = tf.placeholder(tf.string, [])
    found = tf.cond(
        tf.equal(word, "q"), lambda: tf.constant(7, tf.int64), lambda: made.lookup(word)
    )
    assert [sess.run(found, {word: w}) for w in ("q", "b", "z")] == [7, 2, -1]
    each = tf.map_fn(made.lookup, tf.constant(["b", "a"]), dtype=tf.int64)
    assert sess.run(each).tolist() == [2, 1]
    words = tf.data.Dataset.from_tensor_slices(["a", "z", "b"])
    iterator = words.map(made.lookup).batch(3).make_initializable_iterator()
    ids = iterator.get_next()
    sess.run(iterator.initializer)
    assert sess.run(ids).tolist() == [1, -1, 2]


def test_a_monitored_session_initializes_tables():
    found = table().lookup(tf.constant(["b"]))
    with tf.train.MonitoredSession() as monitored:
        assert monitored.run(found) == [2]


@pytest.mark.cluster
def test_a_step_on_a_cluster():
    with clusters.running(set_as_default=True):
        made = table()
        weights = tf.get_variable("w", initializer=[1.0, 2.0, 3.0])
        word = tf.placeholder(tf.string, [None])
        loss = tf.reduce_sum(tf.gather(weights, made.lookup(word)))
        with tf.Session() as sess:
            sess.run([tf.global_variables_initializer(), tf.tables_initializer()])
            assert sess.run(loss, {word: ["a", "b"]}) == 5.0
