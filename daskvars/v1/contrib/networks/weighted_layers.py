"""Slim's layers that multiply with weights: fully connected ones and convolutions."""

from __future__ import annotations

import inspect
from functools import partial
from typing import Any

from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.layers.arguments import ACTIVATED, takes
from daskvars.layers.convolution.convolutional import (
    Conv1D,
    Conv2D,
    Conv2DTranspose,
    Conv3D,
    Conv3DTranspose,
    Convolution,
)
from daskvars.layers.convolution.separable import SeparableConv2D
from daskvars.layers.convolution.sizes import op_format
from daskvars.layers.dense import Dense
from daskvars.ops.array.repeating import tile
from daskvars.ops.nn.activation import elu as elu_of, relu as relu_of, relu6 as relu6_of
from daskvars.ops.nn.bias import bias_add as add_bias
from daskvars.ops.nn.convolution.composed import depthwise_conv2d
from daskvars.v1.contrib.arg_scopes import add_arg_scope
from daskvars.v1.contrib.networks.collected import (
    channel_dimension,
    last_dimension,
    two_element_tuple,
)
from daskvars.v1.contrib.networks.slim_layers import (
    LAYERS,
    NAMES,
    WEIGHTED,
    ZEROS,
    activated,
    own_variable,
    weighted,
)
from daskvars.variables.scopes.variable_scope import variable_scope


@weighted("fully_connected", f"inputs num_outputs {WEIGHTED}")
def fully_connected(inputs: Tensor, num_outputs: int) -> Any:
    """Return ``activation_fn(inputs @ weights + biases)``.

    Variables: ``weights`` [inputs, num_outputs] and ``biases`` [num_outputs].

    Returns:
      [..., num_outputs], of the inputs' dtype.

    Raises:
      ValueError: the last size of the inputs is not known, or ``num_outputs`` is no integer.

    >>> with tf.Graph().as_default():
    ...     y = tf.contrib.layers.fully_connected(tf.ones([2, 3]), 4)
    ...     y.op.name, [v.op.name for v in tf.trainable_variables()]
    ('fully_connected/Relu', ['fully_connected/weights', 'fully_connected/biases'])
    """
    if not isinstance(num_outputs, int):
        raise ValueError(f"num_outputs type should be int, got {type(num_outputs)}.")
    last_dimension(inputs.get_shape(), min_rank=2)
    return Dense, {"units": num_outputs}


# -- convolutions --------------------------------------------------------------------------------

_OF_RANK = {3: Conv1D, 4: Conv2D, 5: Conv3D}
_FORMATS = (None, "NWC", "NCW", "NHWC", "NCHW", "NDHWC", "NCDHW")
CONVOLUTION = f"inputs num_outputs kernel_size stride padding data_format rate {WEIGHTED}"


def _convolution(rank: int | None, name: str) -> Any:
    """Return the convolution of inputs of some number of dimensions of space, None for any."""

    def convolution(
        inputs: Tensor,
        num_outputs: int,
        kernel_size: Any,
        stride: Any,
        padding: str,
        data_format: str | None,
        rate: Any,
    ) -> Any:
        """Return a convolution of sequences, images or volumes, with a bias and an activation.

        Variables: ``weights`` [*kernel_size, channels, num_outputs] and ``biases`` [num_outputs].

        Raises:
          ValueError: `data_format` is unknown, or the inputs' rank is not supported.

        >>> with tf.Graph().as_default():
        ...     y = tf.contrib.layers.conv2d(tf.ones([2, 8, 8, 3]), 4, [3, 3], stride=2)
        ...     y.op.name, y.shape.as_list()
        ('Conv/Relu', [2, 4, 4, 4])
        """
        if data_format not in _FORMATS:
            raise ValueError(f"Invalid data_format: {data_format!r}, not one of {_FORMATS}")
        found = inputs.get_shape().ndims
        if rank is not None and found != rank + 2:
            raise ValueError(f"Convolution expects input with rank {rank + 2}, got {found}")
        if found not in _OF_RANK:
            raise ValueError(f"Convolution not supported for input with rank {found}")
        return _OF_RANK[found], _windows(num_outputs, kernel_size, stride, padding, data_format) | {
            "dilation_rate": rate
        }

    convolution.__name__ = convolution.__qualname__ = name
    return weighted("Conv", CONVOLUTION)(convolution)


