"""How alike images are, and how they change from one pixel to the next."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy

from daskvars import shapes
from daskvars.dtypes import float32
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.ops.array.constant import constant, shape as shape_of, size_along
from daskvars.ops.array.joining import concat
from daskvars.ops.array.padding import pad
from daskvars.ops.array.repeating import tile
from daskvars.ops.array.reshaping import ensure_shape, reshape
from daskvars.ops.image.colors import convert_image_dtype
from daskvars.ops.image.sizes import height_and_width, is_one_image
from daskvars.ops.math.arithmetic import abs, add, multiply, square, squared_difference, subtract
from daskvars.ops.math.casting import cast
from daskvars.ops.math.division import truediv
from daskvars.ops.math.reduce import reduce_mean, reduce_sum
from daskvars.ops.math.transcendental import log, pow
from daskvars.ops.nn.activation import relu
from daskvars.ops.nn.convolution.composed import depthwise_conv2d
from daskvars.ops.nn.windows.pooling import avg_pool
from daskvars.ops.rules import axes

MS_SSIM_FACTORS = (0.0448, 0.2856, 0.3001, 0.2363, 0.1333)


# -- from pixel to pixel -----------------------------------------------------------------------


def _steps(images: Tensor) -> tuple[Tensor, Tensor]:
    """Return how images [..., height, width, channels] change from row to row, and column."""
    down = images[..., 1:, :, :] - images[..., :-1, :, :]
    return down, images[..., 1:, :] - images[..., :-1, :]


def total_variation(images: TensorLike, name: str | None = None) -> Tensor:
    """Return the sum of the absolute differences of neighbouring pixels.

    Args:
      images: [batch, height, width, channels] or [height, width, channels] number.
      name: name scope of the operations, by default "total_variation".

    Returns:
      [batch], or a scalar for one image, of the dtype of `images`.

    Raises:
      ValueError: the rank is neither 3 nor 4.

    Source: TensorFlow 1.15, ``tf.image.total_variation``.

    >>> float(total_variation([[[1.0], [3.0]]]))
    2.0
    """
    with name_scope(name, "total_variation", [images]) as scope:
        images = convert_to_tensor(images, name="images")
        is_one_image(images, "images")
        down, across = [reduce_sum(abs(step), axis=[-3, -2, -1]) for step in _steps(images)]
        return add(down, across, name=scope)


def image_gradients(image: TensorLike) -> tuple[Tensor, Tensor]:
    """Return how images change from each pixel to the next below, and to the next on the right.

    Args:
      image: [batch, height, width, channels] number.

    Returns:
      Two tensors shaped and typed as `image`; zeros in the last row, or column.

    Raises:
      ValueError: the rank is not 4.

    Source: TensorFlow 1.15, ``tf.image.image_gradients``.

    >>> image_gradients([[[[1.0], [3.0]]]])[1].numpy().ravel().tolist()
    [2.0, 0.0]
    """
    image = convert_to_tensor(image, name="image")
    if image.shape.ndims != 4:
        raise ValueError(
            f"image_gradients expects a 4D tensor [batch_size, h, w, d], not {image.shape}"
        )
    down, across = _steps(image)
    return (
        pad(down, [[0, 0], [0, 1], [0, 0], [0, 0]]),
        pad(across, [[0, 0], [0, 0], [0, 1], [0, 0]]),
    )


def sobel_edges(image: TensorLike) -> Tensor:
    """Return images' vertical and horizontal edges, by Sobel's filters.

    Args:
      image: [batch, height, width, channels] floating, of 2 rows and columns at least.

    Returns:
      [batch, height, width, channels, 2] of the dtype of `image`.

    Raises:
      ValueError: the rank is not 4, or the number of channels is not known.

    Source: TensorFlow 1.15, ``tf.image.sobel_edges``.

    >>> sobel_edges(dv.reshape(dv.range(4.0), [1, 2, 2, 1])).numpy().shape
    (1, 2, 2, 1, 2)
    """
    image = convert_to_tensor(image, name="image")
    if image.shape.ndims != 4:
        raise ValueError(f"image must be of rank 4, got shape {image.shape}")
    down = numpy.array([[-1, -2, -1], [0, 0, 0], [1, 2, 1]])
    filters = numpy.stack([down, down.T], axis=-1)[:, :, None]
    kernel = constant(filters, image.dtype.base_dtype)
    padded = pad(image, [[0, 0], [1, 1], [1, 1], [0, 0]], "REFLECT")
    edges = _each_channel(padded, kernel)
    known = image.spec.shape
    sizes: Any = [-1 if n is None else n for n in known or ()]
    if sizes.count(-1) > 1:
        sizes = shape_of(image)
        return reshape(edges, concat([sizes, [2]], 0))
    return reshape(edges, [*sizes, 2])


def _each_channel(images: Tensor, kernel: Tensor) -> Tensor:
    """Return images [batch, height, width, channels] with one filter on each channel."""
    filters = tile(kernel, [1, 1, size_along(images, -1), 1])
    return depthwise_conv2d(images, filters, [1, 1, 1, 1], "VALID")


# -- two images --------------------------------------------------------------------------------


def _pair(a: TensorLike, b: TensorLike, max_val: TensorLike) -> tuple[Tensor, Tensor, Tensor]:
    """Return two images and the largest value as floats. Raises ValueError where shapes differ."""
    a, b = convert_to_tensor(a, name="a"), convert_to_tensor(b, name="b")
    for x in (a, b):
        if x.spec.shape is not None and len(x.spec.shape) < 3:
            raise ValueError(f"images must be of rank 3 or more, got shape {x.shape}")
    known = [x.spec.shape[-3:] for x in (a, b) if x.spec.shape is not None]
    if len(known) == 2 and not shapes.compatible(*known):
        raise ValueError(f"Two images are not compatible: {a.shape} and {b.shape}")
    largest = convert_image_dtype(cast(max_val, a.dtype), float32)
    return convert_image_dtype(a, float32), convert_image_dtype(b, float32), largest


def psnr(a: TensorLike, b: TensorLike, max_val: TensorLike, name: str | None = None) -> Tensor:
    """Return the peak signal-to-noise ratio of pairs of images, in decibels.

    Args:
      a: [..., height, width, channels] real.
      b: as `a`.
      max_val: scalar, the largest that a pixel can be.
      name: name scope of the operations, by default "PSNR".

    Returns:
      [...] float32.

    Raises:
      ValueError: the rank is below 3, or the sizes differ.

    Source: TensorFlow 1.15, ``tf.image.psnr``.

    >>> round(float(psnr([[[0.0], [0.0]]], [[[0.1], [0.1]]], 1.0)), 3)
    20.0
    """
    with name_scope(name, "PSNR", [a, b]) as scope:
        a, b, largest = _pair(a, b, max_val)
        error = reduce_mean(squared_difference(a, b), axis=[-3, -2, -1])
        peak = multiply(log(largest), 20 / math.log(10))
        return subtract(peak, multiply(log(error), 10 / math.log(10)), name=scope)


def _gauss(size: int, sigma: float) -> numpy.ndarray:
    """Return the weights [size] of a Gaussian window along one dimension, of sum 1."""
    places = numpy.arange(size) - (size - 1) / 2
    weights = numpy.exp(-0.5 * (places / sigma) ** 2)
    return weights / weights.sum()


def _similarity(
    a: Tensor, b: Tensor, largest: Tensor, size: int, sigma: float, k1: float, k2: float
) -> tuple[Tensor, Tensor]:
    """Return the index of similarity of each channel, [..., channels], and its contrast part."""
    for x in (a, b):
        known = x.spec.shape
        if known is not None and any(n is not None and n < size for n in known[-3:-1]):
            raise ValueError(f"images must be {size} by {size} or larger, got shape {x.shape}")
    weights = _gauss(size, sigma)
    down, across = (constant(weights.reshape(n), float32) for n in ((-1, 1, 1, 1), (1, -1, 1, 1)))

    def blurred(x: Tensor) -> Tensor:  # the window is a product of two, of a line of pixels each
        return _of_batches(lambda images: _each_channel(_each_channel(images, down), across), x)

    c1, c2 = (square(multiply(largest, k)) for k in (k1, k2))
    mean_a, mean_b = blurred(a), blurred(b)
    product = multiply(multiply(mean_a, mean_b), 2.0)
    squares = add(square(mean_a), square(mean_b))
    luminance = truediv(add(product, c1), add(squares, c1))
    shared = multiply(blurred(multiply(a, b)), 2.0)
    spread = blurred(add(square(a), square(b)))
    contrast = truediv(add(subtract(shared, product), c2), add(subtract(spread, squares), c2))
    index = multiply(luminance, contrast)
    return reduce_mean(index, axis=[-3, -2]), reduce_mean(contrast, axis=[-3, -2])


def ssim(
    img1: TensorLike,
    img2: TensorLike,
    max_val: TensorLike,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
) -> Tensor:
    """Return the structural similarity of pairs of images (Wang et al., 2004).

    Args:
      img1: [..., height, width, channels] real.
      img2: as `img1`.
      max_val: scalar, the largest that a pixel can be.
      filter_size: size of the Gaussian window; images must be as large.
      filter_sigma: its width.
      k1: keeps the luminance's quotient from 0 / 0.
      k2: keeps the contrast's from it.

    Returns:
      [...] float32, up to 1.

    Raises:
      ValueError: the rank is below 3, the sizes differ, or are below the window's.

    Source: TensorFlow 1.15, ``tf.image.ssim``.

    >>> image = dv.random_uniform([12, 12, 1])
    >>> round(float(ssim(image, image, 1.0)), 3)
    1.0
    """
    with name_scope(None, "SSIM", [img1, img2]):
        a, b, largest = _pair(img1, img2, max_val)
        index, _ = _similarity(a, b, largest, filter_size, filter_sigma, k1, k2)
        return reduce_mean(index, axis=[-1])


def ssim_multiscale(
    img1: TensorLike,
    img2: TensorLike,
    max_val: TensorLike,
    power_factors: Sequence[float] = MS_SSIM_FACTORS,
    filter_size: int = 11,
    filter_sigma: float = 1.5,
    k1: float = 0.01,
    k2: float = 0.03,
) -> Tensor:
    """Return the structural similarity of pairs of images, at several sizes of them.

    Args:
      img1: [..., height, width, channels] real.
      img2: as `img1`; dimensions before the last three broadcast.
      max_val: scalar, the largest that a pixel can be.
      power_factors: the weights of the sizes; each is half of the one before.
      filter_size: see `ssim`, also for the arguments after it.

    Returns:
      [...] float32, from 0 to 1.

    Raises:
      ValueError: the rank is below 3, the sizes differ, or are too small at the end.

    Source: TensorFlow 1.15, ``tf.image.ssim_multiscale``.

    >>> images = dv.random_uniform([1, 32, 32, 1], seed=1)
    >>> same = ssim_multiscale(images, images, 1.0, power_factors=(0.5, 0.5))
    >>> noisy = images + dv.random_uniform([1, 32, 32, 1], maxval=0.3, seed=2)
    >>> same.numpy().tolist(), bool(ssim_multiscale(images, noisy, 1.0, (0.5, 0.5)) < 1.0)
    ([1.0], True)
    """
    with name_scope(None, "MS-SSIM", [img1, img2]):
        a, b, largest = _pair(img1, img2, max_val)
        parts: list[Tensor] = []
        index: Any = None
        contrast: Any = None
        for number in range(len(power_factors)):
            if number:
                a, b = _halved(a), _halved(b)
                parts.append(relu(contrast))
            index, contrast = _similarity(a, b, largest, filter_size, filter_sigma, k1, k2)
        each = zip([*parts, relu(index)], power_factors, strict=True)
        weighted = [pow(part, float(factor)) for part, factor in each]
        return reduce_mean(functools.reduce(multiply, weighted), axis=[-1])


def _halved(images: Tensor) -> Tensor:
    """Return images of half the size; an odd row or column at the end counts twice."""

    def half(x: Tensor) -> Tensor:
        odd = [[0, n % 2] for n in height_and_width(x)]
        if axes.is_symbolic(odd) or any(after for _, after in odd):
            x = pad(x, [[0, 0], *odd, [0, 0]], "SYMMETRIC")
        return avg_pool(x, 2, 2, "VALID")

    return _of_batches(half, images)


def _of_batches(change: Callable[[Tensor], Tensor], images: Tensor) -> Tensor:
    """Return what a function of [batch, height, width, channels] makes of images of any rank."""
    if images.shape.ndims == 4:
        return change(images)
    sizes = shape_of(images)
    known = (None, None, None) if images.spec.shape is None else images.spec.shape[-3:]
    flat = ensure_shape(reshape(images, concat([[-1], sizes[-3:]], 0)), (None, *known))
    changed = change(flat)
    result = reshape(changed, concat([sizes[:-3], shape_of(changed)[1:]], 0))
    if images.spec.shape is None or changed.spec.shape is None:
        return result
    return ensure_shape(result, (*images.spec.shape[:-3], *changed.spec.shape[1:]))
