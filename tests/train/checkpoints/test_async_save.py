"""Saves that go on while training does: the values of the moment of the call, and their errors."""

import os
import threading
import tracemalloc

import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf
from daskvars.errors import StoreError
from daskvars.state.format import chunks
from daskvars.state.stores import objects

LARGE = (512, 1024)  # updated in place


pytestmark = pytest.mark.usefixtures("graph_unless_eager")


@pytest.fixture
def gate(monkeypatch):
    """Chunks are written only once this event is set."""
    opened = threading.Event()

    def put(*arguments, **options):
        assert opened.wait(30)
        objects.put(*arguments, **options)

    monkeypatch.setattr(chunks, "put", put)
    yield opened
    opened.set()


def address_of(sess, key):
    (array,) = sess.engine.values.get(key).values()
    return array.ctypes.data


@pytest.mark.parametrize("update", ["dense", "sparse"])
def test_later_runs_change_nothing_in_it(tmp_path, gate, update):
    v = tf.get_variable("v", initializer=np.ones(LARGE, np.float32))
    step = (
        v.assign_add(tf.ones_like(v))
        if update == "dense"
        else tf.scatter_add(v, [3, 3, 5], np.ones((3, LARGE[1]), np.float32))
    )
    with tf.Session() as sess:
        sess.run(v.initializer)
        sess.run(step.op)
        address = address_of(sess, "v")
        sess.run(step.op)
        assert address_of(sess, "v") == address, "updates are in place when nobody looks"
        before = sess.run(v)
        saving = tf.train.Saver().save_async(sess, str(tmp_path / "m"), global_step=2)
        assert not saving.done()
        assert saving.path == str(tmp_path / "m-2")
        for _ in range(3):
            sess.run(step.op)
        after = sess.run(v)
        assert tf.train.latest_checkpoint(str(tmp_path)) is None
        gate.set()
        assert saving.result(30) == saving.path
        np.testing.assert_array_equal(tf.train.load_variable(saving.path, "v"), before)
        np.testing.assert_array_equal(sess.run(v), after)
        assert not np.array_equal(before, after)
        assert tf.train.latest_checkpoint(str(tmp_path)) == saving.path
        address = address_of(sess, "v")
        sess.run(step.op)
        assert address_of(sess, "v") == address, "in place again when it is written"


def test_restoring_closing_and_the_next_save_wait_for_it(tmp_path, gate):
    v = tf.get_variable("v", initializer=1.0)
    saver = tf.train.Saver(max_to_keep=2)
    threading.Timer(0.05, gate.set).start()
    with tf.Session() as sess:
        sess.run(v.initializer)
        saving = saver.save_async(sess, str(tmp_path / "a"))
        sess.run(v.assign(2.0))
        saver.restore(sess, saving.path)
        assert sess.run(v) == 1.0
        second = saver.save_async(sess, str(tmp_path / "b"))
        assert saver.save(sess, str(tmp_path / "c")) == str(tmp_path / "c")
        assert second.done()
        gate.clear()
        threading.Timer(0.05, gate.set).start()
        last = saver.save_async(sess, str(tmp_path / "d"))
    assert last.done()
    assert saver.last_checkpoints == [str(tmp_path / name) for name in "cd"]


def test_it_goes_on_record_in_the_folder_where_it_was_begun(tmp_path, gate, monkeypatch):
    v = tf.get_variable("v", initializer=1.0)
    saver = tf.train.Saver(max_to_keep=1)
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path)
    with tf.Session() as sess:
        sess.run(v.initializer)
        gate.set()
        saver.save(sess, "run/m", 1)
        gate.clear()
        saving = saver.save_async(sess, "run/m", 2)
        monkeypatch.chdir("other")
        gate.set()
        assert [saving.result(30)] == saver.last_checkpoints == ["run/m-2"]
    assert os.listdir(".") == []
    assert sorted(os.listdir("../run")) == ["checkpoint", "m-2", "m-2.meta"]
    assert tf.train.latest_checkpoint("../run") == "../run/m-2"


