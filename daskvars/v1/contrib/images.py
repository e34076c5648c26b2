"""Images that are turned, moved and projected, the names of ``tf.contrib.image``.

A *transform* is eight numbers ``[a0, a1, a2, b0, b1, b2, c0, c1]``: the pixel (x, y) of the result
is what the image has at ``((a0 x + a1 y + a2) / k, (b0 x + b1 y + b2) / k)`` with
``k = c0 x + c1 y + 1``, and zero where that is outside of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from daskvars import dtypes
from daskvars.dtypes import DType
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.static_values import constant_value
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.ops.array.constant import ones, ones_like, size_along, zeros_like
from daskvars.ops.array.joining import concat, stack
from daskvars.ops.array.ranges import range
from daskvars.ops.array.repeating import broadcast_to
from daskvars.ops.array.reshaping import expand_dims, reshape
from daskvars.ops.gather_scatter.gather import gather
from daskvars.ops.linalg.products import matmul
from daskvars.ops.math.arithmetic import abs as absolute, floor, sign
from daskvars.ops.math.casting import cast
from daskvars.ops.math.clip import clip_by_value
from daskvars.ops.math.comparison import equal, logical_and, where_v2
from daskvars.ops.math.transcendental import cos, sin
from daskvars.surface.signatures import with_arguments_in_order

_DTYPES = {dtypes.uint8, dtypes.int32, dtypes.int64, dtypes.float16, dtypes.float32, dtypes.float64}


def rotate(
    images: TensorLike, angles: TensorLike, interpolation: str = "NEAREST", name: str | None = None
) -> Tensor:
    """Return images turned about their middle, counterclockwise, with zeros where nothing was.

    Args:
      images: [batch, height, width, channels], [height, width, channels] or [height, width].
      angles: scalar or [batch] float32, in radians.
      interpolation: "NEAREST" or "BILINEAR".
      name: name scope, by default "rotate".

    Returns:
      The images, shaped and typed as `images`. Gradients reach them, not the angles.

    Raises:
      TypeError: the rank of the images or angles, or the dtype, is another.
      ValueError: there is no such interpolation.

    Source: TensorFlow 1.15, ``tf.contrib.image.rotate``.

    >>> import math
    >>> rotate(np.float32([[1, 2], [3, 4]]), math.pi / 2).numpy().tolist()
    [[2.0, 4.0], [1.0, 3.0]]
    """
    with name_scope(name, "rotate", [images, angles]):
        images = convert_to_tensor(images, name="images")
        rows = _rows_axis(images)
        height, width = (cast(size_along(images, rows + axis), dtypes.float32) for axis in (0, 1))
        found = angles_to_projective_transforms(angles, height, width)
        return transform(images, found, interpolation)


@with_arguments_in_order("images translations interpolation name", rotate)
def translate(
    images: Any, translations: TensorLike, interpolation: str, name: str | None
) -> Tensor:
    """Return images moved by some pixels, with zeros where nothing was.

    Args:
      translations: [2] or [batch, 2] float32, how far to the right and how far down.
      name: name scope, by default "translate".

    Returns:
      The images, shaped and typed as `images`. Gradients reach them, not the translations.

    Raises:
      TypeError, ValueError: see `rotate`.

    Source: TensorFlow 1.15, ``tf.contrib.image.translate``.

    >>> translate(np.float32([[1, 2], [3, 4]]), [1.0, 0.0]).numpy().tolist()
    [[0.0, 1.0], [0.0, 3.0]]
    """
    with name_scope(name, "translate", [images, translations]):
        return transform(images, translations_to_projective_transforms(translations), interpolation)


def transform(
    images: TensorLike,
    transforms: TensorLike,
    interpolation: str = "NEAREST",
    output_shape: Sequence[int] | None = None,
    name: str | None = None,
) -> Tensor:
    """Return images seen through projective transforms, with zeros where nothing was.

    Args:
      images: see `rotate`.
      transforms: [8] or [batch, 8] float32, from pixels of the result to those of the images:
        ``[a0, a1, a2, b0, b1, b2, c0, c1]``, so that (x, y) shows
        ``((a0 x + a1 y + a2) / k, (b0 x + b1 y + b2) / k)`` with ``k = c0 x + c1 y + 1``.
      interpolation: "NEAREST" or "BILINEAR".
      output_shape: [2] integer, height and width of the results, by default those of the images.
      name: name scope, by default "transform".

    Returns:
      The images, typed as `images`. Gradients reach them, not the transforms.

    Raises:
      TypeError, ValueError: see `rotate`.

    Source: TensorFlow 1.15, ``tf.contrib.image.transform``.

    >>> half = transform(np.float32([[0, 4], [8, 12]]), [0.5, 0, 0, 0, 0.5, 0, 0, 0], "BILINEAR")
    >>> half.numpy().tolist()
    [[0.0, 2.0], [4.0, 6.0]]
    """
    with name_scope(name, "transform", [images, transforms]):
        given = convert_to_tensor(images, name="images")
        rows = _rows_axis(given)
        if given.dtype.base_dtype not in _DTYPES:
            raise TypeError(f"Invalid dtype {given.dtype}: images are {sorted(map(str, _DTYPES))}")
        if interpolation.upper() not in ("NEAREST", "BILINEAR"):
            raise ValueError(f"interpolation is NEAREST or BILINEAR, not {interpolation!r}")
        height, width = size_along(given, rows), size_along(given, rows + 1)
        size = (height, width) if output_shape is None else _two(output_shape)
        batch = given if rows else expand_dims(given, 0)
        batch = batch if given.shape.ndims != 2 else expand_dims(batch, -1)
        places = _places(_batched(transforms, 8, "transforms"), size)
        seen = _seen(batch, places, (height, width), interpolation.upper() == "BILINEAR")
        if given.shape.ndims == 2:
            return seen[0, :, :, 0]
        return seen if rows else seen[0]


def _rows_axis(images: Tensor) -> int:
    """Return which axis is the rows. Raises TypeError where the rank is none of images."""
    rank = images.shape.ndims
    if rank is None:
        raise TypeError("image_or_images rank must be statically known")
    if rank not in (2, 3, 4):
        raise TypeError(f"Images should have rank between 2 and 4, found {rank}.")
    return int(rank == 4)


def _batched(value: TensorLike, count: int, what: str) -> Tensor:
    """Return numbers as [batch or 1, count] float32."""
    found = convert_to_tensor(value, dtypes.float32, name=what)
    rank = found.shape.ndims
    if rank not in (1, 2):
        raise TypeError(f"{what} should have rank 1 or 2, found {rank}: [{count}] or [n, {count}]")
    return expand_dims(found, 0) if rank == 1 else found


def _two(sizes: Any) -> tuple[Any, Any]:
    known = constant_value(convert_to_tensor(sizes, dtypes.int32))
    height, width = sizes if known is None else [int(n) for n in known]
    return height, width


def _places(transforms: Tensor, size: tuple[Any, Any]) -> tuple[Tensor, Tensor]:
    """Return where in the images each pixel lies, x and y [batch or 1, height, width]."""
    height, width = (cast(range(n), dtypes.float32) for n in size)
    x, y = width[None, None, :], height[None, :, None]
    a0, a1, a2, b0, b1, b2, c0, c1 = (transforms[:, i, None, None] for i in _EIGHT)
    k = c0 * x + c1 * y + 1.0
    is_seen = equal(equal(k, zeros_like(k)), False)
    k = where_v2(is_seen, k, ones_like(k))
    nowhere = zeros_like(k) - 2.0  # where a pixel would be infinitely far
    at = ((a0 * x + a1 * y + a2) / k, (b0 * x + b1 * y + b2) / k)
    return tuple(where_v2(is_seen, part, nowhere) for part in at)  # type: ignore[return-value]


_EIGHT = tuple(i for i, _ in enumerate("abcdefgh"))


def _seen(
    images: Tensor, at: tuple[Tensor, Tensor], size: tuple[Any, Any], is_bilinear: bool
) -> Tensor:
    """Return the images at places, [batch, height, width, channels]."""
    count, channels = size_along(images, 0), size_along(images, 3)
    pixels = reshape(images, [count, size[0] * size[1], channels])
    dtype: DType = images.dtype.base_dtype
    exact = dtype if dtype in (dtypes.float32, dtypes.float64) else dtypes.float32
    x, y = at

    def read(column: Tensor, row: Tensor) -> Tensor:
        inside = zeros_like(column) >= 0.0
        line = []
        for place, n in ((row, size[0]), (column, size[1])):
            last = cast(n, dtypes.float32) - 1.0
            inside = logical_and(inside, logical_and(place >= 0.0, place <= last))
            line.append(cast(clip_by_value(place, 0.0, last), dtypes.int32))
        index = line[0] * size[1] + line[1]
        shape = [count, *(size_along(index, axis) for axis in (1, 2))]
        flat = reshape(broadcast_to(index, shape), [count, shape[1] * shape[2]])
        found = reshape(gather(pixels, flat, batch_dims=1), [*shape, channels])
        return where_v2(inside[..., None], found, zeros_like(found))

    if not is_bilinear:
        return read(_rounded(x), _rounded(y))
    left, top = floor(x), floor(y)
    total: Any = 0.0
    for column, wide in ((left, left + 1.0 - x), (left + 1.0, x - left)):
        for row, heavy in ((top, top + 1.0 - y), (top + 1.0, y - top)):
            weight = cast(wide * heavy, exact)[..., None]
            total = total + weight * cast(read(column, row), exact)
    return cast(total, dtype)


def _rounded(x: Tensor) -> Tensor:
    """Return the nearest whole numbers, halves away from zero."""
    return sign(x) * floor(absolute(x) + 0.5)


# -- transforms ------------------------------------------------------------------------------------


def angles_to_projective_transforms(
    angles: TensorLike, image_height: TensorLike, image_width: TensorLike, name: str | None = None
) -> Tensor:
    """Return the transforms that turn images about their middle.

    Args:
      angles: scalar or [n] float32, in radians.
      image_height, image_width: scalars, of the images.
      name: name scope.

    Returns:
      [n or 1, 8] float32, for `transform`.

    Raises:
      TypeError: the angles have another rank.

    Source: TensorFlow 1.15, ``tf.contrib.image.angles_to_projective_transforms``.

    >>> angles_to_projective_transforms(0.0, 4.0, 5.0).numpy().tolist()
    [[1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0]]
    """
    with name_scope(name, "angles_to_projective_transforms", [angles]):
        found = convert_to_tensor(angles, dtypes.float32, name="angles")
        if found.shape.ndims not in (0, 1):
            raise TypeError(f"Angles should have rank 0 or 1, found {found.shape.ndims}.")
        found = reshape(found, [-1])
        c, s, none = cos(found), sin(found), zeros_like(found)
        height, width = (cast(n, dtypes.float32) - 1.0 for n in (image_height, image_width))
        x = (width - (c * width - s * height)) / 2.0
        y = (height - (s * width + c * height)) / 2.0
        return stack([c, 0.0 - s, x, s, c, y, none, none], 1)


def translations_to_projective_transforms(
    translations: TensorLike, name: str | None = None
) -> Tensor:
    """Return the transforms that move images.

    Args:
      translations: [2] or [n, 2] float32, how far to the right and how far down.
      name: name scope.

    Returns:
      [n or 1, 8] float32, for `transform`.

    Raises:
      TypeError: the translations have another rank.

    Source: TensorFlow 1.15, ``tf.contrib.image.translations_to_projective_transforms``.

    >>> translations_to_projective_transforms([1.0, 2.0]).numpy().tolist()
    [[1.0, 0.0, -1.0, 0.0, 1.0, -2.0, 0.0, 0.0]]
    """
    with name_scope(name, "translations_to_projective_transforms", [translations]):
        found = _batched(translations, 2, "translations")
        x, y = 0.0 - found[:, 0], 0.0 - found[:, 1]
        one, none = ones_like(x), zeros_like(x)
        return stack([one, none, x, none, one, y, none, none], 1)


def flat_transforms_to_matrices(transforms: TensorLike) -> Tensor:
    """Return transforms as matrices, [n, 3, 3], from pixels of results to those of images.

    Args:
      transforms: [8] or [n, 8].

    >>> flat_transforms_to_matrices([1.0, 2, 3, 4, 5, 6, 7, 8]).numpy()[0, 2].tolist()
    [7.0, 8.0, 1.0]
    """
    with name_scope(None, "flat_transforms_to_matrices", [transforms]):
        found = _batched(transforms, 8, "transforms")
        return reshape(concat([found, ones([size_along(found, 0), 1])], 1), [-1, 3, 3])


def matrices_to_flat_transforms(transform_matrices: TensorLike) -> Tensor:
    """Return matrices as transforms, [n, 8]. See `flat_transforms_to_matrices`.

    Args:
      transform_matrices: [3, 3] or [n, 3, 3].

    >>> matrices_to_flat_transforms(2 * np.eye(3, dtype="f4")).numpy()[0, :5].tolist()
    [1.0, 0.0, 0.0, 0.0, 1.0]
    """
    with name_scope(None, "matrices_to_flat_transforms", [transform_matrices]):
        flat = reshape(convert_to_tensor(transform_matrices, dtypes.float32), [-1, 9])
        return (flat / flat[:, 8:])[:, :8]


def compose_transforms(*transforms: TensorLike) -> Tensor:
    """Return the transforms that do as several do, one after the other.

    Args:
      *transforms: [8] or [n, 8] each.

    Raises:
      ValueError: there is none.

    Source: TensorFlow 1.15, ``tf.contrib.image.compose_transforms``.

    >>> moved = translations_to_projective_transforms([1.0, 2.0])
    >>> compose_transforms(moved, moved).numpy()[0, [2, 5]].tolist()
    [-2.0, -4.0]
    """
    if not transforms:
        raise ValueError("compose_transforms() needs at least one transform")
    with name_scope(None, "compose_transforms", transforms):
        composed = flat_transforms_to_matrices(transforms[0])
        for following in transforms[1:]:
            composed = matmul(composed, flat_transforms_to_matrices(following))
        return matrices_to_flat_transforms(composed)
