"""Hooks: what a monitored session calls around its runs."""

from __future__ import annotations

from typing import Any, NamedTuple

from daskvars.graph.scopes.stacks import SessionLike
from daskvars.surface.forwarding import forwards
from daskvars.surface.one_line import ShownByArguments
from daskvars.v1.sessions.coordinator import Coordinator


class SessionRunArgs(NamedTuple):
    """What a hook, or the caller of `run`, wants of a run: `fetches`, `feed_dict`, `options`.

    Args:
      fetches: as of `Session.run`.
      feed_dict: what is fed for them.
      options: a `RunOptions`.

    Source: TensorFlow 1.15, ``tf.train.SessionRunArgs``.

    >>> class Shown(tf.train.SessionRunHook):
    ...     def before_run(self, run_context):
    ...         return tf.train.SessionRunArgs(fetches="loss:0")
    ...     def after_run(self, run_context, run_values):
    ...         print(run_values.results)
    >>> with tf.Graph().as_default():
    ...     loss = tf.constant(0.5, name="loss")
    ...     double = loss * 2.0
    ...     with tf.train.MonitoredSession(hooks=[Shown()]) as sess:
    ...         _ = sess.run(double)
    0.5
    """

    fetches: Any
    feed_dict: Any = None
    options: Any = None


class SessionRunValues(NamedTuple):
    """What a hook gets of a run: `results` of its fetches, the `options` and `run_metadata`.

    Args:
      results: of what the hook fetched.
      options: the `RunOptions` of the run.
      run_metadata: its `RunMetadata`.

    Source: TensorFlow 1.15, ``tf.train.SessionRunValues``.

    >>> tf.train.SessionRunValues(results=[0.5], options=None, run_metadata=None).results
    [0.5]
    """

    results: Any
    options: Any
    run_metadata: Any


class SessionRunContext:
    """The run that a hook is called for.

    Args:
      original_args: the `SessionRunArgs` of the caller of `run`.
      session: the session that runs.

    >>> context = SessionRunContext(SessionRunArgs(None), None)
    >>> context.request_stop()
    >>> context.stop_requested
    True
    """

    def __init__(self, original_args: SessionRunArgs, session: SessionLike) -> None:
        self._original_args = original_args
        self._session = session
        self._stop_requested = False

    def __repr__(self) -> str:
        stops = ", the last" if self._stop_requested else ""
        return f"<SessionRunContext of {self._session!r}{stops}>"

    original_args: SessionRunArgs = forwards(
        "_original_args", "What the caller of `run` asked for."
    )
    session: Any = forwards("_session", "The session that runs; its own `run` calls no hooks.")
    stop_requested: bool = forwards("_stop_requested", "Whether this run is to be the last.")

    def request_stop(self) -> None:
        """Make this run the last: the monitored session's ``should_stop()`` becomes true."""
        self._stop_requested = True


class SessionRunHook(ShownByArguments):
    """Something to be done around the runs of a monitored session; all methods may be overridden.

    >>> class Print(SessionRunHook):
    ...     def begin(self):
    ...         print("begin")
    >>> Print().begin()
    begin
    """

    def begin(self) -> None:
        """Called once before the session is made; the graph may still be added to."""

    def after_create_session(self, session: SessionLike, coord: Coordinator) -> None:
        """Called after a session was made, also after a failure; the graph is finalized."""

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Called before a run. Returns what to fetch and feed besides, or None."""
        return None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Called after a run that did not fail, with what `before_run` asked for."""

    def end(self, session: SessionLike) -> None:
        """Called when the monitored session is closed without an error."""
