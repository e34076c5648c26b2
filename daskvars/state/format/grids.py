"""Arithmetic of chunk grids: layouts, the regular grid that Zarr stores, overlaps.

A *layout* is Dask's ``chunks``: per axis the sizes of its chunks. Zarr stores regular grids only
(all chunks of an axis equal, the last one smaller). A regular layout is its own `Grid`; for another
one, the chunk size of an axis is

- the greatest common divisor of its inner boundaries, if that makes at most twice as many chunks:
  each layout chunk is then cut into whole stored chunks, and its owner writes them alone;
- otherwise its largest chunk: the writer of a stored chunk gathers it from the two or so layout
  chunks that it straddles. Either way a stored chunk has one writer.

The rule is part of the manifest's format number: changing it means a new number.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache, wraps
from typing import Any, TypeVar

from daskvars.shapes import Chunks

Result = TypeVar("Result")
Index = tuple[int, ...]
Selection = tuple[slice, ...]
Blocks = Mapping[Index, Any]
"""A value in pieces: chunk index -> array, or what stands for one, for each chunk of a layout."""

Overlap = tuple[Index, Selection, Selection]
"""A chunk that a selection touches: its index, which part of it lies in the selection, and
where in the selection that part goes."""

FINEST_CUT = 2
"""Cut a layout into at most this many times as many stored chunks, to spare its writers the
exchange of edges."""


MAX_REMEMBERED = 64
"""A layout of more chunks is not remembered, nor what it comes to."""


def remembered(function: Callable[..., Result]) -> Callable[..., Result]:
    """Remember what a pure function gives for a layout, its last argument, if it has few chunks.

    A model has many variables of few layouts.
    """
    kept = lru_cache(maxsize=1024)(function)

    @wraps(function)
    def call(*arguments: Any) -> Result:
        is_small = sum(map(len, arguments[-1])) <= MAX_REMEMBERED
        return (kept if is_small else function)(*arguments)

    return call


@dataclass(frozen=True)
class Grid:
    """A regular chunk grid, as Zarr has them.

    Attributes:
        shape: size of each axis of the array.
        chunk_shape: size of each axis of a chunk, at least 1; chunks at the edge hold less.

    >>> grid = Grid.of(((4, 3, 3), (2,)))
    >>> grid.chunk_shape, grid.counts, grid.selection((2, 0))
    ((4, 2), (3, 1), (slice(8, 10, None), slice(0, 2, None)))
    """

    shape: tuple[int, ...]
    chunk_shape: tuple[int, ...]

    @staticmethod
    @remembered
    def of(chunks: Chunks) -> Grid:
        """Give the grid that stores a layout."""
        return Grid(layout_shape(chunks), tuple(map(stored_size, chunks)))

    @cached_property
    def counts(self) -> tuple[int, ...]:
        """Chunks along each axis; none along an empty one."""
        return tuple([-(-n // size) for n, size in zip(self.shape, self.chunk_shape, strict=True)])

    @cached_property
    def num_chunks(self) -> int:
        """Chunks in all."""
        return math.prod(self.counts)

    @cached_property
    def chunks(self) -> Chunks:
        """The grid as a layout."""
        return tuple(
            (size,) * (n // size) + ((n % size,) if n % size else ())
            for n, size in zip(self.shape, self.chunk_shape, strict=True)
        )

    def __iter__(self) -> Iterator[Index]:
        """Walk the chunk indices in C order."""
        return itertools.product(*map(range, self.counts))

    def __contains__(self, index: Index) -> bool:
        counts = self.counts
        return len(index) == len(counts) and all(
            0 <= i < n for i, n in zip(index, counts, strict=True)
        )

    def position(self, index: Index) -> int:
        """Give the position of a chunk in C order."""
        position = 0
        for count, i in zip(self.counts, index, strict=True):
            position = position * count + i
        return position

    def selection(self, index: Index) -> Selection:
        """Give the selection of the array that a chunk holds."""
        axes = zip(self.shape, self.chunk_shape, index, strict=True)
        return tuple([slice(i * size, min(i * size + size, n)) for n, size, i in axes])

    def overlaps(self, selection: Selection) -> Iterator[Overlap]:
        """Find the chunks that a selection of the array touches."""
        touched = [
            range(part.start // size, -(-part.stop // size)) if part.start < part.stop else ()
            for part, size in zip(selection, self.chunk_shape, strict=True)
        ]
        for index in itertools.product(*touched):
            yield overlap(index, self.selection(index), selection)


class Layout:
    """Any layout, prepared for finding overlaps.

    >>> for piece in Layout(((4, 4, 2),)).overlaps((slice(3, 5),)):
    ...     print(*piece)
    (0,) (slice(3, 4, None),) (slice(0, 1, None),)
    (1,) (slice(0, 1, None),) (slice(1, 2, None),)
    """

    def __init__(self, chunks: Chunks) -> None:
        self.chunks = chunks
        self.bounds = [[0, *itertools.accumulate(sizes)] for sizes in chunks]

    def selection(self, index: Index) -> Selection:
        """Give the selection of the array that a chunk holds."""
        return tuple(slice(b[i], b[i + 1]) for b, i in zip(self.bounds, index, strict=True))

    def overlaps(self, selection: Selection) -> Iterator[Overlap]:
        """Find the chunks that a selection of the array touches; none for an empty selection."""
        if any(part.start >= part.stop for part in selection):
            return
        touched = [
            range(bisect.bisect_right(b, part.start) - 1, bisect.bisect_left(b, part.stop))
            for b, part in zip(self.bounds, selection, strict=True)
        ]
        for index in itertools.product(*touched):
            chunk = self.selection(index)
            if all(part.start < part.stop for part in chunk):
                yield overlap(index, chunk, selection)


def overlap(index: Index, chunk: Selection, selection: Selection) -> Overlap:
    """Give what a chunk and a selection of one array have in common, seen from each."""
    source, target = [], []
    for held, asked in zip(chunk, selection, strict=True):
        low, high = max(held.start, asked.start), min(held.stop, asked.stop)
        source.append(slice(low - held.start, high - held.start))
        target.append(slice(low - asked.start, high - asked.start))
    return index, tuple(source), tuple(target)


def stored_size(sizes: tuple[int, ...]) -> int:
    """Give the stored chunk size of one axis; 1 for an empty axis, as Zarr has no empty chunks."""
    if len(sizes) == 1:
        return sizes[0] or 1
    filled = [size for size in sizes if size]
    if not filled:
        return 1
    inner = filled[:-1]
    if not inner or (len(set(inner)) == 1 and filled[-1] <= inner[0]):
        return filled[0]
    divisor = math.gcd(*itertools.accumulate(inner))
    return divisor if sum(sizes) <= divisor * len(filled) * FINEST_CUT else max(filled)


def stored_chunks(chunks: Chunks) -> Chunks:
    """Give the layout in which Zarr stores a layout.

    >>> stored_chunks(((4, 3, 3), (0,), (6, 3, 6)))
    ((4, 4, 2), (), (3, 3, 3, 3, 3))
    """
    return Grid.of(chunks).chunks


def layout_shape(chunks: Chunks) -> tuple[int, ...]:
    """Give the shape of the array that a layout cuts up."""
    return tuple(map(sum, chunks))


def selection_shape(selection: Selection) -> tuple[int, ...]:
    """Give the shape of a selection whose bounds are filled in."""
    return tuple([part.stop - part.start for part in selection])


def normalized_selection(selection: Selection, shape: tuple[int, ...]) -> Selection:
    """Fill in the bounds of a selection's slices, as NumPy reads them.

    Raises:
        ValueError: another number of slices than axes, or a step that is not 1.

    >>> normalized_selection((slice(None), slice(-2, 99)), (4, 5))
    (slice(0, 4, None), slice(3, 5, None))
    """
    if len(selection) != len(shape) or any(part.step not in (None, 1) for part in selection):
        raise ValueError(f"{selection} is not one slice with step 1 for each of {len(shape)} axes")
    bounds = (part.indices(size)[:2] for part, size in zip(selection, shape, strict=True))
    return tuple(slice(start, max(start, stop)) for start, stop in bounds)
