"""Array functions that NumPy lacks, or that TensorFlow defines differently."""

from __future__ import annotations

from typing import Any

import numpy as np

from daskvars.backend import Array, ArrayModule
from daskvars.dtypes import DTypeLike, as_dtype
from daskvars.errors import InvalidArgumentError


def one_hot(
    xp: ArrayModule,
    indices: Array,
    *,
    depth: int,
    on_value: Any = 1,
    off_value: Any = 0,
    axis: int = -1,
    dtype: DTypeLike = "float32",
) -> Array:
    """Return ``on_value`` where a new dimension's position is the index, ``off_value`` elsewhere.

    Args:
        indices: int, any shape; one outside [0, depth) gives ``off_value`` throughout.
        depth: extent of the new dimension.
        on_value, off_value: scalars.
        axis: where the new dimension goes.
        dtype: dtype of the result.

    Returns:
        ``indices.shape`` with ``depth`` inserted at ``axis``.

    Example:
        >>> import numpy as np
        >>> one_hot(np, np.array([2, -1]), depth=3, dtype="int32")
        array([[0, 0, 1],
               [0, 0, 0]], dtype=int32)
    """
    flat = indices.reshape(-1).astype(np.int64, copy=False)
    out = xp.full(flat.size * depth, off_value, as_dtype(dtype).np)
    places = xp.arange(flat.size) * depth + flat
    out[places[(flat >= 0) & (flat < depth)]] = on_value
    out = out.reshape(*indices.shape, depth)
    if axis in (-1, indices.ndim):
        return out
    return xp.ascontiguousarray(xp.moveaxis(out, -1, axis))


def top_k(xp: ArrayModule, x: Array, *, k: int, sorted: bool = True) -> tuple[Any, Any]:
    """Return the ``k`` largest entries of the last dimension, ties to the lower index.

    Args:
        x: [..., n] number.
        k: how many, at most n.
        sorted: accepted for TensorFlow's sake; the result is sorted either way.

    Returns:
        (values [..., k] descending, indices [..., k] int32).

    Example:
        >>> import numpy as np
        >>> top_k(np, np.array([1.0, 3.0, 3.0, 2.0]), k=2)
        (array([3., 3.]), array([1, 2], dtype=int32))
    """
    if k < 0:
        raise InvalidArgumentError(None, None, f"Need k >= 0, got {k}")
    if k > x.shape[-1]:
        raise InvalidArgumentError(
            None, None, f"input must have at least k columns. Had {x.shape[-1]}, needed {k}"
        )
    indices = descending_indices(xp, x, k)
    return xp.take_along_axis(x, indices, axis=-1), indices.astype(np.int32)


def descending_indices(xp: ArrayModule, x: Array, k: int) -> Array:
    """Return the places of the ``k`` largest entries of the last dimension, int64."""
    integer = x.dtype.kind in "iub"
    if x.dtype.itemsize > 4:
        keys = ~x if integer else -x
        return xp.argsort(keys, axis=-1, kind="stable")[..., :k]
    # (value descending, place) packed into one integer: no ties, and a partition suffices.
    keys = x.astype(np.int64) if integer else ordered_bits(x)
    keys = (~keys << 32) | xp.arange(x.shape[-1])
    if 0 < k < x.shape[-1]:
        keys = xp.partition(keys, k - 1, axis=-1)
    keys = xp.sort(keys[..., :k], axis=-1)
    return keys & 0xFFFFFFFF


def ordered_bits(x: Array) -> Array:
    """Return int64 numbers in the order of floats of at most 32 bits; both zeros are one."""
    bits = (x.astype(np.float32) + np.float32(0)).view(np.int32)
    return (bits ^ ((bits >> 31) & np.int32(0x7FFFFFFF))).astype(np.int64)


def nth_element(xp: ArrayModule, x: Array, *, n: int, reverse: bool = False) -> Array:
    """Return the entry of the last dimension that ``n`` others are before, in order.

    Args:
        x: [..., size] number.
        n: from 0 to below size.
        reverse: whether in descending order.

    Returns:
        [...] of the dtype of `x`.

    Example:
        >>> import numpy as np
        >>> nth_element(np, np.array([3.0, 1.0, 2.0]), n=1)
        np.float64(2.0)
    """
    if n < 0:
        raise InvalidArgumentError(None, None, f"Need n >= 0, got {n}")
    if not x.ndim:
        raise InvalidArgumentError(None, None, "Input must be >= 1-D, got a scalar")
    if n >= x.shape[-1]:
        raise InvalidArgumentError(
            None, None, f"Input must have at least n+1 columns. Had {x.shape[-1]}, needed {n + 1}"
        )
    return xp.sort(x, axis=-1)[..., -1 - n if reverse else n]


