"""How convolution and pooling take strides, paddings, data formats and image shapes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from daskvars import shapes
from daskvars.dtypes import DType
from daskvars.graph.definitions.opdef import Spec
from daskvars.graph.tensor import Tensor
from daskvars.kernels.nn.windows.sliding import channels
from daskvars.ops.array.constant import shape as shape_of
from daskvars.ops.rules import axes

# Strides, dilations or sizes of windows: one for all dimensions of space, or one for each.
PerAxis: TypeAlias = int | Sequence[int]
# "SAME" or "VALID", or for each axis how much is before and after it.
PaddingLike: TypeAlias = str | Sequence[Sequence[int]]


def space_format(data_format: str | None, rank: int = 4) -> str:
    """Return the data format of images (or of volumes, for rank 5), by default channels are last.

    Raises:
      ValueError: it is none of the two that there are.
    """
    space = "DHW"[5 - rank :]
    last, first = f"N{space}C", f"NC{space}"
    if data_format in (None, last, first):
        return data_format or last
    raise ValueError(f"data_format must be {last!r} or {first!r}, got {data_format!r}")


def of_all_axes(value: PerAxis | None, data_format: str, what: str) -> tuple[int, ...]:
    """Return strides, dilations or window sizes of all axes, in the order of `data_format`.

    Args:
      value: an int for all dimensions of space, one or as many, or one for each axis; None for
        ones.
      data_format: such as "NHWC" or "NCDHW".
      what: the name of the argument, for errors.

    Raises:
      ValueError: there is another number of them, or one is not positive.

    >>> of_all_axes([2, 3], "NCHW", "strides")
    (1, 1, 2, 3)
    """
    rank = len(data_format)
    known = (1,) if value is None else axes.as_operand(value)
    sizes = known if isinstance(known, tuple) else (known,)
    if any(isinstance(size, str | bytes) for size in sizes):
        raise ValueError(f"{what} must be a number, or one for each axis, got {value!r}")
    given = tuple(map(int, sizes))
    if len(given) not in (1, rank - 2, rank):
        raise ValueError(f"{what} should be of length 1, {rank - 2} or {rank} but was {len(given)}")
    if min(given) < 1:
        raise ValueError(f"{what} must be positive, got {given}")
    if len(given) < rank:
        space = given * (rank - 2) if len(given) == 1 else given
        return (1, 1, *space) if data_format[1] == "C" else (1, *space, 1)
    return given


def per_axis(value: PerAxis | None, data_format: str, what: str) -> tuple[int, ...]:
    """Return them where those of batch and channels are 1. See `of_all_axes`.

    Raises:
      ValueError: they are not.
    """
    given = of_all_axes(value, data_format, what)
    if given[0] != 1 or channels(given, data_format) != 1:
        raise ValueError(
            f"Current implementation does not yet support {what} in the batch and depth "
            f"dimensions: {given} ({data_format})"
        )
    return given


def window_padding(padding: PaddingLike, rank: int = 4) -> str | tuple[tuple[int, int], ...]:
    """Return a padding as "SAME", "VALID" or, for images, four (before, after) pairs.

    Raises:
      ValueError: it is something else.
    """
    if padding in ("SAME", "VALID"):
        return padding
    if rank != 4:
        raise ValueError(
            f"padding of volumes must be 'SAME' or 'VALID', got {padding!r}; pad before for others"
        )
    if isinstance(padding, str | None) or len(padding) != 4:
        raise ValueError(
            f"padding must be 'SAME', 'VALID' or a list of four (before, after) pairs, one for "
            f"each dimension, got {padding!r}"
        )
    return tuple((int(before), int(after)) for before, after in padding)


def image_shape(spec: Spec, what: str = "input", rank: int = 4) -> tuple[int | None, ...]:
    """Return a shape of rank `rank`. Raises ValueError when it has another rank."""
    if spec.shape is None:
        return (None,) * rank
    if len(spec.shape) != rank:
        raise ValueError(
            f"Shape must be rank {rank} but is rank {len(spec.shape)}: {what} has shape "
            f"{shapes.show(spec.shape)}"
        )
    return spec.shape


def image_sizes(x: Tensor) -> Any:
    """Return the shape of images as far as a gradient needs it: that of the batch may be open."""
    shape = x.spec.shape
    return shape_of(x) if shape is None or None in shape[1:] else shape


def of_batch(dtype: DType, shape: shapes.RankedShape, batch: int | None) -> Spec:
    """Return the spec of images of a shape, whose batch is `batch` where the shape leaves it."""
    return Spec(dtype, (batch if shape[0] is None else shape[0], *shape[1:]))


def check_equal(found: int | None, wanted: int | None, what: str) -> int | None:
    """Return the size known from two that must be equal. Raises ValueError when they differ."""
    if None not in (found, wanted) and found != wanted:
        raise ValueError(f"Dimensions must be equal, but are {found} and {wanted}: {what}")
    return wanted if found is None else found
