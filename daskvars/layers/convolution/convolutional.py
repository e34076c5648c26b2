"""Convolutions in one, two and three dimensions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.layers.arguments import ACTIVATED, takes
from daskvars.layers.by_name import activation_of
from daskvars.layers.convolution.sizes import (
    Sliding,
    channel_axis,
    op_format,
    sizes_of,
    space_of,
    transposed_size,
    with_space,
)
from daskvars.layers.functional import functional
from daskvars.layers.input_spec import InputSpec
from daskvars.ops.array.constant import shape as shape_of
from daskvars.ops.nn.bias import bias_add
from daskvars.ops.nn.convolution.composed import convolution
from daskvars.ops.nn.convolution.functions import (
    conv2d_transpose as conv2d_transpose_op,
    conv3d_transpose as conv3d_transpose_op,
)
from daskvars.shapes import ShapeLike, TensorShape


@takes(f"filters kernel_size strides padding data_format dilation_rate {ACTIVATED}")
class Convolution(Sliding):
    """What convolutions are: windows of space, a kernel, a bias and an activation.

    Variables: `kernel` [*kernel_size, inputs, filters] and `bias` [filters].

    Raises:
      ValueError: an argument is none of those; (when called) the number of channels is not known.
    """

    floating_inputs = True

    filters: int
    kernel_size: Any
    dilation_rate: Any = 1
    activation: Any
    use_bias: bool
    kernel_initializer: Any = None
    kernel_regularizer: Any = None
    kernel_constraint: Any = None

    def _prepare(self) -> None:
        self.filters = int(self.filters)
        self.kernel_size = sizes_of(self.kernel_size, self.rank, "kernel_size")
        super()._prepare()
        self.dilation_rate = sizes_of(self.dilation_rate, self.rank, "dilation_rate")
        self.activation = activation_of(self.activation)
        self.kernel: Any = None
        self.bias: Any = None

    def build(self, input_shape: ShapeLike) -> None:
        """Make `kernel` and `bias`."""
        channels = self._channels(input_shape)
        self.kernel = self._add_declared("kernel", self._kernel_shape(channels))
        self._add_bias()
        self.built = True

    def _kernel_shape(self, channels: int) -> tuple[int, ...]:
        return (*self.kernel_size, channels, self.filters)

    def _channels(self, input_shape: Any) -> int:
        axis = channel_axis(self.data_format, self.rank)
        channels = TensorShape(input_shape).with_rank(self.rank + 2).as_list()[axis]
        if channels is None:
            raise ValueError(
                "The channel dimension of the inputs should be defined. Found `None` in shape "
                f"{input_shape} (layer {self.name})."
            )
        self.input_spec = InputSpec(self._dtype, ndim=self.rank + 2, axes={axis: channels})
        return channels

    def _add_bias(self) -> None:
        if self.use_bias:
            self.bias = self._add_declared("bias", [self.filters])

    def call(self, inputs: TensorLike) -> Tensor:
        """Return ``activation(convolution + bias)``."""
        return self._activated(self._convolved(convert_to_tensor(inputs)))

    def _convolved(self, inputs: Tensor) -> Tensor:
        return convolution(
            inputs,
            self.kernel,
            self.padding.upper(),
            self.strides,
            self.dilation_rate,
            f"Conv{self.rank}D",
            op_format(self.data_format, self.rank),
        )

    def _activated(self, outputs: Tensor) -> Tensor:
        if self.use_bias:
            first = self.data_format == "channels_first"
            outputs = bias_add(outputs, self.bias, "NCHW" if first else "NHWC")
        return outputs if self.activation is None else self.activation(outputs)

    def compute_output_shape(self, input_shape: ShapeLike) -> TensorShape:
        """Return [batch, *windows, filters], in the order of the data format."""
        return self._slid(input_shape, self.kernel_size, self.dilation_rate, self.filters)


class Conv1D(Convolution):
    """A convolution of sequences, [batch, steps, channels].

    Args: see `Convolution`; sizes are ints.

    >>> dv.layers.Conv1D(4, 3)(dv.ones([2, 8, 3])).shape.as_list()
    [2, 6, 4]
    """

    rank = 1


class Conv2D(Convolution):
    """A convolution of images, [batch, height, width, channels].

    Args: see `Convolution`; sizes are ints or pairs of them.

    >>> dv.layers.Conv2D(4, 3, strides=2, padding="same")(dv.ones([2, 8, 8, 3])).shape.as_list()
    [2, 4, 4, 4]
    """


class Conv3D(Convolution):
    """A convolution of volumes, [batch, depth, height, width, channels].

    Args: see `Convolution`; sizes are ints or three of them.

    >>> dv.layers.Conv3D(4, 3, padding="same")(dv.ones([2, 5, 6, 7, 3])).shape.as_list()
    [2, 5, 6, 7, 4]
    """

    rank = 3


@takes(f"filters kernel_size strides padding data_format {ACTIVATED}")
class TransposedConvolution(Convolution):
    """What transposes of convolutions are, which make their input larger.

    Variables: `kernel` [*kernel_size, filters, inputs] and `bias` [filters].
    """

    transposed: Callable[..., Tensor] = staticmethod(conv2d_transpose_op)

    def _kernel_shape(self, channels: int) -> tuple[int, ...]:
        return (*self.kernel_size, self.filters, channels)

    def _convolved(self, inputs: Tensor) -> Tensor:
        known = self.compute_output_shape(inputs.get_shape())
        wanted: Any = known.as_list()
        if None in wanted:
            dynamic = shape_of(inputs)
            first = self.data_format == "channels_first"
            start = 2 if first else 1
            space = self._larger([dynamic[start + i] for i in range(self.rank)])
            sizes = [self.filters, *space] if first else [*space, self.filters]
            found = [dynamic[0], *sizes]
            wanted = [n if m is None else m for m, n in zip(wanted, found, strict=True)]
        data_format = op_format(self.data_format, self.rank)
        outputs = self.transposed(
            inputs, self.kernel, wanted, self.strides, self.padding.upper(), data_format
        )
        outputs.set_shape(known)
        return outputs

    def _larger(self, space: list[Any]) -> list[Any]:
        found = zip(space, self.kernel_size, self.strides, strict=True)
        return [transposed_size(n, window, self.padding, step) for n, window, step in found]

    def compute_output_shape(self, input_shape: ShapeLike) -> TensorShape:
        """Return the shape whose windows the input is."""
        space = self._larger(space_of(input_shape, self.data_format))
        return with_space(input_shape, self.data_format, space, self.filters)


class Conv2DTranspose(TransposedConvolution):
    """The transpose of a convolution of images.

    Args: see `TransposedConvolution`; sizes are ints or pairs of them.

    >>> dv.layers.Conv2DTranspose(4, 2, strides=2)(dv.ones([2, 3, 3, 1])).shape.as_list()
    [2, 6, 6, 4]
    """


class Conv3DTranspose(TransposedConvolution):
    """The transpose of a convolution of volumes.

    Args: see `TransposedConvolution`; sizes are ints or three of them.

    >>> dv.layers.Conv3DTranspose(4, 2, strides=2)(dv.ones([2, 3, 3, 3, 1])).shape.as_list()
    [2, 6, 6, 6, 4]
    """

    rank = 3
    transposed = staticmethod(conv3d_transpose_op)


conv1d = functional(
    Conv1D,
    "conv1d",
    example="ones, x = dv.ones_initializer(), dv.ones([1, 4, 2])\n"
    "y = dv.layers.conv1d(x, 1, 3, kernel_initializer=ones)\n"
    "y.numpy().ravel().tolist() -> [6.0, 6.0]",
)
conv2d = functional(
    Conv2D,
    "conv2d",
    example="ones, x = dv.ones_initializer(), dv.ones([1, 4, 4, 1])\n"
    "y = dv.layers.conv2d(x, 2, 3, strides=2, kernel_initializer=ones)\n"
    "y.numpy().tolist() -> [[[[9.0, 9.0]]]]",
)
conv2d_transpose = functional(
    Conv2DTranspose,
    "conv2d_transpose",
    example="ones, x = dv.ones_initializer(), dv.ones([1, 2, 2, 1])\n"
    "y = dv.layers.conv2d_transpose(x, 1, 2, strides=2, kernel_initializer=ones)\n"
    "y.shape.as_list(), y.numpy().sum().item() -> ([1, 4, 4, 1], 16.0)",
)
conv3d = functional(
    Conv3D,
    "conv3d",
    example="ones, x = dv.ones_initializer(), dv.ones([1, 2, 2, 3, 1])\n"
    "y = dv.layers.conv3d(x, 1, 2, kernel_initializer=ones)\n"
    "y.numpy().ravel().tolist() -> [8.0, 8.0]",
)
conv3d_transpose = functional(
    Conv3DTranspose,
    "conv3d_transpose",
    example="ones, x = dv.ones_initializer(), dv.ones([1, 1, 1, 2, 1])\n"
    "y = dv.layers.conv3d_transpose(x, 1, 2, strides=2, kernel_initializer=ones)\n"
    "y.shape.as_list(), y.numpy().sum().item() -> ([1, 2, 2, 4, 1], 16.0)",
)
