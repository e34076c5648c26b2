"""A monitored session is made anew a bounded number of times, with pauses, where that may help."""

import types

import pytest

import daskvars as dv
import daskvars.v1 as tf
from daskvars.errors import permanent
from daskvars.execution.cluster import errors as cluster_errors
from daskvars.v1.sessions import wrapped_sessions

pytestmark = pytest.mark.usefixtures("graph")

KINDS = [tf.errors.AbortedError, tf.errors.UnavailableError]


@pytest.fixture
def pauses(monkeypatch):
    """The pauses that were made, in seconds: none is waited for."""
    found = []
    monkeypatch.setattr(wrapped_sessions.time, "sleep", found.append)
    with dv.config.set(
        recovery_attempts=4, recovery_first_pause_s=0.5, recovery_longest_pause_s=0.75
    ):
        yield found


class Failing(tf.train.SessionRunHook):
    """Raises errors after runs, as long as there are any; counts runs and sessions."""

    def __init__(self, errors):
        self.errors, self.runs, self.sessions = iter(errors), 0, 0

    def after_create_session(self, session, coord):
        self.sessions += 1

    def after_run(self, run_context, run_values):
        self.runs += 1
        error = next(self.errors, None)
        if error is not None:
            raise error


def endless(kind):
    while True:
        yield kind(None, None, "it is gone")


@pytest.mark.parametrize("kind", KINDS)
def test_a_run_is_not_repeated_for_ever(kind, pauses):
    v = tf.Variable(1.0)
    hook = Failing(endless(kind))
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        with pytest.raises(kind, match=r"it is gone \(A run failed 4 times .*recovery_attempts"):
            session.run(v)
        assert (hook.runs, hook.sessions) == (4, 4)
        assert pauses == [0.5, 0.75, 0.75]
        hook.errors = iter(())
        assert session.run(v) == 1.0, "it may be used again"


@pytest.mark.parametrize("kind", KINDS)
def test_a_session_is_not_asked_for_for_ever(kind, pauses):
    class Creator(tf.train.ChiefSessionCreator):
        asked = 0

        def create_session(self):
            self.asked += 1
            raise kind(None, None, "not yet")

    creator = Creator()
    with pytest.raises(kind, match=r"not yet \(Making a session failed 4 times"):
        tf.train.MonitoredSession(creator)
    assert creator.asked == 4 and pauses == [0.5, 0.75, 0.75]


def test_each_run_has_its_attempts(pauses):
    v = tf.Variable(1.0)
    lost = tf.errors.AbortedError(None, None, "lost")
    hook = Failing([lost, lost, None] * 3)
    with tf.train.MonitoredSession(hooks=[hook]) as session:
        assert [session.run(v) for _ in range(3)] == [1.0] * 3
    assert hook.runs == 9 and pauses == [0.5, 0.75] * 3


@pytest.mark.parametrize("kind", KINDS)
def test_what_cannot_succeed_is_raised_at_once(kind, pauses):
    v = tf.Variable(1.0)
    hook = Failing([permanent(kind(None, None, "never"))])
    with tf.train.MonitoredSession(hooks=[hook]) as session, pytest.raises(kind, match=r"never$"):
        session.run(v)
    assert hook.runs == 1 and not pauses


def test_a_target_that_nobody_serves_is_not_waited_for(pauses):
    tf.Variable(1.0)
    with pytest.raises(tf.errors.UnavailableError, match=r"no server at grpc://nowhere:1"):
        tf.train.MonitoredTrainingSession(master="grpc://nowhere:1")
    assert not pauses


def test_step_functions_are_bounded_too(pauses):
    tf.Variable(1.0)
    calls = []

    def step_fn(step_context):
        calls.append(step_context)
        raise tf.errors.AbortedError(None, None, "again")

    with (
        tf.train.MonitoredSession() as session,
        pytest.raises(tf.errors.AbortedError, match="A run failed 4 times"),
    ):
        session.run_step_fn(step_fn)
    assert len(calls) == 4


def test_a_task_that_kills_workers_is_not_sent_to_more_of_them():
    worker = types.SimpleNamespace(address="tcp://127.0.0.1:1")
    killed = cluster_errors.KilledWorker("matmul", worker, 3)
    found = cluster_errors.unavailable(killed, "run 7", ["w"], None)
    assert found.is_permanent
    for words in ("run 7", "every worker", "'matmul'", "tcp://", "memory", "nothing; should w be"):
        assert words in found.message
    lost = cluster_errors.LostKeysError("w")
    assert not cluster_errors.unavailable(lost, "run 7", ["w"], None).is_permanent
