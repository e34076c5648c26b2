"""Waiting for a condition, with a deadline: tests wait for nothing else."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

Found = TypeVar("Found")
PAUSE_S = 0.01


def wait_until(
    condition: Callable[[], Found],
    message: str | Callable[[], str],
    within_s: float = 30.0,
    pause_s: float = PAUSE_S,
) -> Found:
    """Return what `condition()` gives once it is true.

    Args:
      condition: is asked again and again.
      message: what is waited for, or what tells how far it has come.
      within_s: seconds after which it is a failure.
      pause_s: seconds between two questions.

    Raises:
      AssertionError: it did not come true in that time.
    """
    deadline = time.monotonic() + within_s
    while not (found := condition()):
        said = message if isinstance(message, str) else message()
        assert time.monotonic() < deadline, f"not within {within_s} s: {said}"
        time.sleep(pause_s)
    return found
