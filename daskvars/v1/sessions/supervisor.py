"""Supervisor: what MonitoredTrainingSession is made of, as programs before it used it."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from os import PathLike
from typing import Any, ClassVar

from daskvars import summary
from daskvars.errors import AbortedError
from daskvars.execution.config_proto import ConfigProto, RunOptions
from daskvars.execution.session import Session
from daskvars.graph.graph import Graph
from daskvars.graph.interpreter import builder_for
from daskvars.graph.scopes.collections import GraphKeys
from daskvars.summary import SessionLog
from daskvars.summary.file_writer import FileWriter
from daskvars.surface.forwarding import forwards
from daskvars.surface.one_line import ShownByArguments
from daskvars.train.training_step import global_step
from daskvars.v1 import logging
from daskvars.v1.graphs.meta_graph import export_scoped_meta_graph
from daskvars.v1.graphs.saver import Saver
from daskvars.v1.sessions.coordinator import Coordinator, LooperThread
from daskvars.v1.sessions.monitoring_hooks import tell_rate
from daskvars.v1.sessions.queue_runners import start_queue_runners
from daskvars.v1.sessions.scaffold import local_initializer
from daskvars.v1.sessions.session_manager import SessionManager
from daskvars.variables.collections import (
    global_variables,
    global_variables_initializer,
    report_uninitialized_variables,
)

# Collection -> what makes that which is not in it.
_MAKERS: dict[str, Callable[[], Any]] = {
    GraphKeys.READY_OP: report_uninitialized_variables,
    GraphKeys.READY_FOR_LOCAL_INIT_OP: lambda: None,
    GraphKeys.INIT_OP: global_variables_initializer,
    GraphKeys.LOCAL_INIT_OP: local_initializer,
    GraphKeys.SAVERS: lambda: Saver() if global_variables() else None,
    GraphKeys.SUMMARY_OP: summary.merge_all,
}


def _step_of(graph: Graph) -> Any:
    """Return the global step of a graph, None without one; here it may be a vector of one step."""
    found = graph.get_collection(GraphKeys.GLOBAL_STEP)
    if found:
        return found[0]
    try:
        step = graph.get_tensor_by_name("global_step:0")
    except KeyError:
        return None
    return step if step.dtype.is_integer else None


class Supervisor(ShownByArguments):
    """Prepares a session and serves a training in threads: checkpoints, summaries, queues.

    The chief restores the newest checkpoint of `logdir` or initializes the variables; the others
    wait for it. The graph is finalized. New programs use `MonitoredTrainingSession`.

    Args:
      graph: the graph, by default the present one.
      ready_op: tensor of the names of variables without values.
      ready_for_local_init_op: the same, of those that `local_init_op` needs.
      is_chief: whether this process initializes, saves and writes summaries.
      init_op: initializes the variables if there is no checkpoint.
      init_feed_dict: what is fed to it.
      local_init_op: run in each new session; by default it initializes local variables and tables.
      logdir: directory of checkpoints and summaries; without it there are none.
      summary_op: the summaries, by default all of them; None for none.
      saver: a `Saver`, by default the graph's; None for none.
      global_step: [] int64, by default the graph's.
      save_summaries_secs, save_model_secs: seconds between two; 0 for none.
      recovery_wait_secs: seconds between two looks at whether the chief is ready.
      stop_grace_secs: how many seconds threads have to end.
      checkpoint_basename: of the checkpoints' names.
      session_manager: a `SessionManager` instead of one of those ops.
      summary_writer: a `FileWriter`, by default one of `logdir`; None for none.
      init_fn: called with the session after `init_op`.
      local_init_run_options: of the run of `local_init_op`.

    What is not given is taken from the graph's collections or made.

    Source: TensorFlow 1.15, ``tf.train.Supervisor``.

    >>> with tf.Graph().as_default():
    ...     step = tf.train.create_global_step()
    ...     train_op = step.assign_add(1)
    ...     supervisor = tf.train.Supervisor()
    ...     with supervisor.managed_session() as sess:
    ...         while not supervisor.should_stop():
    ...             if sess.run(train_op) == 5:
    ...                 supervisor.request_stop()
    ...         int(sess.run(step))
    5
    """

    USE_DEFAULT: ClassVar[Any] = 0

    def __init__(
        self,
        graph: Graph | None = None,
        ready_op: Any = USE_DEFAULT,
        ready_for_local_init_op: Any = USE_DEFAULT,
        is_chief: bool = True,
        init_op: Any = USE_DEFAULT,
        init_feed_dict: Mapping[Any, Any] | None = None,
        local_init_op: Any = USE_DEFAULT,
        logdir: str | PathLike[str] | None = None,
        summary_op: Any = USE_DEFAULT,
        saver: Any = USE_DEFAULT,
        global_step: Any = USE_DEFAULT,
        save_summaries_secs: float = 120,
        save_model_secs: float = 600,
        recovery_wait_secs: float = 30,
        stop_grace_secs: float = 120,
        checkpoint_basename: str = "model.ckpt",
        session_manager: SessionManager | None = None,
        summary_writer: Any = USE_DEFAULT,
        init_fn: Callable[[Session], Any] | None = None,
        local_init_run_options: RunOptions | None = None,
    ) -> None:
        self._graph = builder_for(()) if graph is None else graph
        self._coord = Coordinator()
        self._started_threads: list[threading.Thread] = []
        self._is_chief = bool(is_chief)
        self._init_feed_dict, self._init_fn = init_feed_dict, init_fn
        self._stop_grace_secs = stop_grace_secs
        self._save_summaries_secs = save_summaries_secs if is_chief else None
        self._save_model_secs = save_model_secs if is_chief else None
        self._logdir = os.fspath(logdir) if logdir and is_chief else None
        self._save_path = self._logdir and os.path.join(self._logdir, checkpoint_basename)
        with self._graph.as_default():
            self._ready_op = self._found(ready_op, GraphKeys.READY_OP)
            self._ready_for_local_init_op = self._found(
                ready_for_local_init_op, GraphKeys.READY_FOR_LOCAL_INIT_OP
            )
            self._init_op = self._found(init_op, GraphKeys.INIT_OP)
            self._local_init_op = self._found(local_init_op, GraphKeys.LOCAL_INIT_OP)
            self._saver = self._found(saver, GraphKeys.SAVERS)
            self._summary_op = self._found(summary_op, GraphKeys.SUMMARY_OP)
            is_default = _is_default(global_step)
            self._global_step: Any = _step_of(self._graph) if is_default else global_step
        if _is_default(summary_writer):
            summary_writer = FileWriter(self._logdir) if self._logdir else None
        self._summary_writer = summary_writer if is_chief else None
        self._has_written_graph = False
        self._session_manager = session_manager or SessionManager(
            local_init_op=self._local_init_op,
            ready_op=self._ready_op,
            ready_for_local_init_op=self._ready_for_local_init_op,
            graph=self._graph,
            recovery_wait_secs=recovery_wait_secs,
            local_init_run_options=local_init_run_options,
        )
        self._graph.finalize()

    def _found(self, given: Any, collection: str) -> Any:
        """Return what is given, or the first of a collection, or what is made and added to it."""
        if not _is_default(given):
            return given
        found = self._graph.get_collection(collection)
        if found:
            return found[0]
        made = _MAKERS[collection]()
        if made is not None:
            self._graph.add_to_collection(collection, made)
        return made

    is_chief: bool = forwards("_is_chief", "Whether this process initializes and saves.")
    session_manager: SessionManager = forwards("_session_manager", "What makes sessions.")
    coord: Coordinator = forwards("_coord", "The coordinator of the threads.")
    init_op: Any = forwards("_init_op", "What initializes the variables.")
    init_feed_dict: Any = forwards("_init_feed_dict", "What is fed to it.")
    ready_op: Any = forwards("_ready_op", "The names of variables without values.")
    ready_for_local_init_op: Any = forwards(
        "_ready_for_local_init_op", "The names of those that `local_init_op` needs."
    )
    summary_writer: Any = forwards("_summary_writer", "The writer of summaries, or None.")
    summary_op: Any = forwards("_summary_op", "The summaries, or None.")
    save_summaries_secs: Any = forwards("_save_summaries_secs", "Seconds between two summaries.")
    save_model_secs: Any = forwards("_save_model_secs", "Seconds between two checkpoints.")
    save_path: Any = forwards("_save_path", "What the checkpoints' names begin with, or None.")
    saver: Any = forwards("_saver", "The saver, or None.")
    global_step: Any = forwards("_global_step", "The global step, or None.")

    # -- sessions -----------------------------------------------------------------------------

    def prepare_or_wait_for_session(
        self,
        master: Any = "",
        config: ConfigProto | None = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        start_standard_services: bool = True,
    ) -> Session:
        """Return a session that is ready, with the services started.

        Args:
          master: its target.
          config: its configuration.
          wait_for_checkpoint: wait for a checkpoint rather than initialize.
          max_wait_secs: how many seconds to wait at most.
          start_standard_services: start the services and the queue runners.
        """
        self._coord.clear_stop()
        if self._summary_writer is not None:
            self._summary_writer.reopen()
        if self._is_chief:
            session = self._session_manager.prepare_session(
                master,
                init_op=self._init_op,
                saver=self._saver,
                checkpoint_dir=self._logdir,
                wait_for_checkpoint=wait_for_checkpoint,
                max_wait_secs=max_wait_secs,
                config=config,
                init_feed_dict=self._init_feed_dict,
                init_fn=self._init_fn,
            )
            self._write_graph()
            if start_standard_services:
                self.start_standard_services(session)
        else:
            session = self._session_manager.wait_for_session(
                master, config=config, max_wait_secs=max_wait_secs
            )
        if start_standard_services:
            self.start_queue_runners(session)
        return session

    def _write_graph(self) -> None:
        """Write the graph into the event file, once for all sessions that share the file."""
        if self._summary_writer is None or self._has_written_graph:
            return
        saver_def = getattr(self._saver, "saver_def", None)
        data, _ = export_scoped_meta_graph(graph=self._graph, saver_def=saver_def)
        self._summary_writer.add_graph(self._graph)
        self._summary_writer.add_meta_graph(data)
        self._has_written_graph = True

    @contextmanager
    def managed_session(
        self,
        master: Any = "",
        config: ConfigProto | None = None,
        start_standard_services: bool = True,
        close_summary_writer: bool = True,
    ) -> Iterator[Session]:
        """Return a block with a session that is prepared, and at its end stopped and closed.

        An error of the block or a thread stops all and is raised by the block; the end of the data
        (OutOfRangeError) is none.

        Args:
          master, config, start_standard_services: see `prepare_or_wait_for_session`.
          close_summary_writer: close the writer at the end.
        """
        session = self.prepare_or_wait_for_session(
            master, config, start_standard_services=start_standard_services
        )
        try:
            with session.as_default():
                yield session
        except Exception as error:  # noqa: BLE001 - stop() raises it
            self.request_stop(error)
        finally:
            try:
                self.stop(close_summary_writer=close_summary_writer)
            finally:
                session.close()

    def start_standard_services(self, sess: Session) -> list[LooperThread]:
        """Start the threads that write summaries, steps per second, and checkpoints.

        Raises:
          RuntimeError: this is not the chief.
        """
        if not self._is_chief:
            raise RuntimeError(
                "Only chief supervisor can start standard services. Because only chief "
                "supervisors can write events."
            )
        if not self._logdir:
            logging.warning("Standard services need a 'logdir' passed to the Supervisor")
            return []
        writer = self._summary_writer
        if self._global_step is not None and writer is not None:
            log = SessionLog(status=SessionLog.START)
            writer.add_session_log(log, global_step(sess, self._global_step))
        threads: list[LooperThread] = []
        if self._save_summaries_secs and writer is not None:
            if self._summary_op is not None:
                threads.append(SVSummaryThread(self, sess))
            if self._global_step is not None:
                threads.append(SVStepCounterThread(self, sess))
        if self._saver is not None and self._save_model_secs:
            threads.append(SVTimerCheckpointThread(self, sess))
        for thread in threads:
            thread.start()
        self._started_threads.extend(threads)
        return threads

    def start_queue_runners(
        self, sess: Session, queue_runners: Iterable[Any] | None = None
    ) -> list[threading.Thread]:
        """Start the threads of queue runners, by default of those in the graph's collection."""
        if queue_runners is None:
            threads = start_queue_runners(sess, self._coord)
        else:
            threads = [
                thread
                for runner in queue_runners
                for thread in runner.create_threads(sess, self._coord, daemon=True, start=True)
            ]
        self._started_threads.extend(threads)
        return threads

    def loop(
        self,
        timer_interval_secs: float | None,
        target: Callable[..., Any],
        args: Any = None,
        kwargs: Any = None,
    ) -> LooperThread:
        """Start a thread that calls a function until all stop; see `LooperThread.loop`."""
        thread = LooperThread.loop(self._coord, timer_interval_secs, target, args, kwargs)
        self._started_threads.append(thread)
        return thread

    # -- stopping -----------------------------------------------------------------------------

    def stop(
        self,
        threads: Sequence[threading.Thread] | None = None,
        close_summary_writer: bool = True,
        ignore_live_threads: bool = False,
    ) -> None:
        """Stop the services, wait for their threads, and raise what one of them has reported.

        Args:
          threads: those to wait for, by default all that were started here.
          close_summary_writer: close the writer.
          ignore_live_threads: no error for threads that still run.
        """
        self._coord.request_stop()
        try:
            self._coord.join(
                self._started_threads if threads is None else threads,
                stop_grace_period_secs=self._stop_grace_secs,
                ignore_live_threads=ignore_live_threads,
            )
        finally:
            if close_summary_writer and self._summary_writer is not None:
                self._summary_writer.add_session_log(SessionLog(status=SessionLog.STOP))
                self._summary_writer.close()
                self._has_written_graph = False  # the file of the next session has it, too
        self._started_threads = []

    def request_stop(self, ex: Any = None) -> None:
        """Ask all threads to stop; see `Coordinator.request_stop`."""
        self._coord.request_stop(ex)

    def should_stop(self) -> bool:
        """Return whether all are asked to stop."""
        return self._coord.should_stop()

    def stop_on_exception(self) -> AbstractContextManager[None]:
        """Return a block whose errors stop all threads."""
        return self._coord.stop_on_exception()

    def wait_for_stop(self) -> None:
        """Wait until somebody asks all to stop."""
        self._coord.wait_for_stop()

    def summary_computed(self, sess: Session, summary: Any, global_step: int | None = None) -> None:
        """Write a summary that the program has computed.

        Args:
          sess: which gives the step.
          summary: a `Summary`, or one serialized.
          global_step: the step, by default the present one.

        Raises:
          RuntimeError: there is no writer.
        """
        if self._summary_writer is None:
            raise RuntimeError("Writing a summary requires a summary writer.")
        if global_step is None and self._global_step is not None:
            global_step = int(sess.run(self._global_step))
        self._summary_writer.add_summary(summary, global_step)

    PrepareSession = prepare_or_wait_for_session
    StartQueueRunners = start_queue_runners
    StartStandardServices = start_standard_services
    Stop = stop
    RequestStop = request_stop
    Loop = loop
    ShouldStop = should_stop
    StopOnException = stop_on_exception
    WaitForStop = wait_for_stop
    SummaryComputed = summary_computed


