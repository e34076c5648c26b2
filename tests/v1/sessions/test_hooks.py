"""Hooks one by one, on a session that calls nothing else."""

import json
import logging
from types import SimpleNamespace

import numpy as np
import pytest

import daskvars.v1 as tf
from daskvars.v1.sessions.wrapped_sessions import HookedSession

pytestmark = pytest.mark.usefixtures("graph")


@pytest.fixture
def add():
    return tf.assign_add(tf.train.get_or_create_global_step(), 1)


class Writer:
    """A summary writer that keeps what it is given."""

    def __init__(self):
        self.summaries, self.logs = [], []

    def add_summary(self, summary, step):
        summary = tf.Summary.FromString(summary) if isinstance(summary, bytes) else summary
        self.summaries.append((int(step), [v.tag for v in summary.value]))

    def add_session_log(self, log, step):
        self.logs.append((int(step), log.status))

    def flush(self):
        self.logs.append("flushed")


def started(*hooks):
    """Return a session with hooks, begun and with its variables initialized."""
    for hook in hooks:
        hook.begin()
    session = tf.Session()
    session.run(tf.global_variables_initializer())
    for hook in hooks:
        hook.after_create_session(session, None)
    return HookedSession(session, hooks)


def test_timers():
    steps = tf.train.SecondOrStepTimer(every_steps=3)
    assert [
        s
        for s in range(8)
        if steps.should_trigger_for_step(s) and steps.update_last_triggered_step(s)
    ] == [0, 3, 6]
    assert steps.last_triggered_step() == 6
    assert steps.update_last_triggered_step(8)[1] == 2
    steps.reset()
    assert steps.should_trigger_for_step(8)
    seconds = tf.train.SecondOrStepTimer(every_secs=1e-9)
    seconds.update_last_triggered_step(1)
    assert not seconds.should_trigger_for_step(1)
    assert seconds.should_trigger_for_step(2)
    assert not tf.train.NeverTriggerTimer().should_trigger_for_step(1)


def test_timers_go_on_when_the_clock_is_set_back(monkeypatch, caplog):
    clock = SimpleNamespace(now=1e9)
    monkeypatch.setattr("time.time", lambda: clock.now)
    timer = tf.train.SecondOrStepTimer(every_secs=60)
    with tf.Graph().as_default(), caplog.at_level(logging.INFO, "daskvars"):
        step = tf.train.get_or_create_global_step()
        counter, count = tf.train.StepCounterHook(every_n_steps=1), step.assign_add(1)
        with tf.train.MonitoredSession(hooks=[counter]) as sess:
            for number, (clock.now, is_time) in enumerate(
                [(1e9, True), (1e9 + 59, False), (1e9 - 3600, True), (1e9 - 3541, False)]
            ):
                assert timer.should_trigger_for_step(number) == is_time
                if is_time:
                    timer.update_last_triggered_step(number)
                sess.run(count)
    rates = [float(m.rpartition(": ")[2]) for m in caplog.messages if "global_step/sec" in m]
    assert len(rates) == 2 and all(rate > 0 for rate in rates)


@pytest.mark.parametrize(
    "make, text",
    [
        (lambda: tf.train.SecondOrStepTimer(), "Either every_secs"),
        (lambda: tf.train.SecondOrStepTimer(1.0, 1), "Can not provide both"),
        (lambda: tf.train.StopAtStepHook(), "One of num_steps"),
        (lambda: tf.train.StopAtStepHook(1, 2), "Only one of"),
        (lambda: tf.train.LoggingTensorHook(["t"]), "exactly one of every_n_iter"),
        (lambda: tf.train.LoggingTensorHook(["t"], every_n_iter=0), "invalid every_n_iter=0"),
        (lambda: tf.train.StepCounterHook(1, 1.0), "exactly one of every_n_steps"),
        (lambda: tf.train.SummarySaverHook(1), "Exactly one of scaffold"),
        (lambda: tf.train.CheckpointSaverHook("d", 1, saver=1, scaffold=2), "both saver and scaf"),
    ],
)
def test_arguments_that_do_not_fit(make, text):
    with pytest.raises(ValueError, match=text):
        make()


