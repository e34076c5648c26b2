"""slim.learning: a training loop, on a monitored session."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from daskvars import summary
from daskvars.dtypes import string
from daskvars.errors import OutOfRangeError
from daskvars.execution.config_proto import ConfigProto
from daskvars.graph.scopes.default_graph import get_default_graph
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.ops.array.constant import constant
from daskvars.ops.control.dependencies import no_op
from daskvars.ops.math.comparison import equal, greater_equal
from daskvars.ops.math.division import mod
from daskvars.surface.accepted import accepts
from daskvars.surface.signatures import with_arguments_in_order
from daskvars.train.training_step import get_or_create_global_step, global_step as value_of_step
from daskvars.v1 import logging
from daskvars.v1.graphs.saver import Saver
from daskvars.v1.optimizers.sync_replicas import SyncReplicasOptimizer
from daskvars.v1.sessions.checkpoint_hooks import CheckpointSaverHook
from daskvars.v1.sessions.monitored_session import (
    ChiefSessionCreator,
    MonitoredSession,
    MonitoredTrainingSession,
    WorkerSessionCreator,
)
from daskvars.v1.sessions.monitoring_hooks import ProfilerHook, SummarySaverHook
from daskvars.v1.sessions.scaffold import Scaffold, local_initializer
from daskvars.variables.collections import (
    global_variables_initializer,
    report_uninitialized_variables,
)

_USE_DEFAULT = 0
_POLL_S = 1.0


def train_step(
    sess: Any, train_op: Any, global_step: Any, train_step_kwargs: Mapping[str, Any]
) -> tuple[Any, Any]:
    """Make one step; return the loss, and whether to stop.

    Args:
      sess: a session.
      train_op: tensor whose value is the loss.
      global_step: variable that counts the steps.
      train_step_kwargs: "should_stop" and "should_log", scalar bool tensors, as far as wanted.
    """
    start = time.monotonic()
    loss, step = sess.run([train_op, global_step])
    if "should_log" in train_step_kwargs and sess.run(train_step_kwargs["should_log"]):
        took = time.monotonic() - start
        logging.info("global step %d: loss = %.4f (%.3f sec/step)", step, loss, took)
    stop = train_step_kwargs.get("should_stop")
    return loss, False if stop is None else sess.run(stop)


@accepts("ignore_live_threads")
def train(
    train_op: Any,
    logdir: str | None,
    train_step_fn: Callable[..., Any] = train_step,
    train_step_kwargs: Any = _USE_DEFAULT,
    log_every_n_steps: int = 1,
    graph: Any = None,
    master: str = "",
    is_chief: bool = True,
    global_step: Any = None,
    number_of_steps: int | None = None,
    init_op: Any = _USE_DEFAULT,
    init_feed_dict: Mapping[Any, Any] | None = None,
    local_init_op: Any = _USE_DEFAULT,
    init_fn: Callable[[Any], Any] | None = None,
    ready_op: Any = _USE_DEFAULT,
    summary_op: Any = _USE_DEFAULT,
    save_summaries_secs: float = 600,
    summary_writer: Any = _USE_DEFAULT,
    startup_delay_steps: int = 0,
    saver: Any = None,
    save_interval_secs: float = 600,
    sync_optimizer: Any = None,
    session_config: ConfigProto | None = None,
    session_wrapper: Callable[[Any], Any] | None = None,
    trace_every_n_steps: int | None = None,
    ignore_live_threads: bool = False,
) -> Any:
    """Train until enough steps are made, the step asks to stop, or the data end.

    The variables are restored from the newest checkpoint in `logdir`, or else initialized. A
    checkpoint is written at the beginning, from time to time, and at the end.

    Args:
      train_op: tensor whose value is the loss, as `create_train_op` gives.
      logdir: directory of checkpoints and summaries; None for neither.
      train_step_fn: makes one step, as `train_step` does.
      train_step_kwargs: its last argument, by default tensors that say when to log and to stop.
      log_every_n_steps: how often the loss is logged; 0 for never.
      graph: the graph, by default the default one.
      master: see `Session`.
      is_chief: whether this process initializes, and writes checkpoints and summaries.
      global_step: variable that counts the steps, by default the graph's.
      number_of_steps: the greatest value of `global_step`.
      init_op, init_feed_dict, local_init_op, ready_op: see `Scaffold`.
      init_fn: function of the session, called after `init_op`.
      summary_op: string tensor of the summaries, by default all merged; None for none.
      save_summaries_secs: seconds between two.
      summary_writer: what writes them, by default into `logdir`; None for none.
      startup_delay_steps: how many steps a process that is not the chief waits for.
      saver: a `Saver`.
      save_interval_secs: seconds between two checkpoints.
      sync_optimizer: a `SyncReplicasOptimizer`, or a list of them.
      session_config: see `Session`.
      session_wrapper: function of the session that gives what runs steps.
      trace_every_n_steps: how often a step is traced, into `logdir`.

    Returns:
      The last loss; None where no step was made.

    Raises:
      ValueError: there is no `train_op`, `number_of_steps` is not positive, or `logdir` is None
        along with what is written there.
    """
    _check(train_op, logdir, summary_op, saver, trace_every_n_steps, number_of_steps)
    optimizers = _synchronized(sync_optimizer, startup_delay_steps)
    graph = get_default_graph() if graph is None else graph
    with graph.as_default():
        step = get_or_create_global_step() if global_step is None else global_step
        summaries = _chosen(summary_op, summary.merge_all, lambda: None)
        scaffold = _scaffold(init_op, ready_op, local_init_op, init_feed_dict, init_fn)
        scaffold = Scaffold(summary_op=summaries, saver=saver, copy_from_scaffold=scaffold)
        kwargs = train_step_kwargs
        if isinstance(kwargs, int):
            kwargs = _step_kwargs(step, number_of_steps, log_every_n_steps)
        hooks: list[Any] = [optimizer.make_session_run_hook(is_chief) for optimizer in optimizers]
        if is_chief and logdir:
            hooks.append(CheckpointSaverHook(logdir, save_interval_secs, scaffold=scaffold))
            hooks += _written(summaries, save_summaries_secs, logdir, summary_writer)
            hooks += _traced(trace_every_n_steps, logdir)
        creator: Any = WorkerSessionCreator(scaffold, master, session_config)
        if is_chief:
            creator = ChiefSessionCreator(scaffold, master, session_config, logdir)
        with MonitoredSession(creator, hooks) as session:
            runner = session if session_wrapper is None else session_wrapper(session)
            if not is_chief:
                _wait_for(session, step, min(startup_delay_steps, number_of_steps or 10**18))
            return _steps(session, runner, train_step_fn, train_op, step, kwargs)


def _scaffold(
    init_op: Any, ready_op: Any, local_init_op: Any, feeds: Any, init_fn: Any
) -> Scaffold:
    with name_scope("init_ops"):
        return Scaffold(
            init_op=_chosen(init_op, global_variables_initializer, no_op),
            ready_op=_chosen(ready_op, report_uninitialized_variables, _nothing),
            local_init_op=_chosen(local_init_op, local_initializer, no_op),
            init_feed_dict=feeds,
            init_fn=None if init_fn is None else lambda _, session: init_fn(session),
            saver=Saver(allow_empty=True),
        )


def _written(summaries: Any, period_s: float, logdir: str, writer: Any) -> list[Any]:
    """Return the hook that writes summaries, if there are any."""
    if summaries is None or writer is None:
        return []
    is_default = isinstance(writer, int)
    return [
        SummarySaverHook(
            save_secs=period_s,
            output_dir=logdir if is_default else None,
            summary_writer=None if is_default else writer,
            summary_op=summaries,
        )
    ]


def _traced(every: int | None, logdir: str) -> list[Any]:
    return [] if every is None else [ProfilerHook(save_steps=every, output_dir=logdir)]


def _steps(session: Any, runner: Any, step_fn: Any, train_op: Any, step: Any, kwargs: Any) -> Any:
    loss = None
    try:
        while not session.should_stop():
            loss, should_stop = step_fn(runner, train_op, step, kwargs)
            if should_stop:
                break
    except OutOfRangeError as error:
        logging.info("Caught OutOfRangeError. Stopping Training. %s", error)
    return loss


def _check(
    train_op: Any, logdir: Any, summary_op: Any, saver: Any, trace: Any, number_of_steps: Any
) -> None:
    if train_op is None:
        raise ValueError("train_op cannot be None.")
    written = {
        "summary_op": summary_op is not None and not isinstance(summary_op, int),
        "saver": saver is not None,
        "trace_every_n_steps": trace is not None,
    }
    for name, is_given in written.items():
        if logdir is None and is_given:
            raise ValueError(f"Cannot provide {name} because logdir=None")
    if number_of_steps is not None and number_of_steps <= 0:
        raise ValueError("`number_of_steps` must be either None or a positive number.")


def _synchronized(optimizer: Any, startup_delay_steps: int) -> list[Any]:
    """Return the list of optimizers of several replicas."""
    if optimizer is None:
        return []
    if startup_delay_steps > 0:
        raise ValueError("startup_delay_steps must be zero when sync_optimizer is supplied.")
    found = list(optimizer) if isinstance(optimizer, list | tuple) else [optimizer]
    if not all(isinstance(each, SyncReplicasOptimizer) for each in found):
        raise ValueError("`sync_optimizer` must be a tf.train.SyncReplicasOptimizer.")
    return found


def _chosen(given: Any, make: Callable[[], Any], none: Callable[[], Any]) -> Any:
    """Return what is given, or made by default; `none()` for None, which is to have no default."""
    if given is None:
        return none()
    return make() if isinstance(given, int) else given


def _nothing() -> Any:
    return constant([], string)


def _step_kwargs(step: Any, number_of_steps: int | None, every: int) -> dict[str, Any]:
    with name_scope("train_step"):
        stop = greater_equal(step, number_of_steps) if number_of_steps else constant(False)
        found = {"should_stop": stop}
        if every > 0:
            found["should_log"] = equal(mod(step, every), 0)
        return found


def _wait_for(session: Any, step: Any, number: int) -> None:
    while number > 0 and value_of_step(session, step) < number:
        time.sleep(_POLL_S)


@with_arguments_in_order(
    "train_op logdir master is_chief scaffold hooks chief_only_hooks save_checkpoint_secs=600 "
    "save_summaries_steps=100 config max_wait_secs",
    MonitoredTrainingSession,
)
def train_monitored(train_op: Any, logdir: str | None, **arguments: Any) -> Any:
    """Train until a hook asks to stop; return the last loss. ``tf.contrib.training.train``.

    Args:
      train_op: tensor whose value is the loss.
      logdir: directory of checkpoints and summaries.
      save_checkpoint_secs: seconds between two checkpoints; None or 0 for none.
      save_summaries_steps: steps between two summaries; None or 0 for none.

    Raises:
      ValueError: `logdir` is None, and checkpoints or summaries are wanted.
    """
    for name in ("save_summaries_steps", "save_checkpoint_secs"):
        if logdir is None and arguments["is_chief"] and arguments[name]:
            raise ValueError(f"logdir cannot be None when {name} is not None")
    loss = None
    with MonitoredTrainingSession(checkpoint_dir=logdir, **arguments) as session:
        while not session.should_stop():
            loss = session.run(train_op)
    return loss
