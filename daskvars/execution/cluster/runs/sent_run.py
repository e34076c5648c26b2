"""A run that was sent to a cluster: what it is run with, and what became of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from daskvars.execution.cluster.runs.bound_plan import BoundPlan


@dataclass(eq=False, slots=True, weakref_slot=True)
class SentRun:
    """A run that was sent.

    Attributes:
      is_awaited: whether its caller waits for it, and gets its error.
      dispatch: as it was sent last.
      drops: the variables that nobody had any more when it was sent first, each with a number.
      is_done: whether it is finished.
      error: why it never will be.
      attempts: how often it was sent.
    """

    bound: BoundPlan
    feeds: Sequence[Any]
    random_keys: dict[int, Any]
    is_awaited: bool
    dispatch: Any = None
    drops: Mapping[str, int] | None = None
    is_done: bool = False
    error: Exception | None = None
    attempts: int = 0

    def is_settled(self, dispatch: Any) -> bool:
        """Whether it is known what became of it as it was sent by `dispatch`."""
        return self.is_done or self.error is not None or self.dispatch is not dispatch

    def finish(self) -> None:
        """Take note that it is finished."""
        self.is_done = True
        self.dispatch.release()
