"""Kernels that turn, shift and regroup elements."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from daskvars.backend import Array, ArrayModule
from daskvars.errors import invalid
from daskvars.kernels.array.slicing import pad


def reverse(xp: ArrayModule, x: Array, *, axis: Sequence[int]) -> Array:
    """Give `x` with the order along each of `axis` reversed."""
    problem = axes_problem(axis, x.ndim)
    if problem:
        raise invalid(problem)
    return xp.flip(x, axis)


def axes_problem(axes: Sequence[int], rank: int) -> str | None:
    """Return why axes are not dimensions of a tensor of a rank, each once; None if they are."""
    seen = set()
    for axis in axes:
        if not -rank <= axis < rank:
            return f"axis {axis} is out of valid range [{-rank}, {rank})"
        if axis % rank in seen:
            return f"axis {axis % rank} specified more than once"
        seen.add(axis % rank)
    return None


def roll(
    xp: ArrayModule,
    x: Array,
    *,
    shift: int | Sequence[int],
    axis: int | Sequence[int],
    back: bool = False,
) -> Array:
    """Give `x` shifted along `axis`; what leaves at one end comes in at the other."""
    if not x.ndim:
        raise invalid("input must be 1-D or higher")
    for what, value in (("shift", shift), ("axis", axis)):
        if np.ndim(value) > 1:
            raise invalid(f"{what} must be a scalar or a 1-D vector. Found: {value}")
    shifts = (shift,) if isinstance(shift, int) else tuple(shift)
    places = (axis,) if isinstance(axis, int) else tuple(axis)
    if len(shifts) != len(places):
        raise invalid(f"shift and axis must have the same size, got {shifts} and {places}")
    for place in places:
        if not -x.ndim <= place < x.ndim:
            raise invalid(f"axis {place} is out of range for {x.ndim} dimensions")
    return xp.roll(x, tuple(-s for s in shifts) if back else shifts, places)


def reverse_sequence(
    xp: ArrayModule, x: Array, lengths: Array, *, seq_axis: int, batch_axis: int
) -> Array:
    """Give `x` with the first ``lengths[i]`` slices of row i along `seq_axis` reversed, if it has
    so many."""
    if seq_axis % x.ndim == batch_axis % x.ndim:
        raise invalid(f"batch_dim == seq_dim == {seq_axis}")
    size = x.shape[seq_axis]
    if lengths.size and int(lengths.max()) > size:
        raise invalid(f"seq_lens({int(lengths.argmax())}) > input.dims({seq_axis})")
    if lengths.size and int(lengths.min()) < 0:
        raise invalid(f"seq_lens({int(lengths.argmin())}) < 0")
    return reversed_sequences(xp, x, lengths, seq_axis=seq_axis, batch_axis=batch_axis)


def space_to_depth(xp: ArrayModule, x: Array, *, block_size: int, data_format: str) -> Array:
    """Give each block of `block_size`² pixels as the channels of one pixel."""
    b = block_size
    n, height, width, depth = _sizes(x, data_format)
    if height % b or width % b:
        raise invalid(
            f"Image width {width} and height {height} should be divisible by block_size: {b}"
        )
    if data_format == "NHWC":
        parts = x.reshape(n, height // b, b, width // b, b, depth)
        return parts.transpose(0, 1, 3, 2, 4, 5).reshape(n, height // b, width // b, b * b * depth)
    parts = x.reshape(n, depth, height // b, b, width // b, b)
    return parts.transpose(0, 3, 5, 1, 2, 4).reshape(n, b * b * depth, height // b, width // b)


def depth_to_space(xp: ArrayModule, x: Array, *, block_size: int, data_format: str) -> Array:
    """Give the channels of each pixel as a block of `block_size`² pixels."""
    b = block_size
    n, height, width, depth = _sizes(x, data_format)
    if depth % (b * b):
        raise invalid(f"Input depth dimension {depth} should be divisible by: {b * b}")
    depth //= b * b
    if data_format == "NHWC":
        parts = x.reshape(n, height, width, b, b, depth)
        return parts.transpose(0, 1, 3, 2, 4, 5).reshape(n, height * b, width * b, depth)
    parts = x.reshape(n, b, b, depth, height, width)
    return parts.transpose(0, 3, 4, 1, 5, 2).reshape(n, depth, height * b, width * b)


def _sizes(x: Array, data_format: str) -> tuple[int, ...]:
    if data_format == "NHWC":
        return x.shape
    n, depth, height, width = x.shape
    return n, height, width, depth


def check_blocks(block_shape: Sequence[int]) -> None:
    """Raise InvalidArgumentError unless all sizes of blocks are positive."""
    if any(size < 1 for size in block_shape):
        raise invalid(f"block_shape must be positive, got {list(block_shape)}")


def space_to_batch(
    xp: ArrayModule, x: Array, *, block_shape: Sequence[int], paddings: Sequence[Sequence[int]]
) -> Array:
    """Give each phase of the padded spatial dimensions as a batch of its own."""
    check_blocks(block_shape)
    rank = len(block_shape)
    rest = x.ndim - 1 - rank
    around = ((0, 0), *map(tuple, paddings), *((0, 0),) * rest)
    padded = pad(xp, x, paddings=around, constant_values=b"" if x.dtype.kind == "O" else 0)
    spatial = padded.shape[1 : 1 + rank]
    if any(n % b for n, b in zip(spatial, block_shape, strict=True)):
        raise invalid(
            f"padded sizes {list(spatial)} are not divisible by block_shape {list(block_shape)}"
        )
    split = [m for n, b in zip(spatial, block_shape, strict=True) for m in (n // b, b)]
    parts = padded.reshape(len(x), *split, *x.shape[1 + rank :])
    blocks = [2 + 2 * i for i in range(rank)]
    outer = [1 + 2 * i for i in range(rank)]
    turned = parts.transpose(*blocks, 0, *outer, *range(1 + 2 * rank, parts.ndim))
    count = math.prod(block_shape) * len(x)
    return xp.array(turned.reshape(count, *split[::2], *x.shape[1 + rank :]))


def batch_to_space(
    xp: ArrayModule, x: Array, *, block_shape: Sequence[int], crops: Sequence[Sequence[int]]
) -> Array:
    """Give the batches that `space_to_batch` made woven into each other, and cropped."""
    check_blocks(block_shape)
    rank, count = len(block_shape), math.prod(block_shape)
    if len(x) % count:
        raise invalid(
            f"Input batch dimension ({len(x)}) is not divisible by product of block sizes ({count})"
        )
    spatial, rest = x.shape[1 : 1 + rank], x.shape[1 + rank :]
    parts = x.reshape(*block_shape, len(x) // count, *spatial, *rest)
    woven = [axis for i in range(rank) for axis in (rank + 1 + i, i)]
    turned = parts.transpose(rank, *woven, *range(1 + 2 * rank, parts.ndim))
    sizes = [n * b for n, b in zip(spatial, block_shape, strict=True)]
    whole = turned.reshape(len(x) // count, *sizes, *rest)
    inner = (slice(a, n - b) for n, (a, b) in zip(sizes, crops, strict=True))
    return xp.array(whole[(slice(None), *inner)])


def reversed_sequences(
    xp: ArrayModule, x: Array, seq_lengths: Array, *, seq_axis: int, batch_axis: int = 0
) -> Array:
    """Return ``x`` with the first ``seq_lengths[b]`` entries of each sequence b turned around.

    Lengths are taken as they are; `reverse_sequence` checks them.

    Args:
        seq_lengths: [batch] int, at most the extent along ``seq_axis``.
        seq_axis: the dimension that is turned around.
        batch_axis: the dimension that ``seq_lengths`` counts along.
    """
    # What lies after both axes is moved as it is (m, [32, 30, 64]: 0.06 ms, 0.37 by the element).
    first, last = sorted((seq_axis % x.ndim, batch_axis % x.ndim))
    rank, turned = last + 1 - first, seq_axis % x.ndim - first
    key = [xp.arange(x.shape[first + i]).reshape(along_axis(rank, i)) for i in range(rank)]
    lengths = seq_lengths.astype(np.int64).reshape(along_axis(rank, batch_axis % x.ndim - first))
    key[turned] = xp.where(key[turned] < lengths, lengths - 1 - key[turned], key[turned])
    return xp.ascontiguousarray(x[(*(slice(None),) * first, *key)])


def along_axis(rank: int, axis: int) -> tuple:
    """Return the shape that lays a vector along one dimension of ``rank``."""
    return tuple(-1 if dimension == axis % rank else 1 for dimension in range(rank))
