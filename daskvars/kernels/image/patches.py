"""Kernels of patches: what windows over images see, as the channels of one pixel each."""

from __future__ import annotations

from typing import Any

from daskvars.backend import Array, ArrayModule
from daskvars.kernels.nn.windows.sliding import Windows, place_windows


def _windows(
    shape: tuple[int, ...], ksizes: Any, strides: Any, rates: Any, padding: str
) -> Windows:
    return place_windows(shape[1:3], ksizes[1:3], padding=padding, strides=strides, dilations=rates)


def extract_image_patches(
    xp: ArrayModule,
    x: Array,
    *,
    ksizes: tuple[int, ...],
    strides: tuple[int, ...],
    rates: tuple[int, ...],
    padding: str,
) -> Array:
    """Give the patches of images, [batch, rows, columns, patch height * width * channels]."""
    windows = _windows(x.shape, ksizes, strides, rates, padding)
    padded = xp.zeros((len(x), *windows.padded, x.shape[3]), x.dtype)
    padded[windows.interior()] = x
    parts = [padded[index] for _, _, index in windows.taps()]
    return xp.concatenate(parts, axis=3)


def extract_image_patches_grad(
    xp: ArrayModule,
    dy: Array,
    *,
    input_shape: tuple[int, ...],
    ksizes: tuple[int, ...],
    strides: tuple[int, ...],
    rates: tuple[int, ...],
    padding: str,
) -> Array:
    """Give the gradient by images: each pixel's sum over the patches that it is in."""
    windows = _windows(input_shape, ksizes, strides, rates, padding)
    channels = dy.shape[3] // len(windows.taps())
    padded = xp.zeros((len(dy), *windows.padded, channels), dy.dtype)
    for number, (_, _, index) in enumerate(windows.taps()):
        padded[index] += dy[..., number * channels : (number + 1) * channels]
    return padded[windows.interior()].copy()
