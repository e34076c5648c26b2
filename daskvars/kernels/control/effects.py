"""Kernels of ops on variables that no other module has: the value that a variable has after it."""

from __future__ import annotations

from typing import Any, NoReturn

from daskvars.backend import Array, ArrayModule
from daskvars.errors import OutOfRangeError


def count_up_to(xp: ArrayModule, x: Array, *, limit: int) -> tuple[Any, Any]:
    """Give (x + 1, x). Raises OutOfRangeError when x has reached `limit`."""
    if x >= limit:
        raise OutOfRangeError(None, None, f"Reached limit of {limit}")
    return xp.add(x, xp.asarray(1, dtype=x.dtype)), x.copy()


def unreachable(xp: ArrayModule, *args: Any, **attrs: Any) -> NoReturn:
    """The kernel of an op that lowering always replaces by a value."""
    raise AssertionError("this op is replaced by a value before anything runs")
