"""A variable that counts, up to a limit at which the run fails."""

from __future__ import annotations

from typing import Any

from daskvars.backend import Array, ArrayModule
from daskvars.errors import OutOfRangeError


def count_up_to(xp: ArrayModule, x: Array, *, limit: int) -> tuple[Any, Any]:
    """Give (x + 1, x). Raises OutOfRangeError when x has reached `limit`."""
    if x >= limit:
        raise OutOfRangeError.saying(f"Reached limit of {limit}")
    return xp.add(x, xp.asarray(1, dtype=x.dtype)), x.copy()
