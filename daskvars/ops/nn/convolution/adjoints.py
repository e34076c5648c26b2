"""Transposes of dilated and 1-D convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.ops.array.joining import concat
from daskvars.ops.array.reshaping import expand_dims, squeeze
from daskvars.ops.nn.convolution.functions import conv2d_transpose
from daskvars.ops.nn.windows.arguments import PaddingLike, PerAxis
from daskvars.ops.rules.axes import either, is_symbolic


def atrous_conv2d_transpose(
    value: TensorLike,
    filters: TensorLike,
    output_shape: TensorLike,
    rate: int,
    padding: PaddingLike,
    name: str | None = None,
) -> Tensor:
    """Apply the transpose of `atrous_conv2d`.

    Args:
      value: [batch, rows, columns, inputs] floating.
      filters: [height, width, outputs, inputs] of the dtype of `value`.
      output_shape: [4] int32, shape of the result; it may be a tensor.
      rate: distance between the taps of a window, at least 1.
      padding: "SAME" or "VALID".
      name: name of the operation, by default "atrous_conv2d_transpose".

    Returns:
      [*output_shape] of the dtype of `value`.

    Raises:
      ValueError: the shapes do not fit.

    >>> images, filters = dv.ones([1, 1, 1, 1]), dv.ones([2, 2, 1, 1])
    >>> atrous_conv2d_transpose(images, filters, [1, 3, 3, 1], 2, "VALID").numpy().ravel().tolist()
    [1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0]
    """
    name = name or "atrous_conv2d_transpose"
    return conv2d_transpose(value, filters, output_shape, 1, padding, name=name, dilations=rate)


def conv1d_transpose(
    input: TensorLike,
    filters: TensorLike,
    output_shape: Any,
    strides: PerAxis | None = None,
    padding: PaddingLike = "SAME",
    data_format: str = "NWC",
    dilations: PerAxis | None = None,
    name: str | None = None,
    stride: PerAxis | None = None,
) -> Tensor:
    """Apply the transpose of `conv1d`.

    Args:
      input: [batch, windows, inputs] floating, or [batch, inputs, windows].
      filters: [width, outputs, inputs] of the dtype of `input`.
      output_shape: [3] int32, shape of the result; it may be a tensor.
      strides: distance between windows: an int, or a list of one or three.
      padding: "SAME" or "VALID".
      data_format: "NWC" or "NCW".
      dilations: distance between the taps of a window, likewise.
      name: name scope of the operations, by default "conv1d_transpose".
      stride: the old name of `strides`.

    Returns:
      [*output_shape] of the dtype of `input`.

    Raises:
      ValueError: the shapes do not fit, or there are no strides.

    >>> conv1d_transpose([[[1.0], [2.0]]], dv.ones([2, 1, 1]), [1, 4, 1], 2).numpy().ravel()
    array([1., 1., 2., 2.], dtype=float32)
    """
    if data_format not in ("NWC", "NCW"):
        raise ValueError(f"data_format must be 'NWC' or 'NCW', got {data_format!r}")
    height, width = (1, 1) if data_format == "NWC" else (2, 2)
    strides = either(strides, stride, "strides", "stride")
    if strides is None:
        raise ValueError("conv1d_transpose needs strides, the distance between windows")

    def wide(value: PerAxis | None) -> tuple[int, int]:
        given = value if isinstance(value, Sequence) else [1 if value is None else value]
        return 1, given[width if len(given) == 3 else 0]

    with name_scope(name, "conv1d_transpose", [input, filters, output_shape]):
        images = expand_dims(convert_to_tensor(input, name="input"), height)
        sizes: Any
        if is_symbolic(output_shape):
            sizes = concat([output_shape[:height], [1], output_shape[height:]], 0)
        else:
            sizes = [*output_shape[:height], 1, *output_shape[height:]]
        images = conv2d_transpose(
            images,
            expand_dims(filters, 0),
            sizes,
            wide(strides),
            padding,
            "NHWC" if data_format == "NWC" else "NCHW",
            dilations=wide(dilations),
        )
        return squeeze(images, [height])