def _is_default(value: Any) -> bool:
    return type(value) is int and value == Supervisor.USE_DEFAULT


class _Service(LooperThread):
    """A thread of a supervisor, which does its work every so many seconds."""

    def __init__(self, sv: Supervisor, sess: Session, every_secs: float) -> None:
        super().__init__(sv.coord, every_secs)
        self._sv, self._sess = sv, sess


class SVSummaryThread(_Service):
    """Writes the summaries."""

    def __init__(self, sv: Supervisor, sess: Session) -> None:
        super().__init__(sv, sess, sv.save_summaries_secs)

    def run_loop(self) -> None:
        """Compute and write them."""
        fetches = [self._sv.summary_op]
        if self._sv.global_step is not None:
            fetches.append(self._sv.global_step)
        found, *step = self._sess.run(fetches)
        self._sv.summary_writer.add_summary(found, step[0] if step else None)


class SVStepCounterThread(_Service):
    """Writes the steps per second."""

    def __init__(self, sv: Supervisor, sess: Session) -> None:
        super().__init__(sv, sess, sv.save_summaries_secs)
        self._tag = f"{sv.global_step.op.name}/sec"

    def start_loop(self) -> None:
        """Look at the step and the time."""
        self._last = time.monotonic(), global_step(self._sess, self._sv.global_step)

    def run_loop(self) -> None:
        """Write how many steps there were since."""
        (before_s, before), now_s = self._last, time.monotonic()
        step = global_step(self._sess, self._sv.global_step)
        self._last = now_s, step
        if now_s > before_s:
            rate = (step - before) / (now_s - before_s)
            tell_rate(self._sv.summary_writer, self._tag, rate, step)


