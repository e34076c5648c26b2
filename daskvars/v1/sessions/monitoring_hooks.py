"""Hooks that look at a training: values logged, NaN found, steps counted, summaries, traces."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any

import numpy

from daskvars.execution.config_proto import RunOptions, StepStats
from daskvars.graph.interpreter import builder_for
from daskvars.graph.scopes.stacks import SessionLike
from daskvars.graph.tensor import TensorLike
from daskvars.summary import SessionLog, Summary
from daskvars.summary.file_writer import FileWriter
from daskvars.surface.accepted import accepts
from daskvars.v1 import logging
from daskvars.v1.sessions.hook_timers import (
    NeverTriggerTimer,
    SecondOrStepTimer,
    StepHook,
    required_global_step,
)
from daskvars.v1.sessions.scaffold import Scaffold
from daskvars.v1.sessions.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from daskvars.v1.summary_writers import FileWriterCache

# Runs without a new step before a warning that nothing counts the steps.
_STALE_RUNS = 20


class LoggingTensorHook(SessionRunHook):
    """Logs the values of tensors every so often, with `tf.logging.info`.

    Args:
      tensors: tag -> tensor or name of one; or a list of them.
      every_n_iter: runs between two logs.
      every_n_secs: seconds between two logs, instead of runs.
      at_end: log at the end, too (or only, if nothing else is given).
      formatter: function from a dict of tag -> value to the text.

    Raises:
      ValueError: not exactly one of runs and seconds is given, or runs are not positive.

    Source: TensorFlow 1.15, ``tf.train.LoggingTensorHook``.

    >>> with tf.Graph().as_default():
    ...     loss = tf.constant(0.5)
    ...     logs = tf.train.LoggingTensorHook({"loss": loss}, at_end=True, formatter=print)
    ...     with tf.train.MonitoredSession(hooks=[logs]) as sess:
    ...         value = sess.run(loss)
    {'loss': np.float32(0.5)}
    """

    def __init__(
        self,
        tensors: Any,
        every_n_iter: int | None = None,
        every_n_secs: float | None = None,
        at_end: bool = False,
        formatter: Callable[[dict[str, Any]], str] | None = None,
    ) -> None:
        only_at_end = at_end and every_n_iter is None and every_n_secs is None
        if not only_at_end and (every_n_iter is None) == (every_n_secs is None):
            raise ValueError(
                "either at_end and/or exactly one of every_n_iter and every_n_secs must be "
                "provided."
            )
        if every_n_iter is not None and every_n_iter <= 0:
            raise ValueError(f"invalid every_n_iter={every_n_iter}.")
        self._tensors = (
            dict(tensors) if isinstance(tensors, Mapping) else {item: item for item in tensors}
        )
        self._formatter, self._at_end = formatter, at_end
        self._timer = (
            NeverTriggerTimer()
            if only_at_end
            else SecondOrStepTimer(every_secs=every_n_secs, every_steps=every_n_iter)
        )

    def begin(self) -> None:
        """Find the tensors. Raises ValueError, KeyError for what is none of the graph."""
        self._timer.reset()
        self._runs = 0
        self._fetched = {tag: _tensor_of(item) for tag, item in self._tensors.items()}

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs | None:
        """Ask for the values when it is time."""
        self._is_due = self._timer.should_trigger_for_step(self._runs)
        return SessionRunArgs(self._fetched) if self._is_due else None

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Log the values."""
        if self._is_due:
            self._log(run_values.results)
        self._runs += 1

    def end(self, session: SessionLike) -> None:
        """Log the values for the last time, if that was asked for."""
        if self._at_end:
            self._log(session.run(self._fetched))

    def _log(self, values: dict[Any, Any]) -> None:
        elapsed_s, _ = self._timer.update_last_triggered_step(self._runs)
        if self._formatter:
            logging.info(self._formatter(values))
            return
        with numpy.printoptions(suppress=True):
            stats = ", ".join(f"{_tag(tag)} = {values[tag]}" for tag in self._tensors)
        if elapsed_s is None:
            logging.info("%s", stats)
        else:
            logging.info("%s (%.3f sec)", stats, elapsed_s)


