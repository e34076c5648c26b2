"""Threads that fill queues: they end when their input does, and tell of their errors."""

from concurrent.futures import ThreadPoolExecutor

import pytest

import daskvars.v1 as tf

pytestmark = pytest.mark.usefixtures("sess")


def counting(sess, limit, num_threads=1):
    """Return a queue of numbers, its runner, and the variable that counts them."""
    count = tf.Variable(0, name="count")
    sess.run(count.initializer)
    queue = tf.FIFOQueue(5, tf.int32, [[]])
    enqueue = queue.enqueue(count.count_up_to(limit))
    return queue, tf.train.QueueRunner(queue, [enqueue] * num_threads)


def test_several_threads_fill_and_close_a_queue(sess):
    queue, runner = counting(sess, 30, num_threads=3)
    threads = runner.create_threads(sess, start=True)
    assert len(threads) == 3
    assert runner.create_threads(sess) == []  # they run
    assert sorted(sess.run(queue.dequeue_many(30))) == list(range(30))
    with pytest.raises(tf.errors.OutOfRangeError):
        sess.run(queue.dequeue())
    for thread in threads:
        thread.join(10)
    assert runner.exceptions_raised == []


def test_a_stop_cancels_what_waits(sess):
    queue = tf.FIFOQueue(2, tf.int32, [[]])
    runner = tf.train.QueueRunner(queue, [queue.enqueue(1)])
    coord = tf.train.Coordinator()
    threads = runner.create_threads(sess, coord, start=True)
    sess.run(queue.dequeue_many(5))
    coord.request_stop()
    coord.join(threads, stop_grace_period_secs=10)
    assert sess.run(queue.is_closed())


def test_a_coordinator_raises_the_error_of_a_thread(sess):
    queue = tf.FIFOQueue(2, tf.float32, [[]])
    bad = tf.check_numerics(tf.constant(1.0) / 0.0, "bad input")
    tf.train.add_queue_runner(tf.train.QueueRunner(queue, [queue.enqueue(bad)]))
    coord = tf.train.Coordinator()
    threads = tf.train.start_queue_runners(sess, coord)
    with pytest.raises(tf.errors.CancelledError, match=r"is closed|was cancelled"):
        sess.run(queue.enqueue_many([[1.0] * 9]))
    with pytest.raises(tf.errors.InvalidArgumentError, match="bad input"):
        coord.join(threads)


def test_what_is_no_session_is_refused(sess):
    with pytest.raises(TypeError, match=r"must be a `tf\.Session`"):
        tf.train.start_queue_runners("session")
    with pytest.raises(ValueError, match="Must provide queue and enqueue_ops"):
        tf.train.QueueRunner()
    with pytest.raises(TypeError, match=r"tuple of tf\.error types"):
        tf.train.QueueRunner(
            tf.FIFOQueue(2, tf.int32), [tf.no_op()], queue_closed_exception_types=ValueError
        )


def test_there_must_be_a_session():
    with ThreadPoolExecutor(1) as other, pytest.raises(ValueError, match="No default session"):
        other.submit(tf.train.start_queue_runners).result()


def test_a_monitored_session_starts_them(tmp_path):
    with tf.Graph().as_default():
        number = tf.train.range_input_producer(4, num_epochs=1, shuffle=False).dequeue()
        step = tf.train.get_or_create_global_step()
        train = step.assign_add(1)
        seen = []
        with tf.train.MonitoredTrainingSession(checkpoint_dir=str(tmp_path)) as session:
            while not session.should_stop():
                seen.append(session.run([number, train])[0])
    assert seen == [0, 1, 2, 3]


def test_batches_are_by_seed():
    def order():
        with tf.Graph().as_default(), tf.Session() as sess:
            tf.set_random_seed(4)
            number = tf.train.range_input_producer(40, num_epochs=1).dequeue()
            # All are there before the first is taken: what is chosen from is no matter of time.
            batch = tf.train.shuffle_batch([number], 40, 50, 40)
            sess.run(tf.local_variables_initializer())
            coord = tf.train.Coordinator()
            threads = tf.train.start_queue_runners(sess, coord)
            found = sess.run(batch).tolist()
            coord.request_stop()
            coord.join(threads)
            return found

    assert order() == order() != list(range(40))


def test_the_name_of_a_count_gives_the_value_from_before():
    with tf.Graph().as_default(), tf.Session() as session:
        v = tf.Variable(0)
        count = v.count_up_to(3)
        session.run(v.initializer)
        assert count.name == "CountUpTo:0"
        assert session.run([count.name, v]) == [0, 1]


def test_a_graph_in_a_file_has_its_runners(tmp_path):
    with tf.name_scope("inputs"):
        number = tf.train.range_input_producer(3, num_epochs=1, shuffle=False).dequeue()
        tf.train.batch([number], 2, allow_smaller_final_batch=True, name="batch")
    path = f"{tmp_path}/graph.meta"
    tf.train.export_meta_graph(path, export_scope="inputs")
    with tf.Graph().as_default(), tf.Session() as sess:
        tf.train.import_meta_graph(path, import_scope="again")
        sess.run(tf.local_variables_initializer())
        coord = tf.train.Coordinator()
        threads = tf.train.start_queue_runners(sess, coord)
        assert [sess.run("again/batch:0").tolist() for _ in range(2)] == [[0, 1], [2]]
        with pytest.raises(tf.errors.OutOfRangeError):
            sess.run("again/batch:0")
        coord.request_stop()
        coord.join(threads)


def test_a_runner_is_data_and_back(sess):
    queue, runner = counting(sess, 2)
    data = runner.to_proto()
    again = tf.train.QueueRunner.from_proto(type(data).FromString(data.SerializeToString()))
    assert again.name == runner.name == queue.name
    assert again.queue_closed_exception_types == (tf.errors.OutOfRangeError,)
    assert (again.enqueue_ops, again.cancel_op) == (runner.enqueue_ops, runner.cancel_op)
    assert runner.to_proto(export_scope="elsewhere") is None
    with pytest.raises(ValueError, match="mutually exclusive"):
        tf.train.QueueRunner(queue, queue_runner_def=data)
    with pytest.raises(ValueError, match="'close_op_name' is 3"):
        type(data).from_json(data.to_json() | {"close_op_name": 3})
