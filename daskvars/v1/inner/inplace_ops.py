"""Rows that are updated, of TensorFlow's inner module ``inplace_ops``: as values of their own."""

from __future__ import annotations

from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.ops.array.reshaping import expand_dims
from daskvars.ops.gather_scatter import scatter

__all__ = ["alias_inplace_add", "alias_inplace_sub", "alias_inplace_update"]


def alias_inplace_update(x: TensorLike, i: TensorLike | None, v: TensorLike) -> Tensor:
    """Return `x` with rows that are replaced. `x` itself stays as it is.

    Args:
      x: [rows, ...] any dtype.
      i: which rows: an integer, a vector of them, or None for all.
      v: what they become: of a row's shape, of that of rows, or of the shape of `x`.

    Source: TensorFlow 1.15, ``tensorflow.python.ops.inplace_ops.alias_inplace_update``.

    >>> with tf.Session() as sess:
    ...     sess.run(alias_inplace_update(tf.constant([1, 2, 3]), 1, 7)).tolist()
    [1, 7, 3]
    """
    x = convert_to_tensor(x)
    if i is None:
        return convert_to_tensor(v, x.dtype)
    return scatter.tensor_scatter_update(x, *_rows(x, i, v))


def alias_inplace_add(x: TensorLike, i: TensorLike | None, v: TensorLike) -> Tensor:
    """Return `x` with `v` added to rows. See `alias_inplace_update`.

    Args:
      x: [rows, ...] any number.
      i: which rows: an integer, a vector of them, or None for all.
      v: what is added.
    """
    x = convert_to_tensor(x)
    if i is None:
        return x + v
    return scatter.tensor_scatter_add(x, *_rows(x, i, v))


def alias_inplace_sub(x: TensorLike, i: TensorLike | None, v: TensorLike) -> Tensor:
    """Return `x` with `v` subtracted from rows. See `alias_inplace_update`.

    Args:
      x: [rows, ...] any number.
      i: which rows: an integer, a vector of them, or None for all.
      v: what is subtracted.
    """
    return alias_inplace_add(x, i, -convert_to_tensor(v, convert_to_tensor(x).dtype))


def _rows(x: Tensor, i: TensorLike, v: TensorLike) -> tuple[Tensor, Tensor]:
    indices, rows = convert_to_tensor(i), convert_to_tensor(v, x.dtype)
    if indices.shape.rank == 0:
        indices, rows = expand_dims(indices, 0), expand_dims(rows, 0)
    return expand_dims(indices, -1), rows
