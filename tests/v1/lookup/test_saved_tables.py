"""Tables that grow are in checkpoints, under the names that TensorFlow gives them."""

import pytest

import daskvars.v1 as tf
from tests.clusters import running

CASES = [
    (tf.string, tf.int64, ["a", "b"], [1, 2], -1),
    (tf.int64, tf.float32, [3, 4], [[1.0, 2.0], [3.0, 4.0]], [0.0, 0.0]),
]


def made(key_dtype, value_dtype, default, **options):
    table = tf.contrib.lookup.MutableHashTable(
        key_dtype, value_dtype, default, name="table", **options
    )
    return table, tf.Variable(1.0, name="w")


def check_saved_and_restored(path, key_dtype, value_dtype, keys, values, default):
    with tf.Graph().as_default():
        table, _ = made(key_dtype, value_dtype, default)
        insert, export, size = table.insert(keys, values), table.export(), table.size()
        saver = tf.train.Saver()
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            saver.save(sess, f"{path}/empty")
            sess.run(insert)
            saver.save(sess, f"{path}/full")
        with tf.Session() as sess:
            saver.restore(sess, f"{path}/full")
            found = dict(zip(*(part.tolist() for part in sess.run(export)), strict=True))
            saver.restore(sess, f"{path}/empty")
            assert sess.run(size) == 0
    wanted = [key.encode() if isinstance(key, str) else key for key in keys]
    assert found == dict(zip(wanted, values, strict=True))
    names = [name for name, _ in tf.train.list_variables(f"{path}/full")]
    assert names == ["table-keys", "table-values", "w"]


@pytest.mark.parametrize("case", CASES)
def test_a_table_is_saved_and_restored(tmp_path, case):
    check_saved_and_restored(tmp_path, *case)


@pytest.mark.cluster
def test_on_a_cluster_too(tmp_path):
    with running(2) as client, client.as_current():
        check_saved_and_restored(tmp_path, *CASES[0])


def test_pairs_of_after_the_save_are_gone_after_the_restore(tmp_path):
    with tf.Graph().as_default(), tf.Session() as sess:
        table, w = made(tf.int64, tf.int64, -1)
        keys = tf.placeholder(tf.int64, [None])
        insert, found = table.insert(keys, keys * 10), table.lookup(keys)
        saver = tf.train.Saver()
        sess.run([w.initializer, insert], {keys: [1, 2]})
        saver.save(sess, f"{tmp_path}/model")
        sess.run(insert, {keys: [3]})
        saver.restore(sess, f"{tmp_path}/model")
        assert sess.run(found, {keys: [1, 2, 3]}).tolist() == [10, 20, -1]


def test_a_table_may_stay_out_of_checkpoints(tmp_path):
    with tf.Graph().as_default(), tf.Session() as sess:
        table, w = made(tf.int64, tf.int64, -1, checkpoint=False)
        sess.run([w.initializer, table.insert([1], [2])])
        tf.train.Saver().save(sess, f"{tmp_path}/model")
        assert [name for name, _ in tf.train.list_variables(f"{tmp_path}/model")] == ["w"]
        assert tf.get_collection(tf.GraphKeys.SAVEABLE_OBJECTS) == []
        with pytest.raises(ValueError, match="'table' was made with checkpoint=False"):
            tf.train.Saver([table])


def test_a_saver_takes_tables_among_its_variables_and_by_other_names(tmp_path):
    with tf.Graph().as_default(), tf.Session() as sess:
        table, w = made(tf.int64, tf.int64, -1)
        sess.run([w.initializer, table.insert([1], [2])])
        saver = tf.train.Saver({"words": table})
        saver.save(sess, f"{tmp_path}/model")
        names = [name for name, _ in tf.train.list_variables(f"{tmp_path}/model")]
        assert names == ["words-keys", "words-values"]
        sess.run(table.insert([1, 5], [7, 6]))
        saver.restore(sess, f"{tmp_path}/model")
        assert [part.tolist() for part in sess.run(table.export())] == [[1], [2]]
        tf.train.Saver([w, table]).save(sess, f"{tmp_path}/both")
        assert len(tf.train.list_variables(f"{tmp_path}/both")) == 3


def test_a_saver_of_some_variables_leaves_tables_alone(tmp_path):
    with tf.Graph().as_default(), tf.Session() as sess:
        table, w = made(tf.int64, tf.int64, -1)
        saver = tf.train.Saver([w])
        sess.run([w.initializer, table.insert([1], [2])])
        saver.save(sess, f"{tmp_path}/model")
        sess.run(table.insert([5], [6]))
        saver.restore(sess, f"{tmp_path}/model")
        assert sess.run(table.size()) == 2
