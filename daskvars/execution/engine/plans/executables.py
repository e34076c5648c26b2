"""Executables: fetches of a graph that are run again and again, through an engine's plan cache.

For how many parts of a batch a plan may be cut is told to the planner here (`machine_of`): from the
executor's workers and ``config.batch_parts``. Along which dimension it chooses
(`lowering.planner.cut_feeds`).
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Collection, Hashable, Sequence
from functools import partial
from typing import Any

from daskvars import config
from daskvars.errors import FailedPreconditionError, InvalidArgumentError
from daskvars.execution.engine import events
from daskvars.execution.engine.executors import FUTURES, VALUES, Binder, Bound, Form
from daskvars.execution.engine.plans.sizes_met import OpenShapes, SizesMet, is_for_several
from daskvars.execution.engine.values import checked_feeds
from daskvars.execution.engine.values.dask_arrays import check_as_dask, may_be_dask
from daskvars.execution.engine.values.lazy_feeds import LazyFeed
from daskvars.execution.local.devices import check_devices, local_places
from daskvars.graph.tensor import Operation, Tensor
from daskvars.lowering import lower
from daskvars.lowering.plan import Plan
from daskvars.lowering.planner.client_work import seconds_of_texts
from daskvars.lowering.planner.cut_feeds import Machine
from daskvars.lowering.program import STATE
from daskvars.lowering.rewrites.prune import prune
from daskvars.shape_arithmetic import is_known


class Executable:
    """Fetches and targets with a fixed list of fed tensors, run through the plan cache."""

    __slots__ = (
        "_last",
        "done",
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
        done: Collection[Operation] = (),
    ) -> None:
        self.engine = engine
        self.done = done
        self.signature = signature
        self.fetches = tuple(fetches)
        self.targets = tuple(targets)
        self.fed = tuple(fed)
        self.sequential = sequential
        self.identify = identify
        self.key_of = key_of or engine.next_random_key
        # A plan, what it was for, the knobs and what runs it, and the arrivals then: together, as
        # threads run one program.
        self._last: tuple[Bound | None, Any, Any, Any, int] = (None, None, None, None, -1)

    def __call__(
        self,
        values: Sequence[Any],
        as_futures: bool = False,
        as_dask: bool = False,
        may_stay: bool = False,
    ) -> list[Any]:
        """Run on the values of the fed tensors (checked already) and return those fetched.

        Args:
          values: of the fed tensors.
          as_futures: whether results may be `ResultFuture`, where waiting for them costs time.
          as_dask: whether they are dask arrays, which stay where they are.
          may_stay: whether they are dask arrays if they are on workers and all can be.

        Raises:
          InvalidArgumentError: one of them cannot be a dask array; nothing has run.
        """
        if not events.subscribers:
            return self._run(values, as_futures, as_dask, may_stay)
        start = time.perf_counter()
        results = self._run(values, as_futures, as_dask, may_stay)
        duration = time.perf_counter() - start
        events.flush()
        bound, version = self._last[0], self.engine.values.version
        assert bound is not None
        events.publish(
            events.RunFinished(
                bound.plan, version, duration, bound.tasks_by_scope, bound.transfer_bytes
            )
        )
        return results

    def _run(
        self, values: Sequence[Any], as_futures: bool, as_dask: bool, may_stay: bool
    ) -> list[Any]:
        """Acquire, plan, bind, run, commit.

        On variables that others share all of it may be repeated, and what it made is sealed, if
        each run is to be durable: see `Engine.transact`.
        """
        executor = self.engine.acquire()
        is_there = executor.placement is not None and (as_dask or may_stay)
        try:
            bound = self._bound(executor, values, is_there)
        except FailedPreconditionError:
            self.engine.check_open()  # else variables have no value, as it says
            raise
        form = FUTURES if as_futures else VALUES
        if as_dask or is_there:
            form = self._dask_form(bound.plan, as_dask) or form
        with bound.lock:
            self.engine.check_open()  # another thread may have closed it meanwhile
            try:
                ran = bound.run(values, self.key_of, form)
            except InvalidArgumentError:
                if is_for_several(bound.plan):
                    self._lower(values, executor, 0.0)  # which says what shapes do not fit
                raise
            return bound.commit(ran, form)

    def _dask_form(self, plan: Plan, as_dask: bool) -> Form | None:
        """Return the form of results that are dask arrays; None where they need not be any.

        Raises:
          InvalidArgumentError: one must be and cannot.
        """
        specs = [value.spec for value in plan.outputs]
        if not as_dask and not may_be_dask(specs):
            return None
        names = [tensor.op.name for tensor in self.fetches]
        check_as_dask(names, specs)
        return Form(names=names)

    def _bound(self, executor: Binder, values: Sequence[Any], is_there: bool) -> Bound:
        """Return the plan for these fed values as `executor` runs it: the last, one kept, or new.

        Variables that others may have made since are brought into the form that it is for.

        Args:
          is_there: whether workers have to do it, as results are to be there.
        """
        engine, knobs = self.engine, config.get()
        shapes = checked_feeds.signature(values) if values else ()
        if is_there:
            shapes = ("there", *shapes)
        bound, last_shapes, last_knobs, last_executor, external_updates = self._last
        if (
            bound is not None
            and shapes == last_shapes
            and knobs is last_knobs
            and not bound.plan.presence
            and last_executor is executor
            and external_updates == engine.values.external_updates
        ):
            return bound
        signature = (self.signature, _planned_by(knobs))
        found = self._kept(signature, shapes)
        if found is None:
            met = self._sizes_met(executor, values, signature)
            found = None if met is None else self._for_several(met, values, shapes, signature)
            if found is None:
                found = self._lowered(values, is_there)
                engine.plans.put((signature, shapes), found)
                if met is not None:
                    met.note(shapes, found.plan)
        if found is not bound or external_updates != engine.values.external_updates:
            external_updates = engine.reconcile(found.plan)
        self._last = found, shapes, knobs, executor, external_updates
        return found

    def _sizes_met(
        self, executor: Binder, values: Sequence[Any], signature: Hashable
    ) -> SizesMet | None:
        """Return the shapes that were fed, if one plan may be for several of them."""
        if not values or executor.placement is not None or _has_lazy(values):
            return None
        return self.engine.plans.sizes_met(signature)

    def _for_several(
        self, met: SizesMet, values: Sequence[Any], shapes: Any, signature: Hashable
    ) -> Bound | None:
        """Return the plan for all sizes that are fed, if there is to be one; see `sizes_met`."""
        common = met.for_all(shapes, [tensor.spec.shape for tensor in self.fed])
        if common is None:
            return None
        found = self._kept(signature, common)
        if found is None:
            found = self._lowered(values, shapes=common)
            if not met.accept(found.plan):
                return None
            self.engine.plans.put((signature, common), found)
        return found

    @property
    def last_bound(self) -> Any:
        """The plan that ran last, as it is bound to what ran it; None before it."""
        return self._last[0]

    def plan(self, values: Sequence[Any]) -> Any:
        """Return the plan for these fed values without running it."""
        return self._next(values).plan

    def explain(self, values: Sequence[Any]) -> str:
        """Return the plan for these fed values as text: what runs where, and why."""
        return self._next(values).explain()

    def _next(self, values: Sequence[Any]) -> Bound:
        """Return the plan that the next run of these values has: one kept, if there is one.

        A new one would be another where there are more workers or fewer than there were.
        """
        self.engine.acquire()  # which forgets plans for another place
        shapes = checked_feeds.signature(values) if values else ()
        found = self._kept((self.signature, _planned_by(config.get())), shapes)
        return self._lowered(values) if found is None else found

    def _kept(self, signature: Hashable, shapes: Any) -> Bound | None:
        """Return the plan that is kept for these shapes, if it is still one for the variables."""
        engine = self.engine
        found: Bound | None = engine.plans.get((signature, shapes), engine.values.__contains__)
        return None if found is None or _is_outgrown(found.plan, engine.values) else found

    def _lowered(
        self, values: Sequence[Any], is_there: bool = False, shapes: OpenShapes | None = None
    ) -> Bound:
        start = time.perf_counter()
        executor = self.engine.acquire()
        if executor.placement is None:
            operations = prune(self.fetches, self.targets, self.fed, self.done)
            check_devices(operations, self.engine.is_soft)
        client_s = 0.0 if is_there else client_work_s(executor, values)
        plan = self._lower(values, executor, client_s, shapes)
        events.publish(events.PlanLowered(plan, time.perf_counter() - start))
        return executor.bind(plan, [tensor.name for tensor in self.fetches], _has_lazy(values))

    def _lower(
        self,
        values: Sequence[Any],
        executor: Binder,
        client_s: float,
        shapes: OpenShapes | None = None,
    ) -> Plan:
        specs = checked_feeds.feed_specs(self.fed, values, shapes)
        engine = self.engine
        return lower(
            self.fetches,
            self.targets,
            specs,
            engine.state_of,
            self.sequential,
            self.identify,
            executor.placement or local_places(),
            engine.updates_newest,
            self.machine(executor)._replace(client_work_s=client_s),
            self.done,
        )

    def machine(self, executor: Binder) -> Machine:
        """Return for what the work of its plans is cut."""
        return machine_of(executor)


def _is_outgrown(plan: Plan, values: Any) -> bool:
    """Return whether a variable that may have any shape has another one than the plan is for."""
    return any(
        leaf.kind == STATE
        and is_known(leaf.spec.shape)
        and leaf.what in values
        and values.record(leaf.what).shape != leaf.spec.shape
        for leaf in plan.leaves
    )


def _has_lazy(values: Sequence[Any]) -> bool:
    """Return whether dask arrays are fed."""
    return any(isinstance(value, LazyFeed) for value in values)


def _planned_by(knobs: config.Config) -> Hashable:
    """Return the knobs by which a plan is made: with others the next run has another plan."""
    return knobs.batch_parts, knobs.batch_parts_min_flops, knobs.client_work_s


def client_work_s(executor: Binder, values: Sequence[Any]) -> float:
    """Return how much work of a plan the client may do: none if what is fed may be on workers."""
    if executor.placement is None or _has_lazy(values):
        return 0.0
    return max(0.0, config.get().client_work_s - seconds_of_texts(values))


def machine_of(executor: Binder) -> Machine:
    """Return for what the work of a plan is cut."""
    knobs = config.get()
    is_forced = knobs.batch_parts is not None
    return Machine(
        executor.num_workers if knobs.batch_parts is None else knobs.batch_parts,
        is_forced,
        0.0 if is_forced else knobs.batch_parts_min_flops,
        math.inf if executor.placement is None else executor.placement.spare_bytes,
        executor.placement is not None,
    )


class SharedExecutable(Executable):
    """Fetches on variables that others may have a share in."""

    __slots__ = ()

    def _run(
        self, values: Sequence[Any], as_futures: bool, as_dask: bool, may_stay: bool
    ) -> list[Any]:
        """Run in step with the others, perhaps several times: only the last counts as a run."""
        run = partial(Executable._run, self, values, as_futures, as_dask, may_stay)
        return self.engine.transact(run)
