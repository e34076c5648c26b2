"""What kernels took, by scope: added up in a worker's process, told with its heartbeats.

So Dask's page of fine performance metrics shows each layer, forward and backward, where one task
has many, and can be filtered by scope; the scheduler hears of scopes and kernels, never of ops.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence

from daskvars.remote.dask_internals import SCOPES_SECONDS, show_seconds
from daskvars.remote.tracing import Labels

# A figure costs the worker and the scheduler some 50 us: with one for each kernel, a step of a
# small network took 23 ms instead of 20.
MIN_SHOWN_S = 1e-3
MAX_SCOPES = 200  # beyond, only the outermost part of a scope is told


class ScopeSeconds:
    """Seconds by scope and kernel since they were last taken; from any thread.

    >>> spent = ScopeSeconds()
    >>> labels = Labels(("matmul", "relu"), ("a/x", "a/y"), ("a", "a"), ({}, {}))
    >>> spent.add(labels, [0.0, 0.25, 0.5])
    >>> spent.take(), spent.take()
    ({('a', 'matmul'): 0.25, ('a', 'relu'): 0.25}, {})
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._spent: dict[tuple[str, str], float] = {}
        self._scopes: set[str] = set()
        self._unshown_s = 0.0

    def add(self, labels: Labels, times: Sequence[float]) -> None:
        """Add kernels that ran one after the other in this thread; see `Meter`.

        What the task is said to spend its time with is told of it when it is worth a figure.
        """
        shown_s = 0.0
        with self._lock:
            spent = self._spent
            calls = zip(labels.layers, labels.kernels, times, times[1:], strict=False)
            for scope, kernel, start, stop in calls:
                where = self._known(scope), kernel
                spent[where] = spent.get(where, 0.0) + stop - start
            self._unshown_s += times[-1] - times[0]
            if self._unshown_s >= MIN_SHOWN_S:
                shown_s, self._unshown_s = self._unshown_s, 0.0
        if shown_s:
            show_seconds(SCOPES_SECONDS, shown_s)

    def _known(self, scope: str) -> str:
        if scope not in self._scopes:
            if len(self._scopes) >= MAX_SCOPES:
                return scope.partition("/")[0]
            self._scopes.add(scope)
        return scope

    def take(self) -> dict[tuple[str, str], float]:
        """Return them, and begin anew."""
        with self._lock:
            spent, self._spent = self._spent, {}
        return spent


here = ScopeSeconds()
"""Those of this process; whichever of its workers has the next heartbeat tells them."""
