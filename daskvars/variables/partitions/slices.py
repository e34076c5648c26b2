"""How a variable is cut into parts along one axis."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from daskvars.dtypes import DType
from daskvars.shapes import Shape, TensorShape


@dataclass(frozen=True)
class PartitionInfo:
    """What an initializer is told about the part that it makes a value for.

    Attributes:
      full_shape: shape of the whole variable.
      var_offset: position of the part's first element in it.

    Raises:
      TypeError: one of them is no sequence.
      ValueError: their lengths differ, or the offset lies outside.
    """

    full_shape: Sequence[int]
    var_offset: Sequence[int]

    def __post_init__(self) -> None:
        _check_sequences(full_shape=self.full_shape, var_offset=self.var_offset)
        pairs = zip(self.var_offset, self.full_shape, strict=True)
        if not all(0 <= offset < length for offset, length in pairs):
            raise ValueError(
                f"Expected 0 <= offset < shape in var_offset={self.var_offset}, "
                f"full_shape={self.full_shape}"
            )

    def single_offset(self, shape: Sequence[int]) -> int:
        """Return the offset of a part of `shape` along the axis that is cut, 0 for the whole.

        >>> PartitionInfo((9, 3), (4, 0)).single_offset((2, 3))
        4
        """
        axis = self.single_slice_dim(shape)
        return 0 if axis is None else self.var_offset[axis]

    def single_slice_dim(self, shape: Sequence[int]) -> int | None:
        """Return the axis along which a part of `shape` is cut, None for the whole.

        Raises:
          TypeError: `shape` is no sequence.
          ValueError: its rank is another, it reaches beyond the whole, or two axes are cut.
        """
        _check_sequences(full_shape=self.full_shape, shape=shape)
        for offset, length, full in zip(self.var_offset, shape, self.full_shape, strict=True):
            if offset + length > full:
                raise ValueError(
                    f"a part of shape={shape} at {self.var_offset} exceeds full_shape="
                    f"{self.full_shape}"
                )
        cut = [i for i, n in enumerate(shape) if n != self.full_shape[i]]
        if len(cut) > 1:
            raise ValueError(
                f"a part of shape={shape} of full_shape={self.full_shape} is cut along more than "
                f"one axis: {cut}"
            )
        return cut[0] if cut else None


def _check_sequences(**sequences: Any) -> None:
    for name, value in sequences.items():
        if not isinstance(value, Sequence) or isinstance(value, str):
            raise TypeError(f"`{name}` must be a tuple or list, got {type(value).__name__}")
    lengths = {name: len(value) for name, value in sequences.items()}
    if len(set(lengths.values())) > 1:
        raise ValueError(f"Expected equal lengths, got {lengths}: {sequences}")


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


def partitions_of(partitioner: Callable[..., Any], shape: Shape, dtype: DType) -> list[int]:
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
    if len(full) < 1:
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
