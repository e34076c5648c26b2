"""Colours: spaces of them, dtypes of pixels, and shades of grey."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from daskvars import shapes
from daskvars.dtypes import DTypeLike, as_dtype, float32
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import NO_GRADIENT, OpDef, Spec
from daskvars.graph.definitions.patterns import Contraction
from daskvars.graph.interpreter import apply
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.kernels.image import colors as kernels
from daskvars.ops.array.joining import concat
from daskvars.ops.array.one_hot import one_hot
from daskvars.ops.array.rearranging import reverse, roll
from daskvars.ops.array.reshaping import expand_dims, identity
from daskvars.ops.linalg.products import tensordot
from daskvars.ops.math.arithmetic import (
    add,
    multiply,
    number,
    saturate_cast,
    square,
    subtract,
)
from daskvars.ops.math.casting import cast
from daskvars.ops.math.division import div_no_nan, floordiv
from daskvars.ops.math.reduce import argmax, argmin, reduce_sum
from daskvars.surface.signatures import with_arguments_of

GREY = (0.2989, 0.5870, 0.1140)
TO_YIQ = (
    (0.299, 0.59590059, 0.2115),
    (0.587, -0.27455667, -0.52273617),
    (0.114, -0.32134392, 0.31119955),
)
TO_YUV = (
    (0.299, -0.14714119, 0.61497538),
    (0.587, -0.28886916, -0.51496512),
    (0.114, 0.43601035, -0.10001026),
)
FROM_YIQ = ((1, 1, 1), (0.95598634, -0.27201283, -1.10674021), (0.6208248, -0.64720424, 1.70423049))
FROM_YUV = ((1, 1, 1), (0, -0.394642334, 2.03206185), (1.13988303, -0.58062185, 0))


def three_channels(inputs: Sequence[Spec], **attrs: Any) -> Spec:
    """The rule of an op on colours. Raises ValueError unless the last dimension is of 3."""
    shape = inputs[0].shape
    if shape is not None and (not shape or shape[-1] not in (3, None)):
        raise ValueError(f"images must have 3 channels, last: got shape {shapes.show(shape)}")
    return inputs[0] if shape is None else Spec(inputs[0].dtype, (*shape[:-1], 3))


def _color_op(type: str, kernel: Any, gradient: Any) -> OpDef:
    pattern = Contraction("..._->..._", None)
    return OpDef(type, "images:D", three_channels, pattern, kernel, gradient, attributes={})


def _hsv_gradient(op: Operation, dy: Tensor) -> Tensor:
    """With the value v, the largest, and the least of a color, and ``span = v - least``.

    The saturation is ``span / v``, and the hue, less a constant, ``(x - y) / span / 6`` of the
    two after the largest in the circle of red, green and blue. Of equal ones the first is the
    largest, as in the kernel, and the last the least.
    """
    images = op.inputs[0]
    by_hue, by_saturation, by_value = (dy[..., i : i + 1] for i in range(3))
    largest = one_hot(argmax(images, -1), 3, dtype=dy.dtype)
    least = reverse(one_hot(argmin(reverse(images, [-1]), -1), 3, dtype=dy.dtype), [-1])
    difference = subtract(roll(largest, 1, -1), roll(largest, -1, -1))
    value, smallest, opposed = (
        reduce_sum(multiply(images, part), -1, keepdims=True)
        for part in (largest, least, difference)
    )
    span = subtract(value, smallest)
    by_difference = div_no_nan(by_hue, multiply(span, number(6, span)))
    of_hue = div_no_nan(multiply(by_difference, opposed), span)
    by_span = subtract(div_no_nan(by_saturation, value), of_hue)
    of_saturation = div_no_nan(multiply(by_saturation, span), square(value))
    by_value = subtract(add(by_value, by_span), of_saturation)
    of_both = subtract(multiply(largest, by_value), multiply(least, by_span))
    return add(of_both, multiply(difference, by_difference))


RGB_TO_HSV = _color_op("RGBToHSV", kernels.rgb_to_hsv, _hsv_gradient)
HSV_TO_RGB = _color_op("HSVToRGB", kernels.hsv_to_rgb, NO_GRADIENT)


def rgb_to_hsv(images: TensorLike, name: str | None = None) -> Tensor:
    """Return hue, saturation and value of colours.

    Args:
      images: [..., 3] floating, red, green and blue from 0 to 1.
      name: name of the operation, by default "RGBToHSV".

    Returns:
      [..., 3] of the dtype of `images`, all from 0 to 1: red has the hue 0, green 1/3, blue 2/3.

    Raises:
      ValueError: the last dimension is not of 3.

    Source: TensorFlow 1.15, ``tf.image.rgb_to_hsv``.

    >>> rgb_to_hsv([0.0, 0.5, 0.5]).numpy().tolist()
    [0.5, 1.0, 0.5]
    """
    return apply(RGB_TO_HSV, images, name=name)


def hsv_to_rgb(images: TensorLike, name: str | None = None) -> Tensor:
    """Return red, green and blue of colours given as hue, saturation and value. See `rgb_to_hsv`.

    It has no gradient.

    Source: TensorFlow 1.15, ``tf.image.hsv_to_rgb``.

    >>> hsv_to_rgb([0.5, 1.0, 0.5]).numpy().tolist()
    [0.0, 0.5, 0.5]
    """
    return apply(HSV_TO_RGB, images, name=name)


def _product(matrix: Any, scope_name: str, images: TensorLike) -> Tensor:
    with name_scope(None, scope_name, [images]) as scope:
        images = convert_to_tensor(images, name="images")
        three_channels([images.spec])
        kernel = convert_to_tensor(matrix, images.dtype.base_dtype, name="kernel")
        return tensordot(images, kernel, 1, name=scope)


def rgb_to_yuv(images: TensorLike) -> Tensor:
    """Return brightness and two differences of colour.

    Args:
      images: [..., 3] floating; red, green and blue are from 0 to 1.

    Returns:
      [..., 3] of the dtype of `images`.

    Raises:
      ValueError: the last dimension is not of 3.
      TypeError: they are integers.

    Source: TensorFlow 1.15, ``tf.image.rgb_to_yuv``.

    >>> float(rgb_to_yuv([0.0, 0.0, 0.0])[0])
    0.0
    """
    return _product(TO_YUV, "rgb_to_yuv", images)


@with_arguments_of(rgb_to_yuv)
def yuv_to_rgb(**arguments: Any) -> Tensor:
    """Return red, green and blue of brightness and two colour differences. See `rgb_to_yuv`.

    Source: TensorFlow 1.15, ``tf.image.yuv_to_rgb``.

    >>> [round(x, 2) for x in yuv_to_rgb([[0.5, 0.0, 0.25]]).numpy()[0].tolist()]
    [0.78, 0.35, 0.5]
    """
    return _product(FROM_YUV, "yuv_to_rgb", **arguments)


@with_arguments_of(rgb_to_yuv)
def rgb_to_yiq(**arguments: Any) -> Tensor:
    """Return brightness, in-phase and quadrature. See `rgb_to_yuv`.

    Source: TensorFlow 1.15, ``tf.image.rgb_to_yiq``.

    >>> [round(x, 3) for x in rgb_to_yiq([[1.0, 0.0, 0.0]]).numpy()[0].tolist()]
    [0.299, 0.596, 0.212]
    """
    return _product(TO_YIQ, "rgb_to_yiq", **arguments)


@with_arguments_of(rgb_to_yuv)
def yiq_to_rgb(**arguments: Any) -> Tensor:
    """Return red, green and blue of brightness, in-phase and quadrature. See `rgb_to_yiq`.

    Source: TensorFlow 1.15, ``tf.image.yiq_to_rgb``.

    >>> [round(x, 3) for x in yiq_to_rgb([[0.299, 0.596, 0.211]]).numpy()[0].tolist()]
    [1.0, 0.0, -0.001]
    """
    return _product(FROM_YIQ, "yiq_to_rgb", **arguments)


def convert_image_dtype(
    image: TensorLike, dtype: DTypeLike, saturate: bool = False, name: str | None = None
) -> Tensor:
    """Return images in another dtype: floats are from 0 to 1, integers up to their largest.

    Args:
      image: [...] real.
      dtype: the real dtype wanted.
      saturate: values beyond its range become the nearest in it; else they are cut to its bits.
      name: name of the operation, by default "convert_image".

    Returns:
      [...] `dtype`; `image` itself where it has that dtype.

    Source: TensorFlow 1.15, ``tf.image.convert_image_dtype``.

    >>> convert_image_dtype(dv.constant([0, 255], dv.uint8), dv.float32).numpy().tolist()
    [0.0, 1.0]
    """
    image = convert_to_tensor(image, name="image")
    wanted, found = as_dtype(dtype).base_dtype, image.dtype.base_dtype
    if wanted is found:
        return identity(image, name=name)
    converted = saturate_cast if saturate else cast
    with name_scope(name, "convert_image", [image]) as scope:
        if found.is_integer and wanted.is_integer:
            if found.max > wanted.max:
                scaled = floordiv(image, (found.max + 1) // (wanted.max + 1))
                return converted(scaled, wanted, name=scope)
            factor = (wanted.max + 1) // (found.max + 1)
            return multiply(converted(image, wanted), factor, name=scope)
        if found.is_floating and wanted.is_floating:
            return cast(image, wanted, name=scope)
        if found.is_integer:
            return multiply(cast(image, wanted), 1.0 / found.max, name=scope)
        return converted(multiply(image, wanted.max + 0.5), wanted, name=scope)


def rgb_to_grayscale(images: TensorLike, name: str | None = None) -> Tensor:
    """Return colours as shades of grey.

    Args:
      images: [..., 3] real.
      name: name scope of the operations, by default "rgb_to_grayscale".

    Returns:
      [..., 1] of the dtype of `images`.

    Raises:
      ValueError: the last dimension is not of 3.

    Source: TensorFlow 1.15, ``tf.image.rgb_to_grayscale``.

    >>> rgb_to_grayscale(dv.constant([10, 20, 30], dv.uint8)).numpy().tolist()
    [18]
    """
    with name_scope(name, "rgb_to_grayscale", [images]) as scope:
        images = convert_to_tensor(images, name="images")
        three_channels([images.spec])
        pixels = convert_image_dtype(images, float32)
        grey = tensordot(pixels, convert_to_tensor(GREY, float32), [[-1], [-1]])
        return convert_image_dtype(expand_dims(grey, -1), images.dtype, name=scope)


def grayscale_to_rgb(images: TensorLike, name: str | None = None) -> Tensor:
    """Return shades of grey as colours.

    Args:
      images: [..., 1] any dtype.
      name: name scope of the operations, by default "grayscale_to_rgb".

    Returns:
      [..., 3] of the dtype of `images`.

    Raises:
      ValueError: the last dimension is not of 1.

    Source: TensorFlow 1.15, ``tf.image.grayscale_to_rgb``.

    >>> grayscale_to_rgb([[7]]).numpy().tolist()
    [[7, 7, 7]]
    """
    with name_scope(name, "grayscale_to_rgb", [images]) as scope:
        images = convert_to_tensor(images, name="images")
        shape = images.spec.shape
        if shape is not None and (not shape or shape[-1] not in (1, None)):
            raise ValueError(f"images must have 1 channel, last: got {shapes.show(shape)}")
        return concat([images] * 3, -1, name=scope)
