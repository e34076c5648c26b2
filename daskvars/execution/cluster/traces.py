"""What a cluster's workers do, as events of this process; and scalars for its dashboard.

Workers tell the scheduler, and that tells this client, over connections that are there anyway
(`remote.scheduler.observer`). So what was told is here when the cluster is gone.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np
from distributed import Client

from daskvars.errors import OpError
from daskvars.execution.engine import events
from daskvars.remote import tracing
from daskvars.remote.dask_internals import (
    before_close,
    call_handler,
    call_soon,
    once_per_client,
    pickle,
    tell_scheduler,
)
from daskvars.remote.scheduler.observer import SCALARS, WATCH, Observer, topic
from daskvars.remote.task_keys import new_token
from daskvars.remote.tracing import Slice

TIMEOUT_S = 30.0  # for what workers have to tell at the end of a trace
SCALARS_S = 0.5  # between two messages of scalars


class ClusterTraces:
    """What the workers of a client's cluster do, while somebody in this process wants to know."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.token = new_token()
        self.level = tracing.OFF
        self._fences = 0
        self._passed: set[str] = set()
        self._changed = threading.Condition()
        self._scalars: dict[str, dict[str, list[tuple[int, float]]]] = {}
        self._is_due = False
        self.executors: weakref.WeakSet[Any] = weakref.WeakSet()  # that sent runs meanwhile
        client.register_plugin(Observer())
        client.subscribe_topic(topic(self.token), self._on_message)
        found = weakref.ref(self)
        before_close(client, lambda: end_before_close(found()))

    def begin(self, executor: Any, level: int) -> None:
        """Have workers tell as much as `level` says of what an executor sends from now on."""
        if level:
            self.executors.add(executor)
        if level == self.level or self.client.status != "running":
            return
        self._watch(level, "")
        self.level = level
        if self not in events.traced_elsewhere:
            events.traced_elsewhere.append(self)

    def end(self, level: int) -> None:
        """Wait for the runs in flight, and what workers told of them; see `events.Tracing`.

        Raises:
          OpError: such a run failed, and nobody waited for it.
        """
        failed: OpError | None = None
        for executor in list(self.executors):
            try:
                executor.sync()
            except OpError as error:
                failed = error
        self.executors.clear()
        self._end(level)
        if failed is not None:
            raise failed

    def _end(self, level: int) -> None:
        self._fences += 1
        fence = f"{self.token}-{self._fences}"
        try:
            self._watch(level, fence)
            self.level = level
            if not self._wait_for(fence):
                why = f"after {TIMEOUT_S:.0f} s not all workers had told what they did"
                events.publish(events.TraceCut(why))
        except (OSError, TimeoutError) as error:
            why = f"the cluster was gone before the end: {error}"
            events.publish(events.TraceCut(why))
            self.level = tracing.OFF
        finally:
            if not self.level and self in events.traced_elsewhere:
                events.traced_elsewhere.remove(self)

    def _watch(self, level: int, fence: str) -> None:
        if self.client.status != "running":
            raise OSError(f"its client is {self.client.status}")
        request = (self.token, self.client.id, level, fence)
        call_handler(self.client, WATCH, pickle.dumps(request))

    def _wait_for(self, fence: str) -> bool:
        until = time.monotonic() + TIMEOUT_S
        with self._changed:
            while fence not in self._passed and time.monotonic() < until:
                if self.client.status != "running":
                    raise OSError(f"its client is {self.client.status}")
                self._changed.wait(0.25)
            found = fence in self._passed
            self._passed.discard(fence)
        return found

    def _on_message(self, event: tuple[float, tuple[str, Any]]) -> None:
        place, found = event[1]
        if not isinstance(found, str):
            events.publish(events.Worked(place, [Slice(*one) for one in found]))
            return
        with self._changed:
            self._passed.add(found)
            self._changed.notify_all()

    # -- scalars --------------------------------------------------------------------------------

    def note_scalars(
        self, state: str, names: Sequence[str], values: Sequence[Any], step: int
    ) -> None:
        """Have the dashboard show those of fetched values that are one number.

        Args:
          state: the state that the run changed.
          step: the version after it.
        """
        for name, value in zip(names, values, strict=True):
            if isinstance(value, np.ndarray | np.generic) and value.ndim == 0:
                if value.dtype.kind not in "fiu":
                    continue
                with self._changed:
                    kept = self._scalars.setdefault(state, {}).setdefault(name, [])
                    kept.append((step, float(value)))
                    is_first, self._is_due = not self._is_due, True
                if is_first:
                    call_soon(self.client, SCALARS_S, self._send_scalars)

    def _send_scalars(self) -> None:
        with self._changed:
            found, self._scalars, self._is_due = self._scalars, {}, False
        for state, scalars in found.items():
            tell_scheduler(self.client, SCALARS, state=state, found=scalars)


def end_before_close(traces: ClusterTraces | None) -> None:
    """Wait for what workers have to tell before a client is closed in order."""
    if traces is not None and traces.level and not traces.client.asynchronous:
        traces.end(tracing.OFF)


@once_per_client
def traces_of(client: Client) -> ClusterTraces:
    """Return what there is for a client."""
    return ClusterTraces(client)