class SVTimerCheckpointThread(_Service):
    """Saves checkpoints."""

    def __init__(self, sv: Supervisor, sess: Session) -> None:
        super().__init__(sv, sess, sv.save_model_secs)

    def run_loop(self) -> None:
        """Save one."""
        sv = self._sv
        logging.info("Saving checkpoint to path %s", sv.save_path)
        sv.saver.save(self._sess, sv.save_path, global_step=sv.global_step)
        if sv.summary_writer is not None and sv.global_step is not None:
            log = SessionLog(status=SessionLog.CHECKPOINT, checkpoint_path=sv.save_path)
            sv.summary_writer.add_session_log(log, global_step(self._sess, sv.global_step))


def basic_train_loop(
    supervisor: Supervisor,
    train_step_fn: Callable[..., Any],
    args: Sequence[Any] | None = None,
    kwargs: Mapping[str, Any] | None = None,
    master: str = "",
) -> None:
    """Call a function with a session until the supervisor is to stop.

    A session whose cluster was lost (AbortedError) is made again.

    Args:
      supervisor: whose sessions they are, and which says when to stop.
      train_step_fn: ``train_step_fn(session, *args, **kwargs)``.
      args, kwargs: its other arguments.
      master: the session's target.

    Source: TensorFlow 1.15, ``tf.train.basic_train_loop``.

    >>> with tf.Graph().as_default():
    ...     count = tf.Variable(0).assign_add(1)
    ...     supervisor = tf.train.Supervisor(logdir=None)
    ...     def step(session):
    ...         if session.run(count) == 3:
    ...             print("three steps")
    ...             supervisor.request_stop()
    ...     tf.train.basic_train_loop(supervisor, step)
    three steps
    """
    is_done = False
    while not is_done:
        try:
            with supervisor.managed_session(master) as session:
                while not supervisor.should_stop():
                    train_step_fn(session, *(args or ()), **(kwargs or {}))
            is_done = True
        except AbortedError as error:
            logging.info("The session is made again: %s", error)
