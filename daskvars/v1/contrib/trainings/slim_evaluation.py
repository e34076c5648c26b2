"""slim.evaluation and ``tf.contrib.training``'s: a model's metrics, for one checkpoint or each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from daskvars import summary
from daskvars.dtypes import int64
from daskvars.execution.config_proto import ConfigProto
from daskvars.graph.scopes.collections import GraphKeys
from daskvars.ops.state.assign import assign_add
from daskvars.train.checkpoints.iterator import checkpoints_iterator
from daskvars.train.training_step import get_or_create_global_step, global_step
from daskvars.v1 import logging
from daskvars.v1.graphs.saver import Saver
from daskvars.v1.sessions.control_hooks import FinalOpsHook
from daskvars.v1.sessions.monitored_session import ChiefSessionCreator, MonitoredSession
from daskvars.v1.sessions.scaffold import Scaffold
from daskvars.v1.sessions.session_run_hook import (
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)
from daskvars.v1.summary_writers import FileWriterCache
from daskvars.variables.colocation import owner
from daskvars.variables.initializers import Zeros
from daskvars.variables.scopes.variable_scope import get_variable

_USE_DEFAULT = 0


def get_or_create_eval_step() -> Any:
    """Return the variable that counts the steps of an evaluation, made if need be."""
    found = owner().get_collection(GraphKeys.EVAL_STEP)
    if found:
        return found[0]
    with owner().name_scope(None):
        return get_variable(
            "eval_step",
            [],
            int64,
            Zeros(),
            trainable=False,
            collections=[GraphKeys.LOCAL_VARIABLES, GraphKeys.EVAL_STEP],
        )


class StopAfterNEvalsHook(SessionRunHook):
    """Stops after a number of runs.

    Args:
      num_evals: the number; None for never.
      log_progress: whether each run is logged.
    """

    def __init__(self, num_evals: int | None, log_progress: bool = True) -> None:
        self._num_evals = num_evals
        self._log_progress = log_progress

    def begin(self) -> None:
        """Find the variable that counts."""
        self._num_runs = 0

    def after_run(self, run_context: SessionRunContext, run_values: SessionRunValues) -> None:
        """Count, and ask to stop."""
        self._num_runs += 1
        if self._log_progress:
            of = "" if self._num_evals is None else f"/{self._num_evals}"
            logging.info("Evaluation [%d%s]", self._num_runs, of)
        if self._num_evals is not None and self._num_runs >= self._num_evals:
            run_context.request_stop()


class SummaryAtEndHook(SessionRunHook):
    """Writes summaries at the end.

    Args:
      log_dir: directory of the event file.
      summary_writer: a `FileWriter`, instead of the directory.
      summary_op: string tensor of the summaries, by default all merged.
      feed_dict: what to feed.

    Raises:
      ValueError: there is neither a directory nor a writer.
    """

    def __init__(
        self,
        log_dir: str | None = None,
        summary_writer: Any = None,
        summary_op: Any = None,
        feed_dict: Mapping[Any, Any] | None = None,
    ) -> None:
        if log_dir is None and summary_writer is None:
            raise ValueError("One of log_dir or summary_writer should be used.")
        self._summary_op, self._feeds = summary_op, feed_dict
        self._writer, self._log_dir = summary_writer, log_dir or ""

    def begin(self) -> None:
        """Find what to run."""
        if self._summary_op is None:
            self._summary_op = summary.merge_all()
        self._step = get_or_create_global_step()

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Open the file."""
        if self._writer is None:
            self._writer = FileWriterCache.get(self._log_dir)

    def end(self, session: Any) -> None:
        """Write."""
        if self._summary_op is not None:
            text = session.run(self._summary_op, self._feeds)
            self._writer.add_summary(text, global_step(session, self._step))
        self._writer.flush()


def evaluate_repeatedly(
    checkpoint_dir: str,
    master: str = "",
    scaffold: Scaffold | None = None,
    eval_ops: Any = None,
    feed_dict: Mapping[Any, Any] | None = None,
    final_ops: Any = None,
    final_ops_feed_dict: Mapping[Any, Any] | None = None,
    eval_interval_secs: float = 60,
    hooks: Any = None,
    config: ConfigProto | None = None,
    max_number_of_evaluations: int | None = None,
    timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
) -> Any:
    """Evaluate each new checkpoint, and return the last values of `final_ops`.

    Args:
      checkpoint_dir: directory of the checkpoints.
      master, scaffold, config: see `ChiefSessionCreator`.
      eval_ops: what is run until a hook asks to stop, in any nesting; None for nothing.
      feed_dict: what to feed to them.
      final_ops, final_ops_feed_dict: what is run at the end, and fed.
      eval_interval_secs: least number of seconds between two evaluations.
      hooks: hooks of each session.
      max_number_of_evaluations: how many there are; None for no end.
      timeout, timeout_fn: see `train.checkpoints_iterator`.
    """
    paths = checkpoints_iterator(checkpoint_dir, eval_interval_secs, timeout, timeout_fn)
    evaluate = _evaluation(scaffold, eval_ops, feed_dict, final_ops, final_ops_feed_dict, hooks)
    values = None
    for number, path in enumerate(paths, start=1):
        values = evaluate(path, master, config)
        if max_number_of_evaluations is not None and number >= max_number_of_evaluations:
            break
    return values


def evaluate_checkpoint(
    checkpoint_path: str,
    master: str = "",
    scaffold: Scaffold | None = None,
    eval_ops: Any = None,
    feed_dict: Mapping[Any, Any] | None = None,
    final_ops: Any = None,
    final_ops_feed_dict: Mapping[Any, Any] | None = None,
    hooks: Any = None,
    config: ConfigProto | None = None,
) -> Any:
    """Evaluate one checkpoint, ``tf.contrib.training.evaluate_once``; see `evaluate_repeatedly`."""
    found = _evaluation(scaffold, eval_ops, feed_dict, final_ops, final_ops_feed_dict, hooks)
    return found(checkpoint_path, master, config)


