"""What a process tells of the work that it does, while somebody looks: slices of time.

A `Tracer` takes note of slices: a *stage* (what a task computes), in it *blocks* (of a region, on
whichever thread) and in these *kernels*; *exchanges* (what was pulled from one owner); *chunks*
that are written or read. There is none while nobody looks, and then all that this costs is to look
whether there is one. Two levels: at ``STAGES`` a block tells how long each scope took in it, at
``KERNELS`` each kernel is a slice of its own.

Times are those of the machine that did the work, in seconds since the epoch.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

OFF, STAGES, KERNELS = 0, 1, 2  # how much is told
TRACE, TRACED = "daskvars-trace", "daskvars-traced"  # to a worker, and from it
FIGURES = "daskvars"  # what a worker's counts are called in its heartbeat

Facts = dict[str, Any]  # plain data


class Slice(NamedTuple):
    """Something that took time.

    Attributes:
      kind: "stage", "block", "kernel", "exchange", "write" or "read".
      name: of a stage or block its scope, of a kernel its operation.
      start_s: when it began, in seconds since the epoch.
      duration_s: how long it took.
      thread: the thread's name, "" for what no thread waited for: an exchange.
      facts: what else is known: ``kernel``, ``bytes``, ``from``, ``scopes`` (seconds by scope).
    """

    kind: str
    name: str
    start_s: float
    duration_s: float
    thread: str
    facts: Facts


class Labels(NamedTuple):
    """What the calls of a metered region are, in order.

    Attributes:
      operations: the operations that it computes.
      layers: the layer of each; see `layer_of`.
      facts: what a slice of each says besides.
    """

    kernels: tuple[str, ...]
    operations: tuple[str, ...]
    layers: tuple[str, ...]
    facts: tuple[Facts, ...]


Meter = Callable[[Labels, Sequence[float]], None]
"""``meter(labels, times)``: the calls that ran one after the other, and the clock (s) before the
first and after each."""


class Kernels(NamedTuple):
    """Kernels that ran one after the other: slices that are not made before somebody looks.

    Attributes:
      labels: what ran.
      times: the clock of `time.perf_counter` before the first and after each.
      epoch_s: when that clock was zero, in seconds since the epoch.
      thread: the thread's name.
    """

    labels: Labels
    times: Sequence[float]
    epoch_s: float
    thread: str

    @property
    def num_slices(self) -> int:
        """How many slices they are."""
        return min(len(self.labels.operations), len(self.times) - 1)

    def slices(self) -> Iterator[Slice]:
        """Yield them as slices."""
        _, operations, _, facts = self.labels
        times = self.times
        for name, start, stop, known in zip(operations, times, times[1:], facts, strict=False):
            yield Slice("kernel", name, self.epoch_s + start, stop - start, self.thread, known)


def slices_of(noted: Iterable[Slice | Kernels]) -> Iterator[Slice]:
    """Yield what was noted as slices, in its order."""
    for one in noted:
        if isinstance(one, Kernels):
            yield from one.slices()
        else:
            yield one


class Tracer:
    """Takes note of slices until they are flushed; from any thread.

    Args:
      level: `STAGES` or `KERNELS`.
      sink: is given the slices, those of kernels together; see `slices_of`.
    """

    def __init__(self, level: int, sink: Callable[[list[Slice | Kernels]], None]) -> None:
        self.level, self.sink = level, sink
        self._epoch_s = time.time() - time.perf_counter()
        self._lock = threading.Lock()
        self._slices: list[Slice | Kernels] = []

    def note(
        self, kind: str, name: str, start: float, stop: float, thread: str, facts: Facts
    ) -> None:
        """Take note of a slice; `start` and `stop` are of `time.perf_counter`."""
        found = Slice(kind, name, self._epoch_s + start, stop - start, thread, facts)
        with self._lock:
            self._slices.append(found)

    def note_kernels(self, labels: Labels, times: Sequence[float], thread: str) -> None:
        """Take note of kernels that ran one after the other in a thread; see `kernels_ran`."""
        found = Kernels(labels, times, self._epoch_s, thread)
        with self._lock:
            self._slices.append(found)

    @contextmanager
    def during(self, kind: str, name: str, **facts: Any) -> Iterator[Facts]:
        """Take note of a block of code of this thread, and of the kernels that run in it."""
        token = _current.set((self, facts))
        start = time.perf_counter()
        try:
            yield facts
        finally:
            _current.reset(token)
            thread = threading.current_thread().name
            self.note(kind, name, start, time.perf_counter(), thread, facts)

    def around(self, kind: str, name: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return a function that is told of each time it is called; see `during`."""

        def told(*args: Any) -> Any:  # as in `during`, for a third of what that costs
            facts: Facts = {}
            token = _current.set((self, facts))
            start = time.perf_counter()
            try:
                return call(*args)
            finally:
                stop = time.perf_counter()
                _current.reset(token)
                self.note(kind, name, start, stop, threading.current_thread().name, facts)

        return told

    def flush(self) -> None:
        """Give away the slices so far."""
        with self._lock:
            found, self._slices = self._slices, []
        if found:
            self.sink(found)


_current: ContextVar[tuple[Tracer, Facts] | None] = ContextVar("daskvars-tracer", default=None)


def kernels_ran(labels: Labels, times: Sequence[float]) -> None:
    """Take note of kernels that ran one after the other in this thread; see `Meter`.

    Args:
      times: the clock before the first and after each, in seconds.
    """
    found = _current.get()
    if found is None:
        return
    tracer, facts = found
    if tracer.level >= KERNELS:
        tracer.note_kernels(labels, times, threading.current_thread().name)
        return
    scopes = facts.setdefault("scopes", {})
    for operation, start, stop in zip(labels.operations, times, times[1:], strict=False):
        scope = scope_of(operation)
        scopes[scope] = scopes.get(scope, 0.0) + stop - start


def scope_of(operation: str) -> str:
    """Return the scope of an operation, of several that ran as one that of the first.

    >>> scope_of("gradients/layer1/MatMul_grad/MatMul"), scope_of("loss")
    ('gradients/layer1/MatMul_grad', 'loss')
    """
    return operation.partition(", ")[0].rpartition("/")[0] or operation


def layer_of(scope: str) -> str:
    """Return what people are shown of a scope: without what differs between its operations.

    >>> layer_of("gradients/layer1/MatMul_grad"), layer_of("Adam/update_layer1/w"), layer_of("loss")
    ('gradients/layer1', 'Adam/update_layer1/w', 'loss')
    """
    head, _, last = scope.rpartition("/")
    return head if head and last.endswith("_grad") else scope


here: Tracer | None = None
"""That of what this process runs for itself, without a cluster."""


def trace_here(tracer: Tracer | None) -> None:
    """Have what this process runs for itself told to a tracer, or to nobody."""
    global here
    here = tracer
