"""Monitored sessions: initialized or restored by themselves, with hooks, and until told to stop."""

from __future__ import annotations

import abc
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

from daskvars.errors import OutOfRangeError
from daskvars.execution.config_proto import ConfigProto, RunMetadata, RunOptions
from daskvars.execution.session import Session
from daskvars.graph.interpreter import builder_for
from daskvars.surface.one_line import ShownByArguments
from daskvars.surface.signatures import with_arguments_in_order
from daskvars.v1.sessions.checkpoint_hooks import CheckpointSaverHook
from daskvars.v1.sessions.coordinator import Coordinator
from daskvars.v1.sessions.monitoring_hooks import StepCounterHook, SummarySaverHook
from daskvars.v1.sessions.queue_runners import start_queue_runners
from daskvars.v1.sessions.scaffold import Scaffold
from daskvars.v1.sessions.session_manager import SessionManager
from daskvars.v1.sessions.session_run_hook import SessionRunHook
from daskvars.v1.sessions.wrapped_sessions import (
    CoordinatedSession,
    HookedSession,
    RecoverableSession,
    StepContext,
)

USE_DEFAULT: Any = object()


class SessionCreator(ShownByArguments, abc.ABC):
    """Makes the session of a monitored session.

    Source: TensorFlow 1.15, ``tf.train.SessionCreator``.

    >>> isinstance(tf.train.ChiefSessionCreator(), tf.train.SessionCreator)
    True
    """

    @abc.abstractmethod
    def create_session(self) -> Any:
        """Return a new session that is ready to be used."""


@dataclass(eq=False, repr=False)
class _OfScaffold(SessionCreator):
    """Makes sessions with the operations of a scaffold."""

    scaffold: Scaffold | None = None
    master: str | PathLike[str] = ""
    config: ConfigProto | None = None

    def __post_init__(self) -> None:
        self._scaffold = self.scaffold or Scaffold()
        self._manager: SessionManager | None = None

    def create_session(self) -> Session:
        """Return a new session; the graph is finalized."""
        scaffold = self._scaffold.finalize()
        self._manager = self._manager or SessionManager(
            local_init_op=scaffold.local_init_op,
            ready_op=scaffold.ready_op,
            ready_for_local_init_op=scaffold.ready_for_local_init_op,
            graph=builder_for(()),
            local_init_feed_dict=scaffold.local_init_feed_dict,
        )
        return self._created(self._manager, scaffold)

    @abc.abstractmethod
    def _created(self, manager: SessionManager, scaffold: Scaffold) -> Session: ...


@dataclass(eq=False, repr=False)
class ChiefSessionCreator(_OfScaffold):
    """Makes a session and restores or initializes its variables.

    Args:
      scaffold: the operations that it needs, by default a new `Scaffold`.
      master: the session's target.
      config: the session's configuration.
      checkpoint_dir: directory whose newest checkpoint is restored, if it has one.
      checkpoint_filename_with_path: the checkpoint to restore.

    Source: TensorFlow 1.15, ``tf.train.ChiefSessionCreator``.

    >>> with tf.Graph().as_default():
    ...     w = tf.get_variable("w", initializer=3.0)
    ...     with tf.train.MonitoredSession(tf.train.ChiefSessionCreator()) as sess:
    ...         float(sess.run(w))
    3.0
    """

    checkpoint_dir: str | PathLike[str] | None = None
    checkpoint_filename_with_path: str | PathLike[str] | None = None

    def _created(self, manager: SessionManager, scaffold: Scaffold) -> Session:
        return manager.prepare_session(
            self.master,
            saver=scaffold.saver,
            checkpoint_dir=self.checkpoint_dir,
            checkpoint_filename_with_path=self.checkpoint_filename_with_path,
            config=self.config,
            init_op=scaffold.init_op,
            init_feed_dict=scaffold.init_feed_dict,
            init_fn=scaffold.init_fn,
        )


