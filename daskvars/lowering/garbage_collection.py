"""No garbage collection while a plan is made.

Lowering makes some hundred thousand objects, most of which stay; none is garbage that only the
collector finds. Each time their number has grown by a quarter, Python looks through all objects of
the process: that was a third of the time of lowering.
"""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def paused_collector() -> Iterator[None]:
    """Have Python collect no garbage within; if it did not before, it does not after.

    It is paused for the whole process. Where several threads plan at once, the first to end has it
    go on.

    >>> import gc
    >>> with paused_collector():
    ...     gc.isenabled()
    False
    >>> gc.isenabled()
    True
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
