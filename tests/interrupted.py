"""Ctrl-C at a chosen moment: at the n-th call of a function of daskvars."""

from __future__ import annotations

import contextlib
import signal
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any


@contextlib.contextmanager
def interrupted_at(place: int) -> Iterator[Callable[[], bool]]:
    """Break a block off at the n-th call in it; give a function that tells whether there were
    fewer, so that the block went to its end."""
    left = place

    def count(frame: FrameType, event: str, _: Any) -> None:
        nonlocal left
        code = frame.f_code
        # Just as a block ends Python does not call what ends it: no program can help that.
        if event == "call" and "/daskvars/" in code.co_filename and code.co_name != "__exit__":
            left -= 1
            if not left:
                sys.setprofile(None)
                signal.raise_signal(signal.SIGINT)

    with contextlib.suppress(KeyboardInterrupt):
        sys.setprofile(count)
        try:
            yield lambda: left > 0
        finally:
            sys.setprofile(None)
