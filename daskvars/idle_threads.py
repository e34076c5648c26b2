"""Threads that have nothing to do take part in what another computes: tiles of chains, pieces of
kernels, what nobody waits for yet.

They are those of this process that `share_among` allows, less those that have work of their own
(`one_of_several`): more threads than cores would take the interpreter from one another. Into which
pieces work is cut is for whoever shares it to decide, by what there is to do and never by how many
threads there are: no bit of a result depends on these.
"""

from __future__ import annotations

import contextvars
import itertools
import os
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

Given = TypeVar("Given")

MAX_WAITING = 4  # calls begun and not ended: of more, what they take would be kept for long

_threads = {"count": 1, "busy": 0, "beside": 0}
_busy_lock = threading.Lock()
_pool: list[ThreadPoolExecutor] = []
_in_turn: list[ThreadPoolExecutor] = []
_waiting: list[Future[Any]] = []
if hasattr(os, "register_at_fork"):  # the threads stay with the parent
    for _made in (_pool, _in_turn, _waiting):
        os.register_at_fork(after_in_child=_made.clear)


def share_among(count: int) -> None:
    """Let `count` threads of this process work on what one of them shares."""
    _threads["count"] = count


def num_available() -> int:
    """Return how many threads can work on something now, the caller among them."""
    elsewhere = _threads["beside"] + any(not call.done() for call in _waiting)
    return 1 + max(_threads["count"] - max(_threads["busy"], 1) - elsewhere, 0)


class _Counted:
    """While a thread is inside, it has work of its own: others do not count on it."""

    def __init__(self, kind: str) -> None:
        self._kind = kind

    def __enter__(self) -> None:
        with _busy_lock:
            _threads[self._kind] += 1

    def __exit__(self, *_: object) -> None:
        with _busy_lock:
            _threads[self._kind] -= 1


one_of_several = _Counted("busy")
beside_a_run = _Counted("beside")  # a thread that none of those is which compute a run


def run_together(run: Callable[[], None], count: int) -> None:
    """Call `run` on several threads at once, which share its work as it comes.

    The caller works too and takes whatever the others have not begun, so that a busy pool never
    blocks.

    Args:
      run: goes on until nothing is left to be done.
      count: of threads, the caller among them.
    """
    if count <= 1:
        run()
        return
    if not _pool:
        _pool.append(ThreadPoolExecutor(thread_name_prefix="daskvars-tiles"))
    # In a copy of the context, for NumPy's error state is part of it.
    others = [_pool[0].submit(contextvars.copy_context().run, run) for _ in range(count - 1)]
    run()
    for other in others:
        if not other.cancel():
            other.result()


def for_each(function: Callable[[Any], Any], pieces: Sequence[Any]) -> None:
    """Call a function of each piece; none may need what another makes.

    All of them should take a good part of a millisecond: another thread begins 0.1 ms later.

    >>> found = [0, 0]
    >>> for_each(lambda i: found.__setitem__(i, i + 1), [0, 1])
    >>> found
    [1, 2]
    """
    numbers = itertools.count()  # next() on it is atomic

    def run() -> None:
        while (number := next(numbers)) < len(pieces):
            function(pieces[number])

    run_together(run, min(num_available(), len(pieces)))


def slices(size: int, step: int) -> list[slice]:
    """Return the pieces of a dimension, each of `step` elements but for the last.

    >>> slices(5, 2)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    return [slice(start, min(start + step, size)) for start in range(0, size, step)]


def begun_in_turn(function: Callable[[], Given]) -> Future[Given] | None:
    """Begin a call beside what the caller goes on with; those begun so run one after the other.

    Returns:
      What it will give; None where no thread is idle or enough is waiting: the caller calls it.
    """
    _waiting[:] = [call for call in list(_waiting) if not call.done()]
    if len(_waiting) >= MAX_WAITING or (not _waiting and num_available() < 2):
        return None
    with _busy_lock:
        if not _in_turn:
            _in_turn.append(ThreadPoolExecutor(1, "daskvars-in-turn"))
    found = _in_turn[0].submit(contextvars.copy_context().run, function)
    _waiting.append(found)
    return found
