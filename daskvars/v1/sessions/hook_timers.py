"""When hooks act: every so many steps or seconds."""

from __future__ import annotations

import time
from typing import Any

from daskvars.surface.one_line import ShownByArguments
from daskvars.train.training_step import get_global_step
from daskvars.v1.sessions.session_run_hook import SessionRunArgs, SessionRunContext, SessionRunHook


class SecondOrStepTimer(ShownByArguments):
    """Says when it is time again: after so many seconds, or so many steps.

    Args:
      every_secs: seconds between two times.
      every_steps: steps between two times.

    Raises:
      ValueError: not exactly one of them is given.

    >>> timer = SecondOrStepTimer(every_steps=2)
    >>> timer.should_trigger_for_step(1)
    True
    >>> timer.update_last_triggered_step(1)
    (None, None)
    >>> timer.should_trigger_for_step(2), timer.should_trigger_for_step(3)
    (False, True)
    """

    def __init__(self, every_secs: float | None = None, every_steps: int | None = None) -> None:
        if every_secs is None and every_steps is None:
            raise ValueError("Either every_secs or every_steps should be provided.")
        if every_secs is not None and every_steps is not None:
            raise ValueError("Can not provide both every_secs and every_steps.")
        self._every_secs, self._every_steps = every_secs, every_steps
        self.reset()

    def reset(self) -> None:
        """Forget when it was time."""
        self._last_step: Any = None
        self._last_time: Any = None

    def should_trigger_for_step(self, step: int) -> bool:
        """Return whether it is time at `step`; never twice at one step."""
        if self._last_step is None:
            return True
        if step == self._last_step:
            return False
        if self._every_secs is not None:
            elapsed_s = time.time() - self._last_time
            return elapsed_s >= self._every_secs or elapsed_s < 0  # a clock that was set back
        return step >= self._last_step + self._every_steps

    def update_last_triggered_step(self, step: int) -> tuple[Any, Any]:
        """Note that it was time; return the seconds and steps since the last time, or None."""
        now = time.time()
        elapsed: tuple[Any, Any] = (None, None)
        if self._last_time is not None:
            elapsed = now - self._last_time, step - self._last_step
        self._last_time, self._last_step = now, step
        return elapsed

    def last_triggered_step(self) -> Any:
        """Return the step at which it was time, or None."""
        return self._last_step


class NeverTriggerTimer(SecondOrStepTimer):
    """It is never time.

    Source: TensorFlow 1.15, ``tf.train.NeverTriggerTimer``.

    >>> tf.train.NeverTriggerTimer().should_trigger_for_step(7)
    False
    """

    def __init__(self) -> None:
        super().__init__(every_steps=1)

    def should_trigger_for_step(self, step: int) -> bool:
        """Return False."""
        return False

    def update_last_triggered_step(self, step: int) -> tuple[Any, Any]:
        """Return (None, None)."""
        return None, None


def required_global_step(hook: Any) -> Any:
    """Return the global step, which a hook fetches: its value at the end of the run.

    Raises:
      RuntimeError: the graph has none.
    """
    step = get_global_step()
    if step is None:
        raise RuntimeError(f"Global step should be created to use {type(hook).__name__}.")
    return step


class StepHook(SessionRunHook):
    """A hook that looks at the global step of each run."""

    def begin(self) -> None:
        """Find the global step. Raises RuntimeError where there is none."""
        self._step = required_global_step(self)

    def before_run(self, run_context: SessionRunContext) -> SessionRunArgs:
        """Ask for the global step."""
        return SessionRunArgs(self._step)
