"""Counts of what ran, exact for any number of runs, and a trace of the latest of it."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from typing import Any

from daskvars.execution.engine import events
from daskvars.lowering.plan import Plan

NUM_SLICES = 50_000
"""Slices that a record keeps for its trace: some 10 MB, and a file that trace viewers open."""
MAX_PLANS = 1_000
ROWS = ("runs", "lowerings", "seals", "repeated runs")


class Record:
    """What happened while it listened; made by `recorded`.

    Counts are exact and take memory by the number of scopes; of slices for the trace the latest
    are kept. It can be read at any time, from any thread.

    Args:
      num_slices: how many slices are kept.
    """

    def __init__(self, num_slices: int = NUM_SLICES) -> None:
        self._lock = threading.Lock()
        self._began_s = time.time()
        self._ended_s: float | None = None
        self._totals: Counter[str] = Counter()
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._version: int | None = None
        self._sealed_version: int | None = None
        self._plans: dict[str, dict[str, Any]] = {}
        self._scopes: Counter[str] = Counter()
        self._known: dict[int, tuple[Plan, str, Counter[str], int]] = {}
        self._slices: deque[tuple[Any, ...]] = deque(maxlen=num_slices)

    def __call__(self, event: Any) -> None:
        """Take note of an event; see `daskvars.execution.engine.events`."""
        with self._lock:
            NOTES[type(event)](self, event)

    def _ran(self, event: events.RunFinished) -> None:
        label, scopes, transfer_bytes = self._facts(event.plan)
        found = self._plans.get(label)
        if found is None:
            found = self._plans[label] = {
                "runs": 0,
                "tasks": 0,
                "transfer_bytes": 0,
                "seconds": 0.0,
            }
        found["runs"] += 1
        found["tasks"] += scopes.total()
        found["transfer_bytes"] += transfer_bytes
        found["seconds"] += event.duration_s
        self._scopes.update(scopes)
        self._version = event.version
        self._note(0, label, event.duration_s, event.version, scopes.total(), transfer_bytes)

    def _lowered(self, event: events.PlanLowered) -> None:
        self._totals["lowerings"] += 1
        self._seconds["lowerings"] += event.duration_s
        label, scopes, transfer_bytes = self._facts(event.plan)
        self._note(1, label, event.duration_s, self._version, scopes.total(), transfer_bytes)

    def _sealed(self, event: events.Sealed) -> None:
        self._totals["seals"] += 1
        self._totals["sealed_bytes"] += event.nbytes
        self._seconds["seals"] += event.duration_s
        self._sealed_version = event.version
        self._note(2, event.path, event.duration_s, event.version, 0, event.nbytes)

    def _repeated(self, event: events.RunsRepeated) -> None:
        self._totals["repeated_runs"] += event.num_runs
        self._note(3, event.worker or "sent again", 0.0, self._version, event.num_runs, 0)

    def _note(self, row: int, name: str, duration_s: float, *facts: Any) -> None:
        self._slices.append((row, name, time.time() - duration_s, duration_s, *facts))
        self._totals["slices"] += 1

    def _facts(self, plan: Plan) -> tuple[str, Counter[str], int]:
        """Return a plan's label (the scope of most of its work), tasks by scope, and bytes."""
        found = self._known.get(id(plan))
        if found is None:
            scopes: Counter[str] = Counter()
            work: Counter[str] = Counter()
            for region in plan.regions:
                scopes[region.label] += region.num_tasks
                work[region.label] += region.num_tasks * len(region.ops)
            label = max(work, key=work.__getitem__, default="read")
            if len(self._known) >= MAX_PLANS:
                self._known.clear()
            found = self._known[id(plan)] = (plan, label, scopes, plan.transfer_bytes)
        return found[1:]

    def _end(self) -> None:
        self._ended_s = time.time()
        self._known.clear()

    def metrics(self) -> dict[str, Any]:
        """Return the counts as plain data that JSON can hold.

        Returns:
          ``version``: that of the last run, the step that these numbers belong to (None before it).
          ``seconds``: how long was listened. ``runs``, ``tasks``, ``transfer_bytes``,
          ``run_seconds``: of all runs; on a cluster a run that fetches nothing takes as long as
          it takes to send it. ``lowerings``, ``seals`` (those written by this process),
          ``repeated_runs``: how many, with seconds and bytes. ``plans``: the same of the runs by
          the scope of most of their work. ``scopes``: tasks by the name that Dask's dashboard
          shows them under.
        """
        with self._lock:
            plans = {label: dict(found) for label, found in self._plans.items()}
            runs = {
                name: sum(found[name] for found in plans.values())
                for name in ("runs", "tasks", "transfer_bytes", "seconds")
            }
            totals, seconds = self._totals, self._seconds
            return {
                "version": self._version,
                "seconds": (self._ended_s or time.time()) - self._began_s,
                "runs": runs["runs"],
                "tasks": runs["tasks"],
                "transfer_bytes": runs["transfer_bytes"],
                "run_seconds": runs["seconds"],
                "lowerings": {"count": totals["lowerings"], "seconds": seconds["lowerings"]},
                "seals": {
                    "count": totals["seals"],
                    "bytes": totals["sealed_bytes"],
                    "seconds": seconds["seals"],
                    "version": self._sealed_version,
                },
                "repeated_runs": totals["repeated_runs"],
                "plans": plans,
                "scopes": dict(self._scopes),
            }

    def trace(self) -> dict[str, Any]:
        """Return the latest runs, lowerings and seals as a Chrome trace, one row for each kind."""
        with self._lock:
            slices, dropped = list(self._slices), self._totals["slices"] - len(self._slices)
        rows: list[dict[str, Any]] = [
            {"name": "thread_name", "ph": "M", "pid": 0, "tid": row, "args": {"name": name}}
            for row, name in enumerate(ROWS)
        ]
        rows += [
            {
                "name": name,
                "cat": ROWS[row],
                "ph": "X",
                "pid": 0,
                "tid": row,
                "ts": start_s * 1e6,
                "dur": duration_s * 1e6,
                "args": {"version": version, "count": count, "bytes": nbytes},
            }
            for row, name, start_s, duration_s, version, count, nbytes in slices
        ]
        return {"traceEvents": rows, "otherData": {"dropped": dropped}}

    def write_metrics(self, path: str | PathLike[str]) -> None:
        """Write `metrics` to a file of JSON."""
        with open(path, "w") as file:
            json.dump(self.metrics(), file, indent=1)

    def write_trace(self, path: str | PathLike[str]) -> None:
        """Write `trace` to a file for chrome://tracing or https://ui.perfetto.dev."""
        with open(path, "w") as file:
            json.dump(self.trace(), file)


NOTES: dict[type, Any] = {
    events.RunFinished: Record._ran,
    events.PlanLowered: Record._lowered,
    events.Sealed: Record._sealed,
    events.RunsRepeated: Record._repeated,
}


@contextmanager
def recorded(num_slices: int = NUM_SLICES) -> Iterator[Record]:
    """Record what all sessions, functions and eager code of this process do inside the block.

    Args:
      num_slices: how many of the latest runs, lowerings and seals the trace has.

    Returns:
      A context manager that gives a `Record`, which can be read inside the block and after it.

    >>> import daskvars as dv
    >>> with dv.Graph().as_default(), dv.Session() as session, recorded() as record:
    ...     count = dv.Variable(0, name="count")
    ...     session.run(count.initializer)
    ...     for _ in range(3):
    ...         _ = session.run(count.assign_add(1, name="counting/add"))
    >>> metrics = record.metrics()
    >>> metrics["version"], metrics["runs"], metrics["scopes"]
    (4, 4, {'counting': 3})
    """
    record = Record(num_slices)
    try:
        with events.subscribed(record):
            yield record
    finally:
        record._end()
