"""Programs partly on the GPU of this process give what NumPy gives."""

import numpy as np
import pytest

import daskvars.v1 as tf
from daskvars import backend
from daskvars.device_array import DeviceArray
from tests import fake_cupy
from tests.gpus import STAND_IN, assert_same


def loop():
    """A loop on the GPU whose gradient is wanted on the CPU: its history crosses."""
    with tf.device("/gpu:0"):
        w = tf.get_variable("w", initializer=np.float32(1.5))
        start = [0, tf.constant(np.ones(3, np.float32))]
        _, y = tf.while_loop(lambda i, y: i < 3, lambda i, y: (i + 1, tf.tanh(y * w)), start)
    with tf.device("/cpu:0"):
        return [y, tf.gradients(tf.reduce_sum(y * 2.0), [w])[0]]


def array():
    """A list of arrays that crosses."""
    with tf.device("/gpu:0"):
        items = tf.TensorArray(tf.float32, size=3)
        for i in range(3):
            items = items.write(i, tf.constant([1.0, 2.0]) * float(i))
    with tf.device("/cpu:0"):
        return [items.stack() + 1.0]


def texts():
    """What no GPU computes."""
    with tf.device("/gpu:0"):
        x = tf.as_string(tf.constant([1.5, 2.5]) * 2.0)
        y = tf.py_func(lambda a: a + 1, [tf.constant([1.0, 2.0]) * 2.0], tf.float32) * 3.0
        return [tf.string_join([x, x]), tf.concat([x, x], 0), tf.equal(x, x), y]


def rows():
    """A table in two chunks of which some rows are read and updated."""
    with tf.device("/gpu:0"):
        values = np.arange(20, dtype=np.float32).reshape(10, 2)
        table = tf.get_variable("table", initializer=values, chunks=(5, 2))
        taken = tf.nn.embedding_lookup(table, [1, 7, 1])
        step = tf.train.AdagradOptimizer(0.1).minimize(tf.reduce_sum(taken**2))
    with tf.control_dependencies([step]):
        return [table.read_value(), taken]


def results(build, soft):
    """What two runs of a program give."""
    with tf.Graph().as_default():
        fetches = build()
        with tf.Session(config=tf.ConfigProto(allow_soft_placement=soft)) as session:
            session.run(tf.global_variables_initializer())
            return [value for _ in range(2) for value in session.run(fetches)]


@pytest.mark.parametrize("build", [loop, array, texts, rows], ids=lambda build: build.__name__)
def test_a_program_partly_on_a_gpu(build, gpu, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(backend, "GPU_AVAILABLE", False)
        wanted = results(build, soft=True)
    fake_cupy.transfers.clear()
    found = results(build, soft=False)
    assert fake_cupy.transfers or gpu != STAND_IN
    assert not any(isinstance(value, DeviceArray) for value in found)
    assert_same(found, wanted, gpu)


def test_a_restored_variable_is_on_its_device(gpu, tmp_path):
    with tf.Graph().as_default(), tf.Session() as session:
        with tf.device("/gpu:0"):
            v = tf.get_variable("v", initializer=[1.0, 2.0])
            y = v * 2.0
        session.run(v.initializer)
        saver = tf.train.Saver()
        where = saver.save(session, str(tmp_path / "model"))
        session.run(v.assign([0.0, 0.0]))
        saver.restore(session, where)
        fake_cupy.transfers.clear()
        assert session.run(y).tolist() == [2.0, 4.0]
        assert fake_cupy.transfers == [("to host", 8)] or gpu != STAND_IN


def test_a_label_that_is_no_class_gives_nan_and_does_not_wait_for_the_gpu(gpu):
    with tf.Graph().as_default(), tf.Session() as session, tf.device("/gpu:0"):
        scores, labels = tf.placeholder(tf.float32, [3, 2]), tf.placeholder(tf.int32, [3])
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=scores)
        given = {scores: np.zeros((3, 2)), labels: [1, 2, -1]}
        found, slope = session.run([losses, tf.gradients(losses, scores)[0]], given)
    np.testing.assert_allclose(found, [np.log(2), np.nan, np.nan], rtol=1e-6)
    np.testing.assert_array_equal(np.isnan(slope).all(axis=1), [False, True, True])
