"""Hooks that steer a training: when to begin and to stop, what to feed, what to run at the end."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from daskvars.errors import OutOfRangeError
from daskvars.graph.scopes.stacks import SessionLike
from daskvars.surface.forwarding import forwards
from daskvars.v1 import logging
from daskvars.v1.sessions.coordinator import Coordinator
from daskvars.v1.sessions.hook_timers import StepHook, required_global_step
from daskvars.v1.sessions.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)


class StopAtStepHook(StepHook):
    """Stops the training at a step.

    Args:
      num_steps: how many steps to run from where the session starts.
      last_step: the step after which to stop, instead of a number of them.

    Raises:
      ValueError: not exactly one of them is given.

    Source: TensorFlow 1.15, ``tf.train.StopAtStepHook``.

    >>> with tf.Graph().as_default():
    ...     step = tf.train.create_global_step().assign_add(1)
    ...     with tf.train.MonitoredSession(hooks=[tf.train.StopAtStepHook(3)]) as sess:
    ...         while not sess.should_stop():
    ...             last = sess.run(step)
    >>> int(last)
    3
    """

    def __init__(self, num_steps: int | None = None, last_step: int | None = None) -> None:
        if num_steps is None and last_step is None:
            raise ValueError("One of num_steps or last_step must be specified.")
        if num_steps is not None and last_step is not None:
            raise ValueError("Only one of num_steps or last_step can be specified.")
        self._num_steps, self._last_step = num_steps, last_step

    def after_create_session(self, session: SessionLike, coord: Coordinator) -> None:
        """Count from the step that the session starts with; a session made anew counts on."""
        if self._last_step is None:
            self._last_step = session.run(self._step) + self._num_steps

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Stop where it is reached."""
        if run_values.results >= self._last_step:
            run_context.request_stop()


class GlobalStepWaiterHook(SessionRunHook):
    """Lets a worker wait until the others have reached a step.

    Args:
      wait_until_step: that step.

    Source: TensorFlow 1.15, ``tf.train.GlobalStepWaiterHook``.

    >>> with tf.Graph().as_default():
    ...     step = tf.train.create_global_step()
    ...     at_once = tf.train.GlobalStepWaiterHook(wait_until_step=0)
    ...     with tf.train.MonitoredSession(hooks=[at_once]) as sess:
    ...         int(sess.run(step))
    0
    """

    # Seconds between two looks at the global step.
    POLL_S = 0.5

    def __init__(self, wait_until_step: int) -> None:
        self._wait_until = wait_until_step

    def begin(self) -> None:
        """Find the global step. Raises RuntimeError where there is none."""
        self._is_started = False
        self._step = required_global_step(self)

    def before_run(self, run_context: SessionRunContext) -> None:
        """Wait, before the first run."""
        if self._is_started:
            return
        if self._wait_until > 0:
            logging.info("Waiting for global step %d before starting training.", self._wait_until)
            while run_context.session.run(self._step) < self._wait_until:
                time.sleep(self.POLL_S)
        self._is_started = True


class FinalOpsHook(SessionRunHook):
    """Runs operations at the end.

    Args:
      final_ops: what to run, in any nesting.
      final_ops_feed_dict: what to feed.

    Source: TensorFlow 1.15, ``tf.train.FinalOpsHook``.

    >>> with tf.Graph().as_default():
    ...     count = tf.train.create_global_step()
    ...     three_more = count.assign_add(3)
    ...     last = tf.train.FinalOpsHook(count * 10)
    ...     with tf.train.MonitoredSession(hooks=[last]) as sess:
    ...         _ = sess.run(three_more)
    >>> int(last.final_ops_values)
    30
    """

    def __init__(
        self, final_ops: Any, final_ops_feed_dict: Mapping[Any, Any] | None = None
    ) -> None:
        self._ops, self._feeds = final_ops, final_ops_feed_dict
        self._values: Any = None

    final_ops_values: Any = forwards("_values", "Their values.")

    def end(self, session: SessionLike) -> None:
        """Run them."""
        if self._ops is None:
            return
        try:
            self._values = session.run(self._ops, feed_dict=self._feeds)
        except (OutOfRangeError, StopIteration):
            logging.warning("The final ops need data, which had come to an end.")
            raise


class FeedFnHook(SessionRunHook):
    """Feeds every run with what a function returns.

    Args:
      feed_fn: gives a feed_dict.

    Source: TensorFlow 1.15, ``tf.train.FeedFnHook``.

    >>> with tf.Graph().as_default():
    ...     x = tf.placeholder(tf.float32, [])
    ...     double = x * 2.0
    ...     feeds = tf.train.FeedFnHook(lambda: {x: 3.0})
    ...     with tf.train.MonitoredSession(hooks=[feeds]) as sess:
    ...         float(sess.run(double))
    6.0
    """

    def __init__(self, feed_fn: Callable[[], Any]) -> None:
        self.feed_fn = feed_fn

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Ask for the feeds."""
        return SessionRunArgs(fetches=None, feed_dict=self.feed_fn())
