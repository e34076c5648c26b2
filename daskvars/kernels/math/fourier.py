"""Discrete Fourier transforms along an axis."""

from __future__ import annotations

from daskvars.backend import Array, ArrayModule


def fft(xp: ArrayModule, x: Array, *, axis: int) -> Array:
    """The transform, in the precision of `x`; of nothing, nothing."""
    return xp.fft.fft(x, axis=axis).astype(x.dtype, copy=False) if x.size else x.copy()


def ifft(xp: ArrayModule, x: Array, *, axis: int) -> Array:
    """The inverse transform, in the precision of `x`; of nothing, nothing."""
    return xp.fft.ifft(x, axis=axis).astype(x.dtype, copy=False) if x.size else x.copy()
