"""Pixels that are a stride apart, side by side: what a tap of all windows sees is whole rows then.

NumPy takes 10 to 20 ns for each run of memory that it goes through, whatever is done there; a pixel
of 32 channels is a run of 3 ns.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from daskvars.backend import Array, ArrayModule
from daskvars.kernels.nn.windows.sliding import Windows


class PixelPhases:
    """A batch of padded images, zeros at first, by the phases of their pixels.

    A pixel's phase is where it is between the beginnings of two windows: its row and column modulo
    the strides.
    """

    def __init__(
        self,
        xp: ArrayModule,
        windows: Windows,
        size: tuple[int, int],
        dtype: np.dtype[Any],
        *,
        is_apart: bool = False,
    ) -> None:
        """Make room for images where `windows` see them.

        Args:
          size: how many images there are, of how many channels.
          is_apart: channels are apart from each other, each of them images of its own.
        """
        self._xp, self._windows, self._is_apart = xp, windows, is_apart
        images, channels = size
        extent = [-(-n // step) for n, step in zip(windows.padded, windows.stride, strict=True)]
        shape = (channels, images, *extent) if is_apart else (images, *extent, channels)
        self._planes = xp.zeros((*windows.stride, *shape), dtype)
        self._seen = [_seen(windows, axis) for axis in (0, 1)]

    def seen(self, row: int, column: int) -> Array:
        """Return the pixels that windows see at their (row, column).

        They are [images, rows, columns, channels], or with channels apart, [channels, images, rows,
        columns].
        """
        top, rows = self._seen[0][row]
        left, columns = self._seen[1][column]
        plane = self._planes[top, left]
        return plane[:, :, rows, columns] if self._is_apart else plane[:, rows, columns]

    def write(self, images: Array) -> None:
        """Write the pixels of the images themselves, without padding."""
        for plane, pixels in self._parts():
            if self._is_apart:
                images[pixels] = plane.transpose(1, 2, 3, 0)
            else:
                copy_pixels(self._xp, plane, images[pixels])

    def _parts(self) -> Iterator[tuple[Array, tuple[slice, ...]]]:
        """Yield the part of each plane that is no padding, and the index of its pixels."""
        along = [_pixels(self._windows, axis) for axis in (0, 1)]
        skipped = (slice(None),) * (2 if self._is_apart else 1)
        for (top, down), (left, across) in itertools.product(*map(enumerate, along)):
            plane = self._planes[top, left][(*skipped, down[0], across[0])]
            yield plane, (slice(None), down[1], across[1])


@lru_cache(maxsize=1024)
def _seen(windows: Windows, axis: int) -> list[tuple[int, slice]]:
    """Return of each place of a window along an axis the phase that is seen, and what of it."""
    step, count = windows.stride[axis], windows.count[axis]
    found = (divmod(place * windows.dilation[axis], step) for place in range(windows.size[axis]))
    return [(phase, slice(first, first + count)) for first, phase in found]


@lru_cache(maxsize=1024)
def _pixels(windows: Windows, axis: int) -> list[tuple[slice, slice]]:
    """Return where the pixels of each phase along an axis are in its plane, and in the image."""
    step, before, found = windows.stride[axis], windows.before[axis], []
    for phase in range(step):
        start = (phase - before) % step
        first = (start + before) // step
        count = len(range(start, windows.image[axis], step))
        found.append((slice(first, first + count), slice(start, None, step)))
    return found


def copy_pixels(xp: ArrayModule, source: Array, target: Array) -> None:
    """Copy pixels [..., channels], each as one item if possible: that is faster than as numbers."""
    if xp is np and all(x.size and x.strides[-1] == x.itemsize for x in (source, target)):
        item = np.dtype((np.void, source.shape[-1] * source.itemsize))
        source, target = source.view(item), target.view(item)
    target[...] = source