@dataclass(eq=False, repr=False)
class WorkerSessionCreator(_OfScaffold):
    """Makes a session and waits until the chief has given the variables their values.

    Args:
      scaffold: the operations that it needs, by default a new `Scaffold`.
      master: the target that it shares with the chief.
      config: the session's configuration.
      max_wait_secs: how many seconds to wait at most.

    Source: TensorFlow 1.15, ``tf.train.WorkerSessionCreator``.

    >>> target = tf.train.Server.create_local_server().target
    >>> with tf.Graph().as_default():
    ...     w = tf.get_variable("w", initializer=3.0)
    ...     with tf.train.MonitoredSession(tf.train.ChiefSessionCreator(master=target)) as chief:
    ...         worker = tf.train.WorkerSessionCreator(master=target)
    ...         with tf.train.MonitoredSession(worker) as sess:
    ...             float(sess.run(w))
    3.0
    """

    max_wait_secs: float = 30 * 60

    def _created(self, manager: SessionManager, scaffold: Scaffold) -> Session:
        return manager.wait_for_session(
            self.master, config=self.config, max_wait_secs=self.max_wait_secs
        )


class _CoordinatedCreator(SessionCreator):
    """Makes sessions with hooks and a coordinator, and knows the newest of them."""

    def __init__(
        self, creator: Any, hooks: Sequence[SessionRunHook], stop_grace_period_secs: float
    ) -> None:
        self._creator, self._hooks = creator, hooks
        self._stop_grace_period_secs = stop_grace_period_secs
        self.coord: Coordinator | None = None
        self.tf_sess: Any = None

    def create_session(self) -> CoordinatedSession:
        self.tf_sess = self._creator.create_session()
        self.coord = Coordinator(clean_stop_exception_types=[])
        start_queue_runners(sess=self.tf_sess, coord=self.coord)
        for hook in self._hooks:
            hook.after_create_session(self.tf_sess, self.coord)
        return CoordinatedSession(
            HookedSession(self.tf_sess, self._hooks), self.coord, self._stop_grace_period_secs
        )


class _Monitored:
    """What monitored sessions have in common."""

    StepContext = StepContext

    def __init__(
        self,
        session_creator: SessionCreator,
        hooks: Sequence[SessionRunHook] | None,
        should_recover: bool,
        stop_grace_period_secs: float = 120,
    ) -> None:
        self._built_in = builder_for(())
        self._graph_was_finalized = self._built_in.finalized
        self._hooks = list(hooks or ())
        for hook in self._hooks:
            hook.begin()
        self._coordinated_creator = _CoordinatedCreator(
            session_creator or ChiefSessionCreator(), self._hooks, stop_grace_period_secs
        )
        self._sess: Any = (
            RecoverableSession(self._coordinated_creator)
            if should_recover
            else self._coordinated_creator.create_session()
        )

    def __repr__(self) -> str:
        session = self._tf_sess()
        return f"<{type(self).__name__} {'closed' if session is None else f'of {session!r}'}>"

    @property
    def graph(self) -> Any:
        """The graph that is run; None once closed."""
        session = self._tf_sess()
        return None if session is None else session.graph

    def run(
        self,
        fetches: Any,
        feed_dict: Mapping[Any, Any] | None = None,
        options: RunOptions | None = None,
        run_metadata: RunMetadata | None = None,
    ) -> Any:
        """Run as `Session.run` does, with the hooks around it."""
        return self._sess.run(
            fetches, feed_dict=feed_dict, options=options, run_metadata=run_metadata
        )

    def run_step_fn(self, step_fn: Callable[..., Any]) -> Any:
        """Call ``step_fn(step_context)`` and return what it returns.

        `step_context` has `session` (whose `run` calls no hooks), ``run_with_hooks(...)`` and
        ``request_stop()``.

        Raises:
          ValueError: the function takes other arguments.
          StopIteration: it called `request_stop`; leaving the session's block ends it quietly.
        """
        names = tuple(inspect.signature(step_fn).parameters)
        if names not in (("step_context",), ("self", "step_context")):
            raise ValueError(
                "`step_fn` may either have one `step_context` argument, or `self` and "
                f"`step_context` arguments if it's an instance method. Got {names} instead."
            )
        return self._sess.run_step_fn(step_fn, self._tf_sess(), run_with_hooks=None)

    def should_stop(self) -> bool:
        """Return whether a hook or a thread wants to stop, or the session is closed."""
        return self._sess is None or self._sess.should_stop()

    def close(self) -> None:
        """Call the hooks' `end` and close the session. Raises RuntimeError where it is closed."""
        self._close()

    def _close(self, failed: bool = False) -> None:
        try:
            if not failed:
                for hook in self._hooks:
                    hook.end(self._tf_sess())
        finally:
            try:
                if self._sess is None:
                    raise RuntimeError("Session is already closed.")
                self._sess.close()
            finally:
                self._sess = None
                self._coordinated_creator.tf_sess = None
                self._coordinated_creator.coord = None
                if not self._graph_was_finalized:
                    self._built_in.unfinalize()

    def _is_closed(self) -> bool:
        return self._coordinated_creator.tf_sess is None

    def _tf_sess(self) -> Any:
        return self._coordinated_creator.tf_sess

    def __enter__(self) -> Any:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> bool:
        if kind in (OutOfRangeError, StopIteration):  # the end of the data, or of the steps
            kind = None
        self._close(failed=kind is not None)
        return kind is None


