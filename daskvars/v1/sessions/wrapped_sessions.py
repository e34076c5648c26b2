"""Sessions around sessions: with hooks, with a coordinator, and made anew after a failure.

A monitored session is these three around one `Session`: recoverable(coordinated(hooked(session))).
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from daskvars import config
from daskvars.errors import AbortedError, OpError, UnavailableError
from daskvars.execution.config_proto import RunMetadata, RunOptions
from daskvars.graph.scopes.stacks import SessionLike
from daskvars.surface.forwarding import forwards
from daskvars.v1 import logging
from daskvars.v1.sessions.coordinator import Coordinator
from daskvars.v1.sessions.session_run_hook import (
    SessionRunArgs,
    SessionRunContext,
    SessionRunHook,
    SessionRunValues,
)

# After these a new session may succeed: its values come from the last checkpoint.
PREEMPTION_ERRORS = (AbortedError, UnavailableError)


class Recovery:
    """The attempts at one thing: a bounded number, with pauses in between that double.

    The configuration's `recovery_attempts`, `recovery_first_pause_s` and `recovery_longest_pause_s`
    are read when it begins.
    """

    def __init__(self) -> None:
        self.knobs = config.get()
        self.failures = 0
        self.pause_s = self.knobs.recovery_first_pause_s
        self.begun_s = time.monotonic()

    def failed(self, what: str, error: OpError) -> None:
        """Note that an attempt failed, and pause before the next.

        Raises:
          OpError: the error, where there is no other attempt, with the count of them.
        """
        self.failures += 1
        if error.is_permanent:
            raise error
        if self.failures >= self.knobs.recovery_attempts:
            last = copy.copy(error)
            last.message = (
                f"{error.message} ({what} failed {self.failures} times in "
                f"{time.monotonic() - self.begun_s:.0f} s, and is given up: see "
                "config.recovery_attempts)"
            )
            raise last from error
        pause_s = min(self.pause_s, self.knobs.recovery_longest_pause_s)
        logging.info(
            "%s failed, and is tried again in %g s (%d of %d): %s",
            what,
            pause_s,
            self.failures,
            self.knobs.recovery_attempts,
            error,
        )
        time.sleep(pause_s)
        self.pause_s *= 2


class StepContext:
    """What a step function works with (see `MonitoredSession.run_step_fn`)."""

    def __init__(self, session: SessionLike, run_with_hooks: Callable[..., Any]) -> None:
        self._session = session
        self._run_with_hooks = run_with_hooks

    session: Any = forwards("_session", "The session; its `run` calls no hooks.")

    def run_with_hooks(self, *args: Any, **kwargs: Any) -> Any:
        """Run as the monitored session does."""
        return self._run_with_hooks(*args, **kwargs)

    def request_stop(self) -> None:
        """Leave the step function, and let the monitored session end."""
        raise StopIteration("step_fn has requested the iterations to stop.")


class WrappedSession:
    """A session around another, which also says when to stop."""

    def __init__(self, sess: Any) -> None:
        self._sess = sess
        self._is_wrapped = isinstance(sess, WrappedSession)

    graph: Any = forwards("_sess.graph", "The graph that is run.")
    sess_str: str = forwards("_sess.sess_str", "The target.")

    def should_stop(self) -> bool:
        """Return whether the session is not to be used any more; so it is once closed."""
        if self._check_stop() or not self._sess:
            return True
        return self._is_wrapped and self._sess.should_stop()

    def _check_stop(self) -> bool:
        """A subclass's own reason to stop."""
        return False

    def close(self) -> None:
        """Close the session, whatever state its cluster is in."""
        if self._sess:
            try:
                self._sess.close()
            except PREEMPTION_ERRORS as error:
                logging.error("An error occurred when attempting to close the session: %s", error)
            finally:
                self._sess = None

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Run as `Session.run` does."""
        return self._sess.run(*args, **kwargs)

    def run_step_fn(
        self, step_fn: Any, raw_session: SessionLike, run_with_hooks: Callable[..., Any] | None
    ) -> Any:
        """Call a step function."""
        return step_fn(StepContext(raw_session, run_with_hooks or self.run))


class RecoverableSession(WrappedSession):
    """A session that is made anew, and the run repeated, when its cluster fails.

    See `Recovery` for how often; an error that can only come again is raised at once.
    """

    def __init__(self, sess_creator: Any) -> None:
        self._sess_creator = sess_creator
        super().__init__(self._create_session(Recovery()))

    def _create_session(self, recovery: Recovery) -> Any:
        while True:
            try:
                return self._sess_creator.create_session()
            except PREEMPTION_ERRORS as error:
                recovery.failed("Making a session", error)

    def _check_stop(self) -> bool:
        try:
            return bool(self._sess) and self._sess._check_stop()
        except PREEMPTION_ERRORS as error:
            logging.info("A failed session is made anew before the next run: %s", error)
            self.close()
            self._sess = self._create_session(Recovery())
            return False
        except Exception as error:  # noqa: BLE001 - a thread's; closing the session raises it
            logging.info("A thread failed: %s", error)
            return True

    def _recovering(self, call: Callable[[Any], Any]) -> Any:
        recovery = Recovery()
        while True:
            if not self._sess:
                self._sess = self._create_session(recovery)
            try:
                return call(self._sess)
            except PREEMPTION_ERRORS as error:
                self.close()
                recovery.failed("A run", error)

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Run, in a new session if this one fails."""
        return self._recovering(lambda session: session.run(*args, **kwargs))

    def run_step_fn(self, step_fn: Any, raw_session: SessionLike, run_with_hooks: Any) -> Any:
        """Call a step function, again with a new session if this one fails."""
        first = self._sess

        def call(session: Any) -> Any:
            raw = raw_session if session is first else self._sess_creator.tf_sess
            return session.run_step_fn(step_fn, raw, run_with_hooks)

        return self._recovering(call)


