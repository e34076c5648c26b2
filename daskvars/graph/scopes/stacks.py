"""The stacks of a thread: which graph is built, which session runs, and device strings.

The stacks are opaque: they hold whatever was entered, so that `Tensor.eval` needs to import no
session. They are thread-local; a new thread starts on the process-wide default graph.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Protocol

from daskvars.graph.scopes.device import canonical


class SessionLike(Protocol):
    """What runs fetches of a graph: a session, or one that wraps another."""

    @property
    def graph(self) -> Any: ...
    def run(self, fetches: Any, feed_dict: Mapping[Any, Any] | None = None) -> Any: ...


class _Stacks(threading.local):
    """What the thread is in the midst of.

    Attributes:
      builders: what was entered to record ops into, outermost first.
      unended: those of them that no block ends, which a reset of the default graph leaves.
      sessions: the default sessions, outermost first.
      histories: weak references to what keeps each operation that is made, for the tapes that
        record now. One whose block was broken off just as it ended (Ctrl-C) goes with its tape.
      line: file and line that operations are made at, None where each has its own.
    """

    def __init__(self) -> None:
        self.builders: list[Any] = []
        self.unended: list[Any] = []
        self.sessions: list[Any] = []
        self.histories: list[weakref.ref[Any]] = []
        self.line: tuple[str, int] | None = None


stacks = _Stacks()


def current_builder() -> Any:
    """Return what ops are recorded into: a Graph that was entered, else None (eager)."""
    builders = stacks.builders
    return builders[-1] if builders else None


class entered:
    """Make `builder` what ops are recorded into, for a ``with`` block.

    A class, not a generator: it is entered several times for each op, and costs a third.
    """

    __slots__ = ("_builder",)

    def __init__(self, builder: Any) -> None:
        self._builder = builder

    def __enter__(self) -> Any:
        stacks.builders.append(self._builder)
        return self._builder

    def __exit__(self, *exc_info: object) -> None:
        builders = stacks.builders
        if not builders or builders[-1] is not self._builder:
            raise AssertionError("nesting violated: graphs were left in another order than entered")
        builders.pop()


class entered_until_reset(entered):
    """As `entered`, where no block ends it: it is left in any order, at last by a reset."""

    __slots__ = ()

    def __enter__(self) -> Any:
        stacks.unended.append(self)
        return super().__enter__()

    def __exit__(self, *exc_info: object) -> None:
        if self in stacks.unended:
            stacks.unended.remove(self)
            builders = stacks.builders
            last = max(n for n, builder in enumerate(builders) if builder is self._builder)
            del builders[last]


@contextmanager
def session_entered(session: Any, nested: bool = True) -> Iterator[Any]:
    """Make `session` the default session; unless `nested` it may be left in any order."""
    sessions = stacks.sessions
    sessions.append(session)
    try:
        yield session
    finally:
        in_order = sessions[-1:] == [session]
        if session in sessions:
            sessions.remove(session)
        if nested and not in_order:
            raise AssertionError(
                "Nesting violated: default sessions were left in another order than entered"
            )


def get_default_session() -> Any:
    """Return the session that was entered last in this thread, or None.

    >>> with dv.Graph().as_default(), dv.Session() as sess:
    ...     dv.get_default_session() is sess
    True
    >>> dv.get_default_session() is None
    True
    """
    return stacks.sessions[-1] if stacks.sessions else None


def session_for(session: SessionLike | None, graph: Any, doing: str) -> Any:
    """Return `session` or the default one, checked against `graph`."""
    if session is None:
        session = get_default_session()
        if session is None:
            raise ValueError(
                f"Cannot {doing} using eval()/run(): No default session is registered. Use "
                "`with sess.as_default()` or pass an explicit session."
            )
        if session.graph is not graph:
            raise ValueError(
                f"Cannot use the default session to {doing}: the tensor's graph is different from "
                "the session's graph. Pass an explicit session."
            )
    elif session.graph is not graph:
        raise ValueError(
            f"Cannot use the given session to {doing}: the tensor's graph is different from the "
            "session's graph."
        )
    return session


def device_string(device: Any) -> str:
    """Return the canonical string of a device given as string, DeviceSpec or None."""
    if not device:
        return ""
    if isinstance(device, str):
        return canonical(device)
    return device.to_string()
