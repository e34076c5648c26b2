"""Monitored sessions: from initialization to the last step, with failures on the way."""

import pytest

import daskvars.v1 as tf
from daskvars.v1.sessions.wrapped_sessions import merged_options

pytestmark = pytest.mark.usefixtures("graph")


class Recorder(tf.train.SessionRunHook):
    """Notes its calls; fetches, feeds and options are given."""

    def __init__(self, *args, stop_after=None, error=None):
        self.args = tf.train.SessionRunArgs(*args) if args else None
        self.calls, self.values = [], []
        self.stop_after, self.error = stop_after, error

    def begin(self):
        self.calls.append("begin")

    def after_create_session(self, session, coord):
        self.calls.append("created")
        self.session, self.coord = session, coord

    def before_run(self, run_context):
        self.calls.append("before")
        return self.args

    def after_run(self, run_context, run_values):
        self.calls.append("after")
        self.values.append(run_values)
        error, self.error = self.error, None
        if error is not None:
            raise error
        if len(self.values) == self.stop_after:
            run_context.request_stop()

    def end(self, session):
        self.calls.append("end")


def counting():
    step = tf.train.get_or_create_global_step()
    return step, tf.assign_add(step, 1)


def test_a_session_runs_from_begin_to_end(graph):
    v = tf.Variable([1.0, 2.0])
    hook = Recorder(v + 1.0, stop_after=2)
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        assert graph.finalized
        assert session.graph is graph
        steps = 0
        while not session.should_stop():
            assert session.run(v).tolist() == [1.0, 2.0]
            steps += 1
        with pytest.raises(RuntimeError, match="should_stop"):
            session.run(v)
    assert steps == 2
    assert hook.calls == ["begin", "created", *["before", "after"] * 2, "end"]
    assert hook.values[0].results.tolist() == [2.0, 3.0]
    assert not graph.finalized
    assert session.should_stop()
    with pytest.raises(RuntimeError, match="already closed"):
        session.close()


def test_an_op_built_inside_the_loop_names_the_line():
    step, add = counting()
    wanted = pytest.raises(RuntimeError, match=r"test_monitored_session\.py:\d+ adds to it")
    with wanted, tf.train.MonitoredSession() as session:
        while True:
            session.run(add)
            session.run(step + 1)


def test_feeds_of_hooks_and_callers_must_differ():
    x, y = tf.placeholder(tf.float32, []), tf.placeholder(tf.float32, [])
    z = x * y
    with tf.train.MonitoredSession(hooks=[Recorder(None, {x: 2.0})]) as session:
        assert session.run(z, {y: 5.0}) == 10.0
        with pytest.raises(RuntimeError, match="Same tensor is fed by the caller"):
            session.run(z, {x: 1.0, y: 1.0})
    session = tf.train.MonitoredSession(
        hooks=[Recorder(None, {x: 2.0}), tf.train.FeedFnHook(lambda: {x: 3.0})]
    )
    with pytest.raises(RuntimeError, match="another hook and by the hook FeedFnHook"):
        session.run(z, {y: 1.0})
    session.close()


def test_options_of_hooks_are_merged():
    full = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    texts = tf.RunOptions(output_partition_graphs=True, timeout_in_ms=5)
    assert merged_options(full, texts) == tf.RunOptions(
        trace_level=3, output_partition_graphs=True, timeout_in_ms=5
    )
    c = tf.square(3.0)
    hook = Recorder(None, None, full)
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        assert session.run(c, options=texts) == 9.0
    (values,) = hook.values
    assert values.options.trace_level == 3
    assert len(values.run_metadata.step_stats.dev_stats) == 1
    assert len(values.run_metadata.partition_graphs) == 1


# -- ends and failures ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "error", [tf.errors.OutOfRangeError(None, None, "end of data"), StopIteration()]
)
def test_the_end_of_the_data_ends_the_block_quietly(error):
    _, add = counting()
    hook = Recorder(error=error)
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        session.run(add)
        raise AssertionError("the hook has raised")
    assert hook.calls[-1] == "end"


def test_other_errors_are_seen_and_hooks_do_not_end():
    _, add = counting()
    hook = Recorder()
    with pytest.raises(RuntimeError, match="mine"), tf.train.MonitoredSession(hooks=[hook]) as s:
        s.run(add)
        raise RuntimeError("mine")
    assert "end" not in hook.calls


