"""How an array of known shape is cut into blocks: pure functions.

`Chunks` are Dask's: for each axis the sizes of its blocks, so a scalar has the empty tuple and one
block, of index ().
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from dask.array.core import normalize_chunks as dask_chunks

from daskvars.dtypes import DType
from daskvars.errors import LayoutError

Chunks = tuple[tuple[int, ...], ...]
_AxisChunks: TypeAlias = int | str | Sequence[int] | None
# What a `chunks=` argument can be, in Dask's notation; None lets the size decide.
ChunksLike: TypeAlias = _AxisChunks | Sequence[_AxisChunks] | Mapping[int, _AxisChunks]


def normalize_chunks(
    chunks: Any, shape: tuple[int, ...], dtype: DType | np.dtype | int, limit_bytes: int
) -> Chunks:
    """The block sizes that a `chunks=` argument means.

    Args:
        chunks: Dask's notation: "auto", "64MiB", block size, sizes per axis, a dict, -1.
        shape: the array's shape, fully known.
        dtype: element type, or bytes per element.
        limit_bytes: the most bytes an automatic block has.

    Returns:
        The sizes of the blocks of every axis.

    Raises:
        LayoutError: the notation does not fit the shape, or the shape is not known.

    Source: `dask.array.core.normalize_chunks`.

    >>> normalize_chunks((2, -1), (5, 3), 4, limit_bytes=1024)
    ((2, 2, 1), (3,))
    """
    if shape is None or None in shape:
        raise LayoutError(f"Chunks {chunks!r} need a fully known shape, found {shape}.")
    if not shape:
        return ()
    chunks = _with_integers(chunks)
    for size in _sizes_in(chunks):
        if size < -1 or (size == 0 and 0 not in shape):
            raise LayoutError(
                f"Chunks {chunks!r} do not fit shape {shape}: a block has 1 row or more, found "
                f"{size}; -1 takes the whole axis."
            )
    if isinstance(dtype, DType):
        dtype = dtype.np
    itemsize = dtype if isinstance(dtype, int) else dtype.itemsize
    try:
        # Dask sizes blocks by the dtype's bytes only; it refuses objects, which are references.
        found = dask_chunks(chunks, shape, limit=limit_bytes, dtype=np.dtype(f"V{itemsize}"))
    except (ValueError, TypeError) as error:
        raise LayoutError(f"Chunks {chunks!r} do not fit shape {shape}: {error}") from error
    sizes = tuple(tuple(int(size) for size in axis) for axis in found)
    if tuple(map(sum, sizes)) != tuple(shape):
        raise LayoutError(f"Chunks {chunks!r} do not add up to shape {shape}.")
    return sizes


def _with_integers(chunks: Any) -> Any:
    """Return chunks with what stands for an integer, a dimension of a static shape say, as one."""
    if isinstance(chunks, dict):
        return {axis: _with_integers(size) for axis, size in chunks.items()}
    if isinstance(chunks, tuple | list):
        return tuple(map(_with_integers, chunks))
    return operator.index(chunks) if hasattr(chunks, "__index__") else chunks


def _sizes_in(chunks: Any) -> Iterator[int]:
    """Give the numbers of a `chunks=` argument."""
    if isinstance(chunks, dict):
        chunks = tuple(chunks.values())
    if isinstance(chunks, tuple | list):
        for part in chunks:
            yield from _sizes_in(part)
    elif isinstance(chunks, int | np.integer):
        yield int(chunks)


def numblocks(chunks: Chunks) -> tuple[int, ...]:
    """The number of blocks along each axis.

    >>> numblocks(((2, 2, 1), (3,)))
    (3, 1)
    """
    return tuple(map(len, chunks))


def block_indices(chunks: Chunks) -> Iterator[tuple[int, ...]]:
    """The index of every block, last axis fastest.

    >>> list(block_indices(((2, 2), (3, 1))))
    [(0, 0), (0, 1), (1, 0), (1, 1)]
    """
    return itertools.product(*(range(len(axis)) for axis in chunks))


def block_shape(chunks: Chunks, index: Sequence[int]) -> tuple[int, ...]:
    """The shape of one block.

    >>> block_shape(((2, 1), (3,)), (1, 0))
    (1, 3)
    """
    return tuple(axis[i] for axis, i in zip(chunks, index, strict=True))


def block_offset(chunks: Chunks, index: Sequence[int]) -> tuple[int, ...]:
    """The position of one block's first element in the array.

    >>> block_offset(((2, 1), (3,)), (1, 0))
    (2, 0)
    """
    return tuple(sum(axis[:i]) for axis, i in zip(chunks, index, strict=True))


def block_slices(chunks: Chunks, index: Sequence[int]) -> tuple[slice, ...]:
    """The part of the array that one block is.

    >>> block_slices(((2, 1), (3,)), (1, 0))
    (slice(2, 3, None), slice(0, 3, None))
    """
    starts = block_offset(chunks, index)
    sizes = block_shape(chunks, index)
    return tuple(slice(start, start + n) for start, n in zip(starts, sizes, strict=True))


def whole(shape: Sequence[int]) -> Chunks:
    """The chunks of one block.

    >>> whole((5, 3))
    ((5,), (3,))
    """
    return tuple((n,) for n in shape)


def split_evenly(n: int, parts: int) -> tuple[int, ...]:
    """Sizes that differ by at most one, larger first; fewer parts rather than empty ones.

    >>> split_evenly(7, 3), split_evenly(2, 5), split_evenly(0, 4)
    ((3, 2, 2), (1, 1), (0,))
    """
    if n < 0 or parts < 1:
        raise ValueError(f"split_evenly() needs n >= 0 and parts >= 1, found {n} and {parts}")
    parts = max(1, min(n, parts))
    small, extra = divmod(n, parts)
    return (small + 1,) * extra + (small,) * (parts - extra)
