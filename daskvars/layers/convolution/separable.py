"""Separable convolutions: each channel on its own, then a mix of the channels."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from daskvars.graph.tensor import Tensor
from daskvars.layers.convolution.convolutional import Convolution
from daskvars.layers.convolution.sizes import op_format
from daskvars.layers.functional import functional
from daskvars.ops.array.reshaping import expand_dims, squeeze
from daskvars.ops.nn.convolution import forms as nn_convolution_forms
from daskvars.variables.initializers import Zeros

_ZEROS = Zeros()


class SeparableConvolution(Convolution):
    """What separable convolutions are.

    Variables: `depthwise_kernel` [*kernel_size, inputs, depth_multiplier], `pointwise_kernel`
    [1, ..., inputs * depth_multiplier, filters] and `bias` [filters].

    Args:
      depth_multiplier: number of channels that the first step makes of each.
      depthwise_initializer, pointwise_initializer, depthwise_regularizer, pointwise_regularizer,
        depthwise_constraint, pointwise_constraint: as those of a kernel, for both kernels.
      filters, kernel_size, strides, padding, data_format, dilation_rate, activation, use_bias,
        bias_initializer, bias_regularizer, activity_regularizer, bias_constraint, trainable, name:
        see `Conv2D`.
    """

    def __init__(
        self,
        filters: int,
        kernel_size: Any,
        strides: Any = 1,
        padding: str = "valid",
        data_format: str = "channels_last",
        dilation_rate: Any = 1,
        depth_multiplier: int = 1,
        activation: Any = None,
        use_bias: bool = True,
        depthwise_initializer: Any = None,
        pointwise_initializer: Any = None,
        bias_initializer: Any = _ZEROS,
        depthwise_regularizer: Callable[[Any], Any] | None = None,
        pointwise_regularizer: Callable[[Any], Any] | None = None,
        bias_regularizer: Callable[[Any], Any] | None = None,
        activity_regularizer: Callable[[Any], Any] | None = None,
        depthwise_constraint: Callable[[Any], Any] | None = None,
        pointwise_constraint: Callable[[Any], Any] | None = None,
        bias_constraint: Callable[[Any], Any] | None = None,
        trainable: bool = True,
        name: Any = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(
            filters,
            kernel_size,
            strides,
            padding,
            data_format,
            dilation_rate,
            activation,
            use_bias,
            None,
            bias_initializer,
            None,
            bias_regularizer,
            activity_regularizer,
            None,
            bias_constraint,
            trainable,
            name,
            **kwargs,
        )
        self.depth_multiplier = depth_multiplier
        self.depthwise_initializer = depthwise_initializer
        self.pointwise_initializer = pointwise_initializer
        self.depthwise_regularizer = depthwise_regularizer
        self.pointwise_regularizer = pointwise_regularizer
        self.depthwise_constraint = depthwise_constraint
        self.pointwise_constraint = pointwise_constraint
        self.depthwise_kernel: Any = None
        self.pointwise_kernel: Any = None

    def build(self, input_shape: Any) -> None:
        """Make both kernels and `bias`."""
        channels = self._channels(input_shape)
        self.depthwise_kernel = self.add_weight(
            "depthwise_kernel",
            (*self.kernel_size, channels, self.depth_multiplier),
            initializer=self.depthwise_initializer,
            regularizer=self.depthwise_regularizer,
            constraint=self.depthwise_constraint,
        )
        ones = (1,) * self.rank
        self.pointwise_kernel = self.add_weight(
            "pointwise_kernel",
            (*ones, self.depth_multiplier * channels, self.filters),
            initializer=self.pointwise_initializer,
            regularizer=self.pointwise_regularizer,
            constraint=self.pointwise_constraint,
        )
        self._add_bias()
        self.built = True

    def _convolved(self, inputs: Tensor) -> Tensor:
        return nn_convolution_forms.separable_conv2d(
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

    >>> import daskvars as dv
    >>> dv.layers.SeparableConv1D(4, 3)(dv.ones([2, 8, 3])).shape.as_list()
    [2, 6, 4]
    """

    rank = 1

    def _convolved(self, inputs: Tensor) -> Tensor:
        """Convolve as images of height 1."""
        height = 2 if self.data_format == "channels_first" else 1
        # The stride is that of both axes: a depthwise convolution has but one.
        outputs = nn_convolution_forms.separable_conv2d(
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

    >>> import daskvars as dv
    >>> dv.layers.SeparableConv2D(4, 3)(dv.ones([2, 8, 8, 3])).shape.as_list()
    [2, 6, 6, 4]
    """


separable_conv1d = functional(SeparableConv1D, "separable_conv1d")
separable_conv2d = functional(SeparableConv2D, "separable_conv2d")
