"""Convolution in three dimensions, its gradients and its transpose; the batch may be cut."""

from __future__ import annotations

from typing import Any

from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.interpreter import apply
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor
from daskvars.kernels.nn import convolution3d
from daskvars.kernels.nn.windows import conv_shape
from daskvars.ops.nn.convolution.conv2d import Family, as_sizes
from daskvars.ops.nn.windows import per_axis
from daskvars.ops.rules.axes import as_operand, either

ONES = (1, 1, 1, 1, 1)

CONV3D = Family(
    "Conv3D",
    conv_shape,
    (
        convolution3d.conv3d,
        convolution3d.conv3d_backprop_input,
        convolution3d.conv3d_backprop_filter,
    ),
    ("n___i", "___io", "n___o"),
    "V2",
)


def volume_options(
    strides: Any, padding: Any, dilations: Any, data_format: str | None
) -> dict[str, Any]:
    """Return the attributes of a convolution of volumes from what a user gives for them.

    Raises:
      ValueError: padding or data_format is none of those there are, or sizes are other than 1, 3
        or 5.
    """
    data_format = data_format or "NDHWC"
    if data_format not in ("NDHWC", "NCDHW"):
        raise ValueError(f"data_format must be 'NDHWC' or 'NCDHW', got {data_format!r}")
    if padding not in ("SAME", "VALID"):
        raise ValueError(
            f"padding of volumes must be 'SAME' or 'VALID', got {padding!r}; pad before for others"
        )
    return {
        "strides": per_axis(strides, data_format, "strides"),
        "padding": padding,
        "dilations": per_axis(dilations, data_format, "dilations"),
        "data_format": data_format,
    }


def conv3d(
    input: Any,
    filter: Any = None,
    strides: Any = None,
    padding: Any = None,
    data_format: str | None = "NDHWC",
    dilations: Any = ONES,
    name: str | None = None,
    filters: Any = None,
) -> Tensor:
    """Convolve volumes with a filter (cross-correlation).

    Args:
      input: [batch, depth, height, width, inputs] floating, or in the order of `data_format`.
      filter: [depth, height, width, inputs, outputs] of the dtype of `input`.
      strides: distance between windows: an int, three, or five in the order of `data_format`.
      padding: "SAME" or "VALID".
      data_format: "NDHWC" or "NCDHW".
      dilations: distance between the taps of a window, as `strides`.
      name: name of the operation, by default "Conv3D".
      filters: the new name of `filter`.

    Returns:
      [batch, planes, rows, columns, outputs] of the dtype of `input`.

    Raises:
      ValueError: the channels of input and filter differ, a rank is not 5, or the window is larger
        than the volume.

    >>> import daskvars as dv
    >>> volume, filter = dv.ones([1, 3, 2, 2, 1]), dv.ones([2, 2, 2, 1, 1])
    >>> conv3d(volume, filter, strides=1, padding="VALID").numpy().ravel().tolist()
    [8.0, 8.0]
    """
    filter = either(filters, filter, "filters", "filter")
    options = volume_options(strides, padding, dilations, data_format)
    return apply(CONV3D.forward, input, filter, name=name, **options)


def conv3d_backprop_filter(
    input: Any,
    filter_sizes: Any,
    out_backprop: Any,
    strides: Any,
    padding: Any,
    data_format: str | None = "NDHWC",
    dilations: Any = ONES,
    name: str | None = None,
) -> Tensor:
    """Return the gradient of `conv3d` with respect to its filter.

    Args:
      input: [batch, depth, height, width, inputs] floating, the volumes.
      filter_sizes: [5] int32, the shape of the filter.
      out_backprop: [batch, planes, rows, columns, outputs], the gradient of the result.
      strides: see `conv3d`, also for the arguments after it.

    Returns:
      [depth, height, width, inputs, outputs] of the dtype of `input`.

    Raises:
      ValueError: the shapes do not fit.
    """
    return apply(
        CONV3D.backward_filter,
        input,
        out_backprop,
        name=name,
        filter_shape=as_operand(filter_sizes),
        **volume_options(strides, padding, dilations, data_format),
    )


conv3d_backprop_filter_v2 = conv3d_backprop_filter


def conv3d_transpose(
    value: Any,
    filter: Any = None,
    output_shape: Any = None,
    strides: Any = None,
    padding: Any = "SAME",
    data_format: str | None = "NDHWC",
    name: str | None = None,
    input: Any = None,
    filters: Any = None,
    dilations: Any = None,
) -> Tensor:
    """Apply the transpose of `conv3d`, often called deconvolution.

    Args:
      value: [batch, planes, rows, columns, inputs] floating, or in the order of `data_format`.
      filter: [depth, height, width, outputs, inputs] of the dtype of `value`.
      output_shape: [5] int32, shape of the result; it may be a tensor.
      strides: see `conv3d`, also for padding, data_format and dilations.
      name: name of the operation, by default "conv3d_transpose".
      input: the new name of `value`.
      filters: the new name of `filter`.

    Returns:
      [*output_shape] of the dtype of `value`.

    Raises:
      ValueError: the shapes do not fit.

    >>> import daskvars as dv
    >>> value, filter = dv.ones([1, 1, 1, 1, 1]), dv.ones([2, 2, 2, 1, 1])
    >>> conv3d_transpose(value, filter, [1, 2, 2, 2, 1], strides=2).numpy().sum().item()
    8.0
    """
    value = either(input, value, "input", "value")
    filter = either(filters, filter, "filters", "filter")
    options = volume_options(strides, padding, dilations, data_format)
    with name_scope(name, "conv3d_transpose", [value, filter]) as scope:
        value = convert_to_tensor(value, name="value")
        filter = convert_to_tensor(filter, name="filter")
        return apply(
            CONV3D.backward_images,
            filter,
            value,
            name=scope,
            input_shape=as_sizes(output_shape),
            **options,
        )
