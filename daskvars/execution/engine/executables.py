"""Programs: fetches of a graph that are run again and again, through an engine's plan cache."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any

from daskvars.execution.engine import events, feeds
from daskvars.execution.local.devices import check_devices, local_places
from daskvars.graph.tensor import Operation, Tensor
from daskvars.lowering import lower
from daskvars.lowering.prune import prune


class Executable:
    """Fetches and targets with a fixed list of fed tensors, run through the plan cache."""

    __slots__ = (
        "_last",
        "engine",
        "fed",
        "fetches",
        "identify",
        "key_of",
        "sequential",
        "signature",
        "targets",
    )

    def __init__(
        self,
        engine: Any,
        signature: Hashable,
        fetches: Sequence[Tensor],
        targets: Sequence[Operation],
        fed: Sequence[Tensor],
        sequential: bool = False,
        identify: Callable[[Operation], Any] = lambda op: op,
        key_of: Callable[[Any], tuple[int, int]] | None = None,
    ) -> None:
        self.engine = engine
        self.signature = signature
        self.fetches = tuple(fetches)
        self.targets = tuple(targets)
        self.fed = tuple(fed)
        self.sequential = sequential
        self.identify = identify
        self.key_of = key_of or engine.next_random_key
        # A plan, what it was for, and the arrivals then: together, as threads run one program.
        self._last: tuple[Any, Any, int] = (None, None, -1)

    def __call__(self, values: Sequence[Any], as_futures: bool = False) -> list[Any]:
        """Run on the values of the fed tensors (checked already) and return those fetched.

        Args:
          values: of the fed tensors.
          submit: whether results may be `ResultFuture`, where waiting for them costs time.
        """
        if not events.subscribers:
            return self._run(values, as_futures)
        start = time.perf_counter()
        results = self._run(values, as_futures)
        duration = time.perf_counter() - start
        events.publish(events.RunFinished(self.last_plan, self.engine.values.version, duration))
        return results

    def _run(self, values: Sequence[Any], as_futures: bool) -> list[Any]:
        engine = self.engine
        shapes = feeds.signature(values) if values else ()
        bound, last_shapes, external_updates = self._last
        if (
            bound is None
            or shapes != last_shapes
            or bound.plan.presence
            or bound.executor is not engine.executor
            or external_updates != engine.values.external_updates
        ):
            last = bound
            bound = engine.plans.get((self.signature, shapes), engine.values.__contains__)
            if bound is None:
                bound = self._lowered(values)
                engine.plans.put((self.signature, shapes), bound)
            if bound is not last or external_updates != engine.values.external_updates:
                external_updates = engine.reconcile(bound.plan)
            self._last = bound, shapes, external_updates
        return (bound.submit if as_futures else bound)(values, self.key_of)

    @property
    def last_plan(self) -> Any:
        """The plan that ran last."""
        return self._last[0].plan

    def plan(self, values: Sequence[Any]) -> Any:
        """Return the plan for these fed values without running it."""
        return self._lowered(values).plan

    def explain(self, values: Sequence[Any]) -> str:
        """Return the plan for these fed values as text: what runs where, and why."""
        return self._lowered(values).explain()

    def _lowered(self, values: Sequence[Any]) -> Any:
        start = time.perf_counter()
        executor = self.engine.executor
        if executor.placement is None:
            operations = prune(self.fetches, self.targets, self.fed)
            check_devices(operations, self.engine.is_soft)
        plan = self._lower(values, 1)
        parts = feeds.automatic_parts(executor.num_workers, plan.divisible_flops)
        if parts > 1:
            plan = self._lower(values, parts)
        events.publish(events.PlanLowered(plan, time.perf_counter() - start))
        return executor.bind(plan)

    def _lower(self, values: Sequence[Any], parts: int) -> Any:
        specs = feeds.feed_specs(self.fed, values, parts)
        engine = self.engine
        return lower(
            self.fetches,
            self.targets,
            specs,
            engine.state_of,
            self.sequential,
            self.identify,
            engine.executor.placement or local_places(),
            engine.updates_newest,
        )


class SharedExecutable(Executable):
    """A program on variables that others may have a share in."""

    __slots__ = ()

    def _run(self, values: Sequence[Any], as_futures: bool) -> list[Any]:
        """Run in step with the others, perhaps several times: only the last counts as a run."""
        return self.engine.transact(partial(Executable._run, self, values, as_futures))
