"""Slices of time as a Chrome trace: a process for each place, a lane for each thread in it.

The format is the JSON object form of Chrome's Trace Event Format, which chrome://tracing and
https://ui.perfetto.dev open: complete events ("X", with ``ts`` and ``dur`` in microseconds) and
metadata ("M") that names processes and threads. Slices of one lane are nested or apart, as the
viewers demand: what overlaps otherwise, such as exchanges, gets further lanes.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

ROUNDING_S = 1e-6  # of times since the epoch


class Bar(NamedTuple):
    """A slice as it is drawn.

    Attributes:
      place: the process that did it: a worker's name, "" for this one.
      lane: a thread there, or the kind of what no thread does.
      name, kind: what it is.
      start_s: in seconds since the epoch.
      facts: what a viewer shows when it is chosen.
    """

    place: str
    lane: str
    name: str
    kind: str
    start_s: float
    duration_s: float
    facts: dict[str, Any]


def chrome_trace(bars: Iterable[Bar], first_lanes: Iterable[str] = ()) -> dict[str, Any]:
    """Return slices as a Chrome trace, which `json.dump` can write.

    Args:
      first_lanes: lanes of this process that are named even where there is nothing on them.

    >>> bars = [Bar("w", "t", n, "kernel", start, 2.0, {}) for n, start in (("a", 1), ("b", 2))]
    >>> [(e["ph"], e["name"], e["tid"]) for e in chrome_trace(bars)["traceEvents"]]
    ... # doctest: +NORMALIZE_WHITESPACE
    [('M', 'process_name', 0), ('M', 'thread_name', 0), ('M', 'thread_name', 1),
     ('X', 'a', 0), ('X', 'b', 1)]
    """
    processes: dict[str, dict[tuple[str, int], int]] = {}
    ends: dict[tuple[str, str], list[list[float]]] = {}  # of the slices that are open, by lane
    rows = processes.setdefault("", {})
    for lane in first_lanes:
        rows[lane, 0] = len(rows)
    events: list[dict[str, Any]] = []
    for bar in sorted(bars, key=lambda bar: (bar.start_s, -bar.duration_s)):
        open_ends = ends.setdefault((bar.place, bar.lane), [])
        rows = processes.setdefault(bar.place, {})
        row = rows.setdefault((bar.lane, _sublane(bar, open_ends)), len(rows))
        events.append(
            {
                "name": bar.name,
                "cat": bar.kind,
                "ph": "X",
                "pid": list(processes).index(bar.place),
                "tid": row,
                "ts": bar.start_s * 1e6,
                "dur": bar.duration_s * 1e6,
                "args": bar.facts,
            }
        )
    return {"traceEvents": _names(processes) + events}


def _sublane(bar: Bar, open_ends: list[list[float]]) -> int:
    """Return the first lane in which a slice is inside what is open, or nothing is."""
    stop = bar.start_s + bar.duration_s
    for number, stack in enumerate(open_ends):
        while stack and stack[-1] <= bar.start_s + ROUNDING_S:
            stack.pop()
        if not stack or stop <= stack[-1] + ROUNDING_S:
            stack.append(stop)
            return number
    open_ends.append([stop])
    return len(open_ends) - 1


def _names(processes: dict[str, dict[tuple[str, int], int]]) -> list[dict[str, Any]]:
    """Return the events that name processes and threads, of this process if it has any."""
    found: list[dict[str, Any]] = []

    def add(kind: str, pid: int, tid: int, name: str) -> None:
        found.append({"name": kind, "ph": "M", "pid": pid, "tid": tid, "args": {"name": name}})

    for pid, (place, rows) in enumerate(processes.items()):
        if rows:
            add("process_name", pid, 0, f"worker {place}" if place else "this process")
        for (lane, number), tid in rows.items():
            add("thread_name", pid, tid, f"{lane} {number + 1}" if number else lane)
    return found
