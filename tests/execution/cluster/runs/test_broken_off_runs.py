"""A run, or values that are set, when Ctrl-C breaks it off: the state goes on, whole."""

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
        executor, calls = sess.engine.acquire(), []
        put_data = executor.put_data

        def broken_off(data, annotations_of):
            calls.append(data)
            if len(calls) == 2:  # the programs are there, the constants are not
                raise KeyboardInterrupt
            return put_data(data, annotations_of)

        monkeypatch.setattr(executor, "put_data", broken_off)
        with pytest.raises(KeyboardInterrupt):
            sess.run(begin)
        sess.run(begin)
        assert sess.run(v).tolist() == [1.0, 2.0]
