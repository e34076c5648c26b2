"""Elements picked and placed by index, beyond the rows that `segments` moves."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Unpack

import numpy

from daskvars.backend import Array, ArrayModule
from daskvars.errors import invalid
from daskvars.kernels.array.movement import zeros
from daskvars.kernels.array.rearranging import along_axis
from daskvars.kernels.gather_scatter import segments as segment
from daskvars.kernels.math import ordered_keys
from daskvars.kernels.math.precision import float_work

# From so many on `argsort` sorts keys (m, 4M float32: 443 ms by a stable sort, 33 by keys); of
# fewer, making them takes longer.
LEAST_ELEMENTS = 1 << 12

# -- gather along any dimension ----------------------------------------------------------------


def gather_axis(
    xp: ArrayModule, params: Array, indices: Array, *, axis: int, batch_dims: int = 0
) -> Array:
    """Give the slices of `params` along `axis` that `indices` name.

    The first `batch_dims` dimensions of both go together: each batch has its own indices.
    """
    axis = _axis_of(axis, params.ndim, batch_dims)
    if not batch_dims:
        return segment.gather_rows(xp, params, indices, axis=axis)
    batch, middle = params.shape[:batch_dims], params.shape[batch_dims:axis]
    rest = params.shape[axis + 1 :]
    segment.check_ids(xp, indices, size=params.shape[axis])
    front = xp.moveaxis(params, axis, batch_dims)
    rows = front.reshape(math.prod(batch) * params.shape[axis], *middle, *rest)
    taken = rows.take(_flat(xp, indices, batch_dims, params.shape[axis]), axis=0)
    # [*batch, *indices, *middle, *rest] -> [*batch, *middle, *indices, *rest]
    own = range(batch_dims, indices.ndim)
    between = range(indices.ndim, indices.ndim + len(middle))
    order = (*range(batch_dims), *between, *own, *range(indices.ndim + len(middle), taken.ndim))
    return xp.array(taken.transpose(order)) if middle else taken


def _axis_of(axis: int, rank: int, batch_dims: int) -> int:
    """Return an axis counted from the front."""
    if not -rank <= axis < rank or axis % rank < batch_dims:
        raise invalid(
            f"Expected axis in the range [{-rank}, {rank}), and not below batch_dims "
            f"= {batch_dims}, but got {axis}"
        )
    return axis % rank


def _flat(xp: ArrayModule, indices: Array, batch_dims: int, size: int) -> Array:
    """Return `indices` counted through all batches of `size` rows."""
    batch = indices.shape[:batch_dims]
    starts = xp.arange(math.prod(batch)) * size
    return indices + starts.reshape(*batch, *(1,) * (indices.ndim - batch_dims))


def gather_axis_grad(
    xp: ArrayModule,
    dy: Array,
    indices: Array,
    *,
    shape: Sequence[int],
    axis: int,
    batch_dims: int = 0,
) -> Array:
    """Give zeros of `shape` with the slices of `dy` added at `indices` along `axis`."""
    axis = _axis_of(axis, len(shape), batch_dims)
    batch, middle, rest = shape[:batch_dims], shape[batch_dims:axis], shape[axis + 1 :]
    size = shape[axis]
    segment.check_ids(xp, indices, size=size)
    own = range(axis, axis + indices.ndim - batch_dims)
    between = range(batch_dims, axis)
    order = (*range(batch_dims), *own, *between, *range(own.stop, dy.ndim))
    flat = indices if not batch_dims else _flat(xp, indices, batch_dims, size)
    sums = segment.segment_sum(xp, dy.transpose(order), flat, num_segments=math.prod(batch) * size)
    front = sums.reshape(*batch, size, *middle, *rest)
    return xp.array(xp.moveaxis(front, batch_dims, axis), order="C")


# -- gather and scatter by coordinates ---------------------------------------------------------


def gather_nd(xp: ArrayModule, params: Array, indices: Array, *, batch_dims: int = 0) -> Array:
    """Give the slices of `params` that the rows of `indices` name."""
    return segment.gather_nd(xp, params, with_batch(xp, indices, batch_dims))


def scatter_nd(
    xp: ArrayModule, indices: Array, updates: Array, *, shape: Sequence[int], batch_dims: int = 0
) -> Array:
    """Give zeros of `shape` with `updates` added where the rows of `indices` say.

    Of bools at one place the result is whether any holds; texts are joined, in order.
    """
    coordinates, shape = with_batch(xp, indices, batch_dims), tuple(shape)
    if updates.dtype.kind == "b":
        counts = segment.scatter_nd(xp, coordinates, updates.astype(numpy.int32), shape=shape)
        return counts != 0
    if updates.dtype.kind != "O":
        return segment.scatter_nd(xp, coordinates, updates, shape=shape)
    places = segment.flat_index(xp, coordinates, shape).reshape(-1)
    texts = zeros(numpy, shape, updates.dtype)
    depth = coordinates.shape[-1]
    rows = texts.reshape(math.prod(shape[:depth]), *shape[depth:])
    numpy.add.at(rows, places, updates.reshape(len(places), *rows.shape[1:]))
    return texts


def with_batch(xp: ArrayModule, indices: Array, batch_dims: int) -> Array:
    """Return `indices` with the number of the batch before them, for each batch dimension."""
    if not batch_dims:
        return indices
    lead = indices.shape[:-1]
    numbers = []
    for axis, n in enumerate(lead[:batch_dims]):
        line = xp.arange(n, dtype=indices.dtype).reshape(along_axis(len(lead), axis))
        numbers.append(xp.broadcast_to(line, lead)[..., None])
    return xp.concatenate([*numbers, indices], axis=-1)


# -- masks and parts ---------------------------------------------------------------------------


def boolean_mask(xp: ArrayModule, x: Array, mask: Array, *, axis: int = 0) -> Array:
    """Give the slices of `x`, whose dimensions from `axis` on are those of `mask`, that hold."""
    if x.shape[axis : axis + mask.ndim] != mask.shape:
        raise invalid(
            f"Shapes {list(x.shape[axis : axis + mask.ndim])} and {list(mask.shape)} are "
            "incompatible: a mask must have the sizes of the dimensions that it masks"
        )
    return x[(slice(None),) * axis + (mask,)]


def boolean_mask_grad(
    xp: ArrayModule, dy: Array, mask: Array, *, shape: Sequence[int], axis: int = 0
) -> Array:
    """Give zeros of `shape` with `dy` where `mask` holds."""
    out = xp.zeros(tuple(shape), dy.dtype)
    out[(slice(None),) * axis + (mask,)] = dy
    return out


def partition(
    xp: ArrayModule, data: Array, partitions: Array, *, num_partitions: int
) -> tuple[Any, ...]:
    """Give for each number below `num_partitions` the slices of `data` that have it."""
    segment.check_ids(xp, partitions, size=num_partitions, what="partitions")
    rows = data.reshape(partitions.size, *data.shape[partitions.ndim :])
    numbers = partitions.reshape(-1)
    return tuple([rows.take(xp.flatnonzero(numbers == i), axis=0) for i in range(num_partitions)])


def partition_grad(xp: ArrayModule, partitions: Array, *parts: Array) -> Array:
    """Give the slices of `parts` back where they came from: the adjoint of `partition`."""
    tail = parts[0].shape[1:]
    out = xp.zeros((partitions.size, *tail), parts[0].dtype)
    numbers = partitions.reshape(-1)
    for i, part in enumerate(parts):
        out[xp.flatnonzero(numbers == i)] = part
    return out.reshape(*partitions.shape, *tail)


def stitch(xp: ArrayModule, *values: Array) -> Array:
    """Give one array of the slices of the second half of `values`, at the places in the first.

    Where a place occurs twice the later one counts.
    """
    count = len(values) // 2
    places, data = values[:count], values[count:]
    tail = data[0].shape[places[0].ndim :]
    size = max((int(p.max()) + 1 for p in places if p.size), default=0)
    out = zeros(xp, (size, *tail), data[0].dtype)
    for at, slices in zip(places, data, strict=True):
        segment.check_ids(xp, at, size=size)
        out[at.reshape(-1)] = slices.reshape(at.size, *tail)
    return out


# -- sorted segments ---------------------------------------------------------------------------


# How each fold of sorted segments is computed; empty segments of extremes are zeros.
FOLDS: dict[str, Callable[..., Any]] = {
    "SegmentSum": segment.segment_sum,
    "SegmentProd": segment.segment_prod,
    "SegmentMax": partial(segment.segment_max, empty=0),
    "SegmentMin": partial(segment.segment_min, empty=0),
    "SegmentMean": segment.segment_mean,
}


def check_segment_ids(xp: ArrayModule, ids: Array, *, num_segments: int) -> Array:
    """Give the ids of segments [n], which must not decrease, and be in [0, num_segments).

    Raises:
        InvalidArgumentError: they do, or are not.
    """
    if not ids.size:
        return ids
    if num_segments <= 0:
        raise invalid("segment ids must be >= 0")
    if ids[-1] >= num_segments:
        raise invalid(
            f"segment ids must be < num_segments: the last one is {int(ids[-1])} of {num_segments}"
        )
    falls = xp.flatnonzero(ids[1:] < ids[:-1])
    outside = xp.flatnonzero((ids < 0) | (ids >= num_segments))
    # What comes first is told of, and of a segment first whether the next one is behind it.
    if len(outside) and (not len(falls) or outside[0] < falls[0]):
        raise invalid(
            f"Segment id {int(ids[outside[0]])} out of range [0, {num_segments}), possibly "
            "because 'segment_ids' input is not sorted."
        )
    if len(falls):
        raise invalid("segment ids are not increasing")
    return ids


def sorted_segments(xp: ArrayModule, data: Array, ids: Array, *, fold: str) -> Array:
    """Give the segments of `data`, whose ids must not decrease, each folded into one row."""
    count = int(ids[-1]) + 1 if ids.size else 0
    check_segment_ids(xp, ids, num_segments=count)
    return FOLDS[fold](xp, data, ids, num_segments=count)


def gather_or_zero(
    xp: ArrayModule, params: Array, ids: Array, **part: Unpack[segment.Part]
) -> Array:
    """Give the rows of `params` that `ids` name, zeros for negative ids."""
    negative = ids < 0
    if not negative.any():
        return segment.gather_rows(xp, params, ids, **part)
    named = xp.where(negative, ids.dtype.type(part.get("offset", 0)), ids)
    taken = xp.asarray(segment.gather_rows(xp, params, named, **part))
    taken[negative] = 0
    return taken


# -- order -------------------------------------------------------------------------------------


def argsort(xp: ArrayModule, x: Array, *, axis: int = -1, descending: bool = False) -> Array:
    """Give the places of the elements along `axis` in order; equal ones keep theirs."""
    x = x.astype(float_work(x.dtype), copy=False)  # no sort of bfloat16 knows where NaN belongs
    is_radix = x.dtype.kind in "iub" and x.dtype.itemsize <= 2  # what NumPy sorts them by
    if x.size >= LEAST_ELEMENTS and ordered_keys.has_keys(x) and not is_radix:
        keys = ordered_keys.keys_of(xp, xp.moveaxis(x, axis, -1), descending=descending)
        keys.sort(axis=-1)
        return xp.moveaxis((keys & ordered_keys.PLACE).astype(numpy.int32), -1, axis)
    if not descending:
        return xp.argsort(x, axis=axis, kind="stable").astype(numpy.int32)
    turned = xp.argsort(xp.flip(x, axis), axis=axis, kind="stable")
    return xp.flip(x.shape[axis] - 1 - turned, axis).astype(numpy.int32)
