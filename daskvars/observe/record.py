"""Counts of what ran, exact for any number of runs, and a trace of the latest of it."""

from __future__ import annotations

import json
import logging
import threading
import time
from collections import Counter, defaultdict, deque
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from typing import Any, SupportsIndex

from daskvars.execution.engine import events
from daskvars.lowering.plan import Plan
from daskvars.observe.chrome_trace import Bar, chrome_trace
from daskvars.remote import tracing
from daskvars.remote.tracing import Kernels, Slice, slices_of

logger = logging.getLogger("daskvars")

NUM_SLICES = 50_000
"""Slices that a record keeps for its trace: some 10 MB, and a file that trace viewers open."""
NUM_PROFILED = 500_000
MAX_PLANS = 1_000
ROWS = ("runs", "lowerings", "seals", "repeated runs")


class Record:
    """What happened while it listened; made by `recorded`.

    Counts are exact and take memory by the number of scopes; of slices for the trace the latest
    are kept. It can be read at any time, from any thread.

    Args:
      num_slices: how many slices are kept.

    Raises:
      ValueError: `num_slices` is not an int from 0 on.

    >>> with dv.observe.recorded() as record:
    ...     float(dv.constant(1.0) + 2.0)
    3.0
    >>> record.metrics()["runs"]
    1
    """

    def __init__(self, num_slices: int = NUM_SLICES) -> None:
        if not isinstance(num_slices, SupportsIndex) or num_slices < 0:
            raise ValueError(f"num_slices must be an int from 0 on, got {num_slices!r}")
        self._lock = threading.Lock()
        self._began_s = time.time()
        self._ended_s: float | None = None
        self._totals: Counter[str] = Counter()
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._version: int | None = None
        self._sealed_version: int | None = None
        self._plans: dict[str, dict[str, Any]] = {}
        self._scopes: Counter[str] = Counter()
        self._known: dict[int, tuple[Plan, str]] = {}
        self._num_slices, self._num_noted, self._num_kept = num_slices, 0, 0
        self._slices: deque[tuple[str, Slice | Kernels]] = deque()
        self._workers: dict[str, defaultdict[str, float]] = {}
        self._cuts: list[str] = []

    def __repr__(self) -> str:
        num_runs = sum(plan["runs"] for plan in list(self._plans.values()))
        state = "listening" if self._ended_s is None else "ended"
        return f"<Record of {num_runs} runs, {self._num_noted:,} slices, {state}>"

    def __call__(self, event: Any) -> None:
        """Take note of an event; see `daskvars.execution.engine.events`."""
        with self._lock:
            NOTES[type(event)](self, event)

    def _ran(self, event: events.RunFinished) -> None:
        label, tasks, nbytes = self._label(event.plan), event.tasks, event.transfer_bytes
        num_tasks = sum(tasks.values())
        found = self._plans.get(label)
        if found is None:
            found = self._plans[label] = {
                "runs": 0,
                "tasks": 0,
                "transfer_bytes": 0,
                "seconds": 0.0,
            }
        found["runs"] += 1
        found["tasks"] += num_tasks
        found["transfer_bytes"] += nbytes
        found["seconds"] += event.duration_s
        for scope, count in tasks.items():
            self._scopes[scope] += count
        self._version = event.version
        self._note(0, label, event.duration_s, event.version, num_tasks, nbytes)

    def _lowered(self, event: events.PlanLowered) -> None:
        self._totals["lowerings"] += 1
        self._seconds["lowerings"] += event.duration_s
        plan = event.plan
        count, nbytes = plan.num_tasks, plan.transfer_bytes
        self._note(1, self._label(plan), event.duration_s, self._version, count, nbytes)

    def _sealed(self, event: events.Sealed) -> None:
        self._totals["seals"] += 1
        self._totals["sealed_bytes"] += event.nbytes
        self._seconds["seals"] += event.duration_s
        self._sealed_version = event.version
        self._note(2, event.path, event.duration_s, event.version, 0, event.nbytes)

    def _repeated(self, event: events.RunsRepeated) -> None:
        self._totals["repeated_runs"] += event.num_runs
        self._note(3, event.worker or "sent again", 0.0, self._version, event.num_runs, 0)

    def _worked(self, event: events.Worked) -> None:
        found = self._workers.setdefault(event.place, defaultdict(float))
        for one in event.slices:
            self._keep(event.place, one)
            if type(one) is not Slice:
                continue
            kind = one[0]
            if kind == "stage" or kind == "exchange":
                found[f"{kind}s"] += 1
                found[f"{kind}_seconds"] += one.duration_s
            if kind == "exchange":
                found["exchange_bytes"] += one.facts["bytes"]

    def _cut(self, event: events.TraceCut) -> None:
        self._cuts.append(event.why)
        logger.warning("what workers did is not recorded to the end: %s", event.why)

    def _note(
        self, row: int, name: str, duration_s: float, version: Any, count: int, nbytes: int
    ) -> None:
        start_s = time.time() - duration_s
        facts = {"version": version, "count": count, "bytes": nbytes}
        self._keep("", Slice(ROWS[row], name, start_s, duration_s, ROWS[row], facts))

    def _keep(self, place: str, one: Slice | Kernels) -> None:
        """Keep what was noted, and forget of the oldest as much as there is too much."""
        self._slices.append((place, one))
        number = 1 if type(one) is Slice else _number_of(one)
        self._num_noted += number
        self._num_kept += number
        while self._num_kept > self._num_slices:
            oldest = self._slices[0][1]
            number = _number_of(oldest)
            if self._num_kept - number < self._num_slices:
                break  # a part of it is among the latest
            self._num_kept -= number
            self._slices.popleft()

    def _label(self, plan: Plan) -> str:
        """Return the scope of most of a plan's work."""
        found = self._known.get(id(plan))
        if found is None:
            work: Counter[str] = Counter()
            for region in plan.regions:
                work[region.label] += region.num_tasks * len(region.ops)
            label = max(work, key=work.__getitem__, default="read")
            if len(self._known) >= MAX_PLANS:
                self._known.clear()
            found = self._known[id(plan)] = (plan, label)
        return found[1]

    @property
    def _num_dropped(self) -> int:
        return max(0, self._num_noted - self._num_slices)

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
          ``repeated_runs``: how many, with seconds and bytes. ``exchanges``: between workers,
          how many pulls of what one owner has, their bytes and seconds (of pulls at the same time,
          of each). ``workers``: the same by worker, and stages. ``plans``: the same of the runs by
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
                "exchanges": {
                    "count": self._sum("exchanges"),
                    "bytes": self._sum("exchange_bytes"),
                    "seconds": self._sum("exchange_seconds"),
                },
                "workers": {n: dict(found) for n, found in self._workers.items() if n},
                "plans": plans,
                "scopes": dict(self._scopes),
            }

    def _sum(self, name: str) -> float:
        return sum(found[name] for found in self._workers.values())

    def trace(self) -> dict[str, Any]:
        """Return the latest of what ran as a Chrome trace (see `daskvars.observe.chrome_trace`).

        This process has lanes for runs, lowerings and seals, and for each thread that computed;
        each worker one for each of its threads, with stages, their blocks and, where they were
        recorded (`profile`), the kernels in these; and lanes for its exchanges.

        Returns:
          ``traceEvents``, and ``otherData``: ``dropped``, how many slices were left out because
          later ones took their place, and ``cuts``, what of the workers' is not there, and why.
        """
        with self._lock:
            slices, dropped = list(self._slices), self._num_dropped
            cuts = list(self._cuts)
        bars = [
            Bar(place, one.thread or f"{one.kind}s", one.name, one.kind, *one[2:4], one.facts)
            for place, noted in slices
            for one in slices_of([noted])
        ]
        found = chrome_trace(bars[max(0, len(bars) - self._num_slices) :], ROWS)
        return {**found, "otherData": {"dropped": dropped, "cuts": cuts}}

    def write_metrics(self, path: str | PathLike[str]) -> None:
        """Write `metrics` to a file of JSON."""
        with open(path, "w") as file:
            json.dump(self.metrics(), file, indent=1)

    def write_trace(self, path: str | PathLike[str]) -> None:
        """Write `trace` to a file for chrome://tracing or https://ui.perfetto.dev."""
        with open(path, "w") as file:
            json.dump(self.trace(), file)


