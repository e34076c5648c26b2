"""Where a user's program stands: the line that errors and plans name."""

from __future__ import annotations

import sys
from pathlib import Path

_PACKAGE = str(Path(__file__).resolve().parent.parent)


class _InPackage(dict[str, bool]):
    """File name -> whether it is one of this package; asked a dozen times for each op."""

    def __missing__(self, filename: str) -> bool:
        self[filename] = found = filename.startswith(_PACKAGE)
        return found


_in_package = _InPackage()


def user_line() -> tuple[str, int]:
    """Return file and line of the innermost caller outside this package."""
    frame = sys._getframe(3)  # nobody outside is nearer than that
    while _in_package[frame.f_code.co_filename]:
        outer = frame.f_back
        if outer is None:
            break
        frame = outer
    return frame.f_code.co_filename, frame.f_lineno
