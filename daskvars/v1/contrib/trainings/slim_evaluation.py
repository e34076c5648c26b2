"""slim.evaluation and ``tf.contrib.training``'s: a model's metrics, for one checkpoint or each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from daskvars import summary
from daskvars.dtypes import int64
from daskvars.graph.scopes.collections import GraphKeys
from daskvars.ops.state.assign import assign_add
from daskvars.surface.signatures import Argument, Family
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
        collections = [GraphKeys.LOCAL_VARIABLES, GraphKeys.EVAL_STEP]
        return get_variable(
            "eval_step", [], int64, Zeros(), trainable=False, collections=collections
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


EVALUATIONS = Family(
    {
        "checkpoint_dir": Argument("directory of the checkpoints.", type="str"),
        "checkpoint_path": Argument("path of the checkpoint.", type="str"),
        "master": Argument("see `ChiefSessionCreator`.", "", "str"),
        "scaffold": Argument("see `ChiefSessionCreator`.", None, "Scaffold | None"),
        "logdir": Argument("directory of the summaries.", type="str"),
        "num_evals": Argument("how often `eval_op` is run.", 1, "int"),
        "initial_op": Argument("what initializes.", None, "Any"),
        "initial_op_feed_dict": Argument("what to feed to it.", None, "Feeds"),
        "init_fn": Argument(
            "function of the session, called when it is made.", None, "Callable[[Any], Any]"
        ),
        "eval_ops": Argument(
            "what is run until a hook asks to stop, in any nesting; None for nothing.", None, "Any"
        ),
        "feed_dict": Argument("what to feed to them.", None, "Feeds"),
        "eval_op": Argument("what updates the metrics.", None, "Any"),
        "eval_op_feed_dict": Argument("what to feed to it.", None, "Feeds"),
        "final_ops": Argument("what is run at the end.", None, "Any"),
        "final_ops_feed_dict": Argument("what to feed to them.", None, "Feeds"),
        "final_op": Argument("what is run at the end.", None, "Any"),
        "final_op_feed_dict": Argument("what to feed to it.", None, "Feeds"),
        "summary_op": Argument(
            "string tensor of the summaries, by default all merged.", _USE_DEFAULT, "Any"
        ),
        "summary_op_feed_dict": Argument("what to feed to it.", None, "Feeds"),
        "variables_to_restore": Argument("list or dict of variables, by default all.", None, "Any"),
        "eval_interval_secs": Argument(
            "least number of seconds between two evaluations.", 60, "float"
        ),
        "hooks": Argument("further hooks of each session.", None, "Any"),
        "config": Argument("see `Session`.", None, "ConfigProto | None"),
        "session_config": Argument("see `Session`.", None, "ConfigProto | None"),
        "max_number_of_evaluations": Argument(
            "how many there are; None for no end.", None, "int | None"
        ),
        "timeout": Argument("see `train.checkpoints_iterator`.", None, "float | None"),
        "timeout_fn": Argument(
            "see `train.checkpoints_iterator`.", None, "Callable[[], bool] | None"
        ),
    },
    returns="The values of {final}, in their nesting, of the last checkpoint.",
    result="Any",
)
_OPS = "scaffold eval_ops feed_dict final_ops final_ops_feed_dict"
_EVAL = "eval_op eval_op_feed_dict final_op final_op_feed_dict summary_op summary_op_feed_dict"
_INITIAL = "num_evals initial_op initial_op_feed_dict"


def _evaluated(a: dict[str, Any]) -> Any:
    """Evaluate one checkpoint, or each new one of a directory."""
    evaluate = _evaluation(a)
    if "checkpoint_path" in a:
        return evaluate(a["checkpoint_path"])
    wait = a["eval_interval_secs"], a["timeout"], a["timeout_fn"]
    values, most = None, a["max_number_of_evaluations"]
    for number, path in enumerate(checkpoints_iterator(a["checkpoint_dir"], *wait), start=1):
        values = evaluate(path)
        if most is not None and number >= most:
            break
    return values


def _evaluation(a: dict[str, Any]) -> Callable[[str], Any]:
    """Return a function of a checkpoint's path that evaluates; the graph is made before."""
    counted = a["eval_ops"]
    if counted is not None:
        counted = [counted, assign_add(get_or_create_eval_step(), 1)]
    scaffold = Scaffold() if a["scaffold"] is None else a["scaffold"]

    def evaluate(path: str) -> Any:
        last = FinalOpsHook(a["final_ops"], a["final_ops_feed_dict"])
        creator = ChiefSessionCreator(
            scaffold, a["master"], a["config"], checkpoint_filename_with_path=path
        )
        with MonitoredSession(creator, [*(a["hooks"] or ()), last]) as session:
            while counted is not None and not session.should_stop():
                session.run(counted, a["feed_dict"])
        return last.final_ops_values

    return evaluate


def _slim_evaluated(a: dict[str, Any]) -> Any:
    """Evaluate as slim's functions are told to: so many steps, and summaries at the end."""
    return _evaluated(
        {
            **a,
            "scaffold": _scaffold(a),
            "eval_ops": a["eval_op"],
            "feed_dict": a["eval_op_feed_dict"],
            "final_ops": a["final_op"],
            "final_ops_feed_dict": a["final_op_feed_dict"],
            "hooks": _hooks(a),
            "config": a["session_config"],
        }
    )


def _scaffold(a: dict[str, Any]) -> Scaffold:
    variables, init_fn = a["variables_to_restore"], a.get("init_fn")
    return Scaffold(
        init_op=a["initial_op"],
        init_feed_dict=a["initial_op_feed_dict"],
        saver=None if variables is None else Saver(variables),
        init_fn=None if init_fn is None else lambda _, session: init_fn(session),
    )


def _hooks(a: dict[str, Any]) -> list[Any]:
    op, feeds = a["summary_op"], a["summary_op_feed_dict"]
    op = summary.merge_all() if isinstance(op, int) else op
    found: list[Any] = [StopAfterNEvalsHook(a["num_evals"])]
    if op is not None:
        found.append(SummaryAtEndHook(a["logdir"], summary_op=op, feed_dict=feeds))
    return [*found, *(a["hooks"] or ())]


evaluate_repeatedly = EVALUATIONS.function(
    __name__,
    "evaluate_repeatedly",
    f"checkpoint_dir master {_OPS} eval_interval_secs hooks config max_number_of_evaluations "
    "timeout timeout_fn",
    _evaluated,
    "Evaluate each new checkpoint of a directory.",
    final="`final_ops`",
)
evaluate_checkpoint = EVALUATIONS.function(
    __name__,
    "evaluate_checkpoint",
    f"checkpoint_path master {_OPS} hooks config",
    _evaluated,
    "Evaluate one checkpoint: ``tf.contrib.training.evaluate_once``.",
    final="`final_ops`",
)
evaluate_once = EVALUATIONS.function(
    __name__,
    "evaluate_once",
    f"master= checkpoint_path logdir {_INITIAL} {_EVAL} variables_to_restore session_config hooks",
    _slim_evaluated,
    "Evaluate one checkpoint: ``slim.evaluation.evaluate_once``.",
    final="`final_op`",
)
evaluation_loop = EVALUATIONS.function(
    __name__,
    "evaluation_loop",
    f"master= checkpoint_dir logdir {_INITIAL} init_fn {_EVAL} variables_to_restore "
    "eval_interval_secs max_number_of_evaluations session_config timeout timeout_fn hooks",
    _slim_evaluated,
    "Evaluate each new checkpoint of a directory: ``slim.evaluation.evaluation_loop``.",
    final="`final_op`",
)
