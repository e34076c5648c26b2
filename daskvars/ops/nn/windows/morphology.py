"""Greyscale dilation and erosion of images; batch and channels may be cut.

A dilation is linear in images and filter together as long as the maxima stay where they are: its
two gradients transpose its tangent, and are differentiated by it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from daskvars import shapes
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import OpDef, Spec
from daskvars.graph.definitions.patterns import Contraction
from daskvars.graph.indexed_slices import Gradients
from daskvars.graph.interpreter import apply
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.kernels.nn.windows import morphology
from daskvars.kernels.nn.windows.sliding import windowed_shape
from daskvars.ops.array.constant import zeros_like
from daskvars.ops.array.rearranging import reverse
from daskvars.ops.math.arithmetic import negative
from daskvars.ops.nn.windows.arguments import PerAxis, check_equal, image_shape, per_axis
from daskvars.ops.rules.axes import either
from daskvars.ops.rules.shapes import like_first


def _dilated(inputs: Sequence[Spec], **options: Any) -> Spec:
    image, filters = image_shape(inputs[0]), image_shape(inputs[1], "filter", rank=3)
    depth = check_equal(
        image[3],
        filters[2],
        f"channels of the input {shapes.show(image)} and of the filter {shapes.show(filters)}",
    )
    return Spec(inputs[0].dtype, windowed_shape(image, filters[:2], depth, **options))


def _gradients(op: Operation, dy: Tensor) -> tuple[Tensor, Tensor]:
    operands = (*op.inputs[:2], dy)
    return (
        apply(DILATION2D_BACKPROP_INPUT, *operands, **op.attrs),
        apply(DILATION2D_BACKPROP_FILTER, *operands, **op.attrs),
    )


def _gradients_of_tangent(op: Operation, dy: Tensor) -> Gradients:
    return (None, None, *_gradients(op, dy))


def _gradients_of_backprop_input(op: Operation, dx: Tensor) -> Gradients:
    x, w = op.inputs[:2]
    return (None, None, apply(DILATION2D_TANGENT, x, w, dx, zeros_like(w), **op.attrs))


def _gradients_of_backprop_filter(op: Operation, dw: Tensor) -> Gradients:
    x, w = op.inputs[:2]
    return (None, None, apply(DILATION2D_TANGENT, x, w, zeros_like(x), dw, **op.attrs))


DILATION2D = OpDef(
    "Dilation2D",
    "input:R, filter:R",
    infer=_dilated,
    pattern=Contraction("n__c,__c->n__c", None),
    kernel=morphology.dilation2d,
    gradient=_gradients,
)
DILATION2D_BACKPROP_INPUT = OpDef(
    "Dilation2DBackpropInput",
    "input:R, filter:R, out_backprop:R",
    infer=like_first,
    pattern=Contraction("n__c,__c,n__c->n__c", None),
    kernel=morphology.dilation2d_backprop_input,
    gradient=_gradients_of_backprop_input,
)
DILATION2D_BACKPROP_FILTER = OpDef(
    "Dilation2DBackpropFilter",
    "input:R, filter:R, out_backprop:R",
    infer=lambda inputs, **options: inputs[1],
    pattern=Contraction("n__c,__c,n__c->__c"),
    kernel=morphology.dilation2d_backprop_filter,
    gradient=_gradients_of_backprop_filter,
)
DILATION2D_TANGENT = OpDef(
    "Dilation2DTangent",
    "input:R, filter:R, input_tangent:R, filter_tangent:R",
    infer=_dilated,
    pattern=Contraction("n__c,__c,n__c,__c->n__c", None),
    kernel=morphology.dilation2d_tangent,
    gradient=_gradients_of_tangent,
)


def _options(strides: PerAxis | None, rates: PerAxis | None, padding: str | None) -> dict[str, Any]:
    if padding not in ("SAME", "VALID"):
        raise ValueError(f"padding must be 'SAME' or 'VALID', got {padding!r}")
    return {
        "strides": per_axis(strides, "NHWC", "strides"),
        "dilations": per_axis(rates, "NHWC", "rates"),
        "padding": padding,
    }


def dilation2d(
    input: TensorLike,
    filter: TensorLike | None = None,
    strides: PerAxis | None = None,
    rates: PerAxis | None = None,
    padding: str | None = None,
    name: str | None = None,
    filters: TensorLike | None = None,
    dilations: PerAxis | None = None,
) -> Tensor:
    """Return the greyscale dilation of images: the maximum of what each window sees, plus a filter.

    Of a filter of zeros it is max-pooling with windows of the filter's size. What is outside of the
    image never wins.

    Args:
      input: [batch, height, width, channels] real.
      filter: [rows, columns, channels] of the dtype of `input`, of each channel its own.
      strides: distance between windows: an int, two, or four of which the outer ones are 1; by
        default 1.
      rates: distance between the pixels that a window sees, likewise.
      padding: "SAME" or "VALID".
      name: name of the operation, by default "Dilation2D".
      filters, dilations: the new names of `filter` and `rates`.

    Returns:
      [batch, rows, columns, channels] of the dtype of `input`.

    Raises:
      ValueError: the numbers of channels differ, a rank is wrong, or a window is larger than the
        image.

    Gradient:
      Of each window, to the first pixel and the first place of the filter that gave its maximum.

    >>> image = dv.reshape(dv.range(6.0), [1, 2, 3, 1])
    >>> dilation2d(image, [[[0.0], [10.0]]], 1, 1, "VALID").numpy().ravel().tolist()
    [11.0, 12.0, 14.0, 15.0]
    """
    filters = either(filters, filter, "filters", "filter")
    options = _options(strides, either(dilations, rates, "dilations", "rates"), padding)
    with name_scope(name, "Dilation2D", [input, filters]) as scope:
        return apply(DILATION2D, input, filters, name=scope, **options)


def erosion2d(
    value: TensorLike,
    kernel: TensorLike,
    strides: PerAxis,
    rates: PerAxis,
    padding: str,
    name: str | None = None,
) -> Tensor:
    """Return the greyscale erosion of images: the minimum of what each window sees, minus a filter.

    It is the negative of the dilation of ``-value`` by the filter seen from its other end: the
    place ``[0, 0]`` of `kernel` is subtracted from the last pixel of a window.

    Args:
      value: [batch, height, width, channels] real.
      kernel: [rows, columns, channels] of the dtype of `value`, of each channel its own.
      strides, rates, padding: as of `dilation2d`.
      name: name of the operation, by default "erosion2d".

    Returns:
      [batch, rows, columns, channels] of the dtype of `value`.

    Raises:
      ValueError: as by `dilation2d`.

    >>> image = dv.reshape(dv.range(6.0), [1, 2, 3, 1])
    >>> erosion2d(image, [[[0.0], [10.0]]], 1, 1, "VALID").numpy().ravel().tolist()
    [-10.0, -9.0, -7.0, -6.0]
    """
    with name_scope(name, "erosion2d", [value, kernel]) as scope:
        value = convert_to_tensor(value, name="value")
        turned = reverse(convert_to_tensor(kernel, value.dtype, name="kernel"), [0, 1])
        options = _options(strides, rates, padding)
        return negative(apply(DILATION2D, negative(value), turned, **options), name=scope)
