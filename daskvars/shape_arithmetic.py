"""Broadcasting and merging of static shapes: pure functions on plain tuples.

A `Shape` is a tuple of ints, with None for a dimension known only at run time, or None when even
the rank is unknown; the rank of a `RankedShape` is known. Everybody imports these names from
`shapes`.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, TypeGuard, overload

import numpy as np

RankedShape = tuple[int | None, ...]
Shape = RankedShape | None


def show(shape: Shape) -> str:
    """A shape as TensorFlow prints it: '(?, 784)', '<unknown>'."""
    if shape is None:
        return "<unknown>"
    return str(tuple("?" if d is None else d for d in shape)).replace("'", "")


def in_brackets(shape: Shape) -> str:
    """A shape as TensorFlow's ops print it: '[?,784]', '<unknown>'."""
    if shape is None:
        return "<unknown>"
    return f"[{','.join('?' if d is None else str(d) for d in shape)}]"


def difference(a: Shape, b: Shape) -> str:
    """What keeps two shapes that are not compatible from it, as TensorFlow's ops say it.

    >>> difference((2, 3), (2, 4))
    'Dimension 1 in both shapes must be equal, but are 3 and 4. Shapes are [2,3] and [2,4]'
    """
    assert a is not None and b is not None, "an unknown rank is compatible with all"
    if len(a) != len(b):
        return f"Shapes must be equal rank, but are {len(a)} and {len(b)}"
    i = next(i for i, (x, y) in enumerate(zip(a, b, strict=True)) if not compatible((x,), (y,)))
    return (
        f"Dimension {i} in both shapes must be equal, but are {a[i]} and {b[i]}. "
        f"Shapes are {in_brackets(a)} and {in_brackets(b)}"
    )


def is_known(shape: Shape) -> TypeGuard[tuple[int, ...]]:
    """Whether the rank and every size are known."""
    return shape is not None and None not in shape


def common(a: Shape, b: Shape) -> Shape:
    """What is known of an array that has one of two shapes.

    >>> common((2, 3), (4, 3))
    (None, 3)
    """
    if a is None or b is None or len(a) != len(b):
        return None
    return tuple(m if m == n else None for m, n in zip(a, b, strict=True))


def size(shape: Shape) -> int | None:
    """The number of elements, or None when a size is unknown."""
    return math.prod(shape) if is_known(shape) else None


def missing_size(source: Sequence[int], wanted: Sequence[int]) -> int:
    """The size that stands as -1 in the shape wanted of an array of no elements.

    Where a size wanted is 0, too, the others say it, as in TensorFlow: so a batch of no rows can
    be reshaped to ``[rows, -1]``.

    >>> missing_size((0, 2, 3), (0, -1)), missing_size((0, 2, 3), (0, 2, -1))
    (6, 3)
    """
    return math.prod(n for n in source if n) // math.prod(n for n in wanted if n > 0)


def compatible(a: Shape, b: Shape) -> bool:
    """Whether two shapes may be the same one."""
    if a == b or a is None or b is None:
        return True
    if len(a) != len(b):
        return False
    for x, y in zip(a, b, strict=True):  # noqa: SIM110 - asked for each feed
        if x != y and x is not None and y is not None:
            return False
    return True


@overload
def merge(a: RankedShape, b: Shape) -> RankedShape: ...
@overload
def merge(a: Shape, b: RankedShape) -> RankedShape: ...
@overload
def merge(a: Shape, b: Shape) -> Shape: ...
def merge(a: Shape, b: Shape) -> Shape:
    """What is known from two shapes together.

    >>> merge((None, 3), (2, None))
    (2, 3)
    """
    if not compatible(a, b):
        raise ValueError(f"Shapes {show(a)} and {show(b)} are not compatible")
    if a is None or b is None:
        return b if a is None else a
    return tuple(y if x is None else x for x, y in zip(a, b, strict=True))


@overload
def broadcast(*shapes: RankedShape) -> RankedShape: ...
@overload
def broadcast(*shapes: Shape) -> Shape: ...
def broadcast(*shapes: Shape) -> Shape:
    """The shape that an elementwise operation of these gives.

    Args:
        shapes: any number of shapes, known or not.

    Returns:
        The broadcast shape; None for a dimension, or for all, that cannot be told yet.

    Raises:
        ValueError: two sizes differ and neither is 1.

    >>> broadcast((2, 1), (3,)), broadcast((None, 1), (None, 5)), broadcast((2,), None)
    ((2, 3), (None, 5), None)
    """
    known = [shape for shape in shapes if shape is not None]
    if len(known) < len(shapes):
        return None
    result: RankedShape = known[0] if known else ()
    for shape in known[1:]:
        if shape == result:
            continue
        rank = max(len(result), len(shape))
        left = (1,) * (rank - len(result)) + result
        right = (1,) * (rank - len(shape)) + shape
        result = tuple(_wider(a, b, shapes) for a, b in zip(left, right, strict=True))
    return result


def broadcasts_to(shape: RankedShape, wider: RankedShape) -> bool:
    """Whether broadcasting a shape may give another, which has its sizes, or others where it has 1.

    >>> broadcasts_to((1, 3), (2, 2, 3)), broadcasts_to((None,), (4,)), broadcasts_to((2,), (1,))
    (True, True, False)
    """
    lead = len(wider) - len(shape)
    return lead >= 0 and all(
        n in (1, m, None) or m is None for n, m in zip(shape, wider[lead:], strict=True)
    )


def _wider(a: int | None, b: int | None, shapes: Sequence[Shape]) -> int | None:
    if a == b or b == 1:
        return a
    if a == 1 or a is None:
        return b
    if b is None:
        return a
    found = " and ".join(map(show, shapes))
    raise ValueError(
        f"Dimensions must be equal, but are {a} and {b}. "
        f"Incompatible shapes for broadcasting: {found}"
    )


def normalize_axis(axis: int, rank: int, what: str = "axis") -> int:
    """An axis counted from the front; ValueError when there is none such, TypeError for a fraction.

    >>> normalize_axis(-1, 3)
    2
    """
    if not hasattr(axis, "__index__"):
        raise TypeError(f"{what} must be an integer, got {axis!r}")
    index = operator.index(axis)
    if not -rank <= index < rank:
        raise ValueError(
            f"{what} {index} is out of range for rank {rank}: expected a value in [{-rank}, {rank})"
        )
    return index % rank


def normalize_axes(axes: Any, rank: int) -> tuple[int, ...]:
    """Axes counted from the front in the order given, None meaning all; ValueError on repeats.

    >>> normalize_axes([-1, 0], 3), normalize_axes(None, 2), normalize_axes(1, 2)
    ((2, 0), (0, 1), (1,))
    """
    result = distinct_axes(axes, rank)
    if axes is not None and len(result) != np.size(axes):
        named = tuple(np.ravel(axes).tolist())
        raise ValueError(f"axes {named} name a dimension twice for rank {rank}")
    return result


def distinct_axes(axes: Any, rank: int) -> tuple[int, ...]:
    """Axes counted from the front, each once in the order given, None meaning all.

    >>> distinct_axes([1, 0, -1], 2), distinct_axes(None, 2), distinct_axes(-1, 2)
    ((1, 0), (0, 1), (1,))
    """
    if axes is None:
        return tuple(range(rank))
    listed = np.ravel(axes).tolist() if np.size(axes) else []
    return tuple(dict.fromkeys(normalize_axis(axis, rank) for axis in listed))
