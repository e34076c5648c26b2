"""Softmax and cross entropy in one: the loss of each row and its gradient, from one exponential."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy

from daskvars import idle_threads
from daskvars.backend import Array, ArrayModule
from daskvars.errors import invalid
from daskvars.kernels.math.precision import float_work
from daskvars.kernels.math.row_sums import total
from daskvars.kernels.nn.normalization import BLOCK_ELEMENTS, row_blocks, shifted


def softmax_cross_entropy(xp: ArrayModule, logits: Array, labels: Array) -> tuple[Any, Any]:
    """Return the cross entropy of softmax(logits) with ``labels``, and its gradient.

    Args:
        logits: [n, classes] float.
        labels: [n, classes] float, each row a distribution.

    Returns:
        (loss [n], gradient [n, classes] with respect to ``logits``), dtype of ``logits``.

    >>> loss, _ = softmax_cross_entropy(np, np.zeros((1, 2)), np.array([[1.0, 0.0]]))
    >>> round(float(loss[0]), 4)
    0.6931
    """
    if logits.size <= BLOCK_ELEMENTS:
        loss, gradient = dense_rows(xp, logits, labels)
        return loss.astype(logits.dtype, copy=False), gradient.astype(logits.dtype, copy=False)
    loss = xp.empty(len(logits), logits.dtype)
    gradient = xp.empty(logits.shape, logits.dtype)
    for block in row_blocks(xp, logits):
        loss[block], gradient[block] = dense_rows(xp, logits[block], labels[block])
    return loss, gradient


def dense_rows(xp: ArrayModule, logits: Array, labels: Array) -> tuple[Any, Any]:
    """Return ``softmax_cross_entropy`` of some rows, in the dtype to compute in."""
    scores = shifted(xp, logits, -1)
    gradient = xp.exp(scores)
    sums = total(xp, gradient, -1)
    gradient /= sums
    gradient -= labels
    scores *= labels
    loss = xp.log(sums, out=sums)
    loss *= total(xp, labels.astype(loss.dtype, copy=False), -1)
    loss -= total(xp, scores, -1)
    return loss[:, 0], gradient


def sparse_softmax_cross_entropy(xp: ArrayModule, logits: Array, labels: Array) -> tuple[Any, Any]:
    """Return the cross entropy of softmax(logits) with one class per row, and its gradient.

    Args:
        logits: [n, classes] float.
        labels: [n] int, the class of each row.

    Returns:
        (loss [n], gradient [n, classes] with respect to ``logits``), dtype of ``logits``.

    Raises:
        InvalidArgumentError: a label is not in [0, classes). On a GPU nothing is raised, since to
            look would be to wait for the GPU: there the loss and the gradient of such a row are
            NaN, as TensorFlow's.
    """
    kind = logits.dtype
    if xp is numpy:
        check_labels(labels, logits.shape[1])
    else:
        is_class = (labels >= 0) & (labels < logits.shape[1])
        logits = xp.where(is_class[:, None], logits, kind.type(numpy.nan))
        labels = xp.where(is_class, labels, 0)
    if logits.size <= BLOCK_ELEMENTS:
        loss, gradient = _sparse_rows(xp, logits, labels)
        return loss.astype(kind, copy=False), gradient.astype(kind, copy=False)
    losses, gradients = xp.empty(len(logits), kind), xp.empty(logits.shape, kind)

    def of_block(rows: slice) -> None:
        losses[rows], gradients[rows] = _sparse_rows(xp, logits[rows], labels[rows])

    idle_threads.for_each(of_block, row_blocks(xp, logits))
    return losses, gradients


def _sparse_rows(xp: ArrayModule, logits: Array, labels: Array) -> tuple[Any, Any]:
    """Return ``sparse_softmax_cross_entropy`` of some rows, in the dtype to compute in."""
    # In C order whatever the logits are in (a transposed matrix, say): else the flattened gradient
    # is a copy, and what is subtracted there is lost.
    gradient = xp.ascontiguousarray(shifted(xp, logits, -1))
    # Places in the flattened matrix: one index is faster than two.
    places = row_starts(xp, *logits.shape) + labels
    chosen = gradient.reshape(-1).take(places)
    xp.exp(gradient, out=gradient)
    sums = total(xp, gradient, -1)
    gradient /= sums
    if xp is numpy:
        gradient.reshape(-1)[places] -= gradient.dtype.type(1)
    else:  # a GPU takes less time for all classes than to read and write some places
        gradient -= labels[:, None] == xp.arange(logits.shape[1])
    loss = xp.log(sums[:, 0])
    loss -= chosen
    return loss, gradient


@functools.lru_cache(maxsize=16)
def row_starts(xp: ArrayModule, rows: int, columns: int) -> Array:
    """Return the place of each row's first element in the flattened matrix; not to be changed.

    They are kept: making them costs more than using them.
    """
    starts = xp.arange(rows) * columns
    if xp is numpy:
        starts.flags.writeable = False
    return starts


_UNSIGNED = {kind: numpy.dtype(kind.upper()) for kind in "bhilq"}  # signed ones, by their letter


def check_labels(labels: Array, classes: int) -> None:
    """Raise unless every label names a class."""
    # As unsigned numbers negative labels are larger than any class: one pass sees both ends.
    unsigned = labels.view(_UNSIGNED.get(labels.dtype.char, labels.dtype))
    if not labels.size or unsigned.max() < classes:
        return
    row = int(numpy.flatnonzero(unsigned >= classes)[0])
    raise invalid(
        f"Received a label value of {int(labels[row])} which is outside the valid range of "
        f"[0, {classes}), in row {row}. Label values: {labels[:20].tolist()}"
    )


def dense_cross_entropy(xp: ArrayModule, logits: Array, labels: Array) -> tuple[Any, Any]:
    """Cross entropy along the last dimension and its gradient, whatever the leading ones."""
    rows = (math.prod(logits.shape[:-1]), logits.shape[-1])
    loss, gradient = softmax_cross_entropy(xp, logits.reshape(rows), labels.reshape(rows))
    return loss.reshape(logits.shape[:-1]), gradient.reshape(logits.shape)


def sparse_cross_entropy(xp: ArrayModule, logits: Array, labels: Array) -> tuple[Any, Any]:
    """Cross entropy with one class per row and its gradient, whatever the leading dimensions."""
    rows = (math.prod(logits.shape[:-1]), logits.shape[-1])
    loss, gradient = sparse_softmax_cross_entropy(xp, logits.reshape(rows), labels.reshape(-1))
    return loss.reshape(labels.shape), gradient.reshape(logits.shape)


def l2_loss(xp: ArrayModule, x: Array) -> Array:
    """Half the sum of squares."""
    flat = x.reshape(-1)
    flat = flat.astype(float_work(x.dtype), copy=False)
    return xp.multiply(xp.dot(flat, flat), flat.dtype.type(0.5)).astype(x.dtype)


def l2_loss_rows(xp: ArrayModule, x: Array, *, axis: tuple[int, ...]) -> Array:
    """Half the sum of squares along all axes but the first, of each row as if it were alone."""
    rows = x.reshape(len(x), -1).astype(float_work(x.dtype), copy=False)
    sums = xp.vecdot(rows, rows) if xp is numpy else xp.square(rows).sum(axis=1)
    return xp.multiply(sums, rows.dtype.type(0.5)).astype(x.dtype, copy=False)
