"""Kernels of Fourier transforms along the last dimensions, by the array library."""

from __future__ import annotations

from typing import Any

import numpy as np

from daskvars.backend import Array, ArrayModule


def _axes(rank: int) -> tuple[int, ...]:
    return tuple(range(-rank, 0))


def fft(xp: ArrayModule, x: Array, *, rank: int, inverse: bool) -> Array:
    """Give the transform of complex numbers along the last `rank` dimensions."""
    if not x.size:
        return x.copy()
    function = xp.fft.ifftn if inverse else xp.fft.fftn
    return function(x, axes=_axes(rank)).astype(x.dtype, copy=False)


def rfft(xp: ArrayModule, x: Array, *, fft_length: tuple[int, ...]) -> Array:
    """Give the transform of real numbers: the half of it that is not the other's mirror image."""
    kind = np.result_type(x.dtype, np.complex64)
    rank = len(fft_length)
    shape = (*x.shape[:-rank], *fft_length[:-1], fft_length[-1] // 2 + 1)
    if 0 in x.shape or 0 in shape:
        return xp.zeros(shape if 0 not in fft_length else (*shape[:-1], 0), kind)
    return xp.fft.rfftn(x, s=fft_length, axes=_axes(rank)).astype(kind, copy=False)


def irfft(xp: ArrayModule, x: Array, *, fft_length: tuple[int, ...]) -> Array:
    """Give the real numbers of which `rfft` gives `x`."""
    kind: Any = x.real.dtype
    rank = len(fft_length)
    if 0 in x.shape or 0 in fft_length:
        return xp.zeros((*x.shape[:-rank], *fft_length), kind)
    return xp.fft.irfftn(x, s=fft_length, axes=_axes(rank)).astype(kind, copy=False)
