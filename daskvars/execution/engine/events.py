"""What happens during execution, as small records that anyone may listen to.

Subscribers (progress, traces, the dashboard) live in `daskvars.observe`; execution knows none of
them. Nothing is made when nobody listens.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class PlanLowered:
    """A new signature was lowered: its plan and the seconds that took."""

    plan: Any
    duration_s: float


@dataclass(frozen=True, slots=True)
class RunFinished:
    """A run committed: its plan, the version after it, and the seconds it took."""

    plan: Any
    version: int
    duration_s: float


@dataclass(frozen=True, slots=True)
class Sealed:
    """A version became durable: where, its bytes, and the seconds that took."""

    path: str
    version: int
    nbytes: int
    duration_s: float


@dataclass(frozen=True, slots=True)
class RunsRepeated:
    """Data was lost with a worker, and runs since the last seal are computed again.

    Attributes:
      num_runs: how many are repeated, as a whole or in part.
      worker: the address of the worker, where Dask repeats the tasks that led to what it held;
        None where runs are sent again, because data was lost that no task leads to.
    """

    num_runs: int
    worker: str | None = None


Subscriber = Callable[[Any], None]
subscribers: list[Subscriber] = []


@contextmanager
def subscribed(subscriber: Subscriber) -> Iterator[None]:
    """Call ``subscriber(event)`` for each event inside the block."""
    subscribers.append(subscriber)
    try:
        yield
    finally:
        subscribers.remove(subscriber)


def publish(event: Any) -> None:
    """Hand `event` to all subscribers."""
    for subscriber in subscribers:
        subscriber(event)
