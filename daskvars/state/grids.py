"""Arithmetic of chunk grids: layouts, the regular grid that Zarr stores, overlaps.

A *layout* is Dask's ``chunks``: per axis the sizes of its chunks. Zarr stores regular grids only
(all chunks of an axis equal, the last one smaller), so a layout has a *stored layout*: itself
where it is regular, else per axis

- the greatest common divisor of its inner boundaries, if that makes at most twice as many
  chunks: each layout chunk is then cut into whole stored chunks and its owner writes them alone;
- otherwise its largest chunk size, and the writer of a stored chunk gathers it from the two or so
  layout chunks that it straddles. Either way a stored chunk has one writer.

The rule is part of the manifest's format number: changing it means a new number.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Iterator, Mapping
from functools import lru_cache

import numpy as np

from daskvars.shapes import Chunks

Index = tuple[int, ...]
Region = tuple[slice, ...]
Blocks = Mapping[Index, np.ndarray]
"""A value in pieces: chunk index -> array, for every chunk of a layout."""

FINEST_CUT = 2
"""Cut a layout into at most this many times as many stored chunks, to spare its writers the
exchange of edges."""


def layout_shape(chunks: Chunks) -> tuple[int, ...]:
    """Give the shape of the array that a layout cuts up."""
    return tuple(sum(sizes) for sizes in chunks)


@lru_cache(maxsize=4096)
def boundaries(chunks: Chunks) -> tuple[tuple[int, ...], ...]:
    """Give per axis where chunks begin, and where the last one ends."""
    return tuple((0, *itertools.accumulate(sizes)) for sizes in chunks)


@lru_cache(maxsize=4096)
def stored_chunk_shape(chunks: Chunks) -> tuple[int, ...]:
    """Give the chunk shape of the regular grid that stores a layout.

    >>> stored_chunk_shape(((4, 4, 2), (3, 5, 2), (6, 3, 6), ()))
    (4, 5, 3, 1)
    """
    return tuple(stored_size(sizes) for sizes in chunks)


def stored_size(sizes: tuple[int, ...]) -> int:
    """Give the stored chunk size of one axis; 1 for an empty axis, as Zarr has no empty chunks."""
    filled = [size for size in sizes if size]
    if not filled:
        return 1
    inner = filled[:-1]
    if not inner or (len(set(inner)) == 1 and filled[-1] <= inner[0]):
        return filled[0]
    divisor = math.gcd(*itertools.accumulate(inner))
    return divisor if sum(sizes) <= divisor * len(filled) * FINEST_CUT else max(filled)


def num_stored_chunks(chunks: Chunks) -> int:
    """Count the chunks of the stored layout without listing them."""
    sizes = zip(layout_shape(chunks), stored_chunk_shape(chunks), strict=True)
    return math.prod(-(-total // size) for total, size in sizes)


@lru_cache(maxsize=4096)
def stored_chunks(chunks: Chunks) -> Chunks:
    """Give the regular layout in which Zarr stores a layout.

    >>> stored_chunks(((4, 3, 3), (0,)))
    ((4, 4, 2), ())
    """
    return tuple(
        (size,) * (total // size) + ((total % size,) if total % size else ())
        for total, size in zip(layout_shape(chunks), stored_chunk_shape(chunks), strict=True)
    )


def overlaps(chunks: Chunks, region: Region) -> Iterator[tuple[Index, Region, Region]]:
    """Find the chunks that a region touches.

    Args:
        chunks: the layout to look in.
        region: one slice with step 1 and bounds inside the array per axis.

    Returns:
        Per chunk its index, the part of the chunk that lies in the region, and where in the
        region that part goes.

    >>> for piece in overlaps(((4, 4, 2),), (slice(3, 5),)):
    ...     print(*piece)
    (0,) (slice(3, 4, None),) (slice(0, 1, None),)
    (1,) (slice(0, 1, None),) (slice(1, 2, None),)
    """
    axes = [
        list(axis_overlaps(bounds, part))
        for bounds, part in zip(boundaries(chunks), region, strict=True)
    ]
    for parts in itertools.product(*axes):
        yield tuple(zip(*parts, strict=True)) if parts else ((), (), ())


def axis_overlaps(bounds: tuple[int, ...], part: slice) -> Iterator[tuple[int, slice, slice]]:
    """Find the chunks of one axis that a slice touches."""
    first = max(bisect.bisect_right(bounds, part.start) - 1, 0)
    for i in range(first, len(bounds) - 1):
        low, high = max(bounds[i], part.start), min(bounds[i + 1], part.stop)
        if bounds[i] >= part.stop:
            return
        if low < high:
            yield (
                i,
                slice(low - bounds[i], high - bounds[i]),
                slice(low - part.start, high - part.start),
            )


def covers(region: Region, shape: tuple[int, ...]) -> bool:
    """Tell whether a region is all of an array of a shape."""
    return all(
        part.start == 0 and part.stop == size for part, size in zip(region, shape, strict=True)
    )


def flat_index(chunks: Chunks, index: Index) -> int:
    """Give the position of a chunk in C order."""
    position = 0
    for sizes, i in zip(chunks, index, strict=True):
        position = position * len(sizes) + i
    return position


def plain_region(region: Region, shape: tuple[int, ...]) -> Region:
    """Fill in the bounds of a region's slices, as NumPy reads them.

    Raises:
        ValueError: another number of slices than axes, or a step that is not 1.

    >>> plain_region((slice(None), slice(-2, 99)), (4, 5))
    (slice(0, 4, None), slice(3, 5, None))
    """
    if len(region) != len(shape) or any(part.step not in (None, 1) for part in region):
        raise ValueError(
            f"region {region} is not one slice with step 1 for each of {len(shape)} axes"
        )
    bounds = (part.indices(size)[:2] for part, size in zip(region, shape, strict=True))
    return tuple(slice(start, max(start, stop)) for start, stop in bounds)