@pytest.mark.parametrize("kind", [tf.errors.AbortedError, tf.errors.UnavailableError])
def test_a_lost_cluster_means_a_new_session_from_the_last_checkpoint(kind, tmp_path):
    step, add = counting()
    hook = Recorder()
    saver = tf.train.CheckpointSaverHook(
        str(tmp_path), save_steps=2, scaffold=(scaffold := tf.train.Scaffold())
    )
    creator = tf.train.ChiefSessionCreator(scaffold, checkpoint_dir=str(tmp_path))
    with tf.train.MonitoredSession(creator, [saver, hook]) as session:
        assert [session.run(add) for _ in range(3)] == [1, 2, 3]
        hook.error = kind(None, None, "worker lost")
        # Step 4 is run and lost with its session; the new one starts at the checkpoint of step 4
        # where that was saved before the failure.
        assert session.run(add) == 5
        assert session.run(step) == 5
    assert hook.calls.count("created") == 2
    singular = Recorder(error=kind(None, None, "worker lost"))
    with pytest.raises(kind), tf.train.SingularMonitoredSession([singular]) as session:
        session.run(add)


def test_a_thread_s_error_ends_the_session():
    _, add = counting()
    hook = Recorder()
    with pytest.raises(ValueError, match="in a thread"):  # noqa: SIM117
        with tf.train.MonitoredSession(hooks=[hook]) as session:
            session.run(add)
            try:
                raise ValueError("in a thread")
            except ValueError as error:
                hook.coord.request_stop(error)
            assert session.should_stop()


# -- step functions -------------------------------------------------------------------------------


def test_step_functions():
    _, add = counting()
    hook = Recorder()

    def step_fn(step_context):
        found = step_context.session.run(add)
        if found >= 5:
            step_context.request_stop()
        return found, step_context.run_with_hooks(add)

    with tf.train.MonitoredSession(hooks=[hook]) as session:
        assert session.run_step_fn(step_fn) == (1, 2)
        assert session.run_step_fn(step_fn) == (3, 4)
        with pytest.raises(ValueError, match="step_context"):
            session.run_step_fn(lambda other: None)
        session.run_step_fn(step_fn)
        raise AssertionError("a stop was requested")
    assert hook.calls.count("before") == 2


# -- training sessions ----------------------------------------------------------------------------


def test_a_training_goes_on_where_it_stopped(tmp_path):
    step, add = counting()
    tf.summary.scalar("twice", step * 2)
    for first in (0, 10):
        stop = tf.train.StopAtStepHook(num_steps=10)
        with tf.train.MonitoredTrainingSession(
            checkpoint_dir=str(tmp_path),
            hooks=[stop],
            save_summaries_steps=5,
            log_step_count_steps=4,
            save_checkpoint_steps=5,
        ) as session:
            assert session.run(step) == first
            while not session.should_stop():
                last = session.run(add)
        assert last == first + 10
    assert tf.train.latest_checkpoint(str(tmp_path)).endswith("model.ckpt-20")
    tf.summary.FileWriterCache.clear()
    (path,) = tmp_path.glob("events*")
    values = [v for e in tf.train.summary_iterator(path) for v in e.summary.value]
    assert {v.tag for v in values} == {"twice", "global_step/sec"}
    assert all(v.simple_value > 0 for v in values if v.tag == "global_step/sec")


def test_without_a_period_nothing_is_saved(tmp_path):
    _, add = counting()
    with tf.train.MonitoredTrainingSession(
        checkpoint_dir=str(tmp_path),
        save_checkpoint_secs=0,
        save_summaries_steps=None,
        save_summaries_secs=None,
        log_step_count_steps=None,
    ) as session:
        session.run(add)
    assert not list(tmp_path.iterdir())


def test_a_worker_waits_for_the_chief():
    v = tf.Variable(3)
    tf.train.Scaffold().finalize()
    worker = tf.train.WorkerSessionCreator(master="chief-and-worker", max_wait_secs=0)
    with pytest.raises(tf.errors.DeadlineExceededError, match="not initialized"):
        worker.create_session()
    with tf.train.MonitoredTrainingSession("chief-and-worker") as chief:
        assert chief.run(v) == 3
        with tf.train.MonitoredTrainingSession("chief-and-worker", is_chief=False) as session:
            assert session.run(v) == 3
    tf.Session.reset("chief-and-worker")


def test_a_monitored_session_goes_on_when_its_variables_are_reset():
    v = tf.Variable(3.0)
    add = v.assign_add(1.0)
    with tf.train.MonitoredTrainingSession("to-be-reset") as sess, tf.Session("to-be-reset") as raw:
        assert (sess.run(add), raw.run(v)) == (4.0, 4.0)
        tf.Session.reset("to-be-reset")
        with pytest.raises(tf.errors.AbortedError, match=r"'to-be-reset' were reset"):
            raw.run(v)
        assert sess.run(add) == 4.0, "a new session, initialized anew"
    tf.Session.reset("to-be-reset")


# -- scaffolds and what is left out ---------------------------------------------------------------


