"""Flatten: everything after the first axis in one."""

from __future__ import annotations

import math
from typing import Any

from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.layers.convolution.sizes import checked_format
from daskvars.layers.functional import functional
from daskvars.layers.input_spec import InputSpec
from daskvars.layers.layer import Layer
from daskvars.ops.array.constant import shape as shape_of
from daskvars.ops.array.reshaping import reshape
from daskvars.ops.array.transposing import transpose
from daskvars.shapes import ShapeLike, TensorShape


class Flatten(Layer):
    """A layer that keeps the first axis and joins all others; with one axis, adds one of size 1.

    Args:
      data_format: "channels_last", or "channels_first": the channels are then moved last before.
      name: see `Layer`.

    >>> dv.layers.Flatten()(dv.ones([2, 3, 4])).shape.as_list()
    [2, 12]
    """

    def __init__(
        self, data_format: str | None = None, name: str | None = None, **kwargs: Any
    ) -> None:
        super().__init__(name=name, **kwargs)
        self.data_format = checked_format(data_format)
        self.input_spec = InputSpec(min_ndim=1)

    def call(self, inputs: TensorLike) -> Tensor:
        """Return the input as [batch, everything else]."""
        inputs = convert_to_tensor(inputs)
        shape = inputs.get_shape()
        if self.data_format == "channels_first" and len(shape) > 2:
            inputs = transpose(inputs, [0, *range(2, len(shape)), 1])
        sizes = self.compute_output_shape(inputs.get_shape()).as_list()
        if sizes[1] is None:
            first = shape_of(inputs)[0] if sizes[0] is None else sizes[0]
            outputs = reshape(inputs, [first, -1])
        else:
            outputs = reshape(inputs, [-1 if n is None else n for n in sizes])
        outputs.set_shape(sizes)
        return outputs

    def compute_output_shape(self, input_shape: ShapeLike) -> TensorShape:
        """Return [batch, product of the other sizes]."""
        first, *rest = TensorShape(input_shape).with_rank_at_least(1).as_list()
        return TensorShape([first, None if None in rest else math.prod(rest)])


def flatten(
    inputs: TensorLike, name: str | None = None, data_format: str = "channels_last"
) -> Tensor:
    """Return the input as [batch, everything else]; see `Flatten`.

    Args:
      inputs: [batch, ...] any dtype.
      name: name scope of the operations.
      data_format: "channels_last" or "channels_first", where channels are put last before.

    >>> dv.layers.flatten(dv.ones([2, 3, 4])).shape.as_list()
    [2, 12]
    """
    return _flatten(inputs, data_format, name)


_flatten = functional(Flatten, "flatten", has_variables=False)
