"""Heights and widths: numbers where they are known, tensors where only the run can tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from daskvars import shapes
from daskvars.dtypes import int32
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.definitions.static_values import constant_value
from daskvars.graph.tensor import Operation, Tensor, TensorLike
from daskvars.ops.array.constant import shape as shape_of
from daskvars.ops.array.joining import stack
from daskvars.ops.array.reshaping import ensure_shape
from daskvars.ops.control.dependencies import Assert, with_dependencies
from daskvars.ops.math import arithmetic
from daskvars.ops.math.casting import cast
from daskvars.ops.math.comparison import greater as greater_than
from daskvars.ops.math.reduce import reduce_all
from daskvars.ops.rules import axes

_RANKS = {3: "three", 4: "four"}


def is_one_image(images: Tensor, name: str = "image") -> bool:
    """Return whether a tensor is one image rather than a batch.

    Raises:
      ValueError: it is neither.
    """
    rank = images.shape.ndims
    if rank not in (3, 4):
        raise ValueError(
            f"'{name}' must have either 3 or 4 dimensions. Got shape "
            f"{shapes.show(images.spec.shape)}"
        )
    return rank == 3


def image_of(value: TensorLike, least_rank: int = 0) -> tuple[Tensor, bool]:
    """Return an image or a batch of them, and whether it is one; it is one where nothing is known.

    Raises:
      ValueError: it is neither, or has no pixels.
    """
    image = convert_to_tensor(value, name="image")
    check_image(image, least_rank)
    if image.spec.shape is None:
        image = ensure_shape(image, (None, None, None))
    one = is_one_image(image)
    if 0 in (image.spec.shape or ()):
        raise ValueError(f"all dims of 'image.shape' must be > 0: {shapes.show(image.spec.shape)}")
    return image, one


def checked(image: Tensor, checks: Sequence[Operation | None]) -> Tensor:
    """Return an image that is there once what only the run can tell has been looked at."""
    left = [check for check in checks if check is not None]
    return with_dependencies(left, image) if left else image


def has_pixels(image: Tensor) -> Operation | None:
    """Fail the run where a dimension is 0, unless the graph knows that none is."""
    if shapes.is_known(image.spec.shape):
        return None
    return Assert(
        reduce_all(greater_than(shape_of(image), 0)), ["all dims of 'image.shape' must be > 0."]
    )


def check_image(image: Tensor, least_rank: int = 3) -> None:
    """Raise ValueError unless the last three dimensions can be those of an image."""
    shape = image.spec.shape
    if shape is not None and len(shape) < least_rank:
        raise ValueError(
            f"'image' (shape {shapes.show(shape)}) must be at least "
            f"{_RANKS[least_rank]}-dimensional"
        )


def height_and_width(images: Tensor) -> tuple[Any, Any]:
    """Return the sizes of the dimensions before the last: ints, or scalar tensors in the run."""
    known = images.spec.shape
    places = (-3, -2)
    if known is not None and None not in (known[-3], known[-2]):
        return known[-3], known[-2]
    sizes = shape_of(images)
    return tuple(  # type: ignore[return-value]
        sizes[place] if known is None or known[place] is None else known[place] for place in places
    )


def whole(sizes: Any) -> Any:
    """Return sizes as one thing: a tuple of ints, or a tensor where one of them is a tensor."""
    if isinstance(sizes, tuple | list) and axes.is_symbolic(sizes):
        return stack([convert_to_tensor(size, int32) for size in sizes])
    return sizes


def plain(size: Any) -> Any:
    """Return a size as an int where the graph has it, else as an int32 tensor."""
    if not axes.is_symbolic(size):
        return int(size)
    size = convert_to_tensor(size)
    known = None if size.graph is None else constant_value(size)
    return cast(size, int32) if known is None else int(known)


def greater(a: Any, b: Any) -> Any:
    """Return the greater of two sizes."""
    return arithmetic.maximum(a, b) if axes.is_symbolic((a, b)) else max(a, b)


def smaller(a: Any, b: Any) -> Any:
    """Return the smaller of two sizes."""
    return arithmetic.minimum(a, b) if axes.is_symbolic((a, b)) else min(a, b)


def fits(a: Any, b: Any, message: str) -> Operation | None:
    """Return what fails the run unless a <= b, None where it is known to be.

    Raises:
      ValueError: it is known not to be.
    """
    if axes.is_symbolic((a, b)):
        return Assert(a <= b, [message])
    if a > b:
        raise ValueError(f"{message}: {a} is more than {b}")
    return None


def least(name: str, value: Any, lowest: int) -> Operation | None:
    """Return what fails the run where a size is too small, None where it is known not to be.

    Raises:
      ValueError: it is known to be.
    """
    bound = "> 0" if lowest == 1 else f">= {lowest}"
    if axes.is_symbolic(value):
        return Assert(value >= lowest, [f"{name} must be {bound}."])
    if value < lowest:
        raise ValueError(f"{name} must be {bound}, got {value}")
    return None