def _tag(tag: Any) -> Any:
    return tag if isinstance(tag, str) else getattr(tag, "name", tag)


def _tensor_of(item: Any) -> Any:
    """Return the tensor that an object or a name stands for; ":0" may be left out."""
    graph = builder_for(())
    if not isinstance(item, str):
        if getattr(item, "graph", None) is not graph:
            raise ValueError(
                f"Passed {item} should have graph attribute that is equal to current graph {graph}."
            )
        return item
    if ":" in item:
        return graph.as_graph_element(item)
    if len(graph.as_graph_element(item).outputs) > 1:
        raise ValueError(f"Name {item} is ambiguous, as this `Operation` has multiple outputs.")
    return graph.as_graph_element(f"{item}:0")


class NanLossDuringTrainingError(RuntimeError):
    """The loss became NaN.

    >>> str(NanLossDuringTrainingError())
    'NaN loss during training.'
    """

    def __str__(self) -> str:
        return "NaN loss during training."


class NanTensorHook(SessionRunHook):
    """Ends the training when the loss is NaN.

    Args:
      loss_tensor: [] floating, which is fetched in each run.
      fail_on_nan_loss: raise NanLossDuringTrainingError; False ends without an error.

    Source: TensorFlow 1.15, ``tf.train.NanTensorHook``.

    >>> with tf.Graph().as_default():
    ...     x = tf.placeholder(tf.float32, [])
    ...     stops = tf.train.NanTensorHook(tf.log(x), fail_on_nan_loss=False)
    ...     with tf.train.MonitoredSession(hooks=[stops]) as sess:
    ...         _ = sess.run(x, {x: 1.0}), sess.run(x, {x: -1.0})
    ...         sess.should_stop()
    True
    """

    def __init__(self, loss_tensor: TensorLike, fail_on_nan_loss: bool = True) -> None:
        self._loss = loss_tensor
        self._fail = fail_on_nan_loss

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Ask for the loss."""
        return SessionRunArgs(self._loss)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Look at it. Raises NanLossDuringTrainingError."""
        if numpy.isnan(run_values.results):
            message = "Model diverged with loss = NaN."
            if self._fail:
                logging.error(message)
                raise NanLossDuringTrainingError
            logging.warning(message)
            run_context.request_stop()


