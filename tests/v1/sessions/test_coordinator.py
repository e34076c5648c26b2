"""The coordinator of threads: stops, what is raised, and threads that loop."""

import sys
import threading

import pytest

import daskvars.v1 as tf


def reporting(coord, error):
    """Return a thread that reports an exception."""

    def work():
        with coord.stop_on_exception():
            raise error

    return threading.Thread(target=work)


def test_a_stop_ends_the_threads():
    coord = tf.train.Coordinator()
    threads = [threading.Thread(target=coord.wait_for_stop) for _ in range(3)]
    coord.register_thread(threads[0])
    for thread in threads:
        thread.start()
    assert not coord.should_stop()
    coord.request_stop()
    coord.join(threads[1:])
    assert coord.joined
    assert not any(thread.is_alive() for thread in threads)
    coord.clear_stop()
    assert not coord.should_stop()
    assert not coord.joined


def test_join_raises_what_a_thread_reported():
    coord = tf.train.Coordinator()
    thread = reporting(coord, RuntimeError("first"))
    thread.start()
    with pytest.raises(RuntimeError, match="first"):
        coord.join([thread])
    with pytest.raises(RuntimeError, match="first"):
        coord.raise_requested_exception()
    with pytest.raises(ValueError, match="late"):
        coord.request_stop((ValueError, ValueError("late"), None))


@pytest.mark.parametrize(
    "clean, error",
    [(None, tf.errors.OutOfRangeError(None, None, "end")), ([KeyError], KeyError("k"))],
)
def test_an_ordinary_end_is_no_error(clean, error):
    coord = tf.train.Coordinator(clean)
    thread = reporting(coord, error)
    thread.start()
    coord.join([thread])
    assert coord.should_stop()


def test_threads_that_do_not_stop():
    coord, release = tf.train.Coordinator(), threading.Event()
    thread = threading.Thread(target=release.wait, name="lazy")
    thread.start()
    coord.request_stop()
    with pytest.raises(RuntimeError, match="threads still running: lazy"):
        coord.join([thread], stop_grace_period_secs=0.01)
    coord.join([thread], stop_grace_period_secs=0.01, ignore_live_threads=True)
    release.set()
    thread.join()


def test_what_is_reported_may_be_an_exception_or_exc_info():
    for give in (lambda e: e, lambda e: sys.exc_info()):
        coord = tf.train.Coordinator()
        try:
            raise KeyError("k")
        except KeyError as error:
            coord.request_stop(give(error))
        with pytest.raises(KeyError, match="k"):
            coord.join()


@pytest.mark.parametrize("interval", [None, 0.001])
def test_a_looper_calls_until_the_stop(interval):
    coord, seen = tf.train.Coordinator(), []

    def work(a, b):
        seen.append(a + b)
        if len(seen) == 3:
            coord.request_stop()

    looper = tf.train.LooperThread.loop(coord, interval, work, args=(1,), kwargs={"b": 2})
    coord.join()
    assert not looper.is_alive()
    assert seen == [3, 3, 3]


def test_a_looper_reports_its_error():
    coord = tf.train.Coordinator()
    tf.train.LooperThread.loop(coord, 0.001, lambda: 1 // 0)
    with pytest.raises(ZeroDivisionError):
        coord.join()


def test_what_a_looper_needs():
    with pytest.raises(ValueError, match="must be a Coordinator"):
        tf.train.LooperThread("coord", 1)
    with pytest.raises(ValueError, match="require that you also pass 'target'"):
        tf.train.LooperThread(tf.train.Coordinator(), 1, args=(1,))
