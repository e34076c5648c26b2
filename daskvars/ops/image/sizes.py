"""Heights and widths: numbers where they are known, tensors where only the run can tell."""

from __future__ import annotations

from typing import Any

from daskvars import shapes
from daskvars.dtypes import int32
from daskvars.graph.convert import convert_to_tensor
from daskvars.graph.tensor import Tensor
from daskvars.ops.array.constant import shape as shape_of
from daskvars.ops.array.joining import stack
from daskvars.ops.math import arithmetic
from daskvars.ops.rules import axes


def is_one_image(images: Tensor) -> bool:
    """Return whether a tensor is one image rather than a batch.

    Raises:
      ValueError: it is neither.
    """
    rank = images.shape.ndims
    if rank not in (3, 4):
        raise ValueError(
            f"'images' must have either 3 or 4 dimensions, got shape "
            f"{shapes.show(images.spec.shape)}"
        )
    return rank == 3


def check_image(image: Tensor, least_rank: int = 3) -> None:
    """Raise ValueError unless the last three dimensions can be those of an image."""
    shape = image.spec.shape
    if shape is not None and len(shape) < least_rank:
        raise ValueError(
            f"'image' (shape {shapes.show(shape)}) must be at least {least_rank}-dimensional"
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
    """Return a size as an int, or as the int32 tensor that it is."""
    return convert_to_tensor(size, int32) if axes.is_symbolic(size) else int(size)


def greater(a: Any, b: Any) -> Any:
    """Return the greater of two sizes."""
    return arithmetic.maximum(a, b) if axes.is_symbolic((a, b)) else max(a, b)


def smaller(a: Any, b: Any) -> Any:
    """Return the smaller of two sizes."""
    return arithmetic.minimum(a, b) if axes.is_symbolic((a, b)) else min(a, b)


def least(name: str, value: Any, lowest: int) -> None:
    """Raise ValueError where a size that is known is too small."""
    if not axes.is_symbolic(value) and value < lowest:
        raise ValueError(f"{name} must be >= {lowest}, got {value}")
