"""Tables of the lines of files and of lists; facts and texts of errors are TensorFlow's."""

import pytest

import daskvars.v1 as tf

pytestmark = pytest.mark.usefixtures("sess")

lookup = tf.contrib.lookup
WHOLE, NUMBER = lookup.TextFileIndex.WHOLE_LINE, lookup.TextFileIndex.LINE_NUMBER


@pytest.fixture
def file(tmp_path):
    def written(content=b"brain\nsalad\nsurgery\n"):
        path = tmp_path / "vocabulary.txt"
        path.write_bytes(content)
        return str(path)

    return written


def exported(sess, path, key=(tf.string, WHOLE), value=(tf.int64, NUMBER), **kwargs):
    table = lookup.HashTable(lookup.TextFileInitializer(path, *key, *value, **kwargs), -1)
    sess.run(table.init)
    keys, values = sess.run(table.export())
    return list(zip(keys.tolist(), values.tolist(), strict=True))


@pytest.mark.parametrize(
    ("content", "kwargs", "found"),
    [
        (b"x\ny\nz\n", {}, [(b"x", 0), (b"y", 1), (b"z", 2)]),
        (b"x\ny\r\nz", {}, [(b"x", 0), (b"y", 1), (b"z", 2)]),
        (b"x\ny\nz\n", {"vocab_size": 2}, [(b"x", 0), (b"y", 1)]),
        (b"1\n2\n", {"key": (tf.int64, WHOLE)}, [(1, 0), (2, 1)]),
        (b"x\t5\ny\t6\n", {"key": (tf.string, 0), "value": (tf.int64, 1)}, [(b"x", 5), (b"y", 6)]),
        (
            b"x 0.5\ny 1.5\n",
            {"key": (tf.string, 0), "value": (tf.float32, 1), "delimiter": " "},
            [(b"x", 0.5), (b"y", 1.5)],
        ),
    ],
)
def test_lines_as_keys_and_values(sess, file, content, kwargs, found):
    assert exported(sess, file(content), **kwargs) == found


@pytest.mark.parametrize(
    ("content", "kwargs", "error", "text"),
    [
        (b"x\n\nz\n", {}, tf.errors.InvalidArgumentError, "empty line found at position 1"),
        (b"x\n", {"vocab_size": 3}, tf.errors.InvalidArgumentError, "Invalid vocab_size.*got 1"),
        (b"", {}, tf.errors.OutOfRangeError, "is empty"),
        (b"a\n", {"key": (tf.int64, WHOLE)}, tf.errors.InvalidArgumentError, "not a valid int64"),
        (b"a\n", {"value": (tf.int64, 1)}, tf.errors.InvalidArgumentError, "expected 2 got 1"),
        (b"a\na\n", {}, tf.errors.FailedPreconditionError, "different value for same key"),
    ],
)
def test_files_that_are_none(sess, file, content, kwargs, error, text):
    with pytest.raises(error, match=text):
        exported(sess, file(content), **kwargs)


def test_a_file_that_is_not_there(sess, tmp_path):
    with pytest.raises(tf.errors.NotFoundError):
        exported(sess, str(tmp_path / "none.txt"))


@pytest.mark.parametrize(
    "arguments",
    [
        ("", tf.string, WHOLE, tf.int64, NUMBER),
        ("f", tf.string, NUMBER, tf.int64, NUMBER),
        ("f", tf.string, WHOLE, tf.string, NUMBER),
        ("f", tf.string, WHOLE, tf.int64, WHOLE),
        ("f", tf.float32, WHOLE, tf.int64, NUMBER),
        ("f", tf.string, -3, tf.int64, NUMBER),
        ("f", tf.string, WHOLE, tf.int64, NUMBER, 0),
    ],
)
def test_what_a_line_cannot_be(arguments):
    with pytest.raises(ValueError, match=r"Filename|Signature|Invalid"):
        lookup.TextFileInitializer(*arguments)


def test_words_to_ids(sess, file):
    words = tf.constant(["salad", "surgery", "tarkus"])
    plain = lookup.index_table_from_file(file())
    buckets = lookup.index_table_from_file(file(), num_oov_buckets=1000)
    of_list = lookup.index_table_from_tensor(["brain", "salad", "surgery"], num_oov_buckets=1)
    few = lookup.index_table_from_file(file(), vocab_size=2, default_value=9)
    sess.run(tf.tables_initializer())
    found = sess.run([t.lookup(words) for t in (plain, buckets, of_list, few)])
    # 864 is TensorFlow's hash of "tarkus" in 1,000 buckets, behind three words
    assert [row.tolist() for row in found] == [[1, 2, -1], [1, 2, 864 + 3], [1, 2, 3], [1, 9, 9]]
    assert sess.run([plain.size(), buckets.size()]) == [3, 1003]
    assert tf.get_collection(tf.GraphKeys.ASSET_FILEPATHS)


def test_ids_to_words(sess, file):
    ids = tf.constant([2, 0, 7], tf.int64)
    from_file = lookup.index_to_string_table_from_file(file())
    from_list = lookup.index_to_string_table_from_tensor(["brain", "salad", "surgery"], "?")
    sess.run(tf.tables_initializer())
    assert sess.run(from_file.lookup(ids)).tolist() == [b"surgery", b"brain", b"UNK"]
    assert sess.run(from_list.lookup(ids)).tolist() == [b"surgery", b"brain", b"?"]


def test_numbers_to_ids(sess):
    table = lookup.index_table_from_tensor([42, 1, -1000], num_oov_buckets=1, dtype=tf.int32)
    sess.run(table.init)
    assert sess.run(table.lookup(tf.constant([1, -1000, 11]))).tolist() == [1, 2, 3]


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: lookup.index_table_from_file(""), ValueError, "vocabulary_file"),
        (lambda: lookup.index_table_from_file(None), ValueError, "vocabulary_file"),
        (lambda: lookup.index_table_from_file("f", vocab_size=0), ValueError, "vocab_size"),
        (lambda: lookup.index_table_from_file("f", num_oov_buckets=-1), ValueError, "num_oov"),
        (lambda: lookup.index_table_from_file("f", key_dtype=tf.float32), TypeError, "Only"),
        (lambda: lookup.index_table_from_tensor(None), ValueError, "vocabulary_list"),
        (lambda: lookup.index_table_from_tensor(["a"], dtype=tf.int64), ValueError, "integer"),
        (lambda: lookup.index_to_string_table_from_file(""), ValueError, "vocabulary_file"),
        (lambda: lookup.index_to_string_table_from_tensor(None), ValueError, "vocabulary_list"),
    ],
)
def test_what_makes_no_table(call, error, text):
    with pytest.raises(error, match=text):
        call()