def test_a_scaffold_makes_what_is_missing_once(graph):
    tf.Variable(1, name="g")
    tf.Variable(2, name="l", collections=[tf.GraphKeys.LOCAL_VARIABLES])
    table = tf.Variable(3, name="t", collections=[])
    tf.add_to_collection(tf.GraphKeys.TABLE_INITIALIZERS, table.initializer)
    first, second = tf.train.Scaffold().finalize(), tf.train.Scaffold().finalize()
    for name in ("init_op", "ready_op", "ready_for_local_init_op", "local_init_op", "saver"):
        assert getattr(first, name) is getattr(second, name) is not None
    assert first.summary_op is None
    with tf.Session() as session:
        assert sorted(session.run(first.ready_op)) == [b"g", b"l"]
        session.run(first.init_op)
        assert session.run(first.ready_for_local_init_op).size == 0
        session.run(first.local_init_op)
        assert session.run(first.ready_op).size == 0
        assert session.run(table) == 3


def test_a_scaffold_takes_what_is_given():
    called = []
    given = tf.train.Scaffold(init_op=2, init_fn=lambda s, session: called.append((s, session)))
    copy = tf.train.Scaffold(ready_op=5, copy_from_scaffold=given)
    assert (copy.init_op, copy.ready_op, copy.saver) == (2, 5, None)
    copy.init_fn("session")
    assert called == [(copy, "session")]
    with pytest.raises(TypeError, match="not a Scaffold"):
        tf.train.Scaffold(copy_from_scaffold=1)
    tf.Variable(1)
    for _ in range(2):
        tf.add_to_collection(tf.GraphKeys.SAVERS, tf.train.Saver())
    with pytest.raises(RuntimeError, match="More than one item"):
        tf.train.Scaffold().finalize()


# -- session manager ------------------------------------------------------------------------------


def test_a_session_is_prepared_by_initializing_or_restoring(tmp_path):
    v = tf.Variable(1, name="v")
    manager = tf.train.SessionManager(ready_op=tf.report_uninitialized_variables())
    saver = tf.train.Saver({"v": v})
    with pytest.raises(RuntimeError, match="no init_op or init_fn"):
        manager.prepare_session("")
    with pytest.raises(RuntimeError, match="Variables not initialized: v"):
        manager.prepare_session("", init_op=tf.no_op())
    session = manager.prepare_session(
        "", saver=saver, checkpoint_dir=str(tmp_path), init_fn=lambda s: s.run(v.initializer)
    )
    session.run(v.assign(7))
    path = saver.save(session, str(tmp_path / "model"))
    for where in ({"checkpoint_dir": str(tmp_path)}, {"checkpoint_filename_with_path": path}):
        restored, ready = manager.recover_session("", saver=saver, **where)
        assert ready
        assert restored.run(v) == 7
    _, ready = manager.recover_session("", saver=saver, checkpoint_dir=str(tmp_path / "no"))
    assert not ready
    with pytest.raises(ValueError, match="both checkpoint_dir"):
        manager.recover_session("", saver, str(tmp_path), path)


def test_checkpoints_of_before_a_restart_are_deleted_in_their_turn(tmp_path):
    paths = []
    for _ in range(3):
        with tf.Graph().as_default():
            tf.Variable(1.0, name="v")
            saver = tf.train.Saver(max_to_keep=2)
            manager = tf.train.SessionManager(ready_op=tf.report_uninitialized_variables())
            session = manager.prepare_session(
                "", tf.global_variables_initializer(), saver, str(tmp_path)
            )
            assert saver.last_checkpoints == paths[-2:]
            paths.append(saver.save(session, str(tmp_path / "m"), len(paths)))
    assert [tf.train.checkpoint_exists(path) for path in paths] == [False, True, True]


def test_local_variables_wait_for_the_global_ones():
    g = tf.Variable(4, name="g")
    local = tf.Variable(g.initialized_value() + 1, collections=[tf.GraphKeys.LOCAL_VARIABLES])
    with pytest.raises(ValueError, match="must also pass a local_init_op"):
        tf.train.SessionManager(ready_for_local_init_op=tf.report_uninitialized_variables())
    manager = tf.train.SessionManager(
        local_init_op=tf.local_variables_initializer(),
        ready_for_local_init_op=tf.report_uninitialized_variables([g]),
    )
    with pytest.raises(RuntimeError, match="ready for local_init"):
        manager.prepare_session("", init_op=tf.no_op())
    assert manager.prepare_session("", init_op=g.initializer).run(local) == 5


def test_waiting_ends_at_the_deadline():
    tf.Variable(1)
    manager = tf.train.SessionManager(
        ready_op=tf.report_uninitialized_variables(), recovery_wait_secs=0.01
    )
    with pytest.raises(tf.errors.DeadlineExceededError, match=r"not ready after waiting 0\.05"):
        manager.wait_for_session("nobody", max_wait_secs=0.05)
    tf.Session.reset("nobody")
