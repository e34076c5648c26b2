"""Glimpses: a window of each image at a place of its own, with noise where there is no image."""

from __future__ import annotations

from typing import Any

from daskvars import dtypes, shapes
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.static_values import constant_value
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.ops.array.constant import shape as shape_of, size_along
from daskvars.ops.array.joining import stack
from daskvars.ops.array.ranges import range
from daskvars.ops.array.repeating import broadcast_to
from daskvars.ops.gather_scatter.scatter import gather_nd
from daskvars.ops.math.arithmetic import add, multiply, square, subtract
from daskvars.ops.math.casting import cast
from daskvars.ops.math.clip import clip_by_value
from daskvars.ops.math.comparison import logical_and, where
from daskvars.ops.math.reduce import reduce_max, reduce_mean, reduce_min
from daskvars.ops.math.transcendental import sqrt
from daskvars.ops.nn.windows.arguments import image_shape
from daskvars.ops.random.distributions import random_normal, random_uniform


def extract_glimpse(
    input: TensorLike,
    size: TensorLike,
    offsets: TensorLike,
    centered: bool = True,
    normalized: bool = True,
    uniform_noise: bool = True,
    name: str | None = None,
) -> Tensor:
    """Return a window of each image, noise where it is not in the image.

    Args:
      input: [batch, height, width, channels] float32.
      size: [2] int32, rows and columns of a window.
      offsets: [batch, 2] float32, where the middle of each window is: (y, x).
      centered: whether offsets are from the middle of the images, one being half an image (and two
        pixels one); else from the upper left corner.
      normalized: whether an offset of 1 is an image's height or width; else one pixel.
      uniform_noise: whether noise is uniform between the least and the largest number of a
        channel of all images; else normal, with the mean and deviation of those.
      name: name of the operation, by default "ExtractGlimpse".

    Returns:
      [batch, rows, columns, channels] float32.

    Raises:
      ValueError: `input` is not of rank 4, `offsets` not of rank 2, or `size` not two numbers.

    Source: TensorFlow 1.15, ``tf.image.extract_glimpse``.

    >>> image = dv.reshape(dv.range(9.0), [1, 3, 3, 1])
    >>> extract_glimpse(image, [1, 2], [[0.0, 0.5]]).numpy().ravel().tolist()
    [4.0, 5.0]
    """
    with name_scope(name, "ExtractGlimpse", [input, size, offsets]) as scope:
        images = convert_to_tensor(input, dtypes.float32, name="input")
        places = convert_to_tensor(offsets, dtypes.float32, name="offsets")
        image_shape(images.spec, "input")
        if not shapes.compatible(places.spec.shape, (images.shape[0], 2)):
            raise ValueError(f"offsets must be [batch, 2], one for each image, got {places.shape}")
        sizes = convert_to_tensor(size, dtypes.int32, name="size")
        if not shapes.compatible(sizes.spec.shape, (2,)):
            raise ValueError(f"size must be [2], rows and columns, got shape {sizes.shape}")
        known = constant_value(sizes)
        counts = [sizes[0], sizes[1]] if known is None else [int(number) for number in known]
        found = [size_along(images, axis) for axis in (1, 2)]
        at, inside = [], []
        for axis in (0, 1):
            line, is_inside = _pixels(
                places[:, axis], counts[axis], found[axis], centered, normalized
            )
            at.append(line)
            inside.append(is_inside)
        image = range(size_along(images, 0), dtype=dtypes.int32)[:, None, None]
        grid = [image, at[0][:, :, None], at[1][:, None, :]]
        shape = [size_along(images, 0), *counts]
        seen = gather_nd(images, stack([broadcast_to(index, shape) for index in grid], -1))
        is_seen = logical_and(inside[0][:, :, None, None], inside[1][:, None, :, None])
        noise = _noise(images, [*shape, size_along(images, 3)], uniform_noise)
        return where(broadcast_to(is_seen, shape_of(seen)), seen, noise, name=scope)


def _pixels(
    middle: Tensor, count: Any, size: Any, centered: bool, normalized: bool
) -> tuple[Tensor, Tensor]:
    """Return the pixels of each image's window along one dimension, and which there are."""
    length = cast(size, dtypes.float32)
    if normalized:
        middle = multiply(middle, length)
    if centered:
        middle = add(middle / 2.0, length / 2.0)
    # Towards zero, as TensorFlow does: a window that begins at -0.5 begins with the first pixel.
    first = cast(subtract(middle, cast(count, dtypes.float32) / 2.0), dtypes.int32)
    pixels = first[:, None] + range(count, dtype=dtypes.int32)[None]
    last = cast(size, dtypes.int32) - 1
    return clip_by_value(pixels, 0, last), logical_and(pixels >= 0, pixels <= last)


def _noise(images: Tensor, shape: list[Any], uniform: bool) -> Tensor:
    """Return noise like the numbers of each channel."""
    if uniform:
        low, high = (reduce(images, [0, 1, 2]) for reduce in (reduce_min, reduce_max))
        return random_uniform(shape) * (high - low) + low
    mean = reduce_mean(images, [0, 1, 2])
    return random_normal(shape) * sqrt(reduce_mean(square(images - mean), [0, 1, 2])) + mean
