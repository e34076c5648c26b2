"""What happens during execution, as small records that anyone may listen to.

Subscribers (progress, traces, the dashboard) live in `daskvars.observe`; execution knows none of
them. Nothing is made when nobody listens.

A subscriber says how much it wants to hear of the work inside runs (`remote.tracing`): nothing,
stages and exchanges, or kernels too. What this process computes for itself is told to a tracer of
its own; a cluster's workers are asked by whoever sends a run there (`traced_elsewhere`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from daskvars.remote import tracing
from daskvars.remote.tracing import Kernels, Slice


@dataclass(frozen=True, slots=True)
class PlanLowered:
    """A new signature was lowered: its plan and the seconds that took."""

    plan: Any
    duration_s: float


@dataclass(frozen=True, slots=True)
class RunFinished:
    """A run committed.

    Attributes:
      version: of the variables after it.
      duration_s: the seconds it took.
      tasks: how many Dask tasks it had, by scope.
      transfer_bytes: that crossed between workers, by the plan; between tasks without a cluster.
    """

    plan: Any
    version: int
    duration_s: float
    tasks: Mapping[str, int] = field(default_factory=dict)
    transfer_bytes: int = 0


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


@dataclass(frozen=True, slots=True)
class Worked:
    """What a process did: of this one, told after each run, or of a worker, told as it comes.

    Attributes:
      place: the worker's name; "" for this process.
      slices: what it did; see `tracing.slices_of`.
    """

    place: str
    slices: Sequence[Slice | Kernels]


@dataclass(frozen=True, slots=True)
class TraceCut:
    """Something of what workers did was not told: what, in words."""

    why: str


class Tracing(Protocol):
    """A cluster whose workers can be asked what they do."""

    def end(self, level: int) -> None:
        """Wait for what they did until now; from then on they tell as much as `level` says."""


Subscriber = Callable[[Any], None]
subscribers: list[Subscriber] = []
traced_elsewhere: list[Tracing] = []
"""The clusters that were asked."""
level = tracing.OFF
"""How much the subscribers want to hear."""
_levels: list[int] = []
_changing = threading.Lock()


@contextmanager
def subscribed(subscriber: Subscriber, wanted: int = tracing.OFF) -> Iterator[None]:
    """Call ``subscriber(event)`` for each event inside the block.

    Args:
      wanted: how much of the work inside runs it wants to hear, a level of `remote.tracing`. Then
        what workers did is waited for at the end of the block.
    """
    subscribers.append(subscriber)
    with _changing:
        _levels.append(wanted)
        _update_level()
    try:
        yield
    finally:
        try:
            with _changing:
                _levels.remove(wanted)
                _update_level()
            for cluster in traced_elsewhere[:] if wanted else ():
                cluster.end(level)
        finally:
            subscribers.remove(subscriber)


def _update_level() -> None:
    global level
    wanted = max(_levels, default=tracing.OFF)
    if wanted != level:
        flush()
        level = wanted
        tracing.trace_here(tracing.Tracer(level, partial(_publish, "")) if level else None)


def flush() -> None:
    """Publish what this process did until now."""
    if tracing.here is not None:
        tracing.here.flush()


def _publish(place: str, slices: Sequence[Slice | Kernels]) -> None:
    publish(Worked(place, slices))


def publish(event: Any) -> None:
    """Hand `event` to all subscribers."""
    for subscriber in subscribers:
        subscriber(event)
