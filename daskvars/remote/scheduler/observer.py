"""What a cluster does, in the user's words: kept by the scheduler for whoever looks.

Variables, versions and seals are what the `VersionKeeper` has anyway: they are looked up when asked
for. Counts of exchanges come with the workers' heartbeats; scalars that a program fetched come from
its client, twice a second at most. Stages and exchanges workers tell of only while somebody looks:
a client that records or profiles, or the page, for a few seconds after it was drawn. So a run costs
the scheduler nothing more while nobody does.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, ClassVar

from distributed import Scheduler, SchedulerPlugin
from tornado.web import RequestHandler

from daskvars.remote.dask_internals import (
    add_handler,
    add_routes,
    add_scheduler_stream_handler,
    has_dashboard,
    pickle,
    send_event,
    send_to_workers,
)
from daskvars.remote.task_keys import run_of
from daskvars.remote.tracing import FIGURES, KERNELS, OFF, STAGES, TRACE, TRACED, Slice
from daskvars.remote.versions.shared_graphs import keepers
from daskvars.state.format.manifest import NO_VERSION

JSON_PATH = "/json/daskvars.json"
WATCH, SCALARS = "daskvars_watch", "daskvars-scalars"
LOOK_S = 10.0  # how long workers tell of their stages after a page was drawn
TOLD_S = 0.25  # in which workers have told of a stage that is done
MAX_SLICES = 20_000  # that are kept for the page
MAX_POINTS = 2_000  # of one scalar; then every other is dropped
MIN_SAMPLE_S = 0.5  # between two looks at the versions
MAX_SAMPLES = 1_200
NO_FIGURES = {"exchanges": 0, "exchange_bytes": 0, "exchange_seconds": 0.0}  # before a heartbeat


def topic(token: str) -> str:
    """Return the topic under which a client hears what workers do."""
    return f"daskvars-traced-{token}"


class Series:
    """A scalar over steps, in bounded memory: of very many points every second, fourth, ... stays.

    >>> series = Series()
    >>> for step in range(5_000):
    ...     series.append(step, 0.5)
    >>> len(series.steps) <= MAX_POINTS, series.steps[:3], series.last
    (True, [0, 4, 8], (4999, 0.5))
    """

    def __init__(self) -> None:
        self.steps: list[int] = []
        self.values: list[float] = []
        self.last: tuple[int, float] | None = None
        self._every, self._seen = 1, 0

    def append(self, step: int, value: float) -> None:
        """Add a point."""
        self.last = step, value
        if self._seen % self._every == 0:
            self.steps.append(step)
            self.values.append(value)
        self._seen += 1
        if len(self.steps) >= MAX_POINTS:
            del self.steps[1::2], self.values[1::2]
            self._every *= 2


class Observer(SchedulerPlugin):
    """Knows what a cluster's states are and what its workers do; see the module.

    Attributes:
      recent: (worker, slice) of the latest stages and exchanges, while the page is looked at.
      scalars: state -> name -> its values over steps.
    """

    name = "daskvars-observer"
    idempotent = True
    here: ClassVar[dict[str, Observer]] = {}  # of the schedulers of this process, by id

    async def start(self, scheduler: Scheduler) -> None:
        """Take up the work on a scheduler, and show it if that has a dashboard."""
        self.scheduler = scheduler
        self.level = OFF
        self.watchers: dict[str, tuple[str, int]] = {}  # token -> client, level
        self.ending: set[str] = set()  # those of them who wait for a last fence
        self.looked_s = -LOOK_S
        # fence -> token, client, workers that owe it
        self.fences: dict[str, tuple[str, str, set[str]]] = {}
        self.recent: deque[tuple[str, Slice]] = deque(maxlen=MAX_SLICES)
        self.scalars: dict[str, dict[str, Series]] = {}
        self.samples: dict[str, deque[tuple[float, int, int]]] = {}
        add_handler(scheduler, WATCH, self.watch)
        add_scheduler_stream_handler(scheduler, TRACED, self.traced)
        add_scheduler_stream_handler(scheduler, SCALARS, self.add_scalars)
        Observer.here[scheduler.id] = self
        self._show()

    def _show(self) -> None:
        add_routes(self.scheduler, [(JSON_PATH, JsonHandler, {"observer": self})])
        # Both take libraries that are optional, and a second to load where they are not needed.
        if has_dashboard(self.scheduler):
            import_module("daskvars.remote.scheduler.page").add_page(self)
        if find_spec("prometheus_client") is not None:
            import_module("daskvars.remote.scheduler.gauges").register()

    async def close(self) -> None:
        """Forget all."""
        Observer.here.pop(self.scheduler.id, None)

    # -- who looks ------------------------------------------------------------------------------

    async def watch(self, request: bytes) -> bytes:
        """Have workers tell a client what they do, more, less, or nothing any more.

        Args:
          request: token, client, level, and a fence: "" or a text that the client is sent when all
            workers have told what they did until now.
        """
        token, client, level, fence = pickle.loads(request)
        if level:
            self.watchers[token] = client, level
            self.ending.discard(token)
        else:
            self.ending.add(token)  # it is still told what comes before the fence
        if fence:
            self.fences[fence] = token, client, set(self.scheduler.workers)
            self._send_level(fence)
            self._pass_fence(fence, "")
        else:
            self._end(token)
        self._update_level()
        return b""

    def _end(self, token: str) -> None:
        """Tell a client nothing more if it does not want to be told."""
        if token in self.ending:
            self.ending.discard(token)
            self.watchers.pop(token, None)
            self._update_level()

    def look(self) -> None:
        """Have workers tell of their stages for the next seconds: a page is drawn."""
        self.looked_s = time.monotonic()
        self._update_level()

    @property
    def is_looked_at(self) -> bool:
        """Whether a page was drawn in the last seconds."""
        return time.monotonic() < self.looked_s + LOOK_S

    def _update_level(self) -> None:
        wanted = [level for _, level in self.watchers.values()]
        level = max([*wanted, STAGES if self.is_looked_at else OFF])
        if level != self.level:
            self.level = level
            self._send_level("")

    def _send_level(self, fence: str) -> None:
        send_to_workers(self.scheduler, TRACE, level=self.level, fence=fence)

    def add_worker(self, scheduler: Scheduler, worker: str, **_: Any) -> None:
        """Have a new worker tell what it does, if somebody looks."""
        if self.level:
            scheduler.worker_send(worker, {"op": TRACE, "level": self.level})

    def remove_worker(self, scheduler: Scheduler, worker: str, **_: Any) -> None:
        """Wait no more for a worker that is gone."""
        for fence in list(self.fences):
            self._pass_fence(fence, worker)

    def remove_client(self, scheduler: Scheduler, client: str) -> None:
        """Tell nothing to a client that is gone."""
        for token, (owner, _) in list(self.watchers.items()):
            if owner == client:
                del self.watchers[token]
        self._update_level()

    # -- what is told ---------------------------------------------------------------------------

    def traced(self, worker: str, slices: Sequence[Sequence[Any]], fence: str) -> None:
        """Pass on what a worker did."""
        found = [Slice(*one) for one in slices]
        if found:
            where = self.scheduler.workers.get(worker)
            name = str(worker if where is None else where.name)
            for token, (client, level) in self.watchers.items():
                told = found if level >= KERNELS else [s for s in found if s.kind != "kernel"]
                send_event(self.scheduler, client, topic(token), (name, list(map(tuple, told))))
            if self.is_looked_at:
                self.recent.extend((name, one) for one in found if one.kind != "kernel")
            else:
                self._update_level()
        if fence:
            self._pass_fence(fence, worker)

    def _pass_fence(self, fence: str, worker: str) -> None:
        token, client, owing = self.fences[fence]
        owing.discard(worker)
        if not owing:
            del self.fences[fence]
            self._end(token)
            send_event(self.scheduler, client, topic(token), ("", fence))

    def add_scalars(
        self, client: str, state: str, found: Mapping[str, Sequence[tuple[int, float]]]
    ) -> None:
        """Take note of scalars that a program has fetched."""
        kept = self.scalars.setdefault(state, {})
        for name, points in found.items():
            series = kept.setdefault(name, Series())
            for step, value in points:
                series.append(step, value)

    # -- what is seen ---------------------------------------------------------------------------

    def workers(self) -> dict[str, dict[str, Any]]:
        """Return worker -> how many exchanges it had, their bytes and seconds, by heartbeats."""
        return {
            str(worker.name): {"address": address, **NO_FIGURES, **worker.metrics.get(FIGURES, {})}
            for address, worker in self.scheduler.workers.items()
        }

    def variables(self, state: Any) -> list[dict[str, Any]]:
        """Return what is known of the variables of a state, by key."""
        return [
            {
                "name": key,
                "shape": list(record.shape),
                "dtype": record.dtype,
                "bytes": record.nbytes,
                "chunks": len(blocks),
                "shards": self._shards(blocks),
                "version": state.versions.changed[key],
                "is_durable": state.sealed.get(key) is found,
            }
            for key, found in sorted(state.versions.finished.items())
            for record, blocks in (found,)
        ]

    def _shards(self, blocks: Mapping[Any, Any]) -> dict[str, int]:
        """Return worker -> how many blocks are there; one that has a copy counts too."""
        found: dict[str, int] = {}
        for block in blocks.values():
            task = self.scheduler.tasks.get(block.key)
            for worker in (task.who_has or ()) if task is not None else ():
                found[str(worker.name)] = found.get(str(worker.name), 0) + 1
        return dict(sorted(found.items()))

    def states(self) -> list[dict[str, Any]]:
        """Return what is known of the states of the cluster, as plain data that JSON can hold."""
        keeper = keepers.get(self.scheduler.id)
        if keeper is None:
            return []
        with keeper.lock:
            return [self._state(name, state) for name, state in keeper.states.items()]

    def _state(self, name: str, state: Any) -> dict[str, Any]:
        versions = state.versions
        durable = versions.durable
        steps_per_s, bytes_per_step = self._rates(name, versions.finished_version)
        return {
            "name": name,
            "is_private": state.owner is not None,
            "version": versions.finished_version,
            "runs_in_flight": len(versions.chain),
            "steps_per_second": steps_per_s,
            "exchanged_bytes_per_step": bytes_per_step,
            "variables": self.variables(state),
            "seals": {
                "count": state.schedule.num_seals,
                "seconds": state.schedule.seal_s,
                "durable_version": None if durable == NO_VERSION else durable.number,
                "is_running": state.schedule.is_running,
            },
            "scalars": {
                key: {"steps": series.steps, "values": series.values, "last": series.last}
                for key, series in self.scalars.get(name, {}).items()
            },
        }

    def _rates(self, name: str, version: int) -> tuple[float | None, float | None]:
        """Return versions per second and bytes exchanged per version since an earlier look."""
        samples = self.samples.setdefault(name, deque(maxlen=MAX_SAMPLES))
        now = time.monotonic()
        nbytes = sum(found.get("exchange_bytes", 0) for found in self.workers().values())
        if not samples or now >= samples[-1][0] + MIN_SAMPLE_S:
            samples.append((now, version, nbytes))
        earlier = next((s for s in samples if s[0] >= now - LOOK_S), samples[0])
        steps = version - earlier[1]
        if now < earlier[0] + MIN_SAMPLE_S:
            return None, None
        moved = nbytes - earlier[2]
        return steps / (now - earlier[0]), moved / steps if steps > 0 else None

    def last_step(self) -> list[tuple[str, Slice]]:
        """Return (worker, slice) of the latest run whose stages are all told, as far as known.

        That is one before the newest: of the newest some may still be computed, or not yet told.
        """
        runs: dict[Any, list[Slice]] = {}
        recent = list(self.recent)
        for _, one in recent:
            run = run_of(one.facts.get("key")) if one.kind == "stage" else None
            if run is not None:
                runs.setdefault(run, []).append(one)
        if not runs:
            return []
        ordered = sorted(runs.values(), key=lambda found: max(map(ended_s, found)))
        newest_s = max(map(ended_s, ordered[-1]))
        told = [found for found in ordered if max(map(ended_s, found)) < newest_s - TOLD_S]
        stages = (told or ordered[-2:-1] or ordered)[-1]
        begin, end = min(one.start_s for one in stages), max(map(ended_s, stages))
        return [
            (worker, one) for worker, one in recent if one.start_s < end and ended_s(one) > begin
        ]

    def snapshot(self) -> dict[str, Any]:
        """Return all of it as plain data that JSON can hold."""
        return {
            "states": self.states(),
            "workers": self.workers(),
            "last_step": [
                {
                    "worker": worker,
                    "kind": one.kind,
                    "name": one.name,
                    "start_s": one.start_s,
                    "duration_s": one.duration_s,
                    "thread": one.thread,
                    "bytes": one.facts.get("bytes"),
                    "scopes": one.facts.get("scopes"),
                }
                for worker, one in self.last_step()
            ],
        }


class JsonHandler(RequestHandler):
    """Answers with `Observer.snapshot` as JSON."""

    def initialize(self, observer: Observer) -> None:
        """Take note of the observer."""
        self.observer = observer

    def get(self) -> None:
        """Answer. The stages of a step are there some time after it was asked for first."""
        self.observer.look()
        self.write(finite(self.observer.snapshot()))


def finite(found: Any) -> Any:
    """Return plain data with None for numbers that JSON has not.

    >>> finite({"loss": [1.0, float("nan")]})
    {'loss': [1.0, None]}
    """
    if isinstance(found, Mapping):
        return {key: finite(value) for key, value in found.items()}
    if isinstance(found, list | tuple):
        return [finite(value) for value in found]
    return None if isinstance(found, float) and not math.isfinite(found) else found


def ended_s(found: Slice) -> float:
    """Return when a slice ended."""
    return found.start_s + found.duration_s
