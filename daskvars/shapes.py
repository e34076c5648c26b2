"""Static shapes as TensorFlow's classes, and the plain tuples that the engine works on.

`TensorShape` and `Dimension` are for users. Inside, a `Shape` is a tuple of ints, with None for a
dimension that is known only at run time, or None when even the rank is unknown; `as_tuple` makes
one of anything. The pure functions of `shape_arithmetic` and `chunk_grid` are named here too.

Source: tensorflow/python/framework/tensor_shape.py of TensorFlow 1.15.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any, SupportsIndex, TypeAlias, TypeGuard

import numpy as np

from daskvars.chunk_grid import (
    Chunks,
    block_indices,
    block_offset,
    block_shape,
    block_slices,
    normalize_chunks,
    numblocks,
    split_evenly,
    whole,
)
from daskvars.shape_arithmetic import (
    RankedShape,
    Shape,
    broadcast,
    common,
    compatible,
    difference,
    distinct_axes,
    in_brackets,
    is_known,
    merge,
    missing_size,
    normalize_axes,
    normalize_axis,
    show,
    size,
)

__all__ = [
    "Chunks", "Dimension", "RankedShape", "Shape", "TensorShape", "are_sizes", "as_dimension",
    "as_shape", "as_tuple", "block_indices", "block_offset", "block_shape", "block_slices",
    "broadcast", "common", "compatible", "difference", "distinct_axes", "in_brackets", "is_known",
    "known_or", "matrix", "merge", "missing_size", "normalize_axes", "normalize_axis",
    "normalize_chunks", "numblocks", "scalar", "show", "size", "split_evenly", "unknown_shape",
    "vector", "whole",
]  # fmt: skip


def _arithmetic(symbol: Callable, swapped: bool = False) -> Callable:
    def method(self: Dimension, other: Any) -> Any:
        try:
            right = as_dimension(other).value
        except (TypeError, ValueError):
            return NotImplemented
        if self.value is None or right is None:
            return Dimension(None)
        return Dimension(symbol(right, self.value) if swapped else symbol(self.value, right))

    return method


def _comparison(symbol: Callable) -> Callable:
    def method(self: Dimension, other: Any) -> bool | None:
        try:
            right = as_dimension(other).value
        except (TypeError, ValueError):
            return NotImplemented
        return None if self.value is None or right is None else symbol(self.value, right)

    return method


def _no_division(self: Dimension, other: Any) -> Any:
    raise TypeError(
        "unsupported operand type(s) for /: 'Dimension' and "
        f"'{type(other).__name__}', please use // instead"
    )


class Dimension:
    """One dimension of a `TensorShape`; arithmetic and comparison with an unknown give unknown.

    Args:
        value: int, None (unknown) or another `Dimension`.

    Source: `tf.Dimension`.

    >>> Dimension(3) * 4, Dimension(None) + 1, Dimension(3) == 3, Dimension(None) == 3
    (Dimension(12), Dimension(None), True, None)
    """

    def __init__(self, value: Any) -> None:
        self.value = _as_size(value)

    __add__ = __radd__ = _arithmetic(operator.add)
    __mul__ = __rmul__ = _arithmetic(operator.mul)
    __sub__, __rsub__ = _arithmetic(operator.sub), _arithmetic(operator.sub, swapped=True)
    __truediv__ = __rtruediv__ = _no_division
    __mod__, __rmod__ = _arithmetic(operator.mod), _arithmetic(operator.mod, swapped=True)
    __floordiv__ = _arithmetic(operator.floordiv)
    __rfloordiv__ = _arithmetic(operator.floordiv, swapped=True)
    __eq__, __ne__ = _comparison(operator.eq), _comparison(operator.ne)
    __lt__, __le__ = _comparison(operator.lt), _comparison(operator.le)
    __gt__, __ge__ = _comparison(operator.gt), _comparison(operator.ge)

    def __hash__(self) -> int:
        return hash(self.value)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __int__(self) -> int:
        return self.__index__()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """Return a known size as what NumPy and Dask calculate with."""
        return np.asarray(self.__index__(), dtype)

    def __index__(self) -> int:
        if self.value is None:
            raise TypeError("Dimension(None) is not known until run time; use tf.shape() there.")
        return self.value

    def __repr__(self) -> str:
        return f"Dimension({self.value})"

    def __str__(self) -> str:
        return "?" if self.value is None else str(self.value)

    def is_compatible_with(self, other: Any) -> bool:
        """Whether both may be the same size."""
        return compatible((self.value,), (as_dimension(other).value,))

    def assert_is_compatible_with(self, other: Any) -> None:
        """Raise ValueError unless both may be the same size."""
        self.merge_with(other)

    def merge_with(self, other: Any) -> Dimension:
        """What is known from both together. Raises ValueError when they differ."""
        other = as_dimension(other)
        if not self.is_compatible_with(other):
            raise ValueError(f"Dimensions {self} and {other} are not compatible")
        return other if self.value is None else self


class TensorShape:
    """The static shape of a tensor; equal to any list or tuple of the same sizes.

    Args:
        dims: sizes (int, None, `Dimension`), one size, another shape, or None for unknown rank.

    Source: `tf.TensorShape`; equality is structural, as in TensorFlow 2.

    >>> print(TensorShape([None, 784]), TensorShape(None), TensorShape([]), TensorShape([5]))
    (?, 784) <unknown> () (5,)
    """

    _are_numbers = False  # whether items are ints and None, as in TensorFlow 2

    def __init__(self, dims: Any) -> None:
        self._tuple = as_tuple(dims)

    @classmethod
    def give_numbers(cls, are_numbers: bool) -> None:
        """Say whether the items of all shapes are ints and None, or `Dimension`s."""
        TensorShape._are_numbers = are_numbers

    def _item(self, size: Any) -> Any:
        return size if self._are_numbers else Dimension(size)

    @property
    def dims(self) -> list[Dimension] | None:
        """The dimensions, or None when the rank is unknown."""
        return None if self._tuple is None else [Dimension(d) for d in self._tuple]

    _dims = dims  # programs have copies of Keras' functions, which ask for it

    @property
    def ndims(self) -> int | None:
        """The rank, or None."""
        return None if self._tuple is None else len(self._tuple)

    rank = ndims

    def _known(self, what: str) -> tuple[int | None, ...]:
        if self._tuple is None:
            raise ValueError(f"{what} an unknown TensorShape.")
        return self._tuple

    def __len__(self) -> int:
        return len(self._known("Cannot take the length of"))

    def __iter__(self) -> Iterator[Any]:
        return map(self._item, self._known("Cannot iterate over"))

    def __getitem__(self, key: int | slice) -> Any:
        if self._tuple is not None:
            part = self._tuple[key]
            return TensorShape(part) if isinstance(key, slice) else self._item(part)
        if not isinstance(key, slice):
            return self._item(None)
        if key.step is not None:
            raise ValueError("A shape of unknown rank cannot be sliced with a step.")
        start, stop = key.start or 0, key.stop
        unbounded = stop is None or start < 0 or stop < 0
        return unknown_shape(None if unbounded else max(0, stop - start))

    def __bool__(self) -> bool:
        return self._tuple is not None

    def __eq__(self, other: Any) -> bool:
        try:
            return self._tuple == as_tuple(other)
        except (TypeError, ValueError):
            return NotImplemented

    def __hash__(self) -> int:
        return hash(self._tuple)

    def __str__(self) -> str:
        text = show(self._tuple)
        return text.replace("?", "None") if self._are_numbers else text

    def __repr__(self) -> str:
        items = None if self._tuple is None else list(map(self._item, self._tuple))
        return f"TensorShape({items})"

    def __reduce__(self) -> tuple:
        return TensorShape, (self._tuple,)

    def as_list(self) -> list[int | None]:
        """The sizes; ValueError when the rank is unknown."""
        return list(self._known("as_list() is not defined on"))

    def is_fully_defined(self) -> bool:
        """Whether every size is known."""
        return is_known(self._tuple)

    def assert_is_fully_defined(self) -> None:
        """Raise ValueError unless every size is known."""
        if not self.is_fully_defined():
            raise ValueError(f"Shape {self} is not fully defined")

    def num_elements(self) -> int | None:
        """The number of elements, or None."""
        return size(self._tuple)

    def is_compatible_with(self, other: Any) -> bool:
        """Whether both may be the same shape."""
        return compatible(self._tuple, as_tuple(other))

    def assert_is_compatible_with(self, other: Any) -> None:
        """Raise ValueError unless both may be the same shape."""
        merge(self._tuple, as_tuple(other))

    def merge_with(self, other: Any) -> TensorShape:
        """What is known from both together; ValueError when they differ."""
        return TensorShape(merge(self._tuple, as_tuple(other)))

    def most_specific_compatible_shape(self, other: Any) -> TensorShape:
        """What both shapes are cases of: None where they differ."""
        mine, theirs = self._tuple, as_tuple(other)
        if mine is None or theirs is None or len(mine) != len(theirs):
            return TensorShape(None)
        return TensorShape([a if a == b else None for a, b in zip(mine, theirs, strict=True)])

    def concatenate(self, other: Any) -> TensorShape:
        """This shape followed by another; unknown when either rank is."""
        other = as_tuple(other)
        return TensorShape(None if self._tuple is None or other is None else self._tuple + other)

    def __add__(self, other: Any) -> TensorShape:
        return self.concatenate(other)

    def __radd__(self, other: Any) -> TensorShape:
        return as_shape(other).concatenate(self)

    def assert_same_rank(self, other: Any) -> None:
        """Raise ValueError when both ranks are known and differ."""
        other = as_shape(other)
        if self.ndims is not None and other.ndims is not None and self.ndims != other.ndims:
            raise ValueError(f"Shapes {self} and {other} must have the same rank")

    def assert_has_rank(self, rank: int) -> None:
        """Raise ValueError when the rank is known and another."""
        if self.ndims not in (None, rank):
            raise ValueError(f"Shape {self} must have rank {rank}")

    def with_rank(self, rank: int) -> TensorShape:
        """This shape as one of the rank given; ValueError when it has another."""
        self.assert_has_rank(rank)
        return unknown_shape(rank) if self._tuple is None else self

    def with_rank_at_least(self, rank: int) -> TensorShape:
        """This shape. Raises ValueError when its rank is smaller."""
        if self.ndims is not None and self.ndims < rank:
            raise ValueError(f"Shape {self} must have rank at least {rank}")
        return self

    def with_rank_at_most(self, rank: int) -> TensorShape:
        """This shape. Raises ValueError when its rank is greater."""
        if self.ndims is not None and self.ndims > rank:
            raise ValueError(f"Shape {self} must have rank at most {rank}")
        return self


class KnownDimension(int, Dimension):
    """A size that is known, as a number: what it is asked to be, it is."""

    def __init__(self, value: Any) -> None:
        self.value = int(value)

    __str__ = int.__repr__
    __format__ = int.__format__


class KnownShape(TensorShape, tuple):  # type: ignore[misc]
    """The shape of a value that is there: a tuple of numbers, as NumPy has it.

    >>> shape = KnownShape((2, 3))
    >>> print(shape, shape[1] / 2, shape[:1] + (5,), shape == [2, 3], shape[0].value)
    (2, 3) 1.5 (2, 5) True 2
    """

    def __new__(cls, sizes: Iterable[int]) -> KnownShape:
        return tuple.__new__(cls, map(KnownDimension, sizes))

    __iter__ = tuple.__iter__
    __len__ = tuple.__len__
    __contains__ = tuple.__contains__
    __lt__, __le__, __gt__, __ge__ = tuple.__lt__, tuple.__le__, tuple.__gt__, tuple.__ge__

    def __getitem__(self, key: Any) -> Any:
        found = tuple.__getitem__(self, key)
        return KnownShape(found) if isinstance(key, slice) else found

    def concatenate(self, other: Any) -> TensorShape:
        """This shape followed by another; unknown when the other's rank is."""
        return known_or(super().concatenate(other)._tuple)

    def __radd__(self, other: Any) -> TensorShape:
        return known_or(as_shape(other).concatenate(self)._tuple)

    def __reduce__(self) -> tuple:
        return KnownShape, (self._tuple,)


