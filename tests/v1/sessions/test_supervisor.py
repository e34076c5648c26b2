"""Supervisor: sessions prepared, restored, served by threads and stopped."""

import pytest

import daskvars.v1 as tf

pytestmark = pytest.mark.usefixtures("graph")


@pytest.fixture
def step_op():
    return tf.train.get_or_create_global_step().assign_add(1)


def steps_in(logdir, **kwargs):
    """Run five steps under a new supervisor; return the last."""
    with tf.Graph().as_default():
        train_op = tf.train.get_or_create_global_step().assign_add(1)
        tf.summary.scalar("s", tf.cast(tf.train.get_global_step(), tf.float32))
        supervisor = tf.train.Supervisor(logdir=logdir, save_model_secs=0, **kwargs)
        with supervisor.managed_session() as sess:
            for _ in range(5):
                last = sess.run(train_op)
            supervisor.saver.save(sess, supervisor.save_path, supervisor.global_step)
    return last


def test_training_goes_on_from_the_checkpoint(tmp_path):
    assert [steps_in(str(tmp_path)) for _ in range(2)] == [5, 10]
    assert tf.train.latest_checkpoint(str(tmp_path)).endswith("model.ckpt-10")


def test_services_save_and_write(tmp_path, step_op):
    tf.summary.scalar("twice", 2.0 * tf.cast(tf.train.get_global_step(), tf.float32))
    sv = tf.train.Supervisor(logdir=str(tmp_path), save_summaries_secs=0.01, save_model_secs=0.01)
    with sv.managed_session() as sess:
        for _ in range(3):
            sess.run(step_op)
        while not tf.train.latest_checkpoint(str(tmp_path)):
            sv.coord.wait_for_stop(0.01)
    tags, statuses = set(), set()
    for path in tf.gfile.Glob(str(tmp_path / "events*")):
        for event in tf.train.summary_iterator(path):
            tags.update(value.tag for value in event.summary.value)
            statuses.add(event.session_log.status)
    assert "twice" in tags
    assert {tf.SessionLog.START, tf.SessionLog.STOP, tf.SessionLog.CHECKPOINT} <= statuses


def test_each_event_file_has_the_graph(tmp_path, step_op):
    sv = tf.train.Supervisor(logdir=str(tmp_path), save_model_secs=0, save_summaries_secs=0)
    for _ in range(2):
        with sv.managed_session() as sess:
            sess.run(step_op)
    files = [list(tf.train.summary_iterator(p)) for p in tf.gfile.Glob(str(tmp_path / "events*"))]
    drawn = [sum(bool(event.graph_def) for event in found) for found in files]
    assert drawn == [1, 1]


def test_the_graph_is_written_once_for_all_sessions(tmp_path, step_op):
    sv = tf.train.Supervisor(logdir=str(tmp_path), save_model_secs=0, save_summaries_secs=0)
    for _ in range(2):
        with sv.managed_session(close_summary_writer=False) as sess:
            sess.run(step_op)
    sv.summary_writer.close()
    (path,) = tf.gfile.Glob(str(tmp_path / "events*"))
    found = list(tf.train.summary_iterator(path))
    assert sum(bool(event.graph_def) for event in found) == 1
    (data,) = [event.meta_graph_def for event in found if event.meta_graph_def]
    assert tf.MetaGraphDef.FromString(data).saver_def == sv.saver.saver_def


def test_an_error_of_the_block_is_raised(step_op):
    sv = tf.train.Supervisor()
    with pytest.raises(ValueError, match="mine"), sv.managed_session() as sess:
        raise ValueError("mine")
    assert sv.should_stop()
    with pytest.raises(RuntimeError, match="closed"):
        sess.run(step_op)


def test_the_end_of_data_is_no_error(step_op):
    number = tf.train.range_input_producer(3, num_epochs=1, shuffle=False).dequeue()
    seen = []
    sv = tf.train.Supervisor()
    with sv.managed_session() as sess:
        while not sv.should_stop():
            seen.append(int(sess.run(number)))
    assert seen == [0, 1, 2]


def test_an_error_of_a_loop_stops_all(step_op):
    sv = tf.train.Supervisor()
    with pytest.raises(ValueError, match="of a thread"), sv.managed_session():
        sv.loop(None, int, args=("of a thread",))
        sv.wait_for_stop()


def test_what_is_given_is_used(graph):
    v = tf.Variable(1, name="v")
    made = []
    sv = tf.train.Supervisor(
        init_op=v.assign(tf.Variable(5, name="w").initialized_value()),
        ready_op=None,
        local_init_op=None,
        summary_op=None,
        saver=None,
        init_fn=made.append,
    )
    assert graph.finalized
    assert (sv.saver, sv.summary_op, sv.save_path, sv.summary_writer) == (None,) * 4
    with sv.managed_session(start_standard_services=False) as sess:
        assert made == [sess]
        assert sess.run(v) == 5
        with pytest.raises(RuntimeError, match="requires a summary writer"):
            sv.summary_computed(sess, b"")


def test_workers_wait_for_the_chief(step_op):
    ops = {"local_init_op": None, "summary_op": None, "saver": None}
    tf.add_to_collection(tf.GraphKeys.READY_OP, tf.report_uninitialized_variables())
    tf.add_to_collection(tf.GraphKeys.INIT_OP, tf.global_variables_initializer())
    chief = tf.train.Supervisor(**ops)
    worker = tf.train.Supervisor(is_chief=False, recovery_wait_secs=0.01, **ops)
    with pytest.raises(tf.errors.DeadlineExceededError):
        worker.prepare_or_wait_for_session("sv-store", max_wait_secs=0.05)
    with chief.managed_session("sv-store") as sess, worker.managed_session("sv-store") as other:
        sess.run(step_op)
        assert other.run(tf.train.get_global_step()) == 1
        with pytest.raises(RuntimeError, match="Only chief"):
            worker.start_standard_services(other)
    tf.Session.reset("sv-store")


def test_a_loop_of_steps(step_op):
    def step(sess, sv, last=0):
        if sess.run(step_op) == last:
            sv.request_stop()
        if sess.run(tf.train.get_global_step()) == 2 and not failed:
            failed.append(True)
            raise tf.errors.AbortedError(None, None, "the cluster is gone")

    failed = []
    sv = tf.train.Supervisor()
    tf.train.basic_train_loop(sv, step, args=(sv,), kwargs={"last": 4})
    assert failed


def test_a_step_in_a_vector_counts_too(tmp_path):
    """As in TensorFlow, whose supervisor takes any integers of that name."""
    with tf.Graph().as_default():
        tf.Variable([123], name="global_step")
        supervisor = tf.train.Supervisor(logdir=str(tmp_path), save_model_secs=0)
        with supervisor.managed_session() as session:
            supervisor.saver.save(session, supervisor.save_path, supervisor.global_step)
            assert tf.train.latest_checkpoint(str(tmp_path)).endswith("model.ckpt-123")
