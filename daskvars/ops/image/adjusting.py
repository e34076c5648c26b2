"""Brightness, contrast, hue, saturation and gamma, by choice or by chance; standardized images."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from daskvars import shapes
from daskvars.dtypes import float16, float32
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.opdef import UNDEFINED_GRADIENT, OpDef, Spec, without_gradient
from daskvars.graph.definitions.patterns import Contraction
from daskvars.graph.interpreter import apply
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.kernels.image import colors as kernels
from daskvars.ops.array.constant import shape as shape_of
from daskvars.ops.control.dependencies import Assert, with_dependencies
from daskvars.ops.image.colors import convert_image_dtype, three_channels
from daskvars.ops.image.sizes import check_image
from daskvars.ops.math.arithmetic import add, maximum, multiply, square, subtract
from daskvars.ops.math.casting import cast
from daskvars.ops.math.division import truediv
from daskvars.ops.math.reduce import reduce_mean, reduce_prod
from daskvars.ops.math.transcendental import pow, rsqrt, sqrt
from daskvars.ops.random.distributions import random_uniform
from daskvars.ops.rules import axes
from daskvars.surface.signatures import Argument, Family


def _adjusted(image: TensorLike, change: Callable[[Tensor], Tensor]) -> Tensor:
    """Change images as floats, and return them in their own dtype."""
    image = convert_to_tensor(image, name="image")
    found = image.dtype.base_dtype
    pixels = image if found in (float16, float32) else convert_image_dtype(image, float32)
    return convert_image_dtype(change(pixels), found, saturate=True)


def adjust_brightness(image: TensorLike, delta: TensorLike) -> Tensor:
    """Return images with something added to all pixels.

    Args:
      image: [..., channels] real; of integers the largest counts as 1.
      delta: scalar floating, usually between -1 and 1.

    Returns:
      The images, shaped and typed as `image`; integers stay within their range.

    Source: TensorFlow 1.15, ``tf.image.adjust_brightness``.

    >>> adjust_brightness(dv.constant([100, 200], dv.uint8), 0.5).numpy().tolist()
    [227, 255]
    """
    with name_scope(None, "adjust_brightness", [image, delta]):
        return _adjusted(image, lambda x: add(x, cast(delta, x.dtype)))


def adjust_contrast(images: TensorLike, contrast_factor: TensorLike) -> Tensor:
    """Return images with the distance of pixels from their channel's mean times a factor.

    Args:
      images: [..., height, width, channels] real.
      contrast_factor: scalar floating.

    Returns:
      The images, shaped and typed as `images`; integers stay within their range.

    Raises:
      ValueError: the rank is below 3.

    Source: TensorFlow 1.15, ``tf.image.adjust_contrast``.

    >>> adjust_contrast([[[1.0], [3.0]]], 2.0).numpy().ravel().tolist()
    [0.0, 4.0]
    """

    def change(x: Tensor) -> Tensor:
        mean = reduce_mean(x, axis=[-3, -2], keepdims=True)
        return add(multiply(subtract(x, mean), cast(contrast_factor, x.dtype)), mean)

    with name_scope(None, "adjust_contrast", [images, contrast_factor]):
        images = convert_to_tensor(images, name="images")
        check_image(images)
        return _adjusted(images, change)


def adjust_gamma(image: TensorLike, gamma: Any = 1, gain: Any = 1) -> Tensor:
    """Return images with each pixel to the power of `gamma`, times `gain`.

    Args:
      image: [..., channels] real; of integers the largest counts as 1.
      gamma: scalar, 0 or more.
      gain: scalar.

    Returns:
      The images, shaped and typed as `image`; integers stay within their range.

    Raises:
      ValueError: `gamma` is negative.
      InvalidArgumentError: (when run) `gamma` is a tensor, and negative.

    Source: TensorFlow 1.15, ``tf.image.adjust_gamma``.

    >>> adjust_gamma([0.5], 2).numpy().tolist()
    [0.25]
    """
    if not axes.is_symbolic(gamma) and gamma < 0:
        raise ValueError(f"Gamma should be a non-negative real number. Got {gamma}")

    def change(x: Tensor) -> Tensor:
        return multiply(cast(gain, x.dtype), pow(x, cast(gamma, x.dtype)))

    with name_scope(None, "adjust_gamma", [image, gamma, gain]):
        if axes.is_symbolic(gamma):
            refused = "Gamma should be a non-negative real number."
            gamma = with_dependencies([Assert(gamma >= 0, [refused, gamma])], gamma)
        return _adjusted(image, change)


def _of_colors(inputs: Sequence[Spec], **attrs: Any) -> Spec:
    if inputs[1].shape not in ((), None):
        raise ValueError(f"Shape must be rank 0, got {shapes.show(inputs[1].shape)}")
    return three_channels(inputs)


def _color_op(type: str, kernel: Any, number: str) -> OpDef:
    return without_gradient(
        type,
        f"images:D, {number}:A",
        infer=_of_colors,
        kernel=kernel,
        pattern=Contraction("..._,->..._", None),
        gradient=UNDEFINED_GRADIENT,
        attributes={},
    )


_OF_COLORS = Family(
    {
        "image": Argument("[..., 3] real, red, green and blue."),
        "delta": Argument("scalar floating."),
        "saturation_factor": Argument("scalar floating."),
        "name": Argument('name scope of the operations, by default "{function}".'),
    },
    returns="The images, shaped and typed as `image`. It has no gradient.",
    raises="ValueError: the last dimension is not of 3.",
)
HUE = _color_op("AdjustHue", kernels.adjust_hue, "delta")
SATURATION = _color_op("AdjustSaturation", kernels.adjust_saturation, "scale")


@_OF_COLORS.documents()
def adjust_hue(image: TensorLike, delta: TensorLike, name: str | None = None) -> Tensor:
    """Return images with something added to their hue, which is from 0 to 1 and then 0 again.

    Source: TensorFlow 1.15, ``tf.image.adjust_hue``.

    >>> adjust_hue([[[1.0, 0.0, 0.0]]], 0.5).numpy().ravel().tolist()
    [0.0, 1.0, 1.0]
    """
    with name_scope(name, "adjust_hue", [image, delta]):
        return _adjusted(
            image, lambda x: apply(HUE, x, convert_to_tensor(delta, dtype_hint=float32))
        )


@_OF_COLORS.documents()
def adjust_saturation(
    image: TensorLike, saturation_factor: TensorLike, name: str | None = None
) -> Tensor:
    """Return images with their saturation times a factor.

    Source: TensorFlow 1.15, ``tf.image.adjust_saturation``.

    >>> adjust_saturation([1.0, 0.5, 0.5], 0.0).numpy().tolist()
    [1.0, 1.0, 1.0]
    """
    with name_scope(name, "adjust_saturation", [image, saturation_factor]):
        factor = convert_to_tensor(saturation_factor, dtype_hint=float32)
        return _adjusted(image, lambda x: apply(SATURATION, x, factor))


# -- by chance ---------------------------------------------------------------------------------


def _between(lower: float, upper: float, what: str) -> None:
    if upper <= lower:
        raise ValueError(f"upper must be > lower, got {lower} and {upper}")
    if lower < 0:
        raise ValueError(f"lower must be non-negative, got {lower}: it is a factor of {what}")


def random_brightness(image: TensorLike, max_delta: float, seed: int | None = None) -> Tensor:
    """Return images with a number from -`max_delta` to `max_delta` added. See `adjust_brightness`.

    Args:
      image: [..., channels] real.
      max_delta: 0 or more.
      seed: int, see `set_random_seed`.

    Returns:
      [..., channels] of the dtype of `image`.

    Raises:
      ValueError: `max_delta` is negative.

    Source: TensorFlow 1.15, ``tf.image.random_brightness``.

    >>> dark, bright = random_brightness([[[1.0, 5.0]]], 0.5, seed=1).numpy().ravel()
    >>> round(float(bright - dark), 4), bool(0.5 <= dark <= 1.5)
    (4.0, True)
    """
    if max_delta < 0:
        raise ValueError(f"max_delta must be non-negative, got {max_delta}")
    return adjust_brightness(image, random_uniform([], -max_delta, max_delta, seed=seed))


_BETWEEN = Family(
    {
        "image": Argument("{shape} real."),
        "lower": Argument("0 or more."),
        "upper": Argument("above `lower`."),
        "seed": Argument("int, see `set_random_seed`."),
    },
    returns="{shape} of the dtype of `image`.",
    raises="ValueError: the bounds are not in order, or one is negative.",
)


@_BETWEEN.documents(shape="[..., height, width, channels]")
def random_contrast(
    image: TensorLike, lower: float, upper: float, seed: int | None = None
) -> Tensor:
    """Return images with a contrast times a number between two. See `adjust_contrast`.

    Source: TensorFlow 1.15, ``tf.image.random_contrast``.

    >>> y = random_contrast([[[1.0], [3.0]]], 0.5, 2.0, seed=1).numpy().ravel()
    >>> float(y.mean()), bool(1.0 <= y[1] - y[0] <= 4.0)
    (2.0, True)
    """
    _between(lower, upper, "the contrast")
    return adjust_contrast(image, random_uniform([], lower, upper, seed=seed))


def random_hue(image: TensorLike, max_delta: float, seed: int | None = None) -> Tensor:
    """Return images with a number from -`max_delta` to `max_delta` added to the hue.

    Args:
      image: [..., 3] real.
      max_delta: from 0 to 0.5.
      seed: int, see `set_random_seed`.

    Returns:
      [..., 3] of the dtype of `image`.

    Raises:
      ValueError: `max_delta` is another.

    See `adjust_hue`.

    Source: TensorFlow 1.15, ``tf.image.random_hue``.

    >>> pixel = random_hue([[[0.25, 0.5, 1.0]]], 0.5, seed=1).numpy()
    >>> float(pixel.min()), float(pixel.max())
    (0.25, 1.0)
    """
    if not 0 <= max_delta <= 0.5:
        raise ValueError(f"max_delta must be from 0 to 0.5, got {max_delta}")
    return adjust_hue(image, random_uniform([], -max_delta, max_delta, seed=seed))


@_BETWEEN.documents(shape="[..., 3]")
def random_saturation(
    image: TensorLike, lower: float, upper: float, seed: int | None = None
) -> Tensor:
    """Return images with a saturation times a number between two. See `adjust_saturation`.

    Source: TensorFlow 1.15, ``tf.image.random_saturation``.

    >>> red, green, blue = random_saturation([[[0.5, 0.75, 1.0]]], 0.0, 1.0, seed=1).numpy()[0, 0]
    >>> float(blue), bool(red >= 0.5)
    (1.0, True)
    """
    _between(lower, upper, "the saturation")
    return adjust_saturation(image, random_uniform([], lower, upper, seed=seed))


# -- standardized ------------------------------------------------------------------------------


def per_image_standardization(image: TensorLike) -> Tensor:
    """Return images with a mean of 0 and a deviation of 1, each on its own.

    The deviation counts as 1 / sqrt(number of pixels) at least, so that an image of one colour is
    no division by zero.

    Args:
      image: [..., height, width, channels] real.

    Returns:
      The images, float32.

    Raises:
      ValueError: the rank is below 3.

    Source: TensorFlow 1.15, ``tf.image.per_image_standardization``.

    >>> per_image_standardization([[[1.0], [3.0]]]).numpy().ravel().tolist()
    [-1.0, 1.0]
    """
    with name_scope(None, "per_image_standardization", [image]) as scope:
        image = convert_to_tensor(image, name="image")
        check_image(image)
        pixels = cast(image, float32)
        shape = image.spec.shape
        where = [-3, -2, -1]
        size = shapes.size(shape[-3:]) if shape is not None else None
        count: Any = reduce_prod(shape_of(image)[-3:]) if size is None else size
        mean = reduce_mean(pixels, axis=where, keepdims=True)
        distance = subtract(pixels, mean)
        deviation = sqrt(reduce_mean(square(distance), axis=where, keepdims=True))
        lowest = rsqrt(cast(count, float32))
        return truediv(distance, maximum(deviation, lowest), name=scope)
