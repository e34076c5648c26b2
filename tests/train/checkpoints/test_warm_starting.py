"""warm_start: which variables, under which names, and what is refused."""

import numpy as np
import pytest

import daskvars.v1 as tf


@pytest.fixture
def earlier(tmp_path):
    """The directory of a checkpoint: a trained weight, its slot, and a table in parts."""
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.get_variable("layer/w", initializer=[1.0, 2.0])
        tf.get_variable("layer/w/slot", initializer=[3.0, 4.0], trainable=False)
        tf.get_variable("table", initializer=np.arange(6.0).reshape(3, 2))
        sess.run(tf.global_variables_initializer())
        tf.train.Saver().save(sess, str(tmp_path / "m"))
    return str(tmp_path)


def model():
    zeros = tf.zeros_initializer()
    w = tf.get_variable("layer/w", [2], initializer=zeros)
    slot = tf.get_variable("layer/w/slot", [2], initializer=zeros, trainable=False)
    parts = tf.fixed_size_partitioner(2)
    table = tf.get_variable("words", [3, 2], tf.float64, zeros, partitioner=parts)
    return w, slot, table


@pytest.mark.parametrize(
    "which, started",
    [
        (".*", (True, False, True)),
        ("layer", (True, False, False)),
        (["layer"], (True, True, False)),
        (["layer/w/", "words"], (False, True, True)),
        (None, (False, False, False)),
    ],
)
def test_variables_are_chosen_by_name(earlier, which, started):
    names = {"words": "table"} if started[2] else None
    with tf.Graph().as_default(), tf.Session() as sess:
        w, slot, table = model()
        tf.train.warm_start(earlier, which, var_name_to_prev_var_name=names)
        sess.run(tf.global_variables_initializer())
        found = sess.run([w, slot, tf.convert_to_tensor(table)])
    wanted = ([1.0, 2.0], [3.0, 4.0], np.arange(6.0).reshape(3, 2))
    for value, full, is_started in zip(found, wanted, started, strict=True):
        np.testing.assert_array_equal(value, np.multiply(full, is_started))


def test_variables_themselves(earlier):
    with tf.Graph().as_default(), tf.Session() as sess:
        _, slot, _ = model()
        tf.train.warm_start(earlier, [slot], var_name_to_prev_var_name={"layer/w/slot": "layer/w"})
        sess.run(slot.initializer)
        assert sess.run(slot).tolist() == [1.0, 2.0]


def test_what_is_refused(earlier):
    with tf.Graph().as_default():
        w, _, _ = model()
        with pytest.raises(ValueError, match=r"not used: \['layer/v'\]"):
            tf.train.warm_start(earlier, "layer", None, {"layer/v": "layer/w"})
        with pytest.raises(ValueError, match="regular expression"):
            tf.train.warm_start(earlier, [w, "layer"])
        with pytest.warns(UserWarning, match="begins with 'laier': nothing is warm-started by it"):
            tf.train.warm_start(earlier, ["layer/w/", "laier"])
        with pytest.raises(ValueError, match=r"Tensor words .* is not found"):
            tf.train.warm_start(earlier)
        with pytest.raises(ValueError, match=r"var_name_to_vocab_info .* not used: \['layer/v'\]"):
            tf.train.warm_start(earlier, "layer", {"layer/v": tf.train.VocabInfo("", 1, 0, "")})


def vocabularies(folder, **more):
    (folder / "old.txt").write_text("apple\nbanana\npear\n")
    (folder / "new.txt").write_text("pear\ncherry\napple\n")
    files = {"new_vocab": str(folder / "new.txt"), "old_vocab": str(folder / "old.txt")}
    return tf.train.VocabInfo(**{**files, "new_vocab_size": 3, "num_oov_buckets": 1, **more})


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize(
    "more, rows",
    [
        ({}, [[4, 5], [0, 0], [0, 1], [0, 0]]),
        ({"old_vocab_size": 2}, [[0, 0], [0, 0], [0, 1], [0, 0]]),
        ({"backup_initializer": tf.constant_initializer(7.0)}, [[4, 5], [7, 7], [0, 1], [7, 7]]),
    ],
)
def test_rows_go_by_their_words(earlier, tmp_path, parts, more, rows):
    with tf.Graph().as_default(), tf.Session() as sess:
        partitioner = tf.fixed_size_partitioner(parts)
        w = tf.get_variable("layer/w", [2], initializer=tf.zeros_initializer())
        table = tf.get_variable("words", [4, 2], tf.float64, partitioner=partitioner)
        vocab = {"words": vocabularies(tmp_path, **more)}
        tf.train.warm_start(earlier, None, vocab, {"words": "table"})
        sess.run(tf.global_variables_initializer())
        found = sess.run([tf.convert_to_tensor(table), w])
    np.testing.assert_array_equal(found[0], rows)
    np.testing.assert_array_equal(found[1], [0, 0])  # None: only what has a vocabulary


def test_columns_go_by_their_words(earlier, tmp_path):
    (tmp_path / "old.txt").write_text("yes\nno\n")
    (tmp_path / "new.txt").write_text("no\nmaybe\nyes\n")
    vocab = tf.train.VocabInfo(str(tmp_path / "new.txt"), 3, 0, str(tmp_path / "old.txt"), axis=1)
    with tf.Graph().as_default(), tf.Session() as sess:
        parts = tf.fixed_size_partitioner(2)
        table = tf.get_variable("table", [3, 3], tf.float64, partitioner=parts)
        tf.train.warm_start(earlier, "table", {"table": vocab})
        sess.run(tf.global_variables_initializer())
        found = sess.run(tf.convert_to_tensor(table))
    np.testing.assert_array_equal(found, [[1, 0, 0], [3, 0, 2], [5, 0, 4]])


@pytest.mark.parametrize(
    "more, problem",
    [
        ({"new_vocab_size": 4}, "has 3 words, expected 4"),
        ({"old_vocab": ""}, "need new_vocab, new_vocab_size and old_vocab"),
        ({"num_oov_buckets": 0}, "doesn't match with 3 words"),
        ({"axis": 2}, "only supported values for the axis"),
    ],
)
def test_vocabularies_that_do_not_fit(earlier, tmp_path, more, problem):
    with tf.Graph().as_default():
        tf.get_variable("table", [4, 2], tf.float64)
        with pytest.raises(ValueError, match=problem):
            tf.train.warm_start(earlier, "table", {"table": vocabularies(tmp_path, **more)})


def test_a_vocabulary_with_a_word_twice(earlier, tmp_path):
    info = vocabularies(tmp_path)
    (tmp_path / "new.txt").write_text("pear\npear\napple\n")
    with tf.Graph().as_default():
        tf.get_variable("table", [4, 2], tf.float64)
        with pytest.raises(ValueError, match="b'pear' more than once"):
            tf.train.warm_start(earlier, "table", {"table": info})
