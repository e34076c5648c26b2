"""Kernels of numbers rounded as if they were integers of a few bits between two limits."""

from __future__ import annotations

from typing import Any

from daskvars.backend import Array, ArrayModule


def nudged(
    xp: ArrayModule, low: Array, high: Array, *, num_bits: int, narrow_range: bool
) -> tuple[Any, Any, Any]:
    """Give the limits, moved so that 0 is one of the numbers, and the step between two of them."""
    least, most = int(narrow_range), (1 << num_bits) - 1
    step = (high - low) / (most - least)
    safe = xp.where(step == 0, 1, step).astype(low.dtype)
    zero = xp.clip(xp.floor(least - low / safe + 0.5), least, most).astype(low.dtype)
    return (least - zero) * step, (most - zero) * step, step


def fake_quantize(
    xp: ArrayModule, x: Array, low: Array, high: Array, *, num_bits: int, narrow_range: bool
) -> Array:
    """Give `x` rounded; all zeros where both limits are 0."""
    bottom, top, step = nudged(xp, low, high, num_bits=num_bits, narrow_range=narrow_range)
    safe = xp.where(step == 0, 1, step).astype(x.dtype)
    steps = xp.floor((xp.clip(x, bottom, top) - bottom) / safe + 0.5)
    return (steps * step + bottom).astype(x.dtype, copy=False)
