"""Images turned round, by choice or by chance."""

from __future__ import annotations

from typing import Any

from daskvars import dtypes
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.scopes.name_scope import name_scope
from daskvars.graph.tensor import Tensor, TensorLike
from daskvars.ops.array.constant import shape as shape_of
from daskvars.ops.array.rearranging import reverse
from daskvars.ops.array.reshaping import identity, reshape
from daskvars.ops.array.transposing import transpose
from daskvars.ops.control.cond import cond, switch_case
from daskvars.ops.image.sizes import image_of
from daskvars.ops.math.comparison import less, where_v2
from daskvars.ops.math.division import floormod
from daskvars.ops.random.distributions import random_uniform
from daskvars.ops.rules import axes
from daskvars.surface.signatures import Argument, Family

_DOWN, _ACROSS = 0, 1  # dimensions of an image; behind that of the batch


def _flipped(image: TensorLike, dimension: int, scope_name: str) -> Tensor:
    with name_scope(None, scope_name, [image]) as scope:
        image, one = image_of(image, 3)
        place = dimension if one else dimension + 1
        return reverse(image, [place], name=scope)


_TURNED = Family(
    {
        "image": Argument(
            "[batch, height, width, channels] or [height, width, channels] any dtype."
        ),
        "seed": Argument("int, see `set_random_seed`."),
    },
    returns="The images, shaped and typed as `image`.",
    raises="ValueError: the rank is neither 3 nor 4, or there are no pixels.",
)


@_TURNED.documents()
def flip_left_right(image: TensorLike) -> Tensor:
    """Return images with their columns in reverse order.

    Source: TensorFlow 1.15, ``tf.image.flip_left_right``.

    >>> flip_left_right([[[1], [2]]]).numpy().ravel().tolist()
    [2, 1]
    """
    return _flipped(image, _ACROSS, "flip_left_right")


def flip_up_down(image: TensorLike) -> Tensor:
    """Return images with their rows in reverse order. See `flip_left_right`.

    Source: TensorFlow 1.15, ``tf.image.flip_up_down``.

    >>> flip_up_down([[[1]], [[2]]]).numpy().ravel().tolist()
    [2, 1]
    """
    return _flipped(image, _DOWN, "flip_up_down")


def transpose_image(image: TensorLike, name: str | None = None) -> Tensor:
    """Return images with rows for columns. See `flip_left_right`.

    Args:
      image: [batch, height, width, channels] or [height, width, channels] any dtype.
      name: name scope of the operations.

    Returns:
      [batch, width, height, channels], or without the batch, of the dtype of `image`.

    Source: TensorFlow 1.15, ``tf.image.transpose_image``.

    >>> transpose_image([[[1], [2]]]).numpy().shape
    (2, 1, 1)
    """
    with name_scope(name, "transpose", [image]) as scope:
        image, one = image_of(image, 3)
        order = [1, 0, 2] if one else [0, 2, 1, 3]
        return transpose(image, order, name=scope)


@_TURNED.documents()
def rot90(image: TensorLike, k: Any = 1, name: str | None = None) -> Tensor:
    """Return images turned against the clock by quarters.

    Args:
      k: how many quarters, an int or a scalar integer tensor.
      name: name scope of the operations, by default "rot90".

    Returns:
      The images, typed as `image`: [batch, width, height, channels] after one quarter or three.

    Source: TensorFlow 1.15, ``tf.image.rot90``.

    >>> rot90([[[1], [2]]]).numpy().ravel().tolist()
    [2, 1]
    """
    with name_scope(name, "rot90", [image, k]) as scope:
        image, one = image_of(image, 3)
        first = 0 if one else 1
        swapped = [*range(first), first + 1, first, first + 2]
        turns = [
            lambda: identity(image),
            lambda: transpose(reverse(image, [first + 1]), swapped),
            lambda: reverse(image, [first, first + 1]),
            lambda: reverse(transpose(image, swapped), [first + 1]),
        ]
        if not axes.is_symbolic(k):
            return identity(turns[int(k) % 4](), name=scope)
        quarters = floormod(convert_to_tensor(k, dtypes.int32), 4)
        return identity(switch_case(quarters, turns), name=scope)


def _by_chance(image: TensorLike, dimension: int, seed: int | None, scope_name: str) -> Tensor:
    with name_scope(None, scope_name, [image]) as scope:
        image, one = image_of(image, 3)
        if one:
            stays = less(random_uniform([], 0, 1.0, seed=seed), 0.5)
            return cond(stays, lambda: reverse(image, [dimension]), lambda: image, name=scope)
        known = image.spec.shape
        count: Any = shape_of(image)[:1] if known is None or known[0] is None else [known[0]]
        turns = less(random_uniform(count, 0, 1.0, seed=seed), 0.5)
        turned = reverse(image, [dimension + 1])
        return identity(where_v2(reshape(turns, [-1, 1, 1, 1]), turned, image), name=scope)


@_TURNED.documents()
def random_flip_left_right(image: TensorLike, seed: int | None = None) -> Tensor:
    """Return images of which each has its columns in reverse order by a chance of a half.

    Source: TensorFlow 1.15, ``tf.image.random_flip_left_right``.

    >>> random_flip_left_right([[[1], [1]]]).numpy().ravel().tolist()
    [1, 1]
    """
    return _by_chance(image, _ACROSS, seed, "random_flip_left_right")


def random_flip_up_down(image: TensorLike, seed: int | None = None) -> Tensor:
    """Return images of which each has its rows in reverse order by a chance of a half.

    See `random_flip_left_right`. Source: TensorFlow 1.15, ``tf.image.random_flip_up_down``.

    >>> random_flip_up_down([[[1]], [[1]]]).numpy().ravel().tolist()
    [1, 1]
    """
    return _by_chance(image, _DOWN, seed, "random_flip_up_down")
