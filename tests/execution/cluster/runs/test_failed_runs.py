"""A run that fails while runs of other threads follow it: they are done on what was before it."""

import importlib
import threading
from pathlib import Path

import numpy as np
import pytest

import daskvars as dv
import daskvars.v1 as tf
from tests import clusters
from tests.waiting import wait_until

pytestmark = pytest.mark.cluster


def test_runs_of_other_threads_outlive_one_that_fails(tmp_path):
    file, error = tmp_path / "sent", []

    def once_sent(value):
        wait_until(Path(file).exists, "the runs of the other thread are sent")
        return value

    with (
        clusters.running() as client,
        client.as_current(),
        tf.Graph().as_default(),
        tf.Session() as sess,
    ):
        v, count = tf.Variable(0.0), tf.Variable(0)
        add = tf.group(tf.assign_add(v, 1.0))
        with tf.control_dependencies([tf.py_func(once_sent, [tf.constant(1.0)], tf.float32)]):
            last = tf.count_up_to(count, 1)
        sess.run(tf.global_variables_initializer())
        sess.run([add, tf.count_up_to(count, 1)])
        before = len(sess.engine.acquire().in_flight.runs)

        def fail():
            try:
                sess.run(last)
            except tf.errors.OutOfRangeError as found:
                error.append(found)

        thread = threading.Thread(target=fail)
        thread.start()
        in_flight = sess.engine.acquire().in_flight
        wait_until(lambda: len(in_flight.runs) > before, "the run that fails is sent")
        for _ in range(3):
            sess.run(add)
        file.touch()
        thread.join()
        assert len(error) == 1
        assert sess.run(v) == 4.0


@pytest.mark.usefixtures("graph")
@pytest.mark.parametrize("inside", [False, True])
def test_a_function_that_cannot_be_sent_names_its_operation(cluster, caplog, inside):
    w = tf.get_variable("w", [], initializer=tf.ones_initializer())

    def call():
        return tf.py_func(lambda: np.float32(sess.run(w)), [], tf.float32, name="reads")

    with tf.Session() as sess:
        sess.run(w.initializer)
        read = tf.cond(w > 0.0, call, lambda: tf.constant(0.0)) if inside else call()
        with pytest.raises(tf.errors.InvalidArgumentError, match="reads' runs on workers") as found:
            sess.run(read)
        assert "as arguments" in found.value.message
        assert not [r for r in caplog.records if "Failed to serialize" in r.message]
        assert sess.run(w) == 1.0


@pytest.mark.usefixtures("graph")
@pytest.mark.parametrize("by_value", [False, True])
def test_a_module_that_workers_lack_is_named_with_the_operation(
    two_workers, tmp_path, monkeypatch, by_value
):
    name = f"of_a_user_{by_value}"
    path = tmp_path / f"{name}.py"
    path.write_text("def double(x):\n    return 2 * x\n")
    monkeypatch.syspath_prepend(tmp_path)
    module = importlib.import_module(name)
    function = (lambda x: module.double(x)) if by_value else module.double
    v = tf.get_variable("v", [], initializer=tf.ones_initializer())
    doubled = tf.assign(v, tf.py_func(function, [v], tf.float32, name="doubled"))
    with two_workers.as_current(), tf.Session() as sess:
        sess.run(v.initializer)
        with pytest.raises(tf.errors.FailedPreconditionError, match="'doubled' runs on") as found:
            sess.run(doubled)
        assert f"No module named '{name}'" in found.value.message
        two_workers.upload_file(str(path))
        assert sess.run(doubled) == 2.0


def test_what_eager_code_called_before_an_op_that_fails_is_done(cluster):
    v, w = dv.Variable(1.0), dv.Variable(1.0)
    dv.sync()
    v.assign_add(1.0)
    bad = dv.gather(dv.constant([1.0, 2.0]), 7)
    w.assign_add(1.0)
    with pytest.raises(dv.errors.InvalidArgumentError, match="= 7 is not in"):
        w.numpy()
    assert (float(v), float(w)) == (2.0, 1.0)
    with pytest.raises(RuntimeError, match="the run that was to compute it failed"):
        bad.numpy()
