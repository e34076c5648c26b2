"""SessionManager: sessions whose variables have values, by restoring or initializing them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from os import PathLike
from typing import Any

from daskvars.errors import DeadlineExceededError, FailedPreconditionError
from daskvars.execution.config_proto import ConfigProto, RunOptions
from daskvars.execution.session import Session
from daskvars.graph.graph import Graph
from daskvars.graph.interpreter import builder_for
from daskvars.graph.tensor import Operation, Tensor
from daskvars.surface.one_line import ShownByArguments
from daskvars.surface.signatures import with_arguments_in_order
from daskvars.train.checkpoints.checkpoint_state import get_checkpoint_state
from daskvars.v1 import logging

Readiness = tuple[bool, str | None]


FIRST_PAUSE_S = 0.25  # a look costs little; the pauses double


class SessionManager(ShownByArguments):
    """Makes sessions that are ready to be used.

    Args:
      local_init_op: operation that is run in each new session once the model can bear it.
      ready_op: tensor of the names of what is not ready: empty when the model is.
      ready_for_local_init_op: the same, for running `local_init_op`.
      graph: the graph, by default the present one.
      recovery_wait_secs: most seconds between two looks at whether the model is ready.
      local_init_run_options: options of the run of `local_init_op`.
      local_init_feed_dict: what is fed to it.

    Raises:
      ValueError: there is a `ready_for_local_init_op` without a `local_init_op`.

    >>> with tf.Graph().as_default():
    ...     v = tf.Variable(3)
    ...     manager = tf.train.SessionManager(ready_op=tf.report_uninitialized_variables())
    ...     session = manager.prepare_session("", init_op=tf.global_variables_initializer())
    >>> int(session.run(v))
    3
    """

    def __init__(
        self,
        local_init_op: Operation | Tensor | None = None,
        ready_op: Tensor | None = None,
        ready_for_local_init_op: Tensor | None = None,
        graph: Graph | None = None,
        recovery_wait_secs: float = 30,
        local_init_run_options: RunOptions | None = None,
        local_init_feed_dict: Mapping[Any, Any] | None = None,
    ) -> None:
        if ready_for_local_init_op is not None and local_init_op is None:
            raise ValueError(
                "If you pass a ready_for_local_init_op you must also pass a local_init_op "
                f", ready_for_local_init_op [{ready_for_local_init_op}]"
            )
        self._local_init_op = local_init_op
        self._ready_op = ready_op
        self._ready_for_local_init_op = ready_for_local_init_op
        self._graph = builder_for(()) if graph is None else graph
        self._wait_secs = recovery_wait_secs
        self._options, self._feeds = local_init_run_options, local_init_feed_dict

    def prepare_session(
        self,
        master: Any,
        init_op: Operation | Tensor | None = None,
        saver: Any = None,
        checkpoint_dir: Any = None,
        checkpoint_filename_with_path: Any = None,
        wait_for_checkpoint: bool = False,
        max_wait_secs: float = 7200,
        config: Any = None,
        init_feed_dict: Mapping[Any, Any] | None = None,
        init_fn: Callable[[Session], Any] | None = None,
    ) -> Session:
        """Return a new session, with values restored from a checkpoint or else initialized.

        Args:
          master: the session's target.
          init_op: operation, or a list of them, that initializes the variables.
          saver: restores them.
          checkpoint_dir: directory whose newest checkpoint is restored, if it has one.
          checkpoint_filename_with_path: the checkpoint to restore, instead of a directory.
          wait_for_checkpoint: wait for a checkpoint.
          max_wait_secs: how many seconds at most.
          config: the session's configuration.
          init_feed_dict: what is fed to `init_op`.
          init_fn: function of the session that is called after `init_op`.

        Raises:
          RuntimeError: the variables can be neither restored nor initialized.
          ValueError: both a directory and a checkpoint are given.
        """
        session = Session(master, graph=self._graph, config=config)
        path = checkpoint_filename_with_path
        if not self._restored(
            session, saver, checkpoint_dir, path, wait_for_checkpoint, max_wait_secs
        ):
            if init_op is None and init_fn is None and self._local_init_op is None:
                raise RuntimeError(
                    "Model is not initialized and no init_op or init_fn or local_init_op was given"
                )
            if init_op is not None:
                session.run(init_op, feed_dict=init_feed_dict)
            if init_fn is not None:
                init_fn(session)
        done, reason = self._initialize_locally(session)
        if not done:
            raise RuntimeError(
                "Init operations did not make model ready for local_init.  "
                f"Init op: {_names(init_op)}, init fn: {init_fn}, error: {reason}"
            )
        ready, reason = self._is_ready(session)
        if not ready:
            raise RuntimeError(
                f"Init operations did not make model ready.  Init op: {_names(init_op)}, "
                f"init fn: {init_fn}, local_init_op: {_names(self._local_init_op)}, error: {reason}"
            )
        return session

    @with_arguments_in_order(
        "master saver checkpoint_dir checkpoint_filename_with_path wait_for_checkpoint "
        "max_wait_secs config",
        prepare_session,
    )
    def recover_session(self, master: Any, config: Any, **given: Any) -> tuple[Session, bool]:
        """Return a new session and whether its variables could be restored and all is ready."""
        session = Session(master, graph=self._graph, config=config)
        is_restored = self._restored(session, **given)
        done, reason = self._initialize_locally(session)
        restoring = "Restoring model from %s did not make model ready for local init: %s"
        if done:
            done, reason = self._is_ready(session)
            restoring = "Restoring model from %s did not make model ready: %s"
        if not is_restored:
            return session, False
        if not done:
            path = given["checkpoint_dir"] or given["checkpoint_filename_with_path"]
            logging.info(restoring, path, reason)
        return session, done

    def wait_for_session(
        self,
        master: str | PathLike[str],
        config: ConfigProto | None = None,
        max_wait_secs: float = float("inf"),
    ) -> Session:
        """Return a new session once somebody else has made the model on `master` ready.

        Args:
          master: the target, shared with who initializes the variables.
          config: the session's configuration.
          max_wait_secs: how many seconds to wait at most.

        Raises:
          DeadlineExceededError: that time is over.
        """
        end = time.monotonic() + (float("inf") if max_wait_secs is None else max_wait_secs)
        pause_s = min(FIRST_PAUSE_S, self._wait_secs)
        while True:
            session = Session(master, graph=self._graph, config=config)
            done, local_reason = self._initialize_locally(session)
            ready, reason = self._is_ready(session)
            if done and ready:
                return session
            session.close()
            left = end - time.monotonic() - pause_s
            if left < 0:
                raise DeadlineExceededError.saying(
                    f"Session was not ready after waiting {max_wait_secs} secs: "
                    f"{reason or local_reason}"
                )
            logging.info("Waiting for model to be ready: %s", reason or local_reason)
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, self._wait_secs)

    def _restored(
        self,
        session: Session,
        saver: Any,
        checkpoint_dir: Any,
        checkpoint_filename_with_path: Any,
        wait_for_checkpoint: bool,
        max_wait_secs: float,
    ) -> bool:
        """Return whether the variables were restored."""
        directory, path = checkpoint_dir, checkpoint_filename_with_path
        if directory and path:
            raise ValueError(
                "Can not provide both checkpoint_dir and checkpoint_filename_with_path."
            )
        if not saver or not (directory or path):
            return False
        if path:
            saver.restore(session, path)
            return True
        end = time.monotonic() + max_wait_secs
        state = get_checkpoint_state(directory)
        while state is None or not state.model_checkpoint_path:
            if not wait_for_checkpoint or end - time.monotonic() < self._wait_secs:
                return False
            logging.info("Waiting for checkpoint to be available.")
            time.sleep(self._wait_secs)
            state = get_checkpoint_state(directory)
        saver.restore(session, state.model_checkpoint_path)
        saver.recover_last_checkpoints(state.all_model_checkpoint_paths)
        return True

    def _initialize_locally(self, session: Session) -> Readiness:
        if self._local_init_op is None:
            return True, None
        ready, reason = _readiness(self._ready_for_local_init_op, session)
        if ready:
            logging.info("Running local_init_op.")
            session.run(self._local_init_op, feed_dict=self._feeds, options=self._options)
        return ready, reason

    def _is_ready(self, session: Session) -> Readiness:
        return _readiness(self._ready_op, session)


def _readiness(op: Any, session: Session) -> Readiness:
    """Return whether `op` names nothing that is missing, and else what is."""
    if op is None:
        return True, None
    try:
        missing = session.run(op)
    except FailedPreconditionError as error:
        if "uninitialized" not in error.message:
            raise
        return False, error.message
    if missing is None or missing.dtype.kind != "O" or not missing.size:
        return True, None
    return False, "Variables not initialized: " + ", ".join(n.decode() for n in missing.flat)


def _names(op: Any) -> Any:
    if isinstance(op, list | tuple):
        return ", ".join(str(_names(item)) for item in op)
    return getattr(op, "name", op)
