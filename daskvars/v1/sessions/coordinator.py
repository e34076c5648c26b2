"""Coordinator: tells a set of threads when to stop, and raises what one of them raised."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, NoReturn

from daskvars.errors import OutOfRangeError
from daskvars.surface.forwarding import forwards
from daskvars.v1 import logging

ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None]


class Coordinator:
    """Coordinates the end of threads: any may ask all to stop, and `join` waits for them.

    Args:
      clean_stop_exception_types: exceptions that mean an ordinary end, by default
        ``(OutOfRangeError,)``; any other that a thread reports is raised by `join`.

    >>> coord = Coordinator()
    >>> def work():
    ...     while not coord.should_stop():
    ...         coord.request_stop()
    >>> thread = threading.Thread(target=work)
    >>> thread.start()
    >>> coord.join([thread])
    >>> coord.should_stop()
    True
    """

    def __init__(self, clean_stop_exception_types: Iterable[type] | None = None) -> None:
        if clean_stop_exception_types is None:
            clean_stop_exception_types = (OutOfRangeError,)
        self._clean = tuple(clean_stop_exception_types)
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._reported: ExcInfo | None = None
        self._joined = False
        self._registered_threads: set[threading.Thread] = set()

    def __repr__(self) -> str:
        state = "stops" if self._stop.is_set() else "runs"
        return f"<Coordinator {state}, {len(self._registered_threads)} threads>"

    def request_stop(self, ex: Any = None) -> None:
        """Ask all threads to stop.

        Args:
          ex: what `join` is to raise: an exception that is being handled, or ``sys.exc_info()``.
        """
        with self._lock:
            error = ex[1] if isinstance(ex, tuple) else ex
            if isinstance(error, self._clean):
                ex = None
            if self._joined and ex is not None:
                _raise(_exc_info(ex))  # nobody is left to be told of it
            if self._stop.is_set():
                return
            if ex is not None and self._reported is None:
                logging.info("Error reported to Coordinator: %s", error)
                self._reported = _exc_info(ex)
            self._stop.set()

    def clear_stop(self) -> None:
        """Forget the request to stop and what was reported."""
        with self._lock:
            self._joined = False
            self._reported = None
            self._stop.clear()

    def should_stop(self) -> bool:
        """Return whether threads were asked to stop."""
        return self._stop.is_set()

    @contextmanager
    def stop_on_exception(self) -> Iterator[None]:
        """Report an exception that the block raises, and ask all threads to stop."""
        try:
            yield
        except BaseException:  # noqa: BLE001 - join raises it
            self.request_stop(ex=sys.exc_info())

    def wait_for_stop(self, timeout: float | None = None) -> bool:
        """Wait until a stop is requested, at most `timeout` seconds; return whether it was."""
        return self._stop.wait(timeout)

    def register_thread(self, thread: threading.Thread) -> None:
        """Let `join` wait for a thread."""
        with self._lock:
            self._registered_threads.add(thread)

    def join(
        self,
        threads: Iterable[threading.Thread] | None = None,
        stop_grace_period_secs: float = 120,
        ignore_live_threads: bool = False,
    ) -> None:
        """Wait until a stop is requested, and then for threads to end.

        Args:
          threads: threads to wait for besides those registered.
          stop_grace_period_secs: how many seconds threads have after the request.
          ignore_live_threads: no error for threads that still run then.

        Raises:
          RuntimeError: threads still run.
          Exception: what was reported with `request_stop`.
        """
        with self._lock:
            waited = list(self._registered_threads.union(threads or ()))
        while any(t.is_alive() for t in waited) and not self.wait_for_stop(0.1):
            continue
        end = time.monotonic() + stop_grace_period_secs
        for thread in waited:
            if thread.is_alive():
                thread.join(max(0.0, end - time.monotonic()))
        left = [thread.name for thread in waited if thread.is_alive()]
        with self._lock:
            self._joined = True
            self._registered_threads = set()
            if self._reported is not None:
                _raise(self._reported)
            if left:
                text = f"Coordinator stopped with threads still running: {' '.join(left)}"
                if not ignore_live_threads:
                    raise RuntimeError(text)
                logging.info(text)

    joined: bool = forwards("_joined", "Whether `join` has ended.")

    def raise_requested_exception(self) -> None:
        """Raise what was reported with `request_stop`, if anything."""
        with self._lock:
            if self._reported is not None:
                _raise(self._reported)


def _exc_info(ex: Any) -> ExcInfo:
    """Return an exception, or ``sys.exc_info()``, in the latter's form."""
    found = ex if isinstance(ex, tuple) else sys.exc_info()
    if len(found) == 3 and found[0] and found[1]:
        return found
    if isinstance(ex, BaseException):
        return type(ex), ex, ex.__traceback__
    error = ValueError(
        f"ex must be a tuple or sys.exc_info must return the current exception: {ex!r}"
    )
    return ValueError, error, None


def _raise(info: ExcInfo) -> NoReturn:
    raise info[1].with_traceback(info[2])


class LooperThread(threading.Thread):
    """A thread that calls a function again and again until its coordinator wants to stop.

    Args:
      coord: the coordinator; it is told of an exception.
      timer_interval_secs: seconds from one call to the next, or None for no pause.
      target: the function; without it override `run_loop`.
      args, kwargs: the function's arguments.

    Raises:
      ValueError: `coord` is no coordinator, or there are arguments without a function.

    Source: TensorFlow 1.15, ``tf.train.LooperThread``.

    >>> coord, calls = tf.train.Coordinator(), []
    >>> def work():
    ...     calls.append(len(calls))
    ...     if len(calls) == 3:
    ...         coord.request_stop()
    >>> thread = tf.train.LooperThread(coord, None, target=work)
    >>> thread.start()
    >>> coord.join([thread])
    >>> calls
    [0, 1, 2]
    """

    def __init__(
        self,
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: Callable[..., Any] | None = None,
        args: Any = None,
        kwargs: Any = None,
    ) -> None:
        if not isinstance(coord, Coordinator):
            raise ValueError(f"'coord' argument must be a Coordinator: {coord}")
        if target is None and (args or kwargs):
            raise ValueError("'args' and 'kwargs' argument require that you also pass 'target'")
        super().__init__(daemon=True)
        self._coord, self._interval = coord, timer_interval_secs
        self._call = (target, args or (), kwargs or {})
        coord.register_thread(self)

    @staticmethod
    def loop(
        coord: Coordinator,
        timer_interval_secs: float | None,
        target: Callable[..., Any],
        args: Any = None,
        kwargs: Any = None,
    ) -> LooperThread:
        """Start a thread that calls `target` and return it."""
        looper = LooperThread(coord, timer_interval_secs, target, args, kwargs)
        looper.start()
        return looper

    def run(self) -> None:
        """Call `run_loop` until the coordinator wants to stop."""
        with self._coord.stop_on_exception():
            self.start_loop()
            due = time.monotonic()
            while not self._coord.wait_for_stop(
                0 if self._interval is None else max(0.0, due - time.monotonic())
            ):
                due += self._interval or 0.0
                self.run_loop()
            self.stop_loop()

    def start_loop(self) -> None:
        """Called once before the first call."""

    def stop_loop(self) -> None:
        """Called once after the last call."""

    def run_loop(self) -> None:
        """Called again and again; calls the function."""
        target, args, kwargs = self._call
        if target is not None:
            target(*args, **kwargs)
