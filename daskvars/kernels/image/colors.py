"""Kernels of colours: red, green and blue to hue, saturation and value, and back."""

from __future__ import annotations

from typing import Any

from daskvars.backend import Array, ArrayModule
from daskvars.kernels.math.precision import float_work


def rgb_to_hsv(xp: ArrayModule, x: Array) -> Array:
    """Give hue (from 0 to 1, red to red), saturation and value of colours [..., 3]."""
    return xp.stack(_to_hsv(xp, x.astype(float_work(x.dtype), copy=False)), axis=-1).astype(
        x.dtype, copy=False
    )


def hsv_to_rgb(xp: ArrayModule, x: Array) -> Array:
    """Give red, green and blue of colours [..., 3]."""
    given = x.astype(float_work(x.dtype), copy=False)
    return _to_rgb(xp, given[..., 0], given[..., 1], given[..., 2]).astype(x.dtype, copy=False)


def adjust_hue(xp: ArrayModule, x: Array, delta: Array) -> Array:
    """Give colours [..., 3] with `delta` added to their hue."""
    work = float_work(x.dtype)
    h, s, v = _to_hsv(xp, x.astype(work, copy=False))
    h = h + delta.astype(work)
    return _to_rgb(xp, h - xp.floor(h), s, v).astype(x.dtype, copy=False)


def adjust_saturation(xp: ArrayModule, x: Array, scale: Array) -> Array:
    """Give colours [..., 3] with their saturation times `scale`, up to 1."""
    work = float_work(x.dtype)
    h, s, v = _to_hsv(xp, x.astype(work, copy=False))
    s = xp.clip(s * scale.astype(work), 0, 1)
    return _to_rgb(xp, h, s, v).astype(x.dtype, copy=False)


def _to_hsv(xp: ArrayModule, x: Any) -> tuple[Any, Any, Any]:
    r, g, b = x[..., 0], x[..., 1], x[..., 2]
    value = xp.maximum(xp.maximum(r, g), b)
    span = value - xp.minimum(xp.minimum(r, g), b)
    safe = xp.where(span > 0, span, 1)
    sixth = xp.where(
        value == r, (g - b) / safe, xp.where(value == g, (b - r) / safe + 2, (r - g) / safe + 4)
    )
    hue = xp.where(span > 0, sixth / 6, 0)
    hue = xp.where(hue < 0, hue + 1, hue)
    saturation = xp.where(value > 0, span / xp.where(value > 0, value, 1), 0)
    return hue, saturation, value


def _to_rgb(xp: ArrayModule, h: Any, s: Any, v: Any) -> Any:
    six = h * 6
    shares = (xp.abs(six - 3) - 1, 2 - xp.abs(six - 2), 2 - xp.abs(six - 4))
    return xp.stack([(1 - s + s * xp.clip(share, 0, 1)) * v for share in shares], axis=-1)
