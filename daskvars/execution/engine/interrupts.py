"""What must not stop half-way: signals are handled after it.

Python runs the handlers of signals in the main thread, between any two instructions, and what they
raise (Ctrl-C's KeyboardInterrupt, an alarm's timeout, SystemExit on SIGTERM) would leave an update
in place half done. While `shielded` calls a function, the signals that come are only noted; their
handlers run when it has returned. Handing the work to another thread would do as well, but costs
two switches of threads, and what the function reads lies in the other core's cache.
"""

from __future__ import annotations

import concurrent.futures.thread  # noqa: F401  whose exit must be registered before ours
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

# The signals that programs handle; asking about every one there is takes 100 us.
_NAMES = ("SIGINT", "SIGTERM", "SIGALRM", "SIGHUP", "SIGUSR1", "SIGUSR2")
_SIGNALS = tuple(getattr(signal, name) for name in _NAMES if hasattr(signal, name))


def shielded(function: Callable[[], Any]) -> Any:
    """Return ``function()``; the handlers of signals that come meanwhile run after it.

    Raises:
      what the function raises, or what the handler of a signal does.

    >>> shielded(lambda: 2)
    2
    """
    if threading.current_thread() is not threading.main_thread():
        return function()  # handlers never run here
    shield = _Shield()
    try:
        shield.raise_it()
        return function()
    finally:
        shield.lower()


class _Shield:
    """Stands in for the handlers of signals."""

    def __init__(self) -> None:
        self.handlers: dict[int, Callable[[int, FrameType | None], Any]] = {}
        self.noted: list[tuple[int, FrameType | None]] = []
        self.is_up = True

    def raise_it(self) -> None:
        for number in _SIGNALS:
            handler = signal.getsignal(number)
            if callable(handler):
                self.handlers[number] = handler
                signal.signal(number, self.handle)

    def handle(self, number: int, frame: FrameType | None) -> None:
        # A handler may raise while others are put back; ours then goes on in their place.
        if self.is_up:
            self.noted.append((number, frame))
        else:
            self.handlers[number](number, frame)

    def lower(self) -> None:
        self.is_up = False
        for number, handler in self.handlers.items():
            signal.signal(number, handler)
        for number, frame in self.noted:
            self.handlers[number](number, frame)


def before_threads_end(function: Callable[[], None]) -> Callable[[], None]:
    """Have a function called when the program ends, and return it.

    What atexit knows comes when pools of threads, by which stores are written, take no more work.
    """
    threading._register_atexit(function)  # type: ignore[attr-defined]
    return function
