"""Dropout: elements that were drawn are kept and scaled."""

from __future__ import annotations

from typing import Any

from daskvars.backend import Array, ArrayModule


def scale_kept(xp: ArrayModule, x: Array, kept: Any, *, rate: float) -> Array:
    """x / (1 - rate) where `kept` holds, else 0."""
    y = kept.astype(x.dtype)
    y *= x.dtype.type(1 / (1 - rate) if rate < 1 else 1.0)  # at 1 nothing is kept
    return xp.multiply(y, x)
