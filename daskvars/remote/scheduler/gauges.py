"""States and exchanges as Prometheus metrics, among those that Dask's scheduler gives anyway.

They are on the ``/metrics`` of the scheduler's HTTP server. The names begin with ``daskvars_``, the
label ``state`` is a state's name.
"""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client import REGISTRY
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from daskvars.remote.scheduler.observer import Observer

EXCHANGES = {
    "exchanges": "Pulls of what one owner has, by the worker that pulled.",
    "exchange_bytes": "Bytes that a worker has pulled from others.",
    "exchange_seconds": "Seconds that these pulls took, each counted.",
}


class Collector:
    """Gives the metrics of the schedulers of this process."""

    def collect(self) -> Iterator[Metric]:
        """Return the metrics as they are now."""
        observers = list(Observer.here.values())
        yield from _of_states([state for observer in observers for state in observer.states()])
        for name, text in EXCHANGES.items():
            family = CounterMetricFamily(f"daskvars_{name}", text, labels=["worker"])
            for observer in observers:
                for worker, found in observer.workers().items():
                    family.add_metric([worker], found.get(name, 0))
            yield family


def _of_states(states: list[dict]) -> Iterator[Metric]:
    version = CounterMetricFamily(
        "daskvars_steps", "Runs that have changed variables.", labels=["state"]
    )
    seals = CounterMetricFamily("daskvars_seals", "Versions made durable.", labels=["state"])
    seal_s = CounterMetricFamily(
        "daskvars_seal_seconds", "Seconds that they took to write.", labels=["state"]
    )
    size = GaugeMetricFamily(
        "daskvars_variable_bytes", "Bytes of a variable.", labels=["state", "variable"]
    )
    dirty = GaugeMetricFamily(
        "daskvars_variable_dirty", "1 where it changed since a seal.", labels=["state", "variable"]
    )
    scalar = GaugeMetricFamily(
        "daskvars_scalar", "The last value fetched of a scalar.", labels=["state", "name"]
    )
    for state in states:
        name = state["name"]
        version.add_metric([name], state["version"])
        seals.add_metric([name], state["seals"]["count"])
        seal_s.add_metric([name], state["seals"]["seconds"])
        for found in state["variables"]:
            size.add_metric([name, found["name"]], found["bytes"])
            dirty.add_metric([name, found["name"]], not found["is_durable"])
        for key, found in state["scalars"].items():
            scalar.add_metric([name, key], found["last"][1])
    yield from (version, seals, seal_s, size, dirty, scalar)


_collector = Collector()


def register() -> None:
    """Have Dask's ``/metrics`` give these too, once in a process."""
    if _collector not in REGISTRY._collector_to_names:
        REGISTRY.register(_collector)
