"""The hook that saves checkpoints, and those who want to know of it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from os import PathLike
from typing import Any

from daskvars.graph.interpreter import builder_for
from daskvars.graph.scopes.collections import GraphKeys
from daskvars.graph.scopes.stacks import SessionLike
from daskvars.summary import SessionLog
from daskvars.surface.accepted import accepts
from daskvars.surface.one_line import ShownByArguments
from daskvars.train.checkpoints.saver import Saver
from daskvars.v1 import logging
from daskvars.v1.sessions.coordinator import Coordinator
from daskvars.v1.sessions.hook_timers import SecondOrStepTimer, StepHook
from daskvars.v1.sessions.scaffold import Scaffold
from daskvars.v1.sessions.session_run_hook import SessionRunContext, SessionRunValues
from daskvars.v1.summary_writers import FileWriterCache


class CheckpointSaverListener(ShownByArguments):
    """Something to be done around the saving of checkpoints; all methods may be overridden.

    Source: TensorFlow 1.15, ``tf.train.CheckpointSaverListener``.

    >>> import tempfile
    >>> class Told(tf.train.CheckpointSaverListener):
    ...     def after_save(self, session, global_step_value):
    ...         print("saved step", global_step_value)
    >>> with tf.Graph().as_default():
    ...     step = tf.train.create_global_step().assign_add(1)
    ...     saves = tf.train.CheckpointSaverHook(tempfile.mkdtemp(), 600, listeners=[Told()])
    ...     with tf.train.MonitoredSession(hooks=[saves]) as sess:
    ...         _ = sess.run(step)
    saved step 0
    saved step 1
    """

    def begin(self) -> None:
        """Called once before the session is made."""

    def before_save(self, session: SessionLike, global_step_value: int) -> None:
        """Called before a checkpoint is saved."""

    def after_save(self, session: SessionLike, global_step_value: int) -> Any:
        """Called after a checkpoint was saved. Returning True ends the training."""

    def end(self, session: SessionLike, global_step_value: int) -> None:
        """Called when the session ends."""


@accepts("steps_per_run")
class CheckpointSaverHook(StepHook):
    """Saves a checkpoint when the session was made, every so often, and at the end.

    Args:
      checkpoint_dir: the directory.
      save_secs: seconds between two checkpoints.
      save_steps: steps between two checkpoints, instead of seconds.
      saver: the `Saver`.
      checkpoint_basename: name of the checkpoints, to which the step is added.
      scaffold: the `Scaffold` whose saver is used, instead of `saver`. With neither it is the
        graph's: the one in the collection ``GraphKeys.SAVERS``.
      listeners: `CheckpointSaverListener` objects.
      save_graph_def: write the graph's operations into the event file.

    Raises:
      ValueError: both `saver` and `scaffold` are given.

    Source: TensorFlow 1.15, ``tf.train.CheckpointSaverHook``.

    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with tf.Graph().as_default():
    ...     step = tf.train.create_global_step().assign_add(1)
    ...     saves = tf.train.CheckpointSaverHook(folder, save_steps=10)
    ...     with tf.train.MonitoredSession(hooks=[saves]) as sess:
    ...         _ = sess.run(step), sess.run(step)
    >>> os.path.basename(tf.train.latest_checkpoint(folder))
    'model.ckpt-2'
    """

    def __init__(
        self,
        checkpoint_dir: str | PathLike[str],
        save_secs: float | None = None,
        save_steps: int | None = None,
        saver: Saver | None = None,
        checkpoint_basename: str = "model.ckpt",
        scaffold: Scaffold | None = None,
        listeners: Sequence[Any] | None = None,
        save_graph_def: bool = True,
        steps_per_run: int = 1,
    ) -> None:
        if saver is not None and scaffold is not None:
            raise ValueError("You cannot provide both saver and scaffold.")
        self._saver, self._scaffold = saver, scaffold
        self._checkpoint_dir = os.fspath(checkpoint_dir)
        self._save_path = os.path.join(self._checkpoint_dir, checkpoint_basename)
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)
        self._listeners = list(listeners or ())
        self._save_graph_def = save_graph_def

    def begin(self) -> None:
        """Find the global step.

        Raises:
          RuntimeError: there is none.
        """
        super().begin()
        self._graph = builder_for((self._step,))
        self._writer = FileWriterCache.get(self._checkpoint_dir)
        for listener in self._listeners:
            listener.begin()

    def after_create_session(self, session: SessionLike, coord: Coordinator) -> None:
        """Save the values that the session starts with."""
        if self._save_graph_def:
            self._writer.add_graph(self._graph)
        step = session.run(self._step)
        self._save(session, step)
        self._timer.update_last_triggered_step(step)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Save when it is time."""
        step = run_values.results
        if self._timer.should_trigger_for_step(step):
            self._timer.update_last_triggered_step(step)
            if self._save(run_context.session, step):
                run_context.request_stop()

    def end(self, session: SessionLike) -> None:
        """Save the last step, unless it is saved."""
        step = session.run(self._step)
        if step != self._timer.last_triggered_step():
            self._save(session, step)
        for listener in self._listeners:
            listener.end(session, step)

    def _save(self, session: SessionLike, step: int) -> bool:
        """Save a checkpoint; return whether a listener wants to stop."""
        logging.info("Saving checkpoints for %d into %s.", step, self._save_path)
        for listener in self._listeners:
            listener.before_save(session, step)
        path = self._get_saver().save(session, self._save_path, global_step=int(step))
        log = SessionLog(status=SessionLog.CHECKPOINT, checkpoint_path=path)
        self._writer.add_session_log(log, step)
        wants_stop = [listener.after_save(session, step) for listener in self._listeners]
        return any(wants_stop)

    def _get_saver(self) -> Any:
        if self._saver is None and self._scaffold is not None:
            return self._scaffold.saver
        if self._saver is None:
            savers = self._graph.get_collection(GraphKeys.SAVERS)
            if len(savers) != 1:
                found = "More than one item" if savers else "No items"
                raise RuntimeError(
                    f"{found} in collection {GraphKeys.SAVERS}. Please add one saver to the "
                    "collection, or give a saver or scaffold to the hook."
                )
            (self._saver,) = savers
        return self._saver