def _number_of(one: Slice | Kernels) -> int:
    return one.num_slices if isinstance(one, Kernels) else 1


NOTES: dict[type, Any] = {
    events.RunFinished: Record._ran,
    events.PlanLowered: Record._lowered,
    events.Sealed: Record._sealed,
    events.RunsRepeated: Record._repeated,
    events.Worked: Record._worked,
    events.TraceCut: Record._cut,
}


@contextmanager
def recorded(num_slices: int = NUM_SLICES) -> Iterator[Record]:
    """Record what all sessions, functions and eager code of this process do inside the block.

    Args:
      num_slices: how many of the latest runs, lowerings and seals the trace has.

    Returns:
      A context manager that gives a `Record`, which can be read inside the block and after it.

    Raises:
      ValueError: `num_slices` is negative, or no int.

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
        with events.subscribed(record, tracing.STAGES):
            yield record
    finally:
        record._end()


@contextmanager
def profile(path: str | PathLike[str], num_slices: int = NUM_PROFILED) -> Iterator[Record]:
    """Write a trace of all that runs inside the block, kernel by kernel, for a trace viewer.

    It opens in https://ui.perfetto.dev and chrome://tracing: a lane for each thread of each worker
    (or of this process, without a cluster), with stages and the kernels in them under the names of
    their operations; lanes for exchanges; runs, lowerings and seals. On a cluster everything is
    told as it happens, so the file is complete up to the end of a cluster that is lost.

    A kernel that is told of costs some microseconds more. Times of different machines are by their
    own clocks.

    Args:
      path: of the file, which is written at the end of the block, also where that fails.
      num_slices: how many of the latest slices it has at most; a warning says if there were more.

    Returns:
      A context manager that gives a `Record`: its `metrics` are there too.

    Raises:
      OSError: there can be no such file; before anything runs.
      ValueError: `num_slices` is negative, or no int.
      OpError: a run that nobody waited for failed.

    >>> import json, os, tempfile
    >>> path = os.path.join(tempfile.mkdtemp(), "trace.json")
    >>> with dv.Graph().as_default(), dv.Session() as session:
    ...     w = dv.Variable(dv.ones([8, 8]), name="w")
    ...     product = dv.matmul(w, w, name="layer/product")
    ...     session.run(w.initializer)
    ...     with dv.profile(path):
    ...         _ = session.run(product)
    >>> with open(path) as file:
    ...     events = json.load(file)["traceEvents"]
    >>> [event["name"] for event in events if event.get("cat") == "kernel"]
    ['layer/product']
    """
    record = Record(num_slices)
    with open(path, "ab"):  # what cannot be written is told now, and not when all has run
        pass
    try:
        with events.subscribed(record, tracing.KERNELS):
            yield record
    finally:
        record._end()
        record.write_trace(path)
        dropped = record._num_dropped
        if dropped:
            logger.warning(
                "the trace in %s lacks the first %d slices; give profile a larger num_slices than "
                "%d, or profile fewer runs",
                path,
                dropped,
                num_slices,
            )
