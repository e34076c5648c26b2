"""The largest entries of rows: which they are, whether a target is among them, gradients."""

from __future__ import annotations

import math
from typing import Any

import numpy
import numpy as np

from daskvars.backend import Array, ArrayModule
from daskvars.errors import InvalidArgumentError
from daskvars.kernels.math import ordered_keys
from daskvars.kernels.math.row_sums import as_matrix


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
    if not ordered_keys.has_keys(x):
        keys = ~x if x.dtype.kind in "iu" else -x
        return xp.argsort(keys, axis=-1, kind="stable")[..., :k]
    keys = ordered_keys.keys_of(xp, x, descending=True)
    if 0 < k < x.shape[-1]:
        keys = xp.partition(keys, k - 1, axis=-1)
    return xp.sort(keys[..., :k], axis=-1) & ordered_keys.PLACE


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
        >>> float(nth_element(np, np.array([3.0, 1.0, 2.0]), n=1))
        2.0
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


def top_k_grad(xp: ArrayModule, dy: Array, indices: Array, *, size: int) -> Array:
    """Zeros [..., size] with `dy` [..., k] at `indices`."""
    rows = math.prod(dy.shape[:-1])
    dx = xp.zeros((rows, size), dy.dtype)
    dx[xp.arange(rows)[:, None], as_matrix(indices)] = as_matrix(dy)
    return dx.reshape(*dy.shape[:-1], size)


def take_last(xp: ArrayModule, x: Array, indices: Array) -> Array:
    """Entries of the last dimension at `indices` [..., k]."""
    return xp.take_along_axis(x, indices.astype(numpy.int64), axis=-1)