def in_top_k(xp: ArrayModule, predictions: Array, targets: Array, *, k: int) -> Array:
    """Tell whether each row's target is among its ``k`` largest predictions.

    Args:
        predictions: [n, classes] float.
        targets: [n] int, the class of each row.
        k: how many are looked at; all classes that tie with the last of them count.

    Returns:
        [n] bool; False where the target is no class or its prediction is not finite.
    """
    rows, classes = predictions.shape
    valid = (targets >= 0) & (targets < classes)
    if not classes:
        return valid
    chosen = predictions[xp.arange(rows), xp.where(valid, targets, 0)]
    above = (predictions > chosen[:, None]).sum(axis=1)
    finite = xp.isfinite(predictions).all(axis=1)
    return valid & finite & (above < k)


def cumsum(
    xp: ArrayModule, x: Array, *, axis: int, exclusive: bool = False, reverse: bool = False
) -> Array:
    """Return running sums along ``axis``.

    Args:
        x: [...] number.
        axis: the dimension that is run along.
        exclusive: leave each entry out of its own sum.
        reverse: run from the end.

    Returns:
        Like ``x``.

    Example:
        >>> import numpy as np
        >>> cumsum(np, np.array([1, 2, 4]), axis=0, exclusive=True, reverse=True)
        array([6, 4, 0])
    """
    return cumulate(xp.cumsum, 0, xp, x, axis, exclusive, reverse)


def cumprod(
    xp: ArrayModule, x: Array, *, axis: int, exclusive: bool = False, reverse: bool = False
) -> Array:
    """Return running products along ``axis``; arguments as for ``cumsum``."""
    return cumulate(xp.cumprod, 1, xp, x, axis, exclusive, reverse)


def cumulate(
    function: Any,
    neutral: Any,
    xp: ArrayModule,
    x: Array,
    axis: int,
    exclusive: bool,
    reverse: bool,
) -> Array:
    """Return ``function``'s running results along ``axis``."""
    out = xp.empty_like(x)
    ends = (slice(None), slice(None, None, -1))[reverse]
    along = (slice(None),) * (axis % x.ndim)
    source, target = x[(*along, ends)], out[(*along, ends)]
    if exclusive:
        target[(*along, slice(0, 1))] = neutral
        source, target = source[(*along, slice(0, -1))], target[(*along, slice(1, None))]
    if source.size:
        target[...] = function(source, axis=axis, dtype=x.dtype)
    return out


def reverse_sequence(
    xp: ArrayModule, x: Array, seq_lengths: Array, *, seq_axis: int, batch_axis: int = 0
) -> Array:
    """Return ``x`` with the first ``seq_lengths[b]`` entries of each sequence b turned around.

    Args:
        x: [...] any dtype.
        seq_lengths: [batch] int, at most the extent along ``seq_axis``.
        seq_axis: the dimension that is turned around.
        batch_axis: the dimension that ``seq_lengths`` counts along.

    Returns:
        Like ``x``.
    """
    place = xp.arange(x.shape[seq_axis]).reshape(along_axis(x.ndim, seq_axis))
    lengths = seq_lengths.astype(np.int64).reshape(along_axis(x.ndim, batch_axis))
    source = xp.where(place < lengths, lengths - 1 - place, place)
    shape = list(x.shape)
    shape[seq_axis] = source.shape[seq_axis]
    return xp.take_along_axis(x, xp.broadcast_to(source, shape), axis=seq_axis)


def along_axis(rank: int, axis: int) -> tuple:
    """Return the shape that lays a vector along one dimension of ``rank``."""
    return tuple(-1 if dimension == axis % rank else 1 for dimension in range(rank))


def unique(xp: ArrayModule, x: Array, *, index_dtype: DTypeLike = "int32") -> tuple[Any, Any, Any]:
    """Return the distinct values of a vector in order of first occurrence.

    Args:
        x: [n] any ordered dtype.
        index_dtype: integer dtype of the places and counts.

    Returns:
        (values [m], place of each entry's value [n], count of each value [m]).

    Example:
        >>> import numpy as np
        >>> unique(np, np.array([7, 3, 7]))[1]
        array([0, 1, 0], dtype=int32)
    """
    values, first, place, count = xp.unique(
        x, return_index=True, return_inverse=True, return_counts=True
    )
    order = xp.argsort(first)
    rank = xp.empty_like(order)
    rank[order] = xp.arange(len(order))
    integer = as_dtype(index_dtype).np
    return (
        values[order],
        rank[place.reshape(-1)].astype(integer),
        count[order].astype(integer),
    )
