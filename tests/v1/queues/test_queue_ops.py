"""Queues give what TensorFlow's give, wait for other threads, and end when they must."""

import json
import threading
from pathlib import Path

import numpy as np
import pytest

import daskvars.v1 as tf
from tests.v1.queues import cases
from tests.waiting import wait_until

EXPECTED = json.loads(Path(__file__).with_name("tensorflow.json").read_text())


@pytest.fixture(scope="module")
def found():
    return json.loads(json.dumps(cases.results(tf)))


@pytest.mark.parametrize("name", cases.CASES)
def test_as_in_tensorflow(found, name):
    assert found[name] == EXPECTED[name]


class Running(threading.Thread):
    """A run in a thread of its own, and what came of it."""

    def __init__(self, sess, fetches, **kwargs):
        super().__init__(daemon=True)
        self.arguments, self.error = (sess, fetches, kwargs), None
        self.start()

    def run(self):
        sess, fetches, kwargs = self.arguments
        try:
            self.result = sess.run(fetches, **kwargs)
        except tf.errors.OpError as error:
            self.error = error

    def ended(self):
        self.join(30)
        assert not self.is_alive()
        return self.error


def queue_of(*values, capacity=3):
    queue = tf.FIFOQueue(capacity, tf.int32, [[]])
    if values:
        tf.get_default_session().run(queue.enqueue_many([list(values)]))
    return queue


def has_waiting(sess):
    return lambda: any(w._conditions for w in sess.engine.resources._calls)


def test_closing_the_session_cancels_who_waits():
    sess = tf.Session()
    with sess.as_default():
        taking = Running(sess, queue_of().dequeue())
        wait_until(has_waiting(sess), "no op waits")
        sess.close()
    assert isinstance(taking.ended(), tf.errors.CancelledError)
    assert "Dequeue operation was cancelled" in str(taking.error)


def test_who_waits_on_a_shared_store_is_cancelled_by_its_own_session_alone(tmp_path):
    first, second = (tf.Session(str(tmp_path)) for _ in range(2))
    first.engine.resources.timeout_s = 60.0
    assert second.engine.resources.timeout_s is None
    with first.as_default():
        queue = queue_of()
    take = queue.dequeue()
    waiting = [Running(s, take) for s in (first, second)]
    for session in (first, second):
        wait_until(has_waiting(session), "no op waits")
    first.close()
    assert "Session::Close" in str(waiting[0].ended())
    second.run(queue.enqueue(7))
    assert waiting[1].ended() is None and waiting[1].result == 7
    second.close()


def test_pending_enqueues_can_be_cancelled(sess):
    queue = queue_of(1, 2, 3)
    putting = Running(sess, queue.enqueue(4))
    wait_until(has_waiting(sess), "no op waits")
    sess.run(queue.close(cancel_pending_enqueues=True))
    assert isinstance(putting.ended(), tf.errors.CancelledError)
    assert sess.run(queue.dequeue_many(3)).tolist() == [1, 2, 3]


def test_pending_enqueues_come_before_the_end(sess):
    queue = queue_of(1, 2, 3)
    putting = Running(sess, queue.enqueue_many([[4, 5]]))
    wait_until(has_waiting(sess), "no op waits")
    sess.run(queue.close())
    assert not sess.run(queue.is_closed())
    assert sess.run(queue.dequeue_many(5)).tolist() == [1, 2, 3, 4, 5]
    assert putting.ended() is None
    with pytest.raises(tf.errors.OutOfRangeError):
        sess.run(queue.dequeue())


def test_a_wait_can_be_limited(sess):
    queue = queue_of(1)
    with pytest.raises(tf.errors.DeadlineExceededError, match="Dequeue"):
        sess.run(queue.dequeue_many(2), options=tf.RunOptions(timeout_in_ms=20))
    assert sess.run(queue.size()) == 1  # what it had taken is there again
    limited = tf.Session(config=tf.ConfigProto(operation_timeout_in_ms=20))
    with pytest.raises(tf.errors.DeadlineExceededError):
        limited.run(queue.dequeue())


def test_a_waiting_step_holds_nothing(sess):
    """A step that waits for its batch, and updates variables, lets others update them."""
    queue = queue_of()
    v = tf.Variable(0)
    sess.run(v.initializer)
    step = Running(sess, v.assign_add(queue.dequeue()))
    wait_until(has_waiting(sess), "no op waits")
    assert sess.run(v.assign_add(1)) == 1
    sess.run(queue.enqueue(v))
    assert step.ended() is None
    assert (step.result, sess.run(v)) == (2, 2)


def test_what_one_run_puts_in_and_takes_out(sess):
    queue = queue_of()
    assert sess.run([queue.enqueue_many([list(range(9))]), queue.dequeue_many(9)])[1].sum() == 36


def test_an_error_ends_what_waits_in_the_same_run(sess):
    empty, closed = queue_of(), queue_of()
    sess.run(closed.close())
    with pytest.raises(tf.errors.OutOfRangeError, match="'fifo_queue_1' is closed"):
        sess.run([empty.dequeue(), closed.dequeue()])


def test_an_assertion_comes_before_the_element_that_waits_for_it(sess):
    queue, wrong = queue_of(), tf.Assert(False, ["before the element"])
    with tf.control_dependencies([wrong]):
        put = queue.enqueue(33)  # a constant, which waits as the enqueue does
    with pytest.raises(tf.errors.InvalidArgumentError, match="before the element"):
        sess.run(put)
    assert sess.run(queue.size()) == 0
    with pytest.raises(tf.errors.InvalidArgumentError, match="before the element"):
        sess.run([queue.dequeue(), put])  # one waits for the other


