"""Convolution in two dimensions, its gradients and its transpose; and what families of them are.

A convolution is linear in image and filter, so its two gradients are each other's and its own:
one family of three ops is closed under differentiation. The batch may be cut; so may the channels
of `conv2d`, as those of a matrix product.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from daskvars import shapes
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import OpDef, Spec
from daskvars.graph.definitions.patterns import Contraction
from daskvars.graph.interpreter import apply
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Operation, Tensor
from daskvars.kernels.nn import convolution, depthwise
from daskvars.kernels.nn.windows import channels, conv_shape, depthwise_conv2d_shape
from daskvars.ops.nn.windows import (
    check_equal,
    full_shape,
    image_format,
    image_shape,
    image_sizes,
    per_axis,
    window_padding,
)
from daskvars.ops.rules.axes import as_operand, either

ONES = (1, 1, 1, 1)


def _options(op: Operation) -> dict[str, Any]:
    return {key: op.attrs[key] for key in ("strides", "padding", "dilations", "data_format")}


class Family:
    """A convolution and its gradients with respect to images and filter, as three ops.

    Args:
      type: type of the convolution.
      shape_rule: shape of the result from those of images and filter.
      kernels: of the convolution, and of its gradients.
      letters: labels of images, filter and result, channels last.
      version: ending of the types of the gradients.
    """

    def __init__(
        self,
        type: str,
        shape_rule: Callable[..., tuple],
        kernels: Sequence[Callable[..., Any]],
        letters: tuple[str, str, str],
        version: str = "",
    ) -> None:
        self.shape_rule = shape_rule
        self.letters = letters
        self.rank = len(letters[0])
        self.forward = OpDef(
            type,
            "input:D, filter:D",
            infer=self._forward_spec,
            pattern=self._access(0, 1, 2),
            kernel=kernels[0],
            gradient=self._forward_gradient,
        )
        self.backward_images = OpDef(
            f"{type}BackpropInput{version}",
            "filter:D, out_backprop:D",
            infer=self._images_spec,
            pattern=self._access(1, 2, 0),
            kernel=kernels[1],
            gradient=self._images_gradient,
            operands=("input_shape",),
            block=lambda attrs, block: {**attrs, "input_shape": block.out_shapes[0]},
        )
        self.backward_filter = OpDef(
            f"{type}BackpropFilter{version}",
            "input:D, out_backprop:D",
            infer=self._filter_spec,
            pattern=self._access(0, 2, 1),
            kernel=kernels[2],
            gradient=self._filter_gradient,
            operands=("filter_shape",),
            block=lambda attrs, block: {**attrs, "filter_shape": block.out_shapes[0]},
        )

    def _access(self, left: int, right: int, out: int) -> Contraction:
        """Return the pattern of an op on two of (images, filter, result) that gives the third."""

        def subscripts(inputs, attrs):
            terms = list(self.letters)
            if attrs["data_format"][1] == "C":
                for i in (0, 2):
                    terms[i] = terms[i][0] + terms[i][-1] + terms[i][1:-1]
            return f"{terms[left]},{terms[right]}->{terms[out]}"

        return Contraction(subscripts)

    # -- shapes --------------------------------------------------------------------------------

    def _shape(self, spec: Spec, what: str = "input") -> tuple:
        return image_shape(spec, what, self.rank)

    def _result(self, image: tuple, w: tuple, **options: Any) -> tuple:
        check_equal(
            channels(image, options["data_format"]),
            w[-2],
            f"channels of the input {shapes.show(image)} and of the filter {shapes.show(w)}",
        )
        return self.shape_rule(image, w, **options)

    def _checked(self, image: tuple, w: tuple, dy: tuple, **options: Any) -> None:
        found = self._result(image, w, **options)
        if not shapes.compatible(found, dy):
            raise ValueError(
                f"Size of out_backprop doesn't match computed: actual = {shapes.show(dy)}, "
                f"computed = {shapes.show(found)} from an input of shape {shapes.show(image)} and "
                f"a filter of shape {shapes.show(w)}"
            )

    def _forward_spec(self, inputs, **options):
        image, w = self._shape(inputs[0]), self._shape(inputs[1], "filter")
        return Spec(inputs[0].dtype, self._result(image, w, **options))

    def _images_spec(self, inputs, *, input_shape, operands=(), **options):
        w, dy = self._shape(inputs[0], "filter"), self._shape(inputs[1], "out_backprop")
        image = self._shape(Spec(inputs[1].dtype, input_shape), "input_sizes")
        self._checked(image, w, dy, **options)
        return Spec(inputs[1].dtype, (dy[0] if image[0] is None else image[0], *image[1:]))

    def _filter_spec(self, inputs, *, filter_shape, operands=(), **options):
        image, dy = self._shape(inputs[0]), self._shape(inputs[1], "out_backprop")
        w = self._shape(Spec(inputs[0].dtype, filter_shape), "filter_sizes")
        self._checked(image, w, dy, **options)
        return Spec(inputs[0].dtype, w)

    # -- gradients -----------------------------------------------------------------------------

    def _forward_gradient(self, op, dy):
        x, w = op.inputs
        return self._for_images(op, w, dy, x), self._for_filter(op, x, dy, w)

    def _images_gradient(self, op, g):
        w, dy = op.inputs[:2]
        return self._for_filter(op, g, dy, w), apply(self.forward, g, w, **_options(op))

    def _filter_gradient(self, op, g):
        x, dy = op.inputs[:2]
        return self._for_images(op, g, dy, x), apply(self.forward, x, g, **_options(op))

    def _for_images(self, op, w, dy, x):
        return apply(self.backward_images, w, dy, input_shape=image_sizes(x), **_options(op))

    def _for_filter(self, op, x, dy, w):
        return apply(self.backward_filter, x, dy, filter_shape=full_shape(w), **_options(op))


CONV2D = Family(
    "Conv2D",
    conv_shape,
    (convolution.conv2d, convolution.conv2d_backprop_input, convolution.conv2d_backprop_filter),
    ("n__i", "__io", "n__o"),
)
DEPTHWISE = Family(
    "DepthwiseConv2dNative",
    depthwise_conv2d_shape,
    (
        depthwise.depthwise_conv2d,
        depthwise.depthwise_conv2d_backprop_input,
        depthwise.depthwise_conv2d_backprop_filter,
    ),
    ("n___", "____", "n___"),
)


def window_options(
    strides: Any, padding: Any, dilations: Any, data_format: str | None
) -> dict[str, Any]:
    """Return the attributes of a convolution from what a user gives for them."""
    data_format = image_format(data_format)
    return {
        "strides": per_axis(strides, data_format, "strides"),
        "padding": window_padding(padding),
        "dilations": per_axis(dilations, data_format, "dilations"),
        "data_format": data_format,
    }


def conv2d(
    input: Any,
    filter: Any = None,
    strides: Any = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str | None = "NHWC",
    dilations: Any = ONES,
    name: str | None = None,
    filters: Any = None,
) -> Tensor:
    """Convolve images with a filter (cross-correlation).

    Args:
      input: [batch, height, width, inputs] floating, or in the order of `data_format`.
      filter: [height, width, inputs, outputs] of the dtype of `input`.
      strides: distance between windows: an int, two ints, or four in the order of `data_format`.
      padding: "SAME", "VALID", or four (before, after) pairs.
      use_cudnn_on_gpu: accepted, without effect.
      data_format: "NHWC" or "NCHW".
      dilations: distance between the taps of a window, as `strides`.
      name: name of the operation, by default "Conv2D".
      filters: the new name of `filter`.

    Returns:
      [batch, rows, columns, outputs] of the dtype of `input`.

    Raises:
      ValueError: the channels of input and filter differ, a rank is not 4, or the window is larger
        than the image.

    >>> import daskvars as dv
    >>> image, filter = dv.ones([1, 3, 3, 1]), dv.ones([2, 2, 1, 1])
    >>> conv2d(image, filter, strides=1, padding="VALID").numpy().ravel().tolist()
    [4.0, 4.0, 4.0, 4.0]
    """
    filter = either(filters, filter, "filters", "filter")
    options = window_options(strides, padding, dilations, data_format)
    return apply(CONV2D.forward, input, filter, name=name, **options)


def conv2d_backprop_input(
    input_sizes: Any,
    filter: Any = None,
    out_backprop: Any = None,
    strides: Any = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str | None = "NHWC",
    dilations: Any = ONES,
    name: str | None = None,
    filters: Any = None,
) -> Tensor:
    """Return the gradient of `conv2d` with respect to its images.

    Args:
      input_sizes: [4] int32, the shape of the images.
      filter: [height, width, inputs, outputs] floating.
      out_backprop: [batch, rows, columns, outputs], the gradient of the result.
      strides: see `conv2d`, also for the arguments after it.

    Returns:
      [batch, height, width, inputs] of the dtype of `out_backprop`.

    Raises:
      ValueError: the shapes do not fit.
    """
    filter = either(filters, filter, "filters", "filter")
    return apply(
        CONV2D.backward_images,
        filter,
        out_backprop,
        name=name,
        input_shape=as_sizes(input_sizes),
        **window_options(strides, padding, dilations, data_format),
    )


def conv2d_backprop_filter(
    input: Any,
    filter_sizes: Any,
    out_backprop: Any,
    strides: Any = None,
    padding: Any = None,
    use_cudnn_on_gpu: bool = True,
    data_format: str | None = "NHWC",
    dilations: Any = ONES,
    name: str | None = None,
) -> Tensor:
    """Return the gradient of `conv2d` with respect to its filter.

    Args:
      input: [batch, height, width, inputs] floating, the images.
      filter_sizes: [4] int32, the shape of the filter.
      out_backprop: [batch, rows, columns, outputs], the gradient of the result.
      strides: see `conv2d`, also for the arguments after it.

    Returns:
      [height, width, inputs, outputs] of the dtype of `input`.

    Raises:
      ValueError: the shapes do not fit.
    """
    return apply(
        CONV2D.backward_filter,
        input,
        out_backprop,
        name=name,
        filter_shape=as_operand(filter_sizes),
        **window_options(strides, padding, dilations, data_format),
    )


def conv2d_transpose(
    value: Any = None,
    filter: Any = None,
    output_shape: Any = None,
    strides: Any = None,
    padding: Any = "SAME",
    data_format: str | None = "NHWC",
    name: str | None = None,
    input: Any = None,
    filters: Any = None,
    dilations: Any = None,
) -> Tensor:
    """Apply the transpose of `conv2d`, often called deconvolution.

    Args:
      value: [batch, rows, columns, inputs] floating, or in the order of `data_format`.
      filter: [height, width, outputs, inputs] of the dtype of `value`.
      output_shape: [4] int32, shape of the result; it may be a tensor.
      strides: see `conv2d`, also for padding, data_format and dilations.
      name: name of the operation, by default "conv2d_transpose".
      input: the new name of `value`.
      filters: the new name of `filter`.

    Returns:
      [*output_shape] of the dtype of `value`.

    Raises:
      ValueError: the shapes do not fit.

    Source: Zeiler et al., "Deconvolutional Networks", 2010.

    >>> import daskvars as dv
    >>> conv2d_transpose(dv.ones([1, 1, 1, 1]), dv.ones([2, 2, 1, 1]), [1, 2, 2, 1],
    ...                  strides=2).numpy().ravel().tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    value = either(input, value, "input", "value")
    filter = either(filters, filter, "filters", "filter")
    options = window_options(strides, padding, dilations, data_format)
    with name_scope(name, "conv2d_transpose", [value, filter]) as scope:
        value = convert_to_tensor(value, name="value")
        filter = convert_to_tensor(filter, name="filter")
        return apply(
            CONV2D.backward_images,
            filter,
            value,
            name=scope,
            input_shape=as_sizes(output_shape),
            **options,
        )


def as_sizes(value: Any) -> Any:
    """Return the shape of images as an attribute; None stands for a size that is not known yet."""
    if isinstance(value, shapes.TensorShape):
        return value._tuple
    if isinstance(value, list | tuple) and None in value:
        return tuple(value)
    return as_operand(value)


def depthwise_conv2d_native(
    input: Any,
    filter: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = "NHWC",
    dilations: Any = ONES,
    name: str | None = None,
) -> Tensor:
    """Convolve each channel with its own filters.

    Args:
      input: [batch, height, width, inputs] floating, or in the order of `data_format`.
      filter: [height, width, inputs, multiplier] of the dtype of `input`.
      strides: see `conv2d`, also for the arguments after it.
      name: name of the operation, by default "DepthwiseConv2dNative".

    Returns:
      [batch, rows, columns, inputs * multiplier] of the dtype of `input`.

    Raises:
      ValueError: the channels of input and filter differ, or a rank is not 4.
    """
    options = window_options(strides, padding, dilations, data_format)
    return apply(DEPTHWISE.forward, input, filter, name=name, **options)