@pytest.mark.parametrize(
    "hook",
    [
        tf.train.StopAtStepHook(1),
        tf.train.StepCounterHook(1),
        tf.train.GlobalStepWaiterHook(1),
        tf.train.SummarySaverHook(1, summary_op=1),
    ],
    ids=lambda h: type(h).__name__,
)
def test_a_global_step_is_needed(hook):
    with pytest.raises(RuntimeError, match="Global step should be created"):
        hook.begin()


@pytest.mark.parametrize(
    "hook, last",
    [
        (lambda: tf.train.StopAtStepHook(num_steps=3), 3),
        (lambda: tf.train.StopAtStepHook(last_step=2), 2),
    ],
)
def test_stopping_at_a_step(hook, last, add):
    session = started(hook())
    while not session.should_stop():
        found = session.run(add)
    assert found == last


def test_a_session_made_anew_stops_at_the_same_step(add):
    hook = tf.train.StopAtStepHook(num_steps=3)
    session = started(hook)
    session.run(add)
    hook.after_create_session(session._sess, None)
    session.run(add)
    assert not session.should_stop()
    session.run(add)
    assert session.should_stop()


def test_logging_tensors(caplog):
    caplog.set_level(logging.INFO, "daskvars")
    x = tf.constant(4.0, name="x")
    hooks = [
        tf.train.LoggingTensorHook({"value": x}, every_n_iter=2),
        tf.train.LoggingTensorHook(["x"], at_end=True),
        tf.train.LoggingTensorHook([x], every_n_iter=9, formatter=lambda v: f"sum {v[x] + 1}"),
    ]
    session = started(*hooks)
    for _ in range(4):
        session.run(x)
    hooks[1].end(session._sess)
    texts = [record.getMessage() for record in caplog.records]
    assert texts[:2] == ["value = 4.0", "sum 5.0"]
    assert texts[2].startswith("value = 4.0 (")
    assert texts[3:] == ["x = 4.0"]


def test_names_of_what_is_logged_must_be_of_the_graph():
    tf.split([1.0, 2.0], 2, name="both")
    for tensors, error in [(["both"], ValueError), (["none"], KeyError), ([3], ValueError)]:
        with pytest.raises(error):
            tf.train.LoggingTensorHook(tensors, every_n_iter=1).begin()


def test_nan_ends_the_training():
    x = tf.placeholder(tf.float32, [])
    session = started(tf.train.NanTensorHook(x))
    session.run(x, {x: 1.0})
    with pytest.raises(tf.train.NanLossDuringTrainingError, match="NaN loss during training"):
        session.run(x, {x: np.nan})
    try:  # as pytest does not: by the classes that the error's has, and nothing that they say
        session.run(x, {x: np.nan})
    except tf.train.NanLossDuringTrainingError as error:
        assert type(error) is tf.train.NanLossDuringTrainingError
    quiet = started(tf.train.NanTensorHook(x, fail_on_nan_loss=False))
    quiet.run(x, {x: np.nan})
    assert quiet.should_stop()


def test_checkpoints_are_saved_at_the_start_now_and_then_and_at_the_end(add, tmp_path):
    class Listener(tf.train.CheckpointSaverListener):
        def __init__(self):
            self.calls = []

        def before_save(self, session, step):
            self.calls.append(("before", int(step)))

        def after_save(self, session, step):
            self.calls.append(("after", int(step)))
            return step == 5

        def end(self, session, step):
            self.calls.append(("end", int(step)))

    listener = Listener()
    hook = tf.train.CheckpointSaverHook(
        tmp_path, save_steps=5, saver=tf.train.Saver(), listeners=[listener]
    )
    session = started(hook)
    for _ in range(5):
        session.run(add)
    assert session.should_stop(), "the listener said so"
    session._sess.run(add)
    hook.end(session._sess)
    wanted = [(when, step) for step in (0, 5, 6) for when in ("before", "after")]
    assert listener.calls == [*wanted, ("end", 6)]
    assert tf.train.get_checkpoint_state(str(tmp_path)).all_model_checkpoint_paths == [
        str(tmp_path / f"model.ckpt-{step}") for step in (0, 5, 6)
    ]