def test_an_error_is_told_once(tmp_path, monkeypatch):
    v = tf.get_variable("v", initializer=1.0)
    saver = tf.train.Saver()

    def refuse(*_, **__):
        raise StoreError(None, None, "the disk is full")

    with tf.Session() as sess:
        sess.run(v.initializer)
        path = saver.save(sess, str(tmp_path / "m"))
        sess.run(v.assign(2.0))
        with monkeypatch.context() as patched:
            patched.setattr(chunks, "put", refuse)
            saver.save_async(sess, path)
            with pytest.raises(StoreError, match="full"):
                saver.save(sess, path)
            told = saver.save_async(sess, path, 7)
            with pytest.raises(StoreError, match="full"):
                told.result(30)
            assert not (tmp_path / "m-7.meta").exists(), "nor the graph of what is not there"
            assert tf.train.load_variable(path, "v") == 1.0
        saver.save(sess, path)
        assert tf.train.load_variable(path, "v") == 2.0
        with monkeypatch.context() as patched:
            patched.setattr(chunks, "put", refuse)
            saver.save_async(sess, path)._future.exception()
        with pytest.raises(StoreError, match="full"):
            sess.close()


def test_uninitialized_variables_are_refused_at_once(tmp_path):
    tf.get_variable("v", initializer=1.0)
    with tf.Session() as sess, pytest.raises(tf.errors.FailedPreconditionError, match="v"):
        tf.train.Saver().save_async(sess, str(tmp_path / "m"))


def test_a_monitored_session_saves_so_with_such_a_saver(tmp_path):
    step = tf.train.get_or_create_global_step()
    v = tf.get_variable("v", initializer=np.zeros(3))
    train = tf.group(v.assign_add(np.ones(3)), step.assign_add(1))
    scaffold = tf.train.Scaffold(saver=tf.train.Saver(async_save=True))
    with tf.train.MonitoredTrainingSession(
        checkpoint_dir=str(tmp_path),
        scaffold=scaffold,
        save_checkpoint_steps=2,
        save_checkpoint_secs=None,
        log_step_count_steps=None,
    ) as sess:
        for _ in range(5):
            sess.run(train)
    assert tf.train.latest_checkpoint(str(tmp_path)) == str(tmp_path / "model.ckpt-5")
    for path in scaffold.saver.last_checkpoints:
        steps = int(path.rpartition("-")[2])
        np.testing.assert_array_equal(tf.train.load_variable(path, "v"), np.full(3, steps))


def test_eager_variables(tmp_path):
    v = dv.Variable(np.ones(4), name="eager_v")
    saving = dv.train.Saver([v]).save_async(None, str(tmp_path / "e"))
    v.assign(np.zeros(4))
    key = v.name.removesuffix(":0")
    np.testing.assert_array_equal(tf.train.load_variable(saving.result(30), key), np.ones(4))


def test_parts_that_do_not_line_up_are_saved_at_once(tmp_path):
    values = np.arange(42.0).reshape(7, 6)
    first = tf.get_variable("a", initializer=values[:4], chunks=((4,), (4, 2)))
    second = tf.get_variable("b", initializer=values[4:], chunks=((3,), (3, 3)))
    for start, part in ((0, first), (4, second)):
        part._set_save_slice_info(
            tf.Variable.SaveSliceInfo("table", [7, 6], [start, 0], part.shape.as_list())
        )
    with tf.Session() as sess:
        sess.run(tf.global_variables_initializer())
        saving = tf.train.Saver([[first, second]]).save_async(sess, str(tmp_path / "p"))
        assert saving.done()
        found = tf.train.load_variable(saving.result(), "table")
        np.testing.assert_array_equal(found, values)


def test_twenty_of_them_leave_no_memory_behind(tmp_path):
    v = tf.get_variable("v", initializer=np.zeros((1024, 1024), np.float32))
    step = v.assign_add(tf.ones_like(v)).op
    saver = tf.train.Saver(max_to_keep=1)
    with tf.Session() as sess:
        sess.run(v.initializer)
        sess.run(step)
        sess.run(step)

        def save(number):
            saver.save_async(sess, str(tmp_path / "m"), number, write_meta_graph=False).result(30)
            sess.run(step)

        save(0)
        tracemalloc.start()  # NumPy tells it of arrays, so that it sees each copy of a value
        try:
            save(1)
            first = tracemalloc.get_traced_memory()[0]
            for number in range(2, 22):
                save(number)
            last = tracemalloc.get_traced_memory()[0]
        finally:
            tracemalloc.stop()
    assert last - first < 0.1 * 4 * 2**20