def test_elements_are_of_the_session(sess):
    queue = queue_of(1)
    other = tf.Session()
    assert other.run(queue.size()) == 0


def test_sessions_on_a_store_share_queues():
    queue = tf.FIFOQueue(3, tf.int32, [[]], shared_name="both")
    first, second = tf.Session("shared-queues"), tf.Session("shared-queues")
    first.run(queue.enqueue(5))
    assert second.run(queue.dequeue()) == 5
    for other, problem in (
        (tf.FIFOQueue(4, tf.int32, [[]], shared_name="both"), "capacity"),
        (tf.FIFOQueue(3, tf.int64, [[]], shared_name="both"), "component types"),
        (tf.PriorityQueue(3, [tf.int32], [[]], shared_name="both"), "of another kind"),
    ):
        with pytest.raises(tf.errors.InvalidArgumentError, match=problem):
            first.run(other.size())
    first.close()
    second.run(queue.enqueue(6))
    tf.Session.reset("shared-queues")


def test_containers_have_queues_of_their_own(sess):
    """One name in two containers is of two queues; what needs it can read where a queue is."""
    made = []
    for place in ("left", "right", "left"):
        with tf.container(place):
            made.append(tf.FIFOQueue(3, tf.int32, [[]], shared_name="both"))
    made.append(tf.FIFOQueue(3, tf.int32, [[]], shared_name="both"))
    sess.run(made[0].enqueue(1))
    assert sess.run([queue.size() for queue in made]) == [1, 0, 1, 0]
    places = [queue.queue_ref.op.get_attr("container") for queue in made]
    assert places == [b"left", b"right", b"left", b""]


def test_graphs_in_files_keep_their_queues(sess, tmp_path):
    queue = tf.PaddingFIFOQueue(9, [tf.int32, tf.string], [[None], []])
    queue.enqueue([[1, 2], "a"], name="put")
    tf.identity(queue.dequeue_many(1)[0], name="taken")
    tf.RandomShuffleQueue(9, 2, tf.int32, seed=1)
    tf.FixedLengthRecordReader(3, 2)
    tf.train.batch([tf.constant(1)], 2)
    tf.train.export_meta_graph(str(tmp_path / "model.meta"))
    with tf.Graph().as_default(), tf.Session() as other:
        tf.train.import_meta_graph(str(tmp_path / "model.meta"))
        other.run("put")
        assert other.run("taken:0").tolist() == [[1, 2]]


def test_shuffling_is_by_seed():
    def order(seed):
        with tf.Graph().as_default(), tf.Session() as sess:
            queue = tf.RandomShuffleQueue(50, 0, tf.int32, [[]], seed=seed)
            sess.run(queue.enqueue_many([list(range(50))]))
            return sess.run(queue.dequeue_many(50)).tolist()

    assert order(1) == order(1) != order(2)
    assert sorted(order(1)) == list(range(50))


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: tf.FIFOQueue(3, [tf.int32], [[], []]), ValueError, "same length as dtypes"),
        (lambda: tf.FIFOQueue(3, tf.int32, [[None]]), ValueError, "fully defined"),
        (lambda: tf.PaddingFIFOQueue(3, tf.int32, [None]), ValueError, "list of shapes"),
        (lambda: tf.PaddingFIFOQueue(3, tf.int32, None), ValueError, "list of shapes"),
        (
            lambda: tf.PaddingFIFOQueue(3, [tf.int32] * 2, [[], tf.TensorShape(None)]),
            ValueError,
            "rank",
        ),
        (lambda: tf.FIFOQueue(3, tf.int32, names=["a", "b"]), ValueError, "same length"),
        (lambda: tf.FIFOQueue(3, tf.int32).enqueue({"a": 1}), ValueError, "must have names"),
        (lambda: tf.FIFOQueue(3, tf.int32, names="a").enqueue(1), ValueError, "a dictionary"),
        (lambda: tf.FIFOQueue(3, tf.int32, [[2]]).enqueue([1]), ValueError, "compatible"),
        (lambda: tf.FIFOQueue(3, tf.int32).dequeue_many(2), ValueError, "specified shapes"),
        (lambda: tf.RandomShuffleQueue(3, 3, tf.int32), ValueError, "less than the capacity"),
    ],
)
def test_what_does_not_fit_is_refused(make, error, text):
    with pytest.raises((error, tf.errors.InvalidArgumentError), match=text):
        make()


def test_branches_are_refused():
    queue = tf.FIFOQueue(3, tf.int32, [[]])
    with pytest.raises(NotImplementedError, match="branch or a loop"):
        tf.cond(tf.constant(True), queue.dequeue, lambda: tf.constant(1))


def test_runs_are_told_of(sess):
    queue = queue_of(1, 2)
    y = queue.dequeue() + tf.constant(1)
    assert "here: fifo_queue_Dequeue" in sess.explain(y)
    metadata = tf.RunMetadata()
    assert sess.run(y, run_metadata=metadata) == 2
    assert metadata.num_tasks >= 0
    assert sess.run([queue.size()], run_metadata=metadata) == [1]
    assert np.asarray(sess.run(y, as_dask=True)) == 3


@pytest.mark.parametrize("many", [False, True])
def test_a_fed_array_may_be_written_into_once_it_is_in_a_queue(many):
    queue, fed = tf.FIFOQueue(4, tf.float32, [[2]]), tf.placeholder(tf.float32, [None, 2])
    put = queue.enqueue_many(fed) if many else queue.enqueue(fed[0])
    given = np.ones([1, 2], np.float32)
    with tf.Session() as sess:
        sess.run(put, {fed: given})
        given[:] = -1
        np.testing.assert_array_equal(sess.run(queue.dequeue()), [1, 1])