class MonitoredSession(_Monitored):
    """A session with hooks that initializes or restores its variables by itself.

    It is made anew, from the last checkpoint, when the cluster fails, and ends a ``with`` block
    quietly where the data end (OutOfRangeError). The graph is finalized while it lasts.

    Args:
      session_creator: makes the session, by default a `ChiefSessionCreator`.
      hooks: `SessionRunHook` objects.
      stop_grace_period_secs: how many seconds threads have to end when it is closed.

    >>> with tf.Graph().as_default():
    ...     step = tf.train.create_global_step()
    ...     add = tf.assign_add(step, 1)
    ...     stop = tf.train.StopAtStepHook(last_step=3)
    ...     with tf.train.MonitoredSession(hooks=[stop]) as session:
    ...         while not session.should_stop():
    ...             last = session.run(add)
    >>> int(last)
    3
    """

    def __init__(
        self,
        session_creator: Any = None,
        hooks: Sequence[SessionRunHook] | None = None,
        stop_grace_period_secs: float = 120,
    ) -> None:
        super().__init__(session_creator, hooks, True, stop_grace_period_secs)


class SingularMonitoredSession(_Monitored):
    """A monitored session that is not made anew after a failure, and shows its raw session.

    Args:
      hooks: `SessionRunHook` objects.
      scaffold, master, config, checkpoint_dir, checkpoint_filename_with_path: see
        `ChiefSessionCreator`.
      stop_grace_period_secs: how many seconds threads have to end when it is closed.

    Source: TensorFlow 1.15, ``tf.train.SingularMonitoredSession``.

    >>> with tf.Graph().as_default():
    ...     w = tf.get_variable("w", initializer=3.0)
    ...     with tf.train.SingularMonitoredSession() as sess:
    ...         float(sess.run(w)), isinstance(sess.raw_session(), tf.Session)
    (3.0, True)
    """

    @with_arguments_in_order(
        "hooks scaffold master config checkpoint_dir stop_grace_period_secs "
        "checkpoint_filename_with_path",
        MonitoredSession.__init__,
        ChiefSessionCreator.__init__,
    )
    def __init__(self, hooks: Any, stop_grace_period_secs: float, **of_creator: Any) -> None:
        creator = ChiefSessionCreator(**of_creator)
        super().__init__(creator, hooks, False, stop_grace_period_secs)

    def raw_session(self) -> Any:
        """Return the session inside; its `run` calls no hooks."""
        return self._tf_sess()


