"""Runs with ops that this process does: what comes before them, they, and what comes after."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextvars import copy_context
from typing import Any, NamedTuple, Protocol

import dask.array
import numpy
from distributed import futures_of

from daskvars.errors import OpError
from daskvars.execution.engine.values.blocks import owned
from daskvars.execution.engine.values.lazy_feeds import LazyFeed
from daskvars.execution.engine.values.rows_arrays import RowsArray
from daskvars.execution.host_ops.resources import Call, Waiting, alongside, timeout_s
from daskvars.graph.definitions.patterns import HostCall
from daskvars.graph.tensor import ANNOTATIONS, Operation, Tensor
from daskvars.lowering.explain import explain
from daskvars.lowering.rewrites.prune import prune

_NOT_FOR_KERNELS = ANNOTATIONS | {"operands"}
Slots = dict[Tensor, Any]  # what is known so far in a run


class Runnable(Protocol):
    """What the engine runs of a graph."""

    @property
    def last_bound(self) -> Any:
        """The plan that ran last, as it is bound to what ran it."""

    def __call__(
        self,
        values: Sequence[Any],
        as_futures: bool = False,
        as_dask: bool = False,
        may_stay: bool = False,
    ) -> list[Any]:
        """Run on the values of the fed tensors."""

    def explain(self, values: Sequence[Any]) -> str:
        """Return what would be run."""


# (signature, fetches, targets, fed, done=) -> what runs them
Compile = Callable[..., Runnable]


class Stage(NamedTuple):
    """A part of a run.

    Attributes:
      ready: host-side ops whose inputs are known when it begins, and that wait for none of those
        that come after.
      fed: tensors given to what is run then,
      run: which is None where there is nothing to compute,
      fetched: and what it gives.
      waiting: host-side ops that need some of that, and those that may wait for these.
    """

    ready: tuple[Operation, ...]
    fed: tuple[Tensor, ...]
    run: Runnable | None
    fetched: tuple[Tensor, ...]
    waiting: tuple[Operation, ...]


def host_calls(ops: Iterable[Operation], fed: Collection[Tensor]) -> list[Operation]:
    """Return those of the operations that are done in this process."""
    return [
        op
        for op in ops
        if isinstance(op.opdef.pattern, HostCall) and not (op.outputs and op.outputs[0] in fed)
    ]


def _is_free(op: Operation) -> bool:
    """Return whether an operation is known without a run: a constant or a variable's handle.

    A constant that waits for something, an assertion say, is not.
    """
    if op.outputs and op.outputs[0].spec.dtype.is_ref:
        return True
    return not op.inputs and "value" in op.attrs and not op._control_inputs


def stages_of(
    signature: Hashable,
    fetches: Sequence[Tensor],
    targets: Sequence[Operation],
    fed: Sequence[Tensor],
    compiled: Compile,
) -> list[Stage]:
    """Return the parts of a run, one after the other; none where no op is host-side.

    An operation's level is how many host-side ops come before it, one after the other. A stage
    computes what the host-side ops of its level need, and no more; the last one all the rest.
    """
    given = frozenset(fed)
    ops = prune(fetches, targets, fed)
    hosts = dict.fromkeys(host_calls(ops, given))
    if not hosts:
        return []
    along = alongside(hosts)
    if along:
        targets = [*targets, *along]
        ops = prune(fetches, targets, fed)
    level: dict[Operation, int] = {}
    for op in ops:
        needs = (*op._control_inputs, *(t.op for t in op.inputs if t not in given))
        level[op] = max((level[p] + (p in hosts) for p in needs), default=0)
    last = max(level.values())
    needed = {t for op in ops for t in op.inputs}.union(fetches)
    done: set[Operation] = set()
    stages = []
    for number in range(last + 1):
        here = [op for op in hosts if level[op] == number]
        waits = {op: _wanted_by(op, done | hosts.keys(), given) for op in here}
        tensors = [t for wanted, _ in waits.values() for t in wanted]
        waited_for = [op for _, others in waits.values() for op in others]
        if number == last:
            tensors += [t for t in fetches if t not in given and t.op not in done | hosts.keys()]
            waited_for += [op for op in targets if op not in done | hosts.keys()]
        before = frozenset(done | hosts.keys())
        known = [t for op in before for t in op.outputs if t not in given]
        running = prune(tensors, waited_for, [*fed, *known], before)
        done.update(op for op in running if not _is_free(op))
        later = {t for op in ops if op not in done or op in hosts for t in op.inputs}
        later.update(fetches)
        results = {t: None for op in running if not _is_free(op) for t in op.outputs}
        fetched = [t for t in results if t in needed & later and t not in given]
        fetched += [t for t in dict.fromkeys(tensors) if t not in results]
        taken = dict.fromkeys(t for op in running for t in op.inputs)
        used = tuple(t for t in taken if t in given or t.op in before)
        run = None
        if fetched or any((op.outputs or op.inputs) and not _is_free(op) for op in running):
            run = compiled((signature, number), fetched, waited_for, used, done=before)
        waiting = {op for op, wanted in waits.items() if any(wanted)}
        if waiting:  # what another op may wait for, so that one has to stand beside them
            waiting.update(op for op in here if _may_wait(op))
        stages.append(
            Stage(
                tuple(op for op in here if op not in waiting),
                used,
                run,
                tuple(fetched),
                tuple(op for op in here if op in waiting),
            )
        )
    return stages


def _may_wait(op: Operation) -> bool:
    """Return whether a host-side op may wait for what another one does."""
    return getattr(op.opdef.pattern, "waits", False)


def _wanted_by(
    op: Operation, done: Collection[Operation], given: Collection[Tensor]
) -> tuple[list[Tensor], list[Operation]]:
    """Return what must be computed, and what run, before an op can be done."""
    tensors = [t for t in op.inputs if t not in given and t.op not in done and not _is_free(t.op)]
    return tensors, [c for c in op._control_inputs if c not in done and not _is_free(c)]


class StagedExecutable:
    """Fetches and targets with ops that are done in this process.

    Args:
      engine: the session's, which has its objects.
      fed: tensors whose values are given to each run.
    """

    def __init__(
        self, engine: Any, stages: Sequence[Stage], fetches: Sequence[Tensor], fed: Sequence[Tensor]
    ) -> None:
        self.engine, self.resources = engine, engine.resources
        self.stages = tuple(stages)
        self.fetches, self.fed = tuple(fetches), tuple(fed)
        self._computed = {t for stage in stages for t in stage.fetched}

    def __call__(
        self, values: Sequence[Any], as_futures: bool = False, as_dask: bool = False
    ) -> list[Any]:
        """Run on the values of the fed tensors (checked already) and return those fetched.

        Raises:
          OpError: of a host-side op; what was run for ops before it stays done.
          CancelledError: the session was closed while it waited.
        """
        slots: Slots = dict(zip(self.fed, values, strict=True))
        waiting = Waiting(timeout_s(self.resources))
        variables = self.engine.values
        version = variables.version
        try:
            return self._run_stages(slots, waiting, as_dask)
        except BaseException as error:
            # Ctrl-C may come when variables have their new values, or are about to: what the run
            # took is in them.
            if isinstance(error, Exception) or variables.version == version:
                for undo in reversed(waiting.undo):
                    undo()
            raise

    def _run_stages(self, slots: Slots, waiting: Waiting, as_dask: bool) -> list[Any]:
        self.resources.enter(waiting)
        try:
            for stage in self.stages:
                self._do(stage.ready, slots, waiting)
                if stage.run is not None:
                    self._run(stage, slots, as_dask)
                self._do(stage.waiting, slots, waiting)
        finally:
            self.resources.leave(waiting)
        # What was fed, or comes out of an object that a session keeps, may be read there again.
        results = [slots[t] if t in self._computed else owned(slots[t]) for t in self.fetches]
        if as_dask:
            results = [r.array if isinstance(r, LazyFeed) else r for r in results]
            return [r if dask.is_dask_collection(r) else dask.array.from_array(r) for r in results]
        return [
            _array(t, r) if isinstance(r, LazyFeed) else r
            for t, r in zip(self.fetches, results, strict=True)
        ]

    def _run(self, stage: Stage, slots: Slots, as_dask: bool) -> None:
        """Run what is computed in a stage; what a lazy op takes may stay on workers."""
        assert stage.run is not None, stage
        is_last = stage is self.stages[-1]
        stay = {t for op in stage.waiting if _is_lazy(op) for t in op.inputs}
        given = [slots[t] for t in stage.fed]
        found = stage.run(given, as_dask=as_dask and is_last, may_stay=bool(stay))
        for tensor, value in zip(stage.fetched, found, strict=True):
            is_asked_for = is_last and (as_dask or not dask.is_dask_collection(value))
            if tensor in stay:
                slots[tensor] = _given(tensor, value)
            else:
                slots[tensor] = value if is_asked_for else _array(tensor, value)

    def _do(self, ops: Sequence[Operation], slots: Slots, waiting: Waiting) -> None:
        """Do the ops of one level: those that may wait at the same time."""
        beside = [op for op in ops if _may_wait(op)]
        beside = beside if len(beside) > 1 else []
        for op in ops:
            if op not in beside:
                slots.update(self._done(op, slots, waiting))
        if not beside:
            return
        known = dict(slots)
        with ThreadPoolExecutor(len(beside), thread_name_prefix="daskvars-host") as pool:
            futures = [
                pool.submit(copy_context().run, self._done, op, known, waiting) for op in beside
            ]
            try:
                ended, _ = wait(futures, return_when=FIRST_EXCEPTION)
            except BaseException:  # Ctrl-C, say: the pool waits for its threads
                waiting.cancel("the run was interrupted")
                raise
            failed = [error for f in ended if (error := f.exception()) is not None]
            if failed:
                waiting.cancel("another operation of the run failed")
        if failed:
            raise failed[0]
        for future in futures:
            slots.update(future.result())

    def _done(self, op: Operation, slots: Mapping[Tensor, Any], waiting: Waiting) -> Slots:
        """Do one op, and return what it gives."""
        arrays = [
            slots[t] if t in slots else numpy.asarray(t.op.attrs["value"], t.dtype.base_dtype.np)
            for t in op.inputs
        ]
        here = _in_reach if _is_lazy(op) else _array
        arrays = [here(t, v) for t, v in zip(op.inputs, arrays, strict=True)]
        attrs = {k: v for k, v in op.attrs.items() if k not in _NOT_FOR_KERNELS}
        kernel: Any = op.opdef.kernel
        try:
            found = kernel(Call(op, self.engine, waiting), *arrays, **attrs)
        except OpError as error:
            if error.op is None:
                error.op = op.name
            raise
        results = found if op.multiple else (found,)
        return {t: _given(t, v) for t, v in zip(op.outputs, results, strict=True) if t not in slots}

    @property
    def last_bound(self) -> Any:
        """The plan that ran last, None before it, or if there is nothing to compute."""
        found = [stage.run.last_bound for stage in self.stages if stage.run is not None]
        return found[-1] if found else None

    def explain(self, values: Sequence[Any]) -> str:
        """Return what is done in this process, and run before and after it, as text."""
        slots = dict(zip(self.fed, values, strict=True))
        parts = []
        for stage in self.stages:
            parts += [f"here: {op.name} ({op.type})" for op in stage.ready]
            if stage.run is not None and all(t in slots for t in stage.fed):
                parts.append(stage.run.explain([slots[t] for t in stage.fed]))
            elif stage.run is not None and stage.run.last_bound is not None:
                parts.append(explain(stage.run.last_bound.plan))
            elif stage.run is not None:
                names = ", ".join(t.name for t in stage.fed if t not in slots)
                parts.append(f"run, planned when the shapes are known of: {names}")
            parts += [f"here: {op.name} ({op.type})" for op in stage.waiting]
        return "\n".join(parts)


def _is_lazy(op: Operation) -> bool:
    """Return whether a host-side op takes what is on workers as dask arrays."""
    return bool(getattr(op.opdef.pattern, "lazy", False))


def _in_reach(tensor: Tensor, value: Any) -> Any:
    """Return a value as a lazy op takes it: a dask array, or an array of NumPy's."""
    if isinstance(value, LazyFeed):
        return value.array
    return value if dask.is_dask_collection(value) else _array(tensor, value)


def _given(tensor: Tensor, value: Any) -> Any:
    """Return what an op gave as the engine takes feeds; a dask array stays where it is."""
    if dask.is_dask_collection(value):
        return LazyFeed(tensor.name, value, tensor.spec.dtype.base_dtype)
    return _array(tensor, value)


def _array(tensor: Tensor, value: Any) -> Any:
    """Return a value as the engine takes feeds: an array of NumPy's, of the tensor's dtype."""
    if type(value) is numpy.ndarray:
        return value
    if isinstance(value, LazyFeed):
        is_on_workers = isinstance(value.array, RowsArray) or futures_of(value.array)
        where = None if is_on_workers else "threads"
        return numpy.asarray(value.array.compute(scheduler=where))
    dtype = tensor.spec.dtype.base_dtype.np
    if dtype.kind == "O":
        found = numpy.empty(numpy.shape(value) if isinstance(value, list) else (), dtype)
        found[...] = value
        return found
    return numpy.asarray(value, dtype)