def test_the_saver_of_the_graph_is_used(add, tmp_path):
    hook = tf.train.CheckpointSaverHook(str(tmp_path), save_steps=1)
    with pytest.raises(RuntimeError, match="No items in collection savers"):
        started(hook)
    tf.add_to_collection(tf.GraphKeys.SAVERS, tf.train.Saver())
    started(tf.train.CheckpointSaverHook(str(tmp_path), save_steps=1))
    assert tf.train.latest_checkpoint(str(tmp_path)).endswith("-0")


def test_steps_are_counted(add, caplog):
    writer = Writer()
    session = started(tf.train.StepCounterHook(every_n_steps=2, summary_writer=writer))
    for _ in range(5):
        session.run(add)
    assert writer.summaries == [(3, ["global_step/sec"]), (5, ["global_step/sec"])]
    x = tf.constant(1)
    for _ in range(25):
        session.run(x)
    assert sum("has not been increased" in r.getMessage() for r in caplog.records) == 1


def test_summaries_are_written_now_and_then(add):
    writer = Writer()
    op = [tf.summary.scalar("a", 1.0), tf.summary.scalar("b", 1.0)]
    hook = tf.train.SummarySaverHook(save_steps=3, summary_writer=writer, summary_op=op)
    session = started(hook)
    for _ in range(7):
        session.run(add)
    hook.end(session)
    assert writer.summaries == [(s, [tag]) for s in (1, 4, 7) for tag in "ab"]
    assert writer.logs == [(1, tf.SessionLog.START), "flushed"]


def test_a_worker_waits_for_a_step(add, monkeypatch):
    hook = tf.train.GlobalStepWaiterHook(3)
    session = started(hook)
    sleep = "daskvars.v1.sessions.control_hooks.time.sleep"
    monkeypatch.setattr(sleep, lambda s: session._sess.run(add))
    assert session.run(add) == 4


def test_final_ops_and_feeds(add):
    x = tf.placeholder(tf.float32, [])
    doubled = x * 2.0
    final = tf.train.FinalOpsHook({"d": doubled}, {x: 4.0})
    session = started(final, tf.train.FeedFnHook(lambda: {x: 3.0}))
    assert session.run(doubled) == 6.0
    assert final.final_ops_values is None
    final.end(session._sess)
    assert final.final_ops_values == {"d": 8.0}


def test_a_profile_is_a_trace(add, tmp_path):
    hook = tf.train.ProfilerHook(save_steps=2, output_dir=str(tmp_path))
    session = started(hook)
    for _ in range(5):
        session.run(add)
    hook.end(session)
    traces = sorted(tmp_path.glob("timeline-*"))
    assert [p.name for p in traces] == ["timeline-2.json", "timeline-4.json"]
    trace = json.loads(traces[0].read_text())
    assert "AssignAdd" in trace["traceEvents"][0]["args"]["ops"]
    (events,) = tmp_path.glob("events*")
    found = tf.train.summary_iterator(str(events))
    runs = [e.tagged_run_metadata for e in found if e.HasField("tagged_run_metadata")]
    assert [run.tag for run in runs] == ["step_2", "step_4"]
    steps = tf.RunMetadata.FromString(runs[0].run_metadata).step_stats
    assert "AssignAdd" in steps.dev_stats[0].node_stats[0].timeline_label
