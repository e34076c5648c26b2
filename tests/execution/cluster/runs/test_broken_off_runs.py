"""A run, or values that are set, when Ctrl-C breaks it off: the state goes on, whole."""

import signal

import pytest

import daskvars.v1 as tf
from tests import clusters

pytestmark = pytest.mark.cluster


def test_what_ctrl_c_kept_from_the_workers_is_sent_with_the_next_run(monkeypatch):
    with (
        clusters.running() as client,
        client.as_current(),
        tf.Graph().as_default(),
        tf.Session() as sess,
    ):
        v = tf.get_variable("v", initializer=[1.0, 2.0])
        drawn = tf.get_variable("drawn", initializer=tf.random_uniform([2]))
        begin = tf.group(v.initializer, drawn.initializer)
        transfers, calls = sess.engine.acquire().transfers, []
        put = transfers.put

        def broken_off(data, annotations_of):
            calls.append(data)
            if len(calls) == 2:  # the programs are there, the constants are not
                raise KeyboardInterrupt
            return put(data, annotations_of)

        monkeypatch.setattr(transfers, "put", broken_off)
        with pytest.raises(KeyboardInterrupt):
            sess.run(begin)
        sess.run(begin)
        assert sess.run(v).tolist() == [1.0, 2.0]


@pytest.mark.parametrize("setting", ["reset", "put"])
def test_ctrl_c_when_values_have_just_been_set_leaves_a_state_that_goes_on(
    tmp_path, monkeypatch, setting
):
    with (
        clusters.running() as client,
        client.as_current(),
        tf.Graph().as_default(),
        tf.Session(store=f"{tmp_path}/state.zarr") as sess,
    ):
        v = tf.get_variable("v", initializer=1.0)
        add, saver = v.assign_add(1.0), tf.train.Saver()
        sess.run(v.initializer)
        path = saver.save(sess, f"{tmp_path}/model")
        sess.engine.seal()
        sess.run(add)
        executor = sess.engine.acquire()
        call = executor.call_scheduler

        def then_ctrl_c(what, **arguments):
            found = call(what, **arguments)
            if what == setting:
                signal.raise_signal(signal.SIGINT)
            return found

        with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
            patch.setattr(executor, "call_scheduler", then_ctrl_c)
            sess.engine.recover() if setting == "reset" else saver.restore(sess, path)
        if setting == "put":  # the runs before it do not give these values again
            assert not executor.lost_runs.is_complete
        assert sess.run(v) == 1.0
        assert sess.run(add) == 2.0