def _evaluation(
    scaffold: Any, eval_ops: Any, feeds: Any, final_ops: Any, final_feeds: Any, hooks: Any
) -> Callable[..., Any]:
    """Return a function of path, master and config that evaluates; the graph is made before."""
    counted = eval_ops
    if eval_ops is not None:
        counted = [eval_ops, assign_add(get_or_create_eval_step(), 1)]
    scaffold = Scaffold() if scaffold is None else scaffold

    def evaluate(path: str, master: str, config: Any) -> Any:
        last = FinalOpsHook(final_ops, final_feeds)
        creator = ChiefSessionCreator(scaffold, master, config, checkpoint_filename_with_path=path)
        with MonitoredSession(creator, [*(hooks or ()), last]) as session:
            while counted is not None and not session.should_stop():
                session.run(counted, feeds)
        return last.final_ops_values

    return evaluate


def _hooks(num_evals: int, summary_op: Any, logdir: str, feeds: Any, hooks: Any) -> list[Any]:
    op = summary.merge_all() if isinstance(summary_op, int) else summary_op
    found: list[Any] = [StopAfterNEvalsHook(num_evals)]
    if op is not None:
        found.append(SummaryAtEndHook(logdir, summary_op=op, feed_dict=feeds))
    return [*found, *(hooks or ())]


def evaluate_once(
    master: str,
    checkpoint_path: str,
    logdir: str,
    num_evals: int = 1,
    initial_op: Any = None,
    initial_op_feed_dict: Mapping[Any, Any] | None = None,
    eval_op: Any = None,
    eval_op_feed_dict: Mapping[Any, Any] | None = None,
    final_op: Any = None,
    final_op_feed_dict: Mapping[Any, Any] | None = None,
    summary_op: Any = _USE_DEFAULT,
    summary_op_feed_dict: Mapping[Any, Any] | None = None,
    variables_to_restore: Any = None,
    session_config: ConfigProto | None = None,
    hooks: Any = None,
) -> Any:
    """Evaluate one checkpoint and return the value of `final_op`. ``slim.evaluation``'s.

    Args:
      master: see `Session`.
      checkpoint_path: path of the checkpoint.
      logdir: directory of the summaries.
      num_evals: how often `eval_op` is run.
      initial_op, initial_op_feed_dict: what initializes, and what is fed to it.
      eval_op, eval_op_feed_dict: what updates the metrics, and what is fed to it.
      final_op, final_op_feed_dict: what is run at the end, and fed.
      summary_op, summary_op_feed_dict: string tensor of the summaries, by default all merged, and
        what is fed to it.
      variables_to_restore: list or dict of variables, by default all.
      session_config: see `Session`.
      hooks: further hooks.
    """
    return evaluate_checkpoint(
        checkpoint_path,
        master,
        _scaffold(initial_op, initial_op_feed_dict, variables_to_restore),
        eval_op,
        eval_op_feed_dict,
        final_op,
        final_op_feed_dict,
        _hooks(num_evals, summary_op, logdir, summary_op_feed_dict, hooks),
        session_config,
    )


def _scaffold(init_op: Any, feeds: Any, variables: Any, init_fn: Any = None) -> Scaffold:
    saver = None if variables is None else Saver(variables)
    fn = None if init_fn is None else lambda _, session: init_fn(session)
    return Scaffold(init_op=init_op, init_feed_dict=feeds, saver=saver, init_fn=fn)


def evaluation_loop(
    master: str,
    checkpoint_dir: str,
    logdir: str,
    num_evals: int = 1,
    initial_op: Any = None,
    initial_op_feed_dict: Mapping[Any, Any] | None = None,
    init_fn: Callable[[Any], Any] | None = None,
    eval_op: Any = None,
    eval_op_feed_dict: Mapping[Any, Any] | None = None,
    final_op: Any = None,
    final_op_feed_dict: Mapping[Any, Any] | None = None,
    summary_op: Any = _USE_DEFAULT,
    summary_op_feed_dict: Mapping[Any, Any] | None = None,
    variables_to_restore: Any = None,
    eval_interval_secs: float = 60,
    max_number_of_evaluations: int | None = None,
    session_config: ConfigProto | None = None,
    timeout: float | None = None,
    timeout_fn: Callable[[], bool] | None = None,
    hooks: Any = None,
) -> Any:
    """Evaluate each new checkpoint in a directory, and return the last value of `final_op`.

    Args:
      checkpoint_dir: directory of the checkpoints.
      init_fn: function of the session, called when it is made.
      eval_interval_secs: least number of seconds between two evaluations.
      max_number_of_evaluations: how many there are; None for no end.
      timeout, timeout_fn: see `train.checkpoints_iterator`.
      master, logdir, num_evals, initial_op, initial_op_feed_dict, eval_op, eval_op_feed_dict,
        final_op, final_op_feed_dict, summary_op, summary_op_feed_dict, variables_to_restore,
        session_config, hooks: see `evaluate_once`.
    """
    return evaluate_repeatedly(
        checkpoint_dir,
        master,
        _scaffold(initial_op, initial_op_feed_dict, variables_to_restore, init_fn),
        eval_op,
        eval_op_feed_dict,
        final_op,
        final_op_feed_dict,
        eval_interval_secs,
        _hooks(num_evals, summary_op, logdir, summary_op_feed_dict, hooks),
        session_config,
        max_number_of_evaluations,
        timeout,
        timeout_fn,
    )
