"""Separable convolutions: each channel on its own, then a mix of the channels."""

from __future__ import annotations

from typing import Any

from daskvars.graph.tensor import Tensor
from daskvars.layers.arguments import takes
from daskvars.layers.convolution.convolutional import Convolution
from daskvars.layers.convolution.sizes import op_format
from daskvars.layers.functional import functional
from daskvars.ops.array.reshaping import expand_dims, squeeze
from daskvars.ops.nn.convolution import composed
from daskvars.shapes import ShapeLike


@takes(
    "filters kernel_size strides padding data_format dilation_rate depth_multiplier activation "
    "use_bias depthwise_initializer pointwise_initializer bias_initializer depthwise_regularizer "
    "pointwise_regularizer bias_regularizer activity_regularizer depthwise_constraint "
    "pointwise_constraint bias_constraint trainable name"
)
class SeparableConvolution(Convolution):
    """What separable convolutions are.

    Variables: `depthwise_kernel` [*kernel_size, inputs, depth_multiplier], `pointwise_kernel`
    [1, ..., inputs * depth_multiplier, filters] and `bias` [filters].
    """

    depth_multiplier: int

    def _prepare(self) -> None:
        super()._prepare()
        self.depthwise_kernel: Any = None
        self.pointwise_kernel: Any = None

    def build(self, input_shape: ShapeLike) -> None:
        """Make both kernels and `bias`."""
        channels = self._channels(input_shape)
        size = (*self.kernel_size, channels, self.depth_multiplier)
        self.depthwise_kernel = self._add_declared("depthwise_kernel", size, of="depthwise")
        mixed = (*(1,) * self.rank, self.depth_multiplier * channels, self.filters)
        self.pointwise_kernel = self._add_declared("pointwise_kernel", mixed, of="pointwise")
        self._add_bias()
        self.built = True

    def _convolved(self, inputs: Tensor) -> Tensor:
        return composed.separable_conv2d(
            inputs,
            self.depthwise_kernel,
            self.pointwise_kernel,
            self.strides,
            self.padding.upper(),
            self.dilation_rate,
            data_format=op_format(self.data_format, 2),
        )


class SeparableConv1D(SeparableConvolution):
    """A separable convolution of sequences, [batch, steps, channels].

    Args: see `SeparableConvolution`; sizes are ints.

    >>> dv.layers.SeparableConv1D(4, 3)(dv.ones([2, 8, 3])).shape.as_list()
    [2, 6, 4]
    """

    rank = 1

    def _convolved(self, inputs: Tensor) -> Tensor:
        """Convolve as images of height 1."""
        height = 2 if self.data_format == "channels_first" else 1
        # The stride is that of both axes: a depthwise convolution has but one.
        outputs = composed.separable_conv2d(
            expand_dims(inputs, height),
            expand_dims(self.depthwise_kernel, 0),
            expand_dims(self.pointwise_kernel, 0),
            self.strides * 2,
            self.padding.upper(),
            (1, *self.dilation_rate),
            data_format=op_format(self.data_format, 2),
        )
        return squeeze(outputs, [height])


class SeparableConv2D(SeparableConvolution):
    """A separable convolution of images, [batch, height, width, channels].

    Args: see `SeparableConvolution`; sizes are ints or pairs of them.

    >>> dv.layers.SeparableConv2D(4, 3)(dv.ones([2, 8, 8, 3])).shape.as_list()
    [2, 6, 6, 4]
    """


separable_conv1d = functional(
    SeparableConv1D,
    "separable_conv1d",
    example="ones, x = dv.ones_initializer(), dv.ones([1, 4, 2])\n"
    "y = dv.layers.separable_conv1d(\n"
    "    x, 1, 3, depthwise_initializer=ones, pointwise_initializer=ones)\n"
    "y.numpy().ravel().tolist() -> [6.0, 6.0]",
)
separable_conv2d = functional(
    SeparableConv2D,
    "separable_conv2d",
    example="ones, x = dv.ones_initializer(), dv.ones([1, 3, 3, 2])\n"
    "y = dv.layers.separable_conv2d(\n"
    "    x, 2, 3, depthwise_initializer=ones, pointwise_initializer=ones)\n"
    "y.numpy().ravel().tolist() -> [18.0, 18.0]",
)
