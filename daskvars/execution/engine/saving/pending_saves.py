"""Checkpoints that are written while the program goes on.

A save takes hold of the values of its moment, which costs nothing: in this process a run that
would change an array in place leaves one that somebody holds alone and writes its result elsewhere,
and blocks on workers are never changed. A thread then writes them, one checkpoint after another.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor


class PendingSave:
    """A checkpoint that is being written.

    Attributes:
      path: the path that it will have.
    """

    def __init__(self, path: str, future: Future[None]) -> None:
        self.path = path
        self._future = future
        self._is_reported = False

    def done(self) -> bool:
        """Return whether it is written, or has failed."""
        return self._future.done()

    def result(self, timeout: float | None = None) -> str:
        """Wait until it is complete, and return its path.

        Args:
          timeout: seconds to wait at most.

        Raises:
          TimeoutError: it was not complete by then.
          OpError: it could not be written; what was at its path before still stands.
        """
        try:
            self._future.result(timeout)
        finally:
            self._is_reported = self._is_reported or self._future.done()
        return self.path

    def wait(self) -> None:
        """Wait until it is written; raise its error if nobody has been told of it."""
        self._future.exception()
        if not self._is_reported:
            self.result()


def saved_already(path: str) -> PendingSave:
    """Return a save that has ended well."""
    future: Future[None] = Future()
    future.set_result(None)
    return PendingSave(path, future)


class PendingSaves:
    """The checkpoints of one engine that are being written; there is one at a time."""

    def __init__(self) -> None:
        self._last: PendingSave | None = None

    def begin(self, path: str, write: Callable[[], None]) -> PendingSave:
        """Let a thread call `write`, once the save before has ended well.

        Raises:
          OpError: that failed, and nobody has asked for its result.
        """
        self.wait()
        pool = ThreadPoolExecutor(1, thread_name_prefix="daskvars-save")
        self._last = found = PendingSave(path, pool.submit(write))
        pool.shutdown(wait=False)  # its thread ends with the work; the interpreter waits for it
        return found

    def wait(self) -> None:
        """Wait for what is being written.

        Raises:
          OpError: it failed, and nobody has asked for its result.
        """
        last, self._last = self._last, None
        if last is not None:
            last.wait()
