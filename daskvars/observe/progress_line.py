"""A line on stderr that says how far a program is."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from daskvars.execution.engine import events


@contextmanager
def progress_line(every_s: float = 1.0) -> Iterator[None]:
    """Print a line to stderr now and then: version, runs per second, what was sealed last.

    Args:
      every_s: seconds between two lines at least; a line is printed when a run ends.

    >>> with progress_line():
    ...     float(dv.constant(1.0) + 1.0)
    2.0
    """
    num_runs, since_s, sealed = 0, time.monotonic(), ""

    def on_event(event: Any) -> None:
        nonlocal num_runs, since_s, sealed
        if isinstance(event, events.Sealed):
            sealed = f", sealed version {event.version} ({event.nbytes:,} bytes)"
        if not isinstance(event, events.RunFinished):
            return
        num_runs += 1
        now = time.monotonic()
        if now - since_s >= every_s:
            rate = num_runs / (now - since_s)
            print(f"version {event.version}, {rate:.1f} runs/s{sealed}", file=sys.stderr)
            num_runs, since_s = 0, now

    with events.subscribed(on_event):
        yield
