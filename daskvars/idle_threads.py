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
import math
import os
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from typing import Any, TypeVar

Given = TypeVar("Given")

MAX_WAITING = 4  # calls begun and not ended: of more, what they take would be kept for long

_threads = {"count": 1}
_pools: dict[str, ThreadPoolExecutor] = {}
_waiting: set[Future[Any]] = set()
if hasattr(os, "register_at_fork"):  # the threads stay with the parent
    for _made in (_pools, _waiting):
        os.register_at_fork(after_in_child=_made.clear)


def share_among(count: int) -> None:
    """Let `count` threads of this process work on what one of them shares."""
    _threads["count"] = count


class _Inside:
    """While a thread is inside, it has work of its own: others do not count on it."""

    def __init__(self) -> None:
        self.threads: list[int] = []

    def __enter__(self) -> None:
        self.threads.append(1)

    def __exit__(self, *_: object) -> None:
        self.threads.pop()


one_of_several = _Inside()
beside_a_run = _Inside()  # a thread that none of those is which compute a run


def num_available() -> int:
    """Return how many threads can work on something now, the caller among them."""
    elsewhere = len(beside_a_run.threads) + any(not call.done() for call in tuple(_waiting))
    return 1 + max(_threads["count"] - max(len(one_of_several.threads), 1) - elsewhere, 0)


def for_each(function: Callable[[Any], Any], pieces: Sequence[Any], most: float = math.inf) -> None:
    """Call a function of each piece, on several threads at once; none may need what another makes.

    All of them should take a good part of a millisecond: another thread begins 0.1 ms later. The
    caller takes what the others have not begun, so that a busy pool never blocks. Where pieces
    fail, the error is that of the first of them, whatever threads there are, and nothing goes on
    behind the caller's back: what they write into may be a variable's own memory.

    Args:
      pieces: begun in their order.
      most: threads that pay, the caller among them.

    >>> found = [0, 0]
    >>> for_each(lambda i: found.__setitem__(i, i + 1), [0, 1])
    >>> found
    [1, 2]
    """
    threads = min(num_available(), len(pieces), most)
    if threads <= 1:
        for piece in pieces:
            function(piece)
        return
    numbers = itertools.count()  # next() on it is atomic
    errors: dict[int, BaseException] = {}

    def run() -> None:
        while not errors and (number := next(numbers)) < len(pieces):
            try:
                function(pieces[number])
            except BaseException as error:  # noqa: BLE001 - raised below
                errors[number] = error

    # In a copy of the context, for NumPy's error state is part of it.
    others = [
        _pool("tiles").submit(contextvars.copy_context().run, run) for _ in range(int(threads) - 1)
    ]
    run()
    wait([other for other in others if not other.cancel()])
    if errors:
        raise errors[min(errors)]


def _pool(name: str, size: int | None = None) -> ThreadPoolExecutor:
    """Return the threads of a name; of two pools that are made at once both callers get one."""
    found = _pools.get(name)
    return found or _pools.setdefault(name, ThreadPoolExecutor(size, f"daskvars-{name}"))


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
    if len(_waiting) >= MAX_WAITING or (not _waiting and num_available() < 2):
        return None
    found = _pool("in-turn", 1).submit(contextvars.copy_context().run, function)
    _waiting.add(found)
    found.add_done_callback(_waiting.discard)
    return found