def _windows(filters: int, kernel_size: Any, stride: Any, padding: str, data_format: Any) -> dict:
    return {
        "filters": filters,
        "kernel_size": kernel_size,
        "strides": stride,
        "padding": padding,
        "data_format": core_format(data_format),
    }


def core_format(data_format: str | None) -> str:
    """Return what the core's layers call a data format."""
    return "channels_first" if (data_format or "").startswith("NC") else "channels_last"


def check_format(data_format: str | None, first: str = "NCHW", last: str = "NHWC") -> None:
    """Raise ValueError unless a data format is one of the two."""
    if data_format not in (first, last):
        raise ValueError(f"data_format has to be either {first} or {last}, got {data_format!r}.")


convolution = _convolution(None, "convolution")
convolution1d = _convolution(1, "convolution1d")
convolution2d = _convolution(2, "convolution2d")
convolution3d = _convolution(3, "convolution3d")

_TRANSPOSED = f"inputs num_outputs kernel_size stride padding data_format {WEIGHTED}"


@weighted("Conv2d_transpose", _TRANSPOSED.replace("data_format", 'data_format="NHWC"'))
def convolution2d_transpose(
    inputs: Tensor, num_outputs: int, kernel_size: Any, stride: Any, padding: str, data_format: str
) -> Any:
    """Return the transpose of a convolution of images, which makes them larger.

    Variables: ``weights`` [*kernel_size, num_outputs, channels] and ``biases`` [num_outputs].

    Raises:
      ValueError: `data_format` is unknown, or the number of channels is not known.
    """
    check_format(data_format)
    return Conv2DTranspose, _windows(num_outputs, kernel_size, stride, padding, data_format)


@weighted("Conv3d_transpose", _TRANSPOSED.replace("data_format", 'data_format="NDHWC"'))
def convolution3d_transpose(
    inputs: Tensor, num_outputs: int, kernel_size: Any, stride: Any, padding: str, data_format: str
) -> Any:
    """Return the transpose of a convolution of volumes, which makes them larger.

    Variables: ``weights`` [*kernel_size, num_outputs, channels] and ``biases`` [num_outputs].

    Raises:
      ValueError: `data_format` is unknown, or the number of channels is not known.
    """
    check_format(data_format, "NCDHW", "NDHWC")
    return Conv3DTranspose, _windows(num_outputs, kernel_size, stride, padding, data_format)


class _ConvolutionInPlane(Convolution):
    """A convolution of each channel by itself, with one kernel for all."""

    def _kernel_shape(self, channels: int) -> tuple[int, ...]:
        return (*self.kernel_size, 1, 1)

    def _convolved(self, inputs: Tensor) -> Tensor:
        kernels = tile(self.kernel, [1, 1, self.filters, 1])
        return depthwise_conv2d(inputs, kernels, [1, *self.strides, 1], self.padding.upper())


@weighted("ConvInPlane", f"inputs kernel_size stride padding {WEIGHTED}")
def convolution2d_in_plane(inputs: Tensor, kernel_size: Any, stride: Any, padding: str) -> Any:
    """Return the convolution of each channel of images with one kernel for all.

    Variables: ``weights`` [*kernel_size, 1, 1] and ``biases`` [channels].

    Raises:
      ValueError: the number of channels is not known.
    """
    channels = last_dimension(inputs.get_shape(), min_rank=4)
    sizes = two_element_tuple(kernel_size), two_element_tuple(stride)
    return _ConvolutionInPlane, _windows(channels, *sizes, padding, None)


@takes(
    f"filters kernel_size strides padding data_format dilation_rate depth_multiplier {ACTIVATED}"
)
class _Depthwise(Convolution):
    """A convolution of each channel by itself, with `depth_multiplier` kernels."""

    depth_multiplier: int

    def _kernel_shape(self, channels: int) -> tuple[int, ...]:
        return (*self.kernel_size, channels, self.depth_multiplier)

    def _convolved(self, inputs: Tensor) -> Tensor:
        first = self.data_format == "channels_first"
        return depthwise_conv2d(
            inputs,
            self.kernel,
            [1, 1, *self.strides] if first else [1, *self.strides, 1],
            self.padding.upper(),
            self.dilation_rate,
            data_format=op_format(self.data_format, 2),
        )


