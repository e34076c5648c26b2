"""Queue runners: there are no queues here, and a graph without them needs no threads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from daskvars.graph.interpreter import builder_for
from daskvars.graph.scopes.collections import GraphKeys
from daskvars.graph.scopes.stacks import SessionLike
from daskvars.v1.sessions.coordinator import Coordinator


def start_queue_runners(
    sess: SessionLike | None = None,
    coord: Coordinator | None = None,
    daemon: bool = True,
    start: bool = True,
    collection: str = GraphKeys.QUEUE_RUNNERS,
) -> list[Any]:
    """Start the threads of the runners in a collection, of which there are none.

    Runners of a user's own are started with their ``create_threads``.

    Returns:
      The threads.

    >>> start_queue_runners()
    []
    """
    graph = builder_for(()) if sess is None else sess.graph
    return [
        thread
        for runner in graph.get_collection(collection)
        for thread in runner.create_threads(sess, coord=coord, daemon=daemon, start=start)
    ]


def _left_out(name: str, instead: str) -> Callable[..., NoReturn]:
    """Return a function that says what to use in place of a class that is left out."""

    def left_out(*args: Any, **kwargs: Any) -> NoReturn:
        raise NotImplementedError(f"tf.train.{name} is left out: {instead}")

    left_out.__name__ = left_out.__qualname__ = name
    left_out.__doc__ = f"""Raise NotImplementedError: {name} is left out; {instead}.

    Raises:
      NotImplementedError: always.
    """
    return left_out


QueueRunner = _left_out(
    "QueueRunner", "feed the session with arrays, dask arrays or a Python generator"
)
Supervisor = _left_out(
    "Supervisor",
    "use tf.train.MonitoredTrainingSession, which restores, saves and writes "
    "summaries, or tf.train.SessionManager to prepare a session only",
)
