"""Convolutions made of the families: separable, dilated, in one dimension, by rank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.interpreter import apply
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.ops.array.reshaping import expand_dims, squeeze
from daskvars.ops.nn.convolution.families import CONV2D, CONV3D, DEPTHWISE
from daskvars.ops.nn.windows.arguments import PaddingLike, PerAxis, per_axis
from daskvars.ops.rules.axes import either
from daskvars.surface.accepted import accepts


def depthwise_conv2d(
    input: TensorLike,
    filter: TensorLike,
    strides: PerAxis,
    padding: PaddingLike,
    rate: TensorLike | None = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: PerAxis | None = None,
) -> Tensor:
    """Convolve each channel with its own filters.

    Args:
      input: [batch, height, width, inputs] floating, or in the order of `data_format`.
      filter: [height, width, inputs, multiplier] of the dtype of `input`.
      strides, padding, data_format: as of `conv2d`.
      rate: distance between the taps of a window: an int or two.
      name: name of the operation, by default "depthwise".
      dilations: the new name of `rate`.

    Returns:
      [batch, rows, columns, inputs * multiplier] of the dtype of `input`.

    Raises:
      ValueError: the channels differ, or strides and rate are both above 1.

    >>> depthwise_conv2d(dv.ones([1, 1, 1, 2]), dv.ones([1, 1, 2, 3]), 1, "SAME").shape.as_list()
    [1, 1, 1, 6]
    """
    options = _dilated_options(
        strides, padding, either(dilations, rate, "dilations", "rate"), data_format
    )
    with name_scope(name, "depthwise", [input, filter]) as scope:
        return apply(DEPTHWISE.forward, input, filter, name=scope, **options)


def separable_conv2d(
    input: TensorLike,
    depthwise_filter: TensorLike,
    pointwise_filter: TensorLike,
    strides: PerAxis,
    padding: PaddingLike,
    rate: TensorLike | None = None,
    name: str | None = None,
    data_format: str | None = None,
    dilations: PerAxis | None = None,
) -> Tensor:
    """Convolve each channel on its own, then mix the channels.

    Args:
      input: [batch, height, width, inputs] floating, or in the order of `data_format`.
      depthwise_filter: [height, width, inputs, multiplier] of the dtype of `input`.
      pointwise_filter: [1, 1, inputs * multiplier, outputs] of the dtype of `input`.
      strides, padding, rate, data_format, dilations: of the first step, as of `depthwise_conv2d`.
      name: name of the last operation, by default "separable_conv2d".

    Returns:
      [batch, rows, columns, outputs] of the dtype of `input`.

    Raises:
      ValueError: the filters do not fit each other or `input`.

    >>> filters = dv.ones([2, 2, 3, 2]), dv.ones([1, 1, 6, 8])
    >>> separable_conv2d(dv.ones([1, 4, 4, 3]), *filters, 1, "VALID").shape.as_list()
    [1, 3, 3, 8]
    """
    options = _dilated_options(
        strides, padding, either(dilations, rate, "dilations", "rate"), data_format
    )
    with name_scope(name, "separable_conv2d", [input, depthwise_filter, pointwise_filter]) as scope:
        depthwise_filter = convert_to_tensor(depthwise_filter, name="depthwise_filter")
        pointwise_filter = convert_to_tensor(pointwise_filter, name="pointwise_filter")
        size = pointwise_filter.spec.shape
        if size is not None and (len(size) != 4 or not {size[0], size[1]} <= {1, None}):
            raise ValueError(
                f"pointwise_filter must have shape [1, 1, inputs * multiplier, outputs], got "
                f"{pointwise_filter.shape}"
            )
        between = apply(DEPTHWISE.forward, input, depthwise_filter, name="depthwise", **options)
        plain = CONV2D.options(None, "VALID", None, data_format)
        return apply(CONV2D.forward, between, pointwise_filter, name=scope, **plain)


def _dilated_options(strides: Any, padding: Any, rate: Any, data_format: str | None) -> dict:
    return _checked(DEPTHWISE.options(strides, padding, rate, data_format))


def _checked(options: dict[str, Any]) -> dict[str, Any]:
    if max(options["strides"]) > 1 and max(options["dilations"]) > 1:
        raise ValueError("strides > 1 not supported in conjunction with dilation_rate > 1")
    return options


def atrous_conv2d(
    value: TensorLike, filters: TensorLike, rate: int, padding: PaddingLike, name: str | None = None
) -> Tensor:
    """Convolve images with a filter whose taps are `rate` pixels apart.

    Args:
      value: [batch, height, width, inputs] floating.
      filters: [height, width, inputs, outputs] of the dtype of `value`.
      rate: the distance, at least 1.
      padding: "SAME" or "VALID".
      name: name of the operation, by default "convolution".

    Returns:
      [batch, rows, columns, outputs] of the dtype of `value`.

    Source: Chen et al., "Semantic Image Segmentation with Deep Convolutional Nets and Fully
    Connected CRFs", 2014.

    >>> atrous_conv2d(dv.ones([1, 5, 5, 1]), dv.ones([3, 3, 1, 1]), 2, "VALID").numpy().ravel()
    array([9.], dtype=float32)
    """
    return convolution(value, filters, padding, dilation_rate=(rate, rate), name=name)


def convolution(
    input: TensorLike,
    filter: TensorLike | None = None,
    padding: Any = None,
    strides: Sequence[int] | None = None,
    dilation_rate: Sequence[int] | None = None,
    name: str | None = None,
    data_format: str | None = None,
    filters: TensorLike | None = None,
    dilations: Sequence[int] | None = None,
) -> Tensor:
    """Convolve in one, two or three dimensions, by the rank of the filter.

    Args:
      input: [batch, *space, inputs] floating, or [batch, inputs, *space].
      filter: [*window, inputs, outputs] of the dtype of `input`.
      padding: "SAME" or "VALID".
      strides: an int for each dimension of space, by default ones.
      dilation_rate: an int for each dimension of space, by default ones; or `strides` are ones.
      name: name of the operation, by default "convolution".
      data_format: "NWC" or "NCW", "NHWC" or "NCHW", "NDHWC" or "NCDHW"; by default channels are
        last.
      filters: the new name of `filter`.
      dilations: the new name of `dilation_rate`.

    Returns:
      [batch, *space, outputs] of the dtype of `input`, in the order of `data_format`.

    Raises:
      ValueError: the filter has other than 1 to 3 dimensions of space, channels differ, or
        strides and dilations are both above 1.

    >>> convolution(dv.ones([1, 5, 2]), dv.ones([3, 2, 4]), "VALID").shape.as_list()
    [1, 3, 4]
    """
    filter = either(filters, filter, "filters", "filter")
    rate = either(dilations, dilation_rate, "dilations", "dilation_rate")
    with name_scope(name, "convolution", [input, filter]) as scope:
        input = convert_to_tensor(input, name="input")
        filter = convert_to_tensor(filter, input.dtype.base_dtype, name="filter")
        rank = None if filter.spec.shape is None else len(filter.spec.shape) - 2
        if rank not in (1, 2, 3):
            raise ValueError(
                "convolution takes filters with 1 to 3 dimensions of space, [*window, inputs, "
                f"outputs], got shape {filter.shape}"
            )
        if rank == 1:
            return _conv1d(input, filter, strides, padding, rate, data_format, scope)
        family = CONV2D if rank == 2 else CONV3D
        found = _checked(family.options(strides, padding, rate, data_format))
        return apply(family.forward, input, filter, name=scope, **found)


@accepts("use_cudnn_on_gpu")
def conv1d(
    value: TensorLike | None = None,
    filters: TensorLike | None = None,
    stride: PerAxis | None = None,
    padding: PaddingLike | None = None,
    use_cudnn_on_gpu: bool | None = None,
    data_format: str | None = None,
    name: str | None = None,
    input: TensorLike | None = None,
    dilations: PerAxis | None = None,
) -> Tensor:
    """Convolve sequences with a filter.

    Args:
      value: [batch, width, inputs] floating, or [batch, inputs, width].
      filters: [width, inputs, outputs] of the dtype of `value`.
      stride: distance between windows, an int.
      padding: "SAME" or "VALID".
      data_format: "NWC" (the default) or "NCW".
      name: name of the operation, by default "conv1d".
      input: the new name of `value`.
      dilations: distance between the taps of a window, an int.

    Returns:
      [batch, windows, outputs] of the dtype of `value`.

    Raises:
      ValueError: the channels differ, or a rank is not 3.

    >>> conv1d([[[1.0], [2.0], [4.0]]], [[[1.0]], [[1.0]]], 1, "VALID").numpy().ravel().tolist()
    [3.0, 6.0]
    """
    value = either(input, value, "input", "value")
    with name_scope(name, "conv1d", [value, filters]) as scope:
        value = convert_to_tensor(value, name="value")
        filters = convert_to_tensor(filters, value.dtype.base_dtype, name="filters")
        return _conv1d(value, filters, stride, padding, dilations, data_format, scope)


def _conv1d(
    value: Tensor,
    filters: Tensor,
    stride: Any,
    padding: Any,
    rate: Any,
    data_format: str | None,
    scope: str,
) -> Tensor:
    """Convolve as images of height 1."""
    formats = {None: "NHWC", "NWC": "NHWC", "NHWC": "NHWC", "NCW": "NCHW", "NCHW": "NCHW"}
    if data_format not in formats:
        raise ValueError(f'data_format must be "NWC" or "NCW", got {data_format!r}')
    data_format = formats[data_format]
    height = 1 if data_format == "NHWC" else 2
    options = CONV2D.options(
        _wide(stride, data_format, "stride"),
        padding,
        _wide(rate, data_format, "dilations"),
        data_format,
    )
    images, taps = expand_dims(value, height), expand_dims(filters, 0)
    return squeeze(apply(CONV2D.forward, images, taps, name=scope, **options), [height])


def _wide(value: Any, data_format: str, what: str) -> tuple[int, ...]:
    """Return one along the height and `value`, an int or one of length 1 or 3, along the width."""
    given = tuple(value) if isinstance(value, Sequence) else (1 if value is None else value,)
    if len(given) not in (1, 3):
        raise ValueError(f"{what} should be of length 1 or 3 but was {len(given)}")
    width = given[-1] if len(given) == 1 or data_format == "NCHW" else given[1]
    return per_axis((1, width), data_format, what)