_OF_DEPTHWISE: dict[str, str] = {"bias": "biases", "kernel": "depthwise_weights"}


@weighted(
    "SeparableConv2d",
    "inputs num_outputs kernel_size depth_multiplier stride padding data_format='NHWC' rate "
    "activation_fn normalizer_fn normalizer_params weights_initializer pointwise_initializer "
    "weights_regularizer biases_initializer biases_regularizer reuse variables_collections "
    "outputs_collections trainable scope",
    lambda given: NAMES if given["num_outputs"] is not None else _OF_DEPTHWISE,
)
def separable_convolution2d(
    inputs: Tensor,
    num_outputs: int | None,
    kernel_size: Any,
    stride: Any,
    padding: str,
    data_format: str,
    rate: Any,
    depth_multiplier: int = 1,
    pointwise_initializer: Any = None,
) -> Any:
    """Return a convolution of each channel, then a mix of the channels.

    Variables: ``depthwise_weights`` [*kernel_size, channels, depth_multiplier],
    ``pointwise_weights`` [1, 1, channels * depth_multiplier, num_outputs] and ``biases``.

    Args:
      num_outputs: number of channels of the output; None leaves the mix out.
      depth_multiplier: number of channels that the first step makes of each.
      pointwise_initializer: initializer of ``pointwise_weights``, by default that of the weights.

    Raises:
      ValueError: `data_format` is unknown, or the number of channels is not known.
    """
    check_format(data_format)
    channels = channel_dimension(inputs.get_shape(), core_format(data_format), min_rank=4)
    rates = {"dilation_rate": two_element_tuple(rate), "depth_multiplier": depth_multiplier}
    if num_outputs is None:
        filters = channels * depth_multiplier
        return _Depthwise, rates | _windows(filters, kernel_size, stride, padding, data_format)
    windows = _windows(num_outputs, kernel_size, stride, padding, data_format)
    if pointwise_initializer is not None:
        windows["pointwise_initializer"] = pointwise_initializer
    return SeparableConv2D, rates | windows


conv1d, conv2d, conv3d = convolution1d, convolution2d, convolution3d
conv2d_transpose, conv3d_transpose = convolution2d_transpose, convolution3d_transpose
conv2d_in_plane, separable_conv2d = convolution2d_in_plane, separable_convolution2d

# -- the rest ------------------------------------------------------------------------------------


def bias_add(
    inputs: TensorLike,
    activation_fn: Any = None,
    initializer: Any = ZEROS,
    regularizer: Any = None,
    reuse: Any = None,
    variables_collections: Any = None,
    outputs_collections: Any = None,
    trainable: bool = True,
    data_format: str = "NHWC",
    scope: Any = None,
) -> Tensor:
    """Add a bias to each channel.

    Variables: ``biases`` [channels].

    Args:
      initializer: of the biases.
      regularizer: function of the biases that gives a loss.

    Raises:
      ValueError: `data_format` is unknown, or the number of channels is not known.
    """
    check_format(data_format)
    given = {
        "activation_fn": activation_fn,
        "variables_collections": variables_collections,
        "outputs_collections": outputs_collections,
        "trainable": trainable,
    }
    with variable_scope(scope, "BiasAdd", [inputs], reuse=reuse) as opened:
        inputs = convert_to_tensor(inputs)
        shape = inputs.get_shape()
        if shape.ndims is None:
            raise ValueError("Dims of shape must be known but is None")
        if shape.ndims != 4 and data_format == "NCHW":
            raise ValueError("Data format NCHW only supports 4D Tensor")
        channels = channel_dimension(shape, core_format(data_format))
        biases = own_variable(
            given, "biases", [channels], initializer, inputs.dtype.base_dtype, regularizer
        )
        return activated(add_bias(inputs, biases, data_format), given, opened)


bias_add.__doc__ = LAYERS.documented(
    bias_add.__doc__, inspect.signature(bias_add).parameters, default="BiasAdd"
)
bias_add = add_arg_scope(bias_add)

elu = partial(fully_connected, activation_fn=elu_of)
linear = partial(fully_connected, activation_fn=None)
relu = partial(fully_connected, activation_fn=relu_of)
relu6 = partial(fully_connected, activation_fn=relu6_of)