class StepCounterHook(StepHook):
    """Reports steps per second, as a summary ``global_step/sec`` and in the log.

    Args:
      every_n_steps: steps between two reports.
      every_n_secs: seconds between two reports; then `every_n_steps` must be None.
      output_dir: directory of the event file.
      summary_writer: a `FileWriter`, instead of the directory.

    Raises:
      ValueError: not exactly one of steps and seconds is given.

    Source: TensorFlow 1.15, ``tf.train.StepCounterHook``.

    >>> import tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with tf.Graph().as_default():
    ...     step = tf.train.create_global_step().assign_add(1)
    ...     rate = tf.train.StepCounterHook(every_n_steps=10, output_dir=folder)
    ...     with tf.train.MonitoredSession(hooks=[rate]) as sess:
    ...         int(sess.run(step))
    1
    """

    def __init__(
        self,
        every_n_steps: int | None = 100,
        every_n_secs: float | None = None,
        output_dir: str | PathLike[str] | None = None,
        summary_writer: FileWriter | None = None,
    ) -> None:
        if (every_n_steps is None) == (every_n_secs is None):
            raise ValueError("exactly one of every_n_steps and every_n_secs should be provided.")
        self._timer = SecondOrStepTimer(every_steps=every_n_steps, every_secs=every_n_secs)
        self._writer, self._output_dir = summary_writer, output_dir
        self._last: Any = None
        self._stale_runs = 0

    def begin(self) -> None:
        """Find the global step. Raises RuntimeError where there is none."""
        if self._writer is None and self._output_dir:
            self._writer = FileWriterCache.get(self._output_dir)
        super().begin()
        self._tag = f"{self._step.op.name}/sec"

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Report when it is time, and warn when nothing counts the steps."""
        step = run_values.results
        if self._timer.should_trigger_for_step(step):
            elapsed_s, steps = self._timer.update_last_triggered_step(step)
            if elapsed_s is not None and elapsed_s > 0:  # else the clock was set back
                self._log_and_record(steps, elapsed_s, step)
        self._stale_runs = self._stale_runs + 1 if step == self._last else 0
        if self._stale_runs and self._stale_runs % _STALE_RUNS == 0:
            logging.warning(
                "It seems that global step (tf.train.get_global_step) has not been increased. "
                "Current value (could be stable): %s vs previous value: %s. You could increase "
                "the global step by passing tf.train.get_global_step() to "
                "Optimizer.apply_gradients or Optimizer.minimize.",
                step,
                self._last,
            )
        self._last = step

    def _log_and_record(self, elapsed_steps: Any, elapsed_time: float, global_step: Any) -> None:
        tell_rate(self._writer, self._tag, elapsed_steps / elapsed_time, global_step)


def tell_rate(writer: FileWriter | None, tag: str, rate: float, step: Any) -> None:
    """Log how many steps there are in a second, and write it where there is a writer."""
    if writer is not None:
        writer.add_summary(Summary(value=[Summary.Value(tag=tag, simple_value=rate)]), step)
    logging.info("%s: %g", tag, rate)


class SummarySaverHook(SessionRunHook):
    """Writes summaries every so often.

    Args:
      save_steps: steps between two.
      save_secs: seconds between two, instead of steps.
      output_dir: directory of the event file.
      summary_writer: a `FileWriter`, instead of the directory.
      scaffold: the `Scaffold` whose `summary_op` is run.
      summary_op: string tensor, or a list of them, instead of the scaffold.

    Raises:
      ValueError: not exactly one of `scaffold` and `summary_op` is given.

    Source: TensorFlow 1.15, ``tf.train.SummarySaverHook``.

    >>> import glob, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with tf.Graph().as_default():
    ...     step = tf.train.create_global_step().assign_add(1)
    ...     loss = tf.summary.scalar("loss", 0.5)
    ...     saves = tf.train.SummarySaverHook(save_steps=1, output_dir=folder, summary_op=loss)
    ...     with tf.train.MonitoredSession(hooks=[saves]) as sess:
    ...         _ = sess.run(step)
    >>> events = [e for path in glob.glob(f"{folder}/*") for e in tf.train.summary_iterator(path)]
    >>> [v.simple_value for e in events for v in e.summary.value if v.tag == "loss"]
    [0.5]
    """

    def __init__(
        self,
        save_steps: int | None = None,
        save_secs: float | None = None,
        output_dir: str | PathLike[str] | None = None,
        summary_writer: FileWriter | None = None,
        scaffold: Scaffold | None = None,
        summary_op: TensorLike | None = None,
    ) -> None:
        if (scaffold is None) == (summary_op is None):
            raise ValueError("Exactly one of scaffold or summary_op must be provided.")
        self._scaffold, self._summary_op = scaffold, summary_op
        self._writer, self._output_dir = summary_writer, output_dir
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)

    def begin(self) -> None:
        """Find the global step. Raises RuntimeError where there is none."""
        if self._writer is None and self._output_dir:
            self._writer = FileWriterCache.get(self._output_dir)
        self._next_step: Any = None
        self._step = required_global_step(self)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Ask for the summaries when it is time."""
        self._is_due = self._next_step is None or self._timer.should_trigger_for_step(
            self._next_step
        )
        requests = {"global_step": self._step}
        summaries = self._summaries() if self._is_due else []
        if summaries:
            requests["summary"] = summaries
        return SessionRunArgs(requests)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Write them."""
        if not self._writer:
            return
        step = run_values.results["global_step"]
        if self._next_step is None:
            self._writer.add_session_log(SessionLog(status=SessionLog.START), step)
        if self._is_due:
            self._timer.update_last_triggered_step(step)
            for summary in run_values.results.get("summary", ()):
                self._writer.add_summary(summary, step)
        self._next_step = step + 1

    def end(self, session: SessionLike | None = None) -> None:
        """Write what waits."""
        if self._writer:
            self._writer.flush()

    def _summaries(self) -> list[Any]:
        found = self._summary_op if self._scaffold is None else self._scaffold.summary_op
        if found is None:
            return []
        return list(found) if isinstance(found, Sequence) else [found]


@accepts("show_dataflow", "show_memory")
class ProfilerHook(SessionRunHook):
    """Writes what a run consists of, every so often, as a trace for chrome://tracing.

    The first run is left out, for it makes the plan; its metadata go into the event file, too.

    Args:
      save_steps: steps between two.
      save_secs: seconds between two, instead of steps.
      output_dir: directory of the files ``timeline-<step>.json``.

    Source: TensorFlow 1.15, ``tf.train.ProfilerHook``.

    >>> import os, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> with tf.Graph().as_default():
    ...     step = tf.train.create_global_step().assign_add(1)
    ...     traces = tf.train.ProfilerHook(save_steps=1, output_dir=folder)
    ...     with tf.train.MonitoredSession(hooks=[traces]) as sess:
    ...         _ = sess.run(step), sess.run(step)
    >>> os.path.exists(os.path.join(folder, "timeline-2.json"))
    True
    """

    def __init__(
        self,
        save_steps: int | None = None,
        save_secs: float | None = None,
        output_dir: str | PathLike[str] = "",
        show_dataflow: bool = True,
        show_memory: bool = False,
    ) -> None:
        self._output_dir = os.fspath(output_dir)
        self._path = os.path.join(output_dir, "timeline-{}.json")
        self._timer = SecondOrStepTimer(every_secs=save_secs, every_steps=save_steps)

    def begin(self) -> None:
        """Find the global step. Raises RuntimeError where there is none."""
        self._next_step: Any = None
        self._step = required_global_step(self)
        self._writer = FileWriterCache.get(self._output_dir) if self._output_dir else None

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Ask for a trace when it is time."""
        self._is_due = self._next_step is not None and self._timer.should_trigger_for_step(
            self._next_step
        )
        options = RunOptions(trace_level=RunOptions.FULL_TRACE) if self._is_due else None
        return SessionRunArgs(self._step, options=options)

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Write it."""
        step = run_values.results
        if self._next_step is None:
            self._timer.update_last_triggered_step(step - 1)  # counted from before the first run
        if self._is_due:
            self._timer.update_last_triggered_step(step)
            with open(self._path.format(step), "w") as file:
                json.dump(chrome_trace(run_values.run_metadata.step_stats), file)
            if self._writer is not None:
                self._writer.add_run_metadata(run_values.run_metadata, f"step_{step}", step)
        self._next_step = step + 1

    def end(self, session: SessionLike | None = None) -> None:
        """Write what waits."""
        if self._writer is not None:
            self._writer.flush()


class Timeline:
    """The work of a run, to be looked at in Chrome (``chrome://tracing``).

    Args:
      step_stats: that of a `RunMetadata` which a run with a full trace has filled.

    Source: TensorFlow 1.15, ``tensorflow.python.client.timeline``.

    >>> from daskvars.v1.python.client import timeline
    >>> told = tf.RunMetadata()
    >>> with tf.Graph().as_default(), tf.Session() as sess:
    ...     traced = tf.RunOptions(trace_level=tf.RunOptions.FULL_TRACE)
    ...     _ = sess.run(tf.constant([1.0]) + 1.0, options=traced, run_metadata=told)
    >>> timeline.Timeline(told.step_stats).generate_chrome_trace_format()[:15]
    '{"traceEvents":'
    """

    def __init__(self, step_stats: StepStats) -> None:
        self._step_stats = step_stats

    @accepts("show_dataflow", "show_memory")
    def generate_chrome_trace_format(
        self, show_dataflow: bool = True, show_memory: bool = False
    ) -> str:
        """Return the trace as JSON."""
        return json.dumps(chrome_trace(self._step_stats))


def chrome_trace(step_stats: StepStats) -> dict[str, Any]:
    """Return the work of a run as events of a Chrome trace: devices, and a lane per thread."""
    return {
        "traceEvents": [
            {
                "name": node.node_name,
                "ph": "X",
                "pid": number,
                "tid": node.thread_id,
                "cat": "task",
                "ts": node.all_start_micros,
                "dur": node.all_end_rel_micros,
                "args": {"ops": node.timeline_label, "device": device.device},
            }
            for number, device in enumerate(step_stats.dev_stats)
            for node in device.node_stats
        ]
    }
