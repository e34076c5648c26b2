"""How a variable is cut into parts along one axis."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

from daskvars.dtypes import DType
from daskvars.shapes import TensorShape


class PartitionInfo(NamedTuple):
    """What an initializer is told about the part that it makes a value for.

    Attributes:
      full_shape: shape of the whole variable.
      var_offset: position of the part's first element in it.
    """

    full_shape: tuple[int, ...]
    var_offset: tuple[int, ...]


class SaveSliceInfo(NamedTuple):
    """Which part of a larger variable one variable is, for whoever saves them together.

    Attributes:
      full_name: name of the whole.
      full_shape: its shape.
      var_offset: position of the part's first element in it.
      var_shape: shape of the part.
    """

    full_name: str
    full_shape: tuple[int, ...]
    var_offset: tuple[int, ...]
    var_shape: tuple[int, ...]

    @property
    def spec(self) -> str:
        """The text form, such as ``"10 4 0,5:0,4"``: full shape, then offset and size by axis."""
        sizes = zip(self.var_offset, self.var_shape, strict=True)
        return "".join(f"{n} " for n in self.full_shape) + ":".join(f"{o},{s}" for o, s in sizes)


def partitions_of(
    partitioner: Callable[..., Any], shape: Sequence[int | None], dtype: DType
) -> list[int]:
    """Return the number of parts along each axis that `partitioner` wants.

    Raises:
      ValueError: the shape is not fully known or scalar, or the answer is no such list, or cuts
        along more than one axis.
    """
    full = TensorShape(shape)
    if not full.is_fully_defined():
        raise ValueError(
            f"Shape of a new partitioned variable must be fully defined, but instead was {full}."
        )
    if full.ndims < 1:
        raise ValueError(f"A partitioned variable must have rank at least 1, shape: {full}")
    parts = partitioner(shape=full, dtype=dtype)
    if not isinstance(parts, Sequence) or isinstance(parts, str):
        raise ValueError(f"Partitioner must return a sequence, but saw: {parts!r}")
    if len(parts) != full.ndims:
        raise ValueError(
            f"Partitioner returned a partition list that does not match the rank of the variable: "
            f"{parts}, shape: {full}"
        )
    if any(count < 1 for count in parts):
        raise ValueError(f"Partitioner returned zero partitions for some axes: {parts}")
    if sum(count > 1 for count in parts) > 1:
        raise ValueError(
            f"Can only slice a variable along one dimension: shape: {full}, partitioning: {parts}"
        )
    return [int(count) for count in parts]


def cut_axis(partitions: Sequence[int]) -> int:
    """Return the axis that is cut: the only one with more than one part, else axis 0."""
    return next((axis for axis, count in enumerate(partitions) if count > 1), 0)


def slices_of(
    shape: Sequence[int], axis: int, count: int
) -> Iterator[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Yield offset and shape of each of `count` parts along `axis`; the first ones get the rest."""
    size, rest = divmod(shape[axis], count)
    start = 0
    for i in range(count):
        length = size + (i < rest)
        offset = (0,) * axis + (start,) + (0,) * (len(shape) - axis - 1)
        yield offset, (*shape[:axis], length, *shape[axis + 1 :])
        start += length