def known_or(shape: Shape) -> TensorShape:
    """The public form of a shape: a tuple of numbers too, where all of it is known."""
    return KnownShape(shape) if is_known(shape) else TensorShape(shape)


_Size: TypeAlias = int | Dimension | SupportsIndex | None
# What `as_tuple` makes a shape of.
ShapeLike: TypeAlias = TensorShape | _Size | Iterable[_Size]


def as_shape(shape: ShapeLike) -> TensorShape:
    """A `TensorShape` of anything that describes one."""
    return shape if isinstance(shape, TensorShape) else TensorShape(shape)


def as_dimension(value: Any) -> Dimension:
    """A `Dimension` of an int, None or `Dimension`."""
    return value if isinstance(value, Dimension) else Dimension(value)


def unknown_shape(ndims: int | None = None) -> TensorShape:
    """A shape of the rank given (None: unknown) and no known size."""
    return TensorShape(None if ndims is None else (None,) * ndims)


def scalar() -> TensorShape:
    """The shape of a scalar."""
    return TensorShape(())


def vector(length: Any) -> TensorShape:
    """The shape of a vector."""
    return TensorShape((length,))


def matrix(rows: Any, cols: Any) -> TensorShape:
    """The shape of a matrix."""
    return TensorShape((rows, cols))


