"""What is known of tensors without running anything, and shapes that two shapes broadcast to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy

from daskvars import shapes
from daskvars.graph.definitions.opdef import Spec, without_gradient
from daskvars.graph.definitions.static_values import constant_value, partial_value
from daskvars.graph.indexed_slices import IndexedSlices
from daskvars.graph.interpreter import apply
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.kernels.gather_scatter import searching as kernels
from daskvars.shapes import Dimension, ShapeLike, TensorShape


def is_tensor(x: TensorLike) -> bool:
    """Return whether a value is a tensor, a variable or `IndexedSlices`.

    Args:
      x: anything.

    Source: TensorFlow 1.15, ``tf.is_tensor``.

    >>> is_tensor(dv.constant(1.0)), is_tensor([1.0])
    (True, False)
    """
    return isinstance(x, Tensor | IndexedSlices) or hasattr(x, "_as_graph_element")


def get_static_value(tensor: TensorLike, partial: bool = False) -> Any:
    """Return the value of a tensor that the graph alone determines, None if it does not.

    Args:
      tensor: a tensor; small ones are looked into (shapes, axes, sizes and the like). An eager
        one has its value.
      partial: give what is known of a vector, with None for its other elements.

    Returns:
      A NumPy array or scalar, or None.

    Source: TensorFlow 1.15, ``tf.get_static_value``.

    >>> x = tf.placeholder(tf.float32, [None, 3])
    >>> tf.get_static_value(tf.shape(x)), tf.get_static_value(tf.shape(x), partial=True).tolist()
    (None, [None, 3])
    """
    if not isinstance(tensor, Tensor):
        return tensor if not is_tensor(tensor) else None
    if tensor.graph is None:
        return tensor.numpy()
    value = constant_value(tensor)
    if value is None and partial:
        known = partial_value(tensor)
        return None if known is None else numpy.array(known, dtype=object)
    return value


def dimension_value(dimension: Dimension | int | None) -> int | None:
    """Return the number that a `Dimension` is, None if it is not known.

    Args:
      dimension: a `Dimension`, an int or None.

    Source: TensorFlow 1.15, ``tf.dimension_value``.

    >>> dimension_value(TensorShape([2, None])[0])
    2
    """
    return dimension.value if isinstance(dimension, Dimension) else dimension


def dimension_at_index(shape: ShapeLike, index: int) -> Dimension:
    """Return a dimension of a shape that may be unknown, as a `Dimension`.

    Args:
      shape: a `TensorShape`, perhaps of unknown rank.
      index: which of its dimensions.

    Source: TensorFlow 1.15, ``tf.dimension_at_index``.

    >>> dimension_at_index(TensorShape([2, 3]), 1).value
    3
    """
    sizes = shapes.as_tuple(shape)
    return Dimension(None if sizes is None else sizes[index])


def broadcast_static_shape(shape_x: ShapeLike, shape_y: ShapeLike) -> TensorShape:
    """Return the shape that two shapes broadcast to, as far as it is known.

    Args:
      shape_x, shape_y: a `TensorShape`, or what makes one.

    Raises:
      ValueError: they do not broadcast.

    Source: TensorFlow 1.15, ``tf.broadcast_static_shape``.

    >>> broadcast_static_shape([5, 1], [3]).as_list()
    [5, 3]
    """
    return TensorShape(shapes.broadcast(shapes.as_tuple(shape_x), shapes.as_tuple(shape_y)))


def _joint_rank(inputs: Sequence[Spec]) -> Spec:
    if any(spec.shape is not None and len(spec.shape) != 1 for spec in inputs):
        raise ValueError("Shape must be rank 1, a vector of sizes")
    ranks = tuple([spec.shape[0] if spec.shape else None for spec in inputs])
    return Spec(inputs[0].dtype, (max(ranks) if shapes.is_known(ranks) else None,))


BROADCAST_ARGS = without_gradient(
    "BroadcastArgs", "s0:I, s1:I", _joint_rank, kernels.broadcast_sizes
)


def broadcast_dynamic_shape(shape_x: TensorLike, shape_y: TensorLike) -> Tensor:
    """Return the shape that two shapes, given as tensors, broadcast to.

    Args:
      shape_x: [rank] int32 or int64.
      shape_y: [rank] of the dtype of `shape_x`; the ranks may differ.

    Returns:
      [greater rank] of the dtype of `shape_x`.

    Raises:
      InvalidArgumentError: (when run) the shapes do not broadcast.

    Source: TensorFlow 1.15, ``tf.broadcast_dynamic_shape``.

    >>> broadcast_dynamic_shape([5, 1], [3]).numpy().tolist()
    [5, 3]
    """
    return apply(BROADCAST_ARGS, shape_x, shape_y)
