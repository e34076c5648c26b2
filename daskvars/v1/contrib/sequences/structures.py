"""Sizes, zeros and rows of nested structures with a batch in front."""

from __future__ import annotations

from typing import Any

from daskvars.graph.definitions.static_values import constant_value
from daskvars.graph.tensor import Tensor
from daskvars.layers.layer import Layer
from daskvars.layers.recurrent.batch_and_time import map_sizes
from daskvars.ops.array.constant import shape as shape_of, zeros
from daskvars.ops.array.joining import concat
from daskvars.ops.array.reshaping import reshape
from daskvars.shapes import TensorShape


def static_size(value: Any) -> int | None:
    """Return a size, a number or a scalar tensor, as a number if the graph alone determines it."""
    known: Any = constant_value(value) if isinstance(value, Tensor) else value
    return None if known is None else int(known)


def sized_zeros(batch_size: Any, size: Any, dtype: Any) -> Tensor:
    """Return zeros of shape [batch_size, *size].

    Args:
      batch_size: a number or a scalar tensor.
      size: a number, a scalar tensor or a known shape.
      dtype: dtype of the zeros.
    """
    sizes = [size] if isinstance(size, Tensor) else TensorShape(size).as_list()
    result = zeros([batch_size, *sizes], dtype)
    result.set_shape([static_size(each) for each in (batch_size, *sizes)])
    return result


def with_leading(value: Tensor, leading: list[Any], instead_of: int) -> Tensor:
    """Return a tensor reshaped such that `leading` sizes stand for its first axes."""
    result = reshape(value, concat([leading, shape_of(value)[instead_of:]], 0))
    rest = value.get_shape()[instead_of:]
    result.set_shape(TensorShape([static_size(size) for size in leading]).concatenate(rest))
    return result


def layered_size(size: Any, layer: Layer | None) -> Any:
    """Return the size of what a layer makes of outputs of some size, without the batch."""
    if layer is None:
        return size
    full = map_sizes(lambda each: TensorShape([None]).concatenate(TensorShape(each)), size)
    return map_sizes(lambda shape: TensorShape(shape)[1:], layer.compute_output_shape(full))