def MonitoredTrainingSession(
    master: str | PathLike[str] = "",
    is_chief: bool = True,
    checkpoint_dir: str | PathLike[str] | None = None,
    scaffold: Scaffold | None = None,
    hooks: Sequence[SessionRunHook] | None = None,
    chief_only_hooks: Sequence[SessionRunHook] | None = None,
    save_checkpoint_secs: float | None = USE_DEFAULT,
    save_summaries_steps: int | None = USE_DEFAULT,
    save_summaries_secs: float | None = USE_DEFAULT,
    config: ConfigProto | None = None,
    stop_grace_period_secs: float = 120,
    log_step_count_steps: int | None = 100,
    max_wait_secs: float = 7200,
    save_checkpoint_steps: int | None = USE_DEFAULT,
    summary_dir: str | PathLike[str] | None = None,
) -> MonitoredSession:
    """Return a monitored session for training: the chief saves checkpoints and summaries.

    Args:
      master: the session's target; workers share it with the chief.
      is_chief: False waits for the chief to give the variables their values, and saves nothing.
      checkpoint_dir: where checkpoints go, and are restored from; None saves nothing.
      scaffold: the operations that it needs.
      hooks: `SessionRunHook` objects.
      chief_only_hooks: those for the chief only.
      save_checkpoint_secs, save_checkpoint_steps: seconds or steps between two checkpoints, by
        default 600 seconds; None or 0 for both saves none.
      save_summaries_steps, save_summaries_secs: steps or seconds between summaries, by default
        100 steps.
      config: the session's configuration.
      stop_grace_period_secs: how many seconds threads have to end when it is closed.
      log_step_count_steps: steps between two reports of the steps per second.
      max_wait_secs: how many seconds a worker waits for the chief at most.
      summary_dir: where summaries go, by default `checkpoint_dir`.

    Source: TensorFlow 1.15, ``tf.train.MonitoredTrainingSession``.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> for _ in range(2):  # the second goes on where the first ended
    ...     with tf.Graph().as_default():
    ...         step = tf.train.create_global_step().assign_add(1)
    ...         with tf.train.MonitoredTrainingSession(checkpoint_dir=folder) as sess:
    ...             int(sess.run(step))
    1
    2
    """
    scaffold = scaffold or Scaffold()
    if not is_chief:
        worker = WorkerSessionCreator(scaffold, master, config, max_wait_secs)
        return MonitoredSession(worker, hooks, stop_grace_period_secs)
    every_secs, every_steps = _period(save_checkpoint_secs, save_checkpoint_steps, 600, None)
    summary_secs, summary_steps = _period(save_summaries_secs, save_summaries_steps, None, 100)
    chief = ChiefSessionCreator(scaffold, master, config, checkpoint_dir)
    all_hooks = list(chief_only_hooks or ())
    summary_dir = summary_dir or checkpoint_dir
    if summary_dir and (log_step_count_steps or 0) > 0:
        all_hooks.append(StepCounterHook(log_step_count_steps, output_dir=summary_dir))
    if summary_dir and (summary_steps or summary_secs):
        all_hooks.append(
            SummarySaverHook(summary_steps, summary_secs, output_dir=summary_dir, scaffold=scaffold)
        )
    if checkpoint_dir and (every_secs or every_steps):
        all_hooks.append(
            CheckpointSaverHook(
                checkpoint_dir, save_secs=every_secs, save_steps=every_steps, scaffold=scaffold
            )
        )
    return MonitoredSession(chief, [*all_hooks, *(hooks or ())], stop_grace_period_secs)


def _period(secs: Any, steps: Any, default_secs: Any, default_steps: Any) -> tuple[Any, Any]:
    """Return seconds and steps, one of them or none; what is given replaces both defaults."""
    if secs is USE_DEFAULT and steps is USE_DEFAULT:
        secs, steps = default_secs, default_steps
    found = [None if n is USE_DEFAULT or not n or n <= 0 else n for n in (secs, steps)]
    return found[0], found[1]