class CoordinatedSession(WrappedSession):
    """A session that stops when its coordinator wants to, and raises what a thread reported."""

    def __init__(self, sess: Any, coord: Coordinator, stop_grace_period_secs: float = 120) -> None:
        super().__init__(sess)
        self._coord = coord
        self._stop_grace_period_secs = stop_grace_period_secs

    def _check_stop(self) -> bool:
        # A thread's error ends the session; that of the thread itself is raised by `run`.
        self._coord.raise_requested_exception()
        return self._coord.should_stop()

    def close(self) -> None:
        """Stop the threads, wait for them, and close the session."""
        self._coord.request_stop()
        try:
            self._coord.join(
                stop_grace_period_secs=self._stop_grace_period_secs, ignore_live_threads=True
            )
        finally:
            super().close()

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Run; an error that a thread reported meanwhile is raised in place of the run's own."""
        try:
            return self._sess.run(*args, **kwargs)
        except PREEMPTION_ERRORS:
            raise
        except Exception as original:
            try:
                self._coord.raise_requested_exception()
            except PREEMPTION_ERRORS:
                raise
            except Exception:  # noqa: BLE001 - the run's own error says more
                raise original from None
            raise


class HookedSession(WrappedSession):
    """A session that calls hooks around each run, and adds to it what they ask for."""

    def __init__(self, sess: Any, hooks: Sequence[SessionRunHook]) -> None:
        super().__init__(sess)
        self._hooks = list(hooks)
        self._should_stop = False

    def _check_stop(self) -> bool:
        return self._should_stop

    def run(
        self,
        fetches: Any,
        feed_dict: Any = None,
        options: RunOptions | None = None,
        run_metadata: Any = None,
    ) -> Any:
        """Run with the fetches and feeds of the hooks.

        Raises:
          RuntimeError: a hook feeds what another, or the caller, feeds too.
        """
        if self.should_stop():
            raise RuntimeError("Run called even after should_stop requested.")
        context = SessionRunContext(SessionRunArgs(fetches, feed_dict, options), self._sess)
        asked, feeds, merged = self._requests(context, feed_dict)
        if merged is not None and run_metadata is None:
            run_metadata = RunMetadata()
        wanted: dict[Any, Any] = {"caller": fetches}
        wanted.update({n: a.fetches for n, a in asked.items() if a.fetches is not None})
        results = self._sess.run(wanted, feed_dict=feeds, options=merged, run_metadata=run_metadata)
        options_and_metadata = merged or RunOptions(), run_metadata or RunMetadata()
        for number, hook in enumerate(self._hooks):
            hook.after_run(context, SessionRunValues(results.get(number), *options_and_metadata))
        self._should_stop = self._should_stop or context.stop_requested
        return results["caller"]

    def _requests(
        self, context: SessionRunContext, feed_dict: Mapping[Any, Any]
    ) -> tuple[dict[int, SessionRunArgs], dict[Any, Any], Any]:
        """Return what the hooks ask for, all feeds, and all options in one."""
        feeds = dict(feed_dict or {})
        given = context.original_args.options
        options = None
        if given is not None:
            options = RunOptions()
            options.CopyFrom(given)
        asked: dict[int, SessionRunArgs] = {}
        for number, hook in enumerate(self._hooks):
            request = hook.before_run(context)
            if request is None:
                continue
            asked[number] = request
            if request.feed_dict:
                _check_distinct(feeds, request.feed_dict, hook, feed_dict)
                feeds.update(request.feed_dict)
            if request.options is not None:
                options = merged_options(options or RunOptions(), request.options)
        return asked, feeds, options


def _check_distinct(feeds: Any, more: Any, hook: Any, of_caller: Any) -> None:
    twice = [key for key in more if key in feeds]
    if twice:
        who = "the caller" if twice[0] in (of_caller or {}) else "another hook"
        raise RuntimeError(
            f"Same tensor is fed by {who} and by the hook {type(hook).__name__}. Conflicting "
            f"tensors: {[getattr(key, 'name', key) for key in twice]}"
        )


def merged_options(first: RunOptions, second: RunOptions) -> RunOptions:
    """Return options that ask for what either asks for."""
    result = RunOptions()
    result.CopyFrom(first)
    for name in (
        "trace_level",
        "timeout_in_ms",
        "inter_op_thread_pool",
        "output_partition_graphs",
        "report_tensor_allocations_upon_oom",
    ):
        if getattr(second, name) > getattr(first, name):
            setattr(result, name, getattr(second, name))
    result.debug_options.debug_tensor_watch_opts.extend(
        second.debug_options.debug_tensor_watch_opts
    )
    return result