def _as_size(value: Any) -> int | None:
    if value is None or isinstance(value, Dimension):
        return None if value is None else value.value
    if isinstance(value, (float, np.floating)):
        if value != int(value):
            raise ValueError(f"Ambiguous dimension: {value}")
        value = int(value)
    if not hasattr(value, "__index__"):
        raise TypeError(f"A size is a whole number, or None where it is unknown; found {value!r}")
    number = operator.index(value)
    if number < 0:
        raise ValueError(f"Dimension {number} must be >= 0 (write None for an unknown one)")
    return number


def are_sizes(value: Any) -> TypeGuard[tuple[int, ...]]:
    """Whether a value is the plain tuple of a shape that is known, and needs no conversion."""
    if type(value) is not tuple:
        return False
    for d in value:  # noqa: SIM110 - a generator costs more than what it goes through
        if type(d) is not int or d < 0:
            return False
    return True


def as_tuple(shape: ShapeLike) -> Shape:
    """The plain tuple of a shape.

    Args:
        shape: `TensorShape`, a sequence of int, None, `Dimension` or numpy int, one of those, or
            None for an unknown rank.

    Returns:
        A tuple of Python ints and None, or None.

    Raises:
        TypeError: a size is no integer.
        ValueError: a size is negative.

    >>> as_tuple([np.int64(2), Dimension(3), None]), as_tuple(5), as_tuple(None)
    ((2, 3, None), (5,), None)
    """
    if are_sizes(shape):
        return shape
    if shape is None:
        return None
    if isinstance(shape, TensorShape):
        return shape._tuple
    if isinstance(shape, str):
        raise TypeError(f"A string has no shape: {shape!r}. Give a list of sizes.")
    if isinstance(shape, Iterable) and not (isinstance(shape, np.ndarray) and shape.ndim == 0):
        return tuple(_as_size(d) for d in shape)
    return (_as_size(shape),)
