"""Work in several threads at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any


def at_once(*works: Callable[[], Any]) -> None:
    """Call functions, each in a thread of its own, and wait until all have ended.

    Raises:
      Exception: what one of them raised.
    """
    all_there = threading.Barrier(len(works))

    def call(work: Callable[[], Any]) -> None:
        all_there.wait()
        work()

    with ThreadPoolExecutor(len(works)) as threads:
        list(threads.map(call, works))
