"""Signals wait until what must not stop half-way is done."""

import signal
import threading

import numpy as np
import pytest

import daskvars.v1 as tf
from daskvars.execution.engine.interrupts import shielded
from daskvars.execution.local import executor as local


class Alarm(Exception):
    pass


@pytest.fixture
def handled():
    """SIGALRM raises Alarm, as timeouts do; SIGINT interrupts, also in a job in the background."""

    def handler(number, frame):
        raise Alarm

    before = signal.signal(signal.SIGALRM, handler)
    interrupt = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield handler
    signal.signal(signal.SIGALRM, before)
    signal.signal(signal.SIGINT, interrupt)


@pytest.mark.parametrize("number, error", [("SIGINT", KeyboardInterrupt), ("SIGALRM", Alarm)])
def test_a_signal_takes_effect_after_the_function(handled, number, error):
    done = []

    def function():
        signal.raise_signal(getattr(signal, number))
        done.append(1)

    with pytest.raises(error):
        shielded(function)
    assert done == [1]
    assert signal.getsignal(signal.SIGALRM) is handled
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_error_of_the_function_leaves_the_handlers_as_they_were(handled):
    with pytest.raises(ZeroDivisionError):
        shielded(lambda: 1 // 0)
    assert signal.getsignal(signal.SIGALRM) is handled


def test_other_threads_need_no_shield():
    found = []
    thread = threading.Thread(target=lambda: found.append(shielded(lambda: 3)))
    thread.start()
    thread.join()
    assert found == [3]


def test_an_interrupt_during_an_update_in_place_leaves_the_whole_update(handled, monkeypatch):
    """The session's last step is shielded: the interrupt comes, and both variables are updated."""

    def interrupted(function):
        def whole():
            signal.raise_signal(signal.SIGINT)
            return function()

        return shielded(whole)

    monkeypatch.setattr(local, "shielded", interrupted)
    with tf.Graph().as_default(), tf.Session() as sess:
        a, b = (tf.Variable(tf.zeros([1 << 19]), name=name) for name in "ab")
        sess.run(tf.global_variables_initializer())
        update = tf.group(tf.assign_add(a, tf.ones([1 << 19])), tf.assign_add(b, a + 1.0))
        with pytest.raises(KeyboardInterrupt):
            sess.run(update)
        monkeypatch.undo()
        first, second = sess.run([a, b])
        assert np.all(first == 1) and np.all(second == 1)
