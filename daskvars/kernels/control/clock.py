"""The kernel that looks at the clock."""

from __future__ import annotations

import time

from daskvars.backend import Array, ArrayModule


def timestamp(xp: ArrayModule) -> Array:
    """Give the seconds since 1970."""
    return xp.asarray(time.time(), xp.float64)
