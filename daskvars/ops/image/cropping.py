"""Parts of images, and borders of zeros around them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from daskvars import dtypes, shapes
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.ops.array.padding import pad
from daskvars.ops.array.reshaping import ensure_shape, identity
from daskvars.ops.array.slicing import slice
from daskvars.ops.image.sizes import (
    check_image,
    checked,
    fits,
    greater,
    has_pixels,
    height_and_width,
    image_of,
    is_one_image,
    least,
    plain,
    smaller,
)
from daskvars.ops.math.arithmetic import multiply, subtract
from daskvars.ops.math.casting import cast
from daskvars.ops.math.division import truediv
from daskvars.ops.rules import axes
from daskvars.surface.signatures import with_arguments_of


def _with_sizes(result: Tensor, image: Tensor, sizes: Sequence[Any], name: str) -> Tensor:
    """Return what was made of an image, known to be of these sizes where those are numbers."""
    height, width = (None if axes.is_symbolic(size) else size for size in sizes)
    given = image.spec.shape
    if given is None:
        return identity(result, name=name)
    wanted = shapes.merge(result.spec.shape, (*given[:-3], height, width, given[-1]))
    same = wanted == result.spec.shape
    return identity(result, name=name) if same else ensure_shape(result, wanted, name=name)


def _around(one: bool, *of_space: Any, other: Any) -> list[Any]:
    """Return what is said of height and width with what is said of the other dimensions."""
    return [*([] if one else [other]), *of_space, other]


def crop_to_bounding_box(
    image: TensorLike,
    offset_height: TensorLike,
    offset_width: TensorLike,
    target_height: TensorLike,
    target_width: TensorLike,
) -> Tensor:
    """Return a rectangle of images.

    Args:
      image: [batch, height, width, channels] or [height, width, channels] any dtype.
      offset_height: the first row, an int or a scalar integer tensor; so are the others.
      offset_width: the first column.
      target_height: how many rows.
      target_width: how many columns.

    Returns:
      [batch, target_height, target_width, channels], or without the batch, of the dtype of `image`.

    Raises:
      ValueError: the rank is neither 3 nor 4, there are no pixels, or the rectangle is not within
        the images.
      InvalidArgumentError: (when run) that shows in the run alone.

    Source: TensorFlow 1.15, ``tf.image.crop_to_bounding_box``.

    >>> crop_to_bounding_box([[[1], [2], [3]]], 0, 1, 1, 2).numpy().ravel().tolist()
    [2, 3]
    """
    with name_scope(None, "crop_to_bounding_box", [image]) as scope:
        image, one = image_of(image)
        checks = [has_pixels(image)]
        begin = [plain(offset_height), plain(offset_width)]
        size = [plain(target_height), plain(target_width)]
        found = height_and_width(image)
        names = zip(("height", "width"), begin, size, found, strict=True)
        for what, first, count, n in names:
            checks.append(least(f"offset_{what}", first, 0))
            checks.append(least(f"target_{what}", count, 1))
            checks.append(fits(first + count, n, f"{what} must be >= target + offset"))
        image = checked(image, checks)
        whole = image.spec.shape
        rest = [-1 if n is None else n for n in (whole[0], whole[-1])] if whole else [-1, -1]
        sizes = [*([] if one else rest[:1]), *size, rest[1]]
        part = slice(image, _around(one, *begin, other=0), sizes)
        return _with_sizes(part, image, size, scope)


@with_arguments_of(crop_to_bounding_box)
def pad_to_bounding_box(
    image: Any, offset_height: Any, offset_width: Any, target_height: Any, target_width: Any
) -> Tensor:
    """Return images amid zeros.

    Args:
      offset_height: how many rows of zeros are above, an int or a scalar integer tensor; so are
        the others.
      offset_width: how many columns of zeros are to the left.
      target_height: the height of the result.
      target_width: the width of the result.

    Raises:
      ValueError: the rank is neither 3 nor 4, there are no pixels, or the images do not fit.
      InvalidArgumentError: (when run) that shows in the run alone.

    Source: TensorFlow 1.15, ``tf.image.pad_to_bounding_box``.

    >>> pad_to_bounding_box([[[7]]], 0, 1, 1, 3).numpy().ravel().tolist()
    [0, 7, 0]
    """
    with name_scope(None, "pad_to_bounding_box", [image]) as scope:
        image, one = image_of(image)
        checks = [has_pixels(image)]
        before = [plain(offset_height), plain(offset_width)]
        target = [plain(target_height), plain(target_width)]
        pads = []
        names = zip(("height", "width"), before, target, height_and_width(image), strict=True)
        for what, first, count, n in names:
            checks.append(least(f"offset_{what}", first, 0))
            checks.append(fits(n, count - first, f"{what} must be <= target - offset"))
            pads.append([first, count - first - n])
        padded = pad(checked(image, checks), _around(one, *pads, other=[0, 0]))
        return _with_sizes(padded, image, target, scope)


def resize_image_with_crop_or_pad(
    image: TensorLike, target_height: TensorLike, target_width: TensorLike
) -> Tensor:
    """Return images of another size, cut or amid zeros, with the middle in the middle.

    Args:
      image: [batch, height, width, channels] or [height, width, channels] any dtype.
      target_height: the new height, an int or a scalar integer tensor.
      target_width: the new width.

    Returns:
      [batch, target_height, target_width, channels], or without the batch, of the dtype of `image`.

    Raises:
      ValueError: the rank is neither 3 nor 4, there are no pixels, or a size is not positive.
      InvalidArgumentError: (when run) that shows in the run alone.

    Source: TensorFlow 1.15, ``tf.image.resize_image_with_crop_or_pad``.

    >>> resize_image_with_crop_or_pad([[[1], [2], [3]]], 2, 1).numpy().ravel().tolist()
    [2, 0]
    """
    with name_scope(None, "resize_image_with_crop_or_pad", [image]) as scope:
        image, _ = image_of(image)
        checks = [has_pixels(image)]
        target = plain(target_height), plain(target_width)
        for what, wanted in zip(("height", "width"), target, strict=True):
            checks.append(least(f"target_{what}", wanted, 1))
        image = checked(image, checks)
        found = height_and_width(image)
        crops, pads, sizes = [], [], []
        for wanted, n in zip(target, found, strict=True):
            more = wanted - n
            crops.append(greater(-more // 2, 0))
            pads.append(greater(more // 2, 0))
            sizes.append(smaller(wanted, n))
        cropped = crop_to_bounding_box(image, crops[0], crops[1], sizes[0], sizes[1])
        padded = pad_to_bounding_box(cropped, pads[0], pads[1], *target)
        return _with_sizes(padded, image, target, scope)


def central_crop(image: TensorLike, central_fraction: float) -> Tensor:
    """Return the middle of images.

    Args:
      image: [batch, height, width, channels] or [height, width, channels] any dtype.
      central_fraction: which part of height and width, above 0 and up to 1.

    Returns:
      The images' middles, of the rank and dtype of `image`.

    Raises:
      ValueError: the fraction is another, or the rank is neither 3 nor 4.

    Source: TensorFlow 1.15, ``tf.image.central_crop``.

    >>> central_crop([[[1], [2], [3], [4]]], 0.5).numpy().ravel().tolist()
    [2, 3]
    """
    with name_scope(None, "central_crop", [image]):
        image = convert_to_tensor(image, name="image")
        if not 0.0 < central_fraction <= 1.0:
            raise ValueError(f"central_fraction must be within (0, 1], got {central_fraction}")
        check_image(image)
        if central_fraction == 1.0:
            return image
        one = is_one_image(image)
        begin, size = [], []
        for n in height_and_width(image):
            if axes.is_symbolic(n):
                length = cast(n, dtypes.float64)
                rest = subtract(length, multiply(length, float(central_fraction)))
                first = cast(truediv(rest, 2.0), dtypes.int32)
            else:
                first = int((n - n * central_fraction) / 2)
            begin.append(first)
            size.append(n - first * 2)
        channels = image.spec.shape[-1] if image.spec.shape else None
        sizes = [*([] if one else [-1]), *size, -1 if channels is None else channels]
        return slice(image, _around(one, *begin, other=0), sizes)
