"""Objects that a session keeps in its process between runs, and how its ops wait for them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from daskvars.errors import CancelledError, DeadlineExceededError
from daskvars.graph.definitions.opdef import OpDef, without_gradient
from daskvars.graph.definitions.patterns import HostCall
from daskvars.graph.tensor import Operation

T = TypeVar("T")


class Resources:
    """What ops of a session made, by name: queues, readers, tables.

    Sessions may share the objects; each has runs that wait, and a limit for them, of its own.

    Args:
      shared: those of another session, or None.

    Attributes:
      timeout_s: how long a run may wait, None for no limit.
    """

    def __init__(self, shared: Resources | None = None) -> None:
        self._is_shared = shared is not None
        self._objects: dict[str, Any] = {} if shared is None else shared._objects
        self._lock: threading.Lock = threading.Lock() if shared is None else shared._lock
        self._calls: set[Waiting] = set()
        self.timeout_s: float | None = None

    def get(self, name: str, make: Callable[[], T]) -> T:
        """Return what has a name, made now if there is none."""
        with self._lock:
            if name not in self._objects:
                self._objects[name] = make()
            return self._objects[name]

    def find(self, name: str) -> Any:
        """Return what has a name, None if there is none."""
        return self._objects.get(name)

    def forget(self, name: str) -> None:
        """Let go of what has a name."""
        with self._lock:
            self._objects.pop(name, None)

    def enter(self, waiting: Waiting) -> None:
        """Note what is to be cancelled when the session is closed."""
        with self._lock:
            self._calls.add(waiting)

    def leave(self, waiting: Waiting) -> None:
        """Take the note away."""
        with self._lock:
            self._calls.discard(waiting)

    def end(self) -> None:
        """Cancel all that waits, and let go of what objects of its own hold: files and threads."""
        self.cancel()
        for name in [] if self._is_shared else list(self._objects):
            end = getattr(self._objects.pop(name), "end", None)
            if end is not None:
                end()

    def cancel(self) -> None:
        """Cancel all that waits: each of the waiting ops raises CancelledError."""
        with self._lock:
            calls = list(self._calls)
        for waiting in calls:
            waiting.cancel("Session::Close")


_of_run: ContextVar[float | None] = ContextVar("timeout_s", default=None)


@contextmanager
def waiting_at_most(seconds: float) -> Iterator[None]:
    """Limit how long the runs of a block wait; 0 for no other limit than the session's."""
    token = _of_run.set(seconds or None)
    try:
        yield
    finally:
        _of_run.reset(token)


def timeout_s(resources: Resources) -> float | None:
    """Return how long a run that begins now may wait, None for no limit."""
    return _of_run.get() or resources.timeout_s


_shared: dict[str, Resources] = {}
_making = threading.Lock()


def resources_of(name: str) -> Resources:
    """Return the objects of the sessions of this process on one store; those of one without."""
    if not name:
        return Resources()
    with _making:
        return Resources(_shared.setdefault(name, Resources()))


def forget_resources(name: str) -> None:
    """Let later sessions on a store begin without objects."""
    with _making:
        _shared.pop(name, None)


def forget_containers(name: str, containers: Collection[str]) -> None:
    """Let go of the objects of a store's sessions that are in some containers; "" is no other."""
    with _making:
        found = _shared.get(name) or Resources()
    for own in list(found._objects):
        container, colon, _ = own.partition(":")  # see `Call.name_of`
        if (container if colon else "") in containers:
            found.forget(own)


class Waiting:
    """The right of one run to wait, until it is cancelled or its time is over.

    Args:
      timeout_s: seconds from now; None or 0 for no limit.

    Attributes:
      undo: what is called, from the last on, if the run fails.
    """

    def __init__(self, timeout_s: float | None = None) -> None:
        self.undo: list[Callable[[], None]] = []
        self._end = time.monotonic() + timeout_s if timeout_s else None
        self._conditions: list[threading.Condition] = []
        self._lock = threading.Lock()
        self._cancelled_by = ""

    def cancel(self, why: str) -> None:
        """Wake whoever waits, to raise CancelledError; nobody waits later."""
        with self._lock:
            self._cancelled_by = why
            conditions = list(self._conditions)
        for condition in conditions:
            with condition:
                condition.notify_all()

    def until(self, condition: threading.Condition, is_so: Callable[[], bool], what: str) -> None:
        """Wait until something is so.

        Args:
          condition: entered by the caller, notified when it may have become so.
          is_so: whether it is.
          what: what waits, for an error.

        Raises:
          CancelledError: the session was closed, or the run failed elsewhere.
          DeadlineExceededError: the run's time is over.
        """
        with self._lock:
            self._conditions.append(condition)
        try:
            while not is_so():
                if self._cancelled_by:
                    raise CancelledError.saying(f"{what} was cancelled: {self._cancelled_by}")
                left = None if self._end is None else self._end - time.monotonic()
                if left is not None and left <= 0:
                    raise DeadlineExceededError.saying(
                        f"Timed out waiting for notification: {what}"
                    )
                condition.wait(left)
        finally:
            with self._lock:
                self._conditions.remove(condition)


class Call:
    """One host-side op being done; its kernel's first argument.

    Attributes:
      resources: the objects of the session.
    """

    __slots__ = ("engine", "op", "resources", "waiting")

    def __init__(self, op: Operation, engine: Any, waiting: Waiting) -> None:
        self.op, self.engine, self.waiting = op, engine, waiting
        self.resources: Resources = engine.resources

    def name_of(self, shared_name: str, container: str) -> str:
        """Return the name of the object that the op makes: a container has names of its own."""
        name = shared_name or self.op.name
        return f"{container}:{name}" if container else name  # no operation's name has a colon

    def undo(self, action: Callable[[], None]) -> None:
        """Call `action` if the run fails after this op was done."""
        self.waiting.undo.append(action)


_ALONG = "along"  # a note of graphs: operation -> operations


def run_along(op: Operation, update: Operation) -> None:
    """Have each run that does a host-side op run another operation too.

    Args:
      update: the other, which may take results of it. Runs of the same fetches before are not
        changed.
    """
    op.graph.notes.setdefault(_ALONG, {}).setdefault(op, []).append(update)


def alongside(ops: Iterable[Operation]) -> list[Operation]:
    """Return what runs along with some host-side ops."""
    return [update for op in ops for update in op.graph.notes.get(_ALONG, {}).get(op, ())]


def host_op(
    type: str,
    signature: str,
    infer: Callable[..., Any],
    kernel: Callable[..., Any],
    waits: bool = False,
    lazy: bool = False,
    **rules: Any,
) -> OpDef:
    """Define a host-side op.

    Args:
      type, signature, infer: see `OpDef`.
      kernel: ``kernel(call, *arrays, **attrs)``, given the `Call` that it is.
      waits: whether it may wait for what another run does.
      lazy: whether its inputs may be dask arrays, where they are on workers.
    """
    return without_gradient(
        type, signature, infer, kernel, HostCall(waits=waits, lazy=lazy), **rules
    )
