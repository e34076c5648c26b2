"""The largest entries of rows: which they are, whether a target is among them, gradients."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from daskvars import idle_threads
from daskvars.backend import Array, ArrayModule
from daskvars.errors import invalid
from daskvars.kernels.gather_scatter.gather import argsort
from daskvars.kernels.math import ordered_keys
from daskvars.kernels.math.precision import float_work
from daskvars.kernels.math.row_sums import as_matrix

BLOCK_ELEMENTS = 1 << 18  # of the rows that a thread searches at once
FEWEST_GROUPS = 64  # of entries: their maxima are found side by side
# Entries in a group, and in all rows, below which to look at maxima first does not pay (m, 2 rows
# of 800: 75 us instead of 27; 8 of 4000: 100 and 137).
LEAST_GROUP, LEAST_ENTRIES = 4, 1 << 14


def top_k(xp: ArrayModule, x: Array, *, k: int, sorted: bool = True) -> tuple[Any, Any]:
    """Return the ``k`` largest entries of the last dimension, ties to the lower index.

    Args:
        x: [..., n] number.
        k: how many, at most n.
        sorted: accepted for TensorFlow's sake; the result is sorted either way.

    Returns:
        (values [..., k] descending, indices [..., k] int32).

    >>> top_k(np, np.array([1.0, 3.0, 3.0, 2.0]), k=2)
    (array([3., 3.]), array([1, 2], dtype=int32))
    """
    if k < 0:
        raise invalid(f"Need k >= 0, got {k}")
    if k > x.shape[-1]:
        raise invalid(f"input must have at least k columns. Had {x.shape[-1]}, needed {k}")
    indices = descending_indices(xp, x, k)
    return xp.take_along_axis(x, indices, axis=-1), indices.astype(np.int32)


def descending_indices(xp: ArrayModule, x: Array, k: int) -> Array:
    """Return the places of the ``k`` largest entries of the last dimension; NaN is the largest."""
    x = x.astype(float_work(x.dtype), copy=False)  # no sort of bfloat16 knows where NaN belongs
    if not ordered_keys.has_keys(x):
        return argsort(xp, x, descending=True)[..., :k]
    are_few = x.size < LEAST_ENTRIES or x.shape[-1] < LEAST_GROUP * _groups(k)
    if xp is not np or k <= 0 or are_few:
        return _least_places(xp, ordered_keys.keys_of(xp, x, descending=True), k)
    rows = as_matrix(x)
    places = np.empty((len(rows), k), np.int64)

    def search(some: slice) -> None:
        places[some] = _among_candidates(rows[some], k)

    step = max(1, BLOCK_ELEMENTS // x.shape[-1])
    idle_threads.for_each(search, idle_threads.slices(len(rows), step))
    return places.reshape(*x.shape[:-1], k)


def _least_places(xp: ArrayModule, keys: Array, k: int) -> Array:
    """Return the places of the ``k`` least keys of each row."""
    if 0 < k < keys.shape[-1]:
        keys = xp.partition(keys, k - 1, axis=-1)
    return xp.sort(keys[..., :k], axis=-1) & ordered_keys.PLACE


def _groups(k: int) -> int:
    """Return how many groups the entries of a row are looked through in."""
    return max(4 * k, FEWEST_GROUPS)


def _among_candidates(x: np.ndarray, k: int) -> Array:
    """Return the places of the ``k`` largest entries of each row of a matrix (NumPy).

    As many groups of entries have one that is not below the ``k``-th largest of the groups' maxima.
    So there are ``k`` such entries or, most often, few more, and only these are sorted.
    """
    rows, size = x.shape
    groups = _groups(k)
    grouped = x[:, : size // groups * groups].reshape(rows, -1, groups)
    bound = np.partition(grouped.max(axis=1), groups - k, axis=1)[:, groups - k, None]
    found = np.flatnonzero(~(x < bound))  # NaN is not below anything
    if len(found) > x.size // 8:
        return _least_places(np, ordered_keys.keys_of(np, x, descending=True), k)
    row, column = np.divmod(found, size)
    counts = np.bincount(row, minlength=rows)
    keys = np.full((rows, counts.max(initial=0)), np.iinfo(np.int64).max)
    inside = np.arange(len(found)) - np.repeat(np.cumsum(counts) - counts, counts)
    keys[row, inside] = ordered_keys.keys_of(
        np, x.reshape(-1)[found], places=column, descending=True
    )
    return _least_places(np, keys, k)


def nth_element(xp: ArrayModule, x: Array, *, n: int, reverse: bool = False) -> Array:
    """Return the entry of the last dimension that ``n`` others are before, in order.

    Args:
        x: [..., size] number.
        n: from 0 to below size.
        reverse: whether in descending order.

    Returns:
        [...] of the dtype of `x`.

    >>> float(nth_element(np, np.array([3.0, 1.0, 2.0]), n=1))
    2.0
    """
    if n < 0:
        raise invalid(f"Need n >= 0, got {n}")
    if not x.ndim:
        raise invalid("Input must be >= 1-D, got a scalar")
    if n >= x.shape[-1]:
        raise invalid(f"Input must have at least n+1 columns. Had {x.shape[-1]}, needed {n + 1}")
    n = x.shape[-1] - 1 - n if reverse else n
    found = xp.partition(x.astype(float_work(x.dtype), copy=False), n, axis=-1)[..., n]
    return found.astype(x.dtype, copy=False)


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


def top_k_grad(xp: ArrayModule, dy: Array, indices: Array, *, size: int) -> Array:
    """Zeros [..., size] with `dy` [..., k] at `indices`."""
    rows = math.prod(dy.shape[:-1])
    dx = xp.zeros((rows, size), dy.dtype)
    dx[xp.arange(rows)[:, None], as_matrix(indices)] = as_matrix(dy)
    return dx.reshape(*dy.shape[:-1], size)


def take_last(xp: ArrayModule, x: Array, indices: Array) -> Array:
    """Entries of the last dimension at `indices` [..., k]."""
    return xp.take_along_axis(x, indices.astype(np.int64), axis=-1)
