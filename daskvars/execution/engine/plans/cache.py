"""Plans by signature, the least recently used forgotten first."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Any

from daskvars import config
from daskvars.execution.engine.plans.sizes_met import SizesMet


class PlanCache:
    """Maps signatures to plans bound to an executor.

    A plan that looked at whether variables have values (`Plan.presence`) is right only while that
    is so; a signature therefore holds one plan for each such state that was met.
    """

    def __init__(self) -> None:
        self._plans: OrderedDict[Hashable, list[Any]] = OrderedDict()
        self._sizes_met: OrderedDict[Hashable, SizesMet] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, signature: Hashable, is_present: Callable[[str], bool]) -> Any | None:
        """Return the plan for `signature` that fits the present state, or None."""
        with self._lock:
            found = self._plans.get(signature)
            if found is None:
                return None
            self._plans.move_to_end(signature)
            variants = list(found)
        for bound in variants:
            if all(is_present(key) == was for key, was in bound.plan.presence.items()):
                return bound
        return None

    def put(self, signature: Hashable, bound: Any) -> None:
        """Remember a plan."""
        with self._lock:
            self._plans.setdefault(signature, []).append(bound)
            while len(self._plans) > config.get().plan_cache_size:
                self._plans.popitem(last=False)

    def sizes_met(self, signature: Hashable) -> SizesMet:
        """Return the shapes that a program was fed."""
        with self._lock:
            found = self._sizes_met.setdefault(signature, SizesMet())
            self._sizes_met.move_to_end(signature)
            while len(self._sizes_met) > config.get().plan_cache_size:
                self._sizes_met.popitem(last=False)
            return found

    def __len__(self) -> int:
        return len(self._plans)
