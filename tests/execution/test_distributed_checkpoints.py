"""Checkpoints on a cluster: parts of variables, other layouts, initial values from files."""

import numpy as np
import pytest

import daskvars.v1 as tf

VALUE = np.arange(42.0).reshape(7, 6)


@pytest.fixture(autouse=True)
def cluster(two_workers):
    with two_workers.as_current(), tf.Graph().as_default():
        yield two_workers


def table(parts, chunks=None):
    return tf.get_variable(
        "table", initializer=VALUE, partitioner=lambda shape, dtype: parts, chunks=chunks
    )


@pytest.mark.parametrize("chunks", [None, (2, 3)])
def test_parts_are_saved_as_one_array_and_restored_into_other_parts(tmp_path, chunks):
    saved = table([3, 1], chunks)
    slot = tf.get_variable("table/Adam", initializer=-VALUE, chunks=((3, 4), (6,)))
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        path = tf.train.Saver([saved, slot]).save(sess, str(tmp_path / "m"))
    np.testing.assert_array_equal(tf.train.load_variable(path, "table"), VALUE)
    with tf.Graph().as_default(), tf.Session() as sess:
        again = table([1, 2], (7, 2))
        slot = tf.get_variable("table/Adam", initializer=VALUE, chunks=((1,) * 7, (6,)))
        tf.train.Saver([again, slot]).restore(sess, path)
        whole, slot = sess.run([tf.convert_to_tensor(again), slot])
        np.testing.assert_array_equal(whole, VALUE)
        np.testing.assert_array_equal(slot, -VALUE)


def test_operations_and_initial_values_read_on_workers(tmp_path):
    v = tf.get_variable("v", initializer=VALUE, chunks=((4, 3), (6,)))
    saver = tf.train.Saver(reshape=True)
    names = saver.saver_def
    with tf.Session() as sess:
        sess.run(v.initializer)
        path = str(tmp_path / "m")
        sess.run(names.save_tensor_name, {names.filename_tensor_name: path})
        sess.run(v.assign(v * 0.0))
        saver.restore(sess, path)
        np.testing.assert_array_equal(sess.run(v), VALUE)
    tf.train.init_from_checkpoint(path, {"v": v})
    with tf.Session() as sess:
        sess.run(v.initializer)
        np.testing.assert_array_equal(sess.run(v), VALUE)
